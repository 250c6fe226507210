// Attention as attention/forward.comp has it, for GPUs whose registers hold larger tiles: shared memory is read in quads,
// 16 bytes a lane, and what is read serves 8 rows.
//
// A workgroup of X by Y invocations owns ROWS = Y * TM rows and walks over blocks of KEYS = X * TC keys. Invocation (x, y)
// owns the rows y + Y * i and, of a block, the keys TC * x + j, of which it forms TM x TC scores from quads along depth;
// and the quads of columns x + X * j of its rows, to which it adds the weighted values from quads of weights along keys.
// The block's keys lie in shared memory, and then its values in their place, which are read from memory while the scores
// are formed. So are the next block's keys while values are added up. Rows of shared memory have an odd number of quads,
// and the keys that X lanes read at once lie one after another, so that they meet different banks. 32 neighbouring
// invocations are 4 rows by 8 keys (or quads of columns): 4 and 8 quads are what they read at once.
//
// A lane finds the largest logit and adds up the weights of its own keys. The largest ones meet in shared memory for each
// block, the totals at the end, in the order of the lanes; each row's scale is found by one lane. With SCALED the totals
// are those of the weights before it.
//
// Rows, hidden keys and parts are as there. Accuracy and order: one sum for each score and result, from zero, depths and
// keys ascending; FUSED: each product and its sum round once.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, ROW_COUNT rows, KEY_COUNT keys, KEY_PARTS parts of the keys, PART_KEYS
// keys of a part.
//
// The generated part defines X, a multiple of 8 and at least TM, Y, a multiple of 4, TM, TC (1, 2 or 4), DEPTH, COLUMNS, a
// multiple of 4, ROLLED (whether logits are found row by row, by one text), CAUSAL, HIDDEN, PARTS, MULTIPLY_ADD(sum, a, b)
// and MULTIPLY_ADD_QUAD(sum, a, b); load_query, load_key, load_value, logit, sees and scaled as in forward.comp; without
// PARTS store(batch, row, unit, quad) and, with STATISTICS, row_total and store_statistics; with PARTS store_part and
// store_part_statistics.
#include "generated"

#define INVOCATIONS (X * Y)
#define ROWS (Y * TM)
#define KEYS (X * TC)
#define DEPTH_UNITS ((DEPTH + 3u) / 4u)
#define COLUMN_UNITS (COLUMNS / 4u)
#define KEY_UNITS (KEYS / 4u)
#define TN ((COLUMN_UNITS + X - 1u) / X)
#define DEPTH_STRIDE (DEPTH_UNITS | 1u)
#define WEIGHT_STRIDE (KEY_UNITS | 1u)
#define LANE_STRIDE (X / 4u | 1u)
#define KEY_LOADS ((KEYS * DEPTH_UNITS + INVOCATIONS - 1u) / INVOCATIONS)
#define VALUE_LOADS ((KEYS * COLUMN_UNITS + INVOCATIONS - 1u) / INVOCATIONS)
// Quads of depths whose reads may be under way at once, and exponentials that are written out.
#define UNITS_TOGETHER (DEPTH_UNITS % 4u == 0u ? 4u : 1u)
#define RAISED 8u
shared vec4 queries[ROWS * DEPTH_STRIDE];
shared vec4 block[KEYS * (DEPTH_STRIDE > COLUMN_UNITS ? DEPTH_STRIDE : COLUMN_UNITS)];
shared vec4 weights[ROWS * WEIGHT_STRIDE];
shared vec4 of_lanes[ROWS * LANE_STRIDE];
shared float scales[ROWS];
#if CAUSAL
shared uint hidden_count;
#endif

