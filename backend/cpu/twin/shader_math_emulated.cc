// The shader arithmetic with 64-bit types emulated over 32-bit words, as C++.
#define VXLA_SHADER_MATH_EMULATED
#define VXLA_EMULATE_I64
#define VXLA_EMULATE_F64
#include "backend/cpu/twin/shader_math.cc"  // NOLINT(bugprone-suspicious-include): the same build of the same text.
