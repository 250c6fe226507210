#include "core/passes/devices/exchanges.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/devices/permute_slices.h"
#include "core/host/ranges.h"
#include "core/numerics/combiner_order.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/cse.h"

namespace VXLA_NAMESPACE {
namespace {

using Values = std::vector<Instruction*>;

// Entries that reach one output: in s32, flat, member by member.
struct RaggedEntries {
  Instruction *input_offsets = nullptr, *sizes = nullptr, *output_offsets = nullptr;
};

Instruction* Flattened(Expansion& make, Instruction* list) {
  if (list->shape().rank() == 1) return list;
  Shape flat(list->shape().element_type(), {list->shape().ElementCount()});
  flat.set_dynamic_dimension(0, list->shape().IsDynamic());
  return make.Add(Opcode::kReshape, flat, {list});
}

// A list without a live size; zeros behind what lives.
Instruction* FilledUp(Expansion& make, Instruction* list) {
  if (!list->shape().IsDynamic()) return list;
  const IntList sizes = SizesOf(list->shape());
  Instruction* const lives = make.Compare(ComparisonDirection::kLt, make.Iota(ElementType::kS32, sizes, 0),
                                          make.Spread(make.LiveSize(list, 0), sizes));
  Instruction* const whole = make.AtBound(list, 0);
  return make.Select(lives, whole, make.Zeros(whole->shape()));
}

// Part m of `count` equal parts of what lives along a dimension.
Instruction* Block(Expansion& make, Instruction* value, int64_t dimension, int64_t m, int64_t count) {
  const Shape& shape = value->shape();
  const auto d = static_cast<int>(dimension);
  const int64_t size = shape.dimension(d) / count;
  if (!shape.is_dynamic_dimension(d) || count == 1) return make.Slice(value, dimension, m * size, (m + 1) * size);
  // [size] as [count, size / count].
  IntList split = SizesOf(shape);
  split[d] = size;
  const IntList block = split;
  split.insert(split.begin() + d, count);
  Shape parts(shape.element_type(), split), part(shape.element_type(), block);
  for (int i = 0; i < shape.rank(); ++i) {
    if (!shape.is_dynamic_dimension(i)) continue;
    parts.set_dynamic_dimension(i < d ? i : i + 1, true);
    part.set_dynamic_dimension(i, true);
  }
  Instruction* const in_parts = make.Add(Opcode::kReshape, parts, {value});
  return make.Add(Opcode::kReshape, part, {make.Slice(in_parts, dimension, m, m + 1)});
}

// The members' inputs lie behind each other.
RaggedEntries EntriesFor(Expansion& make, const std::vector<std::vector<Instruction*>>& given, size_t member) {
  const int64_t each = given[0][2]->shape().ElementCount() / static_cast<int64_t>(given.size());
  const auto count = static_cast<int64_t>(given.size());
  const auto of_all = [&](size_t k, bool moved) {
    std::vector<Instruction*> lists;
    int64_t rows_before = 0;
    for (const auto& operands : given) {
      Instruction* const flat = Flattened(make, operands[k]);
      Instruction* list = make.Converted(Block(make, flat, 0, static_cast<int64_t>(member), count), ElementType::kS32);
      if (moved && rows_before != 0) {
        Instruction* const base = make.Number(ElementType::kS32, rows_before);
        list = make.Plus(list, make.Spread(base, {each}));
      }
      rows_before += operands[0]->shape().dimension(0);
      lists.push_back(list);
    }
    return FilledUp(make, make.Concatenated(lists, 0));
  };
  return {of_all(2, true), of_all(3, false), of_all(4, false)};
}

Instruction* PartAt(Expansion& make, Instruction* value, const IntList& path) {
  for (const int64_t i : path) value = make.Element(value, i);
  return value;
}

// A slice's starts in one type, as dynamic-slice wants them; here each may have its own.
std::vector<Instruction*> StartsOf(Expansion& make, Instruction* tuple) {
  std::vector<Instruction*> starts;
  bool alike = true;
  for (size_t d = 0; d < tuple->shape().tuple_elements().size(); ++d) {
    starts.push_back(make.Element(tuple, static_cast<int64_t>(d)));
    alike &= starts[d]->shape() == starts[0]->shape();
  }
  if (alike) return starts;
  for (Instruction*& start : starts) {
    const ElementType type = start->shape().element_type();
    if (type == ElementType::kU64) {  // what s64 cannot hold is beyond any array
      start = make.Smaller(start, make.Number(type, INT64_MAX));
    }
    start = make.Converted(start, ElementType::kS64);
  }
  return starts;
}

// op(p0, p1) of an elementwise operation: that.
std::optional<Opcode> PlainReducer(const Computation& computation) {
  const Instruction& root = *computation.root();
  if (!IsElementwise(root.opcode()) || root.operand_count() != 2 || root.opcode() == Opcode::kCompare) return {};
  const bool plain = root.operand(0) == computation.parameter(0) && root.operand(1) == computation.parameter(1);
  return plain ? std::optional(root.opcode()) : std::nullopt;
}

// Sums of 8 and 16 bits are made in f32, and rounded once.
ElementType TypeOfSums(const Instruction& reduction, ElementType type) {
  const std::optional<Opcode> plain = PlainReducer(*reduction.called(0));
  const bool widens = IsFloating(type) && BitWidth(type) < 32 && (plain == Opcode::kAdd || plain == Opcode::kMultiply);
  return widens ? ElementType::kF32 : type;
}

Instruction* Joined(Expansion& make, Instruction* a, Instruction* b, const CopyOfComputation& copy_of) {
  if (const auto plain = PlainReducer(*make.instruction().called(0))) return make.Binary(*plain, a, b);
  return make.Add(Opcode::kMap, a->shape(), {a, b}, DimensionsAttributes{UpTo(a->shape().rank())},
                  {copy_of(make.instruction().called(0))});
}

// In pairs, and pairs of those, in the order of the group; or one after the other, where that is the combiner's order.
Instruction* InPairs(Expansion& make, Values values, const CopyOfComputation& copy_of) {
  const ElementType type = TypeOfSums(make.instruction(), values[0]->shape().element_type());
  for (Instruction*& value : values) value = make.Converted(value, type);
  if (OrderOf(*make.instruction().called(0)) == CombinerOrder::kInOrder) {
    for (size_t i = 1; i < values.size(); ++i) values[0] = Joined(make, values[0], values[i], copy_of);
    return values[0];
  }
  while (values.size() > 1) {
    Values pairs;
    for (size_t i = 0; i < values.size(); i += 2)
      pairs.push_back(i + 1 == values.size() ? values[i] : Joined(make, values[i], values[i + 1], copy_of));
    values = std::move(pairs);
  }
  return values[0];
}

// Null: nothing is known to begin with, or sizes are known in runs alone.
Instruction* OneAfterTheOther(Expansion& make, const Values& values, const CopyOfComputation& copy_of) {
  Computation* const reducer = make.instruction().called(0);
  const Shape& shape = values[0]->shape();
  const std::optional<Literal> neutral = NeutralElement(*reducer, shape.element_type());
  if (!neutral || shape.IsDynamic()) return nullptr;
  IntList row = SizesOf(shape);
  row.insert(row.begin(), 1);
  Values rows = Transformed(values, [&](Instruction* value) { return make.Reshaped(value, row); });
  return make.Add(Opcode::kReduce, Shape(shape.element_type(), SizesOf(shape)),
                  {make.Concatenated(rows, 0), make.Constant(*neutral)}, DimensionsAttributes{{0}}, {copy_of(reducer)});
}

}  // namespace

Instruction* Reduced(Expansion& make, Values values, ElementType type, const CopyOfComputation& copy_of,
                     MemberOrder order) {
  if (values.size() == 1) return make.Converted(values[0], type);
  Instruction* const sum = order == MemberOrder::kInARow ? OneAfterTheOther(make, values, copy_of) : nullptr;
  if (sum != nullptr) return sum;
  return make.Converted(InPairs(make, std::move(values), copy_of), type);
}

bool GoesInBlocks(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kReduceScatter) return true;
  return instruction.opcode() == Opcode::kAllToAll &&
         !instruction.attributes<CollectiveAttributes>().dimensions.empty();
}

