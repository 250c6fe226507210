#include "scheduler/memory/buffer_packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "core/host/ranges.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

class Packer {
 public:
  Packer(std::span<const Lifetime> lifetimes, int64_t alignment, int64_t max_block_bytes)
      : lifetimes_(lifetimes), max_block_bytes_(max_block_bytes) {
    for (const Lifetime& lifetime : lifetimes) sizes_.push_back(RoundUp(lifetime.size_bytes, alignment));
  }

  int64_t size(int i) const { return sizes_[i]; }

  // Each buffer of the order goes to the smallest gap that holds it among those placed before that live with it; the
  // lowest gap among equals; on top of them if none does.
  Packing PlaceInOrder(std::span<const int> order) const {
    Packing packing;
    packing.places.resize(lifetimes_.size());
    std::vector<int> placed;  // by offset
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int i : order) {
      for (int block = 0;; ++block) {
        if (block == static_cast<int>(packing.block_bytes.size())) packing.block_bytes.push_back(0);
        taken.clear();
        for (int other : placed) {
          const Packing::Place& place = packing.places[other];
          if (place.block == block && Intersect(i, other))
            taken.emplace_back(place.offset_bytes, place.offset_bytes + sizes_[other]);
        }
        const int64_t offset = BestGap(taken, sizes_[i]);
        if (offset > 0 && offset + sizes_[i] > max_block_bytes_) continue;
        packing.places[i] = {block, offset};
        packing.block_bytes[block] = std::max(packing.block_bytes[block], offset + sizes_[i]);
        break;
      }
      const auto at = std::upper_bound(placed.begin(), placed.end(), i, [&](int a, int b) {
        return packing.places[a].offset_bytes < packing.places[b].offset_bytes;
      });
      placed.insert(at, i);
    }
    return packing;
  }

 private:
  bool Intersect(int a, int b) const {
    return lifetimes_[a].first <= lifetimes_[b].last && lifetimes_[b].first <= lifetimes_[a].last;
  }

  static int64_t BestGap(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t size) {
    int64_t end = 0, best = -1, best_gap = 0;
    for (const auto& [begin, limit] : taken) {
      const int64_t gap = begin - end;
      if (gap >= size && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, limit);
    }
    return best >= 0 ? best : end;
  }

  std::span<const Lifetime> lifetimes_;
  std::vector<int64_t> sizes_;
  int64_t max_block_bytes_;
};

// Above this the orders below, which look at every pair, take too long.
constexpr size_t kMostCompared = 2000;

// Buffers in the order of their beginnings, each in the smallest gap of what lives then: n log n.
class Sweep {
 public:
  explicit Sweep(int64_t max_block_bytes) : max_block_bytes_(max_block_bytes) {}

  Packing::Place Take(int64_t size) {
    const auto fit = by_size_.lower_bound({size, 0, 0});
    if (fit == by_size_.end()) return Extend(size);
    const auto [gap, block, offset] = *fit;
    Remove(block, offset);
    if (gap > size) Add(block, offset + size, gap - size);
    return {block, offset};
  }

  void Free(Packing::Place place, int64_t size) {
    auto& gaps = by_offset_[place.block];
    int64_t begin = place.offset_bytes, end = begin + size;
    auto behind = gaps.lower_bound(begin);
    if (behind != gaps.end() && behind->first == end) {
      end += behind->second;
      Remove(place.block, behind->first);
    }
    auto before = gaps.lower_bound(begin);
    if (before != gaps.begin() && std::prev(before)->first + std::prev(before)->second == begin) {
      begin = std::prev(before)->first;
      Remove(place.block, begin);
    }
    Add(place.block, begin, end - begin);
  }

  const std::vector<int64_t>& block_bytes() const { return block_bytes_; }

 private:
  // On top of the last block, over the gap that ends there, or in a new one.
  Packing::Place Extend(int64_t size) {
    if (!block_bytes_.empty()) {
      const int block = static_cast<int>(block_bytes_.size()) - 1;
      const auto& gaps = by_offset_.back();
      int64_t offset = block_bytes_.back();
      const bool open = !gaps.empty() && gaps.rbegin()->first + gaps.rbegin()->second == offset;
      if (open) offset = gaps.rbegin()->first;
      if (offset == 0 || offset + size <= max_block_bytes_) {
        if (open) Remove(block, offset);
        block_bytes_.back() = offset + size;
        return {block, offset};
      }
    }
    block_bytes_.push_back(size);
    by_offset_.emplace_back();
    return {static_cast<int>(block_bytes_.size()) - 1, 0};
  }

  void Add(int block, int64_t offset, int64_t size) {
    by_offset_[block].emplace(offset, size);
    by_size_.emplace(size, block, offset);
  }
  void Remove(int block, int64_t offset) {
    auto& gaps = by_offset_[block];
    const auto at = gaps.find(offset);
    by_size_.erase({at->second, block, offset});
    gaps.erase(at);
  }

  int64_t max_block_bytes_;
  std::vector<int64_t> block_bytes_;
  std::vector<std::map<int64_t, int64_t>> by_offset_;  // of each block: the sizes of its gaps
  std::set<std::tuple<int64_t, int, int64_t>> by_size_;
};

