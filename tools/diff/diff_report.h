// The report of `vxla diff`: one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "api/verify/diff.h"

namespace VXLA_NAMESPACE {

// "8.59e+06 ulp at [3], 0.5 absolute at [0,1], 2 relative at [3]": each worst difference with its element.
std::string WorstText(const Comparison& comparison);
// How many elements of either value are beyond what rounding does to the reference: the device's, and those of what it
// is compared with where that is not the reference; empty: it was not asked.
std::string RoundingText(const DiffOutcome& outcome, const LeafReport& leaf);

struct ReportKernel {
  std::string algorithm, source;
};
// What the page says beside the outcome.
struct ReportFacts {
  std::string program, command;         // the file, and what repeats the comparison
  std::string alone;                    // what shows the bad instruction alone, where --bisect wrote it
  std::string version;                  // of vxla
  std::string program_hash, arguments;  // XXH3-128 of the file and of the arguments' bytes, empty: not known
  std::string hlo;                      // the bad instruction as a program
  std::vector<ReportKernel> kernels;    // its kernels on the device, as GLSL
  std::string no_kernels;               // why there are none
};

// Verdict, what to do next, results with histograms and heat maps of their differences, the bad instruction's text and
// kernels, instructions, device facts. The file is whole or absent.
Status WriteDiffReport(const std::string& path, const ReportFacts& facts, const DiffOutcome& outcome);

// Text with what HTML gives a meaning replaced.
std::string EscapeHtml(std::string_view text);

}  // namespace VXLA_NAMESPACE
