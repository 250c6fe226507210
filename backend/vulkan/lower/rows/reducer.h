// Reducer: a reduction computation as kernels use it: what it accumulates in, what leaves it alone, its GLSL text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device_facts.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE::vulkan {

struct Reducer {
  // Accumulators (core/numerics/reducer_facts.h).
  std::vector<ElementType> types;
  // Carrier constants that leave every accumulator unchanged; empty if none is known.
  std::vector<std::string> identity;
  bool commutes = true;   // else elements keep their order
  bool in_order = false;  // one element after the other, from the initial value on (CombinerOrder::kInOrder)
  // One accumulator, two floats of the values' type: a complex type, whose real part is the result.
  bool widens = false;
  // The text of void <name>(inout T0 a0, ..., T0 b0, ...), a = computation(a, b).
  std::function<std::string(const std::string& name)> combine;
  // Of products in two floats, else empty: the same for a value b, which is cheaper and leaves the two out of order;
  // and void <name>(inout T0 a0), which puts them in order.
  std::function<std::string(const std::string&name)> take, order;

  // Without an identity accumulators know by a flag whether they hold anything yet.
  bool holds_flag() const { return identity.empty() && !in_order; }
  // A value as an accumulator takes it.
  std::string Taken(const std::string& value) const;
  // What an accumulator comes to, in the type of a result.
  std::string Result(size_t leaf, ElementType type, const std::string& accumulator) const;
};
Reducer ReadReducer(const Computation& computation);
// Of a reduce or reduce-window: the same, or what its accumulators in two floats want (PairTypeOf).
Reducer ReadReducer(const Instruction& reduction);
// A sum of f32 in two floats.
Reducer WideSum();
// A value as such an accumulator.
std::string Widened(ElementType pair, const std::string& value);
// a0 = a0 + b0 of such accumulators.
std::string WideAddFunction(const std::string& name);

// The statement by which a function of accumulators and values, a reducer's or its `take`, puts values into `into`. By
// the flag `holds` the first ones are taken as they are.
std::string JoinText(std::string_view function, const std::vector<std::string>& into,
                     const std::vector<std::string>& values, const std::string& holds = "");

Status CheckReducer(const Computation& computation);

// void <name>(inout T a0, T b0) { a0 = a0 + b0; } in the carrier of `type`.
std::string AddFunction(ElementType type, const std::string& name);

}  // namespace VXLA_NAMESPACE::vulkan
