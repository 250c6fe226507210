// Tuning: workgroup sizes, items per invocation, tiles. Pure functions of device facts: of limits, of what things cost
// kernels (DeviceFacts::Costs), and of GPUs' vendors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/device_facts.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {

// The largest of 4, 8, ... up to `most` that divides it, else 1.
inline uint32_t WidthThatDivides(int64_t size, uint32_t most) {
  while (most > 1 && size % most != 0) most /= 2;
  return most >= 4 ? most : 1;
}

// How many iterations the loops of an invocation may take, each of `passes` times: well below the device's limit.
int64_t MostSteps(const DeviceFacts& facts, int passes);

// What the shapes below need to know of a GPU beyond its limits, by vendor: how many invocations a workgroup should
// have, how many workgroups keep the whole device busy, how large a register tile of a matrix product is. What was
// measured on the device (DeviceFacts::tuned) takes the place of the table's.
struct GpuTraits {
  uint32_t loop_group = 256;  // invocations of a fused loop's workgroup
  uint32_t loop_items = 4;    // elements of each, in large tensors
  uint32_t row_lanes = 256;   // most invocations that share a row
  int64_t busy_groups = 512;  // workgroups that keep the device busy
  uint32_t dot_lanes = 16;    // a product's workgroup is dot_lanes x dot_lanes
  uint32_t dot_tile = 4;      // and an invocation's tile at most dot_tile x dot_tile
  uint32_t dot_k_step = 16;
  uint32_t small_k_step = 8;  // at most, where a product's workgroups are small: so that many of them fit
  int64_t small_below = 4;    // they are where there are fewer than busy_groups / small_below of 16 x 16 invocations
  // A product's invocations read the terms of the next k before they multiply those of this one, and 32 neighbouring
  // ones are 4 x 8.
  bool dot_terms_ahead = false, dot_compact_lanes = false;
  uint32_t matrix_ahead = 1;     // strips of a product on matrix units that are on their way to the registers at once
  uint32_t matrix_columns = 32;  // results of a subgroup there, by 64 rows, where the product is large: 32 or 64
  bool matrix_rhs_rows = false;  // rhs of 16 bits that lies across k stays so in shared memory
  uint32_t matrix_raster = 0;    // DotShape's
  bool attention_quads = false;  // attention in f32 by attention/forward_quads.comp
  bool look_back = false;        // workgroups may wait for others that began before them: it lets those run on
};
GpuTraits TraitsOf(const DeviceFacts& facts);
// The table's alone.
GpuTraits TableTraits(const DeviceFacts& facts);

// The same of rows, whose elements are added up; a GPU's by GpuTraits.
struct RowTraits {
  uint32_t lanes = 256;         // most invocations that share a row
  uint32_t held_lanes = 256;    // and that hold one in registers
  int64_t turns = 16;           // of all lanes: rows of more are shared out, of fewer taken by one invocation
  int64_t groups = 512;         // workgroups that keep the device busy
  int64_t column_groups = 512;  // the same of rows side by side, each of them one of `lanes`
  int64_t column_chunk = 64;    // and the least that a workgroup takes of a row
  int64_t walks = 1 << 15;      // invocations that do, if each goes along a row of its own
  bool look_back = false;       // as GpuTraits has it
};
RowTraits RowTraitsOf(const DeviceFacts& facts);

// The shape of a fused loop: a workgroup of `workgroup_size` owns workgroup_size * items consecutive groups of `width`
// neighbouring elements; width divides the element count.
struct LoopTuning {
  uint32_t workgroup_size = 64;
  uint32_t items = 1;
  uint32_t width = 1;               // elements that element(i) computes: count / width of them are counted
  bool small_subgroups = false;     // KernelKey's
  bool neighbours_in_turn = false;  // an invocation's items are neighbours
  // For text that computes one.
  LoopTuning OneByOne() const { return {workgroup_size, items * width, 1}; }
};
// `cost`: simple operations of one element (core/passes/base/fusion_rules.h).
LoopTuning TuneLoop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost = 1);

