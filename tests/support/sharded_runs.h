// Random programs with random shardings, partitioned: what each device is given, and what it must give.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "backend/cpu/reference/evaluator.h"
#include "core/devices/replica_groups.h"
#include "core/numerics/literal_compare.h"
#include "core/numerics/random_literal.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/support/random_programs.h"
#include "tests/support/random_shardings.h"

namespace VXLA_NAMESPACE::testing {

struct ShardedRun {
  std::string text;  // of the program, its shardings and the program of a device
  std::unique_ptr<Module> module;
  DeviceGrid grid;
  std::vector<std::vector<Literal>> arguments, expected;  // by device: the arguments' tiles, those of the results
  std::vector<double> errors;                             // by result
  // What devices add up, they do in another order: a bound for one order is half of one for two. Of the whole results:
  // a tile need not have the elements that an error is in proportion to.
  std::vector<Tolerance> tolerances() const {
    std::vector<Tolerance> all(errors.size());
    for (size_t k = 0; k < all.size(); ++k) all[k].atol = 2 * errors[k];
    return all;
  }
  std::vector<std::vector<const Literal*>> pointers() const {
    std::vector<std::vector<const Literal*>> all(arguments.size());
    for (size_t d = 0; d < all.size(); ++d) {
      for (const Literal& argument : arguments[d]) all[d].push_back(&argument);
    }
    return all;
  }
};

// `state` says how arrays of the program lie, and may add copies to it.
template <typename State>
Status PartitionRun(const std::string& program, const DeviceMesh& mesh, uint64_t seed, State state, ShardedRun& run) {
  run.text = fmt::format("seed {}\n{}", seed, program);
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> whole, ParseHlo(program));
  VXLA_RETURN_IF_ERROR(Verify(*whole));
  std::vector<Literal> arguments;
  std::vector<const Literal*> pointers;
  uint32_t number = 0;
  for (const Instruction* parameter : whole->entry()->parameters())
    arguments.push_back(RandomLiteral(parameter->shape(), seed, number++));
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  VXLA_ASSIGN_OR_RETURN(const Literal expected, Evaluate(*whole, pointers, {}));
  StatedShardings stated = state(*whole);
  stated.lists_arrays = true;
  whole->entry()->SortTopologically();
  VXLA_ASSIGN_OR_RETURN(PartitionedModule made, Partition(*whole, stated));
  run.text += "\n" + made.arrays;
  run.grid = {1, MeshAtoms(mesh).devices()};
  run.module = std::move(made.module);
  run.module->mutable_attributes().num_partitions = run.grid.partitions;
  run.text += "\n" + PrintHlo(*run.module);
  VXLA_RETURN_IF_ERROR(Verify(*run.module));
  for (size_t d = 0; d < static_cast<size_t>(run.grid.count()); ++d) {
    run.arguments.emplace_back();
    run.expected.emplace_back();
    for (size_t p = 0; p < arguments.size(); ++p) {
      VXLA_ASSIGN_OR_RETURN(Literal tile, TileOf(arguments[p], made.parameters[p], d));
      run.arguments.back().push_back(std::move(tile));
    }
    const std::vector<const Literal*> leaves = FlattenLiteral(expected);
    for (size_t k = 0; k < leaves.size(); ++k) {
      VXLA_ASSIGN_OR_RETURN(Literal tile, TileOf(*leaves[k], made.results[k], d));
      run.expected.back().push_back(std::move(tile));
    }
  }
  return OkStatus();
}

inline Status MakeShardedRun(int seed, ShardedRun& run) {
  const std::vector<DeviceMesh> meshes = MeshesToTry();
  const DeviceMesh& mesh = meshes[static_cast<size_t>(seed) % meshes.size()];
  RandomProgramOptions options;
  options.even_sizes = seed % 4 != 3;
  options.families = seed % 2 == 1;
  const RandomProgram program = MakeRandomProgram(static_cast<uint64_t>(seed), options);
  run.errors = program.errors;
  const auto state = [&](const Module& module) {
    return RandomShardings(static_cast<uint64_t>(seed), mesh).Of(module);
  };
  return PartitionRun(program.text, mesh, static_cast<uint64_t>(seed), state, run);
}

inline void ExpectResultsOf(const ShardedRun& run, const std::vector<std::vector<const Literal*>>& results) {
  const std::vector<Tolerance> tolerances = run.tolerances();
  for (size_t d = 0; d < results.size(); ++d) {
    for (size_t k = 0; k < run.expected[d].size(); ++k) {
      EXPECT_EQ(Compare(*results[d][k], run.expected[d][k], tolerances[k]).mismatches, 0)
          << fmt::format("result {} of device {}, by more than {}", k, d, run.errors[k]);
    }
  }
}

// As many programs, until five have failed.
template <typename Run>
void RunShardedPrograms(int programs, Run run_one) {
  const char *const wanted = std::getenv("VXLA_TEST_SHARDED_PROGRAMS"), *const first =
                                                                            std::getenv("VXLA_TEST_RANDOM_FIRST");
  if (wanted != nullptr) programs = std::max(5, std::atoi(wanted));
  const int begin = first == nullptr ? 0 : std::atoi(first);
  const auto parts = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  int failed = 0;
  for (int seed = begin; seed < begin + programs && failed < 5; ++seed) {
    const int before = parts();
    ShardedRun run;
    const Status made = MakeShardedRun(seed, run);
    SCOPED_TRACE(run.text);
    EXPECT_TRUE(made.ok()) << made.message();
    if (made.ok()) run_one(run);
    failed += parts() > before ? 1 : 0;
  }
}

}  // namespace VXLA_NAMESPACE::testing
