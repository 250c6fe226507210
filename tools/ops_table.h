// The table of operations in Markdown, as the README shows it.
#pragma once

#include <string>

namespace vxla {

std::string OpsTable();

}  // namespace vxla
