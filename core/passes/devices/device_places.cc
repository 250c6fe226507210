// What places give one another: merging::Merger where devices are at several.
#include <set>

#include "core/devices/deadlock_report.h"
#include "core/host/ranges.h"
#include "core/numerics/combiner_order.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/devices/exchanges.h"
#include "core/passes/sizes/size_math.h"

namespace VXLA_NAMESPACE::merging {
namespace {

// The arrays that a value is made of, depth first. One with live sizes is that of its bounds, and a scalar for each
// dynamic dimension.
void AppendArrays(Expansion& make, Instruction* value, Values& arrays) {
  if (value->shape().IsArray()) {
    Instruction* whole = value;
    for (int d = 0; d < value->shape().rank(); ++d) whole = make.AtBound(whole, d);
    arrays.push_back(whole);
    for (int d = 0; d < value->shape().rank(); ++d) {
      if (value->shape().is_dynamic_dimension(d)) arrays.push_back(make.LiveSize(value, d));
    }
  }
  for (size_t i = 0; value->shape().IsTuple() && i < value->shape().tuple_elements().size(); ++i) {
    AppendArrays(make, make.Element(value, static_cast<int64_t>(i)), arrays);
  }
}

std::vector<Shape> PostedAs(const Shape& array) {
  std::vector<Shape> shapes{AtBounds(array)};
  for (int d = 0; d < array.rank(); ++d) {
    if (array.is_dynamic_dimension(d)) shapes.emplace_back(ElementType::kS32);
  }
  return shapes;
}

// The same value as another instruction.
Instruction* Renewed(Expansion& make, Instruction* value) {
  if (!value->shape().IsTuple()) return make.Add(Opcode::kCopy, value->shape(), {value});
  Values elements;
  for (int64_t i = 0; i < std::ssize(value->shape().tuple_elements()); ++i) elements.push_back(make.Element(value, i));
  return make.TupleOf(elements);
}

// A value of arrays that are elements of `call` from `next` on.
Instruction* Received(Expansion& make, const Shape& shape, Instruction* call, int64_t& next) {
  if (shape.IsArray()) {
    Instruction* array = make.Element(call, next++);
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dimension(d)) array = make.WithLiveSize(array, d, make.Element(call, next++));
    }
    return array;
  }
  if (!shape.IsTuple()) return make.Zeros(shape);
  return make.TupleOf(
      Transformed(shape.tuple_elements(), [&](const Shape& element) { return Received(make, element, call, next); }));
}

}  // namespace

Instruction* Merger::Absent(Computation& into, const Instruction& like, const Shape& shape) {
  return Expansion(into, like).Add(Opcode::kCustomCall, shape, {}, OwnCall(CallKind::kElsewhere));
}

void Merger::InOrder(Computation& into, Instruction* exchange) {
  Instruction*& last = last_[&into];
  if (last != nullptr) exchange->AddControlPredecessor(last);
  last = exchange;
}

PlaceExchange Merger::NewExchange(const Instruction& like, const std::set<int64_t>& places) {
  const auto count = static_cast<size_t>(*std::ranges::max_element(places_->place_of)) + 1;
  PlaceExchange exchange;
  exchange.number = ++exchange_count_;
  exchange.what = TextWithChannel(like);
  exchange.places.assign(places.begin(), places.end());
  exchange.posted.resize(count);
  exchange.takes.resize(count);
  return exchange;
}

Instruction* Merger::CallOf(Computation& into, const Instruction& like, PlaceExchange exchange, Values posted,
                            std::vector<Shape> received) {
  if (!Contains(exchange.places, places_->here)) return nullptr;
  CustomCallAttributes attributes = OwnCall(CallKind::kExchange, exchange.number);
  attributes.custom_call_has_side_effect = true;
  Instruction* const call =
      Expansion(into, like)
          .Add(Opcode::kCustomCall, Shape::Tuple(std::move(received)), std::move(posted), std::move(attributes));
  InOrder(into, call);
  exchanges_.push_back(std::move(exchange));
  return call;
}

