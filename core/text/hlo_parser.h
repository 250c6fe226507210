// HLO text in: the whole grammar that XLA prints and reads, as core/text/hlo_printer.h prints it and as XLA dumps do.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Whose text it is. What passes note of instructions, and the calls that they make, stand in their own texts alone: a
// user's is refused where it says such a thing.
enum class TextOf : uint8_t { kUser, kPasses };

// Shapes that the text states are taken as stated (the verifier checks them); those it leaves out are inferred.
// Errors: InvalidArgument with the line and column.
Result<std::unique_ptr<Module>> ParseHlo(std::string_view text, TextOf text_of = TextOf::kUser);

}  // namespace VXLA_NAMESPACE
