// .npy and .npz files that lie, are damaged or are larger than they look.
#include "tools/numpy_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zip.h>

#include <cstring>
#include <fstream>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing::numpy_file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectError(const CommandResult& result, int exit_code, const std::string& message) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, HasSubstr(message));
}

std::string Npy(std::string header, std::string_view data, char version = 1) {
  header += '\n';
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data);
}

std::string Header(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", descr, fortran, shape);
}

std::string ErrorOf(const std::string& npy) { return ParseNpy(npy, "a").status().message(); }

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> Floats(const NumpyArray& array) {
  std::vector<float> values(array.data.size() / sizeof(float));
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

TEST(NpyTest, OrdersOfElementsAndBytesAreUndone) {
  const std::string columns = BytesOf<float>({1, 4, 2, 5, 3, 6});
  const auto fortran = ParseNpy(Npy(Header("<f4", "2, 3", "True"), columns), "a");
  ASSERT_TRUE(fortran.ok()) << fortran.status().message();
  EXPECT_THAT(Floats(*fortran), ElementsAre(1, 2, 3, 4, 5, 6));
  std::string swapped = BytesOf<float>({1, -2});
  for (size_t i = 0; i < 8; i += 4) std::reverse(swapped.begin() + i, swapped.begin() + i + 4);
  EXPECT_THAT(Floats(*ParseNpy(Npy(Header(">f4", "2,"), swapped), "a")), ElementsAre(1, -2));
  EXPECT_THAT(Floats(*ParseNpy(Npy(Header("<f4", "2,"), BytesOf<float>({1, 2}), 3), "a")), ElementsAre(1, 2));
  const auto empty = ParseNpy(Npy(Header("<f4", "0, 3", "True"), ""), "a");
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_THAT(empty->shape, ElementsAre(0, 3));
}

TEST(NpyTest, LyingHeadersAreRefused) {
  const std::string two = BytesOf<float>({1, 2});
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "3,"), two)),
            "a: the .npy data is cut short: 8 bytes where the shape (3) of f4 needs 12");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "4294967296, 4294967296"), two)),
            "a: the element count of [4294967296,4294967296] exceeds the limit of 2^63-1");
  EXPECT_EQ(ErrorOf(Npy(Header("<f8", "1099511627776,"), two)),
            "a: f8[1099511627776] takes more than 1099511627776 bytes, the limit of an array in a file");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "-1,"), two)), "a: the .npy header's shape (-1,) is not a list of sizes");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "99999999999999999999,"), two)),
            "a: the .npy header's shape (99999999999999999999,) is not a list of sizes");
  std::string many;
  for (int i = 0; i < 60000; ++i) many += "1,";
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", many), two, 2)), "a: more than 64 dimensions");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "2,", "Perhaps"), two)),
            "a: the .npy header's fortran_order is 'Perhaps', True or False needed");
  EXPECT_EQ(ErrorOf(Npy("{'descr': '<f4', 'shape': (2,), }", two)), "a: the .npy header has no 'fortran_order'");
  EXPECT_EQ(ErrorOf(Npy("{'descr'", two)), "a: the .npy header is cut short");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "2,"), two, 9)), "a: .npy version 9 is not known (1 to 3 are)");
  EXPECT_EQ(ErrorOf(Npy(Header("<f4", "2,"), two).substr(0, 40)), "a: the .npy header is cut short: 40 bytes of 68");
  EXPECT_EQ(ErrorOf(Npy(std::string(2 << 20, ' '), two, 2)),
            "a: a .npy header of 2097153 bytes, at most 1048576 are read");
  EXPECT_EQ(ErrorOf("not numpy's"), "a: not a .npy array (its first bytes are not \\x93NUMPY)");
}

TEST(NpyTest, UnknownElementTypesAreRefused) {
  for (const char* descr :
       {"<f3", "<f", "O", "<", "", "|V4", "<U", "<U99999999999999999999", "<U1048577", "<U-1", "<i4x"}) {
    EXPECT_EQ(ErrorOf(Npy(Header(descr, "2, 2", "True"), "01234567")),
              fmt::format("a: element type '{}' is not supported", descr));
  }
  EXPECT_TRUE(ParseNpy(Npy(Header("<U0", "2, 2", "True"), ""), "a").ok());
}

// ---- archives

struct Entry {
  std::string name, bytes;
};

std::string WriteZip(const std::string& name, const std::vector<Entry>& entries, zip_int32_t method = ZIP_CM_STORE) {
  std::string path = WriteScratch(name, "");
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const Entry& entry : entries) {
    const zip_int64_t at =
        zip_file_add(zip, entry.name.c_str(), zip_source_buffer(zip, entry.bytes.data(), entry.bytes.size(), 0), 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(at), method, 0);
  }
  zip_close(zip);
  return path;
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string kTwo = Npy(Header("<f4", "2,"), BytesOf<float>({1, 2}));

// The damage is in the data of `junk` and nowhere else.
std::string WithDamagedEntry(const std::string& file, const std::vector<Entry>& others) {
  std::vector<Entry> entries = others;
  entries.push_back({"junk.npy", Npy(Header("<f4", "4,"), "DAMAGE-DAMAGE-16")});
  const std::string path = WriteZip(file, entries);
  std::string bytes = Contents(path);
  bytes[bytes.find("DAMAGE")] = '!';
  return WriteScratch(file, bytes);
}

