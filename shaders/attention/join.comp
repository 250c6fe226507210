// The parts of attention/forward.comp joined: result[batch, row, column] = sum of all parts' sums / sum of all parts'
// totals, each scaled by exp(the part's largest logit - the largest of all). An invocation owns one result; parts come in
// their order.
//
// RESULT_COUNT results, ALL_ROWS rows of all batches, ROW_COUNT rows, KEY_PARTS parts.
//
// The generated part defines COLUMNS, part_sum(i), part_largest(i), part_total(i), store(batch, row, column, value) and,
// with STATISTICS, store_statistics(batch, row, largest, total).
#include "generated"

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint result = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (result >= RESULT_COUNT) return;
  uint row_of_all = result / COLUMNS, column = result % COLUMNS;
  float largest = -inf_f32();
  for (uint part = 0u; part < KEY_PARTS; ++part) largest = max(largest, part_largest(part * ALL_ROWS + row_of_all));
  float base = largest == -inf_f32() ? 0.0f : largest, sum = 0.0f, total = 0.0f;
  for (uint part = 0u; part < KEY_PARTS; ++part) {
    uint at = part * ALL_ROWS + row_of_all;
    float scale = exponential_weight_f32(part_largest(at) - base);
    total += part_total(at) * scale;
    sum += part_sum(at * COLUMNS + column) * scale;
  }
  uint batch = row_of_all / ROW_COUNT, row = row_of_all % ROW_COUNT;
#if STATISTICS
  if (column == 0u) store_statistics(batch, row, largest, row_total(largest, total));
#endif
  store(batch, row, column, divide_f32(sum, total));
}
