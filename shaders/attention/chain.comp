// Sums over the keys of each row of what is made, element by element, of products:
//   result_s[batch, row, column] = sum over keys of weight_s(row, key, scores) * value_s[batch, key, column]
// or, with REDUCES, result[batch, row] = all weights of the row, combined, or, where that is 2, result[batch, row, key] =
// its weights of all parts of a batch; scores_p[row, key] is the product of a term of
// the row with one of the key, summed over depths. Neither scores nor weights are written to memory.
//
// A workgroup of X by Y invocations owns ROWS = 4 * Y rows and walks over blocks of KEYS = 4 * X keys. Invocation (x, y)
// owns the rows 4 * y + (0, 1, 2, 3) and, of a block, the keys 4 * x + (0, 1, 2, 3): 16 scores of each product, in
// registers, for which the terms come through shared memory, CHUNK depths at a time. They become weights, which go
// through shared memory too, and those times the values, some keys at a time, are added to TN quads of columns of each
// row, in registers. Shared memory holds quads, of rows, keys or columns: 16 bytes a lane.
//
// Rows and keys beyond the end are the last ones again: no sum is stored for such a row, and the weight of such a key is
// nothing.
//
// With CAUSAL a mask makes the weights of the keys that a row does not see nothing: blocks that no row sees are left out
// where that is so for all of them.
//
// Accuracy and order: one sum for each score and result, from zero, depths and keys ascending; FUSED: each product and
// its sum round once. A row's weights are combined by its lanes, keys ascending in each, and then lane by lane.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, ROW_COUNT rows, KEY_COUNT keys; where a workgroup owns ROWS by KEYS
// results, KEY_TILES tiles of keys, BATCH_PARTS parts of a batch, each of which the loads take for a batch.
//
// The generated part defines X, Y, CHUNK, DEPTHS, PRODUCTS, SUMS, DEPTH(p), REDUCES, MULTIPLY_ADD(sum, a, b) and
//   know_row(batch, rows): what weigh needs of its rows;
//   weigh(batch, rows, key, scores, weights): weights of each sum for four rows from their scores of each product;
//   ROW_ALONG_DEPTH(p), KEY_ALONG_DEPTH(p): whether depths of a term, or else neighbouring terms, lie side by side in
//     memory; load_row(p, batch, row, unit, quad), load_key(p, batch, key, unit, quad): four depths of a term, or, with a
//     depth in place of the row or key, four terms;
//   with CAUSAL sees(batch, row, key); LATER_KEYS: the later the key, the later the rows that see it, else the other way
//     round; with FACTORS vanishes(batch, row, key): whether a hidden weight is nothing, which depends on the row where
//     FACTOR_ROWS is 4, and on the key where FACTOR_KEYS is;
//   for products TN, COLUMN_UNITS(s), VALUE_KEYS, the keys whose values lie in shared memory at once, load_value(s, batch,
//     key, unit, quad) and store(s, batch, row, unit, quad);
//   for reductions, of which there is one sum, IDENTITY, combine(a, b) and store(batch, row, value), or store_0(batch,
//     row, unit, quad) of four keys.
#include "generated"

#define ROWS (4u * Y)
#define KEYS (4u * X)
#define ROW_STRIDE (Y + 1u)
#define KEY_STRIDE (X + 1u)
#define UNITS (CHUNK / 4u)
#define BY_UNITS(e) (UNITS == 1u ? (e) : (e) / UNITS)
#define OF_UNITS(e) (UNITS == 1u ? 0u : (e) % UNITS)
#define ROW_LOADS ((UNITS * ROWS + X * Y - 1u) / (X * Y))
#define KEY_LOADS ((UNITS * KEYS + X * Y - 1u) / (X * Y))
shared vec4 row_terms[CHUNK * ROW_STRIDE];
shared vec4 key_terms[CHUNK * KEY_STRIDE];
#if REDUCES == 1
shared float parts[ROWS * X];
#elif !REDUCES
shared vec4 weights[KEYS * ROW_STRIDE];
shared vec4 values[VALUE_KEYS * X * TN];
#endif
#if CAUSAL && FACTORS
shared uint weighing;  // hidden keys that do weigh something
#endif

