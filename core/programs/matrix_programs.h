// The algorithms of library calls on stacks of matrices, [batch, rows, columns], as operations of a builder.
#pragma once

#include "core/builder/builder.h"

namespace VXLA_NAMESPACE::matrix_ops {

struct LuParts {
  XlaOp lu, pivots, permutation,
      info;  // pivots s32[batch, least] from 0, permutation s32[batch, rows], info s32[batch]
};
LuParts LuProgram(XlaOp a);
struct QrParts {
  XlaOp qr, taus;  // taus: [batch, least]
};
QrParts QrProgram(XlaOp a);
XlaOp HouseholderProgram(XlaOp reflectors, XlaOp taus);
struct EighParts {
  XlaOp vectors, values, info;
};
// Reads one triangle.
EighParts EighProgram(XlaOp a, bool lower);

// What makes eigenvectors (columns) comparable: in each the first element that is at least this part of the largest one
// is real and positive.
inline constexpr double kPhaseThreshold = 0.3;

}  // namespace VXLA_NAMESPACE::matrix_ops
