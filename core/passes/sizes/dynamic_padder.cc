#include "core/passes/sizes/dynamic_padder.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/base/origins.h"
#include "core/passes/sizes/padded_ops.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

// A value of any shape: arrays and tokens at the leaves.
struct PaddedValue {
  PaddedArray leaf;
  Instruction* whole = nullptr;  // in its dynamic form, where there is one
  std::vector<PaddedValue> elements;
};

void AppendLeaves(const PaddedValue& value, const Shape& shape, std::vector<PaddedArray>& leaves) {
  if (!shape.IsTuple()) {
    leaves.push_back(value.leaf);
    return;
  }
  for (size_t k = 0; k < value.elements.size(); ++k) {
    AppendLeaves(value.elements[k], shape.tuple_elements()[k], leaves);
  }
}

PaddedValue FromLeaves(const Shape& shape, std::span<const PaddedArray> leaves, size_t& next) {
  PaddedValue value;
  if (!shape.IsTuple()) {
    value.leaf = leaves[next++];
    return value;
  }
  for (const Shape& element : shape.tuple_elements()) value.elements.push_back(FromLeaves(element, leaves, next));
  return value;
}

// What an instruction becomes, while it stands where it stood.
class Place : public SizeMath {
 public:
  using Expansion::Add;
  using Expansion::Element;
  using Expansion::Spread;
  using Expansion::TupleOf;
  using SizeMath::SizeMath;

  // The dynamic form of a leaf.
  Instruction* Whole(const PaddedValue& value, const Shape& stated) {
    if (!stated.IsDynamic()) return value.leaf.array;
    if (value.whole != nullptr && SameFlags(value.whole->shape(), stated)) return value.whole;
    const PaddedArray leaf = UnderStated(*this, value.leaf, stated);
    std::vector<Instruction*> operands{leaf.array};
    IntList dimensions;
    for (int d = 0; d < stated.rank(); ++d) {
      if (!stated.is_dynamic_dimension(d)) continue;
      dimensions.push_back(d);
      operands.push_back(leaf.sizes[d]);
    }
    Shape shape = stated;
    shape.set_layout(std::nullopt);
    Instruction* const set =
        Add(Opcode::kSetDimensionSize, shape, std::move(operands), DimensionsAttributes{std::move(dimensions)});
    set->mutable_notes().sizes_in_range = true;
    set->mutable_notes().size_messages = messages_;
    return set;
  }
  Instruction* Rebuilt(const PaddedValue& value, const Shape& stated) {
    if (!stated.IsTuple()) return Whole(value, stated);
    if (value.whole != nullptr && SameFlags(value.whole->shape(), stated)) return value.whole;
    std::vector<Instruction*> elements;
    for (size_t k = 0; k < value.elements.size(); ++k) {
      elements.push_back(Rebuilt(value.elements[k], stated.tuple_elements()[k]));
    }
    return TupleOf(std::move(elements));
  }

  // The parts of a value that an instruction holds: dynamic leaves are taken apart.
  PaddedValue Parts(Instruction* value) {
    const Shape& shape = value->shape();
    PaddedValue parts;
    if (shape.IsTuple()) {
      parts.whole = value;
      for (size_t k = 0; k < shape.tuple_elements().size(); ++k) {
        parts.elements.push_back(Parts(Element(value, static_cast<int64_t>(k))));
      }
      return parts;
    }
    parts.leaf.array = value;
    parts.leaf.sizes.resize(static_cast<size_t>(shape.rank()));
    if (!shape.IsDynamic()) return parts;
    parts.whole = value;
    if (value->opcode() == Opcode::kConstant) return OfConstant(value, std::move(parts));
    parts.leaf.array = Add(Opcode::kSetDimensionSize, AtBounds(shape), {value}, DimensionsAttributes{});
    for (int d = 0; d < shape.rank(); ++d) {
      if (!shape.is_dynamic_dimension(d)) continue;
      Instruction* const size =
          Add(Opcode::kGetDimensionSize, Shape(ElementType::kS32), {value}, DimensionsAttributes{{d}});
      NoteLimit(size, shape.dimension(d));
      parts.leaf.sizes[d] = size;
    }
    return parts;
  }

