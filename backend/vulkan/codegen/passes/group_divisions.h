// Divisions and exponentials side by side share the code for operands out of the ordinary.
#pragma once

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

enum class DivisionText {
  kMiddle,  // multiply-adds for ordinary operands, and behind them the integers for the others
  kApart,   // the integers for all operands, as where no multiply-add is fused
  kRolled   // the same, once for those that stand together, in a loop: for drivers that take long over text
};

// Pure. Where quotients of f32 stand together, each becomes the few multiply-adds that hold for ordinary operands
// (divide_middle_f32), one test follows for all of them, and behind that what zeros, infinities and NaN give and a loop
// over those that need quotient_by_integers_f32: the same bits, from one copy of that long text instead of one for
// each. Other declarations may stand between: those that a quotient is needed for move behind the group. The same of
// exponentials, behind which divisions move, where there are several. Groups have 32 calls at most.
Code GroupDivisions(Code code, DivisionText divisions);

}  // namespace VXLA_NAMESPACE::vulkan
