// Batches: each f32 function of the shader math and its oracle over a block of arguments, in loops that the compiler
// vectorises.
#pragma once

#include <cstdint>
#include <span>

#include "tests/math/exact.h"

namespace VXLA_NAMESPACE::exhaustive {

inline constexpr int kBlock = 4096;

enum class Symmetry : uint8_t { kNone, kOdd, kEven };

struct Batch {
  const char* name;
  const char* row;  // of core/numerics/accuracy.h
  void (*ours)(const float* x, const float* y, float* result);
  void (*oracle)(const float* x, const float* y, double* result);
  float (*library)(float);          // the library's build of the same function
  float (*library2)(float, float);  // or of one of two arguments
  ExactUnary exact;
  ExactBinary exact2;
  Symmetry symmetry;
};

std::span<const Batch> Batches();

// The error of each result in units of f32's last place, as UlpError has it (the bits of a double, which order as
// integers), the largest of them, and how many are not the correctly rounded result.
uint64_t Errors(const float* got, const double* exact, uint64_t* error, uint64_t* most);

}  // namespace VXLA_NAMESPACE::exhaustive
