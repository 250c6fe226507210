#include "core/passes/sharding/tile_exchange.h"

#include <algorithm>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {

namespace {

CollectiveAttributes Over(std::vector<IntList> groups, IntList dimensions = {}) {
  CollectiveAttributes over;
  over.channel_id = 1;
  over.use_global_device_ids = true;
  over.dimensions = std::move(dimensions);
  over.replica_groups.groups = std::move(groups);
  return over;
}

size_t CommonLength(const Atoms& a, const Atoms& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool ContainsAll(const Atoms& all, std::span<const int> some) {
  return std::ranges::all_of(some, [&](int atom) { return std::ranges::find(all, atom) != all.end(); });
}

// What of `to` follows all of `from`; nothing where `from` does not begin it.
std::span<const int> Rest(const Atoms& from, const Atoms& to) {
  if (CommonLength(from, to) != from.size()) return {};
  return std::span(to).subspan(from.size());
}

// How far a device's elements reach beyond its tile, on all devices: into the tiles beside it, and at all.
struct Reach {
  int64_t given_low = 0, given_high = 0, low = 0, high = 0;
};
Reach ReachOf(int64_t tile, int64_t count, int64_t whole, const TileSource& source) {
  Reach reach;
  for (int64_t place = 0; place < count; ++place) {
    const int64_t own = place * tile, begin = place * source.step - source.low, end = begin + source.size;
    reach.low = std::max(reach.low, own - begin);
    reach.high = std::max(reach.high, end - own - tile);
    const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, whole);
    if (first >= last) continue;
    reach.given_low = std::max(reach.given_low, own - first);
    reach.given_high = std::max(reach.given_high, last - own - tile);
  }
  return reach;
}

// Of the first `size` elements of the dimension: filled up, or cut.
Instruction* Resized(Expansion into, Instruction* value, int dimension, int64_t size) {
  const int64_t has = value->shape().dimension(dimension);
  return size > has ? into.Padded(value, dimension, 0, size - has) : into.Slice(value, dimension, 0, size);
}

}  // namespace

Instruction* TileExchange::OfDevice(Expansion into, const IntList& values) {
  const Shape listed(ElementType::kS32, {std::ssize(values)});
  Literal table(listed);
  for (size_t i = 0; i < values.size(); ++i) table.SetInt(static_cast<int64_t>(i), values[i]);
  Instruction* const all = into.Constant(std::move(table));
  Instruction* const device = into.Add(Opcode::kPartitionId, Shape(ElementType::kU32));
  Instruction* const own =
      into.Add(Opcode::kDynamicSlice, Shape(ElementType::kS32, {1}), {all, device}, DynamicSliceAttributes{{1}});
  return into.Reshaped(own, {});
}

Computation* TileExchange::ReducerOf(Opcode operation, ElementType type) {
  Computation*& reducer = reducers_[{operation, type}];
  if (reducer != nullptr) return reducer;
  return reducer = AddCombiner(module_, operation, type, operation == Opcode::kAdd ? "sum" : "");
}

Instruction* TileExchange::AllGather(Expansion into, Instruction* tile, int dimension, std::vector<IntList> groups) {
  Shape gathered = tile->shape();
  gathered.set_dimension(dimension, gathered.dimension(dimension) * std::ssize(groups[0]));
  return into.Add(Opcode::kAllGather, gathered, {tile}, Over(std::move(groups), {dimension}));
}

Instruction* TileExchange::AllReduce(Expansion into, Instruction* tile, std::vector<IntList> groups, Opcode joins) {
  return into.Add(Opcode::kAllReduce, tile->shape(), {tile}, Over(std::move(groups)),
                  {ReducerOf(joins, tile->shape().element_type())});
}

Instruction* TileExchange::CutAt(Expansion into, Instruction* whole, const Shape& tile,
                                 const std::vector<IntList>& starts) {
  std::vector<Instruction*> operands{whole};
  for (const IntList& start : starts) {
    operands.push_back(start.empty() ? into.Number(ElementType::kS32, 0) : OfDevice(into, start));
  }
  return into.Add(Opcode::kDynamicSlice, tile, std::move(operands), DynamicSliceAttributes{SizesOf(tile)});
}

