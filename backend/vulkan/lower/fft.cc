// Fourier transforms: each axis as passes of Stockham's autosort algorithm, which writes what it reads in the order of
// the next pass, so that nothing is ever put in order. After passes of radices r1, r2 .. the array holds, for L = r1 r2
// .., at q L + k the result k of the L points that begin at q and lie n / L apart. A pass of radix R makes
//   b[(m R + s) L + k] = sum over j of w(R)^(j s) w(L R)^(j k) a[(j M + m) L + k],   M = n / (L R), l = m L + k
// for each m, k: a butterfly of values n / R apart at l. Backward transforms are forward ones of values whose parts are
// swapped. What else an op wants is done where a pass loads or stores: real values, half spectra, the chirp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/vulkan/lower/fft_butterfly.h"
#include "backend/vulkan/lower/fft_shape.h"
#include "backend/vulkan/lower/fft_tables.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/tuning.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using Kind = FftTable::Kind;

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

// What a pass reads: `size` values on each line.
struct PassInput {
  ElementType type = ElementType::kC64;
  int64_t size = 1;
  bool hermitian = false;  // the first half of a spectrum whose second half is its conjugate
  bool swap = false;
  bool chirp = false;  // times the chirp, and zeros beyond
};

// What it writes: swapped, times a table, swapped, scaled; the first `size` values of each line.
struct PassOutput {
  ElementType type = ElementType::kC64;
  int64_t size = 1;
  bool swap_first = false, swap_last = false;
  std::optional<FftTable> factors = {};
  double scale = 1;
};

struct FftJob {
  FftPass pass;
  int64_t before = 1;  // L
  int64_t points = 1;  // n
  int64_t length = 1;  // of the transform, or of the chirp
  int64_t outer = 1, inner = 1;
  int64_t whole_table = int64_t{1} << 16;  // twiddles of more points come from two tables
  int64_t width = 1;                       // neighbouring butterflies that an invocation makes
  PassInput in;
  PassOutput out;

  int64_t stride() const { return points / pass.radix; }
  int64_t invocations() const { return outer * inner * (pass.direct ? points : stride() / width); }
  int64_t in_elements() const { return outer * inner * in.size; }
  int64_t out_elements() const { return outer * inner * out.size; }
  // The twiddles: one table, or two.
  std::vector<FftTable> Twiddles() const {
    const int64_t around = before * pass.radix;
    if (!pass.direct && before == 1) return {};
    if (around > whole_table) {
      const int64_t fine = int64_t{1} << FineBits();
      return {{Kind::kCoarse, around, fine}, {Kind::kFine, around, fine}};
    }
    if (pass.direct) return {{Kind::kRoots, around, 1}};
    return {{Kind::kButterfly, pass.radix, before}};
  }
  int FineBits() const { return std::bit_width(static_cast<uint64_t>(before * pass.radix)) / 2; }
};

// The passes of an instruction, and what they need.
struct FftPlan {
  ElementType complex = ElementType::kC64;
  std::vector<FftJob> jobs;
  FftTables tables{ElementType::kC64};
  int64_t flop = 0;
};

class FftPlanner {
 public:
  FftPlanner(const LowerContext& context, const FusionDescription& body)
      : context_(context),
        fft_(*body.hero),
        attributes_(fft_.attributes<FftAttributes>()),
        from_(fft_.operand(0)->shape()),
        in_pairs_(ComputesInPairs(context, body)) {
    const bool wide = RealPart(from_.element_type()) == ElementType::kF64;
    plan_.complex = wide ? ElementType::kC128 : ElementType::kC64;
  }

  FftPlan Make() {
    const int axes = static_cast<int>(attributes_.fft_length.size()), first = from_.rank() - axes;
    sizes_.assign(from_.dimensions().begin(), from_.dimensions().end());
    int64_t total = 1;
    // The real axis, the last, goes first forward and last backward.
    for (int i = 0; i < axes; ++i) {
      const int axis = inverse() ? first + i : first + axes - 1 - i;
      AddAxis(axis, attributes_.fft_length[axis - first], i + 1 == axes);
      total *= attributes_.fft_length[axis - first];
    }
    if (inverse()) plan_.jobs.back().out.scale = 1 / static_cast<double>(total);
    plan_.tables = FftTables(plan_.complex);
    for (const FftJob& job : plan_.jobs) {
      for (const FftTable& table : job.Twiddles()) plan_.tables.Want(table);
      if (job.in.chirp) plan_.tables.Want({Kind::kChirp, job.length, 1});
      if (job.out.factors) plan_.tables.Want(*job.out.factors);
    }
    const double lines = static_cast<double>(fft_.shape().ElementCount()) / static_cast<double>(total);
    plan_.flop =
        static_cast<int64_t>(5 * lines * static_cast<double>(total) * std::log2(std::max<double>(2, double(total))));
    return std::move(plan_);
  }

