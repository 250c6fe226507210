// Meshes of devices and groups over them: three dialects, each with its own way to write a name, a list and what may be
// absent.
#include "core/mlir/bytecode/entries.h"
#include "core/mlir/rewrite/mesh_groups.h"

namespace VXLA_NAMESPACE::mlir {

// In VHLO a name is an attribute, in the others a string of the file.
Result<std::string> BytecodeEntries::ReadMeshName(ByteReader& in, bool vhlo) {
  if (!vhlo) return ReadString(in);
  VXLA_ASSIGN_OR_RETURN(const Attribute* const name, ReadAttribute(in));
  return name->text;
}

// What follows if a flag says so: null if not.
Result<const Attribute*> BytecodeEntries::ReadFlagged(ByteReader& in, bool vhlo) {
  uint64_t flag = 0;
  if (vhlo) {
    VXLA_ASSIGN_OR_RETURN(flag, in.Varint("whether a part follows"));
  } else {
    VXLA_ASSIGN_OR_RETURN(flag, in.Byte("whether a part follows"));
  }
  if (flag == 0) return static_cast<const Attribute*>(nullptr);
  return ReadAttribute(in);
}

Status BytecodeEntries::DecodeMesh(ByteReader& in, MeshPartKind kind, bool vhlo, Attribute& out) {
  out.kind = Attribute::Kind::kDialect;
  switch (kind) {
    case MeshPartKind::kSubAxis:
      out.text = "stablehlo.sub_axis_info";
      return ReadParts(in, "pre_size size", out);
    case MeshPartKind::kAxisRef: {
      out.text = "stablehlo.axis_ref";
      VXLA_ASSIGN_OR_RETURN(const std::string name, ReadMeshName(in, vhlo));
      SetAttribute(out.entries, "name", StringAttribute(name));
      VXLA_ASSIGN_OR_RETURN(const Attribute* const part, ReadFlagged(in, vhlo));
      if (part != nullptr) SetAttribute(out.entries, "sub_axis_info", *part);
      return OkStatus();
    }
    case MeshPartKind::kGroups: {
      out.text = "stablehlo.replica_group_mesh_axes";
      VXLA_ASSIGN_OR_RETURN(const Attribute* const mesh, ReadAttribute(in));
      SetAttribute(out.entries, "mesh", *mesh);
      Attribute axes;
      if (vhlo) {
        VXLA_ASSIGN_OR_RETURN(const Attribute* const list, ReadAttribute(in));
        axes = *list;
      } else {
        VXLA_RETURN_IF_ERROR(ReadArray(in, axes));
      }
      SetAttribute(out.entries, "axes", std::move(axes));
      return OkStatus();
    }
    case MeshPartKind::kAxis: {
      VXLA_ASSIGN_OR_RETURN(const std::string name, ReadMeshName(in, vhlo));
      VXLA_ASSIGN_OR_RETURN(const int64_t size, in.SignedVarint("the size of an axis"));
      out = MeshAxisAttribute(name, size);
      return OkStatus();
    }
    case MeshPartKind::kMesh: {
      VXLA_ASSIGN_OR_RETURN(const Attribute* const axes, ReadAttribute(in));
      const Attribute* ids = nullptr;
      if (vhlo) {
        VXLA_ASSIGN_OR_RETURN(ids, ReadOptionalAttribute(in));
      } else {
        VXLA_ASSIGN_OR_RETURN(ids, ReadFlagged(in, false));
      }
      out = MeshAttribute(axes->elements, ids == nullptr ? Attribute{} : *ids);
      return OkStatus();
    }
    case MeshPartKind::kSdyMesh: {
      Attribute axes;
      VXLA_RETURN_IF_ERROR(ReadArray(in, axes));
      VXLA_ASSIGN_OR_RETURN(const IntList ids, ReadInts(in, "the devices of a mesh"));
      out = MeshAttribute(std::move(axes.elements), ids.empty() ? Attribute{} : IntListAttribute(ids));
      return OkStatus();
    }
  }
  return OkStatus();
}

Status BytecodeEntries::DecodeSdyAttribute(ByteReader& in, SdyAttribute kind, Attribute& out) {
  switch (kind) {
    case SdyAttribute::kMesh:
      return DecodeMesh(in, MeshPartKind::kSdyMesh, false, out);
    case SdyAttribute::kMeshAxis:
      return DecodeMesh(in, MeshPartKind::kAxis, false, out);
    case SdyAttribute::kSubAxisInfo:
      return DecodeMesh(in, MeshPartKind::kSubAxis, false, out);
    case SdyAttribute::kAxisRef: {
      VXLA_ASSIGN_OR_RETURN(const std::string name, ReadString(in));
      VXLA_ASSIGN_OR_RETURN(const Attribute* const part, ReadOptionalAttribute(in));
      out = AxisAttribute(name, part == nullptr ? Attribute{} : *part);
      return OkStatus();
    }
    case SdyAttribute::kManualAxes:
    case SdyAttribute::kShardingPerValue:
    case SdyAttribute::kShardingPerValueOfPartialSums:
      VXLA_RETURN_IF_ERROR(ReadArray(in, out));
      out.kind = Attribute::Kind::kRaw;
      return OkStatus();
    case SdyAttribute::kDimensionSharding: {
      VXLA_RETURN_IF_ERROR(ReadArray(in, out));
      VXLA_ASSIGN_OR_RETURN(const uint64_t is_closed, in.Byte("whether a dimension's sharding is closed"));
      if (is_closed == 0) SetAttribute(out.entries, "is_open", IntegerAttribute(1));
      VXLA_ASSIGN_OR_RETURN(const uint64_t has_priority, in.Varint("whether a priority follows"));
      if (has_priority == 0) return OkStatus();
      VXLA_ASSIGN_OR_RETURN(const int64_t priority, in.SignedVarint("a priority"));
      SetAttribute(out.entries, "priority", IntegerAttribute(priority));
      return OkStatus();
    }
    case SdyAttribute::kSharding:
    case SdyAttribute::kShardingOfPartialSums: {
      VXLA_ASSIGN_OR_RETURN(const Attribute* const mesh, ReadAttribute(in));
      Attribute dimensions, replicated, unreduced;
      VXLA_RETURN_IF_ERROR(ReadArray(in, dimensions));
      VXLA_RETURN_IF_ERROR(ReadArray(in, replicated));
      if (kind == SdyAttribute::kShardingOfPartialSums) VXLA_RETURN_IF_ERROR(ReadArray(in, unreduced));
      out = ShardingAttribute(*mesh, std::move(dimensions), std::move(replicated), std::move(unreduced));
      return OkStatus();
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
