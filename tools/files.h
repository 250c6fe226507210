// Files: reading whole ones, and writing them so that they are whole or absent.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// "-" is standard input. InvalidArgument if it cannot be read.
Result<std::string> ReadFile(const std::string& path);
// Calls `write` with a temporary name beside `path` and renames that on success; removes it on failure.
Status WriteWhole(const std::string& path, const std::function<Status(const std::string& temporary)>& write);
// A text in one piece; "-" is standard output.
Status WriteText(const std::string& path, std::string_view text);

}  // namespace VXLA_NAMESPACE
