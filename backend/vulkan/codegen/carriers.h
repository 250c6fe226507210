// Carriers: how each element type is stored in a buffer, computed with in GLSL, and what turns one into the other.
//
// A value of an element type is held in one of nine GLSL types: bool, int, uint, int64_t, uint64_t, float, double,
// vec2, dvec2 (suffixes pred i32 u32 i64 u64 f32 f64 c64 c128). Narrow integers sit sign- or zero-extended in int or
// uint and wrap after each operation; narrow floats sit in float, always exactly representable, and round after each
// operation.
#pragma once

#include <string>
#include <string_view>

#include "backend/device_facts.h"
#include "core/element_type.h"
#include "core/status.h"

namespace vxla::vulkan {

// "f32" for f16, "i32" for s8 ...: the suffix in the names of the math functions.
std::string_view CarrierSuffix(ElementType type);
// "float", "int", "bool", "vec2" ...
std::string_view CarrierType(ElementType type);
// The tag of LOAD and STORE in shaders/include/access.glsl: "f32", "u16", "u8", "c64" ...
std::string_view StorageTag(ElementType type);

// The carrier value of what LOAD gave, and what STORE takes for a carrier value.
std::string FromStorage(ElementType type, const std::string& stored);
std::string ToStorage(ElementType type, const std::string& value);
// The result of an arithmetic operation brought back into a narrow type: round_bf16(x), wrap_s8(x); unchanged for wide
// types.
std::string Narrowed(ElementType type, const std::string& value);

// One element, `bits` as it lies in memory (two words for 64-bit types, four for c128): a GLSL constant expression.
std::string ConstantText(ElementType type, const void* bytes);

// OK, or kUnsupported naming the feature that the device lacks: "f64 needs shaderFloat64, which this device lacks".
Status CheckElementType(ElementType type, const DeviceFacts& facts);

}  // namespace vxla::vulkan