// Bytes of an element of the narrowest and the widest tensor of a loop.
struct ElementBytes {
  int least = 16, most = 1;
};
// Subgroups of 32 may run two vector instructions at once, those of 64 the halves of one: what is mostly integer
// arithmetic beside a few sums, as bf16 is, gains by the former (RDNA 3; 5.9 instructions for a sum, not 6.75), and
// RDNA 1 and 2 lose nothing.
bool PairsInstructions(const DeviceFacts& facts);
// A GPU's loop of narrow types, with groups that fill accesses of 16 bytes.
LoopTuning Widened(const DeviceFacts& facts, LoopTuning tuning, const ElementBytes& bytes, int64_t element_count,
                   int64_t cost);

// How a loop whose operands lie across is spread (elementwise/turned_loop.comp): a workgroup of tile / width by lanes_y
// invocations owns tile x tile results, `width` neighbours at a time.
struct TurnShape {
  uint32_t tile = 32, width = 1, lanes_y = 8;
};
struct TurnWork {
  int64_t elements = 1, x = 1, t = 1;  // of the results, and along the two dimensions
  int64_t bytes = 4;                   // of shared memory for an element
  bool groups = true;                  // four neighbours are one access
};
// None: the loop is better off without.
std::optional<TurnShape> TuneTurn(const DeviceFacts& facts, const TurnWork& work);

// How a row program (reduce/rows.comp) is spread: `lanes` invocations share a row, a workgroup takes `rows_per_group`
// units of rows. `width` neighbours are taken at a time: elements of a row, or whole rows (along_rows: a unit is
// `width` rows). A row is shared by `splits` workgroups, of `chunk` steps of `width` elements each (single elements
// where along_rows).
struct RowShape {
  uint32_t lanes = 1, rows_per_group = 1, width = 1;
  bool along_rows = false;
  int64_t splits = 1, chunk = 1;
  // Shares of a row that one workgroup takes, turn by turn; splits is a multiple and every share has `chunk` steps.
  uint32_t interleaved = 1;
  bool ordered = false;  // lanes take neighbouring steps, and width is 1 unless along_rows
  // Steps of each lane, written out, whose values stay in registers from pass to pass; 0: passes are loops.
  uint32_t held = 0;
  bool alike = false;  // the kernel is the same for every length: a pass over all of one array
  // One invocation takes a row, element after element. `splits` kernels of `chunk` steps follow each other, each going
  // on from what the one before has left.
  bool in_order = false;
};
struct RowWork {
  int64_t rows = 1, row_size = 1;
  bool rows_contiguous = false;
  int passes = 1;             // loops over the elements
  int accumulator_bytes = 4;  // of one lane
  uint32_t most_width = 8;
  bool shuffles = true;   // subgroup shuffles take the accumulators
  bool ordered = false;   // a reducer does not commute
  bool in_order = false;  // nor associate
  bool holds = false;     // later passes and outputs want elements again, and nothing is read at another place
};
RowShape TuneRows(const DeviceFacts& facts, const RowWork& work);

// How running reductions (reduce/running.comp) are spread. `lanes` invocations share a row and hold `items` elements of
// a tile each, in groups of `width` neighbours; or an invocation walks `columns` rows that lie side by side. A
// workgroup owns `units` of rows, or of chunks of `chunk` tiles that rows are cut into.
struct RunningShape {
  uint32_t lanes = 1, units = 1, columns = 1, items = 1, width = 1;
  int64_t chunks = 1, chunk = 1;
  // A chunk is a tile, and looks back at the totals of those before it instead of a kernel that adds them up first.
  bool one_pass = false;
};
struct RunningWork {
  int64_t rows = 1, length = 1;
  int64_t side_by_side = 1;  // rows whose elements are neighbours in memory; 1: elements of a row are
  int accumulator_bytes = 4;
  int values = 1;         // instructions of an element
  bool in_pairs = false;  // emulated 64-bit types
  int carry_words = 0;    // of what one tile hands to the next; 0: not of 32-bit words
};
RunningShape TuneRunning(const DeviceFacts& facts, const RunningWork& work);

