// How an array lies on the devices, in atoms: the axes of a mesh, cut into parts of prime sizes. All that is computed
// with shardings is computed with lists of atoms; sub-axes, and meshes that cut the devices in the same way, are such
// lists too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/devices/array_sharding.h"
#include "core/host/ranges.h"
#include "core/ir/sharding.h"

namespace VXLA_NAMESPACE {

using Atoms = std::vector<int>;  // numbers of atoms, major to minor
struct Tiling {
  std::vector<Atoms> dimensions;
  Atoms addends;  // along these the array is the sum of what devices have

  bool is_whole() const;
  bool Uses(int atom) const;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};
inline Tiling WholeTiling(int rank) { return {std::vector<Atoms>(static_cast<size_t>(rank)), {}}; }

class MeshAtoms {
 public:
  MeshAtoms() = default;
  // Expects a mesh that MeshGroups takes.
  explicit MeshAtoms(const DeviceMesh& mesh);

  int64_t devices() const { return devices_; }
  int count() const { return static_cast<int>(atoms_.size()); }
  int64_t size(int atom) const { return IsParts(atom) ? 1 : atoms_[atom].size; }
  int64_t SizeOf(std::span<const int> atoms) const;
  // Of this or another mesh: nothing where no atoms lie along the part.
  std::optional<Atoms> Find(const DeviceMesh& mesh, const MeshPart& part) const;
  // What stands between the atoms of a dimension that is cut in parts: of what those before it leave of the dimension,
  // each of these parts is cut among those behind it. Like an atom of size 1. Expects two parts at least.
  int InParts(const IntList& sizes) const;
  bool IsParts(int atom) const { return atom >= count(); }
  const IntList& PartsOf(int atom) const { return (*parts_)[atom - count()]; }
  // Where in these atoms; behind them where all is cut at once.
  size_t PartsAt(const Atoms& atoms) const;
  Atoms WithoutParts(const Atoms& atoms) const;
  // By device, its place along these atoms, and where elements begin of which each place has so many.
  IntList Places(std::span<const int> atoms) const;
  IntList Starts(std::span<const int> atoms, int64_t size) const;
  // Devices that differ only in these atoms, in the order of their places.
  std::vector<IntList> Groups(std::span<const int> atoms) const;
  // How many of the first ones are axes of the mesh, none of them in part.
  size_t WholeAxes(const Atoms& atoms) const;
  // `"x", "y":(1)2`
  std::string Text(std::span<const int> atoms) const;
  // `[{"x"}, {}], unreduced={"y"}`
  std::string Text(const Tiling& tiling) const;

  // Of a dimension of that size. Where that is false, tiles are filled up with elements of any values.
  bool Divides(std::span<const int> atoms, int64_t size) const { return size % SizeOf(atoms) == 0; }
  // Whether each part, or all of the dimension, is so many equal tiles.
  bool Fits(const Atoms& atoms, int64_t size) const;
  // The tile of a whole array: the largest one.
  Shape TileShape(Shape whole, const Tiling& tiling) const;
  Sharding ToSharding(const Tiling& tiling) const;

 private:
  struct Atom {
    std::string axis;
    int64_t axis_size = 1, before = 1, size = 1;
    IntList places;  // by device
  };
  std::vector<Atom> atoms_;
  std::shared_ptr<std::vector<IntList>> parts_ =
      std::make_shared<std::vector<IntList>>();  // numbered as they are asked for
  int64_t devices_ = 1;
};

// The atoms of a sharding; nothing where they are none of this mesh's.
std::optional<Tiling> TilingOf(const MeshAtoms& mesh, const ArraySharding& sharding);

}  // namespace VXLA_NAMESPACE
