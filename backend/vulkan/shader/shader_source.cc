#include "backend/vulkan/shader/shader_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <unordered_set>
#include <vector>

#include "backend/kernel_pieces.h"
#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/drivers/known_faults.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/spirv/float_modes.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsIdentifierStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsIdentifierPart(char c) { return IsIdentifierStart(c) || (c >= '0' && c <= '9'); }

// Every identifier of a text, comments left out.
template <typename Function>
void ForEachIdentifier(std::string_view text, Function&& function) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (IsIdentifierStart(c)) {
      const size_t begin = i;
      while (i < text.size() && IsIdentifierPart(text[i])) ++i;
      function(text.substr(begin, i - begin));
    } else if (c >= '0' && c <= '9') {
      while (i < text.size() && (IsIdentifierPart(text[i]) || text[i] == '.')) ++i;  // 0x7fu, 1.0lf
    } else {
      ++i;
    }
  }
}

// The definitions of one variant by their names.
class Definitions {
 public:
  // Made once for each variant.
  static const Definitions& Of(ShaderVariant variant) {
    static std::mutex mutex;
    static std::map<int, Definitions> made;
    const std::scoped_lock lock(mutex);
    return made.try_emplace(variant.number(), kShaderLibrary.variants[static_cast<size_t>(variant.number())])
        .first->second;
  }

  explicit Definitions(std::span<const uint16_t> numbers) : numbers_(numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) by_name_.emplace(At(i).name, i);
  }

  // The text of those that `body` needs, in order.
  std::string Closure(std::string_view body) const {
    const std::vector<bool> wanted = WantedBy(body);
    std::string text;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) text.append(At(i).text);
    }
    return text;
  }

  // Whether it needs one of this name.
  bool Holds(std::string_view body, std::string_view name) const {
    const std::vector<bool> wanted = WantedBy(body);
    const auto range = by_name_.equal_range(name);
    return std::any_of(range.first, range.second, [&](const auto& each) { return wanted[each.second]; });
  }

 private:
  const ShaderDefinition& At(size_t i) const { return kShaderLibrary.definitions[numbers_[i]]; }

  // Directly or not.
  std::vector<bool> WantedBy(std::string_view body) const {
    std::vector<bool> wanted(numbers_.size(), false);
    std::vector<size_t> work;
    const auto want = [&](std::string_view name) {
      const auto range = by_name_.equal_range(name);
      for (auto it = range.first; it != range.second; ++it) {
        if (wanted[it->second]) continue;
        wanted[it->second] = true;
        work.push_back(it->second);
      }
    };
    ForEachIdentifier(body, want);
    while (!work.empty()) {
      const size_t at = work.back();
      work.pop_back();
      for (const std::string_view used : At(at).uses) want(used);
    }
    return wanted;
  }

  std::span<const uint16_t> numbers_;
  std::unordered_multimap<std::string_view, size_t> by_name_;
};

// The algorithm with the generated hooks in place.
Result<std::string> BodyOf(const KernelKey& key) {
  if (IsCustomShader(key)) return key.generated;
  const auto algorithm = std::ranges::find(kShaderLibrary.algorithms, key.algorithm, &ShaderAlgorithm::name);
  if (algorithm == kShaderLibrary.algorithms.end()) return Internal("no shader file {}", key.algorithm);
  std::string hooks;
  for (size_t k = 0; k < key.written_tensors.size(); ++k)
    hooks += fmt::format("#define TENSOR_ARRAY_{} {}\n", k, key.written_tensors[k] ? "WRITTEN" : "READ");
  hooks += key.generated;
  if (key.whole_items > 0) hooks += fmt::format("#define WHOLE_ITEMS {}u\n", key.whole_items);
  if (key.one_item) hooks += "#define ONE_ITEM 1\n";
  return fmt::format("{}", fmt::join(algorithm->pieces, hooks));
}

using Identifiers = std::unordered_set<std::string_view>;

bool Uses(const Identifiers& identifiers, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return identifiers.contains(name); });
}

