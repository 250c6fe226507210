#include "api/c/c_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/c/c_compiler.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

std::string LeafName(bool argument, size_t leaf) {
  return fmt::format("{} {}", argument ? "argument" : "result", leaf);
}

vulkan::ImageState StateOf(const VxlaImageState& state) { return {state.layout, state.stages, state.accesses}; }

bool Holds(VkImageLayout layout) {
  return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

const VxlaImage* ImageOf(const VxlaImage* const* images, size_t leaf) {
  return images == nullptr ? nullptr : images[leaf];
}

Status StatesNoFormat(bool argument, size_t leaf) {
  return InvalidArgument("{}: an image is bound, and its recording states no format", LeafName(argument, leaf));
}

Result<bool> IsVolume(const std::string& name, const VkImageType* types, size_t leaf) {
  if (types == nullptr || types[leaf] == VK_IMAGE_TYPE_2D) return false;
  if (types[leaf] == VK_IMAGE_TYPE_3D) return true;
  return InvalidArgument("{}: VkImageType {} is neither 2D nor 3D", name, static_cast<int>(types[leaf]));
}

vulkan::ImageAspects AspectsOf(const ImageFormat& format) {
  if (!format.depth) return {};
  constexpr VkImageAspectFlags kDepth = VK_IMAGE_ASPECT_DEPTH_BIT;
  return {kDepth, kDepth | (format.stencil ? VkImageAspectFlags{VK_IMAGE_ASPECT_STENCIL_BIT} : 0)};
}

Status CheckFormats(const char* what, uint32_t given, size_t wanted, const VkFormat* formats) {
  return formats == nullptr ? OkStatus() : CheckCount(what, given, wanted);
}

}  // namespace

Result<std::unique_ptr<RecordedImages>> RecordedImages::Create(VxlaDevice device, const CExecutable& program,
                                                               const VxlaRecordingInfo& info,
                                                               VkBufferUsageFlags usage) {
  VXLA_RETURN_IF_ERROR(
      CheckFormats("argument formats", info.argument_count, program.arguments.size(), info.argument_formats));
  VXLA_RETURN_IF_ERROR(CheckFormats("result formats", info.result_count, program.results.size(), info.result_formats));
  std::unique_ptr<RecordedImages> made(new RecordedImages(device));
  for (const bool argument : {true, false}) {
    const VkFormat* formats = argument ? info.argument_formats : info.result_formats;
    const std::vector<CArray>& leaves = argument ? program.arguments : program.results;
    std::vector<Image>& images = argument ? made->arguments_ : made->results_;
    for (size_t i = 0; formats != nullptr && i < leaves.size(); ++i) {
      if (formats[i] == VK_FORMAT_UNDEFINED) continue;
      Image image;
      image.name = LeafName(argument, i);
      image.leaf = i;
      VXLA_ASSIGN_OR_RETURN(image.volume, IsVolume(image.name, argument ? info.argument_types : info.result_types, i));
      VXLA_ASSIGN_OR_RETURN(image.array, ArrayOfImage(image.name, leaves[i].shape, formats[i], /*written=*/!argument));
      VXLA_RETURN_IF_ERROR(made->Add(std::move(image), usage, images));
    }
  }
  if (made->arguments_.empty() && made->results_.empty()) return std::unique_ptr<RecordedImages>();
  made->bound_arguments_.resize(program.arguments.size());
  made->bound_results_.resize(program.results.size());
  made->barriers_ = vulkan::WrapCommands(*device->device);
  VXLA_RETURN_IF_ERROR(made->CheckDonations(program.executable->plan()));
  for (Image& image : made->arguments_) VXLA_RETURN_IF_ERROR(made->AddConversion(*program.executable, image, true));
  for (Image& image : made->results_) VXLA_RETURN_IF_ERROR(made->AddConversion(*program.executable, image, false));
  return made;
}

Status RecordedImages::Add(Image image, VkBufferUsageFlags usage, std::vector<Image>& images) {
  const auto allocate = [&](const Shape& of) {
    return device_->device->Allocate(RoundUp(of.SizeBytes(), RecordingNeeds::kUnitBytes), MemoryKind::kDevice);
  };
  VXLA_ASSIGN_OR_RETURN(image.texels, allocate(image.array.texels));
  image.elements = image.texels;
  if (!image.array.same_bytes) VXLA_SET_OR_RETURN(image.elements, allocate(image.array.shape));
  const vulkan::HostRange range = vulkan::RangeOf(*image.elements);
  image.binding = {range.buffer, range.offset_bytes, range.size_bytes, range.address, usage};
  images.push_back(std::move(image));
  return OkStatus();
}

