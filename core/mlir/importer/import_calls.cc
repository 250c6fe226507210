// Calls: of functions, composites, the host's functions, other devices; and CHLO's operations.
#include <fmt/format.h>

#include <algorithm>

#include "core/library/library_calls.h"
#include "core/mlir/importer/import_operations.h"
#include "core/mlir/lexer.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::string_view kApiVersions[] = {"", "", "API_VERSION_STATUS_RETURNING",
                                             "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

Status CheckSignature(const Operation& operation, std::string_view callee, const Computation& computation,
                      const Instructions& arguments) {
  if (computation.parameters().size() != arguments.size()) {
    return operation.Error("'@{}' takes {} arguments, {} are given", callee, computation.parameters().size(),
                           arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& wanted = computation.parameters()[i]->shape();
    if (Compatible(wanted, arguments[i]->shape())) continue;
    return operation.Error("argument {} of '@{}' is {}, {} needed", i, callee, PrintType(arguments[i]->shape()),
                           PrintType(wanted));
  }
  return OkStatus();
}

// Operands that say the sizes of the results, one for each result, as JAX writes calls of programs with open sizes.
Result<Operation> WithoutShapeOperands(Frame& frame, const Operation& operation, std::vector<Shape>& shapes) {
  VXLA_ASSIGN_OR_RETURN(const IntList places, operation.Ints("indices_of_shape_operands"));
  const auto count = static_cast<int64_t>(operation.operands.size());
  if (places.size() != shapes.size())
    return operation.Error("{} indices_of_shape_operands, {} results", places.size(), shapes.size());
  Operation sized = operation;
  Attribute* layouts = nullptr;
  for (NamedAttribute& attribute : sized.attributes) {
    if (attribute.name == "operand_layouts") layouts = &attribute.value;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    // They follow the others, whose numbers aliases name.
    const int64_t place = count - static_cast<int64_t>(places.size() - i);
    if (place < 0 || places[i] != place)
      return operation.NotSupported("indices_of_shape_operands are {}, the last {} of {} operands needed",
                                    JoinInts(places, ", "), places.size(), count);
    if (!shapes[i].IsArray()) return operation.Error("result {} is {}, which has no sizes", i, PrintType(shapes[i]));
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, ConstantInts(frame, operation, static_cast<size_t>(place)));
    shapes[i] = Shape(shapes[i].element_type(), sizes);
    VXLA_RETURN_IF_ERROR(CheckShape(shapes[i]));
  }
  sized.operands.resize(sized.operands.size() - places.size());
  if (layouts != nullptr && layouts->elements.size() == operation.operands.size())
    layouts->elements.resize(sized.operands.size());
  std::erase_if(sized.attributes, [](const NamedAttribute& a) { return a.name == "indices_of_shape_operands"; });
  return sized;
}

