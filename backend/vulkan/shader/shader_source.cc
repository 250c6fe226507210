#include "backend/vulkan/shader/shader_source.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace vxla::vulkan {
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

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The choices of shaders/include/math: which 64-bit types the device lacks or is told to lack (VXLA_EMULATE_I64 and
// _F64), and whose division integers put right (VXLA_CORRECT_F32 and _F64).
struct Variant {
  bool emulate_i64 = false, emulate_f64 = false, correct_f32 = false, correct_f64 = false;
};

Variant VariantFor(const DeviceFacts& facts) {
  constexpr auto kCorrected = DeviceFacts::Division::kCorrected;
  return {!facts.int64, !facts.float64, facts.division_f32 == kCorrected,
          facts.float64 && facts.division_f64 == kCorrected};
}

// The literals of f64_t (1.5lf, and a minus in front) as words: types64.glsl. In text without emulation they stay.
std::string WithWordsForDoubles(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      const size_t end = std::min(text.find('\n', i), text.size());
      out.append(text.substr(i, end - i));
      i = end;
    } else if (IsIdentifierStart(c)) {
      const size_t begin = i;
      while (i < text.size() && IsIdentifierPart(text[i])) ++i;
      out.append(text.substr(begin, i - begin));
    } else if (c >= '0' && c <= '9') {
      const size_t begin = i;
      while (i < text.size() &&
             (IsIdentifierPart(text[i]) || text[i] == '.' ||
              ((text[i] == '-' || text[i] == '+') && text[i - 1] == 'e' && text[begin + 1] != 'x'))) {
        ++i;
      }
      std::string_view number = text.substr(begin, i - begin);
      if (!number.ends_with("lf")) {
        out.append(number);
        continue;
      }
      double value = 0;
      std::from_chars(number.data(), number.data() + number.size() - 2, value);
      const bool negative = !out.empty() && out.back() == '-';
      if (negative) out.pop_back();
      const uint64_t bits = std::bit_cast<uint64_t>(negative ? -value : value);
      out += fmt::format("uvec2(0x{:x}u, 0x{:x}u)", static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32));
    } else {
      out.push_back(c);
      ++i;
    }
  }
  return out;
}

// A step of Horner's scheme with a constant, "  p = horner_f64(p, z, uvec2(...));".
struct HornerStep {
  std::string_view target, argument, constant;
};
std::optional<HornerStep> HornerStepOf(std::string_view line) {
  constexpr std::string_view kCall = " = horner_f64(";
  const size_t begin = std::min(line.find_first_not_of(' '), line.size()), call = line.find(kCall);
  if (begin == 0 || call == line.npos) return std::nullopt;
  HornerStep step;
  step.target = line.substr(begin, call - begin);
  std::string_view rest = line.substr(call + kCall.size());
  if (!rest.starts_with(step.target) || !rest.substr(step.target.size()).starts_with(", ") || !rest.ends_with(");"))
    return std::nullopt;
  rest.remove_prefix(step.target.size() + 2);
  const size_t comma = std::min(rest.find(", uvec2("), rest.size());
  step.argument = rest.substr(0, comma);
  if (comma == rest.size() || !std::ranges::all_of(step.argument, IsIdentifierPart)) return std::nullopt;
  step.constant = rest.substr(comma + 2, rest.size() - comma - 4);
  return step;
}

