#include "tools/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/terminal.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// A dumb terminal knows no escapes: neither colours nor a line that is replaced.
bool KnowsEscapes() {
  static const bool knows = [] {
    const char* term = std::getenv("TERM");
    return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
  }();
  return knows;
}

bool Colours(Stream stream) {
  static const bool wanted = !IsSet("NO_COLOR");  // no-color.org
  return wanted && KnowsEscapes() && (stream == Stream::kStdout ? StdoutIsTerminal() : StderrIsTerminal());
}

std::string_view CodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kMismatch:
      return "mismatch";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kDeviceFailure:
      return "device_failure";
    case StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case StatusCode::kInternal:
      return "internal";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case StatusCode::kAborted:
      return "aborted";
  }
  return "";
}

int ExitCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kMismatch:
      return 1;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
    case StatusCode::kNotFound:
      return 2;
    default:
      return 3;
  }
}

// FILE:LINE:COLUMN, with which a message about a program begins; empty if it does not.
std::string_view PlaceOf(std::string_view message) {
  const std::string_view line = message.substr(0, message.find('\n'));
  constexpr std::string_view kDigits = "0123456789";
  for (size_t end = line.find(": "); end != std::string_view::npos; end = line.find(": ", end + 1)) {
    const std::string_view place = line.substr(0, end);
    const size_t column = place.find_last_not_of(kDigits);
    if (column == std::string_view::npos || column + 1 == end || column == 0 || place[column] != ':') continue;
    const size_t row = place.find_last_not_of(kDigits, column - 1);
    if (row == std::string_view::npos || row + 1 == column || row == 0 || place[row] != ':') continue;
    return place;
  }
  return {};
}

// At most so many bytes, no character cut in two.
std::string_view CutTo(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// The line on the terminal, drawn ten times a second at most: what takes less than a tenth never shows.
class ProgressLine {
 public:
  ~ProgressLine() {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (drawer_.joinable()) drawer_.join();
  }

  void Show(const std::string& text) {
    std::lock_guard lock(mutex_);
    wanted_ = text;
    if (text.empty()) return Draw();
    if (!drawer_.joinable()) drawer_ = std::thread([this] { DrawUntilEnd(); });
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds kPause{100};

  void DrawUntilEnd() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      changed_.wait(lock, [this] { return ends_ || wanted_ != drawn_; });
      changed_.wait_for(lock, kPause, [this] { return ends_; });
      if (!ends_) Draw();
    }
  }

  void Draw() {
    if (wanted_ == drawn_) return;
    EraseLineOnInterrupt(!wanted_.empty());
    // A line that wraps could not be replaced.
    fmt::print(stderr, "\r\x1b[K{}", CutTo(wanted_, static_cast<size_t>(std::max(TerminalColumns(), 2)) - 1));
    std::fflush(stderr);
    drawn_ = wanted_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string wanted_, drawn_;
  bool ends_ = false;
  std::thread drawer_;
};

}  // namespace

void PrintNotes(const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  Progress("");
  for (const std::string& note : notes) fmt::print(stderr, "vxla: note: {}\n", note);
}

int Report(const Status& status) {
  Progress("");
  // A verdict that is printed already has nothing to add: a difference is a result, no error.
  if (!status.ok() && !status.message().empty())
    fmt::print(stderr, "{} {}\n", Toned(Tone::kBad, "vxla: error:", Stream::kStderr), status.message());
  return ExitCode(status.code());
}

nlohmann::ordered_json ErrorJson(const Status& status) {
  const std::string_view place = PlaceOf(status.message());
  nlohmann::ordered_json where;
  if (!place.empty()) where = place;
  return {{"error",
           {{"code", CodeName(status.code())},
            {"exit_code", ExitCode(status.code())},
            {"message", status.message()},
            {"where", where}}}};
}

bool ShowsProgress() {
  static const bool shows = StderrIsTerminal() && KnowsEscapes();
  return shows;
}

void Progress(const std::string& text) {
  if (!ShowsProgress()) return;
  static ProgressLine line;
  line.Show(text);
}

std::string Toned(Tone tone, std::string_view text, Stream stream) {
  if (!Colours(stream)) return std::string(text);
  const char* code = tone == Tone::kGood ? "1;32" : tone == Tone::kBad ? "1;31" : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace VXLA_NAMESPACE
