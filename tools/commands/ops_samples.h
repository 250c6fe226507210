// What the table of operations says beyond core/ir/opcode.def: the builder's functions, and the element types that an
// operation takes on the CPU and on Vulkan, found by asking shape inference and lowering about a sample program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/data/element_type.h"
#include "core/ir/opcode.h"

namespace VXLA_NAMESPACE {

// "Conv ConvGeneral", "Neg"; empty for what only passes and dumps make.
std::string_view BuilderFunctions(Opcode opcode);

struct OpTypes {
  bool typed = false;                 // false: the operation takes whatever its parts take, tuples and tokens too
  std::vector<ElementType> accepted;  // by shape inference, so on the CPU
  std::vector<ElementType> native;    // by kernels on a device with every feature
  std::vector<ElementType> emulated;  // of these, the ones that kernels also compute on a device without the feature
};
OpTypes TypesOf(Opcode opcode);

// "any", "integer float", "f32 f64": whole classes by their names, in the order of ElementType.
std::string TypesText(const std::vector<ElementType>& types);

}  // namespace VXLA_NAMESPACE