// Polynomials as loops over their coefficients: an emulated step is 250 instructions, and drivers' compilers take long
// for them.
std::string WithLoopsForPolynomials(std::string_view text) {
  constexpr size_t kFewest = 4;
  std::string out;
  while (!text.empty()) {
    const std::string_view from_here = text;
    std::vector<HornerStep> steps;
    for (std::string_view rest = text; !rest.empty();) {
      const auto step = HornerStepOf(TakeLine(rest));
      if (!step || (!steps.empty() && (step->target != steps[0].target || step->argument != steps[0].argument))) break;
      steps.push_back(*step);
      text = rest;
    }
    if (steps.size() < kFewest) {
      text = from_here;
      out.append(TakeLine(text)).push_back('\n');
      continue;
    }
    out +=
        fmt::format("  for (int term = 0; term < {}; ++term) {{\n    uvec2 c = {};\n", steps.size(), steps[0].constant);
    for (size_t i = 1; i < steps.size(); ++i)
      out += fmt::format("    c = select_words(term == {}, {}, c);\n", i, steps[i].constant);
    out += fmt::format("    {0} = horner_f64({0}, {1}, c);\n  }}\n", steps[0].target, steps[0].argument);
  }
  return out;
}

using Macros = std::map<std::string_view, std::string_view>;

