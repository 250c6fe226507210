#include "backend/vulkan/lower/sort_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/tuning.h"

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

class SortWriter {
 public:
  SortWriter(const LowerContext& context, const SortWork& work) : context_(context), work_(work) { ChooseFields(); }

  // Bindings of the step that has most of them.
  size_t MostBindings() const {
    const size_t tensors = work_.operands.size() + work_.results.size() + (work_.positions ? 1 : 0);
    return tensors + fields_.size();
  }
  int64_t MostScratchBytes() const {
    int64_t bytes = 0;
    for (const SortField& field : fields_) bytes = std::max<int64_t>(bytes, FieldBytes(field));
    return bytes * work_.rows * work_.length;
  }

  std::vector<Step> Write(BufferMap& buffers) {
    int64_t item_bytes = 0;
    for (const SortField& field : fields_) item_bytes += FieldBytes(field);
    shape_ = TuneSort(context_.facts, work_.rows, work_.length, item_bytes, AnyOrder());
    shape_.unit = static_cast<uint32_t>(std::min<int64_t>(shape_.unit, 2 * shape_.tile()));
    const RadixShape radix = TuneRadix(context_.facts, work_.rows, work_.length, work_.order.key_words);
    return radix.chunk > 0 ? WriteRadix(buffers, radix) : WriteMerges(buffers);
  }

 private:
  using Scratch = std::vector<BufferSlice>;  // by field

  std::vector<Step> WriteMerges(BufferMap& buffers) const {
    std::vector<int64_t> widths;
    for (int64_t width = shape_.tile(); width < work_.length; width *= 2) widths.push_back(width);
    if (widths.empty()) return {TileStep(nullptr)};
    Scratch from = MakeScratch(buffers), to;
    if (widths.size() > 1) to = MakeScratch(buffers);
    std::vector<Step> steps{TileStep(&from)};
    for (const int64_t width : widths) {
      steps.push_back(MergeStep(width, from, width == widths.back() ? nullptr : &to));
      std::swap(from, to);
    }
    return steps;
  }

  // A digit of the key: bits [low, low + 8) of a word.
  struct Digit {
    int word = 0, low = 0;
  };
  // Least digit first.
  std::vector<Digit> Digits() const {
    std::vector<Digit> digits;
    for (int word = work_.order.key_words - 1; word >= 0; --word) {
      for (int low = work_.order.key_low; low < work_.order.key_high; low += kDigitBits) digits.push_back({word, low});
    }
    return digits;
  }

  std::vector<Step> WriteRadix(BufferMap& buffers, const RadixShape& radix) const {
    const std::vector<Digit> digits = Digits();
    const int64_t chunks = work_.rows * ((work_.length + radix.chunk - 1) / radix.chunk);
    const BufferSlice counts = buffers.Scratch(chunks * kRadix * 4);
    Scratch from, to;
    if (digits.size() > 1) to = MakeScratch(buffers);
    std::vector<Step> steps;
    for (size_t i = 0; i < digits.size(); ++i) {
      const Scratch* target = i + 1 < digits.size() ? &to : nullptr;
      for (int phase = 0; phase < 3; ++phase) {
        steps.push_back(RadixStep(phase, radix, digits[i], counts, i == 0 ? nullptr : &from, target));
      }
      if (i == 0 && digits.size() > 2) from = MakeScratch(buffers);
      std::swap(from, to);
    }
    return steps;
  }

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

  Scratch MakeScratch(BufferMap& buffers) const {
    Scratch scratch;
    for (const SortField& field : fields_)
      scratch.push_back(buffers.Scratch(work_.rows * work_.length * FieldBytes(field)));
    return scratch;
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
  void WriteRead(KernelBuilder& kernel) const {
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
      for (int i = 0; i < work_.order.key_words; ++i) {
        text +=
            fmt::format("  item.k{} = key{};\n", i, work_.order.key_words == 1 ? "" : fmt::format(".{}", "xyzw"[i]));
      }
    }
    if (fields_.back().name == "position") text += "  item.position = e;\n";
    kernel.Append("Item read_item(uint row, uint e) {\n" + text + "  return item;\n}\n");
  }

  // read_item(row, e) where the elements lie in scratch.
  void WriteReadScratch(KernelBuilder& kernel, const Scratch& from) const {
    WriteLoad(kernel, from);
    kernel.Append(fmt::format("Item read_item(uint row, uint e) {{ return load_item(row * {} + e); }}\n",
                              kernel.Param(static_cast<uint32_t>(work_.length))));
  }

