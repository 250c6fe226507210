#include "backend/vulkan/lower/sort/sort_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// One member of what the kernels move.
struct SortField {
  std::string name, glsl_type;
  ElementType type;  // as it lies in scratch
};

int FieldBytes(const SortField& field) { return std::max(StorageBytes(field.type), 4); }

// Elements of 8 and 16 bits are moved as words; all others as they are.
bool MovesAsWord(ElementType type) { return StorageBytes(type) < 4; }

// What the kernels move, an Item of several fields, and the text that reads, compares and stores it.
class SortText {
 public:
  using Scratch = std::vector<BufferSlice>;  // by field
  SortText(const LowerContext& context, const SortWork& work) : context_(context), work_(work) { ChooseFields(); }

  // Bindings of the step that has most of them.
  size_t MostBindings() const {
    const size_t tensors = work_.operands.size() + work_.results.size() + (work_.positions ? 1 : 0);
    return tensors + fields_.size() + 3;  // counts of digits, totals or states, and parts
  }
  int64_t MostScratchBytes() const {
    int64_t bytes = 0;
    for (const SortField& field : fields_) bytes = std::max<int64_t>(bytes, FieldBytes(field));
    return bytes * work_.rows * work_.length;
  }

  int64_t ItemBytes() const {
    int64_t bytes = 0;
    for (const SortField& field : fields_) bytes += FieldBytes(field);
    return bytes;
  }

  // Rows of `length` items: in scratch, or (no slices) in the operands or the results.
  struct Items {
    Scratch slices;
    int64_t length = 0;
    bool in_scratch() const { return !slices.empty(); }
  };
  Items operands() const { return {{}, work_.length}; }
  Items results() const { return {{}, work_.kept}; }
  Items MakeScratch(BufferMap& buffers, int64_t length) const {
    Items items{{}, length};
    for (const SortField& field : fields_) {
      items.slices.push_back(buffers.Scratch(work_.rows * length * FieldBytes(field)));
    }
    return items;
  }

  int KeyBits() const { return work_.order.key_words * (work_.order.key_high - work_.order.key_low); }

  bool AnyOrder() const { return work_.order.key_words == 0; }

  void AddOperandField(int k) {
    const ElementType type = work_.types[static_cast<size_t>(k)];
    const bool word = MovesAsWord(type);
    fields_.push_back(
        {fmt::format("r{}", k), word ? "uint" : std::string(CarrierType(type)), word ? ElementType::kU32 : type});
    carried_.push_back(k);
  }

  // Either all operands are moved with the keys, or what comparisons need and the position, and the operands follow at
  // the end, read in the order of the result: that costs as much as one more pass, for each operand.
  void ChooseFields() {
    int64_t all = 0, compared = 0;
    for (const ElementType type : work_.types) all += std::max(StorageBytes(type), 4);
    for (const int k : work_.order.operands) compared += std::max(StorageBytes(work_.types[static_cast<size_t>(k)]), 4);
    carries_key_ = !AnyOrder() && compared >= 4 * work_.order.key_words;
    const int64_t needed = carries_key_ ? 4 * work_.order.key_words : compared;
    constexpr int64_t kMostBytes = 12;
    carries_all_ = all <= std::max<int64_t>(kMostBytes, needed + 4);
    if (carries_all_) {
      carries_key_ = false;
      for (size_t k = 0; k < work_.types.size(); ++k) AddOperandField(static_cast<int>(k));
    } else if (carries_key_) {
      const int words = work_.order.key_words;
      for (int i = 0; i < words; ++i) fields_.push_back({fmt::format("k{}", i), "uint", ElementType::kU32});
    } else {
      for (const int k : work_.order.operands) AddOperandField(k);
    }
    if (!carries_all_ || work_.positions) fields_.push_back({"position", "uint", ElementType::kU32});
  }

  bool IsCarried(int k) const { return std::ranges::find(carried_, k) != carried_.end(); }

  // LOAD and STORE of an operand as it is moved.
  std::string LoadMoved(const KernelBuilder& kernel, int buffer, const std::string& index) const {
    return fmt::format("LOAD({}, {}, {})", buffer, StorageTag(kernel.buffer_type(buffer)), index);
  }
  std::string StoreMoved(const KernelBuilder& kernel, int buffer, const std::string& index,
                         const std::string& value) const {
    return fmt::format("STORE({}, {}, {}, {});", buffer, StorageTag(kernel.buffer_type(buffer)), index, value);
  }

