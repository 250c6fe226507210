// Attention: result[batch, row, column] = sum over keys of softmax(logits of the row)[key] * value[batch, key, column],
// where logits are made of scores, the products of the row's query with each key. No score is written to memory.
//
// A workgroup of X by Y invocations owns ROWS = Y * TM rows and walks over blocks of KEYS = X * TC keys: it loads the
// block's keys into shared memory, forms TM x TC scores in each invocation's registers, turns them into logits, weighs
// them by exp(logit - largest so far), and adds the weighted values of the block, which lie where the keys lay, to
// TM x TN results in registers. Where a block raises a row's largest logit, what was summed before is scaled down
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Every lane of a row keeps the row's
// largest logit and total for itself, found in one order, so results do not depend on how lanes are scheduled.
//
// Rows of which every logit so far is -inf weigh nothing and divide by zero in the end, which gives NaN as the separate
// operations do. With CAUSAL later keys of a row are hidden and have the logit HIDDEN: blocks that no row sees are left
// out where each row has a logit so large that hidden ones weigh exactly nothing.
//
// With PARTS the keys of a row are shared by several workgroups, each of which leaves its sums, largest logit and total
// to attention/join.comp.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, ROW_COUNT rows, KEY_COUNT keys, KEY_PARTS parts of the keys, PART_KEYS keys of a part.
//
// The generated part defines X, Y, TM, TC, TN, TOGETHER, KEYS_TOGETHER, which divides KEYS, DEPTH, COLUMNS, CAUSAL,
// HIDDEN, PARTS, MULTIPLY_ADD(sum, a, b);
// load_query(batch, row, unit, quad), load_key(batch, key, unit, quad) and load_value(batch, key, unit, quad), which give
// four depths or columns, those beyond the end zero; logit(batch, row, key, score) and sees(batch, row, key); with SCALED
// scaled(batch, row, key, weight), a weight times a factor of its own, as the product takes it. Without PARTS
// store(batch, row, column, value) and, with STATISTICS, row_total(largest, total) and store_statistics(batch, row,
// largest, total); with PARTS
// store_part(i, value) and store_part_statistics(i, largest, total).
#include "generated"

#define ROWS (Y * TM)
#define KEYS (X * TC)
#define DEPTH_UNITS ((DEPTH + 3u) / 4u)
#define COLUMN_UNITS ((COLUMNS + 3u) / 4u)
#define STRIDE (4u * DEPTH_UNITS + 1u)
#define VALUE_STRIDE (4u * COLUMN_UNITS + 1u)
#define BLOCK_STRIDE (STRIDE > VALUE_STRIDE ? STRIDE : VALUE_STRIDE)
// Quads that an invocation has under way at a time: all that it loads of a block, up to four.
#define LOADS(units) ((KEYS * (units) + X * Y - 1u) / (X * Y))
#define KEY_HELD (LOADS(DEPTH_UNITS) < 4u ? LOADS(DEPTH_UNITS) : 4u)
#define VALUE_HELD (LOADS(COLUMN_UNITS) < 4u ? LOADS(COLUMN_UNITS) : 4u)
shared float query_tile[ROWS * STRIDE];
shared float block[KEYS * BLOCK_STRIDE];
shared float weights[ROWS * (KEYS + 1u)];
#if CAUSAL
shared uint hidden_count;
#endif

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
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, invocation = gl_LocalInvocationIndex;
  uint row_count = min(ROWS, ROW_COUNT - first_row);

  for (uint e = invocation; e < ROWS * DEPTH_UNITS; e += X * Y) {
    uint row = e / DEPTH_UNITS, unit = e % DEPTH_UNITS;
    float quad[4];
    load_query(batch, first_row + min(row, row_count - 1u), unit, quad);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) query_tile[row * STRIDE + 4u * unit + j] = quad[j];
  }
  float sums[TM * TN], largest[TM], total[TM];
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    largest[i] = -inf_f32();
    total[i] = 0.0f;
    [[unroll]] for (uint j = 0u; j < TN; ++j) sums[i * TN + j] = 0.0f;
  }
