#include "backend/vulkan/lower/fft/fft_kernel.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "backend/vulkan/lower/fft/fft_butterfly.h"
#include "backend/vulkan/lower/software_kernels.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using Kind = FftTable::Kind;
using Spectrum = PassInput::Spectrum;

// What a pass reads and writes, of one transform after the other.
class FftPassText {
 public:
  FftPassText(KernelBuilder& kernel, const FftPlan& plan, const FftJob& job, const FftSlices& slices)
      : plan_(plan),
        job_(job),
        slices_(slices),
        kernel_(kernel),
        text_(RealPart(plan.complex), plan.fuses, job.turned),
        real_(CarrierType(RealPart(plan.complex))),
        complex_(CarrierType(plan.complex)),
        zero_(ZeroText(RealPart(plan.complex))) {
    if (slices.held.empty()) from_ = kernel_.AddBuffer(job_.in.type, Access::kRead, slices.from);
    into_ = kernel_.AddBuffer(job_.out.type, Access::kWrite, slices.into);
    const bool reads_tables = !job_.pass.stages.empty() || !job_.Twiddles().empty() || job_.in.chirp ||
                              job_.out.factors || !job_.PackedRoots().empty();
    if (reads_tables) tables_ = kernel_.AddBuffer(plan_.complex, Access::kRead, slices.tables);
    if (reads_tables && job_.turned) DeclareTurns();
  }

 protected:
  Expression LoadFrom(const std::string& index) {
    return slices_.held.empty() ? kernel_.Loaded(from_, index) : slices_.held;
  }

  bool single() const { return RealPart(plan_.complex) == ElementType::kF32; }
  std::string Number(int64_t value) { return kernel_.Param(value); }
  void Declare(const std::string& name, const std::string& value) { text_.Line("uint {} = {};", name, value); }
  // Takes `from` apart: high = from / size, low = from % size, both declared.
  void Split(const std::string& high, const std::string& low, const std::string& from, int64_t size) {
    Declare(high, size == 1 ? from : kernel_.Divide(from, size));
    Declare(low, size == 1 ? "0u" : fmt::format("{} - {} * {}", from, high, Number(size)));
  }

  // Declares what loads and stores begin at: line_in, line_out.
  void DeclareLines(const std::string& line, const std::string& place) {
    if (slices_.between_in + slices_.between_out != 0) Declare("array", kernel_.Divide(line, slices_.lines));
    auto begin = [&](const char* name, int64_t size, int64_t between) {
      const std::string in_array = fmt::format("{} * {} + {}", line, Number(size * job_.inner), place);
      Declare(name, between == 0 ? in_array : fmt::format("{} + array * {}", in_array, Number(between)));
    };
    begin("line_in", job_.in.size, slices_.between_in);
    begin("line_out", job_.out.size, slices_.between_out);
  }
  std::string At(const char* begin, const std::string& t) {
    return job_.inner == 1 ? fmt::format("{} + {}", begin, t)
                           : fmt::format("{} + {} * {}", begin, t, Number(job_.inner));
  }

