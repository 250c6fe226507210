// Reads the text of library calls and compares their shapes with what the routines take and give.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/library/library_calls.h"

namespace VXLA_NAMESPACE {

// One call of a routine: each family of routines has its member, which reads what all of them state in the same ways.
class LibraryCallReader {
 public:
  // `letter`: LAPACK's of the element type; 0: the call is none of LAPACK's.
  LibraryCallReader(const Instruction& instruction, LibraryRoutine routine, char letter);

  Result<LibraryCall> Read() {
    VXLA_RETURN_IF_ERROR(CheckShapes());
    return call_;
  }

 private:
  struct Leaf {
    ElementType type;
    IntList sizes;  // after the batch
  };

  template <typename... Args>
  Status Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("custom-call {}: {}: {}", instruction_.name(), name_,
                           fmt::format(format, std::forward<Args>(args)...))
        .At(instruction_.location());
  }
  // What backend_config gives a name: one of the letters that LAPACK would take as an argument; an integer; a flag.
  Result<char> Letter(std::string_view name, std::string_view choices) const;
  // Whether it is this one of them.
  Status Choose(std::string_view name, std::string_view choices, char letter, bool& is) const;
  std::optional<int64_t> Integer(std::string_view name) const;
  std::optional<bool> Flag(std::string_view name) const;

  // lower, diagonal and upper come before the matrices.
  bool TakesDiagonals() const {
    return call_.routine == LibraryRoutine::kTridiagonalSolve || call_.routine == LibraryRoutine::kPerturbedSolve;
  }
  const Shape& Operand(int k) const { return instruction_.operand(k)->shape(); }
  IntList SizesOfOperand(int k) const { return {Operand(k).dimensions().begin(), Operand(k).dimensions().end()}; }
  Status ExpectOperands(int count) const;
  // An operand that is a stack of matrices, in the order of memory that LAPACK takes.
  Status ExpectMatrices(int k, bool square);
  // Operand k has elements of operand 0's type and its batch, then these sizes.
  Status ExpectOperand(int k, ElementType type, const IntList& sizes) const;
  Status Expect(const Shape& shape, const std::string& what, ElementType type, const IntList& sizes) const;
  Status ExpectResults(const std::vector<Leaf>& leaves) const;
  // LAPACK sees the memory: a matrix's columns one after the other, the matrices of a batch too.
  Status CheckLayout(const Shape& shape, const std::string& what) const;
  Status CheckLayouts() const;

  using Reader = Status();
  Reader CheckShapes;
  // Of matrices (library_call_matrices.cc).
  Reader ReadMatrices, ReadSolve, ReadLu, ReadReflectors, ReadReflect, ReadEigh, ReadSvd, ReadGeneral, ReadTridiagonal;
  // Operand k is what the matrices are applied to, on the side that the call says; and so is the result.
  Status ReadOtherSide(int k);
  // Of other arrays (library_call_arrays.cc).
  Reader ReadTopK, ReadApproxTopK, ReadSparseProduct, ReadBlocks;
  Status ReadScales(const Shape& values, const Shape& scales);

  const Instruction& instruction_;
  const std::string& name_;
  const std::string& config_;
  const char letter_;
  LibraryCall call_;
  IntList batch_;
  ElementType type_ = ElementType::kF32, real_ = ElementType::kF32;
  int64_t rows_ = 0, columns_ = 0, least_ = 0;
};

}  // namespace VXLA_NAMESPACE
