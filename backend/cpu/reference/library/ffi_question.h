// Tells a handler of the typed FFI from a function of XLA's older signatures: both are bare addresses, and a handler
// that is called as a function takes the result's memory for its call frame. So that memory begins as a frame that
// every handler answers before it does anything, and a function writes its result over it.
#pragma once

#include <deque>
#include <vector>

#include "backend/cpu/reference/library/ffi_abi.h"
#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

// False where the file that the symbol comes from holds no handler compiled against XLA's headers: nothing needs to be
// asked there.
bool MayBeHandler(void* symbol);

class HandlerQuestion {
 public:
  // `out`: what a function would be called with for `result`, whose elements mean nothing yet. Both outlive this.
  HandlerQuestion(Literal& result, void* out);
  HandlerQuestion(const HandlerQuestion&) = delete;
  ~HandlerQuestion();
  // To call the symbol with, once, on this thread.
  void* out() const { return out_; }
  // After the call: it was a handler, which has done nothing. Else the result is complete.
  bool TakeAnswer();

 private:
  void* Lay(Literal& array, const void* question, size_t size_bytes);

  ffi::Metadata metadata_{};
  ffi::MetadataExtension extension_{};
  ffi::Api api_{};
  ffi::CallFrame frame_{};
  struct SmallArray {
    std::vector<std::byte> memory;
    Literal* target;
  };
  std::deque<SmallArray> small_;  // arrays that are smaller than the question
  std::vector<void*> table_;
  void* out_ = nullptr;
};

}  // namespace VXLA_NAMESPACE
