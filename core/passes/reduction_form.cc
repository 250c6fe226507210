#include "core/passes/reduction_form.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

// From how many bytes on the second meeting costs less than what it saves (docs/benchmarks.md, over places).
int64_t LeastBytesOfParts(PlaceLink link) {
  switch (link) {
    case PlaceLink::kDeviceMemory:
    case PlaceLink::kHostPages:
    case PlaceLink::kStaging:
    case PlaceLink::kProcesses:
      break;
  }
  return int64_t{1} << 20;
}

}  // namespace

ReductionForm ChooseReductionForm(const ReductionFacts& facts) {
  // Two places move one array each in either form.
  const bool parts = facts.places > 2 && facts.bytes >= LeastBytesOfParts(facts.link);
  return parts ? ReductionForm::kParts : ReductionForm::kWhole;
}

std::string_view ReductionFormText(ReductionForm form) {
  return form == ReductionForm::kParts ? "each place reduces a part" : "each place reduces all";
}

PartOfArray PartOf(int64_t elements, int64_t parts, int64_t part) {
  // Whole groups of lanes, and whole bytes of types that are narrower than one.
  constexpr int64_t kUnit = 64;
  const int64_t size = ((elements + parts - 1) / parts + kUnit - 1) / kUnit * kUnit;
  return {std::min(part * size, elements), std::min((part + 1) * size, elements)};
}

}  // namespace VXLA_NAMESPACE
