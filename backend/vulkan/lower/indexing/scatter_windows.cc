#include "backend/vulkan/lower/indexing/scatter_windows.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE::vulkan {
namespace {

void Assign(ValueWriter& writer, const std::vector<std::string>& held, const std::vector<std::string>& values) {
  for (size_t k = 0; k < held.size(); ++k) writer.Line("{} = {};", held[k], values[k]);
}

}  // namespace

ScatterWindows::ScatterWindows(const FusionDescription& body, ValueWriter& writer, std::string combine, Stage stage)
    : ScatterRuns(*body.hero, writer.kernel(), writer.space(), writer, std::move(combine)),
      body_(body),
      stage_(stage) {}

int64_t ScatterWindows::CountOf(const Instruction& scatter, ScatterWay way, Stage stage) {
  const ScatterForm form(scatter);
  const int64_t window = ElementCountOf(form.window_sizes);
  if (way == ScatterWay::kOneByOne) return window;
  if (way == ScatterWay::kPlaces && stage != Stage::kParts) return scatter.operand(0)->shape().ElementCount();
  return window * (stage == Stage::kWhole ? form.count : PartCount(form.count));
}

std::vector<Shape> ScatterPartsOf(const Instruction& scatter, const DeviceFacts& facts) {
  const ScatterWay way = WayOf(scatter, ScatterTargetOf(facts));
  const bool by_place = way == ScatterWay::kPlaces && AddsInParts(scatter);
  if (!by_place && way != ScatterWay::kParts) return {};
  const int64_t values = (by_place ? 1 : 2) * ScatterWindows::CountOf(scatter, way, ScatterWindows::Stage::kParts);
  std::vector<Shape> shapes;
  for (const ElementType type : ReadReducer(*scatter.called(0)).types) shapes.emplace_back(type, IntList{values});
  return shapes;
}

void ScatterWindows::Bind(std::span<const BufferSlice> places, std::span<const BufferSlice> parts) {
  const bool sums = stage_ == Stage::kParts;
  if (way_ == ScatterWay::kPlaces) {
    DeclareRuns(body_, sums ? std::span<const BufferSlice>() : places);
  } else {
    Declare(places);
  }
  for (size_t k = 0; k < parts.size(); ++k)
    parts_.push_back(kernel_.AddBuffer(reducer_.types[k], sums ? Access::kWrite : Access::kRead, parts[k]));
}

void ScatterWindows::Write(const IndexExpression& first, int64_t width, const RunTurns& turns) {
  first_ = first;
  width_ = width;
  turns_ = turns;
  switch (way_) {
    case ScatterWay::kOneByOne:
      return WriteOneByOne();
    case ScatterWay::kRuns:
      return WriteRuns();
    case ScatterWay::kLast:
      return WriteLast();
    case ScatterWay::kParts:
      return stage_ == Stage::kParts ? WriteParts() : WriteJoin();
    case ScatterWay::kPlaces:
      return stage_ == Stage::kParts ? WriteWholePart() : TakeRun(first_, width_, parts_);
    default:
      return WriteApart();
  }
}

std::vector<ScatterText::Place> ScatterWindows::Lanes(const std::function<Place(const IndexExpression&)>& place_at) {
  std::vector<Place> lanes;
  for (int64_t j = 0; j < width_; ++j) lanes.push_back(place_at(space_.Add(first_, {{}, j})));
  return lanes;
}
ScatterText::Target ScatterWindows::TargetOf(const std::vector<Place>& lanes) {
  Target target = ScatterText::TargetOf(lanes[0]);
  for (size_t j = 1; j < lanes.size(); ++j) {
    const bool neighbour =
        ScatterText::TargetOf(lanes[j]).linear == space_.Add(target.linear, {{}, static_cast<int64_t>(j)});
    VXLA_CHECK(neighbour, "lanes of a scatter that go to other rows");
  }
  return target;
}

void ScatterWindows::ApplyTo(const std::vector<Place>& lanes) {
  const Target target = TargetOf(lanes);
  OpenIf(target.conditions);
  way_ == ScatterWay::kAtomic ? ApplyAtomic(target.linear, lanes) : Apply(target.linear, lanes);
  writer_.CloseBlock();
}

// Each update on its own.
void ScatterWindows::WriteApart() {
  ApplyTo(Lanes([this](const IndexExpression& linear) { return PlaceOfUpdate(linear); }));
}

// A place of the window goes through all windows.
void ScatterWindows::WriteOneByOne() {
  writer_.OpenBlock("for (uint m = 0u; m < {}; ++m)", kernel_.Param(form_.count));
  const IndexExpression m = Window("m");
  ApplyTo(Lanes([&](const IndexExpression& in_window) { return PlaceOf(m, in_window); }));
  writer_.CloseBlock();
}