  // Item, Key, before() and key_of().
  void WriteTypes(KernelBuilder& kernel) const {
    std::string members;
    for (const SortField& field : fields_) members += fmt::format(" {} {};", field.glsl_type, field.name);
    kernel.Append(fmt::format("struct Item {{{} }};\n", members) + work_.order.text);
    std::vector<std::string> arguments;
    if (carries_key_) {
      for (int i = 0; i < work_.order.key_words; ++i) arguments.push_back(fmt::format("item.k{}", i));
      kernel.Append(fmt::format("Key key_of(Item item) {{ return Key({}); }}\n", fmt::join(arguments, ", ")));
      return;
    }
    for (const int k : work_.order.operands) {
      arguments.push_back(FromStorage(work_.types[static_cast<size_t>(k)], fmt::format("item.r{}", k)));
    }
    kernel.Append(fmt::format("Key key_of(Item item) {{ return make_key({}); }}\n", fmt::join(arguments, ", ")));
  }

  // Where element `e` of row `row` stands in an operand.
  void WritePlace(KernelBuilder& kernel) const {
    const std::string length = kernel.Param(static_cast<uint32_t>(work_.length));
    if (work_.stride == 1) {
      kernel.Append(fmt::format("uint place_of(uint row, uint e) {{ return row * {} + e; }}\n", length));
      return;
    }
    const std::string stride = kernel.Param(static_cast<uint32_t>(work_.stride));
    kernel.Append(
        fmt::format("uint place_of(uint row, uint e) {{\n  uint outer = {};\n  return (outer * {} + e) * {} + (row - "
                    "outer * {});\n}}\n",
                    kernel.Divide("row", work_.stride), length, stride, stride));
  }

  // read_item(row, e).
  void WriteRead(KernelBuilder& kernel, const Items& from) const {
    if (from.in_scratch()) {
      WriteLoad(kernel, from);
      kernel.Append(fmt::format("Item read_item(uint row, uint e) {{ return load_item(row * {} + e); }}\n",
                                kernel.Param(static_cast<uint32_t>(from.length))));
      return;
    }
    std::string text = "  uint place = place_of(row, e);\n  Item item;\n";
    std::vector<std::string> arguments;
    for (const int k : carries_key_ ? work_.order.operands : carried_) {
      const int buffer =
          kernel.AddBuffer(work_.types[static_cast<size_t>(k)], Access::kRead, work_.operands[static_cast<size_t>(k)]);
      if (carries_key_) {
        text +=
            fmt::format("  {} p{} = {};\n", CarrierType(kernel.buffer_type(buffer)), k, kernel.Load(buffer, "place"));
        arguments.push_back(fmt::format("p{}", k));
      } else {
        text += fmt::format("  item.r{} = {};\n", k, LoadMoved(kernel, buffer, "place"));
      }
    }
    if (carries_key_) {
      text += fmt::format("  Key key = make_key({});\n", fmt::join(arguments, ", "));
      for (int i = 0; i < work_.order.key_words; ++i) text += fmt::format("  item.k{} = key{};\n", i, WordSuffix(i));
    }
    if (fields_.back().name == "position") text += "  item.position = e;\n";
    kernel.Append("Item read_item(uint row, uint e) {\n" + text + "  return item;\n}\n");
  }

