// Broadcast, concatenate, copy, iota, pad, reverse, slice, transpose, reshape, bitcast and bitcast-convert.
#include "backend/cpu/reference/ops/data_movement.h"

#include <algorithm>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/arithmetic/strided_copy.h"

namespace VXLA_NAMESPACE {
namespace {

std::vector<int64_t> ToVector(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

// The strides, by logical dimension, of an array that is stored in the order of a layout.
std::vector<int64_t> LayoutStrides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int64_t dimension : shape.MinorToMajor()) {
    strides[static_cast<size_t>(dimension)] = stride;
    stride *= shape.dimension(static_cast<int>(dimension));
  }
  return strides;
}

bool IsDefaultLayout(const Shape& shape) {
  const std::vector<int64_t> order = shape.MinorToMajor();
  int64_t next = shape.rank();
  return std::ranges::all_of(order, [&](int64_t dimension) {
    --next;
    return dimension == next || shape.dimension(static_cast<int>(dimension)) == 1;
  });
}

// The value under another shape of as many bytes; nothing moves if nobody else holds it.
Value Relabel(Value value, const Shape& shape) { return std::move(value).Take().Reshaped(shape); }

// The bits of sub-byte elements, packed or spread: one element a byte, the value in the low bits.
Literal RepackBits(const Literal& operand, const Shape& shape) {
  const int from = BitWidth(operand.shape().element_type());
  const int to = BitWidth(shape.element_type());
  Literal result(shape);
  const int from_bytes = StorageBytes(operand.shape().element_type()), to_bytes = StorageBytes(shape.element_type());
  // Elements of the wider side hold `ratio` of the narrower, the first in the low bits.
  const bool splits = from > to;
  const int narrow = splits ? to : from, ratio = splits ? from / to : to / from;
  const std::byte* source = operand.bytes().data();
  std::byte* target = result.mutable_bytes().data();
  auto bit = [](const std::byte* at, int i) { return (static_cast<unsigned>(at[i / 8]) >> (i % 8)) & 1u; };
  const int64_t groups = splits ? operand.element_count() : result.element_count();
  for (int64_t g = 0; g < groups; ++g) {
    for (int r = 0; r < ratio; ++r) {
      const std::byte* in = splits ? source + g * from_bytes : source + (g * ratio + r) * from_bytes;
      std::byte* out = splits ? target + (g * ratio + r) * to_bytes : target + g * to_bytes;
      for (int i = 0; i < narrow; ++i) {
        const int in_bit = splits ? r * narrow + i : i, out_bit = splits ? i : r * narrow + i;
        if (bit(in, in_bit)) out[out_bit / 8] |= static_cast<std::byte>(1u << (out_bit % 8));
      }
    }
  }
  return result;
}

}  // namespace

void CopyBox(const BoxCopy& box, const Literal& source, Literal& target, int threads) {
  StridedCopySpec spec;
  spec.element_bytes = StorageBytes(source.shape().element_type());
  spec.dimensions = box.sizes;
  const std::vector<int64_t> source_strides = RowMajorStrides(source.shape().dimensions());
  const std::vector<int64_t> target_strides = RowMajorStrides(target.shape().dimensions());
  if (std::ranges::find(box.sizes, 0) != box.sizes.end()) return;
  int64_t from = 0, to = 0;
  for (size_t i = 0; i < box.sizes.size(); ++i) {
    const bool steps = box.sizes[i] > 1;  // else the step may be any number
    spec.source_strides.push_back(steps ? box.from_step[i] * source_strides[i] : 0);
    spec.target_strides.push_back(steps ? box.to_step[i] * target_strides[i] : 0);
    from += box.from[i] * source_strides[i];
    to += box.to[i] * target_strides[i];
  }
  StridedCopy(spec, source, from, target, to, threads);
}

void FillWith(const Literal& scalar, Literal& target, int threads) {
  const StridedCopySpec spec{{target.element_count()}, {0}, {1}, StorageBytes(target.shape().element_type())};
  StridedCopy(spec, scalar, 0, target, 0, threads);
}

