#include "backend/cpu/reference/dynamic.h"

#include <algorithm>
#include <functional>

#include "backend/cpu/reference/live_dimensions.h"
#include "core/live_sizes.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// Ops whose results are their operands' values, or those of a computation that is evaluated instruction by instruction:
// the sizes travel with the values.
bool CarriesSizes(Opcode opcode) {
  const std::string_view family = FactsOf(opcode).family;
  switch (opcode) {
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
    case Opcode::kDomain:
    case Opcode::kAfterAll:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kConditional:
    case Opcode::kWhile:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kDynamicReshape:
    case Opcode::kScan:
      return true;
    default:
      // What other devices or the host send brings its sizes along.
      return family == "collectives" || family == "host_transfer";
  }
}

bool HoldsLiveSizes(const Value& value) {
  if (value.IsTuple()) return std::ranges::any_of(value.elements(), HoldsLiveSizes);
  return value.literal().is_dynamic();
}

bool IsRowMajor(const Shape& shape) {
  const std::vector<int64_t> order = shape.MinorToMajor();
  return std::ranges::is_sorted(order, std::greater<>());
}

// The value is dynamic exactly where `stated` is.
bool HasStatedFlags(const Value& value, const Shape& stated) {
  if (value.IsTuple()) return std::ranges::equal(value.elements(), stated.tuple_elements(), HasStatedFlags);
  for (int d = 0; d < stated.rank(); ++d) {
    if (value.shape().is_dynamic_dimension(d) != stated.is_dynamic_dimension(d)) return false;
  }
  return stated.IsDynamic() == value.literal().is_dynamic();
}

Shape WithoutFlags(Shape shape) {
  for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, false);
  for (Shape& element : shape.mutable_tuple_elements()) element = WithoutFlags(element);
  return shape;
}

// The live sizes of a reshape, group of dimensions by group; within a group at most one result dimension is dynamic,
// and takes what is left.
class LiveReshape {
 public:
  LiveReshape(const Instruction& instruction, std::span<const int64_t> live)
      : instruction_(instruction), from_(instruction.operand(0)->shape()), to_(instruction.shape()), live_(live) {}

  Result<Shape> Sizes() {
    Shape result = WithoutFlags(to_);
    for (const DimensionGroup& group : DimensionGroups(from_, to_)) VXLA_RETURN_IF_ERROR(Settle(group, result));
    return result;
  }

 private:
  Status Settle(const DimensionGroup& group, Shape& result) const {
    int64_t elements = 1, others = 1;
    bool full = true;
    for (int d = group.from_begin; d < group.from_end; ++d) {
      elements *= live_[static_cast<size_t>(d)];
      full = full && live_[static_cast<size_t>(d)] == from_.dimension(d);
    }
    if (full) return OkStatus();
    int open = -1;
    for (int d = group.to_begin; d < group.to_end; ++d) {
      if (!to_.is_dynamic_dimension(d)) {
        others *= to_.dimension(d);
      } else if (open >= 0) {
        return OpError(instruction_,
                       "dimensions {} and {} of {} are dynamic and come from the same dimensions of {}: use {}", open,
                       d, to_.ToString(), from_.ToString(), OpcodeText(Opcode::kDynamicReshape));
      } else {
        open = d;
      }
    }
    if (open < 0 || others == 0 || elements % others != 0) {
      return OpError(instruction_, "{} live elements of {} do not fill {}", elements, from_.ToString(), to_.ToString());
    }
    result.set_dimension(open, elements / others);
    return OkStatus();
  }

  const Instruction& instruction_;
  const Shape &from_, &to_;
  std::span<const int64_t> live_;
};

// A copy of an instruction whose operands have the live sizes.
class LiveInstruction {
 public:
  LiveInstruction(const Instruction& instruction, LiveDimensions live)
      : original_(instruction), live_(std::move(live)), attributes_(instruction.attributes()) {}

  // The sizes to which operands are cut. Call Adjust first.
  const std::vector<std::vector<int64_t>>& sizes() const { return live_.sizes; }
  const Instruction& instruction() const { return *copy_; }

