#include "core/programs/library_programs.h"

#include <cmath>
#include <functional>
#include <unordered_map>

#include "core/data/float_formats.h"
#include "core/programs/matrix_ops.h"
#include "core/programs/matrix_programs.h"
#include "core/programs/program_builder.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

Result<std::shared_ptr<const Module>> CholeskyDefinition(const LibraryCall& call, ProgramBuilder& program) {
  const XlaOp a = program.Stacked(0, 2);
  const IntList sizes = Sizes(a);
  const int64_t n = sizes[1];
  XlaBuilder* const b = program.get();
  if (program.instruction().operand(0)->shape().ElementCount() == 0)
    return program.Build({a, Full(b, ElementType::kS32, {sizes[0]}, 0)});
  const XlaOp factor = Cholesky(a, call.lower);
  const XlaOp r = Indices(b, sizes, 1), c = Indices(b, sizes, 2);
  // LAPACK leaves the other triangle as it is, and tells the first pivot that was not positive.
  const XlaOp result = Select(call.lower ? Ge(r, c) : Le(r, c), factor, a);
  const XlaOp index = Indices(b, {n}, 0);
  const XlaOp diagonal = RealOf(TakeEntries(factor, index, index));
  const XlaOp positive = Gt(diagonal, Full(b, TypeOf(diagonal), Sizes(diagonal), 0));
  const XlaOp number = Add(Indices(b, Sizes(diagonal), 1), Int(b, 1));
  const XlaOp none = Full(b, ElementType::kS32, Sizes(number), n + 1);
  const XlaOp first = MinOver(Select(positive, none, number), {1});
  const XlaOp info = Select(Gt(first, Int(b, n)), Full(b, ElementType::kS32, {sizes[0]}, 0), first);
  return program.Build({result, info});
}

// A computation with what it calls in a module of its own.
XlaComputation Alone(const Computation& computation) {
  auto module = std::make_shared<Module>(computation.name());
  std::unordered_map<const Computation*, Computation*> copies;
  const std::function<Computation*(const Computation*)> copy = [&](const Computation* original) {
    if (const auto made = copies.find(original); made != copies.end()) return made->second;
    Computation* const target = module->AddComputation(original->name());
    copies[original] = target;
    target->set_root(CloneInto(*original, *target, {}, copy));
    return target;
  };
  module->set_entry(copy(&computation));
  module->SortComputations();
  return XlaComputation(std::move(module));
}

Result<std::shared_ptr<const Module>> ApproxTopKDefinition(const LibraryCall& call, ProgramBuilder& program) {
  const Instruction& instruction = program.instruction();
  const int count = instruction.operand_count() / 2;
  std::vector<XlaOp> keys, values;
  for (int k = 0; k < count; ++k) keys.push_back(program.operand(k));
  const XlaComputation comparator = Alone(*instruction.called(0));
  const XlaOp sorted = Sort(keys, comparator, call.dimension, true);
  for (int k = 0; k < count; ++k) {
    const Shape& stated = instruction.shape().IsTuple() ? instruction.shape().tuple_elements()[k] : instruction.shape();
    values.push_back(SliceInDim(count > 1 ? GetTupleElement(sorted, k) : sorted, 0, stated.dimension(call.dimension), 1,
                                call.dimension));
  }
  return program.Build(values);
}

// Values times the scales of their blocks, in that type.
XlaOp Scaled(const LibraryCall& call, XlaOp values, XlaOp scales, ElementType type) {
  const IntList sizes = Sizes(values);
  const auto last = static_cast<int64_t>(sizes.size()) - 1;
  IntList blocks = sizes, lead;
  blocks.back() /= call.block;
  XlaOp scale = ConvertElementType(SliceInDim(scales, 0, blocks.back(), 1, last), type);
  blocks.push_back(call.block);
  for (int64_t d = 0; d <= last; ++d) lead.push_back(d);
  scale = Reshape(BroadcastInDim(scale, blocks, lead), sizes);
  return Mul(ConvertElementType(values, type), scale);
}

