// The extension by which clients ask how arrays lie in device memory.
#include "integrations/pjrt/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

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
  args.layout = MakeLayout(RowMajor(static_cast<int>(args.num_dims))).release();
  return OkStatus();
}

Status Layouts_PJRT_Topology_GetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  args.layout = MakeLayout(RowMajor(static_cast<int>(args.num_dims))).release();
  return OkStatus();
}

Status Layouts_PJRT_Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  args.layout = MakeLayout(args.buffer->minor_to_major).release();
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

std::unique_ptr<PJRT_Layouts_MemoryLayout> MakeLayout(const std::vector<int64_t>& minor_to_major) {
  auto layout = std::make_unique<PJRT_Layouts_MemoryLayout>();
  layout->text = fmt::format("{{{}}}", fmt::join(minor_to_major, ","));
  return layout;
}

Result<std::vector<int64_t>> OrderOf(std::string_view text, int rank) {
  if (text.empty() || text == "default" || text == "auto") return RowMajor(rank);
  if (text.find(':') != std::string_view::npos) return Unsupported("the layout {}: arrays have no tiles", text);
  std::vector<int64_t> order;
  const char *at = text.data() + 1, *const end = text.data() + text.size() - 1;
  bool good = text.size() >= 2 && text.front() == '{' && text.back() == '}';
  while (good && at < end) {
    const auto [next, error] = std::from_chars(at, end, order.emplace_back());
    good = error == std::errc() && (next == end || (*next == ',' && next + 1 < end));
    at = next + 1;
  }
  if (!good) return InvalidArgument("the layout {}: numbers of dimensions in braces are wanted", text);
  VXLA_RETURN_IF_ERROR(CheckOrder(order, rank));
  return order;
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
