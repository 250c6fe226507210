#include "tools/numpy_file.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>

#include "core/limits.h"
#include "core/sizes/live_sizes.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

// numpy writes a few hundred bytes.
constexpr uint32_t kMaxHeaderBytes = 1 << 20;
// Of the characters of a 'U' array's elements.
constexpr size_t kMaxTextLength = 1 << 20;

struct NumpyType {
  std::string_view descr;
  ElementType type;
};
constexpr NumpyType kTypes[] = {
    {"b1", ElementType::kPred}, {"i1", ElementType::kS8},    {"i2", ElementType::kS16}, {"i4", ElementType::kS32},
    {"i8", ElementType::kS64},  {"u1", ElementType::kU8},    {"u2", ElementType::kU16}, {"u4", ElementType::kU32},
    {"u8", ElementType::kU64},  {"f2", ElementType::kF16},   {"f4", ElementType::kF32}, {"f8", ElementType::kF64},
    {"c8", ElementType::kC64},  {"c16", ElementType::kC128},
};

// The value of 'key' in the header's dict: a string, a bool or a tuple, as text.
Result<std::string> HeaderField(std::string_view header, std::string_view key, const std::string& name) {
  const size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return InvalidArgument("{}: the .npy header has no '{}'", name, key);
  size_t begin = header.find(':', at);
  if (begin == std::string_view::npos) return InvalidArgument("{}: the .npy header is cut short", name);
  begin = header.find_first_not_of(' ', begin + 1);
  if (begin == std::string_view::npos) return InvalidArgument("{}: the .npy header is cut short", name);
  const char open = header[begin];
  const size_t end = open == '\''  ? header.find('\'', begin + 1)
                     : open == '(' ? header.find(')', begin)
                                   : header.find_first_of(",}", begin);
  if (end == std::string_view::npos) return InvalidArgument("{}: the .npy header is cut short", name);
  const bool quoted = open == '\'' || open == '(';
  return std::string(header.substr(begin + (quoted ? 1 : 0), end - begin - (quoted ? 1 : 0)));
}

Result<std::vector<int64_t>> ParseShape(const std::string& text, const std::string& name) {
  std::vector<int64_t> shape;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0)
      return InvalidArgument("{}: the .npy header's shape ({}) is not a list of sizes", name, text);
    if (shape.size() == kMaxRank) return InvalidArgument("{}: more than {} dimensions", name, kMaxRank);
    shape.push_back(size);
    at = next;
  }
  return shape;
}

void SwapBytes(std::vector<std::byte>& data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width) std::reverse(data.begin() + i, data.begin() + i + width);
}

