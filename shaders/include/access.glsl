// How kernels reach memory: the argument block and the tensors, over buffer addresses or storage-buffer descriptors.
//
//   P(3)                   word 3 of the parameters, which the generated part gives a name (KernelBuilder::Params)
//   TENSOR(k, tag)         declares tensor k with elements of a storage type; codegen writes it once per tensor (and
//                          once more per further view, such as f32x4 of an f32 tensor)
//   LOAD(k, tag, i)        element i, a uint below 2^31 (an index64_t with FAR_ELEMENTS); u8 and u16 come as uint
//   STORE(k, tag, i, v)    the reverse
//   SITE(n)                before a LOAD or STORE in a loop that is unrolled: n is the number of the copy
// Tags: f32 i32 u32 f64 i64 u64 c64 c128 u16 u8, and f32x4 i32x4 u32x4 for groups of four; u64x4 for groups of eight
// 32-bit elements as pairs; u32x2 for eight bytes of packed elements.
//
// The assembler defines ADDRESSES or not, SPLIT_ADDRESSES where the driver gains by it, PACKED_u8 and PACKED_u16 where
// it has no storage of that size, USES_<tag>, and writes address_<k>, param_<k> and load_arguments(), which main()
// calls first: each argument is read from memory once; and WORKGROUP, the number of this workgroup among those of all
// parts of a dispatch.
#define P(k) param_##k
// Two words as one of 64 bits to be stored: lavapipe stores lane by lane, and LLVM takes a lane's words and joins them
// as scalars, where of packUint2x32 it would put a vector of 64 bytes on the stack to fetch eight of them.
#define JOINED(x, y) ((uint64_t(y) << 32) | uint64_t(x))
#ifdef SPLIT_ADDRESSES
// lavapipe 22 reads and writes memory lane by lane and, for each lane, stores the whole vector of 64-bit addresses to
// fetch one of them. A 64-byte store cannot be forwarded to an 8-byte load on CPUs with AVX-512 (3.8 ns a lane instead
// of 0.8). Where each access site has its own sum of 32-bit parts, LLVM adds the lane's parts as scalars and no such
// vector exists; so a site, told by its line, moves the base up and the index down by the same bytes. (Fused add of 16M
// f32: 60 ms, was 218.) Groups are read in pairs, half the loads, and stored singly, as a stored pair would lie in a
// 64-byte vector again; u64x4 are stored as they come, so JOINED. site_base tells the copies of an unrolled loop apart,
// and keeps the front end from seeing constant indices below zero.
uint site_base = 0u;
#define SITE(n) site_base = (n) * 4096u
#define SITE_NUMBER(part) (4u * __LINE__ + part + site_base)
// A group reads one tensor at several sites, whose bases LLVM would share again but for zeros that it cannot know
// (there are never 65,536 groups along x).
#define SITE_ZERO(part) ((gl_NumWorkGroups.x >> 16) & SITE_NUMBER(part))
#define SITE_BASE(x, y, part) ((uint64_t(x) + uint64_t(64u * SITE_NUMBER(part))) + (uint64_t(y) << 32))
#define ELEMENT_FROM(base, tag, i, part) Elements_##tag(base).v[(i) - 64u / SIZE_##tag * SITE_NUMBER(part)]
#define ELEMENT(k, tag, i) ELEMENT_FROM(SITE_BASE(address_##k.x, address_##k.y, 0u), tag, i, 0u)
#define PART(k, tag, i, part) \
  ELEMENT_FROM(SITE_BASE(address_##k.x + SITE_ZERO(part), address_##k.y + SITE_ZERO(part), part), tag, i, part)
#define PAIR(k, i, part) unpackUint2x32(PART(k, u64, i, part))
#define QUAD(k, i) uvec4(PAIR(k, 2u * (i), 0u), PAIR(k, 2u * (i) + 1u, 1u))
#define STORE_QUAD(k, i, value) { \
  uvec4 quad_ = value; \
  PART(k, u32, 4u * (i), 0u) = quad_.x; \
  PART(k, u32, 4u * (i) + 1u, 1u) = quad_.y; \
  PART(k, u32, 4u * (i) + 2u, 2u) = quad_.z; \
  PART(k, u32, 4u * (i) + 3u, 3u) = quad_.w; }
#define LOAD_f32x4(k, i) uintBitsToFloat(QUAD(k, i))
#define LOAD_i32x4(k, i) ivec4(QUAD(k, i))
#define LOAD_u32x4(k, i) QUAD(k, i)
#define STORE_f32x4(k, i, value) STORE_QUAD(k, i, floatBitsToUint(value))
#define STORE_i32x4(k, i, value) STORE_QUAD(k, i, uvec4(value))
#define STORE_u32x4(k, i, value) STORE_QUAD(k, i, value)
#define LOAD_u64x4(k, i) \
  u64vec4(PART(k, u64, 4u * (i), 0u), PART(k, u64, 4u * (i) + 1u, 1u), PART(k, u64, 4u * (i) + 2u, 2u), \
          PART(k, u64, 4u * (i) + 3u, 3u))
#define STORE_u64x4(k, i, value) { \
  u64vec4 octet_ = value; \
  PART(k, u64, 4u * (i), 0u) = octet_.x; \
  PART(k, u64, 4u * (i) + 1u, 1u) = octet_.y; \
  PART(k, u64, 4u * (i) + 2u, 2u) = octet_.z; \
  PART(k, u64, 4u * (i) + 3u, 3u) = octet_.w; }
