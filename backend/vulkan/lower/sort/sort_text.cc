#include "backend/vulkan/lower/sort/sort_text.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Elements of 8 and 16 bits are moved as words; all others as they are.
bool MovesAsWord(ElementType type) { return StorageBytes(type) < 4; }

// LOAD and STORE of an operand as it is moved.
std::string LoadMoved(const KernelBuilder& kernel, int buffer, const std::string& index) {
  return fmt::format("LOAD({}, {}, {})", buffer, StorageTag(kernel.buffer_type(buffer)), index);
}
std::string StoreMoved(const KernelBuilder& kernel, int buffer, const std::string& index, const std::string& value) {
  return fmt::format("STORE({}, {}, {}, {});", buffer, StorageTag(kernel.buffer_type(buffer)), index, value);
}

// Statements that read a member of the items of a group.
std::string ReadGroupField(KernelBuilder& kernel, int buffer, const SortField& field, int width) {
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

}  // namespace

void SortFields::AddOperand(int k) {
  const ElementType type = work_.types[static_cast<size_t>(k)];
  const bool word = MovesAsWord(type);
  fields_.push_back(
      {fmt::format("r{}", k), word ? "uint" : std::string(CarrierType(type)), word ? ElementType::kU32 : type});
  carried_.push_back(k);
}

SortFields::SortFields(const LowerContext& context, const SortWork& work) : context_(context), work_(work) {
  int64_t all = 0, compared = 0;
  for (const ElementType type : work_.types) all += std::max(StorageBytes(type), 4);
  for (const int k : work_.order.operands) compared += std::max(StorageBytes(work_.types[static_cast<size_t>(k)]), 4);
  carries_key_ = !AnyOrder() && compared >= 4 * work_.order.key_words;
  const int64_t needed = carries_key_ ? 4 * work_.order.key_words : compared;
  constexpr int64_t kMostBytes = 12;
  carries_all_ = all <= std::max<int64_t>(kMostBytes, needed + 4);
  if (carries_all_) {
    carries_key_ = false;
    for (size_t k = 0; k < work_.types.size(); ++k) AddOperand(static_cast<int>(k));
  } else if (carries_key_) {
    const int words = work_.order.key_words;
    for (int i = 0; i < words; ++i) fields_.push_back({fmt::format("k{}", i), "uint", ElementType::kU32});
  } else {
    for (const int k : work_.order.operands) AddOperand(k);
  }
  if (!carries_all_ || work_.positions) fields_.push_back({"position", "uint", ElementType::kU32});
}

void SortText::WriteTypes(KernelBuilder& kernel) const {
  std::string members;
  for (const SortField& field : fields_) members += fmt::format(" {} {};", field.glsl_type, field.name);
  kernel.Append(fmt::format("struct Item {{{} }};\n", members) + work_.order.text);
  std::vector<std::string> arguments;
  if (carries_key_) {
    for (int i = 0; i < work_.order.key_words; ++i) arguments.push_back(fmt::format("item.k{}", i));
    kernel.Append("Key key_of(Item item) {{ return Key({}); }}\n", fmt::join(arguments, ", "));
    return;
  }
  for (const int k : work_.order.operands) {
    arguments.push_back(FromStorage(work_.types[static_cast<size_t>(k)], fmt::format("item.r{}", k)));
  }
  kernel.Append("Key key_of(Item item) {{ return make_key({}); }}\n", fmt::join(arguments, ", "));
}

void SortText::WritePlace(KernelBuilder& kernel) const {
  const std::string length = kernel.Param(work_.length);
  if (work_.stride == 1) {
    kernel.Append("uint place_of(uint row, uint e) {{ return row * {} + e; }}\n", length);
    return;
  }
  const std::string stride = kernel.Param(work_.stride);
  kernel.Append(
      "uint place_of(uint row, uint e) {{\n  uint outer = {};\n  return (outer * {} + e) * {} + (row - "
      "outer * {});\n}}\n",
      kernel.Divide("row", work_.stride), length, stride, stride);
}

