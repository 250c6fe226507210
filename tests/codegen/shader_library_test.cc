// What the build makes of shaders/: the pieces of kernels, in each variant.
#include "backend/vulkan/shader/shader_library.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <unordered_map>

#include "tools/embed/definitions.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::vector<const ShaderDefinition*> VariantOf(size_t number) {
  std::vector<const ShaderDefinition*> definitions;
  for (const uint16_t each : kShaderLibrary.variants[number]) definitions.push_back(&kShaderLibrary.definitions[each]);
  return definitions;
}

TEST(ShaderLibraryTest, HoldsEachDifferentDefinitionOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ShaderDefinition& definition : kShaderLibrary.definitions) {
    EXPECT_TRUE(seen.emplace(definition.name, definition.text).second) << definition.name;
    EXPECT_TRUE(definition.text.starts_with("FN ") || definition.text.starts_with("CONSTARR ")) << definition.name;
    EXPECT_TRUE(definition.text.ends_with("}\n") || definition.text.ends_with("};\n") ||
                definition.text.ends_with(";\n"))
        << definition.name;
  }
  EXPECT_GT(seen.size(), 700u);
  ASSERT_EQ(kShaderLibrary.variants.size(), 16u);
}

TEST(ShaderLibraryTest, ADefinitionUsesOnlyEarlierOnes) {
  for (size_t number = 0; number < kShaderLibrary.variants.size(); ++number) {
    const auto definitions = VariantOf(number);
    std::unordered_map<std::string_view, size_t> first;
    for (size_t i = 0; i < definitions.size(); ++i) first.emplace(definitions[i]->name, i);
    for (size_t i = 0; i < definitions.size(); ++i) {
      for (const std::string_view used : definitions[i]->uses) {
        const auto found = first.find(used);
        if (found != first.end()) {
          EXPECT_LT(found->second, i) << definitions[i]->name << " uses " << used;
        }
      }
    }
  }
}

TEST(ShaderLibraryTest, UsesAreTheIdentifiersOfTheText) {
  std::set<std::string_view> names;
  for (const ShaderDefinition& definition : kShaderLibrary.definitions) names.insert(definition.name);
  for (const ShaderDefinition& definition : kShaderLibrary.definitions) {
    std::set<std::string, std::less<>> found;
    embed::ForEachIdentifier(definition.text, [&](std::string_view identifier) {
      if (identifier != definition.name && names.contains(identifier)) found.emplace(identifier);
    });
    const std::set<std::string, std::less<>> stated(definition.uses.begin(), definition.uses.end());
    EXPECT_EQ(stated, found) << definition.name;
  }
}

TEST(ShaderLibraryTest, VariantsDifferInWhatTheyEmulateOnly) {
  const ShaderVariant words{.emulate_f64 = true};
  for (const ShaderDefinition* definition : VariantOf(static_cast<size_t>(words.number()))) {
    EXPECT_EQ(definition->text.find("lf)"), std::string_view::npos) << definition->name;
    EXPECT_EQ(definition->text.find("double "), std::string_view::npos) << definition->name;
  }
  // All that f32 programs need is the same whatever is emulated.
  std::set<std::string_view> native, emulated;
  for (const ShaderDefinition* definition : VariantOf(0)) native.insert(definition->text);
  for (const ShaderDefinition* definition : VariantOf(3)) emulated.insert(definition->text);
  for (const ShaderDefinition* definition : VariantOf(0)) {
    if (definition->name.ends_with("_f32") || definition->name.ends_with("_c64")) {
      EXPECT_TRUE(emulated.contains(definition->text) || definition->text.find("64") != std::string_view::npos)
          << definition->name;
    }
  }
}

TEST(ShaderLibraryTest, AlgorithmsAreCutAtTheirHooks) {
  std::set<std::string_view> names;
  for (const ShaderAlgorithm& algorithm : kShaderLibrary.algorithms) {
    EXPECT_TRUE(names.insert(algorithm.name).second);
    EXPECT_EQ(algorithm.pieces.size(), 2u) << algorithm.name;
    for (const std::string_view piece : algorithm.pieces) {
      EXPECT_EQ(piece.find("#include"), std::string_view::npos) << algorithm.name;
    }
  }
  EXPECT_TRUE(names.contains("elementwise/fused_loop.comp"));
}

