#include "core/mlir/rewrite/tensor_constraints.h"

#include <algorithm>
#include <unordered_map>

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr int64_t kOpen = kUnboundedSize;

bool IsTensor(const Type& type) { return type.kind == Type::Kind::kShape && type.shape.IsArray(); }
bool IsRanked(const Type& type) { return IsTensor(type) && !type.unranked; }
bool IsIndex(const Type& type) { return type.kind == Type::Kind::kElement && type.index; }

IntList SizesOf(const Type& type) { return {type.shape.dimensions().begin(), type.shape.dimensions().end()}; }

// Open sizes and bounded ones alike: what the type does not say.
IntList StatedSizes(const Type& type) {
  IntList sizes = SizesOf(type);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (type.shape.is_dynamic_dimension(i)) sizes[i] = kOpen;
  }
  return sizes;
}

std::string PrintSizes(const IntList& sizes) {
  std::string out;
  for (const int64_t size : sizes) out += (out.empty() ? "" : "x") + (size == kOpen ? "?" : std::to_string(size));
  return "[" + out + "]";
}

bool SameElements(const Type& a, const Type& b) {
  return a.index == b.index && a.shape.element_type() == b.shape.element_type();
}

// Whether a value of one type may be one of the other: sizes that both state are the same.
bool SizesGoTogether(const IntList& a, const IntList& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != kOpen && b[i] != kOpen) return false;
  }
  return true;
}

// `reduced` is `sizes` without some of its dimensions of size 1; what is left matches eagerly, as the dialect says.
bool IsRankReduced(const IntList& sizes, const IntList& reduced) {
  size_t next = 0;
  for (const int64_t size : sizes) {
    if (next < reduced.size() && reduced[next] == size) {
      ++next;
    } else if (size != 1) {
      return false;
    }
  }
  return next == reduced.size();
}

// The constraints of each operation of the dialects: one member for each, over the types of its operands and results.
class Checker {
 public:
  explicit Checker(const Program& program) : program_(program) {}

  Status Run(const Operation& operation, const Operation* parent) const {
    if (operation.name.starts_with("tensor.")) VXLA_RETURN_IF_ERROR(Check(operation, parent));
    for (const Operation& inner : Inside(operation)) VXLA_RETURN_IF_ERROR(Run(inner, &operation));
    return OkStatus();
  }

 private:
  // What is asked of many operations, in this order; then comes what their own member asks.
  enum Asked : uint32_t {
    kAtLeast = 1,  // so many operands, or more
    kTensor0 = 2,
    kRanked0 = 4,
    kRanked1 = 8,
    kRankedResult = 16,
    kSameElements = 32,  // of the result and operand 0
    kSameAsTarget = 64   // of operands 0 and 1
  };
  struct Row {
    Status (Checker::*check)(const Operation&) const;
    size_t operands;
    uint32_t asked;
  };

