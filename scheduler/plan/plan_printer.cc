#include "scheduler/plan/plan_printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend/kernel_hash.h"
#include "scheduler/plan/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

std::string_view SpaceName(MemorySpace space) {
  constexpr std::string_view kNames[] = {"parameter", "result", "constant", "scratch"};
  return kNames[static_cast<size_t>(space)];
}

std::string SliceText(const Plan& plan, const BufferSlice& slice) {
  const PlanBuffer& buffer = plan.buffers.at(slice.buffer);
  if (slice.offset_bytes == 0 && slice.size_bytes == buffer.size_bytes) return buffer.name;
  return fmt::format("{}[{}:{}]", buffer.name, slice.offset_bytes, slice.offset_bytes + slice.size_bytes);
}

std::string_view Prefix(Access access) {
  constexpr std::string_view kPrefixes[] = {"", "=", "&"};
  return kPrefixes[static_cast<size_t>(access)];
}

std::string CommandText(const Plan& plan, const GpuCommand& command) {
  if (std::holds_alternative<Barrier>(command)) return "  barrier";
  if (const auto* copy = std::get_if<CopyBytes>(&command)) {
    return fmt::format("  copy {} -> {}", SliceText(plan, copy->source), SliceText(plan, copy->target));
  }
  const int index = std::get<Dispatch>(command).step;
  const Step& step = plan.steps.at(index);
  std::vector<std::string> bindings;
  for (const Binding& binding : step.bindings) {
    bindings.push_back(fmt::format("{}{}", Prefix(binding.access), SliceText(plan, binding.slice)));
  }
  const auto& [_, part, parts, groups_at] = std::get<Dispatch>(command);
  const auto groups = PartOf(step, part, parts).groups;
  return fmt::format("  dispatch {} kernel {} groups {}x{}x{}{}{} ({})", step.name, plan.kernel_of_step.at(index),
                     groups[0], groups[1], groups[2], parts == 1 ? "" : fmt::format(" part {} of {}", part + 1, parts),
                     groups_at.buffer < 0 ? "" : " or fewer by " + SliceText(plan, groups_at),
                     fmt::join(bindings, ", "));
}

// The last dispatch or copy of each segment that the host step waits for.
std::vector<std::string> WaitsOf(const Plan& plan, const HostEvaluate& evaluation) {
  std::vector<std::string> waits;
  for (const int segment : evaluation.waits_for) {
    const auto& commands = std::get<GpuCommands>(plan.segments.at(segment)).commands;
    const auto* dispatch = std::get_if<Dispatch>(&commands.back());
    const auto* copy = std::get_if<CopyBytes>(&commands.back());
    waits.push_back(dispatch != nullptr ? plan.steps.at(dispatch->step).name
                    : copy != nullptr   ? "copy to " + SliceText(plan, copy->target)
                                        : "barrier");
  }
  return waits;
}

std::string HostText(const Plan& plan, const HostEvaluate& evaluation) {
  std::vector<std::string> operands, results;
  for (const HostEvaluate::Operand& operand : evaluation.operands) {
    if (!operand.constant.empty()) operands.push_back(operand.constant);
    for (const BufferSlice& leaf : operand.leaves) operands.push_back(SliceText(plan, leaf));
  }
  for (const BufferSlice& leaf : evaluation.results) results.push_back(SliceText(plan, leaf));
  const std::vector<std::string> waits = WaitsOf(plan, evaluation);
  return fmt::format("host {} ({}) -> {}, waits for {}", evaluation.instruction, fmt::join(operands, ", "),
                     fmt::join(results, ", "),
                     !waits.empty()                   ? fmt::format("{}", fmt::join(waits, ", "))
                     : evaluation.waits_for_arguments ? "its arguments"
                                                      : "nothing");
}

std::string Indent(int depth) { return std::string(static_cast<size_t>(2 * depth), ' '); }

std::string DecisionText(const Plan& plan, const HostDecide& decision) {
  if (decision.kind == HostDecide::Kind::kConditional) {
    return fmt::format("conditional {} (the host reads {})", decision.instruction, SliceText(plan, decision.selector));
  }
  const std::string apart = decision.apart.empty() ? "" : "; not one dispatch: " + decision.apart;
  if (decision.trip_count >= 0)
    return fmt::format("while {} ({} iterations{})", decision.instruction, decision.trip_count, apart);
  if (decision.ahead) return fmt::format("while {} (the device reads its condition{})", decision.instruction, apart);
  return fmt::format("while {} (the host reads {}{})", decision.instruction, SliceText(plan, decision.selector), apart);
}

