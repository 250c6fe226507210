#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/scans/scans.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kShortest = 4;

bool IsZero(const Instruction& i) {
  return i.shape().IsScalar() && i.known_literal() != nullptr && i.literal() == Literal(i.shape());
}

// The one number of a constant.
std::optional<Literal> NumberOf(const Instruction& i) {
  return i.known_literal() == nullptr ? std::nullopt : i.literal().OnlyNumber();
}

// Elements start, start + stride ... of one dimension, `count` of them, whole the others.
bool IsStrided(const Instruction& i, int dimension, int64_t start, int64_t stride, int64_t count) {
  if (i.opcode() != Opcode::kSlice || i.shape().dimension(dimension) != count) return false;
  const auto& slice = i.attributes<SliceAttributes>().slice;
  for (int d = 0; d < i.shape().rank(); ++d) {
    const SliceDimension& s = slice[d];
    if (d == dimension) {
      if (s.start != start || (count > 1 && s.stride != stride)) return false;
    } else if (i.shape().dimension(d) != i.operand(0)->shape().dimension(d)) {
      return false;
    }
  }
  return true;
}

// The values of one level for even and odd places, as they are laid between one another.
struct Interleaved {
  Instruction* first = nullptr;  // of the level's elements, one of them
  Instruction* even = nullptr;   // from place 2 on; null if there is none
  Instruction* odd = nullptr;
};

// Where an array that stands among others: zeros around each element of a dimension, and `low`, `high` at the ends.
bool IsSpread(const Instruction& i, int dimension, int64_t low, int64_t high) {
  if (i.opcode() != Opcode::kPad || !IsZero(*i.operand(1))) return false;
  const auto& padding = i.attributes<PadAttributes>().padding;
  for (size_t d = 0; d < padding.size(); ++d) {
    const PaddingDimension wanted =
        static_cast<int>(d) == dimension ? PaddingDimension{low, high, 1} : PaddingDimension{};
    if (padding[d] != wanted) return false;
  }
  return true;
}

std::optional<Interleaved> InterleavedOf(const Instruction& i, int dimension) {
  const bool joins =
      i.opcode() == Opcode::kAdd || (i.opcode() == Opcode::kOr && i.shape().element_type() == ElementType::kPred);
  if (!joins) return std::nullopt;
  const int64_t size = i.shape().dimension(dimension), odds = size / 2, evens = size - odds;
  if (odds == 0 || !IsSpread(*i.operand(0), dimension, 0, size - (2 * evens - 1)) ||
      !IsSpread(*i.operand(1), dimension, 1, size - 2 * odds))
    return std::nullopt;
  const Instruction* even = i.operand(0)->operand(0);
  Interleaved found{.odd = i.operand(1)->operand(0)};
  if (even->opcode() == Opcode::kConcatenate) {
    if (even->dimensions()[0] != dimension || even->operand_count() != 2) return std::nullopt;
    found.even = even->operand(1)->shape().ElementCount() > 0 ? even->operand(1) : nullptr;
    even = even->operand(0);
  }
  if ((evens > 1) != (found.even != nullptr) || !IsStrided(*even, dimension, 0, 1, 1)) return std::nullopt;
  found.first = even->operand(0);
  return found.first->shape().dimension(dimension) == size ? std::optional(found) : std::nullopt;
}

// The function that joins elements, as a graph: what is given for one array is a node, an element of the left or right
// side is one, an operation on nodes, a number.
struct Node {
  enum class Kind { kLeft, kRight, kNumber, kOperation };
  Kind kind = Kind::kOperation;
  IntList places;                          // of each dimension, where it lies in the result's; -1: of size 1
  size_t array = 0;                        // of elements
  std::optional<Literal> number;           // of numbers
  const Instruction* operation = nullptr;  // one of those that say it
  std::vector<size_t> operands;
};

struct Level {
  int64_t size = 0;
  std::vector<Instruction*> elements, results;  // by array; null: not needed, or not known yet
};

