#include <fmt/format.h>

#include "core/builder/builder.h"
#include "core/builder/emit.h"
#include "core/ir/module.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

XlaOp Tuple(XlaBuilder* builder, const std::vector<XlaOp>& elements) {
  return EmitOne(builder, Opcode::kTuple, elements);
}

XlaOp GetTupleElement(XlaOp tuple_data, int64_t index) {
  return EmitOne(nullptr, Opcode::kGetTupleElement, {tuple_data}, {}, GetTupleElementAttributes{index});
}

XlaOp OptimizationBarrier(XlaOp operand) { return EmitOne(nullptr, Opcode::kOptimizationBarrier, {operand}); }

XlaOp Call(XlaBuilder* builder, const XlaComputation& computation, const std::vector<XlaOp>& operands) {
  return EmitOne(builder, Opcode::kCall, operands, {}, {}, {computation});
}

XlaOp CompositeCall(XlaBuilder* builder, const XlaComputation& computation, const std::vector<XlaOp>& operands,
                    const std::string& name, const std::string& attributes, int64_t version) {
  const XlaOp call = EmitOne(builder, Opcode::kCall, operands, {}, CallAttributes{.is_composite = true}, {computation});
  if (!call.valid()) return call;
  call.instruction()->mutable_common().frontend_attributes.text =
      fmt::format("{{{}composite.name={},composite.version=\"{}\"}}",
                  attributes.empty() ? "" : fmt::format("composite.attributes={},", attributes), Quote(name), version);
  return call;
}

XlaOp Map(XlaBuilder* builder, const std::vector<XlaOp>& operands, const XlaComputation& computation,
          const IntList& dimensions, const std::vector<XlaOp>& static_operands) {
  std::vector<XlaOp> all = Joined(operands, static_operands);
  return RunBuild(builder, all, [&](XlaBuilder& b) -> Result<XlaOp> {
    for (size_t i = operands.size(); i < all.size(); ++i) {
      if (!all[i].shape().IsScalar() || operands.empty()) {  // map_static_c1: HLO's map has element-wise operands only
        return InvalidArgument("map: static operand {} is {}, a scalar needed", i - operands.size(),
                               all[i].shape().ToString());
      }
      all[i] =
          Broadcast(all[i], IntList(operands[0].shape().dimensions().begin(), operands[0].shape().dimensions().end()));
    }
    return Emit(b, Opcode::kMap, all, {}, DimensionsAttributes{dimensions}, {{computation}});
  });
}

XlaOp While(const XlaComputation& condition, const XlaComputation& body, XlaOp init) {
  return EmitOne(nullptr, Opcode::kWhile, {init}, {}, {}, {condition, body});
}

XlaOp Conditional(XlaOp pred, XlaOp true_operand, const XlaComputation& true_computation, XlaOp false_operand,
                  const XlaComputation& false_computation) {
  return EmitOne(nullptr, Opcode::kConditional, {pred, true_operand, false_operand}, {}, {},
                 {true_computation, false_computation});
}

XlaOp Conditional(XlaOp branch_index, const std::vector<XlaComputation>& branch_computations,
                  const std::vector<XlaOp>& branch_operands) {
  return EmitOne(nullptr, Opcode::kConditional, Joined({branch_index}, branch_operands), {}, {}, branch_computations);
}

XlaOp AfterAll(XlaBuilder* builder, const std::vector<XlaOp>& tokens) {
  return EmitOne(builder, Opcode::kAfterAll, tokens);
}

XlaOp CreateToken(XlaBuilder* builder) { return AfterAll(builder, {}); }

XlaOp AddDependency(XlaOp operand, XlaOp token) { return EmitOne(nullptr, Opcode::kAddDependency, {operand, token}); }

XlaOp Domain(XlaOp operand, const std::string& kind, const std::string& entry, const std::string& exit) {
  return EmitOne(nullptr, Opcode::kDomain, {operand}, {},
                 DomainAttributes{{fmt::format("{{kind={}, entry={}, exit={}}}", Quote(kind), entry, exit)}});
}

// ((operands), result, s32[])
XlaOp AsyncStart(XlaBuilder* builder, const std::vector<XlaOp>& operands, const XlaComputation& computation,
                 const std::string& execution_thread) {
  return RunBuild(builder, operands, [&](XlaBuilder& b) -> Result<XlaOp> {
    // computation_c1
    if (computation.IsNull()) return InvalidArgument("async-start: a computation that was never built");
    std::vector<Shape> shapes;
    for (const XlaOp& operand : operands) shapes.push_back(operand.shape());
    const Shape context = Shape::Tuple(
        {Shape::Tuple(std::move(shapes)), computation.module().entry()->root()->shape(), Shape(ElementType::kS32)});
    return Emit(b, Opcode::kAsyncStart, operands, context, AsyncAttributes{execution_thread}, {{computation}});
  });
}

XlaOp AsyncUpdate(XlaOp context) { return EmitOne(nullptr, Opcode::kAsyncUpdate, {context}); }

XlaOp AsyncDone(XlaOp context) { return EmitOne(nullptr, Opcode::kAsyncDone, {context}); }

XlaOp CopyStart(XlaOp operand) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) {
    return Emit(b, Opcode::kCopyStart, {{operand}},
                Shape::Tuple({operand.shape(), operand.shape(), Shape(ElementType::kU32)}), CopyStartAttributes{});
  });
}

XlaOp CopyDone(XlaOp context) { return EmitOne(nullptr, Opcode::kCopyDone, {context}); }

XlaOp Scan(XlaBuilder* builder, const std::vector<XlaOp>& inputs, const std::vector<XlaOp>& initial_carries,
           const XlaComputation& computation, const Shape& shape, int64_t dimension, bool is_reverse) {
  ScanAttributes attributes;
  attributes.dimensions = {dimension};
  attributes.num_carries = static_cast<int64_t>(initial_carries.size());
  attributes.is_reverse = is_reverse;
  return EmitOne(builder, Opcode::kScan, Joined(inputs, initial_carries), shape, std::move(attributes), {computation});
}

}  // namespace VXLA_NAMESPACE
