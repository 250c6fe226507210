// The report of `vxla diff`: one self-contained HTML page.
#pragma once

#include <string>

#include "api/diff.h"

namespace VXLA_NAMESPACE {

// Verdict, results with histograms and heat maps of their differences, instructions, device facts and the command to
// repeat it. The file is whole or absent.
Status WriteDiffReport(const std::string& path, const std::string& program, const std::string& command,
                       const DiffOutcome& outcome);

// Text with what HTML gives a meaning replaced.
std::string EscapeHtml(std::string_view text);

}  // namespace VXLA_NAMESPACE
