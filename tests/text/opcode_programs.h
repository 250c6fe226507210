// One valid program or more per opcode, for the round-trip, the opcode and the fuzz suites.
#pragma once

#include <string>
#include <vector>

namespace VXLA_NAMESPACE {

std::vector<std::string> OpcodePrograms();

}  // namespace VXLA_NAMESPACE
