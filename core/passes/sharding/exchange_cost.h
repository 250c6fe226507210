// What devices exchange in one run of a program, counted in bytes that each of them sends.
#pragma once

#include <string>
#include <vector>

#include "core/ir/module.h"
#include "core/ir/sharding.h"

namespace VXLA_NAMESPACE {

struct ExchangeCost {
  Opcode kind;
  int64_t count = 0, bytes = 0;
  bool at_least = false;  // some are in loops of which nothing says how often they run
};

// What a device of `devices` sends for a collective.
int64_t BytesSent(const Instruction& collective, int64_t devices);

// By kind, in the order of their first occurrence. Loops count as often as they run; of branches each counts.
std::vector<ExchangeCost> ExchangesOf(const Module& module);

// These costs, and what a device has of the arguments and results.
std::string ExchangeText(const Module& module);

}  // namespace VXLA_NAMESPACE
