#include "api/verify/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/verify/diff_side.h"
#include "api/verify/kernel_stand_ins.h"
#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/op_bound.h"
#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/numerics/accuracy.h"

namespace VXLA_NAMESPACE {
namespace {

// Long sums leave more: four standard deviations of the longest one's rounding errors, if that is above the usual 1e-6.
double AccumulationFactor(const Module& module) {
  int64_t longest = 0;
  for (const auto& i : EachInstruction(module)) longest = std::max(longest, AccumulationLength(*i));
  return std::max(1.0, 4e6 * std::sqrt(static_cast<double>(longest) + 1) * UnitRoundoff(ElementType::kF32));
}

class DiffRunner {
 public:
  DiffRunner(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
             const DiffSide* other, const DiffOptions& options)
      : module_(module), arguments_(arguments), device_(device), other_(other), options_(options) {}

  Result<DiffOutcome> Run(std::optional<std::vector<Literal>> given) {
    Progress("running on " + device_.description());
    VXLA_ASSIGN_OR_RETURN(DiffSide::Value value, device_.Run(module_, arguments_, options_.shader_math, true));
    outcome_.device = device_.description();
    if (!device_.IsReference()) outcome_.facts = std::make_shared<const DeviceFacts>(device_.facts());
    outcome_.fusion = device_.options().fusion;
    for (const Fallback& f : value.fallbacks) {
      outcome_.notes.push_back(fmt::format("{} ({}) runs on the CPU: {}", f.instruction, f.opcode, f.reason));
    }
    if (!value.shader_math_refused.empty())
      outcome_.notes.push_back("no shader arithmetic on the CPU: " + value.shader_math_refused);
    outcome_.actual = std::move(value.result);
    outcome_.shader_math = std::move(value.shader_math);
    VXLA_RETURN_IF_ERROR(FindExpected(std::move(given)));
    CompareLeaves();
    VXLA_RETURN_IF_ERROR(FlushExpected());
    VXLA_RETURN_IF_ERROR(LookAtInstructions());
    VXLA_RETURN_IF_ERROR(JudgeAgain());
    Attribute();
    NoteSelfComparison();
    VXLA_RETURN_IF_ERROR(device_.CheckValidation());
    if (other_ != nullptr) VXLA_RETURN_IF_ERROR(other_->CheckValidation());
    Progress("");
    return std::move(outcome_);
  }

