// A program for one of several devices that goes its own way, and meets the others wherever that leads it.
#pragma once

#include <memory>
#include <vector>

#include "core/module.h"

namespace VXLA_NAMESPACE {

// The same module for every device. What depends on which device it is (replica-id, collectives, sends and recvs,
// feeds, draws from the device's state) stands there as a custom call that the host runs for that device; what such
// calls do to other devices, or to the host, they do in the order of the text.
struct SeparateProgram {
  std::unique_ptr<Module> module;
  std::unique_ptr<Module> source;         // whose instructions the calls are
  std::vector<const Instruction*> calls;  // by number
  // The instruction of the source that a call of the module stands for; null: it is none of these calls.
  const Instruction* SourceOf(const Instruction& call) const;
  // Targets of the custom calls.
  std::vector<std::string> targets() const;
};

SeparateProgram SeparateDevices(const Module& module);

// Whether a run of the program does something that a second run would do again: feeds, host transfers, custom calls
// with side effects.
bool TalksToHost(const Module& module);

}  // namespace VXLA_NAMESPACE
