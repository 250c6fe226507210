// Updates whose order does not matter, by atomic operations of the words that the elements lie in. No invocation waits
// for another: an atomic function always ends, and an exchange is tried again only where another one's has succeeded.
#include "backend/vulkan/lower/indexing/scatter_atomics.h"

#include <fmt/format.h>

#include <bit>

#include "backend/vulkan/codegen/scalar_computation.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string_view AtomicFunction(Opcode operation) {
  switch (operation) {
    case Opcode::kAdd:
      return "atomicAdd";
    case Opcode::kAnd:
      return "atomicAnd";
    case Opcode::kOr:
      return "atomicOr";
    case Opcode::kXor:
      return "atomicXor";
    case Opcode::kMaximum:
      return "atomicMax";
    default:
      VXLA_CHECK(operation == Opcode::kMinimum, "an operation that is an atomic function");
      return "atomicMin";
  }
}

}  // namespace

std::string ScatterAtomics::Combined(int k, const std::string& element, const std::string& update) const {
  const Computation& computation = *scatter_.called(0);
  std::vector<std::string> arguments;
  for (const Instruction* parameter : computation.parameters())
    arguments.push_back(ZeroText(parameter->shape().element_type()));
  arguments[static_cast<size_t>(k)] = element;
  arguments[static_cast<size_t>(form_.arrays + k)] = update;
  return fmt::format("{}_{}({})", combine_, k, fmt::join(arguments, ", "));
}

void ScatterAtomics::ApplyAtomic(const IndexExpression& linear, const std::vector<Place>& lanes) {
  for (int k = 0; k < form_.arrays; ++k) {
    const ElementType type = kernel_.buffer_type(tensors_[static_cast<size_t>(k)]);
    std::vector<std::string> updates;
    for (const Place& place : lanes) updates.push_back(UpdateAs(type, k, place));
    // Lanes at neighbours that fill a word change it together.
    const size_t in_word = static_cast<size_t>(std::max(1, 4 / StorageBytes(type)));
    const size_t together = lanes.size() % in_word == 0 ? in_word : 1;
    for (size_t j = 0; j < lanes.size(); j += together) {
      const std::string index = writer_.Index(space_.Add(linear, {{}, static_cast<int64_t>(j)}));
      writer_.OpenBlock("");
      if (StorageBytes(type) == 8) {
        ApplyToTwoWords(k, index, updates[j]);
      } else {
        ApplyInWord(k, index, std::span(updates).subspan(j, together));
      }
      writer_.CloseBlock();
    }
  }
}

void ScatterAtomics::ApplyInWord(int k, const std::string& index, std::span<const std::string> updates) {
  const int tensor = tensors_[static_cast<size_t>(k)];
  const ElementType type = kernel_.buffer_type(tensor);
  const int64_t bytes = StorageBytes(type), bits = 8 * bytes;
  const OrderFree way = OrderFreeOf(scatter_, k);
  if (bytes == 4 && way == OrderFree::kFunction) {
    return writer_.Line(fmt::format("{}(", AtomicFunction(*OperationOf(scatter_, k))), kernel_.ElementAt(tensor, index),
                        fmt::format(", {});", updates[0]));
  }
  kernel_.AddWordsView(tensor, 1);
  writer_.Line("index64_t element_ = {};", index);
  const std::string mask = bytes == 4 ? "0xffffffffu" : fmt::format("{}u", (1u << bits) - 1);
  // Where a word's parts begin, in bits: its only element's wherever that lies, or all of them.
  std::vector<std::string> shifts;
  if (updates.size() == 1 && bytes < 4) {
    writer_.Line("uint shift_ = (uint(element_) & {}u) * {}u;", 4 / bytes - 1, bits);
    shifts.push_back("shift_");
  } else {
    for (size_t j = 0; j < updates.size(); ++j) shifts.push_back(fmt::format("{}u", static_cast<int64_t>(j) * bits));
  }
  const Elements word{std::to_string(tensor), "u32", 1,
                      fmt::format("element_ >> {}u", std::countr_zero(static_cast<uint32_t>(4 / bytes)))};
  const auto packed = [&](const std::function<std::string(size_t)>& part) {
    std::string text;
    for (size_t j = 0; j < shifts.size(); ++j)
      text += fmt::format("{}({} << {})", j == 0 ? "" : " | ", part(j), shifts[j]);
    return text;
  };
  const std::string parts = packed([&](size_t) { return mask; });
  if (way == OrderFree::kFunction) {
    const Opcode operation = *OperationOf(scatter_, k);
    std::string value = packed([&](size_t j) { return ToStorage(type, updates[j]); });
    if (operation == Opcode::kAdd) return AddToParts(word, value, bits);
    if (operation == Opcode::kAnd) value = fmt::format("{} | ~({})", value, parts);
    return writer_.Line(fmt::format("{}(", AtomicFunction(operation)), word, fmt::format(", {});", value));
  }
  const auto from_bits = [&](const std::string& stored) {
    return type == ElementType::kF32   ? fmt::format("uintBitsToFloat({})", stored)
           : type == ElementType::kS32 ? fmt::format("int({})", stored)
                                       : FromStorage(type, stored);
  };
  const auto to_bits = [&](const std::string& value) {
    return type == ElementType::kF32   ? fmt::format("floatBitsToUint({})", value)
           : type == ElementType::kS32 ? fmt::format("uint({})", value)
                                       : ToStorage(type, value);
  };
  std::vector<std::string> values;
  for (const std::string& update : updates) values.push_back(writer_.Assignable(type, update));
  ExchangeUntilKept(word, "uint", [&](const std::string& seen) {
    const std::string changed = packed([&](size_t j) {
      const std::string stored = bytes == 4 ? seen : fmt::format("(({} >> {}) & {})", seen, shifts[j], mask);
      return to_bits(Combined(k, from_bits(stored), values[j]));
    });
    return bytes == 4 || shifts.size() > 1 ? changed : fmt::format("({} & ~({})) | {}", seen, parts, changed);
  });
}

