// How the builder's functions make instructions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/builder/builder.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

struct BuilderState {
  explicit BuilderState(std::string builder_name)
      : name(std::move(builder_name)), module(name), entry(module.AddComputation(name)) {}
  static BuilderState& Of(const XlaBuilder& builder) { return *builder.state_; }
  static XlaOp Op(XlaBuilder* builder, Instruction* instruction) { return XlaOp(builder, instruction); }
  Result<Computation*> Import(const XlaComputation& computation);

  std::string name;
  Module module;       // the entry first, then what was imported; Build() puts them in order
  Computation* entry;  // owned by module
  std::unordered_map<const Module*, Computation*> imported;
  std::vector<XlaComputation> kept;  // so that no address in imported is used twice
  Status error;
};

inline std::vector<XlaOp> Joined(std::vector<XlaOp> first, const std::vector<XlaOp>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// One instruction, its shape inferred: `stated` gives what its operands leave open.
Result<XlaOp> Emit(XlaBuilder& builder, Opcode opcode, std::span<const XlaOp> operands, Shape stated = {},
                   Attributes attributes = NoAttributes{}, std::span<const XlaComputation> called = {},
                   std::string name = {});
// Emit for operands of one builder, recorded: what most of the free functions are.
XlaOp EmitOne(XlaBuilder* builder, Opcode opcode, const std::vector<XlaOp>& operands, const Shape& stated = {},
              const Attributes& attributes = NoAttributes{}, const std::vector<XlaComputation>& called = {});
// Runs `build` if all operands are valid ops of one builder, and records what goes wrong. An empty list of operands
// needs `builder`.
XlaOp RunBuild(XlaBuilder* builder, std::span<const XlaOp> operands,
               const std::function<Result<XlaOp>(XlaBuilder&)>& build);

}  // namespace VXLA_NAMESPACE
