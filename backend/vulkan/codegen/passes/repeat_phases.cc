#include "backend/vulkan/codegen/passes/repeat_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Text that takes a driver less than a millisecond is not worth a loop.
constexpr int64_t kLeastSpared = 4096;
constexpr int64_t kOfAQuestion = 100;
// Rounds are looked for among all lengths, first phases and turns.
constexpr size_t kMostPhases = 256;

// `turns` turns of `length` phases, from the phase `first` on.
struct Round {
  size_t first = 0, length = 0, turns = 0;
  int64_t spared = 0;
};

class PhaseRepeater {
 public:
  PhaseRepeater(const std::vector<LoopPhase>& phases, const std::string& name, bool of_grid)
      : phases_(phases), name_(name), of_grid_(of_grid) {
    std::map<std::string, size_t> kinds;
    for (const LoopPhase& phase : phases) {
      sizes_.push_back(std::ssize(phase.code.Print()));
      Code kind = phase.code;
      tensors_.emplace_back();
      ForEachTensor(kind, [&](std::string& tensor) { tensors_.back().push_back(std::exchange(tensor, "")); });
      kinds_.push_back(kinds.try_emplace(kind.Print(), kinds.size()).first->second);
    }
  }

  Code Write() {
    int64_t whole = 0;
    for (const int64_t size : sizes_) whole += size;
    Round round = whole < 2 * kLeastSpared || phases_.size() > kMostPhases ? Round{} : Best();
    if (round.spared < kLeastSpared || 3 * round.spared < whole) round = {phases_.size(), 0, 0, 0};
    for (size_t i = 0; i < round.first; ++i) WriteAsIs(i);
    if (round.turns > 0) WriteRound(round);
    for (size_t i = round.first + round.length * round.turns; i < phases_.size(); ++i) WriteAsIs(i);
    return std::move(code_);
  }

 private:
  void WriteRound(const Round& round) {
    code_ += fmt::format("[[dont_unroll]] for (uint {0} = 0u; {0} < {1}u; ++{0}) {{\n", name_, round.turns);
    for (size_t i = 0; i < round.length; ++i) WriteOfRound(round, i);
    code_ += "}\n";
  }
  // Turns of a phase of the round, by kind.
  std::map<size_t, std::vector<size_t>> KindsOf(const Round& round, size_t phase) const {
    std::map<size_t, std::vector<size_t>> kinds;
    for (size_t turn = 0; turn < round.turns; ++turn)
      kinds[kinds_[round.first + turn * round.length + phase]].push_back(turn);
    return kinds;
  }
  // What one more turn of a round spares: its phases of kinds that earlier turns have too. Of others it is asked
  // whether it is their turn.
  int64_t SparedBy(const Round& round) const {
    int64_t spared = 0;
    const size_t last = round.first + (round.turns - 1) * round.length;
    for (size_t i = last; i < last + round.length; ++i) {
      size_t earlier = i;
      while (earlier >= round.first + round.length && kinds_[earlier - round.length] != kinds_[i])
        earlier -= round.length;
      spared += earlier < round.first + round.length ? -kOfAQuestion : sizes_[i];
    }
    return spared;
  }
  Round Best() const {
    Round best;
    const size_t count = phases_.size();
    for (size_t length = 1; 2 * length <= count; ++length) {
      for (size_t first = 0; first + 2 * length <= count; ++first) {
        for (Round round = {first, length, 2, 0};
             first + round.turns * length <= count && round.turns <= size_t{kMostTurns}; ++round.turns) {
          round.spared += SparedBy(round);
          if (round.spared > best.spared) best = round;
        }
      }
    }
    return best;
  }

  void WriteAsIs(size_t i) {
    if (phases_[i].waits) code_ += Barrier(0, of_grid_);
    code_ += phases_[i].code;
  }

  void WriteOfRound(const Round& round, size_t phase) {
    const auto index = [&](size_t turn) { return round.first + turn * round.length + phase; };
    bool waits = false;
    for (size_t turn = 0; turn < round.turns; ++turn) waits |= phases_[index(turn)].waits;
    if (waits) code_ += Barrier(0, of_grid_);
    const auto kinds = KindsOf(round, phase);
    for (const auto& [kind, turns] : kinds) {
      uint32_t mask = 0;
      std::vector<size_t> same;
      for (size_t turn : turns) {
        mask |= uint32_t{1} << turn;
        same.push_back(index(turn));
      }
      if (kinds.size() > 1) code_ += fmt::format("if (((1u << {}) & {}u) != 0u) {{\n", name_, mask);
      WriteShared(turns, same);
      if (kinds.size() > 1) code_ += "}\n";
    }
  }

  // One text of phases of one kind, for these turns.
  void WriteShared(const std::vector<size_t>& turns, const std::vector<size_t>& same) {
    std::map<std::vector<std::string>, std::string> chosen;  // by the tensors of all turns
    std::string addresses;
    std::vector<std::string> names;
    for (size_t i = 0; i < tensors_[same[0]].size(); ++i) {
      std::vector<std::string> tensors;
      for (size_t each : same) tensors.push_back(tensors_[each][i]);
      std::string& tensor = chosen[tensors];
      if (tensor.empty()) {
        tensor = tensors[0];
        if (std::ranges::any_of(tensors, [&](const std::string& each) { return each != tensors[0]; })) {
          tensor = fmt::format("{}_{}", name_, next_++);
          addresses += fmt::format("uvec2 address_{} = ", tensor);
          for (size_t t = 0; t + 1 < turns.size(); ++t)
            addresses += fmt::format("{} == {}u ? address_{} : ", name_, turns[t], tensors[t]);
          addresses += fmt::format("address_{};\n", tensors.back());
          if (of_grid_) addresses += fmt::format("#define TENSOR_BLOCK_{}(tag) Coherent_##tag\n", tensor);
        }
      }
      names.push_back(tensor);
    }
    if (!addresses.empty()) code_ += "{\n" + addresses;
    Code shared = phases_[same[0]].code;
    ForEachTensor(shared, [at = names.begin()](std::string& tensor) mutable { tensor = *at++; });
    code_ += std::move(shared);
    if (!addresses.empty()) code_ += "}\n";
  }

  const std::vector<LoopPhase>& phases_;
  const std::string name_;
  const bool of_grid_;
  std::vector<std::vector<std::string>> tensors_;  // of each, in the order in which it names them
  std::vector<int64_t> sizes_;                     // of their texts
  std::vector<size_t> kinds_;                      // equal numbers: equal texts but for the tensors
  Code code_;
  int next_ = 0;
};

}  // namespace

Code RepeatPhases(const std::vector<LoopPhase>& phases, const std::string& name, bool of_grid) {
  return PhaseRepeater(phases, name, of_grid).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
