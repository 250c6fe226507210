// Running HLO text on several devices of the reference.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/passes/verifier.h"
#include "core/replica_groups.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {

// arguments[d] are device d's; one entry for all devices alike.
inline Result<std::vector<Literal>> TryRunReplicas(const std::string& text, const DeviceGrid& grid,
                                                   const std::vector<std::vector<Literal>>& arguments,
                                                   EvaluateOptions options = {}) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(text));
  VXLA_RETURN_IF_ERROR(Verify(*module));
  std::vector<std::vector<const Literal*>> pointers(static_cast<size_t>(grid.count()));
  for (size_t d = 0; d < pointers.size(); ++d) {
    for (const Literal& argument : arguments[arguments.size() == 1 ? 0 : d]) pointers[d].push_back(&argument);
  }
  return EvaluateReplicated(*module, grid, pointers, options);
}

inline std::vector<Literal> RunReplicas(const std::string& text, const DeviceGrid& grid,
                                        const std::vector<std::vector<Literal>>& arguments,
                                        EvaluateOptions options = {}) {
  Result<std::vector<Literal>> results = TryRunReplicas(text, grid, arguments, std::move(options));
  if (results.ok()) return *std::move(results);
  ADD_FAILURE() << results.status().message() << "\n" << text;
  return std::vector<Literal>(static_cast<size_t>(grid.count()));
}

// The failure's message, and that it came within a time that a waiting device would not allow.
inline std::string FailureOf(const std::string& text, const DeviceGrid& grid,
                             const std::vector<std::vector<Literal>>& arguments, EvaluateOptions options = {}) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::vector<Literal>> results = TryRunReplicas(text, grid, arguments, std::move(options));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  if (!results.ok()) return results.status().message();
  ADD_FAILURE() << "no failure\n" << text;
  return {};
}

}  // namespace VXLA_NAMESPACE::testing
