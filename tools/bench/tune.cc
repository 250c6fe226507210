#include "tools/bench/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "api/devices.h"
#include "backend/vulkan/device/probes/kept_tuning.h"
#include "core/text/hlo_parser.h"
#include "scheduler/plan/plan_printer.h"
#include "tools/arguments.h"
#include "tools/bench/cases.h"
#include "tools/bench/peers.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWorthIt = 1.03;

struct Knob {
  uint32_t DeviceTuning::*value;
  std::vector<uint32_t> candidates;
  std::vector<std::string> cases;
  bool on_software = false, changes_bits = false;
};

const std::vector<Knob>& Knobs() {
  static const std::vector<Knob> knobs = {
      {&DeviceTuning::loop_group, {64, 128, 256, 512, 1024}, {"add", "tanh_mul_add"}, true},
      {&DeviceTuning::loop_items, {1, 2, 4, 8, 16}, {"add", "tanh_mul_add"}, true},
      {&DeviceTuning::dot_lanes, {8, 16}, {"dot_512", "dot_1024"}},
      {&DeviceTuning::dot_tile, {2, 4, 8}, {"dot_512", "dot_1024"}},
      {&DeviceTuning::dot_k_step, {8, 16, 32}, {"dot_512", "dot_1024"}},
      {&DeviceTuning::row_lanes, {64, 128, 256, 512, 1024}, {"sum", "softmax"}, false, true},
      {&DeviceTuning::busy_groups, {64, 128, 256, 512, 1024, 2048}, {"sum", "softmax", "dot_512"}, false, true}};
  return knobs;
}

const char* NameOf(const Knob& knob) { return std::ranges::find(kTuningFields, knob.value, &TuningField::value)->name; }

std::string TextOf(const DeviceTuning& tuning) {
  std::string text;
  for (const TuningField& field : kTuningFields) {
    if (tuning.*field.value != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field.name, tuning.*field.value);
  }
  return text.empty() ? "the table's values" : text;
}

bool Fits(const Knob& knob, uint32_t value, const DeviceFacts& facts) {
  const uint32_t most = std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
  if (knob.value == &DeviceTuning::dot_lanes) return value * value <= most;
  const bool lanes = knob.value == &DeviceTuning::loop_group || knob.value == &DeviceTuning::row_lanes;
  return !lanes || value <= most;
}

// The plan of each case, by its name.
using Plans = std::map<std::string, std::string>;

// Plans, times and results of the cases under one tuning.
struct Outcome {
  Plans plans;
  std::map<std::string, double> ms;
  std::map<std::string, Literal> results;
};

class Tuner {
 public:
  explicit Tuner(const TuneFlags& flags) : flags_(flags) {}

