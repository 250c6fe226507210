// What those who meet give one another: the exchanges of merging::Merger.
#include "core/devices/deadlock_report.h"
#include "core/devices/permute_slices.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/devices/exchanges.h"

namespace VXLA_NAMESPACE::merging {

// What only the size of a group tells.
Status Merger::CheckGroup(const Instruction& instruction, const Values& given, int64_t members) const {
  const bool tuple =
      instruction.opcode() == Opcode::kAllToAll && instruction.attributes<CollectiveAttributes>().dimensions.empty();
  if (tuple && std::ssize(given) != members) {
    return MergeError(instruction, StatusCode::kInvalidArgument, "{} operands for groups of {}", given.size(), members);
  }
  if (instruction.opcode() == Opcode::kRaggedAllToAll) {
    const int64_t entries = given[2]->shape().ElementCount();
    if (entries % members != 0) {
      return MergeError(instruction, StatusCode::kInvalidArgument, "{} offsets for {} members", entries, members);
    }
  }
  const bool in_blocks =
      instruction.opcode() == Opcode::kReduceScatter || (instruction.opcode() == Opcode::kAllToAll && !tuple);
  for (const Instruction* operand : instruction.operands()) {
    if (!in_blocks) break;
    const auto dimension = static_cast<int>(instruction.attributes<CollectiveAttributes>().dimensions[0]);
    if (operand->shape().dimension(dimension) % members == 0) continue;
    return MergeError(instruction, StatusCode::kInvalidArgument, "dimension {} of {} does not fit groups of {}",
                      dimension, operand->shape().ToString(), members);
  }
  return OkStatus();
}

namespace {

// Who takes operand k of member m (in blocks: block k % members of an operand).
IntList TakersOf(const Instruction& instruction, bool in_blocks, const IntList& members, size_t m, size_t k) {
  switch (instruction.opcode()) {
    case Opcode::kReduceScatter:
      return in_blocks ? IntList{members[k % members.size()]} : members;
    case Opcode::kAllToAll: {
      const bool tuple = instruction.attributes<CollectiveAttributes>().dimensions.empty();
      return in_blocks || tuple ? IntList{members[k % members.size()]} : members;
    }
    case Opcode::kCollectiveBroadcast:
      return m == 0 ? members : IntList();
    case Opcode::kCollectiveReduce:  // the others' zeros live like the sum
      return TouchesLiveSizes(instruction) ? members : IntList{members[0]};
    default:
      return members;
  }
}

}  // namespace

Status Merger::Exchange(const std::vector<Comer>& members) {
  const Instruction& instruction = *members[0].instruction;
  Frame& frame = *members[0].frame;
  Expansion make(frame.into, instruction);
  std::vector<Values> given;
  IntList takers;
  for (const Comer& member : members) {
    given.push_back(OperandsOf(*member.frame, *member.instruction, member.device));
    takers.push_back(member.device);
  }
  const auto result_shape = [](const Instruction& of) -> const Shape& {
    return of.opcode() == Opcode::kAllGatherStart ? of.shape().tuple_elements()[1] : of.shape();
  };
  VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(instruction, grid_, takers[0]));
  if (group.empty()) {
    ValuesOf(frame, instruction)[takers[0]] = ZerosLike(make, result_shape(instruction), given[0]);
    return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(CheckGroup(instruction, given[0], std::ssize(members)));
  const std::vector<Values> own = given;
  const bool in_blocks = places_ != nullptr && GoesInBlocks(instruction);
  if (in_blocks) given = InBlocks(make, given);
  const MemberOrder order = places_ == nullptr ? MemberOrder::kPairs : places_->order;
  const int64_t block = places_ == nullptr ? 1 : ReduceAtPlaces(frame.into, instruction, takers, given);
  std::optional<Values> reduced;
  if (places_ != nullptr && KindOfCollective(instruction) == Opcode::kAllReduce)
    reduced = ReduceInParts(frame.into, instruction, takers, block, given);
  std::vector<Handed> handed;
  for (size_t m = 0; m < given.size() && !reduced; ++m) {
    for (size_t k = 0; k < given[m].size(); ++k) {
      handed.push_back(
          {takers[m * static_cast<size_t>(block)], &given[m][k], TakersOf(instruction, in_blocks, takers, m, k)});
    }
  }
  Share(frame.into, instruction, handed);
  if (instruction.opcode() == Opcode::kRaggedAllToAll) AddMisfits(make, members, given);
  Values results;
  if (reduced) {
    results.assign(given.size(), result_shape(instruction).IsTuple() ? make.TupleOf(*reduced) : (*reduced)[0]);
  } else {
    results = Exchanged(
        make, given, result_shape(instruction), in_blocks,
        [&](Computation* computation) { return PlainCopyOf(computation); }, order);
  }
  for (size_t m = 0; m < members.size(); ++m) {
    const Instruction& at = *members[m].instruction;
    const Shape& shape = result_shape(at);
    Instruction* const value = results[results.size() == members.size() ? m : m / static_cast<size_t>(block)];
    if (!Compatible(value->shape(), shape)) {
      return MergeError(at, StatusCode::kInvalidArgument, "{} comes to {} in groups of {}", shape.ToString(),
                        value->shape().ToString(), members.size());
    }
    Instruction* const result = UnderFlags(make, value, shape);
    ValuesOf(*members[m].frame, at)[members[m].device] =
        at.opcode() == Opcode::kAllGatherStart ? make.Started(make.Together(own[m]), result) : result;
  }
  return OkStatus();
}

void Merger::AddMisfits(Expansion& make, const std::vector<Comer>& members, const std::vector<Values>& given) {
  for (size_t m = 0; m < members.size(); ++m) {
    const int64_t taker = members[m].device;
    Instruction* const misfit = IsHere(taker) ? RaggedMisfit(make, given, m) : nullptr;
    if (misfit == nullptr) continue;
    AddFault(*members[m].frame, *members[m].instruction,
             MergeError(*members[m].instruction, StatusCode::kInvalidArgument,
                        "the rows for {} do not fit, or it expects others", grid_.Name(taker)),
             misfit);
  }
}

void Merger::AddFault(Frame& frame, const Instruction& like, Status fault, Instruction* fails) {
  const auto known = std::ranges::find(partings_, fault.message(), &Status::message);
  const int64_t number = known - partings_.begin() + 1;
  if (known == partings_.end()) partings_.push_back(std::move(fault));
  Expansion make(frame.into, like);
  Instruction* const code = make.Number(ElementType::kS32, number);
  AddParted(frame, like, make.Select(fails, code, make.Zeros(code->shape())));
}

// A slice as wide as a dynamic dimension takes all of it.
void Merger::CheckSlices(Frame& frame, const Instruction& instruction, const Values& operands) {
  Expansion make(frame.into, instruction);
  const std::vector<IntList>& sizes = instruction.attributes<CollectivePermuteAttributes>().slice_sizes;
  for (size_t k = 0;
       const PermuteSlice& slice : PermuteSlices(instruction.operand(0)->shape(), instruction.operand(2)->shape())) {
    Instruction* array = operands[0];
    if (array->shape().IsTuple()) array = ElementOf(frame, instruction, array, static_cast<int64_t>(slice.array));
    const IntList& size = sizes[k++];
    for (int d = 0; d < array->shape().rank(); ++d) {
      const int64_t bound = array->shape().dimension(d);
      if (!array->shape().is_dynamic_dimension(d) || size[d] != bound) continue;
      Instruction* const all = make.Number(ElementType::kS32, bound);
      AddFault(frame, instruction,
               MergeError(instruction, StatusCode::kInvalidArgument,
                          "a slice of {} exceeds the live elements of dimension {} of {}", bound, d,
                          array->shape().ToString()),
               make.Compare(ComparisonDirection::kNe, make.LiveSize(array, d), all));
    }
  }
}

Status Merger::Permute(const std::vector<Comer>& devices) {
  Frame& first = *devices[0].frame;
  const Instruction& like = *devices[0].instruction;
  Expansion make(first.into, like);
  const bool slices = !like.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
  std::map<int64_t, const Comer*> comers;
  for (const Comer& comer : devices) comers[comer.device] = &comer;
  std::map<int64_t, Values> given;
  std::map<int64_t, IntList> takers;  // by who gives
  for (const auto& [device, frame, instruction] : devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*instruction, grid_, device));
    if (!partners.source) continue;
    const auto source = comers.find(*partners.source);
    if (source == comers.end()) continue;
    const auto& [sender, its_frame, its] = *source->second;
    takers[sender].push_back(device);
    if (!given.contains(sender)) given[sender] = OperandsOf(*its_frame, *its, sender);
  }
  std::vector<Handed> handed;
  for (auto& [sender, values] : given) {
    for (Instruction*& value : values) handed.push_back({sender, &value, takers.at(sender)});
  }
  Share(first.into, like, handed);
  for (const auto& [device, frame, instruction] : devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*instruction, grid_, device));
    const bool starts = instruction->opcode() == Opcode::kCollectivePermuteStart;
    const Shape& shape = starts ? instruction->shape().tuple_elements()[1] : instruction->shape();
    const Values own = OperandsOf(*frame, *instruction, device);
    if (slices && IsHere(device)) CheckSlices(*frame, *instruction, own);
    Instruction* received = nullptr;
    if (partners.source && given.contains(*partners.source)) {
      const Values& sent = given.at(*partners.source);
      received = slices ? SlicesReceived(make, sent, own) : shape.IsTuple() ? make.TupleOf(sent) : sent[0];
    } else {
      received = slices ? own[1] : ZerosLike(make, shape, own);
    }
    received = UnderFlags(make, received, shape);
    ValuesOf(*frame, *instruction)[device] =
        starts ? make.Started(slices ? own[0] : make.Together(own), received) : received;
  }
  return OkStatus();
}

