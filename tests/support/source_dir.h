// Where the sources lie, for the tests that read them.
#pragma once

namespace VXLA_NAMESPACE {

const char* SourceDir();

}  // namespace VXLA_NAMESPACE
