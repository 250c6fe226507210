// The numbers of XLA's PrimitiveType, by which C interfaces name element types.
#pragma once

#include <cstdint>
#include <optional>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {

// 0 for what no buffer holds: opaque values and tuples.
int32_t TypeNumber(ElementType type);
std::optional<ElementType> TypeOfNumber(int32_t number);

}  // namespace VXLA_NAMESPACE