// XLA's own expansions: a block's scale takes its largest magnitude to the type's largest power of two.
Result<std::shared_ptr<const Module>> BlockScalesDefinition(const LibraryCall& call, ProgramBuilder& program) {
  const XlaOp a = program.operand(0);
  const Shape& stated = program.instruction().shape();
  if (call.routine == LibraryRoutine::kBlockDequantize)
    return program.Build({Scaled(call, a, program.operand(1), stated.element_type())});
  if (call.routine == LibraryRoutine::kBlockQuantize) {
    const ElementType type = TypeOf(a);
    const Shape &values = stated.tuple_elements()[0], &scales = stated.tuple_elements()[1];
    IntList blocks = Sizes(a);
    blocks.back() /= call.block;
    blocks.push_back(call.block);
    const auto last = static_cast<int64_t>(blocks.size()) - 1;
    const XlaOp largest = MaxOver(Abs(Reshape(a, blocks)), {last});
    const double power = std::exp2(std::floor(std::log2(MaxFinite(values.element_type()))));
    const XlaOp scale =
        ConvertElementType(Div(largest, Full(program.get(), type, Sizes(largest), power)), scales.element_type());
    const XlaOp one = Full(program.get(), type, Sizes(a), 1);
    return program.Build({ConvertElementType(Div(a, Scaled(call, one, scale, type)), values.element_type()), scale});
  }
  const ElementType type = stated.element_type();
  const int count = program.instruction().operand_count();
  const XlaOp left = Scaled(call, a, program.operand(2), type);
  const XlaOp right = count > 3 ? Scaled(call, program.operand(1), program.operand(3), type)
                                : ConvertElementType(program.operand(1), type);
  const auto rank = static_cast<int64_t>(Sizes(a).size());
  DotDimensionNumbers dimensions;
  dimensions.lhs_contracting_dimensions = dimensions.rhs_contracting_dimensions = {rank - 1};
  if (rank == 3) dimensions.lhs_batch_dimensions = dimensions.rhs_batch_dimensions = {0};
  XlaOp result = DotGeneral(left, right, dimensions, nullptr, type);
  if (count > 4) result = Mul(result, BroadcastInDim(ConvertElementType(program.operand(4), type), Sizes(result), {}));
  return program.Build({result});
}

Result<std::shared_ptr<const Module>> LuOf(const LibraryCall& call, ProgramBuilder& program) {
  const LuParts parts = LuProgram(program.Stacked(0, 2));
  if (call.lapack) return program.Build({parts.lu, Add(parts.pivots, Int(program.get(), 1)), parts.info});
  return program.Build({parts.lu, parts.pivots, parts.permutation});
}

Result<std::shared_ptr<const Module>> SvdOf(const LibraryCall& call, ProgramBuilder& program) {
  const XlaOp a = program.Stacked(0, 2);
  const IntList sizes = Sizes(a);
  const SvdParts parts = SvdProgram(a, call.all_columns, call.vectors);
  if (call.vectors) return program.Build({a, parts.values, parts.u, Adjoint(parts.v), parts.info});
  // Nobody reads the vectors, whose sizes are those of a call that gives them: with all columns or without.
  const auto unread = [&](size_t k) {
    const Shape& shape = program.instruction().shape().tuple_elements().at(k);
    return Full(program.get(), TypeOf(a),
                {sizes[0], shape.dimension(shape.rank() - 2), shape.dimension(shape.rank() - 1)}, 0);
  };
  return program.Build({a, parts.values, unread(2), unread(3), parts.info});
}

