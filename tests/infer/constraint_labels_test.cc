// Every check of the language carries a label, and every label has a negative test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The files whose checks carry labels: shape inference, the builder, the verifier.
std::vector<fs::path> CheckedFiles() {
  const fs::path core = fs::path(SourceDir()) / "core";
  std::vector<fs::path> files{core / "passes/base/verifier.cc", core / "shape.cc", core / "builder/builder.h"};
  for (const fs::path& folder : {core / "ops", core / "builder"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".cc") files.push_back(entry.path());
    }
  }
  return files;
}

const std::regex kLabel(R"(\b[a-z][a-z0-9_]*_c[0-9]+\b)");
const std::regex kRefusal(R"(\b(OpError|InvalidArgument|Unsupported)\((?!const))");

bool HasLabel(const std::string& line) { return std::regex_search(line, kLabel); }
bool Refuses(const std::string& line) { return std::regex_search(line, kRefusal); }

TEST(ConstraintLabelsTest, EveryRefusalStandsBesideItsLabel) {
  int refusals = 0;
  for (const fs::path& path : CheckedFiles()) {
    const std::vector<std::string> lines = Lines(path);
    for (size_t n = 0; n < lines.size(); ++n) {
      if (!Refuses(lines[n])) continue;
      ++refusals;
      bool labelled = HasLabel(lines[n]) || (n + 1 < lines.size() && HasLabel(lines[n + 1]));
      for (size_t back = 1; back <= 3 && back <= n && !labelled; ++back) {
        labelled = HasLabel(lines[n - back]);
        if (Refuses(lines[n - back])) break;
      }
      EXPECT_TRUE(labelled) << path.filename() << ":" << n + 1 << ": " << lines[n];
    }
  }
  EXPECT_GT(refusals, 150);
}

TEST(ConstraintLabelsTest, EveryLabelHasItsNegativeTest) {
  std::map<std::string, std::string> labels;
  for (const fs::path& path : CheckedFiles()) {
    const std::vector<std::string> lines = Lines(path);
    for (size_t n = 0; n < lines.size(); ++n) {
      for (std::sregex_iterator at(lines[n].begin(), lines[n].end(), kLabel), end; at != end; ++at) {
        labels[at->str()] = path.filename().string() + ":" + std::to_string(n + 1);
      }
    }
  }
  EXPECT_GT(labels.size(), 200u);
  for (const auto& entry : fs::directory_iterator(fs::path(SourceDir()) / "tests/infer")) {
    for (const std::string& line : Lines(entry.path())) {
      for (std::sregex_iterator at(line.begin(), line.end(), kLabel), end; at != end; ++at) labels.erase(at->str());
    }
  }
  for (const auto& [label, place] : labels) ADD_FAILURE() << label << " of " << place << " has no test in tests/infer";
}

}  // namespace
}  // namespace VXLA_NAMESPACE
