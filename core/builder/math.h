// Functions that XLA's client library composes of the operations: constants like another value and classification of
// floats. (Its Erfc, ErfInv, Lgamma and Digamma are operations here: builder.h.)
#pragma once

#include "core/builder/builder.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// A scalar, or an array like `prototype`, of its element type.
XlaOp ScalarLike(XlaOp prototype, double value);
XlaOp FullLike(XlaOp prototype, double value);
XlaOp ZerosLike(XlaOp prototype);
// The least and greatest values of a type, infinities where it has them; and the finite ones.
XlaOp MinValue(XlaBuilder* builder, ElementType type);
XlaOp MaxValue(XlaBuilder* builder, ElementType type);
XlaOp MinFiniteValue(XlaBuilder* builder, ElementType type);
XlaOp MaxFiniteValue(XlaBuilder* builder, ElementType type);

// pred arrays, for floats only.
XlaOp IsNan(XlaOp operand);
XlaOp IsInf(XlaOp operand);
XlaOp IsPosInf(XlaOp operand);
XlaOp IsNegInf(XlaOp operand);
XlaOp IsNegZero(XlaOp operand);

// Of a complex number each part is within 2 ulp, whatever it overflows on the way (chlo: square).
XlaOp Square(XlaOp operand);
XlaOp Reciprocal(XlaOp operand);
// The complex conjugate; a real operand as it is.
XlaOp Conj(XlaOp operand);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
