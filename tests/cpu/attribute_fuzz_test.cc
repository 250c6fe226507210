// Index maps under random attributes, right and wrong, small and extreme: what verifies is evaluated, and no element
// outside of an array is read or written (the reference CHECKs every access; a sanitizer build checks the rest).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing::attribute_fuzz {
namespace {

using Sizes = std::vector<int64_t>;

constexpr char kComputations[] =
    "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }\n"
    "max { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] maximum(x, y) }\n"
    "sub { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] subtract(x, y) }\n"
    "ge { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = pred[] compare(x, y), direction=GE }\n"
    "le { x = f32[] parameter(0)  y = f32[] parameter(1)  a = f32[] negate(x)  b = f32[] negate(y)\n"
    "  ROOT r = pred[] compare(a, b), direction=GT }\n";

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t limit) {
    return limit < 1 ? 0 : static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool Often() { return Below(4) != 0; }
  bool Rarely() { return Below(20) == 0; }
  // A number from `low` to `high`; now and then one beyond, now and then any.
  int64_t Number(int64_t low, int64_t high) {
    constexpr int64_t kExtremes[] = {INT64_MIN,
                                     INT64_MAX,
                                     -1,
                                     0,
                                     int64_t{1} << 31,
                                     -(int64_t{1} << 31),
                                     int64_t{1} << 32,
                                     int64_t{1} << 44,
                                     -(int64_t{1} << 44),
                                     int64_t{1} << 62};
    if (Below(60) == 0) return kExtremes[Below(std::size(kExtremes))];
    if (Below(40) == 0) return Below(2) == 0 ? low - 1 : high + 1;
    return low + Below(high - low + 1);
  }
  int64_t Size() { return Rarely() ? 0 : 1 + Below(5); }
  Sizes Shape(int64_t least_rank = 0, int64_t most_rank = 4) {
    Sizes sizes(static_cast<size_t>(least_rank + Below(most_rank - least_rank + 1)));
    for (int64_t& size : sizes) size = Size();
    return sizes;
  }
  // Different dimensions of `rank`, `count` of them; now and then one twice or one that is not there.
  Sizes Dimensions(int64_t rank, int64_t count, bool sorted = false) {
    Sizes all(static_cast<size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, random_);
    all.resize(static_cast<size_t>(std::min(count, rank)));
    if (sorted) std::ranges::sort(all);
    if (!all.empty() && Rarely()) all[static_cast<size_t>(Below(std::ssize(all)))] = Number(0, rank - 1);
    return all;
  }

 private:
  std::mt19937_64 random_;
};

std::string List(const Sizes& sizes) { return "{" + JoinInts(sizes) + "}"; }
std::string Type(std::string_view type, const Sizes& sizes) { return fmt::format("{}[{}]", type, JoinInts(sizes)); }
bool Has(const Sizes& sizes, int64_t value) { return std::ranges::find(sizes, value) != sizes.end(); }

// A program of one instruction under construction.
struct Draft {
  std::vector<std::string> parameters;
  std::string instruction;
  std::string Text() const {
    std::string text = std::string("HloModule m\n") + kComputations + "ENTRY e {\n";
    for (size_t i = 0; i < parameters.size(); ++i)
      text += fmt::format("  p{} = {} parameter({})\n", i, parameters[i], i);
    return text + "  ROOT r = " + instruction + "\n}\n";
  }
};

std::string IndexType(Generator& g) {
  constexpr const char* kTypes[] = {"s32", "s64", "u32", "u64", "s8", "u8"};
  return kTypes[g.Below(std::size(kTypes))];
}

// What gather and scatter have in common: an array, indices into it, batching pairs and how many dimensions are
// dropped.
struct Indexed {
  Sizes array, indices, map, array_batching, indices_batching, dropped;
  int64_t vector_dim = 0;
  Sizes batch;  // the indices' sizes without the index vector
};

