// Control edges hold of what the passes put in place of their ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace {

std::unique_ptr<Module> OptimizedText(const std::string& text) {
  auto module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message() << text;
  if (!module.ok()) return nullptr;
  const Status verified = Verify(**module);
  EXPECT_TRUE(verified.ok()) << verified.message();
  auto optimized = Optimize(**module, {});
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  if (!optimized.ok()) return nullptr;
  const Status still = Verify(**optimized);
  EXPECT_TRUE(still.ok()) << still.message() << PrintHlo(**optimized);
  return std::move(*optimized);
}

// Instruction i of a program adds the number i, so that it is known again wherever it goes: in a fusion, or, if nothing
// but an edge needs it, where it was.
using Homes = std::unordered_map<int, std::set<const Instruction*>>;
Homes HomesOf(const Computation& entry) {
  Homes homes;
  auto note = [&](const Instruction& i, const Instruction* top) {
    const Instruction* addend = i.opcode() == Opcode::kAdd ? i.operand(1) : nullptr;
    if (addend == nullptr || addend->opcode() != Opcode::kBroadcast) return;
    const Instruction& constant = *addend->operand(0);
    if (constant.opcode() == Opcode::kConstant) homes[static_cast<int>(constant.literal().GetDouble(0))].insert(top);
  };
  for (const auto& top : entry.instructions()) {
    note(*top, top.get());
    if (top->opcode() != Opcode::kFusion) continue;
    for (const auto& inner : top->called(0)->instructions()) note(*inner, top.get());
  }
  return homes;
}

bool Reaches(const Instruction* from, const Instruction* to) {
  std::vector<const Instruction*> work{from};
  std::unordered_set<const Instruction*> seen;
  while (!work.empty()) {
    const Instruction* i = work.back();
    work.pop_back();
    if (i == to) return true;
    if (!seen.insert(i).second) continue;
    work.insert(work.end(), i->users().begin(), i->users().end());
    work.insert(work.end(), i->control_successors().begin(), i->control_successors().end());
  }
  return false;
}

struct RandomProgram {
  std::string text;
  std::vector<std::pair<int, int>> edges;
  std::set<int> needed;  // the values that results are computed from
};

// Elementwise operations, reductions, products and host steps over one small matrix, some in a called computation.
RandomProgram MakeProgram(std::mt19937& random, int count) {
  RandomProgram program;
  std::string& text = program.text;
  text =
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
      "twice { x = f32[8,8] parameter(0)  y = f32[8,8] cosine(x)  ROOT r = f32[8,8] negate(y) }\n"
      "ENTRY e {\nv0 = f32[8,8] parameter(0)\nzero = f32[] constant(0)\n";
  std::vector<std::string> results;
  std::vector<std::set<int>> reads(1);
  for (int i = 1; i < count; ++i) {
    const int a = static_cast<int>(random() % i), b = static_cast<int>(random() % i);
    std::string value = fmt::format("v{}", a);
    std::set<int>& read = reads.emplace_back(std::set<int>{a});
    switch (random() % 6) {
      case 0:
        text += fmt::format("r{0} = f32[8] reduce({1}, zero), dimensions={{1}}, to_apply=add\n", i, value);
        text += fmt::format("o{0} = f32[8,8] broadcast(r{0}), dimensions={{0}}\n", i);
        value = fmt::format("o{}", i);
        break;
      case 1:
        text += fmt::format("o{0} = f32[8,8] dot(v{1}, v{2}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
                            i, a, b);
        read.insert(b);
        value = fmt::format("o{}", i);
        break;
      case 2:
        if (random() % 4 == 0) {
          text += fmt::format("o{0} = f32[8,8] sort({1}), dimensions={{1}}, to_apply=less\n", i, value);
        } else {
          text += fmt::format("o{0} = f32[8,8] call({1}), to_apply=twice\n", i, value);
        }
        value = fmt::format("o{}", i);
        break;
      default:
        break;
    }
    text += fmt::format("k{0} = f32[] constant({0})\nb{0} = f32[8,8] broadcast(k{0}), dimensions={{}}\n", i);
    text += fmt::format("v{0} = f32[8,8] add({1}, b{0})", i, value);
    std::set<int> before;
    if (i > 1 && random() % 3 == 0) {
      for (unsigned n = 0; n < 1 + random() % 2; ++n) before.insert(1 + static_cast<int>(random() % (i - 1)));
      std::vector<std::string> names;
      for (int p : before) {
        names.push_back(fmt::format("v{}", p));
        program.edges.emplace_back(p, i);
      }
      text += fmt::format(", control-predecessors={{{}}}", fmt::join(names, ", "));
    }
    text += "\n";
    if (random() % 3 == 0 || i == count - 1) {
      results.push_back(fmt::format("v{}", i));
      program.needed.insert(i);
    }
  }
  for (int i = count - 1; i > 0; --i) {
    if (program.needed.contains(i)) program.needed.insert(reads[i].begin(), reads[i].end());
  }
  const std::vector<std::string> shapes(results.size(), "f32[8,8]");
  text += fmt::format("ROOT t = ({}) tuple({})\n}}\n", fmt::join(shapes, ", "), fmt::join(results, ", "));
  return program;
}

