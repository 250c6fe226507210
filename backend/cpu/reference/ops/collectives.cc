// Collectives: what the devices of a group exchange. Every device of a group meets the others (backend/replica_link.h)
// and the last one to come works for all; a -start form finishes the exchange, its -done hands the result on.
#include <algorithm>
#include <cstring>

#include "backend/cpu/reference/dynamic.h"
#include "backend/cpu/reference/eval.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "backend/cpu/reference/reducer_fold.h"
#include "core/devices/permute_slices.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

// The operands of every member, in the order of the group.
using Given = std::vector<std::vector<Value>>;
using Combine = std::function<Result<std::vector<Value>>(Given& given)>;

// The shapes of the results, one for each operand.
std::vector<Shape> ResultShapes(const Shape& shape) {
  if (!shape.IsTuple()) return {shape};
  return shape.tuple_elements();
}

Value Collate(std::vector<Value> values) {
  if (values.size() == 1) return std::move(values[0]);
  return Value::Tuple(std::move(values));
}

Value Zeros(const Shape& shape) { return Value(Literal(shape)); }

// A copy that shares nothing.
Value CopyOf(const Value& value) { return Value(Value(value).ToLiteral()); }

// The box of `count` places along a dimension, all of the others: `from_at` places into `from`, `to_at` into `to`.
void CopyAlong(int dimension, const Literal& from, int64_t from_at, Literal& to, int64_t to_at, int64_t count) {
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < dimension; ++d) outer *= from.shape().dimension(d);
  for (int d = dimension + 1; d < from.shape().rank(); ++d) inner *= from.shape().dimension(d);
  if (outer == 0 || inner == 0 || count == 0) return;
  const int64_t from_row = from.shape().dimension(dimension) * inner, to_row = to.shape().dimension(dimension) * inner;
  for (int64_t o = 0; o < outer; ++o) {
    CopyRun(from, o * from_row + from_at * inner, to, o * to_row + to_at * inner, count * inner);
  }
}

bool Fits(const Shape& dense, const Shape& stated, int dimension) {
  const int64_t size = dense.dimension(dimension), bound = stated.dimension(dimension);
  return size == bound || (stated.is_dynamic_dimension(dimension) && size < bound);
}

// Operand k of all members has the same sizes, but along `except`. Where shapes are static it does.
Status AgreeOnSizes(const Instruction& instruction, const Given& given, size_t k, int except = -1) {
  for (size_t m = 1; m < given.size(); ++m) {
    for (int d = 0; d < given[0][k].shape().rank(); ++d) {
      const int64_t size = given[m][k].shape().dimension(d), wanted = given[0][k].shape().dimension(d);
      if (d == except || size == wanted) continue;
      return InvalidArgument(
          "{} {}: dimension {} of operand {} has the live size {} on member 0 of the group, {} on member {}",
          OpcodeText(instruction.opcode()), instruction.name(), d, k, wanted, size, m);
    }
  }
  return OkStatus();
}

Status SizeError(const Instruction& instruction, const Shape& from, const Shape& to, int dimension, size_t members) {
  return InvalidArgument("{} {}: {} to {}: dimension {} does not fit groups of {}", OpcodeText(instruction.opcode()),
                         instruction.name(), from.ToString(), to.ToString(), dimension, members);
}

// Operand k of every member, reduced in the order of the group.
Result<Literal> ReduceMembers(const EvalContext& context, const Instruction& instruction, const Given& given,
                              size_t k) {
  VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, given, k));
  const Literal& first = given[0][k].literal();
  if (given.size() == 1) return first;
  const int64_t count = first.element_count();
  std::vector<int64_t> sizes{static_cast<int64_t>(given.size()), count};
  Literal stacked(Shape(first.shape().element_type(), sizes));
  for (size_t m = 0; m < given.size(); ++m) {
    const std::span<const std::byte> bytes = given[m][k].literal().bytes();
    if (!bytes.empty()) std::memcpy(stacked.mutable_bytes().data() + m * bytes.size(), bytes.data(), bytes.size());
  }
  const Value all(std::move(stacked)), unused(Literal(Shape(first.shape().element_type())));
  VXLA_ASSIGN_OR_RETURN(const ReducerFoldMaker factory,
                        ReducerFoldMaker::Make(*instruction.called(0), {&all, 1}, {&unused, 1}));
  std::vector<Literal> results;
  results.emplace_back(first.shape());
  context.For(count, 16 * kBlockSize, [&](int64_t begin, int64_t end) {
    std::unique_ptr<ReducerFold> folder = factory.New();
    for (int64_t at = begin; at < end; at += kBlockSize) {
      const int64_t n = std::min<int64_t>(kBlockSize, end - at);
      folder->LoadAccumulator(at, 1, n);
      for (size_t m = 1; m < given.size(); ++m) {
        folder->LoadValue(static_cast<int64_t>(m) * count + at, 1, n);
        folder->Fold(n);
      }
      folder->Store(results, at, 1, n);
    }
  });
  return std::move(results[0]);
}

