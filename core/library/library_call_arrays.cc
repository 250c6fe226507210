// Library calls that take no matrices of LAPACK's: selections, a sparse product, blocks with scales.
#include <algorithm>
#include <span>

#include "core/library/library_call_reader.h"

namespace VXLA_NAMESPACE {

Status LibraryCallReader::ReadTopK() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  const Shape& a = Operand(0);
  const Shape& result = instruction_.shape();
  if (!a.IsArray() || a.rank() < 1 || a.IsDynamic()) return Wrong("operand 0 is {}, an array expected", a.ToString());
  const int64_t length = a.dimension(a.rank() - 1);
  int64_t k = length;
  if (result.IsTuple() && !result.tuple_elements().empty() && result.tuple_elements()[0].rank() == a.rank())
    k = result.tuple_elements()[0].dimension(a.rank() - 1);
  if (k > length) return Wrong("{} results of {} elements", k, length);
  batch_.assign(a.dimensions().begin(), a.dimensions().end() - 1);
  return ExpectResults({{a.element_type(), {k}}, {ElementType::kS32, {k}}});
}

Status LibraryCallReader::ReadApproxTopK() {
  const int count = instruction_.operand_count() / 2;
  if (count < 1 || instruction_.operand_count() != 2 * count || instruction_.called().size() != 1)
    return Wrong("{} operands and {} computations, arrays, as many initial values and one comparator expected",
                 instruction_.operand_count(), instruction_.called().size());
  const Shape& first = Operand(0);
  call_.dimension = Integer("reduction_dim").value_or(first.rank() - 1);
  if (call_.dimension < 0 || call_.dimension >= first.rank())
    return Wrong("reduction_dim is {} of {}", call_.dimension, first.ToString());
  const std::vector<Shape> results = Parts(instruction_.shape());
  if (static_cast<int>(results.size()) != count) return Wrong("{} results of {} arrays", results.size(), count);
  for (int k = 0; k < count; ++k) {
    IntList sizes = SizesOfOperand(0);
    VXLA_RETURN_IF_ERROR(ExpectOperand(k, Operand(k).element_type(), sizes));
    const auto d = static_cast<size_t>(call_.dimension);
    const Shape& result = results[k];
    if (result.rank() == first.rank()) sizes[d] = std::min(sizes[d], result.dimension(d));
    VXLA_RETURN_IF_ERROR(Expect(result, fmt::format("result {}", k), Operand(k).element_type(), sizes));
  }
  return OkStatus();
}

// The rows of a sparse matrix one after the other: its values, where each row's begin and the last one's end, the
// values' columns.
Status LibraryCallReader::ReadSparseProduct() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(4));
  const Shape &values = Operand(0), &starts = Operand(1);
  for (int k = 0; k < 4; ++k) {
    const Shape& shape = Operand(k);
    if (!shape.IsArray() || shape.IsDynamic() || shape.rank() < 1 || shape.rank() > (k < 3 ? 1 : 2))
      return Wrong("operand {} is {}, {} of static sizes expected", k, shape.ToString(),
                   k < 3 ? "a vector" : "a vector or a matrix");
  }
  const ElementType type = values.element_type(), index = starts.element_type();
  if (!IsFloating(type) && !IsComplex(type) && !IsInteger(type))
    return Wrong("operand 0 is {}, numbers expected", values.ToString());
  if ((index != ElementType::kS32 && index != ElementType::kS64) || starts.dimension(0) < 1)
    return Wrong("operand 1 is {}, where rows begin and the last one ends, s32 or s64, expected", starts.ToString());
  VXLA_RETURN_IF_ERROR(ExpectOperand(2, index, {values.dimension(0)}));
  IntList sizes = SizesOfOperand(3);
  VXLA_RETURN_IF_ERROR(ExpectOperand(3, type, sizes));
  sizes[0] = starts.dimension(0) - 1;
  return ExpectResults({{type, sizes}});
}

// Scales of blocks along the values' last dimension. A stated block size may leave scales over.
Status LibraryCallReader::ReadScales(const Shape& values, const Shape& scales) {
  const auto is_floating = [](const Shape& s) {
    return s.IsArray() && !s.IsDynamic() && s.rank() > 0 && IsFloating(s.element_type());
  };
  const auto lead = [](const Shape& s) { return std::span(s.dimensions()).first(static_cast<size_t>(s.rank() - 1)); };
  if (is_floating(values) && is_floating(scales) && std::ranges::equal(lead(values), lead(scales))) {
    const int64_t length = values.dimension(values.rank() - 1), count = scales.dimension(scales.rank() - 1);
    int64_t block = Integer("block_size").value_or(0);
    if (block <= 0 && count > 0) block = length / count;
    if (block > 0 && length % block == 0 && length / block <= count && (call_.block == 0 || call_.block == block)) {
      call_.block = block;
      return OkStatus();
    }
  }
  return Wrong("{} are no scales of equal blocks of {}", scales.ToString(), values.ToString());
}

Status LibraryCallReader::ReadBlocks() {
  const Shape& result = instruction_.shape();
  if (call_.routine == LibraryRoutine::kBlockQuantize) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    if (!result.IsTuple() || result.tuple_elements().size() != 2)
      return Wrong("the result is {}, values and scales expected", result.ToString());
    const Shape& values = result.tuple_elements()[0];
    VXLA_RETURN_IF_ERROR(ReadScales(Operand(0), result.tuple_elements()[1]));
    return Expect(values, "result 0", values.element_type(), SizesOfOperand(0));
  }
  if (call_.routine == LibraryRoutine::kBlockDequantize) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(2));
    VXLA_RETURN_IF_ERROR(ReadScales(Operand(0), Operand(1)));
    return Expect(result, "the result", result.element_type(), SizesOfOperand(0));
  }
  const int count = instruction_.operand_count();
  if (count < 3 || count > 5) return Wrong("{} operands, 3 to 5 expected", count);
  const Shape &a = Operand(0), &b = Operand(1);
  VXLA_RETURN_IF_ERROR(ReadScales(a, Operand(2)));
  if (count > 3) VXLA_RETURN_IF_ERROR(ReadScales(b, Operand(3)));
  if (count > 4 && !Operand(4).IsScalar()) return Wrong("operand 4 is {}, a scalar expected", Operand(4).ToString());
  const int rank = a.rank();
  if ((rank != 2 && rank != 3) || !b.IsArray() || b.rank() != rank || b.dimension(rank - 1) != a.dimension(rank - 1) ||
      (rank == 3 && b.dimension(0) != a.dimension(0))) {
    return Wrong("operands 0 and 1 are {} and {}, [batch,] rows and equal columns expected", a.ToString(),
                 b.ToString());
  }
  IntList sizes = SizesOfOperand(0);
  sizes.back() = b.dimension(rank - 2);
  return Expect(result, "the result", result.element_type(), sizes);
}

}  // namespace VXLA_NAMESPACE
