#include "api/verify/conditioning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/numerics/accuracy.h"
#include "core/passes/base/call_inliner.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int kRuns = 8, kRunsInDoubt = 32;
// Spreads that count as much as one: a perturbed run moves more than a device does, so that four leave no room for
// chance and little for a fault.
constexpr double kReach = 4;

enum class Class : uint8_t { kFinite, kNan, kPositive, kNegative };

size_t At(Class of) { return static_cast<size_t>(of); }

Class ClassOf(std::complex<double> value) {
  if (std::isnan(value.real()) || std::isnan(value.imag())) return Class::kNan;
  const double part = std::isinf(value.real()) ? value.real() : value.imag();
  if (!std::isinf(part)) return Class::kFinite;
  return part > 0 ? Class::kPositive : Class::kNegative;
}

bool IsRounded(ElementType type) { return IsFloating(type) || IsComplex(type); }

std::complex<double> ElementOf(const Literal& literal, int64_t i) {
  const ElementType type = literal.shape().element_type();
  if (IsRounded(type)) return literal.GetComplex(i);
  const int64_t value = literal.GetInt(i);
  return IsUnsigned(type) ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

// How far apart two elements are; 64-bit integers by their difference, which double need not hold of each.
double DistanceOf(const Literal& a, const Literal& b, int64_t i) {
  const ElementType type = b.shape().element_type();
  if (IsRounded(type)) return std::min(std::abs(a.GetComplex(i) - b.GetComplex(i)), 1e150);
  const int64_t x = a.GetInt(i), y = b.GetInt(i);
  if (x == y) return 0;
  return std::max(1.0, std::abs(ElementOf(a, i).real() - ElementOf(b, i).real()));
}

}  // namespace

Spread::Spread(const Literal& reference)
    : reference_(reference), elements_(static_cast<size_t>(reference.element_count())) {}

void Spread::Add(const Literal& perturbed) {
  ++runs_;
  for (size_t i = 0; i < elements_.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    Element& element = elements_[i];
    const Class got = ClassOf(ElementOf(perturbed, at));
    ++element.runs[At(got)];
    if (got != Class::kFinite || ClassOf(ElementOf(reference_, at)) != Class::kFinite) continue;
    const double distance = DistanceOf(perturbed, reference_, at);
    element.squares += distance * distance;
    element.largest = std::max(element.largest, distance * distance);
  }
}

Conditioning Spread::Judge(const Literal& value, const Tolerance& tolerance) const {
  Conditioning judged;
  judged.runs = runs_;
  const ElementType type = reference_.shape().element_type();
  int64_t alone = 0;  // elements that a single run moves beyond what all others spread over
  double widest = 0, largest = 0, worst = 0;
  for (size_t i = 0; i < elements_.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Element& element = elements_[i];
    const std::complex<double> expected = ElementOf(reference_, at), given = ElementOf(value, at);
    const Class wanted = ClassOf(expected), got = ClassOf(given);
    const bool finite = wanted == Class::kFinite;
    if (finite) largest = std::max(largest, std::abs(expected));
    const int finite_runs = element.runs[At(Class::kFinite)];
    const double mean = finite_runs > 0 ? element.squares / finite_runs : 0;
    const double allowed = tolerance.atol + tolerance.rtol * (finite ? std::abs(expected) : 0);
    if (finite) widest = std::max(widest, mean);
    const int other_class = runs_ - element.runs[At(wanted)];
    judged.undetermined += other_class > 0 || (!IsRounded(type) && mean > 0);
    const double others = element.squares - element.largest;
    const bool moved_once = finite_runs > 1 && element.largest > allowed * allowed &&
                            element.largest * (finite_runs - 1) > kReach * kReach * others;
    alone += other_class == 1 || moved_once;
    if (wanted != got) {
      if (element.runs[At(got)] == 0) ++judged.outside, worst = std::max(worst, HUGE_VAL);
      continue;
    }
    if (!finite) continue;
    const double distance = DistanceOf(value, reference_, at);
    if (distance <= allowed || distance * distance <= kReach * kReach * mean) continue;
    if (UlpDistance(IsRounded(type) ? RealPart(type) : ElementType::kF64, std::abs(expected) + distance,
                    std::abs(expected)) <= tolerance.ulp)
      continue;
    if (std::abs(given) <= tolerance.least && std::abs(expected) <= tolerance.least) continue;
    ++judged.outside;
    worst = std::max(worst, distance);
  }
  judged.unseen = runs_ > 0 ? static_cast<double>(alone) / runs_ : 0;
  double most = 0;  // of any run at any element
  for (const Element& element : elements_) most = std::max(most, element.largest);
  const double unit = UnitRoundoff(type);
  if (unit > 0 && largest > 0) judged.amplification = std::sqrt(widest) / (unit * largest);
  const bool few = static_cast<double>(judged.outside) <= 2 * judged.unseen + 3 * std::sqrt(judged.unseen);
  const bool alike = worst <= kReach * std::sqrt(most) || (std::isinf(worst) && judged.undetermined > 0);
  judged.explains = judged.outside == 0 || (few && alike);
  return judged;
}

