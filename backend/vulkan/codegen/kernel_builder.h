// KernelBuilder: collects the tensors, parameters and generated text of one kernel and makes the Step.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/step.h"
#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/codegen/statements/statement.h"
#include "backend/vulkan/drivers/known_faults.h"
#include "core/ir/instruction.h"
#include "core/maps/index_map.h"

namespace VXLA_NAMESPACE::vulkan {

class ValueWriter;

// The shape of one of the leaves of what the instruction gives.
inline const Shape& LeafShape(const Instruction& instruction, int leaf) {
  return *FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf));
}

// floor(n / divisor) == (high 32 bits of n * multiplier) >> shift for every n below 2^31; divisor in [2, 2^31).
struct MagicDivisor {
  uint32_t multiplier = 0, shift = 0;
};
MagicDivisor MakeMagicDivisor(uint32_t divisor);

// `count` workgroups as a grid within the device's limits; the kernel's group number is x + y * groups[0], and surplus
// groups have to return at once.
std::array<uint32_t, 3> GroupGrid(const DeviceFacts& facts, int64_t count);
bool HasSurplusGroups(const DeviceFacts& facts, int64_t count);

class KernelBuilder {
 public:
  explicit KernelBuilder(const DeviceFacts& facts) : facts_(facts) {}
  const DeviceFacts& facts() const { return facts_; }
  // Binds a tensor and returns its number k. A slice that was bound before with the same element type keeps its number
  // (and becomes kReadWrite if it is both).
  int AddBuffer(ElementType type, Access access, const BufferSlice& slice);
  ElementType buffer_type(int k) const { return types_.at(k); }
  int buffer_count() const { return static_cast<int>(types_.size()); }
  int64_t buffer_offset(int k) const { return bindings_.at(k).slice.offset_bytes; }
  int64_t buffer_bytes(int k) const { return bindings_.at(k).slice.size_bytes; }
  // Its elements of 8 or 16 bits are reached through words (IsPacked).
  bool is_packed(int k) const { return IsPacked(types_.at(k), facts_); }
  // Groups of them are reached through words: so on GPUs, which move 8 or 16 bytes at a time, that have such elements
  // too, and on lavapipe, which takes as long for a byte as for a word.
  bool groups_are_words(int k) const { return is_packed(k) || (words_go_in_pairs() && StorageBytes(types_.at(k)) < 4); }
  // Lets the text use LOAD(k, f32x4, i) and STORE: element i is the i-th group of four. 32-bit types, and c64 as f32;
  // 16-byte aligned slices. With width 8, LOAD(k, u64x4, i): the i-th group of eight as pairs; 32-byte aligned slices;
  // has_pairs(). Where groups_are_words, LOAD(k, u32, i): the i-th word; any width.
  void AddVectorView(int k, int width = 4);
  // Lets the text use LOAD(k, u32, i), LOAD(k, u32x2, i) or LOAD(k, u32x4, i): the i-th one, two or four words of a
  // slice aligned to them.
  void AddWordsView(int k, int words);
  // LOAD(k, u64, i): the bits of a 64-bit element.
  void AddBitsView(int k);

  // Words go in pairs where that is one access.
  bool words_go_in_pairs() const { return facts_.byte_offsets || (facts_.costs.accesses_by_lane && facts_.int64); }
  // Whether eight 32-bit elements can be loaded as four 64-bit integers.
  bool has_pairs() const { return facts_.int64; }
  // Whether eight that are only moved are stored so too.
  bool stores_pairs() const { return has_pairs() && StoresPairs(facts_); }

  // A word of the argument block that kernels of other sizes share the text with: "P(3)". Each call makes a new one.
  std::string Param(int64_t value);
  // Such words by the names that the algorithm has for them.
  void Params(std::initializer_list<std::pair<std::string_view, int64_t>> values);
  // A word that stays in the argument block, for what compilers must not know; equal ones are shared.
  std::string Data(int64_t value);
  // Parameters from now on are literals of the text: for kernels that are large enough to be worth a text of their own.
  void InlineParams() { inline_params_ = true; }
  // Constants of 32-bit types come from the argument block: for kernels that do little, so that they share a text.
  void ConstantsAsParams() { constants_as_params_ = true; }
  bool constants_as_params() const { return constants_as_params_; }
  // floor(value / divisor), the divisor in the argument block; `value` itself for 1. value < 2^31.
  std::string Divide(const std::string& value, int64_t divisor);