std::vector<std::byte> FromFortranOrder(const std::vector<std::byte>& data, const std::vector<int64_t>& shape,
                                        size_t item) {
  std::vector<std::byte> result(data.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t i = 0; i < data.size() / item; ++i) {
    int64_t at = 0, stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      at += index[d] * stride;
      stride *= shape[d];
    }
    std::memcpy(result.data() + i * item, data.data() + static_cast<size_t>(at) * item, item);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

// Bytes of an element, 0 for a type that is not known.
size_t ItemBytes(const std::string& descr) {
  if (descr.empty()) return 0;
  size_t count = 0;
  const char* const end = descr.data() + descr.size();
  const auto parsed = std::from_chars(descr.data() + 1, end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end) return 0;
  if (descr[0] == 'U') return count <= kMaxTextLength ? 4 * count : 0;
  const bool known =
      descr == "V1" || descr == "V2" || std::ranges::find(kTypes, descr, &NumpyType::descr) != std::end(kTypes);
  return known ? count : 0;
}

std::string NpyBytes(const std::string& descr, const std::vector<int64_t>& shape, std::span<const std::byte> data) {
  std::string dims = JoinInts(shape, ", ");
  if (shape.size() == 1) dims += ",";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append(63 - (header.size() + 10) % 64, ' ');
  header.push_back('\n');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

std::string DescrOf(ElementType type) {
  for (const NumpyType& t : kTypes) {
    if (t.type == type) return (BitWidth(type) <= 8 ? "|" : "<") + std::string(t.descr);
  }
  return StorageBytes(type) == 1 ? "|u1" : "<u2";
}

bool NumpyHas(ElementType type) {
  return std::ranges::any_of(kTypes, [&](const NumpyType& t) { return t.type == type; });
}

std::string UnicodeScalar(std::string_view text) {
  std::vector<std::byte> data;
  for (char c : text) {
    data.push_back(static_cast<std::byte>(c));
    data.insert(data.end(), 3, std::byte{0});
  }
  return NpyBytes(fmt::format("<U{}", text.size()), {}, data);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

// The archive is made in memory: libzip writes files through temporaries of its own, and a file has to be whole or
// absent.
Result<std::string> ZipOf(const std::string& path, const Entries& entries) {
  // An archive without entries is its end record alone; libzip makes no file of it.
  if (entries.empty()) return "PK\5\6" + std::string(18, '\0');
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t* archive = target == nullptr ? nullptr : zip_open_from_source(target, ZIP_TRUNCATE, &error);
  if (archive == nullptr) return ResourceExhausted("{}: cannot be written: {}", path, zip_error_strerror(&error));
  zip_source_keep(target);  // closing the archive drops one reference
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = source == nullptr ? -1 : zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index >= 0) zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  std::string bytes;
  zip_stat_t stat;
  bool ok = zip_close(archive) == 0 && zip_source_stat(target, &stat) == 0 && zip_source_open(target) == 0;
  if (ok) {
    bytes.resize(stat.size);
    ok = zip_source_read(target, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
    zip_source_close(target);
  }
  zip_source_free(target);
  if (!ok)
    return ResourceExhausted("{}: cannot be written: the archive of {} arrays could not be made", path, entries.size());
  return bytes;
}

}  // namespace

std::string NumpyArray::text() const {
  std::string result;
  if (descr.empty() || descr[0] != 'U') return result;
  for (size_t i = 0; i + 3 < data.size() && data[i] != std::byte{0}; i += 4)
    result.push_back(static_cast<char>(data[i]));
  return result;
}

namespace {

// The bytes of an .npy file, in order; an error if there are fewer than `size`.
struct ByteSource {
  uint64_t size = 0;
  std::function<Status(char*, size_t)> read;
};

struct NpyHeader {
  NumpyArray array;  // without data
  size_t item_bytes = 0, data_bytes = 0, data_at = 0;
  bool swapped = false, fortran = false;
};

Result<NpyHeader> ParseHeader(std::string_view text, const std::string& name) {
  NpyHeader header;
  VXLA_ASSIGN_OR_RETURN(const std::string descr, HeaderField(text, "descr", name));
  VXLA_ASSIGN_OR_RETURN(const std::string fortran, HeaderField(text, "fortran_order", name));
  VXLA_ASSIGN_OR_RETURN(const std::string shape, HeaderField(text, "shape", name));
  VXLA_ASSIGN_OR_RETURN(header.array.shape, ParseShape(shape, name));
  const char order = descr.empty() ? '?' : descr[0];
  header.array.descr = std::string("<>|=").find(order) == std::string::npos ? descr : descr.substr(1);
  header.item_bytes = ItemBytes(header.array.descr);
  if (header.item_bytes == 0 && header.array.descr != "U0")
    return InvalidArgument("{}: element type '{}' is not supported", name, descr);
  if (fortran != "True" && fortran != "False")
    return InvalidArgument("{}: the .npy header's fortran_order is '{}', True or False needed", name, fortran);
  header.swapped = order == '>';
  header.fortran = fortran == "True";
  Result<int64_t> count = CheckedElementCount(header.array.shape);
  if (!count.ok()) return Status(count.status()).WithPrefix(name + ": ");
  const auto item = static_cast<int64_t>(std::max<size_t>(header.item_bytes, 1));
  if (*count > kMaxFileArrayBytes / item) {
    return InvalidArgument("{}: {}[{}] takes more than {} bytes, the limit of an array in a file", name,
                           header.array.descr, JoinInts(header.array.shape), kMaxFileArrayBytes);
  }
  header.data_bytes = static_cast<size_t>(*count) * header.item_bytes;
  return header;
}

Result<NpyHeader> ReadHeader(ByteSource& source, const std::string& name) {
  char start[12];
  if (source.size < 10) return InvalidArgument("{}: not a .npy array (its first bytes are not \\x93NUMPY)", name);
  VXLA_RETURN_IF_ERROR(source.read(start, 10));
  if (std::string_view(start, 6) != "\x93NUMPY")
    return InvalidArgument("{}: not a .npy array (its first bytes are not \\x93NUMPY)", name);
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    return InvalidArgument("{}: .npy version {} is not known (1 to 3 are)", name, version);
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (source.size < 8 + length_bytes) return InvalidArgument("{}: the .npy header is cut short", name);
  if (version > 1) VXLA_RETURN_IF_ERROR(source.read(start + 10, 2));
  uint32_t size = 0;
  std::memcpy(&size, start + 8, length_bytes);
  const uint64_t data_at = 8 + length_bytes + uint64_t{size};
  if (source.size < data_at)
    return InvalidArgument("{}: the .npy header is cut short: {} bytes of {}", name, source.size, data_at);
  if (size > kMaxHeaderBytes)
    return InvalidArgument("{}: a .npy header of {} bytes, at most {} are read", name, size, kMaxHeaderBytes);
  std::string text(size, '\0');
  VXLA_RETURN_IF_ERROR(source.read(text.data(), text.size()));
  VXLA_ASSIGN_OR_RETURN(NpyHeader header, ParseHeader(text, name));
  header.data_at = data_at;
  return header;
}

Result<NumpyArray> ReadArray(ByteSource source, const std::string& name, const AcceptArray& accept) {
  VXLA_ASSIGN_OR_RETURN(NpyHeader header, ReadHeader(source, name));
  NumpyArray& array = header.array;
  if (source.size - header.data_at < header.data_bytes) {
    return InvalidArgument("{}: the .npy data is cut short: {} bytes where the shape ({}) of {} needs {}", name,
                           source.size - header.data_at, JoinInts(array.shape), array.descr, header.data_bytes);
  }
  if (accept) VXLA_RETURN_IF_ERROR(accept(array));
  try {
    array.data.resize(header.data_bytes);
    VXLA_RETURN_IF_ERROR(source.read(reinterpret_cast<char*>(array.data.data()), array.data.size()));
    const size_t item = header.item_bytes;
    if (header.swapped) SwapBytes(array.data, array.descr[0] == 'U' ? 4 : array.descr[0] == 'c' ? item / 2 : item);
    if (header.fortran && array.shape.size() > 1 && !array.data.empty())
      array.data = FromFortranOrder(array.data, array.shape, item);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: {} bytes of host memory are not to be had", name, header.data_bytes);
  }
  return std::move(array);
}

}  // namespace

Result<NumpyArray> ParseNpy(std::string_view bytes, const std::string& name) {
  return ReadArray({bytes.size(),
                    [bytes](char* to, size_t size) mutable {
                      if (size > 0) std::memcpy(to, bytes.data(), size);
                      bytes.remove_prefix(size);
                      return OkStatus();
                    }},
                   name, {});
}

Result<NumpyArray> ReadNpy(const std::string& path) {
  VXLA_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return ParseNpy(bytes, path);
}

struct NpzFile::Archive {
  explicit Archive(zip_t* opened) : zip(opened) {}
  Archive(const Archive&) = delete;
  ~Archive() { zip_discard(zip); }
  zip_t* zip;
};

NpzFile::NpzFile(std::string path) : path_(std::move(path)) {}
NpzFile::~NpzFile() = default;

Result<std::unique_ptr<NpzFile>> NpzFile::Open(const std::string& path) {
  // libzip's own message for a missing file is vague, so the file is looked at first.
  if (!std::filesystem::exists(path)) return InvalidArgument("{}: cannot be read: {}", path, std::strerror(ENOENT));
  int error = 0;
  zip_t* const zip = zip_open(path.c_str(), ZIP_RDONLY, &error);
  if (zip == nullptr) {
    zip_error_t zip_error;
    zip_error_init_with_code(&zip_error, error);
    Status status = InvalidArgument("{}: not a readable .npz: {}", path, zip_error_strerror(&zip_error));
    zip_error_fini(&zip_error);
    return status;
  }
  std::unique_ptr<NpzFile> file(new NpzFile(path));
  file->archive_ = std::make_unique<Archive>(zip);
  const zip_int64_t count = zip_get_num_entries(zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* stored = zip_get_name(zip, static_cast<zip_uint64_t>(i), 0);
    if (stored == nullptr) return InvalidArgument("{}: entry {} cannot be read: {}", path, i, zip_strerror(zip));
    std::string name = stored;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (!file->entries_.emplace(name, static_cast<uint64_t>(i)).second)
      return InvalidArgument("{}: two entries are named {}", path, name);
  }
  return file;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, position] : entries_) names.push_back(name);
  return names;
}

