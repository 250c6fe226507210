// Attention on the device's matrix units: result[batch, row, column] = sum over keys of softmax(logits of the row)[key]
// * value[batch, key, column], where logits are made of scores, the products of the row's query with each key, all of
// 16 bits, in sums of f32. No score is written to memory. What attention/forward.comp says of rows that see nothing, of
// CAUSAL and of PARTS holds here too.
//
// A workgroup of SUBGROUPS subgroups of LANES invocations owns M rows in each subgroup and walks over blocks of KEYS
// keys. Queries, the block's keys, and its values turned by columns lie in shared memory in words of neighbouring terms,
// as in dot/matmul_matrices.comp, and the next block is read from memory while this one is worked on. A subgroup forms
// the scores of its rows in matrices and puts them into its tile in shared memory, where LANES / M lanes a row make
// logits and weights of them, in f32. Weights go back into the tile in 16 bits; they and the values are multiplied, and
// added to the results, which stay in matrices. Where a block raises a row's largest logit, those are multiplied by a
// matrix that is made of what the rows are scaled by.
//
// A row of the tile holds KEYS scores; then KEYS weights of 16 bits and what the row is scaled by, N times; in the end
// KEYS columns of its result. Behind it a word of each of its lanes: the largest logit it has met, and its total.
//
// Accuracy and order: a score and a result is one sum, K ascending terms at a time, as the unit adds them; weights are
// rounded to 16 bits, to nearest, and their total is of those before rounding.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, ROW_COUNT rows, KEY_COUNT keys, KEY_PARTS parts of the keys, PART_KEYS keys of a part.
//
// The generated part defines what dot/matrix_units.glsl asks for, SUBGROUPS, KEYS, KEY_TAIL (blocks of that many do not
// divide the keys), DEPTH, a multiple of 8, COLUMNS, a multiple of 4, CAUSAL, HIDDEN, PARTS, STATISTICS,
// WEIGHT_PAIR(low, high), a word of two weights; load_query(batch, row, unit, words) and load_key(batch, key, unit,
// words), which give eight depths, load_value(batch, key, unit, words), which gives four columns; logit(batch, row,
// key, score), sees(batch, row, key), scaled(batch, row, key, weight), store(batch, row, unit, quad) of four columns;
// store_part and the statistics' functions as in attention/forward.comp.
#include "generated"

#define X (LANES * SUBGROUPS)
#define ROWS (SUBGROUPS * M)
#define PARTNERS (LANES / M)  // the lanes of a row
#define QUADS (KEYS / 4u / PARTNERS)
#define DEPTHS ((DEPTH + K - 1u) / K * K)
#define RESULTS ((COLUMNS + N - 1u) / N)  // matrices of a subgroup's results
// In fours of words: from a row of terms to the next, of values' columns, of a tile; where what begins.
#define TERMS_STRIDE (DEPTHS / 8u + 1u)
#define VALUES_STRIDE (KEYS / 8u + 1u)
#define TILE_STRIDE (KEYS / 4u + 1u)
#define KEYS_AT (ROWS * TERMS_STRIDE)
#define VALUES_AT (KEYS_AT + KEYS * TERMS_STRIDE)
#define TILES_AT (VALUES_AT + RESULTS * N * VALUES_STRIDE)
#define KEY_LOADS ((KEYS * (DEPTHS / 8u) + X - 1u) / X)
#define VALUE_LOADS ((KEYS / 4u * (RESULTS * N / 4u) + X - 1u) / X)
#define SHARED_FOURS (TILES_AT + ROWS * TILE_STRIDE)
#if CAUSAL
shared uint hidden_count;
#endif

#include "shaders/dot/matrix_units.glsl"
#define INVOCATIONS X
#include "shaders/dot/places.glsl"

