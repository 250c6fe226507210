// The shader arithmetic over emulated 64-bit types: what a kernel computes on a device without them, in namespace
// vxla::shader_math_emulated; everything else as in shader_math.h.
#pragma once

#define VXLA_SHADER_MATH_EMULATED
#include "backend/cpu/twin/shader_math.h"  // IWYU pragma: export
#undef VXLA_SHADER_MATH_EMULATED