// One result for each member, made of results by operand.
using ByOperand = std::function<Result<std::vector<Literal>>(size_t operand)>;
Result<std::vector<Value>> ForEachOperand(const Given& given, const ByOperand& results_of) {
  std::vector<std::vector<Value>> by_member(given.size());
  for (size_t k = 0; k < given[0].size(); ++k) {
    VXLA_ASSIGN_OR_RETURN(std::vector<Literal> results, results_of(k));
    for (size_t m = 0; m < given.size(); ++m) by_member[m].emplace_back(std::move(results[m]));
  }
  std::vector<Value> results;
  for (auto& of_member : by_member) results.push_back(Collate(std::move(of_member)));
  return results;
}

Result<std::vector<Value>> AllReduce(const EvalContext& context, const Instruction& instruction, const Given& given) {
  return ForEachOperand(given, [&](size_t k) -> Result<std::vector<Literal>> {
    VXLA_ASSIGN_OR_RETURN(const Literal sum, ReduceMembers(context, instruction, given, k));
    return std::vector<Literal>(given.size(), sum);
  });
}

int DimensionOf(const Instruction& instruction) {
  return static_cast<int>(instruction.attributes<CollectiveAttributes>().dimensions[0]);
}

// Results are made without layouts and flags; the stated ones follow.
Shape DenseShape(const Shape& shape) {
  return Shape(shape.element_type(), {shape.dimensions().begin(), shape.dimensions().end()});
}

int64_t SizeOfAll(const Given& given, size_t k, int dimension) {
  int64_t size = 0;
  for (const std::vector<Value>& of_member : given) size += of_member[k].shape().dimension(dimension);
  return size;
}

// `shape`: of the results, which for the -start form are the second element of its tuple.
Result<std::vector<Value>> AllGather(const Instruction& instruction, const Shape& shape, const Given& given) {
  const int dimension = DimensionOf(instruction);
  const std::vector<Shape> shapes = ResultShapes(shape);
  return ForEachOperand(given, [&](size_t k) -> Result<std::vector<Literal>> {
    VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, given, k, dimension));
    Shape whole = DenseShape(given[0][k].shape());
    whole.set_dimension(dimension, SizeOfAll(given, k, dimension));
    if (!Fits(whole, shapes[k], dimension)) {  // all_gather_c6
      return SizeError(instruction, given[0][k].shape(), shapes[k], dimension, given.size());
    }
    Literal gathered(whole);
    int64_t at = 0;
    for (const std::vector<Value>& of_member : given) {
      const int64_t size = of_member[k].shape().dimension(dimension);
      CopyAlong(dimension, of_member[k].literal(), 0, gathered, at, size);
      at += size;
    }
    return std::vector<Literal>(given.size(), gathered);
  });
}

Result<std::vector<Value>> ReduceScatter(const EvalContext& context, const Instruction& instruction,
                                         const Given& given) {
  const int dimension = DimensionOf(instruction);
  const std::vector<Shape> shapes = ResultShapes(instruction.shape());
  return ForEachOperand(given, [&](size_t k) -> Result<std::vector<Literal>> {
    const int64_t members = static_cast<int64_t>(given.size()), whole = given[0][k].shape().dimension(dimension);
    const int64_t size = whole / members;
    Shape block = DenseShape(given[0][k].shape());
    block.set_dimension(dimension, size);
    if (size * members != whole || !Fits(block, shapes[k], dimension)) {  // reduce_scatter_c8
      return SizeError(instruction, given[0][k].shape(), shapes[k], dimension, given.size());
    }
    VXLA_ASSIGN_OR_RETURN(const Literal sum, ReduceMembers(context, instruction, given, k));
    std::vector<Literal> blocks;
    for (size_t m = 0; m < given.size(); ++m) {
      CopyAlong(dimension, sum, static_cast<int64_t>(m) * size, blocks.emplace_back(block), 0, size);
    }
    return blocks;
  });
}

