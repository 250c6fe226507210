#include "core/maps/index_map.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

int64_t FloorModulo(int64_t a, int64_t b) { return ((a % b) + b) % b; }

auto Order(const IndexTerm& t) { return std::tuple(t.variable, t.divisor, t.modulus); }

// a * ((v / d) % m) + a*m * ((v / (d*m)) % k) == a * ((v / d) % (m*k)).
bool MergeDigits(IndexTerm& low, const IndexTerm& high) {
  if (low.variable != high.variable || low.modulus == 0 || high.divisor != low.divisor * low.modulus ||
      high.coefficient != low.coefficient * low.modulus) {
    return false;
  }
  low.modulus = high.modulus == 0 ? 0 : low.modulus * high.modulus;
  return true;
}

}  // namespace

int IndexSpace::AddVariable(int64_t size) {
  variables_.push_back({size, std::nullopt});
  return count() - 1;
}

int IndexSpace::AddTemporary(IndexExpression definition, int64_t size) {
  definition = Canonical(std::move(definition));
  for (int i = 0; i < count(); ++i) {
    if (variables_[i].size == size && variables_[i].definition == definition) return i;
  }
  variables_.push_back({size, std::move(definition)});
  return count() - 1;
}

IndexExpression IndexSpace::Variable(int variable) const { return Canonical({{{variable, 1, 0, 1}}, 0}); }

IndexExpression IndexSpace::Add(const IndexExpression& a, const IndexExpression& b) const {
  IndexExpression sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  sum.constant += b.constant;
  return Canonical(std::move(sum));
}

IndexExpression IndexSpace::Scale(const IndexExpression& a, int64_t factor) const {
  IndexExpression scaled = a;
  for (IndexTerm& term : scaled.terms) term.coefficient *= factor;
  scaled.constant *= factor;
  return Canonical(std::move(scaled));
}

int64_t IndexSpace::ValueCount(const IndexTerm& term) const {
  const int64_t quotients = CeilDivide(size(term.variable), term.divisor);
  return term.modulus == 0 ? quotients : std::min(quotients, term.modulus);
}

std::pair<int64_t, int64_t> IndexSpace::Range(const IndexExpression& a) const {
  int64_t low = a.constant, high = a.constant;
  for (const IndexTerm& term : a.terms) {
    const int64_t most = term.coefficient * std::max<int64_t>(ValueCount(term) - 1, 0);
    (most < 0 ? low : high) += most;
  }
  return {low, high};
}