void AppendExtensions(const Identifiers& used, const DeviceFacts& facts, BindingMode bindings, bool modes,
                      bool wide_addresses, std::string* out) {
  std::set<std::string_view> extensions;
  if (wide_addresses) extensions.insert("GL_EXT_shader_explicit_arithmetic_types_int64");
  if (bindings == BindingMode::kAddresses) {
    extensions.insert({"GL_EXT_buffer_reference", "GL_EXT_buffer_reference_uvec2"});
  }
  if (modes || used.contains("spirv_instruction")) extensions.insert("GL_EXT_spirv_intrinsics");
  if (Uses(used, {"int64_t", "uint64_t", "i64vec2", "u64vec2", "u64x4"}) ||
      (facts.int64 && Uses(used, {"i64", "u64", "i64_t", "u64_t"}))) {
    extensions.insert("GL_EXT_shader_explicit_arithmetic_types_int64");
  }
  if (facts.wide_atomics && Uses(used, {"atomicCompSwap"}) && Uses(used, {"u64"}))
    extensions.insert("GL_EXT_shader_atomic_int64");
  if (facts.storage16 && Uses(used, {"u16", "uint16_t", "int16_t"})) extensions.insert("GL_EXT_shader_16bit_storage");
  if (facts.storage8 && Uses(used, {"u8", "uint8_t", "int8_t"})) extensions.insert("GL_EXT_shader_8bit_storage");
  // References to elements of a matrix, as intrinsics take them.
  if (used.contains("TERM_ELEMENT") && !facts.matrices_stand_in)
    extensions.insert(
        {"GL_EXT_shader_explicit_arithmetic_types_int8", "GL_EXT_shader_explicit_arithmetic_types_int16"});
  if (Uses(used, {"float16_t", "f16vec2", "f16vec4"}))
    extensions.insert("GL_EXT_shader_explicit_arithmetic_types_float16");
  if (Uses(used, {"unroll", "dont_unroll"})) extensions.insert("GL_EXT_control_flow_attributes");
  for (std::string_view identifier : used) {
    if (!identifier.starts_with("subgroup") && !identifier.starts_with("gl_Subgroup")) continue;
    extensions.insert("GL_KHR_shader_subgroup_basic");
    if (identifier == "subgroupShuffle" || identifier == "subgroupShuffleXor") {
      extensions.insert("GL_KHR_shader_subgroup_shuffle");
    } else if (identifier == "subgroupShuffleUp" || identifier == "subgroupShuffleDown") {
      extensions.insert("GL_KHR_shader_subgroup_shuffle_relative");
    } else if (identifier.starts_with("subgroupBallot") || identifier.starts_with("subgroupBroadcast")) {
      extensions.insert("GL_KHR_shader_subgroup_ballot");
    } else if (identifier == "subgroupAll" || identifier == "subgroupAny" || identifier == "subgroupAllEqual") {
      extensions.insert("GL_KHR_shader_subgroup_vote");
    } else if (identifier != "subgroupElect" && !identifier.starts_with("subgroupBarrier") &&
               !identifier.starts_with("subgroupMemoryBarrier") && identifier.starts_with("subgroup")) {
      extensions.insert("GL_KHR_shader_subgroup_arithmetic");
    }
  }
  for (std::string_view extension : extensions) out->append("#extension ").append(extension).append(" : require\n");
}

std::string ExecutionModes(const Identifiers& used, ShaderVariant variant, const DeviceFacts& facts) {
  return FloatModes(facts, {.f16 = Uses(used, {"float16_t", "f16vec2", "f16vec4"}),
                            .f64 = Uses(used, {"double", "dvec2"}) ||
                                   (!variant.emulate_f64 && Uses(used, {"f64", "c128", "D", "f64_t", "c128_t"}))});
}

constexpr std::string_view kNativeF16 =
    "#define VXLA_NATIVE_F16 1\n"
    "#define NATIVE_F16_VALUE(word, half) float(unpackFloat2x16(word).half)\n"
    "#define NATIVE_F16_SCALED(word, factor) packFloat2x16(unpackFloat2x16(word) * float16_t(factor))\n";
constexpr std::string_view kF16Conversions =
    "#define NATIVE_ROUND_F16(a) float(float16_t(a))\n"
    "#define NATIVE_F16_PAIR(low, high) packFloat2x16(f16vec2(float16_t(low), float16_t(high)))\n";
// Where the driver drops a conversion and the one back: a zero that it does not know lies between them.
constexpr std::string_view kHiddenF16Conversions =
    "#define NATIVE_ROUND_F16(a) NATIVE_F16_VALUE(NATIVE_F16_PAIR(a, 0.0f), x)\n"
    "#define NATIVE_F16_PAIR(low, high) \\\n"
    "  (packFloat2x16(f16vec2(float16_t(low), float16_t(high))) ^ (gl_NumWorkGroups.x >> 31))\n";
