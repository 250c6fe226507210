// Products and sequences that have no instruction of their own: einsum, torch_index_select; and CHLO's ragged_dot,
// scan and constant_like.
#include <algorithm>

#include "core/builder/math.h"
#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/mlir/importer/import_operations.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// "ab,bc->ac": the letters of the operands and of the result.
struct EinsumLetters {
  std::vector<std::string> operands;
  std::string result;
};

Result<EinsumLetters> LettersOf(const Operation& operation, const Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const std::string config, operation.Text("einsum_config"));
  EinsumLetters letters;
  std::string all = config;
  std::erase(all, ' ');
  const size_t arrow = all.find("->");
  if (arrow == std::string::npos) return operation.Error("einsum_config \"{}\" has no \"->\"", config);
  letters.result = all.substr(arrow + 2);
  all.resize(arrow);
  for (size_t start = 0; start <= all.size();) {
    const size_t end = std::min(all.find(',', start), all.size());
    letters.operands.push_back(all.substr(start, end - start));
    start = end + 1;
  }
  if (letters.operands.size() != operands.size())
    return operation.Error("einsum_config \"{}\" is of {} operands, {} are given", config, letters.operands.size(),
                           operands.size());
  for (size_t i = 0; i <= operands.size(); ++i) {
    const std::string& word = i < operands.size() ? letters.operands[i] : letters.result;
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)
      return operation.NotSupported("einsum_config \"{}\" holds more than letters", config);
    std::string sorted = word;
    std::ranges::sort(sorted);
    if (i == operands.size() && std::ranges::adjacent_find(sorted) != sorted.end())
      return operation.Error("einsum_config \"{}\" names a dimension of the result twice", config);
    if (i < operands.size() && word.size() != static_cast<size_t>(operands[i]->shape().rank()))
      return operation.Error("einsum_config \"{}\" gives operand {} {} dimensions, it is {}", config, i, word.size(),
                             PrintType(operands[i]->shape()));
    for (size_t d = 0; i < operands.size() && d < word.size(); ++d) {
      const int first = static_cast<int>(word.find(word[d])), again = static_cast<int>(d);
      if (operands[i]->shape().dimension(first) != operands[i]->shape().dimension(again))
        return operation.Error("einsum_config \"{}\": '{}' stands for dimensions {} and {} of {}, which differ", config,
                               word[d], first, again, PrintType(operands[i]->shape()));
    }
  }
  for (const char c : letters.result) {
    const auto has = [&](const std::string& word) { return word.find(c) != std::string::npos; };
    if (std::ranges::none_of(letters.operands, has))
      return operation.Error("einsum_config \"{}\": no operand has the result's dimension '{}'", config, c);
  }
  return letters;
}

XlaOp SumOver(XlaOp operand, const IntList& dimensions) {
  if (dimensions.empty()) return operand;
  const ElementType type = operand.shape().element_type();
  XlaBuilder sum("sum");
  const XlaOp total = Add(Parameter(&sum, 0, Shape(type)), Parameter(&sum, 1, Shape(type)));
  const Result<XlaComputation> computation = sum.Build(total);
  if (!computation.ok()) return operand.builder()->Record(computation.status());
  return Reduce(operand, ScalarLike(operand, 0), *computation, dimensions);
}

// Sums over the dimensions that `kept` lacks.
XlaOp SumOverOthers(XlaOp operand, std::string& letters, const std::string& kept) {
  IntList dimensions;
  std::string left;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (kept.find(letters[i]) == std::string::npos) {
      dimensions.push_back(i);
    } else {
      left += letters[i];
    }
  }
  letters = left;
  return SumOver(operand, dimensions);
}

XlaOp InOrder(XlaOp operand, const std::string& letters, const std::string& wanted) {
  if (letters == wanted) return operand;
  return Transpose(operand, Transformed(wanted, [&](const char c) { return static_cast<int64_t>(letters.find(c)); }));
}

// Where a letter stands for two dimensions, those places at which both have the same index.
XlaOp Diagonal(XlaOp operand, std::string& letters) {
  for (size_t again = 1; again < letters.size(); ++again) {
    const size_t first = letters.find(letters[again]);
    if (first == again) continue;
    GatherAttributes numbers;
    IntList sizes(operand.shape().dimensions().begin(), operand.shape().dimensions().end());
    for (size_t d = 0; d + 1 < letters.size(); ++d) {
      if (d != first) numbers.offset_dims.push_back(d);
    }
    numbers.start_index_map = {static_cast<int64_t>(first), static_cast<int64_t>(again)};
    numbers.collapsed_slice_dims = numbers.start_index_map;
    numbers.index_vector_dim = 1;
    const Shape places(ElementType::kS64, {sizes[first], 2});
    sizes[first] = sizes[again] = std::min<int64_t>(sizes[first], 1);
    operand = Gather(operand, Iota(operand.builder(), places, 0), numbers, sizes);
    letters.erase(again--, 1);
  }
  return operand;
}

