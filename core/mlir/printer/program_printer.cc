// Programs as they are in MLIR's structure, in the generic form: what leaves sizes open is no module yet.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "core/mlir/bytecode/vhlo.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/ir.h"
#include "core/mlir/lexer.h"
#include "core/mlir/printer/printer.h"
#include "core/mlir/printer/printer_impl.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {}

  Result<std::string> Print() {
    VXLA_RETURN_IF_ERROR(PrintOperation(program_.module));
    return std::move(out_);
  }

 private:
  void Indent() { out_.append(2 * static_cast<size_t>(depth_), ' '); }

  std::string NameOf(ValueId value) {
    const auto [at, is_new] = names_.emplace(value, next_name_);
    if (is_new) ++next_name_;
    return fmt::format("%{}", at->second);
  }
  std::string NamesOf(const std::vector<ValueId>& values) {
    return Join(Transformed(values, [&](ValueId value) { return NameOf(value); }));
  }
  std::string TypesOf(const std::vector<ValueId>& values) const {
    return "(" +
           Join(Transformed(values, [&](const ValueId value) { return PrintType(program_.values[value].type); })) + ")";
  }

  Status PrintOperation(const Operation& operation) {
    Indent();
    if (!operation.results.empty()) out_ += NamesOf(operation.results) + " = ";
    out_ += fmt::format("\"{}\"({})", operation.name, NamesOf(operation.operands));
    for (size_t i = 0; i < operation.regions.size(); ++i) {
      out_ += i == 0 ? " (" : ", ";
      VXLA_RETURN_IF_ERROR(PrintRegion(operation, operation.regions[i]));
    }
    if (!operation.regions.empty()) out_ += ")";
    std::vector<std::string> entries;
    for (const NamedAttribute& entry : operation.attributes) {
      VXLA_ASSIGN_OR_RETURN(const std::string text, Entry(operation, entry));
      if (!text.empty()) entries.push_back(text);
    }
    if (!entries.empty()) out_ += " {" + Join(entries) + "}";
    out_ += fmt::format(" : {} -> {}\n", TypesOf(operation.operands), TypesOf(operation.results));
    return OkStatus();
  }

  Status PrintRegion(const Operation& operation, const Region& region) {
    if (region.blocks.size() > 1) return operation.NotSupported("a region of {} blocks", region.blocks.size());
    out_ += "{\n";
    ++depth_;
    for (const Block& block : region.blocks) {
      std::vector<std::string> arguments;
      for (const ValueId value : block.arguments)
        arguments.push_back(NameOf(value) + ": " + PrintType(program_.values[value].type));
      if (!arguments.empty()) {
        Indent();
        out_ += "^bb0(" + Join(arguments) + "):\n";
      }
      for (const Operation& inner : block.operations) VXLA_RETURN_IF_ERROR(PrintOperation(inner));
    }
    --depth_;
    Indent();
    out_ += "}";
    return OkStatus();
  }

  // ---- attributes

  // "name = value"; empty: nothing is stated.
  Result<std::string> Entry(const Operation& operation, const NamedAttribute& entry) const {
    const Attribute& value = entry.value;
    const bool nothing = value.text.empty() && value.elements.empty();
    if (nothing && (entry.name == "sym_name" || entry.name == "arg_attrs" || entry.name == "res_attrs"))
      return std::string();
    const VhloProperty property = PropertyOf(operation, entry.name);
    VXLA_ASSIGN_OR_RETURN(const std::string text, Value(operation, property, entry));
    const bool bare = std::ranges::all_of(
        entry.name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
    const std::string name = bare ? entry.name : QuoteMlir(entry.name);
    return value.kind == Attribute::Kind::kUnit ? name : name + " = " + text;
  }

  // What VHLO says of it; no kind: nothing.
  static VhloProperty PropertyOf(const Operation& operation, std::string_view name) {
    const bool known = operation.name.starts_with("stablehlo.");
    std::optional<VhloVersion> since;
    const VhloOperation* const form =
        known ? FindVhloOperation(std::string_view(operation.name).substr(10), kNewestVhlo, &since) : nullptr;
    for (std::string_view rest = form == nullptr ? "" : form->properties; !rest.empty();) {
      const VhloProperty property = NextVhloProperty(rest);
      if (property.name == name) return property;
    }
    return {};
  }

  Result<std::string> Value(const Operation& operation, const VhloProperty& property,
                            const NamedAttribute& entry) const {
    const Attribute& value = entry.value;
    if (value.kind == Attribute::Kind::kDialect) return DialectText(operation, value);
    if (property.kind == "d" || property.kind == "w") {
      VXLA_ASSIGN_OR_RETURN(const IntList list, operation.IntsOf(entry.name, value));
      return ArrayText(property.kind == "d" ? "i64" : "i1", list);
    }
    if (property.kind == "d2") {
      VXLA_ASSIGN_OR_RETURN(const IntList list, operation.IntsOf(entry.name, value));
      return PairsText(list);
    }
    if (property.kind == "i" || property.kind == "i32") {
      VXLA_ASSIGN_OR_RETURN(const int64_t number, operation.Int(entry.name));
      return fmt::format("{} : {}", number, property.kind == "i" ? "i64" : "i32");
    }
    if (property.kind == "api") {
      VXLA_ASSIGN_OR_RETURN(const int64_t number, operation.Int(entry.name));
      return fmt::format("{} : i32", number);
    }
    if (property.kind == "L") {
      std::vector<std::string> orders;
      for (const Attribute& element : value.elements) {
        VXLA_ASSIGN_OR_RETURN(const IntList order, operation.IntsOf(entry.name, element));
        orders.push_back(fmt::format("dense<{}> : tensor<{}xindex>",
                                     order.empty() ? "" : "[" + JoinInts(order, ", ") + "]", order.size()));
      }
      return "[" + Join(orders) + "]";
    }
    if (const VhloKeywords* const words = FindVhloKeywords(property.kind)) return KeywordText(words->stablehlo, value);
    if (property.kind == "ys") {
      auto symbols = Transformed(value.elements, [&](const Attribute& symbol) { return "@" + QuoteMlir(symbol.text); });
      return "[" + Join(symbols) + "]";
    }
    if (value.kind == Attribute::Kind::kArray) {
      std::vector<std::string> elements;
      for (const Attribute& element : value.elements)
        VXLA_SET_OR_RETURN(elements.emplace_back(), Value(operation, {}, {entry.name, element}));
      return "[" + Join(elements) + "]";
    }
    if (value.kind == Attribute::Kind::kSymbol) return "@" + QuoteMlir(value.text);
    return Plain(operation, value);
  }

  static std::string KeywordText(std::string_view kind, const Attribute& value) {
    if (value.kind != Attribute::Kind::kArray) return fmt::format("#stablehlo<{} {}>", kind, value.text);
    return "[" + Join(Transformed(value.elements, [&](const Attribute& word) { return KeywordText(kind, word); })) +
           "]";
  }

  // A constant whose bytes lie apart is written in its place.
  Result<std::string> Plain(const Operation& operation, const Attribute& value) const {
    if (value.kind != Attribute::Kind::kElements || value.literal != nullptr) return PrintAttribute(value);
    const auto resource = program_.resources.find(value.text);
    if (resource == program_.resources.end()) return operation.Error("no resource '{}' in the file", value.text);
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> literal,
                          LiteralFromBytes(value.type.shape, *resource->second));
    return fmt::format("dense<{}> : {}", PrintDense(*literal), PrintType(value.type));
  }

  // #stablehlo.dot<lhs_batching_dimensions = [0], ...>
  Result<std::string> DialectText(const Operation& operation, const Attribute& value) const {
    if (value.text == "stablehlo.conv") {
      VXLA_ASSIGN_OR_RETURN(const ConvolutionDimensions numbers, ConvolutionDimensionsOf(operation));
      return ConvolutionText(operation, numbers);
    }
    std::vector<std::string> parts;
    for (const NamedAttribute& entry : value.entries) {
      const Attribute& part = entry.value;
      const bool list = part.kind == Attribute::Kind::kArray ||
                        (part.kind == Attribute::Kind::kElements && part.type.shape.rank() == 1);
      std::string text;
      if (list) {
        VXLA_ASSIGN_OR_RETURN(const IntList numbers, operation.IntsOf(entry.name, part));
        text = "[" + JoinInts(numbers, ", ") + "]";
      } else if (part.kind == Attribute::Kind::kInteger) {
        text = fmt::format("{}", part.integer);
      } else if (part.kind == Attribute::Kind::kFloat) {
        text = fmt::format("{:#.17g}", part.real);
      } else if (part.kind == Attribute::Kind::kKeyword && entry.name == "mode") {
        text = fmt::format("#stablehlo.result_accuracy_mode<{}>", part.text);
      } else if (part.kind == Attribute::Kind::kDialect) {
        VXLA_ASSIGN_OR_RETURN(text, DialectText(operation, part));
      } else {
        text = PrintAttribute(part);
      }
      parts.push_back(entry.name + " = " + text);
    }
    for (const Attribute& element : value.elements)
      parts.push_back(element.kind == Attribute::Kind::kInteger ? fmt::format("{}", element.integer)
                                                                : PrintAttribute(element));
    return fmt::format("#{}<{}>", value.text, Join(parts));
  }

  // [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
  static Result<std::string> ConvolutionText(const Operation& operation, const ConvolutionDimensions& n) {
    for (const auto& [a, b, spatial] : {std::tuple(n.input_batch, n.input_feature, n.input_spatial),
                                        std::tuple(n.kernel_input_feature, n.kernel_output_feature, n.kernel_spatial),
                                        std::tuple(n.output_batch, n.output_feature, n.output_spatial)}) {
      IntList all = spatial;
      all.insert(all.end(), {a, b});
      const auto rank = static_cast<int64_t>(all.size());
      if (std::ranges::any_of(all, [&](int64_t d) { return d < 0 || d >= rank; }))
        return operation.Error("dimension_numbers name the dimensions {} of {}", JoinInts(all, ", "), rank);
    }
    return mlir::ConvolutionText(n);
  }

  const Program& program_;
  std::string out_;
  int depth_ = 0;
  std::unordered_map<ValueId, int64_t> names_;
  int64_t next_name_ = 0;
};

}  // namespace

Result<std::string> PrintProgram(const Program& program) {
  return Guarded([&] { return ProgramPrinter(program).Print(); });
}

}  // namespace VXLA_NAMESPACE::mlir
