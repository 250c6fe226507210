// SortText: what kernels of sorts move, an Item of several fields, and the text that reads, compares and stores it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/vulkan/lower/sort/sort_kernels.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {

// One member of what the kernels move.
struct SortField {
  std::string name, glsl_type;
  ElementType type;  // as it lies in scratch
  int bytes() const { return std::max(StorageBytes(type), 4); }
};

// Rows of `length` items: in scratch, or (no slices) in the operands or the results.
struct SortItems {
  std::vector<BufferSlice> slices;  // by field
  int64_t length = 0;
  bool in_scratch() const { return !slices.empty(); }
};
// A digit of the key: bits of a word from `low` on.
struct SortDigit {
  int word = 0, low = 0;
};
// A phase of the pass over a digit, by parts of rows: 0 counts, 1 adds up the counts, 2 moves.
struct RadixPass {
  const RadixShape& radix;
  int phase = 0;
  SortDigit digit;
  BufferSlice counts, totals;
  SortItems from, to;
};

// What is moved: either all operands with the keys, or what comparisons need and the position, and the operands follow
// at the end, read in the order of the result: that costs as much as one more pass, for each operand.
struct SortFields {
  SortFields(const LowerContext& context, const SortWork& work);

  // Bindings of the step that has most of them.
  size_t MostBindings() const {
    const size_t tensors = work_.operands.size() + work_.results.size() + (work_.positions ? 1 : 0);
    return tensors + fields_.size() + 3;  // counts of digits, totals or states, and parts
  }
  int64_t ItemBytes() const {
    int64_t bytes = 0;
    for (const SortField& field : fields_) bytes += field.bytes();
    return bytes;
  }
  SortItems operands() const { return {{}, work_.length}; }
  SortItems results() const { return {{}, work_.kept}; }
  SortItems MakeScratch(BufferMap& buffers, int64_t length) const {
    SortItems items{{}, length};
    for (const SortField& field : fields_) {
      items.slices.push_back(buffers.Scratch(work_.rows * length * field.bytes()));
    }
    return items;
  }
  bool AnyOrder() const { return work_.order.key_words == 0; }

  const LowerContext& context_;
  const SortWork& work_;
  std::vector<SortField> fields_;
  std::vector<int> carried_;  // operands that are fields
  bool carries_all_ = false, carries_key_ = false;

 private:
  void AddOperand(int k);
};

class SortText : public SortFields {
 public:
  using Items = SortItems;
  using SortFields::SortFields;

  // Item, Key, before() and key_of().
  void WriteTypes(KernelBuilder& kernel) const;

  // Where element `e` of row `row` stands in an operand.
  void WritePlace(KernelBuilder& kernel) const;

  // read_item(row, e).
  void WriteRead(KernelBuilder& kernel, const Items& from) const;

  // GROUP, READ_GROUP and EACH_ITEM: several neighbours at once, where all that read_item reads is of 32 bits and lies
  // side by side.
  void WriteReadGroup(KernelBuilder& kernel, const Items& from) const;

  // get_item and put_item of shared memory.
  void WriteShared(KernelBuilder& kernel, int64_t items) const;

  void WriteLoad(KernelBuilder& kernel, const Items& from) const;

  // emit_item(row, e, item): to scratch, or to the results.
  void WriteEmit(KernelBuilder& kernel, const Items& to) const;

  // Statements that store an item as results at `place`.
  std::string EmitResults(KernelBuilder& kernel) const;

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
        "uint load_{0}(uint i) {{ return {1}; }}\nvoid store_{0}(uint i, uint n) {{ {2} }}\n"
        "#define add_{0}(i, n) atomicAdd(ELEMENT({3}, {4}, i), n)\n",
        name, kernel.Load(k, "i"), kernel.Store(k, "i", "n"), k, StorageTag(ElementType::kU32));
  }

  // EACH(F) of `count` numbers.
  void WriteEach(KernelBuilder& kernel, uint32_t count) const {
    std::string each;
    for (uint32_t i = 0; i < count; ++i) each += fmt::format(" F({})", i);
    kernel.Append("#define EACH(F){}\n", each);
  }

  // The parts of `unit` elements of a row.
  int64_t WriteHead(KernelBuilder& kernel, int64_t length, int64_t unit) const {
    const int64_t per_row = CeilDivide(length, unit);
    kernel.Params({{"PART_COUNT", work_.rows * per_row}, {"LENGTH", length}, {"ROW_PARTS", per_row}});
    return per_row;
  }

  int64_t PartsOf(const RadixPass& pass) const { return work_.rows * CeilDivide(pass.from.length, pass.radix.part()); }
  std::string NameOf(const RadixPass& pass) const {
    constexpr const char* kPhases[] = {" count", " scan", " move"};
    return work_.name + kPhases[pass.phase];
  }
  // What its kernel is told, which has `units` units of work; `by`: the name of the division by a row's parts.
  void WriteRadixHead(KernelBuilder& kernel, const RadixPass& pass, int64_t units, const char* by) const;

  // Of a Key, word i.
  std::string WordSuffix(int i) const { return work_.order.key_words == 1 ? "" : fmt::format(".{}", "xyzw"[i]); }
};

}  // namespace VXLA_NAMESPACE::vulkan