 private:
  bool inverse() const { return attributes_.fft_type == FftType::kIfft || attributes_.fft_type == FftType::kIrfft; }

  void AddAxis(int axis, int64_t length, bool last) {
    FftJob job;
    for (int d = 0; d < static_cast<int>(sizes_.size()); ++d) {
      if (d < axis) job.outer *= sizes_[static_cast<size_t>(d)];
      if (d > axis) job.inner *= sizes_[static_cast<size_t>(d)];
    }
    const bool innermost = axis + 1 == static_cast<int>(sizes_.size());
    const bool real_in = innermost && attributes_.fft_type == FftType::kRfft;
    const bool real_out = innermost && attributes_.fft_type == FftType::kIrfft;
    // An axis of one element is transformed already, but something must be done once.
    if (length == 1 && !real_in && !real_out && !(last && plan_.jobs.empty())) return;
    job.length = length;
    if (context_.facts.is_software()) job.whole_table = int64_t{1} << 20;
    job.in.type = real_in ? RealPart(plan_.complex) : plan_.complex;
    job.in.size = sizes_[static_cast<size_t>(axis)];
    job.in.hermitian = real_out;
    job.in.swap = inverse();
    job.out.type = real_out ? RealPart(plan_.complex) : plan_.complex;
    job.out.size = real_in ? length / 2 + 1 : length;
    job.out.swap_last = inverse();
    sizes_[static_cast<size_t>(axis)] = job.out.size;
    const FftShape shape = TuneFft(context_.facts, {length, job.outer * job.inner * length, plan_.complex, in_pairs_});
    job.points = shape.points;
    if (!shape.chirp) return AddPasses(job, shape.passes);
    AddChirp(job, shape.passes);
  }

  // A convolution with the conjugate chirp, between two products with the chirp.
  void AddChirp(const FftJob& whole, const std::vector<FftPass>& passes) {
    FftJob there = whole, back = whole;
    there.in.chirp = true;
    there.out = {plan_.complex, whole.points, false, true, FftTable{Kind::kSpectrum, whole.length, whole.points}};
    back.in = {plan_.complex, whole.points};
    back.out.swap_first = true;
    back.out.factors = FftTable{Kind::kChirp, whole.length, 1};
    AddPasses(there, passes);
    AddPasses(back, passes);
  }

  // `whole` with its input to the first pass, its output from the last.
  void AddPasses(const FftJob& whole, const std::vector<FftPass>& passes) {
    FftJob job = whole;
    for (size_t p = 0; p < passes.size(); ++p) {
      job.pass = passes[p];
      job.in = p == 0 ? whole.in : PassInput{plan_.complex, whole.points};
      job.out = p + 1 == passes.size() ? whole.out : PassOutput{plan_.complex, whole.points};
      job.width = WidthOf(job);
      plan_.jobs.push_back(job);
      job.before *= passes[p].radix;
    }
  }

  // Lavapipe loads and stores lane by lane, at the same cost for eight bytes and for 32, so there an invocation makes
  // neighbouring butterflies (64 x 4096 c64 in passes of 16, on one core: 28 ms one by one).
  int64_t WidthOf(const FftJob& job) const {
    if (!context_.facts.is_software() || job.invocations() < (1 << 12) || job.pass.direct || job.inner > 1 ||
        plan_.complex != ElementType::kC64)
      return 1;
    for (const int64_t width : {4, 2}) {
      const bool whole = job.stride() % width == 0 && (job.before == 1 || job.before % width == 0);
      if (whole && (width < 4 || context_.facts.int64)) return width;
    }
    return 1;
  }

