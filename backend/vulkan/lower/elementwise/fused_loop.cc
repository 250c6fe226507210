// Fused loops: elementwise operations and index maps, one element of every result per loop step.
#include "backend/vulkan/lower/elementwise/fused_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "core/limits.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/sizes/live_rows.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Kernels of so few elements and so many results cost their compilation, not their arithmetic.
constexpr int64_t kSmallLoop = 1024;
constexpr size_t kManyResults = 8;

// The bytes of an element of the narrowest and of the widest tensor that the loop goes along.
ElementBytes BytesAlong(const FusionDescription& body, std::span<const Instruction* const> values) {
  ElementBytes bytes;
  const auto note = [&](const Shape& shape) {
    if (shape.ElementCount() <= 1) return;
    bytes.least = std::min(bytes.least, StorageBytes(shape.element_type()));
    bytes.most = std::max(bytes.most, StorageBytes(shape.element_type()));
  };
  for (const Instruction* value : values) note(value->shape());
  for (const auto& [inside, operand] : body.operands) note(inside->shape());
  return bytes;
}

// Of the neighbours that a gather takes from one place.
int64_t RowBytesOf(const Instruction& gather) {
  const Shape& operand = gather.operand(0)->shape();
  const IntList& sizes = gather.attributes<GatherAttributes>().slice_sizes;
  int64_t bytes = StorageBytes(operand.element_type());
  for (int d = operand.rank(); d-- > 0;) {
    bytes *= sizes[static_cast<size_t>(d)];
    if (sizes[static_cast<size_t>(d)] != operand.dimension(d)) break;
  }
  return bytes;
}
constexpr int64_t kRowBytes = 256;  // which an access of eight lanes reads

// How a loop that computes these values goes through them.
LoopTuning TuningOf(const LowerContext& context, const FusionDescription& body,
                    std::span<const Instruction* const> values, int64_t count) {
  int64_t cost = ElementCosts(body.computed);
  if (ComputesInPairs(context, body)) cost += 1 << 10;
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count, cost);
  tuning = Widened(context.facts, tuning, BytesAlong(body, values), count, cost);
  const bool rounds = std::ranges::any_of(
      values, [](const Instruction* value) { return value->shape().element_type() == ElementType::kBF16; });
  tuning.small_subgroups = rounds && tuning.width == 8 && PairsInstructions(context.facts);
  const bool goes_to_rows = std::ranges::any_of(body.computed, [](const Instruction* i) {
    return i->opcode() == Opcode::kGather && RowBytesOf(*i) >= kRowBytes;
  });
  if (goes_to_rows && tuning.width > 1)
    tuning = TunerOf(context.facts).NeighboursInTurn(tuning, count, tuning.width * BytesAlong(body, values).most);
  // An invocation that owns whole words of a packed result stores them without atomics.
  const bool packed = std::ranges::any_of(
      values, [&](const Instruction* value) { return IsPacked(value->shape().element_type(), context.facts); });
  if (packed && tuning.width == 1 && count % 4 == 0 && cost <= 256) {
    tuning.width = 4;
    tuning.items = std::max(1u, tuning.items / 4);
  }
  return tuning;
}

}  // namespace

Status CanLowerFusion(const LowerContext&, const FusionDescription& body) {
  const int64_t count = body.roots.at(0)->shape().ElementCount();
  for (const Instruction* root : body.roots) {
    if (root->shape().ElementCount() != count) {
      return Internal("{}: the results of a loop fusion have {} and {} elements", body.instruction->name(), count,
                      root->shape().ElementCount());
    }
  }
  return OkStatus();
}

