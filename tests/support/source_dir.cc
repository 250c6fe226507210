#include "tests/support/source_dir.h"

namespace vxla {

const char* SourceDir() { return VXLA_SOURCE_DIR; }

}  // namespace vxla
