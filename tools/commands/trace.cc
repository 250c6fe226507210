#include "tools/commands/trace.h"

#include <nlohmann/json.hpp>

#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHostTrack = 1, kDeviceTrack = 2;

Json Span(int track, const std::string& name, double begin_ms, double end_ms) {
  return {{"name", name},
          {"ph", "X"},
          {"pid", 1},
          {"tid", track},
          {"ts", begin_ms * 1e3},
          {"dur", (end_ms - begin_ms) * 1e3}};
}

Json Named(const char* what, int track, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

// Names come from programs, whose bytes need not be UTF-8.
std::string Line(const Json& event) { return ",\n" + event.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

void Trace::AddHostSpan(const std::string& name, double begin_ms, double end_ms) {
  events_ += Line(Span(kHostTrack, name, begin_ms, end_ms));
}

void Trace::AddRun(const std::string& name, double begin_ms, const RunStatistics& run) {
  AddHostSpan(name, begin_ms, begin_ms + run.ms);
  for (const RunSpan& span : run.spans) {
    if (span.step < 0) {
      AddHostSpan(span.on_host, begin_ms + span.begin_ms, begin_ms + span.end_ms);
      continue;
    }
    const StepTime& step = run.steps.at(static_cast<size_t>(span.step));
    Json event = Span(kDeviceTrack, step.name, begin_ms + span.begin_ms, begin_ms + span.end_ms);
    event["args"] = {{"kernel", step.kernel}, {"bytes", step.bytes / step.runs}, {"flop", step.flop / step.runs}};
    events_ += Line(event);
  }
}

Status Trace::Write(const std::string& path, const std::string& device) const {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  text += Named("process_name", kHostTrack, "vxla").dump() + Line(Named("thread_name", kHostTrack, "host")) +
          Line(Named("thread_name", kDeviceTrack, device));
  return WriteText(path, text + events_ + "\n]}\n");
}

}  // namespace VXLA_NAMESPACE
