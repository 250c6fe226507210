// Refinement: sizes follow from the shapes of the entry's arguments. Values that sizes are computed with become
// constants as they are imported, functions are written where they are called, and what data decide is asked for.

#include <algorithm>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/mlir/importer/import_operations.h"
#include "core/passes/base/control_flow.h"

namespace VXLA_NAMESPACE::mlir {

std::string FillIn(std::string_view text, std::span<const std::string> values) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const std::string_view digits = end == std::string_view::npos ? "" : text.substr(i + 1, end - i - 1);
    const bool number = !digits.empty() && digits.size() < 4 &&
                        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    const size_t place = number ? std::stoul(std::string(digits)) : values.size();
    if (place >= values.size()) {
      out += text[i];
      continue;
    }
    out += values[place];
    i = end;
  }
  return out;
}

namespace {

// Numbers that sizes are computed with: lists of sizes, pads and starts, and tables of indices made of them.
constexpr int64_t kMaxFoldedElements = 1024;
// Functions that call functions twice each grow with every level.
constexpr int64_t kMaxInlinedOperations = int64_t{1} << 20;
constexpr int kMaxQuestionDepth = 1000;

bool IsSmallInteger(const Shape& shape) {
  return shape.IsArray() && !shape.IsDynamic() && shape.ElementCount() <= kMaxFoldedElements &&
         !IsFloating(shape.element_type()) && !IsComplex(shape.element_type());
}

// custom_call @shape_assertion(%holds, %value ...) {error_message = "... {0} ..."}
Status ImportShapeAssertion(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(1));
  VXLA_ASSIGN_OR_RETURN(const IntList holds, ConstantInts(frame, operation, 0));
  if (holds.size() != 1) return operation.Error("operand 0 has {} elements, one needed", holds.size());
  if (holds[0] != 0) return OkStatus();
  std::vector<std::string> values;
  for (size_t i = 1; i < operation.operands.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const IntList value, ConstantInts(frame, operation, i));
    values.push_back(JoinInts(value));
  }
  VXLA_ASSIGN_OR_RETURN(const std::string message, operation.Text("error_message", kShapesDoNotFit));
  return InvalidArgument("{}", FillIn(message, values)).At(operation.location);
}

// (arrays, initial values, sizes, strides, base dilations, window dilations, padding)
Status ImportDynamicReduceWindow(Frame& frame, const Operation& operation, Instructions& operands) {
  const size_t arrays = operation.results.size();
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2 * arrays + 5));
  const Attribute* const called = operation.Find("called_computations");
  if (called == nullptr || called->elements.size() != 1) return operation.Error("called_computations: one is needed");
  VXLA_ASSIGN_OR_RETURN(Computation* const reducer,
                        frame.importer.ImportFunction(called->elements[0].text, operation.location));
  if (IsBounded(frame, operation) && !AreKnown(frame, operands, 2 * arrays))
    return ImportBoundedReduceWindow(frame, operation, std::move(operands), reducer);
  std::vector<IntList> numbers;
  for (size_t i = 0; i < 5; ++i) {
    VXLA_ASSIGN_OR_RETURN(IntList list, ConstantInts(frame, operation, 2 * arrays + i));
    const auto rank = static_cast<size_t>(operands[0]->shape().rank());
    if (list.size() != (i < 4 ? rank : 2 * rank))
      return operation.Error("operand {} has {} elements for {} dimensions", 2 * arrays + i, list.size(), rank);
    numbers.push_back(std::move(list));
  }
  WindowAttributes attributes;
  for (size_t i = 0; i < numbers[0].size(); ++i) {
    attributes.window.push_back(
        {numbers[0][i], numbers[1][i], numbers[4][2 * i], numbers[4][2 * i + 1], numbers[2][i], numbers[3][i], false});
  }
  operands.resize(2 * arrays);
  return BindInferred(frame, operation, Opcode::kReduceWindow, std::move(operands), std::move(attributes), {reducer});
}

