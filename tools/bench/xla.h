// Programs in XLA: what `vxla bench --against xla` puts beside its own rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/data/literal.h"
#include "core/ir/module.h"
#include "core/status.h"
#include "tools/bench/load.h"

namespace VXLA_NAMESPACE {

// Both sides run for so long before anything counts: a GPU's clocks rise and settle meanwhile.
inline constexpr double kSettleSeconds = 0.5;

struct XlaTime {
  double call_ms = 0;               // the best call from Python, until its results are there
  std::optional<double> device_ms;  // a run, by the device's events; XLA's CPU has none
  std::string error;                // not empty: XLA does not take the program
};

struct XlaTimes {
  std::string name;               // "XLA (jax 0.11.2, cuda)"
  std::vector<XlaTime> programs;  // in the order in which they were added
};

// Collects programs, and measures them all in one process of Python. It needs JAX there, by whose CUDA or ROCm device
// it measures, or else its CPU.
class XlaPeer {
 public:
  // `python`: a command, found on the PATH; kUnsupported where there is none.
  static Result<XlaPeer> Create(const std::string& python);
  // kUnsupported: StableHLO does not have what the program does.
  Status Add(const Module& module, const std::vector<Literal>& arguments);
  Result<XlaTimes> Measure(int runs) const;

 private:
  std::string python_;
  std::unique_ptr<ScratchFolder> folder_;
  int count_ = 0;
};

// One program on both sides. Times in ms.
struct XlaComparison {
  std::string name;
  double call_ms = 0;               // the best run of the faster way to bind, submitting and waiting
  std::optional<double> device_ms;  // of its kernels, by the device's timestamps, the median of the runs
  XlaTime xla;
  bool by_events() const { return device_ms.has_value() && xla.device_ms.value_or(0) > 0; }
  // By the devices where both have timed it, else by calls: above 1, vxla is the quicker one. 0: XLA has no time.
  double ratio() const;
};

// Writes the file that tools/bench_page.py makes a table and a plot of: the rows that have a ratio, best first.
Status WriteXlaTable(const std::string& file, const DeviceFacts& device, const std::string& xla,
                     std::vector<XlaComparison> rows, const std::string& command);

}  // namespace VXLA_NAMESPACE
