// The elements of dense<...> and array<...>: nested lists of numbers, a splat, or a string of hexadecimal digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE::mlir {

// A splat of more elements stays one: its literal is a scalar. So a short text cannot ask for much memory.
inline constexpr int64_t kMaxExpandedSplat = 64;

// `text` is what stands between the angle brackets. Where an error is, `offset` says in it.
Result<std::shared_ptr<const Literal>> ParseDenseText(std::string_view text, const Shape& shape, size_t& offset);

// One number of a real type: decimal, or 0x... for its bits.
Status ParseDenseNumber(std::string_view text, ElementType type, std::byte* at);

// "0A1b..." (no quotes, no 0x) as bytes.
Result<HostBytes> ParseHexBytes(std::string_view digits);

// The same as the elements of `shape`, or the only one of a splat: decoded where they stay.
Result<std::shared_ptr<const Literal>> LiteralFromHex(const Shape& shape, std::string_view digits);

// What stands between the angle brackets, bits kept.
std::string PrintDense(const Literal& literal);

}  // namespace VXLA_NAMESPACE::mlir
