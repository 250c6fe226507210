// Programs of whole arrays that devices have tiles of: an array is gathered where an operation wants all of it, and cut
// where one wants tiles. Elementwise operations on equal tiles, and what is written for one device, take tiles as they
// are.
#include "core/mlir/import_state.h"
#include "core/mlir/mesh_groups.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::string_view kSharding = "sdy.sharding";
constexpr std::string_view kManual = "sdy.manual_computation", kConstraint = "sdy.sharding_constraint";

const Attribute* ElementOf(const Attribute* list, size_t i) {
  return list == nullptr || i >= list->elements.size() ? nullptr : &list->elements[i];
}

bool Names(const Attribute& list, const std::string& axis) {
  return std::ranges::any_of(list.elements, [&](const Attribute& each) {
    const Attribute* const name = each.Find("name");
    return (name == nullptr ? each.text : name->text) == axis;
  });
}

}  // namespace

// `manual`: the axes that count; null: all.
Result<Sharding> Importer::ShardingOf(const OperationReader& reader, const Attribute* sharding, const Shape& shape,
                                      const Attribute* manual) const {
  const int64_t partitions = module_->attributes().num_partitions;
  if (sharding == nullptr || partitions == 1 || !shape.IsArray()) return Sharding();
  const Attribute *const mesh = sharding->Find("mesh"), *const dimensions = sharding->Find("dimensions");
  if (mesh == nullptr || dimensions == nullptr)
    return reader.Error("{}: {} says no axes of a mesh", kSharding, PrintAttribute(*sharding));
  VXLA_ASSIGN_OR_RETURN(const DeviceMesh devices, ReadMesh(reader, program_, *mesh, kSharding));
  if (devices.axes.empty()) return Sharding();
  if (std::ssize(dimensions->elements) != shape.rank())
    return reader.Error("{}: {} dimensions of {}", kSharding, dimensions->elements.size(), PrintType(shape));
  Sharding read;
  std::vector<MeshPart> parts;
  constexpr int64_t kMostTiles = 1 << 20;
  int64_t total = 1;
  const auto take = [&](const Attribute& axes) -> Result<int64_t> {
    int64_t count = 1;
    for (const Attribute& axis : axes.elements) {
      VXLA_ASSIGN_OR_RETURN(MeshPart part, ReadMeshPart(reader, axis, kSharding));
      if (manual != nullptr && !Names(*manual, axis.Find("name")->text)) continue;
      const auto found = std::ranges::find(devices.axes, part.name, &MeshAxis::name);
      if (found == devices.axes.end()) return reader.Error("{}: the mesh has no axis {}", kSharding, part.name);
      const int64_t size = part.size == 0 ? found->size : part.size;
      if (size > kMostTiles / total) return reader.Error("{}: more than {} tiles", kSharding, kMostTiles);
      count *= size;
      total *= size;
      parts.push_back(std::move(part));
    }
    return count;
  };
  for (const Attribute& axes : dimensions->elements) {
    VXLA_ASSIGN_OR_RETURN(const int64_t count, take(axes));
    read.tiles.push_back(count);
  }
  const int64_t tiles = total;
  if (const Attribute* const unreduced = sharding->Find("unreduced"); unreduced != nullptr) {
    VXLA_ASSIGN_OR_RETURN(read.addends, take(*unreduced));
  }
  if (total == 1) return Sharding();
  if (const int64_t replicas = module_->attributes().replica_count; replicas > 1)
    return reader.NotSupported("{}: arrays that are cut, in a program of {} replicas", kSharding, replicas);
  const Result<std::vector<IntList>> groups = MeshGroups(devices.axes, devices.ids, parts);
  if (!groups.ok()) return reader.Error("{}: {}", kSharding, groups.status().message());
  for (int64_t tile = 0; tile < tiles; ++tile) {
    for (const IntList& group : *groups) {
      const auto first = group.begin() + tile * read.addends;
      read.devices.insert(read.devices.end(), first, first + read.addends);
    }
  }
  IntList sorted = read.devices;
  std::ranges::sort(sorted);
  if (std::ssize(sorted) != partitions || sorted.front() != 0 || sorted.back() != partitions - 1) {
    return reader.NotSupported("{}: a mesh of {} devices in a program of {} partitions", kSharding, sorted.size(),
                               partitions);
  }
  return read;
}

