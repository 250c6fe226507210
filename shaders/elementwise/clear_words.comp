// Sets the first P(0) words of a scratch buffer to zero. The generated part defines CLEAR(i).
#include "generated"

void main() {
  load_arguments();
  uint i = WORKGROUP * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < P(0)) {
    CLEAR(i);
  }
}
