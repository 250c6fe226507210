#include "core/sizes/live_dimensions.h"

#include <algorithm>

#include "core/sizes/size_rules.h"

namespace VXLA_NAMESPACE {
namespace {

// Sizes that are numbers. The first requirement that does not hold is the error.
class Numbers {
 public:
  using Size = int64_t;
  Numbers(const Instruction& instruction, LiveDimensions& live) : instruction_(instruction), live_(live) {}

  static Size Number(int64_t value) { return value; }
  static Size Sum(Size a, Size b) { return a + b; }
  static Size Difference(Size a, Size b) { return a - b; }
  static Size Product(Size a, Size b) { return a * b; }
  static Size Quotient(Size a, Size b) { return a / std::max<Size>(b, 1); }
  static Size Remainder(Size a, Size b) { return a % std::max<Size>(b, 1); }
  static Size Most(Size a, Size b) { return std::max(a, b); }
  static Size IfLess(Size a, Size b, Size yes, Size no) { return a < b ? yes : no; }

  bool IsOpen(int k, int64_t d) const { return live_.dynamic[k][d]; }
  Size LiveSize(int k, int64_t d) const { return live_.sizes[k][d]; }
  bool IsPartial(int k, int64_t d) const { return live_.sizes[k][d] != instruction_.operand(k)->shape().dimension(d); }
  void SetLiveSize(int k, int64_t d, Size size) {
    live_.sizes[k][d] = size;
    live_.dynamic[k][d] = true;
  }

  void RequireEqual(Size a, Size b, const std::string& message, Size first, Size second) {
    if (a == b || !status_.ok()) return;
    status_ = OpError(instruction_, "{}", fmt::format(fmt::runtime(message), first, second));
  }
  const Status& status() const { return status_; }

 private:
  const Instruction& instruction_;
  LiveDimensions& live_;
  Status status_;
};

// The source of a select-and-scatter has one element for each window of the operand.
void CutSource(const Instruction& instruction, LiveDimensions& live, SizeRules<Numbers>& rules) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  for (size_t d = 0; d < window.size(); ++d) {
    if (!live.dynamic[0][d] || live.dynamic[1][d]) continue;
    live.sizes[1][d] = std::min(rules.WindowPositions(live.sizes[0][d], window[d]), live.sizes[1][d]);
  }
}

}  // namespace

void LiveDimensions::Add(const Shape& shape, std::vector<int64_t> live) {
  std::vector<bool> flags;
  for (size_t d = 0; d < live.size(); ++d) {
    const int dimension = static_cast<int>(d);
    flags.push_back(shape.is_dynamic_dimension(dimension) || live[d] != shape.dimension(dimension));
  }
  sizes.push_back(std::move(live));
  dynamic.push_back(std::move(flags));
}

Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live) {
  Numbers numbers(instruction, live);
  SizeRules<Numbers> rules(instruction, numbers);
  if (instruction.opcode() == Opcode::kSelectAndScatter) {
    CutSource(instruction, live, rules);
  } else {
    rules.Agree();
  }
  return numbers.status();
}

Shape WithoutFlags(Shape shape) {
  for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, false);
  for (Shape& element : shape.mutable_tuple_elements()) element = WithoutFlags(element);
  return shape;
}

Result<Shape> ReshapedSizes(const Instruction& instruction, LiveDimensions& live) {
  Numbers numbers(instruction, live);
  SizeRules<Numbers> rules(instruction, numbers);
  Shape result = WithoutFlags(instruction.shape());
  std::vector<int64_t> sizes(result.dimensions().begin(), result.dimensions().end());
  for (const DimensionGroup& group : DimensionGroups(instruction.operand(0)->shape(), instruction.shape())) {
    rules.SettleReshape(group, sizes);
  }
  VXLA_RETURN_IF_ERROR(numbers.status());
  for (int d = 0; d < result.rank(); ++d) result.set_dimension(d, sizes[d]);
  return result;
}

}  // namespace VXLA_NAMESPACE
