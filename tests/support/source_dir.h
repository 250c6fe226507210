// Where the sources lie, for the tests that read them.
#pragma once

namespace vxla {

const char* SourceDir();

}  // namespace vxla
