#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/mlir/ir.h"
#include "core/mlir/rewrite/block_edges.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

class BlockStates {
 public:
  BlockStates(Program& program, Operation& function, const std::vector<std::vector<BlockEdge>>& edges)
      : program_(program), blocks_(function.regions[0].blocks), edges_(edges), exit_(blocks_.size()) {
    location_ = blocks_[0].operations.back().location;
    number_ = Type(Type::Kind::kShape, Shape(ElementType::kS32));
  }

  Status Run() {
    for (const ValueId value : blocks_[LastToReturn()].operations.back().operands)
      results_.push_back(program_.NewValue(program_.values[value].type));
    FindState();
    Block body;
    body.arguments = blocks_[0].arguments;
    body.operations = std::move(blocks_[0].operations);
    const Operation branch = std::move(body.operations.back());
    body.operations.pop_back();
    std::unordered_map<ValueId, ValueId> latest;
    for (const ValueId value : state_) VXLA_SET_OR_RETURN(latest[value], Zeros(value, body.operations));
    Operation loop = Make("stablehlo.while", Next(0, branch, latest, body.operations));
    loop.regions.push_back(Condition());
    loop.regions.push_back(OneBlock());
    loop.results.push_back(program_.NewValue(number_));
    for (const ValueId value : state_) loop.results.push_back(program_.NewValue(program_.values[value].type));
    Operation back = Make("func.return", {});
    for (const ValueId value : results_) back.operands.push_back(loop.results[1 + PlaceOf(value)]);
    body.operations.push_back(std::move(loop));
    body.operations.push_back(std::move(back));
    blocks_.clear();
    blocks_.push_back(std::move(body));
    return OkStatus();
  }

 private:
  size_t LastToReturn() const {
    size_t block = 0;
    while (edges_[block][0].block != exit_) ++block;
    return block;
  }

  size_t PlaceOf(ValueId value) const { return static_cast<size_t>(std::ranges::find(state_, value) - state_.begin()); }

  // The arguments of blocks, the results, and what one block computes and another one uses. What the first block
  // defines stands in front of the loop.
  void FindState() {
    std::vector<std::unordered_set<ValueId>> uses(exit_);
    for (size_t i = 0; i < exit_; ++i) {
      for (const Operation& operation : blocks_[i].operations)
        ForEachOperand(operation, [&](ValueId value) { uses[i].insert(value); });
    }
    state_ = results_;
    for (size_t i = 1; i < exit_; ++i) {
      state_.insert(state_.end(), blocks_[i].arguments.begin(), blocks_[i].arguments.end());
      for (const Operation& operation : blocks_[i].operations) {
        for (const ValueId value : operation.results) {
          for (size_t k = 1; k < exit_; ++k) {
            if (k == i || !uses[k].contains(value)) continue;
            state_.push_back(value);
            break;
          }
        }
      }
    }
  }

  Operation Make(std::string name, std::vector<ValueId> operands) const {
    return {std::move(name), std::move(operands), {}, {}, {}, location_};
  }

  ValueId AddTo(std::vector<Operation>& out, Operation operation, const Type& type) {
    operation.results = {program_.NewValue(type)};
    out.push_back(std::move(operation));
    return out.back().results[0];
  }

  ValueId Constant(const Type& type, Literal scalar, std::vector<Operation>& out) {
    Operation constant = Make("stablehlo.constant", {});
    Attribute value(Attribute::Kind::kElements);
    value.type = type;
    value.literal = std::make_shared<const Literal>(std::move(scalar));
    SetAttribute(constant.attributes, "value", std::move(value));
    return AddTo(out, std::move(constant), type);
  }

  ValueId Number(size_t block, std::vector<Operation>& out) {
    Literal number(number_.shape);
    number.SetInt(0, static_cast<int64_t>(block));
    return Constant(number_, std::move(number), out);
  }

  // What stands for a value before its block has run.
  Result<ValueId> Zeros(ValueId value, std::vector<Operation>& out) {
    const Type type = program_.values[value].type;
    const bool array = (type.kind == Type::Kind::kShape || type.kind == Type::Kind::kElement) && !type.unranked &&
                       type.shape.IsArray() && type.quantization == nullptr;
    bool open = false;
    for (int i = 0; array && i < type.shape.rank(); ++i) open = open || type.shape.is_dynamic_dimension(i);
    if (!array || open) {
      return Unsupported("blocks that are left or entered in more than one place carry {}: arrays of known sizes only",
                         PrintType(type))
          .At(location_);
    }
    return Constant(type, Literal(Shape(type.shape.element_type())), out);
  }

