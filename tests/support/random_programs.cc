#include "tests/support/random_programs.h"

#include "tests/support/random_program_writer.h"

namespace VXLA_NAMESPACE::testing {
namespace random_programs {
namespace {

class Writer : public ProgramWriter {
 public:
  Writer(uint64_t seed, const RandomProgramOptions& options) : ProgramWriter(seed, options) {}

  RandomProgram Write() {
    for (int n = 1 + Below(3); n > 0; --n) AddParameter(RandomType(), RandomSizes());
    for (int n = 0; n < options_.steps; ++n) options_.families&& OneIn(2) ? StepOfFamilies() : Step();
    return Finish();
  }

 private:
  // ---- index maps
  void AddIndexMap() {
    const Value v = PickAny();
    const auto rank = static_cast<int>(v.sizes.size());
    switch (Below(8)) {
      case 0:
      case 1:
        return void(Reshape(v, SizesOf(v.count())));
      case 2:
        return AddTranspose(v);
      case 3:
        return AddBroadcast(v);
      case 4:
        return AddSlice(v);
      case 5:
        if (rank == 0) return;
        return void(AddMap(v, v.sizes, fmt::format("reverse({}), dimensions={{{}}}", v.name, Below(rank))));
      case 6:
        return AddPad(v);
      default:
        return AddConcatenate(v);
    }
  }
  void AddTranspose(const Value& v) {
    std::vector<int> order(v.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    for (int i = static_cast<int>(order.size()) - 1; i > 0; --i)
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(Below(i + 1))]);
    Sizes sizes;
    for (int d : order) sizes.push_back(v.sizes[static_cast<size_t>(d)]);
    AddMap(v, sizes, fmt::format("transpose({}), dimensions={{{}}}", v.name, fmt::join(order, ",")));
  }
  void AddBroadcast(const Value& v) {
    if (v.count() > 100 || v.sizes.size() > 3) return;
    Sizes sizes = v.sizes;
    std::vector<int> dimensions(sizes.size());
    std::iota(dimensions.begin(), dimensions.end(), 0);
    const int at = Below(static_cast<int>(sizes.size()) + 1);
    sizes.insert(sizes.begin() + at, 1 + Below(7));
    for (int& d : dimensions) d += d >= at;
    AddMap(v, sizes, fmt::format("broadcast({}), dimensions={{{}}}", v.name, fmt::join(dimensions, ",")));
  }
  void AddSlice(const Value& v) {
    Sizes sizes;
    std::vector<std::string> ranges;
    for (int64_t size : v.sizes) {
      const int64_t start = size > 0 ? Below(static_cast<int>(size)) / 2 : 0, stride = 1 + Below(2);
      const int64_t limit = std::max(start, size - Below(2));
      sizes.push_back((limit - start + stride - 1) / stride);
      ranges.push_back(fmt::format("[{}:{}:{}]", start, limit, stride));
    }
    AddMap(v, sizes, fmt::format("slice({}), slice={{{}}}", v.name, fmt::join(ranges, ", ")));
  }
  void AddPad(const Value& v) {
    if (v.sizes.empty()) return;
    const Value with = AddScalar(*v.type, Below(2));
    Sizes sizes;
    std::vector<std::string> padding;
    for (int64_t size : v.sizes) {
      const int64_t low = Below(3) - (size > 3 ? 1 : 0), high = Below(3), interior = OneIn(4) ? 1 : 0;
      sizes.push_back(low + size + std::max<int64_t>(size - 1, 0) * interior + high);
      padding.push_back(fmt::format("{}_{}_{}", low, high, interior));
    }
    Taken(with);
    AddMap(v, sizes, fmt::format("pad({}, {}), padding={}", v.name, with.name, fmt::join(padding, "x")));
    values_.back().most = std::max(v.most, 1.0);
  }
  void AddConcatenate(const Value& v) {
    if (v.sizes.empty()) return;
    const int d = Below(static_cast<int>(v.sizes.size()));
    const Value other = Matching(*v.type, v.sizes);
    Sizes sizes = v.sizes;
    sizes[static_cast<size_t>(d)] *= 2;
    Taken(other);
    AddMap(v, sizes, fmt::format("concatenate({}, {}), dimensions={{{}}}", v.name, other.name, d));
    values_.back().most = std::max(v.most, other.most);
    values_.back().error = std::max(v.error, other.error);
  }

