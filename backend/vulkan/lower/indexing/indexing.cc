// Dynamic-update-slice and scatter: loops over the updates that change a part of an array where it lies.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "backend/vulkan/lower/indexing/scatter_text.h"
#include "backend/vulkan/lower/tuning/tuner.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Where the arrays of the hero lie: its results, or scratch for those that nobody reads. What is not there already (the
// scheduler puts an operand in memory there) is written first, by `steps`, if the updates do not write it along.
std::vector<BufferSlice> PlaceArrays(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                     bool no_updates, bool writes_all, std::vector<Step>* steps) {
  std::vector<BufferSlice> places, fresh;
  std::vector<const Instruction*> values;
  for (int array = 0; array < UpdatedArrays(*body.hero); ++array) {
    const Instruction& operand = *body.hero->operand(array);
    const int leaf = body.LeafOf(*body.hero, array);
    places.push_back(leaf < 0 ? buffers.Scratch(operand.shape().SizeBytes())
                              : buffers.SliceOf(*body.instruction, leaf));
    if (!no_updates && (writes_all || (leaf >= 0 && body.OperandOf(operand) != nullptr))) continue;
    values.push_back(&operand);
    fresh.push_back(places.back());
  }
  if (!values.empty()) steps->push_back(LowerLoop(context, body, buffers, values, fresh));
  return places;
}

// Only the fusion of a text can hold more than the hero's own results.
Status CheckNothingBehind(const FusionDescription& body) {
  for (const Instruction* behind : body.epilogue) {
    if (IsHeroElement(*behind)) continue;
    return Unsupported("{}: a kernel that updates an array in place computes nothing behind it, not {}",
                       body.hero->name(), behind->name());
  }
  return OkStatus();
}

// Made before what refers to it.
struct ScatterKernel {
  ScatterKernel(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : kernel(context.facts), writer(kernel, body, buffers, space) {}
  KernelBuilder kernel;
  IndexSpace space;
  ValueWriter writer;
};

// Windows of updates, each applied by lanes side by side: on their own, or one behind the other where they may meet.
class ScatterWindows : protected ScatterKernel, protected ScatterText {
 public:
  static constexpr int64_t kCost = 64, kManyElements = 1 << 12;
  // What adds in parts has two steps, which share the values of parts of runs, kParts and kJoin.
  enum class Stage : uint8_t { kWhole, kParts, kJoin };
  ScatterWindows(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                 std::span<const BufferSlice> places, Stage stage = Stage::kWhole,
                 std::span<const BufferSlice> parts = {})
      : ScatterKernel(context, body, buffers),
        ScatterText(*body.hero, kernel, space, writer, "combine"),
        context_(context),
        body_(body),
        stage_(stage) {
    const Shape& operand = scatter_.operand(0)->shape();
    const bool by_window = way_ == ScatterWay::kOneByOne, by_place = way_ == ScatterWay::kPlaces;
    const int64_t units = stage == Stage::kWhole ? form_.count : PartCount(form_.count);
    count_ = by_window                            ? window_count_
             : by_place && stage != Stage::kParts ? operand.ElementCount()
                                                  : units * window_count_;
    tuning_ = TuneLoop(context.facts, context.bindings, count_, kCost);
    if (stage != Stage::kWhole || by_place) tuning_.items = 1;
    width_ = window_count_ % 4 == 0 && InnermostIsWhole(operand) && count_ >= kManyElements ? 4 : 1;
    if (width_ > 1) tuning_.items = std::max(1u, tuning_.items / 4);
    tuning_.width = static_cast<uint32_t>(width_);
    const bool apart = way_ == ScatterWay::kApart || way_ == ScatterWay::kAtomic;
    if (width_ > 1 && apart)
      tuning_ = TunerOf(context.facts).NeighboursInTurn(tuning_, count_, width_ * StorageBytes(operand.element_type()));
    kernel_.Param(static_cast<uint32_t>(count_ / width_));  // P(0) of fused_loop.comp
    if (by_place) {
      DeclareRuns(body, stage == Stage::kParts ? std::span<const BufferSlice>() : places);
    } else {
      Declare(places);
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      const Access access = stage == Stage::kParts ? Access::kWrite : Access::kRead;
      parts_.push_back(kernel_.AddBuffer(reducer_.types[k], access, parts[k]));
    }
  }