  // GROUP, READ_GROUP and EACH_ITEM: several neighbours at once, where all that read_item reads is of 32 bits and lies
  // side by side.
  void WriteReadGroup(KernelBuilder& kernel, const Items& from) const {
    const int width = kernel.has_pairs() ? 8 : 4;
    std::string text;
    bool possible = (!carries_key_ && work_.stride == 1) || from.in_scratch();
    possible &= from.length % width == 0 || work_.rows == 1;
    for (size_t f = 0; possible && f < fields_.size(); ++f) {
      if (!from.in_scratch() && fields_[f].name == "position") {
        for (int i = 0; i < width; ++i) text += fmt::format("  item_{0}.position = e + {0}u;\n", i);
        continue;
      }
      const auto k = static_cast<size_t>(from.in_scratch() ? 0 : carried_[f]);
      const ElementType type = from.in_scratch() ? fields_[f].type : work_.types[k];
      const BufferSlice& slice = from.in_scratch() ? from.slices[f] : work_.operands[k];
      possible = StorageBytes(type) == 4 && slice.offset_bytes % (4 * width) == 0;
      if (possible) text += ReadGroupField(kernel, kernel.AddBuffer(type, Access::kRead, slice), fields_[f], width);
    }
    kernel.Append(fmt::format("#define GROUP {}\n", possible ? width : 1));
    if (!possible) return;
    std::vector<std::string> items, parameters;
    std::string each;
    for (int i = 0; i < width; ++i) {
      items.push_back(fmt::format("item_{}", i));
      parameters.push_back("out Item " + items.back());
      each += fmt::format(" F({})", items.back());
    }
    kernel.Append(
        fmt::format("void read_group(uint row, uint e, {}) {{\n  uint group = (row * {} + e) / {}u;\n{}}}\n"
                    "#define READ_GROUP(row, e) Item {}; read_group(row, e, {});\n#define EACH_ITEM(F){}\n",
                    fmt::join(parameters, ", "), kernel.Param(static_cast<uint32_t>(from.length)), width, text,
                    fmt::join(items, ", "), fmt::join(items, ", "), each));
  }

  // Statements that read a member of the items of a group.
  std::string ReadGroupField(KernelBuilder& kernel, int buffer, const SortField& field, int width) const {
    kernel.AddVectorView(buffer, width);
    const std::string tag(StorageTag(kernel.buffer_type(buffer)));
    std::string text;
    if (width == 4) {
      const char* type = tag == "f32" ? "vec4" : tag == "i32" ? "ivec4" : "uvec4";
      text = fmt::format("  {} {}_group = LOAD({}, {}x4, group);\n", type, field.name, buffer, tag);
    } else {
      text = fmt::format("  u64vec4 {}_group = LOAD({}, u64x4, group);\n", field.name, buffer);
    }
    for (int i = 0; i < width; ++i) {
      std::string value = fmt::format("{}_group.{}", field.name, "xyzw"[width == 4 ? i : i / 2]);
      if (width == 8) {
        value = fmt::format("unpackUint2x32({}).{}", value, "xy"[i % 2]);
        if (tag != "u32") value = fmt::format("{}({})", tag == "f32" ? "uintBitsToFloat" : "int", value);
      }
      text += fmt::format("  item_{}.{} = {};\n", i, field.name, value);
    }
    return text;
  }

  // get_item and put_item of shared memory.
  void WriteShared(KernelBuilder& kernel, int64_t items) const {
    std::string get, put;
    for (const SortField& field : fields_) {
      kernel.Append(fmt::format("shared {} shared_{}[{}];\n", field.glsl_type, field.name, items));
      get += fmt::format("  item.{0} = shared_{0}[i];\n", field.name);
      put += fmt::format("  shared_{0}[i] = item.{0};\n", field.name);
    }
    kernel.Append("Item get_item(uint i) {\n  Item item;\n" + get + "  return item;\n}\n");
    kernel.Append("void put_item(uint i, Item item) {\n" + put + "}\n");
  }

  void WriteLoad(KernelBuilder& kernel, const Items& from) const {
    std::string text;
    for (size_t f = 0; f < fields_.size(); ++f) {
      const int buffer = kernel.AddBuffer(fields_[f].type, Access::kRead, from.slices[f]);
      text += fmt::format("  item.{} = {};\n", fields_[f].name, LoadMoved(kernel, buffer, "i"));
    }
    kernel.Append("Item load_item(uint i) {\n  Item item;\n" + text + "  return item;\n}\n");
  }

  // emit_item(row, e, item): to scratch, or to the results.
  void WriteEmit(KernelBuilder& kernel, const Items& to) const {
    std::string text = "  uint place = place_of(row, e);\n";
    if (to.in_scratch() || work_.kept != work_.length) {
      const std::string length = kernel.Param(static_cast<uint32_t>(to.length));
      text = fmt::format("  uint place = row * {} + e;\n", length);
      // A sort of whole rows brings what is not kept as well.
      if (!to.in_scratch()) text = fmt::format("  if (e >= {}) return;\n", length) + text;
    }
    if (!to.in_scratch()) text += EmitResults(kernel);
    for (size_t f = 0; to.in_scratch() && f < fields_.size(); ++f) {
      const int buffer = kernel.AddBuffer(fields_[f].type, Access::kWrite, to.slices[f]);
      text += "  " + StoreMoved(kernel, buffer, "place", "item." + fields_[f].name) + "\n";
    }
    kernel.Append("void emit_item(uint row, uint e, Item item) {\n" + text + "}\n");
  }

