// Quantized tensors: integers with a scale and a zero point. Programs with them become programs of integers and floats,
// as the specification defines each operation.
#pragma once

#include <string_view>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// !quant.uniform<i8<-127:127>:f32:1, {0.1:-30, 0.5}> as written; kInvalidArgument says what is wrong.
Result<std::shared_ptr<const Quantization>> ParseQuantization(std::string_view text);

// A tensor of the sizes of a shape, with elements that are written `element`.
Result<Type> QuantizedTensor(const Shape& sizes, std::shared_ptr<const Quantization> quantization,
                             const std::string& element);

// Values of quantized types become values of their storage types. Data movement moves the integers; uniform_quantize
// and uniform_dequantize become arithmetic; every other operation computes in the expressed type: its operands are
// dequantized and its results quantized.
Status LegalizeQuantized(Program& program);

}  // namespace VXLA_NAMESPACE::mlir
