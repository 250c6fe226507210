// Matrices in memory and the scalar arithmetic of cholesky and triangular-solve, as the kernels of these and loops that
// one workgroup runs use them.
#pragma once

#include <string>

#include "backend/lowering.h"
#include "backend/vulkan/codegen/statements/carriers.h"

namespace VXLA_NAMESPACE::vulkan {

// Matrices of a batch in memory: element (i, j) of matrix m is first + m * matrix + i * row + j * column.
struct MatrixPlace {
  BufferSlice slice;
  int64_t first = 0, matrix = 0, row = 0, column = 0;

  MatrixPlace At(int64_t i, int64_t j) const { return {slice, first + i * row + j * column, matrix, row, column}; }
  MatrixPlace Transposed() const { return {slice, first, matrix, column, row}; }
  // The same rows and columns counted from the end of an n by n matrix.
  MatrixPlace Reversed(int64_t n) const { return {slice, first + (n - 1) * (row + column), matrix, -row, -column}; }
  MatrixPlace RowsReversed(int64_t n) const { return {slice, first + (n - 1) * row, matrix, -row, column}; }
  // The index of an element, modulo 2^32, of GLSL uints.
  std::string Index(const std::string& m, const std::string& i, const std::string& j) const;
};

inline MatrixPlace RowMajor(const BufferSlice& slice, int64_t rows, int64_t columns) {
  return {slice, 0, rows * columns, columns, 1};
}

// How many matrices there are.
int64_t BatchOf(const Shape& shape);

// A triangular-solve as M x = b for right-hand sides that lie as columns, x M^T = b for rows, where M is op(A) or its
// transpose, solved from the first unknown on.
struct TriangularForm {
  explicit TriangularForm(const Instruction& solve);

  // M of the unknowns [first, first + size), in the order in which they are found.
  MatrixPlace Matrix(const BufferSlice& a, int64_t first_unknown, int64_t size) const;
  // Unknowns [first, first + size) of right-hand sides that have `count`: a row for each, in that order.
  MatrixPlace Sides(const BufferSlice& slice, int64_t count, int64_t first_unknown, int64_t size) const;

  bool left = true;
  int64_t batch = 1, unknowns = 0, sides = 0;
  bool transposed = false, backwards = false;  // of M: A lies transposed; its upper triangle
  bool conjugated = false, unit_diagonal = false;
};

// Expressions and functions of carrier values of a type.
class LinalgText {
 public:
  explicit LinalgText(ElementType type) : type_(type), real_(RealPart(type)) {}

  std::string Conjugated(const std::string& value) const { return IsComplex(type_) ? Call("conjugate", value) : value; }
  std::string RealOf(const std::string& value) const { return IsComplex(type_) ? Call("real", value) : value; }
  std::string OfReal(const std::string& value) const {
    return IsComplex(type_) ? RealCall("complex", value + ", " + ZeroText(real_)) : value;
  }
  // The square root of the real part.
  std::string Root(const std::string& value) const { return RealCall("sqrt", RealOf(value)); }
  std::string Over(const std::string& value, const std::string& divisor) const {
    return Call("divide", value + ", " + divisor);
  }
  // value / divisor, a real number.
  std::string OverReal(const std::string& value, const std::string& divisor) const;
  // The text of a function of (x, a, b): x - a * `factor`, which is made of b. Not contracted: a product and its
  // difference round on every device alike.
  std::string SubtractProduct(const std::string& name, const std::string& factor) const;

 private:
  std::string Call(std::string_view function, const std::string& operands) const;
  std::string RealCall(std::string_view function, const std::string& operands) const;

  const ElementType type_, real_;
};

}  // namespace VXLA_NAMESPACE::vulkan
