#include "backend/vulkan/lower/whiles/order.h"

#include <algorithm>
#include <set>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsLoopValueMade(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return false;
    default:
      return !HandsOn(instruction) && !IsSameBytes(instruction);
  }
}

std::vector<LoopKey> ReadBy(const LoopProgram& program, const Instruction& instruction) {
  std::vector<LoopKey> keys;
  for (const Instruction* operand : instruction.operands()) {
    for (int leaf = 0; leaf < LeafCount(operand->shape()); ++leaf)
      keys.push_back(KeyOf(program.OriginOf(*operand, leaf)));
  }
  return keys;
}

bool UpdatesSlice(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kFusion &&
         instruction.called(0)->root()->opcode() == Opcode::kDynamicUpdateSlice;
}

bool IsUpdatedBy(const LoopProgram& program, const Instruction& update, const LoopKey& key) {
  const Instruction& array = *update.called(0)->root()->operand(0);
  return array.opcode() == Opcode::kParameter &&
         KeyOf(program.OriginOf(*update.operand(static_cast<int>(array.parameter_number())), 0)) == key;
}

// Updates that store what a trip begins with, as those of the residuals of a gradient do, come first: what they read
// may be overwritten then. Not before something that reads the array as it was.
void BringUpdatesForward(const LoopProgram& program, std::vector<const Instruction*>& order) {
  std::set<const Instruction*> before;
  std::set<LoopKey> read;
  std::vector<const Instruction*> first, others;
  for (const Instruction* at : order) {
    const std::vector<LoopKey> keys = ReadBy(program, *at);
    const bool goes_first =
        UpdatesSlice(*at) && !std::ranges::any_of(keys, [&](const LoopKey& key) {
          return before.contains(key.first) || (read.contains(key) && IsUpdatedBy(program, *at, key));
        });
    (goes_first ? first : others).push_back(at);
    if (goes_first) continue;
    before.insert(at);
    read.insert(keys.begin(), keys.end());
  }
  order = std::move(first);
  order.insert(order.end(), others.begin(), others.end());
}

// Fourier transforms wait for the next one of their kind, unless something before it, or itself, reads them.
void BringTransformsTogether(const LoopProgram& program, std::vector<const Instruction*>& order) {
  for (size_t i = order.size(); i-- > 0;) {
    const Instruction& fft = *order[i];
    if (fft.opcode() != Opcode::kFft) continue;
    const auto reads = [&](const Instruction* at) {
      const std::vector<LoopKey> keys = ReadBy(program, *at);
      return std::ranges::find(keys, LoopKey{&fft, 0}) != keys.end();
    };
    size_t next = i + 1;
    while (next < order.size() && !AreOneTransform(fft, *order[next]) && !reads(order[next])) ++next;
    if (next == order.size() || reads(order[next])) continue;
    std::rotate(order.begin() + static_cast<ptrdiff_t>(i), order.begin() + static_cast<ptrdiff_t>(i) + 1,
                order.begin() + static_cast<ptrdiff_t>(next));
  }
}

}  // namespace

bool AreOneTransform(const Instruction& a, const Instruction& b) {
  if (a.opcode() != Opcode::kFft || b.opcode() != Opcode::kFft) return false;
  const auto &x = a.attributes<FftAttributes>(), &y = b.attributes<FftAttributes>();
  return x.fft_type == y.fft_type && x.fft_length == y.fft_length && a.shape() == b.shape() &&
         a.operand(0)->shape() == b.operand(0)->shape();
}

LoopOrder OrderOf(const LoopProgram& program, const Computation& computation) {
  LoopOrder uses;
  std::set<const Instruction*> needed;
  std::vector<const Instruction*> pending{computation.root()};
  while (!pending.empty()) {
    const Instruction* at = pending.back();
    pending.pop_back();
    if (!needed.insert(at).second) continue;
    pending.insert(pending.end(), at->operands().begin(), at->operands().end());
  }
  for (const auto& owned : computation.instructions()) {
    if (needed.contains(owned.get()) && IsLoopValueMade(*owned)) uses.order.push_back(owned.get());
  }
  BringUpdatesForward(program, uses.order);
  BringTransformsTogether(program, uses.order);
  for (size_t position = 0; position < uses.order.size(); ++position) {
    for (const LoopKey& key : ReadBy(program, *uses.order[position])) uses.last[key] = static_cast<int>(position);
  }
  for (int leaf = 0; leaf < LeafCount(computation.root()->shape()); ++leaf)
    uses.last[KeyOf(program.OriginOf(*computation.root(), leaf))] = kAtRoot;
  return uses;
}

}  // namespace VXLA_NAMESPACE::vulkan
