#include "api/verify/diff_side.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "backend/cpu/twin/shader_evaluator.h"
#include "core/host/ranges.h"
#include "core/numerics/literal_compare.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "scheduler/graph/step_graph.h"
#include "scheduler/plan/plan_orders.h"

namespace VXLA_NAMESPACE {

Result<std::unique_ptr<DiffSide>> DiffSide::Open(const DeviceOptions& device, const CompileOptions& options,
                                                 const EvaluateOptions& evaluate) {
  if (IsCpu(device.device)) return std::make_unique<DiffSide>(nullptr, options, evaluate);
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, OpenClient(device, evaluate));
  return std::make_unique<DiffSide>(std::move(client), options, evaluate);
}

std::vector<const Literal*> PointersTo(std::span<const Literal> literals) {
  return Transformed(literals, [&](const Literal& literal) { return &literal; });
}

DiffSide::DiffSide(std::shared_ptr<Client> client, CompileOptions options, EvaluateOptions evaluate)
    : client_(std::move(client)), options_(options), evaluate_(std::move(evaluate)) {}

std::string DiffSide::description() const {
  if (IsReference()) return "the CPU reference";
  const std::string& name = facts().name;
  std::string version = facts().driver_version;
  // Mesa's "22.3.6 (LLVM 15.0.6)", of a device whose name holds the latter.
  const size_t open = version.rfind(" (");
  if (open != std::string::npos && version.ends_with(")") &&
      name.find(version.substr(open + 2, version.size() - open - 3)) != std::string::npos)
    version.resize(open);
  return version.empty() ? name : name + ", " + version;
}

bool DiffSide::IsSameAs(const DiffSide& other) const {
  if (IsReference() || other.IsReference()) return IsReference() && other.IsReference();
  const auto identity = [](const DiffSide& side) {
    const DeviceFacts& f = side.facts();
    return std::tuple(f.name, f.driver, f.driver_version, f.device_uuid, side.client()->device().binding_mode());
  };
  const auto features = [](const DiffSide& side) {
    const DeviceFacts& f = side.facts();
    return std::tuple(f.kind, f.int64, f.float64, f.float16, f.storage16, f.storage8, f.subgroup_shuffle,
                      f.division_f32 == DeviceFacts::Division::kCorrected,
                      f.division_f64 == DeviceFacts::Division::kCorrected, f.same_bits, f.matrices_stand_in,
                      f.matrices.size(), f.queues.size());
  };
  return identity(*this) == identity(other) && features(*this) == features(other) &&
         facts().costs == other.facts().costs;
}

Status DiffSide::CheckValidation() const {
  return IsReference() ? OkStatus() : vxla::CheckValidation(client_->device());
}

Result<DiffSide::Value> DiffSide::Run(const Module& module, std::span<const Literal* const> arguments,
                                      bool with_shader_math, bool fusion) const {
  Value value;
  if (IsReference()) {
    VXLA_ASSIGN_OR_RETURN(value.result, Evaluate(module, arguments, evaluate_));
    return value;
  }
  CompileOptions options = options_;
  options.fusion = options.fusion && fusion;
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client_->Compile(module, options));
  value.fallbacks = executable->fallbacks();
  VXLA_ASSIGN_OR_RETURN(value.result, executable->Run(arguments));
  if (!with_shader_math) return value;
  Result<Literal> shader_math = executable->depends_on_sizes() ? EvaluateShaderMathAt(*executable, module, arguments)
                                                               : EvaluateShaderMath(*executable, arguments);
  if (shader_math.ok()) {
    value.shader_math = std::move(*shader_math);
  } else {
    value.shader_math_refused = shader_math.status().message();
  }
  return value;
}

Result<Literal> DiffSide::EvaluateShaderMathAt(const Executable& executable, const Module& module,
                                               std::span<const Literal* const> arguments) const {
  VXLA_ASSIGN_OR_RETURN(const StaticProgram program, executable.ProgramFor(arguments));
  VXLA_ASSIGN_OR_RETURN(const Literal result, EvaluateShaderMath(*program.executable, PointersTo(program.arguments)));
  return program.WithSizes(result, module.entry()->root()->shape());
}

Result<Literal> DiffSide::EvaluateShaderMath(const Executable& executable,
                                             std::span<const Literal* const> arguments) const {
  ShaderEvaluation evaluation;
  evaluation.orders = OrdersOf(executable.plan());
  evaluation.options = evaluate_;
  if (shader_math_calls_ != nullptr) evaluation.options.custom_calls = shader_math_calls_;
  const auto instructions = InstructionsByPlanName(executable.module());
  for (const Fallback& fallback : executable.fallbacks()) {
    const auto found = instructions.find(fallback.instruction);
    if (found != instructions.end()) evaluation.on_host.insert(PathOf(*found->second));
  }
  return EvaluateAsShaders(executable.module(), arguments, evaluation);
}