  std::vector<PaddedArray> Leaves(const PaddedValue& value, const Shape& stated) {
    std::vector<PaddedArray> leaves;
    AppendLeaves(value, stated, leaves);
    const std::vector<const Shape*> shapes = FlattenTuple(stated);
    for (size_t k = 0; k < leaves.size(); ++k) leaves[k] = UnderStated(*this, std::move(leaves[k]), *shapes[k]);
    return leaves;
  }

  Instruction* NoFault() { return Number(0); }

  // A result whose live sizes are the negated number of the message where something failed. False: it has none.
  bool TellFault(const SizeFault& fault, const Shape& stated, PaddedValue& value) {
    value.whole = nullptr;
    if (stated.IsTuple()) {
      bool told = false;
      for (size_t k = 0; k < value.elements.size(); ++k)
        told |= TellFault(fault, stated.tuple_elements()[k], value.elements[k]);
      return told;
    }
    if (!stated.IsDynamic()) return false;
    value.leaf = UnderStated(*this, std::move(value.leaf), stated);
    for (int d = 0; d < stated.rank(); ++d) {
      if (!stated.is_dynamic_dimension(d)) continue;
      Instruction*& size = value.leaf.sizes[d];
      size = Chosen(ComparisonDirection::kEq, fault.number, Number(0), size, Difference(Number(0), fault.number));
    }
    return true;
  }
  // The messages that such sizes stand for; what is rebuilt from here on carries them.
  void set_messages(const std::vector<std::string>& messages) { messages_ = messages; }

 private:
  std::vector<std::string> messages_;

  PaddedValue OfConstant(Instruction* constant, PaddedValue parts) {
    if (constant->attributes<ConstantAttributes>().literal == nullptr) return parts;
    const Literal& literal = constant->literal();
    const Shape at_bounds = AtBounds(constant->shape());
    for (int d = 0; d < at_bounds.rank(); ++d) {
      if (!constant->shape().is_dynamic_dimension(d)) continue;
      parts.leaf.sizes[d] = Number(literal.dynamic_size(d));
    }
    Literal dense = literal;
    parts.leaf.array = Constant(std::move(dense).Reshaped(at_bounds));
    return parts;
  }
};

// Arrays, then sizes where the shapes are dynamic: how values pass into loops and branches.
std::vector<Instruction*> Flat(const std::vector<PaddedArray>& leaves) {
  std::vector<Instruction*> flat = Transformed(leaves, &PaddedArray::array);
  for (const PaddedArray& leaf : leaves) {
    for (Instruction* const size : leaf.sizes) {
      if (size != nullptr) flat.push_back(size);
    }
  }
  return flat;
}

Shape FlatShape(const Shape& shape) {
  const std::vector<const Shape*> leaves = FlattenTuple(shape);
  std::vector<Shape> flat = Transformed(leaves, [&](const Shape* leaf) { return AtBounds(*leaf); });
  for (const Shape* leaf : leaves) {
    for (int d = 0; d < leaf->rank(); ++d) {
      if (leaf->is_dynamic_dimension(d)) flat.emplace_back(ElementType::kS32);
    }
  }
  return Shape::Tuple(std::move(flat));
}

void AppendFault(Shape& flat) {
  for (int k = 0; k < 3; ++k) flat.mutable_tuple_elements().emplace_back(ElementType::kS32);
}

// The value of a shape whose arrays and sizes are the elements of a tuple.
PaddedValue Unflat(Place& at, Instruction* tuple, const Shape& shape) {
  const std::vector<const Shape*> shapes = FlattenTuple(shape);
  std::vector<PaddedArray> leaves;
  auto next_size = static_cast<int64_t>(shapes.size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    PaddedArray leaf{at.Element(tuple, static_cast<int64_t>(k)), {}};
    for (int d = 0; d < shapes[k]->rank(); ++d) {
      const bool dynamic = shapes[k]->is_dynamic_dimension(d);
      leaf.sizes.push_back(dynamic ? at.Element(tuple, next_size++) : nullptr);
      if (dynamic) at.NoteLimit(leaf.sizes.back(), shapes[k]->dimension(d));
    }
    leaves.push_back(std::move(leaf));
  }
  size_t next = 0;
  return FromLeaves(shape, leaves, next);
}

