// Operations of MLIR text.
#pragma once

#include <unordered_map>

#include "core/mlir/reader/attribute_parser.h"

namespace VXLA_NAMESPACE::mlir {

// One class, because a form of text reads from where the form before it ended, with the names that are known there.
class OperationParser : public AttributeParser {
 public:
  OperationParser(std::string_view text, int first_line) : AttributeParser(text, first_line) {}
  Result<Program> Parse();

 private:
  using Form = Status (OperationParser::*)(Operation&);
  struct Definition {
    ValueId first = 0;
    uint32_t count = 0;
  };
  struct Result_ {  // a name to the left of '='
    std::string_view name;
    uint32_t count = 1;
    size_t offset = 0;
  };
  using Names = std::unordered_map<std::string_view, Definition>;
  // Names defined while it lives are forgotten after it; `isolated`: names from around it are not seen inside.
  class Scope {
   public:
    Scope(OperationParser& parser, bool isolated)
        : parser_(parser), outer_names_(parser.names_), outer_defined_(parser.defined_) {
      parser_.defined_ = &defined_;
      if (isolated || outer_names_ == nullptr) parser_.names_ = &own_;
    }
    Scope(const Scope&) = delete;
    ~Scope() {
      if (parser_.names_ != &own_) {
        for (const auto& [name, offset] : defined_) parser_.names_->erase(name);
      }
      parser_.names_ = outer_names_;
      parser_.defined_ = outer_defined_;
    }

   private:
    OperationParser& parser_;
    Names own_;
    std::vector<std::pair<std::string_view, size_t>> defined_;
    Names* outer_names_;
    std::vector<std::pair<std::string_view, size_t>>* outer_defined_;
  };

  Status ParseResources();
  Result<Operation> ParseOperation();
  Result<std::vector<Result_>> ParseResultNames();
  Status ParseGeneric(Operation& operation);
  Status ParsePretty(Operation& operation);
  Status DefineResults(Operation& operation, const std::vector<Result_>& names, const std::vector<Type>& types);
  Status Define(std::string_view name, size_t offset, ValueId first, uint32_t count);
  Result<ValueId> ParseOperand();
  Status AddOperand(Operation& operation);
  // %a, %b ... as long as there are some.
  Status ParseOperands(Operation& operation);
  // The same between brackets.
  Status ParseOperandsIn(Operation& operation, std::string_view open, std::string_view close);
  // The attribute, where it was read.
  static Status Set(Operation& operation, std::string_view name, Result<Attribute> read);
  Status CheckOperandTypes(const Operation& operation, const std::vector<Type>& types);
  Status ParseRegions(Operation& operation);
  Result<Region> ParseRegion();
  // The operations up to '}', into the last block or new ones.
  Status ParseBlocks(Region& region);
  Status ParseBlockArguments(Block& block);  // (%a: T, ...)
  static Status NumberSuccessors(Operation& operation, const std::unordered_map<std::string, int64_t>& labels);
  Status ParseSuccessors(Operation& operation);
  Status ParseBranch(Operation& operation);

  // Pretty forms: each leaves the types of the results in result_types_.
  using PrettyForm = Status(Operation& operation);
  PrettyForm ParseModule, ParseFunction, ParseReturn, ParseCall, ParseConstant, ParseItems, ParseConvolution,
      ParseReduce, ParseScan, ParseWhile, ParseCustomCall, ParseComposite, ParseCheck, ParseMesh,
      ParseManualComputation, ParseShardingConstraint, ParseShardingGroup;
  Status ParseItem(Operation& operation, std::vector<std::string>& keywords);
  Status ParseNamedItem(Operation& operation, std::string name);
  Status ParseSliceRanges(Operation& operation);
  Status ParseWindow(Operation& operation);
  Status ParseReducer(Operation& operation, size_t count);
  // What a loop's state begins with, under its names inside: (%x = %a, %y = %b).
  Status ParseInitialValues(Operation& operation, std::vector<MlirToken>& names);
  Status DefineArguments(Block& block, const std::vector<MlirToken>& names, const std::vector<Type>& types);
  Status ParseOptionalDictionary(Operation& operation);

  // Pretty forms of tensor, arith, scf and shape (tensor_forms.cc).
  static Form TensorFormOf(std::string_view name);
  // [%a, 3, %b]: dynamic ones become operands; the list has kUnboundedSize in their places.
  Result<IntList> ParseMixedList(std::vector<ValueId>& dynamic, std::string_view open, std::string_view close);
  // %a, %b up to `close`, which is eaten.
  Status ParseValuesIn(Operation& operation, std::string_view open, std::string_view close);
  PrettyForm ParseConversion, ParseReassociation, ParseConcat, ParseSized, ParseQuery, ParseExtract, ParseInsert,
      ParseExtractSlice, ParseInsertSlice, ParseGatherScatter, ParseGenerate, ParsePad, ParseTensorReshape, ParseArith,
      ParseFor, ParseIf, ParseForall, ParseInParallel, ParseShape;
  Status ParseSliceLists(Operation& operation, size_t leading);
  // (%o = %t) -> (T)
  Status ParseCarried(Operation& operation, std::vector<MlirToken>& names);
  Status ParseRegionInto(Operation& operation, Block block, std::string_view terminator);
  Status ParseBody(Operation& operation, std::string_view terminator);
  Type ElementOf(const Type& tensor) const;
  // : T word T
  Status ParseTypesAround(Operation& operation, std::string_view word);
  // {attributes} : T
  Result<Type> ParseOneType(Operation& operation);
  // `: types`, of every form; behind attributes.
  Status ParseTrailingTypes(Operation& operation);
  Status ParseAttributesAndTypes(Operation& operation);

  static Form FormOf(std::string_view name);

  Program program_;
  Names* names_ = nullptr;
  std::vector<std::pair<std::string_view, size_t>>* defined_ = nullptr;
  std::vector<Type> result_types_;
};

// Names of an operation that another spelling of the text stands for: return is func.return.
std::string_view FullName(std::string_view name);

}  // namespace VXLA_NAMESPACE::mlir
