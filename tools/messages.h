// What the command says beside its results: notes, errors and progress on stderr, colours where a terminal shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// "vxla: note: ..." on stderr.
void PrintNotes(const std::vector<std::string>& notes);

// The failure on stderr, and its exit code: 0 fine, 1 results differ, 2 the input, 3 the device or the machine.
int Report(const Status& status);
// {error: {code, message, where}}: the code's name, and FILE:LINE:COLUMN or null.
nlohmann::ordered_json ErrorJson(const Status& status);

// Whether there is a terminal to show progress on.
bool ShowsProgress();
// What takes long, in one line on stderr that each call replaces and an empty one erases; on a terminal only. Cheap:
// the line is drawn ten times a second at most. Thread-safe.
void Progress(const std::string& text);

// Colour on a terminal, unless NO_COLOR is set or TERM is dumb; plain text elsewhere.
enum class Stream : uint8_t { kStdout, kStderr };
enum class Tone : uint8_t { kGood, kBad, kFaint };
std::string Toned(Tone tone, std::string_view text, Stream stream = Stream::kStdout);

}  // namespace VXLA_NAMESPACE