#define LOAD_u32x2(k, i) PAIR(k, i, 0u)
#define STORE_u32x2(k, i, value) { \
  uvec2 pair_ = value; \
  PART(k, u32, 2u * (i), 0u) = pair_.x; \
  PART(k, u32, 2u * (i) + 1u, 1u) = pair_.y; }
#if defined(USES_f32x4) || defined(USES_i32x4) || defined(USES_u32x4) || defined(USES_u64x4) || defined(USES_u32x2)
#undef USES_u32
#define USES_u32 1
#undef USES_u64
#define USES_u64 1
#endif
#else
#define ELEMENT(k, tag, i) ELEMENTS(k, tag)[i]
#define LOAD_f32x4(k, i) ELEMENT(k, f32x4, i)
#define LOAD_i32x4(k, i) ELEMENT(k, i32x4, i)
#define LOAD_u32x4(k, i) ELEMENT(k, u32x4, i)
#define LOAD_u64x4(k, i) ELEMENT(k, u64x4, i)
#define LOAD_u32x2(k, i) ELEMENT(k, u32x2, i)
#define STORE_u32x2(k, i, value) ELEMENT(k, u32x2, i) = value
#define STORE_f32x4(k, i, value) ELEMENT(k, f32x4, i) = value
#define STORE_i32x4(k, i, value) ELEMENT(k, i32x4, i) = value
#define STORE_u32x4(k, i, value) ELEMENT(k, u32x4, i) = value
#define STORE_u64x4(k, i, value) ELEMENT(k, u64x4, i) = value
#define SITE(n)
#endif
#define LOAD(k, tag, i) LOAD_##tag(k, i)
#define STORE(k, tag, i, value) STORE_##tag(k, i, value)
// An element of 2^-shift words, reached through its word. Neighbours in the word may be other invocations': the word
// changes by an exclusive or in which only the element's own bits are set, and those no other invocation writes. So it
// does not matter what the neighbours were when the word was read. (Codegen stores whole words where an invocation owns
// them.)
#define LOAD_PART(k, tag, i, shift, mask) \
  ((ELEMENT(k, tag, (i) >> shift) >> ((uint(i) & ((1u << shift) - 1u)) << (5u - shift))) & mask)
#define STORE_PART(k, tag, i, value, shift, mask) { \
  index64_t at_ = i; \
  uint bits_ = (uint(at_) & ((1u << shift) - 1u)) << (5u - shift); \
  CHANGE_PART(ELEMENT(k, tag, at_ >> shift), bits_, mask, value); }
#define CHANGE_PART(word, bits, mask, value) atomicXor(word, (((word >> bits) ^ (value)) & mask) << bits)
// Where several invocations may write an element, all the same value: whoever comes last leaves that.
#define REPLACE_PART(word, bits, mask, value) \
  atomicAnd(word, ~(uint(mask) << bits)); atomicOr(word, ((value) & mask) << bits)

#ifdef BYTE_OFFSETS
// An index of an array of elements would be sign-extended and added in 64 bits by every lane; a GPU adds a 32-bit offset
// to an address that all lanes share for nothing. (RADV: an f32 add spends 1.75 vector instructions an element instead
// of 3.75.) Tensors below 4 GiB.
#undef ELEMENT
#define ELEMENT(k, tag, i) TENSOR_BLOCK(k, tag)(packUint2x32(address_##k) + uint64_t(SIZE_##tag * (i))).v[0]
#endif

#if defined(FAR_ELEMENTS) && defined(ADDRESSES)
// Indices of an array are signed words, and its elements from 2^31 on would lie before it.
#undef ELEMENT
#define ELEMENT(k, tag, i) TENSOR_BLOCK(k, tag)(packUint2x32(address_##k) + uint64_t(SIZE_##tag) * uint64_t(i)).v[0]
#define index64_t uint64_t
#define WIDE_INDEX(low, high) packUint2x32(uvec2(low, high))
#else
#define index64_t uint
#define WIDE_INDEX(low, high) (low)
#endif