  // read_group(row, e, item_0 .. item_3) of the four items from e, a multiple of four; false where the tensors that
  // read_item reads cannot be read so.
  bool WriteReadGroup(KernelBuilder& kernel, const Scratch* from) const {
    if (carries_key_ && from == nullptr) return false;
    if (work_.length % 4 != 0 && work_.rows > 1) return false;
    if (from == nullptr && work_.stride != 1) return false;
    std::string text;
    for (size_t f = 0; f < fields_.size(); ++f) {
      const SortField& field = fields_[f];
      if (from == nullptr && field.name == "position") {
        for (int i = 0; i < 4; ++i) text += fmt::format("  item_{0}.position = e + {0}u;\n", i);
        continue;
      }
      const size_t operand = f;  // all operands are fields, in order
      const ElementType type = from == nullptr ? work_.types[operand] : field.type;
      if (StorageBytes(type) != 4 || type == ElementType::kPred) return false;
      const int k = kernel.AddBuffer(type, Access::kRead, from == nullptr ? work_.operands[operand] : (*from)[f]);
      if (kernel.buffer_offset(k) % 16 != 0) return false;
      kernel.AddVectorView(k);
      text += fmt::format("  {}vec4 group_{} = LOAD({}, {}x4, place >> 2);\n",
                          field.glsl_type == "float" ? "" : field.glsl_type.substr(0, 1), f, k, StorageTag(type));
      for (int i = 0; i < 4; ++i) text += fmt::format("  item_{}.{} = group_{}.{};\n", i, field.name, f, "xyzw"[i]);
    }
    kernel.Append(
        fmt::format("void read_group(uint row, uint e, out Item item_0, out Item item_1, out Item item_2, out "
                    "Item item_3) {{\n  uint place = row * {} + e;\n{}}}\n",
                    kernel.Param(static_cast<uint32_t>(work_.length)), text));
    return true;
  }

  // get_item and put_item of shared memory.
  void WriteShared(KernelBuilder& kernel) const {
    const int64_t items = 2 * shape_.tile() * shape_.rows_per_group;
    std::string get, put;
    for (const SortField& field : fields_) {
      kernel.Append(fmt::format("shared {} shared_{}[{}];\n", field.glsl_type, field.name, items));
      get += fmt::format("  item.{0} = shared_{0}[i];\n", field.name);
      put += fmt::format("  shared_{0}[i] = item.{0};\n", field.name);
    }
    kernel.Append("Item get_item(uint i) {\n  Item item;\n" + get + "  return item;\n}\n");
    kernel.Append("void put_item(uint i, Item item) {\n" + put + "}\n");
  }

  void WriteLoad(KernelBuilder& kernel, const Scratch& from) const {
    std::string text;
    for (size_t f = 0; f < fields_.size(); ++f) {
      const int buffer = kernel.AddBuffer(fields_[f].type, Access::kRead, from[f]);
      text += fmt::format("  item.{} = {};\n", fields_[f].name, LoadMoved(kernel, buffer, "i"));
    }
    kernel.Append("Item load_item(uint i) {\n  Item item;\n" + text + "  return item;\n}\n");
  }

