#include "include/vxla/vxla.hpp"

#include <fmt/format.h>

#include "api/devices.h"
#include "api/program.h"
#include "api/verify/diff.h"
#include "api/verify/diff_side.h"
#include "api/verify/kernel_stand_ins.h"
#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "core/ir/module.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {

Result<std::vector<std::string>> DeviceNames() {
  return Guarded([]() -> Result<std::vector<std::string>> {
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
    return Transformed(devices, &DeviceFacts::name);
  });
}

Result<std::unique_ptr<Client>> OpenClient(std::string_view device, const EvaluateOptions& host_steps) {
  return Guarded([&] {
    DeviceOptions options;
    options.device = device;
    return OpenClient(options, host_steps);
  });
}

Result<XlaComputation> Parse(std::string_view text) {
  return Guarded([&]() -> Result<XlaComputation> {
    VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseProgram(text));
    return XlaComputation(std::move(module));
  });
}

std::string ToHloText(const XlaComputation& program) { return PrintHlo(program.module()); }

Result<Literal> RunOnCpu(const Module& module, std::span<const Literal> arguments, const EvaluateOptions& options) {
  return Guarded([&] { return Evaluate(module, PointersTo(arguments), options); });
}

Result<Literal> RunOnDevice(Client& client, const Module& module, std::span<const Literal> arguments) {
  return Guarded([&]() -> Result<Literal> {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client.Compile(module));
    return executable->Run(PointersTo(arguments));
  });
}

bool Agreement::agrees() const { return outcome.agrees(); }

std::string Agreement::ToString() const {
  std::string text;
  for (const LeafReport& leaf : outcome.leaves) {
    const Comparison& c = leaf.comparison;
    text += fmt::format("result_{}: {} ", leaf.index, leaf.shape);
    text += leaf.agrees()
                ? fmt::format("agrees, {} elements, at worst {} ulp", c.elements, c.max_ulp)
                : fmt::format("differs, {} of {} elements, at worst {} ulp", c.mismatches, c.elements, c.max_ulp);
    if (leaf.conditioning && leaf.agrees())
      text += fmt::format(" (rounding errors grow by {:.2g}x)", leaf.conditioning->amplification);
    text += "\n";
  }
  return text;
}

Result<Agreement> CompareWithCpu(Client& client, const Module& module, std::span<const Literal> arguments,
                                 const Tolerance* tolerance, const EvaluateOptions& options) {
  return Guarded([&]() -> Result<Agreement> {
    if (mlir::IsDynamicProgram(module)) {
      VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> refined, RefineOnCpu(module, PointersTo(arguments), options));
      return CompareWithCpu(client, *refined, arguments, tolerance, options);
    }
    DiffOptions diff;
    if (tolerance != nullptr) {
      diff.rtol = tolerance->rtol;
      diff.atol = tolerance->atol;
      diff.ulp = tolerance->ulp;
    }
    const std::vector<const Literal*> pointers = PointersTo(arguments);
    const std::shared_ptr<Client> borrowed(std::shared_ptr<void>(), &client);
    const KernelStandIns stand_ins(options.custom_calls, module, KernelStandIns::For::kReference);
    const KernelStandIns shader_math(options.custom_calls, module, KernelStandIns::For::kShaderMath);
    EvaluateOptions evaluate = options;
    evaluate.custom_calls = stand_ins.registry();
    DiffSide device(borrowed, {}, evaluate);
    stand_ins.Use(borrowed);
    shader_math.Use(borrowed);
    device.set_shader_math_calls(shader_math.registry());
    Agreement agreement;
    VXLA_ASSIGN_OR_RETURN(agreement.outcome, RunDiff(module, pointers, device, nullptr, std::nullopt, diff));
    agreement.outcome.notes.insert(agreement.outcome.notes.end(), stand_ins.notes().begin(), stand_ins.notes().end());
    return agreement;
  });
}

}  // namespace VXLA_NAMESPACE