// An invocation's p-th load of a block of keys: a row of 16 bytes; of values: four keys of four columns, eight
// neighbours of which go to eight invocations.
#define KEY_OF(p) PLACE_OVER(p, DEPTHS / 8u)
#define DEPTH_OF(p) PLACE_MODULO(p, DEPTHS / 8u)
#define VALUE_UNITS (RESULTS * N / 4u)
#define VALUE_NEIGHBOURS (VALUE_UNITS % 8u == 0u ? 8u : VALUE_UNITS % 4u == 0u ? 4u : VALUE_UNITS % 2u == 0u ? 2u : 1u)
#define UNIT_OF(p) \
  (PLACE_OVER(p, VALUE_NEIGHBOURS * (KEYS / 4u)) * VALUE_NEIGHBOURS + PLACE_MODULO(p, VALUE_NEIGHBOURS))
#define KEYS_OF(p) (PLACE_MODULO(p, VALUE_NEIGHBOURS * (KEYS / 4u)) / VALUE_NEIGHBOURS)
// One of a block's keys that there is, and whether this one is.
#define HELD_KEY(key, count) (bool(KEY_TAIL) ? min(key, (count)-1u) : (key))
#define IS_KEY(key, count) (!bool(KEY_TAIL) || (key) < (count))

// What an invocation loads of the block that begins at `first_key`: depths, columns and keys beyond the end are zero.
void fetch(uint batch, uint first_key, uint count, out uint keys[4u * KEY_LOADS], out uint values[8u * VALUE_LOADS]) {
  [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
    uint part[4] = uint[4](0u, 0u, 0u, 0u);
    if (DEPTHS == DEPTH || 8u * DEPTH_OF(p) < DEPTH)
      load_key(batch, first_key + HELD_KEY(KEY_OF(p), count), DEPTH_OF(p), part);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) keys[4u * p + j] = part[j];
  }
  [[unroll]] for (uint p = 0u; p < VALUE_LOADS; ++p) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      uint key = 4u * KEYS_OF(p) + i;
      uint part[2] = uint[2](0u, 0u);
      if (RESULTS * N == COLUMNS && KEYS / 4u * VALUE_UNITS % X == 0u || 4u * UNIT_OF(p) < COLUMNS)
        load_value(batch, first_key + HELD_KEY(key, count), UNIT_OF(p), part);
      [[unroll]] for (uint j = 0u; j < 2u; ++j) values[8u * p + 2u * i + j] = IS_KEY(key, count) ? part[j] : 0u;
    }
  }
}