Status ImportDynamicTopK(Frame& frame, const Operation& operation, const Instructions& operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2));
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  if (IsBounded(frame, operation) && stated.rank() > 0 && stated.is_dynamic_dimension(stated.rank() - 1))
    return ImportBoundedTopK(frame, operation, operands);
  VXLA_ASSIGN_OR_RETURN(const IntList k, ConstantInts(frame, operation, 1));
  if (k.size() != 1) return operation.Error("operand 1 has {} elements, one needed", k.size());
  return BindInferred(frame, operation, Opcode::kTopK, {operands[0]}, TopKAttributes{k[0], true});
}

Status ImportDynamicRngBits(Frame& frame, const Operation& operation, const Instructions& operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2));
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(2));
  VXLA_ASSIGN_OR_RETURN(Attributes attributes,
                        AttributesFor(Opcode::kRngBitGenerator, operation, frame.importer.typed()));
  if (IsBounded(frame, operation, 1))
    return ImportBoundedRngBits(frame, operation, operands, std::get<RngBitGeneratorAttributes>(attributes));
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, ConstantInts(frame, operation, 1));
  const Shape drawn(frame.importer.program().ShapeOf(operation.results[1]).element_type(), sizes);
  VXLA_RETURN_IF_ERROR(CheckShape(drawn));
  return BindInferred(frame, operation, Opcode::kRngBitGenerator, {operands[0]}, std::move(attributes), {},
                      Shape::Tuple({operands[0]->shape(), drawn}));
}

}  // namespace

bool HasUnknownSize(const Shape& shape) {
  const std::vector<const Shape*> leaves = FlattenTuple(shape);
  return std::ranges::any_of(leaves, [](const Shape* leaf) { return Contains(leaf->dimensions(), kUnboundedSize); });
}

bool Fits(const Type& type, const Shape& shape) {
  if (type.kind != Type::Kind::kShape && type.kind != Type::Kind::kElement) return false;
  const Shape& stated = type.shape;
  if (type.unranked) return shape.IsArray() && shape.element_type() == stated.element_type();
  if (!stated.IsArray() || !HasUnknownSize(stated)) return stated == shape || Compatible(stated, shape);
  if (!shape.IsArray() || stated.element_type() != shape.element_type() || stated.rank() != shape.rank()) return false;
  for (int i = 0; i < stated.rank(); ++i) {
    if (stated.dimension(i) != kUnboundedSize && stated.dimension(i) != shape.dimension(i)) return false;
  }
  return true;
}

Importer::Importer(const Program& program, const ProgramFacts& facts, const FoldInstruction& fold)
    : program_(program), module_(std::make_unique<Module>("")), facts_(&facts), fold_(fold) {
  actual_.values = program.values;
}

void RemoveUnused(Module& module) {
  for (const auto& computation : module.computations()) computation->RemoveDead();
  module.RemoveUnusedComputations();
}

Result<SpecializedModule> Importer::RunRefined() {
  Result<std::unique_ptr<Module>> module = Run();
  if (question_.has_value()) {
    VXLA_ASSIGN_OR_RETURN(question_->module, shardings_.Partitioned(std::move(question_->module)));
    return std::move(*question_);
  }
  if (!module.ok()) return module.status();
  RemoveUnused(**module);
  return SpecializedModule{*std::move(module), false, -1, {}, {}};
}

void Importer::SetActual(ValueId value, const Shape& shape) {
  if (!refines()) return;
  actual_.values[value].type.shape = shape;
  if (largest_ == nullptr) return;
  std::optional<Shape>& most = (*largest_)[value];
  if (!most.has_value() || !shape.IsArray() || most->rank() != shape.rank()) {
    most = shape;
    return;
  }
  for (int d = 0; d < shape.rank(); ++d) most->set_dimension(d, std::max(most->dimension(d), shape.dimension(d)));
}