// An invocation's quads of a block's keys, or values, from memory.
void fetch_keys(uint batch, uint first_key, uint count, out float held[4u * KEY_LOADS]) {
  [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * INVOCATIONS;
    float quad[4];
    load_key(batch, first_key + min(e / DEPTH_UNITS, count - 1u), e % DEPTH_UNITS, quad);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) held[4u * p + j] = quad[j];
  }
}
void fetch_values(uint batch, uint first_key, uint count, out float held[4u * VALUE_LOADS]) {
  [[unroll]] for (uint p = 0u; p < VALUE_LOADS; ++p) {
    uint e = gl_LocalInvocationIndex + p * INVOCATIONS;
    float quad[4];
    load_value(batch, first_key + min(e / COLUMN_UNITS, count - 1u), e % COLUMN_UNITS, quad);
    // Whatever lies in values beyond the end, the weights of nothing would make NaN of some.
    [[unroll]] for (uint j = 0u; j < 4u; ++j) held[4u * p + j] = e / COLUMN_UNITS < count ? quad[j] : 0.0f;
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
  uint invocation = gl_LocalInvocationIndex, lane = invocation % 32u, lanes = invocation / 32u;
  uint x = lanes % (X / 8u) * 8u + lane / 8u * 2u + lane % 2u, y = lanes / (X / 8u) * 4u + lane / 2u % 4u;
  uint row_count = min(ROWS, ROW_COUNT - first_row);

  for (uint e = invocation; e < ROWS * DEPTH_UNITS; e += INVOCATIONS) {
    uint row = e / DEPTH_UNITS, unit = e % DEPTH_UNITS;
    float quad[4];
    load_query(batch, first_row + min(row, row_count - 1u), unit, quad);
    queries[row * DEPTH_STRIDE + unit] = vec4(quad[0], quad[1], quad[2], quad[3]);
  }
  vec4 sums[TM * TN];
  float largest[TM], total[TM];  // the total: of its own keys
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    largest[i] = -inf_f32();
    total[i] = 0.0f;
    [[unroll]] for (uint j = 0u; j < TN; ++j) sums[i * TN + j] = vec4(0.0f);
  }
#if CAUSAL
  bool skips = true;
  if (invocation == 0u) hidden_count = 0u;
  memoryBarrierShared();
  barrier();
#endif
  float keys_next[4u * KEY_LOADS];
  fetch_keys(batch, begin_key, min(KEYS, end_key - begin_key), keys_next);
  for (uint first_key = begin_key; first_key < end_key; first_key += KEYS) {
#if CAUSAL
    if (skips && !sees(batch, first_row + (row_count - 1u), first_key)) {
      bool weighs = false;
      [[unroll]] for (uint i = 0u; i < TM; ++i) {
        weighs = weighs || (y + Y * i < row_count && !(largest[i] - HIDDEN > 128.0f));
      }
      if (weighs) atomicOr(hidden_count, 1u);
      memoryBarrierShared();
      barrier();
      if (hidden_count == 0u) break;
      skips = false;
    }
#endif
    uint count = min(KEYS, end_key - first_key);
    [[unroll]] for (uint p = 0u; p < KEY_LOADS; ++p) {
      uint e = invocation + p * INVOCATIONS, key = e / DEPTH_UNITS;
      if (KEYS * DEPTH_UNITS % INVOCATIONS == 0u || e < KEYS * DEPTH_UNITS) {
        block[(key % TC * X + key / TC) * DEPTH_STRIDE + e % DEPTH_UNITS] =
            vec4(keys_next[4u * p], keys_next[4u * p + 1u], keys_next[4u * p + 2u], keys_next[4u * p + 3u]);
      }
    }
    barrier();
    float values_next[4u * VALUE_LOADS];
    fetch_values(batch, first_key, count, values_next);
    float scores[TM * TC];
    [[unroll]] for (uint i = 0u; i < TM * TC; ++i) scores[i] = 0.0f;
    uint query_at = y * DEPTH_STRIDE, key_at = x * DEPTH_STRIDE;
    [[dont_unroll]] for (uint first = 0u; first < DEPTH_UNITS; first += UNITS_TOGETHER) {
      [[unroll]] for (uint u = 0u; u < UNITS_TOGETHER; ++u) {
        vec4 b[TC];
        [[unroll]] for (uint j = 0u; j < TC; ++j) b[j] = block[key_at + X * DEPTH_STRIDE * j + u];
        [[unroll]] for (uint i = 0u; i < TM; ++i) {
          vec4 a = queries[query_at + Y * DEPTH_STRIDE * i + u];
          [[unroll]] for (uint d = 0u; d < 4u; ++d) {
            [[unroll]] for (uint j = 0u; j < TC; ++j) MULTIPLY_ADD(scores[i * TC + j], a[d], b[j][d]);
          }
        }
      }
      query_at += UNITS_TOGETHER;
      key_at += UNITS_TOGETHER;
    }
    // Row by row, by one text where that is long: the scores of the next rows move up.
#if ROLLED
    [[dont_unroll]] for (uint i = 0u; i < TM; ++i) {
#else
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
#endif
      float of_row[TC], most = -inf_f32();
      [[unroll]] for (uint j = 0u; j < TC; ++j) {
        uint row = y + Y * i, key = TC * x + j;
        of_row[j] = scores[j];
        if (row < row_count && key < count) of_row[j] = logit(batch, first_row + row, first_key + key, of_row[j]);
        of_row[j] = key < count ? of_row[j] : -inf_f32();
        most = max(most, of_row[j]);
      }
      [[unroll]] for (uint k = TC; k < TM * TC; ++k) scores[k - TC] = scores[k];
      [[unroll]] for (uint j = 0u; j < TC; ++j) scores[(TM - 1u) * TC + j] = of_row[j];
      of_lanes[(y + Y * i) * LANE_STRIDE + x / 4u][x % 4u] = most;
    }
    barrier();
    [[unroll]] for (uint p = 0u; p < VALUE_LOADS; ++p) {
      uint e = invocation + p * INVOCATIONS;
      if (KEYS * COLUMN_UNITS % INVOCATIONS == 0u || e < KEYS * COLUMN_UNITS) {
        block[e] = vec4(values_next[4u * p], values_next[4u * p + 1u], values_next[4u * p + 2u],
                        values_next[4u * p + 3u]);
      }
    }
    // What is raised: each score less its row's largest logit; and, by one lane a row, the largest logit so far less the
    // new one.
    float falls = 0.0f;
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      float most = largest[i];
      [[unroll]] for (uint q = 0u; q < X / 4u; ++q) {
        vec4 four = of_lanes[(y + Y * i) * LANE_STRIDE + q];
        most = max(most, max(max(four.x, four.y), max(four.z, four.w)));
      }
      float base = most == -inf_f32() ? 0.0f : most;
      [[unroll]] for (uint j = 0u; j < TC; ++j) scores[i * TC + j] -= base;
      falls = x == i ? largest[i] - base : falls;
      largest[i] = most;
    }
    if (x < TM) scales[y + Y * x] = exponential_weight_f32(falls);
    [[dont_unroll]] for (uint e = 0u; e < TM * TC / RAISED; ++e) {
      float raised[RAISED];
      [[unroll]] for (uint i = 0u; i < RAISED; ++i) raised[i] = exponential_weight_f32(scores[i]);
      [[unroll]] for (uint k = RAISED; k < TM * TC; ++k) scores[k - RAISED] = scores[k];
      [[unroll]] for (uint i = 0u; i < RAISED; ++i) scores[TM * TC - RAISED + i] = raised[i];
    }
    float of_block[TM];
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      uint at = (y + Y * i) * WEIGHT_STRIDE + TC * x / 4u;
      of_block[i] = scores[i * TC];
      [[unroll]] for (uint j = 1u; j < TC; ++j) of_block[i] += scores[i * TC + j];
      [[unroll]] for (uint j = 0u; j < TC; ++j) weights[at][TC * x % 4u + j] = scores[i * TC + j];
    }