  // Statements that store an item as results at `place`.
  std::string EmitResults(KernelBuilder& kernel) const {
    std::string text;
    if (!carries_all_) text += "  uint source = place_of(row, item.position);\n";
    for (size_t k = 0; k < work_.results.size(); ++k) {
      std::string value = fmt::format("item.r{}", k);
      if (!IsCarried(static_cast<int>(k))) {
        const int buffer = kernel.AddBuffer(work_.types[k], Access::kRead, work_.operands[k]);
        value = fmt::format("value_{}", k);
        text += fmt::format("  {} {} = {};\n", MovesAsWord(work_.types[k]) ? "uint" : CarrierType(work_.types[k]),
                            value, LoadMoved(kernel, buffer, "source"));
      }
      const int buffer = kernel.AddBuffer(work_.types[k], Access::kWrite, work_.results[k]);
      text += "  " + StoreMoved(kernel, buffer, "place", value) + "\n";
    }
    if (work_.positions) {
      const int buffer = kernel.AddBuffer(ElementType::kS32, Access::kWrite, *work_.positions);
      text += "  " + kernel.Store(buffer, "place", "int(item.position)") + "\n";
    }
    return text;
  }

  // Item, Key, and what reads and emits items.
  void WriteItems(KernelBuilder& kernel, const Items& from, const Items& to) const {
    WriteTypes(kernel);
    if (!from.in_scratch() || !to.in_scratch()) WritePlace(kernel);
    WriteRead(kernel, from);
    WriteEmit(kernel, to);
  }

  // load_NAME(i), store_NAME(i, n) and add_NAME(i, n), which others see.
  void WriteCounters(KernelBuilder& kernel, const BufferSlice& slice, const char* name) const {
    const int k = kernel.AddBuffer(ElementType::kU32, Access::kReadWrite, slice);
    kernel.Append(
        fmt::format("uint load_{0}(uint i) {{ return {1}; }}\nvoid store_{0}(uint i, uint n) {{ {2} }}\n"
                    "#define add_{0}(i, n) atomicAdd(ELEMENT({3}, {4}, i), n)\n",
                    name, kernel.Load(k, "i"), kernel.Store(k, "i", "n"), k, StorageTag(ElementType::kU32)));
  }

  // EACH(F) of `count` numbers.
  void WriteEach(KernelBuilder& kernel, uint32_t count) const {
    std::string each;
    for (uint32_t i = 0; i < count; ++i) each += fmt::format(" F({})", i);
    kernel.Append(fmt::format("#define EACH(F){}\n", each));
  }

  // Of a Key, word i.
  std::string WordSuffix(int i) const { return work_.order.key_words == 1 ? "" : fmt::format(".{}", "xyzw"[i]); }

  const LowerContext& context_;
  const SortWork& work_;
  std::vector<SortField> fields_;
  std::vector<int> carried_;  // operands that are fields
  bool carries_all_ = false, carries_key_ = false;
};

// The steps.
class SortWriter : SortText {
 public:
  using SortText::SortText;

  std::vector<Step> Write(BufferMap& buffers) {
    const int64_t item_bytes = ItemBytes();
    shape_ = TuneSort(context_.facts, work_.rows, work_.length, item_bytes, work_.order.key_words);
    shape_.unit = static_cast<uint32_t>(std::min<int64_t>(shape_.unit, 2 * shape_.tile()));
    if (work_.length <= shape_.tile()) return {TileStep(operands(), results(), work_.kept)};
    if (work_.kept < work_.length) {
      const bool few = 2 * work_.kept <= shape_.tile();
      const SelectShape select = TunerOf(context_.facts).Select(context_.facts, work_.length, work_.kept, item_bytes);
      const DigitSelectShape digits = TuneDigitSelect(context_.facts, work_.rows, work_.length, work_.kept,
                                                      shape_.tile(), work_.order.key_words, KeyBits());
      if (digits.chunk > 0 && !(few && select.chunk > 0)) return WriteDigitSelection(buffers, digits);
      if (few) return WriteSelection(buffers, select);
    }
    return WriteSorted(buffers, operands());
  }

