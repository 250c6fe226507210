// In how few rounds units change places, where each place sends and takes one in a round.
#pragma once

#include <vector>

#include "core/data/dimension_numbers.h"

namespace VXLA_NAMESPACE {

struct ExchangeRounds {
  struct Move {
    int64_t from, to;  // places
    int64_t unit;      // of those that `from` has
  };
  std::vector<std::vector<Move>> rounds;
  // By wanted unit, by place: which of its own units it is, or behind these what the place was given in which round.
  std::vector<IntList> sources;
};

// By place, the units that it has and wants; each unit is had by one place, and wanted by one, and all have as many.
ExchangeRounds RoundsOf(const std::vector<IntList>& has, const std::vector<IntList>& wants);

}  // namespace VXLA_NAMESPACE