SizeFault FaultOf(Place& at, Instruction* tuple) {
  const auto count = static_cast<int64_t>(tuple->shape().tuple_elements().size());
  return {at.Element(tuple, count - 3), at.Element(tuple, count - 2), at.Element(tuple, count - 1)};
}

// What runs where the instruction ran: of a loop's results the loop.
Instruction* StandIn(const PaddedValue& value) {
  if (!value.elements.empty()) return StandIn(value.elements[0]);
  Instruction* const array = value.leaf.array;
  return array != nullptr && array->opcode() == Opcode::kGetTupleElement ? array->operand(0) : array;
}

struct PaddedStep;

class Padder {
 public:
  Padder(Module& module, bool sizes_tell_faults) : module_(module), sizes_tell_faults_(sizes_tell_faults) {
    DeepProperty live(TouchesLiveSizes);
    for (Computation* computation : ControlComputations(module)) {
      for (const auto& i : computation->instructions()) {
        if (live.Of(*i)) touched_.insert(i.get());
      }
    }
  }

  void PadEntry();

 private:
  struct Scope {
    Computation& computation;
    SizeContext context;
    std::unordered_map<const Instruction*, PaddedValue> values = {};
    std::vector<Instruction*> replaced = {};
  };

  // Everything but the root; a loop's computation or a branch takes its parameter's value as a tuple from here on.
  void Pad(Scope& scope, const Shape* taken = nullptr);
  void Visit(Scope& scope, Instruction* i);
  std::optional<PaddedValue> ValueOf(Scope& scope, Place& at, Instruction* i);
  std::optional<PaddedValue> While(Scope& scope, Place& at, Instruction* loop);
  std::optional<PaddedValue> Conditional(Scope& scope, Place& at, Instruction* conditional);
  std::optional<PaddedValue> Scan(Scope& scope, Place& at, Instruction* scan);
  std::optional<PaddedValue> PaddedScan(Scope& scope, Place& at, Instruction* scan, Scope& inner,
                                        const PaddedStep& padded, std::vector<Instruction*> arguments,
                                        std::vector<Instruction*> given);
  std::optional<PaddedValue> ScanResults(Scope& scope, Place& at, Instruction* scan, const PaddedStep& padded,
                                         Computation& step, const std::vector<PaddedArray>& leaves,
                                         const std::vector<Instruction*>& given, bool fails);
  void Keep(Scope& scope, Place& at, Instruction* i);
  PaddedValue Of(Scope& scope, Place& at, Instruction* operand);
  void TakeFlat(Scope& scope, const Shape& shape);
  // The result, as a tuple; with `fault` what failed behind it.
  void GiveFlat(Scope& scope, const Shape& shape, bool fault, const SizeFault* before);
  void Finish(Scope& scope);

  Module& module_;
  const bool sizes_tell_faults_;
  std::unordered_set<const Instruction*> touched_;
  std::vector<std::string> messages_;
};

PaddedValue Padder::Of(Scope& scope, Place& at, Instruction* operand) {
  const auto found = scope.values.find(operand);
  if (found != scope.values.end()) return found->second;
  if (operand->opcode() != Opcode::kTuple) return at.Parts(operand);
  PaddedValue value;
  for (Instruction* const element : operand->operands()) value.elements.push_back(Of(scope, at, element));
  return value;
}