std::vector<Values> InBlocks(Expansion& make, const std::vector<Values>& given) {
  const int64_t dimension = make.instruction().attributes<CollectiveAttributes>().dimensions[0];
  std::map<Instruction*, Values> blocks;  // equal values have equal blocks
  std::vector<Values> result;
  for (const Values& of_member : given) {
    Values& own = result.emplace_back();
    for (Instruction* value : of_member) {
      Values& cut = blocks[value];
      for (int64_t b = std::ssize(cut); b < std::ssize(given); ++b)
        cut.push_back(Block(make, value, dimension, b, std::ssize(given)));
      own.insert(own.end(), cut.begin(), cut.end());
    }
  }
  return result;
}

int64_t ReductionBlock(const IntList& place_of_member) {
  const auto count = std::ssize(place_of_member);
  const auto together = [&](int64_t block) {
    for (int64_t m = 0; m < count; ++m) {
      if (place_of_member[m] != place_of_member[m / block * block]) return false;
    }
    return true;
  };
  int64_t block = 1;
  while (block < count && together(2 * block)) block *= 2;
  return block;
}

Shape PartOfReduction(const Instruction& reduction, const Shape& operand) {
  return Shape(TypeOfSums(reduction, operand.element_type()), SizesOf(operand));
}

Instruction* ReducedPart(Expansion& make, const Values& values, const CopyOfComputation& copy_of) {
  return InPairs(make, values, copy_of);
}

