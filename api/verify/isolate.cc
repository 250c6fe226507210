#include "api/verify/isolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "api/verify/conditioning.h"
#include "api/verify/diff_side.h"
#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/op_bound.h"
#include "backend/cpu/twin/shader_evaluator.h"
#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "core/ir/module.h"
#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/combiner_order.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

using SharedLiteral = std::shared_ptr<const Literal>;

// What is compiled together.
constexpr size_t kBatchInstructions = 24;
constexpr int64_t kBatchBytes = int64_t{128} << 20;

bool IsSmallConstant(const Instruction& operand) {
  return operand.opcode() == Opcode::kConstant && operand.shape().IsArray() && operand.shape().ElementCount() <= 1;
}

Computation* Named(const Module& module, const std::string& name) {
  return std::ranges::find(module.computations(), name, [](const auto& each) { return each->name(); })->get();
}

void MakeProgram(Module& module, Computation* entry) {
  module.set_entry(entry);
  module.mutable_attributes() = {};
  module.RemoveUnusedComputations();
  module.SortComputations();
}

// A computation as a program of its own.
std::unique_ptr<Module> Extract(const Computation& computation) {
  std::unique_ptr<Module> module = computation.module()->Clone();
  MakeProgram(*module, Named(*module, computation.name()));
  return module;
}

// Programs whose entry computes some instructions of a module side by side, from parameters that stand for their
// operands.
class ProgramCutter {
 public:
  ProgramCutter(const Module& source, std::string name)
      : module_(source.Clone()), entry_(module_->AddComputation(std::move(name))) {}

  // `operands` by the instruction's operands.
  void Add(const Instruction& instruction, std::span<const SharedLiteral> operands) {
    bool all_constant = true;
    for (const Instruction* operand : instruction.operands()) all_constant &= IsSmallConstant(*operand);
    std::vector<Instruction*> mapped;
    for (int k = 0; k < instruction.operand_count(); ++k) {
      const Instruction& operand = *instruction.operand(k);
      Instruction*& at = values_[&operand];
      if (at == nullptr && IsSmallConstant(operand) && !all_constant) {
        at = entry_->Add(Opcode::kConstant, operand.shape(), {}, operand.attributes(), {}, operand.name());
      } else if (at == nullptr) {
        const ParameterAttributes attributes{std::ssize(arguments_)};
        // Constants keep a name of their own, so that a parameter is not mistaken for one.
        at = entry_->Add(Opcode::kParameter, operand.shape(), {}, attributes, {}, operand.name());
        arguments_.push_back(operands[k]);
      }
      mapped.push_back(at);
    }
    auto called = Transformed(instruction.called(), [&](const auto* each) { return Named(*module_, each->name()); });
    roots_.push_back(entry_->Add(instruction.CloneWith(std::move(mapped), instruction.shape(), std::move(called))));
  }

  SmallProgram Finish(bool tuple) && {
    entry_->set_root(tuple ? Expansion(*entry_).TupleOf(roots_) : roots_.at(0));
    MakeProgram(*module_, entry_);
    module_->set_name(entry_->name());
    return {std::move(module_), std::move(arguments_)};
  }

 private:
  std::unique_ptr<Module> module_;
  Computation* entry_;
  std::unordered_map<const Instruction*, Instruction*> values_;
  std::vector<Instruction*> roots_;
  std::vector<SharedLiteral> arguments_;
};

Comparison CompareLeaves(const Literal& actual, const Literal& expected, std::span<const Tolerance> tolerances) {
  const auto got = FlattenLiteral(actual), wanted = FlattenLiteral(expected);
  Comparison worst;
  bool first = true;
  for (size_t k = 0; k < wanted.size() && k < got.size(); ++k) {
    if (!wanted[k]->shape().IsArray()) continue;
    Comparison comparison = Compare(*got[k], *wanted[k], tolerances[k]);
    const bool worse = std::tuple(!comparison.agrees(), comparison.mismatches, comparison.max_ulp) >
                       std::tuple(!worst.agrees(), worst.mismatches, worst.max_ulp);
    if (first || worse) worst = std::move(comparison);
    first = false;
  }
  return worst;
}

