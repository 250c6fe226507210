#include "core/mlir/importer/bounded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "core/host/guarded.h"
#include "core/mlir/importer/import_state.h"
#include "core/passes/base/pipeline.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr int kMostDepth = 64;  // of what a size is computed with

struct ArgumentDimension {
  size_t argument = 0;
  int64_t dimension = 0;
};

// Sizes of the entry's arguments, as far as they are known.
class ArgumentBounds {
 public:
  static Result<ArgumentBounds> Of(const Program& program, std::vector<Type> parameters);

  Status Set(const SizeBound& bound);
  // What the program demands of sizes that have no bound yet: `2*n` of one that is computed with others.
  void Derive();
  Result<std::vector<Shape>> Shapes() const;

 private:
  void FindNames(const Operation& function);
  std::optional<ArgumentDimension> DimensionOf(ValueId value) const;
  std::optional<ArgumentDimension> Named(const std::string& name) const;
  std::optional<int64_t> At(ValueId value, int depth = 0) const;
  // Whether it says a size that was open.
  bool Equate(ValueId open, ValueId known);
  bool IsOpen(const ArgumentDimension& of) const {
    return shapes_[of.argument].dimension(of.dimension) == kUnboundedSize;
  }

  void Fix(const ArgumentDimension& of, int64_t size) {
    shapes_[of.argument].set_dimension(of.dimension, size);
    shapes_[of.argument].set_dynamic_dimension(of.dimension, false);
  }

  const Block* entry_ = nullptr;
  std::vector<Shape> shapes_;
  std::map<ValueId, const Operation*> defined_;  // in the entry
  std::map<std::string, ArgumentDimension> names_;
};

bool IsNamed(const Operation& operation, std::string_view name) {
  return operation.name == name || operation.name == fmt::format("stablehlo.{}", name);
}

std::optional<int64_t> Computed(std::string_view name, int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::max(std::abs(a), std::abs(b)) > kMost) return std::nullopt;
  if (name == "stablehlo.add") return a + b;
  if (name == "stablehlo.subtract") return a - b;
  if (name == "stablehlo.multiply") return a * b;
  if (name == "stablehlo.maximum") return std::max(a, b);
  if (name == "stablehlo.minimum") return std::min(a, b);
  return std::nullopt;
}

Result<ArgumentBounds> ArgumentBounds::Of(const Program& program, std::vector<Type> parameters) {
  ArgumentBounds made;
  VXLA_ASSIGN_OR_RETURN(const Operation* const entry, EntryOf(program));
  if (entry->regions.empty() || entry->regions[0].blocks.size() != 1)
    return InvalidArgument("the entry has no body").At(entry->location);
  made.entry_ = &entry->regions[0].blocks[0];
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].unranked)
      return Unsupported("argument {} is {}: a tensor without a rank has no bounds", i, PrintType(parameters[i]));
    made.shapes_.push_back(parameters[i].shape);
  }
  for (const Operation& operation : made.entry_->operations) {
    for (const ValueId result : operation.results) made.defined_[result] = &operation;
  }
  for (const Operation& each : Inside(program.module)) made.FindNames(each);
  return made;
}

// JAX hands the variables to the function that it wraps: arguments called "b", of which the entry's call says what
// they are.
void ArgumentBounds::FindNames(const Operation& function) {
  const Attribute* const attributes = function.Find("arg_attrs");
  if (function.name != "func.func" || attributes == nullptr) return;
  const std::string symbol = SymbolOf(function);
  for (const Operation& call : entry_->operations) {
    const Attribute* const callee = call.Find("callee");
    if (callee == nullptr || callee->text != symbol) continue;
    for (size_t i = 0; i < std::min(attributes->elements.size(), call.operands.size()); ++i) {
      const Attribute* const name = attributes->elements[i].Find("jax.global_constant");
      const std::optional<ArgumentDimension> of = DimensionOf(call.operands[i]);
      if (name != nullptr && of.has_value()) names_.emplace(name->text, *of);
    }
  }
}

