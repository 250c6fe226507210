// What StableHLO has no operation for, in terms of what it has.
#pragma once

#include <memory>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A copy of the module for mlir::PrintStablehlo: pairs of -start and -done are what they do, an all-to-all of several
// operands is one of their blocks, and bitcasts that depend on layouts, stochastic-convert and scaled-dot are other
// operations. kExpanded: so are scan and ragged-dot, which CHLO has and portable artifacts have not. What has no other
// form stays.
enum class ChloForms : uint8_t { kKept, kExpanded };
Result<std::unique_ptr<Module>> WithStablehloForms(const Module& module, ChloForms chlo);

}  // namespace VXLA_NAMESPACE
