// The kernel of a Fourier transform whose lines a subgroup each holds (shaders/software/subgroup_line.comp).
#include <fmt/format.h>

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "backend/vulkan/lower/fft/fft_butterfly.h"
#include "backend/vulkan/lower/fft/fft_plan.h"
#include "backend/vulkan/lower/software_kernels.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// kGroup: values of a vector of words of 64 bits, the widest that a lane loads or stores at once.
constexpr int64_t kLanes = 8, kRows = 64, kGroup = 4;

class FftLineWriter {
 public:
  FftLineWriter(const LowerContext& context, const FftPlan& plan, const FftJob& job)
      : context_(context),
        plan_(plan),
        job_(job),
        columns_(job.points / kRows),
        at_once_(columns_ % kLanes == 0 ? kLanes : kLanes / 2),
        kernel_(context.facts),
        text_(ElementType::kF32, plan.fuses, !plan.fuses) {}

  Step Write(const std::string& name, const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables) {
    kernel_.Param(job_.outer);  // P(0) of the algorithm
    from_ = kernel_.AddBuffer(job_.in.type, Access::kRead, from);
    into_ = kernel_.AddBuffer(job_.out.type, Access::kWrite, into);
    kernel_.AddVectorView(from_, 8);
    kernel_.AddVectorView(into_, 8);
    text_.Line("uint begin = group * {}u;", job_.points);
    DeclareRoots();
    // (LLVM takes four seconds for 16 columns without loops and 20 for 32.)
    if (loops()) {
      tables_ = kernel_.AddBuffer(plan_.complex, Access::kRead, tables);
      kernel_.AddVectorView(tables_, 8);
      kernel_.Append("shared u64vec4 kept[{}];\n", kRows * columns_ / kGroup);
      text_.Line("for (uint column = 0u; column < {}u; column += {}u) {{", columns_, at_once_);
      WriteColumns();
      text_.Line("}");
    } else {
      text_.Line("const uint column = 0u;");
      WriteColumns();
    }
    if (columns_ > kLanes && columns_ % kLanes == 0) {
      text_.Line("for (uint row = 0u; row < 8u; ++row) {");
      WriteRow();
      text_.Line("}");
    } else {
      WriteRows();
    }
    kernel_.Append(kTurned);
    kernel_.Define("void line(uint group, uint lane)", text_.Take());
    return kernel_.Finish(name, "software/subgroup_line.comp", {kLanes, 1, 1}, job_.outer);
  }

 private:
  using Values = std::vector<ComplexText>;

  bool loops() const { return columns_ > at_once_; }

  // Group `group` of what this lane keeps of a row.
  std::string Kept(const std::string& row, const std::string& group) const {
    return fmt::format("kept[(lane * {}u + {}) * {}u + {}]", kLanes, row, columns_ / kGroup, group);
  }
  Values LoadKept(const std::string& row) {
    Values values;
    for (int64_t group = 0; group < columns_ / kGroup; ++group) LoadGroup(Kept(row, fmt::format("{}u", group)), values);
    return values;
  }

  void LoadGroup(const std::string& from, Values& values) {
    const std::string name = fmt::format("w{}", next_local_++);
    text_.Line("u64vec4 {} = {};", name, from);
    for (int64_t i = 0; i < kGroup; ++i) {
      const std::string part = fmt::format("{}_{}", name, i);
      text_.Line("vec2 {} = uintBitsToFloat(unpackUint2x32({}[{}]));", part, name, i);
      values.push_back(ButterflyWriter::PartsOf(part));
    }
  }
  std::string GroupText(std::span<const ComplexText, kGroup> values) const {
    std::string words;
    for (const ComplexText& value : values)
      words += fmt::format("{}JOINED(floatBitsToUint({}), floatBitsToUint({}))", words.empty() ? "" : ", ",
                           text_.Text(value.re), text_.Text(value.im));
    return fmt::format("u64vec4({})", words);
  }
  RealText Declare(const std::string& value) {
    RealText local{fmt::format("v{}", next_local_++)};
    text_.Line("float {} = {};", local.name, value);
    return local;
  }

