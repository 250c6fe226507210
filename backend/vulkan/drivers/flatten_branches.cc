#include "backend/vulkan/drivers/flatten_branches.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

// What is known of the whole module.
struct ModuleFacts {
  const Module& module;
  std::unordered_map<uint32_t, uint32_t> type_of = {};  // of values
  std::unordered_set<uint32_t> pure_functions = {};     // they touch nothing but locals and read what is always there
  // Below SPIR-V 1.4: the types that are selected member by member, each with the types of its members; and the type of
  // the conditions by which a vector's type is selected.
  std::unordered_map<uint32_t, std::vector<uint32_t>> members = {};
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> conditions = {};  // with how many there are
};

class FunctionFlattener {
 public:
  FunctionFlattener(const ModuleFacts& facts, std::unordered_map<uint32_t, uint32_t>& types, CopiedIds& ids,
                    size_t most_in_side)
      : facts_(facts), types_(types), ids_(ids), most_in_side_(most_in_side) {}

  void Flatten(std::vector<Block>& blocks) {
    while (FlattenOne(blocks)) {
    }
  }

  uint32_t ClassOf(uint32_t pointer) const {
    const auto type = types_.find(pointer);
    if (type == types_.end() || facts_.module.KindOf(type->second) != OpTypePointer) return ~0u;
    return facts_.module.DeclarationOf(type->second).words[2];
  }

  // Whether an instruction can run where it would not have, but for its stores to locals.
  bool OnlyComputes(const Instruction& instruction) const {
    switch (const uint32_t op = instruction.op()) {
      case OpStore:
        return ClassOf(instruction.words[1]) == StorageClassFunction;
      case OpLoad: {
        const uint32_t from = ClassOf(instruction.words[3]);
        return from == StorageClassFunction || from == StorageClassPrivate || from == StorageClassInput;
      }
      case OpAccessChain:
      case OpInBoundsAccessChain:
        return ClassOf(instruction.words[3]) == StorageClassFunction;
      case OpFunctionCall:
        return facts_.pure_functions.contains(instruction.words[3]);
      case OpExtInst:
      case OpUndef:
      case OpNop:
        return true;
      default:
        return op >= kFirstArithmetic && op <= kLastArithmetic;
    }
  }

 private:
  struct Shape {
    size_t head, then_side, else_side, merge;  // blocks; the merge block where there is no such side
    uint32_t condition;
  };

  bool FlattenOne(std::vector<Block>& blocks) {
    std::unordered_map<uint32_t, size_t> index_of;
    std::unordered_map<uint32_t, int> references;  // of labels, by branches and loop merges
    for (size_t i = 0; i < blocks.size(); ++i) {
      index_of[blocks[i].label] = i;
      for (const Instruction& instruction : blocks[i].body) CountReferences(instruction, references);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (const auto shape = ShapeAt(blocks, i, index_of, references)) {
        Rewrite(blocks, *shape);
        return true;
      }
    }
    return false;
  }

  static void CountReferences(const Instruction& instruction, std::unordered_map<uint32_t, int>& references) {
    const Words& w = instruction.words;
    switch (instruction.op()) {
      case OpBranch:
        ++references[w[1]];
        break;
      case OpBranchConditional:
        ++references[w[2]], ++references[w[3]];
        break;
      case OpLoopMerge:
        references[w[1]] += 100, references[w[2]] += 100;
        break;
      case OpSwitch:
        for (size_t i = 2; i < w.size(); ++i) references[w[i]] += 100;
        break;
      default:
        break;
    }
  }

  std::optional<Shape> ShapeAt(const std::vector<Block>& blocks, size_t head,
                               const std::unordered_map<uint32_t, size_t>& index_of,
                               const std::unordered_map<uint32_t, int>& references) const {
    const Instructions& body = blocks[head].body;
    if (body.size() < 2 || body.back().op() != OpBranchConditional || body[body.size() - 2].op() != OpSelectionMerge)
      return std::nullopt;
    const uint32_t merge_label = body[body.size() - 2].words[1];
    const Words& branch = body.back().words;
    const size_t merge = index_of.at(merge_label);
    if (references.at(merge_label) != 2 || branch[2] == branch[3]) return std::nullopt;
    auto side_of = [&](uint32_t label) -> std::optional<size_t> {
      if (label == merge_label) return merge;
      const size_t side = index_of.at(label);
      const Instructions& computed = blocks[side].body;
      const bool joins = computed.back().op() == OpBranch && computed.back().words[1] == merge_label;
      if (references.at(label) != 1 || !joins || computed.size() - 1 > most_in_side_) return std::nullopt;
      const bool pure = std::all_of(computed.begin(), computed.end() - 1,
                                    [&](const Instruction& instruction) { return OnlyComputes(instruction); });
      return pure ? std::optional(side) : std::nullopt;
    };
    const auto then_side = side_of(branch[2]), else_side = side_of(branch[3]);
    if (!then_side || !else_side) return std::nullopt;
    return Shape{head, *then_side, *else_side, merge, branch[1]};
  }

