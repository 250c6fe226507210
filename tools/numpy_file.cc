#include "tools/numpy_file.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/live_sizes.h"
#include "tools/files.h"

namespace vxla {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{1} << 40;

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

size_t ItemBytes(const std::string& descr) {
  size_t count = 0;
  std::from_chars(descr.data() + 1, descr.data() + descr.size(), count);
  return descr[0] == 'U' ? 4 * count : count;
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

Result<NumpyArray> ParseNpy(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY")
    return InvalidArgument("{}: not a .npy array (its first bytes are not \\x93NUMPY)", name);
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return InvalidArgument("{}: .npy version {} is not known (1 to 3 are)", name, version);
  const size_t length_bytes = version == 1 ? 2 : 4;
  uint32_t header_size = 0;
  if (bytes.size() < 8 + length_bytes) return InvalidArgument("{}: the .npy header is cut short", name);
  std::memcpy(&header_size, bytes.data() + 8, length_bytes);
  const size_t data_at = 8 + length_bytes + header_size;
  if (bytes.size() < data_at)
    return InvalidArgument("{}: the .npy header is cut short: {} bytes of {}", name, bytes.size(), data_at);
  const std::string_view header = bytes.substr(8 + length_bytes, header_size);

  NumpyArray array;
  VXLA_ASSIGN_OR_RETURN(std::string descr, HeaderField(header, "descr", name));
  VXLA_ASSIGN_OR_RETURN(std::string fortran, HeaderField(header, "fortran_order", name));
  VXLA_ASSIGN_OR_RETURN(std::string shape, HeaderField(header, "shape", name));
  VXLA_ASSIGN_OR_RETURN(array.shape, ParseShape(shape, name));
  if (descr.size() < 3) return InvalidArgument("{}: element type '{}' is not supported", name, descr);
  const char order = descr[0];
  array.descr = std::string("<>|=").find(order) == std::string::npos ? descr : descr.substr(1);
  const bool known = array.descr[0] == 'U' || array.descr == "V1" || array.descr == "V2" ||
                     std::ranges::any_of(kTypes, [&](const NumpyType& t) { return t.descr == array.descr; });
  if (!known) return InvalidArgument("{}: element type '{}' is not supported", name, descr);
  const size_t item = ItemBytes(array.descr);
  VXLA_ASSIGN_OR_RETURN(int64_t count, CheckedElementCount(array.shape));
  if (count > kMaxArrayBytes / static_cast<int64_t>(std::max<size_t>(item, 1)) ||
      bytes.size() - data_at < static_cast<size_t>(count) * item) {
    return InvalidArgument("{}: the .npy data is cut short: {} bytes where the shape ({}) of {} needs {} elements",
                           name, bytes.size() - data_at, JoinInts(array.shape), array.descr, count);
  }
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data() + data_at);
  array.data.assign(data, data + static_cast<size_t>(count) * item);
  if (order == '>') SwapBytes(array.data, array.descr[0] == 'U' ? 4 : array.descr[0] == 'c' ? item / 2 : item);
  if (fortran == "True" && array.shape.size() > 1) array.data = FromFortranOrder(array.data, array.shape, item);
  return array;
}

Result<NumpyArray> ReadNpy(const std::string& path) {
  VXLA_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return ParseNpy(bytes, path);
}

Result<std::map<std::string, NumpyArray>> ReadNpz(const std::string& path) {
  // libzip's own message for a missing file is vague, so the file is looked at first.
  if (!std::filesystem::exists(path)) return InvalidArgument("{}: no such file", path);
  int error = 0;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_RDONLY, &error),
                                                   [](zip_t* z) { zip_discard(z); });
  if (archive == nullptr) {
    zip_error_t zip_error;
    zip_error_init_with_code(&zip_error, error);
    Status status = InvalidArgument("{}: not a readable .npz: {}", path, zip_error_strerror(&zip_error));
    zip_error_fini(&zip_error);
    return status;
  }
  std::map<std::string, NumpyArray> arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0) {
      return InvalidArgument("{}: entry {} cannot be read: {}", path, i, zip_strerror(archive.get()));
    }
    std::string name = stat.name;
    if (stat.size > static_cast<zip_uint64_t>(kMaxArrayBytes))
      return InvalidArgument("{}: {} claims {} bytes", path, name, stat.size);
    std::unique_ptr<zip_file_t, void (*)(zip_file_t*)> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), [](zip_file_t* f) { zip_fclose(f); });
    std::string bytes(static_cast<size_t>(stat.size), '\0');
    if (file == nullptr ||
        zip_fread(file.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size())) {
      return InvalidArgument("{}: {} is corrupt: {}", path, name,
                             file == nullptr ? zip_strerror(archive.get()) : zip_file_strerror(file.get()));
    }
    // Reading on past the data makes libzip check the entry's checksum.
    char past_end = 0;
    if (zip_fread(file.get(), &past_end, 1) < 0)
      return InvalidArgument("{}: {} is corrupt: {}", path, name, zip_file_strerror(file.get()));
    VXLA_ASSIGN_OR_RETURN(NumpyArray array, ParseNpy(bytes, fmt::format("{}: {}", path, name)));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

std::string TypeNameOf(const std::map<std::string, NumpyArray>& arrays, const std::string& name) {
  const auto sidecar = arrays.find(name + "__dtype");
  return sidecar == arrays.end() ? "" : sidecar->second.text();
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

Result<Literal> ToLiteral(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                          const std::string& name) {
  const ElementType type = wanted.element_type();
  std::string own = type_name;
  for (const NumpyType& t : kTypes) {
    if (own.empty() && t.descr == array.descr) own = ElementTypeName(t.type);
  }
  const bool raw = array.descr[0] == 'V' || (array.descr[0] == 'u' && !NumpyHas(type));
  const bool same_type = own == ElementTypeName(type) || (raw && type_name.empty());
  const bool same_size =
      !array.descr.starts_with('U') && static_cast<int>(ItemBytes(array.descr)) == StorageBytes(type);
  const Shape given(type, array.shape);
  if (!same_type || !same_size || !FitsWithin(given, wanted)) {
    return InvalidArgument("{}: {}[{}] given, the program wants {}", name, own.empty() ? array.descr : own,
                           JoinInts(array.shape), wanted.ToString());
  }
  Literal literal =
      Literal::FromVector<std::byte>(Shape(ElementType::kU8, {static_cast<int64_t>(array.data.size())}), array.data)
          .Reshaped(given);
  // An array below a dynamic dimension's bound says how much of it is live.
  return wanted.IsDynamic() ? PadToBounds(literal, wanted) : std::move(literal).Reshaped(wanted);
}

std::string StandInOf(ElementType type) {
  return !IsArrayElement(type) || NumpyHas(type) ? "" : fmt::format("uint{}", 8 * StorageBytes(type));
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
    entries.emplace_back(
        name + ".npy",
        NpyBytes(DescrOf(type), std::vector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()),
                 array.bytes()));
    if (!NumpyHas(type)) entries.emplace_back(name + "__dtype.npy", UnicodeScalar(ElementTypeName(type)));
  }
  VXLA_ASSIGN_OR_RETURN(std::string archive, ZipOf(path, entries));
  return WriteText(path, archive);
}

}  // namespace vxla