 private:
  // All items, or the first of them, in order.
  std::vector<Step> WriteSorted(BufferMap& buffers, const Items& items) const {
    if (items.length <= shape_.tile()) return {TileStep(items, results(), work_.kept)};
    const RadixShape radix = TuneRadix(context_.facts, shape_, work_.rows, items.length, ItemBytes(),
                                       work_.order.key_words, work_.order.key_high - work_.order.key_low);
    return radix.chunk > 0 ? WriteRadix(buffers, radix, items) : WriteMerges(buffers, items);
  }

  // Two scratches, to and fro; the second is made when it is needed.
  std::vector<Step> WriteMerges(BufferMap& buffers, const Items& items) const {
    std::vector<int64_t> widths;
    for (int64_t width = shape_.tile(); width < items.length; width *= 2) widths.push_back(width);
    Items from = MakeScratch(buffers, items.length), to;
    if (widths.size() > 1) to = MakeScratch(buffers, items.length);
    std::vector<Step> steps{TileStep(items, from, shape_.tile())};
    for (const int64_t width : widths) {
      steps.push_back(MergeStep(width, from, width == widths.back() ? results() : to));
      std::swap(from, to);
    }
    return steps;
  }

  // The first of each part of a row, then the first of those: few results need no more.
  std::vector<Step> WriteSelection(BufferMap& buffers, const SelectShape& select) const {
    std::vector<Step> steps;
    Items from = operands();
    const auto left = [&](int64_t part) {
      const int64_t whole = (from.length - 1) / part;
      return whole * work_.kept + std::min(work_.kept, from.length - whole * part);
    };
    if (select.chunk > 0) {
      const Items to = MakeScratch(buffers, left(select.chunk));
      steps.push_back(SelectStep(select, from, to));
      from = to;
    }
    while (from.length > shape_.tile()) {
      const Items to = MakeScratch(buffers, left(shape_.tile()));
      steps.push_back(TileStep(from, to, work_.kept));
      from = to;
    }
    steps.push_back(TileStep(from, results(), work_.kept));
    return steps;
  }

  // A digit of the key: radix.digit_bits bits of a word from `low` on.
  struct Digit {
    int word = 0, low = 0;
  };
  // Least digit first.
  std::vector<Digit> Digits(int digit_bits) const {
    std::vector<Digit> digits;
    for (int word = work_.order.key_words - 1; word >= 0; --word) {
      for (int low = work_.order.key_low; low < work_.order.key_high; low += digit_bits) digits.push_back({word, low});
    }
    return digits;
  }

  std::vector<Step> WriteRadix(BufferMap& buffers, const RadixShape& radix, const Items& items) const {
    const std::vector<Digit> digits = Digits(radix.digit_bits);
    const int64_t parts = work_.rows * CeilDivide(items.length, radix.part());
    const BufferSlice counts = buffers.Scratch(parts * radix.radix() * 4);
    const BufferSlice totals = radix.by_tiles ? buffers.Scratch(work_.rows * radix.radix() * 4) : counts;
    Items from = items, spare;
    std::vector<Step> steps;
    for (size_t i = 0; i < digits.size(); ++i) {
      Items to = results();
      if (i + 1 < digits.size()) to = spare.in_scratch() ? spare : MakeScratch(buffers, items.length);
      for (int phase = 0; phase < 3; ++phase) {
        steps.push_back(RadixStep(phase, radix, digits[i], counts, totals, from, to));
      }
      spare = std::exchange(from, to);
    }
    return steps;
  }

  // Where the passes that select by digits leave what they know.
  struct SelectionState {
    BufferSlice counts, states, parts;
  };

  // The key of the last one kept, digit by digit, then all that come before it or are it, and the order of those.
  std::vector<Step> WriteDigitSelection(BufferMap& buffers, const DigitSelectShape& shape) const {
    std::vector<Digit> digits = Digits(shape.digit_bits);
    std::ranges::reverse(digits);
    const auto passes = static_cast<int64_t>(digits.size());
    const int64_t counters = work_.rows * passes * shape.radix(),
                  chunks = work_.rows * CeilDivide(work_.length, shape.chunk);
    const SelectionState state{buffers.Scratch(counters * 4),
                               buffers.Scratch(work_.rows * passes * (work_.order.key_words + 1) * 4),
                               buffers.Scratch(chunks * 2 * 4)};
    const Items chosen = MakeScratch(buffers, work_.kept);
    std::vector<Step> steps{ClearStep(context_, work_.name, state.counts, counters)};
    for (size_t known = 0; known <= digits.size(); ++known) {
      steps.push_back(DigitSelectStep(known < digits.size() ? 0 : 1, shape, digits, known, state, chosen));
    }
    steps.push_back(DigitSelectStep(2, shape, digits, digits.size(), state, chosen));
    for (Step& step : WriteSorted(buffers, chosen)) steps.push_back(std::move(step));
    return steps;
  }

