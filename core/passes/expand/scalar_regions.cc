#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/maps/index_map.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/simplify/integer_folding.h"

namespace VXLA_NAMESPACE {
namespace {

// So many instructions at most.
constexpr int64_t kMaxScalars = int64_t{1} << 14;
constexpr int kMaxTrips = 1 << 10;

using Elements = std::vector<Instruction*>;  // row-major
using Leaves = std::vector<Elements>;        // of a tuple; one of an array

int64_t Linear(const IntList& index, const IntList& sizes) {
  int64_t at = 0;
  for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
  return at;
}

// Calls visit(index) for each index of an array, row-major.
void ForEachIndex(const IntList& sizes, const auto& visit) {
  IntList index(sizes.size(), 0);
  for (int64_t left = ElementCountOf(sizes); left > 0; --left) {
    visit(index);
    for (size_t d = sizes.size(); d > 0 && ++index[d - 1] == sizes[d - 1]; --d) index[d - 1] = 0;
  }
}

// A computation written out element by element: what each opcode becomes, over one table of elements by instruction.
class Scalars {
 public:
  explicit Scalars(Computation& out) : out_(out) {}

  // False: it holds what has no such form.
  bool Run(const Computation& region) {
    Leaves arguments;
    std::vector<Leaves> parameters;
    for (const Instruction* parameter : region.parameters()) {
      if (!parameter->shape().IsScalar()) return false;
      parameters.push_back({{Add(*parameter, Opcode::kParameter, parameter->shape(), {}, parameter->attributes())}});
    }
    const Leaves root = Inline(region, parameters);
    if (failed_) return false;
    Elements results;
    for (const Elements& leaf : root) {
      if (leaf.size() != 1) return false;
      results.push_back(leaf[0]);
    }
    if (!region.root()->shape().IsTuple()) {
      out_.set_root(results[0]);
      return true;
    }
    out_.set_root(Add(*region.root(), Opcode::kTuple, region.root()->shape(), results));
    return true;
  }

 private:
  Instruction* Add(const Instruction& from, Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                   Attributes attributes = NoAttributes{}) {
    failed_ = failed_ || ++made_ > kMaxScalars;
    shape.set_layout(std::nullopt);
    Instruction* const added = out_.Add(opcode, std::move(shape), std::move(operands), std::move(attributes));
    added->set_location(from.location());
    return added;
  }
  Instruction* Number(const Instruction& from, ElementType type, int64_t value) {
    auto literal = std::make_shared<const Literal>(Literal::ScalarInt(type, value));
    return Add(from, Opcode::kConstant, Shape(type), {}, ConstantAttributes{std::move(literal)});
  }
  Leaves Fail() {
    failed_ = true;
    return {};
  }

  Leaves Inline(const Computation& computation, const std::vector<Leaves>& arguments) {
    std::unordered_map<const Instruction*, Leaves> values;
    for (const auto& instruction : computation.instructions()) {
      if (failed_) return {};
      if (instruction->opcode() == Opcode::kParameter) {
        values[instruction.get()] = arguments.at(static_cast<size_t>(instruction->parameter_number()));
        continue;
      }
      Leaves made = Expand(*instruction, Transformed(instruction->operands(),
                                                     [&](const Instruction* operand) { return values.at(operand); }));
      if (failed_) return {};
      values[instruction.get()] = std::move(made);
    }
    return values.at(computation.root());
  }

