#include "scheduler/specializations.h"

#include <algorithm>

#include "core/live_instruction.h"
#include "core/live_sizes.h"
#include "core/passes/one_device.h"
#include "scheduler/argument_check.h"
#include "scheduler/buffer_pool.h"
#include "scheduler/live_values.h"

namespace VXLA_NAMESPACE {
namespace {

// So many sets of sizes keep their executables; beyond them the program begins anew.
constexpr size_t kMostSpecializations = 256;

std::vector<std::vector<int64_t>> SizesOfParameters(const Module& module, int64_t most) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Instruction* parameter : module.entry()->parameters()) {
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      std::vector<int64_t>& live = sizes.emplace_back();
      for (int d = 0; d < leaf->rank(); ++d) {
        live.push_back(leaf->is_dynamic_dimension(d) ? std::min(most, leaf->dimension(d)) : leaf->dimension(d));
      }
    }
  }
  return sizes;
}

// The leaf's elements, as wide as the bounds.
Result<Literal> AtBounds(const Literal& given, const Shape& wanted) {
  if (!wanted.IsArray()) return given;
  const Literal conformed = ConformTo(given, wanted);
  return Literal(conformed).Reshaped(WithoutFlags(wanted));
}

// Arguments of the static program, and the sizes that live of them.
struct StaticArguments {
  std::vector<Literal> literals;  // in the place of those that are not static
  std::vector<Argument> arguments;
  std::vector<std::vector<int64_t>> sizes;
};

Status AddLiteral(const Literal& literal, const Shape& wanted, StaticArguments& made) {
  const std::vector<const Literal*> given = FlattenLiteral(literal);
  const std::vector<const Shape*> leaves = FlattenTuple(wanted);
  for (size_t i = 0; i < leaves.size(); ++i) {
    made.sizes.push_back(leaves[i]->IsArray() ? LiveSizes(*given[i]) : std::vector<int64_t>());
  }
  if (!wanted.IsDynamic()) {
    made.arguments.emplace_back(literal);
    return OkStatus();
  }
  std::vector<Literal> dense;
  for (size_t i = 0; i < leaves.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(Literal leaf, AtBounds(*given[i], *leaves[i]));
    dense.push_back(std::move(leaf));
  }
  made.literals.push_back(UnflattenLiteral(WithoutFlags(wanted), dense));
  made.arguments.emplace_back(made.literals.back());
  return OkStatus();
}

Status AddValues(const Argument& argument, StaticArguments& made) {
  Argument copy(std::vector<DeviceValue>{});
  copy.keep = argument.keep;
  for (const DeviceValue& leaf : argument.leaves) {
    VXLA_ASSIGN_OR_RETURN(made.sizes.emplace_back(), leaf.LiveSizes());
    copy.leaves.emplace_back(WithoutFlags(leaf.shape()), leaf.memory());
  }
  made.arguments.push_back(std::move(copy));
  return OkStatus();
}

}  // namespace

Specializations::Specializations(const Module& module, FoldInstruction fold, CompileStatic compile,
                                 CompileStatic compile_general)
    : module_(module.Clone()),
      fold_(std::move(fold)),
      compile_(std::move(compile)),
      compile_general_(std::move(compile_general)) {
  // Sizes pass through what one device does for itself alone.
  ExpandForOneDevice(*module_);
}

Result<std::unique_ptr<Specializations>> Specializations::Create(const Module& module, FoldInstruction fold,
                                                                 CompileStatic compile, CompileStatic compile_general) {
  std::unique_ptr<Specializations> made(
      new Specializations(module, std::move(fold), std::move(compile), std::move(compile_general)));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> shown, made->Likely());
  // A program whose sizes are right at none of those has to be run to be known.
  VXLA_ASSIGN_OR_RETURN(made->shown_, shown != nullptr ? made->compile_(*shown) : made->compile_general_(module));
  return made;
}

