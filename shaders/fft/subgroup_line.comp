// A Fourier transform of one line of c64 by one subgroup of eight lanes, which hold all of its 64 ROWS' worth of values
// from loads to stores: for software drivers, where a lane's array with constant indices is plain memory (vectors of
// eight lanes on the stack), and every access to a buffer goes lane by lane.
//
// The line is 64 rows of COLUMNS values, 4, 12 or a multiple of eight up to 64: x[n1 COLUMNS + n2], of which
//   X[k1 + 64 k2] = sum over n2 of w(COLUMNS)^(n2 k2) w(64 COLUMNS)^(n2 k1) sum over n1 of w(64)^(n1 k1) x[n1 COLUMNS + n2].
// First eight columns (four of 4 and of 12) at a time, n1 = 8 j + lane: eight points in a lane, then eight across the lanes, after which lane
// k1 % 8 has the sums of k1 for every n2. So the sums over n2 stay in a lane, for one k1 / 8 at a time; results are
// turned before they are stored, so that a lane stores eight neighbours. What steps hand over moves along the array,
// columns and rows by constant distances, so that no index is computed: an index computed at run time would cost this
// driver an access for each lane. Up to eight columns, and 12, need no loop over rows: all are at hand, and turned instead.
// The twiddles w(64 COLUMNS)^(n2 (k1 % 8)) and w(8 COLUMNS)^(n2 (k1 / 8)) are the same in all lanes: each lane loads
// eight of them, and shuffles hand them round. The first, less 1, multiplies after w(64)^(lane (k1 % 8)), as x + x * rest.
// Accuracy: roots of unity come from tables that are right to an ulp, or are constants of the text; roots inside are
// quarter turns and rests, which round less.
//
// P(0) lines. The generated part defines line(group, lane).

// b where the mask is set, else a: masks that come from the lane's number alone are constants to the driver.
float pick(uint mask, float a, float b) {
  return uintBitsToFloat((floatBitsToUint(b) & mask) | (floatBitsToUint(a) & ~mask));
}
// One bit of the turn of eight registers by eight lanes: a lane with the bit gives its a for the b of the lane without.
void trade(uint bit, uint lane, inout float a, inout float b) {
  uint mask = (lane & bit) != 0u ? 0xffffffffu : 0u;
  float came = subgroupShuffle(pick(mask, b, a), lane ^ bit);
  a = pick(mask, a, came);
  b = pick(mask, came, b);
}

#include "generated"

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (group >= P(0)) return;
  line(group, gl_SubgroupInvocationID);
}
