// Functions with check operations: cut into what runs on one device and what run_parallel runs on several. A check is
// an observation where it stands.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/host/guarded.h"
#include "core/ir/observation.h"
#include "core/mlir/importer/check_program.h"
#include "core/mlir/importer/import_operations.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::string_view kRunParallel = "interpreter.run_parallel";
constexpr double kAlmostEqualOfCalls = 1e-3, kAlmostEqualOfOperations = 1e-4, kEqualOfOldCalls = 1e-4;

// "check.expect_eq" of the operation or of the custom call of that name.
std::string CheckName(const Operation& operation) {
  const Attribute* target = operation.Find("call_target_name");
  return target != nullptr && operation.name.ends_with("custom_call") ? target->text : operation.name;
}

bool IsSymbolList(const Attribute& attribute) {
  return attribute.kind == Attribute::Kind::kArray &&
         std::ranges::all_of(attribute.elements, [](const Attribute& e) { return e.kind == Attribute::Kind::kSymbol; });
}

void CollectSymbols(const Attribute& attribute, std::unordered_set<std::string>& names) {
  if (attribute.kind == Attribute::Kind::kSymbol) names.insert(attribute.text);
  for (const Attribute& element : attribute.elements) CollectSymbols(element, names);
}

void CollectCalls(const Operation& parent, std::unordered_set<std::string>& called,
                  std::unordered_set<std::string>& parallel) {
  for (const Operation& operation : Inside(parent)) {
    auto& names = operation.name == kRunParallel ? parallel : called;
    for (const NamedAttribute& attribute : operation.attributes) CollectSymbols(attribute.value, names);
    CollectCalls(operation, called, parallel);
  }
}

Result<double> NumberOf(const Operation& operation, std::string_view name, double otherwise) {
  const Attribute* value = operation.Find(name);
  if (value == nullptr) return otherwise;
  if (value->kind == Attribute::Kind::kFloat) return value->real;
  if (value->kind == Attribute::Kind::kInteger) return static_cast<double>(value->integer);
  return operation.Error("{} is {}, no number", name, PrintAttribute(*value));
}

// Of the value that is compared with one of the text.
Status SetExpected(const Operation& operation, const Shape& got, Check& check) {
  const Attribute* value = operation.Find("value");
  if (value == nullptr || value->literal == nullptr) return operation.Error("the expected value is needed");
  if (!Fits(value->type, got)) return operation.Error("{} is compared with {}", PrintType(got), PrintType(value->type));
  check.expected = value->literal;
  return OkStatus();
}

// How many values it shows.
Result<size_t> SetKind(const Operation& operation, std::string_view name, Check& check) {
  const bool is_call = operation.name.ends_with("custom_call");
  const bool constant = name.ends_with("_const");
  if (name == "check.expect_eq" || name == "check.expect_eq_const") return constant ? 1 : 2;
  if (name == "check.eq" && is_call) {
    check.kind = Check::Kind::kAlmostEqual;
    check.tolerance = kEqualOfOldCalls;
    return 2;
  }
  if (name == "check.expect_almost_eq" || name == "check.expect_almost_eq_const") {
    check.kind = Check::Kind::kAlmostEqual;
    VXLA_ASSIGN_OR_RETURN(check.tolerance,
                          NumberOf(operation, "tolerance", is_call ? kAlmostEqualOfCalls : kAlmostEqualOfOperations));
    return constant ? 1 : 2;
  }
  if (name == "check.expect_close") {
    check.kind = Check::Kind::kClose;
    VXLA_ASSIGN_OR_RETURN(const int64_t least, operation.Int("min_ulp_difference", 0));
    VXLA_ASSIGN_OR_RETURN(const int64_t most, operation.Int("max_ulp_difference", is_call ? 3 : 1));
    check.min_ulp = static_cast<uint64_t>(least);
    check.max_ulp = static_cast<uint64_t>(most);
    return 2;
  }
  if (name == "check.expect_serialized_eq") {
    check.kind = Check::Kind::kProbed;
    VXLA_ASSIGN_OR_RETURN(check.text, operation.Text("probe_id"));
    VXLA_ASSIGN_OR_RETURN(check.iteration, operation.Int("iteration", 0));
    VXLA_ASSIGN_OR_RETURN(check.iteration, operation.Int("iter", check.iteration));
    return 1;
  }
  if (name == "interpreter.probe") {
    check.kind = Check::Kind::kProbe;
    VXLA_ASSIGN_OR_RETURN(check.text, operation.Text("probe_id"));
    return 1;
  }
  if (name == "interpreter.print") {
    check.kind = Check::Kind::kPrint;
    return 1;
  }
  return operation.NotSupported("unknown check '{}'", name);
}