void Padder::TakeFlat(Scope& scope, const Shape& shape) {
  Instruction* const parameter = scope.computation.parameter(0);
  const Shape taken = shape;
  Place at(scope.context, scope.computation, parameter);
  // What reads the parameter still states its shape.
  Instruction* const before = at.Add(Opcode::kCopy, taken, {parameter});
  const std::vector<Instruction*> users(parameter->users().begin(), parameter->users().end());
  for (Instruction* const user : users) {
    if (user != before) user->ReplaceOperand(parameter, before);
  }
  if (scope.computation.root() == parameter) scope.computation.set_root(before);
  parameter->mutable_shape() = FlatShape(taken);
  scope.values[before] = Unflat(at, parameter, taken);
  scope.replaced.push_back(before);
}

void Padder::GiveFlat(Scope& scope, const Shape& shape, bool fault, const SizeFault* before) {
  Instruction* const root = scope.computation.root();
  Place at(scope.context, scope.computation, root);
  std::vector<Instruction*> flat = Flat(at.Leaves(Of(scope, at, root), shape));
  if (fault) {
    SizeFault& own = scope.context.fault;
    if (before != nullptr) {
      const SizeFault later = own;
      own = *before;
      if (later.number != nullptr) at.Merge(later);
    }
    for (Instruction* const part : {own.number, own.first, own.second}) {
      flat.push_back(part != nullptr ? part : at.NoFault());
    }
  }
  scope.computation.set_root(at.TupleOf(std::move(flat)));
}

std::optional<PaddedValue> Padder::While(Scope& scope, Place& at, Instruction* loop) {
  const Shape state = loop->called(1)->parameter(0)->shape();
  const bool one_form =
      SameFlags(state, loop->called(0)->parameter(0)->shape()) && SameFlags(state, loop->called(1)->root()->shape());
  if (!one_form) return std::nullopt;
  std::vector<Instruction*> initial = Flat(at.Leaves(Of(scope, at, loop->operand(0)), state));
  Scope condition{*loop->called(0), {module_, messages_, false}}, body{*loop->called(1), {module_, messages_}};
  Pad(condition, &state);
  Pad(body, &state);
  Shape flat = FlatShape(state);
  // What fails on the way to the result, too.
  Place end(body.context, body.computation, body.computation.root());
  end.Leaves(Of(body, end, body.computation.root()), state);
  const bool fails = body.context.fault.number != nullptr;
  if (fails) {
    AppendFault(flat);
    for (Scope* inner : {&condition, &body}) inner->computation.parameter(0)->mutable_shape() = flat;
    for (int k = 0; k < 3; ++k) initial.push_back(at.NoFault());
    const SizeFault before = FaultOf(end, body.computation.parameter(0));
    GiveFlat(body, state, true, &before);
  } else {
    GiveFlat(body, state, false, nullptr);
  }
  Finish(condition);
  Finish(body);
  Instruction* const padded = at.Add(Opcode::kWhile, flat, {at.TupleOf(std::move(initial))}, loop->attributes(),
                                     {loop->called(0), loop->called(1)});
  if (fails) at.Merge(FaultOf(at, padded));
  return Unflat(at, padded, state);
}

std::optional<PaddedValue> Padder::Conditional(Scope& scope, Place& at, Instruction* conditional) {
  const Shape& result = conditional->shape();
  std::vector<Instruction*> operands{Of(scope, at, conditional->operand(0)).leaf.array};
  std::vector<std::unique_ptr<Scope>> branches;
  bool fails = false;
  for (int k = 0; k < static_cast<int>(conditional->called().size()); ++k) {
    Computation& branch = *conditional->called(k);
    const Shape taken = branch.parameter(0)->shape();
    operands.push_back(at.TupleOf(Flat(at.Leaves(Of(scope, at, conditional->operand(k + 1)), taken))));
    branches.push_back(std::make_unique<Scope>(Scope{branch, {module_, messages_}}));
    Pad(*branches.back(), &taken);
    Place end(branches.back()->context, branch, branch.root());
    end.Leaves(Of(*branches.back(), end, branch.root()), result);
    fails = fails || branches.back()->context.fault.number != nullptr;
  }
  Shape flat = FlatShape(result);
  if (fails) AppendFault(flat);
  for (const auto& branch : branches) {
    GiveFlat(*branch, result, fails, nullptr);
    Finish(*branch);
  }
  Instruction* const padded = at.Add(Opcode::kConditional, flat, operands, conditional->attributes(),
                                     {conditional->called().begin(), conditional->called().end()});
  if (fails) at.Merge(FaultOf(at, padded));
  return Unflat(at, padded, result);
}