  ComplexText LoadTable(const FftTable& table, const std::string& index, const std::string& name) {
    const std::string at = fmt::format("{} + {}", Number(plan_.tables.OffsetOf(table)), index);
    text_.Declare(complex_, name, kernel_.Loaded(tables_, at));
    return ButterflyWriter::PartsOf(name);
  }
  // Times an element of a table of roots.
  ComplexText TimesTable(const ComplexText& value, const FftTable& table, const std::string& index,
                         const std::string& name) {
    const ComplexText root = LoadTable(table, index, name);
    return table.turned ? TimesTurned(value, name) : text_.Multiply(value, root);
  }
  // Times a root as NearestQuarter has it, which the local `root` holds as turned tables do.
  ComplexText TimesTurned(const ComplexText& value, const std::string& root) {
    Declare(root + "_high",
            single() ? fmt::format("floatBitsToUint({}.x)", root) : fmt::format("unpack_f64({}.x).y", root));
    const std::string less = single()
                                 ? fmt::format("uintBitsToFloat({}_high & 0x3fffffffu)", root)
                                 : fmt::format("pack_f64(uvec2(unpack_f64({0}.x).x, {0}_high & 0x3fffffffu))", root);
    text_.Line("{} {}_less = {};", real_, root, less);
    text_.Line("{0} {1}_t = turned({1}_high, {2});", complex_, root, text_.Text(value));
    return text_.MultiplyOnePlus(ButterflyWriter::PartsOf(root + "_t"), {{root + "_less", true}, {root + ".y"}});
  }
  // (-i)^quarters times, the quarters being the two highest bits.
  void DeclareTurns() {
    // A loop's kernel has several passes, which may be of both types.
    kernel_.Append("#ifndef TURNS_{0}\n#define TURNS_{0}\n", single() ? "f32" : "f64");
    kernel_.Append(single() ? kTurned : R"(dvec2 turned(uint bits, dvec2 value) {
  dvec2 across = (bits & 0x40000000u) != 0u ? value.yx : value;
  return dvec2((bits & 0x80000000u) != 0u ? -across.x : across.x,
               ((bits ^ (bits << 1)) & 0x80000000u) != 0u ? -across.y : across.y);
}
)");
    kernel_.Append("#endif\n");
  }
  // w(a)^e from two tables: coarse + coarse * fine.
  ComplexText RootFromTwo(const std::vector<FftTable>& two, const std::string& e, const std::string& name) {
    const int bits = std::bit_width(static_cast<uint64_t>(two[0].b)) - 1;
    const ComplexText coarse = LoadTable(two[0], fmt::format("({} >> {})", e, bits), name + "_coarse");
    const ComplexText fine = LoadTable(two[1], fmt::format("({} & {}u)", e, (1 << bits) - 1), name + "_fine");
    return text_.MultiplyAdd(coarse, fine, coarse);
  }

  // `width` neighbours from element `index` on, a multiple of it, by one load.
  std::vector<ComplexText> LoadGroup(int k, const std::string& index, const std::string& name) {
    const Elements group = GroupAt(k, index);
    text_.Declare(group.type(), name, Expression(group));
    if (job_.width != 4) return {{{name + ".x"}, {name + ".y"}}, {{name + ".z"}, {name + ".w"}}};
    std::vector<ComplexText> values;
    for (int w = 0; w < 4; ++w) {
      const std::string part = fmt::format("{}_{}", name, w);
      text_.Line("vec2 {} = uintBitsToFloat(unpackUint2x32({}[{}]));", part, name, w);
      values.push_back(ButterflyWriter::PartsOf(part));
    }
    return values;
  }
  void StoreGroup(int k, const std::string& index, std::span<const ComplexText> values) {
    std::vector<Stored> words;
    for (const ComplexText& value : values) {
      const std::string re = text_.Text(value.re), im = text_.Text(value.im);
      if (job_.width == 4) {
        words.emplace_back(fmt::format("JOINED(floatBitsToUint({}), floatBitsToUint({}))", re, im));
      } else {
        words.insert(words.end(), {re, im});
      }
    }
    text_.Add({.kind = Statement::Kind::kStore, .target = GroupAt(k, index), .values = std::move(words)});
  }
  // So many complex values as four floats, or as four words of 64 bits.
  Elements GroupAt(int k, const std::string& index) {
    const bool four = job_.width == 4;
    kernel_.AddVectorView(k, four ? 8 : 4);
    return {std::to_string(k), four ? "u64" : "f32", 4, fmt::format("({}) / {}u", index, job_.width)};
  }
  // Whether groups of `width` on lines of this many elements of c64 are whole and lie side by side.
  bool Groups(ElementType type, int64_t size) const {
    return job_.width > 1 && type == ElementType::kC64 && size % job_.width == 0;
  }

  // Value `t` of the line as a local of its own number.
  ComplexText LoadValue(const std::string& t, const std::string& name) {
    if (!IsComplex(job_.in.type)) {
      text_.Declare(CarrierType(job_.in.type), name, LoadFrom(At("line_in", t)));
      return {{name}, {}};
    }
    if (job_.in.spectrum == Spectrum::kWhole) {
      text_.Declare(complex_, name, LoadFrom(At("line_in", t)));
      return ButterflyWriter::PartsOf(name);
    }
    return job_.in.spectrum == Spectrum::kHermitian ? LoadHermitian(t, name) : LoadPacked(t, name);
  }
  // The second half is the conjugate of the first; the imaginary parts at 0 and in the middle count for nothing.
  ComplexText LoadHermitian(const std::string& t, const std::string& name) {
    const std::string length = Number(job_.length);
    Declare(name + "_at", fmt::format("min({0}, {1} - {0})", t, length));
    text_.Declare(complex_, name, LoadFrom(At("line_in", name + "_at")));
    text_.Line("{0} {1}_im = {1}.y;", real_, name);
    text_.Line("{} {}_minus = {};", real_, name, text_.Text(RealText{name + "_im", true}));
    text_.Line("if ({0} > {1}_at) {1}_im = {1}_minus;", t, name);
    text_.Line("if ({0} == 0u || {0} + {0} == {1}) {2}_im = {3};", t, length, name, zero_);
    return {{name + ".x"}, {name + "_im"}};
  }
  // Of 2 length real values with the spectrum X: Z[t] = X[t] + conj X[length - t] + i w(2 length)^-t times their
  // difference; the imaginary parts of X at 0 and length count for nothing.
  ComplexText LoadPacked(const std::string& t, const std::string& name) {
    const std::string length = Number(job_.length), other = name + "_other";
    text_.Declare(complex_, name, LoadFrom(At("line_in", t)));
    text_.Declare(complex_, other, LoadFrom(At("line_in", fmt::format("({} - {})", length, t))));
    text_.Line("if ({0} == 0u) {{ {1}.y = {3}; {2}.y = {3}; }}", t, name, other, zero_);
    const ComplexText a{{name + ".x"}, {name + ".y"}}, b{{other + ".x"}, {other + ".y", true}};
    // The conjugate root comes as the conjugate of the product with the conjugate.
    const ComplexText difference = text_.Subtract(a, b);
    const ComplexText turned = TimesPackedRoot({difference.re, Negated(difference.im)}, t, name + "_root");
    return text_.Add(text_.Add(a, b), {turned.im, turned.re});
  }
  ComplexText TimesPackedRoot(const ComplexText& value, const std::string& e, const std::string& name) {
    const std::vector<FftTable> roots = job_.PackedRoots();
    return roots.size() == 2 ? text_.Multiply(value, RootFromTwo(roots, e, name))
                             : TimesTable(value, roots[0], e, name);
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
    text_.Line("{0} {1}_re = {2}, {1}_im = {2};", real_, name, zero_);
    text_.Line("if ({} < {}) {{", t, Number(job_.length));
    const ComplexText value = LoadInput(t, name + "_in");
    text_.Line("{}_re = {};", name, text_.Text(value.re));
    text_.Line("{}_im = {};", name, text_.Text(value.im));
    text_.Line("}");
    return {{name + "_re"}, {name + "_im"}};
  }

  std::string ScaleText(double scale) {
    if (single()) return fmt::format("uintBitsToFloat({})", Number(std::bit_cast<uint32_t>(static_cast<float>(scale))));
    const auto bits = std::bit_cast<uint64_t>(scale);
    const std::string high = Number(static_cast<int64_t>(bits >> 32));
    return fmt::format("from_words_f64({}, {})", high, Number(static_cast<int64_t>(bits & 0xffffffffu)));
  }
  ComplexText FinishOutput(ComplexText value, const std::string& t, const std::string& name) {
    const PassOutput& out = job_.out;
    if (out.swap_first) value = value.Swapped();
    if (out.factors) value = text_.Multiply(value, LoadTable(*out.factors, t, name + "_factor"));
    if (out.swap_last) value = value.Swapped();
    if (out.divisor == 1) return value;
    // Arguments, so that lengths share kernels.
    const Reciprocal scale(out.divisor, plan_.complex == ElementType::kC64);
    const RealText factor{ScaleText(scale.factor)},
        rest = scale.rest == 0 ? RealText() : RealText{ScaleText(scale.rest)};
    return {text_.Scaled(value.re, factor, rest),
            IsComplex(out.type) ? text_.Scaled(value.im, factor, rest) : RealText()};
  }
  void StoreOutput(const std::string& t, ComplexText value, const std::string& name) {
    const bool some = job_.out.size < job_.points;
    if (some) text_.Line("if ({} < {}) {{", t, Number(job_.out.size));
    value = FinishOutput(value, t, name);
    if (job_.out.real_at_zero) {
      text_.Line("{} {}_im = {};", real_, name, text_.Text(value.im));
      text_.Line("if ({} == 0u) {}_im = {};", t, name, zero_);
      value.im = {name + "_im"};
    }
    const std::string stored = IsComplex(job_.out.type) ? text_.Text(value) : text_.Text(value.re);
    text_.Add(kernel_.Storing(into_, At("line_out", t), stored));
    if (some) text_.Line("}");
  }

  const FftPlan& plan_;
  const FftJob& job_;
  const FftSlices& slices_;
  KernelBuilder& kernel_;
  ButterflyWriter text_;
  const std::string real_, complex_, zero_;
  int from_ = -1, into_ = -1, tables_ = -1;
};

