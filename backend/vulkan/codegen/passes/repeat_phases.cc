#include "backend/vulkan/codegen/passes/repeat_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "core/check.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Text that takes a driver less than a millisecond is not worth a loop.
constexpr int64_t kLeastSpared = 4096;
constexpr int64_t kOfAQuestion = 100;
// Rounds are looked for among all lengths, first phases and turns.
constexpr size_t kMostPhases = 256;

// Gives `between` what stands between the numbers of tensors that accesses name, and `tensor` these.
template <typename Between, typename Tensor>
void CutAtTensors(std::string_view text, Between&& between, Tensor&& tensor) {
  constexpr std::array<std::string_view, 3> kAccesses = {"LOAD(", "STORE(", "ELEMENT("};
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool access = text[at] == '(' && std::ranges::any_of(kAccesses, [&](std::string_view word) {
                          return text.substr(0, at + 1).ends_with(word);
                        });
    size_t end = at + 1;
    while (access && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (!access || end == at + 1 || text[end] != ',') continue;
    between(text.substr(begin, at + 1 - begin));
    tensor(text.substr(at + 1, end - at - 1));
    begin = end;
  }
  between(text.substr(begin));
}

// A phase between the tensors that it names.
struct Pieces {
  std::vector<std::string> between;
  std::vector<std::string> tensors;
};

Pieces Take(std::string_view text) {
  Pieces pieces;
  CutAtTensors(
      text, [&](std::string_view piece) { pieces.between.emplace_back(piece); },
      [&](std::string_view tensor) { pieces.tensors.emplace_back(tensor); });
  return pieces;
}

// The phase with others in the place of its tensors, in their order.
Code WithTensors(Code code, const std::vector<std::string>& tensors) {
  size_t next = 0;
  const auto replace = [&](std::string& text) {
    std::string replaced;
    CutAtTensors(
        text, [&](std::string_view piece) { replaced += piece; },
        [&](std::string_view) { replaced += tensors.at(next++); });
    text = std::move(replaced);
  };
  std::vector<Statement> statements = code.TakeStatements();
  for (Statement& statement : statements) {
    if (statement.kind == Statement::Kind::kStore) statement.tensor = tensors.at(next++);
    for (std::string* text : {&statement.text, &statement.index}) replace(*text);
    if (statement.value) replace(statement.value->text);
    for (Stored& stored : statement.values) replace(stored.text);
  }
  VXLA_CHECK(next == tensors.size(), "a tensor that no statement names");
  return Code(std::move(statements));
}

// `turns` turns of `length` phases, from the phase `first` on.
struct Round {
  size_t first = 0, length = 0, turns = 0;
  int64_t spared = 0;
};

class PhaseRepeater {
 public:
  PhaseRepeater(const std::vector<LoopPhase>& phases, const std::string& name) : phases_(phases), name_(name) {
    std::map<std::vector<std::string>, size_t> kinds;
    for (const LoopPhase& phase : phases) {
      const std::string text = phase.code.Print();
      sizes_.push_back(std::ssize(text));
      pieces_.push_back(Take(text));
      kinds_.push_back(kinds.try_emplace(pieces_.back().between, kinds.size()).first->second);
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
    if (phases_[i].waits) code_ += Barrier();
    code_ += phases_[i].code;
  }

  void WriteOfRound(const Round& round, size_t phase) {
    const auto index = [&](size_t turn) { return round.first + turn * round.length + phase; };
    bool waits = false;
    for (size_t turn = 0; turn < round.turns; ++turn) waits |= phases_[index(turn)].waits;
    if (waits) code_ += Barrier();
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
    const Pieces& pieces = pieces_[same[0]];
    std::map<std::vector<std::string>, std::string> chosen;  // by the tensors of all turns
    std::string addresses;
    std::vector<std::string> names;
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
      names.push_back(tensor);
    }
    if (!addresses.empty()) code_ += "{\n" + addresses;
    code_ += WithTensors(phases_[same[0]].code, names);
    if (!addresses.empty()) code_ += "}\n";
  }

  const std::vector<LoopPhase>& phases_;
  const std::string name_;
  std::vector<Pieces> pieces_;
  std::vector<int64_t> sizes_;  // of their texts
  std::vector<size_t> kinds_;   // equal numbers: equal texts but for the tensors
  Code code_;
  int next_ = 0;
};

}  // namespace

Code RepeatPhases(const std::vector<LoopPhase>& phases, const std::string& name) {
  return PhaseRepeater(phases, name).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
