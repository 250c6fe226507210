#include "core/passes/sizes/live_specializer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/host/ranges.h"
#include "core/ops/op_support.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/sizes/live_instruction.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

// Constants of so many elements take part in computing sizes.
constexpr int64_t kFoldedElements = 64;

bool HasDynamicValue(const Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const auto& i) { return i->shape().IsDynamic(); });
}

// A value of the program that is made. An array's first elements, as far as `live` says, are the program's; `whole` may
// hold more, up to the bounds: what was beyond a size that was set smaller.
struct Sized {
  Shape stated;
  Instruction* whole = nullptr;  // of arrays and tokens
  std::vector<int64_t> live;     // of arrays
  std::vector<Sized> elements;   // of tuples
};

bool SameSizes(const Sized& a, const Sized& b) {
  return a.live == b.live && std::ranges::equal(a.elements, b.elements, SameSizes);
}

// Arrays and tokens, depth first.
void EachLeaf(auto& value, auto&& visit) {
  if (!value.stated.IsTuple()) return visit(value);
  for (auto& element : value.elements) EachLeaf(element, visit);
}

// One walk, in which a value's array and its live sizes are made together; so loops and branches are part of it.
class Specializer {
 public:
  Specializer(const Module& source, const LiveFacts& facts, const FoldInstruction& fold)
      : source_(source), facts_(facts), fold_(fold), made_(std::make_unique<Module>(source.name())) {}

  Result<SpecializedModule> Run() {
    made_->mutable_attributes() = source_.attributes();
    made_->mutable_attributes().entry_computation_layout.reset();
    auto entry = std::make_unique<Computation>(source_.entry()->name());
    out_ = entry.get();
    std::vector<Sized> arguments;
    size_t leaf = 0;
    for (const Instruction* parameter : source_.entry()->parameters()) {
      Instruction* made = AddCopy(*parameter, WithoutFlags(parameter->shape()), {}, parameter->attributes(), {});
      arguments.push_back(WholeOf(*parameter, made, made->shape()));
      EachLeaf(arguments.back(), [&](Sized& value) { value.live = facts_.parameter_sizes.at(leaf++); });
      VXLA_RETURN_IF_ERROR(CheckStated(*parameter, arguments.back(), parameter->shape()));
    }
    auto result = Emit(*source_.entry(), arguments);
    if (!result.ok() && question_ == nullptr) return result.status();
    SpecializedModule specialized;
    specialized.is_question = question_ != nullptr;
    if (question_ != nullptr) {
      if (HasEffects()) return result.status();
      made_->mutable_attributes().input_output_alias.clear();
      made_->mutable_attributes().buffer_donor.clear();
      out_->set_root(question_);
      specialized.likely_answer = Literal::ScalarInt(question_->shape().element_type(), likely_);
      if (question_->opcode() == Opcode::kParameter) specialized.parameter = question_->parameter_number();
    } else {
      EachLeaf(*result, [&](const Sized& leaf) { specialized.result_sizes.push_back(leaf.live); });
      out_->set_root(AtBounds(*source_.entry()->root(), *result));
    }
    made_->set_entry(made_->AddComputation(std::move(entry)));
    made_->entry()->RemoveDead();
    made_->RemoveUnusedComputations();
    made_->SortComputations();
    specialized.module = std::move(made_);
    return specialized;
  }

 private:
  using Values = std::unordered_map<const Instruction*, Sized>;

  // Asking runs a part of the program that the answer's program runs again: it must be the same then.
  bool HasEffects() const {
    return std::ranges::any_of(EachInstruction(source_), [](const auto& i) {
      return HasSideEffect(*i) || IsAnyOf(i->opcode(), Opcode::kRng, Opcode::kRngGetAndUpdateState);
    });
  }