Instruction* TileExchange::OnlyOn(Expansion into, const IntList& is_there, Instruction* tile, Instruction* elsewhere) {
  const Shape& shape = tile->shape();
  Instruction* const one = into.Number(ElementType::kS32, 1);
  Instruction* const there = into.Compare(ComparisonDirection::kEq, OfDevice(into, is_there), one);
  Instruction* const everywhere = into.SpreadAs(there, shape);
  return into.Select(everywhere, tile, into.SpreadAs(elsewhere, shape));
}

bool TileExchange::ReachesNext(int64_t tile, int64_t count, int64_t whole, const TileSource& source) {
  const Reach reach = ReachOf(tile, count, whole, source);
  return std::max(reach.given_low, reach.given_high) <= tile;
}

Instruction* TileExchange::Shifted(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t whole,
                                   const TileSource& source) {
  const auto& [step, size, low, pad_low, pad_high] = source;
  const int64_t own = tile->shape().dimension(dimension), count = mesh_.SizeOf(atoms);
  const Reach reach = ReachOf(own, count, whole, source);
  tile = WithEdges(into, tile, dimension, atoms, reach.given_low, reach.given_high);
  tile = into.Padded(tile, dimension, reach.low - reach.given_low, reach.high - reach.given_high);
  if (own == step) return into.Slice(tile, dimension, reach.low - low, reach.low - low + size);
  std::vector<IntList> starts(static_cast<size_t>(tile->shape().rank()));
  IntList& start = starts[dimension] = mesh_.Places(atoms);
  for (int64_t& place : start) place = place * (step - own) - low + reach.low;
  Shape part = tile->shape();
  part.set_dimension(dimension, size);
  return CutAt(into, tile, part, starts);
}

// Place p gets its elements, from the last one on, of the tile at count - 1 - p, or where the last tiles are filled up
// of those that lie so much further in front.
Instruction* TileExchange::Mirrored(Expansion into, Instruction* tile, int dimension, const Atoms& atoms,
                                    int64_t whole) {
  const int64_t size = tile->shape().dimension(dimension), count = mesh_.SizeOf(atoms);
  if (size == 0) return tile;
  const int64_t filler = size * count - whole, tiles = filler / size, rest = filler % size;
  const auto given = [&](int64_t start, int64_t elements, int64_t further) {
    Instruction* const part = into.Slice(tile, dimension, start, start + elements);
    CollectivePermuteAttributes pairs;
    pairs.channel_id = 1;
    for (const IntList& group : mesh_.Groups(atoms)) {
      for (int64_t place = 0; place + further < count; ++place)
        pairs.source_target_pairs.emplace_back(group[count - 1 - place - further], group[place]);
    }
    std::ranges::sort(pairs.source_target_pairs);
    return into.Add(Opcode::kCollectivePermute, part->shape(), {part}, std::move(pairs));
  };
  Instruction* const first = given(0, size - rest, tiles);
  if (rest == 0) return first;
  Instruction* const behind = given(size - rest, rest, tiles + 1);
  return into.Add(Opcode::kConcatenate, tile->shape(), {behind, first}, DimensionsAttributes{{dimension}});
}

Instruction* TileExchange::ShiftedWhole(Expansion into, Instruction* array, int dimension, const Atoms& atoms,
                                        int64_t size, int64_t low) {
  Shape part = array->shape();
  const int64_t last = part.dimension(dimension) + size;
  std::vector<IntList> starts(static_cast<size_t>(part.rank()));
  IntList& start = starts[dimension] = mesh_.Places(atoms);
  for (int64_t& place : start) place = std::clamp<int64_t>(place * size - low + size, 0, last);
  part.set_dimension(dimension, size);
  return CutAt(into, into.Padded(array, dimension, size, size), part, starts);
}

