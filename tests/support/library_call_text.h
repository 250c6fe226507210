// The text of custom calls as JAX 0.10 writes them: LAPACK's typed calls with matrices column by column.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/data/shape.h"

namespace VXLA_NAMESPACE::testing {

inline std::string MatrixText(ElementType type, const std::vector<int64_t>& sizes, bool columns_first = false) {
  std::string text = fmt::format("{}[{}]", ElementTypeName(type), fmt::join(sizes, ","));
  if (!columns_first || sizes.size() < 2) return text;
  const auto rank = static_cast<int64_t>(sizes.size());
  std::vector<int64_t> order{rank - 2, rank - 1};
  for (int64_t d = rank - 3; d >= 0; --d) order.push_back(d);
  return text + fmt::format("{{{}}}", fmt::join(order, ","));
}

inline std::vector<int64_t> WithSizes(std::vector<int64_t> batch, const std::vector<int64_t>& sizes) {
  batch.insert(batch.end(), sizes.begin(), sizes.end());
  return batch;
}

struct TypedArray {
  ElementType type;
  std::vector<int64_t> sizes;
};

// A program of one call. `routine`: "getrf" of lapack_sgetrf_ffi, by the type of the first operand.
inline std::string LapackProgram(const std::string& routine, const std::vector<TypedArray>& operands,
                                 const std::vector<TypedArray>& results, const std::string& config = {}) {
  const char letter = operands[0].type == ElementType::kF32   ? 's'
                      : operands[0].type == ElementType::kF64 ? 'd'
                      : operands[0].type == ElementType::kC64 ? 'c'
                                                              : 'z';
  std::string text = "ENTRY e {\n";
  std::vector<std::string> names, layouts, shapes;
  for (const TypedArray& operand : operands) {
    names.push_back(fmt::format("p{}", names.size()));
    layouts.push_back(MatrixText(operand.type, operand.sizes, true));
    text +=
        fmt::format("{} = {} parameter({})\n", names.back(), MatrixText(operand.type, operand.sizes), names.size() - 1);
  }
  for (const TypedArray& result : results)
    shapes.push_back(MatrixText(result.type, result.sizes, result.type != ElementType::kS32));
  const std::string shape = shapes.size() == 1 ? shapes[0] : fmt::format("({})", fmt::join(shapes, ", "));
  return text + fmt::format(
                    "ROOT r = {} custom-call({}), custom_call_target=\"lapack_{}{}_ffi\", "
                    "operand_layout_constraints={{{}}}, api_version=API_VERSION_TYPED_FFI, "
                    "backend_config={{{}}} }}",
                    shape, fmt::join(names, ", "), letter, routine, fmt::join(layouts, ", "), config);
}

// jaxlib's solution of tridiagonal systems whose pivots may be zero.
inline std::string PerturbedSolveText(ElementType type, const std::vector<int64_t>& vector, int64_t columns) {
  const std::vector<int64_t> b = WithSizes(vector, {columns});
  std::string text = LapackProgram("", {{type, vector}, {type, vector}, {type, vector}, {type, b}}, {{type, b}});
  const size_t begin = text.find("lapack_"), end = text.find("_ffi");
  return text.replace(begin, end - begin, "tridiagonal_solve_perturbed");
}

// A sparse matrix of so many values and rows times what has the shape `dense`.
inline std::string SparseProductText(const std::string& type, const std::string& index, int64_t values,
                                     const std::string& dense, int64_t rows, const std::string& result) {
  return fmt::format(
      "ENTRY e {{ a = {0}[{2}] parameter(0)\n s = {1}[{4}] parameter(1)\n c = {1}[{2}] parameter(2)\n"
      " x = {0}{3} parameter(3)\n ROOT r = {0}{5} custom-call(a, s, c, x), "
      "custom_call_target=\"cpu_csr_sparse_dense_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={{}} }}",
      type, index, values, dense, rows + 1, result);
}

}  // namespace VXLA_NAMESPACE::testing