  // The instructions of a computation at the end of the one that is written.
  Result<Sized> Emit(const Computation& computation, const std::vector<Sized>& arguments) {
    Values values;
    std::unordered_map<const Instruction*, Instruction*> last;
    for (const auto& instruction : computation.instructions()) {
      if (instruction->opcode() == Opcode::kParameter) {
        values[instruction.get()] = arguments.at(static_cast<size_t>(instruction->parameter_number()));
        continue;
      }
      std::vector<Sized> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(values.at(operand));
      const size_t before_it = out_->instructions().size();
      Result<Sized> value = EmitOne(*instruction, operands);
      Status status = value.ok() ? CheckStated(*instruction, *value, instruction->shape()) : value.status();
      if (!status.ok()) return std::move(status).At(instruction->location());
      values[instruction.get()] = std::move(*value);
      if (out_->instructions().size() == before_it) continue;
      Instruction* const added = last[instruction.get()] = out_->instructions().back().get();
      for (const Instruction* before : instruction->control_predecessors()) {
        if (last.contains(before)) added->AddControlPredecessor(last.at(before));
      }
    }
    return values.at(computation.root());
  }

  // Sets the value's stated shape; less than all of a static dimension is an error.
  Status CheckStated(const Instruction& instruction, Sized& value, const Shape& stated) {
    value.stated = stated;
    for (size_t i = 0; i < value.elements.size(); ++i)
      VXLA_RETURN_IF_ERROR(CheckStated(instruction, value.elements[i], stated.tuple_elements()[i]));
    for (int d = 0; d < static_cast<int>(value.live.size()); ++d) {
      const int64_t size = value.live[d];
      const bool fits = size == stated.dimension(d) || (stated.is_dynamic_dimension(d) && size < stated.dimension(d));
      if (!fits) {
        return OpError(instruction, "dimension {} of {} comes out with the live size {}", d, stated.ToString(), size);
      }
    }
    return OkStatus();
  }