void Merger::Share(Computation& into, const Instruction& like, const std::vector<Handed>& handed) {
  if (places_ == nullptr) return;
  const auto place_of = [&](int64_t device) { return places_->place_of[device]; };
  struct OneValue {
    Instruction* value = nullptr;
    int64_t owner = 0;  // a place
    std::set<int64_t> known_at, taken_by;
    int64_t received = 0;  // its first array, among those received here
    std::vector<Instruction**> uses;
  };
  std::vector<OneValue> all;
  std::map<const Instruction*, size_t> known;
  for (const Handed& one : handed) {
    const auto [number, fresh] = known.try_emplace(*one.value, all.size());
    if (fresh) all.push_back({*one.value, place_of(one.giver), {}, {}, 0, {}});
    OneValue& value = all[number->second];
    value.known_at.insert(place_of(one.giver));
    for (const int64_t device : one.takers) value.taken_by.insert(place_of(device));
    value.uses.push_back(one.value);
  }
  std::erase_if(all, [&](const OneValue& one) { return std::ranges::includes(one.known_at, one.taken_by); });
  if (all.empty()) return;
  std::set<int64_t> places;
  for (const OneValue& one : all) {
    places.insert(one.owner);
    places.insert(one.taken_by.begin(), one.taken_by.end());
  }
  PlaceExchange exchange = NewExchange(like, places);
  Expansion make(into, like);
  Values operands;
  std::vector<int64_t> results(exchange.takes.size());
  std::vector<Shape> received;
  for (OneValue& one : all) {
    std::vector<Shape>& posted = exchange.posted[one.owner];
    if (one.owner == places_->here) AppendArrays(make, one.value, operands);
    one.received = std::ssize(received);
    for (const Shape* leaf : FlattenTuple(one.value->shape())) {
      if (!leaf->IsArray()) continue;
      for (const Shape& array : PostedAs(*leaf)) {
        for (const int64_t place : one.taken_by) {
          if (one.known_at.contains(place)) continue;
          const auto p = static_cast<size_t>(place);
          exchange.takes[p].push_back({one.owner, std::ssize(posted), results[p]++});
          if (place == places_->here) received.push_back(array);
        }
        posted.push_back(array);
      }
    }
  }
  Instruction* const call = CallOf(into, like, std::move(exchange), std::move(operands), std::move(received));
  for (OneValue& one : all) {
    // Everywhere another value than before.
    const bool here = one.known_at.contains(places_->here), taken = one.taken_by.contains(places_->here);
    Instruction* const shared = here    ? Renewed(make, one.value)
                                : taken ? Received(make, one.value->shape(), call, one.received)
                                        : Absent(into, like, one.value->shape());
    for (Instruction** use : one.uses) *use = shared;
  }
}

void Merger::ShareWays(Computation& into, const Instruction& like, const IntList& devices, Values& ways) {
  Share(into, like, Transformed(devices, [&](const int64_t device) { return Handed{device, &ways[device], devices}; }));
}

// An all-reduce of which each place takes a part.
struct Merger::PartedReduction {
  Computation& into;
  const Instruction& instruction;
  const std::vector<Values>& given;                       // by giver, and array
  std::vector<int64_t> owners;                            // the places of the givers
  std::set<int64_t> taking;                               // all places
  std::map<std::pair<size_t, size_t>, int64_t> received;  // of the arrays received here, by giver and array

  PartOfArray Of(size_t k, size_t part) const {
    return PartOf(given[0][k]->shape().ElementCount(), std::ssize(taking), static_cast<int64_t>(part));
  }
  static Shape Flat(const Shape& shape, const PartOfArray& part) {
    return Shape(shape.element_type(), {part.end - part.begin});
  }
  static Instruction* InARow(Expansion& make, Instruction* value) {
    return make.Reshaped(value, {value->shape().ElementCount()});
  }
};

std::optional<Values> Merger::ReduceInParts(Computation& into, const Instruction& instruction, const IntList& members,
                                            int64_t block, const std::vector<Values>& given) {
  PartedReduction reduction{into, instruction, given, {}, {}, {}};
  std::vector<int64_t>& owners = reduction.owners;
  std::set<int64_t>& taking = reduction.taking;
  for (size_t m = 0; m < members.size(); ++m) {
    const int64_t place = places_->place_of[members[m]];
    taking.insert(place);
    if (m % static_cast<size_t>(block) == 0) owners.push_back(place);
  }
  ReductionFacts facts{0, std::ssize(taking), places_->link};
  std::map<const Instruction*, int64_t> owner_of;
  for (size_t g = 0; g < given.size(); ++g) {
    for (const Instruction* value : given[g]) {
      // What several places know already need not move, and parts of dynamic arrays have no size.
      if (owner_of.try_emplace(value, owners[g]).first->second != owners[g] || value->shape().IsDynamic()) return {};
      if (g == 0) facts.bytes += value->shape().SizeBytes();
    }
  }
  if (places_->form.value_or(ChooseReductionForm(facts)) == ReductionForm::kWhole) return {};

  Expansion make(into, instruction);
  Instruction* const parts = GiveParts(make, reduction);
  std::vector<Shape> whole;
  for (size_t k = 0; k < given[0].size(); ++k) {
    const ElementType type = instruction.operand(k)->shape().element_type();
    whole.emplace_back(type, IntList{given[0][k]->shape().ElementCount()});
  }
  Instruction* const all = GiveSums(make, reduction, parts, whole);
  Values results;
  for (size_t k = 0; k < whole.size(); ++k) {
    const Shape shape(whole[k].element_type(), SizesOf(given[0][k]->shape()));
    results.push_back(all == nullptr ? Absent(into, instruction, shape)
                                     : make.Reshaped(make.Element(all, static_cast<int64_t>(k)), SizesOf(shape)));
  }
  return results;
}