// The chunk of a product's terms that begins at a unit of four depths, into shared memory.
void stage(uint product, uint batch, uint first_row, uint row_count, uint first_key, uint key_count,
           uint first_unit) {
  float rows[4u * ROW_LOADS], keys[4u * KEY_LOADS];
  [[unroll]] for (uint p = 0u; p < ROW_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * (X * Y);
    float quad[4] = float[4](0.0f, 0.0f, 0.0f, 0.0f);
    if (ROW_ALONG_DEPTH(product)) {
      uint at = first_unit + OF_UNITS(e);
      if (DEPTH(product) % CHUNK == 0u || 4u * at < DEPTH(product))
        load_row(product, batch, first_row + min(BY_UNITS(e), row_count - 1u), at, quad);
    } else {
      uint at = 4u * first_unit + e / Y, unit = min(first_row / 4u + e % Y, (ROW_COUNT + 3u) / 4u - 1u);
      if (DEPTH(product) % CHUNK == 0u || at < DEPTH(product))
        load_row(product, batch, min(at, DEPTH(product) - 1u), unit, quad);
    }
    [[unroll]] for (uint j = 0u; j < 4u; ++j) rows[4u * p + j] = quad[j];
  }
  [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * (X * Y);
    float quad[4] = float[4](0.0f, 0.0f, 0.0f, 0.0f);
    if (KEY_ALONG_DEPTH(product)) {
      uint at = first_unit + OF_UNITS(e);
      if (DEPTH(product) % CHUNK == 0u || 4u * at < DEPTH(product))
        load_key(product, batch, first_key + min(BY_UNITS(e), key_count - 1u), at, quad);
    } else {
      uint at = 4u * first_unit + e / X, unit = min(first_key / 4u + e % X, (KEY_COUNT + 3u) / 4u - 1u);
      if (DEPTH(product) % CHUNK == 0u || at < DEPTH(product))
        load_key(product, batch, min(at, DEPTH(product) - 1u), unit, quad);
    }
    [[unroll]] for (uint j = 0u; j < 4u; ++j) keys[4u * p + j] = quad[j];
  }
  [[unroll]] for (uint p = 0u; p < ROW_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * (X * Y);
    if (e < UNITS * ROWS) {
      if (ROW_ALONG_DEPTH(product)) {
        uint row = BY_UNITS(e), at = 4u * (OF_UNITS(e));
        [[unroll]] for (uint j = 0u; j < 4u; ++j)
          row_terms[(at + j) * ROW_STRIDE + row / 4u][row % 4u] = rows[4u * p + j];
      } else {
        row_terms[e / Y * ROW_STRIDE + e % Y] =
            vec4(rows[4u * p], rows[4u * p + 1u], rows[4u * p + 2u], rows[4u * p + 3u]);
      }
    }
  }
  [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * (X * Y);
    if (e < UNITS * KEYS) {
      if (KEY_ALONG_DEPTH(product)) {
        uint key = BY_UNITS(e), at = 4u * (OF_UNITS(e));
        [[unroll]] for (uint j = 0u; j < 4u; ++j)
          key_terms[(at + j) * KEY_STRIDE + key / 4u][key % 4u] = keys[4u * p + j];
      } else {
        key_terms[e / X * KEY_STRIDE + e % X] =
            vec4(keys[4u * p], keys[4u * p + 1u], keys[4u * p + 2u], keys[4u * p + 3u]);
      }
    }
  }
}

// An invocation's scores of a product: a quad of keys for each row.
void form_product_scores(uint product, uint batch, uint first_row, uint row_count, uint first_key, uint key_count,
                 out vec4 scores[4]) {
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) scores[i] = vec4(0.0f);
  [[dont_unroll]] for (uint first_unit = 0u; first_unit < (DEPTH(product) + 3u) / 4u; first_unit += UNITS) {
    stage(product, batch, first_row, row_count, first_key, key_count, first_unit);
    barrier();
    // DEPTHS are enough to wait for at once; drivers would write all of them out, for each product. Places run along
    // with counters, here and below: what is computed of a counter, Mesa takes apart once more in each round.
    uint row_at = y, key_at = x;
    [[dont_unroll]] for (uint first_depth = 0u; first_depth < CHUNK; first_depth += DEPTHS) {
      [[unroll]] for (uint d = 0u; d < DEPTHS; ++d) {
        vec4 a = row_terms[row_at + d * ROW_STRIDE], b = key_terms[key_at + d * KEY_STRIDE];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) MULTIPLY_ADD(scores[i], a[i], b);
      }
      row_at += DEPTHS * ROW_STRIDE;
      key_at += DEPTHS * KEY_STRIDE;
    }
    barrier();
  }
}