std::string RegionName(const HostDecide& decision, int region) {
  if (decision.kind == HostDecide::Kind::kConditional) return fmt::format("branch {}", region);
  return region == 0 ? "condition" : "body";
}

void AppendSegments(const Plan& plan, int begin, int end, int depth, std::string& text) {
  for (int i = begin; i < end; i = plan.SegmentEnd(i)) {
    if (const auto* evaluation = std::get_if<HostEvaluate>(&plan.segments[i])) {
      text += Indent(depth) + HostText(plan, *evaluation) + '\n';
    } else if (const auto* decision = std::get_if<HostDecide>(&plan.segments[i])) {
      text += Indent(depth) + DecisionText(plan, *decision) + '\n';
      for (int region = 0; region < static_cast<int>(decision->region_ends.size()); ++region) {
        const auto [first, last] = plan.Region(i, region);
        if (first == last && (decision->trip_count >= 0 || decision->ahead)) continue;  // no condition
        text += Indent(depth) + RegionName(*decision, region) + '\n';
        AppendSegments(plan, first, last, depth + 1, text);
      }
      text += Indent(depth) + "end " + decision->instruction + '\n';
    } else {
      const auto& gpu = std::get<GpuCommands>(plan.segments[i]);
      const std::string beside = gpu.overlap == 0 ? "" : fmt::format(", overlap {}", gpu.overlap);
      text += fmt::format("{}gpu queue {}{}\n", Indent(depth), gpu.queue, beside);
      for (const GpuCommand& command : gpu.commands) text += Indent(depth) + CommandText(plan, command) + '\n';
    }
  }
}

nlohmann::json DecisionsJson(const Plan& plan) {
  nlohmann::json decisions = nlohmann::json::array();
  for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
    const auto* decision = std::get_if<HostDecide>(&plan.segments[i]);
    if (decision == nullptr) continue;
    const bool is_while = decision->kind == HostDecide::Kind::kWhile;
    nlohmann::json entry = {{"instruction", decision->instruction}, {"kind", is_while ? "while" : "conditional"}};
    if (is_while)
      entry["trip_count"] = decision->trip_count >= 0 ? nlohmann::json(decision->trip_count) : nlohmann::json();
    entry["on_device"] = decision->ahead;
    entry["reads_back"] = decision->selector.buffer >= 0;
    nlohmann::json dispatches = nlohmann::json::array();
    for (int region = 0; region < static_cast<int>(decision->region_ends.size()); ++region) {
      int64_t count = 0;
      const auto [first, last] = plan.Region(i, region);
      for (const GpuCommands& gpu : Only<GpuCommands>(std::span(plan.segments).subspan(first, last - first)))
        count += std::ranges::distance(Only<Dispatch>(gpu.commands));
      dispatches.push_back(count);
    }
    entry["dispatches"] = std::move(dispatches);  // of each region, once through
    decisions.push_back(std::move(entry));
  }
  return decisions;
}

nlohmann::json HostStepsJson(const Plan& plan) {
  nlohmann::json steps = nlohmann::json::array();
  for (const HostEvaluate& evaluation : Only<HostEvaluate>(plan.segments)) {
    steps.push_back({{"instruction", evaluation.instruction},
                     {"waits_for", WaitsOf(plan, evaluation)},
                     {"waits_for_segments", evaluation.waits_for}});
  }
  return steps;
}

void AppendBuffers(const Plan& plan, std::string& text) {
  for (const PlanBuffer& buffer : plan.buffers) {
    text += fmt::format("buffer {}: {} bytes at {}", buffer.name, buffer.size_bytes, PlaceText(buffer));
    if (buffer.first_use >= 0) text += fmt::format(", used {}..{}", buffer.first_use, buffer.last_use);
    text += '\n';
  }
}

}  // namespace

std::string PlaceText(const PlanBuffer& buffer) {
  const Placement& place = buffer.placement;
  std::string text = fmt::format("{} {}", SpaceName(place.space), place.index);
  if (place.offset_bytes != 0) text += fmt::format(" + {}", place.offset_bytes);
  return text;
}

