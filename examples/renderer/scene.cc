#include "scene.h"

#include <iterator>

#include "scene.frag.h"
#include "scene.vert.h"

namespace {

VkShaderModule Module(const Gpu& gpu, const uint32_t* words, size_t bytes) {
  VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  info.codeSize = bytes;
  info.pCode = words;
  VkShaderModule module = VK_NULL_HANDLE;
  Check(vkCreateShaderModule(gpu.device, &info, nullptr, &module), "vkCreateShaderModule");
  return module;
}

}  // namespace

Scene::Scene(const Gpu& gpu, const Image& state, uint32_t size) : gpu_(gpu) {
  picture_ = MakeImage(gpu, VK_FORMAT_R16G16B16A16_SFLOAT, size,
                       VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
  MakePass();
  MakeDescriptors(state);
  MakePipeline();
}

Scene::~Scene() {
  vkDestroyPipeline(gpu_.device, pipeline_, nullptr);
  vkDestroyPipelineLayout(gpu_.device, layout_, nullptr);
  vkDestroyDescriptorPool(gpu_.device, pool_, nullptr);
  vkDestroyDescriptorSetLayout(gpu_.device, set_layout_, nullptr);
  vkDestroySampler(gpu_.device, sampler_, nullptr);
  vkDestroyFramebuffer(gpu_.device, framebuffer_, nullptr);
  vkDestroyRenderPass(gpu_.device, pass_, nullptr);
  Free(gpu_, picture_);
}

// Every pixel is drawn, so nothing is loaded; the barriers around the pass are those of kDrawn.
void Scene::MakePass() {
  VkAttachmentDescription colour = {};
  colour.format = picture_.format;
  colour.samples = VK_SAMPLE_COUNT_1_BIT;
  colour.loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  colour.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  colour.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  colour.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
  colour.initialLayout = colour.finalLayout = kDrawn.layout;
  const VkAttachmentReference reference = {0, kDrawn.layout};
  VkSubpassDescription subpass = {};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &reference;
  VkRenderPassCreateInfo info = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
  info.attachmentCount = 1;
  info.pAttachments = &colour;
  info.subpassCount = 1;
  info.pSubpasses = &subpass;
  Check(vkCreateRenderPass(gpu_.device, &info, nullptr, &pass_), "vkCreateRenderPass");
  VkFramebufferCreateInfo framebuffer = {VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  framebuffer.renderPass = pass_;
  framebuffer.attachmentCount = 1;
  framebuffer.pAttachments = &picture_.view;
  framebuffer.width = framebuffer.height = picture_.size;
  framebuffer.layers = 1;
  Check(vkCreateFramebuffer(gpu_.device, &framebuffer, nullptr, &framebuffer_), "vkCreateFramebuffer");
}

void Scene::MakeDescriptors(const Image& state) {
  VkSamplerCreateInfo sampler = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};  // nearest: the shader fetches texels
  Check(vkCreateSampler(gpu_.device, &sampler, nullptr, &sampler_), "vkCreateSampler");
  const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                VK_SHADER_STAGE_FRAGMENT_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  layout.bindingCount = 1;
  layout.pBindings = &binding;
  Check(vkCreateDescriptorSetLayout(gpu_.device, &layout, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  Check(vkCreateDescriptorPool(gpu_.device, &pool, nullptr, &pool_), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout_;
  Check(vkAllocateDescriptorSets(gpu_.device, &allocate, &set_), "vkAllocateDescriptorSets");
  const VkDescriptorImageInfo image = {sampler_, state.view, kSampled.layout};
  VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set_;
  write.descriptorCount = 1;
  write.descriptorType = size.type;
  write.pImageInfo = &image;
  vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
}

void Scene::MakePipeline() {
  const VkPushConstantRange constants = {VK_SHADER_STAGE_FRAGMENT_BIT, 0, 2 * sizeof(uint32_t)};
  VkPipelineLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &constants;
  Check(vkCreatePipelineLayout(gpu_.device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  VkPipelineShaderStageCreateInfo stages[2] = {{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO},
                                               {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO}};
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = Module(gpu_, scene_vert, sizeof(scene_vert));
  stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
  stages[1].module = Module(gpu_, scene_frag, sizeof(scene_frag));
  stages[0].pName = stages[1].pName = "main";
  VkPipelineVertexInputStateCreateInfo vertices = {VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo assembly = {VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  const auto size = static_cast<float>(picture_.size);
  const VkViewport viewport = {0, 0, size, size, 0, 1};
  const VkRect2D scissor = {{0, 0}, {picture_.size, picture_.size}};
  VkPipelineViewportStateCreateInfo view = {VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  view.viewportCount = view.scissorCount = 1;
  view.pViewports = &viewport;
  view.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster = {VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.cullMode = VK_CULL_MODE_NONE;
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo samples = {VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState writes = {};
  writes.colorWriteMask = 0xf;
  VkPipelineColorBlendStateCreateInfo blend = {VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blend.attachmentCount = 1;
  blend.pAttachments = &writes;
  VkGraphicsPipelineCreateInfo info = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  info.stageCount = 2;
  info.pStages = stages;
  info.pVertexInputState = &vertices;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &view;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  info.renderPass = pass_;
  const VkResult result = vkCreateGraphicsPipelines(gpu_.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_);
  for (const auto& stage : stages) vkDestroyShaderModule(gpu_.device, stage.module, nullptr);
  Check(result, "vkCreateGraphicsPipelines");
}

void Scene::Draw(VkCommandBuffer commands, uint32_t number, uint32_t rays) {
  if (!drawn_) Transition(commands, picture_.image, kUnused, kDrawn);
  drawn_ = true;
  VkRenderPassBeginInfo begin = {VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
  begin.renderPass = pass_;
  begin.framebuffer = framebuffer_;
  begin.renderArea.extent = {picture_.size, picture_.size};
  vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_, 0, 1, &set_, 0, nullptr);
  const uint32_t constants[2] = {number, rays};
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(constants), constants);
  vkCmdDraw(commands, 3, 1, 0, 0);
  vkCmdEndRenderPass(commands);
}