Instruction* TileExchange::Masked(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t first,
                                  int64_t end, Instruction* outside) {
  const int64_t size = tile->shape().dimension(dimension);
  return Masked(into, tile, dimension, atoms, first, end, outside, {size, size});
}

Instruction* TileExchange::Masked(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t first,
                                  int64_t end, Instruction* outside, const TileSource& source) {
  const Shape& shape = tile->shape();
  const int64_t size = source.size, last = (mesh_.SizeOf(atoms) - 1) * source.step - source.low + size;
  if (outside == nullptr) outside = into.Zero(shape.element_type());
  const auto keep = [&](int64_t bound, ComparisonDirection direction) {
    IntList bounds = mesh_.Places(atoms);
    for (int64_t& place : bounds) place = std::clamp<int64_t>(bound - place * source.step + source.low, 0, size);
    Instruction* const at = into.Iota(ElementType::kS32, SizesOf(shape), dimension);
    Instruction* const is_inside = into.Compare(direction, at, into.SpreadAs(OfDevice(into, bounds), shape));
    Instruction* const others = outside->shape().rank() == shape.rank() ? outside : into.SpreadAs(outside, shape);
    tile = into.Select(is_inside, tile, others);
  };
  if (first > -source.low) keep(first, ComparisonDirection::kGe);
  if (end < last) keep(end, ComparisonDirection::kLt);
  return tile;
}

Instruction* TileExchange::Gather(Expansion into, Instruction* tile, const Sharding& sharding) {
  if (sharding.addends > 1) tile = AllReduce(into, tile, sharding.GroupsOfAddends(), Opcode::kAdd);
  for (size_t d = 0; d < sharding.tiles.size(); ++d) {
    if (sharding.tiles[d] > 1) tile = AllGather(into, tile, static_cast<int>(d), sharding.GroupsAlong(d));
  }
  return tile;
}

Instruction* TileExchange::Cut(Expansion into, Instruction* whole, const Sharding& sharding) {
  if (!sharding.is_cut()) return whole;
  const Result<Shape> tile = sharding.TileOf(whole->shape());
  VXLA_CHECK(tile.ok(), tile.status().message());
  std::vector<IntList> starts(sharding.tiles.size());
  for (size_t d = 0; d < starts.size(); ++d) {
    if (sharding.tiles[d] == 1) continue;
    starts[d] = sharding.TileNumbers(d);
    for (int64_t& start : starts[d]) start *= tile->dimension(d);
  }
  Instruction* const cut = *tile == whole->shape() ? whole : CutAt(into, whole, *tile, starts);
  if (sharding.addends == 1) return cut;
  IntList is_first(sharding.devices.size(), 0);
  for (const IntList& group : sharding.GroupsOfAddends()) is_first[group[0]] = 1;
  return OnlyOn(into, is_first, cut, into.Zero(cut->shape().element_type()));
}

// The end of the tile before, or the beginning of the tile behind; zeros where there is none.
Instruction* TileExchange::Edge(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t size,
                                bool is_low) {
  const int64_t start = is_low ? tile->shape().dimension(dimension) - size : 0;
  Instruction* const edge = into.Slice(tile, dimension, start, start + size);
  CollectivePermuteAttributes pairs;
  pairs.channel_id = 1;
  for (const IntList& group : mesh_.Groups(atoms)) {
    for (size_t k = 0; k + 1 < group.size(); ++k)
      pairs.source_target_pairs.emplace_back(group[is_low ? k : k + 1], group[is_low ? k + 1 : k]);
  }
  std::ranges::sort(pairs.source_target_pairs);
  return into.Add(Opcode::kCollectivePermute, edge->shape(), {edge}, std::move(pairs));
}

Instruction* TileExchange::WithEdges(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t low,
                                     int64_t high) {
  std::vector<Instruction*> parts;
  if (low > 0) parts.push_back(Edge(into, tile, dimension, atoms, low, true));
  parts.push_back(tile);
  if (high > 0) parts.push_back(Edge(into, tile, dimension, atoms, high, false));
  return into.Concatenated(std::move(parts), dimension);
}

