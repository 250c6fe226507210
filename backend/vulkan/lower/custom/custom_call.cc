#include "backend/vulkan/lower/custom/custom_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/lower/custom/user_glsl.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/shader/user_module.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "core/ceil_divide.h"
#include "core/mlir/reader/config_dictionary.h"
#include "core/passes/base/origins.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Numbers of specialisation constants: 0 to 2 the workgroup's size, 3 the elements of an invocation and 4 of all of
// them (for vxla_element); of tensor k its size at 16 * (k + 1), and its dimension d at one more than d beyond that.
constexpr uint32_t kItemsConstant = 3, kCountConstant = 4, kConstantsOfTensor = 16;
constexpr int kMostDimensions = kConstantsOfTensor - 1;

// An operand's or a result's leaf.
struct UserTensor {
  std::string name;  // IN0, OUT1
  Shape shape;
  Binding binding;
  std::vector<int64_t> minor_to_major;  // the order of elements that the call states; else row-major
  bool row_major() const { return std::ranges::is_sorted(minor_to_major, std::greater<>()); }
};

// A call of a kernel of the user's: its tensors, its configuration, and the names by which texts reach them.
class UserCall {
 public:
  UserCall(const LowerContext& context, const CustomKernel& kernel, const Instruction& call, BufferMap& buffers)
      : context_(context), kernel_(kernel), call_(call), buffers_(buffers) {}

