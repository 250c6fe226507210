// Arrays with bounded dynamic dimensions: memory is laid out for the bounds, the first `dynamic_size` indices of a
// dimension are live, the rest is padding of unspecified value. These functions go between that form and dense arrays
// of the live sizes.
#pragma once

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

std::vector<int64_t> LiveSizes(const Literal& literal);
// The shape of what lives: the live sizes as static ones.
Shape LiveShape(const Literal& literal);
// The elements within `sizes`, as an array of exactly these sizes. Tuples are cut leaf by leaf by the second form.
Literal CutTo(const Literal& literal, std::span<const int64_t> sizes);
Literal CutToLiveSizes(const Literal& literal);
// The other way: an array of `bounded`'s sizes whose live sizes are the dimensions of `dense`; zeros elsewhere.
Literal PadToBounds(const Literal& dense, const Shape& bounded);
// Puts an array over the first elements of a larger one.
void PutCorner(const Literal& corner, Literal& whole);

// A value of `given` can be passed where `wanted` is stated: equal but for layouts and flags, or smaller in a dimension
// that `wanted` says is dynamic. A literal's static dimensions must live to their last element besides.
bool FitsWithin(const Shape& given, const Shape& wanted);
bool FitsWithin(const Literal& given, const Shape& wanted);
// The value in the form that `wanted` states, where FitsWithin; a literal's own live sizes stay.
Literal ConformTo(const Literal& given, const Shape& wanted);

// Dimensions [from_begin, from_end) of one shape and [to_begin, to_end) of another that hold the same elements when the
// one is reshaped to the other.
struct DimensionGroup {
  int from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};
// The smallest such groups, in order; of shapes of equal element counts. None of empty arrays: any sizes come from any.
std::vector<DimensionGroup> DimensionGroups(const Shape& from, const Shape& to);
// `to` with a dynamic dimension in each group that comes from one: the first that is larger than 1.
Shape WithReshapedFlags(Shape to, const Shape& from);

}  // namespace VXLA_NAMESPACE