  Leaves Expand(const Instruction& instruction, const std::vector<Leaves>& operands) {
    if (instruction.shape().IsArray() &&
        (instruction.shape().IsDynamic() || instruction.shape().ElementCount() > kMaxScalars))
      return Fail();
    switch (instruction.opcode()) {
      case Opcode::kTuple: {
        Leaves all;
        for (const Leaves& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
        return all;
      }
      case Opcode::kGetTupleElement:
        if (operands[0].size() != instruction.operand(0)->shape().tuple_elements().size()) return Fail();
        return {operands[0][instruction.attributes<GetTupleElementAttributes>().index]};
      case Opcode::kCall:
      case Opcode::kFusion:
        return Inline(*instruction.called(0), operands);
      case Opcode::kWhile:
        return Repeated(instruction, operands[0]);
      case Opcode::kScatter:
        return Scattered(instruction, operands);
      case Opcode::kReduce:
        return Reduced(instruction, operands);
      case Opcode::kConditional:
        return Chosen(instruction, operands);
      default:
        break;
    }
    if (!instruction.shape().IsArray() || instruction.operand_count() != static_cast<int>(operands.size()))
      return Fail();
    std::vector<const Elements*> arrays;
    for (const Leaves& operand : operands) {
      if (operand.size() != 1) return Fail();
      arrays.push_back(&operand[0]);
    }
    Elements elements = Array(instruction, arrays);
    if (failed_ || static_cast<int64_t>(elements.size()) != instruction.shape().ElementCount()) return Fail();
    return {std::move(elements)};
  }

  // One trip after another, where constants decide how many there are.
  Leaves Repeated(const Instruction& instruction, Leaves state) {
    for (int trip = 0; trip < kMaxTrips; ++trip) {
      const Leaves goes_on = Inline(*instruction.called(0), {state});
      const auto known = failed_ ? std::nullopt : KnownOf(goes_on[0][0]);
      if (!known) break;
      if (*known == 0) return state;
      state = Inline(*instruction.called(1), {state});
    }
    return Fail();
  }

  // All branches, and the results of the one that the first operand says.
  Leaves Chosen(const Instruction& instruction, const std::vector<Leaves>& operands) {
    const Elements& index = operands[0][0];
    const auto branches = static_cast<int64_t>(instruction.called().size());
    const bool truth = index[0]->shape().element_type() == ElementType::kPred;
    Leaves chosen;
    for (int64_t k = branches; k-- > 0 && !failed_;) {
      const auto branch = static_cast<size_t>(k);
      const Leaves made = Inline(*instruction.called(k), {operands[branch + 1]});
      if (failed_) return {};
      if (k + 1 == branches) {  // it also stands for what no branch has
        chosen = made;
        continue;
      }
      Instruction* const is = truth ? index[0] : IsAt(instruction, index[0], k);
      for (size_t leaf = 0; leaf < made.size(); ++leaf) {
        for (size_t i = 0; i < made[leaf].size(); ++i)
          chosen[leaf][i] = Select(instruction, is, made[leaf][i], chosen[leaf][i]);
      }
    }
    return chosen;
  }

  Elements Array(const Instruction& instruction, const std::vector<const Elements*>& operands) {
    if (IsElementwise(instruction.opcode())) return Elementwise(instruction, operands);
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return Constant(instruction);
      case Opcode::kIota:
        return Iota(instruction);
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kOptimizationBarrier:
        return *operands[0];
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
      case Opcode::kSlice:
      case Opcode::kReverse:
        return Moved(instruction, *operands[0]);
      case Opcode::kConcatenate:
        return Concatenated(instruction, operands);
      case Opcode::kPad:
        return Padded(instruction, *operands[0], (*operands[1])[0]);
      case Opcode::kDynamicSlice:
        return DynamicSlice(instruction, operands);
      case Opcode::kDynamicUpdateSlice:
        return DynamicUpdateSlice(instruction, operands);
      case Opcode::kGather:
        return Gathered(instruction, *operands[0], *operands[1]);
      default:
        failed_ = true;
        return {};
    }
  }

  Elements Elementwise(const Instruction& instruction, const std::vector<const Elements*>& operands) {
    const Shape element(instruction.shape().element_type());
    Elements made;
    for (int64_t i = 0; i < instruction.shape().ElementCount() && !failed_; ++i) {
      std::vector<Instruction*> values;
      for (const Elements* operand : operands)  // a clamp's bounds may be scalars
        values.push_back((*operand)[operand->size() == 1 ? 0 : static_cast<size_t>(i)]);
      made.push_back(
          instruction.opcode() == Opcode::kSelect
              ? Select(instruction, values[0], values[1], values[2])
              : Folded(Add(instruction, instruction.opcode(), element, std::move(values), instruction.attributes())));
    }
    return made;
  }