// How a matrix product is spread. In registers (software/matmul_registers.comp): `lanes` lanes own tile_rows rows and
// tile_columns columns each, k in steps of k_step. Tiled (dot/matmul_tiled.comp): lanes x lanes_y invocations own
// tile_rows x tile_columns results each, k in steps of k_step through shared memory. A product is shared by `splits`
// along k.
struct DotShape {
  bool tiled = false;
  uint32_t lanes = 8, lanes_y = 1;
  uint32_t tile_rows = 8, tile_columns = 4, k_step = 4;
  bool share_lhs = false;  // lanes hand lhs values round by subgroup shuffles
  bool repeated = false;   // as in DotWork: the text is the same for short and long sums
  // By dot/matmul_quads.comp, which is tiled too: tiles of whole quads, k_step a multiple of 4.
  bool quads = false;
  // Terms of the next k are read before those of this one are multiplied, there and on matrix units.
  bool terms_ahead = false;
  bool compact_lanes = false;  // 32 neighbours are 4 x 8, of quads
  int64_t splits = 1;
  // By dot/matmul_matrices.comp, tiled too: lanes x lanes_y subgroups own tile_rows x tile_columns results each, in
  // products of this shape. One of whole workgroups: by dot/matmul_tensors.comp, a workgroup for each.
  std::optional<MatrixShape> matrix = {};
  uint32_t ahead = 1;     // strips on their way to its registers at once: 1 or 2
  bool rhs_rows = false;  // rhs, which lies across k, does so in its strips too
  uint32_t raster = 0;  // tiles of rows that take a tile of columns one after another; 0: all columns of one come first
};
struct DotWork {
  int64_t batches = 1, rows = 1, columns = 1, k = 1;
  int sum_bytes = 4;            // of an accumulator
  bool lanes_can_share = true;  // accumulators that subgroup shuffles take
  bool in_pairs = false;        // emulated 64-bit types: a product is hundreds of operations, so tiles are single
  bool quads = false;           // 32-bit sums of operands that are read in whole groups of four
  std::optional<MatrixShape> matrix = {};  // that the device's units take its terms and sums in
  // The same of whole workgroups, the largest first; none: the device has none, or operands are no plain matrices.
  std::vector<MatrixShape> group_matrices = {};
  bool repeated = false;  // many products share the kernel, so that a large tile is worth its compilation
  // k falls into runs of so many terms, and where an operand is read along k a step lies within one; 0: all is one run.
  int64_t k_run = 0;
  bool along_k = true;
  bool rhs_along_k = true;  // of operands that matrix units take
};
DotShape TuneDot(const DeviceFacts& facts, const DotWork& work);

// Of a product inside a loop's kernel. A lane owns `rows` by `columns` results at a time and takes `k_step` values of k
// a turn. `shares`: the lanes of a subgroup have the same rows, so each loads one of them and hands it round.
// `in_turn`: where a tile has more sums than a processor has registers, four sums at a time take all values of k of a
// step, so that each leaves memory once.
struct LoopTile {
  int64_t rows = 1, columns = 1, k_step = 1;
  bool shares = false, in_turn = false;
};

// How attention (attention/forward.comp) is spread: lanes x lanes_y invocations own lanes_y * tile_rows rows and take
// lanes * tile_keys keys at a time. No lanes: a row does not fit in shared memory. With several parts each takes
// part_keys of the keys, and attention/join.comp joins them.
struct AttentionShape {
  uint32_t lanes = 0, lanes_y = 1, tile_rows = 4, tile_keys = 2;
  int64_t parts = 1, part_keys = 0;
  // By attention/matrices.comp: lanes_y subgroups own as many rows each as this product of the units has, and take
  // `lanes` keys at a time.
  std::optional<MatrixShape> matrix = {};
  bool quads = false;  // by attention/forward_quads.comp
  int64_t rows() const { return int64_t{lanes_y} * (matrix ? matrix->rows : tile_rows); }
  int64_t keys() const { return int64_t{lanes} * (matrix ? 1 : tile_keys); }
};
struct AttentionWork {
  int64_t batches = 1, rows = 1, keys = 1;
  int64_t depth = 1, columns = 1;          // dimensions of a query and of a value
  bool causal = false;                     // keys that a tile of rows does not see are left out: parts would be idle
  std::optional<MatrixShape> matrix = {};  // that the device's units take both products in
};
AttentionShape TuneAttention(const DeviceFacts& facts, const AttentionWork& work);

