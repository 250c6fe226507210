// Arrays in numpy's files: .npy and .npz, in and out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/literal.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

struct NumpyArray {
  std::string descr;  // without byte order: "f4", "i8", "b1", "c16", "V2", "U4"
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // row-major, little-endian
  // The text of a 0-d unicode array; empty for others.
  std::string text() const;
};

// Sees an array without its data, and refuses it before the data takes memory.
using AcceptArray = std::function<Status(const NumpyArray&)>;

// The bytes of one .npy file; `name` is for messages.
Result<NumpyArray> ParseNpy(std::string_view bytes, const std::string& name);
Result<NumpyArray> ReadNpy(const std::string& path);

// An .npz file, whose arrays are unpacked when they are asked for and not before: what nobody asks for may be damaged,
// or far larger unpacked than packed. Names are without ".npy". Safe to use from several threads.
class NpzFile {
 public:
  static Result<std::unique_ptr<NpzFile>> Open(const std::string& path);
  NpzFile(const NpzFile&) = delete;
  ~NpzFile();

  std::vector<std::string> names() const;
  bool Contains(const std::string& name) const { return entries_.contains(name); }
  Result<NumpyArray> Read(const std::string& name, const AcceptArray& accept = {}) const;
  // numpy.savez(file, x, y) names arrays arr_0, arr_1 ...: where there is one and no <prefix>_0, they are taken for
  // <prefix>_0, <prefix>_1 ...
  void TakeUnnamedAs(const std::string& prefix);
  // The text of the sidecar that names an array's type; empty if it has none.
  Result<std::string> TypeName(const std::string& name) const;

 private:
  struct Archive;
  explicit NpzFile(std::string path);

  std::string path_;
  std::unique_ptr<Archive> archive_;
  std::map<std::string, uint64_t> entries_;  // positions in the archive
  mutable std::mutex mutex_;
};

// The literal of a program's parameter: `type_name` is the array's sidecar text (core's type name) or empty. Types that
// numpy lacks come as unsigned integers of the storage width with a sidecar, or as V1 and V2 arrays of ml_dtypes.
Result<Literal> ToLiteral(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                          const std::string& name);
// Whether ToLiteral will take it; looks at no data.
Status CheckArray(const NumpyArray& array, const Shape& wanted, const std::string& type_name, const std::string& name);
// The literal that the array says by itself (its own element type, from the sidecar if there is one).
Result<Literal> ToLiteral(const NumpyArray& array, const std::string& type_name, const std::string& name);

// numpy's name of the unsigned integers that stand for a type which numpy lacks: "uint16" for bf16; else empty.
std::string StandInOf(ElementType type);

// Whether the name says that a file is one array, or an archive of them.
bool IsNpyName(std::string_view path);
bool IsNpzName(std::string_view path);
// Writes one array. Of a type that numpy lacks numpy gets the bits, as V1 or V2 as ml_dtypes has them.
Status WriteNpy(const std::string& path, const Literal& array);
// Writes <prefix>_0, <prefix>_1 ... (with their sidecars) under a temporary name and renames, so that the file is whole
// or absent. kResourceExhausted if it cannot be written.
Status WriteNpz(const std::string& path, std::string_view prefix, const std::vector<const Literal*>& leaves);

}  // namespace VXLA_NAMESPACE
