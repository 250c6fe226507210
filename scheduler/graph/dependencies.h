// Dependencies: who comes before whom. The order of operations, work beside host steps, queues and barriers all ask
// here. Of two that touch the same memory, one of them writing, the first comes first; and so do control predecessors.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Between nodes, each an operation of a stretch or several that stay together; numbers from 0 on.
class Dependencies {
 public:
  enum class By : uint8_t {
    kBytes,    // buffers whose bytes do not overlap are apart
    kBuffers,  // buffers are looked at as wholes, in time proportional to their uses
  };
  // memory_of: by buffer, the one whose memory it has; empty: its own. It outlives this.
  explicit Dependencies(By by, std::span<const int> memory_of = {}) : by_(by), memory_of_(memory_of) {}

  // The next operation, which is of this node: the latest one, or one more.
  void Add(const Operation& operation, int node);
  // By node, those that it has to wait for; some more than once.
  const std::vector<std::vector<int>>& before() const { return before_; }
  // The nodes that have read the buffer since it was written.
  std::vector<int> ReadersOf(int buffer) const;

 private:
  struct Touched {
    int64_t begin = 0, end = 0;
    int node = 0;
  };
  struct Memory {
    std::vector<Touched> written, read;
  };

  int MemoryOf(int buffer) const { return memory_of_.empty() ? buffer : memory_of_[buffer]; }
  void AddEdge(int from, int to);
  void Touch(const Binding& use, int node);
  void WaitFor(std::vector<Touched>& earlier, const Touched& now);

  const By by_;
  const std::span<const int> memory_of_;
  std::vector<std::vector<int>> before_;
  std::unordered_map<int, Memory> touched_;
  std::unordered_map<const Instruction*, int> last_;  // node of an instruction
};

}  // namespace VXLA_NAMESPACE
