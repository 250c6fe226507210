// The same as a handler of XLA's typed FFI, for what export.py writes. Needs XLA's headers, which jaxlib brings:
//   c++ -std=c++17 -shared -fPIC -I$(python3 -c 'import jax; print(jax.ffi.include_dir())') swish_ffi.cc -o libswish_ffi.so
#include <cmath>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Swish(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float beta) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    const double value = x.typed_data()[i];
    y->typed_data()[i] = static_cast<float>(value / (1 + std::exp(-beta * value)));
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(SwishHandler, Swish,
                              ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<float>("beta"));
