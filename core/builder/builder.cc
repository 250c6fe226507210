#include "core/builder/builder.h"

#include <algorithm>

#include "core/builder/emit.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/ir/module_edits.h"
#include "core/ops/ops.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {

const Shape& XlaOp::shape() const {
  VXLA_CHECK(valid(), "the shape of an op with an error");
  return instruction_->shape();
}

const std::string& XlaComputation::name() const { return module_->entry()->name(); }
std::unique_ptr<Module> XlaComputation::CloneModule() const { return module_->Clone(); }

XlaBuilder::XlaBuilder(std::string name) : state_(std::make_unique<BuilderState>(std::move(name))) {}
XlaBuilder::~XlaBuilder() = default;
const std::string& XlaBuilder::name() const { return state_->name; }
const Status& XlaBuilder::first_error() const { return state_->error; }

Result<Shape> XlaBuilder::GetShape(XlaOp op) const {
  if (!state_->error.ok()) return state_->error;
  // builder_c1
  if (!op.valid() || op.builder_ != this) return InvalidArgument("{}: no op of this builder", state_->name);
  return op.shape();
}

bool XlaBuilder::HasParameter(int64_t number) const {
  const auto& parameters = state_->entry->parameters();
  return number >= 0 && number < static_cast<int64_t>(parameters.size()) && parameters[number] != nullptr;
}

// Copies a computation and what it calls into the module under construction.
Result<Computation*> BuilderState::Import(const XlaComputation& computation) {
  const Module& source = computation.module();
  if (auto found = imported.find(&source); found != imported.end()) return found->second;
  kept.push_back(computation);
  return imported[&source] = AddProgram(module, source);
}

Result<XlaOp> Emit(XlaBuilder& builder, Opcode opcode, std::span<const XlaOp> operands, Shape stated,
                   Attributes attributes, std::span<const XlaComputation> called, std::string name) {
  BuilderState& state = BuilderState::Of(builder);
  if (!state.error.ok()) return state.error;
  std::vector<Instruction*> inputs;
  for (const XlaOp& operand : operands) {
    if (!operand.valid() || operand.builder() != &builder) {  // builder_c1
      return InvalidArgument("{}: operand {} is no op of builder {}", OpcodeText(opcode), inputs.size(), state.name);
    }
    inputs.push_back(operand.instruction());
  }
  std::vector<Computation*> callees;
  for (const XlaComputation& computation : called) {
    // computation_c1
    if (computation.IsNull()) return InvalidArgument("{}: a computation that was never built", OpcodeText(opcode));
    VXLA_ASSIGN_OR_RETURN(callees.emplace_back(), state.Import(computation));
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
  return BuilderState::Op(&builder, state.entry->Add(std::move(instruction)));
}

XlaOp XlaBuilder::Record(Result<XlaOp> result) {
  if (result.ok()) return *result;
  if (state_->error.ok()) state_->error = result.status();
  return XlaOp(this, nullptr);
}

XlaOp RunBuild(XlaBuilder* builder, std::span<const XlaOp> operands,
               const std::function<Result<XlaOp>(XlaBuilder&)>& build) {
  for (const XlaOp& operand : operands) {
    if (builder == nullptr) builder = operand.builder();
  }
  if (builder == nullptr) return {};
  if (!builder->first_error().ok()) return BuilderState::Op(builder, nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid() || operands[i].builder() != builder) {  // builder_c1
      return builder->Record(InvalidArgument("operand {} is no op of builder {}", i, builder->name()));
    }
  }
  return builder->Record(Guarded([&] { return build(*builder); }));
}

XlaOp EmitOne(XlaBuilder* builder, Opcode opcode, const std::vector<XlaOp>& operands, const Shape& stated,
              const Attributes& attributes, const std::vector<XlaComputation>& called) {
  return RunBuild(builder, operands,
                  [&](XlaBuilder& b) { return Emit(b, opcode, operands, stated, attributes, called); });
}

Result<XlaComputation> XlaBuilder::Build(XlaOp root) const {
  return Guarded([&]() -> Result<XlaComputation> {
    if (!state_->error.ok()) return state_->error;
    // builder_c2
    if (state_->entry->instructions().empty()) return InvalidArgument("{}: a computation without ops", state_->name);
    const Instruction* result =
        root.builder_ == nullptr ? state_->entry->instructions().back().get() : root.instruction_;
    if (result == nullptr || result->parent() != state_->entry)  // builder_c3
      return InvalidArgument("{}: the root is no op of this builder", state_->name);
    for (size_t i = 0; i < state_->entry->parameters().size(); ++i) {
      // parameter_c3
      if (state_->entry->parameters()[i] == nullptr)
        return InvalidArgument("{}: no parameter has number {}", state_->name, i);
    }
    auto module = std::make_shared<Module>(state_->name);
    std::unordered_map<const Computation*, Computation*> copies;
    auto copy = [&](const Computation& original, const Instruction* root_of_original) {
      Computation* target = module->AddComputation(original.name());
      copies[&original] = target;
      CloneInto(original, *target, {}, [&](Computation* called) { return copies.at(called); });
      for (auto i = original.instructions().begin(), j = target->instructions().begin();
           i != original.instructions().end(); ++i, ++j) {
        if (i->get() == root_of_original) target->set_root(j->get());
      }
      return target;
    };
    for (const auto& computation :
         state_->module.computations()) {  // callees first; the entry was added before all others
      if (computation.get() != state_->entry) copy(*computation, computation->root());
    }
    module->set_entry(copy(*state_->entry, result));
    VXLA_RETURN_IF_ERROR(CheckCallDepth(*module));  // order_c4
    return XlaComputation(std::move(module));
  });
}

}  // namespace VXLA_NAMESPACE