// The same where a NaN comes out as another one than functions give, or may: of values that may be one.
constexpr std::string_view kOtherF16Nan = "#define VXLA_OTHER_F16_NAN 1\n";

// A word that is zero, which no driver knows: no dispatch has 2^31 workgroups.
constexpr std::string_view kUnknownZero = "#define VXLA_UNKNOWN_ZERO (gl_NumWorkGroups.x >> 31)\n";

// load_arguments() of a dispatch of several pieces: the last one that begins at the workgroup or before it.
std::string PieceArguments(const KernelKey& key, uint32_t pieces) {
  const uint32_t arrays = key.written_array > 0 ? 1 : 0,
                 buffers = arrays > 0 ? key.piece_tensors : key.buffer_count / pieces;
  const uint32_t params = key.param_count / pieces - 1 - 2 * buffers * arrays;
  std::string text =
      fmt::format("#define SEVERAL_PIECES 1\nlayout(constant_id = {}) const uint PIECES = 1;\nuint group_of_piece;\n",
                  PiecesConstant(key));
  if (arrays > 0) {
    text += fmt::format("#define WRITTEN_ARRAY {}\n#define READ_ARRAY {}\n", key.written_array,
                        key.buffer_count - key.written_array);
  }
  std::string load = fmt::format(
      "void load_arguments() {{\n  uint piece = 0u;\n"
      "  for (uint step = {}u; step > 0u; step /= 2u) {{\n"
      "    if (piece + step < PIECES && arguments.param[piece + step] <= WORKGROUP) piece += step;\n  }}\n"
      "  group_of_piece = WORKGROUP - arguments.param[piece];\n",
      std::bit_floor(pieces));
  for (uint32_t k = 0; k < buffers; ++k) {
    text += fmt::format("uvec2 address_{};\n", k);
    if (arrays == 0) {
      load += fmt::format("  address_{} = arguments.address[piece * {}u + {}u];\n", k, buffers, k);
      continue;
    }
    for (const char* half : {".x", ".y"}) {
      load += fmt::format("  address_{}{} = arguments.param[PIECES + piece * {}u + {}u];\n", k, half, 2 * buffers,
                          2 * k + (half[1] - 'x'));
    }
  }
  for (uint32_t k = 0; k < params; ++k) {
    text += fmt::format("uint param_{};\n", k);
    load += fmt::format("  param_{} = arguments.param[PIECES * {}u + piece * {}u + {}u];\n", k,
                        1 + 2 * buffers * arrays, params, k);
  }
  return text + load + "}\n";
}

// The argument block (backend/step.h) and load_arguments(), which reads each argument once.
std::string ArgumentBlock(const KernelKey& key, BindingMode bindings) {
  std::string text;
  const bool addresses = bindings == BindingMode::kAddresses;
  text += addresses ? "layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Arguments {\n"
                    : "layout(std430, set = 0, binding = 0) readonly buffer Arguments {\n";
  if (key.buffer_count > 0) text += fmt::format("  uvec2 address[{}];\n", key.buffer_count);
  if (key.param_count > 0) text += fmt::format("  uint param[{}];\n", key.param_count);
  if (key.buffer_count + key.param_count == 0) text += "  uint unused;\n";
  text += addresses ? "};\n" : "} arguments;\n";
  if (addresses || key.in_parts) {
    text += fmt::format("layout(push_constant) uniform PushConstants {{{}{} }};\n",
                        addresses ? " Arguments arguments;" : "", key.in_parts ? " uint first_group;" : "");
  }
  text += fmt::format("#define WORKGROUP (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x{})\n",
                      key.in_parts ? " + first_group" : "");
  const uint32_t pieces = PiecesOf(key);
  if (pieces > 0) return text + PieceArguments(key, pieces);
  std::string load = "void load_arguments() {\n";
  for (uint32_t k = 0; addresses && k < key.buffer_count; ++k) {
    text += fmt::format("uvec2 address_{};\n", k);
    load += fmt::format("  address_{} = arguments.address[{}];\n", k, k);
  }
  for (uint32_t k = 0; k < key.param_count; ++k) {
    text += fmt::format("uint param_{};\n", k);
    load += fmt::format("  param_{} = arguments.param[{}];\n", k, k);
  }
  return text + load + "}\n";
}

}  // namespace