TEST(ShaderLibraryTest, TextsKeepEveryByte) {
  EXPECT_NE(kShaderLibrary.head.find("tensor_##k##_##tag;\n"), std::string_view::npos);
  EXPECT_NE(kShaderLibrary.head.find("v[]; };"), std::string_view::npos);
  EXPECT_NE(kShaderLibrary.head.find(" \\\n"), std::string_view::npos);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan

namespace VXLA_NAMESPACE::embed {
namespace {

TEST(GlslTextTest, LiteralsOfDoublesBecomeWords) {
  EXPECT_EQ(WithWordsForDoubles("multiply_f64(-1.5lf, x1lf) + 2.0e-3lf + 0x7fu + 1.0f // 3.0lf"),
            "multiply_f64(uvec2(0x0u, 0xbff80000u), x1lf) + uvec2(0xd2f1a9fcu, 0x3f60624du) + 0x7fu + 1.0f // 3.0lf");
}

TEST(GlslTextTest, FourStepsOfAPolynomialBecomeALoop) {
  std::string text, three;
  for (int i = 0; i < 4; ++i) {
    if (i < 3) three += "  p = horner_f64(p, r, uvec2(0x" + std::to_string(i) + "u, 0x0u));\n";
    text += "  p = horner_f64(p, r, uvec2(0x" + std::to_string(i) + "u, 0x0u));\n";
  }
  EXPECT_EQ(WithLoopsForPolynomials(three), three);
  EXPECT_EQ(WithLoopsForPolynomials(text),
            "  for (int term = 0; term < 4; ++term) {\n"
            "    uvec2 c = uvec2(0x0u, 0x0u);\n"
            "    c = select_words(term == 1, uvec2(0x1u, 0x0u), c);\n"
            "    c = select_words(term == 2, uvec2(0x2u, 0x0u), c);\n"
            "    c = select_words(term == 3, uvec2(0x3u, 0x0u), c);\n"
            "    p = horner_f64(p, r, c);\n  }\n");
}

TEST(GlslTextTest, AFileIsWrittenInTheWordsOfOneType) {
  const ReadFile read = [](const std::string& path) {
    EXPECT_EQ(path, "include/math/all.glsl");
    return std::string("FN PART RE(half)(PART x) {\n  return x * L(0.5);\n}\n");
  };
  EXPECT_EQ(Instantiated("#define PART float\n#define RE(name) name##_f32\n#define L(number) number##f\n"
                         "#include \"shaders/include/math/all.glsl\"\n#undef PART\n",
                         read),
            "FN float half_f32(float x) {\n  return x * 0.5f;\n}\n");
}

TEST(DefinitionsTest, ConditionsChooseAmongVariants) {
  const ReadFile read = [](const std::string&) {
    return std::string(
        "#ifdef VXLA_EMULATE_I64\nFN uvec2 a_i64() {\n  return uvec2(0u);\n}\n#else\nFN int64_t a_i64() { return 0; }\n"
        "#endif\n#ifndef VXLA_CORRECT_F32\nFN F b_f32(F x) {\n  return x;\n}\n#endif\n#ifdef __cplusplus\nFN F no() "
        "{\n}\n"
        "#endif\n");
  };
  const auto names = [&](int variant) {
    std::string text;
    for (const Definition& definition : DefinitionsOf({"x.glsl"}, variant, read))
      text += definition.name + "|" + definition.text;
    return text;
  };
  EXPECT_EQ(names(0), "a_i64|FN int64_t a_i64() { return 0; }\nb_f32|FN F b_f32(F x) {\n  return x;\n}\n");
  EXPECT_EQ(names(kEmulateI64 | kCorrectF32), "a_i64|FN uvec2 a_i64() {\n  return uvec2(0u);\n}\n");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::embed