Opcode KindOfCollective(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kAllReduceStart) return Opcode::kAllReduce;
  if (opcode == Opcode::kAllGatherStart) return Opcode::kAllGather;
  return opcode == Opcode::kCollectivePermuteStart ? Opcode::kCollectivePermute : opcode;
}

Status CheckSameMeeting(const DeviceGrid& grid, const DeviceAt& one, const DeviceAt& other) {
  const Instruction &first = one.instruction, &second = other.instruction;
  if (&first == &second) return OkStatus();
  if (other.device < one.device) return CheckSameMeeting(grid, other, one);  // the report is the same on every run
  const auto same_shape = [](const Instruction* a, const Instruction* b) { return a->shape() == b->shape(); };
  const bool permutes = KindOfCollective(first) == Opcode::kCollectivePermute;
  const char* difference = nullptr;
  if (!std::ranges::equal(first.operands(), second.operands(), same_shape)) {
    difference = "operands";
  } else if (permutes && first.attributes<CollectivePermuteAttributes>().slice_sizes !=
                             second.attributes<CollectivePermuteAttributes>().slice_sizes) {
    difference = "slice_sizes";
  } else if (!permutes && first.attributes<CollectiveAttributes>().dimensions !=
                              second.attributes<CollectiveAttributes>().dimensions) {
    difference = "dimensions";
  } else if (!std::ranges::equal(first.called(), second.called(), [](const Computation* a, const Computation* b) {
               return a == b || SameStructure(*a, *b);
             })) {
    difference = "to_apply";
  }
  if (difference == nullptr) return OkStatus();
  return InvalidArgument("{} of {} meets {} of {}, whose {} differ", TextWithChannel(first), grid.Name(one.device),
                         TextWithChannel(second), grid.Name(other.device), difference)
      .At(first.location());
}

Instruction* RaggedReceived(Expansion& make, const std::vector<std::vector<Instruction*>>& given, size_t member) {
  // Rows of inputs and outputs are counted from their beginnings, whatever lives behind them.
  Instruction* const output = make.AtBound(given[member][1], 0);
  const int64_t rows = output->shape().rank() == 0 ? 0 : output->shape().dimension(0);
  const int64_t entries = given[0][2]->shape().ElementCount();  // of all members: `each` from every one
  if (entries == 0 || output->shape().ElementCount() == 0 || given[0][0]->shape().ElementCount() == 0)
    return given[member][1];
  const RaggedEntries lists = EntriesFor(make, given, member);
  const IntList grid{rows, entries};
  const auto of_entry = [&](Instruction* list) { return make.Broadcast(list, grid, {1}); };
  Instruction* const inside = make.Minus(make.Iota(ElementType::kS32, grid, 0), of_entry(lists.output_offsets));
  Instruction* const reached = make.And(make.Compare(ComparisonDirection::kGe, inside, make.Zeros(inside->shape())),
                                        make.Compare(ComparisonDirection::kLt, inside, of_entry(lists.sizes)));
  // Of a row the last entry, and with it the row of the inputs: -1 where there is none.
  Instruction* const none = make.Number(ElementType::kS32, -1);
  Instruction* const entry = make.Add(Opcode::kSelect, Shape(ElementType::kS32, grid),
                                      {reached, make.Iota(ElementType::kS32, grid, 1), make.Spread(none, grid)});
  Module& module = *entry->parent()->module();
  const Shape of_rows(ElementType::kS32, {rows});
  Instruction* const last = make.Reduce(entry, none, {1}, AddCombiner(module, Opcode::kMaximum, ElementType::kS32));
  Instruction* const moved = make.Rows(make.Minus(lists.input_offsets, lists.output_offsets), last);
  Instruction* const source =
      make.Add(Opcode::kSelect, of_rows,
               {make.Compare(ComparisonDirection::kGe, last, make.Zeros(of_rows)),
                make.Plus(make.Iota(ElementType::kS32, {rows}, 0), moved), make.Spread(none, {rows})});
  auto inputs = Transformed(given, [&](const auto& operands) { return make.AtBound(operands[0], 0); });
  Instruction* const sent = make.Rows(make.Concatenated(inputs, 0), source);
  Instruction* const kept = make.Broadcast(source, SizesOf(output->shape()), {0});
  Instruction* const replaced = make.Compare(ComparisonDirection::kGe, kept, make.Zeros(kept->shape()));
  Shape shape = output->shape();
  for (int d = 1; d < shape.rank(); ++d) {
    if (sent->shape().is_dynamic_dimension(d)) shape.set_dynamic_dimension(d, true);
  }
  Instruction* const received = make.Add(Opcode::kSelect, shape, {replaced, sent, output});
  if (!given[member][1]->shape().is_dynamic_dimension(0)) return received;
  return make.WithLiveSize(received, 0, make.LiveSize(given[member][1], 0));
}