std::string FloatModes(const DeviceFacts& facts, FloatTypes used) {
  const std::pair<uint32_t, bool> widths[] = {{32, true}, {16, used.f16}, {64, used.f64}};
  std::string text;
  for (const spirv::FloatMode& mode : spirv::FloatModesOf(facts)) {
    for (const auto& [width, is_used] : widths) {
      if (!is_used || !mode.Has(width)) continue;
      text += fmt::format("spirv_execution_mode(capabilities = [{}], {}, {});\n", mode.capability, mode.mode, width);
    }
  }
  return text;
}

bool EmulatesDoubles(const KernelKey& key, ShaderVariant variant) {
  const Result<std::string> body = BodyOf(key);
  // The helper that every rounded result goes through.
  return body.ok() && Definitions::Of(variant).Holds(*body, "pack_words");
}

Result<std::string> AssembleShader(const KernelKey& key, const DeviceFacts& facts, BindingMode bindings) {
  if (key.is_module) return "// " + key.algorithm + ": a module as it was given\n";
  VXLA_ASSIGN_OR_RETURN(const std::string body, BodyOf(key));
  const ShaderVariant variant = VariantFor(facts);
  const bool fused = FusesF32(facts);
  const std::string functions = Definitions::Of(variant).Closure(body);

  Identifiers used;
  auto note = [&](std::string_view identifier) { used.insert(identifier); };
  ForEachIdentifier(body, note);
  ForEachIdentifier(functions, note);

  const bool native_f16 = facts.native_f16 && used.contains("VXLA_NATIVE_F16");
  if (native_f16) used.insert("float16_t");
  const std::string modes = ExecutionModes(used, variant, facts);
  std::string text = "#version 460\n";
  const bool far = bindings == BindingMode::kAddresses && used.contains(kFarElements);
  const bool split_addresses = SplitsAddresses(facts, bindings) && !far;
  const bool byte_offsets = bindings == BindingMode::kAddresses && facts.byte_offsets && !split_addresses && !far &&
                            !used.contains(kLargeTensors);
  AppendExtensions(used, facts, bindings, !modes.empty(), split_addresses || byte_offsets || far, &text);
  text += modes;
  if (bindings == BindingMode::kAddresses) text += "#define ADDRESSES 1\n";
  if (split_addresses) text += "#define SPLIT_ADDRESSES 1\n";
  if (byte_offsets) text += "#define BYTE_OFFSETS 1\n";
  if (far) text += fmt::format("#define {} 1\n", kFarElements);
  if (used.contains(kCoherentTensors)) text += fmt::format("#define {} 1\n", kCoherentTensors);
  if (used.contains(kSharedBindings)) text += fmt::format("#define {} 1\n", kSharedBindings);
  if (!facts.storage8) text += "#define PACKED_u8 1\n";
  if (!facts.storage16) text += "#define PACKED_u16 1\n";
  for (const char* tag : {"f32", "i32", "u32", "f64", "i64", "u64", "c64", "c128", "u16", "u8", "f32x4", "i32x4",
                          "u32x2", "u32x4", "u64x4"}) {
    if (used.contains(tag)) text += fmt::format("#define USES_{} 1\n", tag);
  }
  text += "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  text += ArgumentBlock(key, bindings);
  if (fused) text += "#define VXLA_FUSED_F32 1\n";
  const bool native_nan = facts.probed && facts.signed_zero_inf_nan_preserve_32 && !facts.quirks.loses_nan;
  if (native_nan && !facts.costs.plain_arithmetic) text += "#define VXLA_NATIVE_NAN 1\n";
  if (native_f16) {
    text += kNativeF16;
    text += facts.quirks.folds_f16 || facts.is_any_device() ? kHiddenF16Conversions : kF16Conversions;
  }
  if (native_f16 && (facts.quirks.other_f16_nan || facts.is_any_device())) text += kOtherF16Nan;
  const bool folds_zeros = facts.quirks.folds_zeros || facts.is_any_device();
  if (folds_zeros && used.contains("VXLA_UNKNOWN_ZERO")) text += kUnknownZero;
  if (variant.emulate_i64) text += "#define VXLA_EMULATE_I64 1\n";
  if (variant.emulate_f64) text += "#define VXLA_EMULATE_F64 1\n";
  text += kShaderLibrary.head;
  text += functions;
  text += body;
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
