// What `vxla diff` says of an outcome, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "api/verify/diff.h"

namespace VXLA_NAMESPACE {

// The verdict in a line, then what differs; with -v also what agrees.
void PrintOutcome(const DiffOutcome& outcome, const DiffOptions& options, bool verbose);
nlohmann::ordered_json OutcomeJson(const DiffOutcome& outcome);

}  // namespace VXLA_NAMESPACE
