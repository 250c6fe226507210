#include "scheduler/bundle/bundle.h"

#include <algorithm>

#include "core/host/hash.h"
#include "scheduler/bundle/bundle_format.h"

namespace VXLA_NAMESPACE {
namespace {

std::string_view ModeName(BindingMode mode) { return mode == BindingMode::kAddresses ? "addresses" : "descriptors"; }

// The header of a whole and undamaged file.
Result<BundleHeader> ReadHeader(std::span<const std::byte> bytes) {
  if (!IsBundle(bytes)) return InvalidArgument("no bundle: it does not begin as one");
  if (bytes.size() < kBundleHeaderBytes) return InvalidArgument("the bundle is cut off: {} bytes", bytes.size());
  BundleReader reader(bytes.subspan(kBundleMagic.size(), kBundleHeaderBytes - kBundleMagic.size()));
  BundleHeader header;
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

Result<std::vector<BundleSection>> ReadSections(std::span<const std::byte> bytes, uint32_t count) {
  if (count > kMostSections) return InvalidArgument("the bundle has {} sections, {} is the most", count, kMostSections);
  if (bytes.size() - kBundleHeaderBytes < count * kBundleSectionBytes)
    return InvalidArgument("the bundle has no room for {} sections", count);
  BundleReader reader(bytes.subspan(kBundleHeaderBytes, count * kBundleSectionBytes));
  std::vector<BundleSection> sections(count);
  for (BundleSection& section : sections) {
    Fields(reader, section);
    if (section.offset > bytes.size() || section.size > bytes.size() - section.offset) {
      return InvalidArgument("section {} of the bundle has {} bytes at {}, the file {}", section.kind, section.size,
                             section.offset, bytes.size());
    }
  }
  VXLA_RETURN_IF_ERROR(reader.Finish());
  return sections;
}

Result<std::span<const std::byte>> OneOf(std::span<const BundleSection> sections, uint32_t kind,
                                         std::span<const std::byte> bytes) {
  const auto is_kind = [&](const BundleSection& section) { return section.kind == kind; };
  if (const auto count = std::ranges::count_if(sections, is_kind); count != 1)
    return InvalidArgument("the bundle has {} sections of kind {}, 1 is wanted", count, kind);
  const BundleSection& found = *std::ranges::find_if(sections, is_kind);
  return bytes.subspan(found.offset, found.size);
}

Status CheckConversion(const Bundle& bundle, const BundleConversion& conversion) {
  const auto& [offset, size] = conversion.bundle;
  if (offset <= bundle.constants.size() && size <= bundle.constants.size() - offset) return OkStatus();
  return InvalidArgument("a conversion of images has {} bytes at {}, the constants {}", size, offset,
                         bundle.constants.size());
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
  VXLA_ASSIGN_OR_RETURN(const BundleHeader header, ReadHeader(bytes));
  VXLA_ASSIGN_OR_RETURN(const std::vector<BundleSection> sections, ReadSections(bytes, header.sections));
  VXLA_ASSIGN_OR_RETURN(const std::span<const std::byte> program, OneOf(sections, kProgramSection, bytes));
  Bundle bundle;
  VXLA_ASSIGN_OR_RETURN(bundle.modules, OneOf(sections, kModulesSection, bytes));
  VXLA_ASSIGN_OR_RETURN(bundle.constants, OneOf(sections, kConstantsSection, bytes));
  BundleReader reader(program);
  Fields(reader, bundle);
  VXLA_RETURN_IF_ERROR(reader.Finish());
  if (bundle.variants.empty()) return InvalidArgument("the bundle holds no variant");
  for (const BundleConversion& conversion : bundle.conversions)
    VXLA_RETURN_IF_ERROR(CheckConversion(bundle, conversion));
  for (BundleVariant& variant : bundle.variants) {
    VXLA_RETURN_IF_ERROR(CheckVariant(bundle, variant).WithPrefix(variant.ToString() + ": "));
    for (size_t i = 0; i < variant.plan.steps.size(); ++i)
      variant.plan.steps[i].kernel = variant.plan.kernels[variant.plan.kernel_of_step[i]];
  }
  return bundle;
}

}  // namespace VXLA_NAMESPACE
