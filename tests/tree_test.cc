// The rules of this tree that a test can check: who includes whom, sizes of files and folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};

std::vector<SourceFile> ReadSources() {
  const fs::path root = SourceDir();
  std::vector<SourceFile> files;
  for (const char* folder :
       {"core", "backend", "scheduler", "api", "integrations", "shaders", "tools", "tests", "include", "examples"}) {
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

const std::vector<SourceFile>& Sources() {
  static const std::vector<SourceFile> files = ReadSources();
  return files;
}

// What a line includes; empty: nothing.
std::string IncludedBy(const std::string& line) {
  if (line.find("#include") == std::string::npos) return "";
  static const std::regex include(R"(^\s*#include\s+["<]([^">]+)[">])");
  std::smatch match;
  return std::regex_search(line, match, include) ? match[1].str() : "";
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
    {"integrations/", {"backend/cpu/", "backend/vulkan/", "tools/", "tests/", "vulkan/"}},
    {"tools/", {"tests/", "vulkan/"}},
};

// A street: a folder of core, a backend, scheduler, api or integrations, and the others of its layer that its
// files may include, as folders or as single headers. Of other layers kRules says enough, but an integration names all
// that it includes.
struct Street {
  const char* folder;
  std::vector<std::string> may;
};
const Street kStreets[] = {
    // The language, and what the machine gives it, are for every street of core (kLanguage).
    {"core", {}},
    {"core/host", {"core/check.h", "core/status.h"}},
    {"core/data", {"core", "core/host"}},
    {"core/ir", {"core", "core/data", "core/host"}},
    {"core/library", {}},
    {"core/devices", {}},
    {"core/sizes", {"core/ops"}},
    {"core/numerics", {"core/library", "core/sizes"}},
    {"core/maps", {"core/numerics"}},
    {"core/ops", {"core/devices", "core/numerics", "core/sizes"}},
    {"core/text", {"core/devices", "core/ops"}},
    {"core/builder", {"core/ops", "core/sizes", "core/text"}},
    {"core/mlir", {}},
    {"core/mlir/rewrite", {"core/devices", "core/mlir"}},
    {"core/mlir/bytecode", {"core/mlir", "core/mlir/rewrite"}},
    {"core/mlir/reader", {"core/mlir", "core/mlir/bytecode", "core/mlir/rewrite", "core/text"}},
    {"core/mlir/importer",
     {"core/builder", "core/devices", "core/library", "core/mlir", "core/mlir/reader", "core/mlir/rewrite",
      "core/numerics", "core/ops", "core/passes/base", "core/passes/expand", "core/passes/sharding",
      "core/passes/sizes", "core/sizes", "core/text"}},
    {"core/mlir/printer", {"core/devices", "core/mlir", "core/mlir/bytecode", "core/mlir/importer", "core/numerics"}},
    {"core/programs", {"core/builder", "core/library", "core/numerics", "core/passes/base", "core/passes/expand"}},
    {"core/passes/base", {"core/maps", "core/numerics", "core/ops"}},
    {"core/passes/simplify", {"core/numerics", "core/passes/base"}},
    {"core/passes/sizes", {"core/numerics", "core/ops", "core/passes/base", "core/sizes"}},
    {"core/passes/expand",
     {"core/devices", "core/maps", "core/numerics", "core/ops", "core/passes/base", "core/passes/simplify",
      "core/passes/sizes"}},
    {"core/passes/devices",
     {"core/devices", "core/numerics", "core/passes/base", "core/passes/simplify", "core/passes/sizes"}},
    {"core/passes/sharding", {"core/devices", "core/library", "core/numerics", "core/passes/base"}},
    {"core/passes/scans", {"core/maps", "core/numerics", "core/passes/base"}},
    {"core/passes/giants",
     {"core/maps", "core/numerics", "core/passes/base", "core/passes/expand", "core/passes/scans", "core/programs"}},
    {"core/passes/products", {"core/maps", "core/passes/base"}},
    {"core/passes/fuse",
     {"core/maps", "core/numerics", "core/passes/base", "core/passes/giants", "core/passes/products"}},
    {"backend/cpu/reference/arithmetic", {}},
    {"backend/cpu/reference", {"backend/cpu/reference/arithmetic", "backend/cpu/reference/library"}},
    {"backend/cpu/reference/ops",
     {"backend/cpu/reference", "backend/cpu/reference/arithmetic", "backend/cpu/reference/library"}},
    {"backend/cpu/reference/library", {"backend/cpu/reference", "backend/cpu/reference/arithmetic"}},
    {"backend/cpu/twin", {"backend/cpu/reference", "backend/cpu/reference/arithmetic", "backend/cpu/reference/ops"}},
    {"backend/vulkan/codegen/statements", {}},
    {"backend/vulkan/codegen/passes", {"backend/vulkan/codegen/statements", "backend/vulkan/drivers"}},
    {"backend/vulkan/codegen",
     {"backend/vulkan/codegen/passes", "backend/vulkan/codegen/statements", "backend/vulkan/drivers"}},
    {"backend/vulkan/spirv", {}},
    {"backend/vulkan/drivers", {"backend/vulkan/spirv"}},
    {"backend/vulkan/drivers/software",
     {"backend/vulkan/drivers", "backend/vulkan/lower", "backend/vulkan/lower/fft", "backend/vulkan/lower/products",
      "backend/vulkan/lower/sort", "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/shader",
     {"backend/vulkan/codegen/statements", "backend/vulkan/device/handles", "backend/vulkan/device/plan",
      "backend/vulkan/drivers", "backend/vulkan/spirv"}},
    {"backend/vulkan/device/api", {}},
    {"backend/vulkan/device/plan",
     {"backend/vulkan/device/api", "backend/vulkan/drivers", "backend/vulkan/drivers/software"}},
    {"backend/vulkan/device/handles",
     {"backend/vulkan/device/api", "backend/vulkan/device/plan", "backend/vulkan/spirv"}},
    {"backend/vulkan/device/memory", {"backend/vulkan/device/handles", "backend/vulkan/device/plan"}},
    {"backend/vulkan/device/commands", {"backend/vulkan/device/handles", "backend/vulkan/device/memory"}},
    {"backend/vulkan/device/probes",
     {"backend/vulkan/device/commands", "backend/vulkan/device/handles", "backend/vulkan/device/memory",
      "backend/vulkan/device/plan", "backend/vulkan/shader", "backend/vulkan/spirv"}},
    {"backend/vulkan/device",
     {"backend/vulkan/device/api", "backend/vulkan/device/commands", "backend/vulkan/device/handles",
      "backend/vulkan/device/memory", "backend/vulkan/device/plan", "backend/vulkan/device/probes",
      "backend/vulkan/drivers", "backend/vulkan/lower", "backend/vulkan/shader"}},
    {"backend/vulkan/lower", {"backend/vulkan/codegen"}},
    {"backend/vulkan/lower/fusions",
     {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/custom",
      "backend/vulkan/lower/elementwise", "backend/vulkan/lower/tuning", "backend/vulkan/lower/whiles"}},
    {"backend/vulkan/lower/tuning", {}},
    {"backend/vulkan/lower/elementwise",
     {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/rows",
     {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/elementwise",
      "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/indexing",
     {"backend/vulkan/codegen", "backend/vulkan/lower/elementwise", "backend/vulkan/lower/rows",
      "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/products",
     {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/rows", "backend/vulkan/spirv"}},
    {"backend/vulkan/lower/sort", {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/fft",
     {"backend/vulkan/codegen/statements", "backend/vulkan/lower", "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/linalg",
     {"backend/vulkan/codegen/statements", "backend/vulkan/lower", "backend/vulkan/lower/products",
      "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/custom",
     {"backend/vulkan/codegen/statements", "backend/vulkan/lower", "backend/vulkan/lower/tuning",
      "backend/vulkan/shader", "backend/vulkan/spirv"}},
    {"backend/vulkan/lower/whiles/units",
     {"backend/vulkan/codegen", "backend/vulkan/lower", "backend/vulkan/lower/fft", "backend/vulkan/lower/indexing",
      "backend/vulkan/lower/linalg", "backend/vulkan/lower/products", "backend/vulkan/lower/rows",
      "backend/vulkan/lower/sort", "backend/vulkan/lower/tuning"}},
    {"backend/vulkan/lower/whiles",
     {"backend/vulkan/codegen", "backend/vulkan/codegen/passes", "backend/vulkan/lower",
      "backend/vulkan/lower/indexing", "backend/vulkan/lower/tuning", "backend/vulkan/lower/whiles/units"}},
    {"scheduler", {"scheduler/graph", "scheduler/memory", "scheduler/plan"}},
    {"scheduler/plan", {}},
    {"scheduler/graph", {"scheduler/compile.h", "scheduler/memory", "scheduler/plan"}},
    {"scheduler/memory", {"scheduler/graph"}},
    {"scheduler/replicas", {}},
    {"scheduler/replicas/sockets", {"scheduler/replicas"}},
    {"scheduler/bundle", {"scheduler/graph", "scheduler/plan", "scheduler/runtime"}},
    {"scheduler/runtime",
     {"scheduler", "scheduler/bundle", "scheduler/graph", "scheduler/memory", "scheduler/plan",
      "scheduler/runtime/commands", "scheduler/runtime/memory", "scheduler/runtime/programs"}},
    {"scheduler/runtime/memory", {"scheduler/runtime"}},
    {"scheduler/runtime/commands",
     {"scheduler/plan", "scheduler/replicas", "scheduler/runtime", "scheduler/runtime/memory"}},
    {"scheduler/runtime/programs", {"scheduler/replicas", "scheduler/runtime"}},
    {"api", {"api/verify"}},
    {"api/verify", {"api"}},
    {"api/c", {"api"}},
    {"api/runtime", {"api/c"}},
    {"integrations/mpi", {"scheduler/replicas"}},
    {"integrations/pjrt",
     {"api", "backend", "core", "core/data", "core/host", "core/ir", "core/mlir/importer", "core/mlir/printer",
      "core/text", "integrations/pjrt/messages", "scheduler/plan", "scheduler/replicas/sockets", "scheduler/runtime",
      "scheduler/runtime/memory"}},
    {"integrations/pjrt/messages", {"core", "core/ir"}},
};
// What every street of core may include; these themselves include one another as kStreets says.
const std::vector<std::string> kLanguage = {"core", "core/data", "core/host", "core/ir"};
// The file that puts the passes in order includes them all.
const std::string kContents = "core/passes/base/pipeline.cc";

std::string FolderOf(const std::string& path) { return path.substr(0, path.find_last_of('/')); }
// Each backend is a layer of its own.
std::string LayerOf(const std::string& path) {
  for (const std::string backend : {"backend/cpu", "backend/vulkan"})
    if (path.starts_with(backend + "/")) return backend;
  return path.substr(0, path.find('/'));
}

bool IsOfTheProject(const std::string& included) {
  static const std::vector<std::string> folders = {"core",      "backend", "backend/cpu", "backend/vulkan",
                                                   "scheduler", "api",     "integrations"};
  return std::ranges::find(folders, LayerOf(included)) != folders.end();
}

// Whether a file of a street may include another file of the project.
bool May(const Street& street, const std::string& included) {
  const std::string folder = FolderOf(included), layer = LayerOf(street.folder);
  if (folder == street.folder) return true;
  if (layer != "integrations" && LayerOf(included) != layer) return true;
  const auto is_language = [](const std::string& each) {
    return std::ranges::find(kLanguage, each) != kLanguage.end();
  };
  if (layer == "core" && !is_language(street.folder) && is_language(folder)) return true;
  return std::ranges::find(street.may, folder) != street.may.end() ||
         std::ranges::find(street.may, included) != street.may.end();
}

TEST(TreeTest, LayersIncludeOnlyWhatIsBelowThem) {
  for (const SourceFile& file : Sources()) {
    for (size_t n = 0; n < file.lines.size(); ++n) {
      const std::string included = IncludedBy(file.lines[n]);
      if (included.empty()) continue;
      for (const Rule& rule : kRules) {
        if (!file.path.starts_with(rule.from)) continue;
        for (const char* never : rule.never) {
          EXPECT_FALSE(included.starts_with(never)) << file.path << ":" << n + 1 << " includes " << included;
        }
      }
    }
  }
}

TEST(TreeTest, StreetsIncludeOnlyThoseThatTheyName) {
  const std::vector<std::string> layers = {"core", "backend/cpu", "backend/vulkan", "scheduler", "api", "integrations"};
  std::set<std::pair<std::string, std::string>> used;
  for (const SourceFile& file : Sources()) {
    if (std::ranges::find(layers, LayerOf(file.path)) == layers.end()) continue;
    const std::string folder = FolderOf(file.path);
    const auto* street = std::ranges::find_if(kStreets, [&](const Street& each) { return each.folder == folder; });
    ASSERT_NE(street, std::end(kStreets)) << file.path << ": kStreets does not say what " << folder << " may include";
    if (file.path == kContents) continue;
    for (size_t n = 0; n < file.lines.size(); ++n) {
      const std::string included = IncludedBy(file.lines[n]);
      if (!IsOfTheProject(included)) continue;
      EXPECT_TRUE(May(*street, included))
          << file.path << ":" << n + 1 << ": " << folder << " may not include " << included;
      used.emplace(folder, included);
      used.emplace(folder, FolderOf(included));
    }
  }
  for (const Street& street : kStreets) {
    for (const std::string& each : street.may)
      EXPECT_TRUE(used.contains({street.folder, each})) << street.folder << " does not include " << each << " any more";
  }
}

TEST(TreeTest, AnIncludeThatNoStreetNamesIsRefused) {
  const auto may = [](const std::string& folder, const std::string& included) {
    return May(*std::ranges::find_if(kStreets, [&](const Street& each) { return each.folder == folder; }), included);
  };
  EXPECT_TRUE(may("core/passes/fuse", "core/passes/base/fusion_rules.h"));
  EXPECT_TRUE(may("core/passes/fuse", "core/data/shape.h"));
  EXPECT_FALSE(may("core/passes/base", "core/passes/fuse/fusion.h"));
  EXPECT_TRUE(may("core/host", "core/status.h"));
  EXPECT_FALSE(may("core/host", "core/data/shape.h"));
  EXPECT_FALSE(may("core/data", "core/ir/module.h"));
  EXPECT_FALSE(may("scheduler", "scheduler/runtime/client.h"));
  EXPECT_TRUE(may("api/verify", "core/data/shape.h"));
  EXPECT_FALSE(may("integrations/mpi", "core/data/shape.h"));
}

// The streets of backend/vulkan make no circle: each is understood with those that it includes alone.
TEST(TreeTest, TheVulkanBackendGoesOneWay) {
  const std::string vulkan = "backend/vulkan/";
  std::map<std::string, std::vector<std::string>> left;
  for (const Street& street : kStreets) {
    const std::string folder = street.folder;
    if (folder.starts_with(vulkan)) left[folder] = {street.may.begin(), street.may.end()};
  }
  EXPECT_GT(left.size(), 15u);
  const auto has_left = [&](const std::string& folder) { return left.contains(folder); };
  for (bool changed = true; changed;) {
    changed =
        std::erase_if(left, [&](const auto& street) { return std::ranges::none_of(street.second, has_left); }) > 0;
  }
  for (const auto& [folder, may] : left) ADD_FAILURE() << folder << " is part of a circle, or includes one";
}

// Each street has a line in the README of the folder above it (the layer's own, for the layer's own files), or of one
// further up: what it is, and in the last column what kStreets says.
TEST(TreeTest, EachStreetHasALineThatSaysWhatItMayInclude) {
  for (const Street& street : kStreets) {
    const std::string folder = street.folder;
    std::string above = folder.find('/') == std::string::npos ? folder : FolderOf(folder);
    while (!fs::exists(fs::path(SourceDir()) / above / "README.md") && above.find('/') != std::string::npos)
      above = FolderOf(above);
    std::string may;
    for (const std::string& each : street.may) may += (may.empty() ? "`" : ", `") + each + "`";
    if (may.empty()) may = "-";
    std::ifstream in(fs::path(SourceDir()) / above / "README.md");
    EXPECT_TRUE(in) << above << "/README.md is missing";
    bool found = false;
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("| `" + folder + "` | ")) continue;
      found = true;
      EXPECT_TRUE(line.ends_with(" | " + may + " |")) << above << "/README.md: " << folder << " may include " << may;
    }
    EXPECT_TRUE(found) << above << "/README.md has no line for " << folder;
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

// A folder is a street, not a town. Those that are larger today, with room for few more files; a suite of tests is one
// folder whatever its size.
TEST(TreeTest, NoFolderHasMoreThanTwentyFiveFiles) {
  constexpr int kMost = 25;
  const std::map<std::string, int> larger = {
      {"shaders/include/math", 30},
  };
  std::map<std::string, int> files;
  for (const SourceFile& file : Sources()) {
    if (!file.path.starts_with("tests/")) ++files[FolderOf(file.path)];
  }
  for (const auto& [folder, count] : files) {
    const auto known = larger.find(folder);
    EXPECT_LE(count, known == larger.end() ? kMost : known->second) << folder;
  }
  for (const auto& [folder, most] : larger) EXPECT_GT(files[folder], kMost) << folder << " is no exception any more";
}

TEST(TreeTest, HeadersSayWhatTheyAreForInTheirFirstLine) {
  for (const SourceFile& file : Sources()) {
    if (!file.path.ends_with(".h") || file.lines.empty()) continue;
    EXPECT_TRUE(file.lines[0].starts_with("//")) << file.path;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