std::vector<std::string> SharesWith(const Plan& plan, int buffer) {
  std::vector<std::string> names;
  const PhysicalRange range = RangeOf(plan, {buffer, 0, plan.buffers.at(buffer).size_bytes});
  for (int other = 0; other < static_cast<int>(plan.buffers.size()); ++other) {
    const PlanBuffer& candidate = plan.buffers[other];
    if (other == buffer || candidate.first_use < 0 || plan.buffers[buffer].first_use < 0) continue;
    if (Overlap(range, RangeOf(plan, {other, 0, candidate.size_bytes}))) names.push_back(candidate.name);
  }
  return names;
}

std::string ToText(const PlanFault& fault) {
  switch (fault.remedy) {
    case PlanFault::Remedy::kUnfused:
      return fmt::format("{} runs one instruction at a time: {}", fault.instruction, fault.error);
    case PlanFault::Remedy::kProgramUnfused:
      return fmt::format("the program runs one instruction at a time: {}", fault.error);
    case PlanFault::Remedy::kHost:
      return fmt::format("{} runs on the host: {}", fault.instruction, fault.error);
  }
  return fault.error;
}

nlohmann::json FaultsJson(const Plan& plan) {
  nlohmann::json faults = nlohmann::json::array();
  for (const PlanFault& fault : plan.faults) {
    faults.push_back({{"instruction", fault.instruction},
                      {"error", fault.error},
                      {"remedy", fault.remedy == PlanFault::Remedy::kHost ? "host" : "unfused"}});
  }
  return faults;
}

std::string ToText(const Plan& plan) {
  std::string text =
      fmt::format("plan {} ({})\n", plan.name, plan.bindings == BindingMode::kAddresses ? "addresses" : "descriptors");
  for (const PlanParameter& parameter : plan.parameters) {
    text += fmt::format("parameter {} {}: {}", parameter.number, plan.buffers[parameter.buffer].name,
                        parameter.shape.ToString());
    if (parameter.donated_to >= 0) text += fmt::format(", donated to result {}", parameter.donated_to);
    text += '\n';
  }
  AppendBuffers(plan, text);
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    text += fmt::format("kernel {}: {} {:016x}\n", i, plan.kernels[i].algorithm, HashOf(plan.kernels[i]));
  }
  AppendSegments(plan, 0, static_cast<int>(plan.segments.size()), 0, text);
  for (const PlanResult& result : plan.results) {
    text += fmt::format("result {}: {}\n", plan.buffers[result.buffer].name, result.shape.ToString());
  }
  for (const Fallback& fallback : plan.fallbacks) {
    text += fmt::format("fallback {} ({}): {}\n", fallback.instruction, fallback.opcode, fallback.reason);
  }
  for (const PlanFault& fault : plan.faults) text += fmt::format("fault {}\n", ToText(fault));
  text += fmt::format("{} dispatches, {} kernels, {} barriers, peak {} bytes, lower bound {} bytes\n",
                      plan.dispatch_count(), plan.kernels.size(), plan.barrier_count(), plan.peak_bytes,
                      plan.lower_bound_bytes);
  return text;
}

nlohmann::json ToJson(const Plan& plan) {
  using nlohmann::json;
  json kernels = json::array(), buffers = json::array(), fallbacks = json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    kernels.push_back({{"name", step.name},
                       {"key", fmt::format("{:016x}", HashOf(plan.kernels[plan.kernel_of_step[i]]))},
                       {"algorithm", step.kernel.algorithm},
                       {"groups", step.groups}});
  }
  for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    buffers.push_back({{"name", buffer.name},
                       {"bytes", buffer.size_bytes},
                       {"space", SpaceName(buffer.placement.space)},
                       {"index", buffer.placement.index},
                       {"offset", buffer.placement.offset_bytes},
                       {"first_use", buffer.first_use},
                       {"last_use", buffer.last_use},
                       {"shares_with", SharesWith(plan, i)}});
  }
  for (const Fallback& fallback : plan.fallbacks) {
    fallbacks.push_back(
        {{"instruction", fallback.instruction}, {"opcode", fallback.opcode}, {"reason", fallback.reason}});
  }
  return {{"dispatches", plan.dispatch_count()},
          {"kernels", std::move(kernels)},
          {"different_kernels", plan.kernels.size()},
          {"buffers", std::move(buffers)},
          {"peak_bytes", plan.peak_bytes},
          {"lower_bound_bytes", plan.lower_bound_bytes},
          {"barriers", plan.barrier_count()},
          {"segments", plan.segments.size()},
          {"decisions", DecisionsJson(plan)},
          {"host_steps", HostStepsJson(plan)},
          {"fallbacks", std::move(fallbacks)},
          {"faults", FaultsJson(plan)}};
}

}  // namespace VXLA_NAMESPACE
