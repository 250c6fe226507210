// The steps that `vxla bench sharded` measures: what shardings make of a program is what somebody writes by hand.
#include "tools/commands/sharded_steps.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "api/sharded_program.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/devices/replica_groups.h"
#include "core/numerics/literal_compare.h"
#include "core/numerics/random_literal.h"
#include "core/passes/sharding/exchange_cost.h"

namespace VXLA_NAMESPACE {
namespace {

struct Exchanged {
  std::set<Opcode> kinds;
  double bytes = 0;
};
Exchanged ExchangedBy(const Module& module) {
  Exchanged exchanged;
  for (const ExchangeCost& cost : ExchangesOf(module)) {
    exchanged.kinds.insert(cost.kind);
    exchanged.bytes += static_cast<double>(cost.bytes);
  }
  return exchanged;
}

std::vector<Literal> ResultsOf(const ShardedStep& step, const Module& module) {
  std::vector<std::vector<Literal>> values(static_cast<size_t>(step.devices));
  std::vector<std::vector<const Literal*>> pointers(values.size());
  for (size_t d = 0; d < values.size(); ++d) {
    // What is not cut is the same on all: so each argument is.
    uint32_t number = 0;
    for (const Instruction* parameter : module.entry()->parameters())
      values[d].push_back(RandomLiteral(parameter->shape(), 0, number++));
    for (Literal& value : values[d]) {
      for (int64_t i = 0; i < value.element_count(); ++i) value.SetDouble(i, 0.1 * value.GetDouble(i));
    }
    for (const Literal& value : values[d]) pointers[d].push_back(&value);
  }
  auto results = EvaluateReplicated(module, {1, step.devices}, pointers);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *std::move(results) : std::vector<Literal>();
}

struct BothWays {
  std::unique_ptr<Module> whole, by_hand;
};
BothWays Parsed(const ShardedStep& step) {
  auto whole = ParseShardedProgram(step.whole), by_hand = ParseShardedProgram(step.by_hand);
  EXPECT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_TRUE(by_hand.ok()) << by_hand.status().message();
  return {std::move(whole->module), std::move(by_hand->module)};
}

// Collectives of the same kinds, or fewer bytes: what is smaller may move instead.
void ExpectBytesOfHand(const BothWays& step) {
  const Exchanged one = ExchangedBy(*step.whole), other = ExchangedBy(*step.by_hand);
  EXPECT_TRUE(one.kinds == other.kinds || one.bytes < other.bytes);
  EXPECT_GT(other.bytes, 0);
  EXPECT_LE(one.bytes, 1.05 * other.bytes);
}

void ExpectNumbersOfHand(const ShardedStep& step, const BothWays& both) {
  const std::vector<Literal> results = ResultsOf(step, *both.whole), expected = ResultsOf(step, *both.by_hand);
  ASSERT_EQ(results.size(), expected.size());
  Tolerance tolerance;
  tolerance.rtol = 1e-4;
  tolerance.atol = 1e-5;
  for (size_t d = 0; d < results.size(); ++d) {
    const std::vector<const Literal*> a = FlattenLiteral(results[d]), b = FlattenLiteral(expected[d]);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(Compare(*a[k], *b[k], tolerance).mismatches, 0) << d << " " << k;
  }
}

TEST(ShardedStepsTest, ExchangeWhatIsWrittenByHand) {
  const std::vector<ShardedStep> steps = ShardedSteps(32);
  EXPECT_EQ(steps.size(), 5);
  for (const ShardedStep& step : steps) {
    SCOPED_TRACE(step.name);
    const BothWays both = Parsed(step);
    ExpectBytesOfHand(both);
    ExpectNumbersOfHand(step, both);
  }
}

// Where nothing is said but of arguments and results, what contradicts others waits if devices send less so.
TEST(ShardedStepsTest, ArgumentsAloneSayHowAStepLies) {
  const std::regex said("sdy\\.sharding_constraint (%[0-9]+) <@mesh, [^>]*> : (tensor<[^>]*>)");
  int silenced = 0;
  for (ShardedStep& step : ShardedSteps(32)) {
    SCOPED_TRACE(step.name);
    const std::string silent = std::regex_replace(step.whole, said, "stablehlo.reshape $1 : ($2) -> $2");
    if (silent == step.whole) continue;
    ++silenced;
    step.whole = silent;
    const BothWays both = Parsed(step);
    ExpectBytesOfHand(both);
    if (step.name == "fully sharded") ExpectNumbersOfHand(step, both);
  }
  EXPECT_EQ(silenced, 3);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