#if SCALED
    [[dont_unroll]] for (uint e = 0u; e < TM * TC; ++e) {
      uint row = y + Y * (e / TC), key = TC * x + e % TC, at = row * WEIGHT_STRIDE + key / 4u;
      if (row < row_count && key < count)
        weights[at][key % 4u] = scaled(batch, first_row + row, first_key + key, weights[at][key % 4u]);
    }
#endif
    barrier();
    // The last block fetches its own keys again, so that there is no test around the loads.
    uint next_key = first_key + KEYS < end_key ? first_key + KEYS : first_key;
    fetch_keys(batch, next_key, min(KEYS, end_key - next_key), keys_next);
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      float scale = scales[y + Y * i];
      total[i] = total[i] * scale + of_block[i];
      [[unroll]] for (uint j = 0u; j < TN; ++j) sums[i * TN + j] *= scale;
    }
    uint weight_at = y * WEIGHT_STRIDE, value_at = 0u;
    [[dont_unroll]] for (uint key = 0u; key < count; key += 4u) {
      vec4 a[TM];
      [[unroll]] for (uint i = 0u; i < TM; ++i) a[i] = weights[weight_at + Y * WEIGHT_STRIDE * i];
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        [[unroll]] for (uint j = 0u; j < TN; ++j) {
          vec4 b = block[value_at + k * COLUMN_UNITS + min(x + X * j, COLUMN_UNITS - 1u)];
          [[unroll]] for (uint i = 0u; i < TM; ++i) MULTIPLY_ADD_QUAD(sums[i * TN + j], a[i][k], b);
        }
      }
      ++weight_at;
      value_at += 4u * COLUMN_UNITS;
    }
    barrier();
  }
  [[unroll]] for (uint i = 0u; i < TM; ++i) of_lanes[(y + Y * i) * LANE_STRIDE + x / 4u][x % 4u] = total[i];
  barrier();
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    float all = 0.0f;
    [[unroll]] for (uint q = 0u; q < X / 4u; ++q) {
      vec4 four = of_lanes[(y + Y * i) * LANE_STRIDE + q];
      all += (four.x + four.y) + (four.z + four.w);
    }
    total[i] = all;
  }
