// vxla bench --tune: measures on the user's device what tuning otherwise takes from tables, and keeps what is faster.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/session.h"

namespace VXLA_NAMESPACE {

struct TuneFlags {
  // "keep-bits": values that change no result; "any-bits": also those that change the order of sums, so that results
  // round otherwise than before; "forget": the table's values again.
  std::string mode;
  std::vector<std::string> cases;  // of BenchCases; empty: those that each value was chosen for
  DeviceFlags device;
  CompileOptions compile;
  ArgumentSource arguments;
  int runs = 10;
  bool json = false;
};

// The values that are not the table's, by their names.
nlohmann::ordered_json TuningJson(const DeviceTuning& tuning);

// One value after another, by powers of two, next to the best found so far; one that is 3 % faster twice takes its
// place, if results keep their bits or may change. What is found is kept in the cache folder for the device and its
// driver, and every program takes it from then on. kInvalidArgument: a mode or case that is none.
Status TuneDevice(const TuneFlags& flags, nlohmann::ordered_json& json);

}  // namespace VXLA_NAMESPACE
