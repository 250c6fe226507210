// Scalar computations: elementwise instructions as calls of the shader math, and a reducer computation as a GLSL
// function.
#pragma once

#include <span>
#include <string>

#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/codegen/statements/statement.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE::vulkan {

// Whether the instruction makes floats of integers or truth values.
bool MakesFloats(const Instruction& instruction);
// The GLSL expression of one elementwise instruction (or same-width bitcast-convert) of carrier values: add_f32(a, b)
// with narrowing, selects, conversions. CHECK-fails for other opcodes.
std::string ElementwiseCall(const Instruction& instruction, std::span<const std::string> operands);
// The same, with what passes know it by. Without `common_bits` it need not have the bits that every device gives:
// HasFusedVariant.
Expression ElementwiseValue(const Instruction& instruction, std::span<const std::string> operands,
                            bool common_bits = true);

// A carrier value of type `from` converted to `to`, as convert does.
std::string ConvertedText(ElementType from, ElementType to, const std::string& value);
// The same, with what passes know it by.
Expression ConvertedValue(ElementType from, ElementType to, const std::string& value);

// A reducer (parameters: N accumulators, then N values; all scalars) as
//   void <name>(inout T0 a0, inout T1 a1, ..., T0 b0, T1 b1, ...)   a = computation(a, b)
// for any N, 1 included. Nested calls of scalar computations are inlined.
std::string ReducerFunction(const Computation& computation, const std::string& name);

// One value of a computation of scalars as a function of its parameters:   T <name>(T0 p0, T1 p1, ...)
std::string ScalarFunction(const Computation& computation, const Instruction& value, const std::string& name);

// Elementwise instructions only: else kUnsupported with the reason. Every element type goes on every device.
Status CheckScalarComputation(const Computation& computation);
// The same for one instruction.
Status CheckInstruction(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE::vulkan
