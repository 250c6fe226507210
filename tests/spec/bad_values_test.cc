// Values that have no good answer give the stated one: shifts past the width, wrapped integers, indices and conversions
// out of range. Division by zero, INT_MIN / -1 and the clamping of slices are among the traps.
#include "tests/spec/spec_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

struct Width {
  const char *type, *min, *max, *low_bit_shifted;  // 1 shifted to the top
};
constexpr Width kSigned[] = {{"s8", "-128", "127", "-128"},
                             {"s16", "-32768", "32767", "-32768"},
                             {"s32", "-2147483648", "2147483647", "-2147483648"},
                             {"s64", "-9223372036854775808", "9223372036854775807", "-9223372036854775808"}};
constexpr Width kUnsigned[] = {{"u8", "0", "255", "128"},
                               {"u16", "0", "65535", "32768"},
                               {"u32", "0", "4294967295", "2147483648"},
                               {"u64", "0", "18446744073709551615", "9223372036854775808"}};

TEST(BadValuesTest, ShiftsPastTheWidthLeaveNothingOrTheSign) {
  for (const Width& w : kSigned) {
    const std::string n = std::string(w.type) + "[6]", width = std::to_string(std::stoi(w.type + 1));
    const std::string last = std::to_string(std::stoi(w.type + 1) - 1);
    Program p;
    const XlaOp x = p.Arg(n + "{1,-1,1,-1," + w.min + ",-1}");
    const XlaOp y = p.Arg(n + "{" + last + "," + last + "," + width + "," + width + ",-1," + w.max + "}");
    EXPECT_EQ(p.Run(ShiftLeft(x, y)), n + "{" + w.min + "," + w.min + ",0,0,0,0}");
    EXPECT_EQ(p.Run(ShiftRightArithmetic(x, y)), n + "{0,-1,0,-1,-1,-1}");
    EXPECT_EQ(p.Run(ShiftRightLogical(x, y)), n + "{0,1,0,0,0,0}");
  }
  for (const Width& w : kUnsigned) {
    const std::string n = std::string(w.type) + "[4]", width = std::to_string(std::stoi(w.type + 1));
    const std::string last = std::to_string(std::stoi(w.type + 1) - 1);
    Program p;
    const XlaOp x = p.Arg(n + "{1," + w.max + "," + w.max + "," + w.max + "}");
    const XlaOp y = p.Arg(n + "{" + last + "," + last + "," + width + "," + w.max + "}");
    EXPECT_EQ(p.Run(ShiftLeft(x, y)), n + "{" + w.low_bit_shifted + "," + w.low_bit_shifted + ",0,0}");
    EXPECT_EQ(p.Run(ShiftRightLogical(x, y)), n + "{0,1,0,0}");
    // An unsigned number's arithmetic shift repeats its top bit all the same.
    EXPECT_EQ(p.Run(ShiftRightArithmetic(x, y)), n + "{0," + w.max + "," + w.max + "," + w.max + "}");
  }
}

TEST(BadValuesTest, IntegersWrap) {
  for (const Width& w : kSigned) {
    const std::string n = std::string(w.type) + "[2]";
    Program p;
    const XlaOp x = p.Arg(n + "{" + w.min + "," + w.max + "}"), one = p.Arg(n + "{-1,1}");
    EXPECT_EQ(p.Run(Abs(x)), n + "{" + w.min + "," + w.max + "}");
    EXPECT_EQ(p.Run(Add(x, one)), n + "{" + w.max + "," + w.min + "}");
    EXPECT_EQ(p.Run(Neg(x)), n + "{" + w.min + ",-" + w.max + "}");
    EXPECT_EQ(p.Run(Clz(x)), n + "{0,1}");
  }
  for (const Width& w : kUnsigned) {
    const std::string n = std::string(w.type) + "[2]", width = std::to_string(std::stoi(w.type + 1));
    Program p;
    const XlaOp x = p.Arg(n + "{0," + w.max + "}"), one = p.Arg(n + "{1,1}");
    EXPECT_EQ(p.Run(Add(x, one)), n + "{1,0}");
    EXPECT_EQ(p.Run(Neg(one)), n + "{" + w.max + "," + w.max + "}");
    EXPECT_EQ(p.Run(Clz(x)), n + "{" + width + ",0}");
    EXPECT_EQ(p.Run(PopulationCount(x)), n + "{0," + width + "}");
  }
}

