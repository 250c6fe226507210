#include "backend/vulkan/shader/module_compiler.h"

#include "backend/vulkan/drivers/break_blocks.h"
#include "backend/vulkan/drivers/flatten_branches.h"
#include "backend/vulkan/drivers/late_folds.h"
#include "backend/vulkan/drivers/plain_loops.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/shader/reflection.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/shader/user_module.h"
#include "backend/vulkan/spirv/forward_stores.h"
#include "backend/vulkan/spirv/inline_functions.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "backend/vulkan/spirv/no_contraction.h"
#include "backend/vulkan/spirv/unroll_loops.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Any length between 400 and 4000 is as good for the one compiler that asks for short blocks.
constexpr size_t kMostInBlock = 1000;
// About what a branch that lanes take in different ways costs a GPU.
constexpr size_t kMostInFlatSide = 8;

Result<std::vector<uint32_t>> CompileModule(const KernelKey& key, const std::string& text, const ModuleTarget& target) {
  const bool custom = IsCustomShader(key);
  const CompileTarget compiled_for = {target.spirv_1_6};
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> words,
                        custom ? CompileUserGlsl(text, key.user_file, compiled_for, key.user_text)
                               : CompileGlsl(text, key.algorithm, compiled_for));
  words = spirv::WithElementFunctions(spirv::WithMatrixComponents(words));
  VXLA_ASSIGN_OR_RETURN(const ModuleInterface module, ReflectModule(spirv::WithoutMatrixTypes(words), key.algorithm));
  if (custom) {
    VXLA_RETURN_IF_ERROR(CheckUserModule(module, key.user_file, key.buffer_count, target.mode));
  } else {
    VXLA_RETURN_IF_ERROR(CheckInterface(module, key, target.mode));
  }
  // Flat first: that is quick function by function.
  if (target.flat) words = spirv::FlattenBranches(words);
  // The compiler that walks every path takes calls as they are; others replace them by slower means.
  if (!target.flat && !target.short_blocks) {
    words = spirv::ForwardStores(spirv::UnrollLoops(spirv::InlineFunctions(words)));
    if (target.selects) words = spirv::ForwardStores(spirv::FlattenBranches(words, kMostInFlatSide));
  }
  if (EmulatesDoubles(key, target.variant)) words = WithoutCalls(std::move(words), compiled_for);
  return spirv::WithoutContraction(target.short_blocks ? spirv::BreakLongBlocks(std::move(words), kMostInBlock)
                                                       : std::move(words));
}

// Not the user's own kernels, and not what is written for one compiler that is no driver of a GPU.
std::vector<uint32_t> OptimizeModule(std::vector<uint32_t> words, const KernelKey& key, const ModuleTarget& target) {
  const bool as_is = key.is_module || IsCustomShader(key) || target.flat || target.short_blocks;
  if (as_is) return words;
  // A bundle for any device may meet the compiler that walks every path.
  const std::vector<uint32_t> flat =
      spirv::FlattenBranches(Optimized(std::move(words), {target.spirv_1_6}), kMostInFlatSide);
  // A loop's kernel holds so many other loops that it is most of a bundle's time to load where they are written out,
  // and runs no slower where they are not. What GPUs' compilers gain by writing out those of others is not known.
  return spirv::PlainLoops(
      target.any_device ? spirv::FoldLate(flat) : flat,
      {.keeps_loops = target.any_device && key.algorithm == "control_flow/loop.comp", .any_device = target.any_device});
}

}  // namespace

ModuleCompiler ShadercCompiler() { return {CompilerIdentity(), CompileModule, OptimizeModule}; }

}  // namespace VXLA_NAMESPACE::vulkan