Indexed MakeIndexed(Generator& g) {
  Indexed x;
  x.array = g.Shape(1, 4);
  const auto rank = static_cast<int64_t>(x.array.size());
  x.indices = g.Shape(0, 3);
  x.map = g.Dimensions(rank, g.Below(rank + 1));
  x.vector_dim = g.Below(std::ssize(x.indices) + 1);
  x.indices.insert(x.indices.begin() + x.vector_dim, std::ssize(x.map));
  if (x.map.size() == 1 && g.Below(3) == 0) {  // the implied index vector of one
    x.indices.erase(x.indices.begin() + x.vector_dim);
    x.vector_dim = std::ssize(x.indices);
  }
  Sizes free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Has(x.map, d)) free.push_back(d);
  }
  for (int64_t i = 0; i < std::ssize(x.indices) && !free.empty(); ++i) {
    if (i == x.vector_dim || g.Often()) continue;
    x.array_batching.push_back(free.front());
    x.indices_batching.push_back(i);
    x.array[static_cast<size_t>(free.front())] = x.indices[static_cast<size_t>(i)];
    free.erase(free.begin());
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (!Has(x.array_batching, d) && g.Below(3) == 0) x.dropped.push_back(d);
  }
  for (int64_t i = 0; i < std::ssize(x.indices); ++i) {
    if (i != x.vector_dim) x.batch.push_back(x.indices[static_cast<size_t>(i)]);
  }
  if (g.Rarely()) x.vector_dim = g.Number(0, std::ssize(x.indices));
  if (g.Rarely()) std::ranges::reverse(x.array_batching);
  return x;
}

Draft Gather(Generator& g) {
  const Indexed x = MakeIndexed(g);
  Sizes slices;
  int64_t windows = 0;
  for (int64_t d = 0; d < std::ssize(x.array); ++d) {
    const bool dropped = Has(x.dropped, d) || Has(x.array_batching, d);
    slices.push_back(dropped ? g.Number(g.Rarely() ? 0 : 1, 1) : g.Number(0, x.array[static_cast<size_t>(d)]));
    windows += dropped ? 0 : 1;
  }
  const Sizes offsets = g.Dimensions(std::ssize(x.batch) + windows, windows, true);
  return {{Type("f32", x.array), Type(IndexType(g), x.indices)},
          fmt::format("gather(p0, p1), offset_dims={}, collapsed_slice_dims={}, start_index_map={}, "
                      "operand_batching_dims={}, start_indices_batching_dims={}, index_vector_dim={}, slice_sizes={}",
                      List(offsets), List(x.dropped), List(x.map), List(x.array_batching), List(x.indices_batching),
                      x.vector_dim, List(slices))};
}

Draft Scatter(Generator& g) {
  const Indexed x = MakeIndexed(g);
  Sizes windows;
  for (int64_t d = 0; d < std::ssize(x.array); ++d) {
    if (!Has(x.dropped, d) && !Has(x.array_batching, d)) windows.push_back(x.array[static_cast<size_t>(d)]);
  }
  const Sizes places = g.Dimensions(std::ssize(x.batch) + std::ssize(windows), std::ssize(windows), true);
  Sizes updates;
  size_t next_batch = 0, next_window = 0;
  for (int64_t i = 0; i < std::ssize(x.batch) + std::ssize(windows); ++i) {
    if (Has(places, i)) {
      updates.push_back(std::max<int64_t>(0, windows[next_window++] - g.Below(2)));
    } else {
      updates.push_back(next_batch < x.batch.size() ? x.batch[next_batch++] : 1);
    }
    if (next_window == windows.size() && next_batch > x.batch.size()) break;
  }
  const char* combine = g.Below(2) == 0 ? "add" : "sub";
  return {{Type("f32", x.array), Type(IndexType(g), x.indices), Type("f32", updates)},
          fmt::format("scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={}, "
                      "scatter_dims_to_operand_dims={}, input_batching_dims={}, scatter_indices_batching_dims={}, "
                      "index_vector_dim={}, to_apply={}",
                      List(places), List(x.dropped), List(x.map), List(x.array_batching), List(x.indices_batching),
                      x.vector_dim, combine)};
}

