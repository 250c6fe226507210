// A recording's arguments and results that are images: memory for their arrays, the programs that convert, and the
// copies, in the host's command buffer before and after the program.
#pragma once

#include <memory>
#include <vector>

#include "api/c/c_handles.h"
#include "api/image_format.h"
#include "backend/vulkan/device/adopt.h"
#include "backend/vulkan/device/host_image.h"
#include "include/vxla/vxla_vulkan.h"
#include "scheduler/runtime/commands/recording.h"

namespace VXLA_NAMESPACE {

class RecordedImages {
 public:
  // Null where `info` names no format. Usage: of the memory of the arrays.
  static Result<std::unique_ptr<RecordedImages>> Create(VxlaDevice device, const CExecutable& program,
                                                        const VxlaRecordingInfo& info, VkBufferUsageFlags usage);

  // The bindings with the memory of the arrays in the place of images. They hold until the next call.
  // kInvalidArgument: an image is missing, is of another size, lacks a usage or a layout, is that of two results.
  Result<VxlaBindings> Bind(const VxlaBindings& bindings);
  // Of the images that Bind was given.
  Status RecordArguments(VkCommandBuffer commands);
  Status RecordResults(VkCommandBuffer commands);

 private:
  struct Image {
    std::string name;
    size_t leaf = 0;
    bool volume = false;  // of VK_IMAGE_TYPE_3D
    ImageArray array;
    std::shared_ptr<Buffer> texels, elements;  // one and the same where their bytes are
    VxlaBinding binding;                       // of the elements
    std::unique_ptr<Recording> conversion;     // null where the bytes are the same
    std::unique_ptr<vulkan::VulkanCommandBuffer> commands;
    bool recorded = false;
    vulkan::HostImage image;  // that was bound last
  };

  explicit RecordedImages(VxlaDevice device) : device_(device) {}
  Status Add(Image image, VkBufferUsageFlags usage, std::vector<Image>& images);
  Status AddConversion(const Executable& program, Image& image, bool argument);
  // From the program's bundle.
  static Result<std::shared_ptr<Executable>> LoadConversion(VxlaDevice device, std::span<const std::byte> bundle,
                                                            const Image& image, bool argument);
  Status CheckDonations(const Plan& plan);
  static Status BindImage(Image& image, const VxlaImage& given, bool argument);
  static Status BindLeaves(std::vector<Image>& images, const VxlaImage* const* given, bool argument,
                           const VxlaBinding* buffers, std::vector<VxlaBinding>& bound);
  // kInvalidArgument: two results are the same layers of a mip level.
  Status CheckWrittenOnce() const;
  // With a barrier behind it where anything is converted.
  Status Convert(std::vector<Image>& images, VkCommandBuffer commands);
  void Barrier(VkCommandBuffer commands);
  // Around all that is recorded for images on one side of the program.
  Status Labelled(VkCommandBuffer commands, const char* label, auto&& record);

  VxlaDevice device_;
  std::vector<Image> arguments_, results_;
  std::vector<VxlaBinding> bound_arguments_, bound_results_;
  std::unique_ptr<vulkan::VulkanCommandBuffer> barriers_;
};

// kInvalidArgument: images are bound to a recording whose leaves are all buffers.
Status CheckNoImages(const VxlaBindings& bindings);

}  // namespace VXLA_NAMESPACE