  // The operand's last dimension is the updates' last, whole, and starts at 0: neighbours stay neighbours.
  bool InnermostIsWhole(const Shape& operand) const {
    if (form_.window_dims.empty()) return false;
    const auto last = static_cast<size_t>(operand.rank()) - 1;
    const int64_t updates_rank = static_cast<int64_t>(form_.window_dims.size() + form_.batch_dims.size());
    return form_.window_of[last] == static_cast<int64_t>(form_.window_dims.size()) - 1 && form_.index_of[last] < 0 &&
           form_.window_dims.back() == updates_rank - 1 && form_.window_sizes.back() % 4 == 0 &&
           operand.dimension(static_cast<int>(last)) % 4 == 0;
  }

  // Windows that one invocation may go through.
  int64_t MostOfARun() const {
    const int64_t limit = context_.facts.quirks.loop_iteration_limit;
    return limit == 0 ? form_.count : std::max<int64_t>(1, limit / 2 / tuning_.items);
  }

  std::vector<Place> Lanes(const std::function<Place(const IndexExpression&)>& place_at) {
    std::vector<Place> lanes;
    for (int64_t j = 0; j < width_; ++j) lanes.push_back(place_at(space_.Add(first_, {{}, j})));
    return lanes;
  }
  Target TargetOf(const std::vector<Place>& lanes) {
    Target target = ScatterText::TargetOf(lanes[0]);
    for (size_t j = 1; j < lanes.size(); ++j) {
      const bool neighbour =
          ScatterText::TargetOf(lanes[j]).linear == space_.Add(target.linear, {{}, static_cast<int64_t>(j)});
      VXLA_CHECK(neighbour, "lanes of a scatter that go to other rows");
    }
    return target;
  }

  // Each update on its own.
  void WriteApart() {
    const std::vector<Place> lanes = Lanes([this](const IndexExpression& linear) { return PlaceOfUpdate(linear); });
    const Target target = TargetOf(lanes);
    OpenIf(target.conditions);
    if (way_ == ScatterWay::kAtomic) {
      ApplyAtomic(target.linear, lanes);
    } else {
      Apply(target.linear, lanes);
    }
    writer_.CloseBlock();
  }

  // A place of the window goes through all windows.
  void WriteOneByOne() {
    const int window = space_.AddVariable(form_.count);
    writer_.Bind(window, "m");
    writer_.OpenBlock(fmt::format("for (uint m = 0u; m < {}; ++m)", kernel_.Param(static_cast<uint32_t>(form_.count))));
    const std::vector<Place> lanes =
        Lanes([&](const IndexExpression& in_window) { return PlaceOf(space_.Variable(window), in_window); });
    const Target target = TargetOf(lanes);
    OpenIf(target.conditions);
    Apply(target.linear, lanes);
    writer_.CloseBlock();
    writer_.CloseBlock();
  }

  // A window by the name of a GLSL uint.
  IndexExpression Named(const std::string& name) {
    const int variable = space_.AddVariable(form_.count);
    writer_.Bind(variable, name);
    return space_.Variable(variable);
  }