Instruction* RaggedMisfit(Expansion& make, const std::vector<std::vector<Instruction*>>& given, size_t member) {
  const int64_t entries = given[0][2]->shape().ElementCount(), count = std::ssize(given), each = entries / count;
  if (entries == 0) return nullptr;
  const ElementType stated = given[0][2]->shape().element_type();
  // Wide enough for every number of rows.
  const ElementType type = BitWidth(stated) < 32 ? ElementType::kS32 : stated;
  const auto rows_of = [&](Instruction* array) {
    if (array->shape().is_dynamic_dimension(0)) return make.Converted(make.LiveSize(array, 0), type);
    return make.Number(type, array->shape().dimension(0));
  };
  const auto block = [&](const Values& sender, size_t operand) {
    return Block(make, Flattened(make, sender[operand]), 0, static_cast<int64_t>(member), count);
  };
  // Of all senders, what their lists have for the member; of lists that live in part each sender's has zeros behind it.
  const auto lists = [&](size_t operand) {
    Values parts = Transformed(given, [&](const Values& sender) { return FilledUp(make, block(sender, operand)); });
    return make.Converted(make.Concatenated(parts, 0), type);
  };
  Instruction* const sizes = lists(3);
  Values rows = Transformed(given, [&](const Values& sender) { return make.Spread(rows_of(sender[0]), {each}); });
  // The member's list has no gaps between senders.
  Values sent = Transformed(given, [&](const Values& sender) { return block(sender, 3); });
  Instruction* const expected = FilledUp(make, Flattened(make, given[member][5]));
  Instruction* wrong =
      make.Compare(ComparisonDirection::kNe, make.Converted(FilledUp(make, make.Concatenated(sent, 0)), type),
                   make.Converted(expected, type));
  const auto add = [&](ComparisonDirection direction, Instruction* a, Instruction* b) {
    wrong = make.Or(wrong, make.Compare(direction, a, b));
  };
  // All lists live alike; in equal parts, which Block sees to.
  const auto live_entries = [&](Instruction* list) { return make.LiveSize(Flattened(make, list), 0); };
  for (const Values& sender : given) {
    for (size_t operand = 2; operand < 6; ++operand) {
      if (!sender[operand]->shape().IsDynamic()) continue;
      add(ComparisonDirection::kNe, make.Spread(live_entries(sender[operand]), {entries}),
          make.Spread(live_entries(given[0][2]), {entries}));
    }
  }
  const auto add_range = [&](Instruction* at, Instruction* limits) {
    add(ComparisonDirection::kLt, at, make.Zeros(at->shape()));
    add(ComparisonDirection::kGt, sizes, limits);  // so that the difference is none below 0
    add(ComparisonDirection::kGt, at, make.Minus(limits, sizes));
  };
  add(ComparisonDirection::kLt, sizes, make.Zeros(sizes->shape()));
  add_range(lists(2), make.Concatenated(rows, 0));
  add_range(lists(4), make.Spread(rows_of(given[member][1]), {entries}));
  Module& module = *wrong->parent()->module();
  return make.Reduce(wrong, make.Zero(ElementType::kPred), {0}, AddCombiner(module, Opcode::kOr, ElementType::kPred));
}

