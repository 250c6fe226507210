#include "backend/vulkan/codegen/kernel_builder.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "backend/vulkan/codegen/passes/passes.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {

MagicDivisor MakeMagicDivisor(uint32_t divisor) {
  VXLA_CHECK(divisor >= 2 && divisor < (uint32_t{1} << 31), "a divisor that needs a division");
  // With l = ceil(log2 d), m = ceil(2^(31+l) / d) exceeds the exact quotient by e/d * 2^-(31+l), e < d <= 2^l, so for n
  // < 2^31 the error of n * m / 2^(31+l) stays below 1/d and the floor is exact; m < 2^32 because d > 2^(l-1).
  const int l = std::bit_width(divisor - 1);
  const uint64_t power = uint64_t{1} << (31 + l);
  return {static_cast<uint32_t>((power + divisor - 1) / divisor), static_cast<uint32_t>(l - 1)};
}

std::array<uint32_t, 3> GroupGrid(const DeviceFacts& facts, int64_t count) {
  const int64_t most = facts.max_group_count[0], rows = CeilDivide(count, most);
  return {static_cast<uint32_t>(CeilDivide(count, std::max<int64_t>(rows, 1))), static_cast<uint32_t>(rows), 1};
}

bool HasSurplusGroups(const DeviceFacts& facts, int64_t count) {
  const auto [x, y, z] = GroupGrid(facts, count);
  return int64_t{x} * y != count;
}

int KernelBuilder::AddBuffer(ElementType type, Access access, const BufferSlice& slice) {
  for (size_t k = 0; k < bindings_.size(); ++k) {
    if (types_[k] != type || !(bindings_[k].slice == slice)) continue;
    if (bindings_[k].access != access) bindings_[k].access = Access::kReadWrite;
    return static_cast<int>(k);
  }
  VXLA_CHECK(!IsPacked(type, facts_) || slice.offset_bytes % 4 == 0, "a tensor of packed elements begins with a word");
  NoteType(type);
  types_.push_back(type);
  bindings_.push_back({slice, access});
  return static_cast<int>(bindings_.size()) - 1;
}

void KernelBuilder::AddView(int k, const std::string& tag) {
  const std::string view = fmt::format("TENSOR({}, {})\n", k, tag);
  if (views_.find(view) == std::string::npos) views_ += view;
}

void KernelBuilder::AddVectorView(int k, int width) {
  const std::string_view tag = width == 8 ? "u64" : StorageTag(RealPart(types_.at(k)));
  AddView(k, groups_are_words(k) ? "u32" : fmt::format("{}x4", tag));
}

void KernelBuilder::AddWordsView(int k, int words) {
  if (words > 1) return AddView(k, fmt::format("u32x{}", words));
  if (StorageTag(types_.at(k)) != "u32") AddView(k, "u32");
}

void KernelBuilder::AddBitsView(int k) {
  if (StorageTag(types_.at(k)) != "u64") AddView(k, "u64");
}

std::string KernelBuilder::Param(int64_t value) {
  if (inline_params_) return fmt::format("{}u", static_cast<uint32_t>(value));
  params_.push_back(static_cast<uint32_t>(value));
  return fmt::format("P({})", params_.size() - 1);
}

void KernelBuilder::Params(std::initializer_list<std::pair<std::string_view, int64_t>> values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format("#define {} {}\n", name, Param(value));
  Append(text);
}

std::string KernelBuilder::Data(int64_t value) {
  const auto [known, fresh] = data_.try_emplace(static_cast<uint32_t>(value));
  if (fresh) {
    params_.push_back(known->first);
    known->second = fmt::format("P({})", params_.size() - 1);
  }
  return known->second;
}

std::string KernelBuilder::Divide(const std::string& value, int64_t divisor) {
  if (divisor == 1) return value;
  const MagicDivisor magic = MakeMagicDivisor(static_cast<uint32_t>(divisor));
  const std::string multiplier = Param(magic.multiplier), shift = Param(magic.shift);
  return fmt::format("divide_index({}, {}, {})", value, multiplier, shift);
}

Statement KernelBuilder::Storing(int k, const std::string& index, const std::string& value) const {
  return {.kind = Statement::Kind::kStore, .target = ElementAt(k, index), .values = {ToStorage(types_.at(k), value)}};
}

