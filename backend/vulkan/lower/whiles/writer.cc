#include "backend/vulkan/lower/whiles/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "backend/vulkan/lower/whiles/units/rows.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What a dispatch may do before a desktop's watchdog thinks that the device hangs (about two seconds): a quarter of it
// on one thread of a software driver.
constexpr int64_t kMostOfADispatch = int64_t{1} << 29;

bool ComputesElements(const LoopNode& node) {
  return node.kind == LoopNode::Kind::kCopy ||
         (node.kind == LoopNode::Kind::kUnit && std::ranges::any_of(node.uses, &LoopUse::writes));
}

}  // namespace

LoopWriter::LoopWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers, LoopMemory& memory)
    : context_(context),
      program_(program),
      buffers_(buffers),
      kernel_(context.facts),
      memory_(memory),
      phases_(context, program, buffers, memory, kernel_) {
  kernel_.InlineParams();
  // A workgroup that is one subgroup need not stop for others.
  const DeviceFacts& facts = context_.facts;
  const bool one_subgroup =
      facts.costs.dear_barriers && facts.subgroup_shuffle && program_.lanes == facts.subgroup_size;
  kernel_.Append(fmt::format("#define {} {}\n", kBarrier,
                             one_subgroup ? "subgroupBarrier();" : "memoryBarrierBuffer(); barrier();"));
}

void LoopWriter::Registers(bool resumes) {
  for (size_t r = 0; r < program_.registers.size(); ++r) {
    const LoopRegister& reg = program_.registers[r];
    Line(fmt::format("{} {} = {};", CarrierType(reg.type), NameOfRegister(static_cast<int>(r)), ZeroText(reg.type)));
    if (reg.constant != nullptr) LoadConstant(static_cast<int>(r), *reg.constant);
  }
  for (const auto& [reg, origin] : program_.loaded)
    LoadRegister(reg, buffers_.SliceOf(*origin.instruction, origin.leaf));
  Origins origins;
  for (const LoopState& state : program_.state) {
    if (state.value.reg < 0) continue;
    const LeafOrigin initial = origins.Of(*program_.loop->operand(0), state.leaf);
    if (resumes) {
      LoadRegister(state.value.reg, buffers_.SliceOf(*program_.loop, state.leaf));
    } else if (initial.instruction->opcode() == Opcode::kConstant) {
      LoadConstant(state.value.reg, *initial.instruction);
    } else {
      LoadRegister(state.value.reg, buffers_.SliceOf(*initial.instruction, initial.leaf));
    }
  }
}

void LoopWriter::LoadConstant(int reg, const Instruction& constant) {
  FusionDescription nothing;
  IndexSpace space;
  ValueWriter writer(kernel_, nothing, buffers_, space);
  const std::string value = writer.Value(constant, MultiIndex(static_cast<size_t>(constant.shape().rank())));
  writer.Line(fmt::format("{} = {};", NameOfRegister(reg), value));
  Block(writer.Take());
}

void LoopWriter::LoadRegister(int reg, const BufferSlice& slice) {
  const int k =
      kernel_.AddBuffer(program_.registers[static_cast<size_t>(reg)].type, Access::kRead, memory_.Inside(slice));
  Assign(NameOfRegister(reg), kernel_.Loaded(k, "0u"));
}

void LoopWriter::Block(Code statements) {
  Line("{");
  Add(std::move(statements));
  Line("}");
}

void LoopWriter::OpenOwn(const LoopPlace& place) {
  const std::string owns = OwnsElement(place.count, program_.lanes, program_.share.groups);
  OpenBlock(owns.empty() ? "" : fmt::format("if ({})", owns));
}

void LoopWriter::DeclareResident(int place) {
  const ElementType type = program_.places[static_cast<size_t>(place)].type;
  Line(fmt::format("{} {} = {};", CarrierType(type), NameOfElement(place), ZeroText(type)));
}

void LoopWriter::LoadResident(int place, const BufferSlice& from) {
  const LoopPlace& at = program_.places[static_cast<size_t>(place)];
  const int k = kernel_.AddBuffer(at.type, Access::kRead, from);
  OpenOwn(at);
  Assign(NameOfElement(place), kernel_.Loaded(k, OwnBase(at.count, program_.share.groups) + "lane"));
  CloseBlock();
}

void LoopWriter::StoreResident(int place, const BufferSlice& to) {
  const LoopPlace& at = program_.places[static_cast<size_t>(place)];
  const int k = kernel_.AddBuffer(at.type, Access::kWrite, to);
  OpenOwn(at);
  Add(kernel_.Storing(k, OwnBase(at.count, program_.share.groups) + "lane", NameOfElement(place)));
  CloseBlock();
}

int64_t LoopWriter::MostTrips(int64_t cost, int64_t iterations) const {
  const int64_t limit = context_.facts.quirks.loop_iteration_limit;
  const int64_t turns = CeilDivide(program_.share.parts(), GroupsAtOnce(context_.facts));
  int64_t most = std::max<int64_t>(kMostOfADispatch / turns / std::max<int64_t>(cost, 1), 1);
  // Lavapipe counts up to a tenth more of a sort's than its text has; a dispatch more costs little where that many
  // are.
  if (limit != 0) most = std::min(most, (limit - limit / 4) / std::max<int64_t>(iterations + 1, 1));
  return std::min<int64_t>(most, int64_t{1} << 30);
}

int64_t LoopWriter::ShareOf(int64_t cost, int64_t iterations) const {
  const int64_t most = std::max<int64_t>(MostTrips(cost, iterations), 1);
  return CeilDivide(kShare, most);
}