void put(uint keys[4u * KEY_LOADS], uint values[8u * VALUE_LOADS]) {
  [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
    if (KEYS * (DEPTHS / 8u) % X == 0u || KEY_OF(p) < KEYS) {
      PUT_ALONG(KEYS_AT + KEY_OF(p) * TERMS_STRIDE + DEPTH_OF(p), keys, p);
    }
  }
  [[unroll]] for (uint p = 0u; p < VALUE_LOADS; ++p) {
    if (KEYS / 4u * VALUE_UNITS % X == 0u || UNIT_OF(p) < VALUE_UNITS) {
      uint at = VALUES_AT + 4u * UNIT_OF(p) * VALUES_STRIDE + KEYS_OF(p) / 2u;
      PUT_ACROSS(at, VALUES_STRIDE, 2u * (KEYS_OF(p) % 2u), values, p);
    }
  }
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint begin_key = 0u, end_key = KEY_COUNT;
#if PARTS
  uint part = group % KEY_PARTS;
  group = group / KEY_PARTS;
  begin_key = part * PART_KEYS;
  end_key = min(KEY_COUNT, begin_key + PART_KEYS);
#endif
  uint batch = group / ROW_TILES, first_row = group % ROW_TILES * ROWS;
  uint row_count = min(ROWS, ROW_COUNT - first_row);
  uint tile = TILES_AT + SUBGROUP * M * TILE_STRIDE;
  uint own = LANE / PARTNERS, partner = LANE % PARTNERS, own_at = tile + own * TILE_STRIDE;
  uint tile_row = SUBGROUP * M + own, row = first_row + min(tile_row, row_count - 1u);

  for (uint e = gl_LocalInvocationIndex; e < ROWS * (DEPTHS / 8u); e += X) {
    uint at = e / (DEPTHS / 8u), unit = e % (DEPTHS / 8u);
    uint words[4] = uint[4](0u, 0u, 0u, 0u);
    if (DEPTHS == DEPTH || 8u * unit < DEPTH) load_query(batch, first_row + min(at, row_count - 1u), unit, words);
    PUT_ALONG(at * TERMS_STRIDE + unit, words, 0u);
  }
  MATRIX_C sums[RESULTS];
  EACH_MATRIX for (uint j = 0u; j < RESULTS; ++j) sums[j] = clear_matrix();
  float largest = -inf_f32(), total = 0.0f;
#if CAUSAL
  bool skips = true;
  if (gl_LocalInvocationIndex == 0u) atomicAnd(hidden_count, 0u);
#endif
  uint next_keys[4u * KEY_LOADS], next_values[8u * VALUE_LOADS];
  fetch(batch, begin_key, min(KEYS, end_key - begin_key), next_keys, next_values);
  for (uint first_key = begin_key; first_key < end_key; first_key += KEYS) {
#if CAUSAL
    if (skips && !sees(batch, first_row + row_count - 1u, first_key)) {
      BARRIER();
      if (tile_row < row_count && !(largest - HIDDEN > 128.0f)) atomicOr(hidden_count, 1u);
      BARRIER();
      if (atomicOr(hidden_count, 0u) == 0u) break;
      skips = false;
    }
#endif
    uint count = min(KEYS, end_key - first_key);
    BARRIER();
    put(next_keys, next_values);
    BARRIER();
    // The last turn fetches its own block again, so that there is no test around the loads.
    uint next = first_key + KEYS < end_key ? first_key + KEYS : first_key;
    fetch(batch, next, min(KEYS, end_key - next), next_keys, next_values);

    MATRIX_C scores[KEYS / N];
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) scores[j] = clear_matrix();
    EACH_MATRIX for (uint d = 0u; d < DEPTHS; d += K) {
      MATRIX_A a;
      LOAD_A(a, SUBGROUP * M * TERMS_STRIDE + d / 8u, TERMS_STRIDE);
      EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) {
        MATRIX_B b;
        LOAD_B(b, KEYS_AT + N * j * TERMS_STRIDE + d / 8u, TERMS_STRIDE);
        scores[j] = multiply_add_matrices(a, b, scores[j]);
      }
    }
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) store_matrix(tile, TILE_STRIDE, N * j, scores[j]);
    SUBGROUP_BARRIER();

    float weights[4u * QUADS], most = largest;
    [[unroll]] for (uint i = 0u; i < QUADS; ++i) {
      uvec4 bits = GET(strips[own_at + partner + PARTNERS * i]);
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        uint key = 4u * (partner + PARTNERS * i) + j;
        float value = logit(batch, row, first_key + HELD_KEY(key, count), SUM_OF(bits[j]));
        weights[4u * i + j] = IS_KEY(key, count) ? value : -inf_f32();
        most = max(most, weights[4u * i + j]);
      }
    }
    PUT_WORD(strips[own_at + KEYS / 4u][partner], floatBitsToUint(most));
    SUBGROUP_BARRIER();
    uvec4 each = GET(strips[own_at + KEYS / 4u]);
    [[unroll]] for (uint l = 0u; l < PARTNERS; ++l) most = max(most, uintBitsToFloat(each[l]));
    float base = most == -inf_f32() ? 0.0f : most, scale = exponential_weight_f32(largest - base);
    largest = most;
    total *= scale;
    [[unroll]] for (uint i = 0u; i < QUADS; ++i) {
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        weights[4u * i + j] = exponential_of_16_bits_f32(weights[4u * i + j] - base);
        total += weights[4u * i + j];
      }
    }
