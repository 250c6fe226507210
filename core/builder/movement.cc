#include <numeric>

#include "core/builder/broadcast.h"

namespace VXLA_NAMESPACE {

XlaOp Parameter(XlaBuilder* builder, int64_t parameter_number, const Shape& shape, std::string name) {
  return RunBuild(builder, {}, [&](XlaBuilder& b) -> Result<XlaOp> {
    constexpr int64_t kMaxParameters = 1 << 20;                        // a computation keeps a table by number
    if (parameter_number < 0 || parameter_number >= kMaxParameters) {  // parameter_c1
      return InvalidArgument("parameter: number {} is not in 0 to {}", parameter_number, kMaxParameters - 1);
    }
    if (b.HasParameter(parameter_number)) {  // parameter_c2
      return InvalidArgument("parameter: number {} occurs twice", parameter_number);
    }
    return Emit(b, Opcode::kParameter, {}, shape, ParameterAttributes{parameter_number}, {}, std::move(name));
  });
}

XlaOp ConstantLiteral(XlaBuilder* builder, const Literal& literal) {
  return EmitOne(builder, Opcode::kConstant, {}, literal.shape(),
                 ConstantAttributes{std::make_shared<const Literal>(literal)});
}

Status UnequalRows(size_t first, size_t other) {
  return InvalidArgument("constant: rows of {} and {} values", first, other);  // constant_c2
}

XlaOp ConstantScalar(XlaBuilder* builder, ElementType type, double value) {
  return ConstantLiteral(builder, Literal::Scalar(type, value));
}

XlaOp Iota(XlaBuilder* builder, const Shape& shape, int64_t iota_dimension) {
  return EmitOne(builder, Opcode::kIota, {}, shape, IotaAttributes{iota_dimension});
}

XlaOp Iota(XlaBuilder* builder, ElementType type, int64_t size) { return Iota(builder, Shape(type, {size}), 0); }

XlaOp Broadcast(XlaOp operand, const IntList& broadcast_sizes) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    IntList sizes = broadcast_sizes, mapping;
    for (int i = 0; i < operand.shape().rank(); ++i) {
      mapping.push_back(sizes.size());
      sizes.push_back(operand.shape().dimension(i));
    }
    return Emit(b, Opcode::kBroadcast, {{operand}}, Shape(operand.shape().element_type(), sizes),
                DimensionsAttributes{mapping});
  });
}

XlaOp BroadcastInDim(XlaOp operand, const IntList& out_dim_size, const IntList& broadcast_dimensions) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    const Shape& shape = operand.shape();
    const Shape target(shape.element_type(), out_dim_size);
    if (static_cast<int>(broadcast_dimensions.size()) != shape.rank()) {  // broadcast_in_dim_c2
      return InvalidArgument("broadcast: {} broadcast_dimensions for {}", broadcast_dimensions.size(),
                             shape.ToString());
    }
    for (int i = 0; i < shape.rank(); ++i) {
      const int64_t to = broadcast_dimensions[i];
      if (to < 0 || to >= target.rank()) {  // broadcast_in_dim_c3
        return InvalidArgument("broadcast: broadcast dimension {} is not a dimension of {}", to, target.ToString());
      }
      if (i > 0 && to <= broadcast_dimensions[i - 1]) {  // broadcast_in_dim_c4
        return InvalidArgument("broadcast: broadcast_dimensions {{{}}} are not strictly increasing",
                               JoinInts(broadcast_dimensions));
      }
      if (shape.dimension(i) != 1 && shape.dimension(i) != target.dimension(to)) {  // broadcast_in_dim_c5
        return InvalidArgument("broadcast: dimension {} of {} is neither 1 nor {}", i, shape.ToString(),
                               target.dimension(to));
      }
    }
    return BroadcastTo(b, operand, out_dim_size, broadcast_dimensions);
  });
}

XlaOp Reshape(XlaOp operand, const IntList& new_sizes) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) {
    return Emit(b, Opcode::kReshape, {{operand}}, Shape(operand.shape().element_type(), new_sizes));
  });
}