// What an array is a broadcast or a reshape of, where its dimensions keep their order, and where those lie then.
std::pair<Instruction*, IntList> Unspread(Instruction* i, IntList places) {
  while (i->opcode() == Opcode::kBroadcast || i->opcode() == Opcode::kReshape) {
    Instruction* const operand = i->operand(0);
    const int rank = operand->shape().rank();
    IntList inner(static_cast<size_t>(rank), -1);
    if (i->opcode() == Opcode::kBroadcast) {
      for (size_t d = 0; d < inner.size(); ++d) inner[d] = places[i->dimensions()[d]];
    } else {
      int at = 0;
      for (int d = 0; d < i->shape().rank(); ++d) {
        const int64_t size = i->shape().dimension(d);
        while (at < rank && operand->shape().dimension(at) == 1 && size != 1) ++at;
        if (at < rank && operand->shape().dimension(at) == size) {
          inner[at++] = places[d];
        } else if (size != 1) {
          return {i, std::move(places)};
        }
      }
    }
    i = operand;
    places = std::move(inner);
  }
  return {i, std::move(places)};
}

// Follows the recursion from one result down. What does not fit ends it.
class Recursion {
 public:
  Recursion(Instruction* root, int dimension) : root_(root), dimension_(dimension) {}

  bool Follow() {
    const auto top = InterleavedOf(*root_, dimension_);
    const int64_t size = root_->shape().dimension(dimension_);
    if (!top || size < kShortest) return false;
    for (int64_t n = size; n > 0; n /= 2) levels_.push_back({.size = n, .elements = {}, .results = {}});
    const auto below = InterleavedOf(*top->odd, dimension_);
    if (!below) return false;
    ArrayOf(top->first, UpTo(root_->shape().rank()));
    if (!Bind(levels_[0].results, 0, root_) || !ReadGiven(0, below->first)) return false;
    for (size_t l = 0; l < levels_.size(); ++l) {
      if (!FollowLevel(l)) return false;
    }
    for (size_t l = levels_.size(); l-- > 1;) {
      if (!JoinsNeighbours(l)) return false;
    }
    return std::ranges::all_of(given_, [](const auto& node) { return node.has_value(); });
  }