// The text with the macros replaced, arguments pasted.
void AppendExpanded(std::string_view text, const Macros& macros, std::string* out) {
  for (size_t i = 0; i < text.size();) {
    if (!IsIdentifierStart(text[i])) {
      out->push_back(text[i++]);
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && IsIdentifierPart(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    const auto macro = macros.find(word);
    if (macro == macros.end()) {
      out->append(word);
    } else if (!macro->second.starts_with("(")) {
      out->append(macro->second);
    } else {
      // (name) name##suffix
      const size_t end = text.find(')', i);
      out->append(text.substr(i + 1, end - i - 1));
      out->append(macro->second.substr(macro->second.find("##") + 2));
      i = end + 1;
    }
  }
}

// A file that includes another one under macros (c64.glsl, c128.glsl: complex.glsl in the words of one type) with that
// text in place and the macros replaced: #define NAME text, and #define NAME(x) x##suffix.
std::string Instantiated(std::string_view file) {
  constexpr std::string_view kInclude = "#include \"shaders/";
  Macros macros;
  std::string out;
  while (!file.empty()) {
    const std::string_view line = TakeLine(file);
    if (line.starts_with("#define ")) {
      const size_t end = std::min(line.find_first_of(" (", 8), line.size());  // the end: a macro without a value
      macros[line.substr(8, end - 8)] =
          line.substr(std::min(end + (line.substr(end).starts_with(' ') ? 1 : 0), line.size()));
    } else if (line.starts_with(kInclude)) {
      const std::string_view name = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
      AppendExpanded(FindShader(name), macros, &out);
    } else if (!line.starts_with("#undef ")) {
      out.append(line).push_back('\n');
    }
  }
  return out;
}

// A top-level definition of shaders/include: FN <type> name(...) {...} or CONSTARR <type> name[n] = {...};
struct Chunk {
  std::string_view name;
  std::string_view text;
  std::vector<std::string_view> uses;  // identifiers that name other chunks
};

// The definitions of all include files in the order in which they may depend on each other. Built once for each
// variant.
class ChunkIndex {
 public:
  static const ChunkIndex& Get(Variant variant) {
    static std::mutex mutex;
    static std::unique_ptr<const ChunkIndex> indices[16];
    const std::scoped_lock lock(mutex);
    std::unique_ptr<const ChunkIndex>& index =
        indices[8 * variant.correct_f64 + 4 * variant.correct_f32 + 2 * variant.emulate_f64 + variant.emulate_i64];
    if (index == nullptr) index.reset(new ChunkIndex(variant));
    return *index;
  }

  // The definitions that `body` needs, directly or not, in order.
  std::string Closure(std::string_view body) const {
    std::vector<bool> wanted(chunks_.size(), false);
    std::vector<size_t> work;
    auto want = [&](std::string_view identifier) {
      auto range = by_name_.equal_range(identifier);
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
      for (std::string_view used : chunks_[at].uses) want(used);
    }
    std::string text;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (wanted[i]) text.append(chunks_[i].text);
    }
    return text;
  }

 private:
  explicit ChunkIndex(Variant variant) : variant_(variant) {
    for (std::string_view file : OrderedFiles()) {
      std::string text = Instantiated(FindShader(file));
      AddFile(texts_.emplace_back(variant.emulate_f64 ? WithLoopsForPolynomials(WithWordsForDoubles(text))
                                                      : std::move(text)));
    }
    for (Chunk& chunk : chunks_) {
      std::unordered_set<std::string_view> seen;
      ForEachIdentifier(chunk.text, [&](std::string_view identifier) {
        if (identifier != chunk.name && by_name_.contains(identifier) && seen.insert(identifier).second) {
          chunk.uses.push_back(identifier);
        }
      });
    }
  }

  // prelude.glsl states the order of the math files (others there are included by these); all other include files
  // follow by name.
  static std::vector<std::string_view> OrderedFiles() {
    std::vector<std::string_view> files;
    constexpr std::string_view kOrder = "// FILE ORDER:";
    std::string_view prelude = FindShader("include/math/prelude.glsl");
    static std::set<std::string> names;  // owns the paths
    while (!prelude.empty()) {
      std::string_view line = TakeLine(prelude);
      if (!line.starts_with(kOrder)) continue;
      line.remove_prefix(kOrder.size());
      while (!line.empty()) {
        const size_t begin = std::min(line.find_first_not_of(' '), line.size());
        const size_t end = std::min(line.find(' ', begin), line.size());
        if (end > begin)
          files.push_back(*names.insert("include/math/" + std::string(line.substr(begin, end - begin))).first);
        line.remove_prefix(end);
      }
    }
    for (int i = 0; i < kEmbeddedShaderCount; ++i) {
      const std::string_view name = kEmbeddedShaders[i].name;
      const bool listed = std::ranges::find(files, name) != files.end();
      const bool other = name.starts_with("include/") && !name.starts_with("include/math/");
      if (!listed && other && name.ends_with(".glsl")) files.push_back(name);
    }
    return files;
  }

  // #ifdef NAME or #ifndef NAME of one of the macros; other names (__cplusplus) are not defined, other conditions hold.
  bool Holds(std::string_view condition) const {
    const bool wanted = condition.starts_with("#ifdef ");
    if (condition.ends_with(" VXLA_EMULATE_I64")) return variant_.emulate_i64 == wanted;
    if (condition.ends_with(" VXLA_EMULATE_F64")) return variant_.emulate_f64 == wanted;
    if (condition.ends_with(" VXLA_CORRECT_F32")) return variant_.correct_f32 == wanted;
    if (condition.ends_with(" VXLA_CORRECT_F64")) return variant_.correct_f64 == wanted;
    return !wanted;
  }

  void AddFile(std::string_view text) {
    std::vector<bool> conditions;  // of the #ifdefs around
    while (!text.empty()) {
      const char* begin = text.data();
      const std::string_view line = TakeLine(text);
      if (line.starts_with("#if")) {
        conditions.push_back(Holds(line));
      } else if (line.starts_with("#else")) {
        conditions.back() = !conditions.back();
      } else if (line.starts_with("#endif")) {
        conditions.pop_back();
      }
      if (std::ranges::find(conditions, false) != conditions.end()) continue;
      if (!line.starts_with("FN ") && !line.starts_with("CONSTARR ")) continue;
      const size_t name_end = std::min(line.find_first_of("(["), line.size());
      size_t name_begin = name_end;
      while (name_begin > 0 && IsIdentifierPart(line[name_begin - 1])) --name_begin;
      std::string_view last = line;
      const bool one_line = line.ends_with(';') || (line.find('{') != line.npos && line.ends_with('}'));
      while (!one_line && last != "}" && last != "};" && !text.empty()) last = TakeLine(text);
      const size_t length = static_cast<size_t>(text.data() - begin);
      by_name_.emplace(line.substr(name_begin, name_end - name_begin), chunks_.size());
      chunks_.push_back({line.substr(name_begin, name_end - name_begin), std::string_view(begin, length), {}});
    }
  }

  Variant variant_;
  std::deque<std::string> texts_;  // what the chunks view
  std::vector<Chunk> chunks_;
  std::unordered_multimap<std::string_view, size_t> by_name_;
};

// The algorithm with its includes in place, each file once; "generated" is the key's text.
Status Expand(std::string_view name, const KernelKey& key, std::set<std::string, std::less<>>& included,
              std::string* out) {
  std::string_view text = FindShader(name);
  if (text.data() == nullptr) return Internal("no shader file {}", name);
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    constexpr std::string_view kInclude = "#include \"";
    if (!line.starts_with(kInclude)) {
      out->append(line).push_back('\n');
      continue;
    }
    const std::string_view target = line.substr(kInclude.size(), line.find('"', kInclude.size()) - kInclude.size());
    if (target == "generated") {
      out->append(key.generated);
    } else if (included.emplace(target).second) {
      VXLA_RETURN_IF_ERROR(Expand(target, key, included, out));
    }
  }
  return OkStatus();
}

