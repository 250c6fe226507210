// SortOrder: how a sort's elements are compared, as its kernels use it.
#pragma once

#include <string>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE::vulkan {

struct SortOrder {
  // The operands that a comparison reads.
  std::vector<int> operands;
  // Above 0: the order is that of keys of so many words, the first word the weightiest, ascending; each is computed
  // from one element. 0: a computation compares two elements, and nothing says that it is an order.
  int key_words = 0;
  // The bits of all words that tell keys apart lie in [key_low, key_high) of a word; whole words if there are several.
  int key_low = 0, key_high = 32;
  int word_bits() const { return key_high - key_low; }
  // GLSL: the type Key, Key make_key(T0 p0, T1 p1, ...) of the operands' carrier values, and bool before(Key, Key).
  std::string text;
};

// The order of a comparator computation (parameters interleaved). Recognised by structure: less or greater of one
// function of the left elements and the same of the right ones, in the default or the total order, and the
// lexicographic order of several such keys as JAX writes it.
SortOrder ReadComparator(const Computation& computation);

// The order of values alone: descending or not, floats by the total order.
SortOrder ValueOrder(ElementType type, bool descending);

}  // namespace VXLA_NAMESPACE::vulkan