namespace {

// Padding of dynamic arrays is no part of a value.
class LiveLeaves {
 public:
  const Literal* Of(const Literal* literal) {
    return literal->is_dynamic() ? &cut_.emplace_back(CutToLiveSizes(*literal)) : literal;
  }

 private:
  std::deque<Literal> cut_;
};

using Judged = std::vector<std::vector<Conditioning>>;

// Runs until nothing is in doubt, or there are enough runs to be sure.
Result<Judged> JudgeRuns(const std::function<Result<Literal>(uint64_t seed)>& run, const Literal& reference,
                         const std::vector<std::vector<const Literal*>>& values, std::span<const size_t> suspects,
                         std::span<const Tolerance> tolerances,
                         const std::function<void(const std::string&)>& progress) {
  LiveLeaves live;
  std::vector<const Literal*> wanted;
  std::vector<Spread> spreads;
  const std::vector<const Literal*> leaves = FlattenLiteral(reference);
  for (const size_t leaf : suspects) spreads.emplace_back(*wanted.emplace_back(live.Of(leaves[leaf])));
  Judged judged(values.size(), std::vector<Conditioning>(suspects.size()));
  const auto judge = [&] {
    bool doubt = false;
    for (size_t v = 0; v < values.size(); ++v) {
      for (size_t s = 0; s < suspects.size(); ++s) {
        const Literal* value = live.Of(values[v][suspects[s]]);
        if (Compatible(value->shape(), wanted[s]->shape()))
          judged[v][s] = spreads[s].Judge(*value, tolerances[suspects[s]]);
        doubt |= !judged[v][s].explains;
      }
    }
    return doubt;
  };
  for (int total = 1; total <= kRunsInDoubt; ++total) {
    if (progress) progress(fmt::format("perturbed run {} of {}", total, total <= kRuns ? kRuns : kRunsInDoubt));
    VXLA_ASSIGN_OR_RETURN(const Literal perturbed, run(static_cast<uint64_t>(total)));
    const std::vector<const Literal*> moved = FlattenLiteral(perturbed);
    for (size_t s = 0; s < suspects.size(); ++s) {
      LiveLeaves of_run;
      const Literal* value = of_run.Of(moved[suspects[s]]);
      // Sizes that hang on rounding: nothing to compare element by element.
      if (Compatible(value->shape(), wanted[s]->shape())) spreads[s].Add(*value);
    }
    if (total % kRuns == 0 && !judge()) break;
  }
  return judged;
}

}  // namespace

Result<Judged> JudgeByConditioning(const Module& module, std::span<const Literal* const> arguments,
                                   const Literal& reference, const std::vector<std::vector<const Literal*>>& values,
                                   std::span<const size_t> suspects, std::span<const Tolerance> tolerances,
                                   const ConditioningOptions& options) {
  const std::unique_ptr<Module> flat = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*flat).status());
  Perturbation perturbation(options.perturbation);
  return JudgeRuns([&](uint64_t seed) { return perturbation.Run(*flat, arguments, seed); }, reference, values, suspects,
                   tolerances, options.progress);
}

Result<std::vector<Conditioning>> JudgeInstruction(const Instruction& instruction,
                                                   std::span<const Literal* const> operands, const Literal& reference,
                                                   const Literal& value, std::span<const Tolerance> tolerances,
                                                   const ConditioningOptions& options) {
  Perturbation perturbation(options.perturbation);
  const std::vector<const Literal*> leaves = FlattenLiteral(value);
  std::vector<size_t> arrays;
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (leaves[k]->shape().IsArray()) arrays.push_back(k);
  }
  VXLA_ASSIGN_OR_RETURN(
      Judged judged, JudgeRuns([&](uint64_t seed) { return perturbation.RunInstruction(instruction, operands, seed); },
                               reference, {leaves}, arrays, tolerances, options.progress));
  return std::move(judged[0]);
}

}  // namespace VXLA_NAMESPACE