// A scan's step with its sizes: what it takes and gives besides its slices and carries.
struct PaddedStep {
  Instruction* lives = nullptr;            // the step is one that counts; null: all are
  std::vector<Instruction*> inner, outer;  // sizes in the step, and those that they are
  // What a size is in the step: a carry of its own, by `take`, of at most `limit`.
  Instruction* Inside(Instruction* size, int64_t limit, const std::function<Instruction*(const Shape&)>& take,
                      std::unordered_map<const Instruction*, int64_t>& limits) {
    auto known = std::ranges::find(outer, size);
    if (known == outer.end()) {
      inner.push_back(take(Shape(ElementType::kS32)));
      limits[inner.back()] = limit;
      known = outer.insert(outer.end(), size);
    }
    return inner[known - outer.begin()];
  }
  std::vector<Instruction*> OuterOf(const std::vector<Instruction*>& sizes) const {
    std::vector<Instruction*> found;
    for (Instruction* const size : sizes) {
      const auto at = std::ranges::find(inner, size);
      found.push_back(at == inner.end() ? size : outer[at - inner.begin()]);
    }
    return found;
  }
};

// Steps that do not live leave the carries alone. Sizes are carries that no step changes.
std::optional<PaddedValue> Padder::Scan(Scope& scope, Place& at, Instruction* scan) {
  const auto& a = scan->attributes<ScanAttributes>();
  Computation& f = *scan->called(0);
  const auto carries = static_cast<size_t>(a.num_carries);
  const size_t inputs = static_cast<size_t>(scan->operand_count()) - carries;
  const auto along = static_cast<size_t>(a.dimensions.at(0));
  if (std::ranges::any_of(f.instructions(), [](const auto& i) { return !i->called().empty() && UsesLiveSizes(*i); })) {
    return std::nullopt;
  }
  Computation& step = *module_.AddComputation(f.name() + "_of_live");
  Scope inner{step, {module_, messages_}};
  std::vector<PaddedArray> operands;
  Instruction* steps = nullptr;
  for (int k = 0; k < scan->operand_count(); ++k) {
    operands.push_back(Of(scope, at, scan->operand(k)).leaf);
    if (static_cast<size_t>(k) >= inputs || operands.back().sizes[along] == nullptr) continue;
    Instruction* const size = operands.back().sizes[along];
    if (steps == nullptr) steps = size;
    at.RequireEqual(steps, size,
                    fmt::format("dimension {} of operand {{0}} and of operand {} has other live sizes", along, k));
  }
  const int64_t bound = operands.at(0).array->shape().dimension(along);
  const bool partial = steps != nullptr && !SizeMath::IsNumber(steps, bound);
  PaddedStep padded;
  std::vector<Instruction*> arguments, given;
  int64_t number = 0;
  const auto take = [&](const Shape& shape) {
    return step.Add(Opcode::kParameter, shape, {}, ParameterAttributes{number++});
  };
  Instruction* flags = nullptr;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (k == inputs && partial) {
      IntList sizes(along + 1, 1);
      sizes[along] = bound;
      std::vector<Instruction*> live(along + 1);
      live[along] = steps;
      given.push_back(at.LiveMask(sizes, live));
      sizes.pop_back();
      flags = take(Shape(ElementType::kPred, sizes));
    }
    arguments.push_back(take(AtBounds(f.parameter(k)->shape())));
    given.push_back(operands[k].array);
  }
  if (flags != nullptr) padded.lives = step.Add(Opcode::kReshape, Shape(ElementType::kPred), {flags});
  for (size_t k = 0; k < operands.size(); ++k) {
    PaddedValue value{{arguments[k], operands[k].sizes}, nullptr, {}};
    if (k < inputs) value.leaf.sizes.erase(value.leaf.sizes.begin() + static_cast<std::ptrdiff_t>(along));
    const Shape& stated = f.parameter(k)->shape();
    for (int d = 0; d < stated.rank(); ++d) {
      Instruction*& size = value.leaf.sizes[d];
      if (size == nullptr && stated.is_dynamic_dimension(d)) size = at.Number(stated.dimension(d));
      if (size != nullptr) size = padded.Inside(size, stated.dimension(d), take, inner.context.limits);
    }
    inner.values[arguments[k]] = std::move(value);
  }
  given.insert(given.end(), padded.outer.begin(), padded.outer.end());
  return PaddedScan(scope, at, scan, inner, padded, std::move(arguments), std::move(given));
}

