#include "api/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/op_bound.h"
#include "core/accuracy.h"

namespace vxla {
namespace {

class DiffRunner {
 public:
  DiffRunner(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
             const DiffSide* other, const DiffOptions& options)
      : module_(module), arguments_(arguments), device_(device), other_(other), options_(options) {}

  Result<DiffOutcome> Run(std::optional<std::vector<Literal>> given) {
    Progress("running on " + device_.description());
    VXLA_ASSIGN_OR_RETURN(DiffSide::Value value, device_.Run(module_, arguments_, options_.shader_math, true));
    outcome_.device = device_.description();
    if (!device_.IsReference()) outcome_.facts = device_.facts();
    outcome_.fusion = device_.options().fusion;
    for (const Fallback& f : value.fallbacks) {
      outcome_.notes.push_back(fmt::format("{} ({}) runs on the CPU: {}", f.instruction, f.opcode, f.reason));
    }
    if (!value.shader_math_refused.empty())
      outcome_.notes.push_back("no shader math on the CPU: " + value.shader_math_refused);
    outcome_.actual = std::move(value.result);
    outcome_.shader_math = std::move(value.shader_math);
    VXLA_RETURN_IF_ERROR(FindExpected(std::move(given)));
    CompareLeaves();
    VXLA_RETURN_IF_ERROR(FlushExpected());
    VXLA_RETURN_IF_ERROR(LookAtInstructions());
    Attribute();
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
    const bool reference = !against_file_ && other_ == nullptr && !device_.IsReference();
    if (outcome_.bad_leaf < 0 || !reference || LeastKept(device_.facts(), ElementType::kF32) == 0) return OkStatus();
    bool flushed = false;
    EvaluateOptions options = device_.evaluate_options();
    options.replace = [&, plain = options](const Instruction& instruction,
                                           std::span<const Literal* const> operands) -> std::optional<Result<Literal>> {
      if (!MayFlush(instruction)) return std::nullopt;
      std::vector<std::shared_ptr<const Literal>> zeroed;
      std::vector<const Literal*> given(operands.begin(), operands.end());
      for (const Literal*& operand : given) {
        zeroed.push_back(Flushed(device_.facts(), *operand));
        if (zeroed.back() != nullptr) operand = zeroed.back().get();
        flushed = flushed || zeroed.back() != nullptr;
      }
      Result<Literal> value = EvaluateInstruction(instruction, given, plain);
      if (!value.ok()) return value;
      const std::shared_ptr<const Literal> zeros = Flushed(device_.facts(), *value);
      flushed = flushed || zeros != nullptr;
      return zeros != nullptr ? Result<Literal>(*zeros) : std::move(value);
    };
    VXLA_ASSIGN_OR_RETURN(Literal expected, Evaluate(module_, arguments_, options));
    if (!flushed) return OkStatus();
    outcome_.notes.push_back("the device flushes denormals: the reference takes them as zeros too");
    outcome_.expected = std::move(expected);
    outcome_.leaves.clear();
    outcome_.bad_leaf = -1;
    CompareLeaves();
    return OkStatus();
  }

  std::vector<Tolerance> TolerancesOf(const std::vector<const Literal*>& expected) {
    std::vector<Tolerance> tolerances;
    const std::optional<Tolerance> stated = options_.stated();
    std::optional<OpBound> bound;
    if (!stated) bound = BoundOfProgram(module_, arguments_, outcome_.expected);
    if (bound) {
      bound_ = std::move(*bound);
      outcome_.bound = bound_.text;
      tolerances = bound_.leaves;
    } else {
      for (const Literal* leaf : expected) {
        if (stated) {
          tolerances.push_back(*stated);
        } else {
          tolerances.push_back(leaf->shape().IsArray() ? Tolerance::DefaultFor(*leaf) : Tolerance{});
          tolerances.back().atol *= AccumulationFactor();
        }
      }
    }
    for (size_t k = 0; k < expected.size(); ++k) tolerances[k].least = LeastOf(*expected[k]);
    return tolerances;
  }

  // Long sums leave more: four standard deviations of the longest one's rounding errors, if that is above the usual
  // 1e-6.
  double AccumulationFactor() const {
    int64_t longest = 0;
    for (const auto& computation : module_.computations()) {
      for (const auto& i : computation->instructions()) longest = std::max(longest, AccumulationLength(*i));
    }
    return std::max(1.0, 4e6 * std::sqrt(static_cast<double>(longest) + 1) * UnitRoundoff(ElementType::kF32));
  }