Literal TransposeLiteral(const Literal& literal, std::span<const int64_t> permutation, int threads) {
  const std::vector<int64_t> strides = RowMajorStrides(literal.shape().dimensions());
  StridedCopySpec spec;
  spec.element_bytes = StorageBytes(literal.shape().element_type());
  for (int64_t dimension : permutation) {
    spec.dimensions.push_back(literal.shape().dimension(static_cast<int>(dimension)));
    spec.source_strides.push_back(strides[static_cast<size_t>(dimension)]);
  }
  spec.target_strides = RowMajorStrides(spec.dimensions);
  Literal result = Literal::Uninitialized(Shape(literal.shape().element_type(), spec.dimensions));
  StridedCopy(spec, literal, 0, result, 0, threads);
  return result;
}

EvalResult EvalBroadcast(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Literal& operand = operands[0].literal();
  Literal result = Literal::Uninitialized(instruction.shape());
  const std::vector<int64_t> strides = RowMajorStrides(operand.shape().dimensions());
  StridedCopySpec spec;
  spec.element_bytes = StorageBytes(instruction.shape().element_type());
  spec.dimensions = ToVector(instruction.shape().dimensions());
  spec.source_strides.assign(spec.dimensions.size(), 0);
  const IntList& dimensions = instruction.dimensions();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int operand_dimension = static_cast<int>(i);
    const size_t target = static_cast<size_t>(dimensions[i]);
    // A dimension of size 1 may expand (StableHLO's broadcast_in_dim); HLO's own sizes are equal.
    if (operand.shape().dimension(operand_dimension) != 1) spec.source_strides[target] = strides[i];
  }
  spec.target_strides = RowMajorStrides(spec.dimensions);
  StridedCopy(spec, operand, 0, result, 0, context.options().threads);
  return result;
}

EvalResult EvalConcatenate(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  const size_t rank = static_cast<size_t>(instruction.shape().rank());
  const size_t dimension = static_cast<size_t>(instruction.dimensions()[0]);
  BoxCopy box;
  box.from.assign(rank, 0);
  box.to.assign(rank, 0);
  box.from_step.assign(rank, 1);
  box.to_step.assign(rank, 1);
  for (Value& operand : operands) {
    box.sizes = ToVector(operand.shape().dimensions());
    CopyBox(box, operand.literal(), result, context.options().threads);
    box.to[dimension] += box.sizes[dimension];
    operand = Value();
  }
  return result;
}

EvalResult EvalCopy(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  if (operands[0].IsTuple() || operands[0].shape().layout() == instruction.shape().layout())
    return std::move(operands[0]);
  return Relabel(std::move(operands[0]), instruction.shape());
}

EvalResult EvalReshape(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  return Relabel(std::move(operands[0]), instruction.shape());
}

// The element at physical position p of the result is the operand's at p, each counted in its own layout. In row-major
// storage: bring the operand into its physical order, then the result out of its own.
EvalResult EvalBitcast(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Shape& from = instruction.operand(0)->shape();  // the operand's value may carry another layout label
  const Shape& to = instruction.shape();
  if (from.SizeBytes() != to.SizeBytes()) {
    return Unsupported("bitcast {}: {} and {} differ in size", instruction.name(), from.ToString(), to.ToString());
  }
  Literal value = std::move(operands[0]).Take();
  if (!IsDefaultLayout(from)) {
    std::vector<int64_t> major_to_minor = from.MinorToMajor();
    std::ranges::reverse(major_to_minor);
    value = TransposeLiteral(value, major_to_minor, context.options().threads);
  }
  if (IsDefaultLayout(to)) return std::move(value).Reshaped(to);
  StridedCopySpec spec{ToVector(to.dimensions()), LayoutStrides(to), RowMajorStrides(to.dimensions()),
                       StorageBytes(to.element_type())};
  Literal result = Literal::Uninitialized(to);
  StridedCopy(spec, value, 0, result, 0, context.options().threads);
  return result;
}