Instruction* ZerosLike(Expansion& make, const Shape& shape, const std::vector<Instruction*>& like) {
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (size_t k = 0; k < shape.tuple_elements().size(); ++k) {
      const bool has = k < like.size();
      elements.push_back(ZerosLike(make, shape.tuple_elements()[k], has ? Values{like[k]} : Values{}));
    }
    return make.TupleOf(elements);
  }
  if (!shape.IsDynamic()) return make.Zeros(shape);
  Instruction* zeros = make.Zeros(Shape(shape.element_type(), SizesOf(shape)));
  const bool fits = !like.empty() && Compatible(like[0]->shape(), shape);
  for (int d = 0; d < shape.rank(); ++d) {
    if (fits && shape.is_dynamic_dimension(d)) zeros = make.WithLiveSize(zeros, d, make.LiveSize(like[0], d));
  }
  return UnderFlags(make, zeros, shape);
}

Instruction* UnderFlags(Expansion& make, Instruction* value, const Shape& stated) {
  if (!stated.IsDynamic()) return value;
  if (stated.IsTuple()) {
    std::vector<Instruction*> elements;
    bool same = true;
    for (int k = 0; k < static_cast<int>(stated.tuple_elements().size()); ++k) {
      Instruction* const element = value->opcode() == Opcode::kTuple ? value->operand(k) : make.Element(value, k);
      elements.push_back(UnderFlags(make, element, stated.tuple_elements()[k]));
      same &= elements.back() == element;
    }
    return same ? value : make.TupleOf(elements);
  }
  for (int d = 0; d < stated.rank(); ++d) {
    if (!stated.is_dynamic_dimension(d) || value->shape().is_dynamic_dimension(d)) continue;
    Instruction* const bound = make.Number(ElementType::kS32, stated.dimension(d));
    value = make.WithLiveSize(value, d, bound);
  }
  return value;
}

bool SlicesNeedWholeDimensions(const Instruction& instruction) {
  const Shape& input = instruction.operand(0)->shape();
  const std::vector<IntList>& sizes = instruction.attributes<CollectivePermuteAttributes>().slice_sizes;
  for (size_t k = 0; const PermuteSlice& slice : PermuteSlices(input, instruction.operand(2)->shape())) {
    const Shape& array = input.IsTuple() ? input.tuple_elements()[slice.array] : input;
    const IntList& size = sizes[k++];
    for (int d = 0; d < array.rank(); ++d) {
      if (array.is_dynamic_dimension(d) && size[d] == array.dimension(d)) return true;
    }
  }
  return false;
}

Instruction* SlicesReceived(Expansion& make, const std::vector<Instruction*>& source,
                            const std::vector<Instruction*>& own) {
  const std::vector<IntList>& sizes = make.instruction().attributes<CollectivePermuteAttributes>().slice_sizes;
  const auto array_of = [&](Instruction* arrays, size_t k) {
    return arrays->shape().IsTuple() ? PartAt(make, arrays, {static_cast<int64_t>(k)}) : arrays;
  };
  const auto with_starts = [&](std::vector<Instruction*> operands, Instruction* starts, const PermuteSlice& slice) {
    for (Instruction* start : StartsOf(make, PartAt(make, starts, slice.path))) operands.push_back(start);
    return operands;
  };
  std::vector<Instruction*> parts;
  for (const PermuteSlice& slice : PermuteSlices(source[0]->shape(), source[2]->shape())) {
    Instruction* array = array_of(source[0], slice.array);
    const IntList& size = sizes[parts.size()];
    for (int d = 0; d < array->shape().rank(); ++d) {
      if (size[d] == array->shape().dimension(d)) array = make.AtBound(array, d);
    }
    parts.push_back(make.Add(Opcode::kDynamicSlice, Shape(array->shape().element_type(), size),
                             with_starts({array}, source[2], slice), DynamicSliceAttributes{size}));
  }
  std::vector<Instruction*> outputs;
  const bool tuple = own[1]->shape().IsTuple();
  const size_t count = tuple ? own[1]->shape().tuple_elements().size() : 1;
  for (size_t k = 0; k < count; ++k) outputs.push_back(array_of(own[1], k));
  for (size_t k = 0; const PermuteSlice& slice : PermuteSlices(own[1]->shape(), own[3]->shape())) {
    Instruction*& output = outputs[slice.array];
    output = make.Add(Opcode::kDynamicUpdateSlice, output->shape(), with_starts({output, parts[k++]}, own[3], slice));
  }
  return tuple ? make.TupleOf(outputs) : outputs[0];
}

