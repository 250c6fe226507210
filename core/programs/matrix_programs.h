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
// Q c of the reflectors' product Q, or Q^H c.
XlaOp ReflectProgram(XlaOp reflectors, XlaOp taus, XlaOp c, bool adjoint);
struct EighParts {
  XlaOp vectors, values, info;
};
// Reads one triangle.
EighParts EighProgram(XlaOp a, bool lower);

struct SvdParts {
  XlaOp values, u, v, info;  // the vectors are columns; none unless they are asked for
};
// all_columns: u and v are square.
SvdParts SvdProgram(XlaOp a, bool all_columns, bool vectors);

struct TridiagonalSolution {
  XlaOp lower, diagonal, upper, x, info;  // the second diagonal above the factor's own, the factor; info s32[batch]
};
// lower, diagonal, upper: [batch, n], the first of `lower` and the last of `upper` unused; b: [batch, n, columns].
// perturbed: rows are chosen by pivots beside their rows' sums, and a pivot by which a quotient would overflow grows by
// a unit of the factor's largest element, or to the least that does not: what inverse iterations want. info is 0.
TridiagonalSolution TridiagonalSolveProgram(XlaOp lower, XlaOp diagonal, XlaOp upper, XlaOp b, bool perturbed = false);

}  // namespace VXLA_NAMESPACE::matrix_ops
