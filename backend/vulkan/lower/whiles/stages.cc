#include "backend/vulkan/lower/whiles/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Text that takes a driver less than a millisecond is not worth a loop.
constexpr int64_t kLeastSpared = 4096;
constexpr int64_t kOfAQuestion = 100;
// Rounds are looked for among all lengths, first phases and turns.
constexpr size_t kMostPhases = 256;

// A phase's text between the tensors that it names.
struct Pieces {
  std::vector<std::string> between;
  std::vector<std::string> tensors;
};

Pieces Take(const std::string& text) {
  constexpr std::array<std::string_view, 3> kAccesses = {"LOAD(", "STORE(", "ELEMENT("};
  Pieces pieces;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool access = text[at] == '(' && std::ranges::any_of(kAccesses, [&](std::string_view word) {
                          return std::string_view(text).substr(0, at + 1).ends_with(word);
                        });
    size_t end = at + 1;
    while (access && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (!access || end == at + 1 || text[end] != ',') continue;
    pieces.between.push_back(text.substr(begin, at + 1 - begin));
    pieces.tensors.push_back(text.substr(at + 1, end - at - 1));
    begin = end;
  }
  pieces.between.push_back(text.substr(begin));
  return pieces;
}

// `turns` turns of `length` phases, from the phase `first` on.
struct Round {
  size_t first = 0, length = 0, turns = 0;
  int64_t spared = 0;
};

class PhaseRepeater {
 public:
  PhaseRepeater(const std::vector<LoopPhase>& phases, const std::string& name, const std::string& barrier)
      : phases_(phases), name_(name), barrier_(barrier) {
    std::map<std::vector<std::string>, size_t> kinds;
    for (const LoopPhase& phase : phases) {
      pieces_.push_back(Take(phase.text));
      kinds_.push_back(kinds.try_emplace(pieces_.back().between, kinds.size()).first->second);
    }
  }

  std::string Write() {
    int64_t whole = 0;
    for (const LoopPhase& phase : phases_) whole += std::ssize(phase.text);
    Round round = whole < 2 * kLeastSpared || phases_.size() > kMostPhases ? Round{} : Best();
    if (round.spared < kLeastSpared || 3 * round.spared < whole) round = {phases_.size(), 0, 0, 0};
    for (size_t i = 0; i < round.first; ++i) WriteAsIs(i);
    if (round.turns > 0) WriteRound(round);
    for (size_t i = round.first + round.length * round.turns; i < phases_.size(); ++i) WriteAsIs(i);
    return text_;
  }

 private:
  void WriteRound(const Round& round) {
    text_ += fmt::format("[[dont_unroll]] for (uint {0} = 0u; {0} < {1}u; ++{0}) {{\n", name_, round.turns);
    for (size_t i = 0; i < round.length; ++i) WriteOfRound(round, i);
    text_ += "}\n";
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
      spared += earlier < round.first + round.length ? -kOfAQuestion : std::ssize(phases_[i].text);
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
    if (phases_[i].waits) text_ += barrier_ + "\n";
    text_ += phases_[i].text;
  }

  void WriteOfRound(const Round& round, size_t phase) {
    const auto index = [&](size_t turn) { return round.first + turn * round.length + phase; };
    bool waits = false;
    for (size_t turn = 0; turn < round.turns; ++turn) waits |= phases_[index(turn)].waits;
    if (waits) text_ += barrier_ + "\n";
    const auto kinds = KindsOf(round, phase);
    for (const auto& [kind, turns] : kinds) {
      uint32_t mask = 0;
      std::vector<size_t> same;
      for (size_t turn : turns) {
        mask |= uint32_t{1} << turn;
        same.push_back(index(turn));
      }
      if (kinds.size() > 1) text_ += fmt::format("if (((1u << {}) & {}u) != 0u) {{\n", name_, mask);
      WriteShared(turns, same);
      if (kinds.size() > 1) text_ += "}\n";
    }
  }

  // One text of phases of one kind, for these turns.
  void WriteShared(const std::vector<size_t>& turns, const std::vector<size_t>& same) {
    const Pieces& pieces = pieces_[same[0]];
    std::map<std::vector<std::string>, std::string> chosen;  // by the tensors of all turns
    std::string addresses, text;
    for (size_t i = 0; i < pieces.tensors.size(); ++i) {
      std::vector<std::string> tensors;
      for (size_t each : same) tensors.push_back(pieces_[each].tensors[i]);
      std::string& tensor = chosen[tensors];
      if (tensor.empty()) {
        tensor = tensors[0];
        if (std::ranges::any_of(tensors, [&](const std::string& each) { return each != tensors[0]; })) {
          tensor = fmt::format("{}_{}", name_, next_++);
          addresses += fmt::format("uvec2 address_{} = ", tensor);
          for (size_t t = 0; t + 1 < turns.size(); ++t)
            addresses += fmt::format("{} == {}u ? address_{} : ", name_, turns[t], tensors[t]);
          addresses += fmt::format("address_{};\n", tensors.back());
        }
      }
      text += pieces.between[i] + tensor;
    }
    text += pieces.between.back();
    text_ += addresses.empty() ? text : "{\n" + addresses + text + "}\n";
  }

  const std::vector<LoopPhase>& phases_;
  const std::string name_, barrier_;
  std::vector<Pieces> pieces_;
  std::vector<size_t> kinds_;  // equal numbers: equal texts but for the tensors
  std::string text_;
  int next_ = 0;
};

}  // namespace

std::string TextOf(const std::vector<LoopPhase>& phases, const std::string& name, const std::string& barrier) {
  return PhaseRepeater(phases, name, barrier).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