void NpzFile::TakeUnnamedAs(const std::string& prefix) {
  constexpr std::string_view kUnnamed = "arr_";
  if (Contains(prefix + "_0") || !Contains("arr_0")) return;
  std::map<std::string, uint64_t> renamed;
  for (const auto& [name, position] : entries_) {
    const bool unnamed = name.starts_with(kUnnamed) && name.size() > kUnnamed.size() &&
                         std::isdigit(static_cast<unsigned char>(name[kUnnamed.size()])) != 0;
    const std::string other = unnamed ? fmt::format("{}_{}", prefix, name.substr(kUnnamed.size())) : name;
    // One that has the name already keeps it, and the unnamed one is then of no use to anybody, which is said.
    renamed.emplace(unnamed && Contains(other) ? name : other, position);
  }
  entries_ = std::move(renamed);
}

Result<NumpyArray> NpzFile::Read(const std::string& name, const AcceptArray& accept) const {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return InvalidArgument("{}: has no {}", path_, name);
  const std::lock_guard lock(mutex_);
  zip_t* const zip = archive_->zip;
  const std::string what = fmt::format("{}: {}", path_, name);
  zip_stat_t stat;
  if (zip_stat_index(zip, entry->second, 0, &stat) != 0)
    return InvalidArgument("{} cannot be read: {}", what, zip_strerror(zip));
  const std::unique_ptr<zip_file_t, void (*)(zip_file_t*)> file(zip_fopen_index(zip, entry->second, 0),
                                                                [](zip_file_t* f) { zip_fclose(f); });
  if (file == nullptr) return InvalidArgument("{} is corrupt: {}", what, zip_strerror(zip));
  auto corrupt = [&] {
    // Data that end before the size in the directory are no error of libzip's.
    const bool ends = zip_error_code_zip(zip_file_get_error(file.get())) == ZIP_ER_OK;
    return InvalidArgument("{} is corrupt: {}", what, ends ? "its data end early" : zip_file_strerror(file.get()));
  };
  uint64_t read = 0;
  auto read_bytes = [&](char* to, size_t size) {
    read += size;
    return zip_fread(file.get(), to, size) == static_cast<zip_int64_t>(size) ? OkStatus() : corrupt();
  };
  VXLA_ASSIGN_OR_RETURN(NumpyArray array, ReadArray({stat.size, read_bytes}, what, accept));
  if (read != stat.size)
    return InvalidArgument("{}: {} bytes where the shape ({}) of {} needs {}", what, stat.size, JoinInts(array.shape),
                           array.descr, read);
  // Reading on past the data makes libzip check the entry's checksum.
  char past_end = 0;
  if (zip_fread(file.get(), &past_end, 1) != 0) return corrupt();
  return array;
}

