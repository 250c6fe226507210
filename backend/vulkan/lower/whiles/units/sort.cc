// Sorts inside a loop that one workgroup runs. What moves is the positions of the elements in their row: short blocks
// are ordered by counting what comes before each element, then blocks are merged two by two, each element finding its
// place in the other block by halving. Equal elements keep their order.
#include <fmt/format.h>

#include <bit>
#include <map>

#include "backend/vulkan/lower/sort/sort_kernels.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Rows of so many elements are one block; longer ones are cut into blocks of half.
constexpr int64_t kLongestBlock = 32;

int64_t BlockOf(int64_t length) { return length <= kLongestBlock ? length : kLongestBlock / 2; }
int64_t CountOf(const SortWork& work) { return work.rows * work.length; }

class LoopSortWriter : CodeWriter {
 public:
  LoopSortWriter(const SortWork& work, std::span<const BufferSlice> scratch, const LoopUnit& unit)
      : work_(work),
        count_(CountOf(work)),
        block_(BlockOf(work.length)),
        unit_(unit),
        kernel_(unit.kernel),
        positions_(kernel_.AddBuffer(ElementType::kU32, Access::kReadWrite, scratch[0])) {
    if (work.order.key_words > 0) keys_ = kernel_.AddBuffer(ElementType::kU32, Access::kReadWrite, scratch[1]);
    for (const int k : work_.order.operands) AddOperand(k);
  }

  Code Write() {
    AppendOrder();
    Add(unit_.OwnRows(work_.rows));
    if (keys_ >= 0) {
      WriteKeys();
      Wait();
    }
    WriteBlocks();
    if (block_ < work_.length) WriteMerges();
    Wait();
    WriteResults();
    return Take();
  }

 private:
  std::string Named(std::string_view name) const { return fmt::format("{}_{}", name, unit_.number); }
  std::string KeyType() const {
    const int words = work_.order.key_words;
    return words == 0 ? Named("Key") : words == 1 ? "uint" : fmt::format("uvec{}", words);
  }
  void Wait() { Barrier(unit_.waits_for_grid()); }
  void OpenTurns(int64_t count) { OpenBlock(unit_.Turns("p", count, work_.rows)); }
  std::string RowOf(const std::string& place) const {
    return work_.rows == 1 ? "0u" : fmt::format("{} / {}u * {}u", place, work_.length, work_.length);
  }

  void AddOperand(int k) {
    if (operands_.contains(k)) return;
    const auto at = static_cast<size_t>(k);
    operands_[k] = kernel_.AddBuffer(work_.types[at], Access::kRead, work_.operands[at]);
  }

  // Where the element of number p, row by row, lies in operands and results.
  std::string PlaceOf(const std::string& p) const {
    if (work_.stride == 1) return p;
    // p = (outer * stride + inner) * length + e; the place is (outer * length + e) * stride + inner.
    return fmt::format("{0}({1})", Named("place_of"), p);
  }

  // The order's functions under names of this unit's own.
  void AppendOrder() {
    std::vector<std::string> names{"make_key", "before", "comparator"};
    for (int i = 0; i < 4; ++i) names.push_back(fmt::format("key_value_{}", i));
    if (keys_ < 0) names.emplace_back("Key");
    for (const std::string& name : names) kernel_.Append("#define {} {}\n", name, Named(name));
    kernel_.Append(work_.order.text);
    if (keys_ >= 0) names.emplace_back("Key");
    for (const std::string& name : names) kernel_.Append("#undef {}\n", name);
    if (work_.stride > 1) {
      kernel_.Append(
          "uint {0}(uint p) {{\n  uint row = p / {1}u, e = p - row * {1}u, outer = row / {2}u;\n"
          "  return (outer * {1}u + e) * {2}u + (row - outer * {2}u);\n}}\n",
          Named("place_of"), work_.length, work_.stride);
    }
    AppendKeyAt();
  }

  // Of the element of number p.
  void AppendKeyAt() {
    std::string value;
    std::vector<std::string> parts;
    if (keys_ < 0) {
      for (const int k : work_.order.operands) parts.push_back(kernel_.Load(operands_.at(k), "place"));
      value = fmt::format("  uint place = {};\n  return {}({});\n", PlaceOf("p"), Named("make_key"),
                          fmt::join(parts, ", "));
    } else {
      for (int i = 0; i < work_.order.key_words; ++i)
        parts.push_back(kernel_.Load(keys_, fmt::format("{}u + p", i * count_)));
      value = fmt::format("  return {}({});\n", KeyType(), fmt::join(parts, ", "));
    }
    kernel_.Append("{} {}(uint p) {{\n{}}}\n", KeyType(), Named("key_at"), value);
  }

  void WriteKeys() {
    OpenTurns(count_);
    Line("uint place = {};", PlaceOf("p"));
    std::vector<std::string> values;
    for (const int k : work_.order.operands) {
      values.push_back(fmt::format("value_{}", values.size()));
      Declare(CarrierType(kernel_.buffer_type(operands_.at(k))), values.back(),
              kernel_.Loaded(operands_.at(k), "place"));
    }
    Line("{} key = {}({});", KeyType(), Named("make_key"), fmt::join(values, ", "));
    const int words = work_.order.key_words;
    for (int i = 0; i < words; ++i) {
      const std::string word = words == 1 ? "key" : fmt::format("key.{}", "xyzw"[i]);
      Add(kernel_.Storing(keys_, fmt::format("{}u + p", i * count_), word));
    }
    CloseBlock();
  }

