#include "core/passes/device_separation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/passes/device_merger_impl.h"
#include "core/passes/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr std::string_view kPrefix = "vxla.device.";

std::string TargetOf(size_t number) { return fmt::format("{}{}", kPrefix, number); }

bool IsHostsBusiness(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return true;
    case Opcode::kSend:
    case Opcode::kRecv:
      return instruction.attributes<SendRecvAttributes>().is_host_transfer;
    case Opcode::kCustomCall:
      return HasSideEffect(instruction);
    default:
      return false;
  }
}

}  // namespace

const Instruction* SeparateProgram::SourceOf(const Instruction& call) const {
  if (call.opcode() != Opcode::kCustomCall) return nullptr;
  const std::string_view target = call.attributes<CustomCallAttributes>().custom_call_target;
  if (!target.starts_with(kPrefix)) return nullptr;
  size_t number = 0;
  const std::from_chars_result read =
      std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == target.data() + target.size();
  return whole && number < calls.size() ? calls[number] : nullptr;
}

std::vector<std::string> SeparateProgram::targets() const {
  std::vector<std::string> targets;
  for (size_t number = 0; number < calls.size(); ++number) targets.push_back(TargetOf(number));
  return targets;
}

SeparateProgram SeparateDevices(const Module& module) {
  SeparateProgram program;
  program.source = module.Clone();
  program.module = module.Clone();
  DeepProperty meets(merging::KnowsItsDevice);
  for (size_t c = 0; c < program.source->computations().size(); ++c) {
    const Computation& source = *program.source->computations()[c];
    Computation& computation = *program.module->computations()[c];
    // The text's order, which the other devices may count by.
    Instruction* last = nullptr;
    auto next = computation.instructions().begin();
    for (const auto& own : source.instructions()) {
      Instruction* at = (next++)->get();
      VXLA_CHECK(at->name() == own->name(), "a clone has the order of its source");
      if (!meets.Of(*own)) continue;
      if (merging::KnowsItsDevice(*own)) {
        CustomCallAttributes attributes;
        attributes.custom_call_target = TargetOf(program.calls.size());
        attributes.custom_call_has_side_effect = true;
        program.calls.push_back(own.get());
        Instruction* const call = Expansion(computation, at)
                                      .Add(Opcode::kCustomCall, at->shape(),
                                           {at->operands().begin(), at->operands().end()}, std::move(attributes));
        computation.ReplaceAllUses(at, call);
        computation.Remove(at);
        at = call;
      }
      if (last != nullptr) at->AddControlPredecessor(last);
      last = at;
    }
  }
  program.module->RemoveUnusedComputations();
  return program;
}

bool TalksToHost(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& computation) {
    return std::ranges::any_of(computation->instructions(),
                               [](const auto& instruction) { return IsHostsBusiness(*instruction); });
  });
}

}  // namespace VXLA_NAMESPACE
