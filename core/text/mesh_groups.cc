#include "core/text/mesh_groups.h"

#include "core/devices/mesh.h"
#include "core/host/delimited_list.h"
#include "core/text/attribute_fields.h"

namespace VXLA_NAMESPACE {
namespace {

// With its quotes.
Result<std::string> TakeAxisName(Lexer& lexer) {
  if (lexer.token().kind != TokenKind::kString) return lexer.Expected("an axis of the mesh in quotes");
  std::string name(lexer.token().text);
  lexer.Next();
  return name;
}

Result<std::vector<MeshAxis>> TakeAxes(Lexer& lexer) {
  return TakeListOf(lexer, "[", "]", [&]() -> Result<MeshAxis> {
    VXLA_ASSIGN_OR_RETURN(std::string name, TakeAxisName(lexer));
    VXLA_RETURN_IF_ERROR(lexer.Expect("="));
    VXLA_ASSIGN_OR_RETURN(const int64_t size, lexer.TakeInt("the size of an axis"));
    return MeshAxis{std::move(name), size};
  });
}

// The devices in the order in which they fill a mesh of `count`: device_ids=([2,4]T(1,0)) or (0,2,1,3).
Result<IntList> TakeDeviceIds(Lexer& lexer, int64_t count) {
  if (lexer.token().kind != TokenKind::kAttribute || lexer.token().text != "device_ids")
    return lexer.Expected("device_ids=(...)");
  lexer.Next();
  VXLA_RETURN_IF_ERROR(lexer.Expect("("));
  ReplicaGroups ids;
  if (lexer.At("[")) {
    VXLA_RETURN_IF_ERROR(ParseIotaReshape(lexer, ids));
    ids.iota_dimensions = {1, count};
    VXLA_RETURN_IF_ERROR(ExpandIota(lexer, ids));
  } else {
    IntList& list = ids.groups.emplace_back();
    do {
      VXLA_ASSIGN_OR_RETURN(list.emplace_back(), lexer.TakeInt("the id of a device"));
    } while (lexer.Eat(","));
  }
  VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
  return ids.groups[0];
}

Result<MeshPart> TakePart(Lexer& lexer) {
  MeshPart part;
  VXLA_ASSIGN_OR_RETURN(part.name, TakeAxisName(lexer));
  if (!lexer.Eat(":")) return part;
  VXLA_RETURN_IF_ERROR(lexer.Expect("("));
  VXLA_ASSIGN_OR_RETURN(part.before, lexer.TakeInt("a size"));
  VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
  VXLA_ASSIGN_OR_RETURN(part.size, lexer.TakeInt("a size"));
  if (part.size == 0) return lexer.Error("replica_groups: a part of axis {} of size 0", part.name);
  return part;
}

}  // namespace

Status ParseMeshGroups(Lexer& lexer, ReplicaGroups& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(const std::vector<MeshAxis> axes, TakeAxes(lexer));
  const Result<int64_t> devices = MeshDevices(axes);
  if (!devices.ok()) return lexer.Error("replica_groups: {}", devices.status().message());
  if (!lexer.Spend(*devices)) return lexer.Error("replica_groups: {} devices are too many for this text", *devices);
  IntList ids;
  if (lexer.Eat(",")) VXLA_SET_OR_RETURN(ids, TakeDeviceIds(lexer, *devices));
  VXLA_ASSIGN_OR_RETURN(std::vector<MeshPart> parts, TakeListOf(lexer, "{", "}", [&] { return TakePart(lexer); }));
  Result<std::vector<IntList>> groups = MeshGroups(axes, ids, parts);
  if (!groups.ok()) return lexer.Error("replica_groups: {}", groups.status().message());
  value.groups = *std::move(groups);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
