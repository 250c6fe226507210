// Reductions and row programs made of them: softmax, layer norm, argmax ...
#include <algorithm>
#include <unordered_set>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/rows/row_program.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/sizes/live_rows.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsReduceResult(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReduce ||
         (instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0)->opcode() == Opcode::kReduce);
}

class RowProgramReader {
 public:
  RowProgramReader(const FusionDescription& body, BufferMap& buffers)
      : body_(body), buffers_(buffers), rows_(*body.rows) {}

  RowProgram Read() {
    program_.body = &body_;
    program_.buffers = &buffers_;
    program_.name = StepName(body_);
    program_.rows = rows_.rows;
    program_.row_size = rows_.row_size;
    program_.rows_contiguous = rows_.rows_are_contiguous();
    for (const Instruction* reduce : body_.heroes) AddReduce(*reduce);
    for (const Instruction* instruction : body_.computed) AddRowValue(*instruction);
    for (const ResultLeaf& result : ResultLeaves(body_)) AddOutput(result);
    for (const Instruction* instruction : body_.computed) {
      if (IsElementwise(instruction->opcode())) program_.flop += instruction->shape().ElementCount();
    }
    program_.flop += static_cast<int64_t>(body_.heroes.size()) * rows_.rows * rows_.row_size;
    FindLiveRows();
    FindLiveElements();
    return std::move(program_);
  }

 private:
  // The index of an array whose values sit one per row or one per element, at a place in a writer's space.
  MultiIndex IndexAt(ValueWriter& writer, const Shape& shape, const RowPlace& place, bool per_element) const {
    return rows_.IndexAt(writer.space(), per_element ? RowSpace::Place::kElement : RowSpace::Place::kRow,
                         shape.dimensions(), place.row, place.element);
  }

  void AddReduce(const Instruction& reduce) {
    const int count = reduce.operand_count() / 2;
    RowReduce& row = program_.reduces.emplace_back(reduce);
    row.pass = body_.PhaseOf(reduce);
    row.element = [this, &reduce, count](ValueWriter& writer, const RowPlace& place) {
      std::vector<std::string> values;
      for (int i = 0; i < count; ++i) {
        values.push_back(writer.Value(*reduce.operand(i), IndexAt(writer, reduce.operand(i)->shape(), place, true)));
      }
      return values;
    };
    row.publish = [this, &reduce](ValueWriter& writer, const RowPlace& place, const std::vector<std::string>& results) {
      const auto leaves = FlattenTuple(reduce.shape());
      for (size_t i = 0; i < leaves.size(); ++i) {
        writer.Override(reduce, IndexAt(writer, *leaves[i], place, false), results[i], static_cast<int>(i));
      }
    };
  }

  // Values of a row that elements read through this instruction, and scalars: they are computed before the elements.
  void AddRowValue(const Instruction& user) {
    if (!IsIndexOnly(user) || user.operand_count() != 1) return;
    const Instruction& value = *user.operand(0);
    if (IsReduceResult(value) || IsFree(value) || value.opcode() == Opcode::kConstant ||
        !hoisted_.insert(&value).second)
      return;
    const bool scalar = value.shape().rank() == 0;
    const bool own_row = !scalar && rows_.PlaceOf(user.shape()) == RowSpace::Place::kElement &&
                         rows_.PlaceOf(value.shape()) != RowSpace::Place::kElement &&
                         value.shape().ElementCount() == rows_.rows &&
                         rows_.ReadsOwnRow(user, RowSpace::Place::kElement, 0, RowSpace::Place::kRow);
    if (!(scalar || own_row) || rows_.row_size == 1) return;
    RowValue& row = program_.values.emplace_back();
    row.level = body_.PhaseOf(value);
    row.type = value.shape().element_type();
    auto index = [this, &value, scalar](ValueWriter& writer, const RowPlace& place) {
      return scalar ? MultiIndex() : IndexAt(writer, value.shape(), place, false);
    };
    row.value = [&value, index](ValueWriter& writer, const RowPlace& place) {
      return writer.Value(value, index(writer, place));
    };
    row.publish = [&value, index](ValueWriter& writer, const RowPlace& place, const std::string& name) {
      writer.Override(value, index(writer, place), name);
    };
  }