// The first window of a run goes through it.
void ScatterWindows::WriteRuns() {
  const MultiIndex split = Split(form_.count);
  const std::string behind = turns_.behind;
  writer_.Line("uint n = {};", writer_.Index(split[0]));
  writer_.Line("bool leads = n >= {};", behind);
  const IndexExpression at_n = Window("n");
  const std::vector<std::string> own = StartsOf(at_n);
  if (behind != "0u") {
    writer_.OpenBlock("if (leads && {} > 0u)", behind);
    writer_.Line("uint f = n - {};", behind);
    writer_.Line("leads = {};", StartsAt("f", own));
    writer_.CloseBlock();
  }
  writer_.OpenBlock("if (leads && n > {})", behind);
  writer_.Line("uint q = n - {} - 1u;", behind);
  writer_.Line("leads = !({});", StartsAt("q", own));
  writer_.CloseBlock();

  const std::vector<Place> lanes = LanesOf(at_n, split);
  Target target = TargetOf(lanes);
  target.conditions.insert(target.conditions.begin(), "leads");
  OpenIf(target.conditions);
  std::vector<std::vector<std::string>> held;
  for (size_t j = 0; j < lanes.size(); ++j) {
    held.push_back(Held(space_.Add(target.linear, {{}, static_cast<int64_t>(j)})));
  }
  const std::string count = kernel_.Param(form_.count);
  writer_.Line(turns_.most == 0 ? fmt::format("uint end = {};", count)
                                : fmt::format("uint end = min({}, n + {});", count, kernel_.Param(turns_.most)));
  writer_.Line("bool same = true;");
  writer_.OpenBlock("for (uint m = n; same && m < end; ++m)");
  const IndexExpression at_m = Window("m");
  writer_.Line("same = {};", EqualText(own, StartsOf(at_m)));
  writer_.OpenBlock("if (same)");
  for (size_t j = 0; j < lanes.size(); ++j) {
    Combine(held[j], {space_.Delinearize(at_m, form_.batch_sizes), lanes[j].window});
  }
  writer_.CloseBlock(2);
  Store(target.linear, held);
  writer_.CloseBlock();
}

// Window n of the invocation, and the elements of it that its lanes are: `split` is (n, the first element).
std::vector<ScatterText::Place> ScatterWindows::LanesOf(const IndexExpression& n, const MultiIndex& split) {
  std::vector<Place> lanes;
  for (int64_t j = 0; j < width_; ++j) {
    lanes.push_back(PlaceOf(n, space_.Add(split[1], {{}, j})));
  }
  return lanes;
}
MultiIndex ScatterWindows::Split(int64_t units) { return space_.Delinearize(first_, IntList{units, window_count_}); }
// A local bool: window `a` starts where window `b` does.
void ScatterWindows::DeclareSame(const std::string& name, const IndexExpression& a, const IndexExpression& b) {
  const std::vector<std::string> starts = StartsOf(a);
  writer_.Line("bool {} = {};", name, EqualText(starts, StartsOf(b)));
}

// The last window of a run stays.
void ScatterWindows::WriteLast() {
  const MultiIndex split = Split(form_.count);
  writer_.Line("uint n = {};", writer_.Index(split[0]));
  writer_.Line("uint next = min(n + 1u, {});", kernel_.Param(form_.count - 1));
  DeclareSame("same", Window("n"), Window("next"));
  writer_.OpenBlock("if (n == next || !same)");
  ApplyTo(LanesOf(Window("n"), split));
  writer_.CloseBlock();
}

void ScatterWindows::WriteWholePart() {
  const MultiIndex split = Split(PartCount(form_.count));
  writer_.Line("uint c = {};", writer_.Index(split[0]));
  SumPart("c", split[1], width_, parts_);
}

// The windows [b, e) of part c.
void ScatterWindows::OpenPart(const MultiIndex& split) {
  const std::string length = kernel_.Param(WindowsOfAPart(form_.count));
  writer_.Line("uint c = {}, b = c * {};", writer_.Index(split[0]), length);
  writer_.Line("uint e = min(b + {}, {});", length, CountParam());
}
std::string ScatterWindows::CountParam() {
  if (count_param_.empty()) count_param_ = kernel_.Param(form_.count);
  return count_param_;
}
// Where the values of part c lie: of the run that it goes on with (0), or of that which goes on in the next part (1).
IndexExpression ScatterWindows::PartPlace(const IndexExpression& part, const std::string& which,
                                          const MultiIndex& split) {
  const MultiIndex index{part, space_.Variable(writer_.NewVariable(which, 2)), split[1]};
  return space_.Linearize(index, IntList{PartCount(form_.count), 2, window_count_});
}