// Programs send to one another by transfers to and from the host too: what is sent on a channel that another receives
// from goes there.
void MeetInTheGrid(Module& module) {
  std::map<int64_t, std::pair<bool, bool>> channels;  // sent, received
  const auto each_transfer = [&](auto&& visit) {
    for (const auto& instruction : EachInstruction(module)) {
      auto* const transfer = std::get_if<SendRecvAttributes>(&instruction->mutable_attributes());
      if (transfer != nullptr && transfer->channel_id) visit(*instruction, *transfer);
    }
  };
  each_transfer([&](const Instruction& instruction, const SendRecvAttributes& transfer) {
    channels[*transfer.channel_id].first |= instruction.opcode() == Opcode::kSend;
    channels[*transfer.channel_id].second |= instruction.opcode() == Opcode::kRecv;
  });
  each_transfer([&](const Instruction&, SendRecvAttributes& transfer) {
    const auto [sent, received] = channels[*transfer.channel_id];
    if (sent && received) transfer.is_host_transfer = false;
  });
}

std::vector<std::vector<std::string>> GridOfPrograms(const Attribute& programs) {
  std::vector<std::vector<std::string>> rows;
  for (const Attribute& row : programs.elements) {
    auto& names = rows.emplace_back();
    for (const Attribute& name : row.elements) names.push_back(name.text);
  }
  return rows;
}

// The shapes that a function takes or gives, as many as there are values in the text.
std::vector<Shape> ResultsOf(const Computation& computation, const Operation& function) {
  const Attribute* type = function.Find("function_type");
  const size_t count = type == nullptr ? 1 : type->type.results.size();
  const Shape& shape = computation.root()->shape();
  if (count == 1) return {shape};
  return {shape.tuple_elements().begin(), shape.tuple_elements().end()};
}

// replica * partitions + partition
Instruction* DeviceNumber(Frame& frame, int64_t partitions) {
  const Shape scalar(ElementType::kU32);
  Instruction* const replica = frame.Add(Opcode::kReplicaId, scalar);
  Instruction* const partition = frame.Add(Opcode::kPartitionId, scalar);
  Instruction* const count = frame.Number(ElementType::kU32, partitions);
  return frame.Converted(frame.Plus(frame.Times(replica, count), partition), ElementType::kS32);
}

}  // namespace

std::vector<CheckEntry> CheckEntries(const Program& program) {
  std::unordered_set<std::string> called, parallel;
  CollectCalls(program.module, called, parallel);
  std::vector<CheckEntry> entries;
  for (const Operation& function : Inside(program.module)) {
    const Attribute* symbol = function.Find("sym_name");
    if (function.name != "func.func" || symbol == nullptr || function.regions.empty()) continue;
    const auto& blocks = function.regions[0].blocks;
    if (blocks.empty()) continue;
    const Attribute* visibility = function.Find("sym_visibility");
    const bool is_private = visibility != nullptr && visibility->text == "private";
    const size_t arguments = blocks[0].arguments.size();
    const bool is_called = called.contains(symbol->text);
    if (parallel.contains(symbol->text) || (is_private && (arguments > 0 || is_called))) continue;
    if (arguments > 0 && is_called) continue;
    entries.push_back({symbol->text, function.location, arguments});
  }
  return entries;
}

// ---- the function, cut at run_parallel

// A function of checks on its way into stages, with an importer for each stage's module in turn.
class CheckBuilder {
 public:
  explicit CheckBuilder(Importer& importer) : importer_(importer) {}
  Result<CheckFunction> Run(const std::string& name);
  // Of the operation's values: what the host is shown.
  Result<Instruction*> Shown(Frame& frame, const Operation& operation, const Instructions& values);

