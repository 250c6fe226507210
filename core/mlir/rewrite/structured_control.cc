#include "core/mlir/rewrite/structured_control.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace VXLA_NAMESPACE::mlir {
namespace {

// Values that differ from element to element.
using Lanes = std::unordered_set<ValueId>;

bool AllRunForLanes(const Block& block, Lanes& lanes);

// Whether the importer does it for all elements at once; notes which of its results differ.
bool RunsForAllLanes(const Operation& operation, Lanes& lanes) {
  const auto is_lane = [&](ValueId value) { return lanes.contains(value); };
  const bool differs = AnyOperand(operation, is_lane);
  if (differs && !RunsForLanes(operation.name)) return false;
  if (differs) lanes.insert(operation.results.begin(), operation.results.end());
  const bool generates = operation.name == "tensor.generate";
  if (generates && std::ranges::any_of(operation.operands, is_lane)) return false;  // sizes that differ
  if (!differs && !generates) return true;
  return std::ranges::all_of(operation.regions, [&](const Region& region) {
    if (region.blocks.size() != 1) return false;
    if (generates) lanes.insert(region.blocks[0].arguments.begin(), region.blocks[0].arguments.end());
    return AllRunForLanes(region.blocks[0], lanes);
  });
}

bool AllRunForLanes(const Block& block, Lanes& lanes) {
  return std::ranges::all_of(block.operations,
                             [&](const Operation& operation) { return RunsForAllLanes(operation, lanes); });
}

bool RunsAtOnce(const Operation& generate) {
  Lanes lanes;
  return RunsForAllLanes(generate, lanes);
}

class ControlLowering {
 public:
  explicit ControlLowering(Program& program) : program_(program) {}

  Status Run(Operation& operation) {
    for (Region& region : operation.regions) {
      for (Block& block : region.blocks) VXLA_RETURN_IF_ERROR(RunBlock(block));
    }
    return OkStatus();
  }

 private:
  Status RunBlock(Block& block) {
    std::vector<Operation> operations;
    operations.reserve(block.operations.size());
    for (Operation& operation : block.operations) {
      if (operation.name == "scf.forall") {
        VXLA_RETURN_IF_ERROR(LowerForall(operation, operations));
      } else if (operation.name == "scf.if") {
        if (operation.results.empty() && HasEffect(operation))
          return operation.NotSupported("branches that give nothing, with operations that have effects");
        VXLA_RETURN_IF_ERROR(LowerIf(operation));
        if (operation.results.empty()) continue;
      } else if (operation.name == "scf.for") {
        VXLA_RETURN_IF_ERROR(LowerFor(operation));
      } else if (operation.name == "tensor.generate") {
        VXLA_RETURN_IF_ERROR(Run(operation));  // what is inside decides
        if (!RunsAtOnce(operation)) VXLA_RETURN_IF_ERROR(LowerGenerate(operation, operations));
        operations.push_back(std::move(operation));
        continue;
      }
      VXLA_RETURN_IF_ERROR(Run(operation));
      operations.push_back(std::move(operation));
    }
    block.operations = std::move(operations);
    return OkStatus();
  }

  Type TypeOf(ValueId value) const { return program_.values[value].type; }

  static Operation Make(const Operation& at, std::string name, std::vector<ValueId> operands) {
    return {std::move(name), std::move(operands), {}, {}, {}, at.location};
  }

  static Result<Block*> OnlyBlock(Operation& operation, size_t region, std::string_view terminator) {
    if (region < operation.regions.size() && operation.regions[region].blocks.size() == 1) {
      Block& block = operation.regions[region].blocks[0];
      if (!block.operations.empty() && block.operations.back().name == terminator) return &block;
    }
    return operation.Error("region {} is no block that ends with {}", region, terminator);
  }

  static Status LowerIf(Operation& operation) {
    if (operation.results.empty()) return OkStatus();
    VXLA_RETURN_IF_ERROR(operation.ExpectRegions(2));
    for (size_t i = 0; i < 2; ++i) {
      VXLA_RETURN_IF_ERROR(OnlyBlock(operation, i, "scf.yield").status());
    }
    operation.name = "stablehlo.if";
    return OkStatus();
  }

  // (lower, upper, step, carried ...): the loop's variable becomes what a while carries first.
  Status LowerFor(Operation& operation) {
    VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(3));
    VXLA_ASSIGN_OR_RETURN(Block* const body, OnlyBlock(operation, 0, "scf.yield"));
    const size_t carried = operation.operands.size() - 3;
    Operation& yield = body->operations.back();
    if (operation.results.size() != carried || yield.operands.size() != carried ||
        body->arguments.size() != carried + 1) {
      return operation.Error("{} values are carried, {} results, {} yielded", carried, operation.results.size(),
                             yield.operands.size());
    }
    const ValueId upper = operation.operands[1], step = operation.operands[2];
    const Type counter = TypeOf(operation.operands[0]);
    Region condition;
    Block& test = condition.blocks.emplace_back();
    for (const ValueId argument : body->arguments) test.arguments.push_back(program_.NewValue(TypeOf(argument)));
    Operation compare = Make(operation, "stablehlo.compare", {test.arguments[0], upper});
    SetAttribute(compare.attributes, "comparison_direction", KeywordAttribute("LT"));
    Type truth = counter;
    truth.shape.set_element_type(ElementType::kPred);
    truth.index = false;
    compare.results = {program_.NewValue(truth)};
    Operation give = Make(operation, "stablehlo.return", compare.results);
    test.operations.push_back(std::move(compare));
    test.operations.push_back(std::move(give));