  const LowerContext& context_;
  const Instruction& fft_;
  const FftAttributes& attributes_;
  const Shape& from_;
  const bool in_pairs_;
  IntList sizes_;
  FftPlan plan_;
};

// The kernel of one pass.
class FftPassWriter {
 public:
  FftPassWriter(const LowerContext& context, const FftPlan& plan, const FftJob& job)
      : context_(context), plan_(plan), job_(job), kernel_(context.facts), text_(RealPart(plan.complex)) {}

  Step Write(const std::string& name, const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables) {
    kernel_.Param(static_cast<uint32_t>(job_.invocations()));  // P(0) of fused_loop.comp
    from_ = kernel_.AddBuffer(job_.in.type, Access::kRead, from);
    into_ = kernel_.AddBuffer(job_.out.type, Access::kWrite, into);
    const bool reads_tables = !job_.Twiddles().empty() || job_.in.chirp || job_.out.factors;
    if (reads_tables) tables_ = kernel_.AddBuffer(plan_.complex, Access::kRead, tables);
    job_.pass.direct ? WriteDirect() : WriteButterfly();
    kernel_.Append("void element(uint u) {\n" + text_.Take() + "}\n");
    // Butterflies are long: an invocation makes one, or one for each of some neighbours.
    constexpr uint32_t kGroup = 64;
    const int64_t groups = (job_.invocations() + kGroup - 1) / kGroup;
    const std::array<uint32_t, 3> grid = GroupGrid(context_.facts, groups);
    if (groups * kGroup == job_.invocations() && int64_t{grid[0]} * grid[1] == groups)
      kernel_.Append("#define WHOLE_ITEMS 1u\n");
    return kernel_.Finish(name, "elementwise/fused_loop.comp", {kGroup, 1, 1, 1}, grid);
  }

 private:
  std::string Number(int64_t value) { return kernel_.Param(static_cast<uint32_t>(value)); }
  void Declare(const std::string& name, const std::string& value) {
    text_.Line(fmt::format("uint {} = {};", name, value));
  }
  // Takes `from` apart: high = from / size, low = from % size, both declared.
  void Split(const std::string& high, const std::string& low, const std::string& from, int64_t size) {
    Declare(high, size == 1 ? from : kernel_.Divide(from, size));
    Declare(low, size == 1 ? "0u" : fmt::format("{} - {} * {}", from, high, Number(size)));
  }

  // Declares what loads and stores begin at: line_in, line_out.
  void DeclareLines(const std::string& line, const std::string& place) {
    auto begin = [&](const char* name, int64_t size) {
      Declare(name, fmt::format("{} * {} + {}", line, Number(size * job_.inner), place));
    };
    begin("line_in", job_.in.size);
    begin("line_out", job_.out.size);
  }
  std::string At(const char* begin, const std::string& t) {
    return job_.inner == 1 ? fmt::format("{} + {}", begin, t)
                           : fmt::format("{} + {} * {}", begin, t, Number(job_.inner));
  }

  std::string Table(const FftTable& table, const std::string& index) {
    const int64_t offset = plan_.tables.OffsetOf(table);
    return kernel_.Load(tables_, fmt::format("{} + {}", Number(offset), index));
  }
  ComplexText LoadTable(const FftTable& table, const std::string& index, const std::string& name) {
    text_.Line(fmt::format("{} {} = {};", CarrierType(plan_.complex), name, Table(table, index)));
    return ButterflyWriter::PartsOf(name);
  }
  // w(a)^e from two tables: coarse + coarse * fine.
  ComplexText RootFromTwo(const std::vector<FftTable>& two, const std::string& e, const std::string& name) {
    const int bits = job_.FineBits();
    const ComplexText coarse = LoadTable(two[0], fmt::format("({} >> {})", e, bits), name + "_coarse");
    const ComplexText fine = LoadTable(two[1], fmt::format("({} & {}u)", e, (1 << bits) - 1), name + "_fine");
    return text_.Add(coarse, text_.Multiply(coarse, fine));
  }

