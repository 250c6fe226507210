// The examples of the tensor dialect's document as programs, each with what every element of its result must be.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE::tensor_programs {

using Index = std::vector<int64_t>;

struct TensorProgram {
  std::string name;
  std::string signature;  // "(%a: T) -> T"
  std::string body;       // the function's lines
  std::vector<Literal> arguments;
  Shape result;
  std::function<double(const Index&)> element;

  std::string text() const { return "func.func @main" + signature + " {\n" + body + "\n}\n"; }
};

// 0, 1, 2 ... in row-major order.
inline Literal Counting(ElementType type, std::vector<int64_t> sizes, double first = 0) {
  Literal literal(Shape(type, std::move(sizes)));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsFloating(type)) {
      literal.SetDouble(i, first + static_cast<double>(i));
    } else {
      literal.SetInt(i, static_cast<int64_t>(first) + i);
    }
  }
  return literal;
}
inline Literal Floats(std::vector<int64_t> sizes, double first = 0) {
  return Counting(ElementType::kF32, std::move(sizes), first);
}
inline Literal IndexOf(int64_t value) { return Literal::ScalarInt(ElementType::kS64, value); }
inline Literal IndexList(std::vector<int64_t> sizes, std::vector<int64_t> values) {
  return Literal::FromVector<int64_t>(Shape(ElementType::kS64, std::move(sizes)), values);
}
inline Shape F32(std::vector<int64_t> sizes) { return Shape(ElementType::kF32, std::move(sizes)); }
// Where an index lies in an array of these sizes.
inline double Linear(const Index& index, const Index& sizes) {
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) at = at * sizes[i] + index[i];
  return static_cast<double>(at);
}

