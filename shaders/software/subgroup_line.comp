// A Fourier transform of one line of c64 by one subgroup of eight lanes, which hold it from loads to stores: for software
// drivers, where every access to memory goes lane by lane, and costs least for four words of 64 bits at once.
//
// The line is 64 rows of COLUMNS values, 4, 12 or a multiple of eight up to 64: x[n1 COLUMNS + n2], of which X[k1 + 64
// k2] = sum over n2 of w(COLUMNS)^(n2 k2) w(64 COLUMNS)^(n2 k1) sum over n1 of w(64)^(n1 k1) x[n1 COLUMNS + n2]. First
// eight columns (four of 4 and of 12) at a time, n1 = 8 j + lane: eight points in a lane, then eight across the lanes,
// after which lane k1 % 8 has the sums of k1 for every n2. So the sums over n2 stay in a lane, for one k1 / 8 at a
// time; results are turned before they are stored, so that a lane stores eight neighbours. Between the two loops the
// values lie in shared memory, of which a lane reads what it wrote itself, so that no barrier is needed: values that a
// loop hands on, as those of an array with constant indices, the driver copies in each turn, under a mask. Up to eight
// columns, and 12, need no loop over rows, and up to eight none over columns: then no value goes through memory. The
// twiddles w(64 COLUMNS)^(n2 (k1 % 8)) and w(8 COLUMNS)^(n2 (k1 / 8)) are the same in all lanes: each lane loads eight
// of them, and shuffles hand them round (up to eight columns they are constants). The first, less 1, multiplies after
// w(64)^(lane (k1 % 8)), as x + x * rest. Accuracy: roots of unity come from tables that are right to an ulp, or are
// constants of the text; roots inside are quarter turns and rests, which round less.
//
// P(0) lines. The generated part defines line(group, lane).

// b where the mask is set, else a: masks that come from the lane's number alone are constants to the driver.
float pick(uint mask, float a, float b) {
  return uintBitsToFloat((floatBitsToUint(b) & mask) | (floatBitsToUint(a) & ~mask));
}
// One bit of the turn of eight registers by eight lanes: a lane with the bit gives its a for the b of the lane without.
void trade(uint bit, uint lane, inout float a, inout float b) {
  uint mask = (lane & bit) != 0u ? 0xffffffffu : 0u;
  // (Two shuffles instead of one of what is given: LLVM joins each with its choice.)
  float from_a = subgroupShuffle(a, lane ^ bit), from_b = subgroupShuffle(b, lane ^ bit);
  a = pick(mask, a, from_b);
  b = pick(mask, from_a, b);
}

#include "generated"

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= P(0)) return;
  line(group, gl_SubgroupInvocationID);
}