  Status Build() {
    stated_ = WithoutFlags(original_.shape());
    VXLA_RETURN_IF_ERROR(Adjust());
    std::vector<Instruction*> operands;
    for (int k = 0; k < original_.operand_count(); ++k) {
      const Shape& shape = original_.operand(k)->shape();
      Shape cut = shape.IsArray() ? Shape(shape.element_type(), live_.sizes[k]) : shape;
      if (shape.IsArray()) cut.set_layout(shape.layout());
      operands_.push_back(std::make_unique<Instruction>(Opcode::kParameter, std::move(cut)));
      operands.push_back(operands_.back().get());
    }
    copy_ =
        std::make_unique<Instruction>(original_.opcode(), stated_, std::move(operands), attributes_,
                                      std::vector<Computation*>(original_.called().begin(), original_.called().end()));
    copy_->set_name(original_.name());
    copy_->set_location(original_.location());
    if (original_.opcode() == Opcode::kScatter) {
      // Updates may be wider than what lives of the operand: elements outside are skipped one by one.
      std::vector<Shape> results;
      for (int k = 0; k < original_.operand_count() / 2; ++k) results.push_back(operands_[k]->shape());
      copy_->mutable_shape() = Collate(std::move(results));
      return OkStatus();
    }
    VXLA_ASSIGN_OR_RETURN(copy_->mutable_shape(), InferShape(*copy_));
    return OkStatus();
  }

 private:
  Status Adjust() {
    switch (original_.opcode()) {
      case Opcode::kSlice:
        return AdjustSlice();
      case Opcode::kBroadcast:
        for (size_t i = 0; i < original_.dimensions().size(); ++i) {
          stated_.set_dimension(static_cast<int>(original_.dimensions()[i]), live_.sizes[0][i]);
        }
        return OkStatus();
      case Opcode::kReshape: {
        VXLA_ASSIGN_OR_RETURN(stated_, LiveReshape(original_, live_.sizes[0]).Sizes());
        return OkStatus();
      }
      case Opcode::kBitcast:
        return AdjustBitcast();
      case Opcode::kBitcastConvert:
        for (int d = 0; d < std::min(stated_.rank(), static_cast<int>(live_.sizes[0].size())); ++d) {
          if (live_.dynamic[0][d]) stated_.set_dimension(d, live_.sizes[0][d]);
        }
        return OkStatus();
      case Opcode::kRngBitGenerator: {
        Shape& state = stated_.mutable_tuple_elements()[0];
        for (int d = 0; d < state.rank(); ++d) state.set_dimension(d, live_.sizes[0][d]);
        return OkStatus();
      }
      case Opcode::kConvolution: {
        auto& a = std::get<ConvolutionAttributes>(attributes_);
        for (size_t i = 0; i < a.window.size(); ++i) a.window[i].size = live_.sizes[1][a.dim_labels->kernel_spatial[i]];
        return OkStatus();
      }
      case Opcode::kDynamicSlice:
        return ShrinkWindows(std::get<DynamicSliceAttributes>(attributes_).dynamic_slice_sizes);
      case Opcode::kGather:
        return ShrinkWindows(std::get<GatherAttributes>(attributes_).slice_sizes);
      default:
        return OkStatus();
    }
  }

  // A slice of one element may pick any place up to the bound and is static; the others see the live elements only.
  Status AdjustSlice() {
    auto& slice = std::get<SliceAttributes>(attributes_).slice;
    for (size_t d = 0; d < slice.size(); ++d) {
      if (!live_.dynamic[0][d]) continue;
      int64_t& size = live_.sizes[0][d];
      if (stated_.dimension(static_cast<int>(d)) == 1 && !original_.shape().is_dynamic_dimension(static_cast<int>(d))) {
        size = original_.operand(0)->shape().dimension(static_cast<int>(d));
        continue;
      }
      slice[d].start = std::min(slice[d].start, size);
      slice[d].limit = std::clamp(slice[d].limit, slice[d].start, size);
    }
    return OkStatus();
  }

