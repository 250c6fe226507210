// A renderer whose frame runs two programs that JAX wrote: a simulation, which it draws, and a denoiser of what it
// draws. README.md says what can be seen.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "picture.h"
#include "programs.h"
#include "scene.h"
#include "window.h"

namespace {

constexpr uint32_t kTrueRays = 256;   // of a pixel of the picture that the others are compared with
constexpr double kLeastGainDb = 8.0;  // by which --check wants the denoised picture nearer to it

struct Options {
  uint32_t points = 128;          // of the simulation, in each direction
  int advance = 250, frames = 0;  // 0: until the window is closed
  bool headless = false, two_devices = false, check = false;
  std::string picture, programs = RENDERER_PROGRAMS;
  GpuOptions gpu;
};

constexpr char kHelp[] =
    "renderer [options]\n"
    "  --headless        no window; it has none either without a display\n"
    "  --small           48 x 48 points instead of 128 x 128; a pixel is half a point\n"
    "  --advance N       frames of the simulation that are not drawn, at the beginning (250)\n"
    "  --frames N        frames that are drawn (20; in a window until it is closed)\n"
    "  --picture F.ppm   the last frame: its left half as drawn, its right half denoised\n"
    "  --check           exit code 1 unless the denoiser helps as much as it should\n"
    "  --two-devices     once more with a device of vxla's own, and what that costs\n"
    "  --device NAME     a part of the device's name\n"
    "  --api 1.2|1.3     the version of Vulkan that is asked for (1.3)\n"
    "  --validate        with the validation layer; exit code 1 if it says anything\n"
    "  --gpu-assisted    the same with its checks of what shaders touch, instead of those of synchronization\n"
    "  --programs DIR    where react_N.mlir and denoise_2N.mlir lie\n";

// The options of the command line, from the first to the last.
class Arguments {
 public:
  Arguments(int argc, char** argv) : left_(argv + 1, argv + argc) {}
  bool Next() {
    if (at_ == left_.size()) return false;
    option_ = left_[at_++];
    return true;
  }
  bool Is(const char* name) const { return option_ == name; }
  const std::string& option() const { return option_; }
  std::string Value() {
    if (at_ == left_.size()) throw std::invalid_argument(option_ + ": its value is missing");
    return left_[at_++];
  }
  int Count() {
    const std::string value = Value();
    char* end = nullptr;
    const long count = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end != 0 || count < 0 || count > 1000000)
      throw std::invalid_argument(option_ + " " + value + ": no number from 0 to 1000000");
    return static_cast<int>(count);
  }

 private:
  std::vector<std::string> left_;
  std::string option_;
  size_t at_ = 0;
};

uint32_t ParseApi(const std::string& version) {
  if (version == "1.2") return VK_API_VERSION_1_2;
  if (version == "1.3") return VK_API_VERSION_1_3;
  throw std::invalid_argument("--api " + version + ": none of 1.2, 1.3");
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  Arguments arguments(argc, argv);
  while (arguments.Next()) {
    if (arguments.Is("--headless")) {
      options.headless = true;
    } else if (arguments.Is("--small")) {
      options.points = 48;
    } else if (arguments.Is("--check")) {
      options.check = true;
    } else if (arguments.Is("--two-devices")) {
      options.two_devices = true;
    } else if (arguments.Is("--validate")) {
      options.gpu.validates = true;
    } else if (arguments.Is("--gpu-assisted")) {
      options.gpu.validates = options.gpu.gpu_assisted = true;
    } else if (arguments.Is("--advance")) {
      options.advance = arguments.Count();
    } else if (arguments.Is("--frames")) {
      options.frames = arguments.Count();
    } else if (arguments.Is("--picture")) {
      options.picture = arguments.Value();
    } else if (arguments.Is("--device")) {
      options.gpu.device = arguments.Value();
    } else if (arguments.Is("--api")) {
      options.gpu.api_version = ParseApi(arguments.Value());
    } else if (arguments.Is("--programs")) {
      options.programs = arguments.Value();
    } else {
      throw std::invalid_argument(arguments.option() + ": no such option\n" + kHelp);
    }
  }
  return options;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file || text.empty()) throw std::runtime_error(path + ": it cannot be read");
  return text;
}

ProgramTexts ReadPrograms(const Options& options) {
  const auto path = [&](const char* name, uint32_t size) {
    return options.programs + "/" + name + "_" + std::to_string(size) + ".mlir";
  };
  return {ReadFile(path("react", options.points)), ReadFile(path("denoise", 2 * options.points))};
}

// One substance everywhere, and seeds of the other one.
std::vector<float> FirstState(uint32_t points) {
  std::vector<float> state(size_t{2} * points * points);
  for (size_t i = 0; i < state.size(); i += 2) state[i] = 1;
  uint32_t random = 12345;
  const auto next = [&] { return (random = random * 1664525 + 1013904223) >> 16; };
  for (uint32_t seed = 0; seed < points * points / 340; ++seed) {
    const uint32_t row = next() % (points - 4), column = next() % (points - 4);
    for (uint32_t i = 0; i < 16; ++i) {
      float* point = &state[2 * ((row + i / 4) * points + column + i % 4)];
      point[0] = 0.5f, point[1] = 0.25f;
    }
  }
  return state;
}

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What one way of running the programs gave.
struct Outcome {
  Picture drawn, shown, truth;
  double seconds_per_frame = 0;
  uint64_t bytes_per_frame = 0;  // through host memory
};

