// What a program of whole arrays says of how they lie on devices. The importer makes the program of whole arrays and
// notes what is said; core/passes/sharding makes the program of each device of it.
#include "core/devices/op_sharding_text.h"
#include "core/host/ranges.h"
#include "core/mlir/importer/import_operations.h"
#include "core/mlir/rewrite/mesh_groups.h"
#include "core/passes/sharding/partitioner.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::string_view kSharding = "sdy.sharding", kOpSharding = "mhlo.sharding";

const Attribute* ElementOf(const Attribute* list, size_t i) {
  return list == nullptr || i >= list->elements.size() ? nullptr : &list->elements[i];
}

ArraySharding Whole(const Shape& shape) {
  ArraySharding sharding;
  sharding.mesh = std::make_shared<const DeviceMesh>();
  sharding.dimensions.resize(static_cast<size_t>(shape.rank()));
  return sharding;
}

// Only what the named axes cut.
ArraySharding OfAxes(ArraySharding sharding, const std::vector<std::string>& axes) {
  const auto other = [&](const MeshPart& part) { return !Contains(axes, part.name); };
  for (DimensionSharding& dimension : sharding.dimensions) std::erase_if(dimension.axes, other);
  std::erase_if(sharding.unreduced, other);
  return sharding;
}

}  // namespace

