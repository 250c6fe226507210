// From a bundle to an executable.
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {
namespace {

// What callers see of the program: its parameters and its result.
std::unique_ptr<Module> SignatureOf(const Bundle& bundle, const std::string& name) {
  auto module = std::make_unique<Module>(name);
  Computation* entry = module->AddComputation("main");
  std::vector<Instruction*> parameters;
  for (const Shape& shape : bundle.parameters) {
    const ParameterAttributes attributes = {static_cast<int64_t>(parameters.size())};
    parameters.push_back(entry->Add(Opcode::kParameter, shape, {}, attributes));
  }
  CustomCallAttributes whole;
  whole.custom_call_target = "bundle";
  entry->set_root(entry->Add(Opcode::kCustomCall, bundle.result, parameters, whole));
  module->set_entry(entry);
  return module;
}

void TakeModules(const Bundle& bundle, const BundleVariant& variant, Plan& plan) {
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const std::span<const std::byte> words = bundle.Module(variant.modules[i]);
    plan.kernels[i].generated.assign(reinterpret_cast<const char*>(words.data()), words.size());
    plan.kernels[i].is_module = true;
  }
}

// Small constants that lie side by side go up together: a device whose memory the host does not see copies each upload
// by a submission of its own, and is waited for.
class ConstantUpload {
 public:
  explicit ConstantUpload(ExecutableState& state) : state_(state) {}

  // In the order of the plan.
  Status Add(std::span<const std::byte> bytes, const Placement& place) {
    const int64_t gap = place.offset_bytes - begin_ - static_cast<int64_t>(piece_.size());
    const bool next = place.index == block_ && gap >= 0 && gap < kMostGap && piece_.size() + bytes.size() < kMostBytes;
    if (!next) {
      VXLA_RETURN_IF_ERROR(Finish());
      block_ = place.index;
      begin_ = place.offset_bytes;
      if (bytes.size() >= kMostBytes) return Upload(bytes);
    }
    piece_.resize(place.offset_bytes - begin_);
    piece_.insert(piece_.end(), bytes.begin(), bytes.end());
    return OkStatus();
  }
  Status Finish() {
    if (piece_.empty()) return OkStatus();
    const Status status = Upload(piece_);
    piece_.clear();
    return status;
  }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 20;
  static constexpr int64_t kMostGap = 4096;  // what alignment leaves, and more

  Status Upload(std::span<const std::byte> bytes) {
    return state_.client->device->Upload(bytes, *state_.program.constant_blocks.at(block_), begin_);
  }

  ExecutableState& state_;
  std::vector<std::byte> piece_;  // from begin_ of the block on
  int block_ = -1;
  int64_t begin_ = 0;
};

Status UploadConstantsOf(const Bundle& bundle, const BundleVariant& variant, ExecutableState& state) {
  VXLA_RETURN_IF_ERROR(AllocateConstantBlocks(state));
  ConstantUpload upload(state);
  for (size_t i = 0; i < variant.constants.size(); ++i) {
    const Placement& place = variant.plan.buffers[variant.plan.constants[i].buffer].placement;
    VXLA_RETURN_IF_ERROR(upload.Add(bundle.Constant(variant.constants[i]), place));
  }
  return upload.Finish();
}

Result<std::shared_ptr<Executable>> LoadOrThrow(const std::shared_ptr<ClientState>& client,
                                                std::span<const std::byte> bytes, const LoadOptions& options) {
  const Stopwatch all;
  VXLA_ASSIGN_OR_RETURN(const Bundle bundle, ReadBundle(bytes));
  const DeviceFacts& facts = client->device->facts();
  VXLA_ASSIGN_OR_RETURN(const size_t chosen, ChooseVariant(bundle, facts, client->device->binding_modes()));
  const BundleVariant& variant = bundle.variants[chosen];
  auto state = std::make_shared<ExecutableState>();
  state->client = client;
  state->bundle_variant = variant.ToString();
  state->module = SignatureOf(bundle, variant.plan.name);
  state->program.plan = variant.plan;
  TakeModules(bundle, variant, state->program.plan);
  state->program.layout = LayOutArguments(state->program.plan, BlockAlignment(facts, variant.plan.bindings));
  for (const BundleConversion& conversion : bundle.conversions) {
    const std::span<const std::byte> file = bundle.Constant(conversion.bundle);
    state->conversions.push_back({conversion, {file.begin(), file.end()}});
  }
  state->statistics.plan_ms = all.Ms();
  if (!options.background) VXLA_RETURN_IF_ERROR(MakeKernels(*state));
  if (!facts.compile_only) VXLA_RETURN_IF_ERROR(UploadConstantsOf(bundle, variant, *state));
  MakeContexts(*state);
  state->statistics.ms = all.Ms();
  if (options.background) MakeKernelsInBackground(state);
  return std::make_shared<Executable>(std::move(state));
}

}  // namespace

Result<std::shared_ptr<Executable>> Client::Load(std::span<const std::byte> bundle, const LoadOptions& options) {
  return Guarded([&] { return LoadOrThrow(state_, bundle, options); });
}

}  // namespace VXLA_NAMESPACE
