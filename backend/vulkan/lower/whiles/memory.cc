#include "backend/vulkan/lower/whiles/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What is small enough to be packed where a loop has more arrays than a device binds: packing goes through it twice.
constexpr int64_t kMostPacked = int64_t{1} << 14;
// Of arrays in one buffer: the most that a device may want of what it binds.
constexpr int64_t kScratchAlignment = 256;

int64_t Aligned(int64_t bytes) { return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment; }

}  // namespace

LoopMemory::LoopMemory(const LowerContext& context, const LoopProgram& program, BufferMap& buffers)
    : context_(context), program_(program), buffers_(buffers), slices_(program.places.size()) {
  PlaceScratch();
  Pack();
}

// Arrays that only the loop knows lie in one buffer, those of a row first.
void LoopMemory::PlaceScratch() {
  scratch_first_.assign(program_.places.size(), -1);
  const auto append = [this](size_t p) {
    const LoopPlace& place = program_.places[p];
    if (place.kind != LoopPlace::Kind::kScratch || place.resident || scratch_first_[p] >= 0) return;
    scratch_first_[p] = scratch_bytes_;
    scratch_bytes_ += Aligned(place.size_bytes);
  };
  for (const std::vector<int>& row : program_.rows) {
    for (const int place : row) append(static_cast<size_t>(place));
  }
  for (size_t p = 0; p < program_.places.size(); ++p) append(p);
}

BufferSlice LoopMemory::SliceOfRow(int number) {
  const std::vector<int>& row = program_.rows.at(static_cast<size_t>(number));
  BufferSlice slice = SliceOf(row[0]);
  slice.size_bytes = Aligned(slice.size_bytes) * std::ssize(row);
  return slice;
}

// Where operands and state are in more buffers than the device binds, a step puts what is small of them into one
// before the loop, and another one the state back.
void LoopMemory::Pack() {
  if (context_.bindings != BindingMode::kDescriptors) return;
  std::vector<Packed> small;
  std::set<int> buffers;
  const auto add = [&](const Instruction& instruction, int leaf, bool state) {
    const Shape& shape = LeafShape(instruction, leaf);
    const BufferSlice slice = buffers_.SliceOf(instruction, leaf);
    buffers.insert(slice.buffer);
    if (shape.ElementCount() <= kMostPacked)
      small.push_back({slice, {}, shape.element_type(), shape.ElementCount(), state});
  };
  for (const LoopPlace& place : program_.places) {
    if (place.kind == LoopPlace::Kind::kOperand) add(*place.instruction, place.leaf, false);
  }
  for (const auto& [reg, origin] : program_.loaded) add(*origin.instruction, origin.leaf, false);
  for (const LoopState& state : program_.state) add(*program_.loop, state.leaf, true);
  // The argument block, scratch, what a dispatch hands to the next one, by type.
  constexpr size_t kOthers = 8;
  if (buffers.size() + kOthers <= context_.facts.max_storage_buffers) return;
  int64_t bytes = 0;
  for (Packed& part : small) {
    if (!packed_at_.emplace(KeyOf(part.outside), packed_.size()).second) continue;
    part.inside.offset_bytes = bytes;
    part.inside.size_bytes = part.outside.size_bytes;
    bytes += Aligned(part.outside.size_bytes);
    packed_.push_back(part);
  }
  if (bytes == 0) return;
  const BufferSlice block = buffers_.Scratch(bytes);
  for (Packed& part : packed_) {
    part.inside.buffer = block.buffer;
    part.inside.offset_bytes += block.offset_bytes;
  }
}

BufferSlice LoopMemory::Inside(const BufferSlice& outside) const {
  const auto at = packed_at_.find(KeyOf(outside));
  return at == packed_at_.end() ? outside : packed_[at->second].inside;
}

std::vector<Step> LoopMemory::MovePacked(bool in) const {
  std::vector<const Packed*> moved;
  for (const Packed& part : packed_) {
    if (in || part.state) moved.push_back(&part);
  }
  std::vector<Step> steps;
  const size_t at_once = context_.facts.max_storage_buffers - 2;  // the argument block, and the packed
  for (size_t first = 0; first < moved.size(); first += at_once) {
    KernelBuilder kernel(context_.facts);
    kernel.InlineParams();
    std::string text;
    for (size_t i = first; i < std::min(first + at_once, moved.size()); ++i) {
      const Packed& part = *moved[i];
      const int from = kernel.AddBuffer(part.type, Access::kRead, in ? part.outside : part.inside),
                to = kernel.AddBuffer(part.type, Access::kWrite, in ? part.inside : part.outside);
      const std::string move = fmt::format("STORE({0}, {2}, i, LOAD({1}, {2}, i));", to, from, StorageTag(part.type));
      text += fmt::format("  for (uint i = (lane + {0}u) % {1}u; i < {2}u; i += {1}u) {3}\n", i % program_.lanes,
                          program_.lanes, part.count, move);
    }
    kernel.Append("void run(uint lane) {\n" + text + "}\n");
    kernel.ShareBindings();
    steps.push_back(kernel.Finish(fmt::format("{} ({} its state)", program_.loop->name(), in ? "packs" : "unpacks"),
                                  "control_flow/loop.comp", {program_.lanes, 1, 1}, 1));
  }
  return steps;
}

BufferSlice LoopMemory::SliceOf(int place) {
  std::optional<BufferSlice>& slice = slices_.at(static_cast<size_t>(place));
  if (slice) return *slice;
  const LoopPlace& at = program_.places.at(static_cast<size_t>(place));
  switch (at.kind) {
    case LoopPlace::Kind::kOperand:
      slice = Inside(buffers_.SliceOf(*at.instruction, at.leaf));
      break;
    case LoopPlace::Kind::kState:
      slice = Inside(buffers_.SliceOf(*program_.loop, at.leaf));
      break;
    case LoopPlace::Kind::kScratch:
      if (scratch_.buffer < 0) scratch_ = buffers_.Scratch(scratch_bytes_);
      slice = BufferSlice{scratch_.buffer, scratch_.offset_bytes + scratch_first_[static_cast<size_t>(place)],
                          at.size_bytes};
  }
  return *slice;
}

}  // namespace VXLA_NAMESPACE::vulkan