// Unit `u` of a pass: some butterflies, or a few results.
class FftUnitWriter : FftPassText {
 public:
  using FftPassText::FftPassText;

  Code Write() {
    job_.untangles     ? WriteUntangle()
    : job_.symmetric() ? WriteDirectPair()
    : job_.pass.direct ? WriteDirect()
                       : WriteButterfly();
    return text_.Take();
  }

 private:
  // `width` butterflies at l, l + 1 ..: x[w][j].
  using Butterflies = std::vector<std::vector<ComplexText>>;

  // Of 2 length real values, taken for the complex values whose transform is Z: with E and D half the sum and half the
  // difference of Z[k] and conj Z[length - k], X[k] = E - i w D and X[length - k] = conj(E + i w D).
  void WriteUntangle() {
    const std::string length = Number(job_.length);
    Split("line", "k", "u", job_.length / 2 + 1);
    DeclareLines("line", "0u");
    text_.Declare(complex_, "a", LoadFrom("line_in + k"));
    Declare("mirror", fmt::format("k == 0u ? 0u : {} - k", length));
    text_.Declare(complex_, "b", LoadFrom("line_in + mirror"));
    const ComplexText a = ButterflyWriter::PartsOf("a"), b{{"b.x"}, {"b.y", true}};
    auto halved = [this](const ComplexText& value) {
      const RealText half = text_.Constant(0.5);
      return ComplexText{text_.Multiply(value.re, half), text_.Multiply(value.im, half)};
    };
    const ComplexText even = halved(text_.Add(a, b));
    const ComplexText odd = TimesPackedRoot(halved(text_.Subtract(a, b)), "k", "root");
    const ComplexText turned{odd.im, Negated(odd.re)};  // -i times
    ComplexText last = text_.Subtract(even, turned);
    last.im = Negated(last.im);
    const ComplexText first = text_.Add(even, turned);
    text_.Add(kernel_.Storing(into_, "line_out + k", text_.Text(first)));
    text_.Add(kernel_.Storing(into_, fmt::format("line_out + {} - k", length), text_.Text(last)));
  }

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
    if (within && Groups(job_.in.type, job_.in.size) && job_.in.spectrum == Spectrum::kWhole) {
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
      const std::string row = fmt::format("{}u * {} + k", j, Number(job_.before));
      const bool groups = twiddles.size() == 1 && Groups(plan_.complex, job_.before);
      std::vector<ComplexText> roots;
      if (groups)
        roots = LoadGroup(tables_, fmt::format("{} + {}", Number(plan_.tables.OffsetOf(twiddles[0])), row), name);
      for (size_t w = 0; w < x.size(); ++w) {
        const std::string own = fmt::format("{}_{}", name, w);
        ComplexText& value = x[w][static_cast<size_t>(j)];
        if (twiddles.size() == 2) {
          value = text_.Multiply(value, RootFromTwo(twiddles, fmt::format("({}u * (k + {}u))", j, w), own));
        } else if (!groups) {
          value = TimesTable(value, twiddles[0], fmt::format("{} + {}u", row, w), own);
        } else if (job_.turned) {
          text_.Line("vec2 {}_w = {};", own, text_.Text(roots[w]));
          value = TimesTurned(value, own + "_w");
        } else {
          value = text_.Multiply(value, roots[w]);
        }
      }
    }
  }

  static constexpr int64_t kBlock = 8;  // sums of more values are added up in blocks

  void SetSum(const std::string& name, const ComplexText& value) {
    text_.Line("{}_re = {};", name, text_.Text(value.re));
    text_.Line("{}_im = {};", name, text_.Text(value.im));
  }
  static ComplexText SumNamed(const std::string& name) { return {{name + "_re"}, {name + "_im"}}; }
  void DeclareSum(const std::string& name) {
    text_.Line("{0} {2}_re = {1}, {2}_im = {1}, {2}_total_re = {1}, {2}_total_im = {1};", real_, zero_, name);
  }
  // After term j of `count`, from 0.
  void EndTerm(const std::vector<std::string>& sums, const std::string& j, int64_t count) {
    if (count <= kBlock) return;
    text_.Line("if ({} % {}u == {}u) {{", j, kBlock, kBlock - 1);
    for (const std::string& sum : sums) {
      SetSum(sum + "_total", text_.Add(SumNamed(sum + "_total"), SumNamed(sum)));
      SetSum(sum, {});
    }
    text_.Line("}");
  }
  ComplexText WholeSum(const std::string& name, int64_t count) {
    return count <= kBlock ? SumNamed(name) : text_.Add(SumNamed(name + "_total"), SumNamed(name));
  }

  // Result s of the butterfly is the sum over j of x[j] w(L R)^(j (s L + k)).
  void WriteDirect() {
    const int64_t radix = job_.pass.radix, around = radix * job_.before;
    Split("rest", "place", "u", job_.inner);
    Split("line", "q", "rest", job_.points);
    Split("m", "turn", "q", around);
    Split("s", "k", "turn", job_.before);
    DeclareLines("line", "place");
    DeclareSum("sum");
    text_.Line("uint e = 0u;");
    text_.Line("for (uint j = 0u; j < {}; ++j) {{", Number(radix));
    Declare("t", fmt::format("m * {} + k + j * {}", Number(job_.before), Number(job_.stride())));
    const ComplexText x = LoadTerm("t", "v");
    const std::vector<FftTable> twiddles = job_.Twiddles();
    const ComplexText root = twiddles.size() == 2 ? RootFromTwo(twiddles, "e", "w") : LoadTable(twiddles[0], "e", "w");
    SetSum("sum", text_.MultiplyAdd(x, root, SumNamed("sum")));
    EndTerm({"sum"}, "j", radix);
    text_.Line("e += turn;");
    text_.Line("if (e >= {0}) e -= {0};", Number(around));
    text_.Line("}");
    StoreOutput("q", WholeSum("sum", radix), "x");
  }

  // As ButterflyWriter::TransformOdd, two results at a time.
  void WriteDirectPair() {
    const int64_t radix = job_.pass.radix, half = radix / 2;
    Split("rest", "place", "u", job_.inner);
    Split("line", "pair", "rest", job_.stride() * (half + 1));
    Split("m", "s", "pair", half + 1);
    DeclareLines("line", "place");
    const ComplexText first = LoadTerm("m", "first");
    DeclareSum("even");
    DeclareSum("odd");
    text_.Line("uint e = s;");
    text_.Line("for (uint j = 0u; j < {}; ++j) {{", Number(half));
    Declare("t", fmt::format("m + (j + 1u) * {}", Number(job_.stride())));
    Declare("mirror", fmt::format("m + m + {} - t", Number(job_.points)));
    const ComplexText a = LoadTerm("t", "a"), b = LoadTerm("mirror", "b");
    const ComplexText root = LoadTable(job_.Twiddles()[0], "e", "w");
    auto add = [&](const std::string& to, const ComplexText& value, const RealText& factor) {
      const ComplexText sum = SumNamed(to);
      SetSum(to, {text_.MultiplyAdd(value.re, factor, sum.re), text_.MultiplyAdd(value.im, factor, sum.im)});
    };
    add("even", text_.Add(a, b), root.re);
    add("odd", text_.Subtract(a, b), Negated(root.im));
    EndTerm({"even", "odd"}, "j", half);
    text_.Line("e += s;");
    text_.Line("if (e >= {0}) e -= {0};", Number(radix));
    text_.Line("}");
    const ComplexText even = text_.Add(first, WholeSum("even", half)), odd = WholeSum("odd", half);
    const ComplexText turned{odd.im, Negated(odd.re)};  // -i times
    Declare("q", fmt::format("m * {} + s", Number(radix)));
    StoreOutput("q", text_.Add(even, turned), "x");
    text_.Line("if (s > 0u) {");
    Declare("q_mirror", fmt::format("q + {} - s - s", Number(radix)));
    StoreOutput("q_mirror", text_.Subtract(even, turned), "y");
    text_.Line("}");
  }
  ComplexText LoadTerm(const std::string& t, const std::string& name) {
    return job_.in.chirp ? LoadWithin(t, name) : LoadInput(t, name);
  }
};