  // ---- heroes
  Value Dot() {
    const auto i = Pick([](const Value& v) { return !v.sizes.empty() && v.type->kind != Kind::kPred; });
    const Value a = Bounded(i ? Take(*i) : AddParameter(kF32, {4, 2}), 10);
    const bool batched = a.sizes.size() > 1 && OneIn(3);
    const int first = batched ? 1 : 0;
    const int contracted = first + Below(static_cast<int>(a.sizes.size()) - first);
    const int64_t k = a.sizes[static_cast<size_t>(contracted)];
    Sizes right;
    if (batched) right.push_back(a.sizes[0]);
    const bool k_first = OneIn(2);
    if (k_first) right.push_back(k);
    for (int n = Below(3); n > 0; --n) right.push_back(1 + Below(8));
    if (!k_first) right.push_back(k);
    Value b = Matching(*a.type, right);
    b = Bounded(b, 10);
    Sizes sizes = a.sizes;
    sizes.erase(sizes.begin() + contracted);
    const int at = k_first ? first : static_cast<int>(right.size()) - 1;
    for (int d = first; d < static_cast<int>(right.size()); ++d) {
      if (d != at) sizes.push_back(right[static_cast<size_t>(d)]);
    }
    Taken(a), Taken(b);
    const double terms = static_cast<double>(std::max<int64_t>(k, 1)), most = terms * a.most * b.most;
    const double sum_rounding = a.type == &kF64                   ? a.type->rounding
                                : a.is_float() || a.type == &kC64 ? kC64.rounding
                                                                  : 0;
    const double error =
        terms * (a.error * b.most + b.error * a.most) + most * (terms * sum_rounding + a.type->rounding);
    return Add(*a.type, sizes, most, error,
               fmt::format("dot({}, {}), {}lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", a.name, b.name,
                           batched ? "lhs_batch_dims={0}, rhs_batch_dims={0}, " : "", contracted, at));
  }

  std::string Reducer(std::string_view op, const Type& type) {
    const std::string name = fmt::format("{}_{}", op, type.name);
    const std::string text = fmt::format(
        "{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  ROOT r = {1}[] {2}(a, b) }}\n", name, type.name, op);
    if (computations_.find(text) == std::string::npos) computations_ += text;
    return name;
  }
  struct Reduction {
    std::string op;
    int identity;
  };
  Reduction RandomReduction(const Type& type, double most) {
    if (type.kind == Kind::kPred) return OneIn(2) ? Reduction{"and", 1} : Reduction{"or", 0};
    const int bound = static_cast<int>(std::min({most + 1, 101.0, type.range > 0 ? type.range - 1 : most + 1}));
    if (type.kind == Kind::kComplex || OneIn(2)) return {"add", 0};
    if (type.kind == Kind::kInteger && OneIn(2)) {
      const Reduction integers[] = {{"xor", 0}, {"or", 0}, {"and", 7}, {"multiply", 1}};
      return integers[Below(4)];
    }
    if (OneIn(2)) return {"maximum", type.is_unsigned() ? 0 : -bound};
    return {"minimum", bound};
  }
  static Value Reduced(const Value& v, const Reduction& reduction, double terms) {
    Value result = v;
    if (reduction.op == "add") {
      result.most = terms * v.most;
      // Blocked sums; the terms are hardly all as large as the largest.
      const double steps = v.is_narrow() ? terms : 16 + std::sqrt(terms);
      const double rounds = v.is_float() || v.type == &kC64 ? steps * v.type->rounding * result.most / 3 : 0;
      result.error = terms * v.error + rounds;
    } else {
      result.most = std::max(v.most, std::abs(static_cast<double>(reduction.identity)));
    }
    return result;
  }

  // `v` reduced over `over`.
  Value Reduce(const Value& v, const std::vector<int>& over, const Reduction& reduction) {
    Sizes sizes;
    double terms = 1;
    for (int d = 0; d < static_cast<int>(v.sizes.size()); ++d) {
      const int64_t size = v.sizes[static_cast<size_t>(d)];
      if (std::ranges::find(over, d) == over.end()) {
        sizes.push_back(size);
      } else {
        terms *= static_cast<double>(std::max<int64_t>(size, 1));
      }
    }
    const Value init = AddScalar(*v.type, reduction.identity);
    const Value result = Reduced(v, reduction, terms);
    Taken(v), Taken(init);
    return Add(*v.type, sizes, result.most, result.error,
               fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply={}", v.name, init.name, fmt::join(over, ","),
                           Reducer(reduction.op, *v.type)));
  }
  std::vector<int> SomeDimensions(const Value& v) {
    std::vector<int> some;
    for (int d = 0; d < static_cast<int>(v.sizes.size()); ++d) {
      if (OneIn(2)) some.push_back(d);
    }
    if (some.empty() && !v.sizes.empty()) some.push_back(static_cast<int>(v.sizes.size()) - 1);
    return some;
  }
  Value AddReduce() {
    const Value v = Bounded(PickAny(), 10);
    return Reduce(v, SomeDimensions(v), RandomReduction(*v.type, v.most));
  }

  // The largest element and where it is, or a sum beside a maximum.
  void AddVariadicReduce() {
    const auto i = Pick([](const Value& v) { return v.type == &kF32 && v.is_exact() && !v.sizes.empty(); });
    if (!i) return;
    const Value v = Bounded(Take(*i), 100);
    if (!v.is_exact()) return;
    const int over = Below(static_cast<int>(v.sizes.size()));
    const Value index = Add(kS32, v.sizes, 700, 0, fmt::format("iota(), iota_dimension={}", over));
    const Value low = AddScalar(kF32, -1000), zero = AddScalar(kS32, 0);
    if (computations_.find("largest {") == std::string::npos) {
      computations_ +=
          "largest { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)\n"
          "  keep = pred[] compare(a, b), direction=GE  x = f32[] select(keep, a, b)  same = pred[] compare(a, b), "
          "direction=EQ\n"
          "  first = s32[] minimum(i, j)  other = s32[] select(keep, i, j)  y = s32[] select(same, first, other)\n"
          "  ROOT r = (f32[], s32[]) tuple(x, y) }\n";
    }
    Sizes sizes = v.sizes;
    sizes.erase(sizes.begin() + over);
    const std::string pair = fmt::format("v{}", next_++);
    for (const Value* each : {&v, &index, &low, &zero}) Taken(*each);
    text_ += fmt::format("  {} = ({}, {}) reduce({}, {}, {}, {}), dimensions={{{}}}, to_apply=largest\n", pair,
                         ShapeText(kF32, sizes), ShapeText(kS32, sizes), v.name, index.name, low.name, zero.name, over);
    Add(kF32, sizes, 1000, 0, "get-tuple-element(" + pair + "), index=0");
    Add(kS32, sizes, 700, 0, "get-tuple-element(" + pair + "), index=1");
  }