// One array: block i goes to member i, blocks concatenated by sender.
Result<std::vector<Value>> AllToAllArray(const Instruction& instruction, const Given& given) {
  const int dimension = DimensionOf(instruction);
  const int64_t members = static_cast<int64_t>(given.size());
  VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, given, 0, dimension));
  for (const std::vector<Value>& of_member : given) {
    if (of_member[0].shape().dimension(dimension) % members == 0) continue;  // all_to_all_c2
    return SizeError(instruction, of_member[0].shape(), instruction.shape(), dimension, given.size());
  }
  Shape shape = DenseShape(given[0][0].shape());
  shape.set_dimension(dimension, SizeOfAll(given, 0, dimension) / members);
  std::vector<Value> results;
  for (int64_t to = 0; to < members; ++to) {
    Literal result(shape);
    int64_t at = 0;
    for (const std::vector<Value>& of_member : given) {
      const int64_t size = of_member[0].shape().dimension(dimension) / members;
      CopyAlong(dimension, of_member[0].literal(), to * size, result, at, size);
      at += size;
    }
    results.emplace_back(std::move(result));
  }
  return results;
}

// A tuple: operand i goes to member i.
Result<std::vector<Value>> AllToAllTuple(const Instruction& instruction, const Given& given) {
  if (given[0].size() != given.size()) {
    return InvalidArgument("all-to-all {}: {} operands for groups of {}", instruction.name(), given[0].size(),
                           given.size());
  }
  std::vector<Value> results;
  for (size_t to = 0; to < given.size(); ++to) {
    std::vector<Value> elements;
    for (size_t from = 0; from < given.size(); ++from) elements.push_back(CopyOf(given[from][to]));
    results.push_back(Value::Tuple(std::move(elements)));
  }
  return results;
}

// ragged-all-to-all: rows [input offset, + send size) of a member's input go to rows [output offset, ...) of the
// receiver's output, whose other rows stay. Entry i of the four lists is about member i; with several entries for each
// member they come member by member.
Status CopyRagged(const Instruction& instruction, const Given& given, size_t from, size_t to, int64_t entry,
                  int64_t receive_entry, Literal& output) {
  const std::vector<Value>& sender = given[from];
  const Literal& input = sender[0].literal();
  const int64_t input_at = sender[2].literal().GetInt(entry), rows = sender[3].literal().GetInt(entry);
  const int64_t output_at = sender[4].literal().GetInt(entry);
  const int64_t expected = given[to][5].literal().GetInt(receive_entry);
  if (rows != expected) {
    return InvalidArgument("ragged-all-to-all {}: member {} sends {} rows to member {}, which expects {}",
                           instruction.name(), from, rows, to, expected);
  }
  auto fits = [rows](int64_t at, const Literal& array) {
    return rows >= 0 && at >= 0 && rows <= array.shape().dimension(0) && at <= array.shape().dimension(0) - rows;
  };
  if (!fits(input_at, input) || !fits(output_at, output)) {
    return InvalidArgument("ragged-all-to-all {}: {} rows from {} of {} to {} of {} do not fit", instruction.name(),
                           rows, input_at, input.shape().ToString(), output_at, output.shape().ToString());
  }
  CopyAlong(0, input, input_at, output, output_at, rows);
  return OkStatus();
}

Result<std::vector<Value>> RaggedAllToAll(const Instruction& instruction, const Given& given) {
  for (size_t k = 2; k < 6; ++k) VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, given, k));
  for (size_t k = 0; k < 2; ++k) VXLA_RETURN_IF_ERROR(AgreeOnSizes(instruction, given, k, 0));
  const int64_t members = static_cast<int64_t>(given.size()), entries = given[0][2].literal().element_count();
  const Shape &in = given[0][0].shape(), &out = given[0][1].shape();
  bool rows_agree = in.rank() == out.rank() && in.rank() > 0;
  for (int d = 1; rows_agree && d < in.rank(); ++d) rows_agree = in.dimension(d) == out.dimension(d);
  for (size_t k = 3; rows_agree && k < 6; ++k) rows_agree = given[0][k].literal().element_count() == entries;
  if (!rows_agree || entries % members != 0) {
    return InvalidArgument("ragged-all-to-all {}: {} to {} with {} offsets for {} members", instruction.name(),
                           in.ToString(), out.ToString(), entries, members);
  }
  const int64_t each = entries / members;
  std::vector<Value> results;
  for (int64_t to = 0; to < members; ++to) {
    Literal output = given[static_cast<size_t>(to)][1].literal();
    for (int64_t from = 0; from < members; ++from) {
      for (int64_t e = 0; e < each; ++e) {
        VXLA_RETURN_IF_ERROR(CopyRagged(instruction, given, static_cast<size_t>(from), static_cast<size_t>(to),
                                        to * each + e, from * each + e, output));
      }
    }
    results.emplace_back(std::move(output));
  }
  return results;
}