namespace {

// Neighbouring elements of the results that one kernel goes through.
struct ElementRange {
  int64_t begin = 0, count = 0;
};

// Loop variables have 31 bits. A part begins with a whole multiple of as many of the last dimensions as it can hold,
// and ends before the dimension in front of them does, so that its elements' indices are digits of the place in the
// part.
std::vector<ElementRange> PartsOf(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t count = shape.ElementCount();
  if (count <= kMaxElements) return {{0, count}};
  int64_t block = 1, line = count;
  for (int d = shape.rank(); d-- > 0;) {
    line = block * shape.dimension(d);
    if (line > kMost) break;
    block = line;
  }
  const int64_t most = kMost / block * block;
  std::vector<ElementRange> parts;
  for (int64_t begin = 0; begin < count; begin += parts.back().count) {
    parts.push_back({begin, std::min(most, line - begin % line)});
  }
  return parts;
}

// A large concatenation whose operands lie one after another is a loop for each of them: nothing chooses among operands
// then, which software drivers do by reading them all.
std::vector<ElementRange> OperandsOf(const FusionDescription& body) {
  constexpr int64_t kLeast = 1 << 17;
  constexpr int kMostOperands = 16;
  const Instruction& root = *body.roots[0];
  if (body.roots.size() > 1 || root.opcode() != Opcode::kConcatenate || root.operand_count() > kMostOperands) return {};
  for (int64_t d = 0; d < root.dimensions()[0]; ++d) {
    if (root.shape().dimension(static_cast<int>(d)) != 1) return {};
  }
  std::vector<ElementRange> ranges;
  for (const Instruction* operand : root.operands()) {
    const int64_t count = operand->shape().ElementCount();
    if (count < kLeast) return {};
    ranges.push_back({ranges.empty() ? 0 : ranges.back().begin + ranges.back().count, count});
  }
  return ranges;
}

// Whether the ranges can be bound one by one, so that the plan sees that they do not touch each other.
bool LieApart(std::span<const ElementRange> ranges, ElementType type) {
  const bool whole_bytes = type == ElementType::kPred || BitWidth(type) >= 8;
  return whole_bytes && std::ranges::all_of(ranges, [&](const ElementRange& range) {
           return range.begin * StorageBytes(type) % kBlockAlignment == 0;
         });
}

BufferSlice PartOf(const BufferSlice& whole, const ElementRange& range, const FusionDescription& body) {
  const Shape& shape = body.roots[0]->shape();
  const int64_t bytes = StorageBytes(shape.element_type()), begin = range.begin * bytes;
  const bool last = range.begin + range.count == shape.ElementCount();
  return {whole.buffer, whole.offset_bytes + begin, last ? whole.size_bytes - begin : range.count * bytes};
}

// The groups of `width` elements of results that live; no size: all of them. Behind the first dimension a group must
// not go over the end of a row.
LiveCount LiveGroupsOf(std::span<const Instruction* const> results, int64_t width) {
  const Shape& shape = results[0]->shape();
  int64_t times = 1;
  for (int d = 0; d < shape.rank(); times *= shape.dimension(d++)) {
    const Instruction* const size = LiveRowsOf(results, d);
    if (size == nullptr) continue;
    const int64_t rows = shape.dimension(d), stride = shape.ElementCount() / times / rows;
    if (d > 0 && stride * rows % width != 0) return {};
    return {.size = size, .rows = rows, .stride = stride, .width = width, .times = times};
  }
  return {};
}

// The groups of a part of the results in the order in which the loop goes through them.
IndexExpression GroupsOf(IndexSpace& space, const IndexExpression& group, const LowerContext& context,
                         const FusionDescription& body, const ElementRange& part, int64_t width) {
  const int64_t row = AcrossRowOf(body);
  if (row == 0 || row % width != 0 || part.begin % row != 0 || part.count % row != 0) return group;
  const int64_t groups = row / width, strip = TunerOf(context.facts).StripOfGroups(part.count, row, width);
  if (strip == 0) return group;
  const std::array<int64_t, 3> order = {groups / strip, part.count / row, strip};
  const MultiIndex at = space.Delinearize(group, order);
  return space.Add(space.Scale(at[1], groups), space.Add(space.Scale(at[0], strip), at[2]));
}

// stored_at: where the part's first element lies in `places`.
std::vector<Step> LowerPart(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                            std::span<const Instruction* const> results, std::span<const BufferSlice> places,
                            const ElementRange& part, int64_t stored_at) {
  const int64_t count = part.count;
  const LoopTuning tuning = TuningOf(context, body, results, count);
  const int64_t width = tuning.width;
  LoopKernel loop(context, body, buffers, count, tuning);
  KernelBuilder& kernel = loop.kernel();
  ValueWriter& writer = loop.writer();
  IndexSpace& space = loop.space();
  // Thousands of small results in kernels like this one: few texts, or compiling them takes longer than all else.
  if (count <= kSmallLoop && results.size() >= kManyResults) kernel.ConstantsAsParams();

  // Every value is computed before any is stored: a result may lie where an operand lay.
  const LiveCount live = LiveGroupsOf(results, width);
  const IndexExpression group =
      live.size != nullptr ? loop.group() : GroupsOf(space, loop.group(), context, body, part, width);
  const IndexExpression groups = space.Scale(group, width);
  const IndexExpression first = space.Add(groups, {{}, part.begin}), stored = space.Add(groups, {{}, stored_at});
  const auto values = writer.Values(results, first, width);
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    const int k = kernel.AddBuffer(results[leaf]->shape().element_type(), Access::kWrite, places[leaf]);
    writer.StoreGroup(k, stored, values[leaf]);
  }
  if (live.size == nullptr || count != results[0]->shape().ElementCount()) return {loop.Finish(StepName(body))};
  loop.StopBehind(live);
  return WithLiveGroups(context, body, buffers, live, loop.Finish(StepName(body)),
                        int64_t{tuning.workgroup_size} * tuning.items, 1);
}

}  // namespace

