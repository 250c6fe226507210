// ReducerFold: accumulates values of one or several arrays lane by lane with a reducer computation. Up to kBlockSize
// lanes run side by side; sums of floats are kept wider than the type (f32 and narrower in double, f64 and c128
// compensated) and rounded once. A combiner that is known not to associate rounds at each step, as it is written.
#pragma once

#include <memory>
#include <span>

#include "backend/cpu/reference/scalar_program.h"
#include "backend/cpu/reference/value.h"

namespace VXLA_NAMESPACE {

class ReducerFold {
 public:
  virtual ~ReducerFold() = default;
  // accumulator = the initial values; = elements at + i * stride.
  virtual void LoadInit(int64_t n) = 0;
  virtual void LoadAccumulator(int64_t at, int64_t stride, int64_t n) = 0;
  virtual void LoadValue(int64_t at, int64_t stride, int64_t n) = 0;
  // value = the elements at these offsets; a negative offset stands for the initial value.
  virtual void LoadValueAt(const int64_t* offsets, int64_t n) = 0;
  // accumulator = f(accumulator, value)
  virtual void Fold(int64_t n) = 0;
  // accumulator = f(value, accumulator): the same where the order does not matter.
  virtual void FoldInFront(int64_t n) { Fold(n); }
  // Folds neighbours: lane i = f(lane 2i, lane 2i + 1); a last odd lane stays. Returns the lanes left.
  virtual int64_t FoldPairs(int64_t n) = 0;
  // accumulator lane 0 = f(accumulator lane 0, the other's lane 0)
  virtual void FoldOther(ReducerFold& other) = 0;
  // Lane i goes to element at + i * stride of each result; the accumulator stays as it is.
  virtual void Store(std::span<Literal> results, int64_t at, int64_t stride, int64_t n) = 0;
  // f(initial value, x) is x for the n elements at `at`: the initial value is an identity as far as they show.
  virtual bool InitVanishes(int64_t at, int64_t n) = 0;
  // f(initial value, initial value) is the initial value.
  virtual bool InitStays() = 0;
  // The order of values matters to the computation, as far as can be seen.
  virtual bool Ordered() const = 0;
};

// A maker of folders, one per thread: compiles the reducer once.
class ReducerFoldMaker {
 public:
  static Result<ReducerFoldMaker> Make(const Computation& reducer, std::span<const Value> arrays,
                                       std::span<const Value> inits);
  std::unique_ptr<ReducerFold> New() const;
  // Values are to be folded one after the other, from the initial value on.
  bool InOrder() const { return in_order_; }

 private:
  bool in_order_ = false;
  ScalarProgram program_;
  std::vector<const Instruction*>
      separate_;  // by array: the one op that folds it, where arrays are folded apart from each other
  std::vector<const Literal*> arrays_, inits_;
};

}  // namespace VXLA_NAMESPACE
