// DiffSide: what diff runs modules on: the CPU reference or a device, and shader math on the CPU in the order of the
// device's plan.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/devices.h"
#include "backend/device.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

class DiffSide {
 public:
  // The device "cpu" is the reference.
  static Result<std::unique_ptr<DiffSide>> Open(const DeviceOptions& device, const CompileOptions& options,
                                                const EvaluateOptions& evaluate);
  // Of a client that exists already, and evaluates its host steps by the same options; null: the reference.
  explicit DiffSide(std::shared_ptr<Client> client, CompileOptions options = {}, EvaluateOptions evaluate = {});

  struct Value {
    Literal result;
    std::optional<Literal> shader_math;  // of a device, if wanted
    std::string shader_math_refused;     // why there is none
    std::vector<Fallback> fallbacks;
  };
  // `fusion` false: one kernel per instruction, whatever the options say.
  Result<Value> Run(const Module& module, std::span<const Literal* const> arguments, bool with_shader_math,
                    bool fusion) const;
  // Of a device whose plan gives other bits than shader math though no instruction by itself does: the first of the
  // optimised program's instructions (fusions) whose value has other bits, as the plan runs it; empty: none has. Values
  // inside loops are not looked at.
  Result<std::string> FirstOtherInPlan(const Module& module, std::span<const Literal* const> arguments) const;
  bool IsReference() const { return client_ == nullptr; }
  // Null: the reference.
  const std::shared_ptr<Client>& client() const { return client_; }
  // Of a device.
  const DeviceFacts& facts() const { return client_->device().facts(); }
  const CompileOptions& options() const { return options_; }
  // Of the reference, of host steps and of shader math.
  const EvaluateOptions& evaluate_options() const { return evaluate_; }
  // What shader math calls in place of the evaluate options' functions.
  void set_shader_math_calls(const CustomCallRegistry* calls) { shader_math_calls_ = calls; }
  // "llvmpipe (LLVM 15.0.6, 256 bits), Mesa 22.3.6": what the name says is not repeated.
  std::string description() const;
  // Whether both are the reference, or the same device with the same features and way to bind.
  bool IsSameAs(const DiffSide& other) const;
  Status CheckValidation() const;
  // Values below this magnitude need not survive here: 0 unless it is a device that flushes denormals of this type.
  double LeastKept(ElementType type) const;
  bool Flushes() const { return LeastKept(ElementType::kF32) != 0; }
  // Zeros in place of what LeastKept says. Null if there is nothing to flush.
  std::shared_ptr<const Literal> Flushed(const Literal& literal) const;

 private:
  Result<Literal> EvaluateShaderMath(const Executable& executable, std::span<const Literal* const> arguments) const;
  // Of a program whose executable depends on live sizes.
  Result<Literal> EvaluateShaderMathAt(const Executable& executable, const Module& module,
                                       std::span<const Literal* const> arguments) const;
  std::shared_ptr<Client> client_;
  CompileOptions options_;
  EvaluateOptions evaluate_;
  const CustomCallRegistry* shader_math_calls_ = nullptr;
};

// Whether a device that flushes denormals may do so here: in its own sums, products, quotients and roots, whatever is
// made of them, and functions of complex numbers. Everything else sees denormals for what they are.
bool MayFlush(const Instruction& instruction);
// And in reading operand k: what a select-and-scatter selects by is compared alone.
bool MayFlushOperand(const Instruction& instruction, size_t k);
std::vector<const Literal*> PointersTo(std::span<const Literal> literals);

}  // namespace VXLA_NAMESPACE
