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

}  // namespace

// Where values lie in memory so does what a shuffle needs.
uint32_t LoopPhaseWriter::SubgroupThatShuffles() const {
  const DeviceFacts& facts = context_.facts;
  const bool whole = program_.lanes % facts.subgroup_size == 0;
  return facts.subgroup_shuffle && !facts.costs.values_in_memory && whole &&
                 program_.lanes <= kMostSubgroups * facts.subgroup_size
             ? facts.subgroup_size
             : 0;
}

// Writes what `write` makes of the elements first + 0, 1 ... width - 1 of `count`.
void LoopPhaseWriter::EachElement(ValueWriter& writer, IndexSpace& space, int64_t count, int64_t width,
                                  const std::function<void(const IndexExpression& first)>& write) const {
  const int64_t groups = count / width;
  const int loop = space.AddVariable(groups);
  writer.Bind(loop, "i");
  if (width > 1) writer.Vectorize(loop, static_cast<int>(width));
  OpenElements(writer, "i", groups, program_.lanes, program_.share);
  write(space.Scale(space.Variable(loop), width));
  writer.CloseBlock();
}

// The lane's own elements of a place.
void LoopPhaseWriter::StoreOwn(ValueWriter& writer, int place, ElementType type, const IndexExpression& first,
                               const std::vector<std::string>& values) {
  if (!IsResident(place))
    return writer.StoreGroup(kernel_.AddBuffer(type, Access::kWrite, memory_.SliceOf(place)), first, values);
  writer.Line(fmt::format("{} = {};", NameOfElement(place), values.at(0)));
  if (const auto& after = after_store_[place]) after(writer, first, values);
}

Code LoopPhaseWriter::Copy(const LoopNode& node) {
  FusionDescription nothing;
  IndexSpace space;
  ValueWriter writer(kernel_, nothing, buffers_, space);
  const int64_t width = program_.WidthOf(node.count, true);
  EachElement(writer, space, node.count, width, [&](const IndexExpression& first) {
    std::vector<std::string> values;
    if (IsResident(node.from)) values = {NameOfElement(node.from)};
    const int from = values.empty() ? kernel_.AddBuffer(node.type, Access::kRead, memory_.SliceOf(node.from)) : -1;
    for (int64_t j = 0; j < width && from >= 0; ++j) values.push_back(writer.Load(from, space.Add(first, {{}, j})));
    StoreOwn(writer, node.to, node.type, first, values);
  });
  return writer.Take();
}

namespace {

FusionDescription Described(const Instruction& instruction) {
  const auto described = DescriptionOf(instruction);
  VXLA_CHECK(described.ok(), "a fusion that was described before");
  return **described;
}

}  // namespace

// Updates take what the unit makes as it is stored. What else they read the unit reads.
Code LoopPhaseWriter::Unit(const LoopNode& node) {
  FusionDescription body = Described(*node.instruction);
  std::vector<Update> updates = UpdatesOf(node);
  if (updates.empty()) return WriteUnit(node, body);
  for (const Update& update : updates) {
    for (const auto& [inside, operand] : update.body.operands) {
      if (program_.OriginOf(*operand, 0).instruction != node.instruction) body.operands.emplace(inside, operand);
    }
  }
  const auto set = [&](int leaf, const KernelBuilder::AfterStore& after) {
    const int place = node.results[static_cast<size_t>(leaf)].place;
    if (IsResident(place)) {
      after_store_[place] = after;
    } else {
      const ElementType type = FlattenTuple(node.instruction->shape())[static_cast<size_t>(leaf)]->element_type();
      kernel_.SetAfterStore(kernel_.AddBuffer(type, Access::kWrite, memory_.SliceOf(place)), after);
    }
  };
  for (int leaf = 0; leaf < static_cast<int>(node.results.size()); ++leaf) {
    set(leaf,
        [this, &updates, leaf](ValueWriter& writer, const IndexExpression& first, std::span<const std::string> values) {
          StoreUpdates(updates, leaf, writer, first, values);
        });
  }
  Code text = WriteUnit(node, body);
  for (int leaf = 0; leaf < static_cast<int>(node.results.size()); ++leaf) set(leaf, nullptr);
  for (const Update& update : updates) VXLA_CHECK(update.written, "an update that its unit did not store");
  return text;
}

