#include "core/maps/index_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {
namespace {

int64_t Evaluate(const IndexSpace& space, const IndexExpression& expression, const std::vector<int64_t>& loop) {
  int64_t sum = expression.constant;
  for (const IndexTerm& term : expression.terms) {
    const auto& definition = space.definition(term.variable);
    int64_t value = definition ? Evaluate(space, *definition, loop) : loop.at(term.variable);
    EXPECT_GE(value, 0);
    EXPECT_LT(value, space.size(term.variable));
    value /= term.divisor;
    if (term.modulus != 0) value %= term.modulus;
    sum += term.coefficient * value;
  }
  return sum;
}

std::vector<int64_t> Digits(int64_t linear, std::span<const int64_t> dimensions) {
  std::vector<int64_t> index(dimensions.size());
  for (size_t d = dimensions.size(); d-- > 0;) {
    index[d] = linear % dimensions[d];
    linear /= dimensions[d];
  }
  return index;
}

int64_t Linear(const std::vector<int64_t>& index, std::span<const int64_t> dimensions) {
  int64_t linear = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) linear = linear * dimensions[d] + index[d];
  return linear;
}

std::vector<int64_t> Ints(std::span<const int64_t> span) { return {span.begin(), span.end()}; }

TEST(IndexMapTest, DigitsOfALinearIndexMergeBackToTheVariable) {
  IndexSpace space;
  const int v = space.AddVariable(7 * 5 * 3);
  const int64_t dimensions[] = {7, 5, 3};
  MultiIndex index = space.Delinearize(space.Variable(v), dimensions);
  EXPECT_EQ(space.ToString(index[0]), "v0/15");
  EXPECT_EQ(space.ToString(index[1]), "v0/3%5");
  EXPECT_EQ(space.ToString(index[2]), "v0%3");
  EXPECT_EQ(space.Linearize(index, dimensions), space.Variable(v));
}

// [4,3] as rows and columns, seen as [6,2], [2,1,6], [12] and [3,4]: no dimension splits where another did.
TEST(IndexMapTest, AChainOfReshapesEndsInTheLinearIndexThatItBeganWith) {
  IndexSpace space;
  const IndexExpression row = space.Variable(space.AddVariable(4)), column = space.Variable(space.AddVariable(3));
  const int64_t first[] = {4, 3};
  const IndexExpression linear = space.Linearize({row, column}, first);
  IndexExpression at = linear;
  for (const std::vector<int64_t>& dimensions :
       std::vector<std::vector<int64_t>>{{6, 2}, {2, 1, 6}, {12}, {3, 4}, {2, 3, 2}}) {
    at = space.Linearize(space.Delinearize(at, dimensions), dimensions);
    EXPECT_EQ(at, linear) << space.ToString(at);
  }
}

TEST(IndexMapTest, ATemporaryThatMayLeaveItsRangeStaysOne) {
  IndexSpace space;
  const IndexExpression shifted = space.Add(space.Variable(space.AddVariable(9)), {{}, -2});
  const IndexExpression inside = space.Variable(space.AddTemporary(shifted, 5));
  const int64_t dimensions[] = {5};
  EXPECT_EQ(space.Linearize({inside}, dimensions), inside);
}

TEST(IndexMapTest, VariablesOfSizeOneAreZero) {
  IndexSpace space;
  EXPECT_EQ(space.Variable(space.AddVariable(1)), IndexExpression());
  const int64_t dimensions[] = {1, 4, 1};
  MultiIndex index = space.Delinearize(space.Variable(space.AddVariable(4)), dimensions);
  EXPECT_EQ(index[0], IndexExpression());
  EXPECT_EQ(space.ToString(index[1]), "v1");
  EXPECT_EQ(index[2], IndexExpression());
}

TEST(IndexMapTest, SplittingAndMergingDimensionsNeedsNoTemporary) {
  IndexSpace space;
  const int64_t wide[] = {6, 35}, split[] = {2, 3, 5, 7};
  MultiIndex index{space.Variable(space.AddVariable(6)), space.Variable(space.AddVariable(35))};
  MultiIndex digits = space.Delinearize(space.Linearize(index, wide), split);
  EXPECT_EQ(space.count(), 2);
  EXPECT_EQ(space.ToString(digits[1]), "v0%3");
  EXPECT_EQ(space.Delinearize(space.Linearize(digits, split), wide), index);
}

