#include "scheduler/runtime/programs/size_source.h"

#include <utility>

#include "core/ir/module.h"
#include "core/passes/devices/one_device.h"
#include "core/sizes/live_instruction.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/argument_check.h"

namespace VXLA_NAMESPACE {
namespace {

class Bounded : public SizeSource {
 public:
  Bounded(const Module& module, FoldInstruction fold) : module_(module.Clone()), fold_(std::move(fold)) {
    // Sizes pass through what one device does for itself alone.
    ExpandForOneDevice(*module_);
  }

  Result<SizedArguments> Take(const Device& device, std::span<const Argument> arguments) const override {
    VXLA_RETURN_IF_ERROR(CheckArguments(*module_, device, arguments));
    SizedArguments taken;
    taken.literals.reserve(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Shape& wanted = module_->entry()->parameter(i)->shape();
      VXLA_RETURN_IF_ERROR(arguments[i].literal != nullptr ? TakeLiteral(*arguments[i].literal, wanted, taken)
                                                           : TakeValues(arguments[i], taken));
    }
    for (const std::vector<int64_t>& sizes : taken.sizes) taken.key.insert(taken.key.end(), sizes.begin(), sizes.end());
    return taken;
  }

  Result<SpecializedModule> Refine(const SizedArguments& arguments, std::vector<Literal> answers) const override {
    return SpecializeLiveSizes(*module_, {arguments.sizes, std::move(answers)}, fold_);
  }

  const Module* general() const override { return module_.get(); }

  bool AsksData() const override {
    const auto specialized = SpecializeLiveSizes(*module_, {BoundsOfParameters(*module_), {}}, fold_);
    return specialized.ok() && specialized->is_question && specialized->parameter < 0;
  }

  Result<std::unique_ptr<Module>> Likely() const override { return SpecializeAtLikelySizes(*module_, fold_); }

 private:
  // The leaf's elements, as wide as the bounds.
  static Literal AtBounds(const Literal& given, const Shape& wanted) {
    return wanted.IsArray() ? ConformTo(given, wanted).Reshaped(WithoutFlags(wanted)) : given;
  }

  static Status TakeLiteral(const Literal& literal, const Shape& wanted, SizedArguments& taken) {
    const std::vector<const Literal*> given = FlattenLiteral(literal);
    const std::vector<const Shape*> leaves = FlattenTuple(wanted);
    std::vector<Literal> dense;
    for (size_t i = 0; i < leaves.size(); ++i) {
      taken.sizes.push_back(leaves[i]->IsArray() ? LiveSizes(*given[i]) : std::vector<int64_t>());
      if (wanted.IsDynamic()) dense.push_back(AtBounds(*given[i], *leaves[i]));
    }
    if (wanted.IsDynamic()) taken.literals.push_back(UnflattenLiteral(WithoutFlags(wanted), dense));
    taken.arguments.emplace_back(wanted.IsDynamic() ? taken.literals.back() : literal);
    return OkStatus();
  }

  static Status TakeValues(const Argument& argument, SizedArguments& taken) {
    Argument copy(std::vector<DeviceBuffer>{});
    copy.keep = argument.keep;
    for (const DeviceBuffer& leaf : argument.leaves) {
      VXLA_ASSIGN_OR_RETURN(taken.sizes.emplace_back(), leaf.LiveSizes());
      copy.leaves.emplace_back(WithoutFlags(leaf.shape()), leaf.memory());
    }
    taken.arguments.push_back(std::move(copy));
    return OkStatus();
  }

  const std::unique_ptr<Module> module_;
  const FoldInstruction fold_;
};

class Open : public SizeSource {
 public:
  Open(mlir::DynamicProgram program, FoldInstruction fold) : program_(std::move(program)), fold_(std::move(fold)) {}

  Result<SizedArguments> Take(const Device&, std::span<const Argument> arguments) const override {
    if (arguments.size() != program_.parameters().size()) {
      return InvalidArgument("{} arguments given, the program wants {}", arguments.size(),
                             program_.parameters().size());
    }
    SizedArguments taken;
    for (const Argument& argument : arguments) {
      VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(argument));
      taken.arguments.push_back(argument);
      taken.key.push_back(static_cast<int64_t>(shape.element_type()));
      taken.key.push_back(shape.rank());
      taken.key.insert(taken.key.end(), shape.dimensions().begin(), shape.dimensions().end());
    }
    return taken;
  }

  Result<SpecializedModule> Refine(const SizedArguments& arguments, std::vector<Literal> answers) const override {
    mlir::ProgramFacts facts{{}, std::move(answers)};
    for (const Argument& argument : arguments.arguments)
      VXLA_SET_OR_RETURN(facts.arguments.emplace_back(), ShapeOf(argument));
    return program_.Refine(facts, fold_);
  }

 private:
  static Result<Shape> ShapeOf(const Argument& argument) {
    if (argument.literal != nullptr) return argument.literal->shape();
    if (argument.leaves.size() != 1) return InvalidArgument("tuples of unknown sizes are not supported");
    return argument.leaves[0].shape();
  }

  const mlir::DynamicProgram program_;
  const FoldInstruction fold_;
};

}  // namespace

std::unique_ptr<SizeSource> BoundedSizes(const Module& module, FoldInstruction fold) {
  return std::make_unique<Bounded>(module, std::move(fold));
}

std::unique_ptr<SizeSource> OpenSizes(mlir::DynamicProgram program, FoldInstruction fold) {
  return std::make_unique<Open>(std::move(program), std::move(fold));
}

}  // namespace VXLA_NAMESPACE
