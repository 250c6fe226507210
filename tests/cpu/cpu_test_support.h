// What the reference's tests share: running HLO text on literals, making and reading arrays.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/data/literal.h"
#include "core/numerics/random_literal.h"

namespace VXLA_NAMESPACE::testing {

// Parses, verifies and evaluates; the failure's message if any.
Result<Literal> TryRun(const std::string& text, const std::vector<Literal>& arguments,
                       const EvaluateOptions& options = {});
// The same where success is expected; a failure is reported and an empty tuple returned.
Literal RunText(const std::string& text, const std::vector<Literal>& arguments, const EvaluateOptions& options = {});
// "HloModule t", then the computations, then an entry of these lines.
std::string Entry(const std::string& lines, const std::string& computations = {});

Literal Array(ElementType type, const std::vector<int64_t>& dimensions, const std::vector<double>& values);
Literal Ints(ElementType type, const std::vector<int64_t>& dimensions, const std::vector<int64_t>& values);
// Seeded values (core/numerics/random_literal.h): integers of their whole range, floats as `floats` says, normal by default.
Literal Random(ElementType type, const std::vector<int64_t>& dimensions, uint32_t seed,
               ArgumentFill floats = ArgumentFill::kSmall);

std::vector<double> Doubles(const Literal& literal);
std::vector<int64_t> Integers(const Literal& literal);
std::string Text(const Shape& shape);

inline constexpr double kInf = __builtin_inf();
inline constexpr double kNan = __builtin_nan("");

// Row-major index <-> position.
std::vector<int64_t> IndexOf(int64_t at, const std::vector<int64_t>& dimensions);
int64_t PositionOf(const std::vector<int64_t>& index, const std::vector<int64_t>& dimensions);
int64_t CountOf(const std::vector<int64_t>& dimensions);

// Equal as numbers, NaN equal to NaN, and zeros of one sign.
::testing::Matcher<const std::vector<double>&> SameDoubles(const std::vector<double>& want);

}  // namespace VXLA_NAMESPACE::testing
