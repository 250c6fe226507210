#include "core/mlir/rewrite/region_invariants.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace VXLA_NAMESPACE::mlir {
namespace {

bool HasScalarRegions(std::string_view name) {
  const auto opcode = ParseOpcode(name.substr(name.find('.') + 1), &OpcodeFacts::stablehlo_text);
  return name.starts_with("stablehlo.") && opcode && Has(*opcode, Trait::kOnScalars);
}

using Values = std::unordered_set<ValueId>;

class Hoister {
 public:
  explicit Hoister(Program& program) : program_(program) {}

  void Run(Operation& operation) {
    for (Region& region : operation.regions) {
      for (Block& block : region.blocks) {
        for (size_t i = 0; i < block.operations.size(); ++i) {
          Run(block.operations[i]);
          if (!HasScalarRegions(block.operations[i].name)) continue;
          std::vector<Operation> before;
          for (Region& inner : block.operations[i].regions) Hoist(inner, before);
          const size_t moved = before.size();
          block.operations.insert(block.operations.begin() + static_cast<ptrdiff_t>(i),
                                  std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
          i += moved;
        }
      }
    }
  }

 private:
  static void Define(const Region& region, Values& values) {
    for (const Block& block : region.blocks) {
      values.insert(block.arguments.begin(), block.arguments.end());
      for (const Operation& operation : block.operations) {
        values.insert(operation.results.begin(), operation.results.end());
        for (const Region& inner : operation.regions) Define(inner, values);
      }
    }
  }

  // Whether any operand, of the operations in its regions too, is not of `values`, and an array.
  bool TakesArray(const Operation& operation, const Values& values) const {
    return AnyOperand(operation, [&](ValueId v) {
      const Type& type = program_.values[v].type;
      return !values.contains(v) && type.kind == Type::Kind::kShape && type.shape.IsArray() && type.shape.rank() > 0;
    });
  }

  void Hoist(Region& region, std::vector<Operation>& before) const {
    Values inside;
    Define(region, inside);
    if (region.blocks.size() != 1) return;
    std::vector<Operation>& operations = region.blocks[0].operations;
    if (std::ranges::none_of(operations, [&](const Operation& o) { return TakesArray(o, inside); })) return;
    std::vector<Operation> left;
    for (Operation& operation : operations) {
      Values own;
      for (const Region& inner : operation.regions) Define(inner, own);
      for (const ValueId value : own) inside.erase(value);
      const bool stays =
          operation.results.empty() || AnyOperand(operation, [&](ValueId v) { return inside.contains(v); });
      if (!stays) {
        for (const ValueId result : operation.results) inside.erase(result);
      }
      (stays ? left : before).push_back(std::move(operation));
    }
    operations = std::move(left);
  }

  Program& program_;
};

}  // namespace

void HoistRegionInvariants(Program& program) { Hoister(program).Run(program.module); }

}  // namespace VXLA_NAMESPACE::mlir