  Value AddWindow() {
    const auto i = Pick([](const Value& v) { return !v.sizes.empty() && v.count() > 0 && v.count() < 300; });
    if (!i) return PickAny();
    const Value v = Bounded(Take(*i), 10);
    const Reduction reduction = RandomReduction(*v.type, v.most);
    Sizes sizes, window, strides;
    std::vector<std::string> pads;
    double taps = 1;
    for (int64_t size : v.sizes) {
      window.push_back(1 + Below(static_cast<int>(std::min<int64_t>(size, 3))));
      strides.push_back(1 + Below(2));
      const int64_t low = Below(2), high = Below(2);
      pads.push_back(fmt::format("{}_{}", low, high));
      sizes.push_back((size + low + high - window.back()) / strides.back() + 1);
      taps *= static_cast<double>(window.back());
    }
    const Value init = AddScalar(*v.type, reduction.identity);
    const Value result = Reduced(v, reduction, taps);
    Taken(v), Taken(init);
    return Add(*v.type, sizes, result.most, result.error,
               fmt::format("reduce-window({}, {}), window={{size={} stride={} pad={}}}, to_apply={}", v.name, init.name,
                           fmt::join(window, "x"), fmt::join(strides, "x"), fmt::join(pads, "x"),
                           Reducer(reduction.op, *v.type)));
  }

  // ---- indices that are data
  // Most of them within reach, some anywhere.
  Value Within(const Value& indices) { return OneIn(4) ? indices : Small(indices); }
  // A scalar, within reach and beyond it.
  Value Index(const Type& type = kS32) {
    const auto i = Pick([&](const Value& v) { return v.type == &type && v.sizes.empty(); });
    if (i && OneIn(2)) return Within(Take(*i));
    if (parameters_ < 6 && OneIn(2)) return Within(Taken(AddParameter(type, {})));
    return Taken(AddScalar(type, type.is_unsigned() || type.range < 10 ? Below(8) : Below(10) - 2));
  }
  const Type& IndexType() {
    const Type& type = OneIn(2) ? kS32 : RandomIntegerType();
    return &type == &kS4 || &type == &kU4 ? kS32 : type;
  }
  std::string Starts(const Value& v) {
    std::string names;
    const Type& type = IndexType();
    for (size_t d = 0; d < v.sizes.size(); ++d) names += ", " + Index(type).name;
    return names;
  }
  Sizes SmallerThan(const Sizes& sizes) {
    Sizes smaller;
    for (int64_t size : sizes) smaller.push_back(size > 1 && OneIn(2) ? 1 + Below(static_cast<int>(size)) : size);
    return smaller;
  }
  void AddDynamicSlice() {
    const Value v = PickAny();
    const Sizes sizes = SmallerThan(v.sizes);
    const std::string starts = Starts(v);
    AddMap(v, sizes,
           fmt::format("dynamic-slice({}{}), dynamic_slice_sizes={{{}}}", v.name, starts, fmt::join(sizes, ",")));
  }
  void AddDynamicUpdateSlice() {
    const Value v = PickAny(), update = Matching(*v.type, SmallerThan(v.sizes));
    const std::string starts = Starts(v);
    Taken(update);
    AddMap(v, v.sizes, fmt::format("dynamic-update-slice({}, {}{})", v.name, update.name, starts));
    values_.back().most = std::max(v.most, update.most);
    values_.back().error = std::max(v.error, update.error);
  }
  // Rows along dimension d of `sizes` by s32[n]: sizes of the rows, [n, the other dimensions].
  static Sizes RowsOf(const Sizes& sizes, int d, int64_t n) {
    Sizes rows = sizes;
    rows.erase(rows.begin() + d);
    rows.insert(rows.begin(), n);
    return rows;
  }
  static std::string UpTo(size_t first, size_t count) {
    std::vector<size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return fmt::format("{}", fmt::join(numbers, ","));
  }
  void AddGather() {
    const auto i = Pick([](const Value& v) { return !v.sizes.empty() && v.count() > 0; });
    if (!i) return;
    const Value v = Take(*i);
    const int d = Below(static_cast<int>(v.sizes.size()));
    const Value indices = Within(Matching(IndexType(), {1 + Below(12)}));
    Taken(indices);
    Sizes slice = v.sizes;
    slice[static_cast<size_t>(d)] = 1;
    AddMap(v, RowsOf(v.sizes, d, indices.sizes[0]),
           fmt::format("gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{{}}}, start_index_map={{{}}}, "
                       "index_vector_dim=1, slice_sizes={{{}}}",
                       v.name, indices.name, UpTo(1, v.sizes.size() - 1), d, d, fmt::join(slice, ",")));
  }
  // Rows added to, maximised with or put over those of an array; more of them than one by one are worth.
  void AddScatter() {
    const auto i = Pick([](const Value& v) { return !v.sizes.empty() && v.count() > 0; });
    if (!i) return;
    const Value v = Bounded(Take(*i), 10);
    const int d = Below(static_cast<int>(v.sizes.size()));
    const int64_t n = OneIn(2) ? 1 + Below(12) : 40;
    const Value indices = Within(Matching(IndexType(), {n})),
                rows = Bounded(Matching(*v.type, RowsOf(v.sizes, d, n)), 10);
    const bool number = v.type->kind != Kind::kPred;
    const std::string op = OneIn(3) ? "replace" : !number ? "or" : v.type == &kC64 || OneIn(2) ? "add" : "maximum";
    if (op == "replace") {
      const std::string text =
          fmt::format("replace_{0} {{ a = {0}[] parameter(0)  ROOT b = {0}[] parameter(1) }}\n", v.type->name);
      if (computations_.find(text) == std::string::npos) computations_ += text;
    }
    const double terms = op == "add" ? static_cast<double>(n) : 1,
                 most = std::max(v.most, v.most * (op == "add") + terms * rows.most);
    const bool rounds = v.is_float() || v.type == &kC64;
    const double error = std::max(v.error, v.error * (op == "add") + terms * rows.error) +
                         (op == "add" && rounds ? (terms + 1) * v.type->rounding * most : 0);
    Taken(indices), Taken(rows);
    AddMap(v, v.sizes,
           fmt::format("scatter({}, {}, {}), update_window_dims={{{}}}, inserted_window_dims={{{}}}, "
                       "scatter_dims_to_operand_dims={{{}}}, index_vector_dim=1, to_apply={}",
                       v.name, indices.name, rows.name, UpTo(1, v.sizes.size() - 1), d, d,
                       op == "replace" ? fmt::format("replace_{}", v.type->name) : Reducer(op, *v.type)));
    values_.back().most = std::min(most, v.type->kind == Kind::kInteger ? v.type->range : most);
    values_.back().error = v.type->kind == Kind::kFloat || v.type == &kC64 ? error : 0;
  }