  // The instructions of a side, its stores made conditional.
  void Take(const Block& side, uint32_t condition, bool when, const std::unordered_set<uint32_t>& own,
            Instructions* out) {
    for (const Instruction& instruction : side.body) {
      if (instruction.op() == OpBranch) continue;
      if (instruction.op() != OpStore || own.contains(instruction.words[1])) {
        out->push_back(instruction);
        continue;
      }
      const uint32_t pointer = instruction.words[1], value = instruction.words[2], type = types_.at(value);
      const uint32_t old = ids_.Fresh(), chosen = ids_.Fresh();
      types_[old] = types_[chosen] = type;
      out->push_back(Make(OpLoad, {type, old, pointer}));
      Select(type, chosen, condition, when ? value : old, when ? old : value, out);
      out->push_back(Make(OpStore, {pointer, chosen}));
    }
  }

  // `result`, of that type, is one of both.
  void Select(uint32_t type, uint32_t result, uint32_t condition, uint32_t yes, uint32_t no, Instructions* out) {
    if (const auto conditions = facts_.conditions.find(type); conditions != facts_.conditions.end()) {
      const auto [vector, count] = conditions->second;
      Instruction all = Make(OpCompositeConstruct, {vector, ids_.Fresh()});
      for (uint32_t k = 0; k < count; ++k) AddOperand(all, condition);
      out->push_back(all);
      condition = all.words[2];
    }
    const auto members = facts_.members.find(type);
    if (members == facts_.members.end()) {
      out->push_back(Make(OpSelect, {type, result, condition, yes, no}));
      return;
    }
    Instruction whole = Make(OpCompositeConstruct, {type, result});
    for (uint32_t at = 0; at < members->second.size(); ++at) {
      const uint32_t member = members->second[at], of_yes = ids_.Fresh(), of_no = ids_.Fresh(), chosen = ids_.Fresh();
      out->push_back(Make(OpCompositeExtract, {member, of_yes, yes, at}));
      out->push_back(Make(OpCompositeExtract, {member, of_no, no, at}));
      Select(member, chosen, condition, of_yes, of_no, out);
      AddOperand(whole, chosen);
    }
    out->push_back(std::move(whole));
  }

  // Variables that only this block uses: temporaries of a call, which may hold anything elsewhere. (A pointer into a
  // variable that was made here is no such thing.)
  static std::unordered_set<uint32_t> OwnVariables(const std::vector<Block>& blocks, size_t side) {
    std::unordered_set<uint32_t> own;
    for (const Instruction& instruction : blocks[side].body) {
      if (instruction.op() == OpStore) own.insert(instruction.words[1]);
    }
    for (const Instruction& instruction : blocks[side].body) {
      if (HasResult(instruction.op()) && instruction.words.size() > 2) own.erase(instruction.words[2]);
    }
    for (size_t i = 0; i < blocks.size() && !own.empty(); ++i) {
      if (i == side) continue;
      for (const Instruction& instruction : blocks[i].body) {
        if (instruction.op() == OpVariable) continue;
        for (size_t w = 1; w < instruction.words.size(); ++w) own.erase(instruction.words[w]);
      }
    }
    return own;
  }

