// The command `vxla` as a function.
#pragma once

#include <string>

namespace VXLA_NAMESPACE {

// Parses the command line and does what it asks for; the exit code.
int Main(int argc, char** argv);

// "0.1.0 (commit 0123abcd, Release)"; without a commit where the build knew none.
std::string VersionText();

}  // namespace VXLA_NAMESPACE