namespace {

// What the members of a collective give, by member and operand. In blocks: what a member has for each of them, operand
// by operand.
class Members {
 public:
  Members(Expansion& make, const std::vector<Values>& given, bool in_blocks)
      : make_(make),
        given_(given),
        in_blocks_(in_blocks),
        operands_(static_cast<size_t>(make.instruction().operand_count())),
        // Of a reduction, those that give a part are fewer than those that get the result.
        count_(in_blocks ? given[0].size() / operands_ : given.size()) {}

  size_t count() const { return count_; }
  // For every member.
  Values All(Instruction* value) const { return Values(count_, value); }
  Values OfOperand(size_t k) const {
    return Transformed(given_, [&](const Values& of_member) { return of_member[k]; });
  }
  // Of operand k of all members, what is for member m.
  Values Blocks(size_t k, size_t m) const {
    const IntList& dimensions = make_.instruction().attributes<CollectiveAttributes>().dimensions;
    Values values;
    for (const Values& of_member : given_) {
      values.push_back(in_blocks_ ? of_member[k * count_ + m]
                                  : Block(make_, of_member[k], dimensions[0], static_cast<int64_t>(m),
                                          static_cast<int64_t>(count_)));
    }
    return values;
  }
  // One value for each member of each operand, put together by member.
  Values Each(const Shape& shape, auto results) const {
    std::vector<Values> by_member(count_);
    for (size_t k = 0; k < operands_; ++k) {
      const Values of_members = results(k);
      for (size_t m = 0; m < count_; ++m) by_member[m].push_back(of_members[m]);
    }
    Values together;
    for (Values& values : by_member) {
      const bool same = !together.empty() && shape.IsTuple() &&
                        std::ranges::equal(together.back()->operands(), values, std::equal_to<>());
      together.push_back(same ? together.back() : shape.IsTuple() ? make_.TupleOf(values) : values[0]);
    }
    return together;
  }

 private:
  Expansion& make_;
  const std::vector<Values>& given_;
  const bool in_blocks_;
  const size_t operands_, count_;
};

}  // namespace

Values Exchanged(Expansion& make, const std::vector<Values>& given, const Shape& shape, bool in_blocks,
                 const CopyOfComputation& copy_of, MemberOrder order) {
  const Instruction& instruction = make.instruction();
  const Members members(make, given, in_blocks);
  const IntList& dimensions = instruction.attributes<CollectiveAttributes>().dimensions;
  const auto reduced = [&](size_t k, const Values& values) {
    const ElementType type = instruction.operand(k)->shape().element_type();
    return Reduced(make, values, type, copy_of, order);
  };
  switch (instruction.opcode()) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      return members.Each(shape, [&](size_t k) { return members.All(reduced(k, members.OfOperand(k))); });
    case Opcode::kCollectiveReduce:
      return members.Each(shape, [&](size_t k) {
        Instruction* const sum = reduced(k, members.OfOperand(k));
        Values results = members.All(ZerosLike(make, sum->shape(), {sum}));
        results[0] = sum;
        return results;
      });
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
      return members.Each(
          shape, [&](size_t k) { return members.All(make.Concatenated(members.OfOperand(k), dimensions[0])); });
    case Opcode::kCollectiveBroadcast:
      return members.Each(shape, [&](size_t k) { return members.All(given[0][k]); });
    case Opcode::kReduceScatter:
      return members.Each(shape, [&](size_t k) {
        Values results;
        for (size_t m = 0; m < members.count(); ++m) results.push_back(reduced(k, members.Blocks(k, m)));
        return results;
      });
    case Opcode::kRaggedAllToAll: {
      Values results;
      for (size_t m = 0; m < given.size(); ++m) results.push_back(RaggedReceived(make, given, m));
      return results;
    }
    default: {  // all-to-all: an array in blocks, or operand m for member m
      Values results;
      for (size_t m = 0; m < members.count(); ++m) {
        results.push_back(dimensions.empty() ? make.TupleOf(members.OfOperand(m))
                                             : make.Concatenated(members.Blocks(0, m), dimensions[0]));
      }
      return results;
    }
  }
}

}  // namespace VXLA_NAMESPACE