  // Sorted values move by no more than the values do; where an exact one was is exact.
  void AddSort() {
    const auto i = Pick([](const Value& v) { return !v.sizes.empty() && v.type->kind != Kind::kComplex; });
    if (!i) return;
    const Value v = Take(*i);
    const int d = Below(static_cast<int>(v.sizes.size()));
    const bool pair = v.is_exact() && OneIn(2);
    const char* direction = OneIn(2) ? "LT" : "GT";
    const std::string name = fmt::format("sort{}_{}_{}", pair ? "2" : "", direction, v.type->name);
    if (computations_.find(name + " {") == std::string::npos) {
      computations_ += fmt::format(
          "{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  {2}ROOT r = pred[] compare(a, b), direction={3} }}\n",
          name, v.type->name, pair ? "i = s32[] parameter(2)  j = s32[] parameter(3)  " : "", direction);
    }
    if (!pair) {
      AddMap(v, v.sizes, fmt::format("sort({}), dimensions={{{}}}, to_apply={}", v.name, d, name));
      return;
    }
    const Value place = Taken(Add(kS32, v.sizes, 700, 0, fmt::format("iota(), iota_dimension={}", d)));
    const std::string both = fmt::format("v{}", next_++);
    text_ += fmt::format("  {} = ({}, {}) sort({}, {}), dimensions={{{}}}, is_stable=true, to_apply={}\n", both,
                         ShapeText(*v.type, v.sizes), ShapeText(kS32, v.sizes), v.name, place.name, d, name);
    Add(*v.type, v.sizes, v.most, 0, "get-tuple-element(" + both + "), index=0");
    Add(kS32, v.sizes, 700, 0, "get-tuple-element(" + both + "), index=1");
  }

  // One or two spatial dimensions, every attribute of the window.
  void AddConvolution() {
    const auto i = Pick(
        [](const Value& v) { return v.sizes.size() >= 3 && v.count() > 0 && v.type != &kPred && v.type != &kF64; });
    const Value v = Bounded(i ? Take(*i) : Taken(AddParameter(kF32, {2, 7, 3})), 4);
    const size_t spatial = std::min<size_t>(v.sizes.size() - 2, 2);
    if (v.sizes.size() != spatial + 2) return;
    const int64_t features = v.sizes.back();
    const int64_t groups = features % 2 == 0 && OneIn(3) ? 2 : 1;
    Sizes kernel, result{v.sizes[0]};
    std::vector<std::string> pads, strides, dilations;
    for (size_t d = 0; d < spatial; ++d) {
      const int64_t size = v.sizes[d + 1], taps = 1 + Below(3), dilation = 1 + Below(2), stride = 1 + Below(2);
      const int64_t reach = (taps - 1) * dilation + 1, low = Below(3),
                    high = std::max<int64_t>(Below(3), reach - size - low);
      kernel.push_back(taps);
      result.push_back((size + low + high - reach) / stride + 1);
      pads.push_back(fmt::format("{}_{}", low, high));
      strides.push_back(std::to_string(stride));
      dilations.push_back(std::to_string(dilation));
    }
    const std::string window = fmt::format("size={} stride={} pad={} rhs_dilate={}", fmt::join(kernel, "x"),
                                           fmt::join(strides, "x"), fmt::join(pads, "x"), fmt::join(dilations, "x"));
    double terms = static_cast<double>(features / groups);
    for (int64_t taps : kernel) terms *= static_cast<double>(taps);
    kernel.push_back(features / groups);
    kernel.push_back(groups * (1 + Below(3)));
    result.push_back(kernel.back());
    const Value w = Bounded(Matching(*v.type, kernel), 4);
    Taken(w);
    const double most = terms * v.most * w.most;
    const double sum_rounding = v.is_float() || v.type == &kC64 ? kC64.rounding : 0;
    const double error =
        terms * (v.error * w.most + w.error * v.most) + most * (terms * sum_rounding + v.type->rounding);
    Add(*v.type, result, most, v.type->kind == Kind::kInteger ? 0 : error,
        fmt::format("convolution({}, {}), window={{{}}}, dim_labels={}, feature_group_count={}", v.name, w.name, window,
                    spatial == 1 ? "b0f_0io->b0f" : "b01f_01io->b01f", groups));
  }