  // What merge.comp needs to sort RUN neighbours in registers. Lanes that read neighbours make one access of many on
  // GPUs.
  void WriteRun(KernelBuilder& kernel) const {
    std::string even, odd, exchange;
    for (uint32_t i = 0; i + 1 < shape_.run; ++i) (i % 2 == 0 ? even : odd) += fmt::format(" F({}, {})", i, i + 1);
    const auto swap = [&](const std::string& type, const std::string& name, const std::string& member) {
      exchange += fmt::format(
          " {{ {0} kept = {1}_##i{2}; {1}_##i{2} = exchanged ? {1}_##j{2} : kept; {1}_##j{2} = exchanged ? kept : "
          "{1}_##j{2}; }}",
          type, name, member);
    };
    for (const SortField& field : fields_) swap(field.glsl_type, "item", "." + field.name);
    swap("Key", "key", "");
    const std::vector<std::string> ones(static_cast<size_t>(work_.order.key_words), "0xffffffffu");
    kernel.Append(fmt::format("#define LAST_KEY Key({})\n", fmt::join(ones, ", ")));
    WriteEach(kernel, shape_.run);
    kernel.Append(fmt::format("#define EVEN_PAIRS(F){}\n#define ODD_PAIRS(F){}\n", even, odd));
    kernel.Append(fmt::format("#define EXCHANGE(i, j){}\n#define READS_RUNS {}\n", exchange,
                              context_.facts.costs.accesses_by_lane || shape_.lanes == 1 ? 1 : 0));
  }

  // The parts of `unit` elements of a row.
  int64_t WriteHead(KernelBuilder& kernel, int64_t length, int64_t unit) const {
    const int64_t per_row = CeilDivide(length, unit);
    kernel.Params({{"PART_COUNT", work_.rows * per_row}, {"LENGTH", length}, {"ROW_PARTS", per_row}});
    return per_row;
  }

  // Sorts tiles; of each the first `kept` go on, side by side.
  Step TileStep(const Items& from, const Items& to, int64_t kept) const {
    KernelBuilder kernel(context_.facts);
    const int64_t tiles = WriteHead(kernel, from.length, shape_.tile());
    const uint32_t rows = shape_.rows_per_group;
    kernel.Append(
        fmt::format("#define TILE_PASS 1\n#define ANY_ORDER {}\n#define IN_REGISTERS {}\n#define LANES {}u\n#define "
                    "ROWS {}u\n#define RUN {}u\n"
                    "#define TILE {}u\n#define KEPT {}u\n#define UNIT RUN\n#define ROWS_SIDE_BY_SIDE {}\n"
                    "#define BY_UNITS(g) {}\n",
                    AnyOrder() ? 1 : 0, shape_.in_registers ? 1 : 0, shape_.lanes, rows, shape_.run, shape_.tile(),
                    std::min(kept, shape_.tile()), work_.stride > 1 ? 1 : 0, kernel.Divide("(g)", tiles)));
    WriteItems(kernel, from, to);
    WriteShared(kernel, 2 * shape_.tile() * rows);
    if (shape_.in_registers) WriteRun(kernel);
    return kernel.Finish(work_.name, "sort/merge.comp", {shape_.lanes * rows, 1, 1},
                         GroupGrid(context_.facts, CeilDivide(work_.rows * tiles, rows)));
  }

  Step MergeStep(int64_t width, const Items& from, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const int64_t units = WriteHead(kernel, from.length, shape_.unit);
    kernel.Params({{"SORTED_RUN", width}});
    kernel.Append(fmt::format("#define TILE_PASS 0\n#define ANY_ORDER {}\n#define UNIT {}u\n#define BY_UNITS(g) {}\n",
                              AnyOrder() ? 1 : 0, shape_.unit, kernel.Divide("(g)", units)));
    WriteItems(kernel, from, to);
    constexpr uint32_t kGroup = 64;
    return kernel.Finish(work_.name + " merge", "sort/merge.comp", {kGroup, 1, 1},
                         GroupGrid(context_.facts, CeilDivide(work_.rows * units, kGroup)));
  }

