// Prints plans: text for people and golden tests, JSON for `vxla explain --json`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Deterministic; addresses and times do not occur in it.
std::string ToText(const Plan& plan);

// {dispatches, kernels[{name, key, groups}], buffers[{name, bytes, offset, shares_with}], peak_bytes,
//  lower_bound_bytes, barriers, fallbacks[{instruction, opcode, reason}], decisions[{instruction, kind, trip_count}],
//  faults[{instruction, error, remedy}]} and more keys of the same kind.
nlohmann::json ToJson(const Plan& plan);
nlohmann::json FaultsJson(const Plan& plan);

// "fusion.3 runs one instruction at a time: internal error: ..."
std::string ToText(const PlanFault& fault);

// "fusion.3", "p2+256", "scratch0+4096": where a buffer lies.
std::string PlaceText(const PlanBuffer& buffer);
// The names of the other buffers that take some of the same bytes, in the order of Plan::buffers.
std::vector<std::string> SharesWith(const Plan& plan, int buffer);

}  // namespace VXLA_NAMESPACE
