// What the StableHLO suites share: a program's results as text, and the place and message of an error.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/bytecode/writer.h"
#include "core/mlir/importer/importer.h"
#include "core/mlir/printer/printer.h"
#include "core/mlir/reader/parser.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_printer.h"
#include "core/text/literal_text.h"

namespace VXLA_NAMESPACE {

inline Result<std::unique_ptr<Module>> ReadStablehlo(std::string_view text) {
  Result<std::unique_ptr<Module>> module = mlir::ParseStablehlo(text);
  if (!module.ok()) return module;
  VXLA_RETURN_IF_ERROR(Verify(**module));
  return module;
}

inline std::string Place(const Status& status) {
  return fmt::format("{}:{}: {}", status.location().line, status.location().column, status.message());
}

inline std::string ResultOf(const Module& module, const std::vector<Literal>& arguments) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const Result<Literal> result = Evaluate(module, pointers);
  return result.ok() ? PrintLiteral(*result) : result.status().message();
}

// The result on the reference, printed; and the same of what the printer makes of the program, and of its bytecode.
inline std::string RunStablehlo(std::string_view text, const std::vector<Literal>& arguments = {}) {
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(text);
  if (!module.ok()) return Place(module.status());
  const std::string result = ResultOf(**module, arguments);
  const Result<std::string> printed = mlir::PrintStablehlo(**module);
  if (!printed.ok()) return result + " but not printed: " + printed.status().message();
  const Result<std::unique_ptr<Module>> again = ReadStablehlo(*printed);
  EXPECT_TRUE(again.ok()) << Place(again.status()) << "\n" << *printed;
  EXPECT_EQ(again.ok() ? ResultOf(**again, arguments) : "", result) << *printed;
  const Result<mlir::Program> program = mlir::ParseMlir(*printed);
  const Result<std::string> bytecode =
      program.ok() ? mlir::WriteBytecode(*program, mlir::kNewestVhlo) : program.status();
  if (bytecode.status().code() == StatusCode::kUnsupported) return result;
  const Result<std::unique_ptr<Module>> read = bytecode.ok() ? ReadStablehlo(*bytecode) : bytecode.status();
  EXPECT_TRUE(read.ok()) << read.status().message() << "\n" << *printed;
  EXPECT_EQ(read.ok() ? ResultOf(**read, arguments) : "", result) << *printed;
  return result;
}

// A function around the body's lines.
inline std::string Function(std::string_view body) { return fmt::format("func.func @main{}", body); }

inline std::string StablehloError(std::string_view text) {
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(text);
  return module.ok() ? "(read)" : Place(module.status());
}

}  // namespace VXLA_NAMESPACE
