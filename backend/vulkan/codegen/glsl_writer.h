// Writes the body of a fusion as statements: values of instructions at symbolic indices (core/maps/index_map.h).
//
// Use: one FusionDescription per instruction, one KernelBuilder per kernel, one ValueWriter per GLSL function body.
//   ValueWriter writer(kernel, body, buffers, space);
//   writer.Bind(o, "o"); writer.Bind(r, "r");            // loop variables are GLSL uints
//   writer.Override(*reduce, row_index, "acc");          // a value that the algorithm has already
//   std::string value = writer.Value(*root, index);      // emits statements, returns the name of a local
//   writer.Line(kernel.Store(k, writer.Index(linear), value));
//   kernel.Define("void store_row(uint o, float acc)", writer.Take());
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/lowering.h"
#include "backend/vulkan/codegen/kernel_builder.h"
#include "core/ir/module.h"
#include "core/maps/index_map.h"
#include "core/passes/fuse/fusion_description.h"

namespace VXLA_NAMESPACE::vulkan {

class ValueWriter : CodeWriter {
 public:
  ValueWriter(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, IndexSpace& space);

  // The GLSL uint that holds a loop variable. Every variable that an index mentions must be bound; temporaries are
  // emitted.
  void Bind(int variable, std::string glsl_name);
  // A new one of so many values, which are groups of `width` neighbours, where these are more than one (Vectorize).
  int NewVariable(std::string glsl_name, int64_t size, int64_t width = 1);
  // Value() answers `glsl_value` (a carrier value) for this instruction. It CHECK-fails if the instruction is read at
  // another index than `at`, but several indices may be given. A tuple-shaped hero (variadic reduce) is overridden per
  // element through `leaf`.
  void Override(const Instruction& instruction, MultiIndex at, std::string glsl_value, int leaf = 0);

  // An operand of one element is kept in `glsl_value` instead of memory.
  void Hold(const Instruction& operand, std::string glsl_value) { held_[&operand] = std::move(glsl_value); }

  // `variable` counts groups of `width` (4 or 8) neighbours, and values will be asked for at width * variable + 0, 1
  // ...: loads of 32-bit types that lie side by side then become one load of the group. 8 needs 64-bit integers.
  // Several variables may be given, of one width. 16 is for packed elements alone.
  void Vectorize(int variable, int width);
  // Groups of 8 are stored in the pairs of words that they were loaded in, where the driver is fast so: for what is
  // only moved. (What is computed lavapipe has in vectors of 32-bit lanes, and puts pairs of it together on the stack,
  // lane by lane.)
  void OnlyMoves() { only_moves_ = true; }
  // Groups of 8 that are computed are stored as pairs of words, too, which shifts join (JOINED in access.glsl): half
  // the accesses. (Not where few operations are done: LLVM may then fetch their operands from 64-bit vectors.)
  void JoinPairs() { joins_pairs_ = true; }
  // What is loaded in pairs and stored after little arithmetic: LLVM would store a half of a 64-bit lane by a look at
  // the 64-bit vector on the stack, but for a zero that it does not know it is. (Elsewhere it costs a twentieth.)
  void HideLoads() { hides_loads_ = true; }
  // The number of the tensor that a result of the fusion, one of the instruction's leaves, is stored in.
  int ResultTensor(int leaf);
  // The carrier value of the element of tensor k at a linear index. Memoised.
  std::string Load(int k, const IndexExpression& linear);
  // Stores values at linear indices first + 0, 1 ...: as groups where Vectorize() allows, else one by one.
  // What the kernel has to do after stores to the tensor comes next.
  void StoreGroup(int k, const IndexExpression& first, std::span<const std::string> values);
  // Stores values at these linear indices: as a group where they lie side by side and `together` allows it, else one by
  // one, each where what `exists` gives for it holds (nothing: it is there).
  void StoreAt(int k, std::span<const IndexExpression> places, std::span<const std::string> values,
               bool together = true, const std::function<std::string(size_t)>& exists = {});

