// ParallelFor: the reference's small thread pool. Work is cut at fixed places, so results do not depend on the thread
// count as long as a caller's chunks are independent.
#pragma once

#include <cstdint>
#include <functional>

namespace VXLA_NAMESPACE {

// Calls fn(begin, end) over [0, count) in pieces of at most `grain` (the last one may be shorter), on up to `threads`
// threads, the caller's among them; 0: one per processor. Pieces start at multiples of `grain`. Nested calls run on the
// calling thread. An exception of fn is thrown again here.
void ParallelFor(int64_t count, int64_t grain, int threads, const std::function<void(int64_t, int64_t)>& fn);

}  // namespace VXLA_NAMESPACE