Result<Shape> Importer::ArgumentShape(const Operation& function, size_t index, const Type& stated) const {
  if (!refines()) return stated.shape;
  const bool unknown = HasUnknownSize(stated.shape) || stated.unranked;
  if (open_.size() > 1 || checks_ != nullptr) {  // what an operation applies, or what run_parallel runs
    if (unknown)
      return function.NotSupported("argument {} is {} where no call says its sizes", index, PrintType(stated));
    return stated.shape;
  }
  if (index >= facts_->arguments.size())
    return function.Error("{} arguments given, argument {} is missing", facts_->arguments.size(), index);
  Shape given = facts_->arguments[index];
  if (!Fits(stated, given))
    return function.Error("argument {} is {}, {} needed", index, PrintType(given), PrintType(stated));
  if (!unknown) return stated.shape;
  given.set_layout(std::nullopt);
  return given;
}

Shape Importer::Completed(const Operation& operation, const Shape& stated) const {
  if (!refines() || !HasUnknownSize(stated) || !stated.IsArray() || operation.operands.empty()) return stated;
  const Shape& from = actual_.ShapeOf(operation.operands[0]);
  if (!from.IsArray()) return stated;
  Shape shape = stated;
  for (int i = 0; i < stated.rank(); ++i) {
    if (stated.dimension(i) != kUnboundedSize || i >= from.rank()) continue;
    shape.set_dimension(i, from.dimension(i));
    shape.set_dynamic_dimension(i, from.is_dynamic_dimension(i));
  }
  return shape;
}

bool Importer::Folds(const Instruction& value) const {
  using enum Opcode;
  return IsElementwise(value.opcode()) ||
         IsAnyOf(value.opcode(), kReshape, kBroadcast, kConcatenate, kSlice, kTranspose, kReverse, kPad, kIota, kReduce,
                 kGather, kDynamicSlice, kDynamicUpdateSlice, kGetDimensionSize);
}

// What a value of a region was outside of it.
const Instruction* Importer::Outside(const Instruction* value) const {
  for (auto found = captured_from_.find(value); found != captured_from_.end(); found = captured_from_.find(value))
    value = found->second;
  return value;
}

void Importer::ForgetValues() {
  known_.clear();
  unknown_.clear();
  captured_from_.clear();
}

const Literal* Importer::Known(const Instruction* value) {
  if (!IsSmallInteger(value->shape())) return nullptr;
  value = Outside(value);
  if (value->opcode() == Opcode::kConstant) return &value->literal();
  if (const auto known = known_.find(value); known != known_.end()) return &known->second;
  if (!fold_ || unknown_.contains(value) || !Folds(*value)) return nullptr;
  std::vector<const Literal*> operands;
  for (const Instruction* operand : value->operands()) {
    const Literal* const literal = Known(operand);
    if (literal == nullptr) {
      unknown_.insert(value);
      return nullptr;
    }
    operands.push_back(literal);
  }
  Result<Literal> folded = fold_(*value, operands);
  if (!folded.ok()) {
    unknown_.insert(value);
    return nullptr;
  }
  return &known_.emplace(value, *std::move(folded)).first->second;
}

Instruction* Folded(Frame& frame, Instruction* value) {
  if (!frame.importer.refines() || value->opcode() == Opcode::kConstant) return value;
  const Literal* const known = frame.importer.Known(value);
  if (known == nullptr) return value;
  return frame.Constant(*known);
}

bool Importer::IsOfEntry(const Instruction& value) const {
  return entry_frame_ != nullptr && value.parent() == entry_frame_->computation.get();
}

// Whether small integers among the entry's parameters say the value; `unknown` is the first of them that has to be
// asked for.
bool Importer::DependsOnSmallParameters(const Instruction* value, const Instruction** unknown, int depth) const {
  value = Outside(value);
  if (value->opcode() == Opcode::kConstant || known_.contains(value)) return true;
  if (!IsSmallInteger(value->shape()) || depth > kMaxQuestionDepth) return false;
  if (value->opcode() == Opcode::kParameter && IsOfEntry(*value)) {
    if (*unknown == nullptr) *unknown = value;
    return true;
  }
  return Folds(*value) && std::ranges::all_of(value->operands(), [&](const Instruction* operand) {
           return DependsOnSmallParameters(operand, unknown, depth + 1);
         });
}