std::string KernelBuilder::Store(int k, const std::string& index, const std::string& value) const {
  std::string line = Storing(k, index, value).Print();
  line.pop_back();  // the line break
  return line;
}

std::pair<std::vector<Binding>, std::vector<int>> KernelBuilder::SharedBindings() const {
  std::vector<Binding> shared;
  std::vector<int> number;
  for (const Binding& tensor : bindings_) {
    const int64_t end = tensor.slice.offset_bytes + tensor.slice.size_bytes;
    const auto known =
        std::ranges::find_if(shared, [&](const Binding& other) { return other.slice.buffer == tensor.slice.buffer; });
    number.push_back(static_cast<int>(known - shared.begin()));
    if (known == shared.end()) {
      shared.push_back({{tensor.slice.buffer, 0, end}, tensor.access});
      continue;
    }
    known->slice.size_bytes = std::max(known->slice.size_bytes, end);
    if (known->access != tensor.access) known->access = Access::kReadWrite;
  }
  return {std::move(shared), std::move(number)};
}

int KernelBuilder::binding_count() const {
  return static_cast<int>(shares_bindings_ ? SharedBindings().first.size() : bindings_.size());
}

std::string KernelBuilder::Function(const std::string& prefix,
                                    const std::function<std::string(const std::string& name)>& text) {
  const auto [known, fresh] = functions_.try_emplace(text(prefix));
  if (fresh) {
    known->second = fmt::format("{}_{}", prefix, functions_.size() - 1);
    Append(text(known->second));
  }
  return known->second;
}

// Of each tensor whether anything of its buffer is written.
std::string KernelBuilder::CoherentTensors() const {
  std::string text = fmt::format("#define {} 1\n", kCoherentTensors);
  for (size_t k = 0; k < bindings_.size(); ++k) {
    const bool written = std::ranges::any_of(bindings_, [&](const Binding& other) {
      return other.slice.buffer == bindings_[k].slice.buffer && other.access != Access::kRead;
    });
    text += fmt::format("#define TENSOR_MEMORY_{0} {1}\n#define TENSOR_BLOCK_{0}(tag) {2}_##tag\n", k,
                        written ? "coherent" : "", written ? "Coherent" : "Elements");
  }
  return text;
}

Step KernelBuilder::Finish(std::string name, std::string algorithm, std::vector<uint32_t> constants,
                           int64_t groups) const {
  Step step;
  step.name = std::move(name);
  step.kernel.algorithm = std::move(algorithm);
  step.bindings = bindings_;
  if (shares_bindings_) {
    std::vector<int> number;
    std::tie(step.bindings, number) = SharedBindings();
    step.kernel.generated += fmt::format("#define {} 1\n", kSharedBindings);
    for (size_t k = 0; k < types_.size(); ++k) {
      step.kernel.generated += fmt::format("#define BINDING_{} {}\n#define FIRST_BYTE_{} {}u\n", k, number[k], k,
                                           bindings_[k].slice.offset_bytes);
    }
  }
  if (reads_of_others_) step.kernel.generated += CoherentTensors();
  for (size_t k = 0; k < types_.size(); ++k) {
    step.kernel.generated += fmt::format("TENSOR({}, {})\n", k, StorageTag(types_[k]));
  }
  const auto large = [](const Binding& binding) {
    return binding.slice.size_bytes > std::numeric_limits<uint32_t>::max();
  };
  if (std::ranges::any_of(bindings_, large)) step.kernel.generated += fmt::format("#define {} 1\n", kLargeTensors);
  if (far_) step.kernel.generated += fmt::format("#define {} 1\n", kFarElements);
  step.kernel.generated += views_ + RunPasses(code_, facts_).Print();
  step.traits = traits_;
  step.kernel.constants = std::move(constants);
  step.kernel.buffer_count = static_cast<uint32_t>(step.bindings.size());
  step.kernel.param_count = static_cast<uint32_t>(params_.size());
  step.params = params_;
  step.groups = GroupGrid(facts_, groups);
  return step;
}

}  // namespace VXLA_NAMESPACE::vulkan
