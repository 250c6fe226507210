// Matrix products: [B, M, K] x [B, K, N] of what a reader makes of an operation's operands (dot, convolution), with
// producers as load hooks and an epilogue.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {

// A place of a product: of a result (k unused) or of a term of its sum.
struct ProductPlace {
  IndexExpression batch, row, k, column;
};

// An operand of the fusion whose elements are matrices: the place of the first one, and strides, in elements.
struct MatrixInMemory {
  const Instruction* operand = nullptr;
  int64_t first = 0, batch = 0, free = 0, k = 0;
};

// An operation seen as a matrix product.
class ProductReader {
 public:
  ProductReader(const FusionDescription& body, bool wide_sums);
  virtual ~ProductReader() = default;

  // A value of an operand, as sums take it; the column, or the row, is not looked at.
  virtual std::string Value(ValueWriter& writer, bool lhs, const ProductPlace& at) const = 0;
  // The words that a group of an operand's elements from there on, along k or along the free dimension, makes in
  // memory; none: it makes no such words.
  virtual std::vector<std::string> Words(ValueWriter&, bool /*lhs*/, const ProductPlace&) const { return {}; }
  // Where an operand lies in memory as matrices whose elements lie at multiples of a batch's, a row's or column's and a
  // value of k's strides; none: it is computed, or lies otherwise.
  virtual std::optional<MatrixInMemory> InMemory(bool /*lhs*/) const { return std::nullopt; }
  // Whether neighbours along k, rather than along the free dimension, lie side by side.
  virtual bool AlongK(bool lhs) const = 0;
  // The row-major index of a result, and the place of it.
  virtual IndexExpression Linear(IndexSpace& space, const ProductPlace& at) const = 0;
  virtual ProductPlace PlaceOf(IndexSpace& space, const IndexExpression& linear) const = 0;

  // The operation's value at a linear index is `sum`.
  void PublishSum(ValueWriter& writer, const IndexExpression& linear, const std::string& sum) const;
  std::string RootValue(ValueWriter& writer, const Instruction& root, const IndexExpression& linear) const;

  const FusionDescription& body() const { return body_; }
  const Instruction& hero() const { return *body_.hero; }
  const Instruction& operand(bool lhs) const { return lhs ? *lhs_ : *rhs_; }
  int64_t results() const { return work.batches * work.rows * work.columns; }

  DotWork work;
  ElementType sum_type;
  const bool wide;  // f32 sums in two floats, c64's carrier; operands have no second part

 protected:
  // An operand's value in the type that sums take.
  std::string Converted(const Instruction& operand, const std::string& value) const;
  // Looks through what moves elements to the operand in memory: whether variable `k` is the one along which its last
  // dimension runs. `index` is where the operand is read.
  bool RunsAlong(IndexSpace& space, const Instruction& operand, MultiIndex index, int k) const;
  // The same of variables `batch`, `free` and `k`, which `index` is made of: InMemory.
  std::optional<MatrixInMemory> StridesOf(IndexSpace& space, const Instruction& operand, MultiIndex index,
                                          const std::array<int, 3>& variables) const;

  const FusionDescription& body_;
  const Instruction *lhs_, *rhs_;  // of the product
};

// A dot's operands; a convolution's.
std::unique_ptr<ProductReader> ReadDot(const FusionDescription& body);
std::unique_ptr<ProductReader> ReadConvolution(const FusionDescription& body);

// What kernels of products call Sum (the accumulator's type), CLEAR, MULTIPLY_ADD(sum, a, b), which rounds once for f32
// where it is `fused`, and ADD(sum, a).
// The text of sum = sum + a * b in f32 of this GLSL type ("float", "vec4"): one rounding a term where fma is one.
std::string FloatMultiplyAdd(const std::string& type, bool fused);
std::string ProductTypes(const ProductReader& reader, bool fused);

// MULTIPLY_ADD of groups of four: Quad sums, a term, Quad terms.
std::string QuadSums(ElementType sum, bool fused);

// How a product in rows of their own is taken: a row is one result, its elements are the terms.
struct ProductRows {
  bool contiguous = false;  // neighbouring results, rather than neighbouring terms, lie side by side
  uint32_t most_width = 8;  // neighbours that may be taken at a time
  // How the terms of neighbours lie along the dimensions of the result, where short sums may be written out, and which
  // operand's it is that they have in common.
  std::vector<RowWindow> windows = {};
  bool sees_lhs = true;
};
RowProgram ProductProgram(const ProductReader& reader, BufferMap& buffers, const ProductRows& rows);
std::vector<Step> LowerProductRows(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                                   const ProductRows& rows);

// In tiles; K at least 1.
std::vector<Step> LowerProduct(const LowerContext& context, const ProductReader& reader, BufferMap& buffers);
std::vector<Step> LowerProductAs(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                                 const DotShape& shape);

// The product of the device's matrix units of these terms and sums; none: it has no such.
std::optional<MatrixShape> MatrixOf(const DeviceFacts& facts, ElementType term, ElementType sum);
// The one that all of these dots are: of one type of 16 bits, in f32.
std::optional<MatrixShape> MatrixOfDots(const DeviceFacts& facts, std::span<const Instruction* const> dots);

// OK if each result of the fusion has as many elements as its hero.
Status CheckProductRoots(const FusionDescription& body);
Status CheckProductRoot(const FusionDescription& body, const Instruction& root);

}  // namespace VXLA_NAMESPACE::vulkan
