// What a program's arguments must be.
#pragma once

#include <span>

#include "backend/device.h"
#include "core/ir/module.h"
#include "scheduler/runtime/buffer.h"

namespace VXLA_NAMESPACE {

// One for each parameter, of its shape; values lie on this device. InvalidArgument names the argument that does not
// fit.
Status CheckArguments(const Module& module, const Device& device, std::span<const Argument> arguments);

}  // namespace VXLA_NAMESPACE