  void Rewrite(std::vector<Block>& blocks, const Shape& shape) {
    Block& head = blocks[shape.head];
    const uint32_t merge_label = blocks[shape.merge].label, head_label = head.label;
    const bool has_then = shape.then_side != shape.merge, has_else = shape.else_side != shape.merge;
    const uint32_t then_label = has_then ? blocks[shape.then_side].label : head_label;
    Instructions body(head.body.begin(), head.body.end() - 2);
    if (has_then) Take(blocks[shape.then_side], shape.condition, true, OwnVariables(blocks, shape.then_side), &body);
    if (has_else) Take(blocks[shape.else_side], shape.condition, false, OwnVariables(blocks, shape.else_side), &body);
    for (const Instruction& instruction : blocks[shape.merge].body) {
      if (instruction.op() != OpPhi) {
        body.push_back(instruction);
        continue;
      }
      const Words& w = instruction.words;  // type, result, value, label, value, label
      const bool first_is_then = w[4] == then_label;
      Select(w[1], w[2], shape.condition, first_is_then ? w[3] : w[5], first_is_then ? w[5] : w[3], &body);
    }
    head.body = std::move(body);
    const auto follow = [&](uint32_t& from) { from = from == merge_label ? head_label : from; };
    for (Instruction& instruction : InstructionsOf(blocks)) VisitOrigins(instruction, follow);
    std::vector<size_t> gone{shape.merge};
    if (has_then) gone.push_back(shape.then_side);
    if (has_else) gone.push_back(shape.else_side);
    std::ranges::sort(gone, std::greater<>());
    for (size_t at : gone) blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
  }

  const ModuleFacts& facts_;
  std::unordered_map<uint32_t, uint32_t>& types_;
  CopiedIds& ids_;
  const size_t most_in_side_;
};

// Of a type that is made of others, but for vectors.
std::vector<uint32_t> MembersOf(const Module& module, const Words& type) {
  switch (type[0] & 0xffffu) {
    case OpTypeStruct:
      return {type.begin() + 2, type.end()};
    case OpTypeMatrix:
      return std::vector<uint32_t>(type[3], type[2]);
    case OpTypeArray:
      return std::vector<uint32_t>(module.Value(type[3]).value_or(0), type[2]);
    default:
      return {};
  }
}

// What selections take before SPIR-V 1.4.
void ReadComposites(Module& module, ModuleFacts* facts) {
  std::vector<std::pair<uint32_t, uint32_t>> vectors;
  for (const Instruction& each : module.declarations) {
    const Words& w = each.words;
    if (each.op() == OpTypeVector) vectors.emplace_back(w[1], w[3]);
    if (std::vector<uint32_t> members = MembersOf(module, w); !members.empty())
      facts->members[w[1]] = std::move(members);
  }
  for (const auto& [type, count] : vectors)
    facts->conditions[type] = {module.Type(OpTypeVector, {module.Type(OpTypeBool, {}), count}), count};
}

void ReadFacts(const Module& module, ModuleFacts* facts) {
  for (const Instruction& each : module.declarations) {
    const uint32_t op = each.op();
    const Words& w = each.words;
    const bool value = op == OpUndef || (op >= kFirstConstant && op <= kLastConstant) || op == OpVariable;
    if (value && w.size() > 2) facts->type_of[w[2]] = w[1];
  }
  for (const Instruction& each : module.functions) {
    if (HasResult(each.op()) && each.words.size() > 2) facts->type_of[each.words[2]] = each.words[1];
  }
}

bool IsTerminatorOrLabel(uint32_t op) {
  return op == OpLabel || (op >= OpPhi && op <= OpSwitch) || op == OpReturn || op == OpReturnValue;
}

// Grows until nothing is added: a function is pure if it only computes and so do those that it calls.
void FindPureFunctions(const Instructions& instructions, ModuleFacts* facts) {
  CopiedIds none(0);
  std::unordered_map<uint32_t, uint32_t> types = facts->type_of;
  for (bool grew = true; grew;) {
    grew = false;
    const FunctionFlattener judge(*facts, types, none, 0);
    uint32_t current = 0;
    bool pure = true;
    for (const Instruction& instruction : instructions) {
      const uint32_t op = instruction.op();
      if (op == OpFunction) current = instruction.words[2], pure = true;
      if (current == 0) continue;
      if (op == OpFunctionEnd) {
        if (pure) grew |= facts->pure_functions.insert(current).second;
        current = 0;
      } else if (op != OpFunction && op != OpFunctionParameter && op != OpVariable && !IsTerminatorOrLabel(op)) {
        pure &= judge.OnlyComputes(instruction);
      }
    }
  }
}

}  // namespace

std::vector<uint32_t> FlattenBranches(const std::vector<uint32_t>& words, size_t most_in_side) {
  Module module(words);
  ModuleFacts facts{module};
  ReadFacts(module, &facts);
  if (module.version() < kVersion14) ReadComposites(module, &facts);
  FindPureFunctions(module.functions, &facts);
  std::unordered_map<uint32_t, uint32_t> types = facts.type_of;
  return module.Run([&](std::vector<Block> blocks, uint32_t) {
    FunctionFlattener(facts, types, module.ids, most_in_side).Flatten(blocks);
    return blocks;
  });
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