// A part goes through its runs. One that begins in it starts with what the array holds; if it ends there too, the
// array has its result, else parts_ have its value so far. Of a run from before they have the updates alone.
void ScatterWindows::WriteParts() {
  const MultiIndex split = Split(PartCount(form_.count));
  OpenPart(split);
  writer_.Line("bool inherited = false, begins = true;");
  writer_.OpenBlock("if (b > 0u)");
  writer_.Line("uint before = b - 1u;");
  DeclareSame("same", Window("b"), Window("before"));
  writer_.Line("inherited = same;");
  writer_.CloseBlock();
  const std::vector<std::vector<std::string>> held = Accumulators(static_cast<size_t>(width_));
  writer_.OpenBlock("for (uint m = b; m < e; ++m)");
  const IndexExpression at_m = Window("m");
  const std::vector<Place> lanes = LanesOf(at_m, split);
  const Target target = TargetOf(lanes);
  writer_.Line("bool inside = {};",
               target.conditions.empty() ? "true" : fmt::format("{}", fmt::join(target.conditions, " && ")));
  writer_.OpenBlock("if (begins && !inherited && inside)");
  for (size_t j = 0; j < held.size(); ++j)
    Assign(writer_, held[j], Held(space_.Add(target.linear, {{}, static_cast<int64_t>(j)})));
  writer_.CloseBlock();
  for (size_t j = 0; j < held.size(); ++j) {
    std::vector<std::string> values;
    for (int k = 0; k < form_.arrays; ++k) values.push_back(Update(k, lanes[j]));
    writer_.OpenBlock("if (begins && inherited)");
    Assign(writer_, held[j], values);
    writer_.CloseBlock();
    writer_.OpenBlock("else");
    writer_.Line(JoinText("combine", held[j], values));
    writer_.CloseBlock();
  }
  writer_.Line("uint next = min(m + 1u, {} - 1u);", CountParam());
  DeclareSame("same", at_m, Window("next"));
  writer_.Line("bool ends = m == next || !same;");
  writer_.OpenBlock("if (ends && !inherited && inside)");
  Store(target.linear, held);
  writer_.CloseBlock();
  writer_.OpenBlock("if (inherited ? ends || m + 1u == e : !ends && m + 1u == e)");
  writer_.Line("uint which = inherited ? 0u : 1u;");
  const int part = writer_.NewVariable("c", PartCount(form_.count));
  StoreParts(parts_, PartPlace(space_.Variable(part), "which", split), held);
  writer_.CloseBlock();
  writer_.Line("begins = ends;");
  writer_.Line("inherited = inherited && !ends;");
  writer_.CloseBlock();
}

// The part in which a run begins that goes on goes through the parts that have the rest.
void ScatterWindows::WriteJoin() {
  const int64_t parts = PartCount(form_.count);
  const MultiIndex split = Split(parts);
  OpenPart(split);
  writer_.Line("bool goes_on = false;");
  writer_.Line("uint last = e - 1u;");
  const IndexExpression last = Window("last");
  writer_.OpenBlock("if (e < {})", CountParam());
  DeclareSame("same", last, Window("e"));
  writer_.Line("goes_on = same;");
  writer_.CloseBlock();
  writer_.OpenBlock("if (goes_on && b > 0u)");
  writer_.Line("uint before = b - 1u;");
  DeclareSame("same", last, Window("before"));
  writer_.Line("goes_on = !same;");
  writer_.CloseBlock();
  const std::vector<Place> lanes = LanesOf(last, split);
  Target target = TargetOf(lanes);
  target.conditions.insert(target.conditions.begin(), "goes_on");
  OpenIf(target.conditions);
  const auto values_of = [&](const std::string& part, const std::string& which, size_t lane) {
    const int variable = writer_.NewVariable(part, parts);
    const IndexExpression place = PartPlace(space_.Variable(variable), which, split);
    std::vector<std::string> values;
    for (const int k : parts_) values.push_back(writer_.Load(k, space_.Add(place, {{}, static_cast<int64_t>(lane)})));
    return values;
  };
  const std::vector<std::vector<std::string>> held = Accumulators(static_cast<size_t>(width_));
  writer_.Line("uint begun = 1u, rest = 0u;");
  for (size_t j = 0; j < held.size(); ++j) Assign(writer_, held[j], values_of("c", "begun", j));
  writer_.OpenBlock("for (uint k = c + 1u; goes_on && k < {}; ++k)", kernel_.Param(parts));
  for (size_t j = 0; j < held.size(); ++j) writer_.Line(JoinText("combine", held[j], values_of("k", "rest", j)));
  const std::string length = kernel_.Param(WindowsOfAPart(form_.count));
  writer_.Line("uint first = min((k + 1u) * {}, {} - 1u);", length, CountParam());
  DeclareSame("same", last, Window("first"));
  writer_.Line("goes_on = same;");
  writer_.CloseBlock();
  Store(target.linear, held);
  writer_.CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
