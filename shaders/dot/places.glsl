// Loads of a workgroup's INVOCATIONS.
//
// An invocation's p-th load, counted over the workgroup, divided by m, and what is left. So written it is seen how those
// of one invocation differ: mostly by a constant, or not at all.
#define PLACE(p) (gl_LocalInvocationIndex + (p) * (INVOCATIONS))
#define PLACE_OVER(p, m) FROM_FIRST(p, m, 1u, gl_LocalInvocationIndex / (m), PLACE(p) / (m))
#define PLACE_MODULO(p, m) ((gl_LocalInvocationIndex + (p) * (INVOCATIONS) % (m)) % (m))
// What is `at`, and `first` for p = 0, grows by s where PLACE_OVER(p, m) grows by one, and depends on p through that
// alone.
#define FROM_FIRST(p, m, s, first, at) \
  ((INVOCATIONS) % (m) == 0u ? (first) + (p) * ((INVOCATIONS) / (m) * (s)) : (at))