// Start indices: a scalar for each dimension.
std::string Starts(Generator& g, Draft& draft, size_t count) {
  const std::string type = IndexType(g);
  std::string names;
  for (size_t i = 0; i < count; ++i) {
    names += fmt::format(", p{}", draft.parameters.size());
    draft.parameters.push_back(type + "[]");
  }
  return names;
}

Draft DynamicSlice(Generator& g) {
  const Sizes array = g.Shape();
  Draft draft{{Type("f32", array)}, ""};
  Sizes sizes;
  for (const int64_t size : array) sizes.push_back(g.Number(0, size));
  Sizes stated = sizes;
  for (int64_t& size : stated) size = std::clamp<int64_t>(size, 0, 1 << 20);
  const std::string starts = Starts(g, draft, array.size());
  draft.instruction =
      fmt::format("{} dynamic-slice(p0{}), dynamic_slice_sizes={}", Type("f32", stated), starts, List(sizes));
  return draft;
}

Draft DynamicUpdateSlice(Generator& g) {
  const Sizes array = g.Shape();
  Sizes update;
  for (const int64_t size : array) update.push_back(std::clamp<int64_t>(g.Number(0, size), 0, 1 << 10));
  Draft draft{{Type("f32", array), Type("f32", update)}, ""};
  const std::string starts = Starts(g, draft, array.size());
  draft.instruction = fmt::format("{} dynamic-update-slice(p0, p1{})", Type("f32", array), starts);
  return draft;
}

Draft Slice(Generator& g) {
  const Sizes array = g.Shape();
  Sizes stated;
  std::string slices;
  for (const int64_t size : array) {
    const int64_t start = g.Number(0, size), limit = g.Number(std::clamp<int64_t>(start, 0, size), size);
    const int64_t stride = g.Number(1, 3);
    const bool fits = start >= 0 && limit >= start && limit <= size && stride > 0;
    stated.push_back(fits ? (limit - start) / stride + ((limit - start) % stride != 0 ? 1 : 0) : 1);
    slices += fmt::format("{}[{}:{}:{}]", slices.empty() ? "" : ", ", start, limit, stride);
  }
  return {{Type("f32", array)}, fmt::format("{} slice(p0), slice={{{}}}", Type("f32", stated), slices)};
}

Draft Pad(Generator& g) {
  const Sizes array = g.Shape(1);
  std::string padding;
  for (size_t i = 0; i < array.size(); ++i) {
    padding += fmt::format("{}{}_{}_{}", i == 0 ? "" : "x", g.Number(-3, 4), g.Number(-3, 4), g.Number(0, 2));
  }
  return {{Type("f32", array), "f32[]"}, "pad(p0, p1), padding=" + padding};
}

Draft Reverse(Generator& g) {
  const Sizes array = g.Shape();
  return {{Type("f32", array)}, "reverse(p0), dimensions=" + List(g.Dimensions(std::ssize(array), g.Below(4)))};
}

Draft Concatenate(Generator& g) {
  Sizes a = g.Shape(1), b = a;
  const int64_t along = g.Number(0, std::ssize(a) - 1);
  if (along >= 0 && along < std::ssize(b)) b[static_cast<size_t>(along)] = g.Size();
  return {{Type("f32", a), Type("f32", b)}, fmt::format("concatenate(p0, p1, p0), dimensions={{{}}}", along)};
}

Draft Transpose(Generator& g) {
  const Sizes array = g.Shape();
  return {{Type("f32", array)},
          "transpose(p0), dimensions=" + List(g.Dimensions(std::ssize(array), std::ssize(array)))};
}

Draft Broadcast(Generator& g) {
  const Sizes result = g.Shape();
  const Sizes dimensions = g.Dimensions(std::ssize(result), g.Below(std::ssize(result) + 1));
  Sizes array;
  for (const int64_t d : dimensions) {
    array.push_back(d >= 0 && d < std::ssize(result) ? result[static_cast<size_t>(d)] : 1);
  }
  return {{Type("f32", array)}, fmt::format("{} broadcast(p0), dimensions={}", Type("f32", result), List(dimensions))};
}

