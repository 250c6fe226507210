// Arrays in numpy's files: one (.npy), and archives of them (.npz, which begin as any archive does).
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_support.h"
#include "tools/numpy_file.h"

namespace {

using namespace vxla;

// An archive is opened by its name: one file for all turns of a process.
const std::string& ArchivePath() {
  static const struct Folder {
    Folder() {
      std::string made = (std::filesystem::temp_directory_path() / "vxla_numpy_XXXXXX").string();
      if (mkdtemp(made.data()) == nullptr) std::abort();
      folder = made;
      archive = made + "/arrays.npz";
    }
    ~Folder() { std::filesystem::remove_all(folder); }
    std::string folder, archive;
  } made;
  return made.archive;
}

void Take(const Result<NumpyArray>& array, const std::string& type_name) {
  if (!testing::Holds(array.status())) return;
  testing::Holds(ToLiteral(*array, type_name, "array").status());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = testing::TextOf(data, size);
  if (!bytes.starts_with("PK")) {
    Take(ParseNpy(bytes, "array"), "");
    return 0;
  }
  std::ofstream(ArchivePath(), std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(size));
  const auto archive = NpzFile::Open(ArchivePath());
  if (!testing::Holds(archive.status())) return 0;
  (*archive)->TakeUnnamedAs("arg");
  // What unpacks to more than this is not asked for, as a command refuses what its program does not take.
  constexpr int64_t kMostElements = 1 << 20;
  const auto accept = [&](const NumpyArray& array) {
    int64_t elements = 1;
    for (const int64_t dimension : array.shape) {
      if (dimension < 0 || dimension > kMostElements) return InvalidArgument("a dimension of {}", dimension);
      if ((elements *= dimension) > kMostElements) return InvalidArgument("{} elements", elements);
    }
    return OkStatus();
  };
  for (const std::string& name : (*archive)->names()) {
    const auto type_name = (*archive)->TypeName(name);
    if (testing::Holds(type_name.status())) Take((*archive)->Read(name, accept), *type_name);
  }
  return 0;
}