inline void AddShapePrograms(std::vector<TensorProgram>& all) {
  all.push_back({"bitcast",
                 "(%1: tensor<4xui32>) -> tensor<4xi32>",
                 "%2 = tensor.bitcast %1 : tensor<4xui32> to tensor<4xi32>\nreturn %2 : tensor<4xi32>",
                 {Counting(ElementType::kU32, {4}, 4294967294.0)},
                 Shape(ElementType::kS32, {4}),
                 [](const Index& i) { return static_cast<double>(i[0]) - 2; }});
  all.push_back({"cast",
                 "(%1: tensor<*xf32>) -> tensor<*xf32>",
                 R"(
  %2 = tensor.cast %1 : tensor<*xf32> to tensor<?x?xf32>
  %3 = tensor.cast %2 : tensor<?x?xf32> to tensor<4x?xf32>
  %4 = tensor.cast %3 : tensor<4x?xf32> to tensor<?x?xf32>
  %5 = tensor.cast %4 : tensor<?x?xf32> to tensor<*xf32>
  return %5 : tensor<*xf32>)",
                 {Floats({4, 3})},
                 F32({4, 3}),
                 [](const Index& i) {
                   return Linear(i, {4, 3});
                 }});
  all.push_back({"collapse_shape",
                 "(%a: tensor<?x?x?xf32>) -> tensor<?x?xf32>",
                 R"(
  %b = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  return %b : tensor<?x?xf32>)",
                 {Floats({2, 3, 5})},
                 F32({6, 5}),
                 [](const Index& i) {
                   return Linear(i, {6, 5});
                 }});
  all.push_back({"expand_shape",
                 "(%a: tensor<?x32xf32>, %sz0: index, %sz1: index) -> tensor<?x?x32xf32>",
                 R"(
  %b = tensor.expand_shape %a [[0, 1], [2]] output_shape [%sz0, %sz1, 32] : tensor<?x32xf32> into tensor<?x?x32xf32>
  return %b : tensor<?x?x32xf32>)",
                 {Floats({6, 32}), IndexOf(2), IndexOf(3)},
                 F32({2, 3, 32}),
                 [](const Index& i) {
                   return Linear(i, {2, 3, 32});
                 }});
  all.push_back({"concat",
                 "(%0: tensor<3x6xf32>, %1: tensor<3x6xf32>, %2: tensor<1x6xf32>) -> tensor<7x6xf32>",
                 R"(
  %3 = tensor.concat dim(0) %0, %1, %2 : (tensor<3x6xf32>, tensor<3x6xf32>, tensor<1x6xf32>) -> tensor<7x6xf32>
  return %3 : tensor<7x6xf32>)",
                 {Floats({3, 6}), Floats({3, 6}, 18), Floats({1, 6}, 36)},
                 F32({7, 6}),
                 [](const Index& i) {
                   return Linear(i, {7, 6});
                 }});
  all.push_back({"concat of unknown sizes",
                 "(%0: tensor<3x?xf32>, %1: tensor<3x2xf32>, %2: tensor<3x?xf32>) -> tensor<3x10xf32>",
                 R"(
  %3 = tensor.concat dim(1) %0, %1, %2 : (tensor<3x?xf32>, tensor<3x2xf32>, tensor<3x?xf32>) -> tensor<3x10xf32>
  return %3 : tensor<3x10xf32>)",
                 {Floats({3, 5}), Floats({3, 2}), Floats({3, 3})},
                 F32({3, 10}),
                 [](const Index& i) {
                   if (i[1] < 5) return Linear({i[0], i[1]}, {3, 5});
                   if (i[1] < 7) return Linear({i[0], i[1] - 5}, {3, 2});
                   return Linear({i[0], i[1] - 7}, {3, 3});
                 }});
  all.push_back({"dim",
                 "(%A: tensor<4x?xf32>) -> tensor<4xindex>",
                 R"(
  %c0 = arith.constant 0 : index
  %x = tensor.dim %A, %c0 : tensor<4x?xf32>
  %c1 = arith.constant 1 : index
  %y = tensor.dim %A, %c1 : tensor<4x?xf32>
  %z = "tensor.dim"(%A, %c0) : (tensor<4x?xf32>, index) -> index
  %w = "tensor.dim"(%A, %c1) : (tensor<4x?xf32>, index) -> index
  %r = tensor.from_elements %x, %y, %z, %w : tensor<4xindex>
  return %r : tensor<4xindex>)",
                 {Floats({4, 9})},
                 Shape(ElementType::kS64, {4}),
                 [](const Index& i) { return i[0] % 2 == 0 ? 4.0 : 9.0; }});
  all.push_back({"rank",
                 "(%arg0: tensor<*xf32>, %arg1: tensor<?x?xf32>) -> (tensor<2xindex>)",
                 R"(
  %0 = tensor.rank %arg0 : tensor<*xf32>
  %1 = tensor.rank %arg1 : tensor<?x?xf32>
  %r = tensor.from_elements %0, %1 : tensor<2xindex>
  return %r : tensor<2xindex>)",
                 {Floats({2, 1, 2}), Floats({1, 2})},
                 Shape(ElementType::kS64, {2}),
                 [](const Index& i) { return i[0] == 0 ? 3.0 : 2.0; }});
  all.push_back(
      {"reshape",
       "(%src: tensor<4x1xf32>, %shape0: tensor<2xi32>) -> tensor<2x2xf32>",
       R"(
  %shape = arith.constant dense<4> : tensor<1xi32>
  %dst = tensor.reshape %src(%shape) : (tensor<4x1xf32>, tensor<1xi32>) -> tensor<4xf32>
  %dst0 = tensor.reshape %dst(%shape0) : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %dst0 : tensor<2x2xf32>)",
       {Floats({4, 1}), Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2}), std::vector<int32_t>{2, 2})},
       F32({2, 2}),
       [](const Index& i) {
         return Linear(i, {2, 2});
       }});
  all.push_back({"reshape of unknown ranks",
                 "(%src: tensor<*xf32>, %shape: tensor<1xi32>, %to: tensor<?xi32>) -> tensor<*xf32>",
                 R"(
  %flat = tensor.reshape %src(%shape) : (tensor<*xf32>, tensor<1xi32>) -> tensor<?xf32>
  %dst = tensor.reshape %flat(%to) : (tensor<?xf32>, tensor<?xi32>) -> tensor<*xf32>
  %same = tensor.reshape %dst(%to) : (tensor<*xf32>, tensor<?xi32>) -> tensor<*xf32>
  return %same : tensor<*xf32>)",
                 {Floats({3, 4}), Counting(ElementType::kS32, {1}, 12),
                  Literal::FromVector<int32_t>(Shape(ElementType::kS32, {3}), std::vector<int32_t>{2, 3, 2})},
                 F32({2, 3, 2}),
                 [](const Index& i) {
                   return Linear(i, {2, 3, 2});
                 }});
}