TEST(NpzTest, AnUnaskedEntryIsNotUnpacked) {
  const std::string path = WithDamagedEntry("unasked.npz", {{"arg_0.npy", kTwo}});
  const auto file = NpzFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT((*file)->names(), ElementsAre("arg_0", "junk"));
  EXPECT_THAT(Floats(*(*file)->Read("arg_0")), ElementsAre(1, 2));
  EXPECT_EQ((*file)->Read("junk").status().message(), path + ": junk is corrupt: CRC error");
  EXPECT_EQ((*file)->Read("arg_1").status().message(), path + ": has no arg_1");
}

constexpr char kNegate[] = "ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2] negate(x) }";

TEST(NpzTest, TheCommandAsksForWhatTheProgramNames) {
  const std::string program = WriteScratch("negate.hlo", kNegate);
  const std::string expected =
      WithDamagedEntry("expected.npz", {{"result_0.npy", Npy(Header("<f4", "2,"), BytesOf<float>({-1, -2}))}});
  const std::string arguments = WriteZip("arguments.npz", {{"arg_0.npy", kTwo}});
  const CommandResult r = RunVxla("diff " + program + " --args " + arguments + " --device cpu --against " + expected);
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  ExpectError(RunVxla("run " + program + " --device cpu --args " + WithDamagedEntry("more.npz", {{"arg_0.npy", kTwo}})),
              2, "junk: no parameter wants it");
}

// 64 MiB of zeros in 64 KiB: the header alone tells that nobody wants them.
TEST(NpzTest, ABombIsRefusedByItsHeader) {
  const std::string bomb = Npy(Header("<f4", "16777216,"), std::string(size_t{64} << 20, '\0'));
  const std::string path = WriteZip("bomb.npz", {{"arg_0.npy", bomb}}, ZIP_CM_DEFLATE);
  EXPECT_LT(Contents(path).size(), size_t{100000});
  const auto file = NpzFile::Open(path);
  ASSERT_TRUE(file.ok());
  size_t seen = 1;
  const auto array = (*file)->Read("arg_0", [&](const NumpyArray& header) {
    seen = header.data.size();
    return CheckArray(header, Shape(ElementType::kF32, {2}), "", "arg_0");
  });
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(array.status().message(), "arg_0: f32[16777216] given, the program wants f32[2]");
  ExpectError(RunVxla("run " + WriteScratch("negate.hlo", kNegate) + " --device cpu --args " + path), 2,
              "arg_0: f32[16777216] given, the program wants f32[2]");
}

TEST(NpzTest, EntriesThatLieAreRefused) {
  auto error = [](const std::string& bytes) {
    const auto file = NpzFile::Open(WriteZip("lies.npz", {{"x.npy", bytes}}));
    const std::string message = (*file)->Read("x").status().message();
    return message.substr(message.find(": ") + 2);
  };
  EXPECT_EQ(error(kTwo + "more"), "x: 80 bytes where the shape (2) of f4 needs 76");
  EXPECT_EQ(error(kTwo.substr(0, kTwo.size() - 1)),
            "x: the .npy data is cut short: 7 bytes where the shape (2) of f4 needs 8");
  EXPECT_EQ(error(""), "x: not a .npy array (its first bytes are not \\x93NUMPY)");
  EXPECT_EQ(error("0123456789ab"), "x: not a .npy array (its first bytes are not \\x93NUMPY)");
  // The directory, whose entry has sizes at 20 and 24, tells of more bytes than a deflated entry has.
  std::string longer = Contents(WriteZip("longer.npz", {{"x.npy", kTwo.substr(0, kTwo.size() - 4)}}, ZIP_CM_DEFLATE));
  longer[longer.find("PK\1\2") + 24] += 4;
  const auto file = NpzFile::Open(WriteScratch("longer.npz", longer));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT((*file)->Read("x").status().message(), HasSubstr("x is corrupt: its data end early"));
  const std::string cut = Contents(WriteZip("whole.npz", {{"x.npy", kTwo}}));
  const std::string path = WriteScratch("cut.npz", cut.substr(0, cut.size() / 2));
  EXPECT_THAT(NpzFile::Open(path).status().message(), HasSubstr(path + ": not a readable .npz"));
}

TEST(NpzTest, AProgramWithoutResultsWritesAnArchiveWithoutArrays) {
  const std::string program = WriteScratch("nothing.hlo", "ENTRY e {\n  ROOT r = () tuple()\n}\n");
  const std::string results = WriteScratch("nothing.npz", "");
  const CommandResult r = RunVxla("run " + program + " --device cpu -o " + results);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const auto file = NpzFile::Open(results);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE((*file)->names().empty());
}

TEST(NpzTest, NamesAreUnique) {
  const std::string path = WriteZip("twice.npz", {{"x.npy", kTwo}, {"x", kTwo}});
  EXPECT_EQ(NpzFile::Open(path).status().message(), path + ": two entries are named x");
}

TEST(NpzTest, ASidecarIsText) {
  const std::string path = WriteZip("sidecar.npz", {{"x.npy", kTwo}, {"x__dtype.npy", kTwo}});
  EXPECT_EQ((*NpzFile::Open(path))->TypeName("x").status().message(), path + ": x__dtype is no text that names a type");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::numpy_file