// A pass whose transforms lanes share, stage by stage.
class FftStageWriter : FftPassText {
 public:
  using FftPassText::FftPassText;

  Code Write() {
    const FftPass& pass = job_.pass;
    kernel_.Append("#define TRANSFORMS {}u\n#define SIZE {}u\n#define PADDING {}u\n", pass.transforms, pass.radix,
                   pass.padded ? 1 : 0);
    kernel_.Append("shared {} exchange_re[PLACE(TRANSFORMS, 0u)], exchange_im[PLACE(TRANSFORMS, 0u)];\n", real_);
    DeclareSide("in", job_.stride() * job_.inner > 1, job_.in.size);
    DeclareSide("out", job_.before * job_.inner > 1, job_.out.size);
    int64_t done = 1;
    for (size_t stage = 0; stage < pass.stages.size(); ++stage) {
      const std::string side = stage + 1 < pass.stages.size() ? "in" : "out";
      const int64_t radix = pass.stages[stage];
      std::vector<StageButterfly> butterflies;
      for (int64_t first = 0; first < pass.radix / radix; first += pass.lanes) {
        const std::string name = fmt::format("s{}_{}", stage, butterflies.size());
        StageButterfly b = DeclareButterfly(name, side, first, radix, done);
        stage == 0 ? LoadFirstStage(name, radix, b) : LoadStage(name, side, radix, done, b);
        b.x = text_.Transform(b.x);
        butterflies.push_back(std::move(b));
      }
      if (stage > 0 && side == "in") text_.Line("barrier();");
      for (size_t t = 0; t < butterflies.size(); ++t)
        StoreStage(fmt::format("o{}_{}", stage, t), side, radix, done, butterflies[t]);
      if (side == "in") text_.Line("barrier();");
      done *= radix;
    }
    return text_.Take();
  }

