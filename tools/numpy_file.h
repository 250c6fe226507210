// Arrays in numpy's files: .npy and .npz, in and out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/literal.h"
#include "core/status.h"

namespace vxla {

struct NumpyArray {
  std::string descr;  // without byte order: "f4", "i8", "b1", "c16", "V2", "U4"
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // row-major, little-endian
  // The text of a 0-d unicode array; empty for others.
  std::string text() const;
};

// The bytes of one .npy file; `name` is for messages.
Result<NumpyArray> ParseNpy(std::string_view bytes, const std::string& name);
Result<NumpyArray> ReadNpy(const std::string& path);
// Every array of an .npz by its name without ".npy".
Result<std::map<std::string, NumpyArray>> ReadNpz(const std::string& path);
// The sidecar text of one of them; empty if it has none.
std::string TypeNameOf(const std::map<std::string, NumpyArray>& arrays, const std::string& name);

// The literal of a program's parameter: `type_name` is the array's sidecar text (core's type name) or empty. Types that
// numpy lacks come as unsigned integers of the storage width with a sidecar, or as V1 and V2 arrays of ml_dtypes.
Result<Literal> ToLiteral(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                          const std::string& name);
// The literal that the array says by itself (its own element type, from the sidecar if there is one).
Result<Literal> ToLiteral(const NumpyArray& array, const std::string& type_name, const std::string& name);

// numpy's name of the unsigned integers that stand for a type which numpy lacks: "uint16" for bf16; else empty.
std::string StandInOf(ElementType type);

// Writes <prefix>_0, <prefix>_1 ... (with their sidecars) under a temporary name and renames, so that the file is whole
// or absent. kResourceExhausted if it cannot be written.
Status WriteNpz(const std::string& path, std::string_view prefix, const std::vector<const Literal*>& leaves);

}  // namespace vxla
