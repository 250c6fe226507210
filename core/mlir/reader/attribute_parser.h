// Types and attributes of MLIR text.
#pragma once

#include <unordered_map>

#include "core/mlir/ir.h"
#include "core/mlir/lexer.h"

namespace VXLA_NAMESPACE::mlir {

// One class, because attributes have types in them, types have attributes in them, and both have the file's aliases.
class AttributeParser {
 public:
  AttributeParser(std::string_view text, int first_line)
      : lexer_(text, first_line), budget_((int64_t{1} << 18) + static_cast<int64_t>(text.size())) {}

 protected:
  Result<Type> ParseType();
  // T, or (T, ...)
  Result<std::vector<Type>> ParseTypeOrList();
  Result<std::vector<Type>> ParseTypeList();  // T, T ... without parentheses
  Result<Attribute> ParseAttribute();
  // {name = value, name, ...} into `dictionary`.
  Status ParseDictionary(Dictionary& dictionary);
  // name = value, ... up to `end`, which is eaten.
  Status ParseEntries(Dictionary& dictionary, std::string_view end);
  Result<IntList> ParseIntList();  // [1, 2]
  // [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
  Result<Attribute> ParseConvolutionDimensions();
  Result<Attribute> ParseMeshBody();
  // <@mesh, [{"x"}, {?}]>
  Result<Attribute> ParseShardingBody();
  Result<int64_t> ParsePriority();
  // of axes: "x", "y":(1)2, from the bracket that opens it to `end`
  Result<Attribute> ParseAxes(std::string_view end);
  // [<...>, <...>]
  Result<Attribute> ParseShardings();
  Status SkipLocation();  // loc(...), if it is there
  Status DefineAlias();   // #name = attribute, !name = type

  // One level of nesting as long as it lives.
  class Nested {
   public:
    explicit Nested(int& depth) : depth_(++depth) {}
    Nested(const Nested&) = delete;
    ~Nested() { --depth_; }

   private:
    int& depth_;
  };
  Status CheckNesting() const;
  // Aliases of aliases double what they stand for: what they are replaced by is paid from one budget.
  Status Spend(int64_t nodes);

  MlirLexer lexer_;
  // What dense<...> is where no type follows it; null: one must.
  const Type* implied_type_ = nullptr;
  int depth_ = 0;
  int64_t budget_;
  std::unordered_map<std::string, Attribute> attribute_aliases_;
  std::unordered_map<std::string, Type> type_aliases_;

 private:
  using TypeForm = Result<Type>();
  TypeForm ParseTensorType, ParseBufferType, ParseUnranked, ParseComplexType, ParseTupleType, ParseFunctionType,
      ParseDialectType;
  Result<Type> ParseQuantizedTensor(Shape shape, size_t start);
  Status ParseBounds(Shape& shape);
  using AttributeForm = Result<Attribute>();
  AttributeForm ParseNumber, ParseWordAttribute, ParseDense, ParseDenseResource, ParseNumberArray, ParseHashAttribute,
      ParseSubAxis, ParseSymbol;
  Result<Attribute> ParseDialectBody(std::string name);
  Result<Attribute> ParseKindAndValue(const std::string& dialect);
  Status ParseArray(Attribute& attribute);
};

}  // namespace VXLA_NAMESPACE::mlir