  // The first window of a run goes through it: with `behind`, the window so many behind it goes on from there.
  void WriteRuns(const std::string& behind) {
    const MultiIndex split = space_.Delinearize(first_, IntList{form_.count, window_count_});
    const std::string n = writer_.Index(split[0]);
    writer_.Line(fmt::format("uint n = {};", n));
    writer_.Line(fmt::format("bool leads = n >= {};", behind));
    const IndexExpression at_n = Named("n");
    const std::vector<std::string> own = StartsOf(at_n);
    writer_.OpenBlock(fmt::format("if (leads && {} > 0u)", behind));
    writer_.Line(fmt::format("uint f = n - {};", behind));
    writer_.Line(fmt::format("leads = {};", EqualText(own, StartsOf(Named("f")))));
    writer_.CloseBlock();
    writer_.OpenBlock(fmt::format("if (leads && n > {})", behind));
    writer_.Line(fmt::format("uint q = n - {} - 1u;", behind));
    writer_.Line(fmt::format("leads = !({});", EqualText(own, StartsOf(Named("q")))));
    writer_.CloseBlock();

    const std::vector<Place> lanes = Lanes([&](const IndexExpression& linear) {
      return PlaceOf(at_n, space_.Delinearize(linear, IntList{form_.count, window_count_})[1]);
    });
    Target target = TargetOf(lanes);
    target.conditions.insert(target.conditions.begin(), "leads");
    OpenIf(target.conditions);
    std::vector<std::vector<std::string>> held;
    for (size_t j = 0; j < lanes.size(); ++j) {
      held.push_back(Held(space_.Add(target.linear, {{}, static_cast<int64_t>(j)})));
    }
    writer_.Line(fmt::format("uint end = min({}, n + {});", kernel_.Param(static_cast<uint32_t>(form_.count)),
                             kernel_.Param(static_cast<uint32_t>(MostOfARun()))));
    writer_.Line("bool same = true;");
    writer_.OpenBlock("for (uint m = n; same && m < end; ++m)");
    const IndexExpression at_m = Named("m");
    writer_.Line(fmt::format("same = {};", EqualText(own, StartsOf(at_m))));
    writer_.OpenBlock("if (same)");
    for (size_t j = 0; j < lanes.size(); ++j) {
      Combine(held[j], {space_.Delinearize(at_m, form_.batch_sizes), lanes[j].window});
    }
    writer_.CloseBlock();
    writer_.CloseBlock();
    Store(target.linear, held);
    writer_.CloseBlock();
  }

  // Window n of the invocation, and the elements of it that its lanes are: `split` is (n, the first element).
  std::vector<Place> LanesOf(const IndexExpression& n, const MultiIndex& split) {
    std::vector<Place> lanes;
    for (int64_t j = 0; j < width_; ++j) {
      lanes.push_back(PlaceOf(n, space_.Add(split[1], {{}, j})));
    }
    return lanes;
  }
  MultiIndex Split(int64_t units) { return space_.Delinearize(first_, IntList{units, window_count_}); }
  // A local bool: window `a` starts where window `b` does.
  void DeclareSame(const std::string& name, const IndexExpression& a, const IndexExpression& b) {
    const std::vector<std::string> starts = StartsOf(a);
    writer_.Line(fmt::format("bool {} = {};", name, EqualText(starts, StartsOf(b))));
  }

  // The last window of a run stays.
  void WriteLast() {
    const MultiIndex split = Split(form_.count);
    writer_.Line(fmt::format("uint n = {};", writer_.Index(split[0])));
    writer_.Line(fmt::format("uint next = min(n + 1u, {});", kernel_.Param(static_cast<uint32_t>(form_.count - 1))));
    DeclareSame("same", Named("n"), Named("next"));
    writer_.OpenBlock("if (n == next || !same)");
    const std::vector<Place> lanes = LanesOf(Named("n"), split);
    const Target target = TargetOf(lanes);
    OpenIf(target.conditions);
    Apply(target.linear, lanes);
    writer_.CloseBlock();
    writer_.CloseBlock();
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  const Stage stage_;
  int64_t count_ = 1, width_ = 1;
  LoopTuning tuning_;
  IndexExpression first_;
  std::vector<int> parts_;
};

// Of long runs also the parts.
class ScatterWriter : ScatterWindows {
 public:
  using ScatterWindows::ScatterWindows, ScatterWindows::Stage;