  // The same bytes as laid out: between row-major arrays of one type a reshape.
  Status AdjustBitcast() {
    const Shape& from = original_.operand(0)->shape();
    const Shape& to = original_.shape();
    if (SameDimensions(from, to) && from.MinorToMajor() == to.MinorToMajor()) {
      for (int d = 0; d < from.rank(); ++d) stated_.set_dimension(d, live_.sizes[0][d]);
      return OkStatus();
    }
    if (from.element_type() != to.element_type() || !IsRowMajor(from) || !IsRowMajor(to)) {
      return Unsupported("bitcast {}: {} has live sizes, and {} is not its shape", original_.name(),
                         from.ToString(true), to.ToString(true));
    }
    VXLA_ASSIGN_OR_RETURN(stated_, LiveReshape(original_, live_.sizes[0]).Sizes());
    return OkStatus();
  }

  // A window as wide as the bound means the whole dimension, whatever lives of it.
  Status ShrinkWindows(IntList& windows) {
    for (size_t d = 0; d < windows.size(); ++d) {
      if (!live_.dynamic[0][d]) continue;
      if (windows[d] == original_.operand(0)->shape().dimension(static_cast<int>(d))) windows[d] = live_.sizes[0][d];
    }
    return OkStatus();
  }

  const Instruction& original_;
  LiveDimensions live_;
  Attributes attributes_;
  Shape stated_;
  std::vector<std::unique_ptr<Instruction>> operands_;
  std::unique_ptr<Instruction> copy_;
};

// A static operand that is sorted along with dynamic ones stays static: beyond the live elements it is as it was.
void PutOverStatic(const std::vector<Value>& whole, std::vector<Value>& sorted) {
  for (size_t k = 0; k < whole.size(); ++k) {
    if (whole[k].literal().is_dynamic() || SameDimensions(whole[k].shape(), sorted[k].shape())) continue;
    Literal result = Value(whole[k]).Take();
    PutCorner(sorted[k].literal(), result);
    sorted[k] = Value(std::move(result));
  }
}

}  // namespace

bool NeedsLiveSizes(const Instruction& instruction, std::span<const Value> operands) {
  return instruction.shape().IsDynamic() || std::ranges::any_of(operands, HoldsLiveSizes);
}

Result<Value> PadToStated(const Instruction& instruction, Value value, const Shape& stated) {
  if (value.IsTuple()) {
    std::vector<Value> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      VXLA_ASSIGN_OR_RETURN(Value element,
                            PadToStated(instruction, std::move(value.elements()[i]), stated.tuple_elements()[i]));
      elements.push_back(std::move(element));
    }
    return Value::Tuple(std::move(elements));
  }
  const Shape& dense = value.shape();
  for (int d = 0; d < dense.rank(); ++d) {
    const bool fits = dense.dimension(d) == stated.dimension(d) ||
                      (stated.is_dynamic_dimension(d) && dense.dimension(d) < stated.dimension(d));
    if (!fits) {
      return OpError(instruction, "dimension {} of {} comes out with the live size {}", d, stated.ToString(),
                     dense.dimension(d));
    }
  }
  if (SameDimensions(dense, stated)) return Value(std::move(value).Take().Reshaped(stated));
  return Value(PadToBounds(value.literal(), stated));
}

Result<Value> WithStatedFlags(const Instruction& instruction, Value value, const Shape& stated) {
  if (value.IsTuple()) {
    if (HasStatedFlags(value, stated)) return value;
    std::vector<Value> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      VXLA_ASSIGN_OR_RETURN(Value element,
                            WithStatedFlags(instruction, value.elements()[i], stated.tuple_elements()[i]));
      elements.push_back(std::move(element));
    }
    return Value::Tuple(std::move(elements));
  }
  if (HasStatedFlags(value, stated)) return value;
  for (int d = 0; d < stated.rank(); ++d) {
    const int64_t size = value.literal().dynamic_size(d);
    if (size == stated.dimension(d) || stated.is_dynamic_dimension(d)) continue;
    return OpError(instruction, "dimension {} of {} comes out with the live size {}", d, stated.ToString(), size);
  }
  return Value(std::move(value).Take().Reshaped(stated));
}