// An algorithm as a whole or a custom combiner has no bound that is known beforehand: what rounding can do to it is
// seen from perturbed runs of it alone.
void JudgeByItself(const Instruction& instruction, std::span<const Literal* const> operands, const DiffSide& device,
                   const Literal& expected, const Literal& actual, std::span<const Tolerance> tolerances,
                   InstructionReport* report) {
  ConditioningOptions options;
  options.perturbation.evaluate = device.evaluate_options();
  const auto judged = JudgeInstruction(instruction, operands, expected, actual, tolerances, options);
  if (!judged.ok()) return;
  for (const Conditioning& leaf : *judged) {
    if (!report->conditioning || report->conditioning->explains) report->conditioning = leaf;
  }
}

// Whether the comparator is no strict weak order on the elements, as less-than is none beside NaN: sorted from the
// other end, which may exchange equivalent elements, some place holds another class of elements.
bool OrderDecidesSort(const Instruction& sort, const Literal& expected) {
  const std::unique_ptr<Module> module = sort.called(0)->module()->Clone();
  Computation* const comparator = Named(*module, sort.called(0)->name());
  Computation* const entry = module->AddComputation("sort_again");
  std::vector<Instruction*> there, reversed, again;
  const std::vector<const Literal*> leaves = FlattenLiteral(expected);
  for (const Literal* leaf : leaves) {
    there.push_back(entry->Add(Opcode::kParameter, leaf->shape(), {}, ParameterAttributes{std::ssize(there)}));
    reversed.push_back(entry->Add(Opcode::kReverse, leaf->shape(), {there.back()},
                                  DimensionsAttributes{sort.attributes<SortAttributes>().dimensions}));
  }
  Instruction* const sorted = entry->Add(sort.CloneWith(reversed, sort.shape(), {comparator}));
  for (size_t k = 0; k < leaves.size(); ++k) {
    again.push_back(leaves.size() == 1 ? sorted
                                       : entry->Add(Opcode::kGetTupleElement, leaves[k]->shape(), {sorted},
                                                    GetTupleElementAttributes{static_cast<int64_t>(k)}));
  }
  const Shape answers(ElementType::kPred,
                      {leaves[0]->shape().dimensions().begin(), leaves[0]->shape().dimensions().end()});
  std::vector<Instruction*> ways;
  for (const bool forward : {true, false}) {
    std::vector<Instruction*> operands;
    for (size_t k = 0; k < leaves.size(); ++k) {
      operands.push_back(forward ? there[k] : again[k]);
      operands.push_back(forward ? again[k] : there[k]);
    }
    const DimensionsAttributes dimensions{Counted<int64_t>(static_cast<size_t>(answers.rank()))};
    ways.push_back(entry->Add(Opcode::kMap, answers, operands, dimensions, {comparator}));
  }
  entry->set_root(entry->Add(Opcode::kOr, answers, ways));
  MakeProgram(*module, entry);
  const Result<Literal> differs = Evaluate(*module, leaves);
  return differs.ok() && std::ranges::count(differs->data<uint8_t>(), 1) > 0;
}

// Whether other groups of the elements, which a combiner allows that nobody can show to associate, lead to other
// results: shader math on the CPU takes the elements one after the other, and as a few lanes of a device would.
bool OrderDecides(const Instruction& instruction, std::span<const Literal* const> operands, const DiffSide& device,
                  const Literal& expected, std::span<const Tolerance> tolerances) {
  constexpr int64_t kMostElements = int64_t{1} << 28;
  if (instruction.opcode() == Opcode::kSort) return OrderDecidesSort(instruction, expected);
  const bool folds = instruction.opcode() == Opcode::kReduce || instruction.opcode() == Opcode::kReduceWindow;
  if (!folds || OrderOf(*instruction.called(0)) != CombinerOrder::kUnknown) return false;
  const int64_t length = std::max<int64_t>(AccumulationLength(instruction), 1);
  const int64_t rows = FlattenTuple(instruction.shape())[0]->ElementCount();
  if (rows > kMostElements / length) return true;  // too much to ask: then it may
  auto given = Transformed(operands, [&](const Literal* operand) { return std::make_shared<const Literal>(*operand); });
  const SmallProgram program = ProgramOf(instruction, given);
  ShaderEvaluation evaluation;
  evaluation.options = device.evaluate_options();
  for (const int64_t lanes : {1, 2, 8}) {
    AccumulationLevel level{.lanes = lanes, .chunk = length};
    level.ordered = lanes > 1;
    evaluation.orders[PathOf(*program.module->entry()->root())] = {level};
    const Result<Literal> grouped = EvaluateAsShaders(*program.module, program.pointers(), evaluation);
    if (grouped.ok() && !CompareLeaves(*grouped, expected, tolerances).agrees()) return true;
  }
  return false;
}