std::vector<LoopPhaseWriter::Update> LoopPhaseWriter::UpdatesOf(const LoopNode& node) const {
  std::vector<Update> updates;
  for (const LoopNode& update : node.updates) {
    Update& added = updates.emplace_back();
    added.body = Described(*update.instruction);
    added.place = update.arrays.at(0);
    for (const auto& [inside, operand] : added.body.operands) {
      const LeafOrigin origin = program_.OriginOf(*operand, 0);
      if (origin.instruction != node.instruction) continue;
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
    StoreUpdated(*update.body.hero, update.place, writer, first, std::ssize(values));
    update.written = true;
  }
}

Code LoopPhaseWriter::WriteUnit(const LoopNode& node, const FusionDescription& body) {
  PlacedBuffers buffers(buffers_, [&](const Instruction& instruction, int leaf) {
    if (!node.rows.empty()) return memory_.SliceOfRow(node.rows[&instruction == node.instruction ? 1 : 0]);
    const LoopValue value = &instruction == node.instruction ? node.results.at(static_cast<size_t>(leaf))
                                                             : program_.ValueOf(instruction, leaf);
    // No element of an empty array is read, but a kernel may name it.
    if (value.place < 0 && FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf))->ElementCount() == 0)
      return buffers_.Constant({0, 0, 0, 0});
    VXLA_CHECK(value.place >= 0, "a value of a loop that is in no memory: " + instruction.name());
    return memory_.SliceOf(value.place);
  });
  std::vector<std::pair<const Instruction*, std::string>> held;
  const auto hold = [&](const LoopNode& of) {
    for (const Instruction* operand : of.instruction->operands()) {
      if (operand->shape().ElementCount() == 0) continue;
      const LoopValue value = program_.ValueOf(*operand, 0);
      if (value.reg >= 0) held.emplace_back(operand, NameOfRegister(value.reg));
    }
  };
  hold(node);
  std::ranges::for_each(node.updates, hold);
  const bool in_part = body.hero != nullptr && UpdatedArrays(*body.hero) > 0;
  if (body.hero != nullptr && !in_part && node.notes < 0) return Together(body, node, buffers, std::move(held));
  IndexSpace space;
  ValueWriter writer(kernel_, body, buffers, space);
  for (const auto& [operand, name] : held) writer.Hold(*operand, name);
  if (node.notes >= 0) {
    takes_notes_ ? WriteNoted(body, node, writer) : WriteNotes(body, node, writer, space);
  } else if (node.fills >= 0) {
    WriteFilled(*body.hero->operand(node.fills), node.results[0].place, writer, space);
  } else if (in_part && body.hero->opcode() == Opcode::kScatter) {
    std::vector<BufferSlice> arrays, parts;
    for (const int place : node.arrays) arrays.push_back(memory_.SliceOf(place));
    for (const int place : node.scratch) parts.push_back(memory_.SliceOf(place));
    WriteLoopScatter(body, arrays, parts, writer, program_.lanes, next_unit_++);
    return OfOneGroup(writer.Take());
  } else if (in_part) {
    WriteUpdate(body, node, writer, space);
  } else {
    WriteElements(body, node, writer, space);
  }
  return writer.Take();
}

// What lanes of a workgroup do together, whatever other ones do meanwhile.
Code LoopPhaseWriter::OfOneGroup(Code unit) const {
  if (!program_.share.meets) return unit;
  return Code("if (grid_group == 0u) {\n") + std::move(unit) + Code("}\n");
}

void LoopPhaseWriter::WriteElements(const FusionDescription& body, const LoopNode& node, ValueWriter& writer,
                                    IndexSpace& space) {
  const int64_t count = body.roots[0]->shape().ElementCount();
  if (count == 1) return WriteScalars(body, node, writer);
  // Every value is computed before any is stored: a result may lie where an operand lay.
  const int64_t width = program_.WidthOf(count, body);
  EachElement(writer, space, count, width, [&](const IndexExpression& first) {
    OverrideResident(body, writer, space, first);
    const auto values = writer.Values(body.roots, first, width);
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      const ElementType type = body.roots[leaf]->shape().element_type();
      StoreOwn(writer, node.results[leaf].place, type, first, values[leaf]);
    }
  });
}

void LoopPhaseWriter::WriteScalars(const FusionDescription& body, const LoopNode& node, ValueWriter& writer) {
  for (size_t leaf = 0; leaf < body.roots.size(); ++leaf) {
    const Instruction& root = *body.roots[leaf];
    writer.Line(fmt::format("{} = {};", NameOfRegister(node.results[leaf].reg),
                            writer.Value(root, MultiIndex(static_cast<size_t>(root.shape().rank())))));
  }
}

void LoopPhaseWriter::WriteNotes(const FusionDescription& body, const LoopNode& node, ValueWriter& writer,
                                 IndexSpace& space) {
  const int64_t count = body.hero->operand(0)->shape().ElementCount();
  EachElement(writer, space, count, 1, [&](const IndexExpression& first) {
    OverrideResident(body, writer, space, first);
    for (size_t i = 0; i < body.heroes.size(); ++i) {
      const Instruction& reduced = *body.heroes[i]->operand(0);
      const bool all = SingleOperation(*body.heroes[i]->called(0)) == Opcode::kAnd;
      const std::string value = writer.Value(reduced, space.Delinearize(first, reduced.shape().dimensions()));
      writer.Line(
          fmt::format("{} |= {}{} ? bit : 0u;", NameOfNote(node.notes + static_cast<int>(i)), all ? "!" : "", value));
    }
  });
}

