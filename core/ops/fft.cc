#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

// fft_length: the lengths in the time domain of the innermost dimensions.
Result<Shape> InferFft(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const auto& a = instruction.attributes<FftAttributes>();
  const Shape& from = instruction.operand(0)->shape();
  const int count = static_cast<int>(a.fft_length.size());
  if (count < 1 || count > 3) return OpError(instruction, "{} entries of fft_length, 1 to 3 needed", count);  // fft_c3
  if (from.rank() < count) {                                                                                  // fft_c1
    return OpError(instruction, "{} entries of fft_length for {}", count, from.ToString());
  }
  const ElementType type = from.element_type();
  const bool forward_real = a.fft_type == FftType::kRfft;
  if (forward_real ? type != ElementType::kF32 && type != ElementType::kF64 : !IsComplex(type)) {  // fft_c2
    return OpError(instruction, "operand 0 is of {}, {} needed", ElementTypeName(type),
                   forward_real ? "f32 or f64" : "a complex type");
  }
  Shape result = WithElementType(from, type);
  for (int k = 0; k < count; ++k) {
    const int i = from.rank() - count + k;
    const int64_t length = a.fft_length[k];
    // fft_c6
    if (length < 0) return OpError(instruction, "fft_length {} is negative", length);
    const bool halved = a.fft_type == FftType::kIrfft && k == count - 1;
    const int64_t expected = halved && length > 0 ? length / 2 + 1 : length;
    if (from.dimension(i) != expected) {  // fft_c4, fft_c5
      return OpError(instruction, "dimension {} of {} should be {} for fft_length {}", i, from.ToString(), expected,
                     length);
    }
    if (k == count - 1 && forward_real) result.set_dimension(i, length > 0 ? length / 2 + 1 : 0);
    if (halved) result.set_dimension(i, length);
    result.set_dynamic_dimension(i, false);  // fft_length elements, no fewer
  }
  if (forward_real) result.set_element_type(type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
  if (a.fft_type == FftType::kIrfft) result.set_element_type(RealPart(type));
  return result;
}

}  // namespace VXLA_NAMESPACE
