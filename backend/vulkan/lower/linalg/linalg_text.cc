#include "backend/vulkan/lower/linalg/linalg_text.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE::vulkan {

std::string MatrixPlace::Index(const std::string& m, const std::string& i, const std::string& j) const {
  const auto word = [](int64_t value) { return static_cast<uint32_t>(value); };
  return fmt::format("{}u + {} * {}u + {} * {}u + {} * {}u", word(first), m, word(matrix), i, word(row), j,
                     word(column));
}

int64_t BatchOf(const Shape& shape) {
  int64_t batch = 1;
  for (int d = 0; d < shape.rank() - 2; ++d) batch *= shape.dimension(d);
  return batch;
}

TriangularForm::TriangularForm(const Instruction& solve) {
  const auto& attributes = solve.attributes<TriangularSolveAttributes>();
  const Shape& shape = solve.shape();
  const int64_t rows = shape.dimension(shape.rank() - 2), columns = shape.dimension(shape.rank() - 1);
  left = attributes.left_side;
  batch = BatchOf(shape);
  unknowns = left ? rows : columns;
  sides = left ? columns : rows;
  const bool turned = attributes.transpose_a != TransposeKind::kNoTranspose;
  transposed = turned == left;
  backwards = (attributes.lower != turned) != left;
  conjugated = attributes.transpose_a == TransposeKind::kAdjoint;
  unit_diagonal = attributes.unit_diagonal;
}

MatrixPlace TriangularForm::Matrix(const BufferSlice& a, int64_t first_unknown, int64_t size) const {
  const MatrixPlace lies = RowMajor(a, unknowns, unknowns).At(first_unknown, first_unknown);
  const MatrixPlace place = transposed ? lies.Transposed() : lies;
  return backwards ? place.Reversed(size) : place;
}

MatrixPlace TriangularForm::Sides(const BufferSlice& slice, int64_t count, int64_t first_unknown, int64_t size) const {
  const MatrixPlace place = left ? RowMajor(slice, count, sides) : RowMajor(slice, sides, count).Transposed();
  return backwards ? place.At(first_unknown, 0).RowsReversed(size) : place.At(first_unknown, 0);
}

std::string LinalgText::OverReal(const std::string& value, const std::string& divisor) const {
  if (!IsComplex(type_)) return RealCall("divide", value + ", " + divisor);
  return RealCall("complex", RealCall("divide", Call("real", value) + ", " + divisor) + ", " +
                                 RealCall("divide", Call("imag", value) + ", " + divisor));
}

std::string LinalgText::SubtractProduct(const std::string& name, const std::string& factor) const {
  std::string text = fmt::format("{0} {1}({0} x, {0} a, {0} b) {{\n", CarrierType(type_), name);
  if (CarrierSuffix(type_) == "f32")
    return text + "  precise float product = a * b;\n  precise float rest = x - product;\n  return rest;\n}\n";
  return text + fmt::format("  return {};\n}}\n", Call("subtract", "x, " + Call("multiply", "a, " + factor)));
}

std::string LinalgText::Call(std::string_view function, const std::string& operands) const {
  return fmt::format("{}_{}({})", function, CarrierSuffix(type_), operands);
}
std::string LinalgText::RealCall(std::string_view function, const std::string& operands) const {
  return fmt::format("{}_{}({})", function, CarrierSuffix(real_), operands);
}

}  // namespace VXLA_NAMESPACE::vulkan