IndexExpression IndexSpace::Canonical(IndexExpression a) const {
  for (IndexTerm& term : a.terms) {
    const int64_t quotients = CeilDivide(size(term.variable), term.divisor);
    if (term.modulus >= quotients) term.modulus = 0;
    if (quotients <= 1 || term.modulus == 1) term.coefficient = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::erase_if(a.terms, [](const IndexTerm& t) { return t.coefficient == 0; });
    std::ranges::sort(a.terms, {}, Order);
    for (size_t i = 0; i < a.terms.size() && !changed; ++i) {
      for (size_t j = i + 1; j < a.terms.size() && !changed; ++j) {
        if (Order(a.terms[i]) == Order(a.terms[j])) {
          a.terms[i].coefficient += a.terms[j].coefficient;
          changed = true;
        } else {
          changed = MergeDigits(a.terms[i], a.terms[j]);
        }
        if (changed) a.terms.erase(a.terms.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }
  return a;
}

IndexExpression IndexSpace::Linearize(const MultiIndex& index, std::span<const int64_t> dimensions) const {
  VXLA_CHECK(index.size() == dimensions.size(), "rank of a multi-index");
  IndexExpression linear;
  int64_t stride = 1;
  for (size_t d = dimensions.size(); d-- > 0;) {
    for (IndexTerm term : index[d].terms) {
      term.coefficient *= stride;
      linear.terms.push_back(term);
    }
    linear.constant += index[d].constant * stride;
    stride *= dimensions[d];
  }
  return WithoutWholeTemporaries(Canonical(std::move(linear)));
}

// A temporary that may leave its range (a place beside what a pad surrounds) stays: its digits mean something inside
// only.
IndexExpression IndexSpace::WithoutWholeTemporaries(IndexExpression a) const {
  const auto stays_inside = [&](const IndexTerm& term) {
    const VariableFacts& variable = variables_[term.variable];
    if (!variable.definition || term.divisor != 1 || term.modulus != 0) return false;
    const auto [low, high] = Range(*variable.definition);
    return low >= 0 && high < variable.size;
  };
  for (auto whole = std::ranges::find_if(a.terms, stays_inside); whole != a.terms.end();
       whole = std::ranges::find_if(a.terms, stays_inside)) {
    const IndexTerm term = *whole;
    a.terms.erase(whole);
    a = Add(a, Scale(*definition(term.variable), term.coefficient));
  }
  return a;
}

bool IndexSpace::SplitAt(const IndexExpression& a, int64_t stride, IndexExpression* high, IndexExpression* low) const {
  *high = *low = IndexExpression();
  for (IndexTerm term : a.terms) {
    const int64_t magnitude = std::abs(term.coefficient);
    if (magnitude % stride == 0) {
      term.coefficient /= stride;
      high->terms.push_back(term);
    } else if (stride % magnitude != 0 || magnitude * ValueCount(term) <= stride) {
      low->terms.push_back(term);
    } else {
      // The digit itself spans the boundary: (x % m) == x % k + k * ((x / k) % (m / k)).
      const int64_t k = stride / magnitude;
      if (term.modulus % k != 0) return false;
      low->terms.push_back({term.variable, term.divisor, k, term.coefficient});
      high->terms.push_back({term.variable, term.divisor * k, term.modulus / k, term.coefficient / magnitude});
    }
  }
  // The constant is shared out so that the low part falls into [0, stride), as a remainder does.
  const int64_t least = Range(*low).first;
  low->constant = FloorModulo(a.constant + least, stride) - least;
  high->constant = (a.constant - low->constant) / stride;
  if (Range(*low).second >= stride) return false;
  *low = Canonical(std::move(*low));
  *high = Canonical(std::move(*high));
  return true;
}

// `linear` over the dimensions (of `size` elements in all) with a temporary for as few of the last ones as it splits
// off from: what the digits before them are stays known.
IndexExpression IndexSpace::WithTemporary(const IndexExpression& linear, std::span<const int64_t> dimensions,
                                          int64_t size) {
  int64_t stride = dimensions.back();
  for (size_t d = dimensions.size() - 1; d-- > 1;) {
    stride *= dimensions[d];
    IndexExpression high, low;
    if (!SplitAt(linear, stride, &high, &low)) continue;
    return Add(Scale(high, stride), Variable(AddTemporary(std::move(low), stride)));
  }
  return Variable(AddTemporary(linear, size));
}

MultiIndex IndexSpace::Delinearize(const IndexExpression& linear, std::span<const int64_t> dimensions) {
  MultiIndex index(dimensions.size());
  int64_t left = ElementCountOf(dimensions);  // of the dimensions that are still to be split off
  if (left == 0) return index;
  IndexExpression rest = linear;
  for (size_t d = dimensions.size(); d-- > 1;) {
    IndexExpression high;
    if (!SplitAt(rest, dimensions[d], &high, &index[d])) {
      rest = WithTemporary(rest, dimensions.first(d + 1), left);
      VXLA_CHECK(SplitAt(rest, dimensions[d], &high, &index[d]), "a variable splits at any stride");
    }
    rest = high;
    left /= dimensions[d];
  }
  if (!dimensions.empty()) index[0] = dimensions[0] == 1 ? IndexExpression() : rest;
  return index;
}

std::string IndexSpace::ToString(const IndexExpression& a) const {
  std::string text;
  for (const IndexTerm& term : a.terms) {
    if (!text.empty()) text += " + ";
    std::string digit = fmt::format("{}{}", definition(term.variable) ? 't' : 'v', term.variable);
    if (term.divisor != 1) digit += fmt::format("/{}", term.divisor);
    if (term.modulus != 0) digit += fmt::format("%{}", term.modulus);
    text += term.coefficient == 1 ? digit : fmt::format("{}*({})", term.coefficient, digit);
  }
  if (a.constant != 0 || text.empty()) text += fmt::format("{}{}", text.empty() ? "" : " + ", a.constant);
  return text;
}

MultiIndex OperandIndex(IndexSpace& space, const Instruction& instruction, int operand, const MultiIndex& index) {
  const Shape& shape = instruction.operand(operand)->shape();
  auto constant = [](int64_t value) { return IndexExpression{{}, value}; };
  MultiIndex result(shape.rank());
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape.dimension(d) != 1) result[d] = index.at(instruction.dimensions()[d]);
      }
      return result;
    case Opcode::kTranspose:
      for (int d = 0; d < shape.rank(); ++d) result[instruction.dimensions()[d]] = index.at(d);
      return result;
    case Opcode::kSlice: {
      const auto& slice = instruction.attributes<SliceAttributes>().slice;
      for (int d = 0; d < shape.rank(); ++d) {
        result[d] = space.Add(space.Scale(index.at(d), slice[d].stride), constant(slice[d].start));
      }
      return result;
    }
    case Opcode::kReverse:
      result = index;
      for (int64_t d : instruction.dimensions()) {
        result[d] = space.Add(space.Scale(index.at(d), -1), constant(shape.dimension(d) - 1));
      }
      return result;
    case Opcode::kReshape:
      return space.Delinearize(space.Linearize(index, instruction.shape().dimensions()), shape.dimensions());
    case Opcode::kCopy:
    case Opcode::kBitcastConvert:
      VXLA_CHECK(SameDimensions(instruction.shape(), shape),
                 "a bitcast-convert that changes the width is no index map");
      return index;
    default:
      VXLA_CHECK(IsElementwise(instruction.opcode()), "no index map: " + std::string(OpcodeText(instruction.opcode())));
      return shape.rank() == 0 ? MultiIndex() : index;
  }
}

bool IsPlainMap(const Instruction& instruction) {
  using enum Opcode;
  return !IsAnyOf(instruction.opcode(), kPad, kConcatenate, kIota, kDynamicSlice, kGather);
}

}  // namespace VXLA_NAMESPACE