  int dimension() const { return dimension_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Instruction*>& arrays() const { return levels_[0].elements; }
  // Of each dimension of an array, where it lies in the result's; -1: it has size 1.
  const IntList& places(size_t array) const { return places_[array]; }
  size_t given(size_t array) const { return *given_[array]; }
  // Which of the arrays the other's root is the scan of, by the same function.
  std::optional<size_t> ArrayLike(const Recursion& other) const {
    for (size_t a = 0; a < arrays().size(); ++a) {
      if (dimension_ == other.dimension_ && places_[a] == places_[0] && arrays()[a] == other.arrays()[0] &&
          levels_[1].elements[a] == other.levels_[1].elements[0])
        return a;
    }
    return std::nullopt;
  }
  void EachInner(auto&& visit) const {
    for (size_t l = 1; l < levels_.size(); ++l) {
      for (const Instruction* i : levels_[l].results) {
        if (i != nullptr) visit(i);
      }
    }
  }

 private:
  static bool Bind(std::vector<Instruction*>& values, size_t array, Instruction* value) {
    if (values.size() <= array) values.resize(array + 1);
    if (values[array] == nullptr) values[array] = value;
    return values[array] == value;
  }

  // The number of one of the arrays that are scanned, 0 for the root's; none if it already lies elsewhere.
  std::optional<size_t> ArrayOf(Instruction* elements, const IntList& places) {
    auto& arrays = levels_[0].elements;
    const auto at = std::ranges::find(arrays, elements);
    const size_t array = static_cast<size_t>(at - arrays.begin());
    if (at == arrays.end()) {
      arrays.push_back(elements);
      places_.push_back(places);
      given_.emplace_back();
    }
    return places_[array] == places ? std::optional(array) : std::nullopt;
  }

  // The dimension along which an array is scanned; -1: none.
  int DimensionOf(const IntList& places) const {
    const auto at = std::ranges::find(places, dimension_);
    return at == places.end() ? -1 : static_cast<int>(at - places.begin());
  }
  int DimensionOf(size_t array) const { return DimensionOf(places_[array]); }

  // Reads the function that gives an array's elements of the level below the top.
  bool ReadGiven(size_t array, Instruction* joined) {
    const std::optional<size_t> node = Read(joined, places_[array]);
    if (!node) return false;
    given_[array] = *node;
    return true;
  }

  std::optional<size_t> Read(Instruction* spread, const IntList& spread_places) {
    auto [i, places] = Unspread(spread, spread_places);
    if (const auto known = read_.find(i); known != read_.end()) {
      return nodes_[known->second].places == places ? std::optional(known->second) : std::nullopt;
    }
    if (!i->shape().IsArray() || i->shape().IsDynamic()) return std::nullopt;
    Node node;
    const int64_t size = levels_[0].size, count = size / 2;
    const int dimension = DimensionOf(places);
    const bool sliced = i->opcode() == Opcode::kSlice && dimension >= 0;
    const bool left = sliced && IsStrided(*i, dimension, 0, 2, count),
               right = sliced && IsStrided(*i, dimension, 1, 2, count);
    if ((left || right) && i->operand(0)->shape().dimension(dimension) == size) {
      const std::optional<size_t> array = ArrayOf(i->operand(0), places);
      if (!array) return std::nullopt;
      node.kind = left ? Node::Kind::kLeft : Node::Kind::kRight;
      node.array = *array;
    } else if ((node.number = NumberOf(*i))) {
      node.kind = Node::Kind::kNumber;
    } else {
      if (!IsElementwise(i->opcode()) || !i->called().empty() || i->HasControlEdges()) return std::nullopt;
      node.operation = i;
      for (Instruction* operand : i->operands()) {
        const std::optional<size_t> read = Read(operand, operand->shape().IsScalar() ? IntList() : places);
        if (!read) return std::nullopt;
        node.operands.push_back(*read);
      }
    }
    node.places = std::move(places);
    nodes_.push_back(std::move(node));
    return read_[i] = nodes_.size() - 1;
  }

  // What a graph's elements are where it is said with other instructions.
  struct Sides {
    std::vector<Instruction*> left, right;
    std::unordered_map<const Instruction*, size_t> matched;
  };

  bool Matches(size_t number, Instruction* spread, const IntList& spread_places, Sides& sides) const {
    const auto [i, places] = Unspread(spread, spread_places);
    if (const auto known = sides.matched.find(i); known != sides.matched.end()) return known->second == number;
    const Node& node = nodes_[number];
    if (node.kind == Node::Kind::kNumber) return NumberOf(*i) == node.number;
    // It does not matter where a dimension of size 1 lies.
    if (!i->shape().IsArray() || places.size() != node.places.size()) return false;
    for (size_t d = 0; d < places.size(); ++d) {
      if (places[d] != node.places[d] && i->shape().dimension(d) != 1) return false;
    }
    if (node.kind == Node::Kind::kLeft) return Bind(sides.left, node.array, i);
    if (node.kind == Node::Kind::kRight) return Bind(sides.right, node.array, i);
    const Instruction& like = *node.operation;
    bool same = i->opcode() == like.opcode() && i->attributes() == like.attributes() && i->called().empty() &&
                !i->HasControlEdges() && i->shape().element_type() == like.shape().element_type() &&
                i->operands().size() == node.operands.size();
    for (size_t o = 0; same && o < node.operands.size(); ++o) {
      Instruction* const operand = i->operand(o);
      same = Matches(node.operands[o], operand, operand->shape().IsScalar() ? IntList() : places, sides);
    }
    if (same) sides.matched[i] = number;
    return same;
  }

  bool FollowLevel(size_t l) {
    Level& level = levels_[l];
    for (size_t array = 0; array < level.results.size(); ++array) {
      Instruction* const result = level.results[array];
      if (result == nullptr) continue;
      if (level.size == 1) {  // nothing to scan
        if (!Bind(level.elements, array, result)) return false;
        continue;
      }
      const auto parts = InterleavedOf(*result, DimensionOf(array));
      if (!parts || !Bind(level.elements, array, parts->first) || !Bind(levels_[l + 1].results, array, parts->odd))
        return false;
      if (l == 1 && !given_[array] && !ReadGiven(array, parts->first)) return false;
      if (parts->even != nullptr && !JoinsPlaces(l, array, parts->even)) return false;
    }
    for (size_t array = 0; l == 1 && array < level.elements.size(); ++array) {
      if (level.elements[array] != nullptr && !given_[array] && !ReadGiven(array, level.elements[array])) return false;
    }
    return true;
  }

  // The results of even places join those of the odd places before them with the elements there.
  bool JoinsPlaces(size_t l, size_t array, Instruction* even) {
    Level& level = levels_[l];
    const int64_t evens = level.size - level.size / 2 - 1, odds = level.size / 2;
    if (array >= given_.size() || !given_[array]) return false;
    Sides sides;
    if (!Matches(*given_[array], even, places_[array], sides)) return false;
    for (size_t a = 0; a < sides.left.size(); ++a) {
      Instruction* value = sides.left[a];
      if (value == nullptr) continue;
      if (evens < odds) {
        if (!IsStrided(*value, DimensionOf(a), 0, 1, evens)) return false;
        value = value->operand(0);
      }
      if (value->shape().dimension(DimensionOf(a)) != odds || !Bind(levels_[l + 1].results, a, value)) return false;
    }
    for (size_t a = 0; a < sides.right.size(); ++a) {
      Instruction* const value = sides.right[a];
      if (value == nullptr) continue;
      if (!IsStrided(*value, DimensionOf(a), 2, 2, evens) || !Bind(level.elements, a, value->operand(0)) ||
          value->operand(0)->shape().dimension(DimensionOf(a)) != level.size)
        return false;
    }
    return true;
  }

  // The elements of a level join neighbours of the level above.
  bool JoinsNeighbours(size_t l) {
    Level &level = levels_[l], &above = levels_[l - 1];
    for (size_t array = 0; array < level.elements.size(); ++array) {
      Instruction* const joined = level.elements[array];
      if (joined == nullptr) continue;
      if (array >= given_.size() || !given_[array]) return false;
      Sides sides;
      if (!Matches(*given_[array], joined, places_[array], sides)) return false;
      for (const bool right : {false, true}) {
        const auto& side = right ? sides.right : sides.left;
        for (size_t a = 0; a < side.size(); ++a) {
          if (side[a] == nullptr) continue;
          if (!IsStrided(*side[a], DimensionOf(a), right ? 1 : 0, 2, level.size) ||
              side[a]->operand(0)->shape().dimension(DimensionOf(a)) != above.size ||
              !Bind(above.elements, a, side[a]->operand(0)))
            return false;
        }
      }
    }
    return true;
  }

  Instruction* root_;
  int dimension_;
  std::vector<Level> levels_;
  std::vector<Node> nodes_;
  std::vector<IntList> places_;               // by array
  std::vector<std::optional<size_t>> given_;  // by array
  std::unordered_map<const Instruction*, size_t> read_;
};

// Where a program lays results among zeros, -0 becomes +0.
Instruction* AmongZeros(Expansion& at, Instruction* value) {
  const ElementType type = value->shape().element_type();
  return IsFloating(type) || IsComplex(type) ? at.Plus(value, at.Zeros(value->shape())) : value;
}

class RunningWindowWriter : private Expansion {
 public:
  RunningWindowWriter(Module& module, Computation& computation, Instruction* root)
      : Expansion(computation, root), module_(module) {}