// The program at the first sizes, from the bounds down, that go together.
Result<std::unique_ptr<Module>> Specializations::Likely() const {
  constexpr int64_t kMostTries = 64;
  for (int64_t most = 0; most < kMostTries; ++most) {
    LiveFacts facts{SizesOfParameters(*module_, most == 0 ? INT64_MAX : most - 1), {}};
    auto specialized = SpecializeLiveSizes(*module_, facts, fold_);
    while (specialized.ok() && specialized->is_question) {
      facts.answers.push_back(std::move(specialized->likely_answer));
      specialized = SpecializeLiveSizes(*module_, facts, fold_);
    }
    if (specialized.ok()) return std::move(specialized->module);
    if (specialized.status().code() == StatusCode::kUnsupported) return specialized.status();
  }
  return std::unique_ptr<Module>();
}

Result<std::shared_ptr<const Specializations::Specialization>> Specializations::Get(const Key& key,
                                                                                    const LiveFacts& facts) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
  }
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<const Specialization> made, Make(facts));
  const std::lock_guard lock(mutex_);
  if (made_.size() >= kMostSpecializations) made_.clear();
  return made_.emplace(key, std::move(made)).first->second;
}

Result<std::shared_ptr<const Specializations::Specialization>> Specializations::Make(const LiveFacts& facts) {
  auto made = std::make_shared<Specialization>();
  auto specialized = SpecializeLiveSizes(*module_, facts, fold_);
  if (specialized.ok()) {
    made->is_question = specialized->is_question;
    made->parameter = specialized->parameter;
    made->result_sizes = std::move(specialized->result_sizes);
    if (made->parameter < 0) {
      VXLA_ASSIGN_OR_RETURN(made->executable, compile_(*specialized->module));
    }
  } else if (specialized.status().code() == StatusCode::kUnsupported) {
    made->is_general = true;
    VXLA_ASSIGN_OR_RETURN(made->executable, compile_general_(*module_));
  } else {
    return specialized.status();
  }
  return std::shared_ptr<const Specialization>(std::move(made));
}

Result<Execution> Specializations::Execute(const Device& device, std::span<const Argument> arguments,
                                           RunStatistics* statistics) {
  VXLA_RETURN_IF_ERROR(CheckArguments(*module_, device, arguments));
  StaticArguments made;
  made.literals.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& wanted = module_->entry()->parameter(static_cast<int64_t>(i))->shape();
    VXLA_RETURN_IF_ERROR(arguments[i].literal != nullptr ? AddLiteral(*arguments[i].literal, wanted, made)
                                                         : AddValues(arguments[i], made));
  }
  Key key;
  for (const std::vector<int64_t>& sizes : made.sizes) key.insert(key.end(), sizes.begin(), sizes.end());
  LiveFacts facts{std::move(made.sizes), {}};
  while (true) {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> specialization, Get(key, facts));
    if (specialization->is_general) return specialization->executable->Execute(arguments, statistics);
    if (specialization->parameter >= 0) {
      const Argument& argument = arguments[static_cast<size_t>(specialization->parameter)];
      VXLA_ASSIGN_OR_RETURN(Literal answer, argument.literal != nullptr ? Result<Literal>(*argument.literal)
                                                                        : argument.leaves.at(0).ToLiteral());
      key.push_back(answer.GetInt(0));
      facts.answers.push_back(std::move(answer));
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(Execution execution, specialization->executable->Execute(made.arguments, statistics));
    if (!specialization->is_question) {
      const std::vector<const Shape*> leaves = FlattenTuple(module_->entry()->root()->shape());
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (!leaves[i]->IsDynamic()) continue;
        execution.leaves[i] = DeviceValue(*leaves[i], execution.leaves[i].memory(), specialization->result_sizes.at(i));
      }
      execution.shape = module_->entry()->root()->shape();
      return execution;
    }
    VXLA_ASSIGN_OR_RETURN(Literal answer, execution.ToLiteral());
    key.push_back(answer.GetInt(0));
    facts.answers.push_back(std::move(answer));
  }
}

}  // namespace VXLA_NAMESPACE
