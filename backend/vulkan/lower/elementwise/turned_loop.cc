// Fused loops that read operands across, through tiles in shared memory: transposes on GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// An operand, as it stands inside the fusion, and where a result reads it.
struct OperandRead {
  const Instruction* inside;
  MultiIndex index;
};

// What a reshape gives lies in memory as what it is given.
const Instruction& BeforeReshapes(const FusionDescription& body, const Instruction& root) {
  const Instruction* at = &root;
  while (at->opcode() == Opcode::kReshape && body.OperandOf(*at) == nullptr) at = at->operand(0);
  return *at;
}

// The reads of operands that plain maps lead to, in one order whatever the index; others are written where they are
// needed.
class ReadFinder {
 public:
  ReadFinder(const FusionDescription& body, IndexSpace& space, const MultiIndex& index) : body_(body), space_(space) {
    for (const Instruction* root : body.roots) Visit(BeforeReshapes(body, *root), index);
  }
  const std::vector<OperandRead>& reads() const { return reads_; }

 private:
  void Visit(const Instruction& at, const MultiIndex& index) {
    if (++visits_ > kMostVisits) return;
    if (body_.OperandOf(at) != nullptr) return reads_.push_back({&at, index});
    if (!IsPlainMap(at)) return;
    for (int k = 0; k < at.operand_count(); ++k) Visit(*at.operand(k), OperandIndex(space_, at, k, index));
  }

  // A body of more is no transpose with something around it.
  static constexpr int kMostVisits = 512;
  const FusionDescription& body_;
  IndexSpace& space_;
  std::vector<OperandRead> reads_;
  int visits_ = 0;
};

// Whether elements of the operand lie side by side along t, and far apart along x.
bool LiesAcross(const IndexExpression& linear, int x, int t) {
  bool far = false, near = false;
  for (const IndexTerm& term : linear.terms) {
    if (term.variable != x && term.variable != t) continue;
    if (term.divisor != 1 || term.modulus != 0) return false;
    if (term.variable == x) far = std::abs(term.coefficient) > 1;
    if (term.variable == t) near = term.coefficient == 1;
  }
  return far && near;
}

struct AcrossReads {
  std::vector<size_t> numbers;
  int64_t bytes = 0;  // in shared memory, of one element of each
};
// Which reads lie across along dimensions x and t of the results; an element that is read twice once.
AcrossReads ReadsAcross(const FusionDescription& body, size_t x, size_t t) {
  IndexSpace space;
  MultiIndex index;
  std::vector<int> variables;
  for (int64_t size : BeforeReshapes(body, *body.roots[0]).shape().dimensions()) {
    variables.push_back(space.AddVariable(size));
    index.push_back(space.Variable(variables.back()));
  }
  const ReadFinder finder(body, space, index);
  std::vector<std::pair<const Instruction*, IndexExpression>> known;
  AcrossReads across;
  for (size_t n = 0; n < finder.reads().size(); ++n) {
    const OperandRead& read = finder.reads()[n];
    std::pair place(read.inside, space.Linearize(read.index, read.inside->shape().dimensions()));
    if (!LiesAcross(place.second, variables[x], variables[t]) || std::ranges::find(known, place) != known.end())
      continue;
    known.push_back(std::move(place));
    across.numbers.push_back(n);
    across.bytes += std::max(StorageBytes(read.inside->shape().element_type()), 4);
  }
  return across;
}

class TurnedLoopWriter {
 public:
  TurnedLoopWriter(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, const Turn& turn)
      : body_(body),
        buffers_(buffers),
        turn_(turn),
        dimensions_(DimensionsOf(BeforeReshapes(body, *body.roots[0]))),
        context_(context),
        kernel_(context.facts) {
    for (size_t d = 0; d < dimensions_.size(); ++d)
      groups_.push_back(d == turn_.x || d == turn_.t ? 1 : dimensions_[d]);
    const int64_t tile = turn_.shape.tile;
    for (size_t d : {turn_.t, turn_.x}) groups_[d] = CeilDivide(dimensions_[d], tile);
  }

