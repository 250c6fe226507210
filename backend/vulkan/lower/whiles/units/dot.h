// Products inside a loop that one workgroup runs, in tiles of registers.
#pragma once

#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/whiles/units/shape.h"
#include "backend/vulkan/lower/whiles/units/unit.h"

namespace VXLA_NAMESPACE::vulkan {

// None where the product is better a row program.
std::optional<LoopTile> TileLoopDot(const LowerContext& context, const ProductReader& reader, uint32_t lanes,
                                    LoopShare share);
// Whether all sums are stored before any result is: what follows the sum would be written out for every result of a
// tile.
inline bool StoresSumsFirst(const FusionDescription& body) { return !body.epilogue.empty(); }
int64_t IterationsOf(const LoopTile& tile, const ProductReader& reader, uint32_t lanes, int64_t parts);

Code WriteLoopDot(const ProductReader& reader, BufferMap& buffers, const LoopTile& tile, const LoopUnit& unit);

}  // namespace VXLA_NAMESPACE::vulkan
