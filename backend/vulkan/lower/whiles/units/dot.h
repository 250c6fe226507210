// Products inside a loop that one workgroup runs, in tiles of registers.
#pragma once

#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/whiles/units/rows.h"

namespace VXLA_NAMESPACE::vulkan {

// A lane owns `rows` by `columns` results at a time and takes `k_step` values of k a turn. `shares`: the lanes of a
// subgroup have the same rows, so each loads one of them and hands it round. `in_turn`: where a tile has more sums than
// a processor has registers, four sums at a time take all values of k of a step, so that each leaves memory once.
struct LoopTile {
  int64_t rows = 1, columns = 1, k_step = 1;
  bool shares = false, in_turn = false;
};
// None where the product is better a row program.
std::optional<LoopTile> TileLoopDot(const LowerContext& context, const ProductReader& reader, uint32_t lanes,
                                    LoopShare share);
// Whether all sums are stored before any result is: what follows the sum would be written out for every result of a
// tile.
inline bool StoresSumsFirst(const FusionDescription& body) { return !body.epilogue.empty(); }
int64_t IterationsOf(const LoopTile& tile, const ProductReader& reader, uint32_t lanes, int64_t parts);

Code WriteLoopDot(const ProductReader& reader, BufferMap& buffers, const LoopTile& tile, const LoopUnit& unit);

}  // namespace VXLA_NAMESPACE::vulkan