 private:
  Status BuildStage(const Operation& function, size_t number, std::span<const Operation> operations);
  // A value of an earlier stage: a constant again, or one more parameter.
  void BindEarlierValue(Frame& frame, ValueId value, std::vector<ValueId>& inputs);
  void BindStageOutputs(Frame& frame, size_t number);
  Status CheckReturned(const Operation& function, const Operation& operation) const;
  Result<size_t> NumberOfCheck(const Operation& operation, const Instructions& operands);
  Result<std::unique_ptr<ParallelRun>> ImportRunParallel(const Operation& operation);
  Status ImportInfeeds(const Operation& operation, const Attribute& infeed, ParallelRun& run);
  Result<Instruction*> CallProgram(Frame& frame, const Operation& operation, const std::string& name,
                                   std::span<const ValueId> operands,
                                   const std::function<Instruction*(size_t operand)>& value, size_t& taken);
  Status BuildSameRun(const Operation& operation, const std::vector<std::string>& names, ParallelRun& run);
  Result<Computation*> BuildSharedBranch(const Operation& operation, const std::string& name, int64_t device,
                                         const ParallelRun& run, const std::vector<Shape>& shapes,
                                         const std::vector<Shape>& gives, size_t& taken);
  Status BuildSharedRun(const Operation& operation, const std::vector<std::string>& names, ParallelRun& run);
  void Require(ValueId value) {
    if (is_required_.insert(value).second) required_.push_back(value);
  }

  Importer& importer_;
  CheckFunction out_;
  std::unordered_map<ValueId, size_t> defined_;  // the stage of a value
  std::vector<ValueId> required_;                // what leaves its stage, in order
  std::unordered_set<ValueId> is_required_;
  std::unordered_map<const Operation*, size_t> numbers_;  // of checks
  int64_t partitions_ = 0;                                // of the run whose programs are imported; 0: none is
};

Result<CheckFunction> CheckBuilder::Run(const std::string& name) {
  importer_.set_checks(this);
  VXLA_RETURN_IF_ERROR(importer_.CollectFunctions());
  const Operation& function = importer_.function(name);
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(function, 0));
  if (!block->arguments.empty()) {  // verified, not run
    VXLA_RETURN_IF_ERROR(SetModuleAttributes(importer_.program(), importer_.module()));
    VXLA_ASSIGN_OR_RETURN(Computation* const computation, importer_.ImportFunction(name, function.location));
    importer_.module().set_entry(computation);
    out_.stages.emplace_back().module = importer_.Take();
    return std::move(out_);
  }
  std::vector<std::pair<size_t, size_t>> ranges{{0, 0}};
  for (size_t i = 0; i < block->operations.size(); ++i) {
    const Operation& operation = block->operations[i];
    const size_t stage = ranges.size() - 1;
    const bool parallel = operation.name == kRunParallel, returns = operation.name.ends_with(".return");
    ForEachOperand(operation, [&](ValueId use) {
      const auto found = defined_.find(use);
      if (found != defined_.end() && (parallel || returns || found->second != stage)) Require(use);
    });
    for (const ValueId result : operation.results) defined_[result] = stage;
    ranges.back().second = i + 1;
    if (parallel) ranges.emplace_back(i + 1, i + 1);
  }
  for (size_t stage = 0; stage < ranges.size(); ++stage) {
    const std::span<const Operation> operations(block->operations.data() + ranges[stage].first,
                                                ranges[stage].second - ranges[stage].first);
    const Status built = BuildStage(function, stage, operations);
    if (importer_.question().has_value()) {
      out_.stages.clear();
      out_.question = std::move(importer_.question()->module);
      break;
    }
    VXLA_RETURN_IF_ERROR(built);
  }
  return std::move(out_);
}