XlaOp EinsumOf(std::vector<XlaOp> x, EinsumLetters letters) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = Diagonal(x[i], letters.operands[i]);
  if (x.size() == 1) {
    const XlaOp sum = SumOverOthers(x[0], letters.operands[0], letters.result);
    return InOrder(sum, letters.operands[0], letters.result);
  }
  std::string &a = letters.operands[0], &b = letters.operands[1];
  const XlaOp lhs = SumOverOthers(x[0], a, b + letters.result);
  const XlaOp rhs = SumOverOthers(x[1], b, a + letters.result);
  DotDimensionNumbers numbers;
  std::string product;
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t other = b.find(a[i]);
    if (other == std::string::npos) continue;
    const bool batch = letters.result.find(a[i]) != std::string::npos;
    (batch ? numbers.lhs_batch_dimensions : numbers.lhs_contracting_dimensions).push_back(i);
    (batch ? numbers.rhs_batch_dimensions : numbers.rhs_contracting_dimensions).push_back(other);
    if (batch) product += a[i];
  }
  for (const char c : a) product += b.find(c) == std::string::npos ? std::string(1, c) : "";
  for (const char c : b) product += a.find(c) == std::string::npos ? std::string(1, c) : "";
  return InOrder(DotGeneral(lhs, rhs, numbers), product, letters.result);
}

// Inputs and initial values, or outputs and carries; they may be left out.
Status CheckSegments(const Operation& operation, std::string_view name, size_t count) {
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, operation.Ints(name, {}));
  const bool fits = sizes.size() == 2 && sizes[0] >= 0 && sizes[1] >= 0 &&
                    static_cast<uint64_t>(sizes[0]) + static_cast<uint64_t>(sizes[1]) == count;
  if (sizes.empty() || fits) return OkStatus();
  return operation.Error("{} are [{}], two that make {} needed", name, JoinInts(sizes, ", "), count);
}

// A scan of carries alone takes as many steps as it says: HLO's goes over an array of that size.
Status ImportStepsOnly(Frame& frame, const Operation& operation, Instructions operands, ScanAttributes attributes,
                       int64_t size) {
  const int64_t dimension = attributes.dimensions[0];
  if (size < 0) return operation.Error("scan_dim_size is needed where there are no inputs");
  if (dimension < 0 || dimension >= kMaxRank)
    return operation.Error("dimension {} is not in 0 to {}", dimension, kMaxRank - 1);
  IntList sizes(static_cast<size_t>(dimension), 1);
  const Shape step(ElementType::kPred, sizes);
  sizes.push_back(size);
  const Shape steps(ElementType::kPred, sizes);
  VXLA_RETURN_IF_ERROR(CheckShape(steps));
  Instructions captures;
  VXLA_ASSIGN_OR_RETURN(Computation* const body, ImportScalarRegion(frame, operation, 0, Takes::kConstants, captures));
  if (body->parameters().size() != operands.size())
    return operation.Error("the region takes {} arguments, {} needed", body->parameters().size(), operands.size());
  Frame outer(frame.importer, "step");
  outer.Parameter(step, 0);
  Instructions carried;
  for (const Instruction* parameter : body->parameters())
    carried.push_back(outer.Add(Opcode::kParameter, parameter->shape(), {},
                                ParameterAttributes{static_cast<int64_t>(carried.size()) + 1}));
  outer.computation->set_root(
      outer.Add(Opcode::kCall, body->root()->shape(), std::move(carried), CallAttributes{}, {body}));
  Computation* const computation = frame.importer.module().AddComputation(std::move(outer.computation));
  operands.insert(operands.begin(), frame.SpreadAs(frame.Number(ElementType::kPred, 0), steps));
  return BindInferred(frame, operation, Opcode::kScan, std::move(operands), std::move(attributes), {computation},
                      frame.importer.ResultShape(operation));
}

}  // namespace

Status ImportEinsum(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const EinsumLetters letters, LettersOf(operation, operands));
  return BindComposed(frame, operation, operands, [&](const std::vector<XlaOp>& x) { return EinsumOf(x, letters); });
}