TEST(IndexMapTest, ReversedDimensionsStillSplit) {
  IndexSpace space;
  IndexExpression reversed = space.Add(space.Scale(space.Variable(space.AddVariable(12)), -1), {{}, 11});
  const int64_t dimensions[] = {3, 4};
  MultiIndex index = space.Delinearize(reversed, dimensions);
  EXPECT_EQ(space.count(), 1);
  EXPECT_EQ(space.ToString(index[0]), "-1*(v0/4) + 2");
  EXPECT_EQ(space.ToString(index[1]), "-1*(v0%4) + 3");
}

TEST(IndexMapTest, AShiftedIndexGoesThroughOneSharedTemporary) {
  IndexSpace space;
  IndexExpression shifted = space.Add(space.Variable(space.AddVariable(10)), {{}, 1});
  const int64_t dimensions[] = {4, 3};
  MultiIndex first = space.Delinearize(shifted, dimensions);
  MultiIndex second = space.Delinearize(shifted, dimensions);
  EXPECT_EQ(space.count(), 2);
  EXPECT_EQ(first, second);
  EXPECT_EQ(space.ToString(first[1]), "t1%3");
}

TEST(IndexMapTest, RangeBoundsEveryTerm) {
  IndexSpace space;
  const int v = space.AddVariable(20);
  IndexExpression e{{{v, 3, 0, -2}, {v, 1, 3, 5}}, 1};
  EXPECT_EQ(space.Range(e), std::pair(int64_t{-11}, int64_t{11}));
}

TEST(IndexMapTest, EmptyDimensionsGiveConstants) {
  IndexSpace space;
  const int64_t dimensions[] = {3, 0, 2};
  MultiIndex index = space.Delinearize(space.Variable(space.AddVariable(0)), dimensions);
  EXPECT_EQ(index.size(), 3u);
}

// One random chain of index maps over a small array: the symbolic operand index must name the element that a
// brute-force evaluation of the chain reads.
class RandomChain {
 public:
  explicit RandomChain(unsigned seed) : random_(seed), computation_("chain") {
    const int rank = Pick(1, 4);
    std::vector<int64_t> dimensions;
    for (int d = 0; d < rank; ++d) dimensions.push_back(Pick(1, 4) * Pick(1, 3));
    top_ = computation_.Add(Opcode::kParameter, Shape(ElementType::kS32, dimensions), {}, ParameterAttributes{0});
    values_.resize(top_->shape().ElementCount());
    std::iota(values_.begin(), values_.end(), 0);
  }

  void Grow(int steps) {
    for (int i = 0; i < steps; ++i) {
      switch (Pick(0, 4)) {
        case 0:
          Reshape();
          break;
        case 1:
          Transpose();
          break;
        case 2:
          Slice();
          break;
        case 3:
          Reverse();
          break;
        default:
          Broadcast();
      }
    }
  }

