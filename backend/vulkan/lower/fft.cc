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
// Twiddles of a pass over more points come as products of two tables, so that tables stay in the caches.
constexpr int64_t kWholeTable = int64_t{1} << 16;

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
  PassInput in;
  PassOutput out;

  int64_t stride() const { return points / pass.radix; }
  int64_t invocations() const { return outer * inner * (pass.direct ? points : stride()); }
  int64_t in_elements() const { return outer * inner * in.size; }
  int64_t out_elements() const { return outer * inner * out.size; }
  // The twiddles: one table, or two.
  std::vector<FftTable> Twiddles() const {
    const int64_t around = before * pass.radix;
    if (!pass.direct && before == 1) return {};
    if (around > kWholeTable) {
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
    job.in.type = real_in ? RealPart(plan_.complex) : plan_.complex;
    job.in.size = sizes_[static_cast<size_t>(axis)];
    job.in.hermitian = real_out;
    job.in.swap = inverse();
    job.out.type = real_out ? RealPart(plan_.complex) : plan_.complex;
    job.out.size = real_in ? length / 2 + 1 : length;
    job.out.swap_last = inverse();
    sizes_[static_cast<size_t>(axis)] = job.out.size;
    const FftShape shape = TuneFft(context_.facts, length, plan_.complex, in_pairs_);
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
      plan_.jobs.push_back(job);
      job.before *= passes[p].radix;
    }
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
    const LoopTuning tuning = Tuning();
    const int64_t chunk = int64_t{tuning.workgroup_size} * tuning.items;
    return kernel_.Finish(name, "elementwise/fused_loop.comp", {tuning.workgroup_size, 1, 1, tuning.items},
                          GroupGrid(context_.facts, (job_.invocations() + chunk - 1) / chunk));
  }

 private:
  // Butterflies are long, so invocations need few.
  LoopTuning Tuning() const {
    LoopTuning tuning{64, 1, 1};
    if (context_.facts.is_software() && job_.invocations() >= 2048) tuning.items = 4;
    return tuning;
  }

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
    return kernel_.Load(tables_, offset == 0 ? index : fmt::format("{} + {}", Number(offset), index));
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
  ComplexText LoadInput(const std::string& t, const std::string& name) {
    ComplexText value = LoadValue(t, name);
    if (job_.in.swap) value = value.Swapped();
    if (!job_.in.chirp) return value;
    return text_.Multiply(value, LoadTable({Kind::kChirp, job_.length, 1}, t, name + "_chirp"));
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

  void StoreOutput(const std::string& t, ComplexText value, const std::string& name) {
    const PassOutput& out = job_.out;
    const bool some = out.size < job_.points;
    if (some) text_.Line(fmt::format("if ({} < {}) {{", t, Number(out.size)));
    if (out.swap_first) value = value.Swapped();
    if (out.factors) value = text_.Multiply(value, LoadTable(*out.factors, t, name + "_factor"));
    if (out.swap_last) value = value.Swapped();
    const RealText scale = text_.Constant(out.scale);
    const bool complex = IsComplex(out.type);
    if (out.scale != 1) value.re = text_.Multiply(value.re, scale);
    if (out.scale != 1 && complex) value.im = text_.Multiply(value.im, scale);
    text_.Line(kernel_.Store(into_, At("line_out", t), complex ? text_.Text(value) : text_.Text(value.re)));
    if (some) text_.Line("}");
  }

  void WriteButterfly() {
    const int64_t radix = job_.pass.radix, stride = job_.stride();
    Split("rest", "place", "u", job_.inner);
    Split("line", "l", "rest", stride);
    Split("m", "k", "l", job_.before);
    DeclareLines("line", "place");
    std::vector<ComplexText> x;
    for (int64_t j = 0; j < radix; ++j) {
      const std::string t = fmt::format("t{}", j), name = fmt::format("v{}", j);
      if (job_.in.chirp && j * stride >= job_.length) {
        x.push_back({});
        continue;
      }
      Declare(t, j == 0 ? "l" : fmt::format("l + {}u * {}", j, Number(stride)));
      const bool within = !job_.in.chirp || (j + 1) * stride <= job_.length;
      x.push_back(within ? LoadInput(t, name) : LoadWithin(t, name));
    }
    MultiplyTwiddles(x);
    x = text_.Transform(x);
    Declare("first", fmt::format("m * {} + k", Number(radix * job_.before)));
    for (int64_t s = 0; s < radix; ++s) {
      const std::string t = fmt::format("o{}", s);
      Declare(t, s == 0 ? "first" : fmt::format("first + {}u * {}", s, Number(job_.before)));
      StoreOutput(t, x[static_cast<size_t>(s)], fmt::format("x{}", s));
    }
  }

  void MultiplyTwiddles(std::vector<ComplexText>& x) {
    const std::vector<FftTable> twiddles = job_.Twiddles();
    if (twiddles.empty()) return;
    for (int64_t j = 1; j < job_.pass.radix; ++j) {
      const std::string name = fmt::format("w{}", j);
      const ComplexText root =
          twiddles.size() == 2 ? RootFromTwo(twiddles, fmt::format("({}u * k)", j), name)
          : j == 1             ? LoadTable(twiddles[0], "k", name)
                               : LoadTable(twiddles[0], fmt::format("{}u * {} + k", j - 1, Number(job_.before)), name);
      x[static_cast<size_t>(j)] = text_.Multiply(x[static_cast<size_t>(j)], root);
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