#if CAUSAL
  bool skips = true;
  if (invocation == 0u) hidden_count = 0u;
#endif
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
    for (uint first = invocation; first < KEYS * DEPTH_UNITS; first += KEY_HELD * X * Y) {
      float held[4u * KEY_HELD];
      [[unroll]] for (uint p = 0u; p < KEY_HELD; ++p) {
        uint e = first + p * (X * Y);
        float quad[4];
        load_key(batch, first_key + min(e / DEPTH_UNITS, count - 1u), e % DEPTH_UNITS, quad);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) held[4u * p + j] = quad[j];
      }
      [[unroll]] for (uint p = 0u; p < KEY_HELD; ++p) {
        uint e = first + p * (X * Y), at = e / DEPTH_UNITS * STRIDE + 4u * (e % DEPTH_UNITS);
        if (p == 0u || e < KEYS * DEPTH_UNITS) {
          [[unroll]] for (uint j = 0u; j < 4u; ++j) block[at + j] = held[4u * p + j];
        }
      }
    }
    barrier();
    float scores[TM * TC];
    [[unroll]] for (uint i = 0u; i < TM * TC; ++i) scores[i] = 0.0f;
    for (uint d = 0u; d < DEPTH; ++d) {
      float a[TM], b[TC];
      [[unroll]] for (uint i = 0u; i < TM; ++i) a[i] = query_tile[(y + Y * i) * STRIDE + d];
      [[unroll]] for (uint j = 0u; j < TC; ++j) b[j] = block[(x + X * j) * STRIDE + d];
      [[unroll]] for (uint i = 0u; i < TM; ++i) {
        [[unroll]] for (uint j = 0u; j < TC; ++j) MULTIPLY_ADD(scores[i * TC + j], a[i], b[j]);
      }
    }
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      [[unroll]] for (uint j = 0u; j < TC; ++j) {
        uint row = y + Y * i, key = x + X * j;
        if (row < row_count && key < count) {
          scores[i * TC + j] = logit(batch, first_row + row, first_key + key, scores[i * TC + j]);
        }
        scores[i * TC + j] = key < count ? scores[i * TC + j] : -inf_f32();
        weights[row * (KEYS + 1u) + key] = scores[i * TC + j];
      }
    }
    barrier();
    // What is raised: each score less its row's largest logit, then each row's largest logit so far less the new one.
    float powers[(TC + 1u) * TM], most[TM];
    [[unroll]] for (uint i = 0u; i < TM; ++i) most[i] = largest[i];
    // Some at a time, here and below: drivers would write all keys out, each behind a test of its own, and wait for each.
    // Those beyond the end weigh nothing.
    [[dont_unroll]] for (uint key = 0u; key < count; key += KEYS_TOGETHER) {
      [[unroll]] for (uint k = 0u; k < KEYS_TOGETHER; ++k) {
        [[unroll]] for (uint i = 0u; i < TM; ++i) most[i] = max(most[i], weights[(y + Y * i) * (KEYS + 1u) + key + k]);
      }
    }
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      float base = most[i] == -inf_f32() ? 0.0f : most[i];
      [[unroll]] for (uint j = 0u; j < TC; ++j) powers[i * TC + j] = scores[i * TC + j] - base;
      powers[TC * TM + i] = largest[i] - base;
      largest[i] = most[i];
    }
    for (uint first = invocation; first < count * COLUMN_UNITS; first += VALUE_HELD * X * Y) {
      float held[4u * VALUE_HELD];
      [[unroll]] for (uint p = 0u; p < VALUE_HELD; ++p) {
        uint e = first + p * (X * Y);
        float quad[4];
        load_value(batch, first_key + min(e / COLUMN_UNITS, count - 1u), e % COLUMN_UNITS, quad);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) held[4u * p + j] = quad[j];
      }
      [[unroll]] for (uint p = 0u; p < VALUE_HELD; ++p) {
        uint e = first + p * (X * Y), at = e / COLUMN_UNITS * VALUE_STRIDE + 4u * (e % COLUMN_UNITS);
        if (p == 0u || e < count * COLUMN_UNITS) {
          [[unroll]] for (uint j = 0u; j < 4u; ++j) block[at + j] = held[4u * p + j];
        }
      }
    }
    barrier();
    // Some at a time, the next ones moving up, so that the text of an exponential is there TOGETHER times.
    [[dont_unroll]] for (uint e = 0u; e < (TC + 1u) * TM / TOGETHER; ++e) {
      float raised[TOGETHER];
      [[unroll]] for (uint i = 0u; i < TOGETHER; ++i) raised[i] = exponential_weight_f32(powers[i]);
      [[unroll]] for (uint k = TOGETHER; k < (TC + 1u) * TM; ++k) powers[k - TOGETHER] = powers[k];
      [[unroll]] for (uint i = 0u; i < TOGETHER; ++i) powers[(TC + 1u) * TM - TOGETHER + i] = raised[i];
    }
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      float scale = powers[TC * TM + i];
      total[i] *= scale;
      [[unroll]] for (uint j = 0u; j < TN; ++j) sums[i * TN + j] *= scale;
      [[unroll]] for (uint j = 0u; j < TC; ++j) weights[(y + Y * i) * (KEYS + 1u) + x + X * j] = powers[i * TC + j];
    }
    barrier();