Draft Iota(Generator& g) {
  const Sizes shape = g.Shape();
  return {{},
          fmt::format("{} iota(), iota_dimension={}", Type(IndexType(g), shape), g.Number(0, std::ssize(shape) - 1))};
}

// Of as many bits, laid out in any order.
Draft Bitcast(Generator& g) {
  Sizes from = g.Shape(1), to = from;
  std::ranges::reverse(to);
  const Sizes order = g.Dimensions(std::ssize(to), std::ssize(to));
  const bool wide = g.Below(3) == 0;
  if (wide) to.back() *= 4;
  return {{Type("f32", from)}, fmt::format("{}{} bitcast(p0)", Type(wide ? "u8" : "s32", to), List(order))};
}

Draft BitcastConvert(Generator& g) {
  constexpr const char* kTypes[] = {"f32", "u8", "s4", "pred", "f64", "bf16", "u2", "s32"};
  Sizes from = g.Shape(1);
  const char *a = kTypes[g.Below(std::size(kTypes))], *b = kTypes[g.Below(std::size(kTypes))];
  const int narrow = BitWidth(*ParseElementType(a)), wide = BitWidth(*ParseElementType(b));
  Sizes to = from;
  if (wide > narrow) {
    from.push_back(wide / narrow);
  } else if (wide < narrow) {
    to.push_back(g.Number(narrow / wide, narrow / wide));
  }
  for (int64_t& size : to) size = std::clamp<int64_t>(size, 0, 1000);
  return {{Type(a, from)}, fmt::format("{} bitcast-convert(p0)", Type(b, to))};
}

std::string WindowText(Generator& g, const Sizes& sizes, bool dilates) {
  std::string size, stride, pad, lhs, rhs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const char* x = i == 0 ? "" : "x";
    size += fmt::format("{}{}", x, sizes[i]);
    stride += fmt::format("{}{}", x, g.Number(1, 3));
    pad += fmt::format("{}{}_{}", x, g.Number(-2, 3), g.Number(-2, 3));
    lhs += fmt::format("{}{}", x, g.Number(1, 3));
    rhs += fmt::format("{}{}", x, g.Number(1, 2));
  }
  const std::string dilation = dilates ? fmt::format(" lhs_dilate={} rhs_dilate={}", lhs, rhs) : "";
  return fmt::format("{{size={} stride={} pad={}{}}}", size, stride, pad, dilation);
}

Draft ReduceWindow(Generator& g) {
  const Sizes array = g.Shape(1, 3);
  Sizes sizes;
  for (size_t i = 0; i < array.size(); ++i) sizes.push_back(g.Number(1, 3));
  return {{Type("f32", array), "f32[]"},
          fmt::format("reduce-window(p0, p1), window={}, to_apply={}", WindowText(g, sizes, true),
                      g.Below(2) == 0 ? "add" : "max")};
}

// The source has the windows' shape where that is one; extremes are left to the checks of reduce-window.
Draft SelectAndScatter(Generator& g) {
  const Sizes array = g.Shape(1, 3);
  Sizes source;
  std::string size, stride, pad;
  for (size_t i = 0; i < array.size(); ++i) {
    const int64_t w = 1 + g.Below(3), s = 1 + g.Below(3), low = g.Below(4) - 1, high = g.Below(4) - 1;
    const int64_t padded = array[i] + low + high;
    source.push_back(padded < w ? 0 : (padded - w) / s + 1);
    const char* x = i == 0 ? "" : "x";
    size += fmt::format("{}{}", x, w);
    stride += fmt::format("{}{}", x, s);
    pad += fmt::format("{}{}_{}", x, g.Rarely() ? g.Number(low, low) : low, high);
  }
  return {{Type("f32", array), Type("f32", source), "f32[]"},
          fmt::format("select-and-scatter(p0, p1, p2), window={{size={} stride={} pad={}}}, select={}, scatter={}",
                      size, stride, pad, g.Below(2) == 0 ? "ge" : "le", g.Below(2) == 0 ? "add" : "sub")};
}