// A donated argument and the result in its memory are both images, in the argument's memory, or none is.
Status RecordedImages::CheckDonations(const Plan& plan) {
  const auto find = [](std::vector<Image>& images, size_t leaf) -> Image* {
    const auto found = std::ranges::find(images, leaf, &Image::leaf);
    return found == images.end() ? nullptr : &*found;
  };
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const Placement& placement = plan.buffers[plan.results[i].buffer].placement;
    if (placement.space != MemorySpace::kParameter) continue;
    const auto number = static_cast<size_t>(placement.index);
    Image* result = find(results_, i);
    const Image* argument = find(arguments_, number);
    if ((result == nullptr) != (argument == nullptr)) {
      return InvalidArgument("{}: the program puts it into {}, and one of the two only is an image", LeafName(false, i),
                             LeafName(true, number));
    }
    if (result == nullptr) continue;
    if (result->texels == result->elements) result->texels = argument->elements;
    result->elements = argument->elements;
    result->binding = argument->binding;
  }
  return OkStatus();
}

Status RecordedImages::AddConversion(const Executable& program, Image& image, bool argument) {
  if (image.array.same_bytes) return OkStatus();
  const std::span<const std::byte> kept =
      program.image_conversion(argument, static_cast<uint32_t>(image.leaf), image.array.format.format);
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, kept.empty()
                                                                    ? CompileConversion(device_, image.array, argument)
                                                                    : LoadConversion(device_, kept, image, argument));
  VXLA_ASSIGN_OR_RETURN(image.conversion, Recording::Create(std::move(executable), {}));
  image.commands = vulkan::WrapCommands(*device_->device);
  const BoundBuffer from = {argument ? image.texels.get() : image.elements.get(), 1};
  const BoundBuffer to = {argument ? image.elements.get() : image.texels.get(), 1};
  image.conversion->Bind({&from, 1}, {&to, 1});
  return OkStatus();
}

Result<std::shared_ptr<Executable>> RecordedImages::LoadConversion(VxlaDevice device, std::span<const std::byte> bundle,
                                                                   const Image& image, bool argument) {
  Result<std::shared_ptr<Executable>> loaded = ClientNow(device)->Load(bundle);
  if (!loaded.ok()) return Status(loaded.status()).WithPrefix(image.name + ": its conversion: ");
  VXLA_RETURN_IF_ERROR(CheckRecordable((*loaded)->plan()));
  const Plan& plan = (*loaded)->plan();
  const Shape& from = argument ? image.array.texels : image.array.shape;
  const Shape& to = argument ? image.array.shape : image.array.texels;
  if (plan.parameters.size() != 1 || plan.results.size() != 1 || plan.parameters[0].shape != from ||
      plan.results[0].shape != to)
    return InvalidArgument("{}: the bundle's conversion is for another array", image.name);
  return loaded;
}

Status RecordedImages::BindImage(Image& image, const VxlaImage& given, bool argument) {
  if (given.image == VK_NULL_HANDLE) return InvalidArgument("{}: its VkImage is NULL", image.name);
  const ImageArray& array = image.array;
  if (given.width != array.width() || given.height != array.height()) {
    return InvalidArgument("{}: the image is {} wide and {} high, {} is {} wide and {} high", image.name, given.width,
                           given.height, array.shape.ToString(), array.width(), array.height());
  }
  const VkImageUsageFlags wanted = argument ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT : VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  if ((given.usage & wanted) == 0)
    return InvalidArgument("{}: its image's usage {:#x} lacks {:#x}", image.name, given.usage, wanted);
  if (argument && given.before.layout == VK_IMAGE_LAYOUT_UNDEFINED)
    return InvalidArgument("{}: its image comes from the layout UNDEFINED, which holds nothing", image.name);
  if (!Holds(given.after.layout)) {
    return InvalidArgument("{}: its image goes to the layout {}, which no image can be brought to", image.name,
                           given.after.layout == VK_IMAGE_LAYOUT_UNDEFINED ? "UNDEFINED" : "PREINITIALIZED");
  }
  image.image = {given.image,           given.width,         given.height, given.mip_level,
                 given.first_layer,     array.layers(),      image.volume, AspectsOf(array.format),
                 StateOf(given.before), StateOf(given.after)};
  return OkStatus();
}