  std::vector<Step> Write() {
    const int loop = space_.AddVariable(count_ / width_);
    writer_.Bind(loop, "i");
    if (width_ > 1) writer_.Vectorize(loop, static_cast<int>(width_));
    first_ = space_.Scale(space_.Variable(loop), width_);
    const int64_t steps = way_ == ScatterWay::kRuns ? CeilDivide(form_.count, MostOfARun()) : 1;
    // Which part of its run an invocation looks at, in elements before its own.
    const std::string behind = way_ == ScatterWay::kRuns ? kernel_.Param(0) : "";
    const size_t behind_at = 1;
    switch (way_) {
      case ScatterWay::kOneByOne:
        WriteOneByOne();
        break;
      case ScatterWay::kRuns:
        WriteRuns(behind);
        break;
      case ScatterWay::kLast:
        WriteLast();
        break;
      case ScatterWay::kParts:
        stage_ == Stage::kParts ? WriteParts() : WriteJoin();
        break;
      case ScatterWay::kPlaces:
        stage_ == Stage::kParts ? WriteWholePart() : TakeRun(first_, width_, parts_);
        break;
      default:
        WriteApart();
    }
    kernel_.Define("void element(uint i)", writer_.Take());
    std::vector<Step> result;
    for (int64_t s = 0; s < steps; ++s) {
      result.push_back(FinishLoop(context_, kernel_, tuning_, count_, StepName(body_)));
      if (way_ == ScatterWay::kRuns) result.back().params.at(behind_at) = static_cast<uint32_t>(s * MostOfARun());
    }
    return result;
  }

 private:
  void WriteWholePart() {
    const MultiIndex split = Split(PartCount(form_.count));
    writer_.Line(fmt::format("uint c = {};", writer_.Index(split[0])));
    SumPart("c", split[1], width_, parts_);
  }

  // The windows [b, e) of part c.
  void OpenPart(const MultiIndex& split) {
    const std::string length = kernel_.Param(static_cast<uint32_t>(WindowsOfAPart(form_.count)));
    writer_.Line(fmt::format("uint c = {}, b = c * {};", writer_.Index(split[0]), length));
    writer_.Line(fmt::format("uint e = min(b + {}, {});", length, CountParam()));
  }
  std::string CountParam() {
    if (count_param_.empty()) count_param_ = kernel_.Param(static_cast<uint32_t>(form_.count));
    return count_param_;
  }
  // Where the values of part c lie: of the run that it goes on with (0), or of that which goes on in the next part (1).
  IndexExpression PartPlace(const IndexExpression& part, const std::string& which, const MultiIndex& split) {
    const int variable = space_.AddVariable(2);
    writer_.Bind(variable, which);
    const MultiIndex index{part, space_.Variable(variable), split[1]};
    return space_.Linearize(index, IntList{PartCount(form_.count), 2, window_count_});
  }
  std::vector<std::vector<std::string>> Accumulators() {
    std::vector<std::vector<std::string>> held(static_cast<size_t>(width_));
    for (auto& lane : held) {
      for (const ElementType type : reducer_.types) lane.push_back(writer_.Assignable(type, ZeroText(type)));
    }
    return held;
  }
  void Assign(const std::vector<std::string>& held, const std::vector<std::string>& values) {
    for (size_t k = 0; k < held.size(); ++k) writer_.Line(fmt::format("{} = {};", held[k], values[k]));
  }