#if SCALED
    [[dont_unroll]] for (uint key = 0u; key < count; key += KEYS_TOGETHER) {
      [[unroll]] for (uint k = 0u; k < KEYS_TOGETHER; ++k) {
        [[unroll]] for (uint i = 0u; i < TM; ++i) total[i] += weights[(y + Y * i) * (KEYS + 1u) + key + k];
      }
    }
    barrier();
    [[dont_unroll]] for (uint e = 0u; e < TM * TC; ++e) {
      uint row = y + Y * (e / TC), key = x + X * (e % TC), at = row * (KEYS + 1u) + key;
      if (row < row_count && key < count) weights[at] = scaled(batch, first_row + row, first_key + key, weights[at]);
    }
    barrier();
#endif
    for (uint key = 0u; key < count; ++key) {
      float weight[TM];
      [[unroll]] for (uint i = 0u; i < TM; ++i) {
        weight[i] = weights[(y + Y * i) * (KEYS + 1u) + key];
#if !SCALED
        total[i] += weight[i];
#endif
      }
      [[unroll]] for (uint j = 0u; j < TN; ++j) {
        float value = block[key * VALUE_STRIDE + min(x + X * j, COLUMNS - 1u)];
        [[unroll]] for (uint i = 0u; i < TM; ++i) MULTIPLY_ADD(sums[i * TN + j], weight[i], value);
      }
    }
    barrier();
  }
#if PARTS
  uint rows_of_all = GROUP_COUNT / KEY_PARTS / ROW_TILES * ROW_COUNT;
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    uint row = y + Y * i, at = part * rows_of_all + batch * ROW_COUNT + first_row + row;
    if (row < row_count && x == 0u) store_part_statistics(at, largest[i], total[i]);
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      uint column = x + X * j;
      if (row < row_count && column < COLUMNS) store_part(at * COLUMNS + column, sums[i * TN + j]);
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
    uint column = x;
    [[dont_unroll]] for (uint j = 0u; j < TN; ++j, column += X) {
      if (row < row_count && column < COLUMNS) store(batch, first_row + row, column, divide_f32(sums[0], total[0]));
      [[unroll]] for (uint k = 1u; k < TM * TN; ++k) sums[k - 1u] = sums[k];
    }
    [[unroll]] for (uint k = 1u; k < TM; ++k) total[k - 1u] = total[k];
  }
#endif
}
