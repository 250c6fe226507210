// The extension by which clients ask how arrays lie in device memory: row-major, always.
#include "integrations/pjrt/layouts.h"

#include <fmt/format.h>

#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args& args) {
  delete args.layout;
  return OkStatus();
}

Status Layouts_MemoryLayout_Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  // Freed by the deleter, whatever happens to the layout.
  auto text = std::make_unique<std::string>(args.layout->text);
  args.serialized_bytes = text->data();
  args.serialized_bytes_size = text->size();
  args.serialized_layout = reinterpret_cast<PJRT_Layouts_SerializedLayout*>(text.release());
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* layout) {
    delete reinterpret_cast<std::string*>(layout);
  };
  return OkStatus();
}

Status Layouts_PJRT_Client_GetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  args.layout = MakeLayout(args.num_dims).release();
  return OkStatus();
}

Status Layouts_PJRT_Topology_GetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  args.layout = MakeLayout(args.num_dims).release();
  return OkStatus();
}

Status Layouts_PJRT_Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  args.layout = MakeLayout(args.buffer->minor_to_major.size()).release();
  return OkStatus();
}

Status Layouts_PJRT_Executable_GetOutputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  args.num_outputs = args.executable->compiled->output_layouts.size();
  args.layouts = const_cast<PJRT_Layouts_MemoryLayout**>(args.executable->compiled->output_layouts.data());
  return OkStatus();
}

Status Layouts_PJRT_Executable_GetParameterLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& args) {
  args.num_parameters = args.executable->compiled->parameter_layouts.size();
  args.layouts = const_cast<PJRT_Layouts_MemoryLayout**>(args.executable->compiled->parameter_layouts.data());
  return OkStatus();
}

}  // namespace

std::unique_ptr<PJRT_Layouts_MemoryLayout> MakeLayout(size_t rank) {
  auto layout = std::make_unique<PJRT_Layouts_MemoryLayout>();
  for (size_t i = rank; i > 0; --i) layout->text += fmt::format("{}{}", i == rank ? "" : ",", i - 1);
  layout->text = "{" + layout->text + "}";
  return layout;
}

PJRT_Extension_Base* LayoutsExtension() {
  static PJRT_Layouts_Extension extension = [] {
    PJRT_Layouts_Extension made{};
    made.base = {sizeof(PJRT_Layouts_Extension), PJRT_Extension_Type_Layouts, nullptr};
    VXLA_PJRT_SLOT(made, Layouts_MemoryLayout_Destroy);
    VXLA_PJRT_SLOT(made, Layouts_MemoryLayout_Serialize);
    VXLA_PJRT_SLOT(made, Layouts_PJRT_Client_GetDefaultLayout);
    VXLA_PJRT_SLOT(made, Layouts_PJRT_Topology_GetDefaultLayout);
    VXLA_PJRT_SLOT(made, Layouts_PJRT_Buffer_MemoryLayout);
    VXLA_PJRT_SLOT(made, Layouts_PJRT_Executable_GetOutputLayouts);
    VXLA_PJRT_SLOT(made, Layouts_PJRT_Executable_GetParameterLayouts);
    return made;
  }();
  return &extension.base;
}

}  // namespace VXLA_NAMESPACE::pjrt
