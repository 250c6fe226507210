// What the printer's parts share.
#pragma once

#include <fmt/format.h>

#include <unordered_map>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE::mlir {

inline std::string Join(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

// array<i64: 1, 2>, or of i1 array<i1: true, false>.
std::string ArrayText(std::string_view type, const IntList& values);
// A matrix of two columns: dense<[[1, 2]]> : tensor<1x2xi64>.
std::string PairsText(const IntList& flat);
// #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
std::string ConvolutionText(const ConvolutionDimensions& n);

// The attributes of an instruction, as properties: "name = value, ...". kUnsupported where StableHLO has no such thing.
Result<std::string> PrintProperties(const Instruction& instruction);

class StablehloPrinter {
 public:
  explicit StablehloPrinter(const Module& module) : module_(module) {}
  Result<std::string> Print();

 private:
  using Names = std::vector<std::string>;  // of a value's leaves
  using Values = std::unordered_map<const Instruction*, Names>;

  Status PrintFunction(const Computation& computation, bool is_entry);
  // The instructions, with the parameters known already; the names of what the root is.
  Result<Names> PrintBody(const Computation& computation, Values& values);
  // ({ ^bb0(...): ... }), with a new argument for each leaf of each parameter.
  Status PrintRegion(const Computation& computation);
  // A region without arguments, whose parameter is a value around it.
  Status PrintBranch(const Computation& computation, const Names& argument);
  // From the braces' inside on, in which the parameters are known.
  Status PrintRegionEnd(const Computation& computation, Values& values);
  // The names of an instruction's operands, and what their leaves are.
  std::pair<Names, std::vector<const Shape*>> OperandsOf(const Instruction& instruction, const Values& values) const;
  Status PrintInstruction(const Instruction& instruction, Values& values);
  Status PrintOperation(const Instruction& instruction, Values& values, const std::string& name, const Names& operands,
                        const std::vector<const Shape*>& operand_shapes, const std::string& properties);
  Status PrintConstant(const Instruction& instruction, Values& values);
  Status PrintRng(const Instruction& instruction, Values& values);
  Status PrintConditional(const Instruction& instruction, Values& values);
  Status PrintTransfer(const Instruction& instruction, Values& values);
  Result<std::string> NameOf(const Instruction& instruction) const;
  std::string NewName();
  void Line(const std::string& text);
  std::string Results(const Instruction& instruction, Names& names);
  // "%0: T, %1: T", new names for the leaves of the parameters.
  std::string Arguments(const Computation& computation, Values& values);
  std::string FunctionName(const Computation* computation);

  const Module& module_;
  std::string out_;
  int depth_ = 1;
  int64_t next_name_ = 0;
  std::vector<const Computation*> pending_;  // functions that are called and not printed yet
  std::unordered_map<const Computation*, std::string> functions_;
};

}  // namespace VXLA_NAMESPACE::mlir
