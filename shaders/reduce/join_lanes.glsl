// How lanes join what they have of a row, for rows.comp and product_rows.comp: JOIN_LANES_0 to JOIN_LANES_3, as there.
// EACH_SLOT names what follows' slot s, without a loop where there is one.
#define JOIN_LANES_0(p)
#define JOIN_LANES_1(p) \
  for (uint m = 1u; m < LANES; m *= 2u) { \
    EACH_SLOT { \
      Acc_##p other = shuffle_##p(total[s], m); \
      join_##p(total[s], other, (lane & m) != 0u); \
    } \
  }
#define JOIN_LANES_2(p) { EACH_SLOT { \
    for (uint m = 1u; m < gl_SubgroupSize; m *= 2u) { \
      Acc_##p other = shuffle_##p(total[s], m); \
      join_##p(total[s], other, (lane & m) != 0u); \
    } \
    if (gl_SubgroupInvocationID == 0u) shared_##p[gl_SubgroupID] = total[s]; \
    barrier(); \
    if (lane == 0u) { \
      for (uint m = 1u; m < gl_NumSubgroups; m *= 2u) { \
        for (uint i = 0u; i + m < gl_NumSubgroups; i += 2u * m) { \
          Acc_##p first = shared_##p[i]; \
          join_##p(first, shared_##p[i + m], false); \
          shared_##p[i] = first; \
        } \
      } \
      total[s] = shared_##p[0]; \
    } \
    if (p < LAST_SHARED) { \
      barrier(); \
      total[s] = shared_##p[0]; \
    } \
  } }
// Shares of a workgroup (INTERLEAVED) have LANES accumulators each.
#define JOIN_LANES_3(p) { EACH_SLOT { \
    uint mine = INTERLEAVED > 1 ? gl_LocalInvocationID.y * LANES : 0u; \
    shared_##p[mine + lane] = total[s]; \
    barrier(); \
    for (uint m = 1u; m < LANES; m *= 2u) { \
      if ((lane & (2u * m - 1u)) == 0u) { \
        Acc_##p first = shared_##p[mine + lane]; \
        join_##p(first, shared_##p[mine + lane + m], false); \
        shared_##p[mine + lane] = first; \
      } \
      barrier(); \
    } \
    total[s] = shared_##p[mine]; \
  } }
