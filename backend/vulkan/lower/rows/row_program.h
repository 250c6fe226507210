// Row programs: O rows of R elements, reduced in passes that may read the results of the passes before at their own
// row, and stored as rows or as elements. Reductions, softmax, layer norm, matrix times vector and the sums of split
// work are all one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

// The place of a value: row o, and element r of it where that makes sense.
struct RowPlace {
  IndexExpression row, element;
};

// One reduction of one or several values at once.
struct RowReduce : Reducer {
  RowReduce() = default;
  // Of a reduce or reduce-window: its reducer, initial values and types of results.
  explicit RowReduce(const Instruction& reduction);
  // Locals that hold the initial values, as accumulators.
  std::vector<std::string> Starts(ValueWriter& writer) const;
  // The results that sums come to, joined to the initial values by `combine`, where the flag `holds` of what is summed
  // up is set; and locals of them.
  std::vector<std::string> Results(ValueWriter& writer, std::string_view combine, std::vector<std::string> sums,
                                   const std::string& holds = "") const;
  std::vector<std::string> Finish(ValueWriter& writer, std::string_view combine, std::vector<std::string> sums,
                                  const std::string& holds = "") const;

  const Instruction* source = nullptr;  // what adds up: reduce, reduce-window or dot
  int pass = 1;
  bool elements_taken = false;  // elements are accumulators already
  // The values of one element.
  std::function<std::vector<std::string>(ValueWriter&, const RowPlace&)> element;
  // Of elements under a window: what lies there, which several rows' windows may see, and the element's values made of
  // it. None: rows' elements are not known to have anything in common.
  std::vector<ElementType> seen_types;
  std::function<std::vector<std::string>(ValueWriter&, const RowPlace&)> seen;
  std::function<std::vector<std::string>(ValueWriter&, const RowPlace&, const std::vector<std::string>& seen)> made_of;
  // What the whole row is combined with, first, once; none: the identity is the result of an empty row. Given where
  // elements are taken in order.
  std::function<std::vector<std::string>(ValueWriter&)> init;
  std::vector<ElementType> result_types;
  // Tells the writer what the results at a row are.
  std::function<void(ValueWriter&, const RowPlace&, const std::vector<std::string>& results)> publish;
};

// A value of a row (or a scalar) that elements read: computed once instead of at every element.
struct RowValue {
  int level = 0;  // passes that must have run
  ElementType type;
  std::function<std::string(ValueWriter&, const RowPlace&)> value;
  std::function<void(ValueWriter&, const RowPlace&, const std::string& name)> publish;
};

struct RowOutput {
  int level = 0;
  bool per_element = false;  // else one value a row, at linear index o
  ElementType type;
  BufferSlice slice;
  std::function<std::string(ValueWriter&, const RowPlace&)> value;
  std::function<IndexExpression(ValueWriter&, const RowPlace&)> linear;  // of element outputs
};

// The results of a fusion, each a value of every row, in the order of the rows.
std::vector<RowOutput> RowOutputsOf(const FusionDescription& body, BufferMap& buffers);

struct RowProgram {
  const FusionDescription* body = nullptr;
  BufferMap* buffers = nullptr;
  std::string name;
  int64_t rows = 1, row_size = 1;
  bool rows_contiguous = false;  // neighbouring rows lie side by side in memory, rather than neighbouring elements
  uint32_t most_width = 8;       // neighbours that may be taken at a time
  std::vector<RowReduce> reduces;
  std::vector<RowValue> values;  // a later one may need earlier ones of its level
  std::vector<RowOutput> outputs;
  std::vector<StepAccumulation> joins;  // what `values` add up before the passes
  // How much there is to do, where the device knows that it may be less than all (core/passes/sizes/live_rows.h): rows
  // behind are left alone, and elements behind leave every sum as it is. No size: all of it.
  LiveCount live_rows, live_elements;
  // A dot, no array in memory, whose rows these are: a workgroup computes its own rows of it first
  // (reduce/product_rows.comp), by what `write_product` adds to the kernel.
  const Instruction* product = nullptr;
  std::function<void(KernelBuilder&)> write_product;
  uint32_t turns = 1;   // lanes that share a row take so many of the workgroup's rows, one after another
  int64_t batches = 1;  // that rows fall into; a workgroup's rows are of one
  int64_t flop = 0;
  int passes() const;
  // The numbers of a pass's reduces.
  std::vector<size_t> ReducesOf(int pass) const;
  // Whether outputs of elements want the results of all passes.
  bool stores_elements() const;
  // Computes the row values of a level as locals, and publishes them.
  void ComputeValues(ValueWriter& writer, const RowPlace& place, int level) const;
  // Of all reduces, or of none (RowSpace::Matches).
  bool in_order() const { return !reduces.empty() && reduces[0].in_order; }
};

// What a fusion around reduces is as a row program, which lives no longer than the call.
void WithReduceProgram(const FusionDescription& body, BufferMap& buffers,
                       const std::function<void(const RowProgram&)>& use);

// The same of a fusion around a reduce-window: rows are the results, elements the taps of the window.
void WithWindowProgram(const FusionDescription& body, BufferMap& buffers,
                       const std::function<void(const RowProgram&)>& use);

// A row program around a product whose rows it reads. Unsupported where lanes cannot share a row.
Status CanLowerProductOfRows(const LowerContext& context, const FusionDescription& body);
Step LowerProductOfRows(const LowerContext& context, const FusionDescription& body, RowProgram program);

// One kernel of a row program. With `partial` the accumulators of pass 1 are stored instead of finished: value `l` of
// the pass at split * rows + row (along_rows) or row * splits + split of partial[l].
// With `carried`, one of a chain, the accumulators of pass 1 start as they were left there, at `row`, and the elements
// begin at `first_step`.
struct RowKernel {
  RowShape shape;
  std::vector<BufferSlice> partial;
  std::vector<BufferSlice> carried = {};
  int64_t first_step = 0;
};
Step WriteRowKernel(const LowerContext& context, const RowProgram& program, const RowKernel& kernel);

// Chooses the shape and makes the steps: one, or several where few rows are long enough to be shared out.
std::vector<Step> LowerRowProgram(const LowerContext& context, const RowProgram& program);

// How the windows of neighbouring rows lie along a dimension. Of a row's elements, `taps` lie along it, `apart` from
// each other; what lies under one of them lies under the one `step` before it (behind it, below 0) in the next row. 0:
// there are no such.
struct RowWindow {
  bool shares = false;  // neighbours see elements in common
  int64_t taps = 1, apart = 1, step = 0;
};
RowWindow RowWindowOf(const WindowDimension& window, int64_t apart);
// Rows of few elements of which neighbours share some: a pooling, a depthwise convolution. A row is a place of the
// dimensions; an invocation takes a tile of rows, `tile` in each dimension, and all their elements are written out, so
// that what several of them read is read once. A tile of one row along a dimension may move along it, `moves` times,
// and what it sees again stays in registers.
struct RowTile {
  IntList dimensions, tile;
  size_t along = 0;
  int64_t moves = 1;
  RowWindow window = {};  // along that dimension
};
// `windows`: by dimension. None: the program does not suit.
std::optional<RowTile> TileShortRows(const LowerContext& context, const RowProgram& program,
                                     std::span<const int64_t> dimensions, const std::vector<RowWindow>& windows);
Step WriteShortRows(const LowerContext& context, const RowProgram& program, const RowTile& tile);

}  // namespace VXLA_NAMESPACE::vulkan