void CheckBuilder::BindEarlierValue(Frame& frame, ValueId value, std::vector<ValueId>& inputs) {
  if (frame.values.contains(value)) return;
  const Shape& shape = importer_.typed().ShapeOf(value);
  Instruction*& bound = frame.values[value];
  if (const auto constant = out_.constants.find(value); constant != out_.constants.end()) {
    const std::shared_ptr<const Literal>& literal = constant->second.literal;
    bound = frame.Add(Opcode::kConstant, literal->shape(), {}, ConstantAttributes{literal});
    if (!(literal->shape() == shape)) bound = frame.Add(Opcode::kBroadcast, shape, {bound}, DimensionsAttributes{});
  } else if (shape.IsToken()) {
    bound = frame.Add(Opcode::kAfterAll, Shape::Token());
  } else {
    bound = frame.Parameter(shape, static_cast<int64_t>(inputs.size()));
    inputs.push_back(value);
  }
}

Status CheckBuilder::BuildStage(const Operation& function, size_t number, std::span<const Operation> operations) {
  importer_.Begin(SymbolOf(function));
  VXLA_RETURN_IF_ERROR(SetModuleAttributes(importer_.program(), importer_.module()));
  CheckStage& stage = out_.stages.emplace_back();
  Frame frame(importer_, "check");
  importer_.set_entry_frame(number == 0 ? &frame : nullptr);  // what later stages take cannot be asked for
  const Operation* parallel = nullptr;
  for (const Operation& operation : operations) {
    importer_.set_location(operation.location);
    if (operation.name == kRunParallel) {
      parallel = &operation;
      continue;
    }
    if (operation.name.ends_with(".return")) {
      VXLA_RETURN_IF_ERROR(CheckReturned(function, operation));
      continue;
    }
    ForEachOperand(operation, [&](ValueId use) {
      const auto found = defined_.find(use);
      if (found != defined_.end() && found->second < number) BindEarlierValue(frame, use, stage.inputs);
    });
    VXLA_RETURN_IF_ERROR(ImportOperation(frame, operation));
  }
  BindStageOutputs(frame, number);
  importer_.module().set_entry(importer_.module().AddComputation(std::move(frame.computation)));
  importer_.set_entry_frame(nullptr);
  if (importer_.refines()) {
    RemoveUnused(importer_.module());
    importer_.ForgetValues();
  }
  VXLA_RETURN_IF_ERROR(CheckCallDepth(importer_.module()));
  OrderObservations(importer_.module());
  stage.module = importer_.Take();
  if (parallel == nullptr) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(stage.parallel, ImportRunParallel(*parallel));
  return OkStatus();
}

// What is needed outside becomes the results; constants need no device.
void CheckBuilder::BindStageOutputs(Frame& frame, size_t number) {
  importer_.set_location({});
  Instructions results;
  for (const ValueId value : required_) {
    if (defined_[value] != number || !frame.values.contains(value)) continue;
    const Instruction* const result = frame.values[value];
    if (result->shape().IsToken()) continue;
    const Instruction* const constant = result->opcode() == Opcode::kBroadcast ? result->operand(0) : result;
    if (constant->opcode() == Opcode::kConstant && (constant == result || constant->shape().IsScalar())) {
      out_.constants[value] = {constant->attributes<ConstantAttributes>().literal, result->shape()};
      continue;
    }
    out_.stages[number].outputs.push_back(value);
    results.push_back(frame.values[value]);
  }
  frame.computation->set_root(frame.Together(std::move(results)));
}

Status CheckBuilder::CheckReturned(const Operation& function, const Operation& operation) const {
  const Attribute* type = function.Find("function_type");
  const size_t stated = type == nullptr ? operation.operands.size() : type->type.results.size();
  if (stated != operation.operands.size())
    return operation.Error("{} values, the function's type says {}", operation.operands.size(), stated);
  for (size_t i = 0; type != nullptr && i < stated; ++i) {
    const Shape& shape = importer_.typed().ShapeOf(operation.operands[i]);
    if (!Fits(type->type.results[i], shape))
      return operation.Error("value {} is {}, the function's type says {}", i, PrintType(shape),
                             PrintType(type->type.results[i]));
  }
  return OkStatus();
}

