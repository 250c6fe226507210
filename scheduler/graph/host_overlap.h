// Host overlap: what the device can do while the host evaluates an instruction.
#pragma once

#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Afterwards an operation of the device stands before every host evaluation that it does not depend on, and what a host
// evaluation needs stands, as a group of its own, before what it does not need: so the device works while the host
// does. Beside an exchange with other devices, which takes the host no time of its own, that is only what takes longer
// than a submission; the rest comes behind it. Host evaluations keep their order, and nothing moves over a decision of
// the host. Before copies are elided and buffers placed. True if the order has changed.
bool OverlapHostSteps(StepGraph& graph, const DeviceFacts& facts);

// Of each host evaluation the segments whose work it waits for: those that touch what it reads or writes, wherever
// buffers lie. After segments are made.
void FindHostWaits(Plan& plan);

}  // namespace VXLA_NAMESPACE
