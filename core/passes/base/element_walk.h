// Element walks: from an instruction to those that it is made of, element by element, and where each of them is read.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/instruction.h"
#include "core/maps/index_map.h"

namespace VXLA_NAMESPACE {

// From an instruction to one that it is made of: which operand leads there, at each link.
using OperandPath = std::vector<std::pair<const Instruction*, int>>;

// f32, f16 or bf16.
bool IsRealFloat(const Instruction& i);
// Moves the elements, all of them once, or changes their type among those.
bool OnlyMoves(const Instruction& i);
// Follows what only moves; the path grows.
const Instruction* Follow(const Instruction* i, OperandPath* path);
// Where the path's end is read when its first instruction is wanted at `index`.
MultiIndex Walk(IndexSpace& space, const OperandPath& path, MultiIndex index);
// The number that a scalar floating constant, broadcast and moved as it may be, has in every element.
std::optional<double> SplatOf(const Instruction& i);

// A dot of such floats whose sums are f32.
bool IsPlainProduct(const Instruction& i);
// Whether it is made, element by element, of a product of as many elements.
bool IsMadeOfProduct(const Instruction& i);
// The products that a value is made of, element by element, and all that is on the way to them, itself among it. Of
// many products or links it tells too little.
class ProductWalk {
 public:
  // Of so many elements, and products at most: others are read from memory.
  ProductWalk(int64_t elements, size_t most_products) : elements_(elements), most_products_(most_products) {}
  // Whether a product feeds the value; asked of it first.
  bool Reaches(const Instruction* i);
  bool IsReached(const Instruction* i) const;
  std::vector<const Instruction*> Reached() const;
  // Whether each is read at one place where the first, wanted at `index`, is made; places and paths are known then.
  bool OnePlaceEach(IndexSpace& space, const Instruction* first, const MultiIndex& index);
  const MultiIndex& PlaceOf(const Instruction* i) const { return places_.at(i); }
  const OperandPath& PathTo(const Instruction* i) const { return paths_.at(i); }
  const std::vector<const Instruction*>& products() const { return products_; }

 private:
  const int64_t elements_;
  const size_t most_products_;
  std::vector<const Instruction*> products_;
  std::unordered_map<const Instruction*, bool> reaches_;
  std::unordered_map<const Instruction*, MultiIndex> places_;
  std::unordered_map<const Instruction*, OperandPath> paths_;
};
// A reduction of one such array with this operation, its sums f32, from what leaves it alone.
bool IsReductionBy(const Instruction& i, Opcode operation, double identity);
// Of such a reduction by sum, maximum or minimum: the operation.
std::optional<Opcode> PlainReductionOf(const Instruction& i);
// What a reduction reads for its result at `index`: `along` counts what is reduced.
MultiIndex ReducedIndex(IndexSpace& space, const Instruction& reduce, const MultiIndex& index,
                        const IndexExpression& along);
bool Mentions(const MultiIndex& index, int variable);

// Of a mask that is joined by `and` of comparisons, among others: the first comparison that is accepted, which has to
// hold for the mask to hold. The path, from wherever it began, goes on to it.
using AcceptComparison = std::function<bool(const Instruction& compare, const OperandPath& path)>;
std::optional<std::pair<const Instruction*, OperandPath>> FindComparison(const Instruction* mask, OperandPath path,
                                                                         const AcceptComparison& accept);
// Where two places are compared by order, at an index of the comparison: what is large where the comparison holds.
std::optional<IndexExpression> ComparedPlaces(IndexSpace& space, const Instruction& compare, const MultiIndex& index);

}  // namespace VXLA_NAMESPACE