  // The carrier value of an instruction of the body at an index: a local's name. Memoised per (instruction, index).
  std::string Value(const Instruction& instruction, const MultiIndex& index);
  // Of each of several instructions, those of `width` neighbours from a linear index on.
  std::vector<std::vector<std::string>> Values(std::span<const Instruction* const> instructions,
                                               const IndexExpression& first, int64_t width);
  // Its leaf: a result of a variadic reduce that is overridden, or itself.
  std::string LeafValue(const Instruction& instruction, int leaf, const MultiIndex& index);
  // The words that a group of neighbouring elements, of less than a word each, makes in memory: those of an instruction
  // from `index` on, where plain maps lead to an operand that is read in such groups. Empty: it is not. Memoised.
  std::vector<std::string> GroupWords(const Instruction& instruction, MultiIndex index);
  // An index expression as a GLSL uint: a local's name or "0u". Memoised. It may be below zero, modulo 2^32, if all its
  // values are below 2^31.
  std::string Index(const IndexExpression& expression);
  // Which element of a tensor a linear index is, for KernelBuilder's Load and Store: beyond 2^31 elements a uint64_t
  // where tensors are reached by address. Memoised.
  std::string Place(const IndexExpression& linear);
  // The row-major linear index of `index` in `shape`.
  std::string LinearIndex(const MultiIndex& index, const Shape& shape);

  // Stores `width` neighbours of a dynamic-update-slice's part, from this linear index of it on, where they belong in
  // the whole array.
  void StoreUpdate(int k, const Instruction& update, const IndexExpression& first, int64_t width);

  KernelBuilder& kernel() { return kernel_; }
  IndexSpace& space() { return space_; }
  // The element of `indices` at an index, clamped to [0, most]: where a window starts. Memoised.
  IndexExpression ClampedStart(const Instruction& indices, const MultiIndex& at, int64_t most);
  // Where the window of a dynamic-slice or a dynamic-update-slice starts: `first` is its first operand of indices.
  MultiIndex WindowStart(const Instruction& instruction, int first, const Shape& whole, const Shape& window);

  // The expression, modulo 2^32, where it is below `size` (above 0), else size - 1: a place that exists. Memoised.
  IndexExpression Clamped(const IndexExpression& expression, int64_t size);

  // Statements of the caller's own, in which locals of the writer may be used.
  using CodeWriter::Add, CodeWriter::Assign, CodeWriter::Barrier, CodeWriter::Declare, CodeWriter::Line;
  // A local that the caller's own statements may change.
  std::string Assignable(ElementType type, const std::string& value) { return Local(CarrierType(type), value); }
  // A block that the following values live in: OpenBlock("if (x < P(0))") ... CloseBlock(). Locals of a block end with
  // it.
  void OpenBlock(const std::string& head);
  void CloseBlock();
  // The statements so far; the writer starts afresh (bindings and overrides stay).
  Code Take();