  const CustomCallAttributes& attributes() const { return call_.attributes<CustomCallAttributes>(); }
  template <typename... Args>
  Status Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("custom-call {}, kernel {}: {}", call_.name(), kernel_.file,
                           fmt::format(format, std::forward<Args>(args)...));
  }

  // `laid_out`: the shape with the layout that the call states.
  Status AddTensor(const std::string& name, const Shape& laid_out, const Shape& shape, const Binding& binding) {
    if (shape.IsToken()) return OkStatus();
    if (!shape.IsArray()) return Wrong("{} is {}, no array", name, shape.ToString());
    if (shape.IsDynamic()) return Wrong("{} is {}: kernels take arrays of fixed sizes only", name, shape.ToString());
    if (shape.ElementCount() > kMaxElements) {
      return Wrong("{} has {} elements, and kernels index up to {}", name, shape.ElementCount(), kMaxElements);
    }
    if (shape.rank() > kMostDimensions)
      return Wrong("{} has {} dimensions, and kernels know up to {}", name, shape.rank(), kMostDimensions);
    tensors_.push_back({name, shape, binding, {}});
    if (attributes().operand_layout_constraints) tensors_.back().minor_to_major = laid_out.MinorToMajor();
    return OkStatus();
  }

  Status TakeTensors() {
    int number = 0;
    for (int k = 0; k < call_.operand_count(); ++k) {
      const Instruction* const operand = call_.operand(k);
      const auto leaves = FlattenTuple(operand->shape());
      const auto& stated = attributes().operand_layout_constraints;
      auto laid_out = stated ? FlattenTuple((*stated)[static_cast<size_t>(k)]) : leaves;
      if (laid_out.size() != leaves.size()) laid_out = leaves;
      for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
        const BufferSlice slice = buffers_.SliceOf(*operand, leaf);
        VXLA_RETURN_IF_ERROR(AddTensor(fmt::format("IN{}", number++), *laid_out[static_cast<size_t>(leaf)],
                                       *leaves[static_cast<size_t>(leaf)], {slice, Access::kRead}));
      }
    }
    inputs_ = tensors_.size();
    number = 0;
    const auto leaves = FlattenTuple(call_.shape());
    for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
      const Shape& shape = *leaves[static_cast<size_t>(leaf)];
      VXLA_RETURN_IF_ERROR(
          AddTensor(fmt::format("OUT{}", number++), shape, shape, {buffers_.SliceOf(call_, leaf), Access::kWrite}));
    }
    if (context_.bindings == BindingMode::kDescriptors && tensors_.size() + 1 > context_.facts.max_storage_buffers) {
      return Wrong("{} arrays and the argument block exceed the {} storage buffers of {} (--bindings=addresses)",
                   tensors_.size(), context_.facts.max_storage_buffers, context_.facts.name);
    }
    return ShareAliased();
  }

  // A result that lies where an operand lies: the kernel finds the operand there and changes it.
  Status ShareAliased() {
    for (const Aliasing& alias : attributes().output_to_operand_aliasing) {
      const Instruction& operand = *call_.operand(static_cast<int>(alias.operand));
      const BufferSlice source = buffers_.SliceOf(operand, FirstLeafAt(operand.shape(), alias.operand_index));
      const BufferSlice target = buffers_.SliceOf(call_, FirstLeafAt(call_.shape(), alias.output_index));
      if (source.size_bytes != target.size_bytes) continue;
      places_.push_back({source, target, /*must=*/true});
      for (size_t k = 0; k < tensors_.size(); ++k) {
        Binding& binding = tensors_[k].binding;
        if (binding.slice == target || (k < inputs_ && binding.slice == source)) binding = {target, Access::kReadWrite};
      }
    }
    return OkStatus();
  }

  Status ReadConfig() {
    const std::string text = ConfigText(call_.common().backend_config.text);
    if (!text.starts_with('{')) return OkStatus();  // words of the function's own
    Result<ConfigDictionary> config = ParseConfigDictionary(text);
    if (!config.ok()) return Wrong("{}", config.status().message());
    config_ = std::move(*config);
    return OkStatus();
  }

  // "float(2.5)", "int[3](1, 2, 3)"; empty for what GLSL has no text for.
  static std::string AttributeText(const ConfigValue& value) {
    if (value.kind != ConfigValue::Kind::kScalar && value.kind != ConfigValue::Kind::kArray) return "";
    const ElementType type = value.numbers.shape().element_type();
    const bool floating = IsFloating(type);
    const auto element = [&](int64_t i) -> std::string {
      const auto as = [](ElementType to, const Literal& x) { return ConstantText(to, x.bytes().data()); };
      if (floating) return as(ElementType::kF32, Literal::Scalar(ElementType::kF32, value.numbers.GetDouble(i)));
      if (type == ElementType::kPred) return value.numbers.GetInt(i) != 0 ? "true" : "false";
      const int64_t number = value.numbers.GetInt(i);
      const ElementType to = IsUnsigned(type) ? ElementType::kU32 : ElementType::kS32;
      const bool fits = to == ElementType::kU32 ? number >= 0 && number < (int64_t{1} << 32)
                                                : number >= INT32_MIN && number <= INT32_MAX;
      return as(fits ? to : type, Literal::ScalarInt(fits ? to : type, number));
    };
    if (value.kind == ConfigValue::Kind::kScalar) return "(" + element(0) + ")";
    const int64_t count = value.numbers.element_count();
    constexpr int64_t kMostElements = 4096;
    if (count == 0 || count > kMostElements) return "";
    std::string text =
        fmt::format("{}[{}](", floating ? "float" : CarrierType(BitWidth(type) < 64 ? type : ElementType::kS32), count);
    for (int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + element(i);
    return text + ")";
  }

  // Names of what the call states: ATTR_alpha.
  std::string AttributeDefines() const {
    std::string text;
    for (const auto& [name, value] : config_) {
      const bool identifier = std::ranges::all_of(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
      const std::string said = AttributeText(value);
      if (said.empty() || !identifier) continue;
      text += fmt::format("#define ATTR_{} {}\n", name, said);
      if (value.kind == ConfigValue::Kind::kArray)
        text += fmt::format("#define ATTR_{}_SIZE {}\n", name, value.numbers.element_count());
    }
    return text;
  }

  // Where element i lies, counted as the stated layout counts: device memory is row-major.
  static std::string PlaceFunction(const UserTensor& tensor) {
    std::string text = fmt::format("uint at_{}(uint i) {{\n  uint place = 0u;\n", tensor.name);
    for (const int64_t d : tensor.minor_to_major) {
      std::string stride = "1u";
      for (int inner = static_cast<int>(d) + 1; inner < tensor.shape.rank(); ++inner)
        stride += fmt::format(" * {}_DIM{}", tensor.name, inner);
      text += fmt::format("  place += i % {0}_DIM{1} * ({2});\n  i /= {0}_DIM{1};\n", tensor.name, d, stride);
    }
    return text + "  return place;\n}\n";
  }

  // The names under which a text reaches its tensors.
  std::string TensorText() const {
    std::string text;
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const auto& [name, shape, binding, order] = tensors_[k];
      const ElementType type = shape.element_type();
      const std::string_view tag = StorageTag(type);
      text += fmt::format("TENSOR({}, {})\n", k, tag);
      const auto constant = [&, &name = name](const std::string& what, size_t place) {
        text += fmt::format("layout(constant_id = {}) const uint {}_{} = 1u;\n", kConstantsOfTensor * (k + 1) + place,
                            name, what);
      };
      constant("SIZE", 0);
      for (int d = 0; d < shape.rank(); ++d) constant(fmt::format("DIM{}", d), static_cast<size_t>(d) + 1);
      text += fmt::format("#define {}_RANK {}\n#define {}_TYPE {}\n", name, shape.rank(), name, CarrierType(type));
      std::string at = "i";
      if (!tensors_[k].row_major()) {
        text += PlaceFunction(tensors_[k]);
        at = fmt::format("at_{}(i)", name);
      }
      text += fmt::format("#define {}(i) {}\n", name, FromStorage(type, fmt::format("LOAD({}, {}, {})", k, tag, at)));
      if (k < inputs_ && binding.access == Access::kRead) continue;
      text +=
          fmt::format("#define SET_{}(i, value) STORE({}, {}, {}, {})\n", name, k, tag, at, ToStorage(type, "(value)"));
    }
    return text;
  }

  // Elements of the largest result.
  int64_t ElementCount() const {
    int64_t count = 0;
    for (size_t k = inputs_; k < tensors_.size(); ++k) count = std::max(count, tensors_[k].shape.ElementCount());
    return count;
  }

  std::optional<double> NameValue(std::string_view name) const {
    if (name == "n") return static_cast<double>(ElementCount());
    for (size_t axis = 0; axis < 3; ++axis) {
      if (name == fmt::format("LOCAL_{}", "XYZ"[axis])) return local_size_[axis];
    }
    for (const UserTensor& tensor : tensors_) {
      if (name == tensor.name + "_SIZE") return static_cast<double>(tensor.shape.ElementCount());
      if (name == tensor.name + "_RANK") return tensor.shape.rank();
      for (int d = 0; d < tensor.shape.rank(); ++d) {
        if (name == fmt::format("{}_DIM{}", tensor.name, d)) return static_cast<double>(tensor.shape.dimension(d));
      }
    }
    for (const auto& [attribute, value] : config_) {
      if (name != "ATTR_" + attribute || value.kind != ConfigValue::Kind::kScalar) continue;
      const bool floating = IsFloating(value.numbers.shape().element_type());
      return floating ? value.numbers.GetDouble(0) : static_cast<double>(value.numbers.GetInt(0));
    }
    return std::nullopt;
  }

  const LowerContext& context_;
  const CustomKernel& kernel_;
  const Instruction& call_;
  BufferMap& buffers_;
  std::vector<UserTensor> tensors_;
  size_t inputs_ = 0;  // tensors of operands
  std::vector<SharedPlace> places_;
  ConfigDictionary config_;
  std::array<uint32_t, 3> local_size_{1, 1, 1}, groups_{1, 1, 1};
};