Result<std::string> NpzFile::TypeName(const std::string& name) const {
  const std::string sidecar = name + "__dtype";
  if (!Contains(sidecar)) return std::string();
  VXLA_ASSIGN_OR_RETURN(const NumpyArray array, Read(sidecar, [&](const NumpyArray& header) {
                          if (header.descr.starts_with('U') && header.shape.empty()) return OkStatus();
                          return InvalidArgument("{}: {} is no text that names a type", path_, sidecar);
                        }));
  return array.text();
}

Result<Literal> ToLiteral(const NumpyArray& array, const std::string& type_name, const std::string& name) {
  std::optional<ElementType> type;
  if (!type_name.empty()) {
    type = ParseElementType(type_name);
    if (!type || !IsArrayElement(*type))
      return InvalidArgument("{}: the sidecar names no element type: '{}'", name, type_name);
  } else {
    for (const NumpyType& t : kTypes) {
      if (t.descr == array.descr) type = t.type;
    }
    if (!type)
      return InvalidArgument("{}: a {} array needs a sidecar {}__dtype that names its type", name, array.descr, name);
  }
  return ToLiteral(array, Shape(*type, array.shape), type_name, name);
}

Status CheckArray(const NumpyArray& array, const Shape& wanted, const std::string& type_name, const std::string& name) {
  const ElementType type = wanted.element_type();
  std::string own = type_name;
  for (const NumpyType& t : kTypes) {
    if (own.empty() && t.descr == array.descr) own = ElementTypeName(t.type);
  }
  const bool raw = array.descr[0] == 'V' || (array.descr[0] == 'u' && !NumpyHas(type));
  const bool same_type = own == ElementTypeName(type) || (raw && type_name.empty());
  const bool same_size =
      !array.descr.starts_with('U') && static_cast<int>(ItemBytes(array.descr)) == StorageBytes(type);
  if (same_type && same_size && FitsWithin(Shape(type, array.shape), wanted)) return OkStatus();
  return InvalidArgument("{}: {}[{}] given, the program wants {}", name, own.empty() ? array.descr : own,
                         JoinInts(array.shape), wanted.ToString());
}

