// A whole loop in one workgroup: condition, body and state, trip after trip, until it ends or the dispatch has done its
// share. Where rows never meet, several workgroups run it, each for its part of every array (lower/whiles/groups.h), and
// where elements meet in the condition alone, chunks of its trips, with a kernel that asks it (lower/whiles/chunks.h).
//
// Every lane keeps the scalars of the loop in registers and computes them for itself, so that all lanes decide alike;
// arrays lie in memory. Element i of an array belongs to the same lane in every phase that goes through it element by
// element; only where a phase reads what other lanes have written, or writes what they still read, lanes wait for each
// other (PHASE).
//
// The generated part defines PHASE and run(lane), and BY_SUBGROUP where lanes shuffle: full subgroups are lanes that
// follow each other then.
#include "generated"

void main() {
  load_arguments();
#ifdef BY_SUBGROUP
  run(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
#else
  run(gl_LocalInvocationID.x);
#endif
}