bool AnyLiveSizes(const Given& given) {
  return std::ranges::any_of(given, [](const std::vector<Value>& of_member) {
    return std::ranges::any_of(of_member, [](const Value& value) { return value.literal().is_dynamic(); });
  });
}

// The exchange over what lives: every member's arrays cut to their live sizes, the results put under the stated bounds.
Result<std::vector<Value>> CombineLive(const Instruction& instruction, const Shape& shape, Given& given,
                                       const Combine& combine) {
  if (!AnyLiveSizes(given)) return combine(given);
  for (std::vector<Value>& of_member : given) {
    for (Value& value : of_member) {
      if (value.literal().is_dynamic()) value = Value(CutToLiveSizes(value.literal()));
    }
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Value> results, combine(given));
  for (Value& result : results) {
    VXLA_ASSIGN_OR_RETURN(result, PadToStated(instruction, std::move(result), shape));
  }
  return results;
}

// What a device outside of all groups gets: zeros, as many as live in its own operand where the result has that shape.
Value ZerosFor(const Shape& shape, std::span<const Value> operands) {
  std::vector<Value> results;
  const std::vector<Shape> shapes = ResultShapes(shape);
  for (size_t k = 0; k < shapes.size(); ++k) {
    Literal zeros(shapes[k]);
    const bool like_operand =
        k < operands.size() && !operands[k].IsTuple() && Compatible(operands[k].shape(), shapes[k]);
    for (int d = 0; like_operand && d < shapes[k].rank(); ++d) {
      if (shapes[k].is_dynamic_dimension(d)) zeros.set_dynamic_size(d, operands[k].literal().dynamic_size(d));
    }
    results.emplace_back(std::move(zeros));
  }
  return shape.IsTuple() ? Value::Tuple(std::move(results)) : std::move(results[0]);
}

// `shape`: of the result, which for the -start forms is the second element of the instruction's.
Result<Value> MeetGroup(EvalContext& context, const Instruction& instruction, const Shape& shape,
                        std::span<Value> operands, const Combine& combine) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_ASSIGN_OR_RETURN(const IntList members, GroupOf(instruction, state->link.grid(), state->device));
  if (members.empty()) return ZerosFor(shape, operands);
  auto mine = std::make_shared<std::vector<Value>>(std::make_move_iterator(operands.begin()),
                                                   std::make_move_iterator(operands.end()));
  const auto combine_payloads =
      [&](std::span<const ReplicaLink::Payload> payloads) -> Result<std::vector<ReplicaLink::Payload>> {
    Given given;
    for (const auto& payload : payloads) given.push_back(std::move(*static_cast<std::vector<Value>*>(payload.get())));
    VXLA_ASSIGN_OR_RETURN(std::vector<Value> values, CombineLive(instruction, shape, given, combine));
    std::vector<ReplicaLink::Payload> results;
    for (Value& value : values) results.push_back(std::make_shared<Value>(std::move(value)));
    return results;
  };
  VXLA_ASSIGN_OR_RETURN(const ReplicaLink::Payload result,
                        state->link.Meet(instruction, state->device, members, std::move(mine), combine_payloads));
  return std::move(*static_cast<Value*>(result.get()));
}

}  // namespace

Result<Value> GatherGroup(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_RETURN_IF_ERROR(state->link.Begin(instruction, state->device));
  VXLA_ASSIGN_OR_RETURN(const IntList members, GroupOf(instruction, state->link.grid(), state->device));
  // They live where the device's run has them until all have taken them.
  auto mine = std::make_shared<std::vector<Value>>();
  for (const Value& operand : operands) mine->push_back(CopyOf(operand));
  const auto all_to_each =
      [&](std::span<const ReplicaLink::Payload> payloads) -> Result<std::vector<ReplicaLink::Payload>> {
    auto all = std::make_shared<std::vector<Value>>();
    for (const auto& payload : payloads) {
      for (const Value& value : *static_cast<const std::vector<Value>*>(payload.get())) all->push_back(value);
    }
    return std::vector<ReplicaLink::Payload>(payloads.size(), all);
  };
  VXLA_ASSIGN_OR_RETURN(const ReplicaLink::Payload result,
                        state->link.Meet(instruction, state->device, members, std::move(mine), all_to_each));
  std::vector<Value> elements;
  for (const Value& value : *static_cast<const std::vector<Value>*>(result.get())) elements.push_back(CopyOf(value));
  const auto which = std::ranges::find(members, state->device) - members.begin();
  elements.emplace_back(Literal::ScalarInt(ElementType::kU32, which));
  return Value::Tuple(std::move(elements));
}