 private:
  // A butterfly of a stage: the locals that hold its number among those of its transform, its m and its k.
  struct StageButterfly {
    std::string number, m, k;
    bool surplus;  // there may be no butterfly of this number
    std::vector<ComplexText> x;
  };

  // Which transform of the group invocation i works on (number_<side>) and as which lane of it, and where its line
  // begins. `across`: neighbours take neighbouring transforms, which are neighbours in memory.
  void DeclareSide(const std::string& side, bool across, int64_t size) {
    const int64_t lanes = job_.pass.lanes, transforms = job_.pass.transforms;
    const std::string number = "number_" + side, lane = "lane_" + side, u = "u_" + side;
    Declare(number, across ? fmt::format("i % {}u", transforms) : fmt::format("i / {}u", lanes));
    Declare(lane, across ? fmt::format("i / {}u", transforms) : fmt::format("i % {}u", lanes));
    Declare(u, fmt::format("group * {}u + {}", transforms, number));
    Declare("own_" + side, fmt::format("min({}, {} - 1u)", u, Number(job_.units())));
    Split("rest_" + side, "place_" + side, "own_" + side, job_.inner);
    Split("no_" + side, "l_" + side, "rest_" + side, job_.stride());
    Split("m_" + side, "k_" + side, "l_" + side, job_.before);
    Declare("line_" + side, fmt::format("no_{0} * {1} + place_{0}", side, Number(size * job_.inner)));
  }

