#include "backend/vulkan/lower/fusions/gates.h"

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kGateLanes = 32;
constexpr int64_t kCopyGroupBytes = 16;

}  // namespace

bool CanLowerGates(const LowerContext& context) {
  // Selector, table, gates, the gates around them, and the argument block.
  return context.bindings != BindingMode::kDescriptors || context.facts.max_storage_buffers >= 5;
}

namespace {

Step LowerModeChange(const LowerContext& context, const GateRequest& request) {
  using Kind = ModeChange::Kind;
  const ModeChange& change = *request.change;
  const bool reads = change.kind == Kind::kCondition || change.kind == Kind::kBranch;
  KernelBuilder kernel(context.facts);
  kernel.AddBuffer(ElementType::kU32, Access::kRead, request.table);
  kernel.AddBuffer(ElementType::kU32, Access::kReadWrite, request.gates);
  if (reads) kernel.AddBuffer(ElementType::kU32, Access::kRead, request.selector);
  kernel.Params({{"GATE_COUNT", request.table.size_bytes / kCopyGroupBytes},
                 {"OWN_GATES", 1 + change.counters},
                 {"MODE_HERE", change.here},
                 {"MODE_FIRST", change.first},
                 {"MODE_OTHERS", change.others},
                 {"SELECTOR_BITS", request.selector_is_pred ? 0xff : 0xffffffff},
                 {"BRANCHES", request.branches},
                 {"TRIP_WORD", 4 * change.counter},
                 {"TRIPS", change.trips}});
  kernel.Append("#define LANES {}u\n#define START {}\n#define READS {}\n#define TRUTH {}\n#define COUNTS {}\n",
                kGateLanes, change.kind == Kind::kStart ? 1 : 0, reads ? 1 : 0,
                change.kind == Kind::kCondition || request.selector_is_pred ? 1 : 0,
                change.kind == Kind::kCount ? 1 : 0);
  return kernel.Finish(request.name, "control_flow/modes.comp", {kGateLanes, 1, 1}, 1);
}

}  // namespace

Result<Step> LowerGates(const LowerContext& context, const GateRequest& request) {
  if (request.change) return LowerModeChange(context, request);
  KernelBuilder kernel(context.facts);
  const bool nested = request.parent.buffer >= 0;
  kernel.AddBuffer(ElementType::kU32, Access::kRead, request.selector);
  kernel.AddBuffer(ElementType::kU32, Access::kRead, request.table);
  kernel.AddBuffer(ElementType::kU32, request.branches == 0 ? Access::kReadWrite : Access::kWrite, request.gates);
  if (nested) kernel.AddBuffer(ElementType::kU32, Access::kRead, request.parent);
  kernel.Params({{"GATE_COUNT", request.table.size_bytes / kCopyGroupBytes},
                 {"SELECTOR_BITS", request.selector_is_pred ? 0xff : 0xffffffff},  // a pred is a byte of its word
                 {"BRANCHES", request.branches},
                 {"PARENT_GATE", 4 * request.parent_gate}});
  kernel.Append("#define LANES {}u\n#define LOOP {}\n#define IS_PRED {}\n#define NESTED {}\n", kGateLanes,
                request.branches == 0 ? 1 : 0, request.selector_is_pred ? 1 : 0, nested ? 1 : 0);
  return kernel.Finish(request.name, "control_flow/gates.comp", {kGateLanes, 1, 1}, 1);
}

Result<Step> LowerCopyLoop(const LowerContext& context, std::string name, const BufferSlice& source,
                           const BufferSlice& target) {
  const int64_t count = CeilDivide(source.size_bytes, kCopyGroupBytes) * 4;
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count);
  tuning.width = 4;
  KernelBuilder kernel(context.facts);
  kernel.Param(count / tuning.width);  // P(0) of fused_loop.comp
  const int from = kernel.AddBuffer(ElementType::kU32, Access::kRead, source);
  const int to = kernel.AddBuffer(ElementType::kU32, Access::kWrite, target);
  kernel.AddVectorView(from);
  kernel.AddVectorView(to);
  kernel.Append("void element(uint i) {{\n  STORE({}, u32x4, i, LOAD({}, u32x4, i));\n}}\n", to, from);
  return FinishLoop(context, kernel, tuning, count, std::move(name));
}

}  // namespace VXLA_NAMESPACE::vulkan