namespace {

// (operands, result, contexts ...) as the instruction states it.
Value StartedTuple(const Instruction& instruction, std::vector<Value> operands, Value result) {
  std::vector<Value> elements;
  elements.push_back(Collate(std::move(operands)));
  elements.push_back(std::move(result));
  for (size_t i = 2; i < instruction.shape().tuple_elements().size(); ++i) {
    elements.push_back(Zeros(instruction.shape().tuple_elements()[i]));
  }
  return Value::Tuple(std::move(elements));
}

// Sends `given` to the device's target; gives what its source sends, or nothing if no pair has it as target.
Result<std::optional<Literal>> Exchange(EvalContext& context, const Instruction& instruction, Value given) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  return state->link.Permute(instruction, state->device, std::move(given).ToLiteral());
}

const Value& PartOf(const Value& value, const IntList& path) {
  const Value* part = &value;
  for (const int64_t i : path) part = &part->elements()[i];
  return *part;
}

// The place of a slice, brought within what lives of the array as dynamic-slice does it.
Result<IntList> SliceStart(const Instruction& instruction, const Value& starts, const PermuteSlice& slice,
                           const Literal& array, const IntList& sizes) {
  IntList start;
  const std::vector<Value>& scalars = PartOf(starts, slice.path).elements();
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Literal& scalar = scalars[d].literal();
    int64_t at = scalar.GetInt(0);
    if (at < 0 && IsUnsigned(scalar.shape().element_type())) at = INT64_MAX;
    const int64_t live = array.dynamic_size(static_cast<int>(d));
    if (sizes[d] > live) {
      return InvalidArgument("{} {}: a slice of {} exceeds the {} live elements of dimension {} of {}",
                             OpcodeText(instruction.opcode()), instruction.name(), sizes[d], live, d,
                             array.shape().ToString());
    }
    start.push_back(std::clamp<int64_t>(at, 0, live - sizes[d]));
  }
  return start;
}

// Slices of the source's input, at the source's starts, go to the target's output at the target's own starts. An output
// that no pair names as target stays as it is.
Result<Value> PermuteInPlace(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const std::vector<IntList>& sizes = instruction.attributes<CollectivePermuteAttributes>().slice_sizes;
  const int threads = context.options().threads;
  auto box = [&sizes](size_t k) {
    const IntList zeros(sizes[k].size(), 0), ones(sizes[k].size(), 1);
    return BoxCopy{sizes[k], zeros, ones, zeros, ones};
  };
  auto array_of = [](const Value& arrays, size_t k) -> const Literal& {
    return arrays.IsTuple() ? arrays.elements()[k].literal() : arrays.literal();
  };
  std::vector<Value> given;
  for (size_t k = 0;
       const PermuteSlice& slice : PermuteSlices(instruction.operand(0)->shape(), instruction.operand(2)->shape())) {
    const Literal& input = array_of(operands[0], slice.array);
    BoxCopy copy = box(k);
    VXLA_ASSIGN_OR_RETURN(copy.from, SliceStart(instruction, operands[2], slice, input, sizes[k]));
    Literal part(Shape(input.shape().element_type(), sizes[k++]));
    CopyBox(copy, input, part, threads);
    given.emplace_back(std::move(part));
  }
  VXLA_ASSIGN_OR_RETURN(const std::optional<Literal> received,
                        Exchange(context, instruction, Value::Tuple(std::move(given))));
  Literal result = Value(operands[1]).ToLiteral();
  if (!received) return Value(std::move(result));
  for (size_t k = 0;
       const PermuteSlice& slice : PermuteSlices(instruction.operand(1)->shape(), instruction.operand(3)->shape())) {
    Literal& output = result.shape().IsTuple() ? result.mutable_tuple_elements()[slice.array] : result;
    BoxCopy copy = box(k);
    VXLA_ASSIGN_OR_RETURN(copy.to, SliceStart(instruction, operands[3], slice, output, sizes[k]));
    CopyBox(copy, received->tuple_elements()[k++], output, threads);
  }
  return Value(std::move(result));
}