  void Check(bool one_variable) {
    IndexSpace space;
    MultiIndex index;
    const auto dimensions = top_->shape().dimensions();
    if (one_variable) {
      index = space.Delinearize(space.Variable(space.AddVariable(top_->shape().ElementCount())), dimensions);
    } else {
      for (int64_t size : dimensions) index.push_back(space.Variable(space.AddVariable(size)));
    }
    const Instruction* at = top_;
    for (; at->opcode() != Opcode::kParameter; at = at->operand(0)) index = OperandIndex(space, *at, 0, index);
    IndexExpression linear = space.Linearize(index, at->shape().dimensions());
    for (size_t i = 0; i < values_.size(); ++i) {
      std::vector<int64_t> loop = Digits(static_cast<int64_t>(i), dimensions);
      if (one_variable) loop = {static_cast<int64_t>(i)};
      ASSERT_EQ(Evaluate(space, linear, loop), values_[i])
          << top_->shape().ToString() << " element " << i << ": " << space.ToString(linear);
    }
  }

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void Append(Opcode opcode, std::vector<int64_t> dimensions, Attributes attributes,
              const std::function<std::vector<int64_t>(std::vector<int64_t>)>& source) {
    Instruction* next = computation_.Add(opcode, Shape(ElementType::kS32, dimensions), {top_}, std::move(attributes));
    std::vector<int64_t> values(next->shape().ElementCount());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = values_.at(Linear(source(Digits(static_cast<int64_t>(i), dimensions)), top_->shape().dimensions()));
    }
    top_ = next;
    values_ = std::move(values);
  }

  void Reshape() {
    std::vector<int64_t> factors;
    for (int64_t n : Ints(top_->shape().dimensions())) {
      for (int64_t p : {2, 3}) {
        while (n % p == 0) factors.push_back(p), n /= p;
      }
      factors.push_back(n);
    }
    std::vector<int64_t> dimensions{1};
    for (int64_t factor : factors) {
      if (Pick(0, 2) == 0 && dimensions.size() < 6) dimensions.push_back(1);
      dimensions.back() *= factor;
    }
    const auto old = Ints(top_->shape().dimensions());
    Append(Opcode::kReshape, dimensions, NoAttributes{},
           [=](std::vector<int64_t> index) { return Digits(Linear(index, dimensions), old); });
  }
  void Transpose() {
    std::vector<int64_t> permutation(top_->shape().rank()), dimensions;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::ranges::shuffle(permutation, random_);
    for (int64_t d : permutation) dimensions.push_back(top_->shape().dimension(static_cast<int>(d)));
    Append(Opcode::kTranspose, dimensions, DimensionsAttributes{permutation}, [=](std::vector<int64_t> index) {
      std::vector<int64_t> result(index.size());
      for (size_t d = 0; d < index.size(); ++d) result[permutation[d]] = index[d];
      return result;
    });
  }
  void Slice() {
    SliceAttributes attributes;
    std::vector<int64_t> dimensions;
    for (int64_t n : top_->shape().dimensions()) {
      SliceDimension slice;
      slice.start = Pick(0, static_cast<int>(n) - 1);
      slice.limit = Pick(static_cast<int>(slice.start) + 1, static_cast<int>(n));
      slice.stride = Pick(1, 2);
      attributes.slice.push_back(slice);
      dimensions.push_back((slice.limit - slice.start + slice.stride - 1) / slice.stride);
    }
    Append(Opcode::kSlice, dimensions, attributes, [=](std::vector<int64_t> index) {
      for (size_t d = 0; d < index.size(); ++d) {
        index[d] = attributes.slice[d].start + index[d] * attributes.slice[d].stride;
      }
      return index;
    });
  }
  void Reverse() {
    IntList reversed;
    for (int d = 0; d < top_->shape().rank(); ++d) {
      if (Pick(0, 1) == 1) reversed.push_back(d);
    }
    const auto sizes = Ints(top_->shape().dimensions());
    Append(Opcode::kReverse, sizes, DimensionsAttributes{reversed}, [=](std::vector<int64_t> index) {
      for (int64_t d : reversed) index[d] = sizes[d] - 1 - index[d];
      return index;
    });
  }
  void Broadcast() {
    if (top_->shape().rank() > 4 || top_->shape().ElementCount() > 2000) return;
    auto dimensions = Ints(top_->shape().dimensions());
    const int added = Pick(0, static_cast<int>(dimensions.size()));
    dimensions.insert(dimensions.begin() + added, Pick(1, 3));
    IntList mapped;
    for (int d = 0; d < top_->shape().rank(); ++d) mapped.push_back(d < added ? d : d + 1);
    Append(Opcode::kBroadcast, dimensions, DimensionsAttributes{mapped}, [=](std::vector<int64_t> index) {
      index.erase(index.begin() + added);
      return index;
    });
  }

  std::mt19937 random_;
  Computation computation_;
  Instruction* top_;
  std::vector<int64_t> values_;  // which element of the parameter each element of top_ is
};

TEST(IndexMapTest, RandomChainsAgreeWithBruteForce) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomChain chain(seed);
    chain.Grow(1 + static_cast<int>(seed % 6));
    SCOPED_TRACE(seed);
    chain.Check(true);
    chain.Check(false);
    if (HasFatalFailure()) return;
  }
}

TEST(IndexMapTest, PadsAreNoIndexMaps) {
  Computation computation("c");
  Shape shape(ElementType::kF32, {3});
  Instruction* a = computation.Add(Opcode::kParameter, shape, {}, ParameterAttributes{0});
  Instruction* b = computation.Add(Opcode::kParameter, Shape(ElementType::kF32), {}, ParameterAttributes{1});
  Instruction* pad = computation.Add(Opcode::kPad, shape, {a, b}, PadAttributes{{{0, 0, 0}}});
  IndexSpace space;
  MultiIndex index{space.Variable(space.AddVariable(3))};
  EXPECT_THROW(OperandIndex(space, *pad, 0, index), InternalError);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