  Step Write() {
    const TurnShape& shape = turn_.shape;
    const int64_t groups = ElementCountOf(groups_);
    kernel_.Param(groups);
    kernel_.Append("#define TURNS {}u\n", shape.tile / shape.lanes_y);
    WriteStage();
    WriteResult();
    return kernel_.Finish(StepName(body_), "elementwise/turned_loop.comp", {shape.tile / shape.width, shape.lanes_y, 1},
                          groups);
  }

 private:
  static IntList DimensionsOf(const Instruction& result) {
    return {result.shape().dimensions().begin(), result.shape().dimensions().end()};
  }
  // A function over a tile: groups of `width` neighbours along one dimension, single elements along the other.
  struct Function : Hook {
    using Hook::Hook;
    MultiIndex first;  // the index of the group's first element
  };
  Function Begin(size_t along, size_t across) {
    return Function(kernel_, body_, buffers_,
                    {{"group", ElementCountOf(groups_)},
                     {"a", dimensions_[along] / turn_.shape.width},
                     {"b", dimensions_[across]}});
  }
  void Open(Function& f, size_t along, size_t across) {
    const TurnShape& shape = turn_.shape;
    const MultiIndex tiles = f.space.Delinearize(f.at(0), groups_);
    const auto place = [&](size_t d, const char* name, const char* of, int64_t tile) {
      f.writer.Line("uint {} = {} * {}u + {};", name, f.writer.Index(tiles[d]), tile, of);
    };
    place(along, "a", "along", shape.tile / shape.width);
    place(across, "b", "across", shape.tile);
    if (shape.width > 1) f.writer.Vectorize(1, static_cast<int>(shape.width));
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      f.first.push_back(d == along ? f.Nth(1, shape.width, 0) : d == across ? f.at(2) : tiles[d]);
    }
    std::string inside;
    for (const auto& [name, d, width] : {std::tuple("a", along, int64_t{shape.width}), {"b", across, int64_t{1}}}) {
      if (dimensions_[d] % shape.tile == 0) continue;
      const std::string size = kernel_.Param(dimensions_[d] / width);
      inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", name, size);
    }
    f.writer.OpenBlock(inside.empty() ? "" : fmt::format("if ({})", inside));
  }
  MultiIndex Nth(Function& f, size_t along, int64_t j) const {
    MultiIndex index = f.first;
    index[along] = f.space.Add(index[along], {{}, j});
    return index;
  }
  void End(Function& f, const char* name) {
    f.writer.CloseBlock();
    f.Define(fmt::format("void {}(uint group, uint along, uint across)", name));
  }

  void WriteStage() {
    Function f = Begin(turn_.t, turn_.x);
    Open(f, turn_.t, turn_.x);
    std::vector<std::string> stores;
    for (int64_t j = 0; j < turn_.shape.width; ++j) {
      const ReadFinder finder(body_, f.space, Nth(f, turn_.t, j));
      for (size_t n = 0; n < turn_.reads.size(); ++n) {
        const OperandRead& read = finder.reads().at(turn_.reads[n]);
        if (j == 0) {
          kernel_.Append("shared {} tile_{}[{}u];\n", CarrierType(read.inside->shape().element_type()), n,
                         turn_.shape.tile * Stride());
        }
        stores.push_back(fmt::format("tile_{}[across * {}u + along * {}u + {}u] = {};", n, Stride(), turn_.shape.width,
                                     j, f.writer.Value(*read.inside, read.index)));
      }
    }
    for (const std::string& store : stores) f.writer.Line(store);
    End(f, "stage");
  }

  void WriteResult() {
    Function f = Begin(turn_.x, turn_.t);
    Open(f, turn_.x, turn_.t);
    std::vector<std::vector<std::string>> values(body_.roots.size());
    for (int64_t j = 0; j < turn_.shape.width; ++j) {
      const MultiIndex index = Nth(f, turn_.x, j);
      const ReadFinder finder(body_, f.space, index);
      for (size_t n = 0; n < turn_.reads.size(); ++n) {
        const OperandRead& read = finder.reads().at(turn_.reads[n]);
        const std::string held =
            fmt::format("tile_{}[(along * {}u + {}u) * {}u + across]", n, turn_.shape.width, j, Stride());
        f.writer.Override(*read.inside, read.index, f.writer.Assignable(read.inside->shape().element_type(), held));
      }
      for (size_t leaf = 0; leaf < values.size(); ++leaf)
        values[leaf].push_back(f.writer.Value(BeforeReshapes(body_, *body_.roots[leaf]), index));
    }
    const IndexExpression first = f.space.Linearize(f.first, dimensions_);
    for (size_t leaf = 0; leaf < values.size(); ++leaf)
      f.writer.StoreGroup(f.writer.ResultTensor(static_cast<int>(leaf)), first, values[leaf]);
    End(f, "result");
  }

  // One more than the tile: neither rows nor columns share a bank of shared memory.
  uint32_t Stride() const { return turn_.shape.tile + 1; }

  const FusionDescription& body_;
  BufferMap& buffers_;
  const Turn& turn_;
  const IntList dimensions_;
  const LowerContext& context_;
  KernelBuilder kernel_;
  IntList groups_;  // by dimension: tiles of x and t, places of the others
};

}  // namespace

