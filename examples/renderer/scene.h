// The graphics pass: one triangle over the picture, whose fragment shader reads the simulation's image.
#pragma once

#include "gpu.h"

class Scene {
 public:
  Scene(const Gpu& gpu, const Image& state, uint32_t size);
  ~Scene();
  Scene(const Scene&) = delete;

  // Colour and height; it stands in kDrawn between passes, from the first call of Draw on.
  const Image& picture() const { return picture_; }
  // `rays` to the sun and the sky from each pixel; other ones for another number.
  void Draw(VkCommandBuffer commands, uint32_t number, uint32_t rays);

 private:
  void MakePass();
  void MakeDescriptors(const Image& state);
  void MakePipeline();

  const Gpu& gpu_;
  Image picture_;
  bool drawn_ = false;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};
