#include "backend/vulkan/lower/products/quad_loads.h"

#include <fmt/format.h>

#include <cstdlib>

#include "backend/vulkan/codegen/scalar_computation.h"

namespace VXLA_NAMESPACE::vulkan {

IndexExpression PlaceInUnit(ValueWriter& writer, int variable, int64_t count, int j, std::string* exists) {
  IndexSpace& space = writer.space();
  if (count % 4 == 0) return space.Add(space.Scale(space.Variable(variable), 4), {{}, j});
  const std::string name = fmt::format("place_{}", j);
  writer.Line("uint {} = min(4u * unit + {}u, {}u);", name, j, count - 1);
  *exists = fmt::format("4u * unit + {}u < {}u", j, count);
  return space.Variable(writer.NewVariable(name, count));
}

void WriteQuad(ValueWriter& writer, int variable, int64_t count,
               const std::function<std::string(const IndexExpression& place)>& value) {
  if (count % 4 == 0) writer.Vectorize(variable, 4);
  for (int j = 0; j < 4; ++j) {
    std::string exists;
    const std::string one = value(PlaceInUnit(writer, variable, count, j, &exists));
    writer.Line(exists.empty() ? fmt::format("quad[{}] = {};", j, one)
                               : fmt::format("quad[{}] = {} ? {} : 0.0f;", j, exists, one));
  }
}

void DefineWords(Hook& hook, const std::string& head, const Instruction& operand, int variable, int count,
                 ElementType term, const std::function<MultiIndex(const IndexExpression& place)>& index) {
  hook.writer.Vectorize(variable, count);
  const auto neighbour = [&](int j) { return index(hook.Nth(variable, count, j)); };
  std::vector<std::string> words = hook.writer.GroupWords(operand, neighbour(0));
  for (int j = 0; words.size() < static_cast<size_t>(count / 2); j += 2) {
    const std::string low = hook.writer.Value(operand, neighbour(j));
    const std::string high = hook.writer.Value(operand, neighbour(j + 1));
    words.push_back(fmt::format("encode_rounded_pair_{}({}, {})", ElementTypeName(term), low, high));
  }
  for (size_t j = 0; j < words.size(); ++j) hook.writer.Line("words[{}] = {};", j, words[j]);
  hook.Define(fmt::format("void {}, out uint words[{}])", head, words.size()));
}

bool RunsAlong(const FusionDescription& body, IndexSpace& space, const Instruction& value, MultiIndex index,
               int variable) {
  const Instruction* at = &value;
  while (body.OperandOf(*at) == nullptr && at->operand_count() > 0 && IsPlainMap(*at)) {
    index = OperandIndex(space, *at, 0, index);
    at = at->operand(0);
  }
  const IndexExpression linear = space.Linearize(index, at->shape().dimensions());
  int64_t least = 0;
  bool along = false;
  for (const IndexTerm& term : linear.terms) {
    if (least != 0 && std::abs(term.coefficient) >= least) continue;
    least = std::abs(term.coefficient);
    along = term.variable == variable;
  }
  return along;
}

std::string ToF32(const Instruction& instruction, const std::string& value) {
  const ElementType type = instruction.shape().element_type();
  return type == ElementType::kF32 ? value : ConvertedText(type, ElementType::kF32, value);
}

std::string FromF32(const Instruction& instruction, const std::string& value) {
  const ElementType type = instruction.shape().element_type();
  return type == ElementType::kF32 ? value : ConvertedText(ElementType::kF32, type, value);
}

}  // namespace VXLA_NAMESPACE::vulkan