// The number of a check, which is one wherever the importer meets it: in a function that is called twice, say.
Result<size_t> CheckBuilder::NumberOfCheck(const Operation& operation, const Instructions& operands) {
  if (const auto known = numbers_.find(&operation); known != numbers_.end()) return known->second;
  Check check;
  check.operation = CheckName(operation);
  check.location = operation.location;
  VXLA_ASSIGN_OR_RETURN(const size_t shown, SetKind(operation, check.operation, check));
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(shown));
  for (size_t i = 0; i < shown; ++i) {
    if (!operands[i]->shape().IsArray())
      return operation.Error("operand {} is {}, no array", i, PrintType(operands[i]->shape()));
  }
  const Shape& got = operands[0]->shape();
  if (shown == 2 && !(got == operands[1]->shape()))
    return operation.Error("{} is compared with {}", PrintType(got), PrintType(operands[1]->shape()));
  if (check.operation.ends_with("_const")) VXLA_RETURN_IF_ERROR(SetExpected(operation, got, check));
  if (check.kind == Check::Kind::kPrint) check.text = importer_.program().values[operation.operands[0]].name;
  out_.checks.push_back(std::move(check));
  return numbers_[&operation] = out_.checks.size() - 1;
}

Result<Instruction*> CheckBuilder::Shown(Frame& frame, const Operation& operation, const Instructions& values) {
  VXLA_ASSIGN_OR_RETURN(const size_t number, NumberOfCheck(operation, values));
  Instruction* const device = partitions_ > 0 ? DeviceNumber(frame, partitions_) : frame.Number(ElementType::kS32, 0);
  Instructions shown{frame.Number(ElementType::kS32, static_cast<int64_t>(number)), device};
  shown.insert(shown.end(), values.begin(), values.end());
  CustomCallAttributes attributes = OwnCall(CallKind::kObservation);
  attributes.custom_call_has_side_effect = true;
  return frame.Add(Opcode::kCustomCall, Shape(ElementType::kPred), std::move(shown), std::move(attributes));
}

Result<std::unique_ptr<ParallelRun>> CheckBuilder::ImportRunParallel(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const programs, operation.Required("programs"));
  auto run = std::make_unique<ParallelRun>();
  if (programs->elements.empty() || !std::ranges::all_of(programs->elements, IsSymbolList))
    return operation.Error("programs are {}, rows of functions needed", PrintAttribute(*programs));
  const auto rows = GridOfPrograms(*programs);
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.empty() || row.size() != rows[0].size())
      return operation.Error("programs have rows of {} and {} functions", rows[0].size(), row.size());
    names.insert(names.end(), row.begin(), row.end());
  }
  run->replicas = static_cast<int64_t>(rows.size());
  run->partitions = static_cast<int64_t>(rows[0].size());
  for (const ValueId operand : operation.operands) {
    if (!importer_.typed().ShapeOf(operand).IsToken()) run->operands.push_back(operand);
  }
  run->results = operation.results;
  run->shared = std::ranges::any_of(names, [&](const std::string& n) { return n != names[0]; });
  if (const Attribute* infeed = operation.Find("infeed")) {
    VXLA_RETURN_IF_ERROR(ImportInfeeds(operation, *infeed, *run));
  }
  for (const ValueId result : run->results) importer_.SetActual(result, importer_.program().ShapeOf(result));
  importer_.Begin("run_parallel");
  partitions_ = run->partitions;
  VXLA_RETURN_IF_ERROR(run->shared ? BuildSharedRun(operation, names, *run) : BuildSameRun(operation, names, *run));
  partitions_ = 0;
  MeetInTheGrid(importer_.module());
  OrderObservations(importer_.module());
  run->module = importer_.Take();
  return run;
}

// What infeeds take: one array from each function.
Status CheckBuilder::ImportInfeeds(const Operation& operation, const Attribute& infeed, ParallelRun& run) {
  if (!IsSymbolList(infeed) || infeed.elements.empty())
    return operation.Error("infeed is {}, functions needed", PrintAttribute(infeed));
  for (const Attribute& name : infeed.elements) {
    importer_.Begin(name.text);
    VXLA_ASSIGN_OR_RETURN(Computation* const computation, importer_.ImportFunction(name.text, operation.location));
    if (!computation->parameters().empty()) return operation.Error("infeed function '@{}' takes arguments", name.text);
    const Shape& given = computation->root()->shape();
    if (!given.IsArray())
      return operation.Error("infeed function '@{}' gives {}, one array needed", name.text, PrintType(given));
    importer_.module().set_entry(computation);
    OrderObservations(importer_.module());
    run.infeeds.push_back(importer_.Take());
  }
  return OkStatus();
}

