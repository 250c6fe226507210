#include "tools/bench/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/placed_replicas.h"
#include "core/text/hlo_parser.h"
#include "tools/bench/peers.h"
#include "tools/commands.h"

namespace VXLA_NAMESPACE {
namespace {

// So many all-reduces, one after the other.
std::string Program(int64_t elements, int64_t trips) {
  return fmt::format(R"(sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
body {{ s = (s32[], f32[{0}]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[{0}] get-tuple-element(s), index=1  o = s32[] constant(1)  j = s32[] add(i, o)
  q = u32[] replica-id()  c = f32[] convert(q)  b = f32[{0}] broadcast(c), dimensions={{}}  y = f32[{0}] add(x, b)
  r = f32[{0}] all-reduce(y), channel_id=1, replica_groups={{}}, to_apply=sum
  ROOT t = (s32[], f32[{0}]) tuple(j, r) }}
cond {{ s = (s32[], f32[{0}]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant({1})
  ROOT p = pred[] compare(i, n), direction=LT }}
ENTRY e {{ k = f32[] parameter(0)  x = f32[{0}] broadcast(k), dimensions={{}}  z = s32[] constant(0)
  s = (s32[], f32[{0}]) tuple(z, x)  w = (s32[], f32[{0}]) while(s), condition=cond, body=body
  y = f32[{0}] get-tuple-element(w), index=1  ROOT l = f32[1] slice(y), slice={{[0:1]}} }})",
                     elements, trips);
}

// Gives bytes that a place receives in a trip, and the time of the run.
Result<std::pair<int64_t, double>> Measure(const DeviceOptions& device, int runs, const PlacesTime& what,
                                           int64_t trips) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(Program(what.bytes / 4, trips)));
  const Literal one = Literal::FromVector<float>(Shape(ElementType::kF32), std::vector<float>{1});
  const std::vector<std::vector<const Literal*>> arguments(static_cast<size_t>(what.places), {&one});
  const std::vector<std::string> list(static_cast<size_t>(what.places), device.device);
  VXLA_ASSIGN_OR_RETURN(PlacedExecutable placed, PlacedExecutable::Compile(*module, {what.places, 1}, arguments, list,
                                                                           device, {}, {}, {{}, what.form}));
  const auto run = [&]() -> Result<double> {
    const auto start = Clock::now();
    VXLA_RETURN_IF_ERROR(placed.Run(arguments).status());
    return MsSince(start);
  };
  VXLA_RETURN_IF_ERROR(run().status());  // first touch of memory, lazy compilation of the driver
  VXLA_ASSIGN_OR_RETURN(const double ms, BestOf(runs, run));
  return std::pair(placed.bytes_received(), ms);
}

}  // namespace

Result<std::vector<PlacesTime>> MeasurePlaces(const DeviceOptions& device, int runs) {
  constexpr int64_t kFew = 2, kMany = 8;  // the difference has neither uploads nor downloads in it
  std::vector<PlacesTime> times;
  for (const int64_t places : {3, 4, 8}) {
    for (const int64_t bytes : {int64_t{1} << 10, int64_t{1} << 20, int64_t{64} << 20}) {
      for (const ReductionForm form : {ReductionForm::kWhole, ReductionForm::kParts}) {
        PlacesTime& time = times.emplace_back(PlacesTime{places, bytes, form, 0, 0});
        VXLA_ASSIGN_OR_RETURN(const auto few, Measure(device, runs, time, kFew));
        VXLA_ASSIGN_OR_RETURN(const auto many, Measure(device, runs, time, kMany));
        time.received = many.first;
        time.ms = std::max(0.0, many.second - few.second) / static_cast<double>(kMany - kFew);
      }
    }
  }
  return times;
}

}  // namespace VXLA_NAMESPACE
