// The rules of this tree that a test can check: who includes whom, file sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};

std::vector<SourceFile> Sources() {
  const fs::path root = SourceDir();
  std::vector<SourceFile> files;
  for (const char* folder :
       {"core", "backend", "scheduler", "api", "shaders", "tools", "tests", "include", "examples"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h" && extension != ".hpp" && extension != ".glsl" &&
          extension != ".comp" && extension != ".def")
        continue;
      SourceFile file{fs::relative(entry.path(), root).generic_string(), {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

// The folder prefixes that files below `from` must not include.
struct Rule {
  const char* from;
  std::vector<const char*> never;
};
const Rule kRules[] = {
    {"core/", {"backend/", "scheduler/", "tools/", "tests/", "vulkan/", "thread", "fstream", "filesystem"}},
    {"backend/", {"scheduler/", "tools/", "tests/"}},
    {"backend/cpu/", {"backend/vulkan/", "vulkan/"}},
    {"backend/cpu/reference/", {"backend/cpu/twin/", "shaders/"}},
    {"backend/vulkan/", {"backend/cpu/"}},
    {"backend/vulkan/codegen/", {"vulkan/"}},
    {"backend/vulkan/lower/", {"vulkan/"}},
    {"backend/vulkan/spirv/", {"vulkan/"}},
    {"backend/vulkan/drivers/", {"vulkan/"}},
    {"scheduler/", {"backend/cpu/", "backend/vulkan/", "tools/", "tests/", "vulkan/"}},
    {"api/", {"tools/", "tests/", "vulkan/"}},
    {"tools/", {"tests/", "vulkan/"}},
};

TEST(TreeTest, LayersIncludeOnlyWhatIsBelowThem) {
  const std::regex include(R"(^\s*#include\s+["<]([^">]+)[">])");
  for (const SourceFile& file : Sources()) {
    for (size_t n = 0; n < file.lines.size(); ++n) {
      std::smatch match;
      if (!std::regex_search(file.lines[n], match, include)) continue;
      for (const Rule& rule : kRules) {
        if (!file.path.starts_with(rule.from)) continue;
        for (const char* never : rule.never) {
          EXPECT_FALSE(match[1].str().starts_with(never)) << file.path << ":" << n + 1 << " includes " << match[1];
        }
      }
    }
  }
}

// Whether kernels run on the host's processor decides in backend/vulkan/drivers/ what things cost, and those costs
// decide the rest (DeviceFacts::Costs).
TEST(TreeTest, NothingThatShapesKernelsAsksForSoftwareDrivers) {
  const std::vector<std::string> shapes = {"core/", "scheduler/", "api/", "backend/"};
  const std::vector<std::string> describes = {"backend/device_facts.h", "backend/vulkan/device/",
                                              "backend/vulkan/drivers/"};
  for (const SourceFile& file : Sources()) {
    const auto is_in = [&](const std::string& folder) { return file.path.starts_with(folder); };
    if (std::ranges::none_of(shapes, is_in) || std::ranges::any_of(describes, is_in)) continue;
    for (size_t n = 0; n < file.lines.size(); ++n) {
      for (const char* word : {"is_software", "kSoftware"})
        EXPECT_EQ(file.lines[n].find(word), std::string::npos)
            << file.path << ":" << n + 1 << ": ask for one of DeviceFacts::Costs";
    }
  }
}

TEST(TreeTest, EveryNamespaceCarriesTheVersion) {
  for (const SourceFile& file : Sources()) {
    if (file.path.starts_with("tests/consumer/")) continue;  // a user's
    for (const std::string& line : file.lines) {
      EXPECT_FALSE(line.starts_with("namespace vxla")) << file.path << ": " << line << ": say VXLA_NAMESPACE";
    }
  }
}

TEST(TreeTest, NoFileIsLongerThanAThousandLines) {
  const std::vector<SourceFile> files = Sources();
  EXPECT_GT(files.size(), 50u);
  for (const SourceFile& file : files) EXPECT_LE(file.lines.size(), 1000u) << file.path;
}

TEST(TreeTest, HeadersSayWhatTheyAreForInTheirFirstLine) {
  for (const SourceFile& file : Sources()) {
    if (!file.path.ends_with(".h") || file.lines.empty()) continue;
    EXPECT_TRUE(file.lines[0].starts_with("//")) << file.path;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
