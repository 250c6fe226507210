// backend_config as the typed FFI and JSON write it.
#include "core/mlir/reader/config_dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/lexer.h"

namespace VXLA_NAMESPACE::config_dictionary_test {
namespace {

ConfigDictionary Parsed(std::string_view text) {
  Result<ConfigDictionary> parsed = ParseConfigDictionary(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *parsed : ConfigDictionary();
}
std::string Refusal(std::string_view text) { return ParseConfigDictionary(text).status().message(); }

// As JAX 0.10 prints the attributes of jax.ffi.ffi_call.
TEST(ConfigDictionaryTest, ReadsWhatJaxWrites) {
  const ConfigDictionary config = Parsed(
      R"({alpha = 2.500000e+00 : f32, arr = dense<[1, -2, 3]> : tensor<3xi64>, b = true, big = dense<[1.5, 2.0]> : tensor<2xf32>,
          f = 1.5 : f64, i = -7 : i64, n = 3 : i32, name = "hi \22q\22 {x}", nested = {u = 3 : ui8}, unit = array<i32>, l = array<i64: 4, 5>})");
  EXPECT_EQ(config.size(), 11u);
  EXPECT_EQ(config.at("alpha").numbers.shape().ToString(), "f32[]");
  EXPECT_EQ(config.at("alpha").numbers.GetDouble(0), 2.5);
  EXPECT_EQ(config.at("arr").numbers.shape().ToString(), "s64[3]");
  EXPECT_EQ(config.at("arr").numbers.GetInt(1), -2);
  EXPECT_EQ(config.at("b").numbers.shape().ToString(), "pred[]");
  EXPECT_EQ(config.at("big").numbers.GetDouble(0), 1.5);
  EXPECT_EQ(config.at("f").numbers.shape().ToString(), "f64[]");
  EXPECT_EQ(config.at("i").numbers.GetInt(0), -7);
  EXPECT_EQ(config.at("n").numbers.shape().ToString(), "s32[]");
  EXPECT_EQ(config.at("name").text, "hi \"q\" {x}");
  EXPECT_EQ(config.at("nested").entries.at("u").numbers.shape().ToString(), "u8[]");
  EXPECT_EQ(config.at("unit").numbers.shape().ToString(), "s32[0]");
  EXPECT_EQ(config.at("l").numbers.GetInt(1), 5);
}

TEST(ConfigDictionaryTest, ReadsTensorsOfEveryForm) {
  const ConfigDictionary config = Parsed(
      R"({a = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, s = dense<7> : tensor<5xui8>, e = dense<> : tensor<0xf32>,
          h = dense<"0x0000803F00000040"> : tensor<2xf32>, z = dense<0x7F800000> : tensor<f32>, c = 0xFF800000 : f32, k = [1, 2],
          m = [1 : i32, 2 : i32], w = dense<1.5> : tensor<100xbf16>})");
  EXPECT_EQ(config.at("a").numbers.shape().ToString(), "s32[4]");
  EXPECT_EQ(config.at("a").numbers.GetInt(3), 4);
  EXPECT_EQ(config.at("s").numbers.element_count(), 5);
  EXPECT_EQ(config.at("s").numbers.GetInt(4), 7);
  EXPECT_EQ(config.at("e").numbers.element_count(), 0);
  EXPECT_EQ(config.at("h").numbers.GetDouble(1), 2);
  EXPECT_EQ(config.at("z").numbers.GetDouble(0), __builtin_inf());
  EXPECT_EQ(config.at("c").numbers.GetDouble(0), -__builtin_inf());
  EXPECT_EQ(config.at("k").numbers.GetInt(1), 2);
  EXPECT_EQ(config.at("m").numbers.shape().ToString(), "s64[2]");
  EXPECT_EQ(config.at("w").numbers.shape().ToString(), "bf16[100]");
  EXPECT_EQ(config.at("w").numbers.GetDouble(99), 1.5);
}

TEST(ConfigDictionaryTest, ReadsJson) {
  const ConfigDictionary config = Parsed(ConfigText(Quote(
      R"json({"alpha": 2.5, "n": 3, "on": false, "list": [1.5, 2], "groups": "ceil(n / 64)", "in": {"x": -1}})json")));
  EXPECT_EQ(config.at("alpha").numbers.GetDouble(0), 2.5);
  EXPECT_EQ(config.at("n").numbers.shape().ToString(), "s64[]");
  EXPECT_EQ(config.at("on").numbers.GetInt(0), 0);
  EXPECT_EQ(config.at("list").numbers.shape().ToString(), "f64[2]");
  EXPECT_EQ(config.at("groups").text, "ceil(n / 64)");
  EXPECT_EQ(config.at("in").entries.at("x").numbers.GetInt(0), -1);
  const ConfigDictionary reals =
      Parsed(R"({"eps": 1e-05, "low": -Infinity, "list": [[1e3, 2], [-3, 4]], "path": "a\/b\r"})");
  EXPECT_EQ(reals.at("eps").numbers.GetDouble(0), 1e-5);
  EXPECT_EQ(reals.at("low").numbers.GetDouble(0), -__builtin_inf());
  EXPECT_EQ(reals.at("list").numbers.shape().ToString(), "f64[4]");
  EXPECT_EQ(reals.at("list").numbers.GetDouble(0), 1000);
  EXPECT_EQ(reals.at("path").text, "a/b\r");
  EXPECT_TRUE(Parsed("").empty());
  EXPECT_TRUE(Parsed(" {} ").empty());
}

TEST(ConfigDictionaryTest, SaysWhereATextIsNone) {
  EXPECT_EQ(Refusal("{a 1}"), "backend_config: '=' or ':' expected at character 3, found \"1}\"");
  EXPECT_EQ(Refusal("{a = }"), "backend_config: a value expected at character 5, found \"}\"");
  EXPECT_EQ(Refusal("{a = 1"), "backend_config: ',' expected at character 6, found \"\"");
  EXPECT_EQ(Refusal("{a = 1 : q7}"), "backend_config: \"q7\" is no type of numbers");
  EXPECT_EQ(Refusal("{a = x1}"), "backend_config: \"x1\" is no number of s64");
  EXPECT_EQ(Refusal("{a = 300 : i8}"), "backend_config: \"300\" is no number of s8");
  EXPECT_EQ(Refusal("{a = 1, a = 2}"), "backend_config: a is stated twice");
  EXPECT_EQ(Refusal("{a = dense<[1, 2]> : tensor<3xi32>}"),
            "backend_config: dense: 2 elements in dimension 0 of s32[3], expected 3");
  EXPECT_EQ(Refusal("{a = dense<\"0x00\"> : tensor<3xi32>}"),
            "backend_config: 1 bytes for tensor<3xi32>, which has 12");
  EXPECT_EQ(Refusal("{a = 1} b"), "backend_config: the end expected at character 8, found \"b\"");
  EXPECT_EQ(Refusal(std::string(300, '{')),
            "backend_config: a name expected at character 1, found \"" + std::string(20, '{') + "\"");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "{a = ";
  EXPECT_EQ(Refusal(deep), "backend_config: dictionaries nest deeper than 100");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::config_dictionary_test
