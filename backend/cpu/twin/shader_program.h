// ShaderProgram: a computation of scalars (a reducer) as calls of shader functions over blocks of carriers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/cpu/twin/shader_functions.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

inline constexpr int64_t kShaderBlock = 512;

// Carriers of any kind, kShaderBlock of them.
struct alignas(16) ShaderBlock {
  std::byte bytes[kShaderBlock * 16];
};

struct ShaderScratch {
  ShaderBlock first, second;
};

// Runs a chain of calls: in[0..] are the first one's operands, `scratch` takes what lies between.
void RunShaderCalls(std::span<const ShaderCall> calls, const void* const* in, void* out, int64_t n,
                    ShaderScratch& scratch);

class ShaderProgram {
 public:
  // Unsupported if it holds what kernels of reducers do not.
  static Result<ShaderProgram> Compile(const Computation& computation);

  // The registers of one thread.
  class Frame {
   public:
    explicit Frame(const ShaderProgram& program);
    // n <= kShaderBlock. results[i] may be one of the arguments.
    void Run(const void* const* arguments, void* const* results, int64_t n);

   private:
    const ShaderProgram& program_;
    std::vector<ShaderBlock> registers_;
    ShaderScratch scratch_;
  };

 private:
  struct Step {
    std::vector<ShaderCall> calls;
    std::vector<int> inputs;
    int output = 0;
  };
  Status Add(const Computation& computation, std::span<const int> arguments, std::vector<int>* results);

  std::vector<Step> steps_;
  std::vector<std::pair<int, const Literal*>> constants_;
  std::vector<int> parameters_, results_;
  std::vector<int> parameter_bytes_, result_bytes_;
  int registers_ = 0;
};

}  // namespace VXLA_NAMESPACE