// Axes of a list, which together make no more tiles than there may be.
Result<std::vector<MeshPart>> ShardingImporter::ReadAxes(const Operation& operation, const DeviceMesh& mesh,
                                                         const Attribute& axes, int64_t& total) const {
  constexpr int64_t kMostTiles = 1 << 20;
  std::vector<MeshPart> parts;
  for (const Attribute& axis : axes.elements) {
    VXLA_ASSIGN_OR_RETURN(MeshPart part, ReadMeshPart(operation, axis, kSharding));
    const auto found = std::ranges::find(mesh.axes, part.name, &MeshAxis::name);
    if (found == mesh.axes.end()) return operation.Error("{}: the mesh has no axis {}", kSharding, part.name);
    if (Contains(manual_axes_, part.name))
      return operation.Error("{}: axis {} is manual here: arrays are a device's along it", kSharding, part.name);
    const int64_t size = part.size == 0 ? found->size : part.size;
    if (size > kMostTiles / total) return operation.Error("{}: more than {} tiles", kSharding, kMostTiles);
    total *= size;
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<ArraySharding> ShardingImporter::ReadSharding(const Operation& operation, const Attribute& said,
                                                     const Shape& shape) {
  const Attribute *const mesh = said.Find("mesh"), *const dimensions = said.Find("dimensions");
  if (mesh == nullptr || dimensions == nullptr)
    return operation.Error("{}: {} says no axes of a mesh", kSharding, PrintAttribute(said));
  VXLA_ASSIGN_OR_RETURN(DeviceMesh devices, ReadMesh(operation, importer_.program(), *mesh, kSharding));
  ArraySharding sharding;
  sharding.mesh = std::make_shared<const DeviceMesh>(std::move(devices));
  sharding.dimensions.resize(static_cast<size_t>(shape.rank()));
  // Without axes it may still say which dimensions others may divide.
  if (sharding.mesh->axes.empty() && dimensions->elements.empty()) return sharding;
  if (std::ssize(dimensions->elements) != shape.rank())
    return operation.Error("{}: {} dimensions of {}", kSharding, dimensions->elements.size(), PrintType(shape));
  int64_t total = 1;
  std::vector<MeshPart> all;
  const auto take = [&](const Attribute& list) -> Result<std::vector<MeshPart>> {
    VXLA_ASSIGN_OR_RETURN(std::vector<MeshPart> parts, ReadAxes(operation, *sharding.mesh, list, total));
    all.insert(all.end(), parts.begin(), parts.end());
    return parts;
  };
  for (size_t d = 0; d < sharding.dimensions.size(); ++d) {
    const Attribute& list = dimensions->elements[d];
    VXLA_ASSIGN_OR_RETURN(sharding.dimensions[d].axes, take(list));
    const Attribute *const open = list.Find("is_open"), *const priority = list.Find("priority");
    sharding.dimensions[d].is_open = open != nullptr && open->integer != 0;
    sharding.dimensions[d].priority = priority == nullptr ? 0 : priority->integer;
  }
  if (sharding.mesh->axes.empty()) return sharding;
  if (const Attribute* const unreduced = said.Find("unreduced"); unreduced != nullptr)
    VXLA_SET_OR_RETURN(sharding.unreduced, take(*unreduced));
  const int64_t cut = total;
  if (const Attribute* const replicated = said.Find("replicated"); replicated != nullptr)
    VXLA_SET_OR_RETURN(sharding.replicated, take(*replicated));
  const Result<std::vector<IntList>> groups = MeshGroups(sharding.mesh->axes, sharding.mesh->ids, all);
  if (cut == 1 && !groups.ok()) return operation.Error("{}: {}", kSharding, groups.status().message());
  if (cut > 1) VXLA_RETURN_IF_ERROR(CheckDevices(operation, *sharding.mesh, all, kSharding));
  if (cut > 1) Mention(sharding.mesh);
  return sharding;
}

Status ShardingImporter::CheckDevices(const Operation& operation, const DeviceMesh& mesh,
                                      const std::vector<MeshPart>& parts, std::string_view what) const {
  const ModuleAttributes& module = importer_.module().attributes();
  if (module.replica_count > 1)
    return operation.NotSupported("{}: arrays that are cut, in a program of {} replicas", what, module.replica_count);
  const Result<std::vector<IntList>> groups = MeshGroups(mesh.axes, mesh.ids, parts);
  if (!groups.ok()) return operation.Error("{}: {}", what, groups.status().message());
  int64_t count = 0, last = 0;
  for (const IntList& group : *groups) {
    count += std::ssize(group);
    for (const int64_t device : group) last = std::max(last, device);
  }
  if (count == module.num_partitions && last == module.num_partitions - 1) return OkStatus();
  if (count == module.num_partitions)
    return operation.Error("{}: the mesh has device {}, the program has devices 0 to {}", what, last, count - 1);
  return operation.NotSupported("{}: a mesh of {} devices in a program of {} partitions", what, count,
                                module.num_partitions);
}

void ShardingImporter::Mention(const std::shared_ptr<const DeviceMesh>& mesh) {
  if (stated_.mesh == nullptr || mesh->axes.size() > stated_.mesh->axes.size()) stated_.mesh = mesh;
}

// mhlo.sharding = "{...}".
Result<std::optional<ArraySharding>> ShardingImporter::ReadOldSharding(const Operation& operation,
                                                                       const Attribute& said, const Shape& shape) {
  if (said.kind != Attribute::Kind::kString)
    return operation.Error("{}: {} is no string", kOpSharding, PrintAttribute(said));
  const int64_t devices = importer_.module().attributes().num_partitions;
  Result<std::optional<ArraySharding>> sharding = ReadOpSharding(said.text, shape.rank(), devices);
  if (sharding.status().code() == StatusCode::kUnsupported)
    return operation.NotSupported("{}", sharding.status().message());
  if (!sharding.ok()) return operation.Error("{}", sharding.status().message());
  if (!*sharding) return std::optional<ArraySharding>();
  VXLA_RETURN_IF_ERROR(CheckDevices(operation, *(*sharding)->mesh, {}, kOpSharding));
  Mention((*sharding)->mesh);
  return sharding;
}

// Of an argument or a result, in both languages; nothing: nothing is said.
Result<std::optional<ArraySharding>> ShardingImporter::SaidOf(const Operation& operation, const Attribute* attributes,
                                                              const Shape& shape, std::string_view what) {
  std::optional<ArraySharding> sharding;
  if (attributes == nullptr || !shape.IsArray()) return sharding;
  const Attribute *const said = attributes->Find(kSharding), *const old = attributes->Find(kOpSharding);
  if (said != nullptr) VXLA_SET_OR_RETURN(sharding, ReadSharding(operation, *said, shape));
  if (old != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const std::optional<ArraySharding> other, ReadOldSharding(operation, *old, shape));
    if (sharding && other && !(TilesOf(*sharding) == TilesOf(*other))) {
      return operation.Error("{} is {} by {} and {} by {}", what, ShardingText(*sharding), kSharding, old->text,
                             kOpSharding);
    }
    if (!sharding) sharding = other;
  }
  if (!sharding) return sharding;
  const Result<Shape> tile = TilesOf(*sharding).TileOf(shape);
  if (!tile.ok()) return operation.NotSupported("{}: {}", what, tile.status().message());
  return sharding;
}

bool ShardingImporter::IsPartitioned() const {
  return importer_.module().attributes().num_partitions > 1 && importer_.checks() == nullptr;
}

Status ShardingImporter::ReadEntry(const Operation& function) {
  const Block& block = function.regions[0].blocks[0];
  for (size_t i = 0; i < block.arguments.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(stated_.parameters.emplace_back(),
                          SaidOf(function, ElementOf(function.Find("arg_attrs"), i),
                                 importer_.program().ShapeOf(block.arguments[i]), fmt::format("argument {}", i)));
  }
  const Attribute* const type = function.Find("function_type");
  for (size_t i = 0; type != nullptr && i < type->type.results.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(stated_.results.emplace_back(),
                          SaidOf(function, ElementOf(function.Find("res_attrs"), i), type->type.results[i].shape,
                                 fmt::format("result {}", i)));
  }
  return OkStatus();
}

// A constraint says where a value is to lie, not what it is.
Instruction* ShardingImporter::Constrained(Frame& frame, Instruction* value, ArraySharding sharding) {
  Instruction* const copy = frame.Add(Opcode::kCopy, value->shape(), {value});
  stated_.constraints.emplace(copy, std::move(sharding));
  return copy;
}

// Any operation may say how its results lie.
Status ShardingImporter::ConstrainResults(Frame& frame, const Operation& operation) {
  const Attribute *const said = operation.Find(kSharding), *const old = operation.Find(kOpSharding);
  const Attribute* const target = operation.Find("call_target_name");
  const bool is_call = target != nullptr && (target->text == "Sharding" || target->text.starts_with("SPMD"));
  if ((said == nullptr && old == nullptr) || is_call) return OkStatus();
  for (size_t i = 0; i < operation.results.size(); ++i) {
    const auto value = frame.values.find(operation.results[i]);
    if (value == frame.values.end() || !value->second->shape().IsArray()) continue;
    const Shape& shape = value->second->shape();
    std::optional<ArraySharding> sharding;
    if (const Attribute* const one = ElementOf(said, i); one != nullptr) {
      VXLA_ASSIGN_OR_RETURN(sharding, ReadSharding(operation, *one, shape));
    } else if (old != nullptr && operation.results.size() == 1) {
      VXLA_ASSIGN_OR_RETURN(sharding, ReadOldSharding(operation, *old, shape));
    }
    if (sharding) value->second = Constrained(frame, value->second, *std::move(sharding));
  }
  return OkStatus();
}

Status ShardingImporter::ImportConstraint(Frame& frame, const Operation& operation, Instructions& operands) {
  const Attribute* const said = operation.Find("sharding");
  if (!IsPartitioned() || said == nullptr || !operands[0]->shape().IsArray())
    return BindValues(frame, operation, operands);
  VXLA_ASSIGN_OR_RETURN(ArraySharding sharding, ReadSharding(operation, *said, operands[0]->shape()));
  return BindValues(frame, operation, {Constrained(frame, operands[0], std::move(sharding))});
}

Status ShardingImporter::ImportGroup(Frame& frame, const Operation& operation, Instructions& operands) {
  const Attribute* const number = operation.Find("group_id");
  if (number == nullptr || number->kind != Attribute::Kind::kInteger)
    return operation.Error("group_id: a number is wanted");
  Instruction* const value = operands[0];
  if (!value->shape().IsArray()) return operation.Error("{} is no array", value->shape().ToString());
  const auto [shape, is_first] = group_shapes_.try_emplace(number->integer, value->shape());
  if (!is_first && !std::ranges::equal(shape->second.dimensions(), value->shape().dimensions())) {
    return operation.Error("group {} has {} and {}: one group's arrays have one shape", number->integer,
                           shape->second.ToString(), value->shape().ToString());
  }
  // Of a copy, as devices make constants in any tiles.
  Instruction* const copy = IsPartitioned() ? frame.Add(Opcode::kCopy, value->shape(), {value}) : value;
  frame.values[operation.operands[0]] = copy;
  stated_.groups[copy].push_back(number->integer);
  return OkStatus();
}

// Sharding, SPMDFullToShardShape and SPMDShardToFullShape, calls of XLA's older partitioner. False: it is none.
Result<bool> ShardingImporter::ImportCall(Frame& frame, const Operation& operation, const Instructions& operands,
                                          std::string_view target) {
  if (target == "InspectSharding") {
    VXLA_RETURN_IF_ERROR(Ask(frame, operation, operands));
    return true;
  }
  const bool to_tiles = target == "SPMDFullToShardShape", from_tiles = target == "SPMDShardToFullShape";
  if (!to_tiles && !from_tiles && (target != "Sharding" || !IsPartitioned())) return false;
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(1));
  Instruction* const value = operands[0];
  const Shape& result = importer_.program().ShapeOf(operation.results[0]);
  const Attribute* const said = operation.Find(kOpSharding);
  if (!IsPartitioned()) return BindValues(frame, operation, operands).ok();
  std::optional<ArraySharding> sharding;
  if (to_tiles) {
    const auto constraint = stated_.constraints.find(value);
    if (constraint != stated_.constraints.end()) sharding = constraint->second;
  } else if (said != nullptr) {
    VXLA_ASSIGN_OR_RETURN(sharding, ReadOldSharding(operation, *said, result));
  }
  if (!to_tiles && !from_tiles) {
    if (!sharding) return BindValues(frame, operation, operands).ok();
    VXLA_RETURN_IF_ERROR(BindValues(frame, operation, {Constrained(frame, value, *sharding)}));
    return true;
  }
  if (!sharding) sharding = Whole(result);
  const Shape &whole = to_tiles ? value->shape() : result, &tile = to_tiles ? result : value->shape();
  const Result<Shape> fits = TilesOf(*sharding).TileOf(whole);
  if (!fits.ok()) return operation.NotSupported("{}", fits.status().message());
  if (!Compatible(*fits, tile)) {
    return operation.Error("{} is {} on a device by its sharding {}, it is stated as {}", PrintType(whole),
                           PrintType(*fits), ShardingText(*sharding), PrintType(tile));
  }
  Instruction* const copy = frame.Add(Opcode::kCopy, result, {value});
  (to_tiles ? stated_.to_tiles : stated_.from_tiles).emplace(copy, *std::move(sharding));
  VXLA_RETURN_IF_ERROR(BindValues(frame, operation, {copy}));
  return true;
}

