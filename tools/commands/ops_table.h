// The table of operations in Markdown, as docs/reference/operations.md shows it.
#pragma once

#include <string>

namespace VXLA_NAMESPACE {

std::string OpsTable();

}  // namespace VXLA_NAMESPACE