Result<Instruction*> Importer::Gathered(Frame& frame, const Operation& operation, const Tile& tile) {
  Instruction* value = tile.value;
  if (tile.sharding.addends > 1) {
    CollectiveAttributes over;
    over.channel_id = 1;
    over.use_global_device_ids = true;
    over.replica_groups.groups = tile.sharding.GroupsOfAddends();
    VXLA_ASSIGN_OR_RETURN(value, AddInferred(frame, operation, Opcode::kAllReduce, {value}, std::move(over),
                                             {SumOf(value->shape().element_type())}));
  }
  for (size_t d = 0; d < tile.sharding.tiles.size(); ++d) {
    if (tile.sharding.tiles[d] == 1) continue;
    CollectiveAttributes along;
    along.channel_id = 1;
    along.use_global_device_ids = true;
    along.dimensions = {static_cast<int64_t>(d)};
    along.replica_groups.groups = tile.sharding.GroupsAlong(d);
    Shape gathered = value->shape();
    gathered.set_dimension(static_cast<int>(d), gathered.dimension(static_cast<int>(d)) * tile.sharding.tiles[d]);
    VXLA_ASSIGN_OR_RETURN(
        value, AddInferred(frame, operation, Opcode::kAllGather, {value}, std::move(along), {}, std::move(gathered)));
  }
  return value;
}

// This device's tile, or its addend.
Result<Instruction*> Importer::Cut(Frame& frame, const Operation& operation, Instruction* whole,
                                   const Sharding& sharding) {
  if (!sharding.is_cut()) return whole;
  const Result<Shape> tile = sharding.TileOf(whole->shape());
  if (!tile.ok()) return OperationReader(operation).NotSupported("{}: {}", kSharding, tile.status().message());
  const Shape scalar(ElementType::kS32);
  Instruction* const device = Add(frame, Opcode::kPartitionId, Shape(ElementType::kU32));
  const auto of_device = [&](const IntList& values) {
    const Shape listed(ElementType::kS32, {std::ssize(values)});
    Literal table(listed);
    for (size_t i = 0; i < values.size(); ++i) table.SetInt(static_cast<int64_t>(i), values[i]);
    Instruction* const all = Add(frame, Opcode::kConstant, listed, {},
                                 ConstantAttributes{std::make_shared<const Literal>(std::move(table))});
    Instruction* const own =
        Add(frame, Opcode::kDynamicSlice, Shape(ElementType::kS32, {1}), {all, device}, DynamicSliceAttributes{{1}});
    return Add(frame, Opcode::kReshape, scalar, {own});
  };
  std::vector<Instruction*> operands{whole};
  for (size_t d = 0; d < sharding.tiles.size(); ++d) {
    if (sharding.tiles[d] == 1) {
      operands.push_back(Number(frame, ElementType::kS32, 0));
      continue;
    }
    IntList starts = sharding.TileNumbers(d);
    for (int64_t& start : starts) start *= tile->dimension(static_cast<int>(d));
    operands.push_back(of_device(starts));
  }
  Instruction* const cut =
      Add(frame, Opcode::kDynamicSlice, *tile, std::move(operands), DynamicSliceAttributes{SizesOf(*tile)});
  if (sharding.addends == 1) return cut;
  // The first addend is all of it.
  IntList is_first(sharding.devices.size(), 0);
  for (const IntList& group : sharding.GroupsOfAddends()) is_first[static_cast<size_t>(group[0])] = 1;
  Instruction* const first = IsEqual(frame, of_device(is_first), Number(frame, ElementType::kS32, 1));
  return Add(frame, Opcode::kSelect, *tile, {Chosen(frame, first, *tile), cut, Filled(frame, *tile, 0)});
}