int64_t AcrossRowOf(const FusionDescription& body) {
  if (body.hero != nullptr) return 0;
  const Shape& shape = body.roots.at(0)->shape();
  const auto as_it_lies = [&](const Instruction* root) {
    return SameDimensions(BeforeReshapes(body, *root).shape(), shape);
  };
  if (!std::ranges::all_of(body.roots, as_it_lies)) return 0;
  std::vector<size_t> last;  // the last of them first
  for (size_t d = shape.dimensions().size(); d-- > 0 && last.size() < 2;) {
    if (shape.dimensions()[d] > 1) last.push_back(d);
  }
  return last.size() == 2 && !ReadsAcross(body, last[0], last[1]).numbers.empty() ? shape.dimensions()[last[0]] : 0;
}

std::optional<Turn> TurnOf(const LowerContext& context, const FusionDescription& body) {
  const Shape& shape = BeforeReshapes(body, *body.roots.at(0)).shape();
  const auto same = [&](const Instruction* root) { return SameDimensions(BeforeReshapes(body, *root).shape(), shape); };
  if (context.facts.costs.accesses_by_lane || shape.ElementCount() > kMaxElements ||
      !std::ranges::all_of(body.roots, same))
    return std::nullopt;
  Turn best;
  int64_t bytes = 0;
  for (size_t d = 0; d < shape.dimensions().size(); ++d) {
    if (shape.dimensions()[d] > 1) best.x = d;
  }
  for (size_t t = 0; t < best.x; ++t) {
    if (shape.dimensions()[t] == 1) continue;
    AcrossReads reads = ReadsAcross(body, best.x, t);
    if (reads.numbers.size() <= best.reads.size()) continue;
    best.t = t;
    best.reads = std::move(reads.numbers);
    bytes = reads.bytes;
  }
  if (best.reads.empty()) return std::nullopt;
  const auto small = [](const Instruction* value) { return StorageBytes(value->shape().element_type()) <= 4; };
  const auto tuned = TuneTurn(context.facts, {.elements = shape.ElementCount(),
                                              .x = shape.dimensions()[best.x],
                                              .t = shape.dimensions()[best.t],
                                              .bytes = bytes,
                                              .groups = std::ranges::all_of(body.instruction->operands(), small) &&
                                                        std::ranges::all_of(body.roots, small)});
  if (!tuned) return std::nullopt;
  best.shape = *tuned;
  return best;
}

Step LowerTurnedLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, const Turn& turn) {
  return TurnedLoopWriter(context, body, buffers, turn).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