  Status Check(const Operation& operation, const Operation* parent) const {
    using C = Checker;
    static const std::unordered_map<std::string_view, Row> kChecks{
        {"tensor.bitcast", {&C::Bitcast, 1, kTensor0}},
        {"tensor.cast", {&C::Cast, 1, kTensor0}},
        {"tensor.collapse_shape", {&C::Reassociation, 1, kRanked0 | kRankedResult | kSameElements}},
        {"tensor.concat", {&C::Concat, 1, kAtLeast | kRankedResult}},
        {"tensor.dim", {&C::Dim, 2, kTensor0}},
        {"tensor.empty", {&C::Empty, 0, kAtLeast}},
        {"tensor.expand_shape", {&C::Reassociation, 1, kAtLeast | kRanked0 | kRankedResult | kSameElements}},
        {"tensor.extract", {&C::Extract, 1, kAtLeast | kRanked0}},
        {"tensor.extract_slice", {&C::ExtractSlice, 1, kAtLeast | kRanked0 | kRankedResult | kSameElements}},
        {"tensor.from_elements", {&C::FromElements, 0, kAtLeast | kRankedResult}},
        {"tensor.gather", {&C::Gather, 2, kRanked0 | kRankedResult | kSameElements}},
        {"tensor.generate", {&C::Generate, 0, kAtLeast}},
        {"tensor.insert", {&C::Insert, 2, kAtLeast | kRanked1}},
        {"tensor.insert_slice", {&C::InsertSlice, 2, kAtLeast | kRanked0 | kRanked1 | kSameAsTarget}},
        {"tensor.pad", {&C::Pad, 1, kAtLeast | kRanked0 | kRankedResult | kSameElements}},
        {"tensor.parallel_insert_slice", {&C::InsertSlice, 2, kAtLeast | kRanked0 | kRanked1 | kSameAsTarget}},
        {"tensor.rank", {&C::Rank, 1, kTensor0}},
        {"tensor.reshape", {&C::Reshape, 2, kTensor0}},
        {"tensor.scatter", {&C::Scatter, 3, kRanked0 | kRanked1 | kSameAsTarget}},
        {"tensor.splat", {&C::Splat, 1, kAtLeast}},
    };
    const bool yields = operation.name == "tensor.yield";
    const bool of_region = parent != nullptr && (parent->name == "tensor.generate" || parent->name == "tensor.pad");
    if (yields && !of_region) return operation.Error("stands in tensor.generate and tensor.pad alone");
    const bool in_parallel = parent != nullptr && parent->name == "scf.forall.in_parallel";
    if (operation.name == "tensor.parallel_insert_slice" && !in_parallel)
      return operation.Error("stands in scf.forall.in_parallel alone");
    const auto found = kChecks.find(operation.name);
    if (found == kChecks.end()) return OkStatus();  // the importer names what is unknown
    if (operation.name != "tensor.generate" && operation.name != "tensor.pad")
      VXLA_RETURN_IF_ERROR(operation.ExpectRegions(0));
    VXLA_RETURN_IF_ERROR(operation.ExpectResults(operation.name == "tensor.parallel_insert_slice" ? 0 : 1));
    const auto& [check, operands, asked] = found->second;
    VXLA_RETURN_IF_ERROR((asked & kAtLeast) != 0 ? operation.ExpectOperandsAtLeast(operands)
                                                 : operation.ExpectOperands(operands));
    if ((asked & kTensor0) != 0) VXLA_RETURN_IF_ERROR(ExpectTensor(operation, 0));
    if ((asked & kRanked0) != 0) VXLA_RETURN_IF_ERROR(ExpectRanked(operation, 0));
    if ((asked & kRanked1) != 0) VXLA_RETURN_IF_ERROR(ExpectRanked(operation, 1));
    if ((asked & kRankedResult) != 0) VXLA_RETURN_IF_ERROR(ExpectRankedResult(operation));
    if ((asked & kSameElements) != 0) VXLA_RETURN_IF_ERROR(ExpectSameElements(operation, Operand(operation, 0)));
    if ((asked & kSameAsTarget) != 0 && !SameElements(Operand(operation, 0), Operand(operation, 1)))
      return operation.Error("{} has other elements than {}", PrintType(Operand(operation, 0)),
                             PrintType(Operand(operation, 1)));
    return (this->*check)(operation);
  }

  // ---- what operands and results are

  const Type& Operand(const Operation& operation, size_t i) const {
    return program_.values[operation.operands[i]].type;
  }
  const Type& ResultOf(const Operation& operation) const { return program_.values[operation.results[0]].type; }

