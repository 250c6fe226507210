// From executables to a bundle.
#include <algorithm>

#include "core/host/hash.h"
#include "core/ir/module.h"
#include "scheduler/bundle/bundle_format.h"
#include "scheduler/graph/step_graph.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {
namespace {

// The reason why no file can hold what the executable runs.
Status CheckHolds(const Executable& executable) {
  if (executable.depends_on_sizes()) {
    return Unsupported(
        "the program's arguments decide sizes without bounds, so that it is compiled for each choice when it runs; a "
        "bundle holds programs of static shapes, and of dimensions with bounds: vxla compile --bound states them");
  }
  const Plan& plan = executable.plan();
  if (!plan.fallbacks.empty()) {
    const Fallback& first = plan.fallbacks.front();
    return Unsupported("{} {} runs on the CPU, which a bundle has no program for: {} ({} such instructions)",
                       first.opcode, first.instruction, first.reason, plan.fallbacks.size());
  }
  const auto on_host = [](const Segment& segment) { return std::holds_alternative<HostEvaluate>(segment); };
  if (std::ranges::any_of(plan.segments, on_host))
    return Unsupported(
        "live sizes are compared, and no result has dynamic dimensions to tell those who load the bundle");
  return OkStatus();
}

}  // namespace

BundlePart BundleBuilder::Pool::Add(std::span<const std::byte> bytes) {
  const uint64_t hash = HashBytes(bytes).low;
  const auto [begin, end] = parts_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (std::ranges::equal(BytesOf(bytes_).subspan(it->second.offset, it->second.size), bytes)) return it->second;
  }
  bytes_.resize((bytes_.size() + alignment_ - 1) / alignment_ * alignment_, '\0');
  const BundlePart part = {bytes_.size(), bytes.size()};
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  parts_.emplace(hash, part);
  return part;
}

Status BundleBuilder::Add(const Executable& executable, Device& device, bool generic) {
  VXLA_RETURN_IF_ERROR(CheckHolds(executable));
  const Module& module = executable.module();
  if (bundle_.variants.empty()) {
    for (const Instruction* parameter : module.entry()->parameters()) bundle_.parameters.push_back(parameter->shape());
    bundle_.result = module.entry()->root()->shape();
  }
  BundleVariant variant;
  variant.generic = generic;
  variant.made_for = device.facts();
  variant.plan = executable.plan();
  // The device that loads it may have one queue: what stands beside one another runs in its order.
  for (GpuCommands& gpu : Only<GpuCommands>(variant.plan.segments)) gpu.queue = gpu.overlap = 0;
  const auto instructions = InstructionsByPlanName(module);
  for (const PlanConstant& constant : variant.plan.constants) {
    const std::span<const std::byte> bytes =
        constant.instruction.empty()
            ? std::as_bytes(std::span(constant.words))
            : std::as_bytes(
                  FlattenLiteral(instructions.at(constant.instruction)->literal()).at(constant.leaf)->bytes());
    variant.constants.push_back(constants_.Add(bytes));
  }
  for (const KernelKey& kernel : variant.plan.kernels) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, device.KernelModule(variant.plan.bindings, kernel));
    BundleWriter module_bytes;
    for (const uint32_t word : words) module_bytes.Value(word);
    variant.modules.push_back(modules_.Add(BytesOf(module_bytes.bytes())));
  }
  bundle_.variants.push_back(std::move(variant));
  return OkStatus();
}

void BundleBuilder::AddConversion(bool argument, uint32_t leaf, uint32_t format, std::span<const std::byte> file) {
  bundle_.conversions.push_back({argument, leaf, format, constants_.Add(file)});
}

std::string BundleBuilder::Finish(const std::string& producer) {
  bundle_.producer = producer;
  BundleWriter program;
  Fields(program, bundle_);
  const std::pair<uint32_t, std::string_view> contents[] = {
      {kProgramSection, program.bytes()}, {kModulesSection, modules_.bytes()}, {kConstantsSection, constants_.bytes()}};
  BundleWriter body;  // what follows the header
  uint64_t offset = 0;
  const auto aligned = [](uint64_t at) { return (at + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment; };
  offset = aligned(kBundleHeaderBytes + std::size(contents) * kBundleSectionBytes);
  for (const auto& [kind, bytes] : contents) {
    BundleSection section = {kind, 0, offset, bytes.size()};
    Fields(body, section);
    offset = aligned(offset + bytes.size());
  }
  std::string file(kBundleHeaderBytes, '\0');
  file += body.bytes();
  for (const auto& [kind, bytes] : contents) {
    file.resize(aligned(file.size()), '\0');
    file += bytes;
  }
  const Hash128 checksum = HashBytes(BytesOf(file).subspan(kBundleHeaderBytes));
  BundleHeader header = {kBundleVersion, static_cast<uint32_t>(std::size(contents)), file.size(), checksum.high,
                         checksum.low};
  BundleWriter head;
  head.Raw(kBundleMagic);
  Fields(head, header);
  return file.replace(0, kBundleHeaderBytes, head.bytes());
}

}  // namespace VXLA_NAMESPACE
