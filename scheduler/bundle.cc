#include "scheduler/bundle.h"

#include <algorithm>

#include "core/hash.h"
#include "core/module.h"
#include "scheduler/bundle_format.h"
#include "scheduler/client.h"
#include "scheduler/step_graph.h"

namespace VXLA_NAMESPACE {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Section {
  uint32_t kind = 0, zero = 0;
  uint64_t offset = 0, size = 0;
};
template <typename Archive>
void Fields(Archive& a, Section& v) {
  a(v.kind, v.zero, v.offset, v.size);
}

struct Header {
  uint32_t version = kBundleVersion, sections = 0;
  uint64_t file_bytes = 0, checksum_high = 0, checksum_low = 0;
};
template <typename Archive>
void Fields(Archive& a, Header& v) {
  a(v.version, v.sections, v.file_bytes, v.checksum_high, v.checksum_low);
}

std::string_view ModeName(BindingMode mode) { return mode == BindingMode::kAddresses ? "addresses" : "descriptors"; }

// The header of a whole and undamaged file.
Result<Header> ReadHeader(std::span<const std::byte> bytes) {
  if (!IsBundle(bytes)) return InvalidArgument("no bundle: it does not begin as one");
  if (bytes.size() < kBundleHeaderBytes) return InvalidArgument("the bundle is cut off: {} bytes", bytes.size());
  BundleReader reader(bytes.subspan(kBundleMagic.size(), kBundleHeaderBytes - kBundleMagic.size()));
  Header header;
  Fields(reader, header);
  VXLA_RETURN_IF_ERROR(reader.Finish());
  if (header.version != kBundleVersion) {
    return Unsupported(
        "the bundle has version {} of the format, this build reads version {}: compile the program again",
        header.version, kBundleVersion);
  }
  if (header.file_bytes != bytes.size()) {
    return InvalidArgument("the bundle is {}: {} bytes, its header says {}",
                           bytes.size() < header.file_bytes ? "cut off" : "too long", bytes.size(), header.file_bytes);
  }
  const Hash128 checksum = HashBytes(bytes.subspan(kBundleHeaderBytes));
  if (checksum != Hash128{header.checksum_high, header.checksum_low})
    return InvalidArgument("the bundle is damaged: its checksum is {}", checksum.Hex());
  return header;
}

Result<std::vector<Section>> ReadSections(std::span<const std::byte> bytes, uint32_t count) {
  if (count > kMostSections) return InvalidArgument("the bundle has {} sections, {} is the most", count, kMostSections);
  if (bytes.size() - kBundleHeaderBytes < count * kBundleSectionBytes)
    return InvalidArgument("the bundle has no room for {} sections", count);
  BundleReader reader(bytes.subspan(kBundleHeaderBytes, count * kBundleSectionBytes));
  std::vector<Section> sections(count);
  for (Section& section : sections) {
    Fields(reader, section);
    if (section.offset > bytes.size() || section.size > bytes.size() - section.offset) {
      return InvalidArgument("section {} of the bundle has {} bytes at {}, the file {}", section.kind, section.size,
                             section.offset, bytes.size());
    }
  }
  VXLA_RETURN_IF_ERROR(reader.Finish());
  return sections;
}

Result<std::span<const std::byte>> OneOf(std::span<const Section> sections, uint32_t kind,
                                         std::span<const std::byte> bytes) {
  const auto is_kind = [&](const Section& section) { return section.kind == kind; };
  if (const auto count = std::ranges::count_if(sections, is_kind); count != 1)
    return InvalidArgument("the bundle has {} sections of kind {}, 1 is wanted", count, kind);
  const Section& found = *std::ranges::find_if(sections, is_kind);
  return bytes.subspan(found.offset, found.size);
}

// The reason why no file can hold what the executable runs.
Status CheckHolds(const Executable& executable) {
  if (executable.depends_on_sizes()) {
    return Unsupported(
        "the program's arguments decide sizes, so that it is compiled for each choice when it runs; a bundle holds "
        "programs of static shapes");
  }
  const Plan& plan = executable.plan();
  if (!plan.fallbacks.empty()) {
    const Fallback& first = plan.fallbacks.front();
    return Unsupported("{} {} runs on the CPU, which a bundle has no program for: {} ({} such instructions)",
                       first.opcode, first.instruction, first.reason, plan.fallbacks.size());
  }
  const auto dynamic = [](const auto& leaf) { return leaf.shape.IsDynamic(); };
  if (std::ranges::any_of(plan.parameters, dynamic) || std::ranges::any_of(plan.results, dynamic))
    return Unsupported("the program has dynamic dimensions; a bundle holds programs of static shapes");
  return OkStatus();
}

}  // namespace

std::string BundleVariant::ToString() const {
  return fmt::format("{} under {}", made_for.name, ModeName(plan.bindings));
}

bool IsBundle(std::span<const std::byte> bytes) {
  const std::span<const std::byte> magic = BytesOf(kBundleMagic);
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

Result<Bundle> ReadBundle(std::span<const std::byte> bytes) {
  VXLA_ASSIGN_OR_RETURN(const Header header, ReadHeader(bytes));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Section> sections, ReadSections(bytes, header.sections));
  VXLA_ASSIGN_OR_RETURN(const std::span<const std::byte> program, OneOf(sections, kProgramSection, bytes));
  Bundle bundle;
  VXLA_ASSIGN_OR_RETURN(bundle.modules, OneOf(sections, kModulesSection, bytes));
  VXLA_ASSIGN_OR_RETURN(bundle.constants, OneOf(sections, kConstantsSection, bytes));
  BundleReader reader(program);
  Fields(reader, bundle);
  VXLA_RETURN_IF_ERROR(reader.Finish());
  if (bundle.variants.empty()) return InvalidArgument("the bundle holds no variant");
  for (BundleVariant& variant : bundle.variants) {
    VXLA_RETURN_IF_ERROR(CheckVariant(bundle, variant).WithPrefix(variant.ToString() + ": "));
    for (size_t i = 0; i < variant.plan.steps.size(); ++i)
      variant.plan.steps[i].kernel = variant.plan.kernels[variant.plan.kernel_of_step[i]];
  }
  return bundle;
}

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
    Section section = {kind, 0, offset, bytes.size()};
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
  Header header = {kBundleVersion, static_cast<uint32_t>(std::size(contents)), file.size(), checksum.high,
                   checksum.low};
  BundleWriter head;
  head.Raw(kBundleMagic);
  Fields(head, header);
  return file.replace(0, kBundleHeaderBytes, head.bytes());
}

}  // namespace VXLA_NAMESPACE
