#include "include/vxla/vxla.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/devices.h"
#include "api/program.h"
#include "core/guarded.h"

namespace vxla {
namespace {

std::vector<const Literal*> PointersTo(std::span<const Literal> literals) {
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  return pointers;
}

}  // namespace

Result<std::vector<std::string>> DeviceNames() {
  return Guarded([]() -> Result<std::vector<std::string>> {
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
    std::vector<std::string> names;
    for (const DeviceFacts& facts : devices) names.push_back(facts.name);
    return names;
  });
}

Result<std::unique_ptr<Client>> OpenClient(std::string_view device, const EvaluateOptions& host_steps) {
  return Guarded([&] {
    DeviceOptions options;
    options.device = device;
    return OpenClient(options, host_steps);
  });
}

Result<std::unique_ptr<Module>> Parse(std::string_view hlo_text) {
  return Guarded([&] { return ParseProgram(hlo_text); });
}

Result<Literal> RunOnCpu(const Module& module, std::span<const Literal> arguments, const EvaluateOptions& options) {
  return Guarded([&] { return Evaluate(module, PointersTo(arguments), options); });
}

Result<Literal> RunOnDevice(Client& client, const Module& module, std::span<const Literal> arguments) {
  return Guarded([&]() -> Result<Literal> {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client.Compile(module));
    return executable->Run(PointersTo(arguments));
  });
}

bool Agreement::agrees() const {
  return std::ranges::all_of(results, [](const Comparison& comparison) { return comparison.agrees(); });
}

std::string Agreement::ToString() const {
  std::string text;
  const std::vector<const Literal*> leaves = FlattenLiteral(expected);
  for (size_t k = 0; k < results.size(); ++k) {
    const Comparison& c = results[k];
    const std::string shape = leaves[k]->shape().ToString();
    text += c.agrees()
                ? fmt::format("result_{}: {} agrees, {} elements, at worst {} ulp\n", k, shape, c.elements, c.max_ulp)
                : fmt::format("result_{}: {} differs, {} of {} elements, at worst {} ulp\n", k, shape, c.mismatches,
                              c.elements, c.max_ulp);
  }
  return text;
}

Result<Agreement> CompareWithCpu(Client& client, const Module& module, std::span<const Literal> arguments,
                                 const Tolerance* tolerance, const EvaluateOptions& options) {
  Agreement agreement;
  VXLA_ASSIGN_OR_RETURN(agreement.actual, RunOnDevice(client, module, arguments));
  VXLA_ASSIGN_OR_RETURN(agreement.expected, RunOnCpu(module, arguments, options));
  const std::vector<const Literal*> actual = FlattenLiteral(agreement.actual),
                                    expected = FlattenLiteral(agreement.expected);
  for (size_t k = 0; k < expected.size(); ++k) {
    agreement.results.push_back(
        Compare(*actual.at(k), *expected[k], tolerance != nullptr ? *tolerance : Tolerance::DefaultFor(*expected[k])));
  }
  return agreement;
}

}  // namespace vxla
