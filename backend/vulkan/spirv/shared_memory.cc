#include "backend/vulkan/spirv/shared_memory.h"

#include <algorithm>
#include <unordered_map>

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

struct Extent {
  uint64_t bytes = 0, alignment = 1;
};

uint64_t RoundUp(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// Reads what stands before a module's functions, instruction by instruction.
class SharedReader {
 public:
  explicit SharedReader(std::span<const uint32_t> constants) : constants_(constants) {}

  std::optional<uint64_t> Read(const Words& words) {
    for (size_t at = kHeaderWords; at < words.size();) {
      const uint32_t count = words[at] >> 16, op = words[at] & 0xffffu;
      if (op == OpFunction || count == 0 || at + count > words.size()) break;
      if (!Note(op, std::span(words).subspan(at + 1, count - 1))) return std::nullopt;
      at += count;
    }
    return bytes_;
  }

 private:
  // False: a variable's size is not known.
  bool Note(uint32_t op, std::span<const uint32_t> in) {
    switch (op) {
      case OpDecorate:
        if (in[1] == DecorationSpecId) numbers_[in[0]] = in[2];
        return true;
      case OpTypeBool:
        types_[in[0]] = {4, 4};
        return true;
      case OpTypeInt:
      case OpTypeFloat:
        types_[in[0]] = {in[1] / 8, in[1] / 8};
        return true;
      case OpTypeVector:
        NoteVector(in[0], in[1], in[2]);
        return true;
      case OpTypeArray:
        NoteArray(in[0], in[1], in[2]);
        return true;
      case OpTypeStruct:
        NoteStruct(in);
        return true;
      case OpTypePointer:
        pointed_[in[0]] = in[2];
        return true;
      case OpConstantTrue:
      case OpConstantFalse:
        values_[in[1]] = op == OpConstantTrue;
        return true;
      case OpConstant:
        values_[in[1]] = in[2];
        return true;
      case OpSpecConstantTrue:
      case OpSpecConstantFalse:
        NoteSpecialised(in[1], op == OpSpecConstantTrue);
        return true;
      case OpSpecConstant:
        NoteSpecialised(in[1], in[2]);
        return true;
      case OpSpecConstantOp:
        NoteOperation(in);
        return true;
      case OpVariable:
        return in[2] != StorageClassWorkgroup || NoteShared(in[0]);
      default:
        return true;
    }
  }

  void NoteVector(uint32_t type, uint32_t element, uint32_t count) {
    const auto known = types_.find(element);
    if (known == types_.end()) return;
    const uint64_t bytes = known->second.bytes;
    types_[type] = {count * bytes, (count == 3 ? 4 : count) * bytes};
  }
  void NoteArray(uint32_t type, uint32_t element, uint32_t length) {
    const auto known = types_.find(element);
    const auto count = values_.find(length);
    if (known == types_.end() || count == values_.end()) return;
    const Extent each = known->second;
    types_[type] = {count->second * RoundUp(each.bytes, each.alignment), each.alignment};
  }
  void NoteStruct(std::span<const uint32_t> in) {
    Extent whole;
    for (const uint32_t member : in.subspan(1)) {
      const auto known = types_.find(member);
      if (known == types_.end()) return;
      whole.bytes = RoundUp(whole.bytes, known->second.alignment) + known->second.bytes;
      whole.alignment = std::max(whole.alignment, known->second.alignment);
    }
    types_[in[0]] = {RoundUp(whole.bytes, whole.alignment), whole.alignment};
  }
  void NoteSpecialised(uint32_t id, uint32_t otherwise) {
    const auto number = numbers_.find(id);
    const bool given = number != numbers_.end() && number->second < constants_.size();
    values_[id] = given ? constants_[number->second] : otherwise;
  }
  void NoteOperation(std::span<const uint32_t> in) {
    const std::span<const uint32_t> operands = in.subspan(3);
    std::vector<uint32_t> of;
    for (const uint32_t operand : operands) {
      const auto known = values_.find(operand);
      if (known == values_.end()) return;
      of.push_back(known->second);
    }
    if (in[2] == OpSelect && of.size() == 3) {
      values_[in[1]] = of[0] != 0 ? of[1] : of[2];
    } else if (in[2] == OpLogicalNot && of.size() == 1) {
      values_[in[1]] = of[0] == 0;
    } else if (const auto value = of.size() == 2 ? Calculated(in[2], of[0], of[1]) : std::nullopt) {
      values_[in[1]] = *value;
    }
  }
  bool NoteShared(uint32_t pointer) {
    const auto pointed = pointed_.find(pointer);
    const auto known = pointed == pointed_.end() ? types_.end() : types_.find(pointed->second);
    if (known == types_.end()) return false;
    bytes_ = RoundUp(bytes_, known->second.alignment) + known->second.bytes;
    return true;
  }

  const std::span<const uint32_t> constants_;
  std::unordered_map<uint32_t, Extent> types_;
  std::unordered_map<uint32_t, uint32_t> pointed_, values_, numbers_;  // by id
  uint64_t bytes_ = 0;
};

}  // namespace

std::optional<uint64_t> SharedBytes(const Words& words, std::span<const uint32_t> constants) {
  return SharedReader(constants).Read(words);
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
