// The command `vxla` as a function.
#pragma once

namespace VXLA_NAMESPACE {

// Parses the command line and does what it asks for; the exit code.
int Main(int argc, char** argv);

}  // namespace VXLA_NAMESPACE