    Operation next = Make(operation, "stablehlo.add", {body->arguments[0], step});
    next.results = {program_.NewValue(counter)};
    yield.name = "stablehlo.return";
    yield.operands.insert(yield.operands.begin(), next.results[0]);
    body->operations.insert(body->operations.end() - 1, std::move(next));

    operation.name = "stablehlo.while";
    operation.operands.erase(operation.operands.begin() + 1, operation.operands.begin() + 3);
    operation.results.insert(operation.results.begin(), program_.NewValue(counter));
    operation.regions.insert(operation.regions.begin(), std::move(condition));
    return OkStatus();
  }

  // A bound: the operand that is next, or a constant in front.
  ValueId Bound(const Operation& operation, int64_t value, size_t& next, std::vector<Operation>& before) {
    if (value == kUnboundedSize) return operation.operands[next++];
    Operation constant = Make(operation, "arith.constant", {});
    Attribute attribute = IntegerAttribute(value);
    attribute.type = IndexType();
    constant.results = {program_.NewValue(attribute.type)};
    SetAttribute(constant.attributes, "value", std::move(attribute));
    before.push_back(std::move(constant));
    return before.back().results[0];
  }

  // One loop in another; the innermost body inserts each slice into what the loops carry.
  Status LowerForall(Operation& operation, std::vector<Operation>& before) {
    VXLA_ASSIGN_OR_RETURN(Block* const block, OnlyBlock(operation, 0, "scf.forall.in_parallel"));
    IntList lists[3];
    constexpr const char* kNames[] = {"staticLowerBound", "staticUpperBound", "staticStep"};
    size_t dynamic = 0;
    for (size_t i = 0; i < 3; ++i) {
      VXLA_ASSIGN_OR_RETURN(lists[i], operation.Ints(kNames[i]));
      dynamic += static_cast<size_t>(std::ranges::count(lists[i], kUnboundedSize));
    }
    const size_t rank = lists[1].size(), outs = operation.results.size();
    if (rank == 0 || lists[0].size() != rank || lists[2].size() != rank ||
        operation.operands.size() != dynamic + outs || block->arguments.size() != rank + outs) {
      return operation.Error("{} operands, {} arguments for {} loops and {} results", operation.operands.size(),
                             block->arguments.size(), rank, outs);
    }
    size_t next = 0;
    std::vector<ValueId> bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      for (const int64_t value : lists[i]) bounds[i].push_back(Bound(operation, value, next, before));
    }
    std::vector<ValueId> carried(operation.operands.begin() + static_cast<std::ptrdiff_t>(next),
                                 operation.operands.end());
    const int64_t number = ++foralls_;
    VXLA_RETURN_IF_ERROR(InsertSlices(operation, *block, rank, number));
    // From the inside out: the outermost takes the operation's place.
    Block body = std::move(*block);
    const std::vector<ValueId> arguments = body.arguments;
    for (size_t loop = rank; loop-- > 0;) {
      Operation made = Make(operation, "scf.for", {bounds[0][loop], bounds[1][loop], bounds[2][loop]});
      Block inner = std::move(body);
      inner.arguments = {arguments[loop]};
      std::vector<ValueId> outer;
      for (size_t i = 0; i < outs; ++i) {
        const Type type = TypeOf(operation.results[i]);
        // The innermost loop's arguments are those that the text names.
        inner.arguments.push_back(loop + 1 == rank ? arguments[rank + i] : inner_arguments_[i]);
        outer.push_back(loop == 0 ? carried[i] : program_.NewValue(type));
        made.results.push_back(loop == 0 ? operation.results[i] : program_.NewValue(type));
      }
      made.operands.insert(made.operands.end(), outer.begin(), outer.end());
      made.regions.emplace_back().blocks.push_back(std::move(inner));
      inner_arguments_ = outer;
      if (loop == 0) {
        operation = std::move(made);
        operation.forall = number;
        break;
      }
      Operation yield = Make(operation, "scf.yield", made.results);
      body = Block();
      body.operations.push_back(std::move(made));
      body.operations.push_back(std::move(yield));
    }
    return LowerFor(operation);
  }

  // A region that the importer cannot do for all elements at once: loops that insert one after the other.
  Status LowerGenerate(Operation& operation, std::vector<Operation>& before) {
    Block body = std::move(operation.regions[0].blocks[0]);
    const Type tensor = TypeOf(operation.results[0]);
    const size_t rank = body.arguments.size();
    Operation empty = Make(operation, "tensor.empty", operation.operands);
    empty.results = {program_.NewValue(tensor)};
    Operation loops = Make(operation, "scf.forall", operation.operands);
    loops.operands.push_back(empty.results[0]);
    loops.results = operation.results;
    before.push_back(std::move(empty));
    const auto sizes = tensor.shape.dimensions();
    SetAttribute(loops.attributes, "staticLowerBound", IntListAttribute(IntList(rank, 0)));
    SetAttribute(loops.attributes, "staticUpperBound", IntListAttribute(sizes));
    SetAttribute(loops.attributes, "staticStep", IntListAttribute(IntList(rank, 1)));
    body.arguments.push_back(program_.NewValue(tensor));
    // The element as a tensor without dimensions, which goes in where the indices are.
    Operation& end = body.operations.back();
    Operation element = Make(end, "tensor.from_elements", end.operands);
    Type scalar = tensor;
    scalar.shape = Shape(tensor.shape.element_type());
    element.results = {program_.NewValue(scalar)};
    Operation insert = Make(end, "tensor.parallel_insert_slice", {element.results[0], body.arguments[rank]});
    insert.operands.insert(insert.operands.end(), body.arguments.begin(), body.arguments.end() - 1);
    SetAttribute(insert.attributes, "static_offsets", IntListAttribute(IntList(rank, kUnboundedSize)));
    SetAttribute(insert.attributes, "static_sizes", IntListAttribute(IntList(rank, 1)));
    SetAttribute(insert.attributes, "static_strides", IntListAttribute(IntList(rank, 1)));
    Operation parallel = Make(end, "scf.forall.in_parallel", {});
    parallel.regions.emplace_back().blocks.emplace_back().operations.push_back(std::move(insert));
    body.operations.back() = std::move(element);
    body.operations.push_back(std::move(parallel));
    loops.regions.emplace_back().blocks.push_back(std::move(body));
    operation = std::move(loops);
    VXLA_RETURN_IF_ERROR(LowerForall(operation, before));
    return Run(operation);
  }

  // Each parallel_insert_slice is an insert_slice into what the one before gave, with the loop and the result that it
  // belongs to.
  Status InsertSlices(const Operation& operation, Block& block, size_t rank, int64_t number) {
    Operation parallel = std::move(block.operations.back());
    block.operations.pop_back();
    std::unordered_map<ValueId, ValueId> latest;
    for (Region& region : parallel.regions) {
      for (Block& inner : region.blocks) {
        for (Operation& insert : inner.operations) {
          if (insert.name != "tensor.parallel_insert_slice")
            return insert.NotSupported("only tensor.parallel_insert_slice stands in scf.forall.in_parallel");
          VXLA_RETURN_IF_ERROR(insert.ExpectOperandsAtLeast(2));
          const ValueId target = insert.operands[1];
          const auto first = block.arguments.begin() + static_cast<std::ptrdiff_t>(rank);
          const auto out = std::find(first, block.arguments.end(), target);
          if (out == block.arguments.end()) return insert.Error("the destination is none of the shared outs");
          insert.forall = number;
          insert.forall_result = out - first;
          if (const auto known = latest.find(target); known != latest.end()) insert.operands[1] = known->second;
          insert.results = {program_.NewValue(TypeOf(target))};
          latest[target] = insert.results[0];
          block.operations.push_back(std::move(insert));
        }
      }
    }
    Operation yield = Make(operation, "scf.yield", {});
    for (size_t i = rank; i < block.arguments.size(); ++i) {
      const auto known = latest.find(block.arguments[i]);
      yield.operands.push_back(known != latest.end() ? known->second : block.arguments[i]);
    }
    block.operations.push_back(std::move(yield));
    return OkStatus();
  }

  Program& program_;
  std::vector<ValueId> inner_arguments_;
  int64_t foralls_ = 0;
};

}  // namespace

bool HasEffect(const Operation& operation) {
  for (const std::string_view part : {"feed", "send", "recv", ".rng", "custom_call", "interpreter.", "check."}) {
    if (operation.name.find(part) != std::string::npos) return true;
  }
  return std::ranges::any_of(Inside(operation), HasEffect);
}

bool RunsForLanes(std::string_view name) {
  constexpr std::string_view kNames[] = {"tensor.cast", "tensor.dim",      "tensor.extract", "tensor.generate",
                                         "tensor.rank", "tensor.yield",    "scf.if",         "stablehlo.if",
                                         "scf.yield",   "stablehlo.return"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.starts_with("arith.");
}

Status LowerStructuredControl(Program& program) { return ControlLowering(program).Run(program.module); }

}  // namespace VXLA_NAMESPACE::mlir
