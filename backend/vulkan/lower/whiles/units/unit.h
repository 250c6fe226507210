// Parts of the kernel of a loop that one workgroup runs, as they are written, and how its lanes share elements out.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/vulkan/codegen/value_writer.h"
#include "backend/vulkan/lower/whiles/units/shape.h"

namespace VXLA_NAMESPACE::vulkan {

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
  LoopShare share = {};                          // workgroups that share rows and elements out
  LoopSharing sharing = LoopSharing::kElements;  // of cooperative ones
  // Of Fourier transforms: so many of one kind, whose arrays of each kind are parts of one slice, all of one size.
  int64_t at_once = 1;
  // The kernel's shared array of a type and number, one element a lane.
  std::string Shared(std::string_view type, size_t number) const;

  bool has_own_rows() const { return share.cooperative && sharing == LoopSharing::kRows; }
  // Lanes wait for those of all workgroups between passes.
  bool waits_for_grid() const { return share.cooperative && sharing == LoopSharing::kElements; }
  // Declares first_row and end_row, which rows of `rows` are the workgroup's own. Nothing where rows are not shared
  // out.
  Code OwnRows(int64_t rows) const;
  // The head of a loop in which a lane takes its turns of `name` < count, of which each row has as many.
  std::string Turns(std::string_view name, int64_t count, int64_t rows) const;
};

// Where the workgroup's part of `count` begins, each having as much, but for the last ones: the first and a plus sign,
// or nothing. Not of cooperative workgroups.
std::string OwnBase(int64_t count, int64_t groups);

// Opens a loop in which lane `lane` takes `name` = lane, lane + lanes ... of its workgroup's part of `count`, all lanes
// as often where that comes out even. Of cooperative workgroups each takes some neighbours at a time.
void OpenTurns(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share = {});

// Whether lane `lane` has an element of its workgroup's part, where none has two: nothing where each has.
std::string OwnsElement(int64_t count, int64_t lanes, int64_t groups);

// The same turns, in a test where no lane takes two.
void OpenElements(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share = {});

// Of cooperative workgroups: how many neighbours of `count` one takes at a time, so that all get something to do. A
// power of two, from `least` to `most`.
int64_t NeighboursOfAGroup(int64_t count, int64_t most, int64_t groups, int64_t least);

}  // namespace VXLA_NAMESPACE::vulkan
