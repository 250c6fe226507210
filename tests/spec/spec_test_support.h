// What the tests after the specification share: programs made by the builder, or given as text, with values in the
// document's notation, evaluated on the CPU reference and on Vulkan.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/builder/builder.h"
#include "core/data/literal.h"
#include "core/devices/replica_groups.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE::testing {

using enum ElementType;

// "s32[2,2]{{1,2},{3,4}}", "(f32[]2, pred[]true)"; blanks do not count.
Literal Value(const std::string& text);
std::string Show(const Literal& literal);

// Runs a program on a device too and compares; the suite without one has none.
using DeviceCheckFunction = void (*)(const Module& module, const std::vector<Literal>& arguments,
                                     const Literal& expected);
DeviceCheckFunction& DeviceCheck();

// A program under construction with the values of its parameters.
class Program {
 public:
  XlaBuilder* b() { return &builder_; }
  // A parameter with this value.
  XlaOp Arg(const std::string& text);
  XlaOp Arg(Literal value);

  // The value of `root`: built, verified, printed and parsed back, evaluated on the CPU reference; in the
  // Vulkan suite also there, where the same value is expected. An error's message if it fails.
  std::string Run(XlaOp root);
  Literal RunLiteral(XlaOp root);
  // On replicas x partitions devices of the reference, device d with arguments[d] (all with Arg's values if there are
  // none): each device's value, or one element with the error's message.
  std::vector<std::string> RunOn(DeviceGrid grid, XlaOp root,
                                 const std::vector<std::vector<std::string>>& arguments = {});
  EvaluateOptions& options() { return options_; }

 private:
  XlaBuilder builder_{"spec"};
  std::vector<Literal> arguments_;
  EvaluateOptions options_;
};

// The same for a text: "HloModule", computations and entry, or only the entry's lines.
std::string RunText(const std::string& text, const std::vector<std::string>& arguments = {});
Literal RunLiterals(const std::string& text, const std::vector<Literal>& arguments = {});

// Computations over scalars.
XlaComputation Scalar(ElementType type, XlaOp (*op)(XlaOp, XlaOp, const IntList&) = Add);
// The first error of an op's builder; "" if there is none.
std::string ErrorOf(XlaOp op);
// The message with which a text is refused by the parser or the verifier, without "(in ...)"; "" if it is not.
std::string Refusal(const std::string& text);

}  // namespace VXLA_NAMESPACE::testing