// operand[i..., index[i..., j...], k...] with the first batch_dims dimensions in common.
Status ImportTorchIndexSelect(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dim, operation.Int("dim"));
  VXLA_ASSIGN_OR_RETURN(const int64_t batch, operation.Int("batch_dims", 0));
  const Shape &operand = operands[0]->shape(), &index = operands[1]->shape();
  if (dim < 0 || dim >= operand.rank()) return operation.Error("dim {} is no dimension of {}", dim, PrintType(operand));
  if (batch < 0 || batch > dim || batch > index.rank())
    return operation.Error("batch_dims {} is not in 0 to dim {} and the rank of {}", batch, dim, PrintType(index));
  GatherAttributes numbers;
  IntList sizes(operand.dimensions().begin(), operand.dimensions().end());
  const int64_t own = index.rank() - batch;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (i < batch || i == dim) sizes[i] = 1;
    if (i < batch) numbers.operand_batching_dims.push_back(i);
    if (i < batch) numbers.start_indices_batching_dims.push_back(i);
    if (i >= batch && i != dim) numbers.offset_dims.push_back(i < dim ? i : i - 1 + own);
  }
  numbers.collapsed_slice_dims = {dim};
  numbers.start_index_map = {dim};
  numbers.index_vector_dim = index.rank();
  return BindComposed(frame, operation, operands,
                      [&](const std::vector<XlaOp>& x) { return Gather(x[0], x[1], numbers, sizes); });
}

Status ImportRaggedDot(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const numbers, operation.Required("ragged_dot_dimension_numbers"));
  DotAttributes attributes;
  VXLA_RETURN_IF_ERROR(operation.ReadParts(*numbers, {{"lhs_batching_dimensions", &attributes.lhs_batch_dims},
                                                      {"rhs_batching_dimensions", &attributes.rhs_batch_dims},
                                                      {"lhs_contracting_dimensions", &attributes.lhs_contracting_dims},
                                                      {"rhs_contracting_dimensions", &attributes.rhs_contracting_dims},
                                                      {"lhs_ragged_dimensions", &attributes.lhs_ragged_dims},
                                                      {"rhs_group_dimensions", &attributes.rhs_group_dims}}));
  VXLA_ASSIGN_OR_RETURN(attributes.operand_precision, PrecisionOf(operation));
  return BindInferred(frame, operation, Opcode::kRaggedDot, std::move(operands), std::move(attributes), {},
                      frame.importer.ResultShape(operation));
}

// (inputs..., inits...) -> (outputs..., carries...); the body takes a slice of each input and the carries.
Status ImportScan(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("dimension"));
  ScanAttributes attributes;
  attributes.dimensions = {dimension};
  VXLA_ASSIGN_OR_RETURN(attributes.is_reverse, operation.Bool("is_reverse", false));
  if (operation.Find("is_associative") != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const bool associative, operation.Bool("is_associative", false));
    attributes.is_associative.text = associative ? "true" : "false";
  }
  VXLA_ASSIGN_OR_RETURN(const IntList segments, operation.Ints("operandSegmentSizes", {}));
  VXLA_RETURN_IF_ERROR(CheckSegments(operation, "operandSegmentSizes", operands.size()));
  VXLA_RETURN_IF_ERROR(CheckSegments(operation, "resultSegmentSizes", operation.results.size()));
  attributes.num_carries = segments.empty() ? static_cast<int64_t>(operands.size() / 2) : segments[1];
  if (attributes.num_carries < 0 || attributes.num_carries > static_cast<int64_t>(operands.size()))
    return operation.Error("{} carries of {} operands", attributes.num_carries, operands.size());
  VXLA_ASSIGN_OR_RETURN(const int64_t size, operation.Int("scan_dim_size", -1));
  if (attributes.num_carries == static_cast<int64_t>(operands.size()))
    return ImportStepsOnly(frame, operation, std::move(operands), std::move(attributes), size);
  const Shape& input = operands[0]->shape();
  const bool known = input.IsArray() && dimension >= 0 && dimension < input.rank();
  if (size >= 0 && known && input.dimension(dimension) != size)
    return operation.Error("scan_dim_size is {}, dimension {} of {} is not", size, dimension, PrintType(input));
  return ImportWithRegions(frame, operation, Opcode::kScan, std::move(operands), std::move(attributes),
                           Takes::kConstants, frame.importer.ResultShape(operation));
}

// A number in the operand's shape.
Status ImportConstantLike(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const value, operation.Required("value"));
  const bool real = value->kind == Attribute::Kind::kFloat;
  if (!real && value->kind != Attribute::Kind::kInteger)
    return operation.Error("value is {}, no number", PrintAttribute(*value));
  const Shape& shape = frame.importer.program().ShapeOf(operation.results[0]);
  if (!shape.IsArray()) return operation.Error("an array is needed");
  const ElementType type = shape.element_type();
  Literal number = real ? Literal::Scalar(type, value->real) : Literal::ScalarInt(type, value->integer);
  return BindValues(frame, operation, {frame.SpreadAs(frame.Constant(std::move(number)), shape)});
}

}  // namespace VXLA_NAMESPACE::mlir