  // The integer or truth value of a constant.
  static std::optional<int64_t> KnownOf(const Instruction* value) {
    const ElementType type = value->shape().element_type();
    if (value->opcode() != Opcode::kConstant || (type != ElementType::kPred && !IsInteger(type))) return std::nullopt;
    return value->literal().GetInt(0);
  }
  Instruction* Folded(Instruction* added) {
    const auto known = KnownInteger(*added);
    if (!known) return added;
    Instruction* const number = Number(*added, added->shape().element_type(), *known);
    out_.Remove(added);
    return number;
  }
  Instruction* And(const Instruction& from, Instruction* a, Instruction* b) {
    if (const auto known = KnownOf(a)) return *known != 0 ? b : a;
    if (const auto known = KnownOf(b)) return *known != 0 ? a : b;
    return Add(from, Opcode::kAnd, Shape(ElementType::kPred), {a, b});
  }

  Elements Constant(const Instruction& instruction) {
    const auto& literal = instruction.attributes<ConstantAttributes>().literal;
    if (literal == nullptr) {
      failed_ = true;
      return {};
    }
    const Shape element(instruction.shape().element_type());
    const auto bytes = static_cast<size_t>(StorageBytes(element.element_type()));
    Elements made;
    for (int64_t i = 0; i < instruction.shape().ElementCount() && !failed_; ++i) {
      Literal one(element);
      std::memcpy(one.mutable_bytes().data(), literal->bytes().data() + static_cast<size_t>(i) * bytes, bytes);
      made.push_back(Add(instruction, Opcode::kConstant, element, {},
                         ConstantAttributes{std::make_shared<const Literal>(std::move(one))}));
    }
    return made;
  }

  Elements Iota(const Instruction& instruction) {
    const auto dimension = static_cast<size_t>(instruction.attributes<IotaAttributes>().iota_dimension);
    Elements made;
    ForEachIndex(SizesOf(instruction.shape()), [&](const IntList& index) {
      made.push_back(Number(instruction, instruction.shape().element_type(), index[dimension]));
    });
    return made;
  }

  // Each element is one of the operand's.
  static Elements Moved(const Instruction& instruction, const Elements& operand) {
    const IntList from = SizesOf(instruction.operand(0)->shape());
    Elements made;
    ForEachIndex(SizesOf(instruction.shape()), [&](const IntList& index) {
      IndexSpace space;
      const MultiIndex at = Transformed(index, [](int64_t i) { return IndexExpression{{}, i}; });
      made.push_back(operand[space.Linearize(OperandIndex(space, instruction, 0, at), from).constant]);
    });
    return made;
  }

  static Elements Concatenated(const Instruction& instruction, const std::vector<const Elements*>& operands) {
    const auto along = static_cast<size_t>(instruction.dimensions()[0]);
    Elements made;
    ForEachIndex(SizesOf(instruction.shape()), [&](IntList index) {
      size_t k = 0;
      IntList sizes = SizesOf(instruction.operand(0)->shape());
      while (index[along] >= sizes[along]) {
        index[along] -= sizes[along];
        sizes = SizesOf(instruction.operand(++k)->shape());
      }
      made.push_back((*operands[k])[Linear(index, sizes)]);
    });
    return made;
  }

  static Elements Padded(const Instruction& instruction, const Elements& operand, Instruction* value) {
    const IntList from = SizesOf(instruction.operand(0)->shape());
    const auto& padding = instruction.attributes<PadAttributes>().padding;
    Elements made;
    ForEachIndex(SizesOf(instruction.shape()), [&](IntList index) {
      bool inside = true;
      for (size_t d = 0; d < from.size(); ++d) {
        const int64_t at = index[d] - padding[d].low, step = padding[d].interior + 1;
        inside = inside && at >= 0 && at % step == 0 && at / step < from[d];
        index[d] = at / step;
      }
      made.push_back(inside ? operand[Linear(index, from)] : value);
    });
    return made;
  }

  Instruction* IsAt(const Instruction& from, Instruction* start, int64_t place) {
    CompareAttributes equal;
    equal.direction = ComparisonDirection::kEq;
    const ElementType type = start->shape().element_type();
    return Folded(Add(from, Opcode::kCompare, Shape(ElementType::kPred), {start, Number(from, type, place)}, equal));
  }

