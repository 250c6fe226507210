// A program in IREE's runtime, on the same Vulkan device: what `vxla bench embed` puts beside its own rows.
#pragma once

#include <string>

#include "core/ir/module.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Of a program with static shapes, the best of so many runs in ms, its arguments and results in device memory; each
// submits and waits. `folder` holds iree-compile and iree-benchmark-module; empty: where the user's PATH leads, else
// iree_venv/bin beside the command, which tools/bench/iree.py makes. kUnsupported: they are not there.
Result<double> MeasureIree(const Module& module, const std::string& device_uuid, const std::string& folder, int runs);

}  // namespace VXLA_NAMESPACE
