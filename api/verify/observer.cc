#include "api/verify/observer.h"

#include <fmt/format.h>

#include <cstring>

#include "core/ir/instruction.h"
#include "core/numerics/literal_compare.h"
#include "core/sizes/live_sizes.h"
#include "core/text/literal_text.h"

namespace VXLA_NAMESPACE {
namespace {

using mlir::Check;

// ---- comparisons

// Complex numbers as pairs of reals: checks look at the parts one by one.
Literal InParts(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (type != ElementType::kC64 && type != ElementType::kC128) return literal;
  std::vector<int64_t> sizes(literal.shape().dimensions().begin(), literal.shape().dimensions().end());
  sizes.push_back(2);
  return literal.Reshaped(Shape(type == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64, std::move(sizes)));
}

std::string WhatDiffers(const Check& check, const Comparison& comparison, std::string_view limit) {
  std::string reason = fmt::format("{} at {}:{}: ", check.operation, check.location.line, check.location.column);
  if (!comparison.shapes_match) return fmt::format("{}the shapes differ: {}", reason, comparison.shapes);
  if (comparison.worst.empty()) return reason + "the values differ";
  const ElementDifference& worst = comparison.worst.front();
  reason += fmt::format("[{}] is {}, want {}", worst.where, worst.actual, worst.expected);
  if (worst.ulp > 0) reason += fmt::format(" ({:g} ulp off{})", worst.ulp, limit);
  return reason + fmt::format("; {} of {} elements differ", comparison.mismatches, comparison.elements);
}

Status Judge(const Check& check, const Literal& got_value, const Literal& want_value) {
  const Literal got = InParts(got_value), want = InParts(want_value);
  Tolerance tolerance;
  std::string limit;
  if (check.kind == Check::Kind::kAlmostEqual) {
    tolerance.atol = check.tolerance;
    limit = fmt::format(", {:g} allowed", check.tolerance);
  } else if (check.kind == Check::Kind::kClose) {
    tolerance.ulp = static_cast<double>(check.max_ulp);
    limit = fmt::format(", {} allowed", check.max_ulp);
  }
  const Comparison comparison = Compare(got, want, tolerance);
  if (!comparison.agrees()) return Mismatch("{}", WhatDiffers(check, comparison, limit));
  if (check.kind != Check::Kind::kClose || check.min_ulp == 0) return OkStatus();
  tolerance.ulp = static_cast<double>(check.min_ulp) - 1;
  const Comparison least = Compare(got, want, tolerance);
  if (least.mismatches == least.elements) return OkStatus();
  return Mismatch("{} at {}:{}: {} of {} elements are closer than {} ulp", check.operation, check.location.line,
                  check.location.column, least.elements - least.mismatches, least.elements, check.min_ulp);
}

// A dynamic array as functions of the host get it: its bound's bytes, the live elements in front, then the live sizes.
Literal AsShown(const Literal& input, const Shape& shape) {
  if (!shape.IsDynamic()) return input;
  const int64_t bound = shape.SizeBytes();
  std::vector<int64_t> sizes;
  for (int d = 0; d < shape.rank(); ++d) {
    int32_t size = 0;
    std::memcpy(&size, input.bytes().data() + bound + 4 * d, 4);
    sizes.push_back(size);
  }
  Literal live(Shape(shape.element_type(), std::move(sizes)));
  if (!live.bytes().empty()) std::memcpy(live.mutable_bytes().data(), input.bytes().data(), live.bytes().size());
  return PadToBounds(live, shape);
}

}  // namespace

Literal Filled(const Literal& value, const Shape& shape) {
  if (value.shape() == shape || !value.shape().IsScalar()) return value;
  Literal out(shape);
  const size_t size = value.bytes().size();
  for (size_t at = 0; size > 0 && at + size <= out.bytes().size(); at += size)
    std::memcpy(out.mutable_bytes().data() + at, value.bytes().data(), size);
  return out;
}

void Observer::Begin(const DeviceGrid& grid) {
  grid_ = grid;
  seen_.clear();
  seen_.resize(grid.count());
}

void Observer::See(const Instruction& observation, std::span<const Literal> inputs, Literal& agrees,
                   CustomCallStatus& status) {
  const int64_t number = inputs[0].GetInt(0), device = inputs[1].GetInt(0);
  const bool known = number >= 0 && number < std::ssize(function_.checks) && device >= 0 && device < std::ssize(seen_);
  if (!known) return status.SetFailure(fmt::format("no check {} on device {}", number, device));
  const Check& check = function_.checks[number];
  const auto value = [&](size_t k) { return AsShown(inputs[k], observation.operand(k)->shape()); };
  Seen seen{static_cast<size_t>(number), OkStatus(), std::nullopt};
  const bool kept =
      check.kind == Check::Kind::kProbed || check.kind == Check::Kind::kPrint || check.kind == Check::Kind::kProbe;
  if (kept) {
    seen.value = value(2);
  } else {
    const Literal got = value(2);
    seen.judged = Judge(check, got, check.expected != nullptr ? Filled(*check.expected, got.shape()) : value(3));
  }
  agrees.SetInt(0, seen.judged.ok() ? 1 : 0);
  const std::lock_guard lock(mutex_);
  seen_[device].push_back(std::move(seen));
}

void Observer::End() {
  for (size_t device = 0; device < seen_.size(); ++device) {
    const std::string name = grid_.count() > 1 ? grid_.Name(static_cast<int64_t>(device)) + ": " : "";
    for (Seen& seen : seen_[device]) {
      const Status status = Count(std::move(seen), name);
      if (verdict_.ok() && !status.ok()) verdict_ = status;
    }
  }
  seen_.clear();
}

Status Observer::Count(Seen seen, const std::string& device) {
  const Check& check = function_.checks[seen.number];
  switch (check.kind) {
    case Check::Kind::kPrint:
      printed_.push_back(fmt::format("{}%{} = {}", device, check.text, PrintLiteral(*seen.value)));
      return OkStatus();
    case Check::Kind::kProbe:
      probes_[check.text].push_back(*std::move(seen.value));
      return OkStatus();
    case Check::Kind::kProbed: {
      const std::vector<Literal>& kept = probes_[check.text];
      if (check.iteration >= 0 && check.iteration < std::ssize(kept))
        seen.judged = Judge(check, kept[check.iteration], *seen.value);
      else
        seen.judged =
            Mismatch("{} at {}:{}: probe '{}' has kept {} values, iteration {} is none of them", check.operation,
                     check.location.line, check.location.column, check.text, kept.size(), check.iteration);
      break;
    }
    default:
      break;
  }
  return seen.judged.ok() ? OkStatus() : Mismatch("{}{}", device, seen.judged.message());
}

}  // namespace VXLA_NAMESPACE