  // A start between 0 and `last`, as HLO has them.
  Instruction* Clamped(const Instruction& from, Instruction* start, int64_t last) {
    const ElementType type = start->shape().element_type();
    if (const auto known = IsSigned(type) ? KnownOf(start) : std::nullopt)
      return Number(from, type, std::clamp(*known, int64_t{0}, last));
    return Add(from, Opcode::kClamp, start->shape(), {Number(from, type, 0), start, Number(from, type, last)});
  }

  Instruction* Select(const Instruction& from, Instruction* condition, Instruction* a, Instruction* b) {
    if (const auto known = KnownOf(condition)) return *known != 0 ? a : b;
    return Add(from, Opcode::kSelect, a->shape(), {condition, a, b});
  }

  // The window of `sizes` at `starts`, one dimension after another. A null start is 0.
  Elements Window(const Instruction& from, Elements array, IntList shape, const Elements& starts,
                  const IntList& sizes) {
    for (size_t d = 0; d < shape.size() && !failed_; ++d) {
      const int64_t last = shape[d] - sizes[d];
      IntList smaller = shape;
      smaller[d] = sizes[d];
      std::vector<Instruction*> is;
      for (int64_t place = 0; starts[d] != nullptr && place < last; ++place) is.push_back(IsAt(from, starts[d], place));
      Elements made;
      ForEachIndex(smaller, [&](IntList index) {
        const int64_t offset = index[d];
        const auto at = [&](int64_t place) {
          index[d] = place + offset;
          return array[Linear(index, shape)];
        };
        Instruction* value = at(starts[d] == nullptr ? 0 : last);
        for (size_t place = 0; place < is.size() && !failed_; ++place)
          value = Select(from, is[place], at(static_cast<int64_t>(place)), value);
        made.push_back(value);
      });
      array = std::move(made);
      shape = std::move(smaller);
    }
    return array;
  }

  Elements DynamicSlice(const Instruction& instruction, const std::vector<const Elements*>& operands) {
    const IntList shape = SizesOf(instruction.operand(0)->shape()), sizes = SizesOf(instruction.shape());
    Elements starts;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (operands.size() != shape.size() + 1 || operands[d + 1]->size() != 1) failed_ = true;
      if (failed_) return {};
      starts.push_back(Clamped(instruction, (*operands[d + 1])[0], shape[d] - sizes[d]));
    }
    return Window(instruction, *operands[0], shape, starts, sizes);
  }

  // The update where it may lie, place by place.
  Elements DynamicUpdateSlice(const Instruction& instruction, const std::vector<const Elements*>& operands) {
    const IntList shape = SizesOf(instruction.shape()), sizes = SizesOf(instruction.operand(1)->shape());
    IntList places;
    std::vector<Elements> is;  // by dimension and place
    for (size_t d = 0; d < shape.size(); ++d) {
      if (operands.size() != shape.size() + 2 || operands[d + 2]->size() != 1) failed_ = true;
      if (failed_) return {};
      places.push_back(shape[d] - sizes[d] + 1);
      Instruction* const start = Clamped(instruction, (*operands[d + 2])[0], places[d] - 1);
      Elements& conditions = is.emplace_back();
      for (int64_t place = 0; place < places[d]; ++place) conditions.push_back(IsAt(instruction, start, place));
    }
    Elements array = *operands[0];
    ForEachIndex(places, [&](const IntList& start) {
      Instruction* here = nullptr;
      for (size_t d = 0; d < start.size() && !failed_; ++d) {
        Instruction* const one = is[d][start[d]];
        here = here == nullptr ? one : And(instruction, here, one);
      }
      ForEachIndex(sizes, [&](IntList index) {
        if (failed_) return;
        Instruction* const value = (*operands[1])[Linear(index, sizes)];
        for (size_t d = 0; d < index.size(); ++d) index[d] += start[d];
        Instruction*& at = array[Linear(index, shape)];
        at = here == nullptr ? value : Select(instruction, here, value, at);
      });
    });
    return array;
  }

  // How gathers and scatters go from a place of the result (the updates) to one of the array.
  struct IndexForm {
    int64_t vector;
    const IntList &windows, &dropped, &batching, &indices_batching;

