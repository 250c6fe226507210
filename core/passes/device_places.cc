// What places give one another: merging::Merger where devices are at several.
#include <set>

#include "core/deadlock_report.h"
#include "core/passes/device_merger_impl.h"
#include "core/passes/exchanges.h"
#include "core/passes/size_math.h"

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
  Values elements;
  for (const Shape& element : shape.tuple_elements()) elements.push_back(Received(make, element, call, next));
  return make.TupleOf(elements);
}

}  // namespace

Instruction* Merger::Absent(Computation& into, const Instruction& like, const Shape& shape) {
  CustomCallAttributes attributes;
  attributes.custom_call_target = kAbsent;
  return Expansion(into, like).Add(Opcode::kCustomCall, shape, {}, std::move(attributes));
}

void Merger::InOrder(Computation& into, Instruction* exchange) {
  Instruction*& last = last_[&into];
  if (last != nullptr) exchange->AddControlPredecessor(last);
  last = exchange;
}

Status Merger::Share(Computation& into, const Instruction& like, const IntList& devices,
                     const std::vector<Instruction**>& values, const IntList& takers) {
  if (places_ == nullptr) return OkStatus();
  const auto place_of = [&](int64_t device) { return places_->place_of[static_cast<size_t>(device)]; };
  struct OneValue {
    Instruction* value = nullptr;
    std::set<int64_t> known_at;
    int64_t owner = 0;     // a place
    int64_t received = 0;  // its first array, among those received
    std::vector<Instruction**> uses;
  };
  std::vector<OneValue> all;
  for (size_t i = 0; i < devices.size(); ++i) {
    auto one = std::ranges::find(all, *values[i], &OneValue::value);
    if (one == all.end()) one = all.insert(all.end(), OneValue{*values[i], {}, place_of(devices[i]), 0, {}});
    one->known_at.insert(place_of(devices[i]));
    one->uses.push_back(values[i]);
  }
  std::set<int64_t> taking;
  for (const int64_t device : takers) taking.insert(place_of(device));
  std::erase_if(all, [&](const OneValue& one) { return std::ranges::includes(one.known_at, taking); });
  if (all.empty()) return OkStatus();
  PlaceExchange exchange;
  exchange.number = ++exchange_count_;
  exchange.what = TextWithChannel(like);
  for (const OneValue& one : all) taking.insert(one.owner);
  exchange.places.assign(taking.begin(), taking.end());
  exchange.posted.resize(static_cast<size_t>(*std::ranges::max_element(places_->place_of)) + 1);
  Expansion make(into, like);
  Values operands;
  std::vector<Shape> received;
  for (OneValue& one : all) {
    std::vector<Shape>& posted = exchange.posted[static_cast<size_t>(one.owner)];
    if (one.owner == places_->here) AppendArrays(make, one.value, operands);
    one.received = std::ssize(received);
    for (const Shape* leaf : FlattenTuple(one.value->shape())) {
      if (!leaf->IsArray()) continue;
      for (const Shape& array : PostedAs(*leaf)) {
        if (!one.known_at.contains(places_->here)) {
          exchange.received.emplace_back(one.owner, std::ssize(posted));
          received.push_back(array);
        }
        posted.push_back(array);
      }
    }
  }
  const bool takes_part = taking.contains(places_->here);
  Instruction* call = nullptr;
  if (takes_part) {
    CustomCallAttributes attributes;
    attributes.custom_call_target = exchange.target();
    attributes.custom_call_has_side_effect = true;
    call = make.Add(Opcode::kCustomCall, Shape::Tuple(received), std::move(operands), std::move(attributes));
    InOrder(into, call);
    exchanges_.push_back(std::move(exchange));
  }
  for (OneValue& one : all) {
    // Everywhere another value than before.
    const bool here = one.known_at.contains(places_->here);
    Instruction* const shared = here         ? Renewed(make, one.value)
                                : takes_part ? Received(make, one.value->shape(), call, one.received)
                                             : Absent(into, like, one.value->shape());
    for (Instruction** use : one.uses) *use = shared;
  }
  return OkStatus();
}

Status Merger::ShareWays(Computation& into, const Instruction& like, const IntList& devices, Values& ways) {
  std::vector<Instruction**> values;
  for (const int64_t device : devices) values.push_back(&ways[static_cast<size_t>(device)]);
  return Share(into, like, devices, values, devices);
}

// Each place reduces what its own neighbours give before it shares it. Gives how many of them are one now.
int64_t Merger::ReduceAtPlaces(Computation& into, const Instruction& instruction, const IntList& members,
                               std::vector<Values>& given) {
  IntList places;
  for (const int64_t member : members) places.push_back(places_->place_of[static_cast<size_t>(member)]);
  const int64_t block = ReductionBlock(places);
  const bool dynamic =
      std::ranges::any_of(instruction.operands(), [](const Instruction* o) { return o->shape().IsDynamic(); });
  if (block == 1 || dynamic || KindOfCollective(instruction) != Opcode::kAllReduce) return 1;
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