  // `width` neighbours from element `index` on, a multiple of it, by one load.
  std::vector<ComplexText> LoadGroup(int k, const std::string& index, const std::string& name) {
    const bool four = job_.width == 4;
    kernel_.AddVectorView(k, four ? 8 : 4);
    text_.Line(fmt::format("{} {} = LOAD({}, {}, ({}) / {}u);", four ? "u64vec4" : "vec4", name, k,
                           four ? "u64x4" : "f32x4", index, job_.width));
    if (!four) return {{{name + ".x"}, {name + ".y"}}, {{name + ".z"}, {name + ".w"}}};
    std::vector<ComplexText> values;
    for (int w = 0; w < 4; ++w) {
      const std::string part = fmt::format("{}_{}", name, w);
      text_.Line(fmt::format("vec2 {} = uintBitsToFloat(unpackUint2x32({}[{}]));", part, name, w));
      values.push_back(ButterflyWriter::PartsOf(part));
    }
    return values;
  }
  void StoreGroup(int k, const std::string& index, std::span<const ComplexText> values) {
    kernel_.AddVectorView(k, job_.width == 4 ? 8 : 4);
    std::string text;
    for (const ComplexText& value : values) {
      text += text.empty() ? "" : ", ";
      text += job_.width == 4 ? fmt::format("packUint2x32(floatBitsToUint({}))", text_.Text(value))
                              : fmt::format("{}, {}", text_.Text(value.re), text_.Text(value.im));
    }
    text_.Line(fmt::format("STORE({}, {}, ({}) / {}u, {}({}));", k, job_.width == 4 ? "u64x4" : "f32x4", index,
                           job_.width, job_.width == 4 ? "u64vec4" : "vec4", text));
  }
  // Whether groups of `width` on lines of this many elements of c64 are whole and lie side by side.
  bool Groups(ElementType type, int64_t size) const {
    return job_.width > 1 && type == ElementType::kC64 && size % job_.width == 0;
  }

  // Value `t` of the line as a local of its own number.
  ComplexText LoadValue(const std::string& t, const std::string& name) {
    if (!IsComplex(job_.in.type)) {
      text_.Line(fmt::format("{} {} = {};", CarrierType(job_.in.type), name, kernel_.Load(from_, At("line_in", t))));
      return {{name}, {}};
    }
    const std::string type(CarrierType(plan_.complex));
    if (!job_.in.hermitian) {
      text_.Line(fmt::format("{} {} = {};", type, name, kernel_.Load(from_, At("line_in", t))));
      return ButterflyWriter::PartsOf(name);
    }
    // The second half is the conjugate of the first; the imaginary parts at 0 and in the middle count for nothing.
    const std::string real(CarrierType(RealPart(plan_.complex))), length = Number(job_.length);
    Declare(name + "_at", fmt::format("min({0}, {1} - {0})", t, length));
    text_.Line(fmt::format("{} {} = {};", type, name, kernel_.Load(from_, At("line_in", name + "_at"))));
    text_.Line(fmt::format("{0} {1}_im = {1}.y;", real, name));
    text_.Line(fmt::format("{} {}_minus = {};", real, name, text_.Text(RealText{name + "_im", true})));
    text_.Line(fmt::format("if ({0} > {1}_at) {1}_im = {1}_minus;", t, name));
    text_.Line(fmt::format("if ({0} == 0u || {0} + {0} == {1}) {2}_im = {3};", t, length, name,
                           ZeroText(RealPart(plan_.complex))));
    return {{name + ".x"}, {name + "_im"}};
  }
  ComplexText FinishInput(ComplexText value, const std::string& t, const std::string& name) {
    if (job_.in.swap) value = value.Swapped();
    if (!job_.in.chirp) return value;
    return text_.Multiply(value, LoadTable({Kind::kChirp, job_.length, 1}, t, name + "_chirp"));
  }
  ComplexText LoadInput(const std::string& t, const std::string& name) {
    return FinishInput(LoadValue(t, name), t, name);
  }
  // The same where t may lie at or beyond the chirp's end.
  ComplexText LoadWithin(const std::string& t, const std::string& name) {
    const std::string real(CarrierType(RealPart(plan_.complex))), zero = ZeroText(RealPart(plan_.complex));
    text_.Line(fmt::format("{0} {1}_re = {2}, {1}_im = {2};", real, name, zero));
    text_.Line(fmt::format("if ({} < {}) {{", t, Number(job_.length)));
    const ComplexText value = LoadInput(t, name + "_in");
    text_.Line(fmt::format("{}_re = {};", name, text_.Text(value.re)));
    text_.Line(fmt::format("{}_im = {};", name, text_.Text(value.im)));
    text_.Line("}");
    return {{name + "_re"}, {name + "_im"}};
  }