XlaOp Reshape(XlaOp operand, const IntList& dimensions, const IntList& new_sizes) {
  IntList in_order(operand.valid() ? static_cast<size_t>(operand.shape().rank()) : 0);
  std::iota(in_order.begin(), in_order.end(), 0);
  return Reshape(dimensions == in_order ? operand : Transpose(operand, dimensions), new_sizes);
}

XlaOp DynamicReshape(XlaOp operand, const std::vector<XlaOp>& dim_sizes, const IntList& new_size_bounds,
                     const std::vector<bool>& dims_are_dynamic) {
  const std::vector<XlaOp> operands = Joined({operand}, dim_sizes);
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (dims_are_dynamic.size() != new_size_bounds.size()) {  // dynamic_reshape_c1
      return InvalidArgument("dynamic-reshape: {} flags for {} dimensions", dims_are_dynamic.size(),
                             new_size_bounds.size());
    }
    Shape shape(operand.shape().element_type(), new_size_bounds);
    for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, dims_are_dynamic[i]);
    return Emit(b, Opcode::kDynamicReshape, operands, shape);
  });
}

XlaOp Collapse(XlaOp operand, const IntList& dimensions) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    const Shape& shape = operand.shape();
    for (size_t i = 0; i < dimensions.size(); ++i) {  // collapse_c1
      if (dimensions[i] < 0 || dimensions[i] >= shape.rank() ||
          dimensions[i] != dimensions[0] + static_cast<int64_t>(i)) {
        return InvalidArgument("collapse: dimensions {{{}}} are not consecutive ones of {}", JoinInts(dimensions),
                               shape.ToString());
      }
    }
    if (dimensions.size() <= 1) return operand;
    IntList sizes;
    for (int i = 0; i < shape.rank(); ++i) {
      const bool joins = i > dimensions.front() && i <= dimensions.back();
      joins ? sizes.back() *= shape.dimension(i) : (sizes.push_back(shape.dimension(i)), 0);
    }
    return Emit(b, Opcode::kReshape, {{operand}}, Shape(shape.element_type(), sizes));
  });
}

XlaOp Transpose(XlaOp operand, const IntList& permutation) {
  return EmitOne(nullptr, Opcode::kTranspose, {operand}, {}, DimensionsAttributes{permutation});
}

XlaOp Slice(XlaOp operand, const IntList& start_indices, const IntList& limit_indices, const IntList& strides) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (limit_indices.size() != start_indices.size() ||
        (!strides.empty() && strides.size() != start_indices.size())) {  // slice_c1
      return InvalidArgument("slice: {} starts, {} limits, {} strides", start_indices.size(), limit_indices.size(),
                             strides.size());
    }
    SliceAttributes attributes;
    for (size_t i = 0; i < start_indices.size(); ++i) {
      attributes.slice.push_back({start_indices[i], limit_indices[i], strides.empty() ? 1 : strides[i]});
    }
    return Emit(b, Opcode::kSlice, {{operand}}, {}, std::move(attributes));
  });
}

XlaOp SliceInDim(XlaOp operand, int64_t start_index, int64_t limit_index, int64_t stride, int64_t dimension) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (dimension < 0 || dimension >= operand.shape().rank()) {  // slice_in_dim_c1
      return InvalidArgument("slice: dimension {} is not a dimension of {}", dimension, operand.shape().ToString());
    }
    SliceAttributes attributes;
    for (int64_t size : operand.shape().dimensions()) attributes.slice.push_back({0, size, 1});
    attributes.slice[dimension] = {start_index, limit_index, stride};
    return Emit(b, Opcode::kSlice, {{operand}}, {}, std::move(attributes));
  });
}

XlaOp Pad(XlaOp operand, XlaOp padding_value, const PaddingConfig& padding_config) {
  return EmitOne(nullptr, Opcode::kPad, {operand, padding_value}, {}, PadAttributes{padding_config});
}

PaddingConfig MakeEdgePaddingConfig(const PaddingPairs& padding) {
  PaddingConfig config;
  for (const auto& [low, high] : padding) config.push_back({low, high, 0});
  return config;
}