  // ---- transforms, factors, choices
  // Along the last dimension: all of them but c64 to f32 where the length is not twice the count less two.
  void AddFft() {
    const auto i = Pick(
        [](const Value& v) { return (v.type == &kF32 || v.type == &kC64) && !v.sizes.empty() && v.sizes.back() > 0; });
    if (!i) return;
    const Value v = Bounded(Take(*i), 10);
    const int64_t n = v.sizes.back();
    Sizes sizes = v.sizes;
    const bool real = v.type == &kF32;
    if (real) sizes.back() = n / 2 + 1;
    const double terms = static_cast<double>(n);
    // Of zeros too the results are no exact ones: a zero may have either sign.
    const double most = std::max(v.most, 0x1p-100);
    Add(kC64, sizes, terms * v.most, terms * v.error + 16 * (1 + std::log2(terms)) * kC64.rounding * terms * most,
        fmt::format("fft({}), fft_type={}, fft_length={{{}}}", v.name,
                    real       ? "RFFT"
                    : OneIn(2) ? "FFT"
                               : "IFFT",
                    n));
  }

  // A symmetric matrix whose diagonal outweighs its rows, its factor, or a system solved with its triangle.
  void AddFactorOrSolve() {
    const int64_t n = 1 + Below(9);
    const Sizes sizes = OneIn(2) ? Sizes{n, n} : Sizes{1 + Below(3), n, n};
    const std::string swap = sizes.size() == 2 ? "1,0" : "0,2,1";
    const Value x = Bounded(Matching(kF32, sizes), 1);
    const Value turned = AddMap(x, sizes, fmt::format("transpose({}), dimensions={{{}}}", x.name, swap));
    const Value both = Arithmetic("add", x, turned);
    const auto iota = [&](size_t d) {
      return Taken(Add(kS32, sizes, 9, 0, fmt::format("iota(), iota_dimension={}", d)));
    };
    const Value row = iota(sizes.size() - 2), column = iota(sizes.size() - 1);
    const Value diagonal =
        Taken(Add(kPred, sizes, 1, 0, fmt::format("compare({}, {}), direction=EQ", row.name, column.name)));
    const Value weight = AddSplat(kF32, sizes, static_cast<int>(4 * n));
    const Value a = Taken(Add(kF32, sizes, weight.most + 2, both.error,
                              fmt::format("select({}, {}, {})", diagonal.name, Taken(weight).name, Taken(both).name)));
    // Its condition is below 3, so errors of its elements come to about as much in the factor.
    const double terms = static_cast<double>(n), rounding = 32 * terms * kF32.rounding;
    if (OneIn(2)) {
      const bool lower = OneIn(2);
      const Value l = Add(kF32, sizes, std::sqrt(a.most), 4 * terms * a.error + rounding * a.most,
                          fmt::format("cholesky({}), lower={}", a.name, lower));
      // Only the triangle that was asked for has a meaning.
      const Value kept =
          Taken(Add(kPred, sizes, 1, 0,
                    fmt::format("compare({}, {}), direction={}", row.name, column.name, lower ? "GE" : "LE")));
      const Value zero = Taken(AddSplat(kF32, sizes, 0));
      Taken(l);
      Add(kF32, sizes, l.most, l.error, fmt::format("select({}, {}, {})", kept.name, l.name, zero.name));
      return;
    }
    Sizes sides = sizes;
    const bool left = OneIn(2);
    sides[sides.size() - (left ? 1 : 2)] = 1 + Below(4);
    const Value b = Bounded(Matching(kF32, sides), 4);
    Taken(b);
    Add(kF32, sides, b.most, b.error + terms * a.error * b.most + rounding * std::max(b.most, 1.0),
        fmt::format("triangular-solve({}, {}), left_side={}, lower={}, unit_diagonal=false, transpose_a={}", a.name,
                    b.name, left, OneIn(2), OneIn(2) ? "TRANSPOSE" : "NO_TRANSPOSE"));
  }

