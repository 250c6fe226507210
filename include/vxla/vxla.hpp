// vxla: XLA programs on Vulkan GPUs, compared with a CPU reference. The one header of the installed library.
//
//   vxla::XlaBuilder builder("axpy");
//   auto x = vxla::Parameter(&builder, 0, vxla::Shape(vxla::ElementType::kF32, {1000}));
//   auto program = builder.Build(vxla::Add(x, x));            // or vxla::Parse(text) for HLO text
//   auto client = vxla::OpenClient();                         // the best device
//   auto check = vxla::CompareWithCpu(**client, program->module(), arguments);
//
// Nothing here throws: what can fail gives a Result, with a message that says what, where, value and limit.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/diff.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/builder/builder.h"
#include "core/builder/math.h"
#include "core/literal_compare.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "core/xla_names.h"
#include "scheduler/client.h"

namespace vxla {

// The names of this machine's devices, in the order of "vulkan:N".
Result<std::vector<std::string>> DeviceNames();

// A client of one device: "vulkan" is the best one, "vulkan:N" number N, anything else a part of a name. What the device cannot
// run is evaluated by the CPU reference (Executable::fallbacks says what and why) with `host_steps`: its custom calls, feeds and
// seed. kDeviceFailure where there is no such device.
Result<std::unique_ptr<Client>> OpenClient(std::string_view device = "vulkan", const EvaluateOptions& host_steps = {});

// HLO text, read and checked; messages begin with line:column.
Result<std::unique_ptr<Module>> Parse(std::string_view hlo_text);

// The CPU reference's value.
Result<Literal> RunOnCpu(const Module& module, std::span<const Literal> arguments, const EvaluateOptions& options = {});
// Compiled, run once and downloaded.
Result<Literal> RunOnDevice(Client& client, const Module& module, std::span<const Literal> arguments);

// What a device gave next to what the CPU reference gave.
struct Agreement {
  DiffOutcome outcome;  // values, differences by result, whose fault they are
  bool agrees() const;
  // A line for each array: "result_0: f32[1000] agrees, 1000 elements, at worst 1 ulp".
  std::string ToString() const;
};
// As `vxla diff` decides (api/diff.h): without a tolerance by the default one, and where that fails by what rounding can do.
// `options`: the reference's.
Result<Agreement> CompareWithCpu(Client& client, const Module& module, std::span<const Literal> arguments,
                                 const Tolerance* tolerance = nullptr, const EvaluateOptions& options = {});

}  // namespace vxla