    static bool Has(const IntList& list, size_t d) { return Contains(list, static_cast<int64_t>(d)); }
    // Which index vector, and how far behind what that says.
    std::pair<IntList, IntList> Split(const IntList& index, size_t rank) const {
      IntList batch, offsets(rank, 0);
      for (size_t d = 0; d < index.size(); ++d) {
        if (!Has(windows, d)) batch.push_back(index[d]);
      }
      for (size_t d = 0, k = 0; d < rank; ++d) {
        if (!Has(dropped, d) && !Has(batching, d)) offsets[d] = index[windows[k++]];
      }
      for (size_t k = 0; k < batching.size(); ++k) {
        const auto d = static_cast<size_t>(indices_batching[k]);
        offsets[batching[k]] = batch[d < static_cast<size_t>(vector) ? d : d - 1];
      }
      return {batch, offsets};
    }
    // Where component k of an index vector is among the indices of these sizes.
    size_t Component(IntList batch, size_t k, const IntList& sizes) const {
      if (static_cast<size_t>(vector) < sizes.size()) batch.insert(batch.begin() + vector, static_cast<int64_t>(k));
      return static_cast<size_t>(Linear(batch, sizes));
    }
  };

  // gather of the StableHLO specification: each element is a window of one element.
  Elements Gathered(const Instruction& instruction, const Elements& operand, const Elements& indices) {
    const auto& n = instruction.attributes<GatherAttributes>();
    const IntList shape = SizesOf(instruction.operand(0)->shape());
    const IntList from = SizesOf(instruction.operand(1)->shape());
    const IndexForm form{n.index_vector_dim, n.offset_dims, n.collapsed_slice_dims, n.operand_batching_dims,
                         n.start_indices_batching_dims};
    Elements made;
    ForEachIndex(SizesOf(instruction.shape()), [&](const IntList& index) {
      if (failed_) return;
      IntList ones(shape.size(), 1), window = shape;
      const auto split = form.Split(index, shape.size());
      const IntList &batch = split.first, &offsets = split.second;
      Elements starts(shape.size(), nullptr);
      for (size_t k = 0; k < n.start_index_map.size(); ++k) {
        const auto d = static_cast<size_t>(n.start_index_map[k]);
        starts[d] = Clamped(instruction, indices[form.Component(batch, k, from)], shape[d] - n.slice_sizes[d]);
        window[d] = shape[d] - n.slice_sizes[d] + 1;
      }
      // The places that the element may be at, and the one that the starts say.
      for (size_t d = 0; d < shape.size(); ++d) window[d] = starts[d] == nullptr ? 1 : window[d];
      Elements places;
      ForEachIndex(window, [&](IntList place) {
        for (size_t d = 0; d < place.size(); ++d) place[d] += offsets[d];
        places.push_back(operand[Linear(place, shape)]);
      });
      made.push_back(Window(instruction, std::move(places), window, starts, ones)[0]);
    });
    return made;
  }

  // scatter of the StableHLO specification: each update, in their order, joins the element where it may lie.
  Leaves Scattered(const Instruction& instruction, const std::vector<Leaves>& operands) {
    const auto& n = instruction.attributes<ScatterAttributes>();
    const size_t count = (operands.size() - 1) / 2;
    const auto shape_of = [&](size_t k) { return SizesOf(instruction.operand(k)->shape()); };
    const IntList shape = shape_of(0), from = shape_of(count), updates = shape_of(count + 1);
    const IndexForm form{n.index_vector_dim, n.update_window_dims, n.inserted_window_dims, n.input_batching_dims,
                         n.scatter_indices_batching_dims};
    Leaves results;
    for (size_t k = 0; k < count; ++k) results.push_back(operands[k][0]);
    ForEachIndex(updates, [&](const IntList& index) {
      if (failed_) return;
      const auto split = form.Split(index, shape.size());
      const IntList &batch = split.first, &offsets = split.second;
      Elements starts(shape.size(), nullptr);
      for (size_t k = 0; k < n.scatter_dims_to_operand_dims.size(); ++k)
        starts[n.scatter_dims_to_operand_dims[k]] = operands[count][0][form.Component(batch, k, from)];
      ForEachIndex(shape, [&](const IntList& place) {
        if (failed_) return;
        Instruction* here = Number(instruction, ElementType::kPred, 1);
        for (size_t d = 0; d < shape.size(); ++d) {
          const int64_t start = place[d] - offsets[d];
          if (starts[d] == nullptr ? start != 0 : !Holds(starts[d]->shape().element_type(), start)) return;
          if (starts[d] != nullptr) here = And(instruction, here, IsAt(instruction, starts[d], start));
        }
        if (KnownOf(here) == 0) return;
        const auto target = static_cast<size_t>(Linear(place, shape));
        std::vector<Leaves> arguments;
        for (size_t k = 0; k < count; ++k) arguments.push_back({{results[k][target]}});
        for (size_t k = 0; k < count; ++k) arguments.push_back({{operands[count + 1 + k][0][Linear(index, updates)]}});
        const Leaves joined = Inline(*instruction.called(0), arguments);
        for (size_t k = 0; k < count && !failed_; ++k)
          results[k][target] = Select(instruction, here, joined[k][0], results[k][target]);
      });
    });
    return results;
  }
  static bool Holds(ElementType type, int64_t value) {
    return value >= (IsSigned(type) ? MinSigned(type) : 0) && value <= LargestInteger(type);
  }

