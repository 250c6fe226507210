// The functions of shaders/include, cut at their top-level definitions, in each of the variants that devices may need.
#pragma once

#include <string>
#include <vector>

#include "tools/embed/glsl_text.h"

namespace VXLA_NAMESPACE::embed {

// FN <type> name(...) {...} or CONSTARR <type> name[n] = {...};
struct Definition {
  std::string name;
  std::string text;  // with the end of its last line
  friend bool operator==(const Definition&, const Definition&) = default;
};

// A bit each, so that a variant is a number: VXLA_EMULATE_I64 and so on hold in its text.
enum VariantBit { kEmulateI64 = 1, kEmulateF64 = 2, kCorrectF32 = 4, kCorrectF64 = 8, kVariants = 16 };

// The include files in the order in which their definitions may depend on each other: the math files as prelude.glsl
// states it, then the others of `files` (paths below shaders/) by name.
std::vector<std::string> FilesInOrder(const std::vector<std::string>& files, const ReadFile& read);

// The definitions of the files that hold in a variant, in order.
std::vector<Definition> DefinitionsOf(const std::vector<std::string>& files_in_order, int variant,
                                      const ReadFile& read);

}  // namespace VXLA_NAMESPACE::embed