Draft Convolution(Generator& g) {
  const int64_t rank = g.Below(3), groups = 1 + g.Below(3), inputs = 1 + g.Below(2), outputs = 1 + g.Below(2);
  const bool by_batch = g.Below(4) == 0;
  Sizes image{by_batch ? groups * g.Size() : g.Size(), by_batch ? inputs : groups * inputs},
      kernel{groups * outputs, inputs}, sizes;
  std::string spatial;
  for (int64_t i = 0; i < rank; ++i) {
    image.push_back(g.Size());
    kernel.push_back(g.Size());
    sizes.push_back(g.Rarely() ? g.Number(1, 3) : kernel.back());
    spatial += static_cast<char>('0' + i);
  }
  const std::string window = rank == 0 ? "" : ", window=" + WindowText(g, sizes, true);
  return {{Type("f32", image), Type("f32", kernel)},
          fmt::format("convolution(p0, p1){}, dim_labels=bf{}_oi{}->{}bf, feature_group_count={}, batch_group_count={}",
                      window, spatial, spatial, spatial, g.Number(by_batch ? 1 : groups, by_batch ? 1 : groups),
                      g.Number(by_batch ? groups : 1, by_batch ? groups : 1))};
}

Draft Reduce(Generator& g) {
  const Sizes array = g.Shape();
  return {{Type("f32", array), "f32[]"},
          fmt::format("reduce(p0, p1), dimensions={}, to_apply={}",
                      List(g.Dimensions(std::ssize(array), g.Below(std::ssize(array) + 1))),
                      g.Below(2) == 0 ? "add" : "sub")};
}

Draft Dot(Generator& g) {
  const Sizes lhs = g.Shape(1, 4);
  const int64_t rank = std::ssize(lhs), batch = g.Below(rank + 1), contracting = g.Below(rank - batch + 1);
  const Sizes all = g.Dimensions(rank, batch + contracting);
  Sizes rhs, lhs_batch(all.begin(), all.begin() + batch), lhs_contracting(all.begin() + batch, all.end());
  for (const int64_t d : all) rhs.push_back(d >= 0 && d < rank ? lhs[static_cast<size_t>(d)] : 1);
  if (g.Often()) rhs.push_back(g.Size());
  Sizes rhs_batch(static_cast<size_t>(batch)), rhs_contracting(all.size() - static_cast<size_t>(batch));
  std::iota(rhs_batch.begin(), rhs_batch.end(), 0);
  std::iota(rhs_contracting.begin(), rhs_contracting.end(), batch);
  if (!rhs_batch.empty() && g.Rarely()) rhs_batch[0] = g.Number(0, rank);
  return {
      {Type("f32", lhs), Type("f32", rhs)},
      fmt::format("dot(p0, p1), lhs_batch_dims={}, lhs_contracting_dims={}, rhs_batch_dims={}, rhs_contracting_dims={}",
                  List(lhs_batch), List(lhs_contracting), List(rhs_batch), List(rhs_contracting))};
}

Draft RaggedDot(Generator& g) {
  const int64_t rows = g.Size(), k = g.Size(), columns = g.Size(), groups = g.Size();
  return {{Type("f32", {rows, k}), Type("f32", {groups, k, columns}), Type("s32", {groups})},
          fmt::format("ragged-dot(p0, p1, p2), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}, "
                      "lhs_ragged_dims={{{}}}, rhs_group_dims={{{}}}",
                      g.Number(1, 1), g.Number(1, 1), g.Number(0, 0), g.Number(0, 0))};
}

Draft Sort(Generator& g) {
  const Sizes array = g.Shape(1);
  return {{Type("f32", array)},
          fmt::format("sort(p0), dimensions={{{}}}, to_apply={}", g.Number(0, std::ssize(array) - 1),
                      g.Below(2) == 0 ? "ge" : "le")};
}

Draft TopK(Generator& g) {
  const Sizes array = g.Shape(1);
  return {{Type("f32", array)}, fmt::format("topk(p0), k={}, largest=true", g.Number(0, array.back()))};
}