Status RecordedImages::BindLeaves(std::vector<Image>& images, const VxlaImage* const* given, bool argument,
                                  const VxlaBinding* buffers, std::vector<VxlaBinding>& bound) {
  auto image = images.begin();
  for (size_t i = 0; i < bound.size(); ++i) {
    const VxlaImage* there = ImageOf(given, i);
    if (image == images.end() || image->leaf != i) {
      if (there != nullptr) return StatesNoFormat(argument, i);
      bound[i] = buffers != nullptr ? buffers[i] : VxlaBinding{};
      continue;
    }
    if (there == nullptr) return InvalidArgument("{}: no image is bound", image->name);
    VXLA_RETURN_IF_ERROR(BindImage(*image, *there, argument));
    bound[i] = image->binding;
    ++image;
  }
  return OkStatus();
}

Status RecordedImages::CheckWrittenOnce() const {
  for (size_t i = 0; i < results_.size(); ++i) {
    const vulkan::HostImage& image = results_[i].image;
    for (size_t k = 0; k < i; ++k) {
      const vulkan::HostImage& other = results_[k].image;
      if (image.image != other.image || image.mip_level != other.mip_level) continue;
      // A 3D image's slices have their layout in common.
      if (image.volume || other.volume ||
          (image.first_layer < other.first_layer + other.layers &&
           other.first_layer < image.first_layer + image.layers))
        return InvalidArgument("{}: its image is that of {}, too", results_[i].name, results_[k].name);
    }
  }
  return OkStatus();
}

Result<VxlaBindings> RecordedImages::Bind(const VxlaBindings& bindings) {
  VXLA_RETURN_IF_ERROR(CheckCount("arguments", bindings.argument_count, bound_arguments_.size()));
  VXLA_RETURN_IF_ERROR(CheckCount("results", bindings.result_count, bound_results_.size()));
  VXLA_RETURN_IF_ERROR(BindLeaves(arguments_, bindings.argument_images, true, bindings.arguments, bound_arguments_));
  VXLA_RETURN_IF_ERROR(BindLeaves(results_, bindings.result_images, false, bindings.results, bound_results_));
  VXLA_RETURN_IF_ERROR(CheckWrittenOnce());
  VxlaBindings bound = bindings;
  bound.arguments = bound_arguments_.data();
  bound.results = bound_results_.data();
  return bound;
}

Status RecordedImages::Convert(std::vector<Image>& images, VkCommandBuffer commands) {
  bool converted = false;
  for (Image& image : images) {
    if (image.conversion == nullptr) continue;
    image.commands->Attach(commands, !image.recorded, /*goes_on=*/false);
    const Status status = image.conversion->Record(*image.commands);
    VXLA_RETURN_IF_ERROR(image.commands->Detach());
    VXLA_RETURN_IF_ERROR(status);
    image.recorded = converted = true;
  }
  if (converted) Barrier(commands);
  return OkStatus();
}

void RecordedImages::Barrier(VkCommandBuffer commands) {
  barriers_->Attach(commands, false, false);
  barriers_->Barrier();
  (void)barriers_->Detach();  // a barrier cannot fail
}

Status RecordedImages::Labelled(VkCommandBuffer commands, const char* label, auto&& record) {
  const auto mark = [&](bool begins) {
    barriers_->Attach(commands, false, false);
    begins ? barriers_->BeginLabel(label) : barriers_->EndLabel();
    (void)barriers_->Detach();
  };
  mark(true);
  const Status status = record();
  mark(false);
  return status;
}

Status RecordedImages::RecordArguments(VkCommandBuffer commands) {
  if (arguments_.empty()) return OkStatus();
  return Labelled(commands, "images to arrays", [&] {
    for (const Image& image : arguments_)
      vulkan::CopyImageToBuffer(*device_->device, commands, image.image, *image.texels);
    Barrier(commands);
    return Convert(arguments_, commands);
  });
}

Status RecordedImages::RecordResults(VkCommandBuffer commands) {
  if (results_.empty()) return OkStatus();
  return Labelled(commands, "arrays to images", [&]() -> Status {
    Barrier(commands);
    VXLA_RETURN_IF_ERROR(Convert(results_, commands));
    for (const Image& image : results_)
      vulkan::CopyBufferToImage(*device_->device, commands, *image.texels, image.image);
    return OkStatus();
  });
}

Status CheckNoImages(const VxlaBindings& bindings) {
  for (const bool argument : {true, false}) {
    const VxlaImage* const* images = argument ? bindings.argument_images : bindings.result_images;
    const uint32_t count = argument ? bindings.argument_count : bindings.result_count;
    for (uint32_t i = 0; images != nullptr && i < count; ++i) {
      if (images[i] != nullptr) return StatesNoFormat(argument, i);
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
