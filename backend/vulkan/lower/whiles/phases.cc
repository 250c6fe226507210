#include "backend/vulkan/lower/whiles/phases.h"

#include "backend/vulkan/lower/whiles/units/dot.h"
#include "backend/vulkan/lower/whiles/units/rows.h"
#include "backend/vulkan/lower/whiles/units/scatter.h"
#include "backend/vulkan/lower/whiles/units/units.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Of a workgroup whose pipeline asks for full ones: Intel's devices stop there, others have fewer in 512 lanes.
constexpr uint32_t kMostSubgroups = 64;

// What lanes of a workgroup do together, whatever other ones do meanwhile.
Code OfOneGroup(Code unit, const LoopShare& share) {
  if (!share.cooperative) return unit;
  return Code("if (grid_group == 0u) {\n") + std::move(unit) + Code("}\n");
}

void WriteScalars(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  for (size_t leaf = 0; leaf < body.roots.size(); ++leaf) {
    const Instruction& root = *body.roots[leaf];
    writer.Line("{} = {};", NameOfRegister(unit.results[leaf].reg),
                writer.Value(root, MultiIndex(static_cast<size_t>(root.shape().rank()))));
  }
}

void WriteNoted(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  for (size_t i = 0; i < body.heroes.size(); ++i) {
    const Instruction& hero = *body.heroes[i];
    const bool all = SingleOperation(*hero.called(0)) == Opcode::kAnd;
    const std::string noted = fmt::format("({} & bit) {} 0u", NameOfNote(unit.number + static_cast<int>(i)),
                                          all ? "==" : "!="),
                      initial = writer.Value(*hero.operand(1), {});
    writer.Override(hero, MultiIndex(static_cast<size_t>(hero.shape().rank())),
                    writer.Assignable(ElementType::kPred, fmt::format("{} {} {}", initial, all ? "&&" : "||", noted)));
  }
  WriteScalars(body, unit, writer);
}

Code WriteRows(const FusionDescription& body, const LoopRowsShape& shape, BufferMap& buffers, const LoopUnit& text) {
  Code code;
  const auto rows = [&](const RowProgram& program) { code = WriteLoopRows(program, shape, text); };
  switch (body.hero->opcode()) {
    case Opcode::kReduceWindow:
      WithWindowProgram(body, buffers, rows);
      break;
    case Opcode::kConvolution:
      rows(ProductProgram(*ReadConvolution(body), buffers, {}));
      break;
    case Opcode::kDot: {
      const auto reader = ReadDot(body);
      if (shape.tile) return WriteLoopDot(*reader, buffers, *shape.tile, text);
      rows(ProductProgram(*reader, buffers, {}));
      break;
    }
    default:
      WithReduceProgram(body, buffers, rows);
  }
  return code;
}

}  // namespace

// Where values lie in memory so does what a shuffle needs.
uint32_t LoopPhaseWriter::SubgroupThatShuffles() const {
  const DeviceFacts& facts = context_.facts;
  const bool whole = program_.lanes % facts.subgroup_size == 0;
  return facts.subgroup_shuffle && !facts.costs.subgroups_in_turn && whole &&
                 program_.lanes <= kMostSubgroups * facts.subgroup_size
             ? facts.subgroup_size
             : 0;
}

// Writes what `write` makes of the elements first + 0, 1 ... width - 1 of `count`.
void LoopPhaseWriter::EachElement(ValueWriter& writer, int64_t count, int64_t width,
                                  const std::function<void(const IndexExpression& first)>& write) const {
  IndexSpace& space = writer.space();
  const int64_t groups = count / width;
  const int loop = writer.NewVariable("i", groups, width);
  OpenElements(writer, "i", groups, program_.lanes, program_.share);
  write(space.Scale(space.Variable(loop), width));
  writer.CloseBlock();
}

