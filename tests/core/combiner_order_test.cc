// Which combiners associate, which are known not to, and of which neither is said.
#include "core/numerics/combiner_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/ir/module.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace combiner_order_test {

CombinerOrder Order(const std::string& body) {
  const auto module = ParseHlo("HloModule m\nf {\n" + body + "}\nENTRY e { ROOT z = f32[] constant(0) }\n");
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? OrderOf(*(*module)->computations().front()) : CombinerOrder::kUnknown;
}

std::string Two(const std::string& type) {
  return fmt::format("a = {0}[] parameter(0)\nb = {0}[] parameter(1)\n", type);
}

CombinerOrder OrderOfOperation(const std::string& type, const std::string& operation, bool exchanged = false) {
  return Order(fmt::format("{}ROOT r = {}[] {}({})\n", Two(type), type, operation, exchanged ? "b, a" : "a, b"));
}

TEST(CombinerOrderTest, SumsProductsExtremesAndBitsAreShownToAssociate) {
  for (const char* type : {"f32", "bf16", "f64", "s8", "u64", "s32"}) {
    for (const char* operation : {"add", "multiply", "maximum", "minimum"})
      EXPECT_EQ(OrderOfOperation(type, operation), CombinerOrder::kAny) << type << operation;
  }
  for (const char* operation : {"and", "or", "xor"}) {
    EXPECT_EQ(OrderOfOperation("u16", operation), CombinerOrder::kAny) << operation;
    EXPECT_EQ(OrderOfOperation("pred", operation, true), CombinerOrder::kAny) << operation;
  }
  EXPECT_EQ(OrderOfOperation("c64", "add"), CombinerOrder::kAny);
  EXPECT_EQ(Order(Two("f32") + "ROOT r = f32[] copy(b)\n"), CombinerOrder::kAny);
  EXPECT_EQ(Order(Two("bf16") + "x = f32[] convert(a)\ny = f32[] convert(b)\ns = f32[] add(y, x)\n"
                                "ROOT r = bf16[] convert(s)\n"),
            CombinerOrder::kAny);
  EXPECT_EQ(Order("a = f32[] parameter(0)\ni = s32[] parameter(1)\nb = f32[] parameter(2)\nj = s32[] parameter(3)\n"
                  "s = f32[] add(a, b)\nm = s32[] maximum(j, i)\nROOT r = (f32[], s32[]) tuple(s, m)\n"),
            CombinerOrder::kAny);
}

TEST(CombinerOrderTest, OtherOperationsOfTheTwoAreKnownNotToInEitherOrderOfThem) {
  for (const bool exchanged : {false, true}) {
    for (const char* type : {"f32", "bf16", "f8e4m3fn", "f64", "s8", "u8", "s4", "u4", "s32", "u64", "u2"}) {
      for (const char* operation : {"subtract", "divide", "remainder", "power"})
        EXPECT_EQ(OrderOfOperation(type, operation, exchanged), CombinerOrder::kInOrder) << type << operation;
    }
    for (const char* type : {"s8", "u8", "s4", "u4", "s64", "u32"}) {
      for (const char* operation : {"shift-left", "shift-right-arithmetic", "shift-right-logical"})
        EXPECT_EQ(OrderOfOperation(type, operation, exchanged), CombinerOrder::kInOrder) << type << operation;
    }
    for (const char* operation : {"subtract", "divide", "power"})
      EXPECT_EQ(OrderOfOperation("c128", operation, exchanged), CombinerOrder::kInOrder) << operation;
    EXPECT_EQ(OrderOfOperation("f32", "atan2", exchanged), CombinerOrder::kInOrder);
  }
}

TEST(CombinerOrderTest, SoAreFunctionsOfSeveralOperations) {
  const std::string two = Two("f32");
  EXPECT_EQ(Order(two + "c = f32[] constant(2)\nd = f32[] multiply(c, b)\nROOT r = f32[] subtract(a, d)\n"),
            CombinerOrder::kInOrder);
  EXPECT_EQ(Order(two + "q = f32[] multiply(b, b)\nROOT r = f32[] add(a, q)\n"), CombinerOrder::kInOrder);
  // It commutes all the same.
  EXPECT_EQ(Order(two + "h = f32[] constant(0.5)\ns = f32[] add(a, b)\nROOT r = f32[] multiply(h, s)\n"),
            CombinerOrder::kInOrder);
  // Where sums stay above zero it would associate.
  EXPECT_EQ(Order(two + "z = f32[] constant(0)\ns = f32[] add(a, b)\nROOT r = f32[] maximum(s, z)\n"),
            CombinerOrder::kInOrder);
  // One of two values, beside one that associates.
  EXPECT_EQ(Order("a = f32[] parameter(0)\ni = s32[] parameter(1)\nb = f32[] parameter(2)\nj = s32[] parameter(3)\n"
                  "s = f32[] add(a, b)\nm = s32[] subtract(i, j)\nROOT r = (f32[], s32[]) tuple(s, m)\n"),
            CombinerOrder::kInOrder);
}

