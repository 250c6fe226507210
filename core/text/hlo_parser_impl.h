// Inside of core/text/hlo_parser.h: hlo_parser.cc has modules, computations and instructions, hlo_parser_attributes.cc
// what follows the operands, and asynchronous operations.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/module.h"
#include "core/text/hlo_parser.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE::parsing {

// An instruction while its text is read.
struct Draft {
  Opcode opcode;
  SourceLocation location;
  std::optional<Shape> shape;
  std::vector<Instruction*> operands;
  Attributes attributes;
  std::vector<Computation*> called;
  bool called_by_list = false;
  CommonAttributes common;
  Notes notes;
  std::vector<Instruction*> control_predecessors;
};

// add-start, add-update, add-done: an asynchronous `wrapped` written as one instruction.
struct AsyncForm {
  Opcode wrapped;
  Opcode step;
};

// One class, because instructions, computations and attributes read from one place in the text on, and name each other.
class HloParser {
 public:
  HloParser(std::string_view text, TextOf text_of)
      : lexer_(text), text_of_(text_of), module_(std::make_unique<Module>("")) {}
  Result<std::unique_ptr<Module>> Parse();

 private:
  // The names of the computation being read; generated names wait until all written ones are known.
  struct Scope {
    Computation* computation = nullptr;
    std::unordered_map<std::string_view, Instruction*> names;
    std::vector<Instruction*> unnamed;
    std::map<std::pair<const Instruction*, int64_t>, Instruction*> elements;  // those of name#index
    Instruction* root = nullptr;
    bool is_instruction = false;  // the text is one instruction, whose operands are parameters
  };
  struct Signature {
    std::vector<Shape> parameters;
    Shape result;
    SourceLocation location;
  };

  enum class Completeness : uint8_t { kWhole, kPartial };

  Result<std::string_view> TakeName(std::string_view what);
  bool AtInstruction();
  Status ParseLoneInstruction();
  Status ParseComputation();
  Result<Signature> ParseSignature();
  Status CheckSignature(const Signature& signature, const Computation& computation) const;
  Status ParseBody(Computation& computation);
  Status CheckParameters(const Computation& computation, SourceLocation location) const;
  Status ParseInstruction();
  Status ParseOperands(Draft& draft);
  Result<Instruction*> ParseOperand();
  Result<Instruction*> ParseNestedOperand(std::optional<Shape> shape);
  Result<Instruction*> ParseParameterOperand(Shape shape);
  Result<Instruction*> TakeInstruction(std::string_view what);
  Result<Instruction*> TakeElement(Instruction* tuple);
  Status ParseParameterNumber(Draft& draft);
  Status ParseAttributes(Draft& draft, AsyncAttributes* async, Completeness completeness);
  Status TakeNotes(Draft& draft);
  Status ParseCalled(Draft& draft, std::string_view name, bool& found);
  Result<Computation*> TakeComputation();
  Status CompleteAttributes(Draft& draft, const std::vector<std::string_view>& seen);
  Status FinishAsync(Draft& draft, const AsyncForm& form, AsyncAttributes async);
  Status WrapAsync(Draft& draft, AsyncAttributes async);
  Result<Instruction*> Build(Draft draft, std::string name);
  // A name that no text can have, for what is named at the end.
  std::string TemporaryName() { return fmt::format("\n{}", ++temporary_names_); }

  Lexer lexer_;
  const TextOf text_of_;
  std::unique_ptr<Module> module_;
  std::unordered_map<std::string_view, Computation*> computations_;
  std::vector<std::pair<Computation*, std::string_view>> unnamed_computations_;
  Scope* scope_ = nullptr;
  int depth_ = 0;
  int temporary_names_ = 0;
};

}  // namespace VXLA_NAMESPACE::parsing
