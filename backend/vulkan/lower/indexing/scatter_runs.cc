// Updates in the order of the places where they go (ScatterWay::kPlaces): an element finds the first of its own place
// by halving, and takes them one after the other. Nobody else writes it, so nothing has to be there before.
//
// Where there are many, they are added up as ScatterWay::kParts does, to the same bits: those of the part in which a
// run begins onto what the element holds, those of each other part by themselves. Sums of parts that lie in a run whole
// are made before, so that no invocation goes through more than two parts.
#include "backend/vulkan/lower/indexing/scatter_runs.h"

#include <fmt/format.h>

#include <bit>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Updates that are read before the first of them is taken, on GPUs, and sums of parts: NVIDIA's compiler lets a load
// wait for what the one before it is needed for (lower/whiles/units/rows.cc). Where an update is more than loads, its
// text stands once.
constexpr int64_t kUpdatesAtOnce = 4, kMostOfAnUpdate = 16, kSumsAtOnce = 8;

}  // namespace

void ScatterRuns::DeclareRuns(const FusionDescription& body, std::span<const BufferSlice> places) {
  kernel_.Append(reducer_.combine(combine_));
  at_once_ = kernel_.keeps_loops() && ElementCosts(body.computed) < kMostOfAnUpdate ? kUpdatesAtOnce : 1;
  for (size_t k = 0; k < places.size(); ++k) {
    const auto array = static_cast<int>(k);
    const Instruction& operand = *scatter_.operand(array);
    computed_.push_back(body.LeafOf(*body.hero, array) < 0 || body.OperandOf(operand) == nullptr);
    tensors_.push_back(kernel_.AddBuffer(operand.shape().element_type(),
                                         computed_[k] ? Access::kWrite : Access::kReadWrite, places[k]));
  }
}

IndexExpression ScatterRuns::Window(const std::string& name) {
  return space_.Variable(writer_.NewVariable(name, form_.count));
}

std::string ScatterRuns::StartsAt(const std::string& window, const std::vector<std::string>& place) {
  return EqualText(place, StartsOf(Window(window)));
}

std::string ScatterRuns::Belongs(const std::string& window, const Run& run) {
  return run.stop.empty() ? StartsAt(window, run.place) : fmt::format("{} < {}", window, run.stop);
}

std::string ScatterRuns::RunStart(const IndexExpression& index) {
  const Instruction& starts = *scatter_.operand(form_.arrays);
  return writer_.Assignable(ElementType::kS32, writer_.Value(starts, {index}));
}

int64_t ScatterRuns::PlaceCount() const {
  int64_t places = 1;
  for (size_t d = 0; d < form_.index_of.size(); ++d) {
    if (form_.index_of[d] >= 0) places *= scatter_.operand(0)->shape().dimension(static_cast<int>(d));
  }
  return places;
}

void ScatterRuns::DeclareBefore(const std::string& name, const std::vector<std::string>& place) {
  const std::string count = kernel_.Param(form_.count);
  writer_.Line("uint {} = 0u;", name);
  writer_.OpenBlock("for (uint stride = {}; stride > 0u; stride >>= 1u)",
                    kernel_.Param(std::bit_floor(static_cast<uint32_t>(form_.count))));
  writer_.Line("uint probe = min({} + stride, {}) - 1u;", name, count);
  const std::vector<std::string> starts = StartsOf(Window("probe"));
  // In the order of an index vector's elements; those below 0 come first.
  std::vector<size_t> order(place.size());
  for (size_t i = 0; const int64_t element : form_.index_of) {
    if (element >= 0) order[static_cast<size_t>(element)] = i++;
  }
  std::string below = "false";
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const size_t i = *at;
    const std::string less = fmt::format("int({}) < int({})", starts[i], place[i]);
    below = i == order.back() ? less : fmt::format("({} || ({} == {} && {}))", less, starts[i], place[i], below);
  }
  writer_.Line("if ({0} + stride <= {1} && {2}) {0} += stride;", name, count, below);
  writer_.CloseBlock();
}

