// Value: what the evaluator passes between instructions: an array that several holders may share, or a tuple of Values.
// Tuples and get-tuple-element therefore copy nothing, and an op may write into an operand that nobody else holds.
#pragma once

#include <memory>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

class Value {
 public:
  Value() = default;  // the empty tuple
  Value(Literal literal);
  // A caller's literal, which must outlive the Value and is never written.
  static Value Borrow(const Literal& literal);
  static Value Tuple(std::vector<Value> elements);

  bool IsTuple() const { return array_ == nullptr; }
  const Literal& literal() const { return *array_; }
  const Shape& shape() const { return array_->shape(); }
  std::vector<Value>& elements() { return elements_; }
  const std::vector<Value>& elements() const { return elements_; }

  // Nobody else holds the array.
  bool IsUnique() const { return !borrowed_ && array_.use_count() == 1; }
  // The array, moved out if unique, else copied.
  Literal Take() &&;
  // The same for any value, tuples included.
  Literal ToLiteral() &&;

 private:
  std::shared_ptr<Literal> array_;
  bool borrowed_ = false;
  std::vector<Value> elements_;
};

}  // namespace VXLA_NAMESPACE
