// Which form an all-reduce over several places takes, decided from its size and from how the places reach each other.
#pragma once

#include <cstdint>
#include <string_view>

namespace VXLA_NAMESPACE {

// The slowest way between any two of the places.
enum class PlaceLink : uint8_t {
  kDeviceMemory,  // memory that both devices open
  kHostPages,     // pages of the host that each device takes as memory of its own
  kStaging,       // downloads and uploads within a process
  kProcesses,     // between the processes of a job
};

enum class ReductionForm : uint8_t {
  kWhole,  // each place gets all arrays, and reduces them: one meeting, places - 1 arrays to each
  kParts,  // each place reduces a part, and gives it to the others: two meetings, 2 (places - 1) / places arrays to
           // each
};

// How what the members of a group give is joined.
enum class MemberOrder : uint8_t {
  kPairs,   // in pairs, and pairs of those
  kInARow,  // as the reference reduces, in its accumulators: where all places are the reference
};

struct ReductionFacts {
  int64_t bytes = 0;   // of what a place gives
  int64_t places = 0;  // that take part
  PlaceLink link = PlaceLink::kStaging;
};

// Both forms add up in the same order, so that bits do not depend on it. (A ring moves as few bytes as kParts in
// 2 (places - 1) meetings, but adds each part in another order; a tree of halves moves log2 of the places arrays.)
// Pure.
ReductionForm ChooseReductionForm(const ReductionFacts& facts);
std::string_view ReductionFormText(ReductionForm form);

// Elements [begin, end) of so many are part `part` of `parts`. Those of large arrays are equally large, but for the
// last ones; those of small ones may be empty. Pure.
struct PartOfArray {
  int64_t begin = 0, end = 0;
};
PartOfArray PartOf(int64_t elements, int64_t parts, int64_t part);

}  // namespace VXLA_NAMESPACE
