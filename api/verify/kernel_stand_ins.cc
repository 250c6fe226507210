#include "api/verify/kernel_stand_ins.h"

#include <fmt/format.h>

#include <set>

#include "api/verify/isolate.h"

namespace VXLA_NAMESPACE {
namespace {

Status RunKernel(Client* client, const Instruction& call, std::span<const Literal> inputs, Literal& result) {
  if (client == nullptr) return Unsupported("the kernel runs on devices only, and none is open");
  std::vector<std::shared_ptr<const Literal>> operands;
  for (const Literal& input : inputs) operands.push_back(std::make_shared<Literal>(input));
  const SmallProgram program = ProgramOf(call, operands);
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client->Compile(*program.module));
  VXLA_ASSIGN_OR_RETURN(result, executable->Run(program.pointers()));
  return OkStatus();
}

}  // namespace

KernelStandIns::KernelStandIns(const CustomCallRegistry* given, const Module& module, For what) : given_(given) {
  if (given == nullptr) return;
  std::set<std::string> wanted;
  for (const auto& instruction : EachInstruction(module)) {
    if (instruction->opcode() != Opcode::kCustomCall) continue;
    const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
    if (!given->kernels().contains(target)) continue;
    if (what == For::kReference && given->Find(target) != nullptr) continue;
    notes_.push_back(
        fmt::format("nothing checks {}: the reference takes what kernel {} gives on the device (--custom-call "
                    "{}=LIB.so:symbol is a function to compare it with)",
                    instruction->name(), target, target));
    wanted.insert(target);
  }
  if (wanted.empty()) return;
  registry_ = *given;
  client_ = std::make_shared<std::shared_ptr<Client>>();
  for (const std::string& target : wanted) {
    registry_.RegisterEvaluator(target, [client = client_](const Instruction& call, std::span<const Literal> inputs,
                                                           Literal& result, CustomCallStatus& status) {
      if (const Status ran = RunKernel(client->get(), call, inputs, result); !ran.ok())
        status.SetFailure(ran.message());
    });
  }
}

}  // namespace VXLA_NAMESPACE