  void AddTopK() {
    const auto i = Pick([](const Value& v) {
      return v.is_exact() && !v.sizes.empty() && v.sizes.back() > 0 && v.type->kind != Kind::kComplex &&
             v.type != &kPred;
    });
    if (!i) return;
    const Value v = Take(*i);
    Sizes sizes = v.sizes;
    sizes.back() = 1 + Below(static_cast<int>(sizes.back()));
    const std::string both = fmt::format("v{}", next_++);
    text_ += fmt::format("  {} = ({}, {}) topk({}), k={}, largest={}\n", both, ShapeText(*v.type, sizes),
                         ShapeText(kS32, sizes), v.name, sizes.back(), OneIn(2));
    Add(*v.type, sizes, v.most, 0, "get-tuple-element(" + both + "), index=0");
    Add(kS32, sizes, 700, 0, "get-tuple-element(" + both + "), index=1");
  }

  void AddSelectAndScatter() {
    const auto i = Pick([](const Value& v) {
      return v.is_exact() && !v.sizes.empty() && v.count() > 0 && v.count() < 300 &&
             (v.type == &kF32 || v.type == &kS32);
    });
    if (!i) return;
    const Value v = Bounded(Take(*i), 100);
    if (!v.is_exact()) return;
    Sizes window, strides, sizes;
    double taps = 1;
    for (int64_t size : v.sizes) {
      window.push_back(1 + Below(static_cast<int>(std::min<int64_t>(size, 3))));
      strides.push_back(1 + Below(2));
      sizes.push_back((size - window.back()) / strides.back() + 1);
      taps *= static_cast<double>(window.back());
    }
    const Value source = Bounded(Matching(*v.type, sizes), 10), init = Taken(AddScalar(*v.type, 0));
    const std::string ge = fmt::format("ge_{}", v.type->name);
    const std::string text = fmt::format(
        "{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}\n", ge,
        v.type->name);
    if (computations_.find(text) == std::string::npos) computations_ += text;
    Taken(source);
    const bool rounds = v.is_float();
    AddMap(v, v.sizes,
           fmt::format("select-and-scatter({}, {}, {}), window={{size={} stride={}}}, select={}, scatter={}", v.name,
                       source.name, init.name, fmt::join(window, "x"), fmt::join(strides, "x"), ge,
                       Reducer("add", *v.type)));
    values_.back().most = taps * source.most;
    values_.back().error = rounds ? taps * source.error + taps * v.type->rounding * taps * source.most : 0;
  }

  void AddBatchNorm() {
    const auto i = Pick([](const Value& v) { return v.type == &kF32 && v.sizes.size() >= 2 && v.count() > 0; });
    if (!i) return;
    const Value x = Bounded(Take(*i), 4);
    const int d = Below(static_cast<int>(x.sizes.size()));
    const Sizes features{x.sizes[static_cast<size_t>(d)]};
    const Value scale = Bounded(Matching(kF32, features), 2), offset = Bounded(Matching(kF32, features), 2),
                mean = Bounded(Matching(kF32, features), 2), one = AddSplat(kF32, features, 1);
    const Value spread = Bounded(Matching(kF32, features), 2);
    const Value variance = Arithmetic("add", Unary(spread, "abs", spread.most, 1, 0), one);
    for (const Value* each : {&scale, &offset, &mean, &variance}) Taken(*each);
    const double most = (x.most + mean.most) * scale.most + offset.most;
    const double error = scale.most * (x.error + mean.error) +
                         (x.most + mean.most) * (scale.error + scale.most * variance.error) + offset.error +
                         16 * kF32.rounding * most;
    AddMap(x, x.sizes,
           fmt::format("batch-norm-inference({}, {}, {}, {}, {}), epsilon=0.001, feature_index={}", x.name, scale.name,
                       offset.name, mean.name, variance.name, d));
    values_.back().most = most;
    values_.back().error = error;
  }

  void AddBits() {
    const Sizes sizes = RandomSizes();
    const bool philox = OneIn(2);
    const Type& type = IndexType();
    const std::string state = fmt::format("v{}", next_++);
    text_ += fmt::format("  {} = u64[2] constant({{{}, {}}})\n", state, Below(1000), next_);
    const std::string both = fmt::format("v{}", next_++);
    text_ += fmt::format("  {} = (u64[2], {}) rng-bit-generator({}), algorithm={}\n", both, ShapeText(type, sizes),
                         state, philox ? "rng_philox" : "rng_three_fry");
    Add(type, sizes, type.range, 0, "get-tuple-element(" + both + "), index=1");
  }

  // One of two or three computations by a value.
  void AddConditional() {
    const auto i = Pick([](const Value& v) { return v.type->kind != Kind::kComplex && v.type != &kF64; });
    if (!i) return;
    const Value x = Bounded(Take(*i), 1), y = Bounded(Matching(*x.type, x.sizes), 1), which = Index();
    const std::string shape = ShapeText(*x.type, x.sizes);
    const int id = next_++, branches = 2 + Below(2);
    const char* ops[] = {"maximum(a, b)", "minimum(b, a)", "copy(b)"};
    const char* logic[] = {"and(a, b)", "or(b, a)", "not(b)"};
    std::vector<std::string> names, operands;
    for (int k = 0; k < branches; ++k) {
      names.push_back(fmt::format("branch{}_{}", id, k));
      operands.push_back(fmt::format("c{}", id));
      computations_ += fmt::format(
          "{} {{ p = ({}, {}) parameter(0)  a = {} get-tuple-element(p), index=0  b = {} get-tuple-element(p), index=1 "
          " "
          "ROOT r = {} {} }}\n",
          names.back(), shape, shape, shape, shape, shape, (x.type == &kPred ? logic : ops)[k]);
    }
    for (const Value* each : {&x, &y, &which}) Taken(*each);
    text_ += fmt::format("  c{0} = ({1}, {1}) tuple({2}, {3})\n", id, shape, x.name, y.name);
    Add(*x.type, x.sizes, std::max(x.most, y.most), std::max(x.error, y.error),
        fmt::format("conditional({}, {}), branch_computations={{{}}}", which.name, fmt::join(operands, ", "),
                    fmt::join(names, ", ")));
  }