TEST(CombinerOrderTest, OfPredEveryCaseIsGoneThrough) {
  const std::string two = Two("pred");
  for (const char* direction : {"EQ", "NE"})
    EXPECT_EQ(Order(fmt::format("{}ROOT r = pred[] compare(a, b), direction={}\n", two, direction)),
              CombinerOrder::kAny);
  for (const char* direction : {"LT", "LE", "GT", "GE"})
    EXPECT_EQ(Order(fmt::format("{}ROOT r = pred[] compare(a, b), direction={}\n", two, direction)),
              CombinerOrder::kInOrder);
  EXPECT_EQ(Order(two + "n = pred[] and(a, b)\nROOT r = pred[] not(n)\n"), CombinerOrder::kInOrder);
  EXPECT_EQ(Order(two + "o = pred[] or(a, b)\nn = pred[] not(o)\nROOT r = pred[] not(n)\n"), CombinerOrder::kAny);
}

// They may be grouped, as scans and argmax are.
TEST(CombinerOrderTest, NothingIsSaidOfWhatAssociatesWithoutAProof) {
  const std::string pairs =
      "a = f32[] parameter(0)\nb = f32[] parameter(1)\nc = f32[] parameter(2)\n"
      "d = f32[] parameter(3)\n";
  // The composition of two affine maps.
  EXPECT_EQ(Order(pairs + "k = f32[] multiply(a, c)\nm = f32[] multiply(c, b)\nn = f32[] add(m, d)\n"
                          "ROOT r = (f32[], f32[]) tuple(k, n)\n"),
            CombinerOrder::kUnknown);
  EXPECT_EQ(Order("a = f32[] parameter(0)\ni = s32[] parameter(1)\nb = f32[] parameter(2)\nj = s32[] parameter(3)\n"
                  "g = pred[] compare(a, b), direction=GT\ne = pred[] compare(a, b), direction=EQ\n"
                  "l = pred[] compare(i, j), direction=LT\nt = pred[] and(e, l)\nk = pred[] or(g, t)\n"
                  "v = f32[] select(k, a, b)\np = s32[] select(k, i, j)\nROOT r = (f32[], s32[]) tuple(v, p)\n"),
            CombinerOrder::kUnknown);
  // log(e^a + e^b).
  EXPECT_EQ(Order(Two("f32") + "m = f32[] maximum(a, b)\nd = f32[] subtract(a, b)\nx = f32[] abs(d)\n"
                               "n = f32[] negate(x)\ne = f32[] exponential(n)\nl = f32[] log-plus-one(e)\n"
                               "ROOT r = f32[] add(m, l)\n"),
            CombinerOrder::kUnknown);
  // (a + b) / (1 + a b), and the sum of counts and means.
  EXPECT_EQ(Order(Two("f64") + "s = f64[] add(a, b)\np = f64[] multiply(a, b)\no = f64[] constant(1)\n"
                               "q = f64[] add(o, p)\nROOT r = f64[] divide(s, q)\n"),
            CombinerOrder::kUnknown);
  EXPECT_EQ(Order(pairs + "n = f32[] add(a, c)\nd1 = f32[] subtract(d, b)\nw = f32[] divide(c, n)\n"
                          "x = f32[] multiply(d1, w)\nm = f32[] add(b, x)\nROOT r = (f32[], f32[]) tuple(n, m)\n"),
            CombinerOrder::kUnknown);
}

TEST(CombinerOrderTest, NothingIsSaidOfOperationsThatItDoesNotEvaluate) {
  EXPECT_EQ(Order(Two("f32") + "l = f32[] lgamma(b)\nROOT r = f32[] subtract(a, l)\n"), CombinerOrder::kUnknown);
  std::string body = Two("f32") + "x0 = f32[] subtract(a, b)\n";
  for (int i = 0; i < 600; ++i) body += fmt::format("x{} = f32[] add(x{}, a)\n", i + 1, i);
  EXPECT_EQ(Order(body + "ROOT r = f32[] copy(x600)\n"), CombinerOrder::kUnknown);
}

}  // namespace combiner_order_test
}  // namespace VXLA_NAMESPACE
