#include "backend/vulkan/lower/whiles/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What a dispatch may do before a desktop's watchdog thinks that the device hangs (about two seconds): a quarter of it
// on one thread of a software driver.
constexpr int64_t kMostOfADispatch = int64_t{1} << 29;

bool ComputesElements(const LoopNode& node) {
  const auto* const unit = node.As<LoopUnitNode>();
  return node.As<LoopCopy>() != nullptr || (unit != nullptr && std::ranges::any_of(unit->uses, &LoopUse::writes));
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
      facts.costs.subgroups_in_turn && facts.subgroup_shuffle && program_.lanes == facts.subgroup_size;
  kernel_.Append("#define {} {}\n", kBarrier,
                 one_subgroup ? "subgroupBarrier();" : "memoryBarrierBuffer(); barrier();");
}

void LoopWriter::Registers(bool resumes) {
  for (size_t r = 0; r < program_.registers.size(); ++r) {
    const LoopRegister& reg = program_.registers[r];
    Line("{} {} = {};", CarrierType(reg.type), NameOfRegister(static_cast<int>(r)), ZeroText(reg.type));
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
  writer.Line("{} = {};", NameOfRegister(reg), value);
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
  Line("{} {} = {};", CarrierType(type), NameOfElement(place), ZeroText(type));
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

Step LoopWriter::FinishKernel(std::string_view does, uint32_t lanes, int64_t groups) {
  if (kernel_.shuffles()) kernel_.Append("#define BY_SUBGROUP 1\n");
  kernel_.Define("void run(uint lane)", Take());
  if (BindsTooMany()) kernel_.ShareBindings();
  return kernel_.Finish(fmt::format("{} ({})", program_.loop->name(), does),
                        program_.share.cooperative ? "control_flow/grid_loop.comp" : "control_flow/loop.comp",
                        {lanes, 1, 1}, groups);
}

// What stands before the place where a dispatch goes on (`at`) has been done by the one before.
void LoopWriter::WriteBlock(const LoopBlock& block) {
  const auto stops = [](const LoopNode& node) {
    const LoopControl* const control = node.control();
    return control != nullptr && control->stops() ? control : nullptr;
  };
  const bool resumes = std::ranges::any_of(block, stops);
  bool open = false;
  const auto close = [&] {
    if (!open) return;
    CloseBlock();
    open = false;
  };
  for (const LoopNode& node : block) {
    const LoopControl* const stop = stops(node);
    if (stop != nullptr) close();
    if (resumes && !open) {
      OpenBlock(stop == nullptr
                    ? "if (at == 0u)"
                    : fmt::format("if (at == 0u || (at >= {}u && at <= {}u))", stop->first_stop, stop->last_stop));
      open = true;
    }
    WriteNode(node);
    if (stop != nullptr) close();
  }
  close();
}

void LoopWriter::WriteNode(const LoopNode& node) {
  if (registers_only_ && ComputesElements(node)) return;
  if (const LoopAccesses* phase = node.accesses(); phase != nullptr && phase->waits)
    Barrier(program_.share.cooperative);
  WriteStatements(node);
}
void LoopWriter::WriteStatements(const LoopNode& node) {
  std::visit([this](const auto& is) { Write(is); }, node.is);
}

void LoopWriter::WriteLoopByShare(const LoopWhile& loop, int64_t share) {
  const int number = loop.trip_count < 0 && &loop != &program_.root ? loop.first_stop : 0;
  const bool has_inner = loop.last_stop > number;
  OpenBlock("for (;;)");
  if (has_inner) Line(number == 0 ? "if (at == 0u) {" : fmt::format("if (at == 0u || at == {}u) {{", number));
  if (number > 0) Line("at = 0u;");
  WriteBlock(loop.condition());
  Line("if (!{}) break;", NameOfRegister(loop.decides));
  Line("if (left < {}u) {{ at = {}u; break; }}", share, number);
  Line("left -= {}u;", share);
  if (has_inner) Line("}");
  WriteBlock(loop.body());
  if (has_inner) Line("if (at != 0u) break;");
  CloseBlock();
}

void LoopWriter::Write(const LoopWhile& loop) {
  if (loop.trip_count == 0) return;
  if (loop.trip_count < 0) return WriteLoopByShare(loop, ShareOf(loop.trip_cost, loop.trip_iterations));
  if (loop.counter >= 0) {
    const std::string trips = NameOfRegister(loop.counter);
    Line("if (at == 0u) {} = 0u;", trips);
    OpenBlock("for (; {0} < {1}u; ++{0})", trips, loop.trip_count);
    WriteBlock(loop.body());
    Line("if (at != 0u) break;");
    CloseBlock();
    return;
  }
  const std::string trip = fmt::format("trip_{}", next_name_++);
  OpenBlock("for (uint {0} = 0u; {0} < {1}u; ++{0})", trip, loop.trip_count);
  WriteBlock(loop.body());
  CloseBlock();
}

// A pred that holds takes the first branch, an index out of range the last.
void LoopWriter::Write(const LoopConditional& conditional) {
  const std::string decides = NameOfRegister(conditional.decides);
  const bool is_pred = program_.registers[static_cast<size_t>(conditional.decides)].type == ElementType::kPred;
  const size_t branches = conditional.blocks.size();
  const std::string which = fmt::format("which_{}", next_name_++);
  Line("uint {} = {};", which,
       is_pred ? fmt::format("{} ? 0u : 1u", decides) : fmt::format("min(uint({}), {}u)", decides, branches - 1));
  WriteBranches(conditional, which, 0, branches);
}
// Halves of halves: drivers keep few levels (beyond 80 lavapipe takes all branches).
void LoopWriter::WriteBranches(const LoopConditional& conditional, const std::string& which, size_t first,
                               size_t count) {
  if (count == 1) return WriteBlock(conditional.blocks[first]);
  const size_t half = count / 2;
  OpenBlock("if ({} < {}u)", which, first + half);
  WriteBranches(conditional, which, first, half);
  --depth_;
  OpenBlock("} else");
  WriteBranches(conditional, which, first + half, count - half);
  CloseBlock();
}

void LoopWriter::Write(const LoopAssignment& assignment) {
  std::vector<std::string> names;
  Line("{");
  ++depth_;
  for (const auto& [reg, value] : assignment.assigned) {
    const ElementType type = program_.registers[static_cast<size_t>(reg)].type;
    names.push_back(fmt::format("n{}", names.size()));
    Declare(CarrierType(type), names.back(),
            value.reg >= 0
                ? NameOfRegister(value.reg)
                : kernel_.Loaded(kernel_.AddBuffer(type, Access::kRead, memory_.SliceOf(value.place)), "0u"));
  }
  for (size_t i = 0; i < names.size(); ++i) Assign(NameOfRegister(assignment.assigned[i].first), names[i]);
  CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
