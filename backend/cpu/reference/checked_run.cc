#include "backend/cpu/reference/checked_run.h"

#include <algorithm>
#include <map>
#include <set>

namespace VXLA_NAMESPACE {
namespace {

Status OutOfBounds(const std::string& name, int64_t start, int64_t size, int dimension, const Shape& shape) {
  const int64_t room = shape.dimension(dimension);
  if (start >= 0 && start <= room - size) return OkStatus();
  if (size == 1)
    return Mismatch("{}: index {} is out of bounds: dimension {} of {} has {}", name, start, dimension,
                    shape.ToString(), room);
  return Mismatch("{}: offset {} with an extent of {} is out of bounds: dimension {} of {} has {}", name, start, size,
                  dimension, shape.ToString(), room);
}

Status CheckStarts(const std::string& name, const Shape& shape, const Shape& part,
                   std::span<const Literal* const> starts) {
  for (size_t i = 0; i < starts.size(); ++i) {
    const int dimension = static_cast<int>(i);
    VXLA_RETURN_IF_ERROR(OutOfBounds(name, starts[i]->GetInt(0), part.dimension(dimension), dimension, shape));
  }
  return OkStatus();
}

// Rows of the last dimension are indices of these dimensions.
Status CheckTable(const std::string& name, const Shape& shape, const Literal& table, const std::vector<int64_t>& map,
                  bool unique) {
  std::set<std::vector<int64_t>> seen;
  const auto width = static_cast<int64_t>(map.size());
  for (int64_t row = 0; width > 0 && row < table.element_count() / width; ++row) {
    std::vector<int64_t> index;
    for (int64_t i = 0; i < width; ++i) {
      index.push_back(table.GetInt(row * width + i));
      VXLA_RETURN_IF_ERROR(OutOfBounds(name, index.back(), 1, static_cast<int>(map[static_cast<size_t>(i)]), shape));
    }
    if (unique && !seen.insert(index).second)
      return Mismatch("{}: the index [{}] comes twice, which unique rules out", name, JoinInts(index));
  }
  return OkStatus();
}

// What is written in the results of a loop whose updates are parallel: (loop, result) -> its elements.
using Written = std::map<std::pair<int64_t, int64_t>, std::vector<bool>>;

// The elements of `part` at `starts`, `strides` apart, have not been written before.
Status CheckConflicts(const Notes& notes, const Shape& shape, const Shape& part, std::span<const Literal* const> starts,
                      Written& written) {
  if (notes.begins) std::erase_if(written, [&](const auto& entry) { return entry.first.first == notes.forall; });
  std::vector<bool>& elements = written[{notes.forall, notes.result}];
  elements.resize(static_cast<size_t>(shape.ElementCount()));
  std::vector<int64_t> steps(notes.strides.begin(), notes.strides.end());
  for (int64_t& step : steps) step = std::max<int64_t>(step, 1);
  steps.resize(starts.size(), 1);
  std::vector<int64_t> index(starts.size(), 0);  // in the part
  while (true) {
    size_t at = 0;
    std::vector<int64_t> place;
    for (size_t i = 0; i < index.size(); ++i) {
      place.push_back(starts[i]->GetInt(0) + index[i]);
      at = at * static_cast<size_t>(shape.dimension(static_cast<int>(i))) + static_cast<size_t>(place.back());
    }
    if (elements[at])
      return Mismatch("{}: the element [{}] of {} is written twice by parallel updates", notes.checked, JoinInts(place),
                      shape.ToString());
    elements[at] = true;
    size_t d = index.size();
    while (d > 0 && (index[d - 1] += steps[d - 1]) >= part.dimension(static_cast<int>(d - 1))) index[--d] = 0;
    if (d == 0) return OkStatus();
  }
}

Status CheckInstruction(const Instruction& instruction, std::span<const Literal* const> operands, Written& written) {
  const Notes& notes = instruction.notes();
  const std::string& name = notes.checked;
  if (name.empty()) return OkStatus();
  if (instruction.opcode() == Opcode::kTuple) {
    std::erase_if(written, [&](const auto& entry) { return entry.first.first == notes.forall; });
    return OkStatus();
  }
  const Shape& shape = operands[0]->shape();
  switch (instruction.opcode()) {
    case Opcode::kDynamicSlice:
      return CheckStarts(name, shape, instruction.shape(), operands.subspan(1));
    case Opcode::kDynamicUpdateSlice:
      VXLA_RETURN_IF_ERROR(CheckStarts(name, shape, operands[1]->shape(), operands.subspan(2)));
      if (notes.forall == 0) return OkStatus();
      return CheckConflicts(notes, shape, operands[1]->shape(), operands.subspan(2), written);
    case Opcode::kGather:
      return CheckTable(name, shape, *operands[1], instruction.attributes<GatherAttributes>().start_index_map,
                        notes.unique);
    case Opcode::kScatter:
      return CheckTable(name, shape, *operands[1],
                        instruction.attributes<ScatterAttributes>().scatter_dims_to_operand_dims, notes.unique);
    default:
      return OkStatus();
  }
}

}  // namespace

Status CheckPlaces(const Module& module, std::span<const Literal* const> arguments, EvaluateOptions options) {
  options.observe = nullptr;
  Written written;
  options.replace = [&](const Instruction& instruction,
                        std::span<const Literal* const> operands) -> std::optional<Result<Literal>> {
    Status status = CheckInstruction(instruction, operands, written);
    if (status.ok()) return std::nullopt;
    return Result<Literal>(std::move(status).At(instruction.location()));
  };
  return Evaluate(module, arguments, options).status();
}

Status AsChecked(const Status& status) {
  const bool tensor = status.message().find("tensor.") != std::string::npos;
  if (status.code() != StatusCode::kInvalidArgument || !tensor || status.location().line == 0) return status;
  return Status(StatusCode::kMismatch, status.message(), status.location());
}

}  // namespace VXLA_NAMESPACE
