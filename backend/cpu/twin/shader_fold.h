// ShaderFold: reductions of rows in the order of a plan (core/numerics/accumulation_order.h), with the arithmetic of
// the shaders.
#pragma once

#include <functional>
#include <optional>

#include "backend/cpu/twin/shader_program.h"
#include "core/numerics/accumulation_order.h"

namespace VXLA_NAMESPACE {

// What is done with two accumulators, and where they start.
class ShaderReducer {
 public:
  // As kernels read a reducer computation (core/numerics/reducer_facts.h).
  static Result<ShaderReducer> FromComputation(const Computation& computation);
  // Of an instruction that reduces: the same, or sums or products in two floats, whose accumulators have the carriers
  // of PairTypeOf.
  static Result<ShaderReducer> Of(const Instruction& instruction);
  // Additions from zero, as products are summed; `wide`: in two floats, of the type c64.
  static Result<ShaderReducer> Sum(ElementType type, bool wide);

  const std::vector<ElementType>& types() const { return types_; }
  // Carriers of each value of an accumulator that takes part without an element; empty: there are none.
  const std::vector<std::vector<std::byte>>& identity() const { return identity_; }
  // Elements are taken one after the other, and accumulators start as the initial values: StartFrom, then FoldRows
  // gives whole results.
  bool in_order() const { return in_order_; }
  void StartFrom(std::vector<std::vector<std::byte>> initial_values) { identity_ = std::move(initial_values); }

  class Runner {
   public:
    explicit Runner(const ShaderReducer& reducer);
    // a[i] = f(a[i], b[i]) for every value of the accumulators; n <= kShaderBlock.
    void Combine(void* const* a, const void* const* b, int64_t n);
    // The same where b are elements.
    void Take(void* const* a, const void* const* b, int64_t n);

   private:
    const ShaderReducer& reducer_;
    std::optional<ShaderProgram::Frame> frame_;
  };

 private:
  static ShaderReducer ProductInPairs(ElementType pair);

  std::vector<ElementType> types_;
  std::vector<std::vector<std::byte>> identity_;
  bool in_order_ = false;
  ShaderFunction take_;     // if set, of elements
  ShaderFunction combine_;  // if set, else:
  std::optional<ShaderProgram> program_;
};

// Carriers of one value each row (or share), and whether they hold anything.
struct ShaderSums {
  std::vector<std::vector<std::byte>> values;  // by value of the accumulators
  std::vector<uint8_t> holds;
};

// Fills carriers of the values at n <= kShaderBlock places (row, element).
using ShaderLoader = std::function<void(const int64_t* rows, const int64_t* elements, int64_t n, void* const* values)>;

// Reduces each of `rows` rows of `row_size` elements. Initial values are the caller's business.
ShaderSums FoldRows(int64_t rows, int64_t row_size, const AccumulationOrder& order, const ShaderReducer& reducer,
                    const ShaderLoader& load, int threads);
// The same from `shares` accumulators of each row that a first level has left, by the levels after it.
ShaderSums FoldShares(int64_t rows, int64_t shares, ShaderSums sums, std::span<const AccumulationLevel> levels,
                      const ShaderReducer& reducer, int threads);

}  // namespace VXLA_NAMESPACE