#if PARTS
  uint rows_of_all = GROUP_COUNT / KEY_PARTS / ROW_TILES * ROW_COUNT;
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    uint row = y + Y * i, at = part * rows_of_all + batch * ROW_COUNT + first_row + row;
    if (row < row_count && x == 0u) store_part_statistics(at, largest[i], total[i]);
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      uint unit = x + X * j;
      if (row < row_count && unit < COLUMN_UNITS) {
        [[unroll]] for (uint k = 0u; k < 4u; ++k) store_part(at * COLUMNS + 4u * unit + k, sums[i * TN + j][k]);
      }
    }
  }
#else
#if STATISTICS
  if (x == 0u) {
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      uint row = y + Y * i;
      if (row < row_count) store_statistics(batch, first_row + row, largest[i], row_total(largest[i], total[i]));
    }
  }
#endif
  // One at a time, the sums and totals moving up: the text of a division is long.
  uint row = y;
  [[dont_unroll]] for (uint i = 0u; i < TM; ++i, row += Y) {
    uint unit = x;
    [[dont_unroll]] for (uint j = 0u; j < TN; ++j, unit += X) {
      float quad[4];
      [[unroll]] for (uint k = 0u; k < 4u; ++k) quad[k] = divide_f32(sums[0][k], total[0]);
      if (row < row_count && unit < COLUMN_UNITS) store(batch, first_row + row, unit, quad);
      [[unroll]] for (uint k = 1u; k < TM * TN; ++k) sums[k - 1u] = sums[k];
    }
    [[unroll]] for (uint k = 1u; k < TM; ++k) total[k - 1u] = total[k];
  }
#endif
}