void SortText::WriteRead(KernelBuilder& kernel, const Items& from) const {
  if (from.in_scratch()) {
    WriteLoad(kernel, from);
    kernel.Append("Item read_item(uint row, uint e) {{ return load_item(row * {} + e); }}\n",
                  kernel.Param(from.length));
    return;
  }
  std::string text = "  uint place = place_of(row, e);\n  Item item;\n";
  std::vector<std::string> arguments;
  for (const int k : carries_key_ ? work_.order.operands : carried_) {
    const int buffer =
        kernel.AddBuffer(work_.types[static_cast<size_t>(k)], Access::kRead, work_.operands[static_cast<size_t>(k)]);
    if (carries_key_) {
      text += fmt::format("  {} p{} = {};\n", CarrierType(kernel.buffer_type(buffer)), k, kernel.Load(buffer, "place"));
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

void SortText::WriteReadGroup(KernelBuilder& kernel, const Items& from) const {
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
  kernel.Append("#define GROUP {}\n", possible ? width : 1);
  if (!possible) return;
  std::vector<std::string> items, parameters;
  std::string each;
  for (int i = 0; i < width; ++i) {
    items.push_back(fmt::format("item_{}", i));
    parameters.push_back("out Item " + items.back());
    each += fmt::format(" F({})", items.back());
  }
  kernel.Append(
      "void read_group(uint row, uint e, {}) {{\n  uint group = (row * {} + e) / {}u;\n{}}}\n"
      "#define READ_GROUP(row, e) Item {}; read_group(row, e, {});\n#define EACH_ITEM(F){}\n",
      fmt::join(parameters, ", "), kernel.Param(from.length), width, text, fmt::join(items, ", "),
      fmt::join(items, ", "), each);
}

void SortText::WriteShared(KernelBuilder& kernel, int64_t items) const {
  std::string get, put;
  for (const SortField& field : fields_) {
    kernel.Append("shared {} shared_{}[{}];\n", field.glsl_type, field.name, items);
    get += fmt::format("  item.{0} = shared_{0}[i];\n", field.name);
    put += fmt::format("  shared_{0}[i] = item.{0};\n", field.name);
  }
  kernel.Append("Item get_item(uint i) {\n  Item item;\n" + get + "  return item;\n}\n");
  kernel.Append("void put_item(uint i, Item item) {\n" + put + "}\n");
}

void SortText::WriteLoad(KernelBuilder& kernel, const Items& from) const {
  std::string text;
  for (size_t f = 0; f < fields_.size(); ++f) {
    const int buffer = kernel.AddBuffer(fields_[f].type, Access::kRead, from.slices[f]);
    text += fmt::format("  item.{} = {};\n", fields_[f].name, LoadMoved(kernel, buffer, "i"));
  }
  kernel.Append("Item load_item(uint i) {\n  Item item;\n" + text + "  return item;\n}\n");
}

void SortText::WriteEmit(KernelBuilder& kernel, const Items& to) const {
  std::string text = "  uint place = place_of(row, e);\n";
  if (to.in_scratch() || work_.kept != work_.length) {
    const std::string length = kernel.Param(to.length);
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

std::string SortText::EmitResults(KernelBuilder& kernel) const {
  std::string text;
  if (!carries_all_) text += "  uint source = place_of(row, item.position);\n";
  for (size_t k = 0; k < work_.results.size(); ++k) {
    std::string value = fmt::format("item.r{}", k);
    if (std::ranges::find(carried_, static_cast<int>(k)) == carried_.end()) {
      const int buffer = kernel.AddBuffer(work_.types[k], Access::kRead, work_.operands[k]);
      value = fmt::format("value_{}", k);
      text += fmt::format("  {} {} = {};\n", MovesAsWord(work_.types[k]) ? "uint" : CarrierType(work_.types[k]), value,
                          LoadMoved(kernel, buffer, "source"));
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

void SortText::WriteRadixHead(KernelBuilder& kernel, const RadixPass& pass, int64_t units, const char* by) const {
  const int64_t per_row = CeilDivide(pass.from.length, pass.radix.part());
  kernel.Params(
      {{"PART_COUNT", units}, {"LENGTH", pass.from.length}, {"ROW_PARTS", per_row}, {"DIGIT_LOW", pass.digit.low}});
  kernel.Append("#define PHASE {}\n#define RADIX {}u\n", pass.phase, pass.radix.radix());
  WriteCounters(kernel, pass.counts, "count");
  if (pass.phase == 1) return;
  kernel.Append("#define {}(g) {}\n#define KEY_WORD(key) key{}\n", by, kernel.Divide("(g)", per_row),
                WordSuffix(pass.digit.word));
  WriteTypes(kernel);
  if (!pass.from.in_scratch() || !pass.to.in_scratch()) WritePlace(kernel);
  WriteRead(kernel, pass.from);
  if (pass.phase == 2) WriteEmit(kernel, pass.to);
}

}  // namespace VXLA_NAMESPACE::vulkan