// Of a get_dimension_size.
std::optional<ArgumentDimension> ArgumentBounds::DimensionOf(ValueId value) const {
  const auto found = defined_.find(value);
  if (found == defined_.end() || !IsNamed(*found->second, "get_dimension_size")) return std::nullopt;
  const Operation& operation = *found->second;
  if (operation.operands.size() != 1) return std::nullopt;  // the import refuses it
  const Attribute* const dimension = operation.Find("dimension");
  const auto argument = std::ranges::find(entry_->arguments, operation.operands[0]);
  if (dimension == nullptr || argument == entry_->arguments.end()) return std::nullopt;
  const ArgumentDimension of = {static_cast<size_t>(argument - entry_->arguments.begin()), dimension->integer};
  if (!shapes_[of.argument].IsArray() || of.dimension < 0 || of.dimension >= shapes_[of.argument].rank())
    return std::nullopt;
  return of;
}

std::optional<ArgumentDimension> ArgumentBounds::Named(const std::string& name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  ArgumentDimension of;
  const char* const end = name.data() + name.size();
  const auto [dot, error] = std::from_chars(name.data(), end, of.argument);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [behind, again] = std::from_chars(dot + 1, end, of.dimension);
  if (again != std::errc() || behind != end || of.argument >= shapes_.size()) return std::nullopt;
  const Shape& shape = shapes_[of.argument];
  if (!shape.IsArray() || of.dimension < 0 || of.dimension >= shape.rank()) return std::nullopt;
  return of;
}

Status ArgumentBounds::Set(const SizeBound& bound) {
  const std::optional<ArgumentDimension> of = Named(bound.name);
  if (!of.has_value()) {
    std::string known;
    for (const auto& [name, dimension] : names_)
      known += fmt::format("; {} is dimension {} of argument {}", name, dimension.dimension, dimension.argument);
    return NotFound("bound of '{}': no size of the program is called so{} (ARGUMENT.DIMENSION, as 0.1, names each)",
                    bound.name, known);
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (bound.bound < 1 || bound.bound > kMost)
    return InvalidArgument("bound of '{}': {} is not in 1 to {}", bound.name, bound.bound, kMost);
  if (!IsOpen(*of)) {
    return InvalidArgument("bound of '{}': dimension {} of argument {} is no open size, or has a bound already: {}",
                           bound.name, of->dimension, of->argument, PrintType(shapes_[of->argument]));
  }
  Fix(*of, bound.bound);
  return OkStatus();
}

// A value that sizes are compared with, where all of them are at their bounds.
std::optional<int64_t> ArgumentBounds::At(ValueId value, int depth) const {
  const auto found = defined_.find(value);
  if (found == defined_.end() || depth > kMostDepth) return std::nullopt;
  const Operation& operation = *found->second;
  if (const auto of = DimensionOf(value); of.has_value()) {
    if (IsOpen(*of)) return std::nullopt;
    return shapes_[of->argument].dimension(of->dimension);
  }
  if (IsNamed(operation, "constant")) {
    const Attribute* const number = operation.Find("value");
    if (number == nullptr || number->literal == nullptr || number->literal->element_count() != 1 ||
        IsFloating(number->literal->shape().element_type()))
      return std::nullopt;
    return number->literal->GetInt(0);
  }
  if (IsNamed(operation, "convert") && operation.operands.size() == 1) return At(operation.operands[0], depth + 1);
  if (operation.operands.size() != 2) return std::nullopt;
  const std::optional<int64_t> a = At(operation.operands[0], depth + 1), b = At(operation.operands[1], depth + 1);
  return a.has_value() && b.has_value() ? Computed(operation.name, *a, *b) : std::nullopt;
}

bool ArgumentBounds::Equate(ValueId open, ValueId known) {
  const std::optional<ArgumentDimension> of = DimensionOf(open);
  if (!of.has_value() || !IsOpen(*of)) return false;
  const std::optional<int64_t> size = At(known);
  if (!size.has_value() || *size < 0) return false;
  Fix(*of, *size);
  return true;
}

void ArgumentBounds::Derive() {
  for (bool found = true; found;) {
    found = false;
    for (const Operation& operation : entry_->operations) {
      const Attribute* const direction = operation.Find("comparison_direction");
      if (!IsNamed(operation, "compare") || direction == nullptr || direction->text != "EQ") continue;
      if (operation.operands.size() != 2) continue;
      found |=
          Equate(operation.operands[0], operation.operands[1]) || Equate(operation.operands[1], operation.operands[0]);
    }
  }
}

Result<std::vector<Shape>> ArgumentBounds::Shapes() const {
  for (size_t i = 0; i < shapes_.size(); ++i) {
    for (int d = 0; shapes_[i].IsArray() && d < shapes_[i].rank(); ++d) {
      if (shapes_[i].dimension(d) != kUnboundedSize) continue;
      return InvalidArgument("argument {} is {}: nothing bounds its dimension {}; '{}.{}' names it", i,
                             PrintType(shapes_[i]), d, i, d);
    }
  }
  return shapes_;
}

void Bound(Type& type, const Shape& largest) {
  for (int d = 0; d < type.shape.rank(); ++d) {
    if (type.shape.dimension(d) != kUnboundedSize) continue;
    type.shape.set_dimension(d, largest.dimension(d));
    type.shape.set_dynamic_dimension(d, true);
  }
}

// The types that functions state, by those of their values.
void StateTypes(const Program& program, Operation& operation) {
  for (Operation& each : Inside(operation)) StateTypes(program, each);
  const Attribute* const stated = operation.Find("function_type");
  if (stated == nullptr || operation.regions.empty() || operation.regions[0].blocks.size() != 1) return;
  const Block& block = operation.regions[0].blocks[0];
  Type type = stated->type;
  for (size_t i = 0; i < std::min(type.inputs.size(), block.arguments.size()); ++i)
    type.inputs[i] = program.values[block.arguments[i]].type;
  if (block.operations.empty()) return;
  const std::vector<ValueId>& returned = block.operations.back().operands;
  for (size_t i = 0; i < std::min(type.results.size(), returned.size()); ++i)
    type.results[i] = program.values[returned[i]].type;
  SetAttribute(operation.attributes, "function_type", TypeAttribute(std::move(type)));
}

}  // namespace

