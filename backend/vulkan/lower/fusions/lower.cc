#include "backend/vulkan/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/custom/custom_call.h"
#include "backend/vulkan/lower/fusions/gates.h"
#include "backend/vulkan/lower/fusions/moved_bytes.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "backend/vulkan/lower/whiles/kernel.h"
#include "core/ceil_divide.h"
#include "core/passes/giants/giant_splitter.h"
#include "core/sizes/live_layout.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Status CheckSize(const Shape& shape, int64_t most = kMaxElements) {
  for (const Shape* leaf : FlattenTuple(shape)) {
    if (leaf->ElementCount() > most) {
      return Unsupported("{} has {} elements, more than the {} that a kernel can index", leaf->ToString(),
                         leaf->ElementCount(), most);
    }
  }
  return OkStatus();
}

Status CheckStatic(const Shape& shape) {
  for (const Shape* leaf : FlattenTuple(shape)) {
    if (leaf->IsDynamic()) return Unsupported("{} has a dynamic dimension; kernels need static ones", leaf->ToString());
  }
  return OkStatus();
}

// What is bound as a storage buffer.
Status CheckBinding(const LowerContext& context, const Shape& shape) {
  if (context.bindings != BindingMode::kDescriptors) return OkStatus();
  for (const Shape* leaf : FlattenTuple(shape)) {
    if (static_cast<uint64_t>(leaf->SizeBytes()) > context.facts.max_storage_range_bytes) {
      return Unsupported(
          "{} takes {} bytes, more than this device's storage-buffer range of {} (--bindings=addresses has no such "
          "limit)",
          leaf->ToString(), leaf->SizeBytes(), context.facts.max_storage_range_bytes);
    }
  }
  return OkStatus();
}

Status CheckBindingCount(const LowerContext& context, const FusionDescription& body) {
  if (context.bindings != BindingMode::kDescriptors) return OkStatus();
  const std::set<const Instruction*> operands(body.instruction->operands().begin(), body.instruction->operands().end());
  const size_t count = 1 + operands.size() + FlattenTuple(body.instruction->shape()).size();
  if (count <= context.facts.max_storage_buffers) return OkStatus();
  return Unsupported("{} needs {} storage buffers, more than this device's {}", body.instruction->name(), count,
                     context.facts.max_storage_buffers);
}

Status CheckConstant(const Instruction& constant) {
  if (constant.attributes<ConstantAttributes>().literal == nullptr) {
    return Unsupported("constant {} was elided in the text", constant.name());
  }
  const auto bytes = constant.literal().bytes();
  const size_t size = static_cast<size_t>(StorageBytes(constant.shape().element_type()));
  for (size_t i = size; i < bytes.size(); i += size) {
    if (std::memcmp(bytes.data(), bytes.data() + i, size) != 0) {
      return Unsupported("constant {} inside a fusion holds more than one value", constant.name());
    }
  }
  return OkStatus();
}

// Positions in the padded operand take part in 32-bit arithmetic that may wrap below zero.
Status CheckPad(const Instruction& pad, int64_t most) {
  const auto& padding = pad.attributes<PadAttributes>().padding;
  for (size_t d = 0; d < padding.size(); ++d) {
    const int64_t size = pad.operand(0)->shape().dimension(static_cast<int>(d));
    const int64_t spread = size > 0 ? (size - 1) * (padding[d].interior + 1) + 1 : 0;
    const int64_t reach = spread + std::abs(padding[d].low) + std::abs(padding[d].high);
    if (reach <= most) continue;
    return Unsupported("pad: dimension {} spans {} positions, more than the {} that a kernel can index", d, reach,
                       most);
  }
  return OkStatus();
}

Status CheckComputed(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  switch (opcode) {
    case Opcode::kConstant:
      VXLA_RETURN_IF_ERROR(CheckConstant(instruction));
      break;
    case Opcode::kReshape:
    case Opcode::kBitcastConvert:
    case Opcode::kGetTupleElement:
      break;
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return OkStatus();  // arrays of words to them, of any type: lower/fusions/dynamic_size.cc
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      VXLA_RETURN_IF_ERROR(CheckScalarComputation(*instruction.called(0)));
      break;
    case Opcode::kPad:
      VXLA_RETURN_IF_ERROR(CheckPad(instruction, (int64_t{1} << 32) - 1));
      break;
    default:
      if (!IsElementwise(opcode) && KindOf(opcode) != OpcodeKind::kIndexing && !HeroKind(opcode)) {
        return Unsupported("{} has no kernel", OpcodeText(opcode));
      }
  }
  VXLA_RETURN_IF_ERROR(CheckInstruction(instruction));
  for (const Instruction* operand : instruction.operands()) VXLA_RETURN_IF_ERROR(CheckStatic(operand->shape()));
  return CheckStatic(instruction.shape());
}

