// AccumulationOrder: in which order a kernel adds up, as plain data: shader math on the CPU evaluates the same tree and
// so gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {

// One kernel's part: of each row of elements it leaves `shares` accumulators (1: the whole row). A step is `width`
// neighbouring elements, each with an accumulator of its own; lane l of a share takes the share's steps l, l + stride,
// l + 2 stride ...; with `block` every so many of them are added up from nothing and then added to a running
// accumulator. Then neighbouring accumulators of a lane are joined pairwise (j and j + 1, j and j + 2 ...), then lanes
// in the same way. Accumulators that took nothing take part as the identity. If `ordered`, lanes take neighbouring
// steps instead, so that what is joined lies side by side: for reducers that do not commute.
struct AccumulationLevel {
  int64_t width = 1, lanes = 1;
  int64_t block = 0;  // turns of a lane; 0: no running accumulator
  int64_t shares = 1;
  int64_t chunk = 0;        // steps of a share
  int64_t interleaved = 1;  // above 1: so many shares lie lane by lane between each other, each of chunk / lanes turns
  bool ordered = false;     // lane l takes `own` steps of its share from step l * own on: chunk / lanes, rounded up
  bool fused = false;       // of a product's terms in f32: each is added by a multiply-add that rounds once
  friend bool operator==(const AccumulationLevel&, const AccumulationLevel&) = default;

  int64_t own() const { return CeilDivide(chunk, lanes); }
  int64_t stride() const { return ordered ? 1 : lanes * interleaved; }
  // The first step of a lane of a share.
  int64_t Begin(int64_t share, int64_t lane) const {
    if (ordered) return share * chunk + lane * own();
    if (interleaved == 1) return share * chunk + lane;
    return share / interleaved * interleaved * chunk + share % interleaved * lanes + lane;
  }
  // How many steps it takes of a row of `steps`.
  int64_t Turns(int64_t steps, int64_t share, int64_t lane) const {
    if (interleaved > 1) return chunk / lanes;
    const int64_t end = std::min(steps, (share + 1) * chunk), begin = Begin(share, lane);
    if (ordered) return std::clamp<int64_t>(end - begin, 0, own());
    return begin < end ? (end - begin + lanes - 1) / lanes : 0;
  }
};

// Of one reduction, window or product: the elements first, then what the kernel before has left, until one is left.
using AccumulationOrder = std::vector<AccumulationLevel>;

}  // namespace VXLA_NAMESPACE