std::optional<PaddedValue> Padder::PaddedScan(Scope& scope, Place& at, Instruction* scan, Scope& inner,
                                              const PaddedStep& padded, std::vector<Instruction*> arguments,
                                              std::vector<Instruction*> given) {
  const auto& a = scan->attributes<ScanAttributes>();
  const auto carries = static_cast<size_t>(a.num_carries);
  Computation& step = inner.computation;
  const auto first_carry = static_cast<std::ptrdiff_t>(arguments.size() - carries);
  step.set_root(CloneInto(*scan->called(0), step, arguments, [](Computation* called) { return called; }));
  Pad(inner);
  Place end(inner.context, step, step.root());
  const Shape stated = step.root()->shape();
  const PaddedValue root = Of(inner, end, step.root());
  std::vector<PaddedArray> leaves = end.Leaves(root, stated);
  const size_t outputs = leaves.size() - carries;
  std::vector<Instruction*> results;
  for (size_t k = 0; k < leaves.size(); ++k) {
    Instruction* value = leaves[k].array;
    if (k >= outputs) {
      const PaddedArray& before = inner.values.at(arguments[static_cast<size_t>(first_carry) + k - outputs]).leaf;
      for (size_t d = 0; d < before.sizes.size(); ++d) {
        if (before.sizes[d] == nullptr || leaves[k].sizes[d] == nullptr) continue;
        end.RequireEqual(before.sizes[d], leaves[k].sizes[d],
                         fmt::format("dimension {} of carry {} has the live size {{0}} before a step, {{1}} after it",
                                     d, k - outputs));
        leaves[k].sizes[d] = before.sizes[d];
      }
      if (padded.lives != nullptr) {
        Instruction* const lives = end.Spread(padded.lives, SizesOf(value->shape()));
        value = end.Select(lives, value, before.array);
      }
    }
    for (Instruction* const size : leaves[k].sizes) {  // one for all steps
      if (size == nullptr || SizeMath::IsNumber(size)) continue;
      if (!Contains(padded.inner, size)) return std::nullopt;
    }
    results.push_back(value);
  }
  results.insert(results.end(), padded.inner.begin(), padded.inner.end());
  if (inner.context.fault.number != nullptr) {
    const SizeFault own = inner.context.fault;
    const auto number = static_cast<int64_t>(step.parameters().size());
    SizeFault& fault = inner.context.fault;
    fault = {};
    std::vector<Instruction*> before;
    for (int64_t k = 0; k < 3; ++k) {
      before.push_back(step.Add(Opcode::kParameter, Shape(ElementType::kS32), {}, ParameterAttributes{number + k}));
      given.push_back(at.NoFault());
    }
    fault = {before[0], before[1], before[2]};
    Instruction* const counted =
        padded.lives == nullptr ? own.number : end.Select(padded.lives, own.number, end.NoFault());
    end.Merge({counted, own.first, own.second});
    results.insert(results.end(), {fault.number, fault.first, fault.second});
  }
  const bool fails = inner.context.fault.number != nullptr;
  step.set_root(end.TupleOf(results));
  Finish(inner);
  return ScanResults(scope, at, scan, padded, step, leaves, given, fails);
}

