// The text of what lanes do together inside a loop that one workgroup runs: units and copies.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/vulkan/codegen/value_writer.h"
#include "backend/vulkan/lower/whiles/memory.h"

namespace VXLA_NAMESPACE::vulkan {

// The local of a register, and of the lane's own element of a place that lies in none.
inline std::string NameOfRegister(int reg) { return fmt::format("r{}", reg); }
inline std::string NameOfElement(int place) { return fmt::format("e{}", place); }
// The local that notes a reduction, a bit for each trip that the local `bit` goes through: of preds of which any may
// hold that one of the lane's elements does, of such as have all to hold that one does not.
inline std::string NameOfNote(int note) { return fmt::format("note_{}", note); }

class LoopPhaseWriter {
 public:
  LoopPhaseWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers, LoopMemory& memory,
                  KernelBuilder& kernel)
      : context_(context), program_(program), buffers_(buffers), memory_(memory), kernel_(kernel) {}

  // The statements, for lane `lane`.
  Code Unit(const LoopUnitNode& unit);
  Code Copy(const LoopCopy& copy);

  // Units of noted reductions are written as what follows from what all lanes have noted, not as what this one notes.
  void TakeNotes() { takes_notes_ = true; }
  // Lanes whose values meet without waiting for all others; 0: none.
  uint32_t SubgroupThatShuffles() const;

  // Arrays of shared memory, each of an element a lane.
  int64_t shared_arrays() const { return std::ssize(shared_); }

 private:
  bool IsResident(int place) const { return place >= 0 && program_.places[static_cast<size_t>(place)].resident; }
  void EachElement(ValueWriter& writer, int64_t count, int64_t width,
                   const std::function<void(const IndexExpression& first)>& write) const;
  // A dynamic-update-slice along with the unit that makes what it stores.
  struct Update {
    const LoopUnitNode* update;
    std::vector<std::pair<const Instruction*, int>> made;  // what it reads of the unit's results, and which leaf
    int last = 0;                                          // the last of these leaves to be stored
    bool written = false;
  };
  std::vector<Update> UpdatesOf(const LoopUnitNode& unit) const;
  // After a leaf of the unit's results has been stored.
  void StoreUpdates(std::vector<Update>& updates, int leaf, ValueWriter& writer, const IndexExpression& first,
                    std::span<const std::string> values);
  // `body`: the unit's, with what its updates read. `held`: operands in registers, and their names.
  using Held = std::vector<std::pair<const Instruction*, std::string>>;
  Held HeldOperands(const LoopUnitNode& unit) const;
  Code WriteUnit(const LoopUnitNode& unit, const FusionDescription& body);
  void WriteOneByOne(const LoopUnitNode& unit, const FusionDescription& body, ValueWriter& writer);
  void StoreOwn(ValueWriter& writer, int place, ElementType type, const IndexExpression& first,
                const std::vector<std::string>& values);
  void WriteElements(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer);
  void WriteNotes(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer);
  void OverrideResident(const FusionDescription& body, ValueWriter& writer, const IndexExpression& first);
  void WriteUpdate(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer);
  void StoreUpdated(const Instruction& hero, int place, ValueWriter& writer, const IndexExpression& first,
                    int64_t width);
  void WriteFilled(const Instruction& array, int place, ValueWriter& writer);
  void WriteScatter(const FusionDescription& body, const LoopUnitNode& unit, ValueWriter& writer);
  Code WriteTogether(const LoopUnitNode& unit, const FusionDescription& body, BufferMap& buffers, Held held);

  const LowerContext& context_;
  const LoopProgram& program_;
  BufferMap& buffers_;
  LoopMemory& memory_;
  KernelBuilder& kernel_;
  std::set<std::string> shared_;
  std::map<int, KernelBuilder::AfterStore> after_store_;  // of places that lie in registers
  int next_unit_ = 0;
  bool takes_notes_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