// The lane's own elements of a place.
void LoopPhaseWriter::StoreOwn(ValueWriter& writer, int place, ElementType type, const IndexExpression& first,
                               const std::vector<std::string>& values) {
  if (!IsResident(place))
    return writer.StoreGroup(kernel_.AddBuffer(type, Access::kWrite, memory_.SliceOf(place)), first, values);
  writer.Line("{} = {};", NameOfElement(place), values.at(0));
  if (const auto& after = after_store_[place]) after(writer, first, values);
}

Code LoopPhaseWriter::Copy(const LoopCopy& copy) {
  FusionDescription nothing;
  IndexSpace space;
  ValueWriter writer(kernel_, nothing, buffers_, space);
  const int64_t width = program_.WidthOf(copy.count, true);
  EachElement(writer, copy.count, width, [&](const IndexExpression& first) {
    std::vector<std::string> values;
    if (IsResident(copy.from)) values = {NameOfElement(copy.from)};
    const int from = values.empty() ? kernel_.AddBuffer(copy.type, Access::kRead, memory_.SliceOf(copy.from)) : -1;
    for (int64_t j = 0; j < width && from >= 0; ++j) values.push_back(writer.Load(from, space.Add(first, {{}, j})));
    StoreOwn(writer, copy.to, copy.type, first, values);
  });
  return writer.Take();
}

// Updates take what the unit makes as it is stored. What else they read the unit reads.
Code LoopPhaseWriter::Unit(const LoopUnitNode& unit) {
  std::vector<Update> updates = UpdatesOf(unit);
  if (updates.empty()) return WriteUnit(unit, *unit.body);
  FusionDescription body = *unit.body;
  for (const Update& update : updates) {
    for (const auto& [inside, operand] : update.update->body->operands) {
      if (program_.OriginOf(*operand, 0).instruction != &unit.instruction()) body.operands.emplace(inside, operand);
    }
  }
  const auto set = [&](int leaf, const KernelBuilder::AfterStore& after) {
    const int place = unit.results[static_cast<size_t>(leaf)].place;
    if (IsResident(place)) {
      after_store_[place] = after;
    } else {
      const ElementType type = LeafShape(unit.instruction(), leaf).element_type();
      kernel_.SetAfterStore(kernel_.AddBuffer(type, Access::kWrite, memory_.SliceOf(place)), after);
    }
  };
  for (int leaf = 0; leaf < static_cast<int>(unit.results.size()); ++leaf) {
    set(leaf,
        [this, &updates, leaf](ValueWriter& writer, const IndexExpression& first, std::span<const std::string> values) {
          StoreUpdates(updates, leaf, writer, first, values);
        });
  }
  Code text = WriteUnit(unit, body);
  for (int leaf = 0; leaf < static_cast<int>(unit.results.size()); ++leaf) set(leaf, nullptr);
  for (const Update& update : updates) VXLA_CHECK(update.written, "an update that its unit did not store");
  return text;
}

std::vector<LoopPhaseWriter::Update> LoopPhaseWriter::UpdatesOf(const LoopUnitNode& unit) const {
  std::vector<Update> updates;
  for (const LoopUnitNode& update : unit.updates) {
    Update& added = updates.emplace_back();
    added.update = &update;
    for (const auto& [inside, operand] : update.body->operands) {
      const LeafOrigin origin = program_.OriginOf(*operand, 0);
      if (origin.instruction != &unit.instruction()) continue;
      added.made.emplace_back(inside, origin.leaf);
      added.last = std::max(added.last, origin.leaf);
    }
  }
  return updates;
}

void LoopPhaseWriter::StoreUpdates(std::vector<Update>& updates, int leaf, ValueWriter& writer,
                                   const IndexExpression& first, std::span<const std::string> values) {
  IndexSpace& space = writer.space();
  for (Update& update : updates) {
    for (const auto& [inside, made] : update.made) {
      if (made != leaf) continue;
      for (size_t j = 0; j < values.size(); ++j) {
        const IndexExpression linear = space.Add(first, {{}, static_cast<int64_t>(j)});
        writer.Override(*inside, space.Delinearize(linear, inside->shape().dimensions()), values[j]);
      }
    }
    if (leaf != update.last) continue;
    StoreUpdated(*update.update->body->hero, update.update->arrays.at(0), writer, first, std::ssize(values));
    update.written = true;
  }
}