Step LowerLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
               std::span<const Instruction* const> results, std::span<const BufferSlice> places) {
  Step step = LowerPart(context, body, buffers, results, places, {0, results[0]->shape().ElementCount()}, 0).back();
  step.groups_at = {};
  return step;
}

LoopKernel::LoopKernel(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, int64_t count,
                       const LoopTuning& tuning)
    : context_(context),
      body_(body),
      buffers_(buffers),
      count_(count),
      tuning_(tuning),
      kernel_(context.facts),
      loop_(space_.AddVariable(count / tuning.width)),
      writer_(kernel_, body, buffers, space_) {
  kernel_.Param(count / tuning.width);  // P(0) of fused_loop.comp
  writer_.Bind(loop_, "i");
  if (tuning.width > 1) writer_.Vectorize(loop_, static_cast<int>(tuning.width));
  const bool sums = std::ranges::any_of(body.computed, [](const Instruction* i) {
    return i->opcode() == Opcode::kConvolution || !i->called().empty();  // of a window
  });
  const bool computes = sums || std::ranges::any_of(body.computed, [](const Instruction* i) {
                          const bool moves = i->opcode() == Opcode::kSelect || i->opcode() == Opcode::kCopy ||
                                             i->opcode() == Opcode::kNegate;
                          return IsElementwise(i->opcode()) && !moves && IsFloating(i->shape().element_type());
                        });
  if (!computes) writer_.OnlyMoves();
  if (!sums) writer_.HideLoads();
}

const Instruction* LiveRowsOf(std::span<const Instruction* const> results, int64_t d) {
  const Instruction* const size = LiveRowsOf(*results[0], d);
  const auto alike = [&](const Instruction* result) {
    return LiveRowsOf(*result, d) == size && (d == 0 ? result->shape().dimension(0) == results[0]->shape().dimension(0)
                                                     : SameDimensions(result->shape(), results[0]->shape()));
  };
  return size != nullptr && std::ranges::all_of(results, alike) ? size : nullptr;
}

void AppendLiveCount(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, const LiveCount& count,
                     const std::string& name) {
  IndexSpace space;
  ValueWriter writer(kernel, body, buffers, space);
  const std::string size = writer.Value(*count.size, {});
  writer.Line("return (uint(clamp({}, 0, {})) * {}u + {}u) / {}u;", size, count.rows, count.stride, count.width - 1,
              count.width);
  kernel.Define(fmt::format("uint {}_once()", name), writer.Take());
  kernel.Append("uint {0}() {{\n  return {1}u * {0}_once() + {2}u;\n}}\n", name, count.times, count.more);
  if (count.times == 1) return;
  const int64_t all = count.rows * count.stride / count.width;
  kernel.Append("uint {0}_place(uint i) {{\n  return i / {0}_once() * {1}u + i % {0}_once();\n}}\n", name, all);
}

