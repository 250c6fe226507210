// HLO text out: what XLA prints in its short form (no '%', no operand shapes), which ParseHlo reads back to an equal
// module.
#pragma once

#include <string>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

std::string PrintHlo(const Module& module);

}  // namespace VXLA_NAMESPACE
