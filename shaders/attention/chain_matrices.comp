// attention/chain.comp on the device's matrix units: sums over the keys of each row of what is made, element by
// element, of products, all of them of 16 bits, in sums of f32. Neither scores nor weights are written to memory. What
// that file says of CAUSAL, FACTORS and of rows and keys beyond the end holds here too.
//
// A workgroup of SUBGROUPS subgroups of LANES invocations owns M rows in each subgroup and walks over blocks of KEYS
// keys. The rows' terms, the block's, and its values turned by columns lie in shared memory in words of neighbours, as
// in dot/matmul_matrices.comp. A subgroup forms the scores of its rows in matrices and puts them into its tiles, one of
// each product, where LANES / M lanes a row make weights of them. Those go back into the tiles in 16 bits, and they and
// the values are multiplied and added to the results, which stay in matrices. With REDUCES the lanes of a row combine
// its weights instead.
//
// With HOLDS_ROWS a subgroup keeps its rows' terms in matrices, and tiles lie where they did.
//
// A row of a tile holds KEYS scores; then KEYS weights of 16 bits; in the end KEYS columns of its result. Behind it a
// word of each of its lanes.
//
// Accuracy and order: a score and a result is one sum, K ascending terms at a time, as the unit adds them. A row's
// weights are combined by its lanes, keys ascending in each, and then lane by lane.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, ROW_COUNT rows, KEY_COUNT keys.
//
// The generated part defines what dot/matrix_units.glsl asks for, SUBGROUPS, KEYS, KEY_TAIL (blocks of that many do not
// divide the keys), HOLDS_ROWS, PRODUCTS, SUMS, REDUCES, DEPTH_0, DEPTH_1, multiples of 8, COLUMNS_0, COLUMNS_1,
// multiples of 4, WEIGHT_PAIR(low, high), a word of two weights, which are rounded, load_row_0(batch, row, unit, words)
// ... load_key_1(batch, key, unit, words), which give eight depths, load_value_0(batch, key, unit, words),
// load_value_1, which give four columns, know_row(batch, row), which is called before weigh(batch, row, unit, keys,
// scores, weights) for four keys, those of a unit where four divide all keys, sees, vanishes, IDENTITY, combine and
// store_0(batch, row, unit, quad), store_1 or store(batch, row, value) as in attention/chain.comp.
#include "generated"

#define X (LANES * SUBGROUPS)
#define ROWS (SUBGROUPS * M)
#define PARTNERS (LANES / M)  // the lanes of a row
#define QUADS (KEYS / 4u / PARTNERS)
#define TILES (PRODUCTS > SUMS ? PRODUCTS : SUMS)
#define DEPTHS(p) ((DEPTH_##p + K - 1u) / K * K)
#define RESULTS(s) ((COLUMNS_##s + N - 1u) / N)  // matrices of a subgroup's results
// In fours of words: from a row of terms to the next, of values' columns, of a tile; where what begins.
#define TERMS_STRIDE(p) (DEPTHS(p) / 8u + 1u)
#define VALUES_STRIDE (KEYS / 8u + 1u)
#define TILE_STRIDE (KEYS / 4u + 1u)
#define TILES_AT 0u
#define TILES_END (TILES * ROWS * TILE_STRIDE)
#define TERMS_AT_0 (bool(HOLDS_ROWS) ? 0u : TILES_END)
#define TERMS_AT_1 (TERMS_AT_0 + ROWS * TERMS_STRIDE(0))
#if PRODUCTS > 1
#define TERMS_END (TERMS_AT_1 + ROWS * TERMS_STRIDE(1))
#define VALUES_AT_0 (KEYS_AT_1 + KEYS * TERMS_STRIDE(1))
#else
#define TERMS_END TERMS_AT_1
#define VALUES_AT_0 KEYS_AT_1
#endif
#define KEYS_AT_0 (TERMS_END > TILES_END ? TERMS_END : TILES_END)
#define KEYS_AT_1 (KEYS_AT_0 + KEYS * TERMS_STRIDE(0))
#if REDUCES
#define SHARED_FOURS VALUES_AT_0
#else
#define VALUES_END_0 (VALUES_AT_0 + RESULTS(0) * N * VALUES_STRIDE)
#if SUMS > 1
#define VALUES_AT_1 VALUES_END_0
#define SHARED_FOURS (VALUES_AT_1 + RESULTS(1) * N * VALUES_STRIDE)
#else
#define SHARED_FOURS VALUES_END_0
#endif
#endif
#if CAUSAL && FACTORS
shared uint weighing;  // hidden keys that do weigh something
#endif