// Each place gets its part of everybody's arrays.
Instruction* Merger::GiveParts(Expansion& make, PartedReduction& reduction) {
  const std::vector<Values>& given = reduction.given;
  const std::vector<int64_t>& owners = reduction.owners;
  PlaceExchange parts = NewExchange(reduction.instruction, reduction.taking);
  Values posted;
  std::vector<Shape> received;
  for (size_t g = 0; g < given.size(); ++g) {
    auto& of_owner = parts.posted[owners[g]];
    for (size_t k = 0; k < given[g].size(); ++k) {
      const Shape& shape = given[g][k]->shape();
      for (size_t i = 0; i < parts.places.size(); ++i) {
        const PartOfArray part = reduction.Of(k, i);
        const int64_t place = parts.places[i];
        if (place == owners[g] || part.begin == part.end) continue;
        auto& takes = parts.takes[place];
        const int64_t begin = Shape(shape.element_type(), {part.begin}).SizeBytes();
        takes.push_back({owners[g], std::ssize(of_owner), std::ssize(takes), begin,
                         PartedReduction::Flat(shape, part).SizeBytes(), 0});
        if (place != places_->here) continue;
        reduction.received[{g, k}] = std::ssize(received);
        received.push_back(PartedReduction::Flat(shape, part));
      }
      if (owners[g] == places_->here) posted.push_back(PartedReduction::InARow(make, given[g][k]));
      of_owner.push_back(PartedReduction::Flat(shape, {0, shape.ElementCount()}));
    }
  }
  return CallOf(reduction.into, reduction.instruction, std::move(parts), std::move(posted), std::move(received));
}

// They reduce it, and give the result to all.
Instruction* Merger::GiveSums(Expansion& make, const PartedReduction& reduction, Instruction* parts,
                              const std::vector<Shape>& whole) {
  const std::vector<Values>& given = reduction.given;
  const std::vector<int64_t>& owners = reduction.owners;
  PlaceExchange sums = NewExchange(reduction.instruction, reduction.taking);
  const std::vector<int64_t> places = sums.places;
  Values reduced;
  for (size_t k = 0; k < whole.size(); ++k) {
    const ElementType type = whole[k].element_type();
    for (size_t i = 0; i < places.size(); ++i) {
      const PartOfArray part = reduction.Of(k, i);
      if (part.begin == part.end) continue;
      auto& of_place = sums.posted[places[i]];
      const Shape shape = PartedReduction::Flat(whole[k], part);
      for (const int64_t place : places) {
        sums.takes[place].push_back({places[i], std::ssize(of_place), static_cast<int64_t>(k), 0, shape.SizeBytes(),
                                     Shape(type, {part.begin}).SizeBytes()});
      }
      of_place.push_back(shape);
      if (places[i] != places_->here) continue;
      Values values;
      for (size_t g = 0; g < given.size(); ++g) {
        values.push_back(owners[g] == places_->here
                             ? make.Slice(PartedReduction::InARow(make, given[g][k]), 0, part.begin, part.end)
                             : make.Element(parts, reduction.received.at({g, k})));
      }
      reduced.push_back(Reduced(
          make, values, type, [&](Computation* computation) { return PlainCopyOf(computation); }, places_->order));
    }
  }
  return CallOf(reduction.into, reduction.instruction, std::move(sums), std::move(reduced), whole);
}

// Each place reduces what its own neighbours give before it shares it. Gives how many of them are one now.
int64_t Merger::ReduceAtPlaces(Computation& into, const Instruction& instruction, const IntList& members,
                               std::vector<Values>& given) {
  const int64_t block =
      ReductionBlock(Transformed(members, [&](const int64_t member) { return places_->place_of[member]; }));
  const Opcode kind = KindOfCollective(instruction);
  if (block == 1 || TouchesLiveSizes(instruction) || (kind != Opcode::kAllReduce && kind != Opcode::kReduceScatter))
    return 1;
  if (places_->order == MemberOrder::kInARow || OrderOf(*instruction.called(0)) == CombinerOrder::kInOrder) return 1;
  Expansion make(into, instruction);
  const auto of_block = [&](size_t begin, size_t k) {
    Values values;
    for (size_t m = begin; m < std::min(begin + static_cast<size_t>(block), given.size()); ++m)
      values.push_back(given[m][k]);
    return values;
  };
  // What is of equal values is one value everywhere; it is made where one of those stands that have it.
  std::map<std::pair<size_t, Values>, Instruction*> known;
  for (const bool here : {true, false}) {
    for (size_t begin = 0; begin < given.size(); begin += static_cast<size_t>(block)) {
      for (size_t k = 0; IsHere(members[begin]) == here && k < given[begin].size(); ++k) {
        const Values values = of_block(begin, k);
        Instruction*& part = known[{k, values}];
        if (part != nullptr) continue;
        part = here ? ReducedPart(make, values, [&](Computation* computation) { return PlainCopyOf(computation); })
                    : Absent(into, instruction, PartOfReduction(instruction, values[0]->shape()));
      }
    }
  }
  std::vector<Values> parts;
  for (size_t begin = 0; begin < given.size(); begin += static_cast<size_t>(block)) {
    Values& of_place = parts.emplace_back();
    for (size_t k = 0; k < given[begin].size(); ++k) of_place.push_back(known.at({k, of_block(begin, k)}));
  }
  given = std::move(parts);
  return block;
}

}  // namespace VXLA_NAMESPACE::merging