std::optional<PaddedValue> Padder::ScanResults(Scope& scope, Place& at, Instruction* scan, const PaddedStep& padded,
                                               Computation& step, const std::vector<PaddedArray>& leaves,
                                               const std::vector<Instruction*>& given, bool fails) {
  ScanAttributes attributes = scan->attributes<ScanAttributes>();
  const auto along = static_cast<std::ptrdiff_t>(attributes.dimensions.at(0));
  const size_t outputs = leaves.size() - static_cast<size_t>(attributes.num_carries);
  const std::vector<const Shape*> stated = FlattenTuple(scan->shape());
  std::vector<Shape> shapes = Transformed(stated, [&](const Shape* shape) { return AtBounds(*shape); });
  const size_t scalars = padded.inner.size() + (fails ? 3 : 0);
  for (size_t k = 0; k < scalars; ++k) shapes.emplace_back(ElementType::kS32);
  attributes.num_carries += static_cast<int64_t>(scalars);
  Instruction* const result = at.Add(Opcode::kScan, Shape::Tuple(std::move(shapes)), given, attributes, {&step});
  if (fails) at.Merge(FaultOf(at, result));
  std::vector<PaddedArray> values;
  const PaddedArray first = Of(scope, at, scan->operand(0)).leaf;
  for (size_t k = 0; k < leaves.size(); ++k) {
    PaddedArray value{at.Element(result, static_cast<int64_t>(k)), {}};
    for (Instruction* const size : padded.OuterOf(leaves[k].sizes)) {
      const bool known = size != nullptr && SizeMath::IsNumber(size);
      value.sizes.push_back(known ? at.Number(size->literal().GetInt(0)) : size);
    }
    if (k < outputs) value.sizes.insert(value.sizes.begin() + along, first.sizes[along]);
    values.push_back(UnderStated(at, std::move(value), *stated[k]));
  }
  size_t next = 0;
  return FromLeaves(scan->shape(), values, next);
}

std::optional<PaddedValue> Padder::ValueOf(Scope& scope, Place& at, Instruction* i) {
  switch (i->opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return at.Parts(i);
    case Opcode::kTuple: {
      PaddedValue value;
      for (Instruction* const operand : i->operands()) value.elements.push_back(Of(scope, at, operand));
      return value;
    }
    case Opcode::kGetTupleElement: {
      const auto index = static_cast<size_t>(i->attributes<GetTupleElementAttributes>().index);
      return Of(scope, at, i->operand(0)).elements.at(index);
    }
    case Opcode::kDomain:
      return Of(scope, at, i->operand(0));
    case Opcode::kOptimizationBarrier: {
      const Shape& shape = i->shape();
      Instruction* const parts = at.TupleOf(Flat(at.Leaves(Of(scope, at, i->operand(0)), shape)));
      return Unflat(at, at.Add(Opcode::kOptimizationBarrier, parts->shape(), {parts}), shape);
    }
    case Opcode::kWhile:
      return While(scope, at, i);
    case Opcode::kConditional:
      return Conditional(scope, at, i);
    case Opcode::kScan:
      return Scan(scope, at, i);
    default:
      break;
  }
  std::vector<PaddedArray> operands;
  for (Instruction* const operand : i->operands()) {
    operands.push_back(Of(scope, at, operand).leaf);
    if (operands.back().array == nullptr) return std::nullopt;  // a tuple
  }
  auto leaves = PaddedForm(scope.context, scope.computation, i, std::move(operands));
  if (!leaves) return std::nullopt;
  size_t next = 0;
  return FromLeaves(i->shape(), *leaves, next);
}

// It stays: its operands in their dynamic form, and what it gives taken apart.
void Padder::Keep(Scope& scope, Place& at, Instruction* i) {
  for (int k = 0; k < i->operand_count(); ++k) {
    Instruction* const operand = i->operand(k);
    const auto found = scope.values.find(operand);
    if (found == scope.values.end()) continue;
    i->ReplaceOperand(k, at.Rebuilt(found->second, operand->shape()));
  }
  if (i->shape().IsDynamic()) scope.values[i] = at.Parts(i);
}

