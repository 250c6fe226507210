// Instruction: one operation of a computation: opcode, shape, operands, attributes, called computations.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/status.h"

namespace vxla {

class Computation;

class Instruction {
 public:
  Instruction(Opcode opcode, Shape shape, std::vector<Instruction*> operands = {},
              Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {});
  Instruction(const Instruction&) = delete;

  Opcode opcode() const { return opcode_; }
  const std::string& name() const { return name_; }  // unique within its computation, without '%'
  void set_name(std::string name) { name_ = std::move(name); }
  const Shape& shape() const { return shape_; }
  Shape& mutable_shape() { return shape_; }
  Computation* parent() const { return parent_; }

  std::span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int i) const { return operands_.at(i); }
  int operand_count() const { return static_cast<int>(operands_.size()); }
  // Every instruction that has this one as an operand, once each.
  std::span<Instruction* const> users() const { return users_; }

  // In the order of the text: while {condition, body}; conditional {true, false} or branches; select-and-scatter
  // {select, scatter}; fusion and async-start {calls}; otherwise {to_apply}.
  std::span<Computation* const> called() const { return called_; }
  Computation* called(int i) const { return called_.at(i); }
  void set_called(int i, Computation* computation) { called_.at(i) = computation; }

  const Attributes& attributes() const { return attributes_; }
  Attributes& mutable_attributes() { return attributes_; }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(attributes_);
  }
  const CommonAttributes& common() const { return common_; }
  CommonAttributes& mutable_common() { return common_; }
  const std::vector<Instruction*>& control_predecessors() const { return control_predecessors_; }
  std::vector<Instruction*>& mutable_control_predecessors() { return control_predecessors_; }

  SourceLocation location() const { return location_; }
  void set_location(SourceLocation location) { location_ = location; }

  void ReplaceOperand(int i, Instruction* replacement);

  // The dimensions attribute of the opcodes that have DimensionsAttributes.
  const IntList& dimensions() const { return attributes<DimensionsAttributes>().dimensions; }
  const Literal& literal() const { return *attributes<ConstantAttributes>().literal; }
  int64_t parameter_number() const { return attributes<ParameterAttributes>().number; }

 private:
  friend class Computation;
  void AddUser(Instruction* user);
  void RemoveUser(Instruction* user);

  Opcode opcode_;
  std::string name_;
  Shape shape_;
  std::vector<Instruction*> operands_;
  std::vector<Instruction*> users_;
  Attributes attributes_;
  std::vector<Computation*> called_;
  CommonAttributes common_;
  std::vector<Instruction*> control_predecessors_;
  Computation* parent_ = nullptr;
  SourceLocation location_;
};

}  // namespace vxla