// Sums are made, in tiles where `to` goes on with what the sums are over.
Instruction* TileExchange::Join(Expansion into, Instruction* tile, const Shape& whole, Tiling& from, const Tiling& to,
                                Opcode joins) {
  Atoms open;
  for (const int atom : from.addends) {
    if (!ContainsAll(to.addends, std::span(&atom, 1))) open.push_back(atom);
  }
  std::erase_if(from.addends, [&](int atom) { return ContainsAll(open, std::span(&atom, 1)); });
  Computation* const reducer = open.empty() ? nullptr : ReducerOf(joins, tile->shape().element_type());
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    const std::span<const int> rest = Rest(from.dimensions[d], to.dimensions[d]);
    if (rest.empty() || !ContainsAll(open, rest)) continue;
    if (!from.dimensions[d].empty() && !IsEven(whole, to, d)) continue;
    const int dimension = static_cast<int>(d);
    Shape part = tile->shape();
    part.set_dimension(dimension, CeilDivide(part.dimension(dimension), mesh_.SizeOf(rest)));
    tile = Resized(into, tile, dimension, part.dimension(dimension) * mesh_.SizeOf(rest));
    tile = into.Add(Opcode::kReduceScatter, part, {tile}, Over(mesh_.Groups(rest), {dimension}), {reducer});
    std::erase_if(open, [&](int atom) { return std::ranges::find(rest, atom) != rest.end(); });
    from.dimensions[d] = to.dimensions[d];
  }
  return open.empty() ? tile : AllReduce(into, tile, mesh_.Groups(open), joins);
}

// A tile among zeros is an addend of the array: nothing is sent.
Instruction* TileExchange::Spread(Expansion into, Instruction* tile, const Shape& whole, Tiling& from,
                                  const Tiling& to) {
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    const std::span<const int> rest = Rest(to.dimensions[d], from.dimensions[d]);
    if (rest.empty() || !ContainsAll(to.addends, rest) || !IsEven(whole, from, d)) continue;
    Shape shape = tile->shape();
    const int64_t size = shape.dimension(d);
    shape.set_dimension(d, size * mesh_.SizeOf(rest));
    Instruction* const zero = into.Zero(shape.element_type());
    std::vector<Instruction*> operands{into.SpreadAs(zero, shape), tile};
    for (size_t k = 0; k < from.dimensions.size(); ++k)
      operands.push_back(k == d ? OfDevice(into, mesh_.Starts(rest, size)) : into.Number(ElementType::kS32, 0));
    tile = into.Add(Opcode::kDynamicUpdateSlice, shape, std::move(operands));
    from.addends.insert(from.addends.end(), rest.begin(), rest.end());
    from.dimensions[d] = to.dimensions[d];
  }
  return tile;
}

// Tiles of the same shape that lie on other devices.
Instruction* TileExchange::Permute(Expansion into, Instruction* tile, Tiling& from, const Tiling& to) {
  Atoms had, wanted;
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    if (mesh_.SizeOf(from.dimensions[d]) != mesh_.SizeOf(to.dimensions[d])) return tile;
    had.insert(had.end(), from.dimensions[d].begin(), from.dimensions[d].end());
    wanted.insert(wanted.end(), to.dimensions[d].begin(), to.dimensions[d].end());
  }
  if (had == wanted) return tile;
  for (Atoms* const atoms : {&had, &wanted}) atoms->insert(atoms->end(), from.addends.begin(), from.addends.end());
  const IntList has = mesh_.Places(had), wants = mesh_.Places(wanted);
  std::vector<IntList> holders(static_cast<size_t>(mesh_.SizeOf(had)));
  for (size_t d = 0; d < has.size(); ++d) holders[has[d]].push_back(d);
  CollectivePermuteAttributes pairs;
  pairs.channel_id = 1;
  // Who has it already keeps it.
  for (size_t d = 0; d < has.size(); ++d) {
    if (has[d] != wants[d]) continue;
    std::erase(holders[has[d]], static_cast<int64_t>(d));
    pairs.source_target_pairs.emplace_back(d, d);
  }
  for (size_t d = 0; d < has.size(); ++d) {
    if (has[d] == wants[d]) continue;
    IntList& left = holders[wants[d]];
    pairs.source_target_pairs.emplace_back(left.front(), d);
    left.erase(left.begin());
  }
  std::ranges::sort(pairs.source_target_pairs);
  from.dimensions = to.dimensions;
  return into.Add(Opcode::kCollectivePermute, tile->shape(), {tile}, std::move(pairs));
}