class CustomCallLowering : UserCall {
 public:
  using UserCall::UserCall;

  Result<std::vector<Step>> Lower() {
    VXLA_RETURN_IF_ERROR(TakeTensors());
    VXLA_RETURN_IF_ERROR(ReadConfig());
    const bool module = kernel_.language == CustomKernel::Language::kSpirv;
    if (!module) {
      Result<UserGlsl> glsl = ReadUserGlsl(kernel_.text);
      if (!glsl.ok()) return Wrong("{}", glsl.status().message());
      glsl_ = std::move(*glsl);
    }
    VXLA_RETURN_IF_ERROR(ReadRules());
    VXLA_RETURN_IF_ERROR(ReadLocalSize());
    if (module) {
      VXLA_RETURN_IF_ERROR(TakeModule(ModuleWords(kernel_.text)));
    } else if (glsl_.whole) {
      VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> words,
                            CompileUserGlsl(WholeText(), kernel_.file, {context_.facts.spirv_1_6}, kernel_.text));
      VXLA_RETURN_IF_ERROR(TakeModule(std::move(words)));
    } else {
      VXLA_RETURN_IF_ERROR(TakeText());
    }
    VXLA_RETURN_IF_ERROR(CheckLocalSize());
    VXLA_RETURN_IF_ERROR(CountGroups());
    return Finish();
  }

 private:
  // What the registration says beside the text, and whether the call's shapes are those that the kernel takes.
  Status ReadRules() {
    for (size_t begin = 0; begin < kernel_.rules.size();) {
      const size_t end = std::min(kernel_.rules.find('\n', begin), kernel_.rules.size());
      const std::string_view line = std::string_view(kernel_.rules).substr(begin, end - begin);
      const bool blank = std::ranges::all_of(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
      if (const Status read = blank ? OkStatus() : ReadRule(line, glsl_); !read.ok())
        return Wrong("{}", read.message());
      begin = end + 1;
    }
    for (const std::string& rule : glsl_.shape) {
      const Status holds = CheckShapeRule(rule, [this](std::string_view name) {
        return name.starts_with("LOCAL_") ? std::nullopt : NameValue(name);  // not known yet
      });
      if (!holds.ok()) return Wrong("{}", holds.message());
    }
    return OkStatus();
  }

  Status ReadLocalSize() {
    if (!glsl_.local_size) return OkStatus();
    std::array<uint32_t, 3> size{};
    for (size_t axis = 0; axis < 3; ++axis) {
      const std::string& stated = (*glsl_.local_size)[axis];
      const Result<double> value = EvaluateGroups(stated, [](auto) { return std::nullopt; });
      const bool size_known = value.ok() && *value >= 1 && *value <= 65535 && *value == std::floor(*value);
      if (!size_known && glsl_.whole) return OkStatus();  // macros of its own; the module says
      if (!size_known) return Wrong("local_size along {}: \"{}\" is no size of a workgroup", "xyz"[axis], stated);
      size[axis] = static_cast<uint32_t>(*value);
    }
    stated_local_size_ = size;
    return OkStatus();
  }

  // A shader of the user's own, from #version on: sizes and attributes are literals of the text.
  std::string WholeText() const {
    std::string defines = AttributeDefines();
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const UserTensor& tensor = tensors_[k];
      defines += fmt::format("#define {}_SIZE {}u\n#define {}_RANK {}\n", tensor.name, tensor.shape.ElementCount(),
                             tensor.name, tensor.shape.rank());
      for (int d = 0; d < tensor.shape.rank(); ++d)
        defines += fmt::format("#define {}_DIM{} {}u\n", tensor.name, d, tensor.shape.dimension(d));
    }
    if (context_.bindings == BindingMode::kAddresses) defines += "#define VXLA_ADDRESSES 1\n";
    // Behind the line of #version, so that the lines after it keep their numbers.
    const size_t version = kernel_.text.find("version"),
                 end = std::min(kernel_.text.find('\n', version), kernel_.text.size());
    const auto line = 2 + std::count(kernel_.text.begin(), kernel_.text.begin() + static_cast<ptrdiff_t>(end), '\n');
    return kernel_.text.substr(0, end) + "\n" + defines + fmt::format("#line {}\n", line) +
           (end < kernel_.text.size() ? kernel_.text.substr(end + 1) : "");
  }

  Status TakeModule(std::vector<uint32_t> words) {
    for (const UserTensor& tensor : tensors_) {
      if (tensor.row_major()) continue;
      return Wrong("the layout of {}, {}, is not row-major: only kernels without #version reach its elements",
                   tensor.name, tensor.shape.ToString());
    }
    constexpr uint32_t kMagic = 0x07230203;
    if (words.empty() || words[0] != kMagic) {
      return Wrong("no SPIR-V module: it begins with {}, {:#010x} is needed",
                   words.empty() ? fmt::format("{} bytes", kernel_.text.size()) : fmt::format("{:#010x}", words[0]),
                   kMagic);
    }
    if (!spirv::IsWholeModule(words)) return Wrong("the SPIR-V module is cut off or broken");
    Result<ModuleInterface> module = ReflectModule(words, kernel_.file);
    if (!module.ok()) return Wrong("{}", module.status().message());
    VXLA_RETURN_IF_ERROR(
        CheckUserModule(*module, kernel_.file, static_cast<uint32_t>(tensors_.size()), context_.bindings));
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool chosen = module->workgroup_ids[axis] >= 0;
      if (chosen && module->workgroup_ids[axis] != static_cast<int64_t>(axis)) {
        return Wrong("its workgroup size along {} is specialisation constant {}, {} is needed", "xyz"[axis],
                     module -> workgroup_ids[axis], axis);
      }
      local_size_[axis] = chosen ? (stated_local_size_ ? (*stated_local_size_)[axis]
                                    : axis == 0        ? 64
                                                       : 1)
                                 : module->workgroup_size[axis];
    }
    is_module_ = true;
    generated_ = ModuleBytes(words);
    return OkStatus();
  }

  // Functions of the user's may be called as those of the library.
  std::string Renamed(bool define) const {
    std::string lines;
    for (const std::string& name : glsl_.functions)
      lines += define ? fmt::format("#define {} user_{}\n", name, name) : fmt::format("#undef {}\n", name);
    return lines;
  }

  // A text without #version: the body of a kernel of vxla's.
  Status TakeText() {
    if (!glsl_.by_element && !glsl_.has_main)
      return Wrong("it defines neither void vxla_element(uint i) nor void main()");
    generated_ = fmt::format("// {}\n", kernel_.file) + glsl_.extensions + TensorText() + AttributeDefines();
    generated_ += fmt::format(
        "layout(constant_id = {}) const uint vxla_items = 1u;\nlayout(constant_id = {}) const uint vxla_count = 1u;\n",
        kItemsConstant, kCountConstant);
    generated_ +=
        "uint vxla_workgroup() {\n  return WORKGROUP;\n}\n"
        "#undef F\n#undef D\n#undef FN\n#undef OUT\n#undef CONSTARR\n#undef WORKGROUP\n" +
        Renamed(true);
    if (!glsl_.by_element) generated_ += "#define main user_main";
    generated_ += "\n#line 1\n" + glsl_.text + "\n#line 1000000\n" + Renamed(false);
    if (glsl_.by_element) {
      generated_ +=
          "void main() {\n  load_arguments();\n"
          "  uint first = vxla_workgroup() * gl_WorkGroupSize.x * vxla_items + gl_LocalInvocationIndex;\n"
          "  for (uint item = 0u; item < vxla_items; ++item) {\n"
          "    uint element = first + item * gl_WorkGroupSize.x;\n"
          "    if (element < vxla_count) vxla_element(element);\n  }\n}\n";
    } else {
      generated_ += "#undef main\nvoid main() {\n  load_arguments();\n  user_main();\n}\n";
    }
    return ChooseLocalSize();
  }

  Status ChooseLocalSize() {
    if (!glsl_.by_element) {
      local_size_ = stated_local_size_.value_or(std::array<uint32_t, 3>{64, 1, 1});
      return OkStatus();
    }
    const LoopTuning tuning = TuneLoop(context_.facts, context_.bindings, ElementCount());
    local_size_ = {tuning.workgroup_size, 1, 1};
    items_ = std::max<uint32_t>(1, tuning.items * tuning.width);
    if (!stated_local_size_) return OkStatus();
    local_size_ = *stated_local_size_;
    if (local_size_[1] == 1 && local_size_[2] == 1) return OkStatus();
    return Wrong("vxla_element has workgroups along x only, and local_size says {} x {} x {}", local_size_[0],
                 local_size_[1], local_size_[2]);
  }

  Status CheckLocalSize() const {
    const DeviceFacts& facts = context_.facts;
    uint64_t product = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      product *= local_size_[axis];
      if (local_size_[axis] >= 1 && local_size_[axis] <= facts.max_workgroup_size[axis]) continue;
      return Wrong("a workgroup of {} along {}, and {} takes 1 to {}", local_size_[axis], "xyz"[axis], facts.name,
                   facts.max_workgroup_size[axis]);
    }
    if (product <= facts.max_workgroup_invocations) return OkStatus();
    return Wrong("a workgroup of {} invocations, and {} takes {}", product, facts.name,
                 facts.max_workgroup_invocations);
  }

  // What the call states before what the file states.
  Result<std::vector<std::string>> StatedGroups() const {
    const auto stated = config_.find("groups");
    if (stated == config_.end()) return glsl_.groups;
    const ConfigValue& value = stated->second;
    std::vector<std::string> groups;
    if (value.kind == ConfigValue::Kind::kString) {
      groups = SplitAtCommas(value.text);
    } else if (value.kind != ConfigValue::Kind::kDictionary && IsInteger(value.numbers.shape().element_type())) {
      for (int64_t i = 0; i < value.numbers.element_count(); ++i)
        groups.push_back(fmt::format("{}", value.numbers.GetInt(i)));
    }
    if (groups.empty() || groups.size() > 3)
      return Wrong("groups of its backend_config: 1 to 3 numbers or a text are needed");
    return groups;
  }

  Status CountGroups() {
    VXLA_ASSIGN_OR_RETURN(const std::vector<std::string> stated, StatedGroups());
    const int64_t invocations = int64_t{local_size_[0]} * local_size_[1] * local_size_[2];
    if (glsl_.by_element) {
      if (!stated.empty()) return Wrong("vxla_element runs once for each element of the result: groups are for main()");
      groups_ = GroupGrid(context_.facts, CeilDivide(ElementCount(), invocations * items_));
      return OkStatus();
    }
    if (stated.empty()) {
      const int64_t groups = std::max<int64_t>(1, CeilDivide(ElementCount(), invocations));
      if (groups > context_.facts.max_group_count[0]) {
        return Wrong("{} groups for {} elements, and {} takes {} along an axis: state groups(x, y, z)", groups,
                     ElementCount(), context_.facts.name, context_.facts.max_group_count[0]);
      }
      groups_ = {static_cast<uint32_t>(groups), 1, 1};
    }
    for (size_t axis = 0; axis < stated.size(); ++axis) {
      Result<double> value = EvaluateGroups(stated[axis], [this](std::string_view name) { return NameValue(name); });
      if (!value.ok()) return Wrong("{}", value.status().message());
      if (!(*value >= 1) || *value > context_.facts.max_group_count[axis] || *value != std::floor(*value)) {
        return Wrong("groups \"{}\" along {} are {}, and {} takes whole numbers from 1 to {}", stated[axis],
                     "xyz"[axis], *value, context_.facts.name, context_.facts.max_group_count[axis]);
      }
      groups_[axis] = static_cast<uint32_t>(*value);
    }
    return OkStatus();
  }

  Result<std::vector<Step>> Finish() const {
    Step step;
    step.name = fmt::format("{} (custom-call {})", call_.name(), attributes().custom_call_target);
    step.kernel.algorithm = "custom/" + attributes().custom_call_target + (is_module_ ? ".spv" : ".comp");
    step.kernel.is_module = is_module_;
    step.traits.indivisible = !glsl_.by_element;
    step.kernel.generated = generated_;
    step.kernel.user_file = kernel_.file.empty() ? step.kernel.algorithm : kernel_.file;
    step.kernel.user_text = glsl_.text;
    step.kernel.buffer_count = static_cast<uint32_t>(tensors_.size());
    auto& constants = step.kernel.constants;
    constants.assign(kConstantsOfTensor * (tensors_.size() + 1), 0);
    std::ranges::copy(local_size_, constants.begin());
    constants[kItemsConstant] = items_;
    constants[kCountConstant] = static_cast<uint32_t>(ElementCount());
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const Shape& shape = tensors_[k].shape;
      uint32_t* const own = constants.data() + kConstantsOfTensor * (k + 1);
      own[0] = static_cast<uint32_t>(shape.ElementCount());
      for (int d = 0; d < shape.rank(); ++d) own[d + 1] = static_cast<uint32_t>(shape.dimension(d));
      step.bindings.push_back(tensors_[k].binding);
    }
    step.groups = groups_;
    step.in_place = places_;
    return std::vector<Step>{std::move(step)};
  }
  UserGlsl glsl_;
  std::optional<std::array<uint32_t, 3>> stated_local_size_;
  std::string generated_;
  bool is_module_ = false;
  uint32_t items_ = 1;
};

}  // namespace

Result<std::vector<Step>> LowerCustomCall(const LowerContext& context, const CustomKernel& kernel,
                                          const Instruction& call, BufferMap& buffers) {
  return CustomCallLowering(context, kernel, call, buffers).Lower();
}

}  // namespace VXLA_NAMESPACE::vulkan
