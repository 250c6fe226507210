// Associative scans as JAX writes them: each is one running window, and right.
#include <fmt/format.h>

#include <functional>

#include "core/builder/builder.h"
#include "core/builder/math.h"
#include "core/text/hlo_printer.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace associative_scan_test {

using Values = std::vector<XlaOp>;
using Join = std::function<Values(const Values&, const Values&)>;

int64_t SizeOf(XlaOp value, int64_t axis) {
  return (*value.builder()->GetShape(value)).dimension(static_cast<int>(axis));
}

// Along an axis of each.
Values Sliced(const Values& values, int64_t start, int64_t limit, int64_t stride, const IntList& axes) {
  Values slices;
  for (size_t k = 0; k < values.size(); ++k) slices.push_back(SliceInDim(values[k], start, limit, stride, axes[k]));
  return slices;
}

XlaOp Spread(XlaOp value, int64_t low, int64_t high, int64_t axis) {
  const Shape shape = *value.builder()->GetShape(value);
  PaddingConfig config(static_cast<size_t>(shape.rank()));
  config[static_cast<size_t>(axis)] = {low, high, 1};
  return Pad(value, ConstantLiteral(value.builder(), Literal(Shape(shape.element_type()))), config);
}

// The recursion of jax.lax.associative_scan.
Values AssociativeScan(const Join& join, const Values& values, const IntList& axes) {
  const int64_t size = SizeOf(values[0], axes[0]), odds = size / 2, evens = size - odds;
  if (size < 2) return values;
  const Values odd =
      AssociativeScan(join, join(Sliced(values, 0, size - 1, 2, axes), Sliced(values, 1, size, 2, axes)), axes);
  const Values before = size % 2 == 0 ? Sliced(odd, 0, odds - 1, 1, axes) : odd;
  const Values even = join(before, Sliced(values, 2, size, 2, axes)), first = Sliced(values, 0, 1, 1, axes);
  Values results;
  for (size_t k = 0; k < values.size(); ++k) {
    XlaBuilder* const builder = values[0].builder();
    const XlaOp a = Spread(ConcatInDim(builder, {first[k], even[k]}, axes[k]), 0, size - 2 * evens + 1, axes[k]);
    const XlaOp b = Spread(odd[k], 1, size - 2 * odds, axes[k]);
    results.push_back(builder->GetShape(a)->element_type() == ElementType::kPred ? Or(a, b) : Add(a, b));
  }
  return results;
}

// y -> y0 x1 + y1 behind x -> ...: what a linear recurrence joins.
Values Affine(const Values& x, const Values& y) { return {Mul(x[0], y[0]), Add(Mul(y[0], x[1]), y[1])}; }

Values Matrices(const Values& x, const Values& y) {
  const auto sum = [](XlaOp a, XlaOp b, XlaOp c, XlaOp d) { return Add(Mul(a, b), Mul(c, d)); };
  return {sum(y[0], x[0], y[1], x[2]), sum(y[0], x[1], y[1], x[3]), sum(y[2], x[0], y[3], x[2]),
          sum(y[2], x[1], y[3], x[3])};
}

// Sums that begin anew where the first array says so.
Values Segments(const Values& x, const Values& y) { return {Or(x[0], y[0]), Select(y[0], y[1], Add(x[1], y[1]))}; }

// The largest value so far, and where it stood.
Values Largest(const Values& x, const Values& y) {
  const XlaOp later = Gt(y[1], x[1]);
  return {Select(later, y[0], x[0]), Select(later, y[1], x[1])};
}

std::string Program(const std::vector<Shape>& shapes, const Join& join, const IntList& axes, size_t first_result = 0,
                    const std::function<Values(const Values&)>& before = {}) {
  XlaBuilder b("scan");
  Values values;
  for (const Shape& shape : shapes) values.push_back(Parameter(&b, static_cast<int64_t>(values.size()), shape));
  Values results = AssociativeScan(join, before ? before(values) : values, axes);
  results.erase(results.begin(), results.begin() + static_cast<long>(first_result));
  Tuple(&b, results);
  const auto module = b.Build();
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? PrintHlo(module->module()) : "";
}

// In this many dispatches at most.
void Expect(const std::string& text, int dispatches, std::optional<Tolerance> tolerance = {}) {
  SCOPED_TRACE(text.substr(0, 300));
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunReport report;
  RunOptions options;
  options.report = &report;
  options.tolerance = tolerance;
  RunBoth(text, RandomArguments(*module), options);
  EXPECT_LE(report.dispatches, dispatches);
}

