// What the properties of an operation are where MLIR writes dialects as they are, without VHLO.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace VXLA_NAMESPACE::mlir {

// The names in the order of their encoding, "a b? c": b may be absent. Of "stablehlo.sort", "tensor.pad" and the like;
// null: not known.
std::optional<std::string> StablehloProperties(std::string_view operation);

// Such an attribute is a list of i32 that stands in the properties itself: how many operands each part has.
// "operandSegmentSizes=3" says that there are three parts.
inline constexpr std::string_view kSegmentSizes = "operandSegmentSizes";

}  // namespace VXLA_NAMESPACE::mlir
