// Arguments of a program: from .npz or .npy files, the rest from a seeded generator.
#pragma once

#include <string>
#include <vector>

#include "core/literal.h"
#include "core/module.h"

namespace vxla {

struct ProgramArguments {
  std::vector<Literal> values;           // one per entry parameter, tuples rebuilt
  std::vector<std::string> notes;        // "arg_2: f32[3] from seed 0": the ones that no file gave
  std::vector<const Literal*> pointers() const;
};

// `files`: one .npz (arg_0, arg_1 ... flattened depth first) or .npy files in that order. Missing ones are made from `seed`;
// what is given must fit, and a name that no parameter wants is an error.
Result<ProgramArguments> LoadArguments(const Module& module, const std::vector<std::string>& files, uint64_t seed);

// An array from the seed: floats normal, integers uniform in [0, 8) or the type's range if smaller, pred fair. Counter-based
// (Philox 4x32-10 of element, array and seed) and made with IEEE arithmetic alone: the same bits on every machine.
Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array);

}  // namespace vxla
