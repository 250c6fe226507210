#include "core/passes/sharding/tiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

IntList PrimesOf(int64_t number) {
  IntList primes;
  for (int64_t p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) primes.push_back(p);
  }
  if (number > 1) primes.push_back(number);
  return primes;
}

int64_t DeviceCount(const DeviceMesh& mesh) {
  int64_t count = 1;
  for (const MeshAxis& axis : mesh.axes) count *= axis.size;
  return count;
}

// By device, where it stands among `size` places of the axis, below `before` and above what is left.
IntList PlacesAlong(const DeviceMesh& mesh, size_t axis, int64_t before, int64_t size) {
  int64_t below = 1;
  for (size_t a = axis + 1; a < mesh.axes.size(); ++a) below *= mesh.axes[a].size;
  below *= mesh.axes[axis].size / (before * size);
  IntList places(static_cast<size_t>(DeviceCount(mesh)));
  for (int64_t i = 0; i < std::ssize(places); ++i) {
    const int64_t device = mesh.ids.empty() ? i : mesh.ids[i];
    places[device] = i / below % size;
  }
  return places;
}

}  // namespace

bool Tiling::is_whole() const {
  return addends.empty() && std::ranges::all_of(dimensions, [](const Atoms& atoms) { return atoms.empty(); });
}

bool Tiling::Uses(int atom) const {
  const auto has = [atom](const Atoms& atoms) { return std::ranges::find(atoms, atom) != atoms.end(); };
  return has(addends) || std::ranges::any_of(dimensions, has);
}

MeshAtoms::MeshAtoms(const DeviceMesh& mesh) : devices_(DeviceCount(mesh)) {
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    int64_t before = 1;
    for (const int64_t prime : PrimesOf(mesh.axes[a].size)) {
      atoms_.push_back({mesh.axes[a].name, mesh.axes[a].size, before, prime, PlacesAlong(mesh, a, before, prime)});
      before *= prime;
    }
  }
}

int64_t MeshAtoms::SizeOf(std::span<const int> atoms) const {
  int64_t size = 1;
  for (const int atom : atoms) size *= this->size(atom);
  return size;
}

std::optional<Atoms> MeshAtoms::Find(const DeviceMesh& mesh, const MeshPart& part) const {
  const auto axis = std::ranges::find(mesh.axes, part.name, &MeshAxis::name);
  if (axis == mesh.axes.end() || DeviceCount(mesh) != devices_) return std::nullopt;
  if (std::ranges::any_of(mesh.ids, [this](int64_t id) { return id < 0 || id >= devices_; })) return std::nullopt;
  Atoms found;
  int64_t before = part.before;
  for (const int64_t prime : PrimesOf(part.size == 0 ? axis->size : part.size)) {
    const IntList places = PlacesAlong(mesh, static_cast<size_t>(axis - mesh.axes.begin()), before, prime);
    const auto atom = std::ranges::find(atoms_, places, &Atom::places);
    if (atom == atoms_.end()) return std::nullopt;
    found.push_back(static_cast<int>(atom - atoms_.begin()));
    before *= prime;
  }
  return found;
}

int MeshAtoms::InParts(const IntList& sizes) const {
  auto known = std::ranges::find(*parts_, sizes);
  if (known == parts_->end()) known = parts_->insert(known, sizes);
  return count() + static_cast<int>(known - parts_->begin());
}

size_t MeshAtoms::PartsAt(const Atoms& atoms) const {
  return static_cast<size_t>(std::ranges::find_if(atoms, [this](int atom) { return IsParts(atom); }) - atoms.begin());
}

Atoms MeshAtoms::WithoutParts(const Atoms& atoms) const {
  Atoms real = atoms;
  std::erase_if(real, [this](int atom) { return IsParts(atom); });
  return real;
}

bool MeshAtoms::Fits(const Atoms& atoms, int64_t size) const {
  if (!Divides(atoms, size)) return false;
  const size_t at = PartsAt(atoms);
  if (at == atoms.size()) return true;
  const std::span<const int> before = std::span(atoms).first(at), behind = std::span(atoms).subspan(at + 1);
  int64_t sum = 0;
  for (const int64_t part : PartsOf(atoms[at])) sum += part % SizeOf(behind) == 0 ? part : size + 1;
  return sum * SizeOf(before) == size && PartsAt(Atoms(behind.begin(), behind.end())) == behind.size();
}

IntList MeshAtoms::Places(std::span<const int> atoms) const {
  IntList places(static_cast<size_t>(devices_));
  for (const int atom : atoms) {
    if (IsParts(atom)) continue;
    for (size_t d = 0; d < places.size(); ++d) {
      places[d] = places[d] * size(atom) + atoms_[atom].places[d];
    }
  }
  return places;
}

IntList MeshAtoms::Starts(std::span<const int> atoms, int64_t size) const {
  return Transformed(Places(atoms), [size](int64_t place) { return place * size; });
}

