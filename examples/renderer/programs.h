// The two programs of a frame, on the renderer's device or on one of vxla's own.
#pragma once

#include <string>
#include <vector>

#include "gpu.h"

inline constexpr int kFramesInFlight = 2;

struct ProgramTexts {
  std::string react, denoise;
};

// On the renderer's device: recorded into its command buffers, on its images. Nothing is copied by the host.
class AdoptedPrograms {
 public:
  // `state` stands in kSampled, `drawn` in kDrawn; `shown` comes to kCopied.
  AdoptedPrograms(const Gpu& gpu, const ProgramTexts& texts, const Image& state, const Image& drawn,
                  const Image& shown);
  ~AdoptedPrograms();
  AdoptedPrograms(const AdoptedPrograms&) = delete;

  // `slot`: of the frame, whose commands the device has finished before they are recorded again.
  void React(VkCommandBuffer commands, int slot);
  void Denoise(VkCommandBuffer commands, int slot);

 private:
  // A program of one argument and one result, both images.
  struct Program {
    VxlaExecutable executable = nullptr;
    VxlaRecording recordings[kFramesInFlight] = {};
    VxlaImage in = {}, out = {};
  };
  Program Make(const std::string& text, const VxlaImage& in, VkFormat in_format, const VxlaImage& out,
               VkFormat out_format);
  static void Execute(VkCommandBuffer commands, Program& program, int slot);
  static void Destroy(Program& program);

  VxlaDevice device_ = nullptr;
  Program react_, denoise_;
};

// On a device of vxla's own, as a renderer uses a library that cannot live on its device: through host memory.
class ApartPrograms {
 public:
  ApartPrograms(const std::string& device, const ProgramTexts& texts, uint32_t points, const std::vector<float>& state);
  ~ApartPrograms();
  ApartPrograms(const ApartPrograms&) = delete;

  // The state stays on vxla's device, and comes to the renderer as well: f32[points, points, 2].
  void React(void* state);
  // Four channels of f16 to three of f32.
  void Denoise(const uint16_t* drawn, std::vector<float>& shown);
  // Between the devices and the host, up to now.
  uint64_t bytes_copied() const { return bytes_copied_; }

 private:
  VxlaValue Execute(VxlaExecutable executable, VxlaValue argument);

  uint64_t bytes_copied_ = 0;
  uint32_t points_;
  VxlaDevice device_ = nullptr;
  VxlaExecutable react_ = nullptr, denoise_ = nullptr;
  VxlaValue state_ = nullptr;
  std::vector<float> picture_;
};
