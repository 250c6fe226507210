// Training steps of transformers over several devices, each as a program of whole arrays with shardings and as one
// written by hand for each device, with its collectives: for `vxla bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace VXLA_NAMESPACE {

struct ShardedStep {
  std::string name;            // "tensor parallel"
  std::string whole, by_hand;  // StableHLO
  int64_t devices = 4;
};

// Data, tensor, sequence and expert parallel, and fully sharded. width: of a token; 32 times a whole number.
std::vector<ShardedStep> ShardedSteps(int64_t width);

}  // namespace VXLA_NAMESPACE