LoopPhaseWriter::Held LoopPhaseWriter::HeldOperands(const LoopUnitNode& unit) const {
  Held held;
  const auto hold = [&](const LoopUnitNode& of) {
    for (const Instruction* operand : of.instruction().operands()) {
      if (operand->shape().ElementCount() == 0) continue;
      const LoopValue value = program_.ValueOf(*operand, 0);
      if (value.reg >= 0) held.emplace_back(operand, NameOfRegister(value.reg));
    }
  };
  hold(unit);
  std::ranges::for_each(unit.updates, hold);
  return held;
}

Code LoopPhaseWriter::WriteUnit(const LoopUnitNode& unit, const FusionDescription& body) {
  PlacedBuffers buffers(buffers_, [&](const Instruction& instruction, int leaf) {
    const bool own = &instruction == &unit.instruction();
    if (!unit.rows.empty()) return memory_.SliceOfRow(unit.rows[own ? 1 : 0]);
    const LoopValue value = own ? unit.results.at(static_cast<size_t>(leaf)) : program_.ValueOf(instruction, leaf);
    // No element of an empty array is read, but a kernel may name it.
    if (value.place < 0 && LeafShape(instruction, leaf).ElementCount() == 0) return buffers_.Constant({0, 0, 0, 0});
    VXLA_CHECK(value.place >= 0, "a value of a loop that is in no memory: " + instruction.name());
    return memory_.SliceOf(value.place);
  });
  Held held = HeldOperands(unit);
  if (unit.kind == LoopUnitKind::kRows || unit.kind == LoopUnitKind::kWorkgroup)
    return WriteTogether(unit, body, buffers, std::move(held));
  IndexSpace space;
  ValueWriter writer(kernel_, body, buffers, space);
  for (const auto& [operand, name] : held) writer.Hold(*operand, name);
  WriteOneByOne(unit, body, writer);
  return writer.Take();
}

void LoopPhaseWriter::WriteOneByOne(const LoopUnitNode& unit, const FusionDescription& body, ValueWriter& writer) {
  switch (unit.kind) {
    case LoopUnitKind::kNotes:
      return takes_notes_ ? WriteNoted(body, unit, writer) : WriteNotes(body, unit, writer);
    case LoopUnitKind::kFill:
      return WriteFilled(*body.hero->operand(unit.number), unit.results[0].place, writer);
    case LoopUnitKind::kParts:
    case LoopUnitKind::kScatter:
      return WriteScatter(body, unit, writer);
    case LoopUnitKind::kUpdate:
      return WriteUpdate(body, unit, writer);
    default:
      return WriteElements(body, unit, writer);
  }
}

void LoopPhaseWriter::WriteScatter(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  std::vector<BufferSlice> arrays, parts;
  for (const int place : unit.arrays) arrays.push_back(memory_.SliceOf(place));
  for (const int place : unit.scratch) parts.push_back(memory_.SliceOf(place));
  const LoopShare share = program_.share.cooperative ? program_.share : LoopShare();
  WriteLoopScatter(body, arrays, parts, writer, program_.lanes, share, next_unit_++);
}

void LoopPhaseWriter::WriteElements(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  const int64_t count = body.roots[0]->shape().ElementCount();
  if (count == 1) return WriteScalars(body, unit, writer);
  // Every value is computed before any is stored: a result may lie where an operand lay.
  const int64_t width = program_.WidthOf(count, body);
  EachElement(writer, count, width, [&](const IndexExpression& first) {
    OverrideResident(body, writer, first);
    const auto values = writer.Values(body.roots, first, width);
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      const ElementType type = body.roots[leaf]->shape().element_type();
      StoreOwn(writer, unit.results[leaf].place, type, first, values[leaf]);
    }
  });
}

