#include "backend/vulkan/shader/cross_compile.h"

#include <spirv_cross/spirv_cross_c.h>

#include <memory>
#include <unordered_map>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct ReleaseContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

// The module with other values of its specialisation constants, which are 32-bit everywhere.
std::vector<uint32_t> Specialised(std::vector<uint32_t> words, const std::vector<uint32_t>& values) {
  std::unordered_map<uint32_t, uint32_t> value_of;  // by result id
  for (size_t at = spirv::kHeaderWords; at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu, length = words[at] >> 16;
    if (op == spirv::OpDecorate && length == 4 && words[at + 2] == spirv::DecorationSpecId &&
        words[at + 3] < values.size())
      value_of[words[at + 1]] = values[words[at + 3]];
    if (op != spirv::OpSpecConstant || length != 4) continue;
    if (const auto value = value_of.find(words[at + 2]); value != value_of.end()) words[at + 3] = value->second;
  }
  return words;
}

// 16-bit types came with shader model 6.2; other kernels ask for 6.0, which is older and read by more compilers.
uint32_t ShaderModelFor(const std::vector<uint32_t>& words) {
  for (const auto capability :
       {spirv::CapabilityFloat16, spirv::CapabilityInt16, spirv::CapabilityStorageBuffer16BitAccess}) {
    if (spirv::Declares(words, capability)) return 62;
  }
  return 60;
}

// What SPIRV-Cross calls in HLSL and HLSL has not: both halves of a product of 32-bit words.
constexpr std::string_view kExtendedProduct =
    "void umulExtended(uint a, uint b, out uint high, out uint low)\n"
    "{\n"
    "    uint ll = (a & 0xffffu) * (b & 0xffffu), lh = (a & 0xffffu) * (b >> 16);\n"
    "    uint hl = (a >> 16) * (b & 0xffffu), hh = (a >> 16) * (b >> 16);\n"
    "    uint middle = (ll >> 16) + (lh & 0xffffu) + (hl & 0xffffu);\n"
    "    low = a * b;\n"
    "    high = hh + (lh >> 16) + (hl >> 16) + (middle >> 16);\n"
    "}\n\n";

class CrossCompiler {
 public:
  CrossCompiler(spvc_context context, const std::string& name) : context_(context), name_(name) {}

  Status Parse(const std::vector<uint32_t>& words, ShadingLanguage language) {
    spvc_parsed_ir ir = nullptr;
    VXLA_RETURN_IF_ERROR(Check(spvc_context_parse_spirv(context_, words.data(), words.size(), &ir)));
    const spvc_backend backend = language == ShadingLanguage::kHlsl ? SPVC_BACKEND_HLSL : SPVC_BACKEND_MSL;
    return Check(spvc_context_create_compiler(context_, backend, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler_));
  }

  // The bindings of Vulkan keep their numbers.
  Status SetOptions(ShadingLanguage language, uint32_t shader_model) {
    spvc_compiler_options options = nullptr;
    VXLA_RETURN_IF_ERROR(Check(spvc_compiler_create_compiler_options(compiler_, &options)));
    if (language == ShadingLanguage::kHlsl) {
      spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_HLSL_SHADER_MODEL, shader_model);
      spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_HLSL_FORCE_STORAGE_BUFFER_AS_UAV, SPVC_TRUE);
    } else {
      spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_MSL_VERSION, SPVC_MAKE_MSL_VERSION(2, 2, 0));
      spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_MSL_ENABLE_DECORATION_BINDING, SPVC_TRUE);
    }
    return Check(spvc_compiler_install_compiler_options(compiler_, options));
  }

  // HLSL has no name for the number of workgroups: a constant buffer b0 holds it.
  void NameWorkgroupCounts() {
    const spvc_variable_id counts = spvc_compiler_hlsl_remap_num_workgroups_builtin(compiler_);
    if (counts == 0) return;
    spvc_compiler_set_decoration(compiler_, counts, SpvDecorationDescriptorSet, 0);
    spvc_compiler_set_decoration(compiler_, counts, SpvDecorationBinding, 0);
  }

  Result<std::string> Text() {
    const char* text = nullptr;
    VXLA_RETURN_IF_ERROR(Check(spvc_compiler_compile(compiler_, &text)));
    return std::string(text);
  }

 private:
  Status Check(spvc_result result) const {
    if (result == SPVC_SUCCESS) return OkStatus();
    const char* why = spvc_context_get_last_error_string(context_);
    return Unsupported("kernel {}: SPIRV-Cross does not translate it: {}", name_, why == nullptr ? "?" : why);
  }

  spvc_context context_;
  const std::string& name_;
  spvc_compiler compiler_ = nullptr;
};

}  // namespace

Result<std::string> CrossCompile(const std::vector<uint32_t>& words, const std::vector<uint32_t>& constants,
                                 const std::string& name, ShadingLanguage language) {
  if (!spirv::IsWholeModule(words)) return InvalidArgument("kernel {}: the SPIR-V module is cut off or broken", name);
  spvc_context made = nullptr;
  if (spvc_context_create(&made) != SPVC_SUCCESS)
    return ResourceExhausted("kernel {}: no memory for SPIRV-Cross", name);
  const std::unique_ptr<spvc_context_s, ReleaseContext> context(made);
  CrossCompiler compiler(made, name);
  VXLA_RETURN_IF_ERROR(compiler.Parse(Specialised(words, constants), language));
  VXLA_RETURN_IF_ERROR(compiler.SetOptions(language, ShaderModelFor(words)));
  if (language == ShadingLanguage::kHlsl) compiler.NameWorkgroupCounts();
  VXLA_ASSIGN_OR_RETURN(std::string text, compiler.Text());
  if (language == ShadingLanguage::kHlsl && text.find("umulExtended(") != text.npos) text.insert(0, kExtendedProduct);
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