// Updates commute, so one that leaves an older value as it was does the same to the latest one.
void ScatterAtomics::ExchangeUntilKept(const Elements& memory, std::string_view type,
                                       const std::function<std::string(const std::string& seen)>& wanted) {
  writer_.Line(fmt::format("{} seen_ = ", type), memory, ", before_;");
  writer_.OpenBlock("do");
  writer_.Line("before_ = seen_;");
  writer_.Line("{} wanted_ = {};", type, wanted("seen_"));
  writer_.Line("if (wanted_ != seen_) seen_ = atomicCompSwap(", memory, ", seen_, wanted_);");
  writer_.CloseBlock();
  writer_.Line("while (seen_ != before_);");
}

// What an addition carries from a part into the next one is known by the word that it met, and taken back, which may
// borrow from the part behind that, and so on: each time it is a part further, and one that no exchange of others
// delays. In the end every part has taken what was meant for it and nothing else, whatever came between.
void ScatterAtomics::AddToParts(const Elements& word, const std::string& added, int64_t bits) {
  const char* const ends = bits == 8 ? "0x00808080u" : "0x00008000u";
  writer_.Line("uint added_ = {};", added);
  writer_.Line("uint met_ = atomicAdd(", word, ", added_);");
  writer_.Line("uint over_ = ((met_ & added_) | ((met_ | added_) & ~(met_ + added_))) & {};", ends);
  writer_.Line("bool borrows_ = true;");
  writer_.OpenBlock("while (over_ != 0u)");
  writer_.Line("added_ = over_ << 1;");
  writer_.Line("uint change_ = borrows_ ? 0u - added_ : added_;");
  writer_.Line("met_ = atomicAdd(", word, ", change_);");
  writer_.Line("uint had_ = borrows_ ? ~met_ : met_, made_ = met_ + change_;");
  writer_.Line("over_ = ((had_ & added_) | ((had_ | added_) & (borrows_ ? made_ : ~made_))) & {};", ends);
  writer_.Line("borrows_ = !borrows_;");
  writer_.CloseBlock();
}

// Sums need no exchange of 64 bits: the low word's addition tells what it carries into the high one.
void ScatterAtomics::ApplyToTwoWords(int k, const std::string& index, const std::string& update) {
  const int tensor = tensors_[static_cast<size_t>(k)];
  const ElementType type = kernel_.buffer_type(tensor);
  const std::string suffix(CarrierSuffix(type));
  writer_.Line("index64_t element_ = {};", index);
  const std::string value = writer_.Assignable(type, update);
  if (OrderFreeOf(scatter_, k) == OrderFree::kExchangeWide) {
    kernel_.AddBitsView(tensor);
    const auto bitcast = [&](const std::string& from, const std::string& to, const std::string& x) {
      return from == to ? x : fmt::format("bitcast_{}_{}({})", from, to, x);
    };
    const Elements whole{std::to_string(tensor), "u64", 1, "element_"};
    return ExchangeUntilKept(whole, "u64_t", [&](const std::string& seen) {
      return bitcast(suffix, "u64", Combined(k, bitcast("u64", suffix, seen), value));
    });
  }
  kernel_.AddWordsView(tensor, 1);
  const std::string_view function = AtomicFunction(*OperationOf(scatter_, k));
  const auto word = [&](std::string index) { return Elements{std::to_string(tensor), "u32", 1, std::move(index)}; };
  writer_.Line("uint low_ = low_word_{0}({1}), high_ = high_word_{0}({1});", suffix, value);
  writer_.Line(fmt::format("uint met_ = {}(", function), word("2u * element_"), ", low_);");
  if (OperationOf(scatter_, k) == Opcode::kAdd) writer_.Line("high_ += met_ + low_ < met_ ? 1u : 0u;");
  writer_.Line(fmt::format("{}(", function), word("2u * element_ + 1u"), ", high_);");
}

}  // namespace VXLA_NAMESPACE::vulkan