bool IsSliced(const Instruction& instruction) {
  return !instruction.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
}

Result<Value> Permute(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  if (IsSliced(instruction)) return PermuteInPlace(context, instruction, operands);
  VXLA_ASSIGN_OR_RETURN(std::optional<Literal> received,
                        Exchange(context, instruction, Value::Tuple({operands.begin(), operands.end()})));
  std::vector<Value> results;
  if (received) {
    for (Literal& element : received->mutable_tuple_elements()) results.emplace_back(std::move(element));
  } else {
    for (const Value& operand : operands) results.push_back(ZerosFor(operand.shape(), {&operand, 1}));
  }
  return Collate(std::move(results));
}

}  // namespace

EvalResult EvalAllReduce(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands,
                   [&](Given& given) { return AllReduce(context, instruction, given); });
}

EvalResult EvalAllReduceStart(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return EvalAllReduce(context, instruction, operands);
}

EvalResult EvalAllReduceDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0]);
}

EvalResult EvalAllGather(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands,
                   [&](Given& given) { return AllGather(instruction, instruction.shape(), given); });
}

EvalResult EvalAllGatherStart(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Shape& shape = instruction.shape().tuple_elements()[1];
  std::vector<Value> kept(operands.begin(), operands.end());
  VXLA_ASSIGN_OR_RETURN(Value result, MeetGroup(context, instruction, shape, operands,
                                                [&](Given& given) { return AllGather(instruction, shape, given); }));
  return StartedTuple(instruction, std::move(kept), std::move(result));
}

EvalResult EvalAllGatherDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0].elements()[1]);
}

EvalResult EvalReduceScatter(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands,
                   [&](Given& given) { return ReduceScatter(context, instruction, given); });
}

EvalResult EvalAllToAll(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const bool tuple = instruction.attributes<CollectiveAttributes>().dimensions.empty();
  return MeetGroup(context, instruction, instruction.shape(), operands, [&instruction, tuple](Given& given) {
    return tuple ? AllToAllTuple(instruction, given) : AllToAllArray(instruction, given);
  });
}

EvalResult EvalRaggedAllToAll(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands,
                   [&instruction](Given& given) { return RaggedAllToAll(instruction, given); });
}

// The first member's operands for all; zeros outside of the groups.
EvalResult EvalCollectiveBroadcast(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands, [](Given& given) -> Result<std::vector<Value>> {
    return ForEachOperand(given, [&given](size_t k) -> Result<std::vector<Literal>> {
      return std::vector<Literal>(given.size(), given[0][k].literal());
    });
  });
}

// The first member gets the reduction; what the others get is unspecified, here zeros.
EvalResult EvalCollectiveReduce(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return MeetGroup(context, instruction, instruction.shape(), operands,
                   [&](Given& given) -> Result<std::vector<Value>> {
                     return ForEachOperand(given, [&](size_t k) -> Result<std::vector<Literal>> {
                       VXLA_ASSIGN_OR_RETURN(Literal sum, ReduceMembers(context, instruction, given, k));
                       std::vector<Literal> results(given.size(), Literal(sum.shape()));
                       results[0] = std::move(sum);
                       return results;
                     });
                   });
}

EvalResult EvalCollectivePermute(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return Permute(context, instruction, operands);
}

EvalResult EvalCollectivePermuteStart(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  std::vector<Value> kept(operands.begin(), IsSliced(instruction) ? operands.begin() + 1 : operands.end());
  VXLA_ASSIGN_OR_RETURN(Value result, Permute(context, instruction, operands));
  return StartedTuple(instruction, std::move(kept), std::move(result));
}

EvalResult EvalCollectivePermuteDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0].elements()[1]);
}

EvalResult EvalReplicaId(EvalContext& context, const Instruction& instruction, std::span<Value>) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  return Literal::ScalarInt(ElementType::kU32, state->link.grid().replica(state->device));
}

EvalResult EvalPartitionId(EvalContext& context, const Instruction& instruction, std::span<Value>) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  return Literal::ScalarInt(ElementType::kU32, state->link.grid().partition(state->device));
}

}  // namespace VXLA_NAMESPACE