// Where workgroups read what others of the same dispatch have written, TENSOR_MEMORY_k says of tensor k whether it is that,
// and TENSOR_BLOCK_k whose elements it has.
#ifdef COHERENT_TENSORS
#define TENSOR_MEMORY(k) TENSOR_MEMORY_##k
#define TENSOR_BLOCK(k, tag) TENSOR_BLOCK_##k(tag)
#else
#define TENSOR_MEMORY(k)
#define TENSOR_BLOCK(k, tag) Elements_##tag
#endif

#ifdef ADDRESSES
#define TENSOR(k, tag)
#define ELEMENTS(k, tag) TENSOR_BLOCK(k, tag)(address_##k).v
#define ELEMENT_TYPE(tag, type, alignment) \
  layout(buffer_reference, std430, buffer_reference_align = alignment) buffer Elements_##tag { type v[]; }; \
  COHERENT_TYPE(tag, type, alignment)
#ifdef COHERENT_TENSORS
#define COHERENT_TYPE(tag, type, alignment) \
  layout(buffer_reference, std430, buffer_reference_align = alignment) coherent buffer Coherent_##tag { type v[]; };
#else
#define COHERENT_TYPE(tag, type, alignment)
#endif
#elif defined(SHARED_BINDINGS)
// Tensors of one buffer are one binding, where a device has few: codegen says which it is, and where the tensor begins.
#define TENSOR(k, tag) \
  layout(std430, set = 0, binding = BINDING_##k + 1) TENSOR_MEMORY(k) buffer Tensor_##k##_##tag { TYPE_##tag v[]; } \
      tensor_##k##_##tag;
#undef ELEMENT
#define ELEMENT(k, tag, i) tensor_##k##_##tag.v[(i) + FIRST_BYTE_##k / SIZE_##tag]
#define ELEMENT_TYPE(tag, type, alignment)
#elif defined(WRITTEN_ARRAY)
// Tensors of several pieces are two arrays, apart for what is only read: address_<k> holds the place in one and the
// first byte there, which all of a workgroup share.
#define TENSOR(k, tag) TENSOR_IN_ARRAY(k, tag, TENSOR_ARRAY_##k)
#define TENSOR_IN_ARRAY(k, tag, which) TENSOR_OF_ARRAY(k, tag, which)
#define TENSOR_OF_ARRAY(k, tag, which) \
  layout(std430, set = 0, binding = FIRST_##which) buffer Tensor_##k##_##tag { TYPE_##tag v[]; } \
      tensor_##k##_##tag[which##_ARRAY];
#define FIRST_WRITTEN 1
#define FIRST_READ WRITTEN_ARRAY + 1
#undef ELEMENT
#define ELEMENT(k, tag, i) tensor_##k##_##tag[address_##k.x].v[(i) + address_##k.y / SIZE_##tag]
#define ELEMENT_TYPE(tag, type, alignment)
#else
#define TENSOR(k, tag) \
  layout(std430, set = 0, binding = k + 1) TENSOR_MEMORY(k) buffer Tensor_##k##_##tag { TYPE_##tag v[]; } tensor_##k##_##tag;
#define ELEMENTS(k, tag) tensor_##k##_##tag.v
#define ELEMENT_TYPE(tag, type, alignment)
#endif

#ifdef USES_f32
#define LOAD_f32(k, i) FROM_f32(ELEMENT(k, f32, i))
#define STORE_f32(k, i, value) ELEMENT(k, f32, i) = TO_f32(value)
#define SIZE_f32 4u
#define TYPE_f32 float
#define FROM_f32(x) (x)
#define TO_f32(x) (x)
ELEMENT_TYPE(f32, float, 4)
#endif
#ifdef USES_i32
#define LOAD_i32(k, i) FROM_i32(ELEMENT(k, i32, i))
#define STORE_i32(k, i, value) ELEMENT(k, i32, i) = TO_i32(value)
#define SIZE_i32 4u
#define TYPE_i32 int
#define FROM_i32(x) (x)
#define TO_i32(x) (x)
ELEMENT_TYPE(i32, int, 4)
#endif
#ifdef USES_u32
#define LOAD_u32(k, i) FROM_u32(ELEMENT(k, u32, i))
#define STORE_u32(k, i, value) ELEMENT(k, u32, i) = TO_u32(value)
#define SIZE_u32 4u
#define TYPE_u32 uint
#define FROM_u32(x) (x)
#define TO_u32(x) (x)
ELEMENT_TYPE(u32, uint, 4)
#endif
#ifdef USES_f64
#define LOAD_f64(k, i) FROM_f64(ELEMENT(k, f64, i))
#define STORE_f64(k, i, value) ELEMENT(k, f64, i) = TO_f64(value)
#define SIZE_f64 8u
#define TYPE_f64 f64_t
#define FROM_f64(x) (x)
#define TO_f64(x) (x)
ELEMENT_TYPE(f64, f64_t, 8)
#endif
#ifdef USES_i64
#define LOAD_i64(k, i) FROM_i64(ELEMENT(k, i64, i))
#define STORE_i64(k, i, value) ELEMENT(k, i64, i) = TO_i64(value)
#define SIZE_i64 8u
#define TYPE_i64 i64_t
#define FROM_i64(x) (x)
#define TO_i64(x) (x)
ELEMENT_TYPE(i64, i64_t, 8)
#endif
#ifdef USES_u64
#define LOAD_u64(k, i) FROM_u64(ELEMENT(k, u64, i))
#define STORE_u64(k, i, value) ELEMENT(k, u64, i) = TO_u64(value)
#define SIZE_u64 8u
#define TYPE_u64 u64_t
#define FROM_u64(x) (x)
#define TO_u64(x) (x)
ELEMENT_TYPE(u64, u64_t, 8)
#endif
#ifdef USES_c64
#define LOAD_c64(k, i) FROM_c64(ELEMENT(k, c64, i))
#define STORE_c64(k, i, value) ELEMENT(k, c64, i) = TO_c64(value)
#define SIZE_c64 8u
#define TYPE_c64 vec2
#define FROM_c64(x) (x)
#define TO_c64(x) (x)
ELEMENT_TYPE(c64, vec2, 8)
#endif
#ifdef USES_c128
#define LOAD_c128(k, i) FROM_c128(ELEMENT(k, c128, i))
#define STORE_c128(k, i, value) ELEMENT(k, c128, i) = TO_c128(value)
#define SIZE_c128 16u
#define TYPE_c128 c128_t
#define FROM_c128(x) (x)
#define TO_c128(x) (x)
ELEMENT_TYPE(c128, c128_t, 16)
#endif
#if defined(USES_u16) && defined(PACKED_u16)
#define LOAD_u16(k, i) LOAD_PART(k, u16, i, 1u, 0xffffu)
#define STORE_u16(k, i, value) STORE_PART(k, u16, i, value, 1u, 0xffffu)
#define SIZE_u16 4u
#define TYPE_u16 uint
ELEMENT_TYPE(u16, uint, 4)
#elif defined(USES_u16)
#define LOAD_u16(k, i) FROM_u16(ELEMENT(k, u16, i))
#define STORE_u16(k, i, value) ELEMENT(k, u16, i) = TO_u16(value)
#define SIZE_u16 2u
#define TYPE_u16 uint16_t
#define FROM_u16(x) uint(x)
#define TO_u16(x) uint16_t(x)
ELEMENT_TYPE(u16, uint16_t, 2)
#endif
#if defined(USES_u8) && defined(PACKED_u8)
#define LOAD_u8(k, i) LOAD_PART(k, u8, i, 2u, 0xffu)
#define STORE_u8(k, i, value) STORE_PART(k, u8, i, value, 2u, 0xffu)
#define SIZE_u8 4u
#define TYPE_u8 uint
ELEMENT_TYPE(u8, uint, 4)
#elif defined(USES_u8)
#define LOAD_u8(k, i) FROM_u8(ELEMENT(k, u8, i))
#define STORE_u8(k, i, value) ELEMENT(k, u8, i) = TO_u8(value)
#define SIZE_u8 1u
#define TYPE_u8 uint8_t
#define FROM_u8(x) uint(x)
#define TO_u8(x) uint8_t(x)
ELEMENT_TYPE(u8, uint8_t, 1)
#endif
#ifdef USES_f32x4
#define SIZE_f32x4 16u
#define TYPE_f32x4 vec4
ELEMENT_TYPE(f32x4, vec4, 16)
#endif
#ifdef USES_i32x4
#define SIZE_i32x4 16u
#define TYPE_i32x4 ivec4
ELEMENT_TYPE(i32x4, ivec4, 16)
#endif
#ifdef USES_u32x4
#define SIZE_u32x4 16u
#define TYPE_u32x4 uvec4
ELEMENT_TYPE(u32x4, uvec4, 16)
#endif
#ifdef USES_u32x2
#define SIZE_u32x2 8u
#define TYPE_u32x2 uvec2
ELEMENT_TYPE(u32x2, uvec2, 8)
#endif
#ifdef USES_u64x4
#define SIZE_u64x4 32u
#define TYPE_u64x4 u64vec4
ELEMENT_TYPE(u64x4, u64vec4, 32)
#endif
