// Dimensions that are cut in parts: their tiles from those of dimensions that are cut at once, and back.
#include <numeric>

#include "core/devices/exchange_rounds.h"
#include "core/host/ranges.h"
#include "core/passes/sharding/tile_exchange.h"

namespace VXLA_NAMESPACE {
namespace {

// In place of the dimension, these.
Instruction* Split(Expansion into, Instruction* value, int dimension, const IntList& sizes) {
  IntList all = SizesOf(value->shape());
  const auto at = all.erase(all.begin() + dimension);
  all.insert(at, sizes.begin(), sizes.end());
  return into.Reshaped(value, all);
}

// From [blocks, parts of sizes[i]] to [blocks, count, their shares], or back.
Instruction* Dealt(Expansion into, Instruction* value, int dimension, int64_t blocks, const IntList& parts,
                   int64_t count, bool back) {
  const IntList given = SizesOf(value->shape());
  const int64_t block = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  Instruction* const in_blocks =
      Split(into, value, dimension, back ? IntList{blocks, count, block / count} : IntList{blocks, block});
  const int along = dimension + (back ? 2 : 1);
  std::vector<Instruction*> pieces;
  int64_t start = 0;
  for (const int64_t part : parts) {
    const int64_t size = back ? part / count : part;
    Instruction* const piece = into.Slice(in_blocks, along, start, start + size);
    IntList sizes = SizesOf(piece->shape());
    sizes.erase(sizes.begin() + dimension + 1, sizes.begin() + along + 1);
    const IntList dealt = back ? IntList{part} : IntList{count, part / count};
    sizes.insert(sizes.begin() + dimension + 1, dealt.begin(), dealt.end());
    pieces.push_back(into.Reshaped(piece, sizes));
    start += size;
  }
  return into.Reshaped(into.Concatenated(std::move(pieces), dimension + (back ? 1 : 2)), given);
}

// The numbers of the units that each place has of a dimension, in the order of its tile.
std::vector<IntList> UnitsByPlace(const MeshAtoms& mesh, const Atoms& atoms, int64_t whole, int64_t unit) {
  const size_t at = mesh.PartsAt(atoms);
  const bool in_parts = at < atoms.size();
  const int64_t lead = mesh.SizeOf(std::span(atoms).first(at)), all = mesh.SizeOf(atoms), count = all / lead;
  const IntList parts = in_parts ? mesh.PartsOf(atoms[at]) : IntList{whole / lead};
  std::vector<IntList> units(static_cast<size_t>(all));
  for (int64_t place = 0; place < all; ++place) {
    int64_t start = place / count * (whole / lead);
    for (const int64_t part : parts) {
      const int64_t own = part / count, first = start + place % count * own;
      for (int64_t k = 0; k < own; k += unit) units[place].push_back((first + k) / unit);
      start += part;
    }
  }
  return units;
}

}  // namespace

Instruction* TileExchange::InTileOrder(Expansion into, Instruction* value, int dimension, const Atoms& has,
                                       const Atoms& atoms, bool back) {
  const size_t at = mesh_.PartsAt(atoms);
  const std::span<const int> before = std::span(atoms).first(at), behind = std::span(atoms).subspan(at + 1);
  return Dealt(into, value, dimension, mesh_.SizeOf(before) / mesh_.SizeOf(has), mesh_.PartsOf(atoms[at]),
               mesh_.SizeOf(behind), back);
}

// Tiles go in units of which each is one device's before and one device's after.
Instruction* TileExchange::BetweenParts(Expansion into, Instruction* tile, int dimension, int64_t whole,
                                        const Atoms& from, const Atoms& to) {
  constexpr int64_t kMostUnits = 64;  // of a tile
  const Atoms atoms = mesh_.WithoutParts(to);
  const int64_t devices = mesh_.SizeOf(atoms);
  int64_t unit = whole / devices;
  for (const Atoms* cut : {&from, &to}) {
    const size_t at = mesh_.PartsAt(*cut);
    if (at == cut->size()) continue;
    const int64_t count = mesh_.SizeOf(std::span(*cut).subspan(at + 1));
    for (const int64_t part : mesh_.PartsOf((*cut)[at])) unit = std::gcd(unit, part / count);
  }
  const std::vector<IntList> groups = mesh_.Groups(atoms);
  if (whole / devices / unit > kMostUnits) {
    tile = AllGather(into, tile, dimension, groups);
    if (mesh_.PartsAt(from) < from.size()) tile = InTileOrder(into, tile, dimension, {}, from, true);
    if (mesh_.PartsAt(to) < to.size()) tile = InTileOrder(into, tile, dimension, {}, to, false);
    return PartAt(into, tile, dimension, whole / devices, mesh_.Places(atoms));
  }
  const std::vector<IntList> has = UnitsByPlace(mesh_, from, whole, unit), wants = UnitsByPlace(mesh_, to, whole, unit);
  const IntList places = mesh_.Places(atoms);
  const auto by_device = [&](const IntList& by_place) {
    return Transformed(places, [&](const int64_t place) { return by_place[place]; });
  };
  const ExchangeRounds rounds = RoundsOf(has, wants);
  std::vector<Instruction*> pieces{tile};
  for (const std::vector<ExchangeRounds::Move>& round : rounds.rounds) {
    IntList starts(static_cast<size_t>(devices), 0);
    CollectivePermuteAttributes pairs;
    pairs.channel_id = 1;
    for (const ExchangeRounds::Move& move : round) {
      starts[move.from] = move.unit;
      for (const IntList& group : groups) pairs.source_target_pairs.emplace_back(group[move.from], group[move.to]);
    }
    std::ranges::sort(pairs.source_target_pairs);
    Instruction* const part = PartAt(into, tile, dimension, unit, by_device(starts));
    pieces.push_back(into.Add(Opcode::kCollectivePermute, part->shape(), {part}, std::move(pairs)));
  }
  Instruction* const all = into.Concatenated(std::move(pieces), dimension);
  std::vector<Instruction*> parts = Transformed(
      rounds.sources, [&](const IntList& by_place) { return PartAt(into, all, dimension, unit, by_device(by_place)); });
  return into.Concatenated(std::move(parts), dimension);
}

// Of `size` elements, the part with the device's number.
Instruction* TileExchange::PartAt(Expansion into, Instruction* value, int dimension, int64_t size, IntList numbers) {
  const bool same = std::ranges::all_of(numbers, [&](int64_t number) { return number == numbers[0]; });
  if (same) return into.Slice(value, dimension, numbers[0] * size, (numbers[0] + 1) * size);
  for (int64_t& number : numbers) number *= size;
  std::vector<IntList> starts(static_cast<size_t>(value->shape().rank()));
  starts[dimension] = std::move(numbers);
  Shape part = value->shape();
  part.set_dimension(dimension, size);
  return CutAt(into, value, part, starts);
}

Instruction* TileExchange::Reshard(Expansion into, Instruction* tile, const Shape& whole, Tiling from, const Tiling& to,
                                   Opcode joins) {
  if (from == to) return tile;
  Tiling plain = to;
  std::vector<std::pair<size_t, Atoms>> back, dealt;  // dimensions that are put in order, or exchanged, afterwards
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    Atoms &has = from.dimensions[d], &wants = plain.dimensions[d];
    if (has == wants) continue;
    const int dimension = static_cast<int>(d);
    const size_t has_parts = mesh_.PartsAt(has), wants_parts = mesh_.PartsAt(wants);
    const auto begins = [](const Atoms& atoms, const Atoms& all, size_t most) {
      return atoms.size() <= most && std::equal(atoms.begin(), atoms.end(), all.begin());
    };
    if (has_parts < has.size()) {
      const Atoms real = mesh_.WithoutParts(has);
      if (real == mesh_.WithoutParts(wants)) {
        tile = BetweenParts(into, tile, dimension, whole.dimension(dimension), has, wants);
        has = wants;
        continue;
      }
      if (begins(wants, has, has_parts)) {
        back.emplace_back(d, has);
      } else {
        tile = BetweenParts(into, tile, dimension, whole.dimension(dimension), has, real);
      }
      has = real;
    }
    if (wants_parts == wants.size()) continue;
    if (begins(has, wants, wants_parts)) {
      tile = InTileOrder(into, tile, dimension, has, wants, false);
      wants = mesh_.WithoutParts(wants);
    } else {
      dealt.emplace_back(d, wants);
      wants = mesh_.WithoutParts(wants);
    }
  }
  tile = ReshardPlain(into, tile, whole, from, plain, joins);
  for (const auto& [d, atoms] : back)
    tile = InTileOrder(into, tile, static_cast<int>(d), to.dimensions[d], atoms, true);
  for (const auto& [d, atoms] : dealt) {
    const int dimension = static_cast<int>(d);
    tile = BetweenParts(into, tile, dimension, whole.dimension(dimension), mesh_.WithoutParts(atoms), atoms);
  }
  return tile;
}

}  // namespace VXLA_NAMESPACE
