// ragged-dot and scaled-dot, made of plain dots: one for each group of rows, or one of the operands times their scales.
#include <algorithm>

#include "backend/cpu/reference/ops/data_movement.h"
#include "core/ops/ops.h"

namespace VXLA_NAMESPACE {
namespace {

bool Has(const IntList& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }

// A dot of two arrays. `result`: the stated shape; nullopt takes the inferred one with `type`.
Result<Literal> PlainDot(EvalContext& context, const Instruction& source, Literal lhs, Literal rhs,
                         DotAttributes attributes, const std::optional<Shape>& stated) {
  attributes.lhs_ragged_dims.clear();
  attributes.rhs_group_dims.clear();
  Instruction left(Opcode::kParameter, lhs.shape(), {}, ParameterAttributes{0});
  Instruction right(Opcode::kParameter, rhs.shape(), {}, ParameterAttributes{1});
  Instruction probe(Opcode::kDot, Shape(source.shape().element_type()), {&left, &right}, attributes);
  VXLA_ASSIGN_OR_RETURN(Shape shape, InferDot(probe));
  shape.set_element_type(source.shape().element_type());
  if (stated && !Compatible(shape, *stated)) {
    return InvalidArgument("{} {}: the operands give {}, not {}", OpcodeText(source.opcode()), source.name(),
                           shape.ToString(), stated->ToString());
  }
  Instruction dot(Opcode::kDot, shape, {&left, &right}, attributes);
  std::vector<Value> operands;
  operands.emplace_back(std::move(lhs));
  operands.emplace_back(std::move(rhs));
  VXLA_ASSIGN_OR_RETURN(Value result, EvalDot(context, dot, operands));
  return std::move(result).ToLiteral();
}

struct Box {
  std::vector<int64_t> at, sizes;
  explicit Box(const Shape& shape)
      : at(static_cast<size_t>(shape.rank())), sizes(shape.dimensions().begin(), shape.dimensions().end()) {}
  void Narrow(int64_t dimension, int64_t from, int64_t size) {
    at[static_cast<size_t>(dimension)] = from;
    sizes[static_cast<size_t>(dimension)] = size;
  }
};

Literal Cut(const Literal& array, const Box& box, int threads) {
  Literal part(Shape(array.shape().element_type(), box.sizes));
  const std::vector<int64_t> ones(box.at.size(), 1), zeros(box.at.size(), 0);
  if (part.element_count() > 0) CopyBox({box.sizes, box.at, ones, zeros, ones}, array, part, threads);
  return part;
}

void Paste(Literal part, const Box& box, Literal& array, int threads) {
  const std::vector<int64_t> ones(box.at.size(), 1), zeros(box.at.size(), 0);
  part = std::move(part).Reshaped(Shape(array.shape().element_type(), box.sizes));
  if (part.element_count() > 0) CopyBox({box.sizes, zeros, ones, box.at, ones}, part, array, threads);
}

// The three kinds by where the ragged dimension of lhs is.
enum class Ragged : uint8_t { kFree, kContracting, kBatch };

struct RaggedDot {
  const Instruction& instruction;
  const DotAttributes& attributes;
  const Literal &lhs, &rhs, &groups;
  Ragged kind = Ragged::kFree;
  int64_t lhs_dim = 0;     // the ragged dimension
  int64_t rhs_dim = 0;     // the dimension of rhs that goes with it: the groups', or the contracting or batch partner
  int64_t result_dim = 0;  // where it, or the group, stands in the result
};

void Locate(RaggedDot& d) {
  const DotAttributes& a = d.attributes;
  d.lhs_dim = a.lhs_ragged_dims[0];
  auto partner = [&d](const IntList& lhs_dims, const IntList& rhs_dims) {
    const auto at = std::ranges::find(lhs_dims, d.lhs_dim) - lhs_dims.begin();
    return std::pair<int64_t, int64_t>(at, rhs_dims[static_cast<size_t>(at)]);
  };
  if (Has(a.lhs_contracting_dims, d.lhs_dim)) {
    d.kind = Ragged::kContracting;
    d.rhs_dim = partner(a.lhs_contracting_dims, a.rhs_contracting_dims).second;
  } else if (Has(a.lhs_batch_dims, d.lhs_dim)) {
    d.kind = Ragged::kBatch;
    std::tie(d.result_dim, d.rhs_dim) = partner(a.lhs_batch_dims, a.rhs_batch_dims);
  } else {
    d.rhs_dim = a.rhs_group_dims[0];
    d.result_dim = static_cast<int64_t>(a.lhs_batch_dims.size());
    for (int64_t i = 0; i < d.lhs_dim; ++i) {
      if (!Has(a.lhs_batch_dims, i) && !Has(a.lhs_contracting_dims, i)) ++d.result_dim;
    }
  }
}

// Rows [start, start + size) of the ragged dimension belong to group `group`; the boxes are already narrowed to one
// batch.
Status AddGroup(EvalContext& context, const RaggedDot& d, int64_t group, int64_t start, int64_t size, Box lhs_box,
                Box rhs_box, Box result_box, Literal& result) {
  const int threads = context.options().threads;
  lhs_box.Narrow(d.lhs_dim, start, size);
  if (d.kind == Ragged::kFree) {
    rhs_box.Narrow(d.rhs_dim, group, 1);
  } else {
    rhs_box.Narrow(d.rhs_dim, start, size);
  }
  if (d.kind == Ragged::kContracting) {
    result_box.Narrow(0, group, 1);
  } else {
    result_box.Narrow(d.result_dim, start, size);
  }
  VXLA_ASSIGN_OR_RETURN(Literal part, PlainDot(context, d.instruction, Cut(d.lhs, lhs_box, threads),
                                               Cut(d.rhs, rhs_box, threads), d.attributes, std::nullopt));
  Paste(std::move(part), result_box, result, threads);
  return OkStatus();
}

// All groups of one list of sizes; what is beyond their sum stays zero.
Status AddGroups(EvalContext& context, const RaggedDot& d, int64_t first, const Box& lhs_box, const Box& rhs_box,
                 const Box& result_box, Literal& result) {
  const int64_t count = d.groups.shape().dimension(d.groups.shape().rank() - 1);
  const int64_t rows = d.lhs.shape().dimension(static_cast<int>(d.lhs_dim));
  int64_t start = 0;
  for (int64_t group = 0; group < count; ++group) {
    const int64_t size = d.groups.GetInt(first + group);
    if (size < 0 || size > rows - start) {  // ragged_dot_c3
      return InvalidArgument("ragged-dot {}: group {} of {} rows from row {} exceeds the {} rows of {}",
                             d.instruction.name(), group, size, start, rows, d.lhs.shape().ToString());
    }
    VXLA_RETURN_IF_ERROR(AddGroup(context, d, group, start, size, lhs_box, rhs_box, result_box, result));
    start += size;
  }
  return OkStatus();
}

}  // namespace

// Group sizes are one list for all batches, or one list for each index of the batch dimensions.
EvalResult EvalRaggedDot(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  RaggedDot d{instruction, instruction.attributes<DotAttributes>(), operands[0].literal(), operands[1].literal(),
              operands[2].literal()};
  Locate(d);
  Literal result(instruction.shape());
  const Box lhs_box(d.lhs.shape()), rhs_box(d.rhs.shape()), result_box(result.shape());
  const int64_t leading = d.groups.shape().rank() - 1;
  if (leading == 0) {
    VXLA_RETURN_IF_ERROR(AddGroups(context, d, 0, lhs_box, rhs_box, result_box, result));
    return result;
  }
  const DotAttributes& a = d.attributes;
  bool fits = d.kind != Ragged::kBatch && leading == static_cast<int64_t>(a.lhs_batch_dims.size());
  for (size_t b = 0; fits && b < a.lhs_batch_dims.size(); ++b) {
    fits = d.groups.shape().dimension(static_cast<int>(b)) ==
           d.lhs.shape().dimension(static_cast<int>(a.lhs_batch_dims[b]));
  }
  if (!fits) {
    return Unsupported("ragged-dot {}: group sizes {} are neither one list nor one for each batch of {}",
                       instruction.name(), d.groups.shape().ToString(), d.lhs.shape().ToString());
  }
  const int64_t count = d.groups.shape().dimension(static_cast<int>(leading));
  const int64_t lists = count == 0 ? 0 : d.groups.element_count() / count;
  const int64_t batch_at = d.kind == Ragged::kContracting ? 1 : 0;  // after the groups' dimension of the result
  for (int64_t list = 0; list < lists; ++list) {
    Box lhs_one = lhs_box, rhs_one = rhs_box, result_one = result_box;
    int64_t index = list;
    for (size_t b = a.lhs_batch_dims.size(); b-- > 0;) {
      const int64_t size = d.groups.shape().dimension(static_cast<int>(b)), at = index % size;
      index /= size;
      lhs_one.Narrow(a.lhs_batch_dims[b], at, 1);
      rhs_one.Narrow(a.rhs_batch_dims[b], at, 1);
      result_one.Narrow(batch_at + static_cast<int64_t>(b), at, 1);
    }
    VXLA_RETURN_IF_ERROR(AddGroups(context, d, list * count, lhs_one, rhs_one, result_one, result));
  }
  return result;
}

namespace {

// The array times its scales, in f64: dimension d of the array is cut into as many blocks as the scales have places.
Result<Literal> Scaled(const EvalContext& context, const Instruction& instruction, const Literal& array,
                       const Literal& scales) {
  const Shape &shape = array.shape(), &by = scales.shape();
  bool fits = shape.rank() == by.rank();
  for (int d = 0; fits && d < shape.rank(); ++d) {
    fits = by.dimension(d) > 0 ? shape.dimension(d) % by.dimension(d) == 0 : shape.dimension(d) == 0;
  }
  if (!fits) {  // scaled_dot_c1
    return InvalidArgument("scaled-dot {}: scales {} do not cut {} into blocks", instruction.name(), by.ToString(),
                           shape.ToString());
  }
  Literal result(Shape(ElementType::kF64, {shape.dimensions().begin(), shape.dimensions().end()}));
  const std::vector<int64_t> strides = RowMajorStrides(shape.dimensions()),
                             by_strides = RowMajorStrides(by.dimensions());
  context.For(result.element_count(), 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < strides.size(); ++d) {
        const int dim = static_cast<int>(d);
        const int64_t block = shape.dimension(dim) / by.dimension(dim);
        at += i / strides[d] % shape.dimension(dim) / block * by_strides[d];
      }
      result.SetDouble(i, array.GetDouble(i) * scales.GetDouble(at));
    }
  });
  return result;
}

}  // namespace

// scaled-dot(lhs, rhs, lhs scales, rhs scales)
EvalResult EvalScaledDot(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(Literal lhs, Scaled(context, instruction, operands[0].literal(), operands[2].literal()));
  VXLA_ASSIGN_OR_RETURN(Literal rhs, Scaled(context, instruction, operands[1].literal(), operands[3].literal()));
  Result<Literal> result = PlainDot(context, instruction, std::move(lhs), std::move(rhs),
                                    instruction.attributes<DotAttributes>(), instruction.shape());
  if (!result.ok()) return result.status();
  return *std::move(result);
}

}  // namespace VXLA_NAMESPACE
