// How kernels reach memory: the argument block and the tensors, over buffer addresses or storage-buffer descriptors.
//
//   P(3)                   word 3 of the parameters
//   TENSOR(k, tag)         declares tensor k with elements of a storage type; codegen writes it once per tensor (and once more
//                          per further view, such as f32x4 of an f32 tensor)
//   LOAD(k, tag, i)        element i, a uint below 2^31; u8 and u16 come as uint
//   STORE(k, tag, i, v)    the reverse
// Tags: f32 i32 u32 f64 i64 u64 c64 c128 u16 u8, and f32x4 i32x4 u32x4 for groups of four; u64x4 for groups of eight 32-bit
// elements as pairs.
//
// The assembler defines ADDRESSES or not, SPLIT_ADDRESSES where the driver gains by it, USES_<tag>, and writes address_<k>, param_<k> and load_arguments(), which main()
// calls first: each argument is read from memory once.
#define P(k) param_##k
#define LOAD(k, tag, i) FROM_##tag(ELEMENT(k, tag, i))
#define STORE(k, tag, i, value) ELEMENT(k, tag, i) = TO_##tag(value)

#ifdef SPLIT_ADDRESSES
// lavapipe 22 reads and writes memory lane by lane and, for each lane, stores the whole vector of 64-bit addresses to fetch one
// of them. A 64-byte store cannot be forwarded to an 8-byte load on CPUs with AVX-512 (3.8 ns a lane instead of 0.8). Where
// each access site has its own sum of 32-bit parts, LLVM adds the lane's parts as scalars and no such vector exists; so a site,
// told by its line, moves the base up and the index down by the same 64 * line bytes. (Fused add of 16M f32: 64 ms, was 218.)
// The zero is a variable, as the front end refuses constant indices below zero.
uint index_zero = 0u;
#define ELEMENT(k, tag, i) \
  Elements_##tag((uint64_t(address_##k.x) + uint64_t(64u * __LINE__)) + (uint64_t(address_##k.y) << 32)).v[(i) + index_zero - 64u / SIZE_##tag * __LINE__]
#else
#define ELEMENT(k, tag, i) ELEMENTS(k, tag)[i]
#endif

#ifdef ADDRESSES
#define TENSOR(k, tag)
#define ELEMENTS(k, tag) Elements_##tag(address_##k).v
#define ELEMENT_TYPE(tag, type, alignment) \
  layout(buffer_reference, std430, buffer_reference_align = alignment) buffer Elements_##tag { type v[]; };
#else
#define TENSOR(k, tag) \
  layout(std430, set = 0, binding = k + 1) buffer Tensor_##k##_##tag { TYPE_##tag v[]; } tensor_##k##_##tag;
#define ELEMENTS(k, tag) tensor_##k##_##tag.v
#define ELEMENT_TYPE(tag, type, alignment)
#endif

#ifdef USES_f32
#define SIZE_f32 4u
#define TYPE_f32 float
#define FROM_f32(x) (x)
#define TO_f32(x) (x)
ELEMENT_TYPE(f32, float, 4)
#endif
#ifdef USES_i32
#define SIZE_i32 4u
#define TYPE_i32 int
#define FROM_i32(x) (x)
#define TO_i32(x) (x)
ELEMENT_TYPE(i32, int, 4)
#endif
#ifdef USES_u32
#define SIZE_u32 4u
#define TYPE_u32 uint
#define FROM_u32(x) (x)
#define TO_u32(x) (x)
ELEMENT_TYPE(u32, uint, 4)
#endif
#ifdef USES_f64
#define SIZE_f64 8u
#define TYPE_f64 double
#define FROM_f64(x) (x)
#define TO_f64(x) (x)
ELEMENT_TYPE(f64, double, 8)
#endif
#ifdef USES_i64
#define SIZE_i64 8u
#define TYPE_i64 int64_t
#define FROM_i64(x) (x)
#define TO_i64(x) (x)
ELEMENT_TYPE(i64, int64_t, 8)
#endif
#ifdef USES_u64
#define SIZE_u64 8u
#define TYPE_u64 uint64_t
#define FROM_u64(x) (x)
#define TO_u64(x) (x)
ELEMENT_TYPE(u64, uint64_t, 8)
#endif
#ifdef USES_c64
#define SIZE_c64 8u
#define TYPE_c64 vec2
#define FROM_c64(x) (x)
#define TO_c64(x) (x)
ELEMENT_TYPE(c64, vec2, 8)
#endif
#ifdef USES_c128
#define SIZE_c128 16u
#define TYPE_c128 dvec2
#define FROM_c128(x) (x)
#define TO_c128(x) (x)
ELEMENT_TYPE(c128, dvec2, 16)
#endif
#ifdef USES_u16
#define SIZE_u16 2u
#define TYPE_u16 uint16_t
#define FROM_u16(x) uint(x)
#define TO_u16(x) uint16_t(x)
ELEMENT_TYPE(u16, uint16_t, 2)
#endif
#ifdef USES_u8
#define SIZE_u8 1u
#define TYPE_u8 uint8_t
#define FROM_u8(x) uint(x)
#define TO_u8(x) uint8_t(x)
ELEMENT_TYPE(u8, uint8_t, 1)
#endif
#ifdef USES_f32x4
#define SIZE_f32x4 16u
#define TYPE_f32x4 vec4
#define FROM_f32x4(x) (x)
#define TO_f32x4(x) (x)
ELEMENT_TYPE(f32x4, vec4, 16)
#endif
#ifdef USES_i32x4
#define SIZE_i32x4 16u
#define TYPE_i32x4 ivec4
#define FROM_i32x4(x) (x)
#define TO_i32x4(x) (x)
ELEMENT_TYPE(i32x4, ivec4, 16)
#endif
#ifdef USES_u32x4
#define SIZE_u32x4 16u
#define TYPE_u32x4 uvec4
#define FROM_u32x4(x) (x)
#define TO_u32x4(x) (x)
ELEMENT_TYPE(u32x4, uvec4, 16)
#endif
#ifdef USES_u64x4
#define SIZE_u64x4 32u
#define TYPE_u64x4 u64vec4
#define FROM_u64x4(x) (x)
#define TO_u64x4(x) (x)
ELEMENT_TYPE(u64x4, u64vec4, 32)
#endif