Packing PackBySweep(std::span<const Lifetime> lifetimes, const Packer& packer, int64_t max_block_bytes) {
  std::vector<int> by_first = Counted<int>(lifetimes.size());
  std::vector<int> by_last = by_first;
  std::ranges::stable_sort(by_first, {}, [&](int i) { return std::pair(lifetimes[i].first, -packer.size(i)); });
  std::ranges::stable_sort(by_last, {}, [&](int i) { return lifetimes[i].last; });
  Packing packing;
  packing.places.resize(lifetimes.size());
  Sweep sweep(max_block_bytes);
  auto ended = by_last.begin();
  for (int i : by_first) {
    for (; lifetimes[*ended].last < lifetimes[i].first; ++ended)
      sweep.Free(packing.places[*ended], packer.size(*ended));
    packing.places[i] = sweep.Take(packer.size(i));
  }
  packing.block_bytes = sweep.block_bytes();
  return packing;
}

std::vector<std::vector<int>> StartingOrders(std::span<const Lifetime> lifetimes, const Packer& packer) {
  std::vector<std::vector<int>> orders(4, Counted<int>(lifetimes.size()));
  const auto length = [&](int i) { return static_cast<int64_t>(lifetimes[i].last) - lifetimes[i].first + 1; };
  const auto falling = [&](std::vector<int>& by, const auto& key) {
    std::ranges::stable_sort(by, std::greater(), key);
  };
  falling(orders[0], [&](int i) { return std::pair(packer.size(i), length(i)); });
  falling(orders[1], [&](int i) { return static_cast<double>(packer.size(i)) * length(i); });
  falling(orders[2], [&](int i) { return std::pair(length(i), packer.size(i)); });
  std::ranges::stable_sort(orders[3], {}, [&](int i) { return std::pair(lifetimes[i].first, -packer.size(i)); });
  return orders;
}

// Whatever reaches the top goes to the front of the order: it is placed while there is still room.
void Improve(const Packer& packer, std::vector<int> order, int64_t lower_bound, Packing& best) {
  const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(order.size()) * static_cast<int64_t>(order.size()));
  const int rounds = static_cast<int>(std::clamp<int64_t>(20'000'000 / work, 4, 64));
  Packing packing = packer.PlaceInOrder(order);
  for (int round = 0; round < rounds && best.total_bytes() > lower_bound; ++round) {
    const int64_t top = *std::max_element(packing.block_bytes.begin(), packing.block_bytes.end());
    std::stable_partition(order.begin(), order.end(),
                          [&](int i) { return packing.places[i].offset_bytes + packer.size(i) == top; });
    packing = packer.PlaceInOrder(order);
    if (packing.total_bytes() < best.total_bytes()) best = packing;
  }
}

// Exchanges of two in the order, which stay where they make the packing no larger; the same ones each time.
void Search(const Packer& packer, std::vector<int> order, int64_t lower_bound, Packing& best) {
  const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(order.size()) * static_cast<int64_t>(order.size()));
  const auto rounds = std::clamp<int64_t>(20'000'000 / work, 4, 2000);
  std::minstd_rand random;
  const auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
  int64_t least = packer.PlaceInOrder(order).total_bytes();
  for (int64_t round = 0; round < rounds && best.total_bytes() > lower_bound; ++round) {
    const size_t a = below(order.size()), b = below(order.size());
    std::swap(order[a], order[b]);
    Packing packing = packer.PlaceInOrder(order);
    const int64_t total = packing.total_bytes();
    if (total > least) std::swap(order[a], order[b]);
    least = std::min(least, total);
    if (total < best.total_bytes()) best = std::move(packing);
  }
}

}  // namespace

int64_t Packing::total_bytes() const { return std::accumulate(block_bytes.begin(), block_bytes.end(), int64_t{0}); }

Packing Pack(std::span<const Lifetime> lifetimes, int64_t alignment, int64_t max_block_bytes) {
  if (lifetimes.empty()) return {};
  const Packer packer(lifetimes, alignment, max_block_bytes);
  if (lifetimes.size() > kMostCompared) return PackBySweep(lifetimes, packer, max_block_bytes);
  const int64_t lower_bound = PackingLowerBound(lifetimes, alignment);
  const auto orders = StartingOrders(lifetimes, packer);
  Packing best = packer.PlaceInOrder(orders[0]);
  for (size_t i = 1; i < orders.size() && best.total_bytes() > lower_bound; ++i) {
    Packing packing = packer.PlaceInOrder(orders[i]);
    if (packing.total_bytes() < best.total_bytes()) best = std::move(packing);
  }
  for (size_t i = 0; i < orders.size() && best.total_bytes() > lower_bound; ++i)
    Improve(packer, orders[i], lower_bound, best);
  for (size_t i = 0; i < orders.size() && best.total_bytes() > lower_bound; ++i)
    Search(packer, orders[i], lower_bound, best);
  return best;
}

int64_t PackingLowerBound(std::span<const Lifetime> lifetimes, int64_t alignment) {
  std::map<int, int64_t> change;
  for (const Lifetime& lifetime : lifetimes) {
    const int64_t size = RoundUp(lifetime.size_bytes, alignment);
    change[lifetime.first] += size;
    change[lifetime.last + 1] -= size;
  }
  int64_t alive = 0, most = 0;
  for (const auto& [operation, difference] : change) {
    alive += difference;
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace VXLA_NAMESPACE