// Compares one instruction's values leaf by leaf with its bound and says whose fault a difference is.
void CompareInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                        const DiffSide& device, const Literal& expected, const Literal& actual,
                        const Literal* shader_math, InstructionReport* report) {
  OpBound bound = BoundOf(instruction, operands, expected, device.Flushes());
  std::vector<Tolerance> same_bits;
  const auto leaves = FlattenLiteral(expected);
  for (size_t k = 0; k < leaves.size(); ++k) {
    const double least = device.LeastKept(leaves[k]->shape().element_type());
    bound.leaves[k].least = least;
    same_bits.emplace_back().least = least;
  }
  report->bound = bound.text;
  report->device = CompareLeaves(actual, expected, bound.leaves);
  report->overflows = report->device.agrees() && report->device.differing > 0 &&
                      std::ranges::any_of(bound.leaves, [](const Tolerance& t) { return t.may_overflow != nullptr; });
  if (!report->device.agrees() && !bound.known) {
    JudgeByItself(instruction, operands, device, expected, actual, bound.leaves, report);
    if (report->agrees()) return;
  }
  if (shader_math != nullptr) {
    report->shader_math = CompareLeaves(*shader_math, expected, bound.leaves);
    report->driver = CompareLeaves(actual, *shader_math, same_bits);
  }
  if (report->device.agrees() || shader_math == nullptr) return;
  report->fault = report->shader_math->agrees() ? Fault::kDriver : Fault::kAlgorithm;
  // Shader math has the order of the plan, but of running windows and sorts, where it has the reference's values.
  const bool in_plans_order =
      report->driver->agrees() || RunningWindowOf(instruction) || instruction.opcode() == Opcode::kSort;
  if (in_plans_order && OrderDecides(instruction, operands, device, expected, bound.leaves))
    report->fault = Fault::kOrder;
}

class Isolator {
 public:
  Isolator(const DiffSide& device, const DiffSide* other, const IsolationOptions& options)
      : device_(device), other_(other), options_(options) {}

  // Instructions of `module`'s entry, given values of its parameters; gives the root's value. `prefix` goes before
  // names.
  Result<Literal> Walk(const Module& module, std::span<const Literal* const> arguments, const std::string& prefix) {
    Walked walked{module, prefix, {}, {}, {}, {}};
    for (const auto& instruction : module.entry()->instructions()) {
      for (const Instruction* operand : instruction->operands()) ++walked.uses_left[operand];
      total_ += !Has(instruction->opcode(), Trait::kPassesOn);
    }
    Status failure;
    EvaluateOptions evaluate = device_.evaluate_options();
    evaluate.observe = [&](const Instruction& instruction, const Literal& value) {
      if (failure.ok() && !stopped_) failure = See(walked, instruction, value);
    };
    Result<Literal> result = Evaluate(module, arguments, evaluate);
    if (!result.ok()) return result;
    if (failure.ok() && !stopped_) failure = RunBatch(walked);
    if (!failure.ok()) return failure;
    return result;
  }

  std::vector<InstructionReport> TakeReports() { return std::move(reports_); }

 private:
  struct Pending {
    const Instruction* instruction;
    std::vector<SharedLiteral> operands;
    SharedLiteral expected;
    size_t report;
  };
  struct Walked {
    const Module& module;
    std::string prefix;
    std::unordered_map<const Instruction*, SharedLiteral> values;
    std::unordered_map<const Instruction*, int> uses_left;
    std::vector<Pending> batch;
    std::unordered_map<const Instruction*, SharedLiteral> flushed;
    int64_t batch_bytes = 0;
  };

  Status See(Walked& walked, const Instruction& instruction, const Literal& value) {
    const auto shared = std::make_shared<const Literal>(value);
    std::vector<SharedLiteral> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(walked.values.at(operand));
    if (walked.uses_left[&instruction] > 0) walked.values[&instruction] = shared;
    Status status;
    if (!Has(instruction.opcode(), Trait::kPassesOn)) status = Take(walked, instruction, std::move(operands), shared);
    for (const Instruction* operand : instruction.operands()) {
      if (--walked.uses_left[operand] == 0) walked.values.erase(operand);
    }
    return status;
  }