#if SCALED
    // A quad at a time, the next one's weights after it: the text is long.
    [[dont_unroll]] for (uint i = 0u; i < QUADS; ++i) {
      float quad[4];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        uint key = 4u * (partner + PARTNERS * i) + j;
        quad[j] = IS_KEY(key, count) ? scaled(batch, row, first_key + key, weights[j]) : 0.0f;
      }
      [[unroll]] for (uint k = 4u; k < 4u * QUADS; ++k) weights[k - 4u] = weights[k];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) weights[4u * QUADS - 4u + j] = quad[j];
    }
#endif
    [[unroll]] for (uint i = 0u; i < QUADS; ++i) {
      uint quad = partner + PARTNERS * i;
      [[unroll]] for (uint j = 0u; j < 2u; ++j) {
        PUT_WORD(strips[own_at + quad / 2u][2u * (quad % 2u) + j],
                 WEIGHT_PAIR(weights[4u * i + 2u * j], weights[4u * i + 2u * j + 1u]));
      }
    }
    for (uint c = partner; c < N / 4u; c += PARTNERS)
      PUT(strips[own_at + KEYS / 8u + c], uvec4(floatBitsToUint(scale)));
    SUBGROUP_BARRIER();

    MATRIX_C scales = load_sums(tile + KEYS / 8u, TILE_STRIDE);
    EACH_MATRIX for (uint j = 0u; j < RESULTS; ++j) sums[j] = multiply_elements(sums[j], scales);
    EACH_MATRIX for (uint k = 0u; k < KEYS; k += K) {
      MATRIX_A a;
      LOAD_A(a, tile + k / 8u, TILE_STRIDE);
      EACH_MATRIX for (uint j = 0u; j < RESULTS; ++j) {
        MATRIX_B b;
        LOAD_B(b, VALUES_AT + N * j * VALUES_STRIDE + k / 8u, VALUES_STRIDE);
        sums[j] = multiply_add_matrices(a, b, sums[j]);
      }
    }
  }

  SUBGROUP_BARRIER();
  PUT_WORD(strips[own_at + KEYS / 4u][partner], floatBitsToUint(total));
#if PARTS
  uint rows_of_all = GROUP_COUNT / KEY_PARTS / ROW_TILES * ROW_COUNT;
#endif
  EACH_MATRIX for (uint first = 0u; first < RESULTS; first += KEYS / N) {
    SUBGROUP_BARRIER();
    EACH_MATRIX for (uint j = 0u; j < KEYS / N; ++j) {
      if (first + j < RESULTS) store_matrix(tile, TILE_STRIDE, N * j, sums[first + j]);
    }
    SUBGROUP_BARRIER();
    [[dont_unroll]] for (uint i = 0u; i < QUADS; ++i) {
      uint quad = partner + PARTNERS * i, unit = N / 4u * first + quad;
      uvec4 bits = GET(strips[own_at + quad]), each = GET(strips[own_at + KEYS / 4u]);
      float all = 0.0f;
      [[unroll]] for (uint l = 0u; l < PARTNERS; ++l) all += uintBitsToFloat(each[l]);
      if (tile_row < row_count && 4u * unit < COLUMNS) {
#if PARTS
        uint at = (part * rows_of_all + batch * ROW_COUNT + row) * COLUMNS + 4u * unit;
        [[unroll]] for (uint j = 0u; j < 4u; ++j) store_part(at + j, SUM_OF(bits[j]));
#else
        float quotients[4];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) quotients[j] = divide_f32(SUM_OF(bits[j]), all);
        store(batch, row, unit, quotients);
#endif
      }
      if (i == 0u && first == 0u && partner == 0u && tile_row < row_count) {
#if PARTS
        store_part_statistics(part * rows_of_all + batch * ROW_COUNT + row, largest, all);
#elif STATISTICS
        store_statistics(batch, row, largest, row_total(largest, all));
#endif
      }
    }
  }
}
