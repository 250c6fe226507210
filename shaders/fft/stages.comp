// One pass of a Fourier transform in a workgroup: TRANSFORMS transforms of SIZE points each by Stockham's autosort
// algorithm (backend/vulkan/lower/fft/fft_plan.h has its formula), in stages of small radices.
//
// A group reads each of its values once and writes each result once. LANES invocations share a transform: in each
// stage an invocation makes a butterfly or a few in registers, and hands the results on through shared memory, at
// place `at` of the transform `number`: real and imaginary parts apart, so that neighbours touch neighbouring banks,
// and a word of padding after each 16, so that writes 16 apart do not meet in one bank. A barrier stands before the
// writes and before the reads of each exchange but for the first, which nothing was read before.
// Which invocation takes which transform is the generated part's to say: neighbours in memory go to neighbours.
// Accuracy: roots of unity come from tables that are right to an ulp, or are constants of the text.
//
// P(0) workgroups.
//
// The generated part defines REAL, TRANSFORMS, SIZE, PADDING (0 or 1) and transforms(group, i) for invocation i.
#define PLACE(number, at) ((number) * (SIZE + PADDING * (SIZE / 16u)) + (at) + PADDING * ((at) / 16u))

#include "generated"

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= P(0)) return;
  transforms(group, gl_LocalInvocationID.x);
}
