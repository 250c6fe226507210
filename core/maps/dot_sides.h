// Dot sides: the dimensions of a dot's operands as [batch, contracting, free], each group counted by one linear index.
#pragma once

#include "core/ir/instruction.h"
#include "core/maps/index_map.h"

namespace VXLA_NAMESPACE {

struct DotSide {
  struct Group {
    IntList dimensions, sizes;
    int64_t count = 1;
  };
  Group batch, contracting, free;

  // Where the operand is read.
  MultiIndex IndexOf(IndexSpace& space, const IndexExpression& batch_at, const IndexExpression& k,
                     const IndexExpression& free_at) const;
};

DotSide SideOf(const Instruction& dot, int operand);

// The parts of a dot's own index, each counted by one number.
struct DotPlace {
  IndexExpression batch, free[2];
};
DotPlace PlaceOf(IndexSpace& space, const Instruction& dot, const MultiIndex& index);

// Whether matrix units take a dot of these sizes, if its operands are of a 16-bit type that they take.
bool SuitsMatrixUnits(const Instruction& dot);

}  // namespace VXLA_NAMESPACE