  // The results by array; none where the function is known not to associate, so that the recursion's order counts.
  std::vector<Instruction*> Write(const Recursion& scan) {
    Computation* reducer = Plain(scan);
    if (OrderOf(*reducer) == CombinerOrder::kInOrder) return {};
    const IntList sizes = SizesOf(scan.arrays()[0]->shape());
    std::vector<Instruction*> operands, initial;
    for (size_t a = 0; a < scan.arrays().size(); ++a)
      operands.push_back(Whole(scan.arrays()[a], scan.places(a), sizes));
    const auto identity = FactsOfReducer(*reducer).identity;
    if (operands.size() == 1 && SingleOperation(*reducer) && identity) {
      const ElementType type = operands[0]->shape().element_type();
      initial.push_back(Constant(IsNarrowFloat(type) ? Literal::Scalar(type, identity->GetDouble(0)) : *identity));
    } else {
      operands.push_back(Spread(Number(ElementType::kPred, 1), sizes));
      reducer = Marked(scan);
      for (const Instruction* operand : operands)
        initial.push_back(Constant(Literal(Shape(operand->shape().element_type()))));
    }
    WindowAttributes attributes;
    attributes.window.resize(sizes.size());
    const int64_t size = sizes[scan.dimension()];
    attributes.window[scan.dimension()] = {.size = size, .pad_low = size - 1};
    std::vector<Shape> shapes;
    for (const Instruction* operand : operands) shapes.emplace_back(operand->shape().element_type(), sizes);
    const size_t count = operands.size();
    operands.insert(operands.end(), initial.begin(), initial.end());
    Instruction* const window =
        Add(Opcode::kReduceWindow, count > 1 ? Shape::Tuple(shapes) : shapes[0], operands, attributes, {reducer});
    if (count == 1) return {AmongZeros(*this, window)};
    std::vector<Instruction*> results;
    for (size_t k = 0; k + 1 < count; ++k) results.push_back(Element(window, static_cast<int64_t>(k)));
    return results;
  }