// The first value of the entry, in the order of operands, that has to be asked for to know this one; null: a region's
// own data decide it.
const Instruction* Importer::ToAsk(const Instruction* value, int depth) const {
  value = Outside(value);
  if (value->opcode() == Opcode::kConstant || known_.contains(value) || depth > kMaxQuestionDepth) return nullptr;
  const Instruction* parameter = nullptr;
  if (DependsOnSmallParameters(value, &parameter, 0) && parameter != nullptr) return parameter;
  if (IsOfEntry(*value)) return IsSmallInteger(value->shape()) ? value : nullptr;
  if (!Folds(*value)) return nullptr;
  for (const Instruction* operand : value->operands()) {
    if (const Instruction* const found = ToAsk(operand, depth + 1); found != nullptr) return found;
  }
  return nullptr;
}

Result<const Literal*> Importer::KnownOrAsk(const Operation& operation, const Instruction* value) {
  if (!IsSmallInteger(value->shape()))
    return operation.NotSupported("{} decides sizes: {} integers at most can", PrintType(value->shape()),
                                  kMaxFoldedElements);
  while (true) {
    if (const Literal* const known = Known(value)) return known;
    const Instruction* const target = ToAsk(value, 0);
    if (target == nullptr)
      return operation.NotSupported("a size that depends on data within a loop or branch is not supported");
    if (next_answer_ < facts_->answers.size()) {
      known_[target] = facts_->answers[next_answer_++];
      unknown_.clear();
      continue;
    }
    SpecializedModule question;
    question.is_question = true;
    if (target->opcode() == Opcode::kParameter) {
      question.parameter = target->attributes<ParameterAttributes>().number;
    } else {
      Computation& entry = *entry_frame_->computation;
      const auto& all = entry.instructions();
      const auto at = std::ranges::find(all, target, [](const auto& instruction) { return instruction.get(); });
      entry.set_root(at->get());
      entry.RemoveDead();
      module_->set_entry(module_->AddComputation(std::move(entry_frame_->computation)));
      module_->RemoveUnusedComputations();
      question.module = std::move(module_);
    }
    question_ = std::move(question);
    return operation.NotSupported("a size depends on data");
  }
}

Result<Shape> ShapeFromOperand(Frame& frame, const Operation& operation, size_t operand, ElementType type) {
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, ConstantInts(frame, operation, operand));
  const Shape shape(type, sizes);
  if (const Status status = CheckShape(shape); !status.ok()) return operation.Error("{}", status.message());
  const Type& stated = frame.importer.program().values[operation.results[0]].type;
  if (!Fits(stated, shape)) {
    return operation.Error("operand {} gives {}, the result is stated as {}", operand, PrintType(shape),
                           PrintType(stated));
  }
  return shape;
}

// The same function may be called with other sizes elsewhere: it is written here.
Result<Instructions> Importer::InlineFunction(Frame& frame, const std::string& name, SourceLocation use,
                                              const Instructions& arguments) {
  VXLA_ASSIGN_OR_RETURN(const Operation* const function, Enter(name, use));
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(*function, 0));
  inlined_ += static_cast<int64_t>(block->operations.size());
  if (inlined_ > kMaxInlinedOperations)
    return Unsupported("the functions that '@{}' calls stand for more than {} operations", name, kMaxInlinedOperations)
        .At(use);
  if (block->arguments.size() != arguments.size()) {
    return InvalidArgument("'@{}' takes {} arguments, {} are given", name, block->arguments.size(), arguments.size())
        .At(use);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& wanted = program_.values[block->arguments[i]].type;
    if (!Fits(wanted, arguments[i]->shape())) {
      return InvalidArgument("argument {} of '@{}' is {}, {} needed", i, name, PrintType(arguments[i]->shape()),
                             PrintType(wanted))
          .At(use);
    }
    SetActual(block->arguments[i], arguments[i]->shape());
    frame.values[block->arguments[i]] = arguments[i];
  }
  VXLA_ASSIGN_OR_RETURN(Instructions results, RunBlock(frame, *block));
  VXLA_RETURN_IF_ERROR(CheckResultTypes(*function, results));
  open_.erase(name);
  location_ = use;
  return results;
}

