#include "core/passes/sharding/exchange_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/passes/base/control_flow.h"

namespace VXLA_NAMESPACE {
namespace {

int64_t GroupSize(const Instruction& instruction, int64_t devices) {
  const auto* const over = std::get_if<CollectiveAttributes>(&instruction.attributes());
  if (over == nullptr) return 1;
  const std::vector<IntList>& groups = over->replica_groups.groups;
  if (!groups.empty() && !groups[0].empty()) return std::ssize(groups[0]);
  return devices;
}

}  // namespace

// With a ring: of k parts each device passes on k - 1, and twice as many where all get the sum.
int64_t BytesSent(const Instruction& instruction, int64_t devices) {
  const int64_t k = std::max<int64_t>(1, GroupSize(instruction, devices));
  int64_t operands = 0;
  for (const Instruction* operand : instruction.operands()) operands += operand->shape().SizeBytes();
  switch (instruction.opcode()) {
    case Opcode::kAllGather:
      return operands * (k - 1);
    case Opcode::kAllReduce:
      return 2 * operands * (k - 1) / k;
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
      return operands * (k - 1) / k;
    case Opcode::kCollectivePermute: {
      const auto& pairs = instruction.attributes<CollectivePermuteAttributes>().source_target_pairs;
      const bool moves = std::ranges::any_of(pairs, [](const auto& pair) { return pair.first != pair.second; });
      return moves ? operands : 0;
    }
    default:
      return operands;
  }
}

namespace {

struct Walk {
  const Module& module;
  std::vector<ExchangeCost> costs;

  void Add(const Instruction& instruction, int64_t times, bool at_least) {
    auto cost = std::ranges::find(costs, instruction.opcode(), &ExchangeCost::kind);
    if (cost == costs.end()) cost = costs.insert(cost, {instruction.opcode()});
    cost->count += times;
    cost->bytes +=
        times * BytesSent(instruction, module.attributes().num_partitions * module.attributes().replica_count);
    cost->at_least |= at_least;
  }

  void Visit(const Computation& computation, int64_t times, bool at_least) {
    for (const auto& instruction : computation.instructions()) {
      if (Has(instruction->opcode(), Trait::kMeets)) {
        Add(*instruction, times, at_least);
      } else if (instruction->opcode() == Opcode::kWhile) {
        const std::optional<int64_t> trips = StaticTripCount(*instruction);
        for (const Computation* each : instruction->called())
          Visit(*each, times * trips.value_or(1), at_least || !trips);
      } else if (instruction->opcode() == Opcode::kConditional || instruction->opcode() == Opcode::kCall) {
        for (const Computation* each : instruction->called()) Visit(*each, times, at_least);
      }
    }
  }
};

}  // namespace

std::vector<ExchangeCost> ExchangesOf(const Module& module) {
  Walk walk{module, {}};
  walk.Visit(*module.entry(), 1, false);
  return std::move(walk.costs);
}

std::string ExchangeText(const Module& module) {
  std::string text;
  for (const ExchangeCost& cost : ExchangesOf(module)) {
    text += fmt::format("{}: {}{}, {} bytes sent by each device\n", OpcodeText(cost.kind),
                        cost.at_least ? "at least " : "", cost.count, cost.bytes);
  }
  if (text.empty()) text = "no exchanges\n";
  int64_t arguments = 0;
  for (const Instruction* parameter : module.entry()->parameters()) arguments += parameter->shape().SizeBytes();
  return text + fmt::format("memory of each device: {} bytes of arguments, {} of results\n", arguments,
                            module.entry()->root()->shape().SizeBytes());
}

}  // namespace VXLA_NAMESPACE