  std::string ScaleText() {
    if (RealPart(plan_.complex) == ElementType::kF32)
      return fmt::format("uintBitsToFloat({})", Number(std::bit_cast<uint32_t>(static_cast<float>(job_.out.scale))));
    const auto bits = std::bit_cast<uint64_t>(job_.out.scale);
    const std::string high = Number(static_cast<int64_t>(bits >> 32));
    return fmt::format("from_words_f64({}, {})", high, Number(static_cast<int64_t>(bits & 0xffffffffu)));
  }
  ComplexText FinishOutput(ComplexText value, const std::string& t, const std::string& name) {
    const PassOutput& out = job_.out;
    if (out.swap_first) value = value.Swapped();
    if (out.factors) value = text_.Multiply(value, LoadTable(*out.factors, t, name + "_factor"));
    if (out.swap_last) value = value.Swapped();
    if (out.scale == 1) return value;
    // An argument, so that lengths share kernels.
    const RealText scale{ScaleText()};
    return {text_.Multiply(value.re, scale), IsComplex(out.type) ? text_.Multiply(value.im, scale) : RealText()};
  }
  void StoreOutput(const std::string& t, ComplexText value, const std::string& name) {
    const bool some = job_.out.size < job_.points;
    if (some) text_.Line(fmt::format("if ({} < {}) {{", t, Number(job_.out.size)));
    value = FinishOutput(value, t, name);
    const std::string stored = IsComplex(job_.out.type) ? text_.Text(value) : text_.Text(value.re);
    text_.Line(kernel_.Store(into_, At("line_out", t), stored));
    if (some) text_.Line("}");
  }

  // `width` butterflies at l, l + 1 ..: x[w][j].
  using Butterflies = std::vector<std::vector<ComplexText>>;

  void WriteButterfly() {
    const int64_t radix = job_.pass.radix, stride = job_.stride();
    Split("rest", "place", "u", job_.inner);
    Split("line", "group", "rest", stride / job_.width);
    Declare("l", fmt::format("group * {}u", job_.width));
    Split("m", "k", "l", job_.before);
    DeclareLines("line", "place");
    Butterflies x(static_cast<size_t>(job_.width));
    for (int64_t j = 0; j < radix; ++j) LoadInputs(j, x);
    MultiplyTwiddles(x);
    for (std::vector<ComplexText>& butterfly : x) butterfly = text_.Transform(butterfly);
    Declare("first", fmt::format("m * {} + k", Number(radix * job_.before)));
    StoreOutputs(x);
  }

  // Value j of each.
  void LoadInputs(int64_t j, Butterflies& x) {
    const int64_t stride = job_.stride();
    if (job_.in.chirp && j * stride >= job_.length) {
      for (std::vector<ComplexText>& butterfly : x) butterfly.emplace_back();
      return;
    }
    const std::string t = fmt::format("t{}", j), name = fmt::format("v{}", j);
    Declare(t, j == 0 ? "l" : fmt::format("l + {}u * {}", j, Number(stride)));
    const bool within = !job_.in.chirp || (j + 1) * stride <= job_.length;
    if (within && Groups(job_.in.type, job_.in.size) && !job_.in.hermitian) {
      const std::vector<ComplexText> values = LoadGroup(from_, "line_in + " + t, name);
      for (size_t w = 0; w < x.size(); ++w)
        x[w].push_back(FinishInput(values[w], fmt::format("{} + {}u", t, w), fmt::format("{}_{}", name, w)));
      return;
    }
    for (size_t w = 0; w < x.size(); ++w) {
      const std::string own = fmt::format("{}_{}", t, w), own_name = fmt::format("{}_{}", name, w);
      Declare(own, fmt::format("{} + {}u", t, w));
      x[w].push_back(within ? LoadInput(own, own_name) : LoadWithin(own, own_name));
    }
  }