Draft Fft(Generator& g) {
  Sizes array = g.Shape(1, 3);
  constexpr const char* kKinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  const int64_t kind = g.Below(4), count = 1 + g.Below(std::ssize(array));
  Sizes lengths(array.end() - count, array.end());
  if (kind == 3 && lengths.back() > 0) array.back() = lengths.back() / 2 + 1;
  if (g.Rarely()) lengths.back() = g.Number(0, 6);
  return {{Type(kind == 2 ? "f32" : "c64", array)},
          fmt::format("fft(p0), fft_type={}, fft_length={}", kKinds[kind], List(lengths))};
}

Draft Cholesky(Generator& g) {
  Sizes array = g.Shape(1, 3);
  array.push_back(g.Rarely() ? g.Size() : array.back());
  return {{Type("f32", array)}, fmt::format("cholesky(p0), lower={}", g.Below(2))};
}

Draft TriangularSolve(Generator& g) {
  Sizes a = g.Shape(1, 3), b = a;
  const bool left = g.Below(2) == 0;
  b.insert(b.end() - (left ? 0 : 1), g.Size());
  a.push_back(a.back());
  if (g.Rarely()) b[0] = g.Size();
  return {{Type("f32", a), Type("f32", b)},
          fmt::format("triangular-solve(p0, p1), left_side={}, lower={}, unit_diagonal={}, transpose_a=TRANSPOSE", left,
                      g.Below(2), g.Below(2))};
}

Draft BatchNorm(Generator& g) {
  const Sizes array = g.Shape(1);
  const int64_t feature = g.Number(0, std::ssize(array) - 1);
  const Sizes vector{feature >= 0 && feature < std::ssize(array) ? array[static_cast<size_t>(feature)] : 1};
  return {{Type("f32", array), Type("f32", vector)},
          fmt::format("batch-norm-training(p0, p1, p1), epsilon=0.1, feature_index={}", feature)};
}

Draft DynamicReshape(Generator& g) {
  const Sizes array = g.Shape(1, 3);
  Draft draft{{Type("f32", array)}, ""};
  const std::string sizes = Starts(g, draft, array.size());
  draft.instruction = fmt::format("f32[<={}] dynamic-reshape(p0{})", JoinInts(array, ",<="), sizes);
  return draft;
}

Draft SetDimensionSize(Generator& g) {
  const Sizes array = g.Shape(1, 3);
  return {{Type("f32", array), "s32[]"},
          fmt::format("set-dimension-size(p0, p1), dimensions={{{}}}", g.Number(0, std::ssize(array) - 1))};
}

Draft ReducePrecision(Generator& g) {
  return {
      {"f32[5]"},
      fmt::format("f32[5] reduce-precision(p0), exponent_bits={}, mantissa_bits={}", g.Number(1, 12), g.Number(0, 60))};
}

Draft CollectivePermute(Generator& g) {
  const Sizes array = g.Shape(1, 3);
  Sizes sizes;
  for (const int64_t size : array) sizes.push_back(g.Number(0, size));
  std::string start;
  for (size_t i = 0; i < array.size(); ++i) start += i == 0 ? "s32[]" : ", s32[]";
  return {{Type("f32", array), Type("f32", array), "(" + start + ")"},
          fmt::format("{} collective-permute(p0, p1, p2, p2), source_target_pairs={{{{{},{}}}}}, slice_sizes={{{}}}",
                      Type("f32", array), g.Number(0, 0), g.Number(0, 0), List(sizes))};
}

Draft RaggedAllToAll(Generator& g) {
  const int64_t inner = g.Size();
  return {{Type("f32", {g.Size(), inner}), Type("f32", {g.Size(), inner}), "s32[1]", "s32[1]", "s32[1]", "s32[1]"},
          fmt::format("{} ragged-all-to-all(p0, p1, p2, p3, p4, p3), replica_groups={{{{{}}}}}", "f32[1,1]",
                      g.Number(0, 0))};
}

