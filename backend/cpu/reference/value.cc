#include "backend/cpu/reference/value.h"

namespace VXLA_NAMESPACE {

Value::Value(Literal literal) {
  if (!literal.shape().IsTuple()) {
    array_ = std::make_shared<Literal>(std::move(literal));
    return;
  }
  for (Literal& element : literal.mutable_tuple_elements()) elements_.emplace_back(std::move(element));
}

Value Value::Borrow(const Literal& literal) {
  Value value;
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.tuple_elements()) value.elements_.push_back(Borrow(element));
    return value;
  }
  // Never written: `borrowed_` makes IsUnique false, and copies keep the flag.
  value.array_ = std::shared_ptr<Literal>(const_cast<Literal*>(&literal), [](Literal*) {});
  value.borrowed_ = true;
  return value;
}

Value Value::Tuple(std::vector<Value> elements) {
  Value value;
  value.elements_ = std::move(elements);
  return value;
}

Literal Value::Take() && {
  std::shared_ptr<Literal> array = std::move(array_);
  if (!borrowed_ && array.use_count() == 1) return std::move(*array);
  return *array;
}

Literal Value::ToLiteral() && {
  if (!IsTuple()) return std::move(*this).Take();
  std::vector<Literal> elements;
  elements.reserve(elements_.size());
  for (Value& element : elements_) elements.push_back(std::move(element).ToLiteral());
  return Literal::Tuple(std::move(elements));
}

}  // namespace VXLA_NAMESPACE
