#include "core/sizes/live_instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/ops/op_support.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
bool IsRowMajor(const Shape& shape) {
  const std::vector<int64_t> order = shape.MinorToMajor();
  return std::ranges::is_sorted(order, std::greater<>());
}

std::string SizeRangeText(const Instruction& set, size_t k, std::string_view size, const Shape& array) {
  if (!set.notes().checked.empty()) return set.notes().checked;
  const int64_t d = set.dimensions()[k];
  return fmt::format("size {} is not in 0 to {}, the bound of dimension {} of {}", size, array.dimension(d), d,
                     array.ToString());
}

Status SizeRangeError(const Instruction& set, size_t k, int64_t size, const Shape& array) {
  const std::string text = SizeRangeText(set, k, std::to_string(size), array);
  return set.notes().checked.empty() ? OpError(set, "{}", text) : InvalidArgument("{}", text);
}

Status LiveInstruction::Build() {
  VXLA_RETURN_IF_ERROR(AgreeOnSizes(original_, live_));
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
  copy_ = original_.CloneWith(std::move(operands), stated_);
  copy_->mutable_attributes() = attributes_;
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

Status LiveInstruction::Adjust() {
  switch (original_.opcode()) {
    case Opcode::kSlice:
      return AdjustSlice();
    case Opcode::kBroadcast:
      for (size_t i = 0; i < original_.dimensions().size(); ++i) {
        stated_.set_dimension(original_.dimensions()[i], live_.sizes[0][i]);
      }
      return OkStatus();
    case Opcode::kReshape: {
      VXLA_ASSIGN_OR_RETURN(stated_, ReshapedSizes(original_, live_));
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
      ShrinkWindows(std::get<DynamicSliceAttributes>(attributes_).dynamic_slice_sizes);
      return OkStatus();
    case Opcode::kGather:
      ShrinkWindows(std::get<GatherAttributes>(attributes_).slice_sizes);
      return OkStatus();
    default:
      return OkStatus();
  }
}

// A slice of one element may pick any place up to the bound and is static; the others see the live elements only.
Status LiveInstruction::AdjustSlice() {
  auto& slice = std::get<SliceAttributes>(attributes_).slice;
  for (size_t d = 0; d < slice.size(); ++d) {
    if (!live_.dynamic[0][d]) continue;
    int64_t& size = live_.sizes[0][d];
    if (stated_.dimension(d) == 1 && !original_.shape().is_dynamic_dimension(d)) {
      size = original_.operand(0)->shape().dimension(d);
      continue;
    }
    slice[d].start = std::min(slice[d].start, size);
    slice[d].limit = std::clamp(slice[d].limit, slice[d].start, size);
  }
  return OkStatus();
}

// The same bytes as laid out: between row-major arrays of one type a reshape.
Status LiveInstruction::AdjustBitcast() {
  const Shape& from = original_.operand(0)->shape();
  const Shape& to = original_.shape();
  if (SameDimensions(from, to) && from.MinorToMajor() == to.MinorToMajor()) {
    for (int d = 0; d < from.rank(); ++d) stated_.set_dimension(d, live_.sizes[0][d]);
    return OkStatus();
  }
  if (from.element_type() != to.element_type() || !IsRowMajor(from) || !IsRowMajor(to)) {
    return Unsupported("bitcast {}: {} has live sizes, and {} is not its shape", original_.name(), from.ToString(true),
                       to.ToString(true));
  }
  VXLA_ASSIGN_OR_RETURN(stated_, ReshapedSizes(original_, live_));
  return OkStatus();
}

// A window as wide as the bound means the whole dimension, whatever lives of it.
void LiveInstruction::ShrinkWindows(std::vector<int64_t>& windows) {
  for (size_t d = 0; d < windows.size(); ++d) {
    if (!live_.dynamic[0][d]) continue;
    if (windows[d] == original_.operand(0)->shape().dimension(d)) windows[d] = live_.sizes[0][d];
  }
}

}  // namespace VXLA_NAMESPACE