  Step SelectStep(const SelectShape& select, const Items& from, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const int64_t chunks = WriteHead(kernel, from.length, select.chunk);
    kernel.Append(fmt::format("#define CHUNK {}u\n#define KEPT {}u\n#define LANES {}u\n#define BY_CHUNKS(g) {}\n",
                              select.chunk, work_.kept, select.lanes, kernel.Divide("(g)", chunks)));
    WriteItems(kernel, from, to);
    WriteReadGroup(kernel, from);
    WriteShared(kernel, work_.kept * select.lanes);
    return kernel.Finish(work_.name + " select", "sort/select.comp", {select.lanes, 1, 1},
                         GroupGrid(context_.facts, CeilDivide(work_.rows * chunks, select.lanes)));
  }

  // Phase `phase` of sort/radix_chunks.comp or sort/radix_tiles.comp.
  Step RadixStep(int phase, const RadixShape& radix, const Digit& digit, const BufferSlice& counts,
                 const BufferSlice& totals, const Items& from, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const int64_t per_row = CeilDivide(from.length, radix.part()), parts = work_.rows * per_row;
    const int64_t scans = radix.by_tiles ? work_.rows * radix.radix() / radix.scan_digits() : work_.rows;
    kernel.Params({{"PART_COUNT", phase == 1 ? scans : parts},
                   {"LENGTH", from.length},
                   {"ROW_PARTS", per_row},
                   {"DIGIT_LOW", digit.low}});
    kernel.Append(fmt::format("#define PHASE {}\n#define RADIX {}u\n", phase, radix.radix()));
    WriteCounters(kernel, counts, "count");
    if (phase != 1) {
      kernel.Append(fmt::format("#define {}(g) {}\n#define KEY_WORD(key) key{}\n",
                                radix.by_tiles ? "BY_TILES" : "BY_CHUNKS", kernel.Divide("(g)", per_row),
                                WordSuffix(digit.word)));
      WriteTypes(kernel);
      if (!from.in_scratch() || !to.in_scratch()) WritePlace(kernel);
      WriteRead(kernel, from);
      if (phase == 2) WriteEmit(kernel, to);
    }
    constexpr const char* kPhases[] = {"count", "scan", "move"};
    const std::string name = work_.name + " " + kPhases[phase];
    if (radix.by_tiles) {
      const uint32_t lanes = phase == 1 ? 256 : radix.lanes;
      kernel.Append(fmt::format("#define LANES {}u\n#define ITEMS {}u\n", radix.lanes, radix.chunk));
      if (phase == 1) {
        kernel.Append(
            fmt::format("#define DIGITS {}u\n#define STRIPS {}u\n", radix.scan_digits(), lanes / radix.scan_digits()));
      }
      if (phase != 0) WriteCounters(kernel, totals, "total");
      if (phase == 2) {
        kernel.Append(fmt::format("#define DIGIT_BITS {}u\n#define SUBGROUP {}\n", radix.digit_bits,
                                  context_.facts.subgroup_size));
        WriteShared(kernel, radix.part());
        WriteEach(kernel, static_cast<uint32_t>(radix.chunk));
      }
      return kernel.Finish(name, "sort/radix_tiles.comp", {lanes, 1, 1},
                           GroupGrid(context_.facts, phase == 1 ? scans : parts));
    }
    const uint32_t lanes = phase == 1 ? radix.scan_lanes() : radix.lanes;
    kernel.Append(fmt::format("#define CHUNK {}u\n#define LANES {}u\n", radix.chunk, lanes));
    if (phase != 1) WriteReadGroup(kernel, from);
    return kernel.Finish(name, "sort/radix_chunks.comp", {lanes, 1, 1},
                         GroupGrid(context_.facts, phase == 1 ? scans : CeilDivide(parts, lanes)));
  }