// A call of JAX's that passes its operand on: who compiles the program answers it.
Status ShardingImporter::Ask(Frame& frame, const Operation& operation, const Instructions& operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(1));
  const Attribute* const asker = operation.Find("backend_config");
  const bool is_text = asker != nullptr && asker->kind == Attribute::Kind::kString;
  stated_.questions.push_back({operands[0], is_text ? asker->text : std::string()});
  return operation.results.empty() ? OkStatus() : BindValues(frame, operation, operands);
}

// The tile of an operand or result of a manual computation: other axes may cut it further.
Result<Shape> ShardingImporter::ManualTile(const Operation& operation, const ArraySharding& sharding,
                                           const std::vector<std::string>& axes, const Shape& whole) const {
  if (!whole.IsArray()) return whole;
  for (const DimensionSharding& dimension : sharding.dimensions) {
    bool other = false;
    for (const MeshPart& part : dimension.axes) {
      const bool manual = Contains(axes, part.name);
      if (manual && other)
        return operation.Error("{} of {}: an axis that is not manual stands before {}", ShardingText(sharding),
                               PrintType(whole), part.name);
      other = other || !manual;
    }
  }
  Result<Shape> tile = TilesOf(OfAxes(sharding, axes)).TileOf(whole);
  if (!tile.ok()) return operation.NotSupported("{}: {}", kSharding, tile.status().message());
  return tile;
}