Status Merger::Send(Frame& frame, int64_t device, const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(instruction));
  std::optional<int64_t> target = kAnyTarget;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    target = partners.target;
  }
  const Values operands = OperandsOf(frame, instruction, device);
  if (target) {
    frame.region.sent[{ChannelOf(instruction).value_or(-1), device, *target}].push_back({operands[0], &instruction});
  }
  Expansion make(frame.into, instruction);
  ValuesOf(frame, instruction)[device] =
      make.TupleOf({operands[0], make.Zeros(instruction.shape().tuple_elements()[1]), operands[1]});
  return OkStatus();
}

Result<bool> Merger::Receive(Frame& frame, int64_t device, const Instruction& done) {
  const Instruction& recv = *done.operand(0);
  const int64_t channel = ChannelOf(recv).value_or(-1);
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
  std::optional<int64_t> source;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    source = partners.source;
  } else {
    // Its own data, else that of the one device that sends.
    VXLA_ASSIGN_OR_RETURN(source, SourceOnChannel(frame.region, recv, device));
    if (!source) return false;
  }
  Expansion make(frame.into, done);
  Instruction* data = nullptr;
  if (source) {
    VXLA_ASSIGN_OR_RETURN(const bool may_come, MayCome(frame, done, device, {*source}));
    if (may_come) {
      auto& sent = frame.region.sent[{channel, *source, stated ? device : kAnyTarget}];
      if (sent.empty()) return false;
      data = sent.front().data;
      sent.pop_front();
      const Shape& needed = done.shape().tuple_elements()[0];
      if (!Compatible(data->shape(), needed)) {
        return MergeError(done, StatusCode::kInvalidArgument, "channel {} brought {}, {} needed", channel,
                          data->shape().ToString(), needed.ToString());
      }
      Share(frame.into, done, {{*source, &data, {*source, device}}});
    }
  }
  if (data == nullptr) data = make.Zeros(done.shape().tuple_elements()[0]);
  ValuesOf(frame, done)[device] = make.TupleOf({data, make.Zeros(Shape::Token())});
  return true;
}

Result<std::optional<int64_t>> Merger::SourceOnChannel(Region& region, const Instruction& recv, int64_t device) const {
  const int64_t channel = ChannelOf(recv).value_or(-1);
  const auto has_sent = [&](int64_t source) {
    const auto sent = region.sent.find({channel, source, kAnyTarget});
    return sent != region.sent.end() && !sent->second.empty();
  };
  if (has_sent(device)) return std::optional(device);
  for (const int64_t source : region.devices) {
    if (!has_sent(source)) continue;
    const std::pair between(source, device);
    const auto [known, fresh] = region.connections.try_emplace(channel, between);
    if (!fresh && known->second != between) return SeveralConnections(grid_, recv, known->second, between);
    return std::optional(source);
  }
  return std::optional<int64_t>();
}

}  // namespace VXLA_NAMESPACE::merging