Result<Value> EvaluateLive(EvalContext& context, const Instruction& instruction, std::span<Value> operands,
                           EvalFunction* function) {
  if (CarriesSizes(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(Value value, function(context, instruction, operands));
    return WithStatedFlags(instruction, std::move(value), instruction.shape());
  }
  const std::vector<Value> whole = instruction.opcode() == Opcode::kSort
                                       ? std::vector<Value>(operands.begin(), operands.end())
                                       : std::vector<Value>();
  LiveDimensions live(operands);
  VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, live));
  LiveInstruction dense(instruction, std::move(live));
  VXLA_RETURN_IF_ERROR(dense.Build());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].IsTuple()) continue;
    const std::vector<int64_t>& sizes = dense.sizes()[k];
    if (std::ranges::equal(sizes, operands[k].shape().dimensions())) {
      if (operands[k].literal().is_dynamic()) {
        const Shape shape = WithoutFlags(operands[k].shape());
        operands[k] = Value(std::move(operands[k]).Take().Reshaped(shape));
      }
    } else {
      operands[k] = Value(CutTo(operands[k].literal(), sizes));
    }
  }
  VXLA_ASSIGN_OR_RETURN(Value value, function(context, dense.instruction(), operands));
  if (!whole.empty() && value.IsTuple()) PutOverStatic(whole, value.elements());
  return PadToStated(instruction, std::move(value), instruction.shape());
}

// The live size of one dimension.
EvalResult EvalGetDimensionSize(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const int dimension = static_cast<int>(instruction.dimensions()[0]);
  return Literal::ScalarInt(ElementType::kS32, operands[0].literal().dynamic_size(dimension));
}

// The elements stay where they are, also those that become padding: a larger size brings them back.
EvalResult EvalSetDimensionSize(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  if (operands.size() == 1) {  // the elements at their bounds, whatever lives (core/passes/dynamic_padder.h)
    Shape at_bounds = WithoutFlags(operands[0].shape());
    return std::move(operands[0]).Take().Reshaped(at_bounds);
  }
  const int dimension = static_cast<int>(instruction.dimensions()[0]);
  const int64_t size = operands[1].literal().GetInt(0);
  const Shape shape = operands[0].shape();
  if (size < 0 || size > shape.dimension(dimension)) {
    return OpError(instruction, "size {} is not in 0 to {}, the bound of dimension {} of {}", size,
                   shape.dimension(dimension), dimension, shape.ToString());
  }
  Shape dynamic = shape;
  dynamic.set_dynamic_dimension(dimension, true);
  Literal result = std::move(operands[0]).Take().Reshaped(dynamic);
  result.set_dynamic_size(dimension, size);
  return WithStatedFlags(instruction, std::move(result), instruction.shape());
}

// The live elements in row-major order under sizes that are operands.
EvalResult EvalDynamicReshape(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const Shape& stated = instruction.shape();
  Shape dense = WithoutFlags(stated);
  int64_t elements = 1;
  for (int d = 0; d < stated.rank(); ++d) {
    const int64_t size = operands[static_cast<size_t>(d) + 1].literal().GetInt(0);
    const bool fits =
        size == stated.dimension(d) || (stated.is_dynamic_dimension(d) && size >= 0 && size < stated.dimension(d));
    if (!fits) return OpError(instruction, "size {} does not fit dimension {} of {}", size, d, stated.ToString());
    dense.set_dimension(d, size);
    elements *= size;
  }
  Literal live = CutToLiveSizes(std::move(operands[0]).Take());
  if (live.element_count() != elements) {
    return OpError(instruction, "{} live elements cannot become {}", live.element_count(), dense.ToString());
  }
  return PadToBounds(std::move(live).Reshaped(dense), stated);
}

}  // namespace VXLA_NAMESPACE