// OK unless something has more elements (in memory or, the pairs that a sum goes over, nowhere) or positions than an
// index of 31 bits tells apart; else why that is refused where a kernel has no more.
Status CheckGiants(const FusionDescription& body, int64_t most) {
  for (const Instruction* operand : body.instruction->operands())
    VXLA_RETURN_IF_ERROR(CheckSize(operand->shape(), most));
  for (const Instruction* instruction : body.computed) {
    VXLA_RETURN_IF_ERROR(CheckSize(instruction->shape(), most));
    if (instruction->opcode() == Opcode::kPad) VXLA_RETURN_IF_ERROR(CheckPad(*instruction, kMaxElements));
  }
  return CheckSize(body.instruction->shape(), most);
}

Status CheckCommon(const LowerContext& context, const FusionDescription& body) {
  for (const Instruction* instruction : body.computed) VXLA_RETURN_IF_ERROR(CheckComputed(*instruction));
  for (const Instruction* operand : body.instruction->operands())
    VXLA_RETURN_IF_ERROR(CheckBinding(context, operand->shape()));
  VXLA_RETURN_IF_ERROR(CheckBinding(context, body.instruction->shape()));
  return CheckBindingCount(context, body);
}

struct HeroLowering {
  Status (*can_lower)(const LowerContext&, const FusionDescription&);
  Result<std::vector<Step>> (*lower)(const LowerContext&, const FusionDescription&, BufferMap&);
};

HeroLowering LoweringOf(const FusionDescription& body) {
  if (body.attention) return {CanLowerAttention, LowerAttention};
  if (body.chain) return {CanLowerChain, LowerChain};
  switch (body.hero == nullptr ? Opcode::kFusion : body.hero->opcode()) {
#define KERNEL(Name, ...) \
  case Opcode::k##Name:   \
    return {CanLower##Name, Lower##Name};
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
    // clang-format on
    default:
      VXLA_CHECK(false, "a hero that is no KERNEL row");
      return {};
  }
}

class VulkanLowering final : public Lowering {
 public:
  VulkanLowering(const DeviceFacts& facts, BindingMode bindings, const CustomKernels& kernels)
      : facts_(facts), context_{facts_, bindings}, kernels_(kernels) {}

  Status CanLower(const Instruction& instruction) const override {
    VXLA_ASSIGN_OR_RETURN(const auto described, DescriptionOf(instruction));
    return Check(*described, CheckGiants(*described, facts_.max_elements));
  }

  Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const override {
    if (instruction.opcode() == Opcode::kCustomCall) {
      const auto kernel = kernels_.find(instruction.attributes<CustomCallAttributes>().custom_call_target);
      if (kernel != kernels_.end()) return LowerCustomCall(context_, kernel->second, instruction, buffers);
    }
    VXLA_ASSIGN_OR_RETURN(const auto described, DescriptionOf(instruction));
    const FusionDescription& body = *described;
    const Status giants = CheckGiants(body, facts_.max_elements);
    VXLA_RETURN_IF_ERROR(Check(body, giants));
    const auto leaves = FlattenTuple(instruction.shape());
    // An empty array that is dynamic in some dimension has its sizes.
    if (std::ranges::all_of(leaves, [](const Shape* leaf) { return DeviceBytes(*leaf) == 0; }))
      return std::vector<Step>();
    VXLA_ASSIGN_OR_RETURN(std::vector<Step> steps, LoweringOf(body).lower(context_, body, buffers));
    if (!giants.ok() && std::ranges::any_of(steps, &KernelTraits::beyond_reach, &Step::traits)) return giants;
    CountMovedBytes(body, buffers, steps);
    return steps;
  }

  Result<LoopLowering> LowerLoop(const Instruction& loop, BufferMap& buffers) const override {
    for (const Shape* leaf : FlattenTuple(loop.shape())) VXLA_RETURN_IF_ERROR(CheckElementType(leaf->element_type()));
    VXLA_RETURN_IF_ERROR(CheckStatic(loop.shape()));
    VXLA_RETURN_IF_ERROR(CheckSize(loop.shape()));
    VXLA_ASSIGN_OR_RETURN(
        LoopLowering lowering,
        LowerLoopKernel(context_, loop, buffers, [this](const Instruction& fusion) { return CanLower(fusion); }));
    for (const Step& step : lowering.steps) {
      if (step.traits.beyond_reach)
        return Unsupported("{}: an index of its kernel needs more than 32 bits", loop.name());
      const bool fits = context_.bindings != BindingMode::kDescriptors ||
                        1 + step.bindings.size() <= context_.facts.max_storage_buffers;
      if (!fits) {
        return Unsupported("{} needs {} storage buffers, more than this device's {}", loop.name(),
                           1 + step.bindings.size(), context_.facts.max_storage_buffers);
      }
    }
    return lowering;
  }

  bool HasGates() const override { return CanLowerGates(context_); }
  Result<Step> LowerGates(const GateRequest& request) const override { return vulkan::LowerGates(context_, request); }
  Result<Step> LowerCopy(std::string name, const BufferSlice& source, const BufferSlice& target) const override {
    return LowerCopyLoop(context_, std::move(name), source, target);
  }

 private:
  // `giants`: why what is beyond 31 bits would be refused.
  Status Check(const FusionDescription& body, const Status& giants) const {
    VXLA_RETURN_IF_ERROR(CheckCommon(context_, body));
    VXLA_RETURN_IF_ERROR(LoweringOf(body).can_lower(context_, body));
    return giants.ok() || MayReach(body) ? OkStatus() : giants;
  }
  // Loops, reductions and updates index what they read with as many bits as it takes, or find that they cannot;
  // bindings are no larger than an index reaches.
  bool MayReach(const FusionDescription& body) const {
    if (body.hero != nullptr && !ReachesGiants(body.hero->opcode())) return false;
    const auto small = [](const Instruction* value) { return CheckSize(value->shape()).ok(); };
    return context_.bindings != BindingMode::kDescriptors ||
           (std::ranges::all_of(body.instruction->operands(), small) && small(body.instruction));
  }

  const DeviceFacts facts_;
  const LowerContext context_;
  const CustomKernels kernels_;
};

}  // namespace