  StageButterfly DeclareButterfly(const std::string& name, const std::string& side, int64_t first, int64_t radix,
                                  int64_t done) {
    const int64_t count = job_.pass.radix / radix;
    StageButterfly b{name + "_q", name + "_m", name + "_k", first + job_.pass.lanes > count, {}};
    Declare(b.number, fmt::format("lane_{} + {}u", side, first));
    Declare(name + "_at", b.surplus ? fmt::format("min({}, {}u)", b.number, count - 1) : b.number);
    Declare(b.m, fmt::format("{}_at / {}u", name, done));
    Declare(b.k, fmt::format("{}_at % {}u", name, done));
    return b;
  }

  // From memory, with the twiddles of the pass.
  void LoadFirstStage(const std::string& name, int64_t radix, StageButterfly& b) {
    const int64_t apart = job_.pass.radix / radix;
    const std::vector<FftTable> twiddles = job_.Twiddles();
    for (int64_t j = 0; j < radix; ++j) {
      const std::string own = fmt::format("{}_v{}", name, j), point = own + "_p", t = own + "_t";
      if (job_.in.chirp && j * apart * job_.stride() >= job_.length) {
        b.x.emplace_back();
        continue;
      }
      Declare(point, fmt::format("{}_at + {}u", name, j * apart));
      Declare(t, fmt::format("l_in + {} * {}", point, Number(job_.stride())));
      ComplexText value = job_.in.chirp ? LoadWithin(t, own) : LoadInput(t, own);
      if (twiddles.size() == 1) {
        const std::string index = fmt::format("{} * {} + k_in", point, Number(job_.before));
        value = TimesTable(value, twiddles[0], index, own + "_w");
      } else if (twiddles.size() == 2) {
        value = text_.Multiply(value, RootFromTwo(twiddles, fmt::format("({} * k_in)", point), own + "_w"));
      }
      b.x.push_back(value);
    }
  }

