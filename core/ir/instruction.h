// Instruction: one operation of a computation: opcode, shape, operands, attributes, called computations.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/attributes.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

class Computation;
class Instruction;
struct FusionDescription;  // core/passes/fuse/fusion_description.h

// How far a walk that may change what it walks over has come with one thing.
enum class Mark : uint8_t { kNew, kOpen, kPlaced };

// Instructions once each. Adding, removing and finding one take constant time: a value may have 100,000 users. A
// removed one leaves its place to the last.
class InstructionSet {
 public:
  std::span<Instruction* const> list() const { return list_; }
  bool Contains(const Instruction* instruction) const;
  // False if it is there (not there) already.
  bool Add(Instruction* instruction);
  bool Remove(const Instruction* instruction);

 private:
  size_t Find(const Instruction* instruction) const;  // list_.size() if it is not there
  std::vector<Instruction*> list_;
  std::unique_ptr<std::unordered_map<const Instruction*, size_t>> places_;  // of long lists only
};

class Instruction {
 public:
  Instruction(Opcode opcode, Shape shape, std::vector<Instruction*> operands = {},
              Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {});
  Instruction(const Instruction&) = delete;
  ~Instruction();

  Opcode opcode() const { return opcode_; }
  const std::string& name() const { return name_; }  // unique within its computation, without '%'
  void set_name(std::string name) { name_ = std::move(name); }
  const Shape& shape() const { return shape_; }
  Shape& mutable_shape() { return shape_; }
  Computation* parent() const { return parent_; }

  std::span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int64_t i) const { return operands_.at(i); }
  int operand_count() const { return static_cast<int>(operands_.size()); }
  // Every instruction that has this one as an operand, once each.
  std::span<Instruction* const> users() const { return users_.list(); }
  bool HasUser(const Instruction* user) const { return users_.Contains(user); }

  // In the order of the text: while {condition, body}; conditional {true, false} or branches; select-and-scatter
  // {select, scatter}; fusion and async-start {calls}; otherwise {to_apply}.
  std::span<Computation* const> called() const { return called_; }
  Computation* called(int64_t i) const { return called_.at(i); }
  void set_called(int64_t i, Computation* computation) {
    called_.at(i) = computation;
    description_ = nullptr;
  }

  const Attributes& attributes() const { return attributes_; }
  Attributes& mutable_attributes() { return attributes_; }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(attributes_);
  }
  const CommonAttributes& common() const { return common_; }
  CommonAttributes& mutable_common() { return common_; }
  const Notes& notes() const { return notes_; }
  Notes& mutable_notes() { return notes_; }
  // A copy that is in no computation yet, with other operands and, where given, another shape and other computations;
  // the rest is this one's, its control edges aside.
  std::unique_ptr<Instruction> CloneWith(std::vector<Instruction*> operands) const;
  std::unique_ptr<Instruction> CloneWith(std::vector<Instruction*> operands, Shape shape) const;
  std::unique_ptr<Instruction> CloneWith(std::vector<Instruction*> operands, Shape shape,
                                         std::vector<Computation*> called) const;
  // What must have run before this one and after it, though no value passes between them. The two lists mirror each
  // other.
  std::span<Instruction* const> control_predecessors() const { return control_predecessors_.list(); }
  std::span<Instruction* const> control_successors() const { return control_successors_.list(); }
  bool HasControlEdges() const { return !control_predecessors().empty() || !control_successors().empty(); }
  void AddControlPredecessor(Instruction* predecessor);
  void RemoveControlPredecessor(Instruction* predecessor);

  SourceLocation location() const { return location_; }
  void set_location(SourceLocation location) { location_ = location; }

  void ReplaceOperand(int i, Instruction* replacement);
  // Wherever it is an operand.
  void ReplaceOperand(Instruction* old, Instruction* replacement);

  // The dimensions attribute of the opcodes that have DimensionsAttributes.
  const IntList& dimensions() const { return attributes<DimensionsAttributes>().dimensions; }
  const Literal& literal() const { return *attributes<ConstantAttributes>().literal; }
  // Of a constant whose text gives its value; null of all else.
  const Literal* known_literal() const {
    return opcode_ == Opcode::kConstant ? attributes<ConstantAttributes>().literal.get() : nullptr;
  }
  int64_t parameter_number() const { return attributes<ParameterAttributes>().number; }
  // Of a fusion, once DescribeFusions has seen it and until its operands or what it calls change; copies have none.
  const std::shared_ptr<const FusionDescription>& description() const { return description_; }
  void set_description(std::shared_ptr<const FusionDescription> description) { description_ = std::move(description); }
  // Of a custom call; kNamed of everything else.
  CallKind call_kind() const;

 private:
  friend class Computation;
  Opcode opcode_;
  std::string name_;
  Shape shape_;
  std::vector<Instruction*> operands_;
  InstructionSet users_;
  Attributes attributes_;
  std::vector<Computation*> called_;
  CommonAttributes common_;
  Notes notes_;
  std::shared_ptr<const FusionDescription> description_;
  InstructionSet control_predecessors_, control_successors_;
  Computation* parent_ = nullptr;
  std::list<std::unique_ptr<Instruction>>::iterator position_;  // in its computation
  Mark mark_ = Mark::kNew;                                      // of the computation's latest walk
  SourceLocation location_;
};

}  // namespace VXLA_NAMESPACE
