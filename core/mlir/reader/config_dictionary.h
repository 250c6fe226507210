// What a custom call's backend_config states by name: the dictionary that XLA's typed FFI writes ({alpha = 2.0 : f32,
// name = "x", shape = array<i64: 2, 3>, table = dense<[1, 2]> : tensor<2xi64>, inner = {u = 3 : ui8}}), or JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

struct ConfigValue;
using ConfigDictionary = std::map<std::string, ConfigValue>;  // sorted, as handlers of the typed FFI expect

struct ConfigValue {
  enum class Kind : uint8_t { kScalar, kArray, kString, kDictionary };
  Kind kind = Kind::kScalar;
  Literal numbers;  // of a scalar of rank 0; of an array of rank 1, whatever the rank of its tensor
  std::string text;
  ConfigDictionary entries;
};

// The empty text is the empty dictionary. Numbers that state no type are s64, or f64 with a point or an exponent;
// kInvalidArgument says where the text is none.
Result<ConfigDictionary> ParseConfigDictionary(std::string_view text);

// The text of a backend_config as its reader means it: without the quotes and escapes around a string.
std::string ConfigText(const std::string& backend_config);

}  // namespace VXLA_NAMESPACE
