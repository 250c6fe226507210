// What Jacobi's methods for eigenvalues and for singular values share: n/2 rotations at a time.
#pragma once

#include "core/programs/matrix_ops.h"

namespace VXLA_NAMESPACE::matrix_ops {

inline constexpr int64_t kMostSweeps = 30;  // 6 to 10 are usual

// Of the real type: the distance from 1 to the next number.
double RoundingOf(ElementType type);

// Rounds in which each index of n meets each other one once.
int64_t RoundsOf(int64_t n);
// The partner of each index in a round, s32[n]; an index without one (n is odd) is its own.
XlaOp PartnersIn(XlaOp round, int64_t n);

// Column i becomes own[i] times itself plus other[i] times its partner.
struct Rotations {
  XlaOp own, other;  // [batch, n]; own is of the real type
  XlaOp diagonal;    // what the rotations make of the diagonal, real
};
// The rotations after which the pairs' element off the diagonal is zero. pivot: that element in the row of the smaller
// index, the same for both of a pair; mine, other: the diagonal's elements of an index and of its partner.
Rotations RotationsOf(XlaOp pivot, XlaOp mine, XlaOp other, XlaOp partner);
XlaOp RotatedColumns(XlaOp x, const Rotations& by, XlaOp partner);

// What makes the largest of each matrix's magnitudes 1, [batch]: 1 of zeros, NaN of what is not finite.
XlaOp ScaleOf(XlaOp a);

// By column, [batch, columns], of magnitude 1: times it the first element that is at least kPhaseThreshold of the
// largest one is real and positive.
XlaOp PhasesOf(XlaOp vectors);
inline constexpr double kPhaseThreshold = 0.3;

}  // namespace VXLA_NAMESPACE::matrix_ops
