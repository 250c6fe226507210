// The 64-bit types, the device's own or emulated over 32-bit words. All shader text that handles 64-bit values is
// written in these names and in function calls, so that it compiles either way:
//
//   type     native     emulated (macro)                          VXLA_EMULATE_I64 / VXLA_EMULATE_F64: the assembler defines
//   i64_t    int64_t    uvec2, x the low word  (_I64)             them where the device lacks (or is told to lack) the type,
//   u64_t    uint64_t   uvec2, x the low word  (_I64)             and the macros are independent of each other. In C++ the
//   f64_t    double     uvec2, x the low word  (_F64)             emulated types are distinct structs
//   c128_t   dvec2      struct { f64_t x, y; } (_F64)             (backend/cpu/twin/shader_math.h).
//
// No operator takes these types: no + - * / % & | ^ << >>, no comparison (== of uvec2 compiles and is wrong for f64),
// no unary minus, no constructor but the ones below; condition ? a : b and = are fine. Every value comes from a
// function:
//   words       from_words_<t>(high, low)  high_word_<t>(x)  low_word_<t>(x)  pack_<t>(uvec2)  unpack_<t>(x) -> uvec2 (x low)
//               with <t> = i64 u64 f64; pack_c128(uvec4)  unpack_c128(x) -> uvec4 (re low, re high, im low, im high)
//   constants   1.5lf and -1.5lf (f64; the assembler writes words in their place), from_words_<t>(h, l), convert_i32_i64(5)
//   complex     complex_f64(re, im) -> c128_t, real_c128(x), imag_c128(x)
//   integers    as for 32 bits: add subtract multiply mulhi divide remainder power negate abs sign not and or xor maximum minimum
//               clamp shift_left shift_right_logical shift_right_arithmetic popcnt count_leading_zeros compare_<eq|ne|..>, each
//               with _i64 or _u64; magnitude_i64 (-> u64_t); shift counts are of the same type; shl_u64 shr_u64 sar_i64 take
//               a uint count below 64
//   f64         add subtract multiply divide sqrt fma negate abs sign floor ceil truncate round_nearest_even round_nearest_afz
//               remainder maximum minimum clamp compare_<..> compare_total_<..> is_nan is_inf is_finite is_negative
//               magnitude copysign flipsign, each with _f64; nan_f64() inf_f64(); all of f64_*.glsl
//   conversions convert_<from>_<to>, bitcast_<from>_<to>, round_from_f64_<narrow>: as prelude.glsl has them
// D is the f64_t of locals and results (precise where native). All arithmetic is correctly rounded both ways and gives
// the same bits, except which NaN a NaN is (emulated: the quiet NaN 7ff80000 00000000).
#ifndef __cplusplus
#ifdef VXLA_EMULATE_I64
#define i64_t uvec2
#define u64_t uvec2
#else
#define i64_t int64_t
#define u64_t uint64_t
#endif
#ifdef VXLA_EMULATE_F64
#define f64_t uvec2
#define D uvec2
struct c128_t {
  uvec2 x;
  uvec2 y;
};
#else
#define f64_t double
#define D precise double
#define c128_t dvec2
#endif
#endif
