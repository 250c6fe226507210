#include "backend/vulkan/lower/whiles/units/scatter.h"

#include <fmt/format.h>

#include "backend/vulkan/lower/indexing/scatter_text.h"
#include "backend/vulkan/lower/whiles/units/rows.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Windows of one start are neighbours: the first of a run goes through it, or the last replaces what was there.
void WriteSorted(ScatterText& scatter, int64_t updates, ValueWriter& writer, uint32_t lanes, LoopShare share) {
  const bool runs = scatter.way() == ScatterWay::kRuns;
  const int64_t count = scatter.form().count;
  IndexSpace& space = writer.space();
  const int loop = space.AddVariable(updates);
  writer.Bind(loop, "i");
  OpenTurns(writer, "i", updates, lanes, share);
  const auto named = [&](const char* name) {
    const int variable = space.AddVariable(count);
    writer.Bind(variable, name);
    return space.Variable(variable);
  };
  const MultiIndex split = space.Delinearize(space.Variable(loop), IntList{count, scatter.window_count()});
  writer.Line(fmt::format("uint n = {};", writer.Index(split[0])));
  const IndexExpression n = named("n"), neighbour = named("neighbour");
  writer.Line(runs ? "uint neighbour = max(n, 1u) - 1u;"
                   : fmt::format("uint neighbour = min(n + 1u, {}u);", count - 1));
  const std::vector<std::string> own = scatter.StartsOf(n);
  writer.Line(
      fmt::format("bool ends = n == neighbour || !({});", ScatterText::EqualText(own, scatter.StartsOf(neighbour))));
  const ScatterText::Place place = scatter.PlaceOf(n, split[1]);
  ScatterText::Target target = scatter.TargetOf(place);
  target.conditions.insert(target.conditions.begin(), "ends");
  scatter.OpenIf(target.conditions);
  if (runs) {
    const std::vector<std::string> held = scatter.Held(target.linear);
    writer.Line("bool same = true;");
    const IndexExpression m = named("m");
    writer.OpenBlock(fmt::format("for (uint m = n; same && m < {}u; ++m)", count));
    writer.Line(fmt::format("same = {};", ScatterText::EqualText(own, scatter.StartsOf(m))));
    writer.OpenBlock("if (same)");
    scatter.Combine(held, {space.Delinearize(m, scatter.form().batch_sizes), place.window});
    writer.CloseBlock();
    writer.CloseBlock();
    scatter.Store(target.linear, {held});
  } else {
    scatter.Apply(target.linear, {place});
  }
  writer.CloseBlock();
  writer.CloseBlock();
}

// Sums of whole parts, or elements that go through their runs.
void WriteByPlaces(ScatterText& scatter, const FusionDescription& body, std::span<const BufferSlice> arrays,
                   std::span<const BufferSlice> parts, ValueWriter& writer, uint32_t lanes, LoopShare share) {
  const std::vector<Shape> shapes = PartsOfLoopScatter(*body.hero, writer.kernel().facts());
  IndexSpace& space = writer.space();
  scatter.DeclareRuns(body, arrays);
  std::vector<int> tensors;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Access access = arrays.empty() ? Access::kWrite : Access::kRead;
    tensors.push_back(writer.kernel().AddBuffer(shapes[k].element_type(), access, parts[k]));
  }
  const int64_t count = (arrays.empty() ? shapes[0] : body.hero->operand(0)->shape()).ElementCount();
  const int loop = space.AddVariable(count);
  writer.Bind(loop, "i");
  OpenElements(writer, "i", count, lanes, share);
  if (arrays.empty()) {
    const IntList sizes{ScatterText::PartCount(scatter.form().count), scatter.window_count()};
    const MultiIndex split = space.Delinearize(space.Variable(loop), sizes);
    writer.Line(fmt::format("uint part = {};", writer.Index(split[0])));
    scatter.SumPart("part", split[1], 1, tensors);
  } else {
    scatter.TakeRun(space.Variable(loop), 1, tensors);
  }
  writer.CloseBlock();
}

}  // namespace

std::vector<Shape> PartsOfLoopScatter(const Instruction& hero, const DeviceFacts& facts) {
  std::vector<Shape> shapes;
  if (WayOf(hero, ScatterTargetOf(facts)) != ScatterWay::kPlaces || !AddsInParts(hero)) return shapes;
  const ScatterForm form(hero);
  int64_t values = ScatterText::PartCount(form.count);
  for (const int64_t size : form.window_sizes) values *= size;
  for (const ElementType type : ReadReducer(*hero.called(0)).types) shapes.emplace_back(type, IntList{values});
  return shapes;
}

void WriteLoopScatter(const FusionDescription& body, std::span<const BufferSlice> arrays,
                      std::span<const BufferSlice> parts, ValueWriter& writer, uint32_t lanes, LoopShare share,
                      int number) {
  const Instruction& hero = *body.hero;
  IndexSpace& space = writer.space();
  ScatterText scatter(hero, writer.kernel(), space, writer, fmt::format("combine_{}", number));
  const int64_t updates = hero.operand(hero.operand_count() - 1)->shape().ElementCount();
  if (updates == 0) return;
  const ScatterWay way = scatter.way();
  if (way == ScatterWay::kPlaces) return WriteByPlaces(scatter, body, arrays, parts, writer, lanes, share);
  scatter.Declare(arrays);
  if (way == ScatterWay::kRuns || way == ScatterWay::kLast) return WriteSorted(scatter, updates, writer, lanes, share);
  const auto apply = [&](const ScatterText::Place& place) {
    const ScatterText::Target target = scatter.TargetOf(place);
    scatter.OpenIf(target.conditions);
    way == ScatterWay::kAtomic ? scatter.ApplyAtomic(target.linear, {place}) : scatter.Apply(target.linear, {place});
    writer.CloseBlock();
  };
  // One at a time: each has a condition of its own, so neighbours would share no load.
  const bool one_by_one = way == ScatterWay::kOneByOne;
  const int64_t count = one_by_one ? scatter.window_count() : updates;
  const int loop = space.AddVariable(count);
  writer.Bind(loop, "i");
  OpenElements(writer, "i", count, lanes, share);
  if (one_by_one) {
    const int window = space.AddVariable(scatter.form().count);
    writer.Bind(window, "m");
    writer.OpenBlock(fmt::format("for (uint m = 0u; m < {}u; ++m)", scatter.form().count));
    apply(scatter.PlaceOf(space.Variable(window), space.Variable(loop)));
    writer.CloseBlock();
  } else {
    apply(scatter.PlaceOfUpdate(space.Variable(loop)));
  }
  writer.CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