  // A part goes through its runs. One that begins in it starts with what the array holds; if it ends there too, the
  // array has its result, else parts_ have its value so far. Of a run from before they have the updates alone.
  void WriteParts() {
    const MultiIndex split = Split(PartCount(form_.count));
    OpenPart(split);
    writer_.Line("bool inherited = false, begins = true;");
    writer_.OpenBlock("if (b > 0u)");
    writer_.Line("uint before = b - 1u;");
    DeclareSame("same", Named("b"), Named("before"));
    writer_.Line("inherited = same;");
    writer_.CloseBlock();
    const std::vector<std::vector<std::string>> held = Accumulators();
    writer_.OpenBlock("for (uint m = b; m < e; ++m)");
    const IndexExpression at_m = Named("m");
    const std::vector<Place> lanes = LanesOf(at_m, split);
    const Target target = TargetOf(lanes);
    writer_.Line(fmt::format("bool inside = {};", target.conditions.empty()
                                                      ? "true"
                                                      : fmt::format("{}", fmt::join(target.conditions, " && "))));
    writer_.OpenBlock("if (begins && !inherited && inside)");
    for (size_t j = 0; j < held.size(); ++j)
      Assign(held[j], Held(space_.Add(target.linear, {{}, static_cast<int64_t>(j)})));
    writer_.CloseBlock();
    for (size_t j = 0; j < held.size(); ++j) {
      std::vector<std::string> values;
      for (int k = 0; k < form_.arrays; ++k) values.push_back(Update(k, lanes[j]));
      writer_.OpenBlock("if (begins && inherited)");
      Assign(held[j], values);
      writer_.CloseBlock();
      writer_.OpenBlock("else");
      writer_.Line(JoinText("combine", held[j], values));
      writer_.CloseBlock();
    }
    writer_.Line(fmt::format("uint next = min(m + 1u, {} - 1u);", CountParam()));
    DeclareSame("same", at_m, Named("next"));
    writer_.Line("bool ends = m == next || !same;");
    writer_.OpenBlock("if (ends && !inherited && inside)");
    Store(target.linear, held);
    writer_.CloseBlock();
    writer_.OpenBlock("if (inherited ? ends || m + 1u == e : !ends && m + 1u == e)");
    writer_.Line("uint which = inherited ? 0u : 1u;");
    const int part = space_.AddVariable(PartCount(form_.count));
    writer_.Bind(part, "c");
    const IndexExpression place = PartPlace(space_.Variable(part), "which", split);
    for (size_t k = 0; k < parts_.size(); ++k) {
      std::vector<std::string> values;
      for (const auto& lane : held) values.push_back(lane[k]);
      writer_.StoreGroup(parts_[k], place, values);
    }
    writer_.CloseBlock();
    writer_.Line("begins = ends;");
    writer_.Line("inherited = inherited && !ends;");
    writer_.CloseBlock();
  }