Result<Literal> ToLiteral(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                          const std::string& name) {
  VXLA_RETURN_IF_ERROR(CheckArray(array, wanted, type_name, name));
  const Shape given(wanted.element_type(), array.shape);
  VXLA_RETURN_IF_ERROR(CheckShape(given).WithPrefix(name + ": "));
  Literal literal =
      Literal::FromVector<std::byte>(Shape(ElementType::kU8, {static_cast<int64_t>(array.data.size())}), array.data)
          .Reshaped(given);
  // An array below a dynamic dimension's bound says how much of it is live.
  return wanted.IsDynamic() ? PadToBounds(literal, wanted) : std::move(literal).Reshaped(wanted);
}

std::string StandInOf(ElementType type) {
  return !IsArrayElement(type) || NumpyHas(type) ? "" : fmt::format("uint{}", 8 * StorageBytes(type));
}

namespace {

bool EndsWith(std::string_view path, std::string_view extension) {
  return path.size() >= extension.size() &&
         std::ranges::equal(path.substr(path.size() - extension.size()), extension,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

std::vector<int64_t> SizesOf(const Shape& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }

}  // namespace

bool IsNpyName(std::string_view path) { return EndsWith(path, ".npy"); }
bool IsNpzName(std::string_view path) { return EndsWith(path, ".npz"); }

Status WriteNpy(const std::string& path, const Literal& array) {
  const Literal live = array.is_dynamic() ? CutToLiveSizes(array) : Literal();
  const Literal& written = array.is_dynamic() ? live : array;
  const ElementType type = written.shape().element_type();
  const std::string descr = NumpyHas(type) ? DescrOf(type) : fmt::format("|V{}", StorageBytes(type));
  return WriteText(path, NpyBytes(descr, SizesOf(written.shape()), written.bytes()));
}

Status WriteNpz(const std::string& path, std::string_view prefix, const std::vector<const Literal*>& leaves) {
  Entries entries;
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (!leaves[k]->shape().IsArray()) continue;  // tokens
    const Literal live = leaves[k]->is_dynamic() ? CutToLiveSizes(*leaves[k]) : Literal();
    const Literal& array = leaves[k]->is_dynamic() ? live : *leaves[k];
    const Shape& shape = array.shape();
    const ElementType type = shape.element_type();
    const std::string name = fmt::format("{}_{}", prefix, k);
    entries.emplace_back(name + ".npy", NpyBytes(DescrOf(type), SizesOf(shape), array.bytes()));
    if (!NumpyHas(type)) entries.emplace_back(name + "__dtype.npy", UnicodeScalar(ElementTypeName(type)));
  }
  VXLA_ASSIGN_OR_RETURN(std::string archive, ZipOf(path, entries));
  return WriteText(path, archive);
}

}  // namespace VXLA_NAMESPACE