  // The results of butterfly w are L apart from where it begins; butterflies begin side by side, or after one another
  // where L is 1.
  void StoreOutputs(const Butterflies& x) {
    const int64_t radix = job_.pass.radix;
    const bool along = job_.before == 1 && job_.width > 1;
    auto place = [&](int64_t w, int64_t s) {
      if (along) return fmt::format("first + {}u", w * radix + s);
      if (s == 0) return fmt::format("first + {}u", w);
      return fmt::format("first + {}u * {} + {}u", s, Number(job_.before), w);
    };
    const bool groups = Groups(job_.out.type, job_.out.size) && job_.out.size == job_.points &&
                        (along ? radix : job_.before) % job_.width == 0;
    const int64_t width = groups ? job_.width : 1;
    for (int64_t w = 0; w < job_.width; w += along ? 1 : width) {
      for (int64_t s = 0; s < radix; s += along ? width : 1) {
        std::vector<ComplexText> group;
        for (int64_t i = 0; i < width; ++i) {
          const int64_t a = along ? w : w + i, b = along ? s + i : s;
          const std::string name = fmt::format("x{}_{}", a, b);
          if (!groups) {
            Declare(name + "_t", place(a, b));
            StoreOutput(name + "_t", x[static_cast<size_t>(a)][static_cast<size_t>(b)], name);
          } else {
            group.push_back(FinishOutput(x[static_cast<size_t>(a)][static_cast<size_t>(b)], place(a, b), name));
          }
        }
        if (groups) StoreGroup(into_, "line_out + " + place(w, s), group);
      }
    }
  }

  void MultiplyTwiddles(Butterflies& x) {
    const std::vector<FftTable> twiddles = job_.Twiddles();
    if (twiddles.empty()) return;
    for (int64_t j = 1; j < job_.pass.radix; ++j) {
      const std::string name = fmt::format("w{}", j);
      std::vector<ComplexText> roots;
      const std::string row =
          twiddles.size() == 1 && j > 1 ? fmt::format("{}u * {} + k", j - 1, Number(job_.before)) : "k";
      if (twiddles.size() == 1 && Groups(plan_.complex, job_.before)) {
        roots = LoadGroup(tables_, fmt::format("{} + {}", Number(plan_.tables.OffsetOf(twiddles[0])), row), name);
      }
      for (size_t w = 0; roots.size() < x.size(); ++w) {
        const std::string own = fmt::format("{}_{}", name, w);
        roots.push_back(twiddles.size() == 2 ? RootFromTwo(twiddles, fmt::format("({}u * (k + {}u))", j, w), own)
                                             : LoadTable(twiddles[0], fmt::format("{} + {}u", row, w), own));
      }
      for (size_t w = 0; w < x.size(); ++w) {
        ComplexText& value = x[w][static_cast<size_t>(j)];
        value = text_.Multiply(value, roots[w]);
      }
    }
  }

  // Result s of the butterfly is the sum over j of x[j] w(L R)^(j (s L + k)).
  void WriteDirect() {
    const int64_t radix = job_.pass.radix, around = radix * job_.before;
    constexpr int64_t kBlock = 8;  // sums of more values are added up in blocks
    const std::string real(CarrierType(RealPart(plan_.complex))), zero = ZeroText(RealPart(plan_.complex));
    Split("rest", "place", "u", job_.inner);
    Split("line", "q", "rest", job_.points);
    Split("m", "turn", "q", around);
    Split("s", "k", "turn", job_.before);
    DeclareLines("line", "place");
    text_.Line(fmt::format("{0} sum_re = {1}, sum_im = {1}, total_re = {1}, total_im = {1};", real, zero));
    text_.Line("uint e = 0u;");
    text_.Line(fmt::format("for (uint j = 0u; j < {}; ++j) {{", Number(radix)));
    Declare("t", fmt::format("m * {} + k + j * {}", Number(job_.before), Number(job_.stride())));
    const ComplexText x = job_.in.chirp ? LoadWithin("t", "v") : LoadInput("t", "v");
    const std::vector<FftTable> twiddles = job_.Twiddles();
    const ComplexText root = twiddles.size() == 2 ? RootFromTwo(twiddles, "e", "w") : LoadTable(twiddles[0], "e", "w");
    auto add = [&](const std::string& to, const ComplexText& value) {
      const ComplexText sum = text_.Add({{to + "_re"}, {to + "_im"}}, value);
      text_.Line(fmt::format("{}_re = {};", to, text_.Text(sum.re)));
      text_.Line(fmt::format("{}_im = {};", to, text_.Text(sum.im)));
    };
    add("sum", text_.Multiply(x, root));
    if (radix > kBlock) {
      text_.Line(fmt::format("if (j % {0}u == {1}u) {{", kBlock, kBlock - 1));
      add("total", {{"sum_re"}, {"sum_im"}});
      text_.Line(fmt::format("sum_re = {0};\n  sum_im = {0};\n  }}", zero));
    }
    text_.Line("e += turn;");
    text_.Line(fmt::format("if (e >= {0}) e -= {0};", Number(around)));
    text_.Line("}");
    ComplexText sum{{"sum_re"}, {"sum_im"}};
    if (radix > kBlock) sum = text_.Add({{"total_re"}, {"total_im"}}, sum);
    StoreOutput("q", sum, "x");
  }