Shape F32(const IntList& sizes) { return Shape(ElementType::kF32, sizes); }

TEST(AssociativeScanTest, LengthsRanksAndAxes) {
  for (int64_t n : {4, 5, 6, 7, 15, 16, 17, 31, 100, 1000}) Expect(Program({F32({n}), F32({n})}, Affine, {0, 0}), 2);
  for (int64_t axis : {0, 1, 2}) {
    IntList sizes = {2, 3, 5};
    sizes[static_cast<size_t>(axis)] = 67;
    Expect(Program({F32(sizes), F32(sizes)}, Affine, {axis, axis}), 2);
  }
}

// The program's text states the order: no running window, whose groups are others, takes its place.
TEST(AssociativeScanTest, WhatDoesNotAssociateKeepsTheOrderOfTheRecursion) {
  constexpr int kAny = 1000;
  const auto subtract = [](const Values& x, const Values& y) { return Values{Sub(x[0], y[0])}; };
  const auto turned = [](const Values& x, const Values& y) { return Values{Sub(y[0], x[0])}; };
  for (int64_t n : {4, 7, 16, 100, 1000}) {
    Expect(Program({F32({n})}, subtract, {0}), kAny, Tolerance{});
    Expect(Program({Shape(ElementType::kS32, {n})}, turned, {0}), kAny, Tolerance{});
  }
}

TEST(AssociativeScanTest, ShortOnesStayAsTheyAre) {
  for (int64_t n : {1, 2, 3}) Expect(Program({F32({n}), F32({n})}, Affine, {0, 0}), 2);
}

TEST(AssociativeScanTest, FunctionsOfOneToFourArraysOfManyTypes) {
  const Join product = [](const Values& x, const Values& y) { return Values{Mul(x[0], y[0])}; };
  const Join sum = [](const Values& x, const Values& y) { return Values{Add(x[0], y[0])}; };
  const Join either = [](const Values& x, const Values& y) { return Values{Or(x[0], y[0])}; };
  for (ElementType type : {ElementType::kC64, ElementType::kF64, ElementType::kU8, ElementType::kS64})
    Expect(Program({Shape(type, {90})}, product, {0}), 2);
  for (ElementType type : {ElementType::kBF16, ElementType::kF16, ElementType::kF32, ElementType::kS32})
    Expect(Program({Shape(type, {3, 90})}, sum, {1}), 2);
  Expect(Program({Shape(ElementType::kPred, {90})}, either, {0}), 2);
  Expect(Program({Shape(ElementType::kPred, {90}), F32({90})}, Segments, {0, 0}), 2);
  Expect(Program({Shape(ElementType::kS32, {90}), F32({90})}, Largest, {0, 0}), 2);
  Expect(Program({F32({77}), F32({77}), F32({77}), F32({77})}, Matrices, {0, 0, 0, 0}), 2);
}

// A result that nobody asks for is not there, its array is.
TEST(AssociativeScanTest, SomeResultsOnly) {
  Expect(Program({F32({50}), F32({50})}, Affine, {0, 0}, 1), 2);
  Expect(Program({F32({50, 3}), F32({50, 3})}, Affine, {0, 0}, 1), 2);
}

// One array has fewer dimensions, as in a batch of sequences under one matrix.
TEST(AssociativeScanTest, ArraysThatTheFunctionSpreads) {
  const auto join = [](const IntList& dimensions) -> Join {
    return [=](const Values& x, const Values& y) {
      const Shape wide = *y[1].builder()->GetShape(y[1]);
      const XlaOp factor =
          BroadcastInDim(y[0], IntList(wide.dimensions().begin(), wide.dimensions().end()), dimensions);
      return Values{Mul(x[0], y[0]), Add(Mul(factor, x[1]), y[1])};
    };
  };
  Expect(Program({F32({40}), F32({40, 3})}, join({0}), {0, 0}, 1), 2);
  Expect(Program({F32({40, 2}), F32({3, 40, 2})}, join({1, 2}), {0, 1}, 1), 2);
  Expect(Program({F32({40, 1}), F32({40, 3})}, join({0, 1}), {0, 0}, 1), 2);
}

// The second scan's arrays hold the first one's result: two scans, not one.
TEST(AssociativeScanTest, OneBehindAnother) {
  const Join product = [](const Values& x, const Values& y) { return Values{Mul(x[0], y[0])}; };
  const auto before = [&](const Values& values) { return Values{values[0], AssociativeScan(product, values, {0})[0]}; };
  Expect(Program({F32({100})}, Affine, {0, 0}, 0, before), 4);
}

