#include "integrations/pjrt/messages/compile_options.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <functional>

#include "integrations/pjrt/messages/wire_format.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

// A field of a message: a number, or bytes.
struct Field {
  uint64_t number = 0, value = 0;
  std::string_view bytes;
  int wire = 0;
};

// Reads protobuf's wire format, a field at a time.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  Result<Field> Next() {
    VXLA_ASSIGN_OR_RETURN(const uint64_t key, Varint());
    Field field;
    field.number = key >> 3;
    field.wire = static_cast<int>(key & 7);
    switch (field.wire) {
      case 0: {
        VXLA_ASSIGN_OR_RETURN(field.value, Varint());
        return field;
      }
      case 1:
        return Fixed(field, 8);
      case 5:
        return Fixed(field, 4);
      case 2: {
        VXLA_ASSIGN_OR_RETURN(const uint64_t size, Varint());
        if (size > rest_.size()) return Truncated();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return field;
      }
      default:
        return InvalidArgument("compile options: wire type {} of field {}", field.wire, field.number);
    }
  }

  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Truncated();
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return InvalidArgument("compile options: a number of more than 64 bits");
  }

 private:
  static Status Truncated() { return InvalidArgument("compile options: the message ends within a field"); }

  Result<Field> Fixed(Field field, size_t bytes) {
    if (bytes > rest_.size()) return Truncated();
    for (size_t i = 0; i < bytes; ++i) field.value |= uint64_t{static_cast<uint8_t>(rest_[i])} << (8 * i);
    rest_.remove_prefix(bytes);
    return field;
  }

  std::string_view rest_;
};

Status ForEachField(std::string_view bytes, const std::function<Status(const Field&)>& take) {
  WireReader reader(bytes);
  while (!reader.done()) {
    VXLA_ASSIGN_OR_RETURN(const Field field, reader.Next());
    VXLA_RETURN_IF_ERROR(take(field));
  }
  return OkStatus();
}

// Repeated numbers come packed or one by one.
Status AddNumbers(const Field& field, std::vector<int64_t>& numbers) {
  if (field.wire != 2) {
    numbers.push_back(static_cast<int64_t>(field.value));
    return OkStatus();
  }
  WireReader reader(field.bytes);
  while (!reader.done()) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t number, reader.Varint());
    numbers.push_back(static_cast<int64_t>(number));
  }
  return OkStatus();
}

Status ReadAssignment(std::string_view bytes, CompileOptionsProto& options) {
  return ForEachField(bytes, [&](const Field& field) {
    if (field.number != 3) return OkStatus();
    options.assignment.emplace_back();
    return ForEachField(field.bytes, [&](const Field& id) {
      return id.number == 1 ? AddNumbers(id, options.assignment.back()) : OkStatus();
    });
  });
}

Status ReadBuildOptions(std::string_view bytes, CompileOptionsProto& options) {
  return ForEachField(bytes, [&](const Field& field) {
    switch (field.number) {
      case 1:
        options.device_ordinal = static_cast<int64_t>(field.value);
        break;
      case 4:
        options.num_replicas = static_cast<int64_t>(field.value);
        break;
      case 5:
        options.num_partitions = static_cast<int64_t>(field.value);
        break;
      case 9:
        return ReadAssignment(field.bytes, options);
      default:
        break;
    }
    return OkStatus();
  });
}

// OptionOverrideProto: a string, a bool, an integer or a double.
Result<std::string> ReadOverride(std::string_view bytes) {
  std::string text;
  VXLA_RETURN_IF_ERROR(ForEachField(bytes, [&](const Field& field) {
    switch (field.number) {
      case 1:
        text = field.bytes;
        break;
      case 2:
        text = field.value != 0 ? "true" : "false";
        break;
      case 3:
        text = std::to_string(static_cast<int64_t>(field.value));
        break;
      case 4:
        text = fmt::format("{}", std::bit_cast<double>(field.value));
        break;
      default:
        break;
    }
    return OkStatus();
  }));
  return text;
}

Status ReadOverrides(std::string_view bytes, CompileOptionsProto& options) {
  std::string key, value;
  VXLA_RETURN_IF_ERROR(ForEachField(bytes, [&](const Field& field) -> Status {
    if (field.number == 1) key = field.bytes;
    if (field.number == 2) {
      VXLA_ASSIGN_OR_RETURN(value, ReadOverride(field.bytes));
    }
    return OkStatus();
  }));
  options.overrides[key] = value;
  return OkStatus();
}

}  // namespace

Result<CompileOptionsProto> ReadCompileOptions(std::string_view bytes) {
  CompileOptionsProto options;
  VXLA_RETURN_IF_ERROR(ForEachField(bytes, [&](const Field& field) {
    switch (field.number) {
      case 2:
        options.tupled_arguments = field.value != 0;
        break;
      case 3:
        return ReadBuildOptions(field.bytes, options);
      case 4:
        options.portable = field.value != 0;
        break;
      case 7:
        return ReadOverrides(field.bytes, options);
      default:
        break;
    }
    return OkStatus();
  }));
  options.num_replicas = std::max<int64_t>(options.num_replicas, 1);
  options.num_partitions = std::max<int64_t>(options.num_partitions, 1);
  return options;
}

std::string WriteSharding(const Sharding& sharding) {
  constexpr uint64_t kReplicated = 0, kTiled = 3, kUnreduced = 6;
  std::string bytes;
  AddNumber(bytes, 1, sharding.is_cut() ? kTiled : kReplicated);
  if (!sharding.is_cut()) return bytes;
  std::string tiles, devices, last;  // last: what the dimensions of tiles beyond the array's are
  size_t copies = sharding.devices.size() / static_cast<size_t>(sharding.addends);
  for (const int64_t count : sharding.tiles) {
    AddVarint(tiles, static_cast<uint64_t>(count));
    copies /= static_cast<size_t>(count);
  }
  for (const auto& [count, kind] :
       {std::pair(copies, kReplicated), {static_cast<size_t>(sharding.addends), kUnreduced}}) {
    if (count == 1) continue;
    AddVarint(tiles, count);
    AddVarint(last, kind);
  }
  for (const int64_t device : sharding.devices) AddVarint(devices, static_cast<uint64_t>(device));
  AddBytes(bytes, 3, tiles);
  AddBytes(bytes, 4, devices);
  if (!last.empty()) AddBytes(bytes, 8, last);
  return bytes;
}

std::string WriteDeviceAssignment(const std::vector<std::vector<int64_t>>& assignment) {
  std::string bytes;
  AddNumber(bytes, 1, assignment.empty() ? 0 : assignment[0].size());
  AddNumber(bytes, 2, assignment.size());
  for (const auto& partition : assignment) {
    std::string ids, packed;
    for (const int64_t id : partition) AddVarint(packed, static_cast<uint64_t>(id));
    AddBytes(ids, 1, packed);
    AddBytes(bytes, 3, ids);
  }
  return bytes;
}

}  // namespace VXLA_NAMESPACE::pjrt
