// A user's library for jax.ffi, compiled against the headers that jaxlib ships: a handler with attributes and two
// results, one that keeps a state, one that throws, and a function of XLA's oldest signature.
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error ScaleAndCount(float scale, std::string_view name, ffi::Span<const int64_t> offsets,
                                ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> scaled,
                                ffi::ResultBufferR0<ffi::S32> count) {
  if (scale < 0) return ffi::Error::InvalidArgument("the scale is negative");
  if (name != "a name") return ffi::Error(ffi::ErrorCode::kUnimplemented, "a name that nobody knows");
  for (size_t i = 0; i < x.element_count(); ++i)
    scaled->typed_data()[i] = scale * x.typed_data()[i] + static_cast<float>(offsets[i % offsets.size()]);
  *count->typed_data() = static_cast<int32_t>(x.element_count());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(scale_and_count, ScaleAndCount,
                              ffi::Ffi::Bind()
                                  .Attr<float>("scale")
                                  .Attr<std::string_view>("name")
                                  .Attr<ffi::Span<const int64_t>>("offsets")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::BufferR0<ffi::S32>>());

static std::atomic<int> counters = 0;

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  Counter() { ++counters; }
  int32_t calls = 0;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
extern "C" void* counter_type() { return &Counter::id; }
extern "C" void* counter_info() { return &Counter::info; }

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    make_counter, +[]() -> ffi::ErrorOr<std::unique_ptr<Counter>> { return std::make_unique<Counter>(); },
    ffi::Ffi::BindInstantiate());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    count_calls,
    +[](Counter* counter, ffi::ResultBufferR0<ffi::S32> calls) {
      *calls->typed_data() = 100 * counters + ++counter->calls;
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::BufferR0<ffi::S32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    throws, +[](ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) -> ffi::Error { throw std::runtime_error("thrown"); },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

extern "C" void add_one(void* out, const void** in) {
  *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + 1;
}