Status ImportCallOf(Frame& frame, const Operation& operation, std::vector<Shape> shapes) {
  VXLA_ASSIGN_OR_RETURN(Instructions operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(CustomCallAttributes attributes, CustomCallOf(operation, frame.importer.typed()));
  std::vector<Computation*> called;
  if (const Attribute* names = operation.Find("called_computations")) {
    for (const Attribute& name : names->elements)
      VXLA_SET_OR_RETURN(called.emplace_back(), frame.importer.ImportFunction(name.text, operation.location));
  }
  if (operation.Find("result_layouts") != nullptr)
    VXLA_SET_OR_RETURN(shapes, WithLayouts(operation, "result_layouts", std::move(shapes)));
  Shape stated = shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  VXLA_ASSIGN_OR_RETURN(Instruction* const call,
                        AddInferred(frame, operation, Opcode::kCustomCall, std::move(operands), std::move(attributes),
                                    std::move(called), std::move(stated)));
  const Attribute* config = operation.Find("mhlo.backend_config");
  if (config == nullptr) config = operation.Find("backend_config");
  if (config != nullptr && config->kind == Attribute::Kind::kString && !config->text.empty())
    call->mutable_common().backend_config.text = Quote(config->text);
  if (config != nullptr && config->kind == Attribute::Kind::kDictionary)
    call->mutable_common().backend_config.text = PrintAttribute(*config);
  if (const Attribute* sharding = operation.Find("mhlo.sharding"))
    call->mutable_common().sharding.text = sharding->text;
  // What only hands its operand on, whatever effect it states, does so on each device with the device's own tile.
  if (frame.importer.module().attributes().num_partitions > 1 && frame.importer.shardings().manual_depth() == 0 &&
      HasSideEffect(*call) && !IsIdentityCall(*call))
    call->mutable_notes().once = true;
  return BindResults(frame, operation, call);
}

// An operation of CHLO, as portable artifacts have it: a composite called chlo.erf or a custom call of mhlo.erf, or of
// chlo.erf, which no pass of jaxlib's takes apart. False: it is none that is known here.
Result<bool> ImportAsChlo(Frame& frame, const Operation& operation, std::string_view name,
                          const Attribute* attributes) {
  Operation chlo = operation;
  name.remove_prefix(name.find('.') + 1);
  chlo.name = fmt::format("chlo.{}", name == "topk" ? "top_k" : name);
  chlo.attributes = attributes == nullptr ? Dictionary() : attributes->entries;
  const Attribute* const largest = chlo.Find("largest");
  if (largest != nullptr && largest->integer == 0) return false;
  return ImportOperation(frame, chlo).ok();
}

// Null: the function was written in the place of its call, and its results are bound.
Result<Instruction*> CallFunction(Frame& frame, const Operation& operation, const std::string& callee,
                                  CallAttributes attributes) {
  VXLA_ASSIGN_OR_RETURN(Instructions operands, Operands(frame, operation));
  if (frame.importer.refines()) {
    VXLA_ASSIGN_OR_RETURN(const Instructions results,
                          frame.importer.InlineFunction(frame, callee, operation.location, operands));
    VXLA_RETURN_IF_ERROR(BindValues(frame, operation, results));
    return nullptr;
  }
  VXLA_ASSIGN_OR_RETURN(Computation* const computation, frame.importer.ImportFunction(callee, operation.location));
  frame.importer.set_location(operation.location);
  VXLA_RETURN_IF_ERROR(CheckSignature(operation, callee, *computation, operands));
  VXLA_ASSIGN_OR_RETURN(Instruction* const call,
                        AddInferred(frame, operation, Opcode::kCall, std::move(operands), attributes, {computation}));
  VXLA_RETURN_IF_ERROR(BindResults(frame, operation, call));
  return call;
}

}  // namespace

// Of collectives the specification knows "channel_id > 0" and "channel_id <= 0", which is none; of sends and recvs 0
// is.
Result<std::optional<int64_t>> ChannelOf(const Operation& operation) {
  const Attribute* handle = operation.Find("channel_handle");
  int64_t id = 0;
  if (handle == nullptr) {
    VXLA_ASSIGN_OR_RETURN(id, operation.Int("channel_id", 0));
  } else if (const Attribute* number = handle->Find("handle")) {
    id = number->integer;
  } else {
    return operation.Error("channel_handle without its handle");
  }
  const bool transfer = operation.name.ends_with(".send") || operation.name.ends_with(".recv");
  return id > 0 || (transfer && id < 0) ? std::optional<int64_t>(id) : std::nullopt;
}

// Rows of a matrix, in which -1 stands for nothing.
Result<ReplicaGroups> ReplicaGroupsOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, operation.Required("replica_groups"));
  ReplicaGroups groups;
  VXLA_ASSIGN_OR_RETURN(const IntList ids, operation.IntsOf("replica_groups", *attribute));
  const Shape& shape = attribute->type.shape;
  if (attribute->kind != Attribute::Kind::kElements || shape.rank() != 2)
    return operation.NotSupported("replica_groups are {}, a matrix is needed", PrintAttribute(*attribute));
  const int64_t size = shape.dimension(1);
  for (int64_t row = 0; row < shape.dimension(0) && size > 0; ++row) {
    IntList& group = groups.groups.emplace_back();
    for (int64_t i = 0; i < size; ++i) {
      if (ids[row * size + i] != -1) group.push_back(ids[row * size + i]);
    }
  }
  return groups;
}

