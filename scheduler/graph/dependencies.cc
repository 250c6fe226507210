#include "scheduler/graph/dependencies.h"

#include <limits>

namespace VXLA_NAMESPACE {
namespace {

// More accesses of one buffer than this are not told apart by their bytes: looking at every pair would take too long.
constexpr size_t kMostTold = 256;
constexpr int64_t kFirst = std::numeric_limits<int64_t>::min(), kLast = std::numeric_limits<int64_t>::max();

}  // namespace

void Dependencies::Add(const Operation& operation, int node) {
  before_.resize(static_cast<size_t>(node) + 1);
  for (const Binding& use : operation.uses) Touch(use, node);
  if (operation.instruction == nullptr) return;
  for (const Instruction* first : operation.instruction->control_predecessors()) {
    if (const auto at = last_.find(first); at != last_.end()) AddEdge(at->second, node);
  }
  last_[operation.instruction] = node;
}

std::vector<int> Dependencies::ReadersOf(int buffer) const {
  std::vector<int> readers;
  const auto found = touched_.find(MemoryOf(buffer));
  if (found == touched_.end()) return readers;
  for (const Touched& read : found->second.read) readers.push_back(read.node);
  return readers;
}

void Dependencies::AddEdge(int from, int to) {
  std::vector<int>& before = before_[to];
  if (from != to && (before.empty() || before.back() != from)) before.push_back(from);
}

void Dependencies::WaitFor(std::vector<Touched>& earlier, const Touched& now) {
  for (const Touched& touched : earlier) {
    if (touched.begin < now.end && now.begin < touched.end) AddEdge(touched.node, now.node);
  }
}

void Dependencies::Touch(const Binding& use, int node) {
  const bool whole = by_ == By::kBuffers, writes = use.access != Access::kRead;
  Touched now{use.slice.offset_bytes, use.slice.offset_bytes + use.slice.size_bytes, node};
  if (whole) now = {kFirst, kLast, node};
  if (now.begin >= now.end) return;
  Memory& memory = touched_[MemoryOf(use.slice.buffer)];
  WaitFor(memory.written, now);
  if (writes) {
    WaitFor(memory.read, now);
    // Who comes after what is written here comes after what was there before.
    for (std::vector<Touched>* earlier : {&memory.written, &memory.read})
      std::erase_if(*earlier, [&](const Touched& t) { return now.begin <= t.begin && t.end <= now.end; });
  }
  if (!whole && memory.written.size() + memory.read.size() >= kMostTold) {
    // From here on everything waits for this operation, and it for everything.
    now = {kFirst, kLast, node};
    WaitFor(memory.written, now);
    WaitFor(memory.read, now);
    memory = {{now}, {}};
    return;
  }
  std::vector<Touched>& like = writes ? memory.written : memory.read;
  if (!whole || like.empty() || like.back().node != node) like.push_back(now);
}

}  // namespace VXLA_NAMESPACE
