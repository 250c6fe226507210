#include "backend/cpu/reference/library/ffi_question.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "backend/cpu/reference/library/ffi_call.h"

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace VXLA_NAMESPACE {
namespace {

// Made for a handler that refuses the frame; owned by the question of this thread.
thread_local ffi::Error* refusal = nullptr;

ffi::Error* NoteRefusal(ffi::ErrorCreate* call) {
  if (refusal == nullptr) refusal = ffi::MakeError(call);
  return refusal;
}

#ifndef _WIN32
// Every handler holds the name, for its check of the frame's size.
bool HoldsHandlers(const char* file) {
  constexpr std::string_view kName = "XLA_FFI_CallFrame";
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open()) return true;
  const std::boyer_moore_horspool_searcher searcher(kName.begin(), kName.end());
  std::string part;
  constexpr size_t kPart = size_t{1} << 20;
  while (stream.good()) {
    const size_t kept = std::min(part.size(), kName.size() - 1);
    part.erase(0, part.size() - kept);
    part.resize(kept + kPart);
    stream.read(part.data() + kept, kPart);
    part.resize(kept + static_cast<size_t>(stream.gcount()));
    if (std::search(part.begin(), part.end(), searcher) != part.end()) return true;
  }
  return false;
}
#endif

}  // namespace

bool MayBeHandler(void* symbol) {
#ifdef _WIN32
  return symbol != nullptr;
#else
  static std::mutex mutex;
  static auto* known = new std::map<const void*, bool>;  // by where the file is mapped
  Dl_info place;
  if (dladdr(symbol, &place) == 0 || place.dli_fname == nullptr) return true;
  const std::lock_guard lock(mutex);
  const auto found = known->find(place.dli_fbase);
  if (found != known->end()) return found->second;
  return known->emplace(place.dli_fbase, HoldsHandlers(place.dli_fname)).first->second;
#endif
}

// XLA's headers look at the frame's size first (CheckStructSize) and make an error if it is another, which reads `api`
// and nothing else. Handlers that do without that check look for the metadata extension. Where the result is a tuple,
// its first word is a pointer, which is no size of a frame, and its second and third stand where a frame points to its
// extension and to the functions.
HandlerQuestion::HandlerQuestion(Literal& result, void* out) : out_(out) {
  metadata_.struct_size = sizeof(metadata_);
  metadata_.version = {{sizeof(ffi::Version), nullptr}, -1, -1};
  extension_ = {{sizeof(extension_), ffi::kMetadataExtension, nullptr}, &metadata_};
  api_.header.struct_size = sizeof(api_);
  api_.version = {{sizeof(ffi::Version), nullptr}, ffi::kMajorVersion, ffi::kMinorVersion};
  api_.error_create = NoteRefusal;
  frame_.header.extension = &extension_.base;
  frame_.api = &api_;
  frame_.stage = ffi::Stage::kExecute;
  if (!result.shape().IsTuple()) {
    out_ = Lay(result, &frame_, sizeof(frame_));
    return;
  }
  const std::span<Literal> elements = result.mutable_tuple_elements();
  const auto is_tuple = [&](size_t k) { return k < elements.size() && elements[k].shape().IsTuple(); };
  if (is_tuple(1) || is_tuple(2)) return;
  constexpr size_t kFrameWords = sizeof(frame_) / sizeof(void*);
  table_.resize(std::max(elements.size(), kFrameWords));
  std::copy_n(static_cast<void**>(out), elements.size(), table_.begin());
  const auto lay = [&](size_t k, void* question, size_t size_bytes) {
    table_[k] = k < elements.size() ? Lay(elements[k], question, size_bytes) : question;
  };
  lay(1, &extension_, sizeof(extension_));
  lay(2, &api_, sizeof(api_));
  if (elements.size() <= 4) {
    const auto stage = static_cast<int32_t>(ffi::Stage::kExecute);
    std::memcpy(&table_[4], &stage, sizeof(stage));
  }
  out_ = static_cast<void*>(table_.data());
}

HandlerQuestion::~HandlerQuestion() { ffi::FreeError(std::exchange(refusal, nullptr)); }

void* HandlerQuestion::Lay(Literal& array, const void* question, size_t size_bytes) {
  std::span<std::byte> bytes = array.mutable_bytes();
  if (bytes.size() < size_bytes) {
    small_.push_back({std::vector<std::byte>(size_bytes), &array});
    bytes = small_.back().memory;
  }
  std::memcpy(bytes.data(), question, size_bytes);
  return static_cast<void*>(bytes.data());
}

bool HandlerQuestion::TakeAnswer() {
  if (refusal != nullptr || metadata_.version.major_version != -1) return true;
  for (const SmallArray& array : small_) {
    const std::span<std::byte> target = array.target->mutable_bytes();
    if (!target.empty()) std::memcpy(target.data(), array.memory.data(), target.size());
  }
  return false;
}

}  // namespace VXLA_NAMESPACE