// A call of a device's program: it takes the operands from `taken` on, and makes tokens itself.
Result<Instruction*> CheckBuilder::CallProgram(Frame& frame, const Operation& operation, const std::string& name,
                                               std::span<const ValueId> operands,
                                               const std::function<Instruction*(size_t operand)>& value,
                                               size_t& taken) {
  VXLA_ASSIGN_OR_RETURN(Computation* const callee, importer_.ImportFunction(name, operation.location));
  importer_.set_location(operation.location);
  Instructions arguments;
  for (const Instruction* parameter : callee->parameters()) {
    if (parameter->shape().IsToken()) {
      arguments.push_back(frame.Add(Opcode::kAfterAll, Shape::Token()));
      continue;
    }
    if (taken >= operands.size())
      return operation.Error("{} operands without tokens, '@{}' takes one more", operands.size(), name);
    const Shape& given = importer_.typed().ShapeOf(operands[taken]);
    if (!(given == parameter->shape()))
      return operation.Error("operand {} is {}, '@{}' takes {}", taken, PrintType(given), name,
                             PrintType(parameter->shape()));
    arguments.push_back(value(taken++));
  }
  return frame.Add(Opcode::kCall, callee->root()->shape(), std::move(arguments), CallAttributes{}, {callee});
}

Status CheckBuilder::BuildSameRun(const Operation& operation, const std::vector<std::string>& names, ParallelRun& run) {
  Frame frame(importer_, "run_parallel");
  const auto parameter = [&](size_t operand) {
    return frame.Add(Opcode::kParameter, importer_.typed().ShapeOf(run.operands[operand]), {},
                     ParameterAttributes{static_cast<int64_t>(operand)});
  };
  size_t arguments = 0;
  VXLA_ASSIGN_OR_RETURN(Instruction* const call,
                        CallProgram(frame, operation, names[0], run.operands, parameter, arguments));
  const std::vector<Shape> results = ResultsOf(*call->called(0), importer_.function(names[0]));
  if (run.operands.size() != arguments * names.size())
    return operation.Error("{} operands for {} devices that take {} each", run.operands.size(), names.size(),
                           arguments);
  if (run.results.size() != results.size() * names.size())
    return operation.Error("{} results of {} devices that give {} each", run.results.size(), names.size(),
                           results.size());
  for (size_t i = 0; i < run.operands.size(); ++i) {
    const Shape &given = importer_.typed().ShapeOf(run.operands[i]),
                &wanted = importer_.typed().ShapeOf(run.operands[i % arguments]);
    if (!(given == wanted))
      return operation.Error("operand {} is {}, '@{}' takes {}", i, PrintType(given), names[0], PrintType(wanted));
  }
  for (size_t i = 0; i < run.results.size(); ++i) {
    if (!(results[i % results.size()] == importer_.typed().ShapeOf(run.results[i])))
      return operation.Error("result {} is stated as {}, '@{}' gives {}", i,
                             PrintType(importer_.typed().ShapeOf(run.results[i])), names[0],
                             PrintType(results[i % results.size()]));
    run.owners.push_back(i / results.size());
  }
  frame.computation->set_root(call);
  importer_.module().set_entry(importer_.module().AddComputation(std::move(frame.computation)));
  return OkStatus();
}

