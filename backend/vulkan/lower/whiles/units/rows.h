// Reductions and products inside a loop that one workgroup runs: row programs whose rows are shared out over its lanes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/vulkan/lower/rows/row_program.h"
#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// Where the workgroup's part of `count` begins, each having as much, but for the last ones: the first and a plus sign,
// or nothing. Not of workgroups that meet.
std::string OwnBase(int64_t count, int64_t groups);

// Opens a loop in which lane `lane` takes `name` = lane, lane + lanes ... of its workgroup's part of `count`, all lanes
// as often where that comes out even. Of workgroups that meet, each takes some neighbours at a time.
void OpenTurns(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share = {});

// Whether lane `lane` has an element of its workgroup's part, where none has two: nothing where each has.
std::string OwnsElement(int64_t count, int64_t lanes, int64_t groups);

// The same turns, in a test where no lane takes two.
void OpenElements(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share = {});

// `lanes` lanes share a row, and a workgroup takes its size divided by that many rows at a time.
struct LoopRowsShape {
  uint32_t lanes = 1;
  bool ordered = false;                    // lanes take neighbours: some combination does not commute
  int64_t operations = 0, iterations = 0;  // simple operations of a workgroup, turns of loops of one lane
};
// For a fusion around reduces, a window, a dot or a convolution.
LoopRowsShape ShapeOfLoopRows(const LowerContext& context, const FusionDescription& body, uint32_t workgroup_lanes,
                              LoopShare share);

// A phase of a loop's kernel that is being written.
struct LoopUnit {
  int number = 0;                               // its functions are named after it
  uint32_t lanes = 1;                           // of the workgroup
  std::function<int64_t(int64_t count)> width;  // of groups of so many elements
  KernelBuilder& kernel;
  std::set<std::string>& shared;  // the shared arrays that the kernel has already
  uint32_t subgroup = 0;          // lanes that follow each other and may shuffle; 0: none
  // Operands of one element that are kept in registers, and their names.
  std::vector<std::pair<const Instruction*, std::string>> held;
  LoopShare share = {};  // workgroups that share rows and elements out
  // Of Fourier transforms: so many of one kind, whose arrays of each kind are parts of one slice, all of one size.
  int64_t at_once = 1;
};
// The statements, for lane `lane` of the workgroup; functions and shared arrays go into the kernel.
Code WriteLoopRows(const RowProgram& program, const LoopRowsShape& shape, const LoopUnit& unit);

}  // namespace VXLA_NAMESPACE::vulkan
