#include "api/binding_overlap.h"

#include <algorithm>
#include <tuple>

namespace VXLA_NAMESPACE {
namespace {

// Of what begins before, in the same space: where the last of it ends.
struct Reach {
  uint64_t end = 0;
  uint32_t leaf = 0;

  void Add(const BoundSpan& span) {
    if (span.end > end) *this = {span.end, span.leaf};
  }
};

}  // namespace

std::optional<std::pair<uint32_t, uint32_t>> FindOverlap(std::span<BoundSpan> spans) {
  std::ranges::sort(spans, [](const BoundSpan& a, const BoundSpan& b) {
    return std::tie(a.space, a.begin, a.leaf) < std::tie(b.space, b.begin, b.leaf);
  });
  Reach any, written;
  for (size_t i = 0; i < spans.size(); ++i) {
    const BoundSpan& span = spans[i];
    if (i != 0 && span.space != spans[i - 1].space) any = written = {};
    if (span.begin == span.end) continue;
    const Reach& before = span.written ? any : written;
    if (before.end > span.begin) return std::minmax({before.leaf, span.leaf});
    any.Add(span);
    if (span.written) written.Add(span);
  }
  return std::nullopt;
}

}  // namespace VXLA_NAMESPACE