// The scores of all products, by one text: those of earlier products make room, as what varies must index no array.
void form_scores(uint batch, uint first_row, uint row_count, uint first_key, uint key_count,
                 out vec4 scores[4u * PRODUCTS]) {
#if PRODUCTS > 1
  [[unroll]] for (uint i = 0u; i < 4u * PRODUCTS; ++i) scores[i] = vec4(0.0f);
  [[dont_unroll]] for (uint product = 0u; product < PRODUCTS; ++product) {
    vec4 of_one[4];
    form_product_scores(product, batch, first_row, row_count, first_key, key_count, of_one);
    [[unroll]] for (uint i = 4u; i < 4u * PRODUCTS; ++i) scores[i - 4u] = scores[i];
    [[unroll]] for (uint i = 0u; i < 4u; ++i) scores[4u * (PRODUCTS - 1u) + i] = of_one[i];
  }
#else
  form_product_scores(0u, batch, first_row, row_count, first_key, key_count, scores);
#endif
}

// Of each row's scores of a product the first.
vec4 first_of_each(vec4 scores[4u * PRODUCTS], uint product) {
  return vec4(scores[4u * product].x, scores[4u * product + 1u].x, scores[4u * product + 2u].x,
              scores[4u * product + 3u].x);
}

#if !REDUCES
// Adds a block's weighted values to one of the sums.
void add_values(uint which, uint batch, uint first_key, uint key_count, inout vec4 sums[4u * TN]) {
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  for (uint begin = 0u; begin < key_count; begin += VALUE_KEYS) {
    for (uint e = gl_LocalInvocationIndex; e < VALUE_KEYS * COLUMN_UNITS(which); e += X * Y) {
      uint key = begin + e / COLUMN_UNITS(which), unit = e % COLUMN_UNITS(which);
      float quad[4] = float[4](0.0f, 0.0f, 0.0f, 0.0f);
      if (key < key_count) load_value(which, batch, first_key + key, unit, quad);
      values[(key - begin) * (X * TN) + unit] = vec4(quad[0], quad[1], quad[2], quad[3]);
    }
    barrier();
    uint count = min(VALUE_KEYS, key_count - begin);
    // As many as depths: drivers would write all of them out, each behind a test of its own, and wait for each. Those
    // beyond the end weigh nothing.
    uint weight_at = begin * ROW_STRIDE + y, value_at = x;
    [[dont_unroll]] for (uint key = 0u; key < count; key += DEPTHS) {
      [[unroll]] for (uint k = 0u; k < DEPTHS; ++k) {
        vec4 a = weights[weight_at + k * ROW_STRIDE];
        [[unroll]] for (uint j = 0u; j < TN; ++j) {
          vec4 b = values[value_at + k * (X * TN) + X * j];
          [[unroll]] for (uint i = 0u; i < 4u; ++i) MULTIPLY_ADD(sums[i * TN + j], a[i], b);
        }
      }
      weight_at += DEPTHS * ROW_STRIDE;
      value_at += DEPTHS * (X * TN);
    }
    barrier();
  }
}

// The next row's sums after a row's: the text of a store is written out once for each quad of columns.
void store_sums(uint which, uint batch, uint first_row, uint row_count, vec4 sums[4u * TN]) {
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  uint row = 4u * y;
  [[dont_unroll]] for (uint i = 0u; i < 4u; ++i, ++row) {
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      uint unit = x + X * j;
      vec4 sum = sums[j];
      [[unroll]] for (uint k = j; k < 3u * TN; k += TN) sums[k] = sums[k + TN];
      if (row < row_count && unit < COLUMN_UNITS(which))
        store(which, batch, first_row + row, unit, float[4](sum.x, sum.y, sum.z, sum.w));
    }
  }
}
#endif

#if REDUCES == 2
void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint first_key = group % KEY_TILES * KEYS, first_row = group / KEY_TILES % ROW_TILES * ROWS;
  uint batch = group / KEY_TILES / ROW_TILES * BATCH_PARTS;
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  uint row_count = min(ROWS, ROW_COUNT - first_row), key_count = min(KEYS, KEY_COUNT - first_key);
  uvec4 rows = first_row + min(4u * y + uvec4(0u, 1u, 2u, 3u), row_count - 1u);
  vec4 joined[4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) joined[i] = vec4(IDENTITY);
  for (uint part = 0u; part < BATCH_PARTS; ++part) {
    know_row(batch + part, rows);
    vec4 scores[4u * PRODUCTS];
    form_scores(batch + part, first_row, row_count, first_key, key_count, scores);
    // One key at a time, as below.
    uint key = 4u * x;
    [[dont_unroll]] for (uint j = 0u; j < 4u; ++j, ++key) {
      vec4 of_each[PRODUCTS], of_sums[SUMS];
      [[unroll]] for (uint p = 0u; p < PRODUCTS; ++p) of_each[p] = first_of_each(scores, p);
      weigh(batch + part, rows, first_key + min(key, key_count - 1u), of_each, of_sums);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        float all = joined[i].x;
        combine(all, of_sums[0][i]);
        joined[i] = vec4(joined[i].yzw, all);
      }
      [[unroll]] for (uint k = 0u; k < 4u * PRODUCTS; ++k) scores[k] = scores[k].yzwx;
    }
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    vec4 all = joined[i];
    if (4u * y + i < row_count && 4u * x < key_count)
      store_0(batch, first_row + 4u * y + i, first_key / 4u + x, float[4](all.x, all.y, all.z, all.w));
  }
}
#else
void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint batch = group / ROW_TILES, first_row = group % ROW_TILES * ROWS;
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  uint row_count = min(ROWS, ROW_COUNT - first_row);
  uvec4 rows = first_row + min(4u * y + uvec4(0u, 1u, 2u, 3u), row_count - 1u);
  know_row(batch, rows);

