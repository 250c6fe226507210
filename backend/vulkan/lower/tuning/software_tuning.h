// Tuning for lavapipe and SwiftShader, which run kernels on the host's processor: what the functions of
// lower/tuning/tuning.h ask for instead of a GPU's table. Defined in drivers/software.
#pragma once

#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

RowTraits SoftwareRowTraits();

LoopTuning TuneSoftwareLoop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost);
// For a loop that goes to rows all over an array: where accesses go lane by lane, and there alone, an invocation takes
// neighbours one after the other. `group_bytes`: of a group of a result.
LoopTuning InRuns(const DeviceFacts& facts, LoopTuning tuning, int64_t element_count, int64_t group_bytes);

// Few long rows, on lavapipe: subgroups of a workgroup that wait for each other at a barrier cost a quarter of a sum,
// so each leaves a share of its own, and a second kernel joins some thousand. They still walk side by side: a lane that
// steps through memory by a multiple of 4 KiB is three times as fast as one that goes through a page.
// `steps`: of a row. False: they are shared out otherwise, and on a GPU always.
bool InterleaveShares(const DeviceFacts& facts, const RowWork& work, int64_t steps, RowShape* shape);

DotShape TuneSoftwareDot(const DeviceFacts& facts, const DotWork& work);

// Long rows by digits, an invocation walking over a chunk (sort/radix_chunks.comp), as lanes do not count together.
RadixShape TuneRadixChunks(const DeviceFacts& facts, int64_t rows, int64_t length, int key_words, int bits);
// A chunk of 0, as on every GPU: not by this.
SelectShape TuneSelect(const DeviceFacts& facts, int64_t length, int64_t kept, int64_t item_bytes);

}  // namespace VXLA_NAMESPACE::vulkan
