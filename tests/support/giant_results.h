// Programs whose results are small though their arrays are not: the values are compared with closed forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {

inline std::vector<int64_t> Integers(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.shape().ElementCount(); ++i) values.push_back(literal.GetInt(i));
  return values;
}

// The results, one array a leaf; an instruction that would run on the host fails the test.
inline std::vector<std::vector<int64_t>> Results(BindingMode mode, const std::string& text,
                                                 const std::vector<Literal>& arguments) {
  std::vector<std::vector<int64_t>> results;
  const auto module = ParseModule(text);
  if (module == nullptr) return results;
  const auto result = RunOnDevice(mode, *module, arguments);
  if (!result) return results;
  if (!result->shape().IsTuple()) return {Integers(*result)};
  for (const Literal& element : result->tuple_elements()) results.push_back(Integers(element));
  return results;
}

inline Literal Byte(uint8_t value) { return Literal::FromVector<uint8_t>(Shape(ElementType::kU8, {}), {{value}}); }

}  // namespace VXLA_NAMESPACE::testing
