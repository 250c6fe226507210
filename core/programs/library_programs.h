// Library calls as programs of other operations (core/library/library_calls.h). The text of a program does not grow
// with the size of its matrices: loops run over blocks of columns, and what is done n^3 times is done by products of
// matrices.
#pragma once

#include <memory>

#include "core/ir/module.h"
#include "core/library/library_calls.h"

namespace VXLA_NAMESPACE::matrix_ops {

// A module whose entry takes the operands and gives the results, for calls that are one or two operations by another
// name (Cholesky, triangular-solve, topk, sorts) or a few: what they mean, on the reference too. Null: the others.
Result<std::shared_ptr<const Module>> DefinitionOf(const LibraryCall& call, const Instruction& instruction);

// The same of what has an algorithm for devices: LU, QR, Householder products, eigenvalues of Hermitian matrices and
// singular values. Null: the host computes it.
Result<std::shared_ptr<const Module>> ProgramOf(const LibraryCall& call, const Instruction& instruction);

// A sparse matrix times a vector or a matrix, which DefinitionOf gives (sparse_program.cc).
class ProgramBuilder;
Result<std::shared_ptr<const Module>> SparseProductProgram(ProgramBuilder& program);

}  // namespace VXLA_NAMESPACE::matrix_ops