 private:
  using Scalars = std::vector<Instruction*>;

  // An array in the sizes of the result.
  Instruction* Whole(Instruction* array, const IntList& places, const IntList& sizes) {
    if (SizesOf(array->shape()) == sizes) return array;
    DimensionsAttributes attributes;
    IntList kept;
    for (int64_t place : places) {
      if (place < 0) continue;
      attributes.dimensions.push_back(place);
      kept.push_back(sizes[place]);
    }
    return Add(Opcode::kBroadcast, Shape(array->shape().element_type(), sizes), {Reshaped(array, kept)}, attributes);
  }

  // The elements of one side as parameters.
  static Scalars Side(Computation& in, const Recursion& scan, size_t first) {
    Scalars side;
    for (const Instruction* array : scan.arrays()) {
      side.push_back(
          Expansion(in).Parameter(Shape(array->shape().element_type()), static_cast<int64_t>(first + side.size())));
    }
    return side;
  }

  static Scalars Joined(Computation& in, const Recursion& scan, const Scalars& left, const Scalars& right) {
    Scalars values;
    for (const Node& node : scan.nodes()) {
      if (node.kind == Node::Kind::kLeft || node.kind == Node::Kind::kRight) {
        values.push_back((node.kind == Node::Kind::kLeft ? left : right)[node.array]);
      } else if (node.kind == Node::Kind::kNumber) {
        values.push_back(Expansion(in).Constant(*node.number));
      } else {
        Scalars operands;
        for (size_t o : node.operands) operands.push_back(values[o]);
        const Instruction& like = *node.operation;
        values.push_back(in.Add(like.opcode(), Shape(like.shape().element_type()), operands, like.attributes()));
      }
    }
    Scalars results;
    for (size_t a = 0; a < scan.arrays().size(); ++a) results.push_back(values[scan.given(a)]);
    return results;
  }

  Computation* Plain(const Recursion& scan) {
    Computation& reducer = *module_.AddComputation("join");
    const Scalars left = Side(reducer, scan, 0), right = Side(reducer, scan, left.size());
    reducer.set_root(Expansion(reducer).Together(Joined(reducer, scan, left, right)));
    return &reducer;
  }

