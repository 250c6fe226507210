// Index maps: which element of an operand an element of a result reads. Fusion rules ask them whether values line up,
// and codegen writes them out, so both always agree.
//
// An index is a sum of digits of loop variables: coefficient * ((variable / divisor) % modulus) + constant. Broadcast,
// transpose, slice, reverse, iota and nearly every reshape keep that form; where a reshape cannot (after a pad, say),
// the expression, or its last digits, become a new variable, a temporary, and its digits are taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

struct IndexTerm {
  int variable = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;  // 0: none needed, the quotient is already below the size
  int64_t coefficient = 1;
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

struct IndexExpression {
  std::vector<IndexTerm> terms;  // canonical: sorted, merged, no zero coefficients
  int64_t constant = 0;
  friend bool operator==(const IndexExpression&, const IndexExpression&) = default;
};

using MultiIndex = std::vector<IndexExpression>;  // one per dimension

// The variables: loop variables (row o, element r ...; given sizes) and temporaries (defined by an expression).
class IndexSpace {
 public:
  int AddVariable(int64_t size);                               // a loop variable in [0, size)
  int AddTemporary(IndexExpression definition, int64_t size);  // in [0, size); equal definitions share one
  int64_t size(int variable) const { return variables_[variable].size; }
  const std::optional<IndexExpression>& definition(int variable) const { return variables_[variable].definition; }
  int count() const { return static_cast<int>(variables_.size()); }

  IndexExpression Variable(int variable) const;
  IndexExpression Add(const IndexExpression& a, const IndexExpression& b) const;
  IndexExpression Scale(const IndexExpression& a, int64_t factor) const;
  // Smallest and largest value that the expression can take.
  std::pair<int64_t, int64_t> Range(const IndexExpression& a) const;
  // sum of index[d] * row-major stride[d]. A whole temporary that appears is its definition again, so that a chain of
  // reshapes ends in the linear index that it began with.
  IndexExpression Linearize(const MultiIndex& index, std::span<const int64_t> dimensions) const;
  // The multi-index of a linear index; exact digits where the terms split, else through a temporary.
  MultiIndex Delinearize(const IndexExpression& linear, std::span<const int64_t> dimensions);
  std::string ToString(const IndexExpression& a) const;

 private:
  struct VariableFacts {
    int64_t size;
    std::optional<IndexExpression> definition;
  };
  IndexExpression Canonical(IndexExpression a) const;
  IndexExpression WithoutWholeTemporaries(IndexExpression a) const;
  IndexExpression WithTemporary(const IndexExpression& linear, std::span<const int64_t> dimensions, int64_t size);
  int64_t ValueCount(const IndexTerm& term) const;  // how many values, from 0 on, the digit can take
  // a == high * stride + low with 0 <= low < stride, if both keep the form.
  bool SplitAt(const IndexExpression& a, int64_t stride, IndexExpression* high, IndexExpression* low) const;
  std::vector<VariableFacts> variables_;
};

// For broadcast, transpose, slice, reverse, reshape, copy, bitcast-convert (same width) and elementwise ops (a scalar
// operand of clamp or select reads index {}): the index into `operand` that the element `index` of the result reads.
// CHECK-fails for what is no plain map.
MultiIndex OperandIndex(IndexSpace& space, const Instruction& instruction, int operand, const MultiIndex& index);

// Pads, concatenates and iotas are not, nor are dynamic slices and gathers, whose indices are values.
bool IsPlainMap(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
