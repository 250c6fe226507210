#include "core/passes/devices/reduction_form.h"

#include <algorithm>

#include "core/ceil_divide.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

// How many bytes a place must be spared so that a second meeting pays (docs/benchmarks/index.md, over places; between
// processes a meeting costs more).
int64_t LeastBytesSpared(PlaceLink link) { return (link == PlaceLink::kProcesses ? 64 : 32) << 10; }

}  // namespace

ReductionForm ChooseReductionForm(const ReductionFacts& facts) {
  // Two places move one array each in either form.
  if (facts.places < 3) return ReductionForm::kWhole;
  const int64_t whole = (facts.places - 1) * facts.bytes, parts = 2 * whole / facts.places;
  return whole - parts >= LeastBytesSpared(facts.link) ? ReductionForm::kParts : ReductionForm::kWhole;
}

std::string_view ReductionFormText(ReductionForm form) {
  return form == ReductionForm::kParts ? "each place reduces a part" : "each place reduces all";
}

PartOfArray PartOf(int64_t elements, int64_t parts, int64_t part) {
  // Whole groups of lanes, and whole bytes of types that are narrower than one.
  constexpr int64_t kUnit = 64;
  const int64_t size = RoundUp(CeilDivide(elements, parts), kUnit);
  return {std::min(part * size, elements), std::min((part + 1) * size, elements)};
}

}  // namespace VXLA_NAMESPACE