inline void AddElementPrograms(std::vector<TensorProgram>& all) {
  all.push_back({"empty",
                 "(%m: index, %v: f32) -> tensor<?x3xf32>",
                 R"(
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%m) : tensor<?x3xf32>
  %n = tensor.dim %e, %c1 : tensor<?x3xf32>
  %r = tensor.generate %m {
  ^bb0(%i : index, %j : index):
    %s = arith.muli %i, %n : index
    %t = arith.addi %s, %j : index
    %w = arith.index_cast %t : index to i64
    %f = arith.sitofp %w : i64 to f32
    %x = arith.addf %f, %v : f32
    tensor.yield %x : f32
  } : tensor<?x3xf32>
  return %r : tensor<?x3xf32>)",
                 {IndexOf(5), Literal::Scalar(ElementType::kF32, 0.5)},
                 F32({5, 3}),
                 [](const Index& i) {
                   return Linear(i, {5, 3}) + 0.5;
                 }});
  all.push_back(
      {"extract",
       "(%t: tensor<4x4xi32>, %rt: tensor<?x?xi32>, %1: index, %2: index) -> i32",
       R"(
  %4 = tensor.extract %t[%1, %2] : tensor<4x4xi32>
  %5 = tensor.extract %rt[%1, %2] : tensor<?x?xi32>
  %6 = arith.addi %4, %5 : i32
  return %6 : i32)",
       {Counting(ElementType::kS32, {4, 4}), Counting(ElementType::kS32, {3, 5}, 100), IndexOf(2), IndexOf(1)},
       Shape(ElementType::kS32),
       [](const Index&) { return 9.0 + 111; }});
  all.push_back(
      {"insert",
       "(%t: i32, %rt: i32, %dest: tensor<4x4xi32>, %d: tensor<?x?xi32>, %1: index, %2: index) -> (tensor<4x4xi32>)",
       R"(
  %4 = tensor.insert %t into %dest[%1, %2] : tensor<4x4xi32>
  %5 = tensor.insert %rt into %d[%1, %2] : tensor<?x?xi32>
  %6 = tensor.cast %5 : tensor<?x?xi32> to tensor<4x4xi32>
  %7 = arith.addi %4, %6 : tensor<4x4xi32>
  return %7 : tensor<4x4xi32>)",
       {Literal::ScalarInt(ElementType::kS32, -1), Literal::ScalarInt(ElementType::kS32, -2),
        Counting(ElementType::kS32, {4, 4}), Counting(ElementType::kS32, {4, 4}), IndexOf(3), IndexOf(0)},
       Shape(ElementType::kS32, {4, 4}),
       [](const Index& i) {
         return i == Index{3, 0} ? -3.0 : 2 * Linear(i, {4, 4});
       }});
  all.push_back({"from_elements",
                 "(%a: index, %b: index, %c: index, %d: index, %e: index, %f: index) -> tensor<2x3xindex>",
                 R"(
  %r = tensor.from_elements %a, %b, %c, %d, %e, %f : tensor<2x3xindex>
  return %r : tensor<2x3xindex>)",
                 {IndexOf(7), IndexOf(8), IndexOf(9), IndexOf(10), IndexOf(11), IndexOf(12)},
                 Shape(ElementType::kS64, {2, 3}),
                 [](const Index& i) {
                   return Linear(i, {2, 3}) + 7;
                 }});
  all.push_back({"generate",
                 "(%m: index, %n: index, %t: tensor<?xf32>) -> tensor<?x3x?xf32>",
                 R"(
  %tnsr = tensor.generate %m, %n {
  ^bb0(%i : index, %j : index, %k : index):
    %c2 = arith.constant 2 : index
    %p = arith.muli %j, %c2 : index
    %q = arith.addi %p, %k : index
    %even = arith.remsi %i, %c2 : index
    %c0 = arith.constant 0 : index
    %is = arith.cmpi eq, %even, %c0 : index
    %v = tensor.extract %t[%q] : tensor<?xf32>
    %elem = scf.if %is -> (f32) {
      scf.yield %v : f32
    } else {
      %w = arith.negf %v : f32
      scf.yield %w : f32
    }
    yield %elem : f32
  } : tensor<?x3x?xf32>
  return %tnsr : tensor<?x3x?xf32>)",
                 {IndexOf(4), IndexOf(2), Floats({6}, 1)},
                 F32({4, 3, 2}),
                 [](const Index& i) {
                   const double v = static_cast<double>(2 * i[1] + i[2] + 1);
                   return i[0] % 2 == 0 ? v : -v;
                 }});
  all.push_back({"splat",
                 "(%s: f32) -> tensor<8x16xf32>",
                 R"(
  %t = tensor.splat %s : tensor<8x16xf32>
  return %t : tensor<8x16xf32>)",
                 {Literal::Scalar(ElementType::kF32, 1)},
                 F32({8, 16}),
                 [](const Index&) { return 1.0; }});
  all.push_back({"splat of unknown sizes",
                 "(%s: f32) -> tensor<?x20x?xf32>",
                 R"(
  %m = arith.constant 10 : index
  %n = arith.constant 30 : index
  %t = tensor.splat %s[%m, %n] : tensor<?x20x?xf32>
  return %t : tensor<?x20x?xf32>)",
                 {Literal::Scalar(ElementType::kF32, 3)},
                 F32({10, 20, 30}),
                 [](const Index&) { return 3.0; }});
}