 private:
  // Locals that hold what was computed before, by a text key.
  using Scope = std::unordered_map<std::string, std::string>;
  // The local that `make` gives for the key, made once: it ends with the block that it is made in.
  template <typename Make>
  std::string Once(const std::string& key, const Make& make) {
    if (const std::string* known = Find(key)) return *known;
    std::string local = make();
    return scopes_.back()[key] = std::move(local);
  }
  const std::string* Find(const std::string& key) const;
  // Likewise a variable of so many values, a local uint.
  template <typename Make>
  IndexExpression VariableOnce(const std::string& key, int64_t size, const Make& make) {
    const std::string local = Once(key, [&] {
      const std::string made = Local("uint", make());
      variables_[made] = NewVariable(made, size);
      return made;
    });
    return space_.Variable(variables_.at(local));
  }
  struct OverriddenValue {
    IndexExpression at;  // linear
    std::string value;
  };
  std::string Compute(const Instruction& instruction, const MultiIndex& index);
  std::string ConstantValue(const Instruction& instruction);
  // Neither loaded, nor a constant or an iota, nor elements of these.
  bool IsComputed(const Instruction& value) const;
  std::string IotaValue(const Instruction& instruction, const MultiIndex& index);
  std::string ClampedText(ElementType type, const std::string& value, int64_t most);
  std::string LoadOperand(const Instruction& operand, const Shape& shape, const MultiIndex& index);
  std::string PadValue(const Instruction& instruction, const MultiIndex& index);
  struct ConcatenatePart {
    const Instruction* operand;
    int64_t begin, end;
  };
  bool IsOneComputation(const Instruction& concatenate, std::span<const ConcatenatePart> parts) const;
  std::string ConcatenateValue(const Instruction& instruction, const MultiIndex& index);
  std::string DynamicSliceValue(const Instruction& instruction, const MultiIndex& index);
  std::string GatherValue(const Instruction& instruction, const MultiIndex& index);
  // The group that a linear index of tensor k falls into and its place there, if groups can be read at once.
  struct GroupPlace {
    IndexExpression group;
    int64_t place;
  };
  // `along`: only where groups follow each other as a vectorized variable counts.
  std::optional<GroupPlace> FindGroup(int k, const IndexExpression& linear, bool along = true) const;
  std::string LoadFromGroup(int k, const GroupPlace& at);
  IndexExpression WordOf(int k, const GroupPlace& at) const;
  // Whether groups of tensor k are pairs of words that one access moves.
  bool HasPairs(int k) const;
  // Words that a load or store of a group of packed elements moves at a time.
  int WordsOfAnAccess(int k) const;
  Stored PackedWord(ElementType type, std::span<const std::string> parts) const;
  // The word that element `at` lies in, loaded; with its pair where there are pairs. Memoised.
  std::string WordAt(int k, const GroupPlace& at);
  std::string LoadWord(int k, const GroupPlace& at);
  std::string LoadFromWord(int k, const GroupPlace& at);
  void StoreValue(int k, const IndexExpression& place, const std::string& value);
  void StoreNeighbours(int k, const IndexExpression& first, std::span<const std::string> values);
  void StoreWords(int k, const IndexExpression& group, std::span<const std::string> values);
  const std::string* FindOverride(const Instruction& instruction, int leaf, const MultiIndex& index) const;
  std::string FarPlace(const IndexExpression& linear);
  std::string VariableName(int variable);
  std::string Quotient(int variable, int64_t divisor);
  std::string Digit(const IndexTerm& term);
  // A local's name that is new.
  std::string NewName() { return "v" + std::to_string(next_local_++); }
  void StoreValues(int k, std::string_view tag, const std::string& index, std::vector<Stored> values);
  std::string Local(std::string_view glsl_type, Expression value, bool precise = false);
  std::string Local(std::string_view glsl_type, std::string value) {
    return Local(glsl_type, Expression{std::move(value)});
  }
  // An elementwise result. Where it is rounded, so that any NaN becomes the one, operands need not keep a NaN's bits.
  std::string Elementwise(const Instruction& instruction, std::vector<std::string> operands);
  // A local without a value yet, for the branches of a pad or a concatenate to assign.
  std::string Declare(ElementType type);

  KernelBuilder& kernel_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  IndexSpace& space_;
  std::unordered_map<int, std::string> bound_;
  std::map<std::pair<const Instruction*, int>, std::vector<OverriddenValue>> overrides_;
  std::unordered_map<const Instruction*, std::string> held_;
  std::vector<int> vector_variables_;
  int vector_width_ = 1;
  bool only_moves_ = false, hides_loads_ = false, joins_pairs_ = false;
  std::vector<Scope> scopes_{1};
  std::unordered_map<std::string, int> variables_;  // of the index space, by the local that each is
  int next_local_ = 0;
  std::unordered_set<std::string> rounded_;                  // locals that round_f16 or round_bf16 gave
  std::unordered_map<std::string, std::string> any_nan_of_;  // of locals: others, the same but for a NaN's bits
};

}  // namespace VXLA_NAMESPACE::vulkan