  // The initial values, and then each element in its order.
  Leaves Reduced(const Instruction& instruction, const std::vector<Leaves>& operands) {
    const size_t arrays = operands.size() / 2;
    const IntList from = SizesOf(instruction.operand(0)->shape());
    std::vector<size_t> kept;
    IntList sizes;
    for (size_t d = 0; d < from.size(); ++d) {
      if (Contains(instruction.dimensions(), static_cast<int64_t>(d))) continue;
      kept.push_back(d);
      sizes.push_back(from[d]);
    }
    Leaves results(arrays);
    for (size_t k = 0; k < arrays; ++k)
      results[k].assign(static_cast<size_t>(ElementCountOf(sizes)), operands[arrays + k][0][0]);
    ForEachIndex(from, [&](const IntList& index) {
      if (failed_) return;
      IntList to = Transformed(kept, [&](const size_t d) { return index[d]; });
      const auto target = static_cast<size_t>(Linear(to, sizes)), source = static_cast<size_t>(Linear(index, from));
      std::vector<Leaves> arguments;
      for (size_t k = 0; k < arrays; ++k) arguments.push_back({{results[k][target]}});
      for (size_t k = 0; k < arrays; ++k) arguments.push_back({{operands[k][0][source]}});
      const Leaves joined = Inline(*instruction.called(0), arguments);
      for (size_t k = 0; k < arrays && !failed_; ++k) results[k][target] = joined[k][0];
    });
    return results;
  }

  Computation& out_;
  int64_t made_ = 0;
  bool failed_ = false;
};

bool HoldsArrays(const Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const auto& i) {
    return (i->shape().IsArray() && i->shape().rank() > 0) || i->opcode() == Opcode::kWhile ||
           std::ranges::any_of(i->called(), [](const Computation* called) { return HoldsArrays(*called); });
  });
}

}  // namespace

std::unique_ptr<Computation> WithScalars(const Computation& region) {
  const bool branches = std::ranges::any_of(
      region.instructions(), [](const auto& instruction) { return instruction->opcode() == Opcode::kConditional; });
  if (!branches && !HoldsArrays(region)) return nullptr;
  auto made = std::make_unique<Computation>(region.name());
  if (!Scalars(*made).Run(region)) return nullptr;
  made->RemoveDead();
  return made;
}

bool ScalarizeRegions(Module& module) {
  std::unordered_map<Computation*, Computation*> made;
  bool changed = false;
  for (Computation* computation : AllComputations(module)) {
    for (const auto& i : computation->instructions()) {
      for (int k = 0; Has(i->opcode(), Trait::kOnScalars) && k < static_cast<int>(i->called().size()); ++k) {
        const auto [known, fresh] = made.try_emplace(i->called(k), i->called(k));
        if (fresh && HoldsArrays(*i->called(k))) {
          if (auto scalars = WithScalars(*i->called(k))) known->second = module.AddComputation(std::move(scalars));
        }
        changed |= known->second != i->called(k);
        i->set_called(k, known->second);
      }
    }
  }
  if (!changed) return false;
  module.SortComputations();
  module.RemoveUnusedComputations();
  return true;
}

}  // namespace VXLA_NAMESPACE