Result<std::vector<SizeBound>> ParseSizeBounds(std::string_view text) {
  std::vector<SizeBound> bounds;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    const size_t equals = one.rfind('=');
    SizeBound bound;
    const char* const end = one.data() + one.size();
    if (equals == one.npos || equals == 0) return InvalidArgument("bound '{}': NAME=NUMBER is wanted", one);
    const auto [behind, error] = std::from_chars(one.data() + equals + 1, end, bound.bound);
    if (error != std::errc() || behind != end) return InvalidArgument("bound '{}': NAME=NUMBER is wanted", one);
    bound.name = one.substr(0, equals);
    bounds.push_back(std::move(bound));
    if (one.size() == text.size()) return bounds;
    text.remove_prefix(one.size() + 1);
  }
}

Result<std::unique_ptr<Module>> WithBounds(const Module& module, std::span<const SizeBound> bounds,
                                           const FoldInstruction& fold) {
  const DynamicProgram open = DynamicProgram::Of(module);
  VXLA_ASSIGN_OR_RETURN(ArgumentBounds sizes, ArgumentBounds::Of(open.program(), open.parameters()));
  for (const SizeBound& bound : bounds) VXLA_RETURN_IF_ERROR(sizes.Set(bound));
  sizes.Derive();
  ProgramFacts facts;
  VXLA_ASSIGN_OR_RETURN(facts.arguments, sizes.Shapes());
  return Guarded([&]() -> Result<std::unique_ptr<Module>> {
    // As wide as values are where all sizes are at their bounds, of several calls of a function the widest.
    std::vector<std::optional<Shape>> largest(open.program().values.size());
    Importer importer(open.program(), facts, fold);
    importer.set_largest(&largest);
    VXLA_ASSIGN_OR_RETURN(const SpecializedModule refined, importer.RunRefined());
    if (refined.is_question) return Unsupported("data decide sizes of the program: these have no bounds");
    Program bounded = open.program();
    for (size_t value = 0; value < bounded.values.size(); ++value) {
      Type& type = bounded.values[value].type;
      if (!type.unranked && HasUnknownSize(type.shape) && type.shape.IsArray() && largest[value].has_value())
        Bound(type, *largest[value]);
    }
    StateTypes(bounded, bounded.module);
    if (NeedsRefinement(bounded)) return Unsupported("sizes are computed by operations that have no bounds");
    VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> made, Importer(bounded).Run());
    VXLA_RETURN_IF_ERROR(Prepare(*made));
    return made;
  });
}

}  // namespace VXLA_NAMESPACE::mlir