inline void AddSlicePrograms(std::vector<TensorProgram>& all) {
  all.push_back({"extract_slice that drops a dimension",
                 "(%0: tensor<8x16x4xf32>) -> tensor<16x4xf32>",
                 R"(
  %1 = tensor.extract_slice %0[0, 0, 0][1, 16, 4][1, 1, 1] : tensor<8x16x4xf32> to tensor<16x4xf32>
  return %1 : tensor<16x4xf32>)",
                 {Floats({8, 16, 4})},
                 F32({16, 4}),
                 [](const Index& i) {
                   return Linear(i, {16, 4});
                 }});
  all.push_back({"extract_slice with places, sizes and strides",
                 "(%2: tensor<8x16x4xf32>, %o0: index, %o2: index, %sz1: index, %st1: index) -> tensor<1x?xf32>",
                 R"(
  %3 = tensor.extract_slice %2[%o0, 4, %o2][1, %sz1, 1][1, %st1, 1] : tensor<8x16x4xf32> to tensor<1x?xf32>
  return %3 : tensor<1x?xf32>)",
                 {Floats({8, 16, 4}), IndexOf(5), IndexOf(2), IndexOf(4), IndexOf(3)},
                 F32({1, 4}),
                 [](const Index& i) {
                   return Linear({5, 4 + 3 * i[1], 2}, {8, 16, 4});
                 }});
  all.push_back({"insert_slice of lower rank",
                 "(%t: tensor<16x4xf32>, %0: tensor<8x16x4xf32>) -> tensor<8x16x4xf32>",
                 R"(
  %1 = tensor.insert_slice %t into %0[0, 0, 0][1, 16, 4][1, 1, 1] : tensor<16x4xf32> into tensor<8x16x4xf32>
  return %1 : tensor<8x16x4xf32>)",
                 {Floats({16, 4}, 1000), Floats({8, 16, 4})},
                 F32({8, 16, 4}),
                 [](const Index& i) {
                   return Linear(i, {8, 16, 4}) + (i[0] == 0 ? 1000 : 0);
                 }});
  all.push_back({"insert_slice with places, sizes and strides",
                 "(%tt: tensor<1x?xf32>, %2: tensor<8x16x4xf32>, %o0: index, %o2: index, %sz1: index, %st1: index) -> "
                 "tensor<8x16x4xf32>",
                 R"(
  %3 = tensor.insert_slice %tt into %2[%o0, 4, %o2][1, %sz1, 1][1, %st1, 1] : tensor<1x?xf32> into tensor<8x16x4xf32>
  return %3 : tensor<8x16x4xf32>)",
                 {Floats({1, 4}, 1000), Floats({8, 16, 4}), IndexOf(5), IndexOf(2), IndexOf(4), IndexOf(3)},
                 F32({8, 16, 4}),
                 [](const Index& i) {
                   const bool in = i[0] == 5 && i[2] == 2 && i[1] >= 4 && i[1] <= 13 && (i[1] - 4) % 3 == 0;
                   return in ? 1000.0 + static_cast<double>((i[1] - 4) / 3) : Linear(i, {8, 16, 4});
                 }});
  all.push_back({"parallel_insert_slice",
                 "(%a: tensor<?xf32>, %n: index) -> tensor<?xf32>",
                 R"(
  %c3 = arith.constant 3 : index
  %0 = scf.forall (%i, %j) in (%n, 2) shared_outs(%o = %a) -> (tensor<?xf32>) {
    %p = arith.muli %i, %c3 : index
    %q = arith.addi %p, %j : index
    %x = tensor.extract_slice %a[%q] [1] [1] : tensor<?xf32> to tensor<1xf32>
    %y = arith.addf %x, %x : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%q] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  }
  return %0 : tensor<?xf32>)",
                 {Floats({9}, 1), IndexOf(3)},
                 F32({9}),
                 [](const Index& i) { return static_cast<double>((i[0] + 1) * (i[0] % 3 < 2 ? 2 : 1)); }});
}