  Result<Sized> EmitOne(const Instruction& instruction, std::vector<Sized>& operands) {
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return EmitConstant(instruction);
      case Opcode::kTuple:
        return Sized{instruction.shape(), nullptr, {}, std::move(operands)};
      case Opcode::kGetTupleElement: {
        const auto index = static_cast<size_t>(instruction.attributes<GetTupleElementAttributes>().index);
        return std::move(operands[0].elements.at(index));
      }
      case Opcode::kCall:
      case Opcode::kFusion:
        return Emit(*instruction.called(0), operands);
      case Opcode::kDomain:
        return std::move(operands[0]);
      case Opcode::kScan:
        return EmitScan(instruction, operands);
      case Opcode::kOptimizationBarrier:
      case Opcode::kAddDependency:
        return EmitInOrder(instruction, operands);
      case Opcode::kGetDimensionSize:
        return OfConstant(instruction,
                          Literal::ScalarInt(ElementType::kS32,
                                             operands[0].live.at(static_cast<size_t>(instruction.dimensions()[0]))));
      case Opcode::kSetDimensionSize:
        return EmitSetSize(instruction, operands);
      case Opcode::kDynamicReshape:
        return EmitDynamicReshape(instruction, operands);
      case Opcode::kWhile:
        return EmitWhile(instruction, operands[0]);
      case Opcode::kConditional:
        return EmitConditional(instruction, operands);
      default:
        return EmitDense(instruction, operands);
    }
  }

  // What brings sizes along by itself, or takes them apart.
  Status CheckDense(const Instruction& instruction) {
    const bool host = instruction.opcode() == Opcode::kCustomCall ||
                      FactsOf(instruction.opcode()).family == std::string_view("host_transfer");
    const bool inner =
        std::ranges::any_of(instruction.called(), [](const Computation* called) { return HasDynamicValue(*called); });
    if (!(TouchesLiveSizes(instruction) && host) && !inner) return OkStatus();
    return Unsupported("{}: live sizes {}", instruction.name(), inner ? "in its computation" : "that the host brings");
  }

  Result<Sized> EmitDense(const Instruction& instruction, std::vector<Sized>& operands) {
    VXLA_RETURN_IF_ERROR(CheckDense(instruction));
    LiveDimensions live;
    for (const Sized& operand : operands) live.Add(operand.stated, operand.live);
    LiveInstruction dense(instruction, std::move(live));
    const bool sized = instruction.shape().IsDynamic() ||
                       std::ranges::any_of(operands, [](const Sized& operand) { return operand.stated.IsDynamic(); });
    if (sized) VXLA_RETURN_IF_ERROR(dense.Build());
    std::vector<Instruction*> cut;
    for (size_t k = 0; k < operands.size(); ++k) {
      const bool whole = operands[k].stated.IsTuple() || !sized;
      cut.push_back(whole ? AtBounds(instruction, operands[k]) : Cut(instruction, operands[k], dense.sizes()[k]));
    }
    const Instruction& as = sized ? dense.instruction() : instruction;
    Instruction* made = AddCopy(instruction, as.shape(), cut, as.attributes(),
                                Transformed(instruction.called(), [&](Computation* c) { return CopyOf(c); }));
    Fold(made);
    Sized result = WholeOf(instruction, made, as.shape());
    if (instruction.opcode() == Opcode::kSort && sized) PutOverStatic(instruction, operands, result);
    return result;
  }

  // A static operand that is sorted along with dynamic ones stays static: beyond the live elements it is as it was.
  void PutOverStatic(const Instruction& sort, const std::vector<Sized>& operands, Sized& sorted) {
    for (size_t k = 0; k < operands.size(); ++k) {
      Sized& result = operands.size() == 1 ? sorted : sorted.elements[k];
      if (operands[k].stated.IsDynamic() || result.live == operands[k].live) continue;
      const std::vector<Instruction*> zeros(result.live.size(), At(sort).Number(ElementType::kS32, 0));
      std::vector<Instruction*> arguments{operands[k].whole, result.whole};
      arguments.insert(arguments.end(), zeros.begin(), zeros.end());
      result.whole = At(sort).Add(Opcode::kDynamicUpdateSlice, operands[k].whole->shape(), std::move(arguments));
      result.live = operands[k].live;
    }
  }

  Result<Sized> EmitConstant(const Instruction& constant) {
    const Literal& literal = constant.literal();
    if (!literal.is_dynamic()) return OfConstant(constant, literal);
    VXLA_ASSIGN_OR_RETURN(Sized value, OfConstant(constant, Literal(literal).Reshaped(WithoutFlags(literal.shape()))));
    value.live = LiveSizes(literal);
    return value;
  }

  // The arrays of what is put in order, each as it is.
  Result<Sized> EmitInOrder(const Instruction& instruction, std::vector<Sized>& operands) {
    if (instruction.opcode() == Opcode::kAddDependency && operands[0].stated.IsTuple()) return std::move(operands[0]);
    Sized value = operands[0];
    std::vector<Instruction*> wholes;
    EachLeaf(value, [&](const Sized& leaf) { wholes.push_back(leaf.whole); });
    if (instruction.opcode() == Opcode::kAddDependency) {
      wholes = {AddCopy(instruction, wholes[0]->shape(), {wholes[0], operands[1].whole}, NoAttributes{}, {})};
    } else {
      Instruction* together = At(instruction).TupleOf(wholes);
      Instruction* barrier = AddCopy(instruction, together->shape(), {together}, NoAttributes{}, {});
      wholes = At(instruction).Elements(barrier);
    }
    EachLeaf(value, [&, next = wholes.begin()](Sized& leaf) mutable { leaf.whole = *next++; });
    return value;
  }

  // Steps of what lives, on slices and carries that keep their sizes.
  Result<Sized> EmitScan(const Instruction& scan, std::vector<Sized>& operands) {
    const auto& attributes = scan.attributes<ScanAttributes>();
    const auto dimension = static_cast<size_t>(attributes.dimensions.at(0));
    const size_t carries = static_cast<size_t>(attributes.num_carries), arrays = operands.size() - carries;
    const int64_t steps = operands[0].live.at(dimension);
    std::vector<Sized> arguments;
    std::vector<Instruction*> cut;
    for (size_t k = 0; k < operands.size(); ++k) {
      Sized argument = operands[k];
      cut.push_back(Cut(scan, operands[k], operands[k].live));
      argument.stated = scan.called(0)->parameter(k)->shape();
      if (k < arrays) {
        if (argument.live.at(dimension) != steps) return Unsupported("{}: arrays of different lengths", scan.name());
        argument.live.erase(argument.live.begin() + static_cast<std::ptrdiff_t>(dimension));
      }
      arguments.push_back(std::move(argument));
    }
    Sized result;
    VXLA_ASSIGN_OR_RETURN(Computation * step, EmitStep(*scan.called(0), arguments, result));
    std::vector<Shape> shapes;
    const std::vector<Sized> parts = result.stated.IsTuple() ? result.elements : std::vector<Sized>{result};
    for (size_t k = 0; k < parts.size(); ++k) {
      std::vector<int64_t> sizes = parts[k].live;
      const bool stacked = k + carries < parts.size();
      if (stacked) sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dimension), steps);
      const size_t init = arrays + k + carries - parts.size();
      if (!stacked && sizes != operands[init].live) return Unsupported("{}: a carry changes its size", scan.name());
      shapes.emplace_back(parts[k].stated.element_type(), std::move(sizes));
    }
    const Shape shape = scan.shape().IsTuple() ? Shape::Tuple(std::move(shapes)) : shapes.at(0);
    return WholeOf(scan, AddCopy(scan, shape, std::move(cut), scan.attributes(), {step}), shape);
  }

  // A computation of the new module, of arrays that are as large as what lives of them.
  Result<Computation*> EmitStep(const Computation& source, const std::vector<Sized>& arguments, Sized& result) {
    return Apart(source, [&]() -> Status {
      std::vector<Sized> inside;
      for (size_t k = 0; k < arguments.size(); ++k) {
        const Instruction& parameter = *source.parameter(k);
        const Shape dense(arguments[k].stated.element_type(), arguments[k].live);
        inside.push_back(SizedAs(arguments[k], parameter, AddCopy(parameter, dense, {}, parameter.attributes(), {})));
      }
      VXLA_ASSIGN_OR_RETURN(result, Emit(source, inside));
      const Instruction& root = *source.root();
      if (!result.stated.IsTuple()) {
        out_->set_root(Cut(root, result, result.live));
        return OkStatus();
      }
      out_->set_root(At(root).TupleOf(
          Transformed(result.elements, [&](const Sized& part) { return Cut(root, part, part.live); })));
      return OkStatus();
    });
  }

  // The size in an operand: a constant, an answer, or a question.
  Result<int64_t> SizeOf(const Sized& scalar, int64_t bound) {
    VXLA_ASSIGN_OR_RETURN(const Literal value, ValueOf(scalar.whole, bound));
    return value.GetInt(0);
  }

  Result<Literal> ValueOf(Instruction* scalar, int64_t likely) {
    if (const auto known = constants_.find(scalar); known != constants_.end()) return known->second;
    if (control_depth_ > 0) return Unsupported("{}: a size in a loop or a branch depends on data", scalar->name());
    if (next_answer_ < facts_.answers.size()) {
      return constants_.emplace(scalar, facts_.answers[next_answer_++]).first->second;
    }
    question_ = scalar;
    likely_ = likely;
    return Unsupported("{}: a size depends on data, in a program with side effects or random numbers", scalar->name());
  }

  Result<Sized> EmitSetSize(const Instruction& instruction, std::vector<Sized>& operands) {
    const int dimension = static_cast<int>(instruction.dimensions()[0]);
    const Shape& shape = operands[0].stated;
    VXLA_ASSIGN_OR_RETURN(const int64_t size, SizeOf(operands[1], shape.dimension(dimension)));
    if (size < 0 || size > shape.dimension(dimension)) return SizeRangeError(instruction, 0, size, shape);
    Sized result = std::move(operands[0]);
    if (size > result.whole->shape().dimension(dimension)) result.whole = AtBounds(instruction, result);
    result.live[dimension] = size;
    return result;
  }

  Result<Sized> EmitDynamicReshape(const Instruction& instruction, std::vector<Sized>& operands) {
    const Shape& stated = instruction.shape();
    Shape dense = WithoutFlags(stated);
    int64_t elements = 1, live = 1;
    for (int d = 0; d < stated.rank(); ++d) {
      VXLA_ASSIGN_OR_RETURN(const int64_t size, SizeOf(operands[static_cast<size_t>(d) + 1], stated.dimension(d)));
      const bool fits =
          size == stated.dimension(d) || (stated.is_dynamic_dimension(d) && size >= 0 && size < stated.dimension(d));
      if (!fits) return OpError(instruction, "size {} does not fit dimension {} of {}", size, d, stated.ToString());
      dense.set_dimension(d, size);
      elements *= size;
    }
    for (const int64_t size : operands[0].live) live *= size;
    if (live != elements) return OpError(instruction, "{} live elements cannot become {}", live, dense.ToString());
    Instruction* cut = Cut(instruction, operands[0], operands[0].live);
    return WholeOf(instruction, At(instruction).Add(Opcode::kReshape, dense, {cut}), dense);
  }

  // The state keeps its bounds, and its sizes from trip to trip.
  Result<Sized> EmitWhile(const Instruction& loop, const Sized& state) {
    Instruction* init = AtBounds(loop, state);
    std::vector<Computation*> made;
    for (int k : {0, 1})
      VXLA_SET_OR_RETURN(made.emplace_back(), EmitApart(*loop.called(k), state, k == 1 ? &state : nullptr));
    return SizedAs(state, loop, AddCopy(loop, init->shape(), {init}, loop.attributes(), std::move(made)));
  }

  // A computation of the new module, of an argument at its bounds. Its result has the sizes of `as`, if given.
  Result<Computation*> EmitApart(const Computation& source, const Sized& argument, const Sized* as,
                                 Sized* result = nullptr) {
    return Apart(source, [&] { return EmitBody(source, argument, as, result); });
  }

  Result<Computation*> Apart(const Computation& source, const std::function<Status()>& emit) {
    auto computation = std::make_unique<Computation>(source.name());
    Computation* const outer = std::exchange(out_, computation.get());
    ++control_depth_;
    const Status emitted = emit();
    --control_depth_;
    out_ = outer;
    if (!emitted.ok()) {
      abandoned_.push_back(std::move(computation));  // `constants_` knows instructions by their addresses
      return emitted;
    }
    return made_->AddComputation(std::move(computation));
  }

  Status EmitBody(const Computation& source, const Sized& argument, const Sized* as, Sized* result) {
    const Instruction& parameter = *source.parameter(0);
    Instruction* made = AddCopy(parameter, WithoutFlags(argument.stated), {}, parameter.attributes(), {});
    Sized inside = SizedAs(argument, parameter, made);
    if (as != nullptr) NoteUnchanged(source, argument, inside);
    VXLA_ASSIGN_OR_RETURN(Sized value, Emit(source, {inside}));
    if (as != nullptr && !SameSizes(value, *as)) {
      return Unsupported("{}: live sizes change from trip to trip", source.name());
    }
    out_->set_root(AtBounds(*source.root(), value));
    if (result != nullptr) *result = std::move(value);
    return OkStatus();
  }

  // Elements of a loop's state that its body hands on are what they were at first.
  void NoteUnchanged(const Computation& body, const Sized& state, const Sized& inside) {
    const Instruction& root = *body.root();
    if (root.opcode() != Opcode::kTuple) return;
    for (int i = 0; i < root.operand_count(); ++i) {
      const Instruction& element = *root.operand(i);
      const bool unchanged = element.opcode() == Opcode::kGetTupleElement && element.operand(0) == body.parameter(0) &&
                             element.attributes<GetTupleElementAttributes>().index == i;
      const Sized& value = state.elements.at(static_cast<size_t>(i));
      if (!unchanged || value.whole == nullptr || !constants_.contains(value.whole)) continue;
      constants_.emplace(inside.elements.at(static_cast<size_t>(i)).whole, constants_.at(value.whole));
    }
  }

  Result<Sized> EmitConditional(const Instruction& conditional, std::vector<Sized>& operands) {
    Instruction* selector = operands[0].whole;
    const bool fixed =
        std::ranges::none_of(conditional.called(), [](const Computation* c) { return HasDynamicValue(*c); });
    if (!constants_.contains(selector)) {
      // Branches of one size run as they are; the value of the selector decides between sizes.
      std::vector<Computation*> branches;
      std::vector<Instruction*> arguments{selector};
      std::optional<Sized> sizes;
      Status status = OkStatus();
      for (size_t b = 0; b < conditional.called().size() && status.ok(); ++b) {
        Sized result;
        auto branch = EmitApart(*conditional.called(b), operands[b + 1], nullptr, &result);
        status = branch.status();
        if (!status.ok()) break;
        branches.push_back(*branch);
        arguments.push_back(AtBounds(conditional, operands[b + 1]));
        if (!sizes.has_value())
          sizes = std::move(result);
        else if (!SameSizes(*sizes, result))
          status = Unsupported("{}: branches of different sizes", conditional.name());
      }
      if (status.ok()) {
        return SizedAs(*sizes, conditional,
                       AddCopy(conditional, WithoutFlags(conditional.shape()), std::move(arguments),
                               conditional.attributes(), std::move(branches)));
      }
      if (fixed || status.code() != StatusCode::kUnsupported) return status;
    }
    VXLA_ASSIGN_OR_RETURN(const Literal value, ValueOf(selector, 0));
    const int taken = BranchOf(value, std::ssize(conditional.called()));
    return Emit(*conditional.called(taken), {operands[static_cast<size_t>(taken) + 1]});
  }

  // -- Values -------------------------------------------------------------------------------------------------------

  // A value of the new program that fills its shape.
  Sized WholeOf(const Instruction& like, Instruction* value, const Shape& shape) {
    Sized sized{shape, value, {}, {}};
    if (shape.IsTuple()) {
      sized.whole = nullptr;
      for (size_t i = 0; i < shape.tuple_elements().size(); ++i) {
        sized.elements.push_back(
            WholeOf(like, At(like).Element(value, static_cast<int64_t>(i)), shape.tuple_elements()[i]));
      }
    } else {
      sized.live.assign(shape.dimensions().begin(), shape.dimensions().end());
    }
    return sized;
  }

  // A value at its bounds of which as much lives as of another one.
  Sized SizedAs(const Sized& other, const Instruction& like, Instruction* value) {
    Sized sized = WholeOf(like, value, value->shape());
    CopySizes(other, sized);
    return sized;
  }

  void CopySizes(const Sized& from, Sized& to) {
    to.stated = from.stated;
    to.live = from.live;
    for (size_t i = 0; i < to.elements.size(); ++i) CopySizes(from.elements[i], to.elements[i]);
  }

  // -- Instructions -------------------------------------------------------------------------------------------------

  Expansion At(const Instruction& like) { return {*out_, like}; }

  Instruction* AddCopy(const Instruction& like, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                       std::vector<Computation*> called) {
    auto copy = like.CloneWith(std::move(operands), std::move(shape), std::move(called));
    copy->mutable_attributes() = std::move(attributes);
    return out_->Add(std::move(copy));
  }

  Result<Sized> OfConstant(const Instruction& like, Literal literal) {
    const Shape shape = literal.shape();
    const bool small = shape.IsArray() && shape.ElementCount() <= kFoldedElements;
    std::optional<Literal> known = small ? std::optional<Literal>(literal) : std::nullopt;
    Instruction* made = At(like).Constant(std::move(literal));
    if (known.has_value()) constants_.emplace(made, std::move(*known));
    return WholeOf(like, made, shape);
  }

  // Zeros where the value does not reach to these sizes, and nothing beyond them.
  Instruction* Cut(const Instruction& like, const Sized& value, std::span<const int64_t> sizes) {
    Instruction* array = value.whole;
    if (!value.stated.IsArray()) return array;
    PadAttributes padding;
    SliceAttributes slice;
    bool pads = false, cuts = false;
    std::vector<int64_t> padded;
    for (int d = 0; d < array->shape().rank(); ++d) {
      const int64_t size = sizes[d], missing = std::max<int64_t>(0, size - array->shape().dimension(d));
      padding.padding.push_back({0, missing, 0});
      padded.push_back(array->shape().dimension(d) + missing);
      slice.slice.push_back({0, size, 1});
      pads = pads || missing > 0;
      cuts = cuts || size < padded.back();
    }
    const ElementType type = array->shape().element_type();
    if (pads) {
      array = At(like).Add(Opcode::kPad, Shape(type, padded), {array, At(like).Zero(type)}, padding);
    }
    if (!cuts) return array;
    return At(like).Add(Opcode::kSlice, Shape(type, {sizes.begin(), sizes.end()}), {array}, slice);
  }

  // As wide as the bounds.
  Instruction* AtBounds(const Instruction& like, const Sized& value) {
    if (value.stated.IsArray()) return Cut(like, value, value.stated.dimensions());
    if (!value.stated.IsTuple()) return value.whole;
    return At(like).TupleOf(Transformed(value.elements, [&](const Sized& element) { return AtBounds(like, element); }));
  }

  // A computation of scalars, as it is.
  Computation* CopyOf(Computation* computation) {
    if (const auto made = copies_.find(computation); made != copies_.end()) return made->second;
    auto copy = std::make_unique<Computation>(computation->name());
    copy->set_root(CloneInto(*computation, *copy, {}, [this](Computation* called) { return CopyOf(called); }));
    copy->set_execution_thread(computation->execution_thread());
    return copies_[computation] = made_->AddComputation(std::move(copy));
  }

  // What sizes are computed with: small constants.
  void Fold(Instruction* made) {
    const Opcode opcode = made->opcode();
    const bool plain = IsElementwise(opcode) || opcode == Opcode::kReshape || opcode == Opcode::kBroadcast ||
                       opcode == Opcode::kSlice || opcode == Opcode::kConcatenate || opcode == Opcode::kReduce;
    if (!plain || !made->shape().IsArray() || made->shape().ElementCount() > kFoldedElements) return;
    std::vector<const Literal*> operands;
    for (const Instruction* operand : made->operands()) {
      const auto known = constants_.find(operand);
      if (known == constants_.end()) return;
      operands.push_back(&known->second);
    }
    if (Result<Literal> value = fold_(*made, operands); value.ok()) constants_.emplace(made, std::move(*value));
  }

  const Module& source_;
  const LiveFacts& facts_;
  const FoldInstruction& fold_;
  std::unique_ptr<Module> made_;
  Computation* out_ = nullptr;
  Instruction* question_ = nullptr;
  int64_t likely_ = 0;
  size_t next_answer_ = 0;
  int control_depth_ = 0;
  std::unordered_map<const Instruction*, Literal> constants_;
  std::unordered_map<Computation*, Computation*> copies_;
  std::vector<std::unique_ptr<Computation>> abandoned_;
};