// How a product chain (attention/chain.comp) is spread: lanes x lanes_y invocations own four rows each and take four
// keys each at a time; products go through shared memory `chunk` depths at a time, values `value_keys` keys, and an
// invocation sums up `column_units` quads of columns. No lanes: rows of results are too wide.
struct ChainShape {
  uint32_t lanes = 0, lanes_y = 1, chunk = 16;
  int64_t column_units = 1, value_keys = 1;
  // By attention/chain_matrices.comp: lanes_y subgroups own as many rows each as this product of the units has, and
  // take `lanes` keys at a time.
  std::optional<MatrixShape> matrix = {};
  bool holds_rows = false;  // their terms, in registers
  int64_t rows() const { return int64_t{lanes_y} * (matrix ? matrix->rows : 4); }
  int64_t keys() const { return int64_t{lanes} * (matrix ? 1 : 4); }
};
struct ChainWork {
  int64_t rows = 1, keys = 1;
  std::vector<int64_t> depths = {}, columns = {};  // of each product, of each sum that is one
  bool reduces = false;
  int64_t parts = 0;                       // of a batch, where weights of all parts are combined
  std::optional<MatrixShape> matrix = {};  // that the device's units take all products in
  int64_t most_columns() const { return columns.empty() ? 1 : std::ranges::max(columns); }
};
ChainShape TuneChain(const DeviceFacts& facts, const ChainWork& work);
// How many iterations of its loops an invocation takes at most, which MostSteps limits.
int64_t ChainSteps(const ChainShape& shape, const ChainWork& work);

// How rows are sorted by merging (sort/merge.comp): `lanes` invocations sort a tile of lanes * run neighbours in shared
// memory, a workgroup owns `rows_per_group` tiles; sorted tiles are merged by invocations that make `unit` elements
// each.
struct SortShape {
  uint32_t lanes = 1, run = 8, rows_per_group = 1, unit = 16;
  bool in_registers = false;  // a lane sorts its run
  int64_t tile() const { return int64_t{lanes} * run; }
};
// Keys of `key_words` words; 0: a computation compares and may be no order, so searches take the square of their usual
// steps.
SortShape TuneSort(const DeviceFacts& facts, int64_t rows, int64_t length, int64_t item_bytes, int key_words);

// How long rows are sorted by the digits of keys: `lanes` invocations of a workgroup take `chunk` neighbours each, one
// after another (software/radix_chunks.comp) or all together (sort/radix_tiles.comp). A chunk of 0: by merging.
struct RadixShape {
  uint32_t lanes = 8;
  int digit_bits = 8;
  int64_t chunk = 0;
  bool by_tiles = false;
  uint32_t radix() const { return 1u << digit_bits; }
  uint32_t scan_lanes() const { return radix() < 256 ? radix() : 256; }
  int64_t part() const { return by_tiles ? lanes * chunk : chunk; }  // neighbours that have counters of their own
  // Of tiles, what an invocation of the second phase adds up: 256 of them for `scan_digits` digits.
  uint32_t scan_digits() const { return radix() < 16 ? radix() : 16; }
};
// Keys of `key_words` words in `bits` bits of each; items of `item_bytes` are moved.
RadixShape TuneRadix(const DeviceFacts& facts, const SortShape& merging, int64_t rows, int64_t length,
                     int64_t item_bytes, int key_words, int bits);

// How the first few of long rows are found (software/select.comp): `lanes` invocations of a workgroup walk over `chunk`
// neighbours each. A chunk of 0: by sorting tiles.
struct SelectShape {
  uint32_t lanes = 8;
  int64_t chunk = 0;
};

// How the first `kept` of long rows are found by the digits of the last one's key (sort/radix_select.comp): workgroups
// of `lanes` invocations own `chunk` neighbours each. A chunk of 0: by sorting, of tiles of `tile` elements or of whole
// rows.
struct DigitSelectShape {
  uint32_t lanes = 64, each = 32;
  int digit_bits = 8;
  int64_t chunk = 0;
  uint32_t radix() const { return 1u << digit_bits; }
};
DigitSelectShape TuneDigitSelect(const DeviceFacts& facts, int64_t rows, int64_t length, int64_t kept, int64_t tile,
                                 int key_words, int bits);

}  // namespace VXLA_NAMESPACE::vulkan
