#include "backend/cpu/reference/checked_run.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/mlir/importer.h"

namespace VXLA_NAMESPACE {
namespace {

// The operation that the instruction stands for; empty for others.
std::string CheckedOperation(const Instruction& instruction) {
  const std::string& text = instruction.common().frontend_attributes.text;
  const size_t at = text.find(mlir::kCheckedAttribute);
  if (at == std::string::npos) return {};
  const size_t open = text.find('"', at);
  const size_t close = open == std::string::npos ? open : text.find('"', open + 1);
  return close == std::string::npos ? std::string() : text.substr(open + 1, close - open - 1);
}

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

// The text after " key="; empty: there is none.
std::string_view ValueOf(std::string_view mark, std::string_view key) {
  const size_t at = mark.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = mark.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

int64_t NumberOf(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The elements of `part` at `starts`, `strides` apart, have not been written before.
Status CheckConflicts(const std::string& name, std::string_view mark, const Shape& shape, const Shape& part,
                      std::span<const Literal* const> starts, Written& written) {
  const int64_t loop = NumberOf(ValueOf(mark, " forall="));
  if (mark.ends_with(" begins")) std::erase_if(written, [&](const auto& entry) { return entry.first.first == loop; });
  std::vector<bool>& elements = written[{loop, NumberOf(ValueOf(mark, " out="))}];
  elements.resize(static_cast<size_t>(shape.ElementCount()));
  std::string_view strides = ValueOf(mark, " strides=");
  std::vector<int64_t> steps;
  for (; !strides.empty(); strides.remove_prefix(std::min(strides.find('x'), strides.size() - 1) + 1))
    steps.push_back(std::max<int64_t>(NumberOf(strides), 1));
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
      return Mismatch("{}: the element [{}] of {} is written twice by parallel updates", name, JoinInts(place),
                      shape.ToString());
    elements[at] = true;
    size_t d = index.size();
    while (d > 0 && (index[d - 1] += steps[d - 1]) >= part.dimension(static_cast<int>(d - 1))) index[--d] = 0;
    if (d == 0) return OkStatus();
  }
}

Status CheckInstruction(const Instruction& instruction, std::span<const Literal* const> operands, Written& written) {
  const std::string mark = CheckedOperation(instruction);
  if (mark.empty()) return OkStatus();
  const std::string name = mark.substr(0, mark.find(' '));
  const bool unique = mark.ends_with(" unique");
  if (instruction.opcode() == Opcode::kTuple) {
    const int64_t loop = NumberOf(ValueOf(mark, " forall="));
    std::erase_if(written, [&](const auto& entry) { return entry.first.first == loop; });
    return OkStatus();
  }
  const Shape& shape = operands[0]->shape();
  switch (instruction.opcode()) {
    case Opcode::kDynamicSlice:
      return CheckStarts(name, shape, instruction.shape(), operands.subspan(1));
    case Opcode::kDynamicUpdateSlice:
      VXLA_RETURN_IF_ERROR(CheckStarts(name, shape, operands[1]->shape(), operands.subspan(2)));
      if (ValueOf(mark, " forall=").empty()) return OkStatus();
      return CheckConflicts(name, mark, shape, operands[1]->shape(), operands.subspan(2), written);
    case Opcode::kGather:
      return CheckTable(name, shape, *operands[1], instruction.attributes<GatherAttributes>().start_index_map, unique);
    case Opcode::kScatter:
      return CheckTable(name, shape, *operands[1],
                        instruction.attributes<ScatterAttributes>().scatter_dims_to_operand_dims, unique);
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