  void AddCallOrMap() {
    const auto i = Pick([](const Value& v) { return v.is_float() && v.type != &kF64; });
    if (!i) return;
    const Value x = Bounded(Take(*i), 4), y = Bounded(Matching(*x.type, x.sizes), 4);
    const int id = next_++;
    const bool map = OneIn(2);
    const std::string shape = ShapeText(*x.type, map ? Sizes{} : x.sizes);
    computations_ += fmt::format(
        "called{0} {{ a = {1} parameter(0)  b = {1} parameter(1)  c = {1} multiply(a, b)  ROOT d = {1} tanh(c) }}\n",
        id, shape);
    std::vector<size_t> all(x.sizes.size());
    std::iota(all.begin(), all.end(), size_t{0});
    Taken(x), Taken(y);
    const double product = x.most * y.most;
    const double error = x.error * y.most + y.error * x.most + x.type->rounding * (product + 8);
    Add(*x.type, x.sizes, 1, error,
        map ? fmt::format("map({}, {}), dimensions={{{}}}, to_apply=called{}", x.name, y.name, fmt::join(all, ","), id)
            : fmt::format("call({}, {}), to_apply=called{}", x.name, y.name, id));
  }

  void AddPrecisionOrClamp() {
    const auto i = Pick([](const Value& v) { return v.type->range > 0 || (v.is_float() && v.type != &kF64); });
    if (!i) return;
    const Value x = Bounded(Take(*i), kLargest);
    if (!x.is_float()) {
      const Value low = Matching(*x.type, OneIn(2) ? Sizes{} : x.sizes), high = Matching(*x.type, low.sizes);
      Taken(low), Taken(high);
      return void(
          Add(*x.type, x.sizes, x.type->range, 0, fmt::format("clamp({}, {}, {})", low.name, x.name, high.name)));
    }
    if (OneIn(2)) {
      AddMap(x, x.sizes, fmt::format("reduce-precision({}), exponent_bits=8, mantissa_bits=6", x.name));
      values_.back().most = 1.02 * x.most;
      if (!x.is_exact()) values_.back().error = x.error + x.most * 0x1p-6;
      return;
    }
    const Value low = AddScalar(*x.type, -1), high = OneIn(2) ? AddScalar(*x.type, 1) : AddSplat(*x.type, x.sizes, 1);
    if (high.sizes != low.sizes && !x.sizes.empty()) {
      const Value lows = AddSplat(*x.type, x.sizes, -2);
      AddMap(x, x.sizes, fmt::format("clamp({}, {}, {})", Taken(lows).name, x.name, Taken(high).name));
    } else {
      AddMap(x, x.sizes, fmt::format("clamp({}, {}, {})", Taken(low).name, x.name, Taken(high).name));
    }
    values_.back().most = 2;
  }

  // ---- patterns
  // A hero, a reshape of it, and what follows element by element.
  void AddHeroAndEpilogue() {
    Value v = OneIn(3) ? AddWindow() : OneIn(2) ? Dot() : AddReduce();
    if (!IsMeaningful(v)) return;
    for (int n = 1 + Below(2); n > 0; --n) {
      if (!OneIn(3)) v = Reshape(v, SizesOf(v.count()));
      v = Bounded(v, 50);
      if (v.is_float() && OneIn(2)) v = Tanh(v);
      if (v.type->kind != Kind::kPred)
        v = Arithmetic(OneIn(2) ? "add" : "subtract", v, Bounded(Matching(*v.type, v.sizes), 50));
    }
  }

  // Softmax, sometimes seen through reshapes on its way.
  void AddSoftmax() {
    const auto i =
        Pick([](const Value& v) { return v.is_float() && v.type != &kF64 && !v.sizes.empty() && v.count() > 0; });
    if (!i) return;
    const Value x = Bounded(Take(*i), 4);
    const std::vector<int> over = SomeDimensions(x);
    const Value shifted = Arithmetic("subtract", x, Back(Reduce(x, over, {"maximum", -7}), x, over));
    const Value e = Unary(Bounded(shifted, 14), "exponential", 1, 1, 8);
    const Value sum = Reduce(e, over, {"add", 0});
    if (sum.error > 0.05) return;
    const Value all = Back(sum, x, over);
    const Value one = AddSplat(*x.type, x.sizes, 1);
    const Value divisor = Arithmetic("maximum", all, one);
    Binary("divide", e, divisor, 1, e.error + divisor.error + 2 * x.type->rounding);
  }
  Value Back(Value row, const Value& x, const std::vector<int>& over) {
    std::vector<int> kept;
    Sizes sizes;
    for (int d = 0; d < static_cast<int>(x.sizes.size()); ++d) {
      if (std::ranges::find(over, d) != over.end()) continue;
      kept.push_back(d);
      sizes.push_back(x.sizes[static_cast<size_t>(d)]);
    }
    if (OneIn(2)) row = Reshape(Reshape(row, SizesOf(row.count())), sizes);
    return AddMap(row, x.sizes, fmt::format("broadcast({}), dimensions={{{}}}", row.name, fmt::join(kept, ",")));
  }

