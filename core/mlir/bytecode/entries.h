// The attributes and types of a bytecode file: each is decoded when it is first asked for, so that what nothing uses
// (locations, other dialects' attributes) costs nothing and need not be known.
#pragma once

#include <vector>

#include "core/mlir/bytecode/container.h"
#include "core/mlir/bytecode/vhlo.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// One class, because an entry is decoded when another one names it, of whatever dialect either is.
class BytecodeEntries {
 public:
  BytecodeEntries(std::string_view file, const BytecodeContainer& container) : file_(file), container_(container) {}

  // Sections Dialect's names, AttrTypeOffset and ResourceOffset.
  Status Read(const std::vector<std::string_view>& dialects);

  size_t attribute_count() const { return attributes_.size(); }
  // The attribute or type whose number is next in `in`. They stay where they are.
  Result<const Attribute*> ReadAttribute(ByteReader& in);
  // The same of one that may be absent: null.
  Result<const Attribute*> ReadOptionalAttribute(ByteReader& in);
  Result<const Type*> ReadType(ByteReader& in);
  // The same with a number that was read already.
  Result<const Attribute*> AttributeAt(const ByteReader& in, uint64_t index);
  Result<const Type*> TypeAt(const ByteReader& in, uint64_t index);
  Result<std::vector<Type>> ReadTypes(ByteReader& in);
  Result<Dictionary> ReadDictionary(ByteReader& in);
  Result<std::string> ReadString(ByteReader& in);

 private:
  template <typename T>
  struct Entry {
    std::string_view dialect, body;
    bool has_encoding = true, known = false;
    T value;
    int64_t nodes = 1;  // attributes and types within it
  };
  struct Resource {
    std::string_view key;
    std::string_view bytes;
    uint8_t kind = 0;
  };

  Status ReadOffsets(const std::vector<std::string_view>& dialects);
  Status ReadResources(size_t dialect_count);
  // Entries stand for others, which may double what they are again and again, or stand for themselves: both are paid
  // from a budget.
  Status Spend(const ByteReader& in, int64_t nodes);
  template <typename T>
  Result<const T*> Get(const ByteReader& in, Entry<T>& entry);
  Status Decode(ByteReader& in, const Entry<Attribute>& entry, Attribute& out);
  Status Decode(ByteReader& in, const Entry<Type>& entry, Type& out);
  Status DecodeVhloAttribute(ByteReader& in, VhloAttribute kind, Attribute& out);
  Status DecodeBuiltinAttribute(ByteReader& in, BuiltinAttribute kind, Attribute& out);
  Status DecodeVhloType(ByteReader& in, VhloType kind, Type& out);
  Status DecodeBuiltinType(ByteReader& in, BuiltinType kind, Type& out);
  using AttributeForm = Status(ByteReader& in, Attribute& out);
  // stablehlo_entries.cc
  Status DecodeStablehloAttribute(ByteReader& in, StablehloAttribute kind, Attribute& out);
  Status DecodeChloAttribute(ByteReader& in, ChloAttribute kind, Attribute& out);
  Status ReadParts(ByteReader& in, std::string_view parts, Attribute& out);
  AttributeForm ReadDotAlgorithm;
  // mesh_entries.cc
  enum class MeshPartKind : uint8_t { kSubAxis, kAxisRef, kGroups, kAxis, kMesh, kSdyMesh };
  struct MeshCodes {
    MeshPartKind kind;
    StablehloAttribute stablehlo;
    VhloAttribute vhlo;
  };
  static constexpr MeshCodes kMeshCodes[] = {
      {MeshPartKind::kSubAxis, StablehloAttribute::kSubAxisInfo, VhloAttribute::kSubAxisInfo},
      {MeshPartKind::kAxisRef, StablehloAttribute::kAxisRef, VhloAttribute::kAxisRef},
      {MeshPartKind::kGroups, StablehloAttribute::kReplicaGroupMeshAxes, VhloAttribute::kReplicaGroupMeshAxes},
      {MeshPartKind::kAxis, StablehloAttribute::kMeshAxis, VhloAttribute::kMeshAxis},
      {MeshPartKind::kMesh, StablehloAttribute::kMesh, VhloAttribute::kMesh}};
  Status DecodeMesh(ByteReader& in, MeshPartKind kind, bool vhlo, Attribute& out);
  Status DecodeSdyAttribute(ByteReader& in, SdyAttribute kind, Attribute& out);
  Result<std::string> ReadMeshName(ByteReader& in, bool vhlo);
  Result<const Attribute*> ReadFlagged(ByteReader& in, bool vhlo);

  AttributeForm ReadArray, ReadNumber, ReadNumberArray, ReadResourceElements, ReadAlias, ReadAccuracy, ReadBounds;
  Status ReadTensor(ByteReader& in, std::string_view bytes, Attribute& out);
  // The bits of a number as the scalar of its type.
  Result<Literal> ReadScalar(ByteReader& in, ElementType type);
  Result<double> ReadDouble(ByteReader& in);
  Result<IntList> ReadInts(ByteReader& in, std::string_view what);
  Status ReadTensorType(ByteReader& in, bool with_encoding, Type& out);
  Status ReadTuple(ByteReader& in, Type& out);
  Status ReadQuantized(ByteReader& in, bool per_axis, Type& out);
  Status ParseQuantized(const ByteReader& in, Type& out);  // its text is known
  Status ReadKeyword(ByteReader& in, const VhloKeywords& keywords, Attribute& out);
  Result<ElementType> ReadElementType(ByteReader& in);

  std::string_view file_;
  const BytecodeContainer& container_;
  std::vector<Entry<Attribute>> attributes_;
  std::vector<Entry<Type>> types_;
  std::vector<Resource> resources_;
  int64_t budget_ = 0, spent_ = 0;
  int depth_ = 0;
};

}  // namespace VXLA_NAMESPACE::mlir