  // Root k of each lane, w(64)^(lane k), as quarter turns and a rest.
  struct LaneRoot {
    RealText turns;  // a word whose highest bits are the quarters
    ComplexText rest;
  };
  void DeclareRoots() {
    for (int64_t k = 1; k < kLanes; ++k) {
      std::array<std::vector<RealText>, 3> parts;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const TurnedRoot root = NearestQuarter(lane * k, kRows);
        parts[0].push_back(text_.Constant(root.rest.real()));
        parts[1].push_back(text_.Constant(root.rest.imag()));
        parts[2].push_back({fmt::format("uintBitsToFloat({}u)", static_cast<uint32_t>(root.quarters) << 30)});
      }
      for (std::vector<RealText>& part : parts) {
        for (int64_t bit = 1; bit < kLanes; bit *= 2) {
          for (size_t i = 0; 2 * i < part.size(); ++i) {
            part[i] = Declare(fmt::format("pick((lane & {}u) != 0u ? 0xffffffffu : 0u, {}, {})", bit,
                                          text_.Text(part[2 * i]), text_.Text(part[2 * i + 1])));
          }
          part.resize(part.size() / 2);
        }
      }
      roots_.push_back({parts[2][0], {parts[0][0], parts[1][0]}});
    }
  }

  // y w(64)^(lane k) (1 + low).
  ComplexText TimesLaneRoot(const ComplexText& y, int64_t k, const ComplexText& low) {
    const LaneRoot& root = roots_[static_cast<size_t>(k - 1)];
    const std::string name = fmt::format("t{}", next_local_++);
    text_.Line("vec2 {} = turned(floatBitsToUint({}), {});", name, root.turns.name, text_.Text(y));
    return text_.MultiplyOnePlus(text_.MultiplyOnePlus(ButterflyWriter::PartsOf(name), root.rest), low);
  }

  // As many neighbours as there are columns at a time, from an element on, which is a multiple of that.
  Values LoadNeighbours(int k, const std::string& index) {
    Values values;
    for (int64_t group = 0; group < at_once_ / kGroup; ++group)
      LoadGroup(fmt::format("LOAD({}, u64x4, ({}) / {}u + {}u)", k, index, kGroup, group), values);
    return values;
  }
  // Of a table whose row k is w(around)^(k n2): lane k has eight neighbours of row k.
  Values LoadTwiddles(const FftTable& table) {
    return LoadNeighbours(tables_, fmt::format("{}u + lane * {}u + column", plan_.tables.OffsetOf(table), table.b));
  }
  // What lane k has.
  ComplexText Constant(std::complex<double> value) {
    return {text_.Constant(value.real()), text_.Constant(value.imag())};
  }
  ComplexText Of(size_t k, const ComplexText& value) {
    return {Declare(fmt::format("subgroupShuffle({}, {}u)", text_.Text(value.re), k)),
            Declare(fmt::format("subgroupShuffle({}, {}u)", text_.Text(value.im), k))};
  }

  // Value i of lane l becomes value l of lane i.
  void Turn(Values& x) {
    for (RealText ComplexText::*part : {&ComplexText::re, &ComplexText::im}) {
      for (ComplexText& value : x) value.*part = Declare(text_.Text(value.*part));
      for (size_t bit = 1; bit < x.size(); bit *= 2) {
        for (size_t i = 0; i < x.size(); ++i) {
          if ((i & bit) == 0) text_.Line("trade({}u, lane, {}, {});", bit, (x[i].*part).name, (x[i | bit].*part).name);
        }
      }
    }
  }

  void WriteColumns() {
    Values low, high;
    if (loops()) {
      const std::vector<FftTable> tables = job_.StageTwiddles();
      low = LoadTwiddles(tables[0]);
      high = LoadTwiddles(tables[1]);
    }
    // w(points)^(k n2) - 1 and w(points / 8)^(k n2) of column c.
    auto low_of = [&](size_t k, size_t c) {
      return loops() ? Of(k, low[c]) : Constant(UnitRootLessOne(static_cast<int64_t>(k * c), job_.points));
    };
    auto high_of = [&](size_t k, size_t c) {
      return loops() ? Of(k, high[c]) : Constant(UnitRoot(static_cast<int64_t>(k * c), job_.points / kLanes));
    };
    std::vector<Values> x(static_cast<size_t>(at_once_));
    for (int64_t j = 0; j < kLanes; ++j) {
      const Values loaded =
          LoadNeighbours(from_, fmt::format("begin + ({}u + lane) * {}u + column", j * kLanes, columns_));
      for (size_t c = 0; c < x.size(); ++c) x[c].push_back(job_.in.swap ? loaded[c].Swapped() : loaded[c]);
    }
    for (size_t c = 0; c < x.size(); ++c) {
      Values y = text_.Transform(x[c]);
      for (size_t k = 1; k < y.size(); ++k) {
        y[k] = TimesLaneRoot(y[k], static_cast<int64_t>(k), low_of(k, c));
      }
      Turn(y);
      y = text_.Transform(y);
      for (size_t k = 0; k < y.size(); ++k) {
        if (k > 0) y[k] = text_.Multiply(y[k], high_of(k, c));
        rows_[k].push_back(y[k]);
      }
      if (loops() && rows_[0].size() == kGroup) KeepGroups(c / kGroup);
    }
  }
  // A group of each row.
  void KeepGroups(size_t group) {
    for (size_t row = 0; row < rows_.size(); ++row) {
      text_.Line("{} = {};", Kept(fmt::format("{}u", row), fmt::format("column / {}u + {}u", kGroup, group)),
                 GroupText(std::span(rows_[row]).first<kGroup>()));
      rows_[row].clear();
    }
  }

  // The columns' transform of a row, in eights.
  void WriteRow() {
    const int64_t radix = columns_ / kLanes;
    const Values kept = LoadKept("row");
    std::vector<Values> across(static_cast<size_t>(radix));
    for (int64_t q = 0; q < kLanes; ++q) {
      Values x;
      for (int64_t p = 0; p < radix; ++p) x.push_back(kept[static_cast<size_t>(kLanes * p + q)]);
      x = text_.Transform(x);
      for (int64_t r = 0; r < radix; ++r) {
        const auto at = static_cast<size_t>(r);
        across[at].push_back(text_.TimesRoot(x[at], q * r, columns_));
      }
    }
    for (int64_t r = 0; r < radix; ++r) {
      Values y = text_.Transform(across[static_cast<size_t>(r)]);
      Turn(y);
      StoreEight(fmt::format("begin + ({}u + lane * {}u) * {}u + row * 8u", r, radix, kRows), y);
    }
  }

  // Few columns: the transforms of all rows, after which the rows are turned.
  void WriteRows() {
    std::vector<Values> results;
    for (size_t row = 0; row < rows_.size(); ++row)
      results.push_back(text_.Transform(loops() ? LoadKept(fmt::format("{}u", row)) : rows_[row]));
    for (int64_t k = 0; k < columns_; ++k) {
      Values y;
      for (const Values& row : results) y.push_back(row[static_cast<size_t>(k)]);
      Turn(y);
      StoreEight(fmt::format("begin + {}u + lane * {}u", k * kRows, kLanes), y);
    }
  }

  ComplexText Finished(ComplexText value) {
    if (job_.out.swap_last) value = value.Swapped();
    if (job_.out.divisor == 1) return value;
    const Reciprocal scale(job_.out.divisor, true);
    const RealText factor = text_.Constant(scale.factor),
                   rest = scale.rest == 0 ? RealText() : text_.Constant(scale.rest);
    return {text_.Scaled(value.re, factor, rest), text_.Scaled(value.im, factor, rest)};
  }
  // (By fours of words 64 x 4096 take a fifth longer: the driver compares each word's address with the buffer's size.)
  void StoreEight(const std::string& index, Values y) {
    for (ComplexText& value : y) value = Finished(value);
    for (size_t i = 0; i < y.size(); i += kGroup) {
      text_.Line("STORE({}, u64x4, ({}) / {}u + {}u, {});", into_, index, kGroup, i / kGroup,
                 GroupText(std::span(y).subspan(i).first<kGroup>()));
    }
  }

  const LowerContext& context_;
  const FftPlan& plan_;
  const FftJob& job_;
  const int64_t columns_, at_once_;
  KernelBuilder kernel_;
  ButterflyWriter text_;
  std::vector<LaneRoot> roots_;
  std::array<Values, kLanes> rows_;  // of the columns that are not kept in memory
  int next_local_ = 0;
  int from_ = -1, into_ = -1, tables_ = -1;
};

}  // namespace

Step WriteFftLines(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                   const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables) {
  return FftLineWriter(context, plan, job).Write(name, from, into, tables);
}

}  // namespace VXLA_NAMESPACE::vulkan
