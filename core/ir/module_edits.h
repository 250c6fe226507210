// What passes do to computations and modules whatever they are for.
#pragma once

#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// As they stand now, for a walk that adds and removes some.
std::vector<Instruction*> InstructionList(const Computation& computation);

// What ran before and after `from` runs before and after `to` instead, this one itself aside.
void MoveControlEdges(Instruction* from, Instruction* to);

// By control edges, in each computation: those that have the property, deep, run in the order in which they stand.
void KeepOrder(Module& module, DeepProperty::Has has);

// Removes instructions that no root and no side effect needs, then computations that the entry does not reach.
// Parameters stay. Returns whether anything went.
bool RemoveDeadCode(Module& module);

// Copies a program with what it calls into a module; returns its entry there.
Computation* AddProgram(Module& module, const Module& program);

}  // namespace VXLA_NAMESPACE
