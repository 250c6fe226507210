#include "core/builder/builder.h"

#include <algorithm>

#include "core/live_sizes.h"
#include "core/ops/ops.h"

namespace vxla {

const Shape& XlaOp::shape() const {
  VXLA_CHECK(valid(), "the shape of an op with an error");
  return instruction_->shape();
}

XlaBuilder::XlaBuilder(std::string name)
    : name_(std::move(name)), module_(name_), entry_(module_.AddComputation(name_)) {}

Result<Shape> XlaBuilder::GetShape(XlaOp op) const {
  if (!error_.ok()) return error_;
  // builder_c1
  if (!op.valid() || op.builder_ != this) return InvalidArgument("{}: no op of this builder", name_);
  return op.shape();
}

bool XlaBuilder::HasParameter(int64_t number) const {
  const auto& parameters = entry_->parameters();
  return number >= 0 && number < static_cast<int64_t>(parameters.size()) && parameters[number] != nullptr;
}

// Copies a computation and what it calls into the module under construction.
Result<Computation*> XlaBuilder::Import(const XlaComputation& computation) {
  const Module& source = computation.module();
  if (auto found = imported_.find(&source); found != imported_.end()) return found->second;
  std::unordered_map<const Computation*, Computation*> copies;
  for (const auto& original : source.computations()) {
    Computation* copy = module_.AddComputation(original->name());
    copies[original.get()] = copy;
    copy->set_execution_thread(original->execution_thread());
    copy->set_root(CloneInto(*original, *copy, {}, [&](Computation* called) { return copies.at(called); }));
  }
  kept_.push_back(computation);
  return imported_[&source] = copies.at(source.entry());
}

Result<XlaOp> XlaBuilder::Emit(Opcode opcode, std::span<const XlaOp> operands, Shape stated, Attributes attributes,
                               std::span<const XlaComputation> called, std::string name) {
  if (!error_.ok()) return error_;
  std::vector<Instruction*> inputs;
  for (const XlaOp& operand : operands) {
    if (!operand.valid() || operand.builder_ != this) {  // builder_c1
      return InvalidArgument("{}: operand {} is no op of builder {}", OpcodeText(opcode), inputs.size(), name_);
    }
    inputs.push_back(operand.instruction_);
  }
  std::vector<Computation*> callees;
  for (const XlaComputation& computation : called) {
    // computation_c1
    if (computation.IsNull()) return InvalidArgument("{}: a computation that was never built", OpcodeText(opcode));
    VXLA_ASSIGN_OR_RETURN(Computation * callee, Import(computation));
    callees.push_back(callee);
  }
  const bool reshapes =
      opcode == Opcode::kReshape && !inputs.empty() && inputs[0]->shape().IsArray() && stated.IsArray();
  if (reshapes && inputs[0]->shape().IsDynamic() && inputs[0]->shape().ElementCount() == stated.ElementCount()) {
    stated = WithReshapedFlags(std::move(stated), inputs[0]->shape());
  }
  auto instruction = std::make_unique<Instruction>(opcode, std::move(stated), std::move(inputs), std::move(attributes),
                                                   std::move(callees));
  VXLA_ASSIGN_OR_RETURN(instruction->mutable_shape(), InferShape(*instruction));
  instruction->set_name(std::move(name));
  instruction->mutable_common() = common_;
  return XlaOp(this, entry_->Add(std::move(instruction)));
}

XlaOp XlaBuilder::Record(Result<XlaOp> result) {
  if (result.ok()) return *result;
  if (error_.ok()) error_ = result.status();
  return XlaOp(this, nullptr);
}

XlaOp XlaBuilder::Run(XlaBuilder* builder, std::span<const XlaOp> operands,
                      const std::function<Result<XlaOp>(XlaBuilder&)>& build) {
  for (const XlaOp& operand : operands) {
    if (builder == nullptr) builder = operand.builder_;
  }
  if (builder == nullptr) return {};
  if (!builder->error_.ok()) return XlaOp(builder, nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid() || operands[i].builder_ != builder) {  // builder_c1
      return builder->Record(InvalidArgument("operand {} is no op of builder {}", i, builder->name_));
    }
  }
  return builder->Record(build(*builder));
}

XlaOp XlaBuilder::One(XlaBuilder* builder, Opcode opcode, const std::vector<XlaOp>& operands, const Shape& stated,
                      const Attributes& attributes, const std::vector<XlaComputation>& called) {
  return Run(builder, operands, [&](XlaBuilder& b) { return b.Emit(opcode, operands, stated, attributes, called); });
}

Result<XlaComputation> XlaBuilder::Build(XlaOp root) const {
  if (!error_.ok()) return error_;
  // builder_c2
  if (entry_->instructions().empty()) return InvalidArgument("{}: a computation without ops", name_);
  const Instruction* result = root.builder_ == nullptr ? entry_->instructions().back().get() : root.instruction_;
  if (result == nullptr || result->parent() != entry_)  // builder_c3
    return InvalidArgument("{}: the root is no op of this builder", name_);
  for (size_t i = 0; i < entry_->parameters().size(); ++i) {
    // parameter_c3
    if (entry_->parameters()[i] == nullptr) return InvalidArgument("{}: no parameter has number {}", name_, i);
  }
  auto module = std::make_shared<Module>(name_);
  std::unordered_map<const Computation*, Computation*> copies;
  auto copy = [&](const Computation& original, const Instruction* root_of_original) {
    Computation* target = module->AddComputation(original.name());
    copies[&original] = target;
    CloneInto(original, *target, {}, [&](Computation* called) { return copies.at(called); });
    for (size_t i = 0; i < original.instructions().size(); ++i) {
      if (original.instructions()[i].get() == root_of_original) target->set_root(target->instructions()[i].get());
    }
    return target;
  };
  for (const auto& computation : module_.computations()) {  // callees first; the entry was added before all others
    if (computation.get() != entry_) copy(*computation, computation->root());
  }
  module->set_entry(copy(*entry_, result));
  VXLA_RETURN_IF_ERROR(CheckCallDepth(*module));  // order_c4
  return XlaComputation(std::move(module));
}

}  // namespace vxla
