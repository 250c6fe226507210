// rng-bit-generator: ThreeFry2x32 (20 rounds) and Philox4x32 (10 rounds) of J. Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3" (SC 2011), with the counters and the order of results that XLA has.
#include "backend/cpu/reference/ops/random.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

std::array<uint32_t, 2> ThreeFry(uint64_t counter, uint64_t key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {Low(key), High(key), 0x1BD11BDAu ^ Low(key) ^ High(key)};
  uint32_t a = Low(counter) + keys[0], b = High(counter) + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      a += b;
      b = (b << rotation | b >> (32 - rotation)) ^ a;
    }
    a += keys[(group + 1) % 3];
    b += keys[(group + 2) % 3] + group + 1;
  }
  return {a, b};
}

// The dimension whose neighbours share one ThreeFry call: the first even one, else the largest.
int SplitDimension(const Shape& shape) {
  int largest = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dimension(d) % 2 == 0) return d;
    if (shape.dimension(d) > shape.dimension(largest)) largest = d;
  }
  return largest;
}

// 32 random bits for each element (narrower types keep the low ones); returns how far the counter went.
uint64_t ThreeFry32(const EvalContext& context, uint64_t key, uint64_t counter, Literal& result) {
  const Shape& shape = result.shape();
  if (shape.rank() == 0) {
    const uint32_t bits = ThreeFry(counter, key)[0];
    std::memcpy(result.mutable_bytes().data(), &bits, result.bytes().size());
    return 1;
  }
  const int split = SplitDimension(shape);
  const int64_t size = shape.dimension(split), half = (size + 1) / 2;
  const int64_t inner = RowMajorStrides(shape.dimensions())[static_cast<size_t>(split)];
  const int64_t outer = size == 0 || inner == 0 ? 0 : shape.ElementCount() / (size * inner);
  const size_t bytes = static_cast<size_t>(StorageBytes(shape.element_type()));
  std::byte* out = result.mutable_bytes().data();
  context.For(outer * half * inner, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::array<uint32_t, 2> bits = ThreeFry(counter + static_cast<uint64_t>(i), key);
      const int64_t o = i / (half * inner), h = i / inner % half, in = i % inner;
      for (int64_t p = 0; p < 2 && 2 * h + p < size; ++p) {
        std::memcpy(out + static_cast<size_t>((o * size + 2 * h + p) * inner + in) * bytes,
                    &bits[static_cast<size_t>(p)], bytes);
      }
    }
  });
  return static_cast<uint64_t>(outer * half * inner);
}

uint64_t ThreeFry64(const EvalContext& context, uint64_t key, uint64_t counter, Literal& result) {
  uint64_t* out = result.mutable_data<uint64_t>().data();
  context.For(result.element_count(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::array<uint32_t, 2> bits = ThreeFry(counter + static_cast<uint64_t>(i), key);
      out[i] = bits[0] | uint64_t{bits[1]} << 32;
    }
  });
  return static_cast<uint64_t>(result.element_count());
}

// Each call of a 128-bit counter gives four words: four elements, or two of 64 bits. Returns the calls.
uint64_t PhiloxFill(const EvalContext& context, uint64_t key, uint64_t low, uint64_t high, Literal& result) {
  const int64_t bytes = StorageBytes(result.shape().element_type());
  const int64_t words_each = bytes == 8 ? 2 : 1, words = result.element_count() * words_each;
  const int64_t calls = (words + 3) / 4;
  std::byte* out = result.mutable_bytes().data();
  context.For(calls, 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t counter = low + static_cast<uint64_t>(i);
      const uint64_t carried = high + (counter < low);
      const std::array<uint32_t, 4> bits = Philox4x32({Low(counter), High(counter), Low(carried), High(carried)}, key);
      for (int64_t w = 0; w < 4 && 4 * i + w < words; ++w) {
        const int64_t at = words_each == 2 ? (4 * i + w) * 4 : (4 * i + w) * bytes;
        std::memcpy(out + at, &bits[static_cast<size_t>(w)], static_cast<size_t>(std::min<int64_t>(bytes, 4)));
      }
    }
  });
  return static_cast<uint64_t>(calls);
}

// Sub-byte types keep their value's bits only.
void MaskSubByte(Literal& result) {
  const int width = BitWidth(result.shape().element_type());
  if (width >= 8) return;
  for (std::byte& byte : result.mutable_bytes()) byte &= static_cast<std::byte>((1 << width) - 1);
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> x, uint64_t key) {
  uint32_t key0 = Low(key), key1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{x[0]} * 0xD2511F53u, p1 = uint64_t{x[2]} * 0xCD9E8D57u;
    x = {High(p1) ^ x[1] ^ key0, Low(p1), High(p0) ^ x[3] ^ key1, Low(p0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

EvalResult EvalRngBitGenerator(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Literal& old = operands[0].literal();
  const bool has_u64_state = old.shape().element_type() == ElementType::kU64 && old.element_count() >= 2;
  if (!has_u64_state || !instruction.shape().IsTuple() || instruction.shape().tuple_elements().size() != 2) {
    return Unsupported("rng-bit-generator: the state {} is not u64[2] or u64[3]", old.shape().ToString());
  }
  Literal bits = Literal::Uninitialized(instruction.shape().tuple_elements()[1]);
  const ElementType type = bits.shape().element_type();
  if (IsComplex(type) || type == ElementType::kPred) {
    return Unsupported("rng-bit-generator: not defined for {}", bits.shape().ToString());
  }
  Literal state = old.Reshaped(instruction.shape().tuple_elements()[0]);
  const std::span<uint64_t> s = state.mutable_data<uint64_t>();
  if (instruction.attributes<RngBitGeneratorAttributes>().algorithm == RngAlgorithm::kThreeFry) {
    s[1] += StorageBytes(type) == 8 ? ThreeFry64(context, s[0], s[1], bits) : ThreeFry32(context, s[0], s[1], bits);
  } else {
    // u64[3]: key, counter low, counter high. u64[2]: key and counter low; the key is the counter's high word too.
    const bool three = s.size() >= 3;
    const uint64_t low = s[1], high = three ? s[2] : s[0];
    const uint64_t next = low + PhiloxFill(context, s[0], low, high, bits);
    s[1] = next;
    if (three) s[2] = high + (next < low);
  }
  MaskSubByte(bits);
  std::vector<Value> elements;
  elements.emplace_back(std::move(state));
  elements.emplace_back(std::move(bits));
  return Value::Tuple(std::move(elements));
}

}  // namespace VXLA_NAMESPACE