void Padder::Visit(Scope& scope, Instruction* i) {
  Place at(scope.context, scope.computation, i);
  std::optional<PaddedValue> value = ValueOf(scope, at, i);
  if (!value) return Keep(scope, at, i);
  if (i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kConstant) {
    scope.values[i] = std::move(*value);
    return;
  }
  Instruction* stand_in = StandIn(*value);
  if (!i->shape().IsDynamic()) {
    stand_in = at.Rebuilt(*value, i->shape());
    const std::vector<Instruction*> users(i->users().begin(), i->users().end());
    for (Instruction* const user : users) user->ReplaceOperand(i, stand_in);
    if (scope.computation.root() == i) scope.computation.set_root(stand_in);
  }
  if (stand_in != nullptr && stand_in != i) MoveControlEdges(i, stand_in);
  scope.values[i] = std::move(*value);
  scope.replaced.push_back(i);
}

void Padder::Pad(Scope& scope, const Shape* taken) {
  const std::vector<Instruction*> instructions = InstructionList(scope.computation);
  if (taken != nullptr) TakeFlat(scope, *taken);
  for (Instruction* const i : instructions) {
    if (taken != nullptr && i->opcode() == Opcode::kParameter) continue;
    const bool reads =
        std::ranges::any_of(i->operands(), [&](const Instruction* o) { return scope.values.contains(o); });
    if (touched_.contains(i) || TouchesLiveSizes(*i) || reads) Visit(scope, i);
  }
}

void Padder::Finish(Scope& scope) {
  std::ranges::reverse(scope.replaced);
  for (Instruction* const i : scope.replaced) scope.computation.Remove(i);
  scope.computation.SortTopologically();
}

void Padder::PadEntry() {
  Scope scope{*module_.entry(), {module_, messages_}};
  Pad(scope);
  Instruction* const root = scope.computation.root();
  Place at(scope.context, scope.computation, root);
  const auto found = scope.values.find(root);
  SizeFault& fault = scope.context.fault;
  const bool rebuilds = found != scope.values.end() && root->shape().IsDynamic();
  if (sizes_tell_faults_ && fault.number != nullptr && rebuilds && at.TellFault(fault, root->shape(), found->second)) {
    at.set_messages(messages_);
    scope.computation.set_root(at.Rebuilt(found->second, root->shape()));
    fault.number = nullptr;
  } else if (found != scope.values.end()) {
    scope.computation.set_root(root->shape().IsDynamic() && root->opcode() != Opcode::kParameter
                                   ? at.Rebuilt(found->second, root->shape())
                                   : root);
  }
  if (fault.number != nullptr) {
    CustomCallAttributes attributes = OwnCall(CallKind::kSizeCheck);
    attributes.custom_call_has_side_effect = true;
    Instruction* const check =
        at.Add(Opcode::kCustomCall, Shape(ElementType::kS32), {fault.number, fault.first, fault.second}, attributes);
    check->mutable_notes().size_messages = messages_;
  }
  Finish(scope);
}

}  // namespace

std::vector<std::string> SizeFaultMessages(const Module& module) {
  for (const auto& i : EachInstruction(module)) {
    if (i->notes().sizes_in_range && !i->notes().size_messages.empty()) return i->notes().size_messages;
  }
  return {};
}

std::string LiveSizeMessage(const Instruction& check, int64_t number, int64_t first, int64_t second) {
  std::string message = check.notes().size_messages.at(static_cast<size_t>(number) - 1);
  for (const auto& [mark, size] : {std::pair("{0}", first), std::pair("{1}", second)}) {
    for (size_t at = message.find(mark); at != std::string::npos; at = message.find(mark)) {
      message.replace(at, 3, std::to_string(size));
    }
  }
  return message;
}

void PadDynamicDimensions(Module& module, bool sizes_tell_faults) {
  Padder(module, sizes_tell_faults).PadEntry();
  module.SortComputations();
}

}  // namespace VXLA_NAMESPACE
