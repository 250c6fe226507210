// The report of `vxla diff`: one self-contained HTML page.
#pragma once

#include <string>

#include "api/verify/diff.h"

namespace VXLA_NAMESPACE {

// "8.59e+06 ulp at [3], 0.5 absolute at [0,1], 2 relative at [3]": each worst difference with its element.
std::string WorstText(const Comparison& comparison);
// How many elements of either value are beyond what rounding does to the reference: the device's, and those of what it
// is compared with where that is not the reference; empty: it was not asked.
std::string RoundingText(const DiffOutcome& outcome, const LeafReport& leaf);

// Verdict, results with histograms and heat maps of their differences, instructions, device facts and the command to
// repeat it. The file is whole or absent.
Status WriteDiffReport(const std::string& path, const std::string& program, const std::string& command,
                       const DiffOutcome& outcome);

// Text with what HTML gives a meaning replaced.
std::string EscapeHtml(std::string_view text);

}  // namespace VXLA_NAMESPACE