  // A loop whose body brings no two values further apart than they were.
  void AddLoop() {
    const auto i = Pick([](const Value& v) { return v.type->kind != Kind::kComplex && v.type != &kF64; });
    if (!i) return;
    const Value x = Bounded(Take(*i), 1), y = Bounded(Matching(*x.type, x.sizes), 1);
    const int trips = Below(4), id = next_++;
    const std::string shape = ShapeText(*x.type, x.sizes), state = fmt::format("(s32[], {0}, {0})", shape);
    std::string body = fmt::format("  p = {} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", state);
    for (int k = 0; k < 2; ++k) body += fmt::format("  x{0} = {1} get-tuple-element(p), index={2}\n", k, shape, k + 1);
    const bool number = x.type->kind != Kind::kPred;
    body += fmt::format("  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  a = {} {}(x0, x1)\n", shape,
                        number ? "maximum" : "and");
    body += x.is_float() ? fmt::format("  b = {} tanh(a)\n", shape) : fmt::format("  b = {} not(a)\n", shape);
    body += x.sizes.empty() ? fmt::format("  c = {} copy(x0)\n", shape)
                            : fmt::format("  c = {} reverse(x0), dimensions={{{}}}\n", shape,
                                          Below(static_cast<int>(x.sizes.size())));
    body += fmt::format("  ROOT r = {} tuple(next, {})\n", state, OneIn(2) ? "b, c" : "c, b");
    computations_ += fmt::format("body{} {{\n{}}}\n", id, body);
    computations_ += fmt::format(
        "until{0} {{\n  p = {1} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant({2})\n"
        "  ROOT c = pred[] compare(i, n), direction=LT\n}}\n",
        id, state, trips);
    const Value zero = AddScalar(kS32, 0);
    for (const Value* each : {&x, &y, &zero}) Taken(*each);
    text_ +=
        fmt::format("  s{0} = {1} tuple({2}, {3}, {4})\n  w{0} = {1} while(s{0}), condition=until{0}, body=body{0}\n",
                    id, state, zero.name, x.name, y.name);
    const double most = x.is_float() ? 1 : x.type->range;
    const double error = x.is_float() ? std::max(x.error, y.error) + trips * 8 * x.type->rounding : 0;
    for (int k = 1; k <= 2; ++k)
      Add(*x.type, x.sizes, number ? most : 1, error, fmt::format("get-tuple-element(w{}), index={}", id, k));
  }

  void Step() {
    const int choice = Below(100);
    if (choice < 18) return AddUnary();
    if (choice < 36) return AddBinary();
    if (choice < 40) return AddQuotient();
    if (choice < 45) return AddCompareAndSelect();
    if (choice < 50) return AddConvert();
    if (choice < 70) return AddIndexMap();
    if (choice < 74) return void(Dot());
    if (choice < 78) return void(AddReduce());
    if (choice < 80) return AddVariadicReduce();
    if (choice < 82) return void(AddWindow());
    if (choice < 92) return AddHeroAndEpilogue();
    if (choice < 97) return AddSoftmax();
    if (options_.loops) AddLoop();
  }

  void StepOfFamilies() {
    switch (Below(16)) {
      case 0:
        return AddDynamicSlice();
      case 1:
        return AddDynamicUpdateSlice();
      case 2:
        return AddGather();
      case 3:
      case 4:
        return AddScatter();
      case 5:
        return AddSort();
      case 6:
        return AddConvolution();
      case 7:
        return AddFft();
      case 8:
        return AddFactorOrSolve();
      case 9:
        return AddTopK();
      case 10:
        return AddSelectAndScatter();
      case 11:
        return AddBatchNorm();
      case 12:
        return AddBits();
      case 13:
        return AddConditional();
      case 14:
        return AddCallOrMap();
      default:
        return AddPrecisionOrClamp();
    }
  }

  RandomProgram Finish() {
    RandomProgram program;
    std::vector<const Value*> results;
    for (auto v = values_.rbegin(); v != values_.rend() && results.size() < 4; ++v) {
      if (!v->used) results.push_back(&*v);
    }
    std::vector<std::string> shapes, names;
    for (const Value* v : results) {
      shapes.push_back(ShapeText(*v->type, v->sizes));
      names.push_back(v->name);
      program.errors.push_back(v->error);
    }
    program.text = fmt::format("HloModule random\n{}ENTRY main {{\n{}  ROOT r = ({}) tuple({})\n}}\n", computations_,
                               text_, fmt::join(shapes, ", "), fmt::join(names, ", "));
    return program;
  }
};

}  // namespace

RandomProgram Make(uint64_t seed, const RandomProgramOptions& options) { return Writer(seed, options).Write(); }

}  // namespace random_programs

RandomProgram MakeRandomProgram(uint64_t seed, const RandomProgramOptions& options) {
  return random_programs::Make(seed, options);
}

}  // namespace VXLA_NAMESPACE::testing