std::vector<IntList> MeshAtoms::Groups(std::span<const int> atoms) const {
  Atoms others;
  for (int atom = 0; atom < count(); ++atom) {
    if (std::ranges::find(atoms, atom) == atoms.end()) others.push_back(atom);
  }
  const IntList mine = Places(atoms), group = Places(others);
  std::vector<IntList> groups(static_cast<size_t>(SizeOf(others)), IntList(static_cast<size_t>(SizeOf(atoms))));
  for (size_t d = 0; d < mine.size(); ++d) groups[group[d]][mine[d]] = static_cast<int64_t>(d);
  return groups;
}

size_t MeshAtoms::WholeAxes(const Atoms& atoms) const {
  size_t whole = 0;
  int64_t size = 1;  // of the axis so far
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (IsParts(atoms[i])) break;
    const Atom& atom = atoms_[atoms[i]];
    const bool goes_on = i == whole || atom.axis == atoms_[atoms[i - 1]].axis;
    if (!goes_on || atom.before != size) break;
    size *= atom.size;
    if (size != atom.axis_size) continue;
    whole = i + 1;
    size = 1;
  }
  return whole;
}

std::string MeshAtoms::Text(std::span<const int> atoms) const {
  std::string text;
  for (size_t i = 0; i < atoms.size();) {
    if (IsParts(atoms[i])) {
      const IntList& parts = PartsOf(atoms[i++]);
      const bool equal = std::ranges::count(parts, parts[0]) == std::ssize(parts);
      const IntList sizes = equal ? IntList{parts[0]} : parts;
      text += fmt::format("{}{}parts of {}:", text.empty() ? "" : ", ", equal ? fmt::format("{} ", parts.size()) : "",
                          fmt::join(sizes, ", "));
      continue;
    }
    const Atom& first = atoms_[atoms[i]];
    int64_t size = first.size;
    for (++i; i < atoms.size() && !IsParts(atoms[i]); ++i) {
      const Atom& next = atoms_[atoms[i]];
      if (next.axis != first.axis || next.before != first.before * size) break;
      size *= next.size;
    }
    const MeshPart part{first.axis, first.before, size == first.axis_size ? 0 : size};
    text += (text.empty() ? "" : text.ends_with(':') ? " " : ", ") + PartText(part);
  }
  return text;
}

std::string MeshAtoms::Text(const Tiling& tiling) const {
  std::string text;
  for (const Atoms& atoms : tiling.dimensions) text += (text.empty() ? "{" : ", {") + Text(atoms) + "}";
  text = "[" + text + "]";
  if (!tiling.addends.empty()) text += ", unreduced={" + Text(tiling.addends) + "}";
  return text;
}

Shape MeshAtoms::TileShape(Shape whole, const Tiling& tiling) const {
  for (int d = 0; d < whole.rank(); ++d) {
    const Atoms& atoms = tiling.dimensions[d];
    if (!atoms.empty()) whole.set_dimension(d, CeilDivide(whole.dimension(d), SizeOf(atoms)));
  }
  return whole;
}

Sharding MeshAtoms::ToSharding(const Tiling& tiling) const {
  if (tiling.is_whole()) return {};
  Sharding sharding;
  Atoms order, rest;
  for (const Atoms& atoms : tiling.dimensions) {
    sharding.tiles.push_back(SizeOf(atoms));
    order.insert(order.end(), atoms.begin(), atoms.end());
  }
  for (int atom = 0; atom < count(); ++atom) {
    if (!tiling.Uses(atom)) rest.push_back(atom);
  }
  sharding.addends = SizeOf(tiling.addends);
  order.insert(order.end(), rest.begin(), rest.end());
  order.insert(order.end(), tiling.addends.begin(), tiling.addends.end());
  sharding.devices.resize(static_cast<size_t>(devices_));
  const IntList places = Places(order);
  for (size_t d = 0; d < places.size(); ++d) sharding.devices[places[d]] = static_cast<int64_t>(d);
  return sharding;
}

std::optional<Tiling> TilingOf(const MeshAtoms& mesh, const ArraySharding& sharding) {
  const auto take = [&](const std::vector<MeshPart>& parts, Atoms& atoms) {
    for (const MeshPart& part : parts) {
      const std::optional<Atoms> found = mesh.Find(*sharding.mesh, part);
      if (!found) return false;
      atoms.insert(atoms.end(), found->begin(), found->end());
    }
    return true;
  };
  Tiling tiling;
  for (const DimensionSharding& dimension : sharding.dimensions) {
    if (!take(dimension.axes, tiling.dimensions.emplace_back())) return std::nullopt;
  }
  if (!take(sharding.unreduced, tiling.addends)) return std::nullopt;
  return tiling;
}

}  // namespace VXLA_NAMESPACE
