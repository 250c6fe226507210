// Sort and topk: both sort rows (lower/sort/sort_kernels.h), by a comparator or by value.

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/sort/sort_kernels.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// All but where the tensors lie.
SortWork ReadSort(const FusionDescription& body) {
  const Instruction& sort = *body.hero;
  SortWork work;
  work.name = StepName(body);
  const Shape& shape = sort.operand(0)->shape();
  const auto dimension = static_cast<size_t>(sort.attributes<SortAttributes>().dimensions.at(0));
  work.length = work.kept = shape.dimension(static_cast<int>(dimension));
  work.stride = RowMajorStrides(shape.dimensions())[dimension];
  work.rows = work.length == 0 ? 0 : shape.ElementCount() / work.length;
  for (const Instruction* operand : sort.operands()) work.types.push_back(operand->shape().element_type());
  work.order = ReadComparator(*sort.called(0));
  work.results.resize(work.types.size());
  work.operands.resize(work.types.size());
  return work;
}

SortWork ReadTopK(const FusionDescription& body) {
  const Instruction& topk = *body.hero;
  const auto& attributes = topk.attributes<TopKAttributes>();
  SortWork work;
  work.name = StepName(body);
  const Shape& shape = topk.operand(0)->shape();
  work.length = shape.dimension(shape.rank() - 1);
  work.kept = attributes.k;
  work.rows = work.length == 0 ? 0 : shape.ElementCount() / work.length;
  work.types = {shape.element_type()};
  work.order = ValueOrder(shape.element_type(), attributes.largest);
  work.results.resize(1);
  work.operands.resize(1);
  work.positions.emplace();
  return work;
}

}  // namespace

SortWork SortWorkOf(const FusionDescription& body) {
  return body.hero->opcode() == Opcode::kSort ? ReadSort(body) : ReadTopK(body);
}

void PlaceSortTensors(const FusionDescription& body, BufferMap& buffers, SortWork* work) {
  for (size_t k = 0; k < work->operands.size(); ++k) {
    work->operands[k] = buffers.SliceOf(*body.hero->operand(static_cast<int>(k)), 0);
    work->results[k] = buffers.SliceOf(*body.instruction, static_cast<int>(k));
  }
  if (work->positions) work->positions = buffers.SliceOf(*body.instruction, 1);
}

Status CanLowerSort(const LowerContext& context, const FusionDescription& body) {
  VXLA_RETURN_IF_ERROR(CheckScalarComputation(*body.hero->called(0)));
  return CheckSortWork(context, *body.instruction, SortWorkOf(body));
}

Result<std::vector<Step>> LowerSort(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  SortWork work = SortWorkOf(body);
  PlaceSortTensors(body, buffers, &work);
  return LowerSortWork(context, work, buffers);
}

Status CanLowerTopK(const LowerContext& context, const FusionDescription& body) {
  return CheckSortWork(context, *body.instruction, SortWorkOf(body));
}

Result<std::vector<Step>> LowerTopK(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  return LowerSort(context, body, buffers);
}

}  // namespace VXLA_NAMESPACE::vulkan
