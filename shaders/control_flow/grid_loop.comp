// A whole loop in cooperative workgroups: as control_flow/loop.comp, but elements and rows go round among the workgroups
// of the dispatch, and where lanes would wait for each other all of these do (grid_barrier).
//
// Vulkan does not promise that a workgroup runs while others wait for it. So those that run join first: each counts
// itself, and the first one waits a while, then closes the door and says how many are in. Whoever comes later returns at
// once. Those inside run already, and devices let what runs run on (as scans that look back take for granted too). How
// many they are changes no result: it decides who computes an element, not how.
//
// The generated part defines GRID, the tensor of four words, zeros before the dispatch and after it, GRID_GROUPS, what
// loop.comp's defines, and run(lane), which uses grid_group, the number of the workgroup among grid_groups.
uint grid_group = 0u, grid_groups = 1u, grid_arrivals = 0u;
void grid_barrier();
#include "generated"

#define GRID_WORD(i) GRID_WORD_OF(GRID, i)
#define GRID_WORD_OF(k, i) ELEMENT(k, u32, i)  // k is GRID's number, which ELEMENT joins to names
#define GRID_COUNT 0u   // workgroups that have begun, and whether the door is closed
#define GRID_INSIDE 1u  // workgroups that take part, once the door is closed
#define GRID_MET 2u     // arrivals at barriers so far
#define GRID_LEFT 3u    // workgroups that have ended
#define GRID_CLOSED 0x80000000u
#define GRID_PATIENCE 64u  // how often the first one asks while nobody else comes

shared uint grid_shared[2];

void join_grid() {
  if (gl_LocalInvocationIndex == 0u) {
    uint number = atomicAdd(GRID_WORD(GRID_COUNT), 1u), inside = 0u;
    if (number == 0u) {
      uint come = 1u, asked = 0u;
      while (asked < GRID_PATIENCE && come < GRID_GROUPS) {
        uint now = atomicOr(GRID_WORD(GRID_COUNT), 0u);
        asked = now == come ? asked + 1u : 0u;
        come = now;
      }
      inside = atomicOr(GRID_WORD(GRID_COUNT), GRID_CLOSED);
      atomicExchange(GRID_WORD(GRID_INSIDE), inside);
    } else if (number < GRID_CLOSED) {
      while (inside == 0u) inside = atomicOr(GRID_WORD(GRID_INSIDE), 0u);
    }
    grid_shared[0] = number;
    grid_shared[1] = inside;
  }
  barrier();
  grid_group = grid_shared[0];
  grid_groups = grid_shared[1];
}

// What members have written before it all of them read behind it.
void grid_barrier() {
  memoryBarrierBuffer();
  barrier();
  if (grid_groups > 1u) {
    grid_arrivals += grid_groups;
    if (gl_LocalInvocationIndex == 0u) {
      uint met = atomicAdd(GRID_WORD(GRID_MET), 1u) + 1u;
      while (met < grid_arrivals) met = atomicOr(GRID_WORD(GRID_MET), 0u);
    }
    barrier();
    memoryBarrierBuffer();
  }
}

// The last one of the dispatch makes the words ready for the next.
void leave_grid() {
  barrier();
  if (gl_LocalInvocationIndex == 0u && atomicAdd(GRID_WORD(GRID_LEFT), 1u) == GRID_GROUPS - 1u) {
    for (uint word = 0u; word < 4u; ++word) atomicExchange(GRID_WORD(word), 0u);
  }
}

void main() {
  load_arguments();
  join_grid();
  if (grid_groups != 0u) {
#ifdef BY_SUBGROUP
    run(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
#else
    run(gl_LocalInvocationID.x);
#endif
  }
  leave_grid();
}