  // Where one side is an initial value, the other one.
  Computation* Marked(const Recursion& scan) {
    Computation& reducer = *module_.AddComputation("join_elements");
    const size_t count = scan.arrays().size();
    Expansion in(reducer);
    const auto mark = [&](size_t number) {
      return in.Parameter(Shape(ElementType::kPred), static_cast<int64_t>(number));
    };
    const Scalars left = Side(reducer, scan, 0);
    Instruction* const in_left = mark(count);
    const Scalars right = Side(reducer, scan, count + 1);
    Instruction* const in_right = mark(2 * count + 1);
    Expansion at_end(reducer, instruction());
    Scalars results;
    for (size_t a = 0; Instruction * joined : Joined(reducer, scan, left, right)) {
      const Shape& shape = joined->shape();
      // Of two initial values the sum, so that these change nothing whatever they are joined with: a window may fold
      // them as often as it likes.
      const Opcode both = shape.element_type() == ElementType::kPred ? Opcode::kOr : Opcode::kAdd;
      Instruction* const neither = in.Add(both, shape, {left[a], right[a]});
      Instruction* const with_left = in.Select(in_right, joined, left[a]);
      Instruction* const without = in.Select(in_right, right[a], neither);
      results.push_back(AmongZeros(at_end, in.Select(in_left, with_left, without)));
      ++a;
    }
    results.push_back(in.Or(in_left, in_right));
    reducer.set_root(in.TupleOf(std::move(results)));
    return &reducer;
  }

  Module& module_;
};

std::optional<Recursion> RecursionOf(Instruction& i) {
  if (!i.shape().IsArray() || i.shape().IsDynamic() || i.operand_count() != 2) return std::nullopt;
  for (int d = 0; d < i.shape().rank(); ++d) {
    if (!InterleavedOf(i, d)) continue;
    if (Recursion recursion(&i, d); recursion.Follow()) return recursion;
  }
  return std::nullopt;
}

bool FindIn(Module& module, Computation& computation) {
  struct Root {
    Instruction* instruction;
    Recursion recursion;
  };
  std::vector<Root> roots;
  std::unordered_map<const Instruction*, int64_t> order, depth;
  for (const auto& i : computation.instructions()) {
    order[i.get()] = static_cast<int64_t>(order.size());
    int64_t& deep = depth[i.get()];
    for (const Instruction* operand : i->operands()) deep = std::max(deep, depth[operand] + 1);
    if (auto recursion = RecursionOf(*i)) roots.push_back({i.get(), *std::move(recursion)});
  }
  std::unordered_set<const Instruction*> inner;
  for (const Root& root : roots) root.recursion.EachInner([&](const Instruction* i) { inner.insert(i); });
  std::erase_if(roots, [&](const Root& root) { return inner.contains(root.instruction); });
  // A scan of several arrays gives what a scan of some of them gives.
  std::ranges::stable_sort(roots, std::ranges::greater{},
                           [](const Root& root) { return root.recursion.arrays().size(); });
  bool changed = false;
  std::vector<bool> done(roots.size());
  for (size_t r = 0; r < roots.size(); ++r) {
    if (done[r]) continue;
    const Recursion& scan = roots[r].recursion;
    std::vector<std::pair<size_t, size_t>> together;  // roots, and the array that each is of
    size_t first = r;
    for (size_t s = r; s < roots.size(); ++s) {
      const auto array = done[s] ? std::nullopt : scan.ArrayLike(roots[s].recursion);
      // None of the arrays may follow from this root.
      const bool apart = array && std::ranges::all_of(scan.arrays(), [&](const Instruction* elements) {
                           return depth.at(elements) < depth.at(roots[s].instruction);
                         });
      if (!apart) continue;
      together.emplace_back(s, *array);
      if (order.at(roots[s].instruction) < order.at(roots[first].instruction)) first = s;
    }
    const auto results = RunningWindowWriter(module, computation, roots[first].instruction).Write(scan);
    if (results.empty()) continue;
    for (const auto& [s, array] : together) {
      computation.ReplaceAllUses(roots[s].instruction, results[array]);
      done[s] = changed = true;
    }
  }
  if (changed) computation.SortTopologically();
  return changed;
}

}  // namespace

int ArraysOfScan(Instruction& result) {
  const auto recursion = RecursionOf(result);
  return recursion ? static_cast<int>(recursion->arrays().size()) : 0;
}

const Instruction* JoinedNeighboursOf(const Instruction& instruction, int d) {
  const auto top = InterleavedOf(instruction, d);
  if (!top || instruction.shape().dimension(d) < kShortest) return nullptr;
  const auto below = InterleavedOf(*top->odd, d);
  return below ? below->first : nullptr;
}

bool FindAssociativeScans(Module& module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) changed |= FindIn(module, *computation);
  module.RemoveUnusedComputations();  // functions that were looked at too
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