// What is said of the operands or results.
Result<std::vector<ArraySharding>> ShardingImporter::ManualShardings(const Operation& operation, std::string_view list,
                                                                     const std::vector<ValueId>& values) {
  const Attribute* const said = operation.Find(list);
  const size_t stated = said == nullptr ? 0 : said->elements.size();
  if (stated != values.size()) return operation.Error("{}: {} for {} arrays", list, stated, values.size());
  std::vector<ArraySharding> shardings;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = importer_.typed().ShapeOf(values[i]);
    ArraySharding& sharding = shardings.emplace_back();
    sharding.dimensions.resize(shape.IsArray() ? static_cast<size_t>(shape.rank()) : 0);
    const Attribute* const one = ElementOf(said, i);
    if (one == nullptr || !shape.IsArray() || !IsPartitioned()) continue;
    VXLA_ASSIGN_OR_RETURN(sharding, ReadSharding(operation, *one, shape));
  }
  return shardings;
}

// Of axes that are not manual around it already.
Result<std::vector<std::string>> ShardingImporter::ManualAxes(const Operation& operation,
                                                              const DeviceMesh* mesh) const {
  std::vector<std::string> names;
  const Attribute* const axes = operation.Find("manual_axes");
  if (axes == nullptr || !IsPartitioned()) return names;
  for (const Attribute& axis : axes->elements) {
    const Attribute* const said = axis.Find("name");
    const std::string name = "\"" + (said == nullptr ? axis.text : said->text) + "\"";
    const bool is_known = mesh == nullptr || std::ranges::find(mesh->axes, name, &MeshAxis::name) != mesh->axes.end();
    if (!is_known) return operation.Error("manual_axes: the mesh has no axis {}", name);
    if (Contains(manual_axes_, name)) return operation.Error("manual_axes: axis {} is manual around it already", name);
    names.push_back(name);
  }
  return names;
}