Status ImportGetDimensionSize(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("dimension"));
  const Shape& shape = operands[0]->shape();
  const bool fixed =
      shape.IsArray() && dimension >= 0 && dimension < shape.rank() && !shape.is_dynamic_dimension(dimension);
  if (!frame.importer.refines() || !fixed) return ImportPlain(frame, operation, Opcode::kGetDimensionSize);
  const int64_t size = shape.dimension(dimension);
  return BindValues(frame, operation, {frame.Number(ElementType::kS32, size)});
}

// To a type without a bound: the first so many elements.
Status ImportSetDimensionSize(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("dimension"));
  const Shape shape = operands[0]->shape(), &stated = frame.importer.program().ShapeOf(operation.results[0]);
  if (!frame.importer.refines() || !HasUnknownSize(stated))
    return ImportPlain(frame, operation, Opcode::kSetDimensionSize);
  if (!shape.IsArray() || dimension < 0 || dimension >= shape.rank())
    return operation.Error("{} has no dimension {}", PrintType(shape), dimension);
  VXLA_ASSIGN_OR_RETURN(const IntList size, ConstantInts(frame, operation, 1));
  const int64_t limit = shape.dimension(dimension);
  if (size.size() != 1 || size[0] < 0 || size[0] > limit) {
    return operation.Error("the size {} is not in 0 to {}, dimension {} of {}", JoinInts(size), limit, dimension,
                           PrintType(shape));
  }
  SliceAttributes attributes;
  for (int i = 0; i < shape.rank(); ++i)
    attributes.slice.push_back({0, i == dimension ? size[0] : shape.dimension(i), 1});
  return BindInferred(frame, operation, Opcode::kSlice, {operands[0]}, std::move(attributes));
}

// Those that stand for operations whose sizes are operands. False: no such one.
Result<bool> ImportDynamicCustomCall(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const std::string target, operation.Text("call_target_name"));
  if (frame.importer.refines() && target == "shape_assertion") {
    VXLA_RETURN_IF_ERROR(ImportShapeAssertion(frame, operation));
  } else if (frame.importer.refines() && target == "stablehlo.shape_refinement_operand_wrapper") {
    VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(1));
    VXLA_RETURN_IF_ERROR(BindValues(frame, operation, {operands[0]}));
  } else if (target == "shape_assertion") {
    return ImportBoundedAssertion(frame, operation);
  } else if (target == "stablehlo.dynamic_reduce_window") {
    VXLA_RETURN_IF_ERROR(ImportDynamicReduceWindow(frame, operation, operands));
  } else if (target == "stablehlo.dynamic_top_k") {
    VXLA_RETURN_IF_ERROR(ImportDynamicTopK(frame, operation, operands));
  } else if (target == "stablehlo.dynamic_rng_bit_generator") {
    VXLA_RETURN_IF_ERROR(ImportDynamicRngBits(frame, operation, operands));
  } else {
    return false;
  }
  return true;
}

Result<Instructions> Scalars(Frame& frame, const Operation& operation, Instruction* list) {
  Instructions scalars;
  const Shape shape = list->shape();
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    SliceAttributes part;
    part.slice.push_back({i, i + 1, 1});
    VXLA_ASSIGN_OR_RETURN(Instruction* const one,
                          AddInferred(frame, operation, Opcode::kSlice, {list}, std::move(part)));
    scalars.push_back(Folded(frame, frame.Add(Opcode::kReshape, Shape(shape.element_type()), {one})));
  }
  return scalars;
}