  const LowerContext& context_;
  const FftPlan& plan_;
  const FftJob& job_;
  KernelBuilder kernel_;
  ButterflyWriter text_;
  int from_ = -1, into_ = -1, tables_ = -1;
};

Status CheckFftMemory(const LowerContext& context, const char* what, int64_t elements, int64_t bytes) {
  if (elements > kMostElements) {
    return Unsupported("fft: {} of {} elements, more than the {} that a kernel can index", what, elements,
                       kMostElements);
  }
  const auto limit = static_cast<int64_t>(context.facts.max_storage_range_bytes);
  if (context.bindings == BindingMode::kDescriptors && bytes > limit) {
    return Unsupported(
        "fft: {} of {} bytes, more than this device's storage-buffer range of {} (--bindings=addresses has no such "
        "limit)",
        what, bytes, limit);
  }
  return OkStatus();
}

}  // namespace

Status CanLowerFft(const LowerContext& context, const FusionDescription& body) {
  if (body.hero->shape().ElementCount() == 0) return OkStatus();
  const FftPlan plan = FftPlanner(context, body).Make();
  VXLA_RETURN_IF_ERROR(CheckFftMemory(context, "tables", plan.tables.count(), plan.tables.size_bytes()));
  for (const FftJob& job : plan.jobs) {
    const int64_t elements = std::max(job.out_elements(), job.invocations());
    VXLA_RETURN_IF_ERROR(
        CheckFftMemory(context, "an intermediate array", elements, job.out_elements() * StorageBytes(job.out.type)));
  }
  return OkStatus();
}

Result<std::vector<Step>> LowerFft(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const FftPlan plan = FftPlanner(context, body).Make();
  const BufferSlice result = buffers.SliceOf(*body.instruction, 0);
  // Passes write the result's memory and scratch in turns, so that the last writes the result; two of scratch where
  // something on the way is larger than the result.
  int64_t most_bytes = 0;
  for (size_t i = 0; i + 1 < plan.jobs.size(); ++i)
    most_bytes = std::max(most_bytes, plan.jobs[i].out_elements() * StorageBytes(plan.complex));
  const bool large = most_bytes > result.size_bytes;
  std::array<std::optional<BufferSlice>, 2> scratch;
  const BufferSlice tables = plan.tables.count() > 0 ? buffers.Constant(plan.tables.Words()) : BufferSlice();
  BufferSlice from = buffers.SliceOf(*body.instruction->operand(0), 0);
  std::vector<Step> steps;
  for (size_t i = 0; i < plan.jobs.size(); ++i) {
    const size_t left = plan.jobs.size() - 1 - i, turn = left % 2;
    BufferSlice into = result;
    if (left > 0 && (large || turn == 1)) {
      if (!scratch[turn]) scratch[turn] = buffers.Scratch(most_bytes);
      into = *scratch[turn];
    }
    const std::string name = plan.jobs.size() == 1 ? StepName(body) : fmt::format("{} pass {}", StepName(body), i + 1);
    into.size_bytes = plan.jobs[i].out_elements() * StorageBytes(plan.jobs[i].out.type);
    steps.push_back(FftPassWriter(context, plan, plan.jobs[i]).Write(name, from, into, tables));
    from = into;
  }
  steps[0].flop = plan.flop;
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
