// Lowering of fusions and single instructions to Vulkan kernels; one function per hero.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/custom_kernel.h"
#include "backend/lowering.h"
#include "backend/vulkan/codegen/value_writer.h"

namespace VXLA_NAMESPACE::vulkan {

// `kernels`: the user's, for custom calls of their names.
std::unique_ptr<Lowering> MakeLowering(const DeviceFacts& facts, BindingMode bindings,
                                       const CustomKernels& kernels = {});

// Element indices are 32-bit and take part in signed address arithmetic.
constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;

struct LowerContext {
  const DeviceFacts& facts;
  BindingMode bindings;
};

// Values that lie where `slice_of` says; all else is of the map around it.
class PlacedBuffers final : public BufferMap {
 public:
  PlacedBuffers(BufferMap& outer, std::function<BufferSlice(const Instruction&, int)> slice_of)
      : outer_(outer), slice_of_(std::move(slice_of)) {}
  BufferSlice SliceOf(const Instruction& instruction, int leaf) override { return slice_of_(instruction, leaf); }
  BufferSlice Scratch(int64_t size_bytes) override { return outer_.Scratch(size_bytes); }
  BufferSlice Constant(std::vector<uint32_t> words) override { return outer_.Constant(std::move(words)); }

 private:
  BufferMap& outer_;
  const std::function<BufferSlice(const Instruction&, int)> slice_of_;
};

// CanLowerX and LowerX for each KERNEL row X of core/ir/opcode.def (lower/<street>/<family>.cc): how the kernels of a
// fusion around that hero are made; a row without them is a linker error. Fusion's are those of a fusion without a
// hero, a loop over the elements of its results (lower/elementwise/fused_loop.cc). CanLowerX decides without making
// steps. The common part is checked before: element types, opcodes that codegen can write, element counts below 2^31,
// reducer computations; and a result without elements needs no steps at all.
#define KERNEL(Name, ...)                                                            \
  Status CanLower##Name(const LowerContext& context, const FusionDescription& body); \
  Result<std::vector<Step>> Lower##Name(const LowerContext& context, const FusionDescription& body, BufferMap& buffers);
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

// Of a fusion that is a product chain (lower/products/product_chain.cc).
Status CanLowerChain(const LowerContext& context, const FusionDescription& body);
Result<std::vector<Step>> LowerChain(const LowerContext& context, const FusionDescription& body, BufferMap& buffers);

// Of a fusion that is an attention (lower/products/attention.cc).
Status CanLowerAttention(const LowerContext& context, const FusionDescription& body);
Result<std::vector<Step>> LowerAttention(const LowerContext& context, const FusionDescription& body,
                                         BufferMap& buffers);

// Whether values of types that this device has to emulate with pairs of words are computed: their functions are long,
// so kernels have few copies of them.
bool ComputesInPairs(const LowerContext& context, const FusionDescription& body);

// A result of a fusion: a root, or an element of one that is a tuple.
struct ResultLeaf {
  const Instruction* root;
  int element;
  const Shape* shape;
};
// In the order of the instruction's leaves.
std::vector<ResultLeaf> ResultLeaves(const FusionDescription& body);

// "fusion.3 (exponential, subtract)": the name of a step.
std::string StepName(const FusionDescription& body);

// A step that sets the first `words` words of a scratch buffer to zero.
Step ClearStep(const LowerContext& context, const std::string& name, const BufferSlice& scratch, int64_t words);

}  // namespace VXLA_NAMESPACE::vulkan