  // Phase `phase` of sort/radix_select.comp, when `known` digits have been counted.
  Step DigitSelectStep(int phase, const DigitSelectShape& shape, const std::vector<Digit>& digits, size_t known,
                       const SelectionState& state, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const Items from = operands();
    const int64_t chunks = WriteHead(kernel, from.length, shape.chunk);
    const bool counts = phase == 0;
    const Digit digit = counts ? digits[known] : Digit{};
    const int above = digit.low + shape.digit_bits;
    const bool within = counts && known > 0 && digits[known - 1].word == digit.word;  // part of the word is known
    kernel.Params({{"DIGIT_LOW", digit.low},
                   {"KNOWN_LOW", within ? above : 0},
                   {"FOUND_LOW", known > 0 ? digits[known - 1].low : 0}});
    std::string matches =
        within ? fmt::format("((key{0} ^ known{0}) >> KNOWN_LOW) == 0u", WordSuffix(digit.word)) : "true";
    for (int word = 0; word < digit.word; ++word) matches += fmt::format(" && key{0} == known{0}", WordSuffix(word));
    const int words = work_.order.key_words;
    const uint32_t high = work_.order.key_high >= 32 ? ~0u : (1u << work_.order.key_high) - 1,
                   mask = high & ~((1u << work_.order.key_low) - 1);
    kernel.Append(
        fmt::format("#define PHASE {}\n#define RADIX {}u\n#define LANES {}u\n#define CHUNK {}u\n#define KEPT {}u\n"
                    "#define DIGITS {}u\n#define KNOWN {}\n#define KEY_WORDS {}u\n#define BY_CHUNKS(g) {}\n",
                    phase, shape.radix(), shape.lanes, shape.chunk, work_.kept, digits.size(), known, words,
                    kernel.Divide("(g)", CeilDivide(from.length, shape.chunk))));
    kernel.Append(
        fmt::format("#define NO_KEY Key(0u)\n#define MASKED(key) ((key) & 0x{:x}u)\n#define MATCHES(key, known) "
                    "({})\n#define KEY_WORD(key) key{}\n#define SET_DIGIT(key, digit) key{} |= (digit) << FOUND_LOW\n",
                    mask, matches, WordSuffix(digit.word), WordSuffix(known > 0 ? digits[known - 1].word : 0)));
    if (phase != 2) WriteCounters(kernel, state.counts, "count");
    WriteCounters(kernel, state.states, "state");
    if (phase != 0) WriteCounters(kernel, state.parts, "part");
    WriteTypes(kernel);
    std::vector<std::string> loads;
    std::string stores;
    for (int word = 0; word < words; ++word) {
      loads.push_back(fmt::format("load_state(i + {}u)", word));
      stores += fmt::format(" store_state(i + {}u, key{});", word, WordSuffix(word));
    }
    kernel.Append(fmt::format("Key load_key(uint i) {{ return Key({}); }}\nvoid store_key(uint i, Key key) {{{} }}\n",
                              fmt::join(loads, ", "), stores));
    WritePlace(kernel);
    WriteRead(kernel, from);
    if (phase == 2) {
      WriteEmit(kernel, to);
      kernel.Append(fmt::format("#define EACH {}u\n", shape.each));
    } else {
      WriteReadGroup(kernel, from);
    }
    constexpr const char* kPhases[] = {"digit", "count", "gather"};
    return kernel.Finish(work_.name + " " + kPhases[phase], "sort/radix_select.comp", {shape.lanes, 1, 1},
                         GroupGrid(context_.facts, work_.rows * chunks));
  }
  SortShape shape_;
};

}  // namespace

std::vector<Step> LowerSortWork(const LowerContext& context, const SortWork& work, BufferMap& buffers) {
  return SortWriter(context, work).Write(buffers);
}

Status CheckSortWork(const LowerContext& context, const Instruction& instruction, const SortWork& work) {
  if (context.bindings != BindingMode::kDescriptors) return OkStatus();
  const SortText text(context, work);
  if (const size_t count = 1 + text.MostBindings(); count > context.facts.max_storage_buffers) {
    return Unsupported("{} needs {} storage buffers, more than this device's {}", instruction.name(), count,
                       context.facts.max_storage_buffers);
  }
  if (const int64_t bytes = text.MostScratchBytes();
      static_cast<uint64_t>(bytes) > context.facts.max_storage_range_bytes) {
    return Unsupported(
        "{} needs {} bytes of scratch memory in one piece, more than this device's storage-buffer range of {} "
        "(--bindings=addresses has no such limit)",
        instruction.name(), bytes, context.facts.max_storage_range_bytes);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