TEST(ControlEdgesTest, OfRandomProgramsHoldOfTheKernelsThatTheirEndsBecome) {
  std::mt19937 random(11);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    const RandomProgram program = MakeProgram(random, 5 + static_cast<int>(random() % 40));
    const auto module = OptimizedText(program.text);
    ASSERT_NE(module, nullptr) << program.text;
    const Homes homes = HomesOf(*module->entry());
    for (const auto& [before, after] : program.edges) {
      const auto from = homes.find(before), to = homes.find(after);
      if (to == homes.end()) continue;  // dead: nothing waits for it
      if (from == homes.end()) {
        // A fusion that takes a value in and has no use for it keeps its edges, and drops the value.
        ASSERT_FALSE(program.needed.contains(before))
            << "v" << before << " went, and v" << after << " is ordered after it\n"
            << program.text << PrintHlo(*module);
        continue;
      }
      for (const Instruction* p : from->second) {
        for (const Instruction* s : to->second) {
          ASSERT_TRUE(Reaches(p, s)) << "v" << before << " before v" << after << "\n"
                                     << program.text << PrintHlo(*module);
          checked += p != s;
        }
      }
    }
  }
  EXPECT_GT(checked, 500);
}

TEST(ControlEdgesTest, AnEdgeBetweenAFusionsPartsIsNoCycle) {
  const auto module = OptimizedText(R"(ENTRY e {
  p = f32[8] parameter(0)
  lo = f32[] constant(0)
  hi = f32[] constant(1)
  a = f32[8] exponential(p)
  r = f32[8] custom-call(lo, hi), custom_call_target="draw", custom_call_has_side_effect=true, control-predecessors={a}
  c = f32[8] add(a, r)
  ROOT t = (f32[8], f32[8]) tuple(a, c)
})");
  ASSERT_NE(module, nullptr);
  const Instruction* rng = nullptr;
  int fusions = 0;
  for (const auto& i : module->entry()->instructions()) {
    if (i->opcode() == Opcode::kCustomCall) rng = i.get();
    fusions += i->opcode() == Opcode::kFusion;
  }
  ASSERT_NE(rng, nullptr);
  EXPECT_EQ(fusions, 2);
  ASSERT_EQ(rng->control_predecessors().size(), 1u);
  EXPECT_EQ(rng->control_predecessors()[0]->opcode(), Opcode::kFusion);
}

TEST(ControlEdgesTest, ACallHandsItsEdgesToTheEdgesOfItsBody) {
  const auto module = OptimizedText(R"(
identity { x = f32[8] parameter(0)  ROOT y = f32[8] copy(x) }
ENTRY e {
  p = f32[8] parameter(0)
  lo = f32[] constant(0)
  hi = f32[] constant(1)
  first = f32[8] custom-call(lo, hi), custom_call_target="draw", custom_call_has_side_effect=true
  c = f32[8] call(p), to_apply=identity, control-predecessors={first}
  second = f32[8] custom-call(lo, hi), custom_call_target="draw", custom_call_has_side_effect=true, control-predecessors={c}
  ROOT t = (f32[8], f32[8], f32[8]) tuple(first, second, c)
})");
  ASSERT_NE(module, nullptr);
  std::vector<const Instruction*> rngs;
  for (const auto& i : module->entry()->instructions()) {
    if (i->opcode() == Opcode::kCustomCall) rngs.push_back(i.get());
  }
  ASSERT_EQ(rngs.size(), 2u);
  EXPECT_TRUE(Reaches(rngs[0], rngs[1]));
}

TEST(ControlEdgesTest, EqualInstructionsOfDifferentEdgesStayApart) {
  const auto module = OptimizedText(R"(ENTRY e {
  p = f32[8] parameter(0)
  lo = f32[] constant(0)
  hi = f32[] constant(1)
  a = f32[8] sine(p)
  r = f32[8] rng(lo, hi), distribution=rng_uniform, control-predecessors={a}
  b = f32[8] sine(p), control-predecessors={r}
  ROOT t = (f32[8], f32[8], f32[8]) tuple(a, r, b)
})");
  ASSERT_NE(module, nullptr);
  int sines = 0;
  for (const auto& i : module->entry()->instructions()) {
    if (i->opcode() != Opcode::kFusion) continue;
    for (const auto& inner : i->called(0)->instructions()) sines += inner->opcode() == Opcode::kSin;
  }
  EXPECT_EQ(sines, 2);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