  Status Run(Json& json) {
    VXLA_RETURN_IF_ERROR(Check());
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> first, Open({}));
    facts_ = first->device().facts();
    Progress("");
    if (!flags_.json) fmt::print("{}, {} {}\n", facts_.name, facts_.driver, facts_.driver_version);
    for (const Knob& knob : Knobs()) {
      if (!Wanted(knob)) continue;
      VXLA_RETURN_IF_ERROR(Try(knob));
    }
    return Keep(json);
  }

 private:
  Status Check() const {
    if (flags_.mode != "keep-bits" && flags_.mode != "any-bits" && flags_.mode != "forget")
      return InvalidArgument("--tune={}: none of keep-bits, any-bits, forget", flags_.mode);
    if (IsCpu(flags_.device.device)) return InvalidArgument("--tune: --device cpu has nothing to tune");
    std::string known;
    for (const std::string& name : Cases()) known += (known.empty() ? "" : ", ") + name;
    for (const std::string& name : flags_.cases) {
      if (!Cases().contains(name)) return InvalidArgument("--tune: {} is none of {}", name, known);
    }
    return OkStatus();
  }
  static std::set<std::string> Cases() {
    std::set<std::string> names;
    for (const Knob& knob : Knobs()) names.insert(knob.cases.begin(), knob.cases.end());
    return names;
  }

  std::vector<std::string> CasesOf(const Knob& knob) const {
    std::vector<std::string> cases;
    for (const std::string& name : knob.cases) {
      if (flags_.cases.empty() || std::ranges::find(flags_.cases, name) != flags_.cases.end()) cases.push_back(name);
    }
    return cases;
  }
  bool Wanted(const Knob& knob) const {
    if (flags_.mode == "forget" || (knob.changes_bits && flags_.mode != "any-bits")) return false;
    return (knob.on_software || !facts_.is_software()) && !CasesOf(knob).empty();
  }

  Result<std::unique_ptr<Client>> Open(const DeviceTuning& tuning) const {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenDevice(flags_.device.options(), tuning));
    return MakeClient(std::move(device));
  }

  // Where the plans are among `measured` they are all that is filled in.
  Result<Outcome> Measure(const DeviceTuning& tuning, const std::vector<std::string>& cases,
                          const std::vector<Plans>& measured = {}) const {
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Open(tuning));
    Outcome outcome;
    std::vector<std::shared_ptr<Executable>> executables;
    for (const std::string& name : cases) {
      const std::vector<BenchCase> all = BenchCases();
      VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module,
                            ParseHlo(std::ranges::find(all, name, &BenchCase::name)->hlo));
      VXLA_ASSIGN_OR_RETURN(executables.emplace_back(), client->Compile(*module, flags_.compile));
      outcome.plans[name] = ToText(executables.back()->plan());
    }
    if (std::ranges::find(measured, outcome.plans) != measured.end()) return outcome;
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string& name = cases[i];
      const std::shared_ptr<Executable>& executable = executables[i];
      VXLA_ASSIGN_OR_RETURN(const ProgramArguments arguments, LoadArguments(executable->module(), flags_.arguments));
      VXLA_ASSIGN_OR_RETURN(Literal result, executable->Run(arguments.pointers()));
      outcome.results.emplace(name, std::move(result));
      std::vector<Argument> on_device;
      for (const Literal& value : arguments.values) {
        VXLA_ASSIGN_OR_RETURN(std::vector<DeviceBuffer> leaves, client->Upload(value));
        on_device.emplace_back(std::move(leaves)).keep = true;
      }
      VXLA_ASSIGN_OR_RETURN(outcome.ms[name], BestOf(flags_.runs, [&]() -> Result<double> {
                              const auto start = Clock::now();
                              VXLA_ASSIGN_OR_RETURN(Execution execution, executable->Execute(on_device));
                              VXLA_RETURN_IF_ERROR(execution.Wait());
                              return MsSince(start);
                            }));
    }
    return outcome;
  }

  // How many times faster, the geometric mean over the cases.
  static double Gain(const Outcome& from, const Outcome& to) {
    double sum = 0;
    for (const auto& [name, ms] : from.ms) sum += std::log(ms / to.ms.at(name));
    return std::exp(sum / static_cast<double>(from.ms.size()));
  }

  Status Try(const Knob& knob) {
    const std::vector<std::string> cases = CasesOf(knob);
    Progress(fmt::format("tuning {}", NameOf(knob)));
    VXLA_ASSIGN_OR_RETURN(Outcome best, Measure(tuning_, cases));
    Show(knob, 0, best, 1, "as before");
    DeviceTuning found = tuning_;
    std::vector<Plans> measured = {best.plans};
    for (const uint32_t value : knob.candidates) {
      if (!Fits(knob, value, facts_)) continue;
      DeviceTuning candidate = tuning_;
      candidate.*knob.value = value;
      Progress(fmt::format("tuning {}: {}", NameOf(knob), value));
      VXLA_ASSIGN_OR_RETURN(Outcome outcome, Measure(candidate, cases, measured));
      if (outcome.ms.empty()) {
        Show(knob, value, outcome, 1, "the same kernels");
        continue;
      }
      measured.push_back(outcome.plans);
      const double gain = Gain(best, outcome);
      if (!knob.changes_bits && outcome.results != best.results) {
        Show(knob, value, outcome, gain, "other bits: left alone");
        continue;
      }
      bool better = gain >= kWorthIt;
      if (better) {  // once more, as a busy machine may have been busier with one of them
        VXLA_ASSIGN_OR_RETURN(const Outcome again, Measure(found, cases));
        VXLA_ASSIGN_OR_RETURN(Outcome confirmed, Measure(candidate, cases));
        better = Gain(again, confirmed) >= kWorthIt;
        if (better) outcome = std::move(confirmed);
      }
      Show(knob, value, outcome, gain, better ? "faster" : "");
      if (!better) continue;
      found = candidate;
      best = std::move(outcome);
    }
    tuning_ = found;
    return OkStatus();
  }

  void Show(const Knob& knob, uint32_t value, const Outcome& outcome, double gain, const char* note) {
    Progress("");
    Json row{{"value_of", NameOf(knob)},
             {"value", value == 0 ? Json() : Json(value)},
             {"ms", outcome.ms},
             {"gain", gain},
             {"note", note}};
    measured_.push_back(std::move(row));
    if (flags_.json) return;
    std::string times;
    for (const auto& [name, ms] : outcome.ms) times += fmt::format("  {} {:.3f} ms", name, ms);
    fmt::print("{:<12} {:>6}  {:.2f}{}{}{}\n", NameOf(knob), value == 0 ? "-" : std::to_string(value), gain, times,
               *note == '\0' ? "" : "  ", note);
    std::fflush(stdout);
  }

  Status Keep(Json& json) {
    std::string kept = "not kept (--no-cache)";
    bool is_kept = false;
    if (!flags_.device.no_cache) {
      vulkan::DiskCache disk(vulkan::DefaultCacheFolder(), true);
      if (!vulkan::KeepTuning(disk, facts_, tuning_)) {
        const std::string why = disk.note();
        return DeviceFailure("--tune: what was measured is not kept: {}", why.empty() ? "no cache folder" : why);
      }
      is_kept = true;
      kept = tuning_ == DeviceTuning{} ? "nothing else is kept for this device"
                                       : "kept for this device and driver; --tune=forget takes it back";
    }
    if (flags_.json) {
      json = {{"device", facts_.name}, {"measured", measured_}, {"tuning", TuningJson(tuning_)}, {"kept", is_kept}};
    } else {
      fmt::print("{}: {}\n", TextOf(tuning_), kept);
    }
    return OkStatus();
  }

  const TuneFlags& flags_;
  DeviceFacts facts_;
  DeviceTuning tuning_;
  Json measured_ = Json::array();
};

}  // namespace

Json TuningJson(const DeviceTuning& tuning) {
  Json json = Json::object();
  for (const TuningField& field : kTuningFields) {
    if (tuning.*field.value != 0) json[field.name] = tuning.*field.value;
  }
  return json;
}

Status TuneDevice(const TuneFlags& flags, Json& json) { return Tuner(flags).Run(json); }

}  // namespace VXLA_NAMESPACE