  Status Take(Walked& walked, const Instruction& instruction, std::vector<SharedLiteral> operands,
              SharedLiteral expected) {
    reports_.emplace_back();
    InstructionReport& report = reports_.back();
    report.name = walked.prefix + instruction.name();
    report.opcode = std::string(OpcodeText(instruction.opcode()));
    report.shape = instruction.shape().ToString();
    if (options_.progress) options_.progress(reports_.size(), total_, report.name);
    if (IsControl(instruction)) {
      report.not_run = "its computations are looked into instead";
      VXLA_RETURN_IF_ERROR(RunBatch(walked));
      if (stopped_) return OkStatus();
      return instruction.opcode() == Opcode::kWhile ? WalkLoop(walked, instruction, operands)
                                                    : WalkBranch(walked, instruction, operands);
    }
    if (HasSideEffect(instruction) || KindOf(instruction.opcode()) == OpcodeKind::kUnevaluated) {
      report.not_run = "it has effects beyond its result";
      return OkStatus();
    }
    if (!device_.IsReference() && MayFlush(instruction)) {
      VXLA_RETURN_IF_ERROR(FlushOperands(walked, instruction, &operands, &expected));
    }
    for (const SharedLiteral& operand : operands) walked.batch_bytes += operand->shape().SizeBytes();
    walked.batch_bytes += expected->shape().SizeBytes();
    walked.batch.push_back({&instruction, std::move(operands), std::move(expected), reports_.size() - 1});
    const bool full = walked.batch.size() >= kBatchInstructions || walked.batch_bytes >= kBatchBytes;
    return full ? RunBatch(walked) : OkStatus();
  }

  // Denormals that the device would flush are zeros for both sides.
  Status FlushOperands(Walked& walked, const Instruction& instruction, std::vector<SharedLiteral>* operands,
                       SharedLiteral* expected) {
    bool changed = false;
    for (size_t k = 0; k < operands->size(); ++k) {
      if (!MayFlushOperand(instruction, k)) continue;
      SharedLiteral& operand = (*operands)[k];
      const Instruction* from = instruction.operand(k);
      auto known = walked.flushed.find(from);
      if (known == walked.flushed.end()) known = walked.flushed.emplace(from, device_.Flushed(*operand)).first;
      if (known->second == nullptr) continue;
      operand = known->second;
      changed = true;
    }
    if (!changed) return OkStatus();
    VXLA_ASSIGN_OR_RETURN(Literal value, EvaluateInstruction(instruction, Transformed(*operands, &SharedLiteral::get),
                                                             device_.evaluate_options()));
    *expected = std::make_shared<const Literal>(std::move(value));
    return OkStatus();
  }

  Status WalkLoop(Walked& walked, const Instruction& loop, const std::vector<SharedLiteral>& operands) {
    const std::unique_ptr<Module> condition = Extract(*loop.called(0)), body = Extract(*loop.called(1));
    VXLA_RETURN_IF_ERROR(InlineCalls(*body).status());
    Literal state = *operands[0];
    for (int64_t iteration = 0; iteration < options_.loop_iterations && !stopped_; ++iteration) {
      const Literal* argument[] = {&state};
      VXLA_ASSIGN_OR_RETURN(const Literal go_on, Evaluate(*condition, argument, device_.evaluate_options()));
      if (go_on.GetInt(0) == 0) return OkStatus();
      VXLA_ASSIGN_OR_RETURN(
          Literal next,
          Walk(*body, argument, fmt::format("{}{} iteration {}: ", walked.prefix, loop.name(), iteration)));
      state = std::move(next);
    }
    return OkStatus();
  }

  Status WalkBranch(Walked& walked, const Instruction& conditional, const std::vector<SharedLiteral>& operands) {
    const int branch = BranchOf(*operands[0], std::ssize(conditional.called()));
    const std::unique_ptr<Module> body = Extract(*conditional.called(branch));
    VXLA_RETURN_IF_ERROR(InlineCalls(*body).status());
    const Literal* argument[] = {operands[static_cast<size_t>(branch) + 1].get()};
    return Walk(*body, argument, fmt::format("{}{} branch {}: ", walked.prefix, conditional.name(), branch)).status();
  }

