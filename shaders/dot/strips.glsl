// Loads of strips of k by a workgroup's INVOCATIONS.
//
// An invocation's p-th load, counted over the workgroup, divided by m, and what is left. So written it is seen how those of
// one invocation differ: mostly by a constant, or not at all.
#define PLACE(p) (gl_LocalInvocationIndex + (p) * (INVOCATIONS))
#define PLACE_OVER(p, m) FROM_FIRST(p, m, 1u, gl_LocalInvocationIndex / (m), PLACE(p) / (m))
#define PLACE_MODULO(p, m) ((gl_LocalInvocationIndex + (p) * (INVOCATIONS) % (m)) % (m))
// What is `at`, and `first` for p = 0, grows by s where PLACE_OVER(p, m) grows by one, and depends on p through that alone.
#define FROM_FIRST(p, m, s, first, at) \
  ((INVOCATIONS) % (m) == 0u ? (first) + (p) * ((INVOCATIONS) / (m) * (s)) : (at))

// Where k is, of loads that count `per` values of it at a time: the strip of TK values that begins at k, and how far into
// it. What all of a strip has in common, such as a convolution's tap, is then seen to be uniform. Where they
// do not divide k (K_TAIL) it counts from its beginning instead, to its end and not beyond.
#if K_TAIL
#define STRIP(k) 0u
#define OF_STRIP(k, per, at) min((k) / (per) + (at), STEP_COUNT / (per)-1u)
#else
#define STRIP(k) ((k) / TK)
#define OF_STRIP(k, per, at) (at)
#endif