// The value as tiles of this sharding.
Result<Instruction*> Importer::AsTile(Frame& frame, const Operation& operation, ValueId value,
                                      const Sharding& sharding) {
  const auto found = frame.tiles.find(value);
  if (found != frame.tiles.end() && found->second.sharding == sharding) return found->second.value;
  VXLA_ASSIGN_OR_RETURN(Instruction* const whole, Lookup(frame, operation, value));
  return Cut(frame, operation, whole, sharding);
}

void Importer::BindTile(Frame& frame, ValueId value, Instruction* tile, Sharding sharding) {
  if (sharding.is_cut()) {
    frame.tiles[value] = {tile, std::move(sharding)};
  } else {
    frame.values[value] = tile;
  }
}

// How a parameter is cut: as it is said, or else as the first operation that says so wants it.
Result<Sharding> Importer::ParameterSharding(const Operation& function, const Block& block, size_t index) const {
  const ValueId value = block.arguments[index];
  const Shape& shape = program_.ShapeOf(value);
  const Attribute* const arguments = ElementOf(function.Find("arg_attrs"), index);
  const Attribute* const stated = arguments == nullptr ? nullptr : arguments->Find(kSharding);
  if (stated != nullptr) return ShardingOf(OperationReader(function), stated, shape, nullptr);
  for (const Operation& operation : block.operations) {
    const auto at = std::ranges::find(operation.operands, value);
    if (at == operation.operands.end() || (operation.name != kManual && operation.name != kConstraint)) continue;
    const bool manual = operation.name == kManual;
    const Attribute* const wanted =
        manual ? ElementOf(operation.Find("in_shardings"), static_cast<size_t>(at - operation.operands.begin()))
               : operation.Find("sharding");
    VXLA_ASSIGN_OR_RETURN(const Sharding sharding, ShardingOf(OperationReader(operation), wanted, shape,
                                                              manual ? operation.Find("manual_axes") : nullptr));
    return sharding.TileOf(shape).ok() ? sharding : Sharding();
  }
  return Sharding();
}

// What a program of several partitions returns: tiles as they are stated, or else as they are.
Result<std::vector<Instruction*>> Importer::ReturnTiles(Frame& frame, const Operation& function,
                                                        const Operation& back) {
  std::vector<Instruction*> results;
  for (size_t i = 0; i < back.operands.size(); ++i) {
    const ValueId value = back.operands[i];
    const Attribute* const attributes = ElementOf(function.Find("res_attrs"), i);
    const Attribute* const stated = attributes == nullptr ? nullptr : attributes->Find(kSharding);
    Sharding sharding;
    if (stated != nullptr) {
      VXLA_ASSIGN_OR_RETURN(sharding, ShardingOf(OperationReader(function), stated, program_.ShapeOf(value), nullptr));
    } else if (const auto tile = frame.tiles.find(value); tile != frame.tiles.end()) {
      sharding = tile->second.sharding;
    } else if (const auto wanted = frame.wanted.find(value); wanted != frame.wanted.end()) {
      sharding = wanted->second;
    }
    VXLA_ASSIGN_OR_RETURN(Instruction* const result, AsTile(frame, back, value, sharding));
    results.push_back(result);
    result_shardings_.push_back(std::move(sharding));
  }
  return results;
}

// A constraint says where a value is to lie, not what it is.
Status Importer::ImportShardingConstraint(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  const ValueId from = operation.operands[0], to = operation.results[0];
  const Shape& shape = program_.ShapeOf(from);
  VXLA_ASSIGN_OR_RETURN(Sharding sharding, ShardingOf(reader, operation.Find("sharding"), shape, nullptr));
  if (const auto tile = frame.tiles.find(from); tile != frame.tiles.end() && tile->second.sharding == sharding) {
    frame.tiles[to] = Tile(tile->second);
    return OkStatus();
  }
  if (sharding.TileOf(shape).ok()) frame.wanted[to] = std::move(sharding);
  return ImportIdentity(frame, operation);
}

