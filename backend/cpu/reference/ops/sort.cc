// Sort with a comparator computation (stable, whatever is_stable says) and topk.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "backend/cpu/reference/scalar_program.h"
#include "backend/cpu/reference/ops/data_movement.h"

namespace VXLA_NAMESPACE {
namespace {

// A comparator, split: steps that see only the left (or only the right) element are run once per element, ahead of the
// sorting; what is left, usually one compare, runs per comparison.
struct SplitComparator {
  ScalarProgram program;
  enum Side : uint8_t { kNeither = 0, kLeft = 1, kRight = 2, kBoth = 3 };
  std::vector<Side> sides;                        // by register
  std::vector<const ScalarProgram::Step*> ahead;  // one-sided and constant steps
  std::vector<const ScalarProgram::Step*> joint;
  std::vector<int> needed;  // one-sided registers that the joint steps (or the result) read
  std::vector<ElementType> needed_types;
};

void AddNeeded(SplitComparator& c, int reg, ElementType type) {
  if (c.sides[reg] != SplitComparator::kLeft && c.sides[reg] != SplitComparator::kRight) return;
  if (std::ranges::find(c.needed, reg) != c.needed.end()) return;
  c.needed.push_back(reg);
  c.needed_types.push_back(type);
}

void Split(SplitComparator& c) {
  std::vector<ElementType> types;
  auto grow = [&](int reg) {
    if (static_cast<size_t>(reg) >= c.sides.size()) {
      c.sides.resize(static_cast<size_t>(reg) + 1, SplitComparator::kNeither);
      types.resize(static_cast<size_t>(reg) + 1, ElementType::kPred);
    }
  };
  for (size_t i = 0; i < c.program.inputs().size(); ++i) {
    grow(c.program.inputs()[i]);
    c.sides[c.program.inputs()[i]] = i % 2 == 0 ? SplitComparator::kLeft : SplitComparator::kRight;
    types[c.program.inputs()[i]] = c.program.input_types()[i];
  }
  for (const ScalarProgram::Step& step : c.program.steps()) {
    uint8_t side = SplitComparator::kNeither;
    for (int reg : step.inputs) {
      grow(reg);
      side |= c.sides[reg];
    }
    const std::vector<const Shape*> leaves = FlattenTuple(step.source->shape());
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      grow(step.outputs[i]);
      c.sides[step.outputs[i]] = static_cast<SplitComparator::Side>(side);
      types[step.outputs[i]] = leaves[i]->element_type();
    }
    (side == SplitComparator::kBoth ? c.joint : c.ahead).push_back(&step);
  }
  for (const ScalarProgram::Step* step : c.joint) {
    for (int reg : step->inputs) AddNeeded(c, reg, types[reg]);
  }
  grow(c.program.outputs()[0]);
  AddNeeded(c, c.program.outputs()[0], types[c.program.outputs()[0]]);
}

// The one line that is being sorted: its elements' precomputed registers, and the comparison.
class LineComparator {
 public:
  LineComparator(const SplitComparator& split, int64_t length)
      : split_(split), frame_(split.program), columns_(split.needed.size()) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].resize(static_cast<size_t>(length * CarrierBytes(split.needed_types[i])));
    }
  }

  // Element i of operand k sits at base + i * stride.
  void Prepare(std::span<const Value> operands, int64_t base, int64_t stride, int64_t length) {
    for (int64_t at = 0; at < length; at += kBlockSize) {
      const int64_t n = std::min<int64_t>(kBlockSize, length - at);
      for (size_t k = 0; k < operands.size(); ++k) {
        const Literal& source = operands[k].literal();
        LoadStrided(source, base + at * stride, stride, n, frame_.input(static_cast<int>(2 * k)));
        LoadStrided(source, base + at * stride, stride, n, frame_.input(static_cast<int>(2 * k + 1)));
      }
      if (at == 0) frame_.FillConstants(kBlockSize);
      for (const ScalarProgram::Step* step : split_.ahead) frame_.RunStep(*step, n);
      for (size_t i = 0; i < columns_.size(); ++i) {
        const int64_t size = CarrierBytes(split_.needed_types[i]);
        std::memcpy(columns_[i].data() + at * size, frame_.reg(split_.needed[i]), static_cast<size_t>(n * size));
      }
    }
  }

  bool operator()(int64_t left, int64_t right) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int64_t size = CarrierBytes(split_.needed_types[i]);
      const int64_t element = split_.sides[split_.needed[i]] == SplitComparator::kLeft ? left : right;
      std::memcpy(frame_.reg(split_.needed[i]), columns_[i].data() + element * size, static_cast<size_t>(size));
    }
    for (const ScalarProgram::Step* step : split_.joint) frame_.RunStep(*step, 1);
    return *static_cast<const uint64_t*>(frame_.output(0)) != 0;
  }

  template <typename T>
  const T* column(size_t i) const {
    return reinterpret_cast<const T*>(columns_[i].data());
  }

 private:
  const SplitComparator& split_;
  ScalarProgram::Frame frame_;
  std::vector<std::vector<std::byte>> columns_;
};

