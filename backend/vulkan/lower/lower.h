// Lowering of fusions and single instructions to Vulkan kernels; one function per kind of fusion.
#pragma once

#include <memory>
#include <vector>

#include "backend/lowering.h"
#include "backend/vulkan/codegen/glsl_writer.h"

namespace vxla::vulkan {

std::unique_ptr<Lowering> MakeLowering(const DeviceFacts& facts, BindingMode bindings);

struct LowerContext {
  const DeviceFacts& facts;
  BindingMode bindings;
};

// Each CanLowerX decides without making steps. The common part is checked before: element types, opcodes that codegen
// can write, element counts below 2^31, reducer computations; and a result without elements needs no steps at all.
// `body` is the fusion, or the single instruction, and knows its roots.

// kLoop, and single elementwise and indexing instructions (lower/elementwise.cc).
Status CanLowerLoop(const LowerContext& context, const FusionBody& body);
Result<std::vector<Step>> LowerLoop(const LowerContext& context, const FusionBody& body, BufferMap& buffers);
// kInput and reduce (lower/reduce.cc).
Status CanLowerReduce(const LowerContext& context, const FusionBody& body);
Result<std::vector<Step>> LowerReduce(const LowerContext& context, const FusionBody& body, BufferMap& buffers);
// kOutput and dot (lower/dot.cc).
Status CanLowerDot(const LowerContext& context, const FusionBody& body);
Result<std::vector<Step>> LowerDot(const LowerContext& context, const FusionBody& body, BufferMap& buffers);
// kCustom and reduce-window (lower/window.cc).
Status CanLowerReduceWindow(const LowerContext& context, const FusionBody& body);
Result<std::vector<Step>> LowerReduceWindow(const LowerContext& context, const FusionBody& body, BufferMap& buffers);

// Whether values of types that this device has to emulate with pairs of words are computed: their functions are long,
// so kernels have few copies of them.
bool ComputesInPairs(const LowerContext& context, const FusionBody& body);

// "fusion.3 (exponential, subtract)": the name of a step.
std::string StepName(const FusionBody& body);

}  // namespace vxla::vulkan
