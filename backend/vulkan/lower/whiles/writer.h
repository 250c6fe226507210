// The text of a loop's program: its registers and its nodes, for kernels that run all of it or a part.
#pragma once

#include <string>
#include <string_view>

#include "backend/vulkan/lower/whiles/memory.h"
#include "backend/vulkan/lower/whiles/phases.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopWriter : protected CodeWriter {
 public:
  LoopWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers, LoopMemory& memory);

 protected:
  // What a dispatch may do where loops that end by their data lie in the loop: trips take parts of it.
  static constexpr int64_t kShare = int64_t{1} << 31;
  // Inner loops end by their data: trips of all loops take from the dispatch's share, each what it may cost.
  bool stops() const { return program_.stops > 0; }
  bool IsResident(int place) const { return place >= 0 && program_.places[static_cast<size_t>(place)].resident; }

  // Every lane keeps all of them. Those of the state begin as the loop does, or as the last dispatch has left them.
  void Registers(bool resumes);
  void LoadConstant(int reg, const Instruction& constant);
  void LoadRegister(int reg, const BufferSlice& slice);
  // Declares the lane's own element of a place that is kept in a register.
  void DeclareResident(int place);
  // Reads it, or writes it: the lane's own element of these bytes.
  void LoadResident(int place, const BufferSlice& from);
  void StoreResident(int place, const BufferSlice& to);
  // A block of what lanes with an element of the place do.
  void OpenOwn(const LoopPlace& place);

  // What a writer has written, its locals kept apart.
  void Block(Code statements);
  void WriteBlock(const LoopBlock& block);
  void WriteStatements(const LoopNode& node);
  // A loop, the outermost one too, whose condition is asked before each trip, and which stops where the share is used
  // up.
  void WriteLoopByShare(const LoopWhile& loop, int64_t share);
  // Trips of one dispatch, each of so many operations, and of so many turns of loops of one invocation.
  int64_t MostTrips(int64_t cost, int64_t iterations) const;
  int64_t ShareOf(int64_t cost, int64_t iterations) const;
  // Unsupported: the text so far needs more than the device has.
  Status CheckSharedMemory() const;
  // More bindings than the device has.
  bool BindsTooMany() const;
  // The step of what has been written. `does`: for its name.
  Step FinishKernel(std::string_view does, uint32_t lanes, int64_t groups);

  const LowerContext& context_;
  const LoopProgram& program_;
  BufferMap& buffers_;
  KernelBuilder kernel_;
  LoopMemory& memory_;
  LoopPhaseWriter phases_;
  // Elements are another kernel's.
  bool registers_only_ = false;

 private:
  void WriteNode(const LoopNode& node);
  void Write(const LoopUnitNode& unit) { Block(phases_.Unit(unit)); }
  void Write(const LoopCopy& copy) { Block(phases_.Copy(copy)); }
  void Write(const LoopAssignment& assignment);
  void Write(const LoopWhile& loop);
  void Write(const LoopConditional& conditional);
  void WriteBranches(const LoopConditional& conditional, const std::string& which, size_t first, size_t count);

  int next_name_ = 0;
};

}  // namespace VXLA_NAMESPACE::vulkan