void LoopPhaseWriter::WriteNoted(const FusionDescription& body, const LoopNode& node, ValueWriter& writer) const {
  for (size_t i = 0; i < body.heroes.size(); ++i) {
    const Instruction& hero = *body.heroes[i];
    const bool all = SingleOperation(*hero.called(0)) == Opcode::kAnd;
    const std::string noted = fmt::format("({} & bit) {} 0u", NameOfNote(node.notes + static_cast<int>(i)),
                                          all ? "==" : "!="),
                      initial = writer.Value(*hero.operand(1), {});
    writer.Override(hero, MultiIndex(static_cast<size_t>(hero.shape().rank())),
                    writer.Assignable(ElementType::kPred, fmt::format("{} {} {}", initial, all ? "&&" : "||", noted)));
  }
  WriteScalars(body, node, writer);
}

// Operands whose elements lanes keep.
void LoopPhaseWriter::OverrideResident(const FusionDescription& body, ValueWriter& writer, IndexSpace& space,
                                       const IndexExpression& first) {
  for (const auto& [inside, operand] : body.operands) {
    if (operand->shape().ElementCount() <= 1) continue;
    const int place = program_.ValueOf(*operand, 0).place;
    if (!IsResident(place)) continue;
    // A local, for a result may take the register before another one asks for what it held.
    const std::string held = writer.Assignable(program_.places[static_cast<size_t>(place)].type, NameOfElement(place));
    writer.Override(*inside, space.Delinearize(first, inside->shape().dimensions()), held);
  }
}

void LoopPhaseWriter::WriteUpdate(const FusionDescription& body, const LoopNode& node, ValueWriter& writer,
                                  IndexSpace& space) {
  const Instruction& hero = *body.hero;
  const Shape &whole = hero.shape(), &part = hero.operand(1)->shape();
  if (part.ElementCount() == 0) return;
  writer.WindowStart(hero, 2, whole, part);  // once, for all elements
  const int64_t width = program_.WidthOf(part.ElementCount(), OnlyMoves(body));
  EachElement(writer, space, part.ElementCount(), width, [&](const IndexExpression& first) {
    OverrideResident(body, writer, space, first);
    StoreUpdated(hero, node.arrays[0], writer, first, width);
  });
}

// Elements of an update from the linear index `first` of its part on, where they belong in the whole array.
void LoopPhaseWriter::StoreUpdated(const Instruction& hero, int place, ValueWriter& writer,
                                   const IndexExpression& first, int64_t width) {
  const int k = kernel_.AddBuffer(hero.shape().element_type(), Access::kReadWrite, memory_.SliceOf(place));
  writer.StoreUpdate(k, hero, first, width);
}

void LoopPhaseWriter::WriteFilled(const Instruction& array, int place, ValueWriter& writer, IndexSpace& space) {
  const int64_t count = array.shape().ElementCount(), width = program_.WidthOf(count);
  EachElement(writer, space, count, width, [&](const IndexExpression& first) {
    StoreOwn(writer, place, array.shape().element_type(), first, writer.Values(std::array{&array}, first, width)[0]);
  });
}

Code LoopPhaseWriter::Together(const FusionDescription& body, const LoopNode& node, BufferMap& buffers,
                               std::vector<std::pair<const Instruction*, std::string>> held) {
  const auto width = [this](int64_t count) { return program_.WidthOf(count); };
  LoopUnit unit{next_unit_++, program_.lanes, width, kernel_, shared_, SubgroupThatShuffles(), std::move(held)};
  unit.share = program_.share;
  if (!node.rows.empty()) unit.at_once = std::ssize(program_.rows[static_cast<size_t>(node.rows[0])]);
  if (NeedsOfLoopUnit(context_, body, program_.lanes)) {
    std::vector<BufferSlice> scratch;
    for (size_t i = 0; i < node.scratch.size(); ++i)
      scratch.push_back(node.rows.empty() ? memory_.SliceOf(node.scratch[i]) : memory_.SliceOfRow(node.rows[2 + i]));
    return OfOneGroup(WriteLoopUnit(context_, body, buffers, scratch, unit));
  }
  const LoopRowsShape shape = ShapeOfLoopRows(context_, body, program_.lanes, program_.share);
  Code text;
  const auto rows = [&](const RowProgram& program) { text = WriteLoopRows(program, shape, unit); };
  switch (body.hero->opcode()) {
    case Opcode::kReduceWindow:
      WithWindowProgram(body, buffers, rows);
      break;
    case Opcode::kConvolution:
      rows(ProductProgram(*ReadConvolution(body), buffers, {}));
      break;
    case Opcode::kDot: {
      const auto reader = ReadDot(body);
      if (const auto tile = TileLoopDot(context_, *reader, program_.lanes, program_.share))
        return WriteLoopDot(*reader, buffers, *tile, unit);
      rows(ProductProgram(*reader, buffers, {}));
      break;
    }
    default:
      WithReduceProgram(body, buffers, rows);
  }
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