 private:
  void Progress(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  Status FindExpected(std::optional<std::vector<Literal>> given) {
    if (given) {
      outcome_.expected = UnflattenLiteral(outcome_.actual.shape(), *given);
      outcome_.reference = "the file";
      against_file_ = true;
      return OkStatus();
    }
    outcome_.reference = other_ != nullptr ? other_->description() : "the CPU reference";
    Progress("running on " + outcome_.reference);
    if (other_ != nullptr) {
      VXLA_ASSIGN_OR_RETURN(DiffSide::Value value, other_->Run(module_, arguments_, false, true));
      outcome_.expected = std::move(value.result);
      return OkStatus();
    }
    VXLA_ASSIGN_OR_RETURN(outcome_.expected, Evaluate(module_, arguments_, device_.evaluate_options()));
    return OkStatus();
  }

  // What a device that flushes denormals computes from one is another number: where results differ, the reference is
  // asked again with zeros for what the device's arithmetic takes as zeros and gives as zeros.
  Status FlushExpected() {
    if (outcome_.bad_leaf < 0 || against_file_ || other_ != nullptr || !device_.Flushes()) return OkStatus();
    bool flushed = false;
    EvaluateOptions options = device_.evaluate_options();
    options.replace = [&, plain = options](const Instruction& instruction,
                                           std::span<const Literal* const> operands) -> std::optional<Result<Literal>> {
      if (!MayFlush(instruction)) return std::nullopt;
      std::vector<std::shared_ptr<const Literal>> zeroed;
      std::vector<const Literal*> given(operands.begin(), operands.end());
      for (size_t k = 0; k < given.size(); ++k) {
        if (!MayFlushOperand(instruction, k)) continue;
        zeroed.push_back(device_.Flushed(*given[k]));
        if (zeroed.back() != nullptr) given[k] = zeroed.back().get();
        flushed = flushed || zeroed.back() != nullptr;
      }
      Result<Literal> value = EvaluateInstruction(instruction, given, plain);
      if (!value.ok()) return value;
      const std::shared_ptr<const Literal> zeros = device_.Flushed(*value);
      flushed = flushed || zeros != nullptr;
      return zeros != nullptr ? Result<Literal>(*zeros) : std::move(value);
    };
    VXLA_ASSIGN_OR_RETURN(Literal expected, Evaluate(module_, arguments_, options));
    if (!flushed) return OkStatus();
    flushes_ = true;
    outcome_.notes.push_back("the device flushes denormals: the reference takes them as zeros too");
    outcome_.expected = WithKept(std::move(expected));
    outcome_.leaves.clear();
    outcome_.bad_leaf = -1;
    CompareLeaves();
    return OkStatus();
  }

  // It may keep a denormal as well: elements that agree with the plain reference stay as that has them.
  Literal WithKept(Literal flushed) {
    const auto got = FlattenLiteral(outcome_.actual), plain = FlattenLiteral(outcome_.expected);
    const std::vector<Tolerance> tolerances = TolerancesOf(plain);
    std::vector<Literal> leaves;
    for (const Literal* leaf : FlattenLiteral(flushed)) {
      const size_t k = leaves.size();
      Literal& merged = leaves.emplace_back(*leaf);
      const ElementType type = leaf->shape().IsArray() ? leaf->shape().element_type() : ElementType::kToken;
      const bool plain_shapes = got[k]->shape() == leaf->shape() && plain[k]->shape() == leaf->shape();
      if (!(IsFloating(type) || IsComplex(type)) || !plain_shapes || leaf->is_dynamic()) continue;
      for (int64_t i = 0; i < leaf->element_count(); ++i) {
        if (!Agrees(*got[k], *plain[k], i, tolerances[k])) continue;
        IsComplex(type) ? merged.SetComplex(i, plain[k]->GetComplex(i)) : merged.SetDouble(i, plain[k]->GetDouble(i));
      }
    }
    return UnflattenLiteral(outcome_.actual.shape(), leaves);
  }

  std::vector<Tolerance> TolerancesOf(const std::vector<const Literal*>& expected) {
    std::vector<Tolerance> tolerances;
    std::optional<OpBound> bound;
    if (!options_.stated()) bound = BoundOfProgram(module_, arguments_, outcome_.expected, device_.Flushes());
    if (bound) {
      bound_ = std::move(*bound);
      outcome_.bound = bound_.text;
      tolerances = bound_.leaves;
    } else {
      for (const Literal* leaf : expected) tolerances.push_back(ToleranceOf(module_, *leaf, options_));
    }
    for (size_t k = 0; k < expected.size(); ++k) {
      tolerances[k].least = device_.LeastKept(expected[k]->shape().element_type());
    }
    return tolerances;
  }

  void CompareLeaves() {
    const auto got = FlattenLiteral(outcome_.actual), expected = FlattenLiteral(outcome_.expected);
    std::vector<const Literal*> shader_math;
    if (outcome_.shader_math) shader_math = FlattenLiteral(*outcome_.shader_math);
    const std::vector<Tolerance> tolerances = TolerancesOf(expected);
    for (size_t k = 0; k < got.size(); ++k) {
      if (!got[k]->shape().IsArray()) continue;
      LeafReport& leaf = AddLeaf(k, *got[k], *expected[k], tolerances[k], outcome_);
      if (!shader_math.empty()) {
        leaf.shader_math = Compare(*shader_math[k], *expected[k], tolerances[k]);
        Tolerance same_bits;
        same_bits.least = tolerances[k].least;
        leaf.driver = Compare(*got[k], *shader_math[k], same_bits);
      }
      leaf.tolerance.magnitudes = leaf.tolerance.may_overflow = nullptr;  // they end with this object
    }
  }

  // Asked for, or needed to say whose fault a difference is.
  Status LookAtInstructions() {
    const bool attribute = outcome_.bad_leaf >= 0 && !device_.IsReference();
    if (!options_.isolate && !options_.bisect && !attribute) return OkStatus();
    if (device_.IsReference()) {
      outcome_.notes.push_back("the CPU reference is its own reference: there is nothing to isolate");
      return OkStatus();
    }
    IsolationOptions isolation;
    isolation.stop_at_first = !options_.isolate;
    constexpr int64_t kBisectIterations = 16;
    if (options_.bisect) isolation.loop_iterations = kBisectIterations;
    isolation.with_shader_math = options_.shader_math;
    isolation.progress = [&](size_t done, size_t total, const std::string& name) {
      Progress(fmt::format("instruction {} of {}: {}", done, total, name));
    };
    Result<std::vector<InstructionReport>> reports = Isolate(module_, arguments_, device_, other_, isolation);
    if (!reports.ok()) {
      if (options_.isolate || options_.bisect) return reports.status();
      outcome_.notes.push_back("the instructions could not be looked at one by one: " + reports.status().message());
      return OkStatus();
    }
    outcome_.instructions = std::move(*reports);
    outcome_.isolated = true;
    return OkStatus();
  }

  // What is outside the default tolerance, though no instruction by itself is outside its bound, is judged by how far
  // rounding can move the program's results.
  Status JudgeAgain() {
    const bool one_operation = !outcome_.bound.empty() && bound_.known;
    if (outcome_.bad_leaf < 0 || outcome_.bad_instruction() != nullptr || options_.stated()) return OkStatus();
    if (one_operation && !against_file_) return OkStatus();
    Literal own;  // where something else than the reference is what the device is compared with
    if (against_file_ || other_ != nullptr)
      VXLA_SET_OR_RETURN(own, Evaluate(module_, arguments_, device_.evaluate_options()));
    const Literal& reference = against_file_ || other_ != nullptr ? own : outcome_.expected;
    std::vector<size_t> suspects;
    std::vector<Tolerance> tolerances(FlattenLiteral(reference).size());
    bool same_bits = true;
    for (const LeafReport& leaf : outcome_.leaves) {
      tolerances[leaf.index] = leaf.tolerance;
      if (leaf.comparison.agrees() || !leaf.comparison.shapes_match) continue;
      suspects.push_back(leaf.index);
      same_bits &= leaf.driver && leaf.driver->agrees();
    }
    AskConditioning(reference, suspects, tolerances, false);
    // The device does what its plan says, and each instruction is within its bound; what is left is an order of sums
    // that suits their terms badly.
    if (same_bits && !AllExplained()) AskConditioning(reference, suspects, tolerances, true);
    FindBadLeaf();
    if (outcome_.bad_leaf >= 0) return OkStatus();
    NoteAmplification();
    return OkStatus();
  }

  void AskConditioning(const Literal& reference, const std::vector<size_t>& suspects,
                       const std::vector<Tolerance>& tolerances, bool any_order) {
    ConditioningOptions options;
    options.perturbation.evaluate = device_.evaluate_options();
    options.perturbation.any_order = any_order;
    if (flushes_) options.perturbation.flush = [this](const Literal& x) { return device_.Flushed(x); };
    options.progress = options_.progress;
    std::vector<std::vector<const Literal*>> values{FlattenLiteral(outcome_.actual)};
    if (&reference != &outcome_.expected) values.push_back(FlattenLiteral(outcome_.expected));
    const auto result = JudgeByConditioning(module_, arguments_, reference, values, suspects, tolerances, options);
    if (!result.ok()) {
      outcome_.notes.push_back("how far rounding moves the results is not known: " + result.status().message());
      return;
    }
    const auto& judged = *result;
    for (size_t s = 0; s < suspects.size(); ++s) {
      LeafReport& leaf = *std::ranges::find(outcome_.leaves, suspects[s], &LeafReport::index);
      leaf.conditioning = judged[0][s];
      if (judged.size() > 1) leaf.expected_conditioning = judged[1][s];
      leaf.judged_by = "conditioning";
    }
  }

  bool AllExplained() const { return std::ranges::all_of(outcome_.leaves, &LeafReport::agrees); }

  void FindBadLeaf() {
    const auto bad = std::ranges::find_if_not(outcome_.leaves, &LeafReport::agrees);
    outcome_.bad_leaf = bad == outcome_.leaves.end() ? -1 : static_cast<int64_t>(bad->index);
  }

  void NoteAmplification() {
    for (const LeafReport& leaf : outcome_.leaves) {
      if (!leaf.conditioning) continue;
      const Conditioning& c = *leaf.conditioning;
      const std::string what =
          c.amplification > 0
              ? fmt::format("the program amplifies rounding errors: by {:.2g}x at result_{}", c.amplification,
                            leaf.index)
              : fmt::format("rounding errors decide {} elements of result_{}", c.undetermined, leaf.index);
      outcome_.notes.push_back(fmt::format(
          "{}; what differs there is within what rounding does to the reference in {} perturbed runs", what, c.runs));
    }
  }

  void Attribute() {
    const InstructionReport* bad = outcome_.bad_instruction();
    if (bad != nullptr) {
      outcome_.first_bad = bad->name;
      outcome_.fault = FaultName(bad->fault);
      if (bad->fault == Fault::kOrder) NoteOrder(*bad);
      return;
    }
    if (outcome_.bad_leaf < 0) return;
    outcome_.first_bad = fmt::format("result_{}", outcome_.bad_leaf);
    if (FileContradictsReference()) {
      outcome_.fault = "expected file";
      outcome_.notes.push_back("the expected file differs: the reference gives other values than it too");
      return;
    }
    const LeafReport& leaf =
        *std::ranges::find(outcome_.leaves, static_cast<size_t>(outcome_.bad_leaf), &LeafReport::index);
    if (other_ != nullptr && leaf.expected_conditioning && leaf.conditioning->explains) {
      outcome_.fault = FaultName(Fault::kOtherDevice);
      return;
    }
    // Infinities and NaN on one side alone, behind an instruction of which either side may be right. A sort or a sum
    // behind it may make finite numbers differ beside them.
    const auto overflowing = std::ranges::find_if(outcome_.instructions, &InstructionReport::overflows);
    const Comparison& found = leaf.comparison;
    if (overflowing != outcome_.instructions.end() && found.nan_mismatches + found.infinity_mismatches > 0) {
      outcome_.fault = "overflow";
      outcome_.first_bad = overflowing->name;
      outcome_.notes.push_back(fmt::format(
          "partial results of {} may leave the range of its type in one order of its terms and not in another, and no "
          "order is stated: every instruction by itself is within its bound",
          overflowing->name));
      return;
    }
    if (!leaf.driver) return;
    if (!leaf.driver->agrees()) {
      outcome_.fault = "driver";
      NameInPlan();
    } else if (options_.stated()) {
      outcome_.fault = "rounding";
      outcome_.notes.push_back(
          "the device gives the bits of shader arithmetic and every instruction is within its bound: the program "
          "makes rounding errors grow, or the tolerance is too small for it");
    } else {
      outcome_.fault = "algorithm";
      outcome_.notes.push_back(
          "the device gives the bits of shader arithmetic, which lie farther from the reference than rounding takes "
          "it, and no instruction looked at is outside its bound: --bisect looks into 16 iterations of loops");
    }
  }

  void NoteOrder(const InstructionReport& bad) {
    const ElementDifference& e = bad.device.worst.at(0);
    const bool sorts = bad.opcode == OpcodeText(Opcode::kSort);
    outcome_.notes.push_back(fmt::format(
        "the order of the elements decides the result of {}: {}. At [{}] {} gives {}; {}, {}", bad.name,
        sorts ? "its comparator is no strict weak order on them (compare with type=TOTALORDER is one beside NaN too)"
              : "its combiner cannot be shown to associate, and neither HLO nor StableHLO states an order",
        e.where, outcome_.device, e.actual,
        other_ != nullptr ? outcome_.reference
        : sorts           ? "the reference"
                          : "the reference, which folds from the left, initial value first",
        e.expected));
  }

  // To agree with oneself proves nothing.
  void NoteSelfComparison() {
    if (against_file_) {
      const bool same_bits = std::ranges::all_of(
          outcome_.leaves, [](const LeafReport& l) { return l.comparison.agrees() && l.comparison.differing == 0; });
      if (same_bits && !outcome_.leaves.empty())
        outcome_.notes.push_back(fmt::format(
            "the file holds the very bits of {}: if they were saved from there, this compares it with itself",
            outcome_.device));
    } else if (other_ == nullptr ? device_.IsReference() : device_.IsSameAs(*other_)) {
      outcome_.notes.push_back(fmt::format(
          "{} is compared with itself: to agree says no more than that two runs give the same", outcome_.device));
    }
  }

  // With a stated tolerance the reference is compared with the file by that.
  bool FileContradictsReference() const {
    if (!against_file_) return false;
    if (!options_.stated()) {
      return std::ranges::any_of(outcome_.leaves, [](const LeafReport& leaf) {
        return leaf.expected_conditioning && !leaf.expected_conditioning->explains;
      });
    }
    const Result<Literal> own = Evaluate(module_, arguments_, device_.evaluate_options());
    if (!own.ok()) return false;
    const auto reference = FlattenLiteral(*own), file = FlattenLiteral(outcome_.expected);
    return std::ranges::any_of(outcome_.leaves, [&](const LeafReport& leaf) {
      return !Compare(*reference[leaf.index], *file[leaf.index], leaf.tolerance).agrees();
    });
  }

  // Every instruction by itself is within its bound: what differs is what the plan adds.
  void NameInPlan() {
    const Result<std::string> name = device_.FirstOtherInPlan(module_, arguments_);
    if (name.ok() && !name->empty()) outcome_.first_bad = *name;
    outcome_.notes.push_back(
        fmt::format("every instruction by itself is within its bound; {}: look at what the plan adds (fusion, "
                    "barriers, buffers), with vxla explain, --no-fusion and --validate",
                    name.ok() && !name->empty()
                        ? fmt::format("in the plan {} is the first value with other bits than shader arithmetic", *name)
                        : "with every value kept as a result the difference does not show"));
  }

  const Module& module_;
  const std::span<const Literal* const> arguments_;
  const DiffSide& device_;
  const DiffSide* other_;
  const DiffOptions& options_;
  DiffOutcome outcome_;
  OpBound bound_;
  bool against_file_ = false;
  bool flushes_ = false;  // the reference takes denormals as zeros, as the device does
};

}  // namespace

Tolerance ToleranceOf(const Module& module, const Literal& expected, const DiffOptions& options) {
  if (!expected.shape().IsArray()) return {};
  if (options.ulp && !options.rtol && !options.atol) return {0, 0, *options.ulp};
  Tolerance tolerance = Tolerance::DefaultFor(expected);
  tolerance.rtol = options.rtol.value_or(tolerance.rtol);
  tolerance.atol = options.atol.value_or(tolerance.atol * AccumulationFactor(module));
  tolerance.ulp = options.ulp.value_or(0);
  return tolerance;
}

std::optional<double> DiffOutcome::amplification() const {
  std::optional<double> largest;
  for (const LeafReport& leaf : leaves) {
    if (leaf.conditioning) largest = std::max(largest.value_or(0), leaf.conditioning->amplification);
  }
  return largest;
}

Status CheckSameBits(const Literal& got, const Literal& wanted, const std::string& got_name,
                     const std::string& wanted_name) {
  if (got == wanted) return OkStatus();
  const auto leaves = FlattenLiteral(got), before = FlattenLiteral(wanted);
  for (size_t k = 0; k < leaves.size() && k < before.size(); ++k) {
    if (*leaves[k] == *before[k]) continue;
    const Shape& shape = leaves[k]->shape();
    if (!(shape == before[k]->shape()) || !shape.IsArray()) continue;
    const size_t size = static_cast<size_t>(StorageBytes(shape.element_type()));
    int64_t i = 0;
    while (i + 1 < shape.ElementCount() &&
           std::memcmp(leaves[k]->bytes().data() + static_cast<size_t>(i) * size,
                       before[k]->bytes().data() + static_cast<size_t>(i) * size, size) == 0) {
      ++i;
    }
    return Mismatch("{} gives other bits than {}: result_{} at [{}] is {} instead of {}", got_name, wanted_name, k,
                    IndexToString(shape, i), ElementToString(*leaves[k], i), ElementToString(*before[k], i));
  }
  return Mismatch("{} gives another shape than {}: {} instead of {}", got_name, wanted_name, got.shape().ToString(),
                  wanted.shape().ToString());
}

const InstructionReport* DiffOutcome::bad_instruction() const {
  const auto it = std::ranges::find_if(instructions, &InstructionReport::bad);
  return it == instructions.end() ? nullptr : &*it;
}

LeafReport& AddLeaf(size_t k, const Literal& got, const Literal& wanted, const Tolerance& tolerance,
                    DiffOutcome& outcome) {
  LeafReport& leaf = outcome.leaves.emplace_back();
  leaf.index = k;
  leaf.shape = wanted.shape().ToString();
  leaf.tolerance = tolerance;
  leaf.judged_by = outcome.bound.empty() ? "tolerance" : "operation";
  leaf.comparison = Compare(got, wanted, tolerance);
  if (outcome.bad_leaf < 0 && !leaf.comparison.agrees()) outcome.bad_leaf = static_cast<int64_t>(k);
  return leaf;
}

Result<DiffOutcome> RunDiff(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
                            const DiffSide* other, std::optional<std::vector<Literal>> expected,
                            const DiffOptions& options) {
  return Guarded([&] { return DiffRunner(module, arguments, device, other, options).Run(std::move(expected)); });
}

Result<DiffOutcome> Diff(const Module& module, std::span<const Literal* const> arguments, const DiffOptions& options,
                         std::optional<std::vector<Literal>> expected) {
  return Guarded([&]() -> Result<DiffOutcome> {
    const KernelStandIns stand_ins(options.evaluate.custom_calls, module, KernelStandIns::For::kReference);
    const KernelStandIns shader_math(options.evaluate.custom_calls, module, KernelStandIns::For::kShaderMath);
    EvaluateOptions evaluate = options.evaluate;
    evaluate.custom_calls = stand_ins.registry();
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<DiffSide> device,
                          DiffSide::Open(options.device, options.compile, evaluate));
    std::unique_ptr<DiffSide> other;
    if (options.against && !IsCpu(options.against->device))
      VXLA_SET_OR_RETURN(other, DiffSide::Open(*options.against, options.compile, evaluate));
    stand_ins.Use(device->client());
    shader_math.Use(device->client());
    device->set_shader_math_calls(shader_math.registry());
    Result<DiffOutcome> outcome = RunDiff(module, arguments, *device, other.get(), std::move(expected), options);
    if (outcome.ok() && other == nullptr)
      outcome->notes.insert(outcome->notes.end(), stand_ins.notes().begin(), stand_ins.notes().end());
    return outcome;
  });
}

}  // namespace VXLA_NAMESPACE