  // The block that comes after `block`, whose last operation is `branch`, and the state there.
  std::vector<ValueId> Next(size_t block, const Operation& branch, std::unordered_map<ValueId, ValueId> latest,
                            std::vector<Operation>& out) {
    const auto here = latest;
    const auto now = [&](ValueId value) {
      const auto found = here.find(value);
      return found == here.end() ? value : found->second;
    };
    const std::vector<BlockEdge>& edges = edges_[block];
    ValueId next = Number(edges[0].block, out);
    const bool chooses = edges.size() == 2;
    const auto choose = [&](ValueId first, ValueId second) {
      Operation select = Make("stablehlo.select", {now(branch.operands[0]), first, second});
      return AddTo(out, std::move(select), program_.values[first].type);
    };
    if (chooses) next = choose(next, Number(edges[1].block, out));
    for (size_t way = 0; way < edges.size(); ++way) {
      const std::vector<ValueId>& given = edges[way].operands;
      const std::vector<ValueId>& taken = edges[way].block == exit_ ? results_ : blocks_[edges[way].block].arguments;
      for (size_t i = 0; i < taken.size(); ++i) {
        const ValueId value = now(given[i]), before = latest.at(taken[i]);
        latest[taken[i]] = !chooses ? value : way == 0 ? choose(value, before) : choose(before, value);
      }
    }
    std::vector<ValueId> state{next};
    for (const ValueId value : state_) state.push_back(latest.at(value));
    return state;
  }

  std::vector<ValueId> StateArguments() {
    std::vector<ValueId> arguments{program_.NewValue(number_)};
    for (const ValueId value : state_) arguments.push_back(program_.NewValue(program_.values[value].type));
    return arguments;
  }

  Region Condition() {
    Region region;
    Block& block = region.blocks.emplace_back();
    block.arguments = StateArguments();
    Operation compare = Make("stablehlo.compare", {block.arguments[0], Number(exit_, block.operations)});
    SetAttribute(compare.attributes, "comparison_direction", KeywordAttribute("NE"));
    Type truth = number_;
    truth.shape.set_element_type(ElementType::kPred);
    const ValueId goes_on = AddTo(block.operations, std::move(compare), truth);
    block.operations.push_back(Make("stablehlo.return", {goes_on}));
    return region;
  }

  // The loop's body: the block whose number is next.
  Region OneBlock() {
    Region region;
    Block& body = region.blocks.emplace_back();
    body.arguments = StateArguments();
    std::unordered_map<ValueId, ValueId> carried;
    for (size_t i = 0; i < state_.size(); ++i) carried[state_[i]] = body.arguments[i + 1];
    const ValueId first = Number(1, body.operations);
    const ValueId index = AddTo(body.operations, Make("stablehlo.subtract", {body.arguments[0], first}), number_);
    Operation choice = Make("stablehlo.case", {index});
    for (size_t i = 1; i < exit_; ++i) {
      location_ = blocks_[i].operations.back().location;
      auto latest = carried;
      Block side;
      for (Operation& operation : blocks_[i].operations) {
        for (const ValueId value : operation.results) {
          if (latest.contains(value)) latest[value] = value;
        }
      }
      for (Operation& operation : blocks_[i].operations) {
        ForEachOperand(operation, [&](ValueId& operand) {
          if (const auto found = latest.find(operand); found != latest.end()) operand = found->second;
        });
      }
      side.operations = std::move(blocks_[i].operations);
      const Operation branch = std::move(side.operations.back());
      side.operations.pop_back();
      // The branch has the block's own values already, its edges have not.
      Operation back = Make("stablehlo.return", Next(i, branch, std::move(latest), side.operations));
      side.operations.push_back(std::move(back));
      choice.regions.emplace_back().blocks.push_back(std::move(side));
    }
    choice.results.push_back(program_.NewValue(number_));
    for (const ValueId value : state_) choice.results.push_back(program_.NewValue(program_.values[value].type));
    Operation back = Make("stablehlo.return", choice.results);
    body.operations.push_back(std::move(choice));
    body.operations.push_back(std::move(back));
    return region;
  }

  Program& program_;
  std::vector<Block>& blocks_;
  const std::vector<std::vector<BlockEdge>>& edges_;
  const size_t exit_;
  Type number_;
  std::vector<ValueId> results_, state_;
  SourceLocation location_;
};

}  // namespace

Status WriteBlocksAsStates(Program& program, Operation& function, const std::vector<std::vector<BlockEdge>>& edges) {
  return BlockStates(program, function, edges).Run();
}

}  // namespace VXLA_NAMESPACE::mlir