// The body is a device's: it sees tiles.
Status ShardingImporter::ImportManualComputation(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, 0));
  if (block->arguments.size() != operation.operands.size())
    return operation.Error("{} arguments, {} operands", block->arguments.size(), operation.operands.size());
  StatedShardings::Manual said;
  VXLA_ASSIGN_OR_RETURN(said.in, ManualShardings(operation, "in_shardings", operation.operands));
  VXLA_ASSIGN_OR_RETURN(said.out, ManualShardings(operation, "out_shardings", operation.results));
  for (const auto* list : {&said.in, &said.out}) {
    for (const ArraySharding& sharding : *list) {
      if (said.mesh == nullptr || said.mesh->axes.empty()) said.mesh = sharding.mesh;
    }
  }
  VXLA_ASSIGN_OR_RETURN(said.axes, ManualAxes(operation, said.mesh.get()));
  std::vector<Shape> tiles;
  for (size_t i = 0; i < operands.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(Shape tile, ManualTile(operation, said.in[i], said.axes, operands[i]->shape()));
    const Type& stated = importer_.program().values[block->arguments[i]].type;
    if (!Fits(stated, tile)) {
      return operation.Error("argument {} is {}, operand {} of {} is {} on a device", i, PrintType(stated), i,
                             PrintType(operands[i]->shape()), PrintType(tile));
    }
    tiles.push_back(std::move(tile));
  }
  if (!IsPartitioned()) return ImportBodyHere(frame, operation, *block, operands);
  Frame body(importer_, "manual");
  for (size_t i = 0; i < operands.size(); ++i) {
    importer_.SetActual(block->arguments[i], tiles[i]);
    body.values[block->arguments[i]] = body.Parameter(tiles[i], static_cast<int64_t>(i));
  }
  ++manual_depth_;
  manual_axes_.insert(manual_axes_.end(), said.axes.begin(), said.axes.end());
  VXLA_ASSIGN_OR_RETURN(const Instructions results, RunBlock(body, *block));
  manual_axes_.resize(manual_axes_.size() - said.axes.size());
  --manual_depth_;
  std::vector<Shape> wholes;
  for (size_t i = 0; i < operation.results.size(); ++i)
    wholes.push_back(importer_.program().ShapeOf(operation.results[i]));
  VXLA_RETURN_IF_ERROR(CheckManualResults(operation, said, results, wholes));
  body.computation->set_root(body.Together(results));
  Computation* const called = importer_.module().AddComputation(std::move(body.computation));
  Instruction* const call = frame.Add(Opcode::kCall, wholes.size() == 1 ? wholes[0] : Shape::Tuple(wholes), operands,
                                      CallAttributes{}, {called});
  stated_.manual.emplace(call, std::move(said));
  return BindResults(frame, operation, call);
}