std::vector<std::vector<int64_t>> SizesOfParameters(const Module& module, int64_t most) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Instruction* parameter : module.entry()->parameters()) {
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      std::vector<int64_t>& live = sizes.emplace_back();
      for (int d = 0; d < leaf->rank(); ++d) {
        live.push_back(leaf->is_dynamic_dimension(d) ? std::min(most, leaf->dimension(d)) : leaf->dimension(d));
      }
    }
  }
  return sizes;
}

}  // namespace

bool HasLiveSizes(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& c) { return HasDynamicValue(*c); });
}

Result<SpecializedModule> SpecializeLiveSizes(const Module& module, const LiveFacts& facts,
                                              const FoldInstruction& fold) {
  return Specializer(module, facts, fold).Run();
}

std::vector<std::vector<int64_t>> BoundsOfParameters(const Module& module) {
  return SizesOfParameters(module, INT64_MAX);
}

Result<std::unique_ptr<Module>> SpecializeAtLikelySizes(const Module& module, const FoldInstruction& fold) {
  constexpr int64_t kMostTries = 64;
  for (int64_t most = 0; most < kMostTries; ++most) {
    LiveFacts facts{SizesOfParameters(module, most == 0 ? INT64_MAX : most - 1), {}};
    auto specialized = SpecializeLiveSizes(module, facts, fold);
    while (specialized.ok() && specialized->is_question) {
      facts.answers.push_back(std::move(specialized->likely_answer));
      specialized = SpecializeLiveSizes(module, facts, fold);
    }
    if (specialized.ok()) return std::move(specialized->module);
    if (specialized.status().code() == StatusCode::kUnsupported) return specialized.status();
  }
  return std::unique_ptr<Module>();
}

}  // namespace VXLA_NAMESPACE
