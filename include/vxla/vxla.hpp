// vxla: XLA programs on Vulkan GPUs, compared with a CPU reference. The header that includes the others of the
// installed library:
//   literal.h shape.h element_type.h status.h   values of the host, and how failures are reported
//   builder.h math.h xla_names.h dimension_numbers.h   programs built by the names of XLA's operation semantics
//   device_options.h client.h compilation.h buffer.h event.h statistics.h   devices, compiled programs, values in device memory
//   evaluator.h custom_call.h custom_kernel.h custom_call_files.h host_transfer.h feed_queues.h   the CPU reference,
//       and what a program asks of its host
//   diff.h isolate.h literal_compare.h   a device against the reference: what differs, by how much, whose fault it is
//
//   vxla::XlaBuilder builder("double");
//   auto x = vxla::Parameter(&builder, 0, vxla::Shape(vxla::ElementType::kF32, {1000}));
//   auto program = builder.Build(vxla::Add(x, x));            // or vxla::Parse(text) for a text
//   if (!program.ok()) return program.status();
//   auto client = vxla::OpenClient();                         // the best device
//   if (!client.ok()) return client.status();
//   auto check = vxla::CompareWithCpu(**client, program->module(), arguments);
//
// What can fail gives a Status or a Result, with a message that says what, where, value and limit. Reading the value of
// a Result that is not ok, or missing what is called a precondition here, is a mistake of the caller. It throws
// std::logic_error with both numbers. Objects may be used from one thread at a time, unless their header says more.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom_call_files.h"
#include "api/device_options.h"
#include "api/verify/diff.h"
#include "core/builder/builder.h"
#include "core/builder/math.h"
#include "core/builder/xla_names.h"
#include "core/numerics/literal_compare.h"
#include "scheduler/replicas/feed_queues.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// A client of one device: "vulkan" is the best one, "vulkan:N" number N; a UUID; else a part of a name.
Result<std::unique_ptr<Client>> OpenClient(std::string_view device = "vulkan", const EvaluateOptions& host_steps = {});

// HLO text, StableHLO text or bytecode of it, read and checked. kInvalidArgument, with a message that begins with
// line:column.
Result<XlaComputation> Parse(std::string_view text);
// The text that Parse reads back to an equal program.
std::string ToHloText(const XlaComputation& program);

// The CPU reference's value, `arguments` by parameter number.
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
// As `vxla diff` decides (api/verify/diff.h): without a tolerance by the default one, and where that fails by what
// rounding can do. `options`: the reference's.
Result<Agreement> CompareWithCpu(Client& client, const Module& module, std::span<const Literal> arguments,
                                 const Tolerance* tolerance = nullptr, const EvaluateOptions& options = {});

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