Result<std::vector<Shape>> WithLayouts(const Operation& operation, std::string_view name, std::vector<Shape> shapes) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const layouts, operation.Required(name));
  if (layouts->elements.size() != shapes.size())
    return operation.Error("{} {} for {} values", layouts->elements.size(), name, shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(IntList order, operation.IntsOf(name, layouts->elements[i]));
    if (!shapes[i].IsArray()) continue;
    IntList sorted = order;
    std::ranges::sort(sorted);
    bool permutation = order.size() == static_cast<size_t>(shapes[i].rank());
    for (size_t k = 0; permutation && k < sorted.size(); ++k) permutation = sorted[k] == static_cast<int64_t>(k);
    if (!permutation)
      return operation.Error("{} {{{}}} is no order of the dimensions of {}", name, JoinInts(order),
                             PrintType(shapes[i]));
    shapes[i].set_layout(Layout{std::move(order), {}});
  }
  return shapes;
}

Result<CustomCallAttributes> CustomCallOf(const Operation& operation, const Program& program) {
  CustomCallAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.custom_call_target, operation.Text("call_target_name"));
  VXLA_ASSIGN_OR_RETURN(attributes.custom_call_has_side_effect, operation.Bool("has_side_effect", false));
  VXLA_ASSIGN_OR_RETURN(int64_t version, operation.Int("api_version", 1));
  if (operation.Find("mhlo.backend_config") != nullptr) version = 4;
  if (version < 0 || version > 4) return operation.Error("api_version {} is not in 0 to 4", version);
  attributes.api_version.text = kApiVersions[version];
  if (operation.Find("operand_layouts") != nullptr) {
    std::vector<Shape> shapes;
    for (const ValueId operand : operation.operands) shapes.push_back(program.ShapeOf(operand));
    VXLA_ASSIGN_OR_RETURN(attributes.operand_layout_constraints,
                          WithLayouts(operation, "operand_layouts", std::move(shapes)));
  }
  const Attribute* aliases = operation.Find("output_operand_aliases");
  for (size_t i = 0; aliases != nullptr && i < aliases->elements.size(); ++i) {
    const Attribute& entry = aliases->elements[i];
    Aliasing alias;
    if (const Attribute* operand = entry.Find("operand_index")) alias.operand = operand->integer;
    const Attribute *output = entry.Find("output_tuple_indices"), *part = entry.Find("operand_tuple_indices");
    if (output != nullptr) VXLA_SET_OR_RETURN(alias.output_index, operation.IntsOf("output_tuple_indices", *output));
    if (part != nullptr) VXLA_SET_OR_RETURN(alias.operand_index, operation.IntsOf("operand_tuple_indices", *part));
    attributes.output_to_operand_aliasing.push_back(std::move(alias));
  }
  return attributes;
}

Status ImportCustomCall(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const bool dynamic, ImportDynamicCustomCall(frame, operation, operands));
  if (dynamic) return OkStatus();
  const Attribute* const target = operation.Find("call_target_name");
  if (frame.importer.checks() != nullptr && target != nullptr && target->text.starts_with("check."))
    return ImportCheck(frame, operation, operands);
  // JAX's ways to have XLA compute what nobody uses, and to tell it an order of what does not depend on each other.
  const bool is_word = target != nullptr && (target->text == "dce_sink" || target->text == "control_dep");
  if (is_word && operation.results.empty()) return OkStatus();
  if (target != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const bool sharding,
                          frame.importer.shardings().ImportCall(frame, operation, operands, target->text));
    if (sharding) return OkStatus();
  }
  std::vector<Shape> shapes;
  for (const ValueId result : operation.results)
    shapes.push_back(frame.importer.Completed(operation, frame.importer.program().ShapeOf(result)));
  Operation sized = operation;
  if (operation.Find("indices_of_shape_operands") != nullptr)
    VXLA_SET_OR_RETURN(sized, WithoutShapeOperands(frame, operation, shapes));
  if (target != nullptr && (target->text.starts_with("mhlo.") || target->text.starts_with("chlo."))) {
    VXLA_ASSIGN_OR_RETURN(const bool chlo, ImportAsChlo(frame, sized, target->text, sized.Find("mhlo.attributes")));
    if (chlo) return OkStatus();
  }
  return ImportCallOf(frame, sized, std::move(shapes));
}

Status ImportCall(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const std::string callee, operation.Text("callee"));
  return CallFunction(frame, operation, callee, {}).status();
}