  void AddOutput(const ResultLeaf& result) {
    RowOutput& output = program_.outputs.emplace_back();
    output.level = body_.PhaseOf(*result.root);
    output.type = result.shape->element_type();
    output.slice = buffers_.SliceOf(*body_.instruction, static_cast<int>(program_.outputs.size()) - 1);
    const bool reduce = IsReduceResult(*result.root);
    output.per_element = !reduce && rows_.PlaceOf(*result.shape) == RowSpace::Place::kElement;
    output.value = [this, result, per_element = output.per_element](ValueWriter& writer, const RowPlace& place) {
      return writer.LeafValue(*result.root, result.element, IndexAt(writer, *result.shape, place, per_element));
    };
    output.linear = [this, &shape = *result.shape](ValueWriter& writer, const RowPlace& place) {
      return writer.space().Linearize(IndexAt(writer, shape, place, true), shape.dimensions());
    };
  }

  // Dimension 0 of every result counts rows, the slowest of theirs.
  void FindLiveRows() {
    const Instruction* const size = LiveRowsOf(body_.roots);
    if (size == nullptr) return;
    const int64_t count = body_.roots[0]->shape().dimension(0);
    const bool outermost = std::ranges::all_of(body_.heroes, [&](const Instruction* reduce) {
      const Shape& shape = reduce->operand(0)->shape();
      return shape.dimension(0) == count && std::ranges::find(reduce->dimensions(), 0) == reduce->dimensions().end();
    });
    if (!outermost || count == 0 || rows_.rows % count != 0) return;
    program_.live_rows = {size, count, rows_.rows / count, 1};
  }

  // Every reduce takes what its reducer's identity replaces behind the live elements of the slowest reduced dimension.
  void FindLiveElements() {
    LiveCount live;
    for (const Instruction* reduce : body_.heroes) {
      if (reduce->dimensions().empty()) return;
      const int64_t d = *std::ranges::min_element(reduce->dimensions());
      const Instruction* const own = LiveSizeOfIdentities(*reduce, d);
      const int64_t count = reduce->operand(0)->shape().dimension(static_cast<int>(d));
      if (own == nullptr || (live.size != nullptr && own != live.size) || rows_.row_size % count != 0) return;
      live = {own, count, rows_.row_size / count, 1};
    }
    const auto stored = [](const RowOutput& output) { return output.per_element; };
    if (std::ranges::none_of(program_.outputs, stored)) program_.live_elements = live;
  }

  const FusionDescription& body_;
  BufferMap& buffers_;
  const RowSpace& rows_;
  RowProgram program_;
  std::unordered_set<const Instruction*> hoisted_;
};

}  // namespace

Status CanLowerReduce(const LowerContext& context, const FusionDescription& body) {
  for (const Instruction* reduce : body.heroes) VXLA_RETURN_IF_ERROR(CheckReducer(*reduce->called(0)));
  return body.product != nullptr ? CanLowerProductOfRows(context, body) : OkStatus();
}

void WithReduceProgram(const FusionDescription& body, BufferMap& buffers,
                       const std::function<void(const RowProgram&)>& use) {
  RowProgramReader reader(body, buffers);
  use(reader.Read());
}

Result<std::vector<Step>> LowerReduce(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  if (body.product != nullptr) {
    RowProgramReader reader(body, buffers);
    return std::vector<Step>{LowerProductOfRows(context, body, reader.Read())};
  }
  std::vector<Step> steps;
  WithReduceProgram(body, buffers, [&](const RowProgram& program) { steps = LowerRowProgram(context, program); });
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