  void WriteBlocks() {
    OpenTurns(count_);
    Line("uint row = {}, e = p - row;", RowOf("p"));
    const bool one = block_ == work_.length;
    Line(one ? "uint first = 0u;" : fmt::format("uint first = e & ~{}u;", block_ - 1));
    Line(one ? fmt::format("uint end = {}u, rank = 0u;", work_.length)
             : fmt::format("uint end = min(first + {}u, {}u), rank = first;", block_, work_.length));
    Line("{} key = {}(p);", KeyType(), Named("key_at"));
    OpenBlock("[[dont_unroll]] for (uint j = first; j < end; ++j)");
    Line("{} other = {}(row + j);", KeyType(), Named("key_at"));
    Line("bool goes = j < e ? !{0}(key, other) : j > e && {0}(other, key);", Named("before"));
    Line("if (goes) ++rank;");
    CloseBlock();
    Add(kernel_.Storing(positions_, "row + rank", "e"));
    CloseBlock();
  }

  // From one half of the positions' memory to the other, and back.
  void WriteMerges() {
    const std::string before = Named("before"), from = Named("from");
    Line("uint {} = 0u;", from);
    OpenBlock("for (uint width = {}u; width < {}u; width *= 2u)", block_, work_.length);
    Wait();
    OpenTurns(count_);
    Line("uint row = {}, i = p - row, first = i & ~(2u * width - 1u);", RowOf("p"));
    Declare("uint", "e", kernel_.Loaded(positions_, from + " + p"));
    Line("{} key = {}(row + e);", KeyType(), Named("key_at"));
    Line("bool left = i - first < width;");
    Line("uint start = left ? min(first + width, {}u) : first;", work_.length);
    Line("uint low = start, high = left ? min(first + 2u * width, {}u) : first + width;", work_.length);
    OpenBlock("while (low < high)");
    Line("uint middle = (low + high) / 2u;");
    Declare("uint", "other_e", kernel_.Loaded(positions_, from + " + row + middle"));
    Line("{} other = {}(row + other_e);", KeyType(), Named("key_at"));
    Line("if (left ? {0}(other, key) : !{0}(key, other)) low = middle + 1u; else high = middle;", before);
    CloseBlock();
    Line("uint to = (left ? i : i - width) + (low - start);");
    Add(kernel_.Storing(positions_, fmt::format("{}u - {} + row + to", count_, from), "e"));
    CloseBlock();
    Line("{0} = {1}u - {0};", from, count_);
    CloseBlock();
  }

  void WriteResults() {
    const int64_t kept = work_.kept, results = work_.rows * kept;
    OpenTurns(results);
    Line(work_.rows == 1 ? "uint row = 0u;" : fmt::format("uint row = p / {}u * {}u;", kept, work_.length));
    const std::string i = kept == work_.length ? "p" : fmt::format("row + p % {}u", kept);
    const std::string half = block_ < work_.length ? Named("from") + " + " : "";
    Declare("uint", "e", kernel_.Loaded(positions_, half + i));
    Line("uint place = {};", PlaceOf("row + e"));
    Line("uint to = {};", work_.positions ? "p" : PlaceOf("p"));
    for (size_t k = 0; k < work_.types.size(); ++k) {
      AddOperand(static_cast<int>(k));
      const int result = kernel_.AddBuffer(work_.types[k], Access::kWrite, work_.results[k]);
      Add({.kind = Statement::Kind::kStore,
           .target = kernel_.ElementAt(result, "to"),
           .values = {kernel_.ElementAt(operands_.at(static_cast<int>(k)), "place")}});
    }
    if (work_.positions)
      Add(kernel_.Storing(kernel_.AddBuffer(ElementType::kS32, Access::kWrite, *work_.positions), "p", "int(e)"));
    CloseBlock();
  }

  const SortWork& work_;
  const int64_t count_, block_;
  const LoopUnit& unit_;
  KernelBuilder& kernel_;
  const int positions_;
  int keys_ = -1;
  std::map<int, int> operands_;  // their numbers in the kernel
};

}  // namespace

LoopUnitNeeds NeedsOfLoopSort(const LowerContext&, const FusionDescription& body, uint32_t lanes) {
  const SortWork work = SortWorkOf(body);
  const int64_t count = CountOf(work), block = BlockOf(work.length), turns = CeilDivide(count, lanes);
  LoopUnitNeeds needs;
  needs.rows = work.rows;
  needs.waits = work.order.key_words > 0 ? 2 : 1;
  needs.scratch.emplace_back(ElementType::kU32, IntList{block < work.length ? 2 * count : count});
  int64_t compare = 3;
  if (work.order.key_words > 0) {
    needs.scratch.emplace_back(ElementType::kU32, IntList{work.order.key_words * count});
  } else {
    const auto& comparator = body.hero->called(0)->instructions();
    compare += std::ssize(comparator) + ElementCosts(comparator);
  }
  // A loop of n turns is n + 1 iterations: the last finds that there are no more.
  int64_t compares = block, iterations = turns + 1 + turns * (block + 2) + 1 + 1 + turns + 1;
  for (int64_t width = block; width < work.length; width *= 2) {
    const int64_t halvings = std::bit_width(static_cast<uint64_t>(width));
    compares += halvings;
    iterations += 1 + turns * (halvings + 2) + 1;
    ++needs.waits;
  }
  needs.operations = count * (compares * compare + 4 * static_cast<int64_t>(work.types.size()));
  needs.iterations = iterations;
  return needs;
}

Code WriteLoopSort(const LowerContext&, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  SortWork work = SortWorkOf(body);
  PlaceSortTensors(body, buffers, &work);
  return LoopSortWriter(work, scratch, unit).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
