// The kernels that drivers on the host's processor take in the place of a GPU's, where the Tuner's shapes ask for them:
// drivers/software has them. All that other streets know of them is here.
#pragma once

#include <string>

#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

class ProductReader;
class SortText;
struct DotShape;
struct FftJob;
struct FftPlan;
struct RadixPass;
struct SelectShape;
struct SortItems;

// A product in registers (software/matmul_registers.comp); `shares`: where those of each result go, if there are
// several.
Step WriteRegisterProduct(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                          const DotShape& shape, const BufferSlice& shares);

// A Fourier transform whose lines a subgroup each holds (software/subgroup_line.comp).
Step WriteFftLines(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                   const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables);

// The first few of each chunk of a row (software/select.comp).
Step WriteSelectChunks(const SortText& text, const SelectShape& select, const SortItems& from, const SortItems& to);
// A phase of a sort by digits (software/radix_chunks.comp).
Step WriteRadixChunks(const SortText& text, const RadixPass& pass);

}  // namespace VXLA_NAMESPACE::vulkan
