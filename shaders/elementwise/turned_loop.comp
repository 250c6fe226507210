// A fused loop that reads some operands across: neighbouring results need elements that lie far apart there, and what
// lies side by side belongs to results that lie far apart (a transpose).
//
// A workgroup owns a tile of TILE x TILE results along two dimensions: x, along which results lie side by side, and t,
// along which those operands do. First stage() reads a tile of each such operand along t into shared memory, then
// result() computes and stores along x, so that neighbouring invocations touch neighbours both times. An invocation
// takes TURNS times a group of WIDTH neighbours at `along` in groups, `across` in elements of the tile.
//
// P(0) workgroups.
//
// The generated part defines TURNS, stage(group, along, across) and result(group, along, across).
#include "generated"

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= P(0)) return;
  uint along = gl_LocalInvocationID.x, across = gl_LocalInvocationID.y;
  [[unroll]] for (uint turn = 0u; turn < TURNS; ++turn) stage(group, along, across + turn * gl_WorkGroupSize.y);
  barrier();
  [[unroll]] for (uint turn = 0u; turn < TURNS; ++turn) result(group, along, across + turn * gl_WorkGroupSize.y);
}