inline void AddPadPrograms(std::vector<TensorProgram>& all) {
  all.push_back({"pad of one dimension",
                 "(%arg0: tensor<10xi32>) -> tensor<18xi32>",
                 R"(
  %c0_i32 = arith.constant 0 : i32
  %padded = tensor.pad %arg0 low[3] high[5] {
    ^bb0(%arg1: index):
      tensor.yield %c0_i32 : i32
    } : tensor<10xi32> to tensor<18xi32>
  return %padded : tensor<18xi32>)",
                 {Counting(ElementType::kS32, {10}, 1)},
                 Shape(ElementType::kS32, {18}),
                 [](const Index& i) { return i[0] < 3 || i[0] >= 13 ? 0.0 : static_cast<double>(i[0] - 2); }});
  all.push_back({"pad of two dimensions",
                 "(%0: tensor<?x?xf32>, %pad_value: f32) -> tensor<?x?xf32>",
                 R"(
  %1 = tensor.pad %0 low[1, 2] high[2, 3] {
    ^bb0(%arg0 : index, %arg1 : index):
      tensor.yield %pad_value : f32
    } : tensor<?x?xf32> to tensor<?x?xf32>
  return %1 : tensor<?x?xf32>)",
                 {Floats({2, 3}), Literal::Scalar(ElementType::kF32, -1)},
                 F32({5, 8}),
                 [](const Index& i) {
                   const bool in = i[0] >= 1 && i[0] < 3 && i[1] >= 2 && i[1] < 5;
                   return in ? Linear({i[0] - 1, i[1] - 2}, {2, 3}) : -1.0;
                 }});
  all.push_back({"pad by values",
                 "(%arg0: tensor<1x2x2x?xf32>, %arg1: index, %pad_value: f32) -> tensor<6x?x?x?xf32>",
                 R"(
  %0 = tensor.pad %arg0 low[2, %arg1, 3, 3] high[3, 3, %arg1, 2] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
      tensor.yield %pad_value : f32
    } : tensor<1x2x2x?xf32> to tensor<6x?x?x?xf32>
  return %0 : tensor<6x?x?x?xf32>)",
                 {Floats({1, 2, 2, 3}), IndexOf(1), Literal::Scalar(ElementType::kF32, -1)},
                 F32({6, 6, 6, 8}),
                 [](const Index& i) {
                   const bool in = i[0] == 2 && i[1] >= 1 && i[1] < 3 && i[2] >= 3 && i[2] < 5 && i[3] >= 3 && i[3] < 6;
                   return in ? Linear({0, i[1] - 1, i[2] - 3, i[3] - 3}, {1, 2, 2, 3}) : -1.0;
                 }});
  all.push_back({"pad at the end",
                 "(%arg0: tensor<2x3xf32>, %ub0: index, %ub1: index, %pad_value: f32) -> tensor<?x?xf32>",
                 R"(
  %0 = tensor.pad %arg0 low[0, 0] high[%ub0, %ub1] {
    ^bb0(%arg1: index, %arg2: index):
      tensor.yield %pad_value : f32
    } : tensor<2x3xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>)",
                 {Floats({2, 3}), IndexOf(2), IndexOf(0), Literal::Scalar(ElementType::kF32, -1)},
                 F32({4, 3}),
                 [](const Index& i) {
                   return i[0] < 2 ? Linear(i, {2, 3}) : -1.0;
                 }});
  all.push_back({"pad by nothing",
                 "(%arg0: tensor<2x3xf32>, %pad_value: f32) -> tensor<2x3xf32>",
                 R"(
  %0 = tensor.pad %arg0 nofold low[0, 0] high[0, 0] {
    ^bb0(%arg1: index, %arg2: index):
      tensor.yield %pad_value : f32
    } : tensor<2x3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>)",
                 {Floats({2, 3}), Literal::Scalar(ElementType::kF32, -1)},
                 F32({2, 3}),
                 [](const Index& i) {
                   return Linear(i, {2, 3});
                 }});
  all.push_back({"pad by what the place says",
                 "(%arg0: tensor<2xi32>) -> tensor<5xi32>",
                 R"(
  %0 = tensor.pad %arg0 low[1] high[2] {
    ^bb0(%i: index):
      %v = arith.index_cast %i : index to i32
      tensor.yield %v : i32
    } : tensor<2xi32> to tensor<5xi32>
  return %0 : tensor<5xi32>)",
                 {Counting(ElementType::kS32, {2}, 100)},
                 Shape(ElementType::kS32, {5}),
                 [](const Index& i) { return i[0] == 1 || i[0] == 2 ? 99.0 + static_cast<double>(i[0]) : i[0]; }});
}