// What one device does: its function on the operands from `taken` on, and zeros where results are another device's.
Result<Computation*> CheckBuilder::BuildSharedBranch(const Operation& operation, const std::string& name,
                                                     int64_t device, const ParallelRun& run,
                                                     const std::vector<Shape>& shapes, const std::vector<Shape>& gives,
                                                     size_t& taken) {
  const std::vector<int64_t>& owners = run.owners;
  Frame branch(importer_, "device");
  Instruction* const all = branch.Parameter(Shape::Tuple(shapes), 0);
  const auto operand = [&](size_t number) { return branch.Element(all, static_cast<int64_t>(number)); };
  VXLA_ASSIGN_OR_RETURN(Instruction* const call, CallProgram(branch, operation, name, run.operands, operand, taken));
  Instructions results;
  int64_t mine = 0;
  const bool one = std::ranges::count(owners, device) == 1;
  for (size_t i = 0; i < gives.size(); ++i) {
    if (owners[i] == device) {
      results.push_back(one ? call : branch.Element(call, mine++));
    } else if (gives[i].IsToken()) {
      results.push_back(branch.Add(Opcode::kAfterAll, Shape::Token()));
    } else {
      results.push_back(branch.Constant(Literal(gives[i])));
    }
  }
  branch.computation->set_root(branch.TupleOf(std::move(results)));
  return importer_.module().AddComputation(std::move(branch.computation));
}

// One module for all: each device takes the branch of its number.
Status CheckBuilder::BuildSharedRun(const Operation& operation, const std::vector<std::string>& names,
                                    ParallelRun& run) {
  Frame frame(importer_, "run_parallel");
  importer_.set_location(operation.location);
  Instructions operands;
  std::vector<Shape> shapes;
  for (const ValueId operand : run.operands) {
    shapes.push_back(importer_.typed().ShapeOf(operand));
    operands.push_back(frame.Parameter(shapes.back(), static_cast<int64_t>(operands.size())));
  }
  std::vector<Computation*> branches;
  std::vector<Shape> gives;
  size_t taken = 0;
  for (size_t device = 0; device < names.size(); ++device) {
    VXLA_ASSIGN_OR_RETURN(Computation* const callee, importer_.ImportFunction(names[device], operation.location));
    const std::vector<Shape> own = ResultsOf(*callee, importer_.function(names[device]));
    gives.insert(gives.end(), own.begin(), own.end());
    run.owners.resize(gives.size(), static_cast<int64_t>(device));
  }
  if (gives.size() != run.results.size())
    return operation.Error("{} results are stated, the programs give {}", run.results.size(), gives.size());
  for (size_t device = 0; device < names.size(); ++device) {
    VXLA_ASSIGN_OR_RETURN(
        branches.emplace_back(),
        BuildSharedBranch(operation, names[device], static_cast<int64_t>(device), run, shapes, gives, taken));
  }
  if (taken != shapes.size()) return operation.Error("{} operands, the programs take {}", shapes.size(), taken);
  Instruction* const device = DeviceNumber(frame, run.partitions);
  Instruction* const all = frame.TupleOf(operands);
  Instructions inputs(branches.size(), all);
  inputs.insert(inputs.begin(), device);
  const Shape result = branches[0]->root()->shape();
  frame.computation->set_root(
      frame.Add(Opcode::kConditional, result, std::move(inputs), NoAttributes{}, std::move(branches)));
  importer_.module().set_entry(importer_.module().AddComputation(std::move(frame.computation)));
  return OkStatus();
}

// check.*, custom calls of these names, interpreter.print and .probe: values that are shown to the host, which answers
// whether they are as expected.
Status ImportCheck(Frame& frame, const Operation& operation, Instructions& operands) {
  const bool probe = operation.name == "interpreter.probe";
  CheckBuilder* const checks = frame.importer.checks();
  if (checks == nullptr && probe) return BindValues(frame, operation, operands);
  if (checks == nullptr) return operation.NotSupported("only `vxla check` runs it");
  if (frame.importer.lanes().applied > 0 || !frame.importer.lanes().sizes.empty())
    return operation.NotSupported("stands in a region that is applied element by element, where nothing is checked");
  VXLA_ASSIGN_OR_RETURN(Instruction* const agrees, checks->Shown(frame, operation, operands));
  if (operation.results.empty()) return OkStatus();
  return BindValues(frame, operation, {probe ? operands[0] : agrees});
}

Result<CheckFunction> ImportCheck(const Program& program, const std::string& function,
                                  const std::vector<Literal>& answers, const FoldInstruction& fold) {
  const ProgramFacts facts{{}, answers};
  return Guarded([&] {
    Importer importer = NeedsRefinement(program) ? Importer(program, facts, fold) : Importer(program);
    return CheckBuilder(importer).Run(function);
  });
}

}  // namespace VXLA_NAMESPACE::mlir