  Status RunBatch(Walked& walked) {
    std::vector<Pending> batch = std::move(walked.batch);
    walked.batch.clear();
    walked.batch_bytes = 0;
    if (batch.empty()) return OkStatus();
    const Status together = RunTogether(walked, batch);
    // One that cannot be compiled or run must not take the others along.
    if (!together.ok() && batch.size() > 1) {
      for (Pending& pending : batch) {
        if (stopped_) break;
        const Status alone = RunTogether(walked, std::span(&pending, 1));
        if (!alone.ok()) reports_[pending.report].not_run = alone.message();
      }
    } else if (!together.ok()) {
      reports_[batch[0].report].not_run = together.message();
    }
    return OkStatus();
  }

  Status RunTogether(Walked& walked, std::span<const Pending> batch) {
    ProgramCutter cutter(walked.module, "isolated");
    for (const Pending& pending : batch) cutter.Add(*pending.instruction, pending.operands);
    const SmallProgram program = std::move(cutter).Finish(true);
    const std::vector<const Literal*> arguments = program.pointers();
    VXLA_ASSIGN_OR_RETURN(const DiffSide::Value value,
                          device_.Run(*program.module, arguments, options_.with_shader_math, false));
    std::optional<DiffSide::Value> other;
    if (other_ != nullptr) VXLA_SET_OR_RETURN(other, other_->Run(*program.module, arguments, false, false));
    for (size_t i = 0; i < batch.size() && !stopped_; ++i) {
      const Literal& expected = other ? other->result.tuple_elements()[i] : *batch[i].expected;
      const Literal* shader_math = value.shader_math ? &value.shader_math->tuple_elements()[i] : nullptr;
      // Its name in the cut program may have a suffix.
      const std::string& name = program.module->entry()->root()->operand(i)->name();
      reports_[batch[i].report].on_host =
          std::ranges::any_of(value.fallbacks, [&](const Fallback& f) { return f.instruction == name; });
      Judge(walked, batch[i], expected, value.result.tuple_elements()[i], shader_math);
    }
    return OkStatus();
  }

  void Judge(Walked& walked, const Pending& pending, const Literal& expected, const Literal& actual,
             const Literal* shader_math) {
    InstructionReport& report = reports_[pending.report];
    std::vector<const Literal*> operands = Transformed(pending.operands, &SharedLiteral::get);
    CompareInstruction(*pending.instruction, operands, device_, expected, actual, shader_math, &report);
    if (!report.bad()) return;
    if (other_ != nullptr) {
      InstructionReport of_reference = report;
      CompareInstruction(*pending.instruction, operands, device_, *pending.expected, actual, shader_math,
                         &of_reference);
      if (!of_reference.bad()) report.fault = Fault::kOtherDevice;
    }
    ProgramCutter cutter(walked.module, pending.instruction->name() + "_alone");
    cutter.Add(*pending.instruction, pending.operands);
    report.program = std::make_shared<SmallProgram>(std::move(cutter).Finish(false));
    stopped_ = options_.stop_at_first;
  }

  const DiffSide& device_;
  const DiffSide* other_;
  const IsolationOptions& options_;
  std::vector<InstructionReport> reports_;
  size_t total_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::string_view FaultName(Fault fault) {
  constexpr std::string_view kNames[] = {"", "algorithm", "driver", "order", "other device"};  // in Fault's order
  return kNames[static_cast<size_t>(fault)];
}

SmallProgram ProgramOf(const Instruction& instruction, std::span<const std::shared_ptr<const Literal>> operands) {
  ProgramCutter cutter(*instruction.parent()->module(), instruction.name());
  cutter.Add(instruction, operands);
  return std::move(cutter).Finish(false);
}

std::vector<const Literal*> SmallProgram::pointers() const {
  return Transformed(arguments, [&](const auto& argument) { return argument.get(); });
}

Result<std::vector<InstructionReport>> Isolate(const Module& module, std::span<const Literal* const> arguments,
                                               const DiffSide& device, const DiffSide* other,
                                               const IsolationOptions& options) {
  return Guarded([&]() -> Result<std::vector<InstructionReport>> {
    const std::unique_ptr<Module> flat = module.Clone();
    VXLA_RETURN_IF_ERROR(InlineCalls(*flat).status());
    Isolator isolator(device, other, options);
    VXLA_RETURN_IF_ERROR(isolator.Walk(*flat, arguments, "").status());
    return isolator.TakeReports();
  });
}

}  // namespace VXLA_NAMESPACE