void ScatterRuns::TakeWhile(const Run& run, const Turns& turns, int64_t at_once) {
  const auto& [n, end, begun, belongs, values] = turns;
  writer_.OpenBlock("for (bool more = true; more && {} < {};)", n, end);
  std::vector<std::string> names{n}, takes;
  for (int64_t j = 1; j < at_once; ++j) {
    names.push_back(fmt::format("{}_{}", n, j));
    writer_.Line("uint {} = min({} + {}u, {} - 1u);", names.back(), n, j, end);
  }
  for (int64_t j = 0; j < at_once; ++j) {
    takes.push_back(fmt::format("takes_{}", j));
    const std::string own = belongs(names[static_cast<size_t>(j)]);
    const std::string before = j == 0 ? "" : fmt::format("takes_{} && {} + {}u < {} && ", j - 1, n, j, end);
    writer_.Line("bool {} = {}({});", takes.back(), before, own);
  }
  std::vector<std::vector<std::vector<std::string>>> read;  // by turn, lane and array
  for (size_t j = 0; at_once > 1 && j < names.size(); ++j) read.push_back(values(names[j]));
  for (size_t j = 0; j < names.size(); ++j) {
    writer_.OpenBlock("if ({})", takes[j]);
    if (at_once == 1) read.push_back(values(names[j]));
    for (size_t lane = 0; lane < run.held.size(); ++lane) {
      const auto& held = run.held[lane];
      const std::string taken = JoinText(combine_, held, read[j][lane]);
      if (begun.empty()) {
        writer_.Line(taken);
        continue;
      }
      writer_.OpenBlock("if ({})", begun);
      writer_.Line(taken);
      writer_.CloseBlock();
      writer_.OpenBlock("else");
      for (size_t k = 0; k < held.size(); ++k) writer_.Line("{} = {};", held[k], read[j][lane][k]);
      writer_.CloseBlock();
    }
    if (!begun.empty()) writer_.Line("{} = true;", begun);
    writer_.CloseBlock();
  }
  writer_.Line("more = {};", takes.back());
  for (const std::string& taken : takes) writer_.Line("{} += {} ? 1u : 0u;", n, taken);
  writer_.CloseBlock();
}

void ScatterRuns::TakeUpdates(const Run& run, const std::string& m, const std::string& end, const std::string& begun) {
  const auto values = [&](const std::string& window) {
    const MultiIndex batch = space_.Delinearize(Window(window), form_.batch_sizes);
    std::vector<std::vector<std::string>> updates;
    for (const MultiIndex& in_window : run.in_window) {
      std::vector<std::string>& lane = updates.emplace_back();
      for (int k = 0; k < form_.arrays; ++k) lane.push_back(Update(k, {batch, in_window}));
    }
    return updates;
  };
  const auto belongs = [&](const std::string& window) { return Belongs(window, run); };
  TakeWhile(run, {m, end, begun, belongs, values}, at_once_);
}

void ScatterRuns::TakeSums(const Run& run, const std::string& part, std::span<const int> parts) {
  const int64_t count = PartCount(form_.count);
  const std::string windows = kernel_.Param(form_.count), length = kernel_.Param(WindowsOfAPart(form_.count));
  const auto belongs = [&](const std::string& name) {
    writer_.Line("uint last_{0} = min(({0} + 1u) * {1}, {2}) - 1u;", name, length, windows);
    return Belongs("last_" + name, run);
  };
  const auto values = [&](const std::string& name) {
    const int variable = writer_.NewVariable(name, count);
    std::vector<std::vector<std::string>> sums;
    for (const MultiIndex& in_window : run.in_window) {
      const MultiIndex at{space_.Variable(variable), space_.Linearize(in_window, form_.window_sizes)};
      std::vector<std::string>& lane = sums.emplace_back();
      for (const int k : parts) lane.push_back(writer_.Load(k, space_.Linearize(at, IntList{count, window_count_})));
    }
    return sums;
  };
  const std::string end = kernel_.Param(count);
  TakeWhile(run, {part, end, "", belongs, values}, kernel_.keeps_loops() ? kSumsAtOnce : 1);
}

// As TakeUpdates from m on, by the sums of those parts that lie in the run whole.
void ScatterRuns::TakeParts(const Run& run, std::span<const int> parts) {
  const std::string count = kernel_.Param(form_.count), length = kernel_.Param(WindowsOfAPart(form_.count));
  writer_.Line("uint part = m / {0} + 1u, end = min(part * {0}, {1});", length, count);
  TakeUpdates(run, "m", "end", "");
  // The whole parts, and then the one in which it ends.
  writer_.OpenBlock("if (m == end && m < {})", count);
  TakeSums(run, "part", parts);
  writer_.Line("uint rest = min(part * {0}, {1}), rest_end = min(rest + {0}, {1});", length, count);
  writer_.Line("bool begun = false;");
  const Run last{run.place, run.stop, run.in_window, Accumulators(run.held.size())};
  TakeUpdates(last, "rest", "rest_end", "begun");
  writer_.OpenBlock("if (begun)");
  for (size_t j = 0; j < run.held.size(); ++j) writer_.Line(JoinText(combine_, run.held[j], last.held[j]));
  writer_.CloseBlock(2);
}

std::vector<MultiIndex> ScatterRuns::TakeElements(const IndexExpression& linear, int64_t lanes, Run* run) {
  std::vector<MultiIndex> elements;
  for (int64_t j = 0; j < lanes; ++j) {
    elements.push_back(space_.Delinearize(space_.Add(linear, {{}, j}), scatter_.operand(0)->shape().dimensions()));
    MultiIndex& in_window = run->in_window.emplace_back(form_.window_sizes.size());
    for (size_t d = 0; d < form_.window_of.size(); ++d) {
      if (form_.window_of[d] >= 0 && form_.index_of[d] < 0)
        in_window[static_cast<size_t>(form_.window_of[d])] = elements.back()[d];
    }
  }
  return elements;
}

