// ElementType: every element type of XLA, with its name in HLO text and the facts of its storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/check.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

enum class ElementType : uint8_t {
  kPred,
  kS1,
  kS2,
  kS4,
  kS8,
  kS16,
  kS32,
  kS64,
  kU1,
  kU2,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF4E2M1FN,
  kF6E2M3FN,  // f6: StableHLO's, not XLA's
  kF6E3M2FN,
  kF8E3M4,
  kF8E4M3,
  kF8E4M3FN,
  kF8E4M3B11FNUZ,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
  kToken,
  kOpaque,
  kTuple,
};
inline constexpr int kElementTypeCount = static_cast<int>(ElementType::kTuple) + 1;

// "f32", "pred", "f8e4m3fn", ...
std::string_view ElementTypeName(ElementType type);
std::optional<ElementType> ParseElementType(std::string_view name);

// Bits of one element's value: 1 for pred, 4 for s4, 64 for c64; 0 for token, opaque and tuple.
int BitWidth(ElementType type);
// Bytes that one element takes in a literal and in device memory: sub-byte types take one byte an element.
int StorageBytes(ElementType type);

bool IsSigned(ElementType type);    // signed integers
bool IsUnsigned(ElementType type);  // unsigned integers, without pred
bool IsInteger(ElementType type);   // both, without pred
bool IsFloating(ElementType type);  // real floating point
bool IsComplex(ElementType type);
bool IsArrayElement(ElementType type);   // neither token, opaque nor tuple
bool IsNarrowFloat(ElementType type);    // floating with fewer than 32 bits
bool IsNarrowInteger(ElementType type);  // integers with fewer than 32 bits, without pred
// Whether an integer type holds its bits: not those of the f6 types.
bool HasIntegerOfItsWidth(ElementType type);
// f32 of c64, f64 of c128, itself otherwise.
ElementType RealPart(ElementType type);

// The carriers: every element type is computed in one of five C++ types, so no code is instantiated per element type.
// Integers (and pred) wrap to their width when stored; narrow floats round when stored.
enum class Carrier : uint8_t { kInt64, kUint64, kDouble, kComplexDouble, kNone };
Carrier CarrierOf(ElementType type);  // signed -> kInt64; unsigned and pred -> kUint64

// The integers' limits as XLA uses them (0 and 1 for pred).
int64_t MinSigned(ElementType type);
int64_t MaxSigned(ElementType type);
uint64_t MaxUnsigned(ElementType type);
// The largest one that int64 holds too.
int64_t LargestInteger(ElementType type);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