  // From shared memory, with the twiddles of the stage.
  void LoadStage(const std::string& name, const std::string& side, int64_t radix, int64_t done, StageButterfly& b) {
    for (int64_t j = 0; j < radix; ++j) {
      const std::string own = fmt::format("{}_v{}", name, j);
      Declare(own + "_e", fmt::format("PLACE(number_{}, {}_at + {}u)", side, name, j * (job_.pass.radix / radix)));
      for (const char* part : {"re", "im"}) text_.Line("{0} {1}_{2} = exchange_{2}[{1}_e];", real_, own, part);
      ComplexText value{{own + "_re"}, {own + "_im"}};
      if (j > 0) {
        const FftTable table{Kind::kButterfly, radix, done, job_.turned};
        value = TimesTable(value, table, fmt::format("{}u + {}", j * done, b.k), own + "_w");
      }
      b.x.push_back(value);
    }
  }

  // To shared memory, or from the last stage to memory.
  void StoreStage(const std::string& name, const std::string& side, int64_t radix, int64_t done,
                  const StageButterfly& b) {
    const bool last = side == "out";
    const std::string live = last ? fmt::format("u_out < {}", Number(job_.units())) : "true";
    text_.Line(b.surplus ? fmt::format("if ({} && {} < {}u) {{", live, b.number, job_.pass.radix / radix)
                         : fmt::format("if ({}) {{", live));
    Declare(name, fmt::format("{} * {}u + {}", b.m, radix * done, b.k));
    if (last) Declare(name + "_first", fmt::format("m_out * {} + k_out", Number(job_.pass.radix * job_.before)));
    for (int64_t s = 0; s < radix; ++s) {
      const std::string own = fmt::format("{}_{}", name, s), point = fmt::format("{} + {}u", name, s * done);
      const ComplexText& value = b.x[static_cast<size_t>(s)];
      if (last) {
        Declare(own, fmt::format("{}_first + ({}) * {}", name, point, Number(job_.before)));
        StoreOutput(own, value, own + "_x");
        continue;
      }
      Declare(own, fmt::format("PLACE(number_{}, {})", side, point));
      text_.Line("exchange_re[{}] = {};", own, text_.Text(value.re));
      text_.Line("exchange_im[{}] = {};", own, text_.Text(value.im));
    }
    text_.Line("}");
  }
};

}  // namespace

Step WriteFftPass(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                  const FftSlices& slices) {
  if (job.pass.by_subgroup) return WriteFftLines(context, plan, job, name, slices.from, slices.into, slices.tables);
  KernelBuilder kernel(context.facts);
  const bool staged = !job.pass.stages.empty();
  const uint32_t lanes = staged ? static_cast<uint32_t>(job.pass.lanes * job.pass.transforms) : 64;
  // Butterflies are long: an invocation makes one, or one for each of some neighbours.
  const int64_t each = staged ? job.pass.transforms : lanes, groups = CeilDivide(job.units(), each);
  kernel.Param(staged ? groups : job.units());  // P(0) of the algorithm
  if (staged) {
    kernel.Define("void transforms(uint group, uint i)", FftStageWriter(kernel, plan, job, slices).Write());
    return kernel.Finish(name, "fft/stages.comp", {lanes, 1, 1}, groups);
  }
  kernel.Define("void element(uint u)", FftUnitWriter(kernel, plan, job, slices).Write());
  Step step = kernel.Finish(name, "elementwise/fused_loop.comp", {lanes, 1, 1, 1}, groups);
  step.kernel.whole_items = groups * lanes == job.units() && !HasSurplusGroups(context.facts, groups) ? 1 : 0;
  return step;
}

Code FftUnitText(KernelBuilder& kernel, const FftPlan& plan, const FftJob& job, const FftSlices& slices) {
  return FftUnitWriter(kernel, plan, job, slices).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
