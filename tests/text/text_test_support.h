// What the text suites share: parse, print and parse again, and the place and message of an error.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/support/module_equal.h"

namespace VXLA_NAMESPACE {

// Parses, prints, parses what was printed and expects the same module and the same text again.
inline std::unique_ptr<Module> RoundTrip(std::string_view text) {
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  if (!module.ok()) {
    ADD_FAILURE() << fmt::format("{}:{}: {}\n{}", module.status().location().line, module.status().location().column,
                                 module.status().message(), text);
    return nullptr;
  }
  const std::string printed = PrintHlo(**module);
  Result<std::unique_ptr<Module>> again = ParseHlo(printed);
  if (!again.ok()) {
    ADD_FAILURE() << fmt::format("printed text: {}:{}: {}\n{}", again.status().location().line,
                                 again.status().location().column, again.status().message(), printed);
    return nullptr;
  }
  std::string difference;
  EXPECT_TRUE(Equal(**module, **again, &difference)) << difference << "\n" << text << "\n" << printed;
  EXPECT_EQ(PrintHlo(**again), printed);
  return std::move(*module);
}

// "line:column: message" of a text that must not parse.
inline std::string ParseError(std::string_view text) {
  const Result<std::unique_ptr<Module>> module = ParseHlo(text);
  if (module.ok()) return "(parsed)";
  return fmt::format("{}:{}: {}", module.status().location().line, module.status().location().column,
                     module.status().message());
}

// `body` as the entry of a module, its first line being line 3 and indented by two columns.
inline std::string Entry(std::string_view body) { return fmt::format("HloModule m\nENTRY main {{\n  {}\n}}\n", body); }

// The one instruction of Entry(...) with that name.
inline const Instruction* Find(const Module& module, std::string_view name) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->name() == name) return instruction.get();
    }
  }
  ADD_FAILURE() << "no instruction " << name;
  return nullptr;
}

}  // namespace VXLA_NAMESPACE