// By what it is composed of.
Status ImportComposite(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const std::string callee, operation.Text("decomposition"));
  VXLA_ASSIGN_OR_RETURN(const std::string name, operation.Text("name"));
  VXLA_ASSIGN_OR_RETURN(const int64_t version, operation.Int("version", 0));
  const Attribute* const given = operation.Find("composite_attributes");
  if (name.starts_with("chlo.")) {  // closer to the exact values than what it is composed of
    VXLA_ASSIGN_OR_RETURN(const bool chlo, ImportAsChlo(frame, operation, name, given));
    if (chlo) return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const call, CallFunction(frame, operation, callee, {.is_composite = true}));
  if (call == nullptr) return OkStatus();
  const std::string attributes = given == nullptr || given->entries.empty() ? "" : PrintAttribute(*given);
  call->mutable_common().frontend_attributes.text =
      fmt::format("{{{}composite.name={},composite.version=\"{}\"}}",
                  attributes.empty() ? "" : fmt::format("composite.attributes={},", attributes), Quote(name), version);
  return OkStatus();
}

// What starts here is done here: an order that the operation allows. The future stands for the values.
Status ImportAsyncStart(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, 0));
  if (block->arguments.size() != operands.size())
    return operation.Error("{} arguments, {} operands", block->arguments.size(), operands.size());
  for (size_t i = 0; i < operands.size(); ++i) frame.values[block->arguments[i]] = operands[i];
  VXLA_ASSIGN_OR_RETURN(Instructions results, RunBlock(frame, *block));
  frame.values[operation.results[0]] = frame.Together(std::move(results));
  return OkStatus();
}

Status ImportAsyncDone(Frame& frame, const Operation& operation, Instructions& operands) {
  const Type& type = frame.importer.program().values[operation.operands[0]].type;
  if (type.kind != Type::Kind::kOther) return operation.Error("operand 0 is {}, no future", PrintType(type));
  return BindResults(frame, operation, operands[0]);
}

Status ImportAllToAll(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t split, operation.Int("split_dimension"));
  VXLA_ASSIGN_OR_RETURN(const int64_t concat, operation.Int("concat_dimension"));
  VXLA_ASSIGN_OR_RETURN(const int64_t count, operation.Int("split_count"));
  VXLA_ASSIGN_OR_RETURN(const ReplicaGroups groups, ReplicaGroupsOf(operation));
  VXLA_ASSIGN_OR_RETURN(const std::optional<int64_t> channel, ChannelOf(operation));
  Instructions results;
  const auto exchange = [&](const std::vector<XlaOp>& x) {
    return AllToAll(x[0], split, concat, count, groups, {}, channel);
  };
  for (Instruction* operand : operands)
    VXLA_SET_OR_RETURN(results.emplace_back(), Composed(frame, operation, {operand}, exchange));
  return BindValues(frame, operation, results);
}

// What comes before the token among the results.
std::vector<Shape> ReceivedShapes(Frame& frame, const Operation& operation) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i + 1 < operation.results.size(); ++i)
    shapes.push_back(frame.importer.program().ShapeOf(operation.results[i]));
  return shapes;
}

// Of what a pair has: the parts of its first element, or all of it, and its second one, the token.
Status BindReceived(Frame& frame, const Operation& operation, Instruction* pair) {
  Instruction* const value = frame.Element(pair, 0);
  Instructions results;
  const auto count = static_cast<int64_t>(operation.results.size()) - 1;
  if (!value->shape().IsTuple()) results.push_back(value);
  for (int64_t i = 0; i < count && value->shape().IsTuple(); ++i) results.push_back(frame.Element(value, i));
  results.push_back(frame.Element(pair, 1));
  return BindValues(frame, operation, results);
}

// (token) -> (T..., token)
Status ImportInfeed(Frame& frame, const Operation& operation, Instructions& operands) {
  if (operation.results.empty()) return operation.Error("no results, a token at least is needed");
  InfeedAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.infeed_config, operation.Text("infeed_config", ""));
  const Shape stated = Shape::Tuple({Shape::Tuple(ReceivedShapes(frame, operation)), Shape::Token()});
  VXLA_ASSIGN_OR_RETURN(Instruction* const infeed, AddInferred(frame, operation, Opcode::kInfeed, std::move(operands),
                                                               std::move(attributes), {}, stated));
  return BindReceived(frame, operation, infeed);
}

