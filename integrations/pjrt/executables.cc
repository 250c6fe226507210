#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Executable_Destroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return OkStatus();
}

Status Executable_Name(PJRT_Executable_Name_Args& args) {
  args.executable_name = args.executable->compiled->name.data();
  args.executable_name_size = args.executable->compiled->name.size();
  return OkStatus();
}

Status Executable_NumReplicas(PJRT_Executable_NumReplicas_Args& args) {
  args.num_replicas = static_cast<size_t>(args.executable->compiled->replicas);
  return OkStatus();
}

Status Executable_NumPartitions(PJRT_Executable_NumPartitions_Args& args) {
  args.num_partitions = static_cast<size_t>(args.executable->compiled->partitions);
  return OkStatus();
}

Status Executable_NumOutputs(PJRT_Executable_NumOutputs_Args& args) {
  args.num_outputs = args.executable->compiled->output_types.size();
  return OkStatus();
}

Status Executable_SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = 0;  // the driver's, and it does not say
  return OkStatus();
}

Status Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  args.properties = args.executable->compiled->costs.data();
  args.num_properties = args.executable->compiled->costs.size();
  return OkStatus();
}

Status Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  const PlanCost cost = args.executable->compiled->program.cost();
  ClearFrom(args, args.generated_code_size_in_bytes);
  args.argument_size_in_bytes = cost.argument_bytes;
  args.output_size_in_bytes = cost.result_bytes;
  args.alias_size_in_bytes = cost.alias_bytes;
  args.temp_size_in_bytes = cost.scratch_bytes + cost.constant_bytes;
  args.total_size_in_bytes = cost.argument_bytes + cost.result_bytes - cost.alias_bytes + args.temp_size_in_bytes;
  args.peak_memory_in_bytes = args.total_size_in_bytes;
  args.total_allocation_bytes = args.total_size_in_bytes;
  return OkStatus();
}

Status Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  const CompiledProgram& compiled = *args.executable->compiled;
  args.num_outputs = compiled.output_memory_kinds.size();
  args.memory_kinds = compiled.output_memory_kinds.data();
  args.memory_kind_sizes = compiled.output_memory_kind_sizes.data();
  return OkStatus();
}

Status Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args& args) {
  const CompiledProgram& compiled = *args.executable->compiled;
  args.num_parameters = compiled.parameter_memory_kinds.size();
  args.memory_kinds = compiled.parameter_memory_kinds.data();
  args.memory_kind_sizes = compiled.parameter_memory_kind_sizes.data();
  return OkStatus();
}

Status Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args& args) {
  args.output_types = const_cast<PJRT_Buffer_Type*>(args.executable->compiled->output_types.data());
  args.num_output_types = args.executable->compiled->output_types.size();
  return OkStatus();
}

Status Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args& args) {
  args.num_outputs = args.executable->compiled->output_ranks.size();
  args.dims = args.executable->compiled->output_dims.data();
  args.dim_sizes = args.executable->compiled->output_ranks.data();
  return OkStatus();
}

// Without room for it the size alone is told.
Status Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args& args) {
  if (args.program == nullptr) return InvalidArgument("no program is given to be filled in");
  const CompiledProgram& compiled = *args.executable->compiled;
  args.program->format = compiled.format.data();
  args.program->format_size = compiled.format.size();
  // JAX makes HLO of it, which knows no meshes.
  const std::string& of_partition = compiled.program.partition_text();
  const std::string& code = of_partition.empty() ? compiled.code : of_partition;
  if (args.program->code == nullptr) {
    args.program->code_size = code.size();
    return OkStatus();
  }
  if (args.program->code_size < code.size())
    return InvalidArgument("{} bytes for a program of {}", args.program->code_size, code.size());
  std::memcpy(args.program->code, code.data(), code.size());
  args.program->code_size = code.size();
  return OkStatus();
}

Status Executable_Fingerprint(PJRT_Executable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->compiled->fingerprint.data();
  args.executable_fingerprint_size = args.executable->compiled->fingerprint.size();
  return OkStatus();
}

Status LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return OkStatus();
}

Status LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  args.executable = new PJRT_Executable{args.loaded_executable->compiled};
  return OkStatus();
}

Status LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  args.addressable_devices = args.executable->compiled->devices.data();
  args.num_addressable_devices = args.executable->compiled->devices.size();
  return OkStatus();
}

Status LoadedExecutable_AddressableDeviceLogicalIds(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  const auto& ids = args.executable->compiled->logical_ids;
  args.addressable_device_logical_ids = const_cast<PJRT_LogicalDeviceIds*>(ids.data());
  args.num_addressable_device_logical_ids = ids.size();
  return OkStatus();
}

Status LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  args.serialized_bytes = args.executable->compiled->assignment.data();
  args.serialized_bytes_size = args.executable->compiled->assignment.size();
  args.serialized_device_assignment = nullptr;
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized*) {};
  return OkStatus();
}

Status LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args& args) {
  args.executable->deleted = true;
  return OkStatus();
}

Status LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  args.is_deleted = args.executable->deleted;
  return OkStatus();
}

Status LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->compiled->fingerprint.data();
  args.executable_fingerprint_size = args.executable->compiled->fingerprint.size();
  return OkStatus();
}

}  // namespace

void AddExecutableSlots(PJRT_Api& api) {
  VXLA_PJRT_FREE_SLOT(api, Executable_Destroy);
  VXLA_PJRT_SLOT(api, Executable_Name);
  VXLA_PJRT_SLOT(api, Executable_NumReplicas);
  VXLA_PJRT_SLOT(api, Executable_NumPartitions);
  VXLA_PJRT_SLOT(api, Executable_NumOutputs);
  VXLA_PJRT_SLOT(api, Executable_SizeOfGeneratedCodeInBytes);
  VXLA_PJRT_SLOT(api, Executable_GetCostAnalysis);
  VXLA_PJRT_SLOT(api, Executable_GetCompiledMemoryStats);
  VXLA_PJRT_SLOT(api, Executable_OutputMemoryKinds);
  VXLA_PJRT_SLOT(api, Executable_ParameterMemoryKinds);
  VXLA_PJRT_SLOT(api, Executable_OutputElementTypes);
  VXLA_PJRT_SLOT(api, Executable_OutputDimensions);
  VXLA_PJRT_SLOT(api, Executable_OptimizedProgram);
  VXLA_PJRT_SLOT(api, Executable_Fingerprint);
  VXLA_PJRT_FREE_SLOT(api, LoadedExecutable_Destroy);
  VXLA_PJRT_SLOT(api, LoadedExecutable_GetExecutable);
  VXLA_PJRT_SLOT(api, LoadedExecutable_AddressableDevices);
  VXLA_PJRT_SLOT(api, LoadedExecutable_AddressableDeviceLogicalIds);
  VXLA_PJRT_SLOT(api, LoadedExecutable_GetDeviceAssignment);
  VXLA_PJRT_FREE_SLOT(api, LoadedExecutable_Delete);
  VXLA_PJRT_SLOT(api, LoadedExecutable_IsDeleted);
  VXLA_PJRT_SLOT(api, LoadedExecutable_Fingerprint);
}

}  // namespace VXLA_NAMESPACE::pjrt