Result<std::string> DiffSide::FirstOtherInPlan(const Module& module, std::span<const Literal* const> arguments) const {
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client_->Compile(module, options_));
  std::optional<StaticProgram> program;
  std::vector<const Literal*> static_arguments;
  if (executable->depends_on_sizes()) {
    VXLA_ASSIGN_OR_RETURN(program, executable->ProgramFor(arguments));
    executable = program->executable;
    static_arguments = PointersTo(program->arguments);
    arguments = static_arguments;
  }
  // The same program with every value as a result.
  const std::unique_ptr<Module> shown = executable->module().Clone();
  Computation& entry = *shown->entry();
  std::vector<Instruction*> values;
  std::vector<Shape> shapes;
  int64_t bytes = 0;
  for (const auto& instruction : entry.instructions()) {
    const OpcodeKind kind = KindOf(instruction->opcode());
    if (kind == OpcodeKind::kScheduled || instruction->shape().SizeBytes() == 0) continue;
    values.push_back(instruction.get());
    shapes.push_back(instruction->shape());
    bytes += instruction->shape().SizeBytes();
  }
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  if (values.empty() || bytes > kMostBytes) return std::string();
  entry.set_root(entry.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), values));
  shown->mutable_attributes() = {};
  CompileOptions options = options_;
  options.optimized = true;
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> again, client_->Compile(*shown, options));
  VXLA_ASSIGN_OR_RETURN(const Literal device, again->Run(arguments));
  VXLA_ASSIGN_OR_RETURN(const Literal shader_math, EvaluateShaderMath(*again, arguments));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto got = FlattenLiteral(device.tuple_elements()[i]),
               wanted = FlattenLiteral(shader_math.tuple_elements()[i]);
    for (size_t leaf = 0; leaf < got.size(); ++leaf) {
      Tolerance same_bits;
      same_bits.least = LeastKept(got[leaf]->shape().element_type());
      if (!Compare(*got[leaf], *wanted[leaf], same_bits).agrees()) return values[i]->name();
    }
  }
  return std::string();
}

double DiffSide::LeastKept(ElementType type) const {
  const ElementType real = RealPart(type);
  const bool kept_in_f32 = real == ElementType::kF32 || real == ElementType::kBF16;
  const bool flushes =
      !IsReference() && (facts().quirks.flushes_f32_denormals || facts().quirks.flushes_fused_denormals);
  return kept_in_f32 && flushes ? double{std::numeric_limits<float>::min()} : 0;
}

bool MayFlush(const Instruction& instruction) {
  using enum Opcode;
  const Opcode opcode = instruction.opcode();
  if (IsAnyOf(opcode, kAdd, kSubtract, kMultiply, kDivide, kSqrt)) return true;
  if (Has(opcode, Trait::kAccumulates) || IsAnyOf(opcode, kAllReduce, kReduceScatter)) {
    return instruction.called().empty() || std::ranges::any_of(instruction.called(), [](const Computation* called) {
             return std::ranges::any_of(called->instructions(), [](const auto& i) { return MayFlush(*i); });
           });
  }
  if (IsAnyOf(opcode, kCompare, kSelect, kComplex, kReal, kImag, kNegate)) return false;
  return IsElementwise(opcode) && instruction.operand_count() > 0 &&
         IsComplex(instruction.operand(0)->shape().element_type());
}

bool MayFlushOperand(const Instruction& instruction, size_t k) {
  return MayFlush(instruction) && (instruction.opcode() != Opcode::kSelectAndScatter || k > 0);
}

std::shared_ptr<const Literal> DiffSide::Flushed(const Literal& literal) const {
  const ElementType type = literal.shape().element_type();
  const double least = LeastKept(type);
  if (least == 0) return nullptr;
  std::shared_ptr<Literal> flushed;
  auto kept = [&](double x) { return std::fabs(x) < least ? std::copysign(0.0, x) : x; };
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const std::complex<double> value = literal.GetComplex(i);
    const std::complex<double> after(kept(value.real()), kept(value.imag()));
    if (after == value) continue;
    if (flushed == nullptr) flushed = std::make_shared<Literal>(literal);
    IsComplex(type) ? flushed->SetComplex(i, after) : flushed->SetDouble(i, after.real());
  }
  return flushed;
}

}  // namespace VXLA_NAMESPACE
