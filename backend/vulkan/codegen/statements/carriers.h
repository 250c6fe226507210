// Carriers: how each element type is stored in a buffer, computed with in GLSL, and what turns one into the other.
//
// A value of an element type is held in one of nine GLSL types: bool, int, uint, i64_t, u64_t, float, f64_t, vec2,
// c128_t (suffixes pred i32 u32 i64 u64 f32 f64 c64 c128). The 64-bit ones are names that
// shaders/include/math/types64.glsl gives a meaning: the device's types or pairs of words, so text about them uses
// functions, never operators. Narrow integers sit sign- or zero-extended in int or uint and wrap after each operation;
// narrow floats sit in float, always exactly representable, and round after each operation: their arithmetic needs
// nothing of the device. What a device may lack for them is storage of 8 or 16 bits; they then lie in memory as
// everywhere and are reached through 32-bit words.
#pragma once

#include <string>
#include <string_view>

#include "backend/device_facts.h"
#include "core/data/element_type.h"
#include "core/data/literal.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// What a kernel's generated part defines where a tensor is too large for 32-bit offsets in bytes.
inline constexpr std::string_view kLargeTensors = "LARGE_TENSORS";
// Defined in kernels whose tensors share bindings, under descriptors.
inline constexpr std::string_view kSharedBindings = "SHARED_BINDINGS";
// Defined in kernels that reach elements from 2^31 on: their indices may have 64 bits.
inline constexpr std::string_view kFarElements = "FAR_ELEMENTS";
// Workgroups of a dispatch read what others of it have written.
inline constexpr std::string_view kCoherentTensors = "COHERENT_TENSORS";

// "f32" for f16, "i32" for s8 ...: the suffix in the names of the math functions.
std::string_view CarrierSuffix(ElementType type);
// "float", "int", "bool", "vec2" ...
std::string_view CarrierType(ElementType type);
// Whether the carrier may be emulated: i64_t, u64_t, f64_t, c128_t.
bool HasWideCarrier(ElementType type);
// Whether lanes of a subgroup may shuffle the carrier: it is made of 32-bit words. Others go through shared memory.
bool ShuffleTakes(ElementType type);
// The carrier's zero: "false", "float(0)", "from_words_f64(0u, 0u)" ...
std::string ZeroText(ElementType type);
// a + b and a * b: operators, or functions where a type has none; || and && of pred.
std::string SumText(ElementType type, const std::string& a, const std::string& b);
std::string ProductText(ElementType type, const std::string& a, const std::string& b);
// The tag of LOAD and STORE in shaders/include/access.glsl: "f32", "u16", "u8", "c64" ...
std::string_view StorageTag(ElementType type);

// The carrier value of what LOAD gave, and what STORE takes for a carrier value.
std::string FromStorage(ElementType type, const std::string& stored);
std::string ToStorage(ElementType type, const std::string& value);
// The result of an arithmetic operation brought back into a narrow type: round_bf16(x), wrap_s8(x); unchanged for wide
// types.
std::string Narrowed(ElementType type, const std::string& value);

// fma of f32 rounds once, and takes no longer than a product and a sum.
inline bool FusesF32(const DeviceFacts& facts) { return facts.fused_multiply_add && !facts.costs.plain_arithmetic; }
// Sums of products take a term by one rounding (docs/reference/numerics.md).
inline bool FusesTerms(const DeviceFacts& facts) { return FusesF32(facts) && !facts.same_bits; }

// One element, `bits` as it lies in memory (two words for 64-bit types, four for c128): a GLSL constant expression.
std::string ConstantText(ElementType type, const void* bytes);
// A scalar, to calculate with. Drivers that fold zeros (DeviceFacts::Quirks) know nothing of a zero of floats; with
// `every`, of no float: they would make zeros of other numbers.
std::string ConstantText(const Literal& scalar, bool every = false);

// An integer or truth value of which drivers that fold zeros (DeviceFacts::Quirks) know nothing. Of computed ones they
// may find out more than it seems (x - x, x & ~x), and what floats are made of them is zero then as a literal is.
std::string UnknownText(ElementType type, const std::string& value);

// OK, or kUnsupported for types that no array has (token, opaque).
Status CheckElementType(ElementType type);
// Whether kernels for this device do without a feature that the type would use: then its values are reached through
// 32-bit words (8 and 16 bits) or computed with pairs of them (64 bits).
bool IsEmulated(ElementType type, const DeviceFacts& facts);
// Its elements of 8 or 16 bits are reached through 32-bit words.
bool IsPacked(ElementType type, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