using Make = Draft(Generator&);
struct Kind {
  const char* name;
  Make* make;
};
constexpr Kind kKinds[] = {{"gather", Gather},
                           {"scatter", Scatter},
                           {"dynamic-slice", DynamicSlice},
                           {"dynamic-update-slice", DynamicUpdateSlice},
                           {"slice", Slice},
                           {"pad", Pad},
                           {"reverse", Reverse},
                           {"concatenate", Concatenate},
                           {"transpose", Transpose},
                           {"broadcast", Broadcast},
                           {"iota", Iota},
                           {"bitcast", Bitcast},
                           {"bitcast-convert", BitcastConvert},
                           {"reduce-window", ReduceWindow},
                           {"select-and-scatter", SelectAndScatter},
                           {"convolution", Convolution},
                           {"reduce", Reduce},
                           {"dot", Dot},
                           {"ragged-dot", RaggedDot},
                           {"sort", Sort},
                           {"topk", TopK},
                           {"fft", Fft},
                           {"cholesky", Cholesky},
                           {"triangular-solve", TriangularSolve},
                           {"batch-norm-training", BatchNorm},
                           {"dynamic-reshape", DynamicReshape},
                           {"set-dimension-size", SetDimensionSize},
                           {"reduce-precision", ReducePrecision},
                           {"collective-permute", CollectivePermute},
                           {"ragged-all-to-all", RaggedAllToAll}};

// Indices in range, about it, and as far out as the type reaches.
Literal AnyValue(const Shape& shape, Generator& g) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.tuple_elements()) elements.push_back(AnyValue(element, g));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal(shape);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsComplex(shape.element_type())) {
      literal.SetComplex(i, {static_cast<double>(g.Below(9)) - 4, 1});
    } else if (IsFloating(shape.element_type())) {
      literal.SetDouble(i, static_cast<double>(g.Below(9)) - 4);
    } else {
      literal.SetInt(i, g.Number(-1, 5));
    }
  }
  return literal;
}

// Windows over trillions of places are right and take as long as they take: not here.
bool IsCheap(const Module& module) {
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->shape().SizeBytes() > 1 << 16) return false;
    const auto* window = std::get_if<WindowAttributes>(&instruction->attributes());
    int64_t taps = 1;
    for (const WindowDimension& d : window == nullptr ? Window{} : window->window) {
      if (__builtin_mul_overflow(taps, d.size, &taps) || taps > 1 << 12) return false;
    }
  }
  return true;
}

TEST(AttributeFuzzTest, WhatVerifiesStaysWithinItsArrays) {
  Generator g(11);
  std::map<std::string_view, int> accepted, refused;
  for (int n = 0; n < 30000; ++n) {
    const Kind& kind = kKinds[g.Below(std::size(kKinds))];
    const std::string text = kind.make(g).Text();
    const auto module = ParseHlo(text);
    const Status status = module.ok() ? Verify(**module) : module.status();
    if (!status.ok()) {
      ASSERT_NE(status.code(), StatusCode::kInternal) << status.message() << "\n" << text;
      ASSERT_FALSE(status.message().empty()) << text;
      ++refused[kind.name];
      continue;
    }
    if (!IsCheap(**module)) continue;
    std::vector<Literal> arguments;
    for (const Instruction* parameter : (*module)->entry()->parameters())
      arguments.push_back(AnyValue(parameter->shape(), g));
    std::vector<const Literal*> pointers;
    for (const Literal& argument : arguments) pointers.push_back(&argument);
    EvaluateOptions options;
    options.threads = 1;
    options.collective_timeout = std::chrono::milliseconds(50);
    const Result<Literal> value = Evaluate(**module, pointers, options);
    ASSERT_NE(value.status().code(), StatusCode::kInternal) << value.status().message() << "\n" << text;
    if (value.ok()) {
      ASSERT_TRUE(Compatible(value->shape(), (*module)->entry()->root()->shape())) << text;
    }
    ++accepted[kind.name];
  }
  for (const Kind& kind : kKinds) {
    fmt::print("{}: {} evaluated, {} refused\n", kind.name, accepted[kind.name], refused[kind.name]);
    EXPECT_GT(accepted[kind.name], 20) << kind.name;
    if (kind.name == std::string_view("dynamic-reshape")) continue;  // its sizes are data, and cannot be wrong here
    EXPECT_GT(refused[kind.name], 0) << kind.name;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::attribute_fuzz