// [.., m, .., n / k of k, ..]: along `split` each device has all and gives a part to each of the group, along `joined`
// it gets theirs.
Instruction* TileExchange::AllToAll(Expansion into, Instruction* tile, int joined, int split, const Atoms& atoms) {
  const int64_t count = mesh_.SizeOf(atoms);
  IntList sizes = SizesOf(tile->shape());
  const size_t at = static_cast<size_t>(split);
  sizes[at] /= count;
  IntList parted = sizes;
  parted.insert(parted.begin() + split, count);
  tile = into.Reshaped(tile, parted);
  CollectiveAttributes over = Over(mesh_.Groups(atoms), {split});
  over.use_global_device_ids = false;
  tile = into.Add(Opcode::kAllToAll, tile->shape(), {tile}, std::move(over));
  // The parts' dimension goes in front of the joined one.
  IntList permutation;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    if (d == joined) permutation.push_back(split);
    permutation.push_back(d < split ? d : d + 1);
  }
  tile = into.Transposed(tile, permutation);
  sizes[joined] *= count;
  return into.Reshaped(tile, sizes);
}

bool TileExchange::IsEven(const Shape& whole, const Tiling& tiling, size_t dimension) const {
  return mesh_.Divides(tiling.dimensions[dimension], whole.dimension(dimension));
}

// How many atoms of the dimension may stay on the way from one to the other.
size_t TileExchange::Kept(const Shape& whole, const Tiling& from, const Tiling& to, size_t dimension) const {
  const Atoms &has = from.dimensions[dimension], &wants = to.dimensions[dimension];
  if (has != wants && (!IsEven(whole, from, dimension) || !IsEven(whole, to, dimension))) return 0;
  return CommonLength(has, wants);
}

// Where a dimension ends with what another one is to go on with.
Instruction* TileExchange::Exchange(Expansion into, Instruction* tile, const Shape& whole, Tiling& from,
                                    const Tiling& to) {
  for (size_t i = 0; i < from.dimensions.size(); ++i) {
    const size_t common = Kept(whole, from, to, i);
    const Atoms given(from.dimensions[i].begin() + static_cast<ptrdiff_t>(common), from.dimensions[i].end());
    if (given.empty()) continue;
    for (size_t j = 0; j < from.dimensions.size(); ++j) {
      const std::span<const int> rest = Rest(from.dimensions[j], to.dimensions[j]);
      if (i == j || rest.size() < given.size() || !std::equal(given.begin(), given.end(), rest.begin())) continue;
      if (!IsEven(whole, to, j) && (!from.dimensions[j].empty() || rest.size() > given.size())) continue;
      const int split = static_cast<int>(j);
      const int64_t parts = mesh_.SizeOf(given);
      tile = Resized(into, tile, split, CeilDivide(tile->shape().dimension(split), parts) * parts);
      tile = AllToAll(into, tile, static_cast<int>(i), static_cast<int>(j), given);
      from.dimensions[i].resize(common);
      if (common == 0) tile = Resized(into, tile, static_cast<int>(i), whole.dimension(i));
      from.dimensions[j].insert(from.dimensions[j].end(), given.begin(), given.end());
      break;
    }
  }
  return tile;
}

