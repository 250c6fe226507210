// The extension by which clients ask how the devices of a program share its arrays.
#include "integrations/pjrt/plugin.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Shardings_PJRT_Executable_ParameterShardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args& args) {
  const ShardingTexts& texts = args.executable->compiled->parameter_shardings;
  args.num_parameters = texts.sizes.size();
  args.shardings = texts.sizes.empty() ? nullptr : texts.data.data();
  args.sharding_sizes = texts.sizes.empty() ? nullptr : texts.sizes.data();
  return OkStatus();
}

Status Shardings_PJRT_Executable_OutputShardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args& args) {
  const ShardingTexts& texts = args.executable->compiled->output_shardings;
  args.num_outputs = texts.sizes.size();
  args.shardings = texts.sizes.empty() ? nullptr : texts.data.data();
  args.sharding_sizes = texts.sizes.empty() ? nullptr : texts.sizes.data();
  return OkStatus();
}

}  // namespace

PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next) {
  static PJRT_Shardings_Extension extension = [next] {
    PJRT_Shardings_Extension made{};
    made.base = {sizeof(PJRT_Shardings_Extension), PJRT_Extension_Type_Shardings, next};
    VXLA_PJRT_SLOT(made, Shardings_PJRT_Executable_ParameterShardings);
    VXLA_PJRT_SLOT(made, Shardings_PJRT_Executable_OutputShardings);
    return made;
  }();
  return &extension.base;
}

}  // namespace VXLA_NAMESPACE::pjrt