// The body is a device's: it sees tiles.
Status Importer::ImportManualComputation(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, 0));
  if (block->arguments.size() != operation.operands.size())
    return reader.Error("{} arguments, {} operands", block->arguments.size(), operation.operands.size());
  const Attribute *const in = operation.Find("in_shardings"), *const out = operation.Find("out_shardings");
  const Attribute* const manual = operation.Find("manual_axes");
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    const ValueId value = operation.operands[i], argument = block->arguments[i];
    VXLA_ASSIGN_OR_RETURN(const Sharding sharding,
                          ShardingOf(reader, ElementOf(in, i), program_.ShapeOf(value), manual));
    VXLA_ASSIGN_OR_RETURN(Instruction* const tile, AsTile(frame, operation, value, sharding));
    if (!Fits(program_.values[argument].type, tile->shape())) {
      return reader.Error("argument {} is {}, operand {} of {} is {} on a device", i,
                          PrintType(program_.values[argument].type), i, PrintType(program_.values[value].type),
                          PrintType(tile->shape()));
    }
    frame.values[argument] = tile;
  }
  ++manual_depth_;
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> results, RunBlock(frame, *block));
  --manual_depth_;
  if (results.size() != operation.results.size())
    return reader.Error("{} results are stated, its body returns {}", operation.results.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& whole = program_.ShapeOf(operation.results[i]);
    VXLA_ASSIGN_OR_RETURN(Sharding sharding, ShardingOf(reader, ElementOf(out, i), whole, manual));
    const Result<Shape> tile = sharding.TileOf(whole);
    if (!tile.ok()) return reader.NotSupported("{}: {}", kSharding, tile.status().message());
    if (!Compatible(*tile, results[i]->shape())) {
      return reader.Error("result {} is {}, which is {} on a device; its body returns {}", i, PrintType(whole),
                          PrintType(*tile), PrintType(results[i]->shape()));
    }
    BindTile(frame, operation.results[i], results[i], std::move(sharding));
  }
  return OkStatus();
}

// False: its operands are not tiles of one sharding and what is the same everywhere.
Result<bool> Importer::ImportOnTiles(Frame& frame, const Operation& operation, Opcode opcode) {
  const auto first = std::ranges::find_if(operation.operands, [&](ValueId v) { return frame.tiles.contains(v); });
  if (first == operation.operands.end() || operation.results.size() != 1) return false;
  const Tile tile = frame.tiles.at(*first);
  if (tile.sharding.addends > 1) return false;
  std::vector<Instruction*> operands;
  for (const ValueId value : operation.operands) {
    if (const auto found = frame.tiles.find(value); found != frame.tiles.end()) {
      if (found->second.sharding != tile.sharding) return false;
      operands.push_back(found->second.value);
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(Instruction* const whole, Lookup(frame, operation, value));
    if (whole->opcode() != Opcode::kBroadcast || !whole->operand(0)->shape().IsScalar()) return false;
    const Result<Shape> shape = tile.sharding.TileOf(whole->shape());
    if (!shape.ok()) return false;
    operands.push_back(Add(frame, Opcode::kBroadcast, *shape, {whole->operand(0)}, whole->attributes()));
  }
  const Result<Shape> stated = tile.sharding.TileOf(ResultShape(operation));
  if (!stated.ok()) return false;
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, typed()));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, opcode, std::move(operands), std::move(attributes), {}, *stated));
  if (!Compatible(*stated, result->shape())) {
    return OperationReader(operation).Error("the result is stated as {}, the operands give {}",
                                            PrintType(ResultShape(operation)), PrintType(result->shape()));
  }
  BindTile(frame, operation.results[0], result, tile.sharding);
  return true;
}

}  // namespace VXLA_NAMESPACE::mlir
