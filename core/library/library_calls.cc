#include "core/library/library_calls.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "core/library/library_call_reader.h"

namespace VXLA_NAMESPACE {
namespace {

struct NamedRoutine {
  std::string_view name;
  LibraryRoutine routine;
};

constexpr NamedRoutine kLapackRoutines[] = {
    {"potrf", LibraryRoutine::kCholesky},
    {"trsm", LibraryRoutine::kTriangularSolve},
    {"getrf", LibraryRoutine::kLu},
    {"geqrf", LibraryRoutine::kQr},
    {"geqp3", LibraryRoutine::kPivotedQr},
    {"orgqr", LibraryRoutine::kHouseholderProduct},
    {"ormqr", LibraryRoutine::kReflect},
    {"syevd", LibraryRoutine::kEigh},
    {"gesdd", LibraryRoutine::kSvd},
    {"gesvd", LibraryRoutine::kSvd},
    {"geev", LibraryRoutine::kEig},
    {"gees", LibraryRoutine::kSchur},
    {"gehrd", LibraryRoutine::kHessenberg},
    {"sytrd", LibraryRoutine::kTridiagonal},
    {"gtsv", LibraryRoutine::kTridiagonalSolve},
};
// Names that LAPACK gives to the routines of complex matrices.
constexpr std::pair<std::string_view, std::string_view> kComplexNames[] = {
    {"ungqr", "orgqr"}, {"unmqr", "ormqr"}, {"heevd", "syevd"}, {"hetrd", "sytrd"}};

constexpr NamedRoutine kXlaCalls[] = {
    {"Qr", LibraryRoutine::kQr},
    {"QrDecomposition", LibraryRoutine::kQr},
    {"ProductOfElementaryHouseholderReflectors", LibraryRoutine::kHouseholderProduct},
    {"Eigh", LibraryRoutine::kEigh},
    {"LuDecomposition", LibraryRoutine::kLu},
    {"tridiagonal_solve_perturbed_ffi", LibraryRoutine::kPerturbedSolve},
    {"TopK", LibraryRoutine::kTopK},
    {"ApproxTopK", LibraryRoutine::kApproxTopK},
    {"PartialReduce", LibraryRoutine::kApproxTopK},
    {"Sharding", LibraryRoutine::kIdentity},
    {"LayoutConstraint", LibraryRoutine::kIdentity},
    {"annotate_device_placement", LibraryRoutine::kIdentity},
    {"MoveToHost", LibraryRoutine::kIdentity},
    {"MoveToDevice", LibraryRoutine::kIdentity},
    {"Pin", LibraryRoutine::kIdentity},
    {"Unpin", LibraryRoutine::kIdentity},
    {"CreateBuffer", LibraryRoutine::kZeros},
    {"AllocateBuffer", LibraryRoutine::kZeros},
    {"cpu_csr_sparse_dense_ffi", LibraryRoutine::kSparseProduct},
    {"__op$quantize", LibraryRoutine::kBlockQuantize},
    {"__op$dequantize", LibraryRoutine::kBlockDequantize},
    {"__op$block_scaled_dot", LibraryRoutine::kBlockScaledDot},
};

constexpr std::string_view kBeforeLetter = "lapack_";

struct Target {
  LibraryRoutine routine;
  char letter;  // LAPACK's of the element type; 0: XLA's own call
};

std::optional<Target> TargetOf(std::string_view name) {
  for (const auto& [text, routine] : kXlaCalls) {
    if (name == text) return Target{routine, 0};
  }
  constexpr std::string_view kBefore = kBeforeLetter, kAfter = "_ffi";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter) || name.size() < kBefore.size() + kAfter.size() + 2)
    return std::nullopt;
  const char letter = name[kBefore.size()];
  std::string_view routine = name.substr(kBefore.size() + 1, name.size() - kBefore.size() - kAfter.size() - 1);
  const bool complex = letter == 'c' || letter == 'z';
  if (!complex && letter != 's' && letter != 'd') return std::nullopt;
  for (const auto& [of_complex, of_real] : kComplexNames) {
    if (routine == of_real && complex) return std::nullopt;
    if (routine != of_complex) continue;
    if (!complex) return std::nullopt;
    routine = of_real;
    break;
  }
  for (const auto& [text, meant] : kLapackRoutines) {
    if (routine == text) return Target{meant, letter};
  }
  return std::nullopt;
}

}  // namespace

bool IsLibraryCall(std::string_view target) { return TargetOf(target).has_value(); }

bool IsLinearAlgebraCall(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const auto target = TargetOf(instruction.attributes<CustomCallAttributes>().custom_call_target);
  return target && target->routine != LibraryRoutine::kTopK && target->routine != LibraryRoutine::kApproxTopK &&
         target->routine != LibraryRoutine::kIdentity && target->routine != LibraryRoutine::kZeros;
}

bool IsIdentityCall(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall || instruction.operand_count() != 1) return false;
  const auto target = TargetOf(instruction.attributes<CustomCallAttributes>().custom_call_target);
  return target && target->routine == LibraryRoutine::kIdentity;
}

std::string WidestTarget(std::string target) {
  const std::optional<Target> known = TargetOf(target);
  if (!known || known->letter == 0) return target;
  const bool complex = known->letter == 'c' || known->letter == 'z';
  target[kBeforeLetter.size()] = complex ? 'z' : 'd';
  return target;
}

std::string LibraryCallNames() {
  std::vector<std::string> lapack;
  for (const auto& routine : kLapackRoutines) {
    lapack.emplace_back(routine.name);
    for (const auto& [of_complex, of_real] : kComplexNames) {
      if (of_real == routine.name) lapack.back() += fmt::format("/{}", of_complex);
    }
  }
  std::vector<std::string_view> own;
  for (const auto& call : kXlaCalls) own.push_back(call.name);
  return fmt::format("lapack_{{s,d,c,z}}{{{}}}_ffi, {}", fmt::join(lapack, ","), fmt::join(own, ", "));
}

Result<LibraryCall> LibraryCallOf(const Instruction& instruction) {
  const std::optional<Target> target = TargetOf(instruction.attributes<CustomCallAttributes>().custom_call_target);
  VXLA_CHECK(target.has_value(), "a library call has a name that IsLibraryCall knows");
  return LibraryCallReader(instruction, target->routine, target->letter).Read();
}

}  // namespace VXLA_NAMESPACE