void ScatterRuns::TakeRun(const IndexExpression& linear, int64_t lanes, std::span<const int> parts) {
  const Shape& operand = scatter_.operand(0)->shape();
  Run run;
  const std::vector<MultiIndex> elements = TakeElements(linear, lanes, &run);
  const bool run_starts = scatter_.notes().run_starts;
  MultiIndex place;
  IntList places;
  for (size_t d = 0; d < form_.index_of.size(); ++d) {
    if (form_.index_of[d] < 0) continue;
    place.push_back(elements[0][d]);
    places.push_back(operand.dimension(static_cast<int>(d)));
    if (!run_starts) run.place.push_back(writer_.Index(elements[0][d]));
  }
  // What an element without updates keeps to the bit, in the type of the array.
  std::vector<std::vector<std::string>> results(tensors_.size());
  run.held.resize(elements.size());
  for (size_t k = 0; k < tensors_.size(); ++k) {
    const ElementType type = kernel_.buffer_type(tensors_[k]), sum = reducer_.types[k];
    for (size_t j = 0; j < elements.size(); ++j) {
      const std::string first = computed_[k]
                                    ? writer_.Value(*scatter_.operand(static_cast<int>(k)), elements[j])
                                    : writer_.Load(tensors_[k], space_.Linearize(elements[j], operand.dimensions()));
      results[k].push_back(writer_.Assignable(type, first));
      run.held[j].push_back(writer_.Assignable(sum, ConvertedText(type, sum, first)));
    }
  }
  const std::string count = kernel_.Param(form_.count);
  if (run_starts) {
    const IndexExpression at = space_.Linearize(place, places);
    writer_.Line("uint m = uint({});", RunStart(at));
    writer_.Line("uint stop = uint({});", RunStart(space_.Add(at, {{}, 1})));
    run.stop = "stop";
    writer_.OpenBlock("if (m < stop)");
  } else {
    DeclareBefore("m", run.place);
    writer_.Line("uint begin = min(m, {} - 1u);", count);
    writer_.OpenBlock("if (m < {} && {})", count, StartsAt("begin", run.place));
  }
  if (parts.empty()) {
    TakeUpdates(run, "m", count, "");
  } else {
    TakeParts(run, parts);
  }
  for (size_t k = 0; k < tensors_.size(); ++k) {
    const ElementType type = kernel_.buffer_type(tensors_[k]), sum = reducer_.types[k];
    for (size_t j = 0; j < elements.size(); ++j)
      writer_.Line("{} = {};", results[k][j], ConvertedText(sum, type, run.held[j][k]));
    if (!computed_[k]) writer_.StoreGroup(tensors_[k], linear, results[k]);
  }
  writer_.CloseBlock();
  for (size_t k = 0; k < tensors_.size(); ++k) {
    if (computed_[k]) writer_.StoreGroup(tensors_[k], linear, results[k]);
  }
}

void ScatterRuns::SumPart(const std::string& part, const IndexExpression& in_window, int64_t lanes,
                          std::span<const int> parts) {
  const std::string count = kernel_.Param(form_.count), length = kernel_.Param(WindowsOfAPart(form_.count));
  writer_.Line("uint m = {0} * {1}, end = min(m + {1}, {2});", part, length, count);
  const int variable = writer_.NewVariable(part, PartCount(form_.count));
  Run run;
  if (scatter_.notes().run_starts) {
    run.stop = "end";
    OpenIf({RunStart(space_.Add(space_.Variable(variable), {{}, PlaceCount() + 1})) + " >= 0"});
  } else {
    writer_.Line("uint before = max(m, 1u) - 1u, last = end - 1u;");
    run.place = StartsOf(Window("before"));
    std::vector<std::string> conditions{"m > 0u", StartsAt("last", run.place)};
    const Target target = TargetOf(PlaceOf(Window("before"), in_window));
    conditions.insert(conditions.end(), target.conditions.begin(), target.conditions.end());
    OpenIf(conditions);
  }
  for (int64_t j = 0; j < lanes; ++j)
    run.in_window.push_back(space_.Delinearize(space_.Add(in_window, {{}, j}), form_.window_sizes));
  run.held = Accumulators(run.in_window.size());
  writer_.Line("bool begun = false;");
  TakeUpdates(run, "m", "end", "begun");
  const MultiIndex place{space_.Variable(variable), in_window};
  StoreParts(parts, space_.Linearize(place, IntList{PartCount(form_.count), window_count_}), run.held);
  writer_.CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
