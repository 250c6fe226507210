// The words in which all scalar arithmetic is written, so that the same text compiles as GLSL (shaderc) and as C++
// (g++, through glm, inside namespace vxla::shader_math; see backend/cpu/twin/shader_math.cc). Put this file before every
// other file of this folder.
//
// NAMES. A function is <op>_<carrier>, never overloaded; <op> is the HLO opcode text with '-' as '_'; carriers are
//   f32 float | f64 f64_t | c64 vec2 (re, im) | c128 c128_t | i32 int | u32 uint | i64 i64_t | u64 u64_t | pred bool
// The 64-bit types are the device's or emulated: types64.glsl says what may be written with them.
//   add_f32 exponential_f32 log_plus_one_f64 divide_i32 abs_c64 (-> float) complex_f32 (-> vec2) is_finite_f32 (-> bool)
//   clamp_f32(min, x, max)  compare_<eq|ne|ge|gt|le|lt>_<carrier>  compare_total_<..>_f32|f64
//   convert_<from>_<to>(x)  convert_<from>_int_saturate(x, lo, hi)  bitcast_<from>_<to>(x)
//   reduce_precision_<carrier or narrow type>(x, exponent_bits, mantissa_bits)
// Narrow types travel in a wide carrier: f16, bf16, f8*, f4 as float (an exactly representable value), s1..s16 as int,
// u1..u16 as uint. After each arithmetic op on a narrow type call round_<t>(float) or wrap_<t>(int|uint); storage is
// decode_<t>(uint bits) -> float and encode_<t>(float) -> uint, with <t> = f16 bf16 f8e5m2 f8e4m3 f8e4m3fn f8e3m4
// f8e4m3b11fnuz f8e4m3fnuz f8e5m2fnuz f8e8m0fnu f6e2m3fn f6e3m2fn f4e2m1fn. round_from_f64_<t>(f64_t) -> float rounds once. Ops whose
// result depends on the width have a variant <op>_<i32|u32>_width(a[, b], bits). f16.glsl has <op>_f16 for those
// functions of f16 whose f32 result must not be rounded again, f32_odd.glsl <op>_f32_odd for those of two narrow
// floats, f32_narrow.glsl <op>_f32_narrow for functions of one that are quicker where the result is rounded again.
//
// FILES, in the order in which definitions depend on each other (a later file uses earlier ones only):
// FILE ORDER: prelude.glsl types64.glsl select.glsl f32.glsl f32_exp_log.glsl f32_trig.glsl f32_special.glsl
// FILE ORDER: f32_gamma.glsl f32_odd.glsl f32_narrow.glsl f16.glsl int32.glsl narrow.glsl convert32.glsl c64.glsl
// FILE ORDER: wide_int.glsl int64.glsl soft_double.glsl f64.glsl f64_exp_log.glsl f64_trig.glsl f64_special.glsl f64_erf.glsl
// FILE ORDER: f64_gamma.glsl convert64.glsl c128.glsl
// prelude.glsl and types64.glsl are put whole before a kernel, of the others the definitions that it uses. Files up to
// c64.glsl need neither f64_t nor 64-bit integers. Between definitions, #ifdef VXLA_EMULATE_I64, VXLA_EMULATE_F64,
// VXLA_CORRECT_F32 or VXLA_CORRECT_F64 (also #ifndef), #else and #endif at column 0 choose among variants. Within one,
// indented, #ifdef VXLA_FUSED_F32 (fma rounds once there), VXLA_NATIVE_F16, VXLA_OTHER_F16_NAN and VXLA_UNKNOWN_ZERO are
// left to the driver's front end.
//
// RULES of the text: one top-level definition per chunk; FN <type> name( or CONSTARR <type> name[n] = {...}; at column
// 0; a chunk ends with a line that is exactly } or };. F and D are the precise float and double for locals and results,
// OUT(T) an out parameter. Literals carry f (or lf for double). No fma but there, no driver built-in but floor and
// bit operations: reference measurements found the others wrong. Floats are divided by divide_<t> and rooted by
// sqrt_plain_<t>, never by / and sqrt, which devices round as they please. No arrays indexed at run time: lavapipe
// copies the array for each access (seconds of JIT). In functions of 64-bit and complex types no choice of expressions,
// c ? f(x) : g(x), but select_<t>(c, f(x), g(x)), and and_pred and or_pred for && and || of expressions: select.glsl
// says why; a ? b : c of names and literals is fine. No 0 - x or 0 * x with a constant 0 where the sign of a zero
// matters: drivers fold them. A kernel that uses this must also ask for SignedZeroInfNanPreserve where advertised.
#ifdef __cplusplus
#define FN
#define F float
#define OUT(T) T&
#define CONSTARR const
#else
#define FN
#define F precise float
#define OUT(T) out T
#define CONSTARR const
#endif
