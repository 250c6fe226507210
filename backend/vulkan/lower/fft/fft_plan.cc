#include "backend/vulkan/lower/fft/fft_plan.h"

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

using Kind = FftTable::Kind;

class FftPlanner {
 public:
  FftPlanner(const LowerContext& context, const FusionDescription& body, bool one_workgroup)
      : context_(context),
        one_workgroup_(one_workgroup),
        fft_(*body.hero),
        attributes_(fft_.attributes<FftAttributes>()),
        from_(fft_.operand(0)->shape()),
        in_pairs_(ComputesInPairs(context, body)) {
    const bool wide = RealPart(from_.element_type()) == ElementType::kF64;
    plan_.complex = wide ? ElementType::kC128 : ElementType::kC64;
    const DeviceFacts& facts = context.facts;
    plan_.fuses = FusesTerms(facts) && !in_pairs_;
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
    if (inverse()) plan_.jobs.back().out.divisor = total;
    plan_.tables = FftTables(plan_.complex);
    for (const FftJob& job : plan_.jobs) {
      for (const FftTable& table : job.Twiddles()) plan_.tables.Want(table);
      for (const FftTable& table : job.StageTwiddles()) plan_.tables.Want(table);
      for (const FftTable& table : job.PackedRoots()) plan_.tables.Want(table);
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
    if (context_.facts.costs.accesses_by_lane) job.whole_table = int64_t{1} << 20;
    job.turned = !plan_.fuses && !in_pairs_;
    job.in.type = real_in ? RealPart(plan_.complex) : plan_.complex;
    job.in.size = sizes_[static_cast<size_t>(axis)];
    if (real_out) job.in.spectrum = PassInput::Spectrum::kHermitian;
    job.in.swap = inverse();
    job.out.type = real_out ? RealPart(plan_.complex) : plan_.complex;
    job.out.size = real_in ? length / 2 + 1 : length;
    job.out.swap_last = inverse();
    sizes_[static_cast<size_t>(axis)] = job.out.size;
    // (In pairs the products of the loads would be most of a kernel.) Short lines need no pass around them, and round
    // less without; many lines take two thirds of the time with it where accesses go lane by lane.
    const bool many = context_.facts.costs.accesses_by_lane && length * job.outer >= (int64_t{1} << 15);
    const int64_t most = plan_.complex == ElementType::kC128 ? 1024 : many ? 256 : 640;
    const bool packs = (real_in || real_out) && length % 2 == 0 && !in_pairs_ && length > most;
    packs ? AddPacked(job, real_in) : AddLines(job);
  }

  void AddLines(FftJob job) {
    const bool plain = job.in.type == plan_.complex && job.in.spectrum == PassInput::Spectrum::kWhole &&
                       job.out.type == plan_.complex && job.in.size == job.length && job.out.size == job.length;
    const bool real = !IsComplex(job.in.type) || !IsComplex(job.out.type);
    const FftShape shape = TuneFft(context_.facts, {job.length, job.outer * job.inner, job.inner > 1, plan_.complex,
                                                    in_pairs_, real, plain, one_workgroup_});
    job.points = shape.points;
    if (!shape.chirp) return AddPasses(job, shape.passes);
    AddChirp(job, shape.passes);
  }

  // An even number of real values as half as many complex ones: neighbours in memory are their parts.
  void AddPacked(FftJob job, bool forward) {
    FftJob end = job;
    job.length /= 2;
    job.in.type = job.out.type = plan_.complex;
    if (!forward) {
      job.in.spectrum = PassInput::Spectrum::kPacked;
      job.out.size = job.length;
      return AddLines(job);
    }
    job.in.size = job.out.size = job.length;
    if (job.length > 1) AddLines(job);
    end.untangles = true;
    end.length = end.points = job.length;
    end.in = {plan_.complex, job.length};
    plan_.jobs.push_back(end);
  }

  // A convolution with the conjugate chirp, between two products with the chirp.
  void AddChirp(const FftJob& whole, const std::vector<FftPass>& passes) {
    FftJob there = whole, back = whole;
    there.in.chirp = true;
    there.out = {plan_.complex, whole.points, false, true, FftTable{Kind::kSpectrum, whole.length, whole.points}};
    back.in = {plan_.complex, whole.points};
    back.out.swap_first = true;
    back.out.factors = FftTable{Kind::kChirp, whole.length, 1};
    back.out.real_at_zero = !IsComplex(whole.in.type);
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
    if (!context_.facts.costs.accesses_by_lane || job.units() < (1 << 12) || job.pass.direct || job.inner > 1 ||
        plan_.complex != ElementType::kC64)
      return 1;
    for (const int64_t width : {4, 2}) {
      const bool whole = job.stride() % width == 0 && (job.before == 1 || job.before % width == 0);
      if (whole && (width < 4 || context_.facts.int64)) return width;
    }
    return 1;
  }

  const LowerContext& context_;
  const bool one_workgroup_;
  const Instruction& fft_;
  const FftAttributes& attributes_;
  const Shape& from_;
  const bool in_pairs_;
  IntList sizes_;
  FftPlan plan_;
};

}  // namespace

std::vector<FftTable> FftJob::Twiddles() const {
  const int64_t around = before * pass.radix;
  if (!pass.direct && before == 1) return {};
  if (around > whole_table) return TwoTables(around);
  if (pass.direct) return {{Kind::kRoots, around, 1}};
  return {{Kind::kButterfly, pass.radix, before, turned}};
}

std::vector<FftTable> FftJob::TwoTables(int64_t around) {
  const int64_t fine = int64_t{1} << (std::bit_width(static_cast<uint64_t>(around)) / 2);
  return {{Kind::kCoarse, around, fine}, {Kind::kFine, around, fine}};
}

std::vector<FftTable> FftJob::PackedRoots() const {
  if (!untangles && in.spectrum != PassInput::Spectrum::kPacked) return {};
  if (length > whole_table) return TwoTables(2 * length);
  return {{Kind::kFirstRoots, 2 * length, untangles ? length / 2 + 1 : length, turned}};
}

std::vector<FftTable> FftJob::StageTwiddles() const {
  if (pass.by_subgroup) {
    if (points <= 512) return {};  // constants of the text
    return {{Kind::kLessOne, 8, points / 8}, {Kind::kButterfly, 8, points / 64}};
  }
  std::vector<FftTable> tables;
  int64_t done = 1;
  for (const int64_t radix : pass.stages) {
    if (done > 1) tables.push_back({Kind::kButterfly, radix, done, turned});
    done *= radix;
  }
  return tables;
}

int64_t FftPlan::most_between() const {
  int64_t most = 0;
  for (size_t i = 0; i + 1 < jobs.size(); ++i) most = std::max(most, jobs[i].out_elements());
  return most;
}

std::vector<int> FftPlan::PlacesOfPasses(bool in_result) const {
  std::vector<int> places;
  for (size_t left = jobs.size(); left-- > 0;) {
    const bool result = left == 0 || (in_result && left % 2 == 0);
    places.push_back(result ? -1 : in_result ? 0 : static_cast<int>((left + 1) % 2));
  }
  return places;
}

FftPlan PlanFft(const LowerContext& context, const FusionDescription& body, bool one_workgroup) {
  return FftPlanner(context, body, one_workgroup).Make();
}

}  // namespace VXLA_NAMESPACE::vulkan