// As far as what is to follow cuts nothing yet.
Instruction* TileExchange::CutAlong(Expansion into, Instruction* tile, const Shape& whole, Tiling& from,
                                    const Tiling& to) {
  std::vector<IntList> starts(from.dimensions.size());
  Shape part = tile->shape();
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    Atoms more;
    for (const int atom : Rest(from.dimensions[d], to.dimensions[d])) {
      if (from.Uses(atom)) break;
      more.push_back(atom);
    }
    if (more.empty() || (!IsEven(whole, to, d) && more != to.dimensions[d])) continue;
    const int dimension = static_cast<int>(d);
    const int64_t parts = mesh_.SizeOf(more);
    part.set_dimension(dimension, CeilDivide(part.dimension(dimension), parts));
    tile = Resized(into, tile, dimension, part.dimension(dimension) * parts);
    starts[d] = mesh_.Starts(more, part.dimension(dimension));
    from.dimensions[d].insert(from.dimensions[d].end(), more.begin(), more.end());
  }
  return part == tile->shape() ? tile : CutAt(into, tile, part, starts);
}

// The dimension that has something other than `to`, of these the one whose tiles grow least.
std::optional<size_t> TileExchange::LeastToGather(const Shape& whole, const Tiling& from, const Tiling& to) const {
  std::optional<size_t> least;
  int64_t growth = 0;
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    const size_t common = Kept(whole, from, to, d);
    if (common == from.dimensions[d].size()) continue;
    const int64_t grows = mesh_.SizeOf(std::span(from.dimensions[d]).subspan(common));
    if (!least || grows < growth) {
      least = d;
      growth = grows;
    }
  }
  return least;
}

// The atoms of each dimension in an order that begins as `to` does, so that the others may be gathered.
Tiling TileExchange::WantedFirst(const Shape& whole, const Tiling& from, const Tiling& to) const {
  Tiling ordered = from;
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    if (!IsEven(whole, from, d) || !IsEven(whole, to, d)) continue;
    Atoms &atoms = ordered.dimensions[d], first;
    for (const int atom : to.dimensions[d]) {
      if (!Contains(atoms, atom)) break;
      first.push_back(atom);
    }
    std::erase_if(atoms, [&](int atom) { return Contains(first, atom); });
    atoms.insert(atoms.begin(), first.begin(), first.end());
  }
  return ordered;
}

Instruction* TileExchange::ReshardPlain(Expansion into, Instruction* tile, const Shape& whole, Tiling from,
                                        const Tiling& to, Opcode joins) {
  if (from == to) return tile;
  tile = Join(into, tile, whole, from, to, joins);
  tile = Spread(into, tile, whole, from, to);
  tile = CutAlong(into, tile, whole, from, to);
  tile = Permute(into, tile, from, to);
  tile = Permute(into, tile, from, WantedFirst(whole, from, to));
  tile = Exchange(into, tile, whole, from, to);
  while (const std::optional<size_t> least = LeastToGather(whole, from, to)) {
    const int dimension = static_cast<int>(*least);
    Atoms& atoms = from.dimensions[*least];
    const size_t kept = Kept(whole, from, to, *least);
    tile = AllGather(into, tile, dimension, mesh_.Groups(std::span(atoms).subspan(kept)));
    atoms.resize(kept);
    if (kept == 0) tile = Resized(into, tile, dimension, whole.dimension(dimension));
    tile = Exchange(into, tile, whole, from, to);
  }
  tile = CutAlong(into, tile, whole, from, to);
  Atoms more;
  for (const int atom : to.addends) {
    if (!ContainsAll(from.addends, std::span(&atom, 1))) more.push_back(atom);
  }
  if (more.empty()) return tile;
  IntList is_first = mesh_.Places(more);
  for (int64_t& place : is_first) place = place == 0 ? 1 : 0;
  return OnlyOn(into, is_first, tile, into.Zero(tile->shape().element_type()));
}

}  // namespace VXLA_NAMESPACE