std::vector<Step> WithLiveGroups(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                 const LiveCount& count, Step step, int64_t per_group, int64_t times) {
  // A workgroup that finds nothing to do costs a GPU next to nothing.
  const int64_t most = context.facts.costs.subgroups_in_turn ? 4 : 4096;
  if (int64_t{step.groups[0]} * step.groups[1] <= most) return {std::move(step)};
  // Like a gate that is open (control_flow/gates.comp), whose place it may take: scheduler/plan/predication.h.
  const BufferSlice gate = buffers.Scratch(16);
  step.groups_at = {gate.buffer, gate.offset_bytes + 4, 12};
  KernelBuilder kernel(context.facts);
  kernel.Param(1);  // P(0) of fused_loop.comp
  const int k = kernel.AddBuffer(ElementType::kU32, Access::kWrite, gate);
  AppendLiveCount(kernel, body, buffers, count, "live_count");
  const std::string along = fmt::format("min(groups, {}u)", step.groups[0]);
  const std::string lines = fmt::format("(groups + {}u) / {}u", step.groups[0] - 1, step.groups[0]);
  kernel.Append("void element(uint i) {{\n  uint groups = (live_count() + {}u) / {}u * {}u;\n", per_group - 1,
                per_group, times);
  const std::array<std::string, 4> words{"1u", along, lines, "1u"};
  for (size_t w = 0; w < words.size(); ++w)
    kernel.Append("  " + kernel.Store(k, fmt::format("{}u", w), words[w]) + "\n");
  kernel.Append("}\n");
  Step counts = FinishLoop(context, kernel, TuneLoop(context.facts, context.bindings, 1), 1, step.name + " groups");
  return {std::move(counts), std::move(step)};
}

void LoopKernel::StopBehind(const LiveCount& live) {
  AppendLiveCount(kernel_, body_, buffers_, live, "live_count");
  kernel_.Append("#define LIVE_END live_count()\n");
  apart_ = live.times > 1;
}

Step LoopKernel::Finish(std::string name) {
  kernel_.Define("void element(uint i)", Code(apart_ ? "  i = live_count_place(i);\n" : "") + writer_.Take());
  return FinishLoop(context_, kernel_, tuning_, count_, std::move(name));
}

Step FinishLoop(const LowerContext& context, KernelBuilder& kernel, const LoopTuning& tuning, int64_t count,
                std::string name) {
  const int64_t chunk = int64_t{tuning.workgroup_size} * tuning.items;
  const int64_t groups = CeilDivide(count / tuning.width, chunk);
  // The driver then unrolls the loop, which the split addresses of access.glsl do not survive.
  const bool in_turn = context.facts.costs.subgroups_in_turn;
  const bool unrolls = in_turn ? context.bindings == BindingMode::kDescriptors && tuning.items > 1 : tuning.width > 1;
  const bool whole = unrolls && !HasSurplusGroups(context.facts, groups) && groups * chunk * tuning.width == count;
  if (tuning.neighbours_in_turn) kernel.Append("#define IN_RUNS 1\n");
  Step step = kernel.Finish(std::move(name), "elementwise/fused_loop.comp", {tuning.workgroup_size, 1, 1, tuning.items},
                            groups);
  step.kernel.small_subgroups = tuning.small_subgroups;
  step.kernel.whole_items = whole ? tuning.items : 0;
  step.kernel.one_item = !whole && !in_turn && tuning.items == 1;
  return step;
}

Result<std::vector<Step>> LowerFusion(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  std::vector<BufferSlice> places;
  for (size_t leaf = 0; leaf < body.roots.size(); ++leaf) {
    places.push_back(buffers.SliceOf(*body.instruction, static_cast<int>(leaf)));
  }
  std::vector<Step> steps;
  const std::optional<Turn> turn = TurnOf(context, body);
  std::vector<ElementRange> parts = PartsOf(body.roots[0]->shape());
  const std::vector<ElementRange> operands = parts.size() > 1 || turn ? std::vector<ElementRange>() : OperandsOf(body);
  if (!operands.empty()) parts = operands;
  const bool apart = !operands.empty() && LieApart(operands, body.roots[0]->shape().element_type());
  for (const ElementRange& part : parts) {
    const std::vector<BufferSlice> own = apart ? std::vector{PartOf(places[0], part, body)} : places;
    std::vector<Step> made;
    if (turn) {
      made.push_back(LowerTurnedLoop(context, body, buffers, *turn));
    } else {
      made = LowerPart(context, body, buffers, body.roots, own, part, apart ? 0 : part.begin);
    }
    Step& step = made.back();
    for (const Instruction* instruction : body.computed) {
      step.flop += IsElementwise(instruction->opcode()) ? part.count : 0;
    }
    step.in_place = PlacesOf(body, buffers);
    std::ranges::move(made, std::back_inserter(steps));
  }
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