  Status ExpectTensor(const Operation& operation, size_t i) const {
    if (IsTensor(Operand(operation, i))) return OkStatus();
    return operation.Error("operand {} is {}, a tensor needed", i, PrintType(Operand(operation, i)));
  }
  Status ExpectRanked(const Operation& operation, size_t i) const {
    if (IsRanked(Operand(operation, i))) return OkStatus();
    return operation.Error("operand {} is {}, a tensor with a rank needed", i, PrintType(Operand(operation, i)));
  }
  Status ExpectRankedResult(const Operation& operation) const {
    if (IsRanked(ResultOf(operation))) return OkStatus();
    return operation.Error("the result {} is no ranked tensor", PrintType(ResultOf(operation)));
  }
  Status ExpectIndices(const Operation& operation, size_t first) const {
    for (size_t i = first; i < operation.operands.size(); ++i) {
      if (IsIndex(Operand(operation, i))) continue;
      return operation.Error("operand {} is {}, an index needed", i, PrintType(Operand(operation, i)));
    }
    return OkStatus();
  }
  Status ExpectResultType(const Operation& operation, const Type& wanted) const {
    const Type& result = ResultOf(operation);
    if (PrintType(result) == PrintType(wanted)) return OkStatus();
    return operation.Error("the result is {}, {} needed", PrintType(result), PrintType(wanted));
  }
  // Elements of the result are those of the tensor.
  Status ExpectSameElements(const Operation& operation, const Type& of) const {
    if (SameElements(ResultOf(operation), of)) return OkStatus();
    return operation.Error("the result {} has other elements than {}", PrintType(ResultOf(operation)), PrintType(of));
  }
  // An element of the tensor.
  Status ExpectElement(const Operation& operation, const Type& type, const Type& tensor, std::string_view what) const {
    const bool element = type.kind == Type::Kind::kElement && SameElements(type, tensor);
    if (element) return OkStatus();
    return operation.Error("{} {}, an element of {} needed", what, PrintType(type), PrintType(tensor));
  }
  // Signless integers or `index`; an unsigned one is none.
  static bool IsPlace(const Type& type) {
    return IsRanked(type) && IsInteger(type.shape.element_type()) && !IsUnsigned(type.shape.element_type());
  }
  // An index operand for each size that the result's type leaves open.
  Status ExpectSizes(const Operation& operation, size_t first) const {
    VXLA_RETURN_IF_ERROR(ExpectRankedResult(operation));
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, first));
    const IntList sizes = SizesOf(ResultOf(operation));
    const auto open = static_cast<size_t>(std::ranges::count(sizes, kOpen));
    const size_t given = operation.operands.size() - first;
    if (open == given) return OkStatus();
    return operation.Error("{} sizes, {} leaves {} open", given, PrintType(ResultOf(operation)), open);
  }
  // The numbers of the attribute, of which those that are operands are kOpen; `next` goes on by those.
  Result<IntList> Mixed(const Operation& operation, std::string_view name, int rank, size_t& next) const {
    VXLA_ASSIGN_OR_RETURN(IntList list, operation.Ints(name));
    if (list.size() != static_cast<size_t>(rank))
      return operation.Error("{} has {} entries for {} dimensions", name, list.size(), rank);
    next += static_cast<size_t>(std::ranges::count(list, kOpen));
    return list;
  }
  Status ExpectNoMore(const Operation& operation, size_t next) const {
    if (operation.operands.size() == next) return OkStatus();
    return operation.Error("{} operands, {} are asked for by its lists", operation.operands.size(), next);
  }

  // A block with an index for each dimension, which yields an element of the result.
  Status ExpectBody(const Operation& operation, int rank) const {
    VXLA_RETURN_IF_ERROR(operation.ExpectRegions(1));
    const std::vector<Block>& blocks = operation.regions[0].blocks;
    if (blocks.size() != 1) return operation.Error("the region has {} blocks, one needed", blocks.size());
    const Block& block = blocks[0];
    if (block.arguments.size() != static_cast<size_t>(rank))
      return operation.Error("the region has {} arguments, {} needed", block.arguments.size(), rank);
    for (size_t i = 0; i < block.arguments.size(); ++i) {
      const Value& argument = program_.values[block.arguments[i]];
      if (IsIndex(argument.type)) continue;
      return InvalidArgument("{}: argument {} of the region is {}, an index needed", operation.name, i,
                             PrintType(argument.type))
          .At(argument.location.line > 0 ? argument.location : operation.location);
    }
    if (block.operations.empty() || block.operations.back().name != "tensor.yield")
      return operation.Error("the region does not end with tensor.yield");
    const Operation& yield = block.operations.back();
    if (yield.operands.size() != 1) return yield.Error("{} values yielded, one needed", yield.operands.size());
    return ExpectElement(yield, program_.values[yield.operands[0]].type, ResultOf(operation), "operand 0 is");
  }

  // ---- operations

  Status Bitcast(const Operation& operation) const {
    const Type &from = Operand(operation, 0), &to = ResultOf(operation);
    for (const Type* type : {&from, &to}) {
      if (!IsTensor(*type) || type->index || IsComplex(type->shape.element_type()))
        return operation.Error("{} is no tensor of integers or floats", PrintType(*type));
    }
    if (BitWidth(from.shape.element_type()) != BitWidth(to.shape.element_type()))
      return operation.Error("{} has elements of {} bits, {} of {}", PrintType(from),
                             BitWidth(from.shape.element_type()), PrintType(to), BitWidth(to.shape.element_type()));
    return ExpectSameSizes(operation);
  }

  Status Cast(const Operation& operation) const {
    if (!IsTensor(ResultOf(operation)))
      return operation.Error("the result {} is no tensor", PrintType(ResultOf(operation)));
    VXLA_RETURN_IF_ERROR(ExpectSameElements(operation, Operand(operation, 0)));
    return ExpectSameSizes(operation);
  }

  // Where both have a rank it is the same, as are sizes that both state.
  Status ExpectSameSizes(const Operation& operation) const {
    const Type &from = Operand(operation, 0), &to = ResultOf(operation);
    if (from.unranked || to.unranked || SizesGoTogether(StatedSizes(from), StatedSizes(to))) return OkStatus();
    return operation.Error("{} and {} have other sizes", PrintType(from), PrintType(to));
  }

  // The longer shape's dimensions are in groups, one for each of the shorter one's.
  Status Reassociation(const Operation& operation) const {
    const bool expands = operation.name == "tensor.expand_shape";
    VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, operation.Required("reassociation"));
    const Type &from = Operand(operation, 0), &to = ResultOf(operation);
    const IntList wide = StatedSizes(expands ? to : from), narrow = StatedSizes(expands ? from : to);
    const size_t groups = attribute->elements.size();
    if (attribute->kind != Attribute::Kind::kArray || groups != narrow.size())
      return operation.Error("reassociation has {} groups, {} has {} dimensions", groups,
                             PrintType(expands ? from : to), narrow.size());
    int64_t next = 0;
    for (size_t g = 0; g < groups; ++g) {
      VXLA_ASSIGN_OR_RETURN(const IntList group, operation.IntsOf("reassociation", attribute->elements[g]));
      if (group.empty()) return operation.Error("reassociation has an empty group");
      int64_t product = 1;
      for (const int64_t dimension : group) {
        if (dimension != next++) return operation.Error("reassociation is not 0, 1, 2 ... in groups");
        if (dimension >= std::ssize(wide)) break;
        const int64_t size = wide[dimension];
        product = product == kOpen || size == kOpen ? kOpen : product * size;
      }
      if (next > std::ssize(wide)) break;
      if (narrow[g] != product)
        return operation.Error("dimension {} of {} is {}, its group in {} gives {}", g, PrintType(expands ? from : to),
                               PrintSizes({narrow[g]}), PrintType(expands ? to : from), PrintSizes({product}));
    }
    // Without groups all dimensions are of size 1, and go.
    if (groups == 0 && std::ranges::all_of(wide, [](int64_t size) { return size == 1; })) next = std::ssize(wide);
    if (next != std::ssize(wide))
      return operation.Error("reassociation has {} dimensions, {} has {}", next, PrintType(expands ? to : from),
                             wide.size());
    return expands ? OutputShape(operation) : OkStatus();
  }

  // As many values as it leaves open, which are those that the result's type leaves open.
  Status OutputShape(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, 1));
    size_t next = 1;
    if (operation.Find("static_output_shape") != nullptr) {
      VXLA_ASSIGN_OR_RETURN(const IntList list,
                            Mixed(operation, "static_output_shape", ResultOf(operation).shape.rank(), next));
      if (list != StatedSizes(ResultOf(operation)))
        return operation.Error("output_shape states {}, the result is {}", PrintSizes(list),
                               PrintType(ResultOf(operation)));
    }
    return ExpectNoMore(operation, next);
  }

  Status Concat(const Operation& operation) const {
    const Type& result = ResultOf(operation);
    VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("dim"));
    if (dimension < 0 || dimension >= result.shape.rank())
      return operation.Error("dim {} is no dimension of {}, which has {}", dimension, PrintType(result),
                             result.shape.rank());
    int64_t sum = 0;
    for (size_t i = 0; i < operation.operands.size(); ++i) {
      VXLA_RETURN_IF_ERROR(ExpectRanked(operation, i));
      VXLA_RETURN_IF_ERROR(ExpectSameElements(operation, Operand(operation, i)));
      IntList sizes = StatedSizes(Operand(operation, i)), wanted = StatedSizes(result);
      const auto d = static_cast<size_t>(dimension);
      if (sizes.size() == wanted.size()) {
        sum = sum == kOpen || sizes[d] == kOpen ? kOpen : sum + sizes[d];
        sizes[d] = wanted[d];
      }
      if (!SizesGoTogether(sizes, wanted))
        return operation.Error("operand {} is {}, of which {} is no concatenation along dimension {}", i,
                               PrintType(Operand(operation, i)), PrintType(result), dimension);
    }
    const int64_t stated = StatedSizes(result)[dimension];
    if (sum != kOpen && stated != kOpen && sum != stated)
      return operation.Error("the operands have {} along dimension {}, {} has {}", sum, dimension, PrintType(result),
                             stated);
    return OkStatus();
  }

  Status Dim(const Operation& operation) const {
    if (IsRanked(Operand(operation, 0)) && Operand(operation, 0).shape.rank() == 0)
      return operation.Error("{} has no dimensions", PrintType(Operand(operation, 0)));
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, 1));
    return ExpectResultType(operation, IndexType());
  }

  Status Empty(const Operation& operation) const { return ExpectSizes(operation, 0); }

  Status Extract(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, 1));
    const Type& tensor = Operand(operation, 0);
    if (operation.operands.size() - 1 != static_cast<size_t>(tensor.shape.rank()))
      return operation.Error("{} indices for {}", operation.operands.size() - 1, PrintType(tensor));
    return ExpectElement(operation, ResultOf(operation), tensor, "the result is");
  }

  Status Insert(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, 2));
    const Type& tensor = Operand(operation, 1);
    VXLA_RETURN_IF_ERROR(ExpectElement(operation, Operand(operation, 0), tensor, "operand 0 is"));
    if (operation.operands.size() - 2 != static_cast<size_t>(tensor.shape.rank()))
      return operation.Error("{} indices for {}", operation.operands.size() - 2, PrintType(tensor));
    return ExpectResultType(operation, tensor);
  }

  // Offsets, sizes and strides for each dimension of `tensor`; the slice's sizes.
  Result<IntList> Slice(const Operation& operation, const Type& tensor, size_t first) const {
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, first));
    size_t next = first;
    VXLA_RETURN_IF_ERROR(Mixed(operation, "static_offsets", tensor.shape.rank(), next).status());
    VXLA_ASSIGN_OR_RETURN(IntList sizes, Mixed(operation, "static_sizes", tensor.shape.rank(), next));
    VXLA_RETURN_IF_ERROR(Mixed(operation, "static_strides", tensor.shape.rank(), next).status());
    VXLA_RETURN_IF_ERROR(ExpectNoMore(operation, next));
    return sizes;
  }

  Status ExtractSlice(const Operation& operation) const {
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, Slice(operation, Operand(operation, 0), 1));
    if (IsRankReduced(sizes, StatedSizes(ResultOf(operation)))) return OkStatus();
    return operation.Error("the slice is {}, of which {} is no reduction", PrintSizes(sizes),
                           PrintType(ResultOf(operation)));
  }

  Status InsertSlice(const Operation& operation) const {
    const Type &source = Operand(operation, 0), &target = Operand(operation, 1);
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, Slice(operation, target, 2));
    if (!IsRankReduced(sizes, StatedSizes(source)))
      return operation.Error("{} is no slice of sizes {}", PrintType(source), PrintSizes(sizes));
    return operation.results.empty() ? OkStatus() : ExpectResultType(operation, target);
  }

  Status FromElements(const Operation& operation) const {
    const Type& result = ResultOf(operation);
    if (result.shape.IsDynamic()) return operation.Error("the result {} leaves sizes open", PrintType(result));
    if (result.shape.ElementCount() != std::ssize(operation.operands))
      return operation.Error("{} elements for {}", operation.operands.size(), PrintType(result));
    for (size_t i = 0; i < operation.operands.size(); ++i)
      VXLA_RETURN_IF_ERROR(ExpectElement(operation, Operand(operation, i), result, fmt::format("operand {} is", i)));
    return OkStatus();
  }

  // The dimensions that indices go through: in order, and as many as an index has numbers. The sizes of the other
  // side's two forms, with and without the indexed dimensions.
  Status ExpectGathered(const Operation& operation, std::string_view name, const Type& tensor, const Type& indices,
                        const Type& slices) const {
    if (!IsPlace(indices)) return operation.Error("the indices are {}, signless integers needed", PrintType(indices));
    VXLA_ASSIGN_OR_RETURN(const IntList dimensions, operation.Ints(name));
    if (dimensions.empty()) return operation.Error("{} is empty", name);
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] < 0 || dimensions[i] >= tensor.shape.rank())
        return operation.Error("{} holds {}, which is no dimension of {}", name, dimensions[i], PrintType(tensor));
      if (i > 0 && dimensions[i] <= dimensions[i - 1]) return operation.Error("{} is not in increasing order", name);
    }
    const IntList table = StatedSizes(indices);
    if (table.empty() || table.back() != std::ssize(dimensions))
      return operation.Error("the last dimension of the indices {} is not {}, the number of {}", PrintType(indices),
                             dimensions.size(), name);
    IntList kept(table.begin(), table.end() - 1), reduced = kept;
    for (int i = 0; i < tensor.shape.rank(); ++i) {
      const bool indexed = std::ranges::find(dimensions, i) != dimensions.end();
      const int64_t size = StatedSizes(tensor)[i];
      kept.push_back(indexed ? 1 : size);
      if (!indexed) reduced.push_back(size);
    }
    if (SizesGoTogether(StatedSizes(slices), kept) || SizesGoTogether(StatedSizes(slices), reduced)) return OkStatus();
    return operation.Error("the slices are {}, sizes {} or {} needed", PrintType(slices), PrintSizes(kept),
                           PrintSizes(reduced));
  }

  Status Gather(const Operation& operation) const {
    return ExpectGathered(operation, "gather_dims", Operand(operation, 0), Operand(operation, 1), ResultOf(operation));
  }

  Status Scatter(const Operation& operation) const {
    const Type &source = Operand(operation, 0), &target = Operand(operation, 1);
    VXLA_RETURN_IF_ERROR(ExpectResultType(operation, target));
    if (operation.Find("unique") == nullptr) return operation.Error("the attribute unique is missing");
    return ExpectGathered(operation, "scatter_dims", target, Operand(operation, 2), source);
  }

  Status Generate(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectSizes(operation, 0));
    return ExpectBody(operation, ResultOf(operation).shape.rank());
  }

  Status Pad(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectIndices(operation, 1));
    const Type &source = Operand(operation, 0), &result = ResultOf(operation);
    size_t next = 1;
    VXLA_ASSIGN_OR_RETURN(const IntList low, Mixed(operation, "static_low", source.shape.rank(), next));
    VXLA_ASSIGN_OR_RETURN(const IntList high, Mixed(operation, "static_high", source.shape.rank(), next));
    VXLA_RETURN_IF_ERROR(ExpectNoMore(operation, next));
    const IntList from = StatedSizes(source), to = StatedSizes(result);
    bool fits = from.size() == to.size();
    for (size_t i = 0; fits && i < from.size(); ++i) {
      if (from[i] == kOpen || low[i] == kOpen || high[i] == kOpen) continue;
      int64_t sum = 0;
      if (__builtin_add_overflow(low[i], high[i], &sum) || __builtin_add_overflow(sum, from[i], &sum))
        return operation.Error("low {}, {} and high {} of dimension {} do not fit 64 bits", low[i], from[i], high[i],
                               i);
      fits = to[i] == kOpen || to[i] == sum;
    }
    if (!fits)
      return operation.Error("{} with low {} and high {} does not give {}", PrintType(source), PrintSizes(low),
                             PrintSizes(high), PrintType(result));
    return ExpectBody(operation, source.shape.rank());
  }

  Status Rank(const Operation& operation) const { return ExpectResultType(operation, IndexType()); }

  Status Reshape(const Operation& operation) const {
    const Type &from = Operand(operation, 0), &shape = Operand(operation, 1), &to = ResultOf(operation);
    if (!IsTensor(to)) return operation.Error("the result {} is no tensor", PrintType(to));
    VXLA_RETURN_IF_ERROR(ExpectSameElements(operation, from));
    if (!IsPlace(shape) || shape.shape.rank() != 1)
      return operation.Error("the shape is {}, a list of signless integers needed", PrintType(shape));
    if (to.unranked) return OkStatus();
    const int64_t count = StatedSizes(shape)[0];
    if (count == kOpen)
      return operation.Error("the shape {} has an open size, the result {} has a rank", PrintType(shape),
                             PrintType(to));
    if (count != to.shape.rank())
      return operation.Error("the shape {} has {} entries for {}", PrintType(shape), count, PrintType(to));
    const bool known = !from.unranked && !from.shape.IsDynamic() && !to.shape.IsDynamic();
    if (known && from.shape.ElementCount() != to.shape.ElementCount())
      return operation.Error("{} has {} elements, {} has {}", PrintType(from), from.shape.ElementCount(), PrintType(to),
                             to.shape.ElementCount());
    return OkStatus();
  }

  Status Splat(const Operation& operation) const {
    VXLA_RETURN_IF_ERROR(ExpectSizes(operation, 1));
    return ExpectElement(operation, Operand(operation, 0), ResultOf(operation), "operand 0 is");
  }

  const Program& program_;
};

}  // namespace

Status CheckTensorDialect(const Program& program) { return Checker(program).Run(program.module, nullptr); }

}  // namespace VXLA_NAMESPACE::mlir