// At most: accumulators take up to 16 bytes a lane.
Status LoopWriter::CheckSharedMemory() const {
  const int64_t shared_bytes = phases_.shared_arrays() * program_.lanes * 16;
  if (shared_bytes <= context_.facts.max_shared_bytes) return OkStatus();
  return Unsupported("{}: {} bytes of shared memory, and the device has {}", program_.loop->name(), shared_bytes,
                     context_.facts.max_shared_bytes);
}

bool LoopWriter::BindsTooMany() const {
  return context_.bindings == BindingMode::kDescriptors &&
         1 + kernel_.binding_count() > static_cast<int>(context_.facts.max_storage_buffers);
}

// What stands before the place where a dispatch goes on (`at`) has been done by the one before.
void LoopWriter::WriteBlock(const LoopBlock& block) {
  const bool resumes = std::ranges::any_of(block, [](const LoopNode& node) { return node.last_stop > 0; });
  bool open = false;
  const auto close = [&] {
    if (!open) return;
    CloseBlock();
    open = false;
  };
  for (const LoopNode& node : block) {
    if (node.last_stop > 0) close();
    if (resumes && !open) {
      OpenBlock(node.last_stop == 0
                    ? "if (at == 0u)"
                    : fmt::format("if (at == 0u || (at >= {}u && at <= {}u))", node.first_stop, node.last_stop));
      open = true;
    }
    WriteNode(node);
    if (node.last_stop > 0) close();
  }
  close();
}

void LoopWriter::WriteNode(const LoopNode& node) {
  if (registers_only_ && ComputesElements(node)) return;
  if (node.waits) Barrier(program_.share.meets);
  WriteStatements(node);
}
void LoopWriter::WriteStatements(const LoopNode& node) {
  switch (node.kind) {
    case LoopNode::Kind::kUnit:
      return Block(phases_.Unit(node));
    case LoopNode::Kind::kCopy:
      return Block(phases_.Copy(node));
    case LoopNode::Kind::kAssign:
      return WriteAssignment(node);
    case LoopNode::Kind::kWhile:
      return WriteInnerLoop(node);
    case LoopNode::Kind::kConditional:
      return WriteConditional(node);
  }
}

void LoopWriter::WriteLoopByShare(const LoopNode& node, int64_t share) {
  const int number = node.trip_count < 0 && &node != &program_.root ? node.first_stop : 0;
  const bool has_inner = node.last_stop > number;
  OpenBlock("for (;;)");
  if (has_inner) Line(number == 0 ? "if (at == 0u) {" : fmt::format("if (at == 0u || at == {}u) {{", number));
  if (number > 0) Line("at = 0u;");
  WriteBlock(node.blocks[0]);
  Line(fmt::format("if (!{}) break;", NameOfRegister(node.decides)));
  Line(fmt::format("if (left < {}u) {{ at = {}u; break; }}", share, number));
  Line(fmt::format("left -= {}u;", share));
  if (has_inner) Line("}");
  WriteBlock(node.blocks[1]);
  if (has_inner) Line("if (at != 0u) break;");
  CloseBlock();
}

void LoopWriter::WriteInnerLoop(const LoopNode& node) {
  if (node.trip_count == 0) return;
  if (node.trip_count < 0) return WriteLoopByShare(node, ShareOf(node.trip_cost, node.trip_iterations));
  if (node.counter >= 0) {
    const std::string trips = NameOfRegister(node.counter);
    Line(fmt::format("if (at == 0u) {} = 0u;", trips));
    OpenBlock(fmt::format("for (; {0} < {1}u; ++{0})", trips, node.trip_count));
    WriteBlock(node.blocks[1]);
    Line("if (at != 0u) break;");
    CloseBlock();
    return;
  }
  const std::string trip = fmt::format("trip_{}", next_name_++);
  OpenBlock(fmt::format("for (uint {0} = 0u; {0} < {1}u; ++{0})", trip, node.trip_count));
  WriteBlock(node.blocks[1]);
  CloseBlock();
}

// A pred that holds takes the first branch, an index out of range the last.
void LoopWriter::WriteConditional(const LoopNode& node) {
  const bool is_pred = program_.registers[static_cast<size_t>(node.decides)].type == ElementType::kPred;
  const std::string which = fmt::format("which_{}", next_name_++);
  Line(fmt::format("uint {} = {};", which,
                   is_pred ? fmt::format("{} ? 0u : 1u", NameOfRegister(node.decides))
                           : fmt::format("min(uint({}), {}u)", NameOfRegister(node.decides), node.blocks.size() - 1)));
  WriteBranches(node, which, 0, node.blocks.size());
}
// Halves of halves: drivers keep few levels (beyond 80 lavapipe takes all branches).
void LoopWriter::WriteBranches(const LoopNode& node, const std::string& which, size_t first, size_t count) {
  if (count == 1) return WriteBlock(node.blocks[first]);
  const size_t half = count / 2;
  OpenBlock(fmt::format("if ({} < {}u)", which, first + half));
  WriteBranches(node, which, first, half);
  --depth_;
  OpenBlock("} else");
  WriteBranches(node, which, first + half, count - half);
  CloseBlock();
}

void LoopWriter::WriteAssignment(const LoopNode& node) {
  std::vector<std::string> names;
  Line("{");
  ++depth_;
  for (const auto& [reg, value] : node.assigned) {
    const ElementType type = program_.registers[static_cast<size_t>(reg)].type;
    names.push_back(fmt::format("n{}", names.size()));
    Declare(CarrierType(type), names.back(),
            value.reg >= 0
                ? NameOfRegister(value.reg)
                : kernel_.Loaded(kernel_.AddBuffer(type, Access::kRead, memory_.SliceOf(value.place)), "0u"));
  }
  for (size_t i = 0; i < names.size(); ++i) Assign(NameOfRegister(node.assigned[i].first), names[i]);
  CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
