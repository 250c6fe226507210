// Values in HLO text: constant's operand. Floats are printed with the fewest digits that read back as the same bits.
#pragma once

#include <memory>
#include <string>

#include "core/data/literal.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// 1, {1, 2}, { { 1 }, { 2 } }, (1, {2}); -0, inf, nan(0x7fc001) and (re, im) as XLA writes them. `max_elements`
// shortens larger arrays to {...}, which reads back as an elided value.
std::string PrintLiteral(const Literal& literal, int64_t max_elements = INT64_MAX);

// Reads a value of `shape` (layouts do not count) at the current token. Null: the text elided it with `...`.
Result<std::shared_ptr<const Literal>> ParseLiteral(Lexer& lexer, const Shape& shape);

}  // namespace VXLA_NAMESPACE