// A stable merge sort that makes no assumption of the comparison but that it answers: a comparator that is no strict
// weak order gives some permutation, never a read out of bounds.
template <typename Less>
void MergeSort(std::vector<int64_t>& order, std::vector<int64_t>& scratch, Less&& less) {
  const int64_t count = static_cast<int64_t>(order.size());
  constexpr int64_t kRun = 8;
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const int64_t end = std::min(count, begin + kRun);
    for (int64_t i = begin + 1; i < end; ++i) {
      const int64_t moving = order[static_cast<size_t>(i)];
      int64_t j = i;
      for (; j > begin && less(moving, order[static_cast<size_t>(j - 1)]); --j) {
        order[static_cast<size_t>(j)] = order[static_cast<size_t>(j - 1)];
      }
      order[static_cast<size_t>(j)] = moving;
    }
  }
  scratch.resize(order.size());
  for (int64_t width = kRun; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      int64_t left = begin, right = std::min(count, begin + width), to = begin;
      const int64_t middle = right, end = std::min(count, begin + 2 * width);
      while (left < middle && right < end) {
        const bool take_right = less(order[static_cast<size_t>(right)], order[static_cast<size_t>(left)]);
        scratch[static_cast<size_t>(to++)] = order[static_cast<size_t>(take_right ? right++ : left++)];
      }
      std::copy(order.begin() + left, order.begin() + middle, scratch.begin() + to);
      std::copy(order.begin() + right, order.begin() + end, scratch.begin() + to + (middle - left));
    }
    order.swap(scratch);
  }
}

// The only joint step is a less or greater of one left and one right register: its keys are compared directly. Returns
// false if the comparator has another form.
bool SortByKeys(const SplitComparator& split, const LineComparator& line, std::vector<int64_t>& order,
                std::vector<int64_t>& scratch) {
  const bool one_compare = split.joint.size() == 1 && split.joint[0]->outputs[0] == split.program.outputs()[0] &&
                           split.joint[0]->source != nullptr && split.joint[0]->source->opcode() == Opcode::kCompare &&
                           split.needed.size() == 2;
  if (!one_compare) return false;
  const auto& attributes = split.joint[0]->source->attributes<CompareAttributes>();
  const bool greater = attributes.direction == ComparisonDirection::kGt;
  if (!greater && attributes.direction != ComparisonDirection::kLt) return false;
  // The compare's first operand may be the right element: a < b of (right, left) is left > right.
  const bool first_is_left = split.sides[split.joint[0]->inputs[0]] == SplitComparator::kLeft;
  const bool descending = greater == first_is_left;
  const size_t left = split.sides[split.needed[0]] == SplitComparator::kLeft ? 0 : 1;
  auto sort = [&]<typename T>(T) {
    const T* a = line.column<T>(left);
    const T* b = line.column<T>(1 - left);
    if (descending) {
      MergeSort(order, scratch, [a, b](int64_t i, int64_t j) { return a[i] > b[j]; });
    } else {
      MergeSort(order, scratch, [a, b](int64_t i, int64_t j) { return a[i] < b[j]; });
    }
  };
  switch (CarrierOf(split.needed_types[0])) {
    case Carrier::kInt64:
      sort(int64_t{});
      return true;
    case Carrier::kUint64:
      sort(uint64_t{});
      return true;
    case Carrier::kDouble:
      if (attributes.type != ComparisonType::kTotalOrder) {
        sort(double{});
        return true;
      }
      {
        std::vector<int64_t> keys[2];
        for (size_t side = 0; side < 2; ++side) {
          const double* values = line.column<double>(side == 0 ? left : 1 - left);
          for (size_t i = 0; i < order.size(); ++i) keys[side].push_back(TotalOrderKey(values[i]));
        }
        const int64_t *a = keys[0].data(), *b = keys[1].data();
        MergeSort(order, scratch, [=](int64_t i, int64_t j) { return descending ? a[i] > b[j] : a[i] < b[j]; });
      }
      return true;
    default:
      return false;
  }
}