void LoopPhaseWriter::WriteNotes(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  IndexSpace& space = writer.space();
  const int64_t count = body.hero->operand(0)->shape().ElementCount();
  EachElement(writer, count, 1, [&](const IndexExpression& first) {
    OverrideResident(body, writer, first);
    for (size_t i = 0; i < body.heroes.size(); ++i) {
      const Instruction& reduced = *body.heroes[i]->operand(0);
      const bool all = SingleOperation(*body.heroes[i]->called(0)) == Opcode::kAnd;
      const std::string value = writer.Value(reduced, space.Delinearize(first, reduced.shape().dimensions()));
      writer.Line("{} |= {}{} ? bit : 0u;", NameOfNote(unit.number + static_cast<int>(i)), all ? "!" : "", value);
    }
  });
}

// Operands whose elements lanes keep.
void LoopPhaseWriter::OverrideResident(const FusionDescription& body, ValueWriter& writer,
                                       const IndexExpression& first) {
  IndexSpace& space = writer.space();
  for (const auto& [inside, operand] : body.operands) {
    if (operand->shape().ElementCount() <= 1) continue;
    const int place = program_.ValueOf(*operand, 0).place;
    if (!IsResident(place)) continue;
    // A local, for a result may take the register before another one asks for what it held.
    const std::string held = writer.Assignable(program_.places[static_cast<size_t>(place)].type, NameOfElement(place));
    writer.Override(*inside, space.Delinearize(first, inside->shape().dimensions()), held);
  }
}

void LoopPhaseWriter::WriteUpdate(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer) {
  const Instruction& hero = *body.hero;
  const Shape &whole = hero.shape(), &part = hero.operand(1)->shape();
  if (part.ElementCount() == 0) return;
  writer.WindowStart(hero, 2, whole, part);  // once, for all elements
  const int64_t width = program_.WidthOf(part.ElementCount(), OnlyMoves(body));
  EachElement(writer, part.ElementCount(), width, [&](const IndexExpression& first) {
    OverrideResident(body, writer, first);
    StoreUpdated(hero, unit.arrays[0], writer, first, width);
  });
}

// Elements of an update from the linear index `first` of its part on, where they belong in the whole array.
void LoopPhaseWriter::StoreUpdated(const Instruction& hero, int place, ValueWriter& writer,
                                   const IndexExpression& first, int64_t width) {
  const int k = kernel_.AddBuffer(hero.shape().element_type(), Access::kReadWrite, memory_.SliceOf(place));
  writer.StoreUpdate(k, hero, first, width);
}

void LoopPhaseWriter::WriteFilled(const Instruction& array, int place, ValueWriter& writer) {
  const int64_t count = array.shape().ElementCount(), width = program_.WidthOf(count);
  EachElement(writer, count, width, [&](const IndexExpression& first) {
    StoreOwn(writer, place, array.shape().element_type(), first, writer.Values(std::array{&array}, first, width)[0]);
  });
}

Code LoopPhaseWriter::WriteTogether(const LoopUnitNode& unit, const FusionDescription& body, BufferMap& buffers,
                                    Held held) {
  const auto width = [this](int64_t count) { return program_.WidthOf(count); };
  LoopUnit text{next_unit_++, program_.lanes, width, kernel_, shared_, SubgroupThatShuffles(), std::move(held)};
  text.share = program_.share;
  text.sharing = unit.sharing;
  if (unit.kind == LoopUnitKind::kRows) return WriteRows(body, unit.shape, buffers, text);
  if (!unit.rows.empty()) text.at_once = std::ssize(program_.rows[static_cast<size_t>(unit.rows[0])]);
  std::vector<BufferSlice> scratch;
  for (size_t i = 0; i < unit.scratch.size(); ++i)
    scratch.push_back(unit.rows.empty() ? memory_.SliceOf(unit.scratch[i]) : memory_.SliceOfRow(unit.rows[2 + i]));
  Code code = WriteLoopUnit(context_, body, buffers, scratch, text);
  return unit.sharing == LoopSharing::kAlone ? OfOneGroup(std::move(code), program_.share) : std::move(code);
}

}  // namespace VXLA_NAMESPACE::vulkan
