// Facts of the drivers that run kernels on the host's processor, lavapipe and SwiftShader (DeviceFacts::is_software).
#pragma once

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// What the processor is, which holds as well where the driver is taken for a GPU: threads, rates, AVX-512.
void NoteHostProcessor(DeviceFacts& facts);

// Pure. What lowerings weigh: the costs in the place of a GPU's.
void NoteSoftwareCosts(DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