// target element i (stride apart) = source element order[i].
void Permute(const Literal& source, Literal& target, int64_t base, int64_t stride, const std::vector<int64_t>& order) {
  const auto size = static_cast<size_t>(StorageBytes(source.shape().element_type()));
  for (size_t i = 0; i < order.size(); ++i) {
    std::memcpy(ElementsAt(target, base + static_cast<int64_t>(i) * stride, 1),
                ElementsAt(source, base + order[i] * stride, 1), size);
  }
}

// Keys whose ascending order is the values': floats by the total order.
std::vector<int64_t> OrderKeys(const Literal& literal, int64_t at, int64_t n) {
  const ElementType type = literal.shape().element_type();
  std::vector<int64_t> keys(static_cast<size_t>(n));
  LoadBlock(literal, at, n, keys.data());
  for (int64_t& key : keys) {
    if (IsFloating(type)) key = TotalOrderKey(std::bit_cast<double>(key));
    if (CarrierOf(type) == Carrier::kUint64) key ^= INT64_MIN;
  }
  return keys;
}

}  // namespace

EvalResult EvalSort(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  SplitComparator split;
  VXLA_ASSIGN_OR_RETURN(split.program, ScalarProgram::Compile(*instruction.called(0)));
  Split(split);
  const Shape& shape = operands[0].shape();
  std::vector<Literal> results;
  for (const Shape* leaf : FlattenTuple(instruction.shape())) results.push_back(Literal::Uninitialized(*leaf));
  const int dimension = static_cast<int>(instruction.attributes<SortAttributes>().dimensions.at(0));
  const int64_t length = shape.dimension(dimension);
  const int64_t stride = RowMajorStrides(shape.dimensions())[static_cast<size_t>(dimension)];
  const int64_t lines = length == 0 ? 0 : shape.ElementCount() / length;
  context.For(lines, std::max<int64_t>(1, 1024 / std::max<int64_t>(length, 1)), [&](int64_t begin, int64_t end) {
    LineComparator comparator(split, length);
    std::vector<int64_t> order(static_cast<size_t>(length)), scratch;
    for (int64_t l = begin; l < end; ++l) {
      const int64_t base = l / stride * stride * length + l % stride;
      comparator.Prepare(operands, base, stride, length);
      std::iota(order.begin(), order.end(), 0);
      if (!SortByKeys(split, comparator, order, scratch)) {
        MergeSort(order, scratch, [&](int64_t i, int64_t j) { return comparator(i, j); });
      }
      for (size_t k = 0; k < operands.size(); ++k) Permute(operands[k].literal(), results[k], base, stride, order);
    }
  });
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  std::vector<Value> elements(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return Value::Tuple(std::move(elements));
}

// The k largest (or smallest) of each row of the last dimension, best first, and their positions; of equals the first.
EvalResult EvalTopK(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& attributes = instruction.attributes<TopKAttributes>();
  const Literal& operand = operands[0].literal();
  if (IsComplex(operand.shape().element_type()) || operand.shape().rank() == 0) {
    return Unsupported("topk: not defined for {}", operand.shape().ToString());
  }
  Literal values(instruction.shape().tuple_elements()[0]), indices(instruction.shape().tuple_elements()[1]);
  const int64_t length = operand.shape().dimension(operand.shape().rank() - 1), k = attributes.k;
  const int64_t lines = length == 0 ? 0 : operand.element_count() / length;
  const auto size = static_cast<size_t>(StorageBytes(operand.shape().element_type()));
  context.For(lines, std::max<int64_t>(1, 4096 / std::max<int64_t>(length, 1)), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> order(static_cast<size_t>(length));
    for (int64_t l = begin; l < end; ++l) {
      const std::vector<int64_t> keys = OrderKeys(operand, l * length, length);
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t i, int64_t j) {
        const int64_t a = keys[static_cast<size_t>(i)], b = keys[static_cast<size_t>(j)];
        return a != b ? (attributes.largest ? a > b : a < b) : i < j;
      });
      for (int64_t i = 0; i < k; ++i) {
        const int64_t from = order[static_cast<size_t>(i)];
        std::memcpy(ElementsAt(values, l * k + i, 1), ElementsAt(operand, l * length + from, 1), size);
        indices.SetInt(l * k + i, from);
      }
    }
  });
  std::vector<Value> elements;
  elements.emplace_back(std::move(values));
  elements.emplace_back(std::move(indices));
  return Value::Tuple(std::move(elements));
}

}  // namespace VXLA_NAMESPACE