inline void AddGatherPrograms(std::vector<TensorProgram>& all) {
  const Literal triples = IndexList({1, 2, 3}, {3, 0, 1, 2, 2, 3});
  const auto triple = [](const Index& i) { return i[1] == 0 ? 49.0 : 43.0; };
  const std::string types = "(tensor<4x4x4xf32>, tensor<1x2x 3xindex>)";
  all.push_back({"gather of elements",
                 "(%source: tensor<4x4x4xf32>, %indices: tensor<1x2x 3xindex>) -> tensor<1x2x 1x1x1xf32>",
                 "%out = tensor.gather %source[%indices] gather_dims([0, 1, 2]) : " + types +
                     " -> tensor<1x2x 1x1x1xf32>\nreturn %out : tensor<1x2x1x1x1xf32>",
                 {Floats({4, 4, 4}), triples},
                 F32({1, 2, 1, 1, 1}),
                 triple});
  all.push_back({"gather of elements, rank reduced",
                 "(%source: tensor<4x4x4xf32>, %indices: tensor<1x2x 3xindex>) -> tensor<1x2x f32>",
                 "%out = tensor.gather %source[%indices] gather_dims([0, 1, 2]) unique : " + types +
                     " -> tensor<1x2x f32>\nreturn %out : tensor<1x2xf32>",
                 {Floats({4, 4, 4}), triples},
                 F32({1, 2}),
                 triple});
  Literal ones(Shape(ElementType::kS64, {6, 7, 1}));
  for (int64_t i = 0; i < 42; ++i) ones.SetInt(i, i % 4);
  for (const bool reduced : {false, true}) {
    const std::string result = reduced ? "tensor<6x7x 3x5xf32>" : "tensor<6x7x 3x1x5xf32>";
    all.push_back({"gather of slices",
                   "(%source: tensor<3x4x5xf32>, %indices: tensor<6x7x 1xindex>) -> " + result,
                   "%out = tensor.gather %source[%indices] gather_dims([1]) : (tensor<3x4x5xf32>, tensor<6x7x "
                   "1xindex>) -> " +
                       result + "\nreturn %out : " + result,
                   {Floats({3, 4, 5}), ones},
                   reduced ? F32({6, 7, 3, 5}) : F32({6, 7, 3, 1, 5}),
                   [](const Index& i) {
                     return Linear({i[2], (i[0] * 7 + i[1]) % 4, i.back()}, {3, 4, 5});
                   }});
  }
  all.push_back({"scatter of elements",
                 "(%source: tensor<1x2x 1x1x1xf32>, %dest: tensor<4x4x4xf32>, %indices: tensor<1x2x 3xindex>) -> "
                 "tensor<4x4x4xf32>",
                 R"(
  %out = tensor.scatter %source into %dest[%indices] scatter_dims([0, 1, 2]) unique :
    (tensor<1x2x 1x1x1xf32>, tensor<4x4x4xf32>, tensor<1x2x 3xindex>) -> tensor<4x4x4xf32>
  return %out : tensor<4x4x4xf32>)",
                 {Floats({1, 2, 1, 1, 1}, 1000), Floats({4, 4, 4}), triples},
                 F32({4, 4, 4}),
                 [](const Index& i) {
                   const double at = Linear(i, {4, 4, 4});
                   return at == 49 ? 1000.0 : at == 43 ? 1001.0 : at;
                 }});
  all.push_back(
      {"scatter of slices",
       "(%source: tensor<3x 4x1x6xf32>, %dest: tensor<4x5x6xf32>, %indices: tensor<3x 1xindex>) -> tensor<4x5x6xf32>",
       R"(
  %out = tensor.scatter %source into %dest[%indices] scatter_dims([1]) unique :
    (tensor<3x 4x1x6xf32>, tensor<4x5x6xf32>, tensor<3x 1xindex>) -> tensor<4x5x6xf32>
  return %out : tensor<4x5x6xf32>)",
       {Floats({3, 4, 1, 6}, 1000), Floats({4, 5, 6}), IndexList({3, 1}, {4, 0, 2})},
       F32({4, 5, 6}),
       [](const Index& i) {
         const int64_t from[] = {1, -1, 2, -1, 0};
         const int64_t slice = from[i[1]];
         return slice < 0 ? Linear(i, {4, 5, 6}) : 1000 + Linear({slice, i[0], i[2]}, {3, 4, 6});
       }});
}

