// Programs of any size, as text: what passes and planning must take in a time that grows with the text.
#pragma once

#include <string>
#include <vector>

namespace VXLA_NAMESPACE::testing {

struct LargeProgram {
  const char* name;
  std::string (*text)(int instructions);  // about so many
};
const std::vector<LargeProgram>& LargePrograms();

}  // namespace VXLA_NAMESPACE::testing