  // The part in which a run begins that goes on goes through the parts that have the rest.
  void WriteJoin() {
    const int64_t parts = PartCount(form_.count);
    const MultiIndex split = Split(parts);
    OpenPart(split);
    writer_.Line("bool goes_on = false;");
    writer_.Line("uint last = e - 1u;");
    const IndexExpression last = Named("last");
    writer_.OpenBlock(fmt::format("if (e < {})", CountParam()));
    DeclareSame("same", last, Named("e"));
    writer_.Line("goes_on = same;");
    writer_.CloseBlock();
    writer_.OpenBlock("if (goes_on && b > 0u)");
    writer_.Line("uint before = b - 1u;");
    DeclareSame("same", last, Named("before"));
    writer_.Line("goes_on = !same;");
    writer_.CloseBlock();
    const std::vector<Place> lanes = LanesOf(last, split);
    Target target = TargetOf(lanes);
    target.conditions.insert(target.conditions.begin(), "goes_on");
    OpenIf(target.conditions);
    const auto values_of = [&](const std::string& part, const std::string& which, size_t lane) {
      const int variable = space_.AddVariable(parts);
      writer_.Bind(variable, part);
      const IndexExpression place = PartPlace(space_.Variable(variable), which, split);
      std::vector<std::string> values;
      for (const int k : parts_) values.push_back(writer_.Load(k, space_.Add(place, {{}, static_cast<int64_t>(lane)})));
      return values;
    };
    const std::vector<std::vector<std::string>> held = Accumulators();
    writer_.Line("uint begun = 1u, rest = 0u;");
    for (size_t j = 0; j < held.size(); ++j) Assign(held[j], values_of("c", "begun", j));
    writer_.OpenBlock(
        fmt::format("for (uint k = c + 1u; goes_on && k < {}; ++k)", kernel_.Param(static_cast<uint32_t>(parts))));
    for (size_t j = 0; j < held.size(); ++j) writer_.Line(JoinText("combine", held[j], values_of("k", "rest", j)));
    const std::string length = kernel_.Param(static_cast<uint32_t>(WindowsOfAPart(form_.count)));
    writer_.Line(fmt::format("uint first = min((k + 1u) * {}, {} - 1u);", length, CountParam()));
    DeclareSame("same", last, Named("first"));
    writer_.Line("goes_on = same;");
    writer_.CloseBlock();
    Store(target.linear, held);
    writer_.CloseBlock();
  }
  std::string count_param_;
};

}  // namespace

Status CanLowerDynamicUpdateSlice(const LowerContext&, const FusionDescription& body) {
  return CheckNothingBehind(body);
}

Result<std::vector<Step>> LowerDynamicUpdateSlice(const LowerContext& context, const FusionDescription& body,
                                                  BufferMap& buffers) {
  const Instruction& hero = *body.hero;
  const int64_t count = hero.operand(1)->shape().ElementCount();
  std::vector<Step> steps;
  const BufferSlice place = PlaceArrays(context, body, buffers, count == 0, false, &steps)[0];
  if (count == 0) return steps;
  const LoopTuning tuning = TuneLoop(context.facts, context.bindings, count);
  const int64_t width = tuning.width;
  KernelBuilder kernel(context.facts);
  kernel.Param(static_cast<uint32_t>(count / width));  // P(0) of fused_loop.comp
  IndexSpace space;
  const int loop = space.AddVariable(count / width);
  ValueWriter writer(kernel, body, buffers, space);
  writer.Bind(loop, "i");
  if (width > 1) writer.Vectorize(loop, static_cast<int>(width));
  writer.OnlyMoves();
  writer.HideLoads();
  const int k = kernel.AddBuffer(hero.shape().element_type(), Access::kReadWrite, place);
  writer.StoreUpdate(k, hero, space.Scale(space.Variable(loop), width), width);
  kernel.Define("void element(uint i)", writer.Take());
  steps.push_back(FinishLoop(context, kernel, tuning, count, StepName(body)));
  steps.back().in_place = PlacesOf(body, buffers);
  return steps;
}

Status CanLowerScatter(const LowerContext& context, const FusionDescription& body) {
  VXLA_RETURN_IF_ERROR(CheckNothingBehind(body));
  if (WayOf(*body.hero, ScatterTargetOf(context.facts)) == ScatterWay::kUnordered &&
      body.hero->operand(body.hero->operand_count() - 1)->shape().ElementCount() > 0) {
    return Unsupported("{}: windows that may meet and are not sorted", body.hero->name());
  }
  return CheckReducer(*body.hero->called(0));
}

Result<std::vector<Step>> LowerScatter(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const int64_t count = body.hero->operand(body.hero->operand_count() - 1)->shape().ElementCount();
  std::vector<Step> steps;
  const ScatterWay way = WayOf(*body.hero, ScatterTargetOf(context.facts));
  const bool by_place = way == ScatterWay::kPlaces;
  const std::vector<BufferSlice> places = PlaceArrays(context, body, buffers, count == 0, by_place, &steps);
  if (count == 0) return steps;
  std::vector<Step> updates;
  if (way == ScatterWay::kParts || (by_place && AddsInParts(*body.hero))) {
    const ScatterForm form(*body.hero);
    std::vector<BufferSlice> parts;
    int64_t values = (by_place ? 1 : 2) * ScatterText::PartCount(form.count);
    for (const int64_t size : form.window_sizes) values *= size;
    for (const ElementType type : ReadReducer(*body.hero->called(0)).types)
      parts.push_back(buffers.Scratch(values * std::max(StorageBytes(type), 4)));
    for (const auto stage : {ScatterWriter::Stage::kParts, ScatterWriter::Stage::kJoin}) {
      ScatterWriter writer(context, body, buffers, places, stage, parts);
      updates.push_back(writer.Write().front());
    }
  } else {
    updates = ScatterWriter(context, body, buffers, places).Write();
  }
  (by_place ? updates.back() : updates.front()).in_place = PlacesOf(body, buffers);
  steps.insert(steps.end(), std::make_move_iterator(updates.begin()), std::make_move_iterator(updates.end()));
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