// As jnp.matmul has it: the last of a halved array is a matrix without a batch.
XlaOp MatrixProduct(XlaOp a, XlaOp b) {
  const Shape left = *a.builder()->GetShape(a), right = *b.builder()->GetShape(b);
  const IntList rest(right.dimensions().begin() + 1, right.dimensions().end());
  if (left.dimension(0) == 1) {
    const XlaOp product =
        DotGeneral(Reshape(a, {left.dimension(1), left.dimension(2)}), Reshape(b, rest), {{1}, {0}, {}, {}});
    IntList sizes = rest;
    sizes.insert(sizes.begin(), 1);
    return Reshape(product, sizes);
  }
  return DotGeneral(a, b,
                    {.lhs_contracting_dimensions = {2},
                     .rhs_contracting_dimensions = {1},
                     .lhs_batch_dimensions = {0},
                     .rhs_batch_dimensions = {0}});
}

Values Product(const Values& x, const Values& y) { return {MatrixProduct(x[0], y[0])}; }

// y -> A y + b behind another.
Values AffineMaps(const Values& x, const Values& y) {
  return {MatrixProduct(y[0], x[0]), Add(MatrixProduct(y[0], x[1]), y[1])};
}

// The entries of a matrix are arrays of the scan, and are laid side by side at the end.
TEST(AssociativeScanTest, ProductsOfSmallMatrices) {
  // Sums of products of random signs cancel, in one order of the factors and in another.
  const Tolerance close{.rtol = 1e-2, .atol = 1e-3}, exact{};
  for (int64_t n : {4, 5}) Expect(Program({F32({n, 2, 2})}, Product, {0}), 5, close);
  for (int64_t n : {31, 100, 300}) Expect(Program({F32({n, 2, 2})}, Product, {0}), 3, close);
  Expect(Program({F32({90, 2, 2}), F32({90, 2})}, AffineMaps, {0, 0}), 4, close);
  Expect(Program({F32({90, 2, 2}), F32({90, 2})}, AffineMaps, {0, 0}, 1), 4, close);
  for (ElementType type : {ElementType::kF64, ElementType::kC64})
    Expect(Program({Shape(type, {40, 2, 2})}, Product, {0}), 3, close);
  Client* const client = DeviceClient(BindingMode::kAddresses);
  const bool many = client != nullptr && client->device().facts().max_storage_buffers >= 32;
  Expect(Program({F32({60, 3, 3})}, Product, {0}), many ? 3 : 30, close);
  Expect(Program({Shape(ElementType::kS32, {1000, 3, 3})}, Product, {0}), many ? 3 : 30, exact);
  Expect(Program({Shape(ElementType::kBF16, {12, 2, 2})}, Product, {0}), 3, Tolerance{.rtol = 0.1, .atol = 0.5});
}

// Those that are too large for a kernel's lane, and those whose levels something else reads, as a gradient does.
TEST(AssociativeScanTest, ProductsThatStayProducts) {
  Expect(Program({F32({12, 5, 5})}, Product, {0}), 20);
  std::string text = Program({F32({64, 2, 2})}, Product, {0});
  const size_t at = text.find("ROOT"), level = text.find(" = f32[16,2,2] dot(");
  ASSERT_TRUE(at != std::string::npos && level != std::string::npos);
  const size_t name = text.rfind(' ', level - 1) + 1;
  const std::string inner = text.substr(name, level - name);
  const size_t open = text.find('(', at), close = text.find(')', open);
  text.insert(close, ", f32[16,2,2]");
  const size_t last = text.find(')', text.find("tuple(", at));
  text.insert(last, ", " + inner);
  Expect(text, 40);
}

// A level that joins by another function: no scan, and computed as it says.
TEST(AssociativeScanTest, RecursionsThatAreNoScansStay) {
  for (const char* other : {"subtract", "maximum"}) {
    std::string text =
        Program({F32({64})}, [](const Values& x, const Values& y) { return Values{Mul(x[0], y[0])}; }, {0});
    const size_t at = text.find("f32[8] multiply(");
    ASSERT_NE(at, std::string::npos);
    text.replace(at + 7, 8, other);
    Expect(text, 30);
  }
}

}  // namespace associative_scan_test
}  // namespace VXLA_NAMESPACE::testing
