#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE {

const char* SourceDir() { return VXLA_SOURCE_DIR; }

}  // namespace VXLA_NAMESPACE