// Of a program of one device.
Status ShardingImporter::ImportBodyHere(Frame& frame, const Operation& operation, const Block& block,
                                        const Instructions& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    importer_.SetActual(block.arguments[i], operands[i]->shape());
    frame.values[block.arguments[i]] = operands[i];
  }
  ++manual_depth_;
  VXLA_ASSIGN_OR_RETURN(const Instructions results, RunBlock(frame, block));
  --manual_depth_;
  return BindValues(frame, operation, results);
}

Status ShardingImporter::CheckManualResults(const Operation& operation, const StatedShardings::Manual& said,
                                            const Instructions& results, const std::vector<Shape>& wholes) const {
  if (results.size() != wholes.size())
    return operation.Error("{} results are stated, its body returns {}", wholes.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const Shape tile, ManualTile(operation, said.out[i], said.axes, wholes[i]));
    if (Compatible(tile, results[i]->shape())) continue;
    return operation.Error("result {} is {}, which is {} on a device; its body returns {}", i, PrintType(wholes[i]),
                           PrintType(tile), PrintType(results[i]->shape()));
  }
  return OkStatus();
}

// The program of a device, once all of the program of whole arrays is there.
Result<std::unique_ptr<Module>> ShardingImporter::Partitioned(std::unique_ptr<Module> module) {
  answers_.resize(stated_.questions.size());
  const bool says = stated_.mesh != nullptr || !stated_.manual.empty() || !stated_.to_tiles.empty() ||
                    !stated_.from_tiles.empty() || !stated_.constraints.empty();
  if (module == nullptr || module->attributes().num_partitions == 1) return module;
  if (!says) {
    parameter_shardings_.resize(module->entry()->parameters().size());
    result_shardings_.resize(FlattenTuple(module->entry()->root()->shape()).size());
    return module;
  }
  if (importer_.refines()) {  // who runs it gives whole arrays
    stated_.parameters.clear();
    stated_.results.clear();
    for (const Instruction* parameter : module->entry()->parameters())
      stated_.parameters.emplace_back(Whole(parameter->shape()));
    for (const Shape* leaf : FlattenTuple(module->entry()->root()->shape())) stated_.results.emplace_back(Whole(*leaf));
  }
  VXLA_ASSIGN_OR_RETURN(PartitionedModule made, Partition(*module, stated_));
  parameter_shardings_ = std::move(made.parameters);
  result_shardings_ = std::move(made.results);
  answers_ = std::move(made.answers);
  arrays_ = std::move(made.arrays);
  return std::move(made.module);
}

}  // namespace VXLA_NAMESPACE::mlir