// (T..., token) -> token
Status ImportOutfeed(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* const token = operands.back();
  operands.pop_back();
  OutfeedAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.outfeed_config, operation.Text("outfeed_config", ""));
  Instruction* const data = frame.Together(std::move(operands));
  attributes.outfeed_shape = data->shape();
  return BindInferred(frame, operation, Opcode::kOutfeed, {data, token}, std::move(attributes));
}

// Between which devices, in HLO's form of it. Nothing: the channel's number alone joins them.
Status StatePairs(const Operation& operation, std::initializer_list<Instruction*> both) {
  if (operation.Find("source_target_pairs") == nullptr) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const IntList numbers, operation.Ints("source_target_pairs"));
  if (numbers.size() % 2 != 0) return operation.Error("source_target_pairs hold {} numbers", numbers.size());
  std::vector<std::string> pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.push_back(fmt::format("{{{},{}}}", numbers[i], numbers[i + 1]));
  for (Instruction* const each : both) {
    each->mutable_common().frontend_attributes.text =
        fmt::format("{{_xla_send_recv_source_target_pairs=\"{{{}}}\"}}", fmt::join(pairs, ","));
  }
  return OkStatus();
}

// (T..., token) -> token
Status ImportSend(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* const token = operands.back();
  operands.pop_back();
  SendRecvAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.channel_id, ChannelOf(operation));
  VXLA_ASSIGN_OR_RETURN(attributes.is_host_transfer, operation.Bool("is_host_transfer", false));
  Instruction* const data = frame.Together(std::move(operands));
  VXLA_ASSIGN_OR_RETURN(Instruction* const send,
                        AddInferred(frame, operation, Opcode::kSend, {data, token}, attributes));
  VXLA_ASSIGN_OR_RETURN(Instruction* const done, AddInferred(frame, operation, Opcode::kSendDone, {send}, attributes));
  VXLA_RETURN_IF_ERROR(StatePairs(operation, {send, done}));
  return BindValues(frame, operation, {done});
}

// (token) -> (T..., token)
Status ImportRecv(Frame& frame, const Operation& operation, Instructions& operands) {
  if (operation.results.empty()) return operation.Error("no results, a token at least is needed");
  SendRecvAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.channel_id, ChannelOf(operation));
  VXLA_ASSIGN_OR_RETURN(attributes.is_host_transfer, operation.Bool("is_host_transfer", false));
  std::vector<Shape> shapes = ReceivedShapes(frame, operation);
  const Shape data = shapes.size() == 1 ? shapes[0] : Shape::Tuple(std::move(shapes));
  const Shape context = Shape::Tuple({data, Shape(ElementType::kU32), Shape::Token()});
  VXLA_ASSIGN_OR_RETURN(Instruction* const recv,
                        AddInferred(frame, operation, Opcode::kRecv, std::move(operands), attributes, {}, context));
  VXLA_ASSIGN_OR_RETURN(Instruction* const done, AddInferred(frame, operation, Opcode::kRecvDone, {recv}, attributes));
  VXLA_RETURN_IF_ERROR(StatePairs(operation, {recv, done}));
  return BindReceived(frame, operation, done);
}

Status ImportTopK(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(Opcode::kTopK, operation, frame.importer.typed()));
  return BindInferred(frame, operation, Opcode::kTopK, std::move(operands), std::move(attributes));
}

Status ImportChlo(Frame& frame, const Operation& operation, Instructions& operands) {
  const std::string_view name = std::string_view(operation.name).substr(operation.name.find('.') + 1);
  if (const auto opcode = ParseChlo(name)) return ImportPlain(frame, operation, *opcode);
  ChloOperation wanted{name};
  if (operation.Find("broadcast_dimensions") != nullptr)
    VXLA_SET_OR_RETURN(wanted.broadcast_dimensions, operation.Ints("broadcast_dimensions"));
  if (name == "broadcast_compare") {
    VXLA_ASSIGN_OR_RETURN(const Attributes compare, AttributesFor(Opcode::kCompare, operation, frame.importer.typed()));
    wanted.compare = std::get<CompareAttributes>(compare);
  }
  return BindComposed(frame, operation, operands, [&](const std::vector<XlaOp>& x) { return Compose(wanted, x); });
}

}  // namespace VXLA_NAMESPACE::mlir
