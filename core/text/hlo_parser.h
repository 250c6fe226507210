// HLO text in: the whole grammar that XLA prints and reads, as core/text/hlo_printer.h prints it and as XLA dumps do.
#pragma once

#include <memory>
#include <string_view>

#include "core/module.h"

namespace VXLA_NAMESPACE {

// Shapes that the text states are taken as stated (the verifier checks them); those it leaves out are inferred.
// Errors: InvalidArgument with the line and column.
Result<std::unique_ptr<Module>> ParseHlo(std::string_view text);

}  // namespace VXLA_NAMESPACE