#include "shaders/dot/matrix_units.glsl"

// One of a tile's rows, or of a block's keys, that there is.
#define HELD_ROW(row, count) min(row, (count)-1u)
#define HELD_KEY(key, count) (bool(KEY_TAIL) ? min(key, (count)-1u) : (key))
#define IS_KEY(key) (!bool(KEY_TAIL) || (key) < key_count)

// Turns in which the workgroup goes over so many things, without tests where it divides them.
#define EACH_TURN(turn, things) [[unroll]] for (uint turn = 0u; turn < ((things) + X - 1u) / X; ++turn)
#define IN_TURN(e, things) ((things) % X == 0u || (e) < (things))

// A block's terms, of rows or of keys, 16 bytes at a time: depths beyond the end are zero.
#define STAGE_TERMS(p, load, at, stage_count, first, count, HELD)                                         \
  EACH_TURN(turn, (stage_count) * (DEPTHS(p) / 8u)) {                                                     \
    uint e = gl_LocalInvocationIndex + turn * X;                                                          \
    if (IN_TURN(e, (stage_count) * (DEPTHS(p) / 8u))) {                                                   \
      uint item = e / (DEPTHS(p) / 8u), unit = e % (DEPTHS(p) / 8u), words[4] = uint[4](0u, 0u, 0u, 0u);  \
      if (DEPTHS(p) == DEPTH_##p || 8u * unit < DEPTH_##p)                                                \
        load(batch, (first) + HELD(item, count), unit, words);                                            \
      PUT_ALONG((at) + item * TERMS_STRIDE(p) + unit, words, 0u);                                         \
    }                                                                                                     \
  }

// Its values, four keys of four columns at a time: keys and columns beyond the end are zero. Neighbours along columns
// go to neighbouring invocations.
#define STAGE_VALUES(s, load)                                                                         \
  EACH_TURN(turn, KEYS / 4u * (RESULTS(s) * N / 4u)) {                                                \
    uint e = gl_LocalInvocationIndex + turn * X;                                                      \
    if (IN_TURN(e, KEYS / 4u * (RESULTS(s) * N / 4u))) {                                              \
      uint unit = e % (RESULTS(s) * N / 4u), four = e / (RESULTS(s) * N / 4u), words[8];              \
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {                                                     \
        uint part[2] = uint[2](0u, 0u);                                                               \
        uint key = 4u * four + i;                                                                     \
        if (RESULTS(s) * N == COLUMNS_##s || 4u * unit < COLUMNS_##s)                                 \
          load(batch, first_key + HELD_KEY(key, key_count), unit, part);                              \
        [[unroll]] for (uint j = 0u; j < 2u; ++j) words[2u * i + j] = IS_KEY(key) ? part[j] : 0u;     \
      }                                                                                               \
      uint at = VALUES_AT_##s + 4u * unit * VALUES_STRIDE + four / 2u;                                \
      PUT_ACROSS(at, VALUES_STRIDE, 2u * (four % 2u), words, 0u);                                     \
    }                                                                                                 \
  }

// A subgroup's rows' terms from a depth on.
#define LOAD_ROWS(p, a, d) LOAD_A(a, TERMS_AT_##p + SUBGROUP * M * TERMS_STRIDE(p) + (d) / 8u, TERMS_STRIDE(p))
#if HOLDS_ROWS
#define TERMS_OF_ROWS(p, a, d) MATRIX_A a = rows_##p[(d) / K];
#define HOLD_ROWS(p)                 \
  MATRIX_A rows_##p[DEPTHS(p) / K]; \
  EACH_MATRIX for (uint d = 0u; d < DEPTHS(p); d += K) LOAD_ROWS(p, rows_##p[d / K], d);
#else
#define TERMS_OF_ROWS(p, a, d) \
  MATRIX_A a;                  \
  LOAD_ROWS(p, a, d);
#endif

// A subgroup's scores of a product, into its tile.
#define FORM_SCORES(p)                                                                       \
  {                                                                                          \
    MATRIX_C scores[KEYS / N];                                                               \
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) scores[j] = clear_matrix();             \
    EACH_MATRIX for (uint d = 0u; d < DEPTHS(p); d += K) {                                   \
      TERMS_OF_ROWS(p, a, d)                                                                 \
      EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) {                                     \
        MATRIX_B b;                                                                          \
        LOAD_B(b, KEYS_AT_##p + N * j * TERMS_STRIDE(p) + d / 8u, TERMS_STRIDE(p));          \
        scores[j] = multiply_add_matrices(a, b, scores[j]);                                  \
      }                                                                                      \
    }                                                                                        \
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j)                                         \
      store_matrix(tile + uint(p) * ROWS * TILE_STRIDE, TILE_STRIDE, N * j, scores[j]);         \
  }

#define ADD_VALUES(s)                                                             \
  EACH_MATRIX for (uint k = 0u; k < KEYS; k += K) {                               \
    MATRIX_A a;                                                                   \
    LOAD_A(a, tile + uint(s) * ROWS * TILE_STRIDE + k / 8u, TILE_STRIDE);            \
    EACH_MATRIX for (uint j = 0u; j < RESULTS(s); ++j) {                          \
      MATRIX_B b;                                                                 \
      LOAD_B(b, VALUES_AT_##s + N * j * VALUES_STRIDE + k / 8u, VALUES_STRIDE);   \
      sums_##s[j] = multiply_add_matrices(a, b, sums_##s[j]);                     \
    }                                                                             \
  }

#define STORE_SUMS(s)                                                                             \
  EACH_MATRIX for (uint first = 0u; first < RESULTS(s); first += KEYS / N) {                      \
    SUBGROUP_BARRIER();                                                                           \
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) {                                            \
      if (first + j < RESULTS(s)) store_matrix(tile, TILE_STRIDE, N * j, sums_##s[first + j]);    \
    }                                                                                             \
    SUBGROUP_BARRIER();                                                                           \
    [[dont_unroll]] for (uint i = 0u; i < QUADS; ++i) {                                           \
      uint quad = partner + PARTNERS * i, unit = N / 4u * first + quad;                           \
      uvec4 bits = GET(strips[own_at + quad]);                                                    \
      if (tile_row < row_count && 4u * unit < COLUMNS_##s) {                                      \
        float values[4];                                                                          \
        [[unroll]] for (uint j = 0u; j < 4u; ++j) values[j] = SUM_OF(bits[j]);                    \
        store_##s(batch, row, unit, values);                                                      \
      }                                                                                           \
    }                                                                                             \
  }

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint batch = group / ROW_TILES, first_row = group % ROW_TILES * ROWS;
  uint row_count = min(ROWS, ROW_COUNT - first_row);
  uint tile = TILES_AT + SUBGROUP * M * TILE_STRIDE;
  uint own = LANE / PARTNERS, partner = LANE % PARTNERS, own_at = tile + own * TILE_STRIDE;
  uint tile_row = SUBGROUP * M + own, row = first_row + min(tile_row, row_count - 1u);

  STAGE_TERMS(0, load_row_0, TERMS_AT_0, ROWS, first_row, row_count, HELD_ROW)
#if PRODUCTS > 1
  STAGE_TERMS(1, load_row_1, TERMS_AT_1, ROWS, first_row, row_count, HELD_ROW)
#endif
#if HOLDS_ROWS
  BARRIER();
  HOLD_ROWS(0)
#if PRODUCTS > 1
  HOLD_ROWS(1)
#endif
#endif
  know_row(batch, row);
#if REDUCES
  float joined = IDENTITY;
#else
  MATRIX_C sums_0[RESULTS(0)];
  EACH_MATRIX for (uint j = 0u; j < RESULTS(0); ++j) sums_0[j] = clear_matrix();
#if SUMS > 1
  MATRIX_C sums_1[RESULTS(1)];
  EACH_MATRIX for (uint j = 0u; j < RESULTS(1); ++j) sums_1[j] = clear_matrix();
#endif
#endif
  for (uint first_key = 0u; first_key < KEY_COUNT; first_key += KEYS) {
    uint key_count = min(KEYS, KEY_COUNT - first_key);
#if CAUSAL
#if LATER_KEYS
    if (!sees(batch, first_row + row_count - 1u, first_key)) {
#else
    if (!sees(batch, first_row, first_key + key_count - 1u)) {
#endif
#if FACTORS
      BARRIER();
      if (gl_LocalInvocationIndex == 0u) atomicAnd(weighing, 0u);
      BARRIER();
      bool weighs = false;
      [[dont_unroll]] for (uint i = 0u; i < (FACTOR_KEYS == 1u ? 1u : 4u * QUADS); ++i) {
        uint key = 4u * (partner + PARTNERS * (i / 4u)) + i % 4u;
        weighs = weighs || !vanishes(batch, row, first_key + HELD_KEY(key, key_count));
      }
      if (weighs) atomicOr(weighing, 1u);
      BARRIER();
      if (atomicOr(weighing, 0u) == 0u) continue;
#else
      continue;
#endif
    }
#endif
    BARRIER();
    STAGE_TERMS(0, load_key_0, KEYS_AT_0, KEYS, first_key, key_count, HELD_KEY)
#if PRODUCTS > 1
    STAGE_TERMS(1, load_key_1, KEYS_AT_1, KEYS, first_key, key_count, HELD_KEY)
#endif
#if !REDUCES
    STAGE_VALUES(0, load_value_0)
#if SUMS > 1
    STAGE_VALUES(1, load_value_1)
#endif
#endif
    BARRIER();
    FORM_SCORES(0)
#if PRODUCTS > 1
    FORM_SCORES(1)
#endif
    SUBGROUP_BARRIER();

    // A quad's weights take the place of its scores for now: the text of weights is long, and written out once.
    [[dont_unroll]] for (uint i = 0u; i < QUADS; ++i) {
      uint quad = partner + PARTNERS * i;
      uvec4 keys = 4u * quad + uvec4(0u, 1u, 2u, 3u);
      vec4 of_each[PRODUCTS], of_sums[SUMS];
      [[unroll]] for (uint p = 0u; p < PRODUCTS; ++p) {
        uvec4 bits = GET(strips[own_at + p * ROWS * TILE_STRIDE + quad]);
        of_each[p] = vec4(SUM_OF(bits.x), SUM_OF(bits.y), SUM_OF(bits.z), SUM_OF(bits.w));
      }
      uint unit = first_key / 4u + (bool(KEY_TAIL) ? min(quad, (key_count - 1u) / 4u) : quad);
      weigh(batch, row, unit, first_key + HELD_KEY(keys, key_count), of_each, of_sums);
#if REDUCES
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        if (IS_KEY(keys[j])) combine(joined, of_sums[0][j]);
      }
#else
      [[unroll]] for (uint s = 0u; s < SUMS; ++s) {
        vec4 weighed = of_sums[s];
#if KEY_TAIL
        weighed = mix(vec4(0.0f), weighed, lessThan(keys, uvec4(key_count)));
#endif
        uint low = WEIGHT_PAIR(weighed.x, weighed.y);
        uint high = WEIGHT_PAIR(weighed.z, weighed.w);
        PUT(strips[own_at + s * ROWS * TILE_STRIDE + quad], uvec4(low, high, 0u, 0u));
      }
#endif
    }
#if !REDUCES
    uint weights[2u * QUADS * SUMS];
    [[unroll]] for (uint i = 0u; i < QUADS * SUMS; ++i) {
      uvec4 both = GET(strips[own_at + i / QUADS * ROWS * TILE_STRIDE + partner + PARTNERS * (i % QUADS)]);
      weights[2u * i] = both.x;
      weights[2u * i + 1u] = both.y;
    }
    SUBGROUP_BARRIER();
    [[unroll]] for (uint i = 0u; i < QUADS * SUMS; ++i) {
      uint quad = partner + PARTNERS * (i % QUADS), at = own_at + i / QUADS * ROWS * TILE_STRIDE;
      PUT_WORD(strips[at + quad / 2u][2u * (quad % 2u)], weights[2u * i]);
      PUT_WORD(strips[at + quad / 2u][2u * (quad % 2u) + 1u], weights[2u * i + 1u]);
    }
    SUBGROUP_BARRIER();
    ADD_VALUES(0)
#if SUMS > 1
    ADD_VALUES(1)
#endif
#endif
  }
#if REDUCES
  SUBGROUP_BARRIER();
  PUT_WORD(strips[own_at + KEYS / 4u][partner], floatBitsToUint(joined));
  SUBGROUP_BARRIER();
  uvec4 each = GET(strips[own_at + KEYS / 4u]);
  if (partner == 0u && tile_row < row_count) {
    float all = uintBitsToFloat(each[0]);
    [[unroll]] for (uint l = 1u; l < PARTNERS; ++l) combine(all, uintBitsToFloat(each[l]));
    store(batch, row, all);
  }
#else
  STORE_SUMS(0)
#if SUMS > 1
  STORE_SUMS(1)
#endif
#endif
}
