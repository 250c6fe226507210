#include "integrations/pjrt/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>

#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

PJRT_Error* CallbackError(PJRT_Error_Code code, const char* message, size_t size) {
  return MakeError(code, std::string(message, size));
}
PJRT_CallbackError callback_error = CallbackError;

Status Taken(PJRT_Error* error) {
  if (error == nullptr) return OkStatus();
  const char* message = nullptr;
  size_t size = 0;
  error->vtable->message(error, &message, &size);
  Status status = StatusOfCode(error->vtable->get_code(error), std::string_view(message, size));
  error->vtable->destroy(error);
  return status;
}

Status Put(const PJRT_Client_Create_Args& store, const std::string& key, const std::string& value) {
  PJRT_KeyValuePutCallback_Args args{};
  args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &callback_error;
  args.user_arg = store.kv_put_user_arg;
  return Taken(store.kv_put_callback(&args));
}

// Waits for it.
Result<std::string> Get(const PJRT_Client_Create_Args& store, const std::string& key,
                        std::chrono::milliseconds timeout) {
  PJRT_KeyValueGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  constexpr int kForever = std::numeric_limits<int>::max();
  args.timeout_in_ms = timeout.count() == 0 ? kForever : static_cast<int>(std::min<int64_t>(timeout.count(), kForever));
  args.callback_error = &callback_error;
  args.user_arg = store.kv_get_user_arg;
  VXLA_RETURN_IF_ERROR(Taken(store.kv_get_callback(&args)));
  std::string value(args.value, args.value_size);
  if (args.value_deleter_callback != nullptr) args.value_deleter_callback(args.value);
  return value;
}

const std::string kNotStarted = "error: ";  // in place of an address

// A line for each.
std::string TextOf(const std::vector<DeviceWords>& devices) {
  std::string text;
  for (const DeviceWords& d : devices)
    text += fmt::format("{}\t{}\t{}\t{}\n", d.kind, d.driver, d.driver_version, d.memory_bytes);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<std::vector<DeviceWords>> DevicesOf(std::string_view text) {
  std::vector<DeviceWords> devices;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Split(line, '\t');
    if (words.size() != 4) return InvalidArgument("'{}' is no device of this version's of vxla", line);
    DeviceWords& d =
        devices.emplace_back(DeviceWords{std::string(words[0]), std::string(words[1]), std::string(words[2])});
    std::from_chars(words[3].data(), words[3].data() + words[3].size(), d.memory_bytes);
  }
  return devices;
}

}  // namespace

Result<Processes> MeetProcesses(const PJRT_Client_Create_Args& store, JobRank self,
                                Result<std::vector<DeviceWords>> own, std::chrono::milliseconds timeout) {
  Processes processes;
  if (self.ranks == 1) {
    VXLA_RETURN_IF_ERROR(own.status());
    processes.devices.push_back(*std::move(own));
    return processes;
  }
  if (store.kv_get_callback == nullptr || store.kv_put_callback == nullptr)
    return InvalidArgument("{} processes, but no key-value store through which they could meet", self.ranks);
  // A key is written once: of each process's first clients, and of its second ones.
  static std::atomic<int> clients = 0;
  const std::string prefix = fmt::format("vxla/{}/", ++clients);
  const auto key = [&](size_t rank) { return fmt::format("{}{}", prefix, rank); };
  if (!own.ok()) {
    VXLA_RETURN_IF_ERROR(
        Put(store, key(static_cast<size_t>(self.rank)), kNotStarted + std::string(own.status().message())));
    return own.status();
  }
  std::vector<std::string> addresses(static_cast<size_t>(self.ranks));
  processes.devices.resize(addresses.size());
  const TellAll tell = [&](const std::string& address) -> Result<std::vector<std::string>> {
    VXLA_RETURN_IF_ERROR(Put(store, key(static_cast<size_t>(self.rank)), address + "\n" + TextOf(*own)));
    for (size_t rank = 0; rank < addresses.size(); ++rank) {
      const Result<std::string> text = Get(store, key(rank), timeout);
      if (!text.ok()) {
        return DeviceFailure("the start of the job: process {} waits for process {}: {}", self.rank, rank,
                             text.status().message());
      }
      if (text->starts_with(kNotStarted))
        return DeviceFailure("process {} did not start: {}", rank, text->substr(kNotStarted.size()));
      const size_t line = std::min(text->find('\n'), text->size() - 1);
      addresses[rank] = text->substr(0, line);
      VXLA_ASSIGN_OR_RETURN(processes.devices[rank], DevicesOf(std::string_view(*text).substr(line + 1)));
    }
    return addresses;
  };
  VXLA_ASSIGN_OR_RETURN(processes.connections, Connections::Open(self, tell, timeout));
  return processes;
}

}  // namespace VXLA_NAMESPACE::pjrt
