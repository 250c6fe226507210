// A run's timeline in Chrome's trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "core/status.h"
#include "scheduler/plan/statistics.h"

namespace VXLA_NAMESPACE {

class Trace {
 public:
  // Something that the host did, in milliseconds from the trace's begin on.
  void AddHostSpan(const std::string& name, double begin_ms, double end_ms);
  // A profiled run that began then: what the host computed in it, and each dispatch with its kernel, bytes and
  // operations.
  void AddRun(const std::string& name, double begin_ms, const RunStatistics& run);
  // Whole or not at all.
  Status Write(const std::string& path, const std::string& device) const;

 private:
  std::string events_;
};

}  // namespace VXLA_NAMESPACE