std::unique_ptr<Lowering> MakeLowering(const DeviceFacts& facts, BindingMode bindings, const CustomKernels& kernels) {
  return std::make_unique<VulkanLowering>(facts, bindings, kernels);
}

bool ComputesInPairs(const LowerContext& context, const FusionDescription& body) {
  auto emulated = [&](const Instruction& instruction) {
    return std::ranges::any_of(FlattenTuple(instruction.shape()), [&](const Shape* leaf) {
      return HasWideCarrier(leaf->element_type()) && IsEmulated(leaf->element_type(), context.facts);
    });
  };
  return std::ranges::any_of(body.computed, [&](const Instruction* instruction) {
    return emulated(*instruction) ||
           std::ranges::any_of(instruction->operands(), [&](const Instruction* operand) { return emulated(*operand); });
  });
}

std::vector<ResultLeaf> ResultLeaves(const FusionDescription& body) {
  std::vector<ResultLeaf> results;
  for (const Instruction* root : body.roots) {
    int element = 0;
    for (const Shape* shape : FlattenTuple(root->shape())) results.push_back({root, element++, shape});
  }
  return results;
}

std::string StepName(const FusionDescription& body) {
  if (body.instruction->opcode() != Opcode::kFusion) {
    return fmt::format("{} ({})", body.instruction->name(), OpcodeText(body.instruction->opcode()));
  }
  std::vector<std::string_view> opcodes;
  for (const Instruction* instruction : body.computed) {
    const Opcode opcode = instruction->opcode();
    if (!IsElementwise(opcode) && !HeroKind(opcode) && KindOf(opcode) != OpcodeKind::kIndexing) continue;
    if (std::ranges::find(opcodes, OpcodeText(opcode)) == opcodes.end()) opcodes.push_back(OpcodeText(opcode));
  }
  constexpr size_t kMost = 4;
  const bool more = opcodes.size() > kMost;
  if (more) opcodes.resize(kMost);
  return fmt::format("{} ({}{})", body.instruction->name(), fmt::join(opcodes, ", "), more ? ", ..." : "");
}

Step ClearStep(const LowerContext& context, const std::string& name, const BufferSlice& scratch, int64_t words) {
  constexpr uint32_t kGroup = 256;
  KernelBuilder kernel(context.facts);
  kernel.Param(words);
  const int k = kernel.AddBuffer(ElementType::kU32, Access::kWrite, scratch);
  kernel.Append("#define CLEAR(i) {}\n", kernel.Store(k, "i", "0u"));
  return kernel.Finish(name + " clear", "elementwise/clear_words.comp", {kGroup, 1, 1}, CeilDivide(words, kGroup));
}

}  // namespace VXLA_NAMESPACE::vulkan