XlaOp PadInDim(XlaOp operand, XlaOp padding_value, int64_t dimension, int64_t pad_low, int64_t pad_high) {
  return RunBuild(nullptr, {{operand, padding_value}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (dimension < 0 || dimension >= operand.shape().rank()) {  // pad_in_dim_c1
      return InvalidArgument("pad: dimension {} is not a dimension of {}", dimension, operand.shape().ToString());
    }
    PadAttributes attributes{PaddingConfig(operand.shape().rank())};
    attributes.padding[dimension] = {pad_low, pad_high, 0};
    return Emit(b, Opcode::kPad, {{operand, padding_value}}, {}, std::move(attributes));
  });
}

XlaOp ConcatInDim(XlaBuilder* builder, const std::vector<XlaOp>& operands, int64_t dimension) {
  return EmitOne(builder, Opcode::kConcatenate, operands, {}, DimensionsAttributes{{dimension}});
}

XlaOp Rev(XlaOp operand, const IntList& dimensions) {
  return EmitOne(nullptr, Opcode::kReverse, {operand}, {}, DimensionsAttributes{dimensions});
}

XlaOp DynamicSlice(XlaOp operand, const std::vector<XlaOp>& start_indices, const IntList& size_indices) {
  return EmitOne(nullptr, Opcode::kDynamicSlice, Joined({operand}, start_indices), {},
                 DynamicSliceAttributes{size_indices});
}

XlaOp DynamicUpdateSlice(XlaOp operand, XlaOp update, const std::vector<XlaOp>& start_indices) {
  return EmitOne(nullptr, Opcode::kDynamicUpdateSlice, Joined({operand, update}, start_indices));
}

XlaOp Gather(XlaOp operand, XlaOp start_indices, GatherAttributes dimension_numbers, const IntList& slice_sizes,
             bool indices_are_sorted) {
  dimension_numbers.slice_sizes = slice_sizes;
  dimension_numbers.indices_are_sorted = indices_are_sorted;
  return EmitOne(nullptr, Opcode::kGather, {operand, start_indices}, {}, std::move(dimension_numbers));
}

XlaOp Scatter(const std::vector<XlaOp>& operands, XlaOp scatter_indices, const std::vector<XlaOp>& updates,
              const XlaComputation& update_computation, ScatterAttributes dimension_numbers, bool indices_are_sorted,
              bool unique_indices) {
  const std::vector<XlaOp> all = Joined(Joined(operands, {scatter_indices}), updates);
  dimension_numbers.indices_are_sorted = indices_are_sorted;
  dimension_numbers.unique_indices = unique_indices;
  return EmitOne(nullptr, Opcode::kScatter, all, {}, std::move(dimension_numbers), {update_computation});
}

XlaOp Scatter(XlaOp operand, XlaOp scatter_indices, XlaOp updates, const XlaComputation& update_computation,
              ScatterAttributes dimension_numbers, bool indices_are_sorted, bool unique_indices) {
  return Scatter(std::vector<XlaOp>{operand}, scatter_indices, std::vector<XlaOp>{updates}, update_computation,
                 std::move(dimension_numbers), indices_are_sorted, unique_indices);
}

XlaOp GetDimensionSize(XlaOp operand, int64_t dimension) {
  return EmitOne(nullptr, Opcode::kGetDimensionSize, {operand}, {}, DimensionsAttributes{{dimension}});
}

XlaOp SetDimensionSize(XlaOp operand, XlaOp size, int64_t dimension) {
  return RunBuild(nullptr, {{operand, size}}, [&](XlaBuilder& b) {
    Shape stated;
    const Instruction& given = *size.instruction();
    const bool constant = given.opcode() == Opcode::kConstant && given.shape() == Shape(ElementType::kS32);
    const bool in_range = dimension >= 0 && dimension < operand.shape().rank();
    if (constant && in_range && given.literal().GetInt(0) == operand.shape().dimension(dimension)) {
      stated = operand.shape();  // as XLA's builder: the constant bound makes the dimension static
      stated.set_dynamic_dimension(dimension, false);
    }
    return Emit(b, Opcode::kSetDimensionSize, {{operand, size}}, stated, DimensionsAttributes{{dimension}});
  });
}

}  // namespace VXLA_NAMESPACE