// Regions in regions, for all elements at once and one after the other.
inline void AddRegionPrograms(std::vector<TensorProgram>& all) {
  const Shape s32(ElementType::kS32, {4});
  all.push_back({"generate in generate",
                 "(%n: index) -> tensor<?x3xi32>",
                 R"(
  %c3 = arith.constant 3 : index
  %0 = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %row = tensor.generate %c3 {
    ^bb0(%k: index):
      %p = arith.addi %i, %k : index
      %q = arith.index_cast %p : index to i32
      tensor.yield %q : i32
    } : tensor<?xi32>
    %e = tensor.extract %row[%j] : tensor<?xi32>
    tensor.yield %e : i32
  } : tensor<?x3xi32>
  return %0 : tensor<?x3xi32>)",
                 {IndexOf(5)},
                 Shape(ElementType::kS32, {5, 3}),
                 [](const Index& i) { return static_cast<double>(i[0] + i[1]); }});
  all.push_back({"three levels, of the same sizes",
                 "() -> tensor<3x3xindex>",
                 R"(
  %c10 = arith.constant 10 : index
  %c100 = arith.constant 100 : index
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %a = tensor.generate {
    ^bb0(%k: index, %l: index):
      %b = tensor.generate {
      ^bb0(%p: index):
        %1 = arith.muli %i, %c100 : index
        %2 = arith.muli %k, %c10 : index
        %3 = arith.addi %1, %2 : index
        %4 = arith.addi %3, %p : index
        tensor.yield %4 : index
      } : tensor<3xindex>
      %e = tensor.extract %b[%l] : tensor<3xindex>
      tensor.yield %e : index
    } : tensor<3x3xindex>
    %e = tensor.extract %a[%j, %i] : tensor<3x3xindex>
    %c1 = arith.constant 1 : index
    %s = tensor.dim %a, %c1 : tensor<3x3xindex>
    %r = arith.addi %e, %s : index
    tensor.yield %r : index
  } : tensor<3x3xindex>
  return %0 : tensor<3x3xindex>)",
                 {},
                 Shape(ElementType::kS64, {3, 3}),
                 [](const Index& i) { return static_cast<double>(i[0] * 101 + i[1] * 10 + 3); }});
  all.push_back({"a choice between inner tensors",
                 "(%t: tensor<4xi32>) -> tensor<4xi32>",
                 R"(
  %c2 = arith.constant 2 : index
  %0 = tensor.generate {
  ^bb0(%i: index):
    %same = tensor.generate {
    ^bb0(%k: index):
      %v = tensor.extract %t[%k] : tensor<4xi32>
      tensor.yield %v : i32
    } : tensor<4xi32>
    %low = arith.cmpi slt, %i, %c2 : index
    %c = scf.if %low -> (tensor<4xi32>) {
      scf.yield %same : tensor<4xi32>
    } else {
      %own = tensor.generate {
      ^bb0(%k: index):
        %p = arith.muli %i, %k : index
        %v = arith.index_cast %p : index to i32
        tensor.yield %v : i32
      } : tensor<4xi32>
      scf.yield %own : tensor<4xi32>
    }
    %e = tensor.extract %c[%i] : tensor<4xi32>
    tensor.yield %e : i32
  } : tensor<4xi32>
  return %0 : tensor<4xi32>)",
                 {Counting(ElementType::kS32, {4}, 50)},
                 s32,
                 [](const Index& i) { return static_cast<double>(i[0] < 2 ? 50 + i[0] : i[0] * i[0]); }});
  all.push_back({"a loop for each element",
                 "(%t: tensor<4xi32>) -> tensor<4xi32>",
                 R"(
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %0 = tensor.generate {
  ^bb0(%i: index):
    %end = arith.addi %i, %c1 : index
    %sum = scf.for %k = %c0 to %end step %c1 iter_args(%a = %z) -> (i32) {
      %v = tensor.extract %t[%k] : tensor<4xi32>
      %s = arith.addi %a, %v : i32
      scf.yield %s : i32
    }
    tensor.yield %sum : i32
  } : tensor<4xi32>
  return %0 : tensor<4xi32>)",
                 {Counting(ElementType::kS32, {4}, 1)},
                 s32,
                 [](const Index& i) { return static_cast<double>((i[0] + 1) * (i[0] + 2)) / 2; }});
  all.push_back({"inner sizes that differ",
                 "(%n: index) -> tensor<?xi32>",
                 R"(
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %m = arith.addi %i, %c1 : index
    %row = tensor.generate %m {
    ^bb0(%k: index):
      %p = arith.muli %k, %c7 : index
      %q = arith.index_cast %p : index to i32
      tensor.yield %q : i32
    } : tensor<?xi32>
    %e = tensor.extract %row[%i] : tensor<?xi32>
    tensor.yield %e : i32
  } : tensor<?xi32>
  return %0 : tensor<?xi32>)",
                 {IndexOf(4)},
                 s32,
                 [](const Index& i) { return static_cast<double>(7 * i[0]); }});
  all.push_back({"tensors made and changed for each element",
                 "(%t: tensor<2x4xi32>) -> tensor<4x2xi32>",
                 R"(
  %c0 = arith.constant 0 : index
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %t[%j, %i] : tensor<2x4xi32>
    %p = tensor.from_elements %v, %v : tensor<2xi32>
    %w = arith.index_cast %i : index to i32
    %q = tensor.insert %w into %p[%c0] : tensor<2xi32>
    %e = tensor.extract %q[%j] : tensor<2xi32>
    tensor.yield %e : i32
  } : tensor<4x2xi32>
  return %0 : tensor<4x2xi32>)",
                 {Counting(ElementType::kS32, {2, 4})},
                 Shape(ElementType::kS32, {4, 2}),
                 [](const Index& i) { return static_cast<double>(i[1] == 0 ? i[0] : 4 + i[0]); }});
  all.push_back(
      {"generate in pad",
       "(%t: tensor<2xi32>) -> tensor<4xi32>",
       R"(
  %0 = tensor.pad %t low[1] high[1] {
  ^bb0(%i: index):
    %row = tensor.generate {
    ^bb0(%k: index):
      %p = arith.muli %i, %k : index
      %q = arith.index_cast %p : index to i32
      tensor.yield %q : i32
    } : tensor<4xi32>
    %e = tensor.extract %row[%i] : tensor<4xi32>
    tensor.yield %e : i32
  } : tensor<2xi32> to tensor<4xi32>
  return %0 : tensor<4xi32>)",
       {Counting(ElementType::kS32, {2}, 100)},
       s32,
       [](const Index& i) { return i[0] == 1 || i[0] == 2 ? 99.0 + static_cast<double>(i[0]) : 3.0 * i[0]; }});
}

inline std::vector<TensorProgram> TensorPrograms() {
  std::vector<TensorProgram> all;
  AddShapePrograms(all);
  AddElementPrograms(all);
  AddSlicePrograms(all);
  AddPadPrograms(all);
  AddGatherPrograms(all);
  AddRegionPrograms(all);
  return all;
}

// "" where each element is what it must be.
inline std::string FirstWrong(const TensorProgram& program, const Literal& got) {
  if (!(got.shape() == program.result)) return got.shape().ToString() + " and not " + program.result.ToString();
  Index index(static_cast<size_t>(got.shape().rank()));
  for (int64_t k = 0; k < got.element_count(); ++k) {
    int64_t rest = k;
    for (size_t i = index.size(); i-- > 0;) {
      const int64_t size = got.shape().dimension(static_cast<int>(i));
      index[i] = rest % size;
      rest /= size;
    }
    const double is = IsFloating(got.shape().element_type()) ? got.GetDouble(k) : static_cast<double>(got.GetInt(k));
    const double must = program.element(index);
    if (is != must) return "[" + JoinInts(index) + "] is " + std::to_string(is) + " and not " + std::to_string(must);
  }
  return "";
}

}  // namespace VXLA_NAMESPACE::tensor_programs