// Different widths change the last dimension; the first of the narrow elements is the low part of the wide one.
EvalResult EvalBitcastConvert(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const ElementType from = operands[0].shape().element_type(), to = instruction.shape().element_type();
  const bool packs = BitWidth(from) != BitWidth(to) && (BitWidth(from) < 8 || BitWidth(to) < 8);
  if (packs) return RepackBits(operands[0].literal(), instruction.shape());
  return Relabel(std::move(operands[0]), instruction.shape());
}

EvalResult EvalIota(EvalContext& context, const Instruction& instruction, std::span<Value>) {
  Literal result = Literal::Uninitialized(instruction.shape());
  const size_t dimension = static_cast<size_t>(instruction.attributes<IotaAttributes>().iota_dimension);
  const ElementType type = instruction.shape().element_type();
  const std::vector<int64_t> strides = RowMajorStrides(instruction.shape().dimensions());
  if (result.element_count() == 0) return result;
  const int64_t size = instruction.shape().dimension(static_cast<int>(dimension)), stride = strides[dimension];
  context.For(result.element_count(), 64 * kBlockSize, [&](int64_t begin, int64_t end) {
    Block block;
    for (int64_t at = begin; at < end; at += kBlockSize) {
      const int64_t n = std::min<int64_t>(kBlockSize, end - at);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t value = (at + i) / stride % size;
        if (IsComplex(type)) {
          block.as<ComplexDouble>()[i] = static_cast<double>(value);
        } else if (IsFloating(type)) {
          block.as<double>()[i] = static_cast<double>(value);
        } else {
          block.as<int64_t>()[i] = value;
        }
      }
      StoreBlock(block.bytes, n, result, at);
    }
  });
  return result;
}

// Interior padding first, then the edges, which may cut into the result of that.
EvalResult EvalPad(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  FillWith(operands[1].literal(), result, context.options().threads);
  const auto& padding = instruction.attributes<PadAttributes>().padding;
  const Shape& shape = operands[0].shape();
  BoxCopy box;
  for (int i = 0; i < shape.rank(); ++i) {
    const PaddingDimension& p = padding[static_cast<size_t>(i)];
    const int64_t step = p.interior + 1;
    // Operand element k lands at low + k * step; keep those within the result.
    const int64_t first = p.low < 0 ? (-p.low + step - 1) / step : 0;
    const int64_t room = instruction.shape().dimension(i) - 1 - p.low;
    const int64_t last = room < 0 ? -1 : std::min(shape.dimension(i) - 1, room / step);
    box.sizes.push_back(std::max<int64_t>(0, last - first + 1));
    box.from.push_back(first);
    box.from_step.push_back(1);
    box.to.push_back(p.low + first * step);
    box.to_step.push_back(step);
  }
  CopyBox(box, operands[0].literal(), result, context.options().threads);
  return result;
}

EvalResult EvalReverse(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  const size_t rank = static_cast<size_t>(instruction.shape().rank());
  BoxCopy box{ToVector(instruction.shape().dimensions()), std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1),
              std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1)};
  for (int64_t dimension : instruction.dimensions()) {
    const size_t d = static_cast<size_t>(dimension);
    box.from[d] = box.sizes[d] - 1;
    box.from_step[d] = -1;
  }
  CopyBox(box, operands[0].literal(), result, context.options().threads);
  return result;
}

EvalResult EvalSlice(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  BoxCopy box;
  box.sizes = ToVector(instruction.shape().dimensions());
  for (const SliceDimension& slice : instruction.attributes<SliceAttributes>().slice) {
    box.from.push_back(slice.start);
    box.from_step.push_back(slice.stride);
    box.to.push_back(0);
    box.to_step.push_back(1);
  }
  CopyBox(box, operands[0].literal(), result, context.options().threads);
  return result;
}

EvalResult EvalTranspose(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return TransposeLiteral(operands[0].literal(), instruction.dimensions(), context.options().threads)
      .Reshaped(instruction.shape());
}

}  // namespace VXLA_NAMESPACE
