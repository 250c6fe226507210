#include "core/devices/frontend_attributes.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE {

void AddFrontendAttribute(Instruction& instruction, std::string_view attribute) {
  std::string& text = instruction.mutable_common().frontend_attributes.text;
  const bool others = text.size() > 2;  // than {}
  text = fmt::format("{{{}{}", attribute, others ? "," + text.substr(1) : "}");
}

bool HasFrontendAttribute(const Instruction& instruction, std::string_view attribute) {
  return instruction.common().frontend_attributes.text.find(attribute) != std::string::npos;
}

}  // namespace VXLA_NAMESPACE
