// Arrays whose floats are held as f64, which holds every value of the narrower types.
#pragma once

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

// f64 for floating types, c128 for complex ones, the type itself otherwise.
ElementType WideType(ElementType type);
// The same value in the wide type; what is no array, or wide already, as it is.
Literal WidenLiteral(const Literal& literal);
// The other way: each element rounded once to `type`, whose wide type the literal has.
Literal NarrowLiteral(const Literal& wide, ElementType type);

}  // namespace VXLA_NAMESPACE
