// Programs of several replicas and partitions, on one device and over several places, against the reference's.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "api/placed_replicas.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/device_merger.h"
#include "core/sizes/live_sizes.h"
#include "tests/support/device_test_support.h"
#include "tests/support/merged_results.h"

namespace VXLA_NAMESPACE::testing {

using Pointers = std::vector<std::vector<const Literal*>>;

inline DeviceOptions DefaultDevice() {
  DeviceOptions options;
  if (const char* validate = std::getenv("VXLA_TEST_VALIDATE")) options.validate = validate;
  if (const char* emulate = std::getenv("VXLA_TEST_EMULATE")) options.emulate = emulate;
  return options;
}

// Places on the devices of two drivers: of those that VXLA_TEST_DRIVERS names, of which none may be missing; without
// it, of lavapipe and SwiftShader. Fewer where no two are there.
inline std::vector<std::string> TwoDrivers() {
  const auto devices = vulkan::ListDevices();
  EXPECT_TRUE(devices.ok()) << devices.status().message();
  const char* named = std::getenv("VXLA_TEST_DRIVERS");
  std::istringstream drivers(named != nullptr ? named : "llvmpipe,SwiftShader");
  std::vector<std::string> places;
  for (std::string driver; devices.ok() && std::getline(drivers, driver, ',');) {
    const auto found = vulkan::ChooseDevice(*devices, driver);
    EXPECT_TRUE(found.ok() || named == nullptr) << found.status().message();
    if (found.ok() && places.size() < 2) places.push_back(driver);
  }
  return places;
}

// Of one result, how it is judged.
inline RunOptions LeafOf(const RunOptions& judged, size_t leaf) {
  RunOptions one;
  if (!judged.leaf_tolerances.empty()) one.tolerance = judged.leaf_tolerances[leaf];
  return one;
}

// The same over several places, `expected` by device.
inline void ExpectPlacesAgree(const Module& module, const DeviceGrid& grid, const Pointers& arguments,
                              const std::vector<std::string>& places, const std::vector<Literal>& expected,
                              const PlaceChoices& choices = {}, const RunOptions& judged = {}) {
  const std::optional<SharingWay> sharing = choices.sharing;
  SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(places, " "), sharing ? SharingText(*sharing) : "",
                           choices.form ? ReductionFormText(*choices.form) : ""));
  EvaluateOptions options;
  options.collective_timeout = std::chrono::seconds(60);
  auto placed = PlacedExecutable::Compile(module, grid, arguments, places, DefaultDevice(), options, {}, choices);
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  if (sharing) {
    EXPECT_THAT(placed->sharing(), ::testing::HasSubstr(std::string(SharingText(*sharing))));
  }
  auto result = placed->Run(arguments);
  if (sharing && result.ok()) result = placed->Run(arguments);  // from the beginning again
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto stacked = FlattenLiteral(*result);
  for (size_t k = 0; k < stacked.size(); ++k) {
    std::vector<const Literal*> leaves;
    for (const Literal& of_device : expected) leaves.push_back(FlattenLiteral(of_device)[k]);
    const auto want = StackByDevice(leaves, "expected");
    ASSERT_TRUE(want.ok()) << want.status().message();
    ExpectAgreement(*stacked[k], *want, LeafOf(judged, k), fmt::format("leaf {}", k));
  }
}

// `pointers`: by device and parameter. at_places: also over several, where all devices' results have one shape.
inline void ExpectArgumentsAgree(const Module& module, const DeviceGrid& grid, const Pointers& pointers,
                                 int64_t equal = 0, bool at_places = true, const RunOptions& judged = {}) {
  std::vector<bool> is_shared(pointers[0].size());
  for (size_t p = 0; p < is_shared.size(); ++p) {
    is_shared[p] = std::ranges::all_of(pointers, [&](const auto& own) { return own[p] == pointers[0][p]; });
  }
  const auto expected = EvaluateReplicated(module, grid, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  if (at_places && grid.count() <= 8) {
    ExpectPlacesAgree(module, grid, pointers, {"cpu", "cpu"}, *expected);
    ExpectPlacesAgree(module, grid, pointers, {"cpu", "cpu", "cpu"}, *expected);
    ExpectPlacesAgree(module, grid, pointers, {"cpu", "cpu", "cpu"}, *expected, {{}, ReductionForm::kParts});
  }
  const auto merged = MergeDevices(module, grid, is_shared);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const Status valid = Verify(*merged->module);
  ASSERT_TRUE(valid.ok()) << valid.message();
  std::vector<Literal> given;
  for (const auto& [device, p] : merged->parameters) {
    given.push_back(*pointers[static_cast<size_t>(device)][static_cast<size_t>(p)]);
  }
  for (const BindingMode mode : ModesToRun()) {
    const auto actual = RunOnDevice(mode, *merged->module, given);
    ASSERT_TRUE(actual.has_value());
    const auto leaves = LeavesByDevice(*merged, *actual);
    ASSERT_TRUE(leaves.ok()) << leaves.status().message();
    for (size_t d = 0; d < expected->size(); ++d) {
      SCOPED_TRACE(grid.Name(static_cast<int64_t>(d)));
      const auto want = FlattenLiteral((*expected)[d]);
      ASSERT_EQ((*leaves)[d].size(), want.size());
      for (size_t k = 0; k < want.size(); ++k) {
        ExpectAgreement(*(*leaves)[d][k], *want[k], LeafOf(judged, k), fmt::format("leaf {}", k));
        EXPECT_TRUE(equal == 0 || *(*leaves)[d][k] == *(*leaves)[0][k]) << "leaf " << k;
      }
    }
  }
}

// Each device has arguments of its own, but for the first `shared` parameters, or the first `equal` ones, which each
// has a copy of: then all results have the same bits.
inline void ExpectReplicasAgree(const std::string& text, const DeviceGrid& grid, int64_t shared = 0,
                                int64_t equal = 0) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<std::vector<Literal>> arguments, copies;
  Pointers pointers(static_cast<size_t>(grid.count()));
  for (int64_t d = 0; d < grid.count(); ++d) {
    arguments.push_back(RandomArguments(*module, static_cast<uint64_t>(d)));
    copies.push_back(arguments[0]);
  }
  for (size_t p = 0; p < arguments[0].size(); ++p) {
    const auto parameter = static_cast<int64_t>(p);
    for (size_t d = 0; d < pointers.size(); ++d) {
      pointers[d].push_back(parameter < shared  ? &arguments[0][p]
                            : parameter < equal ? &copies[d][p]
                                                : &arguments[d][p]);
    }
  }
  ExpectArgumentsAgree(*module, grid, pointers, equal);
}

}  // namespace VXLA_NAMESPACE::testing
