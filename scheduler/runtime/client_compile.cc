// From a module to an executable.
#include <algorithm>

#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/passes/base/pipeline.h"
#include "scheduler/compile.h"
#include "scheduler/graph/step_graph.h"
#include "scheduler/memory/result_copies.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/executor.h"
#include "scheduler/runtime/programs/sized.h"

namespace VXLA_NAMESPACE {
namespace {

using Compiled = Result<std::shared_ptr<Executable>>;

// Everything but kernels and constants.
Result<std::unique_ptr<ExecutableState>> PlanFor(std::shared_ptr<ClientState> client, const Module& module,
                                                 const CompileOptions& options, BindingMode mode) {
  const DeviceFacts& facts = client->device->facts();
  const std::unique_ptr<Lowering> with_kernels =
      client->options.kernels.empty() ? nullptr : client->device->LoweringWith(mode, client->options.kernels);
  const Lowering& lowering = with_kernels != nullptr ? *with_kernels : client->device->lowering(mode);
  auto state = std::make_unique<ExecutableState>();
  state->client = std::move(client);
  TargetInfo target = TargetOf(facts, mode, options.fusion);
  target.wide_accumulation = options.wide_accumulation;
  target.sizes_tell_faults = options.sizes_on_device;
  target.host_functions = state->client->options.host_functions;
  // A limit of iterations is the host's to keep, and a profile shows what has run.
  const bool unlimited = options.max_loop_iterations < 0;
  const bool loop_kernels = options.loop_kernels && options.fusion && unlimited;
  target.unroll_loops = loop_kernels;
  if (options.optimized) {
    state->module = module.Clone();
  } else {
    const auto after = [&](const PassRun& run, const Module& as_it_is) -> Status {
      if (options.proceed) VXLA_RETURN_IF_ERROR(options.proceed({CallProgress::Stage::kPasses, 0, 0, run.name}));
      return options.after_pass ? options.after_pass(run, as_it_is) : OkStatus();
    };
    VXLA_ASSIGN_OR_RETURN(state->module, Optimize(module, target, after));
  }
  CopySharedResults(*state->module, lowering);
  state->max_loop_iterations = options.max_loop_iterations;
  const bool predicates = unlimited && !options.profile;
  const PlanOptions plan_options{mode, options.require_gpu, state->client->options.seed, loop_kernels, predicates};
  VXLA_ASSIGN_OR_RETURN(state->program.plan, MakePlan(*state->module, lowering, facts, plan_options));
  state->instructions = InstructionsByPlanName(*state->module);
  state->program.profile = options.profile && facts.timestamp_period_ns > 0;
  state->program.layout = LayOutArguments(state->program.plan, BlockAlignment(facts, mode));
  return state;
}

FoldInstruction FoldOn(const std::shared_ptr<ClientState>& client) {
  return [client](const Instruction& instruction, std::span<const Literal* const> operands) {
    return client->evaluate(instruction, operands);
  };
}

// What a program shows before it has run for any sizes.
std::unique_ptr<Module> ModuleOfNothing(const std::string& name) {
  auto nothing = std::make_unique<Module>(name);
  Computation* const entry = nothing->AddComputation("main");
  entry->set_root(entry->Add(Opcode::kTuple, Shape::Tuple({})));
  nothing->set_entry(entry);
  return nothing;
}

// Another way to bind than the preferred one is taken where that one's limits (of a range, of the number of buffers)
// refuse the program or leave more of its instructions to the host.
Compiled CompileOrThrow(const std::shared_ptr<ClientState>& client, const Module& module,
                        const CompileOptions& options) {
  const Stopwatch all;
  const BindingMode preferred = client->device->binding_mode();
  auto planned = PlanFor(client, module, options, preferred);
  for (const BindingMode mode : client->device->binding_modes()) {
    if (mode == preferred) continue;
    if (planned.ok() && (*planned)->program.plan.fallbacks.empty()) break;
    auto other = PlanFor(client, module, options, mode);
    const bool better = !planned.ok() || (other.ok() && (*other)->program.plan.fallbacks.size() <
                                                            (*planned)->program.plan.fallbacks.size());
    if (better) planned = std::move(other);
  }
  if (!planned.ok()) return planned.status();
  std::unique_ptr<ExecutableState> state = std::move(*planned);
  state->statistics.plan_ms = all.Ms();
  VXLA_RETURN_IF_ERROR(MakeKernels(*state, options.proceed));
  if (!client->device->facts().compile_only) VXLA_RETURN_IF_ERROR(UploadConstants(*state));
  MakeContexts(*state);
  state->statistics.ms = all.Ms();
  return std::make_shared<Executable>(std::move(state));
}

// An executable for each choice of sizes that arguments come with; one for all of them where sizes change while the
// program runs.
Compiled CompileForSizes(const std::shared_ptr<ClientState>& client, const Module& module,
                         const CompileOptions& options) {
  const auto compile = [client, options](const Module& made) { return CompileOrThrow(client, made, options); };
  auto sized = SizedProgram::Create(BoundedSizes(module, FoldOn(client)), compile);
  if (sized.status().code() == StatusCode::kUnsupported) return CompileOrThrow(client, module, options);
  VXLA_RETURN_IF_ERROR(sized.status());
  auto state = std::make_unique<ExecutableState>();
  state->client = client;
  state->sized = *std::move(sized);
  return std::make_shared<Executable>(std::move(state));
}

Compiled CompileChecked(const std::shared_ptr<ClientState>& client, const Module& module,
                        const CompileOptions& options) {
  if (client->options.check_program) VXLA_RETURN_IF_ERROR(client->options.check_program(module));
  if (HasLiveSizes(module) && !options.optimized && !options.sizes_on_device)
    return CompileForSizes(client, module, options);
  return CompileOrThrow(client, module, options);
}

// An executable for each choice of argument shapes.
Compiled CompileForShapes(const std::shared_ptr<ClientState>& client, const Module& module,
                          const CompileOptions& options) {
  const auto compile = [client, options](const Module& made) { return CompileChecked(client, made, options); };
  auto state = std::make_unique<ExecutableState>();
  state->client = client;
  VXLA_ASSIGN_OR_RETURN(state->sized,
                        SizedProgram::Create(OpenSizes(mlir::DynamicProgram::Of(module), FoldOn(client)), compile));
  state->module = ModuleOfNothing(module.name());
  return std::make_shared<Executable>(std::move(state));
}

Compiled CompileWithoutThrowing(const std::shared_ptr<ClientState>& client, const Module& module,
                                const CompileOptions& options) {
  return Guarded([&] {
    if (mlir::IsDynamicProgram(module)) return CompileForShapes(client, module, options);
    return CompileChecked(client, module, options);
  });
}

}  // namespace

Result<std::shared_ptr<Executable>> Client::Compile(const Module& module, const CompileOptions& options) {
  Compiled compiled = CompileWithoutThrowing(state_, module, options);
  if (compiled.status().code() != StatusCode::kInternal || !options.fusion) return compiled;
  // An error of our own that lowering did not meet, in fusion itself or in a kernel's text: without fusion there is
  // less to get wrong.
  CompileOptions unfused = options;
  unfused.fusion = false;
  Compiled again = CompileWithoutThrowing(state_, module, unfused);
  if (!again.ok()) return compiled;
  (*again)->state_->program.plan.faults.push_back(
      {"", compiled.status().message(), PlanFault::Remedy::kProgramUnfused});
  return again;
}

}  // namespace VXLA_NAMESPACE
