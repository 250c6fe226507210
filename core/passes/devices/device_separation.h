// A program for one of several devices that goes its own way, and meets the others wherever that leads it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/devices/replica_groups.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// The same module for every device. What depends on which device it is (replica-id, collectives, sends and recvs,
// feeds, draws from the device's state) stands there as a custom call that the host runs for that device; what such
// calls do to other devices, or to the host, they do in the order of the text.
struct SeparateProgram {
  struct Call {
    const Instruction* source = nullptr;  // what it stands for
    bool gathers = false;  // it gives what all members give (InstructionEvaluator::Gather), which the device reduces
  };
  std::unique_ptr<Module> module;
  std::unique_ptr<Module> source;  // whose instructions the calls are
  std::vector<Call> calls;         // by number
  // Which call an instruction of the module is; nothing: none of them.
  std::optional<size_t> NumberOf(const Instruction& instruction) const;
};

// reduces: the devices reduce what their groups give, in the order of one program of all devices (exchanges.h), where
// all groups are equally large and what they give is static; else the host does.
SeparateProgram SeparateDevices(const Module& module, const DeviceGrid& grid, bool reduces);

// Whether a run of the program does something that a second run would do again: feeds, host transfers, custom calls
// with side effects.
bool TalksToHost(const Module& module);

}  // namespace VXLA_NAMESPACE