class Renderer {
 public:
  Renderer(const Options& options, Window* window);
  ~Renderer();
  Renderer(const Renderer&) = delete;

  Outcome RunAdopted();
  Outcome RunApart();
  int complaints() const { return gpu_.complaints; }

 private:
  template <typename Record>
  void Perform(Record&& record);
  void SetState(const void* state);
  void Frame(AdoptedPrograms& programs, int number);
  Picture ReadDrawn();

  const Options& options_;
  Window* window_;
  Gpu gpu_;
  ProgramTexts texts_;
  std::vector<float> first_state_;
  Image state_, shown_;
  std::unique_ptr<Scene> scene_;
  Buffer staging_;
  VkCommandBuffer commands_[kFramesInFlight] = {};
  VkFence fences_[kFramesInFlight] = {};
};

Renderer::Renderer(const Options& options, Window* window)
    : options_(options), window_(window), texts_(ReadPrograms(options)), first_state_(FirstState(options.points)) {
  GpuOptions wants = options.gpu;
  if (window != nullptr) {
    wants.presents = true;
    wants.instance_extensions = window->instance_extensions();
  }
  OpenGpu(wants, gpu_);
  if (window != nullptr) window->MakeSwapchain(gpu_);
  const uint32_t size = 2 * options.points;
  constexpr VkImageUsageFlags kBothWays = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  state_ = MakeImage(gpu_, VK_FORMAT_R32G32_SFLOAT, options.points, kBothWays | VK_IMAGE_USAGE_SAMPLED_BIT);
  shown_ = MakeImage(gpu_, VK_FORMAT_R8G8B8A8_SRGB, size, kBothWays);
  scene_ = std::make_unique<Scene>(gpu_, state_, size);
  staging_ = MakeBuffer(gpu_, VkDeviceSize{8} * size * size,
                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  fence.flags = VK_FENCE_CREATE_SIGNALED_BIT;
  for (int i = 0; i < kFramesInFlight; ++i) {
    commands_[i] = MakeCommands(gpu_);
    Check(vkCreateFence(gpu_.device, &fence, nullptr, &fences_[i]), "vkCreateFence");
  }
}

Renderer::~Renderer() {
  vkDeviceWaitIdle(gpu_.device);
  for (VkFence fence : fences_) vkDestroyFence(gpu_.device, fence, nullptr);
  Free(gpu_, staging_);
  scene_.reset();
  Free(gpu_, shown_);
  Free(gpu_, state_);
  if (window_ != nullptr) window_->DestroySwapchain();
  CloseGpu(gpu_);
}

// Commands that the host waits for.
template <typename Record>
void Renderer::Perform(Record&& record) {
  Begin(commands_[0]);
  record(commands_[0]);
  SubmitAndWait(gpu_, commands_[0]);
}

void Renderer::SetState(const void* state) {
  std::memcpy(staging_.mapped, state, first_state_.size() * sizeof(float));
  Perform([&](VkCommandBuffer commands) {
    Transition(commands, state_.image, kUnused, kWritten);
    CopyToImage(commands, staging_, state_);
    Transition(commands, state_.image, kWritten, kSampled);
  });
}

Picture Renderer::ReadDrawn() {
  Perform([&](VkCommandBuffer commands) {
    Transition(commands, scene_->picture().image, kDrawn, kCopied);
    CopyFromImage(commands, scene_->picture(), staging_);
    Transition(commands, scene_->picture().image, kCopied, kDrawn);
    ForTheHost(commands);
  });
  return FromHalves(static_cast<const uint16_t*>(staging_.mapped), shown_.size);
}

// Simulation, drawing and denoising in one command buffer; up to kFramesInFlight of them at once.
void Renderer::Frame(AdoptedPrograms& programs, int number) {
  const int slot = number % kFramesInFlight;
  Check(vkWaitForFences(gpu_.device, 1, &fences_[slot], VK_TRUE, UINT64_MAX), "vkWaitForFences");
  while (window_ != nullptr && !window_->Acquire(slot)) {
  }
  Check(vkResetFences(gpu_.device, 1, &fences_[slot]), "vkResetFences");
  VkCommandBuffer commands = commands_[slot];
  Begin(commands);
  programs.React(commands, slot);
  scene_->Draw(commands, static_cast<uint32_t>(number), 1);
  programs.Denoise(commands, slot);
  if (window_ != nullptr) return window_->SubmitAndPresent(commands, slot, shown_, fences_[slot]);
  Check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  Check(vkQueueSubmit(gpu_.queue, 1, &info, fences_[slot]), "vkQueueSubmit");
}

Outcome Renderer::RunAdopted() {
  SetState(first_state_.data());
  AdoptedPrograms programs(gpu_, texts_, state_, scene_->picture(), shown_);
  for (int i = 0; i < options_.advance; ++i) Perform([&](VkCommandBuffer commands) { programs.React(commands, 0); });
  const double start = Now();
  int frames = 0;
  while (options_.frames == 0 ? window_->IsOpen() : frames < options_.frames) Frame(programs, frames++);
  Check(vkQueueWaitIdle(gpu_.queue), "vkQueueWaitIdle");
  Outcome outcome;
  outcome.seconds_per_frame = (Now() - start) / std::max(frames, 1);
  if (frames == 0) return outcome;
  outcome.drawn = ReadDrawn();
  Perform([&](VkCommandBuffer commands) {
    CopyFromImage(commands, shown_, staging_);
    ForTheHost(commands);
  });
  outcome.shown = FromBytes(static_cast<const uint8_t*>(staging_.mapped), shown_.size);
  Perform([&](VkCommandBuffer commands) { scene_->Draw(commands, 0, kTrueRays); });
  outcome.truth = ReadDrawn();
  return outcome;
}

// The same frames with vxla on a device of its own: each of the host's copies waits for one of the two.
Outcome Renderer::RunApart() {
  const uint32_t size = shown_.size;
  ApartPrograms programs(gpu_.properties.deviceName, texts_, options_.points, first_state_);
  std::vector<float> state(first_state_.size()), denoised;
  for (int i = 0; i < options_.advance; ++i) programs.React(state.data());
  const uint64_t bytes_before = programs.bytes_copied();
  const double start = Now();
  Outcome outcome;
  for (int i = 0; i < options_.frames; ++i) {
    programs.React(state.data());
    SetState(state.data());
    Perform([&](VkCommandBuffer commands) {
      scene_->Draw(commands, static_cast<uint32_t>(i), 1);
      Transition(commands, scene_->picture().image, kDrawn, kCopied);
      CopyFromImage(commands, scene_->picture(), staging_);
      Transition(commands, scene_->picture().image, kCopied, kDrawn);
      ForTheHost(commands);
    });
    const auto* drawn = static_cast<const uint16_t*>(staging_.mapped);
    if (i + 1 == options_.frames) outcome.drawn = FromHalves(drawn, size);
    programs.Denoise(drawn, denoised);
    outcome.shown = FromFloats(denoised.data(), size);
    auto* bytes = static_cast<uint8_t*>(staging_.mapped);
    for (size_t pixel = 0; pixel < size_t{size} * size; ++pixel) {
      std::memcpy(bytes + 4 * pixel, &outcome.shown.bytes[3 * pixel], 3);
      bytes[4 * pixel + 3] = 255;
    }
    Perform([&](VkCommandBuffer commands) {
      Transition(commands, shown_.image, kUnused, kWritten);
      CopyToImage(commands, staging_, shown_);
      Transition(commands, shown_.image, kWritten, kCopied);
    });
  }
  outcome.seconds_per_frame = (Now() - start) / options_.frames;
  outcome.bytes_per_frame = (programs.bytes_copied() - bytes_before) / static_cast<uint64_t>(options_.frames);
  return outcome;
}

void PrintCost(const char* name, const Outcome& outcome) {
  std::printf("%s: %.2f ms a frame, %.2f MB a frame through host memory\n", name, 1e3 * outcome.seconds_per_frame,
              1e-6 * static_cast<double>(outcome.bytes_per_frame));
}

int Run(Options options) {
  const std::unique_ptr<Window> window =
      options.headless ? nullptr : Window::Open(static_cast<int>(4 * options.points));
  if (options.frames == 0 && (window == nullptr || options.two_devices)) options.frames = 20;
  Renderer renderer(options, window.get());
  const Outcome one = renderer.RunAdopted();
  PrintCost("one device", one);
  bool fine = true;
  if (!one.shown.bytes.empty()) {
    const double drawn = Psnr(one.drawn, one.truth), shown = Psnr(one.shown, one.truth);
    std::printf("PSNR against %u rays a pixel: drawn %.2f dB, denoised %.2f dB\n", kTrueRays, drawn, shown);
    if (options.check && !(shown - drawn >= kLeastGainDb)) {
      std::printf("the denoiser gains less than %.1f dB\n", kLeastGainDb);
      fine = false;
    }
    if (!options.picture.empty()) WriteHalves(one.drawn, one.shown, options.picture);
  }
  if (options.two_devices) {
    const Outcome two = renderer.RunApart();
    PrintCost("two devices", two);
    std::printf("PSNR between the two (inf: the same bits): drawn %.2f dB, denoised %.2f dB\n",
                Psnr(one.drawn, two.drawn), Psnr(one.shown, two.shown));
    if (options.check && !(Psnr(one.shown, two.shown) >= 50)) fine = false;
  }
  if (renderer.complaints() != 0) std::printf("the validation layer said %d things\n", renderer.complaints());
  return fine && renderer.complaints() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  try {
    return Run(ParseOptions(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "renderer: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "renderer: %s\n", error.what());
    return 3;
  }
}
