#include "core/devices/exchange_rounds.h"

#include <algorithm>
#include <map>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

struct Wanted {
  ExchangeRounds::Move move;
  size_t slot;  // of what its place wants
  size_t round = 0;
};

// Edges of senders and receivers, coloured with as many rounds as the busiest place has edges (König).
class Colouring {
 public:
  Colouring(std::vector<Wanted>& moves, size_t places, size_t rounds)
      : moves_(moves), at_{Table(places, rounds), Table(places, rounds)} {}

  void Add(size_t move) {
    const size_t sender = Place(move, 0), receiver = Place(move, 1);
    const size_t a = Free(0, sender), b = Free(1, receiver);
    if (at_[1][receiver][a] != kNone) Flip(receiver, a, b);
    Set(move, a);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  using Rows = std::vector<std::vector<size_t>>;  // by place and round, the move
  static Rows Table(size_t places, size_t rounds) { return Rows(places, std::vector<size_t>(rounds, kNone)); }

  size_t Place(size_t move, size_t side) const {
    const ExchangeRounds::Move& ends = moves_[move].move;
    return static_cast<size_t>(side == 0 ? ends.from : ends.to);
  }
  size_t Free(size_t side, size_t place) const {
    const std::vector<size_t>& row = at_[side][place];
    return static_cast<size_t>(std::ranges::find(row, kNone) - row.begin());
  }
  void Set(size_t move, size_t round) {
    moves_[move].round = round;
    for (size_t side = 0; side < 2; ++side) at_[side][Place(move, side)][round] = move;
  }

  // Along the path of moves in rounds a and b, in turn, from the receiver on: each goes to the other round.
  void Flip(size_t receiver, size_t a, size_t b) {
    std::vector<size_t> path;
    size_t side = 1, place = receiver;
    for (size_t round = a;; round = round == a ? b : a) {
      const size_t move = at_[side][place][round];
      if (move == kNone) break;
      path.push_back(move);
      side = 1 - side;
      place = Place(move, side);
    }
    for (const size_t move : path) {
      for (size_t k = 0; k < 2; ++k) at_[k][Place(move, k)][moves_[move].round] = kNone;
    }
    for (const size_t move : path) Set(move, moves_[move].round == a ? b : a);
  }

  std::vector<Wanted>& moves_;
  Rows at_[2];
};

}  // namespace

ExchangeRounds RoundsOf(const std::vector<IntList>& has, const std::vector<IntList>& wants) {
  std::map<int64_t, std::pair<size_t, size_t>> owners;  // of a unit: the place, and which of its units
  for (size_t place = 0; place < has.size(); ++place) {
    for (size_t i = 0; i < has[place].size(); ++i) owners[has[place][i]] = {place, i};
  }
  const size_t units = wants[0].size();
  ExchangeRounds made;
  made.sources.assign(units, IntList(has.size()));
  std::vector<Wanted> moves;
  std::vector<size_t> sent(has.size()), taken(has.size());
  for (size_t place = 0; place < wants.size(); ++place) {
    for (size_t slot = 0; slot < units; ++slot) {
      const auto [owner, unit] = owners.at(wants[place][slot]);
      made.sources[slot][place] = static_cast<int64_t>(unit);
      if (owner == place) continue;
      moves.push_back({{static_cast<int64_t>(owner), static_cast<int64_t>(place), static_cast<int64_t>(unit)}, slot});
      ++sent[owner];
      ++taken[place];
    }
  }
  const size_t rounds = std::max(*std::ranges::max_element(sent), *std::ranges::max_element(taken));
  Colouring colouring(moves, has.size(), rounds);
  for (size_t i = 0; i < moves.size(); ++i) colouring.Add(i);
  made.rounds.resize(rounds);
  for (const Wanted& each : moves) {
    made.rounds[each.round].push_back(each.move);
    made.sources[each.slot][each.move.to] = static_cast<int64_t>(units + each.round);
  }
  return made;
}

}  // namespace VXLA_NAMESPACE