// A text without its comment lines.
void AppendCode(std::string_view text, std::string* out) {
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (!line.empty() && !line.starts_with("//")) out->append(line).push_back('\n');
  }
}

using Identifiers = std::unordered_set<std::string_view>;

bool Uses(const Identifiers& identifiers, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return identifiers.contains(name); });
}

void AppendExtensions(const Identifiers& used, const DeviceFacts& facts, BindingMode bindings, bool modes,
                      bool split_addresses, std::string* out) {
  std::set<std::string_view> extensions;
  if (split_addresses) extensions.insert("GL_EXT_shader_explicit_arithmetic_types_int64");
  if (bindings == BindingMode::kAddresses) {
    extensions.insert({"GL_EXT_buffer_reference", "GL_EXT_buffer_reference_uvec2"});
  }
  if (modes) extensions.insert("GL_EXT_spirv_intrinsics");
  if (Uses(used, {"int64_t", "uint64_t", "i64vec2", "u64vec2", "u64x4"}) ||
      (facts.int64 && Uses(used, {"i64", "u64", "i64_t", "u64_t"}))) {
    extensions.insert("GL_EXT_shader_explicit_arithmetic_types_int64");
  }
  if (facts.storage16 && Uses(used, {"u16", "uint16_t", "int16_t"})) extensions.insert("GL_EXT_shader_16bit_storage");
  if (facts.storage8 && Uses(used, {"u8", "uint8_t", "int8_t"})) extensions.insert("GL_EXT_shader_8bit_storage");
  if (Uses(used, {"float16_t", "f16vec2", "f16vec4"}))
    extensions.insert("GL_EXT_shader_explicit_arithmetic_types_float16");
  if (used.contains("unroll")) extensions.insert("GL_EXT_control_flow_attributes");
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

std::string ExecutionModes(const Identifiers& used, Variant variant, const DeviceFacts& facts) {
  return FloatModes(facts, {.f16 = Uses(used, {"float16_t", "f16vec2", "f16vec4"}),
                            .f64 = Uses(used, {"double", "dvec2"}) ||
                                   (!variant.emulate_f64 && Uses(used, {"f64", "c128", "D", "f64_t", "c128_t"}))});
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
  text += addresses ? "};\nlayout(push_constant) uniform PushConstants { Arguments arguments; };\n" : "} arguments;\n";
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

bool SplitsAddresses(const DeviceFacts& facts, BindingMode bindings) {
  return bindings == BindingMode::kAddresses && facts.is_software() && facts.int64 &&
         facts.driver_version.find("Mesa 22.") != std::string::npos;
}

std::string FloatModes(const DeviceFacts& facts, FloatTypes used) {
  constexpr int kDenormPreserve[] = {4464, 4459}, kPreserve[] = {4466, 4461}, kRoundToEven[] = {4467, 4462};
  std::string text;
  auto mode = [&](bool wanted, const int(&codes)[2], int width) {
    if (wanted) text += fmt::format("spirv_execution_mode(capabilities = [{}], {}, {});\n", codes[0], codes[1], width);
  };
  mode(facts.signed_zero_inf_nan_preserve_32, kPreserve, 32);
  mode(used.f16 && facts.signed_zero_inf_nan_preserve_16, kPreserve, 16);
  mode(used.f64 && facts.signed_zero_inf_nan_preserve_64, kPreserve, 64);
  mode(facts.rounding_rte_32, kRoundToEven, 32);
  mode(used.f16 && facts.rounding_rte_16, kRoundToEven, 16);
  mode(used.f64 && facts.rounding_rte_64, kRoundToEven, 64);
  mode(facts.denorm_preserve_32, kDenormPreserve, 32);
  mode(used.f16 && facts.denorm_preserve_16, kDenormPreserve, 16);
  mode(used.f64 && facts.denorm_preserve_64, kDenormPreserve, 64);
  return text;
}

bool DividesNatively(std::string_view text, const DeviceFacts& facts) {
  const auto defines = [&](std::string_view function) { return text.find(function) != text.npos; };
  return defines("FN F divide_f32(") || defines("FN F sqrt_plain_f32(") ||
         (facts.float64 && (defines("FN D divide_f64(") || defines("FN D sqrt_plain_f64(")));
}

std::string_view FindShader(std::string_view name) {
  static const auto files = [] {
    std::unordered_map<std::string_view, std::string_view> map;
    for (int i = 0; i < kEmbeddedShaderCount; ++i) map.emplace(kEmbeddedShaders[i].name, kEmbeddedShaders[i].text);
    return map;
  }();
  const auto it = files.find(name);
  return it == files.end() ? std::string_view() : it->second;
}

Result<std::string> AssembleShader(const KernelKey& key, const DeviceFacts& facts, BindingMode bindings) {
  std::string body;
  std::set<std::string, std::less<>> included;
  VXLA_RETURN_IF_ERROR(Expand(key.algorithm, key, included, &body));
  const Variant variant = VariantFor(facts);
  if (variant.emulate_f64) body = WithWordsForDoubles(body);
  const std::string functions = ChunkIndex::Get(variant).Closure(body);

  Identifiers used;
  auto note = [&](std::string_view identifier) { used.insert(identifier); };
  ForEachIdentifier(body, note);
  ForEachIdentifier(functions, note);

  const std::string modes = ExecutionModes(used, variant, facts);
  std::string text = "#version 460\n";
  const bool split_addresses = SplitsAddresses(facts, bindings);
  AppendExtensions(used, facts, bindings, !modes.empty(), split_addresses, &text);
  text += modes;
  if (bindings == BindingMode::kAddresses) text += "#define ADDRESSES 1\n";
  if (split_addresses) text += "#define SPLIT_ADDRESSES 1\n";
  if (!facts.storage8) text += "#define PACKED_u8 1\n";
  if (!facts.storage16) text += "#define PACKED_u16 1\n";
  for (const char* tag :
       {"f32", "i32", "u32", "f64", "i64", "u64", "c64", "c128", "u16", "u8", "f32x4", "i32x4", "u32x4", "u64x4"}) {
    if (used.contains(tag)) text += fmt::format("#define USES_{} 1\n", tag);
  }
  text += "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  text += ArgumentBlock(key, bindings);
  if (variant.emulate_i64) text += "#define VXLA_EMULATE_I64 1\n";
  if (variant.emulate_f64) text += "#define VXLA_EMULATE_F64 1\n";
  AppendCode(FindShader("include/math/prelude.glsl"), &text);
  AppendCode(FindShader("include/math/types64.glsl"), &text);
  AppendCode(FindShader("include/access.glsl"), &text);
  text += functions;
  text += body;
  return text;
}

}  // namespace vxla::vulkan
