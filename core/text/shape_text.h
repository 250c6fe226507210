// Shapes in HLO text: f32[2,<=3]{1,0:T(8,128)}, tuples, buffers b(...).
#pragma once

#include "core/data/shape.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// Whether a shape starts at the current token (a '(' starts a tuple's).
bool AtShape(Lexer& lexer);

enum class LayoutRule : uint8_t {
  kAfterShape,     // '{' is a layout if an int or ':' follows
  kBeforeLiteral,  // ... and another value follows its '}', for a literal may start with '{' too
};

Result<Shape> ParseShape(Lexer& lexer, LayoutRule rule = LayoutRule::kAfterShape, int depth = 0);

// The shape with its layout, and with the /*index=5*/ comments of long tuples.
void AppendShape(std::string& out, const Shape& shape);

}  // namespace VXLA_NAMESPACE