  double LeastOf(const Literal& leaf) const {
    const ElementType type = leaf.shape().element_type();
    if (device_.IsReference() || !leaf.shape().IsArray() || !(IsFloating(type) || IsComplex(type))) return 0;
    return LeastKept(device_.facts(), type);
  }

  void CompareLeaves() {
    const auto got = FlattenLiteral(outcome_.actual), expected = FlattenLiteral(outcome_.expected);
    std::vector<const Literal*> shader_math;
    if (outcome_.shader_math) shader_math = FlattenLiteral(*outcome_.shader_math);
    const std::vector<Tolerance> tolerances = TolerancesOf(expected);
    for (size_t k = 0; k < got.size(); ++k) {
      if (!got[k]->shape().IsArray()) continue;
      LeafReport leaf;
      leaf.index = k;
      leaf.shape = expected[k]->shape().ToString();
      leaf.tolerance = tolerances[k];
      leaf.comparison = Compare(*got[k], *expected[k], tolerances[k]);
      if (!shader_math.empty()) {
        leaf.shader_math = Compare(*shader_math[k], *expected[k], tolerances[k]);
        Tolerance same_bits;
        same_bits.least = tolerances[k].least;
        leaf.driver = Compare(*got[k], *shader_math[k], same_bits);
      }
      leaf.tolerance.magnitudes = nullptr;  // it ends with this object
      if (outcome_.bad_leaf < 0 && !leaf.comparison.agrees()) outcome_.bad_leaf = static_cast<int64_t>(k);
      outcome_.leaves.push_back(std::move(leaf));
    }
  }

  // Asked for, or needed to say whose fault a difference is.
  Status LookAtInstructions() {
    const bool attribute = outcome_.bad_leaf >= 0 && options_.shader_math && !device_.IsReference();
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

  void Attribute() {
    const InstructionReport* bad = outcome_.bad_instruction();
    if (bad != nullptr) {
      outcome_.first_bad = bad->name;
      outcome_.fault = FaultName(bad->fault);
      return;
    }
    if (outcome_.bad_leaf < 0) return;
    outcome_.first_bad = fmt::format("result_{}", outcome_.bad_leaf);
    const auto leaf = std::ranges::find(outcome_.leaves, static_cast<size_t>(outcome_.bad_leaf), &LeafReport::index);
    if (!leaf->driver) return;
    if (!leaf->driver->agrees()) {
      outcome_.fault = "driver";
      NameInPlan();
    } else if (against_file_) {
      outcome_.fault = "algorithm";
    } else {
      outcome_.fault = "rounding";
      outcome_.notes.push_back(
          "the device gives the bits of shader math and every instruction is within its bound: the program "
          "makes rounding errors grow, or the tolerance is too small for it");
    }
  }

  // Every instruction by itself is within its bound: what differs is what the plan adds.
  void NameInPlan() {
    const Result<std::string> name = device_.FirstOtherInPlan(module_, arguments_);
    if (name.ok() && !name->empty()) outcome_.first_bad = *name;
    outcome_.notes.push_back(
        fmt::format("every instruction by itself is within its bound; {}: look at what the plan adds (fusion, "
                    "barriers, buffers), with vxla explain, --no-fusion and --validate",
                    name.ok() && !name->empty()
                        ? fmt::format("in the plan {} is the first value with other bits than shader math", *name)
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
};

}  // namespace

std::optional<Tolerance> DiffOptions::stated() const {
  if (!rtol && !atol && !ulp) return std::nullopt;
  return Tolerance{rtol.value_or(0), atol.value_or(0), ulp.value_or(0)};
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

Result<DiffOutcome> RunDiff(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
                            const DiffSide* other, std::optional<std::vector<Literal>> expected,
                            const DiffOptions& options) {
  return DiffRunner(module, arguments, device, other, options).Run(std::move(expected));
}

Result<DiffOutcome> Diff(const Module& module, std::span<const Literal* const> arguments, const DiffOptions& options,
                         std::optional<std::vector<Literal>> expected) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<DiffSide> device,
                        DiffSide::Open(options.device, options.compile, options.evaluate));
  std::unique_ptr<DiffSide> other;
  if (options.against && !IsCpu(options.against->device)) {
    VXLA_ASSIGN_OR_RETURN(other, DiffSide::Open(*options.against, options.compile, options.evaluate));
  }
  return RunDiff(module, arguments, *device, other.get(), std::move(expected), options);
}

}  // namespace vxla
