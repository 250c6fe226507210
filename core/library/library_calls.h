// Library calls: the custom calls whose names have a meaning of their own here, because JAX writes them where it lowers
// for CPUs (LAPACK's routines, typed FFI, and sparse products) or because XLA expands them itself (Qr, Eigh,
// LuDecomposition, TopK ...).
#pragma once

#include <string>
#include <string_view>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

enum class LibraryRoutine : uint8_t {
  kCholesky,            // a -> factor over a, info
  kTriangularSolve,     // a, b -> x
  kLu,                  // a -> l and u over a, pivots from 1, info; LuDecomposition: pivots from 0, permutation
  kQr,                  // a -> r and reflectors over a, taus
  kPivotedQr,           // a, columns -> r and reflectors over a, columns from 1, taus
  kHouseholderProduct,  // reflectors, taus -> q
  kReflect,             // reflectors, taus, c -> q c, q^H c, c q or c q^H
  kEigh,                // a -> vectors, values ascending; LAPACK: info too
  kSvd,                 // a -> a, values descending, u, v^H, info
  kEig,                 // a -> values (real types: real parts, imaginary parts), left vectors, right vectors, info
  kSchur,               // a -> t, vectors, values as above, how many were selected (none), info
  kHessenberg,          // a -> h and reflectors over a, taus, info
  kTridiagonal,         // a -> reflectors over a, diagonal, beside it, taus, info
  kTridiagonalSolve,    // lower, diagonal, upper, b -> what the elimination leaves of the first three, x, info
  kPerturbedSolve,      // lower, diagonal, upper, b -> x; pivots that are next to zero are made larger
  kTopK,                // a -> values, positions
  kApproxTopK,          // operands, initial values -> the first of each in the comparator's order: exact here
  kSparseProduct,       // values, where rows begin, the values' columns, b -> the sparse matrix times b
  kIdentity,            // what tells XLA where a value is to lie, and when memory is an array's alone
  kZeros,               // an array of which nothing is stated but its shape
  kBlockQuantize,       // a -> narrow values, a scale for each block of the last dimension
  kBlockDequantize,     // values, scales -> a
  kBlockScaledDot,      // a, b (the last dimensions are summed), scales of a, of b if any, of all if any -> a b^T
};

// What eigenvalues, Schur forms and singular values of a matrix that is not finite give as `info`: LAPACK's word for
// its fourth argument, the matrix of geev, syevd and gesdd.
inline constexpr int kNotFiniteInfo = -4;

struct LibraryCall {
  LibraryRoutine routine = LibraryRoutine::kIdentity;
  bool lapack = false;  // LAPACK's conventions; else XLA's own
  bool lower = true;
  bool left_side = true, unit_diagonal = false;
  bool adjoint = false;  // of Q
  TransposeKind transpose = TransposeKind::kNoTranspose;
  bool vectors = true, left_vectors = false, all_columns = false;  // what is computed besides values; U and V square
  int64_t low = 1, high = 0;                                       // rows that gehrd reduces, from 1
  int64_t dimension = 0;                                           // along which ApproxTopK selects
  int64_t block = 0;                                               // elements that one scale is for
};

// Whether a target has a meaning here.
bool IsLibraryCall(std::string_view target);
// A custom call of such a target that rounds: not those that pick or hand on.
bool IsLinearAlgebraCall(const Instruction& instruction);
// A custom call that gives its operand as it is: it tells XLA where a value is to lie.
bool IsIdentityCall(const Instruction& instruction);
// The same routine of LAPACK for the widest type of its kind (d of s, z of c); other targets as they are.
std::string WidestTarget(std::string target);
// The targets, for messages.
std::string LibraryCallNames();

// What a custom call of such a target means. kUnsupported: its form is not the one that JAX writes; kInvalidArgument:
// shapes that do not fit together. The matrices are the last two dimensions of each array; layouts that would have
// LAPACK see them transposed are refused.
Result<LibraryCall> LibraryCallOf(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