  // Element `index` (a uint expression) of tensor k.
  Elements ElementAt(int k, const std::string& index) const {
    return {std::to_string(k), StorageTag(types_.at(k)), 1, index};
  }
  // Its carrier value, and a statement that stores one.
  Expression Loaded(int k, const std::string& index) const { return Expression(ElementAt(k, index), types_.at(k)); }
  Statement Storing(int k, const std::string& index, const std::string& value) const;
  // The same as text, for functions and lines of the caller's own: "STORE(2, f32, i, v7);".
  std::string Load(int k, const std::string& index) const { return Loaded(k, index).Print(); }
  std::string Store(int k, const std::string& index, const std::string& value) const;

  // Some element's index has 64 bits where tensors are reached by address (the text's index64_t, WIDE_INDEX).
  void ReachesFar() { far_ = true; }
  // Values of the type are calculated.
  void NoteType(ElementType type) { traits_.emulates |= HasWideCarrier(type) && IsEmulated(type, facts_); }
  // Lanes of a subgroup exchange values.
  void NoteShuffles() { shuffles_ = true; }
  bool shuffles() const { return shuffles_; }
  // Some index does not fit the arithmetic that the text has for it: the step is none that may run.
  void NoteBeyondReach() { traits_.beyond_reach = true; }
  // Conversions of f16 are the device's own, so that what need not keep a NaN's bits is worth a text of its own.
  bool has_native_f16() const { return facts_.native_f16; }
  // Loops of many turns must say so, or drivers write them out.
  bool keeps_loops() const { return !facts_.costs.subgroups_in_turn; }
  bool has_wide_indices() const { return facts_.int64; }

  // What the text does with elements from `first` on that it has just stored in tensor k (TensorWriter::StoreGroup).
  using AfterStore =
      std::function<void(ValueWriter& writer, const IndexExpression& first, std::span<const std::string> values)>;
  void SetAfterStore(int k, AfterStore after) { after_store_[k] = std::move(after); }
  const AfterStore& after_store(int k) { return after_store_[k]; }

  // Binds tensors of one buffer together, where they are more than the device binds. Descriptors only.
  void ShareBindings() { shares_bindings_ = true; }
  // Workgroups read what others of the dispatch have written. The dispatch is not cut.
  void ReadsOfOthers() { reads_of_others_ = traits_.indivisible = true; }
  // How many bindings the step has then.
  int binding_count() const;

  // What stands at file scope in the generated part (functions, defines), in order.
  void Append(Code code) { code_ += std::move(code); }
  template <Formattable... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    code_ += fmt::format(format, std::forward<Args>(args)...);
  }
  // A function, of which `head` is all before its braces.
  void Define(const std::string& head, Code body) { code_ += Code::Function(head, std::move(body)); }
  // The name of a function of which `text` is the text, by its name: one for all whose texts are the same.
  std::string Function(const std::string& prefix, const std::function<std::string(const std::string& name)>& text);

  // constants: specialisation constants by id, the workgroup size first. So many workgroups in any order (GroupGrid).
  Step Finish(std::string name, std::string algorithm, std::vector<uint32_t> constants, int64_t groups) const;

 private:
  const DeviceFacts& facts_;
  std::vector<ElementType> types_;
  std::vector<Binding> bindings_;
  std::vector<uint32_t> params_;
  std::map<uint32_t, std::string> data_;
  // The bindings, tensors of one buffer together, and of each tensor which it is.
  std::pair<std::vector<Binding>, std::vector<int>> SharedBindings() const;
  void AddView(int k, const std::string& tag);
  std::string CoherentTensors() const;

  bool inline_params_ = false, constants_as_params_ = false, far_ = false, shares_bindings_ = false;
  bool shuffles_ = false, reads_of_others_ = false;
  KernelTraits traits_;
  std::string views_;
  Code code_;
  std::map<std::string, std::string> functions_;  // names, by the text without one
  std::map<int, AfterStore> after_store_;
};

}  // namespace VXLA_NAMESPACE::vulkan
