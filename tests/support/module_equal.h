// Whether two modules are the same, and where they first differ.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

inline std::string FirstDifference(const Instruction& a, const Instruction& b) {
  auto names = [](const auto& list) {
    std::vector<std::string> result;
    for (const auto* item : list) result.push_back(item->name());
    return result;
  };
  if (a.name() != b.name()) return fmt::format("names {} and {}", a.name(), b.name());
  auto layouts_differ = [](auto&& self, const Shape& x, const Shape& y) -> bool {
    if (x.layout() != y.layout()) return true;
    for (size_t i = 0; i < x.tuple_elements().size(); ++i) {
      if (self(self, x.tuple_elements()[i], y.tuple_elements()[i])) return true;
    }
    return false;
  };
  if (a.opcode() != b.opcode()) return "opcodes of " + a.name();
  if (!(a.shape() == b.shape())) return "shapes of " + a.name();
  if (layouts_differ(layouts_differ, a.shape(), b.shape())) return "layouts of " + a.name();
  if (names(a.operands()) != names(b.operands())) return "operands of " + a.name();
  if (names(a.called()) != names(b.called())) return "called computations of " + a.name();
  if (names(a.control_predecessors()) != names(b.control_predecessors())) return "control predecessors of " + a.name();
  if (!(a.attributes() == b.attributes())) return "attributes of " + a.name();
  if (!(a.common() == b.common())) return "common attributes of " + a.name();
  if (!(a.notes() == b.notes())) return "notes of " + a.name();
  return {};
}

inline std::string FirstDifference(const Computation& a, const Computation& b) {
  if (a.name() != b.name()) return fmt::format("computations {} and {}", a.name(), b.name());
  if (a.execution_thread() != b.execution_thread()) return "execution threads of " + a.name();
  if (a.instructions().size() != b.instructions().size()) return "instruction counts of " + a.name();
  if (a.root()->name() != b.root()->name()) return "roots of " + a.name();
  for (auto i = a.instructions().begin(), j = b.instructions().begin(); i != a.instructions().end(); ++i, ++j) {
    std::string difference = FirstDifference(**i, **j);
    if (!difference.empty()) return difference + " in " + a.name();
  }
  return {};
}

inline std::string FirstDifference(const Module& a, const Module& b) {
  if (a.name() != b.name()) return "module names";
  if (!(a.attributes() == b.attributes())) return "module attributes";
  if (a.computations().size() != b.computations().size()) return "computation counts";
  if (a.entry()->name() != b.entry()->name()) return "entries";
  for (size_t i = 0; i < a.computations().size(); ++i) {
    std::string difference = FirstDifference(*a.computations()[i], *b.computations()[i]);
    if (!difference.empty()) return difference;
  }
  return {};
}

// Equal structure, names included (what a printed and parsed module must satisfy); locations do not count.
inline bool Equal(const Module& a, const Module& b, std::string* difference = nullptr) {
  std::string first = FirstDifference(a, b);
  if (difference != nullptr) *difference = first;
  return first.empty();
}

}  // namespace VXLA_NAMESPACE