TEST(BadValuesTest, IndicesOfAnyTypeAndSize) {
  Program p;
  const XlaOp x = p.Arg("s32[4]{10,20,30,40}");
  GatherDimensionNumbers gather;
  gather.collapsed_slice_dims = gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  ScatterDimensionNumbers scatter;
  scatter.inserted_window_dims = scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  const XlaOp one = p.Arg("s32[2]{1,1}");
  for (const char* indices : {"s64[2]{-9223372036854775808,9223372036854775807}", "s32[2]{-2147483648,2147483647}",
                              "s8[2]{-128,127}", "s64[2]{-4294967295,4294967299}"}) {
    const XlaOp i = p.Arg(indices);
    EXPECT_EQ(p.Run(Gather(x, i, gather, {1})), "s32[2]{10,40}") << indices;
    EXPECT_EQ(p.Run(Scatter(x, i, one, Scalar(kS32), scatter)), "s32[4]{10,20,30,40}") << indices;
  }
  for (const char* indices : {"u64[2]{0,18446744073709551615}", "u32[2]{0,4294967295}", "u8[2]{0,255}"}) {
    const XlaOp i = p.Arg(indices);
    EXPECT_EQ(p.Run(Gather(x, i, gather, {1})), "s32[2]{10,40}") << indices;
    EXPECT_EQ(p.Run(Scatter(x, i, one, Scalar(kS32), scatter)), "s32[4]{11,20,30,40}") << indices;
  }
  for (const char* start : {"u64[]18446744073709551615", "s64[]9223372036854775807", "u32[]4294967295", "u8[]200"}) {
    const XlaOp i = p.Arg(start);
    EXPECT_EQ(p.Run(DynamicSlice(x, {i}, {3})), "s32[3]{20,30,40}") << start;
    EXPECT_EQ(p.Run(DynamicUpdateSlice(x, one, {i})), "s32[4]{10,20,1,1}") << start;
  }
  // Slices of nothing out of nothing.
  EXPECT_EQ(p.Run(DynamicSlice(p.Arg("s32[0]{}"), {p.Arg("s32[]5")}, {0})), "s32[0]{}");
}

TEST(BadValuesTest, ConversionsOutOfRange) {
  Program p;
  const XlaOp big = p.Arg("f64[6]{9223372036854775808,-9223372036854775809,18446744073709551616,-1,1e300,nan}");
  EXPECT_EQ(p.Run(ConvertElementType(big, kS64)),
            "s64[6]{9223372036854775807,-9223372036854775808,9223372036854775807,-1,9223372036854775807,0}");
  EXPECT_EQ(p.Run(ConvertElementType(big, kU64)),
            "u64[6]{9223372036854775808,0,18446744073709551615,0,18446744073709551615,0}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("f16[3]{inf,-inf,-0.5}"), kU8)), "u8[3]{255,0,0}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("bf16[2]{1e38,-1e38}"), kS16)), "s16[2]{32767,-32768}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("f32[4]{0,-0,nan,1e-45}"), kPred)), "pred[4]{0,0,1,1}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("s32[3]{256,0,-1}"), kPred)), "pred[3]{1,0,1}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("f32[4]{65519,65520,-1e9,nan}"), kF16)), "f16[4]{6.55e+04,inf,-inf,nan}");
  // Formats without infinity: overflow is NaN; with one: infinity; four bits saturate.
  const XlaOp x = p.Arg("f32[3]{1000,-1e9,nan}");
  EXPECT_EQ(p.Run(ConvertElementType(ConvertElementType(x, kF8E4M3FN), kF32)), "f32[3]{nan,nan,nan}");
  EXPECT_EQ(p.Run(ConvertElementType(ConvertElementType(x, kF8E5M2), kF32)), "f32[3]{1024,-inf,nan}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("s32[4]{8,-9,7,-8}"), kS4)), "s4[4]{-8,7,7,-8}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("u64[2]{18446744073709551615,16777217}"), kF32)),
            "f32[2]{1.8446744e+19,16777216}");
}

TEST(BadValuesTest, FloatsDivideByZeroAsIeeeSays) {
  Program p;
  EXPECT_EQ(p.Run(Div(p.Arg("f32[4]{1,-1,0,1}"), p.Arg("f32[4]{0,0,0,-0}"))), "f32[4]{inf,-inf,nan,-inf}");
  EXPECT_EQ(p.Run(Max(p.Arg("f32[2]{nan,1}"), p.Arg("f32[2]{1,nan}"))), "f32[2]{nan,nan}");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
