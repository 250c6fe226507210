// Where k is, of loads that count `per` values of it at a time: the strip of TK values that begins at k, and how far
// into it. What all of a strip has in common, such as a convolution's tap, is then seen to be uniform. Where strips do
// not divide k (K_TAIL) it counts from its beginning instead, to its end and not beyond.
#if K_TAIL
#define STRIP(k) 0u
#define OF_STRIP(k, per, at) min((k) / (per) + (at), STEP_COUNT / (per)-1u)
#else
#define STRIP(k) ((k) / TK)
#define OF_STRIP(k, per, at) (at)
#endif