#if REDUCES
  float joined[4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) joined[i] = IDENTITY;
#else
  vec4 sums[4u * TN];
  [[unroll]] for (uint i = 0u; i < 4u * TN; ++i) sums[i] = vec4(0.0f);
#if SUMS > 1
  vec4 second_sums[4u * TN];
  [[unroll]] for (uint i = 0u; i < 4u * TN; ++i) second_sums[i] = vec4(0.0f);
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
      if (gl_LocalInvocationIndex == 0u) weighing = 0u;
      memoryBarrierShared();
      barrier();
      bool weighs = false;
      // One factor at a time: few blocks get here, and the text of one is long.
      [[dont_unroll]] for (uint f = 0u; f < FACTOR_ROWS * FACTOR_KEYS && !weighs; ++f) {
        weighs = !vanishes(batch, first_row + min(4u * y + f / FACTOR_KEYS, row_count - 1u),
                           first_key + min(4u * x + f % FACTOR_KEYS, key_count - 1u));
      }
      if (weighs) atomicOr(weighing, 1u);
      memoryBarrierShared();
      barrier();
      bool left_out = weighing == 0u;
      barrier();
      if (left_out) continue;
#else
      continue;
#endif
    }
#endif
    vec4 scores[4u * PRODUCTS];
    form_scores(batch, first_row, row_count, first_key, key_count, scores);
#if SUMS > 1
    vec4 later[4];  // weights of the second sum
    [[unroll]] for (uint j = 0u; j < 4u; ++j) later[j] = vec4(0.0f);
#endif
    // One key at a time, the scores of the next one after it: the text of weights is long.
    uint key = 4u * x;
    [[dont_unroll]] for (uint j = 0u; j < 4u; ++j, ++key) {
      vec4 of_each[PRODUCTS], of_sums[SUMS];
      [[unroll]] for (uint p = 0u; p < PRODUCTS; ++p) of_each[p] = first_of_each(scores, p);
      weigh(batch, rows, first_key + min(key, key_count - 1u), of_each, of_sums);
      bool exists = key < key_count;
#if REDUCES
      if (exists) {
        [[unroll]] for (uint i = 0u; i < 4u; ++i) combine(joined[i], of_sums[0][i]);
      }
#else
      weights[key * ROW_STRIDE + y] = exists ? of_sums[0] : vec4(0.0f);
#endif
#if SUMS > 1
      later[0] = later[1];
      later[1] = later[2];
      later[2] = later[3];
      later[3] = exists ? of_sums[1] : vec4(0.0f);
#endif
      [[unroll]] for (uint k = 0u; k < 4u * PRODUCTS; ++k) scores[k] = scores[k].yzwx;
    }
#if !REDUCES
    add_values(0u, batch, first_key, key_count, sums);
#if SUMS > 1
    [[unroll]] for (uint j = 0u; j < 4u; ++j) weights[(4u * x + j) * ROW_STRIDE + y] = later[j];
    add_values(1u, batch, first_key, key_count, second_sums);
#endif
#endif
  }
#if REDUCES
  [[unroll]] for (uint i = 0u; i < 4u; ++i) parts[(4u * y + i) * X + x] = joined[i];
  barrier();
  for (uint row = gl_LocalInvocationIndex; row < row_count; row += X * Y) {
    float all = parts[row * X];
    for (uint lane = 1u; lane < X; ++lane) combine(all, parts[row * X + lane]);
    store(batch, first_row + row, all);
  }
#else
  store_sums(0u, batch, first_row, row_count, sums);
#if SUMS > 1
  store_sums(1u, batch, first_row, row_count, second_sums);
#endif
#endif
}
#endif