  // emit_item(row, e, item): to scratch, or to the results.
  void WriteEmit(KernelBuilder& kernel, const Scratch* to) const {
    std::string text;
    if (to != nullptr) {
      text = fmt::format("  uint place = row * {} + e;\n", kernel.Param(static_cast<uint32_t>(work_.length)));
      for (size_t f = 0; f < fields_.size(); ++f) {
        const int buffer = kernel.AddBuffer(fields_[f].type, Access::kWrite, (*to)[f]);
        text += "  " + StoreMoved(kernel, buffer, "place", "item." + fields_[f].name) + "\n";
      }
    } else if (work_.kept == work_.length) {
      text = "  uint place = place_of(row, e);\n" + EmitResults(kernel);
    } else {
      const std::string kept = kernel.Param(static_cast<uint32_t>(work_.kept));
      text = fmt::format("  if (e >= {}) return;\n  uint place = row * {} + e;\n", kept, kept) + EmitResults(kernel);
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

  // The parameters and definitions that both passes have; `unit`: elements of a row that P(0) counts.
  void WriteHead(KernelBuilder& kernel, bool tiles, int64_t unit) const {
    const int64_t per_row = (work_.length + unit - 1) / unit;
    kernel.Param(static_cast<uint32_t>(work_.rows * per_row));
    kernel.Param(static_cast<uint32_t>(work_.length));
    kernel.Param(static_cast<uint32_t>(per_row));
    kernel.Append(fmt::format("#define TILE_PASS {}\n#define ANY_ORDER {}\n", tiles ? 1 : 0, AnyOrder() ? 1 : 0));
  }

  Step TileStep(const Scratch* to) const {
    KernelBuilder kernel(context_.facts);
    WriteHead(kernel, true, shape_.tile());
    const int64_t tiles = (work_.length + shape_.tile() - 1) / shape_.tile();
    const uint32_t rows = shape_.rows_per_group;
    kernel.Append(fmt::format(
        "#define LANES {}u\n#define ROWS {}u\n#define RUN {}u\n#define TILE {}u\n#define UNIT RUN\n"
        "#define ROWS_SIDE_BY_SIDE {}\n#define BY_UNITS(g) {}\n",
        shape_.lanes, rows, shape_.run, shape_.tile(), work_.stride > 1 ? 1 : 0, kernel.Divide("(g)", tiles)));
    WriteTypes(kernel);
    WritePlace(kernel);
    WriteRead(kernel);
    WriteShared(kernel);
    WriteEmit(kernel, to);
    return kernel.Finish(work_.name, "sort/merge.comp", {shape_.lanes * rows, 1, 1},
                         GroupGrid(context_.facts, (work_.rows * tiles + rows - 1) / rows));
  }

  Step MergeStep(int64_t width, const Scratch& from, const Scratch* to) const {
    KernelBuilder kernel(context_.facts);
    WriteHead(kernel, false, shape_.unit);
    kernel.Param(static_cast<uint32_t>(width));
    const int64_t units = (work_.length + shape_.unit - 1) / shape_.unit;
    kernel.Append(fmt::format("#define UNIT {}u\n#define BY_UNITS(g) {}\n", shape_.unit, kernel.Divide("(g)", units)));
    WriteTypes(kernel);
    if (to == nullptr) WritePlace(kernel);
    WriteLoad(kernel, from);
    WriteEmit(kernel, to);
    constexpr uint32_t kGroup = 64;
    return kernel.Finish(work_.name + " merge", "sort/merge.comp", {kGroup, 1, 1},
                         GroupGrid(context_.facts, (work_.rows * units + kGroup - 1) / kGroup));
  }

  // Phase `phase` of sort/radix_chunks.comp; from and to are null for the operands and the results.
  Step RadixStep(int phase, const RadixShape& radix, const Digit& digit, const BufferSlice& counts, const Scratch* from,
                 const Scratch* to) const {
    KernelBuilder kernel(context_.facts);
    const int64_t per_row = (work_.length + radix.chunk - 1) / radix.chunk, chunks = work_.rows * per_row;
    kernel.Param(static_cast<uint32_t>(phase == 1 ? work_.rows : chunks));
    kernel.Param(static_cast<uint32_t>(work_.length));
    kernel.Param(static_cast<uint32_t>(per_row));
    kernel.Param(static_cast<uint32_t>(digit.low));
    const uint32_t lanes = phase == 1 ? kRadix : radix.lanes;
    kernel.Append(fmt::format("#define PHASE {}\n#define RADIX {}u\n#define CHUNK {}u\n#define LANES {}u\n", phase,
                              kRadix, radix.chunk, lanes));
    const int k = kernel.AddBuffer(ElementType::kU32,
                                   phase == 0   ? Access::kWrite
                                   : phase == 1 ? Access::kReadWrite
                                                : Access::kRead,
                                   counts);
    if (phase > 0) kernel.Append(fmt::format("uint load_count(uint i) {{ return {}; }}\n", kernel.Load(k, "i")));
    if (phase < 2) {
      kernel.Append(fmt::format("void store_count(uint i, uint n) {{ {} }}\n", kernel.Store(k, "i", "n")));
    }
    if (phase != 1) {
      kernel.Append(fmt::format("#define BY_CHUNKS(g) {}\n#define KEY_WORD(key) key{}\n", kernel.Divide("(g)", per_row),
                                WordSuffix(digit.word)));
      WriteTypes(kernel);
      if (from == nullptr || to == nullptr) WritePlace(kernel);
      from == nullptr ? WriteRead(kernel) : WriteReadScratch(kernel, *from);
      kernel.Append(fmt::format("#define READS_GROUPS {}\n", WriteReadGroup(kernel, from) ? 1 : 0));
      if (phase == 2) WriteEmit(kernel, to);
    }
    constexpr const char* kPhases[] = {"count", "scan", "move"};
    return kernel.Finish(work_.name + " " + kPhases[phase], "sort/radix_chunks.comp", {lanes, 1, 1},
                         GroupGrid(context_.facts, phase == 1 ? work_.rows : (chunks + lanes - 1) / lanes));
  }

  // Of a Key, word i.
  std::string WordSuffix(int i) const { return work_.order.key_words == 1 ? "" : fmt::format(".{}", "xyzw"[i]); }

  static constexpr int kDigitBits = 8;
  static constexpr uint32_t kRadix = 1u << kDigitBits;

  const LowerContext& context_;
  const SortWork& work_;
  std::vector<SortField> fields_;
  std::vector<int> carried_;  // operands that are fields
  bool carries_all_ = false, carries_key_ = false;
  SortShape shape_;
};

}  // namespace

std::vector<Step> LowerSortWork(const LowerContext& context, const SortWork& work, BufferMap& buffers) {
  return SortWriter(context, work).Write(buffers);
}

Status CheckSortWork(const LowerContext& context, const Instruction& instruction, const SortWork& work) {
  if (context.bindings != BindingMode::kDescriptors) return OkStatus();
  const SortWriter writer(context, work);
  if (const size_t count = 1 + writer.MostBindings(); count > context.facts.max_storage_buffers) {
    return Unsupported("{} needs {} storage buffers, more than this device's {}", instruction.name(), count,
                       context.facts.max_storage_buffers);
  }
  if (const int64_t bytes = writer.MostScratchBytes();
      static_cast<uint64_t>(bytes) > context.facts.max_storage_range_bytes) {
    return Unsupported(
        "{} needs {} bytes of scratch memory in one piece, more than this device's storage-buffer range of {} "
        "(--bindings=addresses has no such limit)",
        instruction.name(), bytes, context.facts.max_storage_range_bytes);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