// c Q is (Q^H c^H)^H.
Result<std::shared_ptr<const Module>> ReflectOf(const LibraryCall& call, ProgramBuilder& program) {
  const XlaOp reflectors = program.Stacked(0, 2), taus = program.Stacked(1, 1), c = program.Stacked(2, 2);
  const Instruction& instruction = program.instruction();
  const bool nothing = instruction.shape().ElementCount() == 0 || instruction.operand(0)->shape().ElementCount() == 0;
  if (nothing) return program.Build({c});
  if (call.left_side) return program.Build({ReflectProgram(reflectors, taus, c, call.adjoint)});
  return program.Build({Adjoint(ReflectProgram(reflectors, taus, Adjoint(c), !call.adjoint))});
}

}  // namespace

Result<std::shared_ptr<const Module>> DefinitionOf(const LibraryCall& call, const Instruction& instruction) {
  ProgramBuilder program("library_call", instruction);
  const Shape& shape = instruction.shape();
  switch (call.routine) {
    case LibraryRoutine::kCholesky:
      return CholeskyDefinition(call, program);
    case LibraryRoutine::kTriangularSolve:
      return program.Finish(TriangularSolve(program.operand(0), program.operand(1), call.left_side, call.lower,
                                            call.unit_diagonal, call.transpose));
    case LibraryRoutine::kTopK: {
      const Shape& values = shape.tuple_elements()[0];
      return program.Finish(TopK(program.operand(0), values.dimension(values.rank() - 1)));
    }
    case LibraryRoutine::kApproxTopK:
      return ApproxTopKDefinition(call, program);
    case LibraryRoutine::kBlockQuantize:
    case LibraryRoutine::kBlockDequantize:
    case LibraryRoutine::kBlockScaledDot:
      return BlockScalesDefinition(call, program);
    case LibraryRoutine::kSparseProduct:
      return SparseProductProgram(program);
    case LibraryRoutine::kIdentity:
      return program.Finish(Copy(program.operand(0)));
    case LibraryRoutine::kZeros:
      return program.Finish(
          Full(program.get(), shape.element_type(), IntList(shape.dimensions().begin(), shape.dimensions().end()), 0));
    default:
      return std::shared_ptr<const Module>();
  }
}

Result<std::shared_ptr<const Module>> ProgramOf(const LibraryCall& call, const Instruction& instruction) {
  ProgramBuilder program("library_call", instruction);
  if (call.routine == LibraryRoutine::kReflect) return ReflectOf(call, program);
  // Nothing to compute: the host fills in what an empty matrix has.
  if (instruction.operand(0)->shape().ElementCount() == 0) return std::shared_ptr<const Module>();
  switch (call.routine) {
    case LibraryRoutine::kLu:
      return LuOf(call, program);
    case LibraryRoutine::kQr: {
      const QrParts parts = QrProgram(program.Stacked(0, 2));
      return program.Build({parts.qr, parts.taus});
    }
    case LibraryRoutine::kHouseholderProduct:
      return program.Build({HouseholderProgram(program.Stacked(0, 2), program.Stacked(1, 1))});
    case LibraryRoutine::kEigh: {
      const EighParts parts = EighProgram(program.Stacked(0, 2), call.lower);
      if (call.lapack) return program.Build({parts.vectors, parts.values, parts.info});
      return program.Build({parts.vectors, parts.values});
    }
    case LibraryRoutine::kSvd:
      return SvdOf(call, program);
    case LibraryRoutine::kTridiagonalSolve:
    case LibraryRoutine::kPerturbedSolve: {
      const bool perturbed = call.routine == LibraryRoutine::kPerturbedSolve;
      const TridiagonalSolution s = TridiagonalSolveProgram(program.Stacked(0, 1), program.Stacked(1, 1),
                                                            program.Stacked(2, 1), program.Stacked(3, 2), perturbed);
      return perturbed ? program.Build({s.x}) : program.Build({s.lower, s.diagonal, s.upper, s.x, s.info});
    }
    default:
      return std::shared_ptr<const Module>();
  }
}

}  // namespace VXLA_NAMESPACE::matrix_ops