// real_dynamic_slice that begins where data say, but whose size is known: from %start to %start + size, or by its type.
Result<bool> ImportMovingSlice(Frame& frame, const Operation& operation, const Instructions& operands) {
  const Shape& from = operands[0]->shape();
  if (!frame.importer.refines() || frame.importer.Known(operands[1]) != nullptr || operands[1]->shape().rank() != 1 ||
      operands[1]->shape().ElementCount() != from.rank()) {
    return false;
  }
  const Literal* const strides = frame.importer.Known(operands[3]);
  if (strides == nullptr || strides->element_count() != from.rank()) return false;
  IntList sizes;
  const Instruction* const limits = operands[2];
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  if (limits->opcode() == Opcode::kAdd) {
    const bool first = limits->operand(0) == operands[1];
    const Literal* const size =
        first || limits->operand(1) == operands[1] ? frame.importer.Known(limits->operand(first ? 1 : 0)) : nullptr;
    for (int64_t i = 0; size != nullptr && i < size->element_count(); ++i) sizes.push_back(size->GetInt(i));
  } else if (!HasUnknownSize(stated) && stated.rank() == from.rank()) {
    for (int i = 0; i < stated.rank(); ++i)
      sizes.push_back(stated.dimension(i) == 0 ? 0 : (stated.dimension(i) - 1) * strides->GetInt(i) + 1);
  }
  if (sizes.size() != static_cast<size_t>(from.rank())) return false;
  VXLA_ASSIGN_OR_RETURN(Instructions starts, Scalars(frame, operation, operands[1]));
  starts.insert(starts.begin(), operands[0]);
  SliceAttributes every;
  bool strided = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    every.slice.push_back({0, sizes[i], strides->GetInt(static_cast<int64_t>(i))});
    strided = strided || strides->GetInt(static_cast<int64_t>(i)) != 1;
  }
  VXLA_ASSIGN_OR_RETURN(Instruction * result, AddInferred(frame, operation, Opcode::kDynamicSlice, std::move(starts),
                                                          DynamicSliceAttributes{sizes}));
  if (strided) VXLA_SET_OR_RETURN(result, AddInferred(frame, operation, Opcode::kSlice, {result}, std::move(every)));
  VXLA_RETURN_IF_ERROR(BindValues(frame, operation, {result}));
  return true;
}

// Only the branch that runs, where it is known: others may not go together at these sizes.
Result<bool> ImportKnownBranch(Frame& frame, const Operation& operation, const Instruction* index) {
  const Literal* const known = frame.importer.refines() ? frame.importer.Known(index) : nullptr;
  if (known == nullptr || known->element_count() != 1 || operation.regions.empty()) return false;
  const auto count = static_cast<int64_t>(operation.regions.size());
  const int branch = BranchOf(known->GetInt(0), operation.name.ends_with(".if"), count);
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, static_cast<size_t>(branch)));
  if (!block->arguments.empty()) return false;
  VXLA_ASSIGN_OR_RETURN(const Instructions results, RunBlock(frame, *block));
  VXLA_RETURN_IF_ERROR(BindValues(frame, operation, results));
  return true;
}

// What a loop's body returns as it came stays what it begins with.
void Importer::KeepInvariants(const Operation& operation, const Instructions& init) {
  if (!refines() || operation.regions.size() != 2) return;
  const auto &condition = operation.regions[0].blocks, &body = operation.regions[1].blocks;
  if (condition.size() != 1 || body.size() != 1 || body[0].operations.empty()) return;
  const Operation& back = body[0].operations.back();
  for (size_t i = 0; i < init.size() && i < back.operands.size() && i < body[0].arguments.size(); ++i) {
    invariant_.erase(body[0].arguments[i]);
    if (i < condition[0].arguments.size()) invariant_.erase(condition[0].arguments[i]);
    if (back.operands[i] != body[0].arguments[i] || init[i]->opcode() != Opcode::kConstant || !Sinks(init[i])) continue;
    invariant_[body[0].arguments[i]] = init[i];
    if (i < condition[0].arguments.size()) invariant_[condition[0].arguments[i]] = init[i];
  }
}

}  // namespace VXLA_NAMESPACE::mlir
