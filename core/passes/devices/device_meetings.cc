// Who meets whom, and who waits in vain: merging::Merger where devices wait for others.
#include <functional>

#include "core/devices/deadlock_report.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/devices/exchanges.h"

namespace VXLA_NAMESPACE::merging {

bool Merger::HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const {
  return std::ranges::all_of(devices, [&](int64_t device) {
    const auto at = frame.at.find(device);
    return at != frame.at.end() && at->second != frame.source.instructions().end() && at->second->get() == &instruction;
  });
}

bool Merger::DoneElsewhere(const Instruction& instruction, Opcode kind) const {
  // Of each computation: how many such instructions it comes to, 2 for more.
  std::unordered_map<const Computation*, int> known;
  const std::function<int(const Computation&)> count = [&](const Computation& computation) -> int {
    if (const auto it = known.find(&computation); it != known.end()) return it->second;
    int found = 0;
    for (const auto& inner : computation.instructions()) {
      found += KindOfCollective(*inner) == kind && ChannelOf(*inner) == ChannelOf(instruction);
      for (const Computation* called : inner->called()) found += count(*called);
    }
    return known[&computation] = std::min(found, 2);
  };
  const int itself = KindOfCollective(instruction) == kind ? 1 : 0;
  return count(*source_.entry()) > itself;
}

Result<bool> Merger::MayCome(Frame& frame, const Instruction& instruction, int64_t device, const IntList& others) {
  const Region& region = frame.region;
  const auto absent = std::ranges::find_if(others, [&](int64_t other) { return !region.frame_of.contains(other); });
  if (absent == others.end()) return true;
  const bool receives = instruction.opcode() == Opcode::kRecvDone;
  const Instruction& waits_at = receives ? *instruction.operand(0) : instruction;
  if (DoneElsewhere(waits_at, receives ? Opcode::kSend : KindOfCollective(instruction))) {
    return Unsupported("{}: {} takes part, which may leave a loop or take another branch than {}: {}",
                       TextWithChannel(instruction), grid_.Name(*absent), grid_.Name(device), kMeetApart)
        .At(instruction.location());
  }
  if (!IsHere(device)) return false;
  Expansion make(frame.into, instruction);
  const auto situation = [&](int64_t at) {
    return at == device ? DeviceSituation{DeviceSituation::State::kWaiting, &instruction, {*absent}}
                        : DeviceSituation{DeviceSituation::State::kAway, nullptr, {}};
  };
  AddFault(frame, instruction, DeadlockReport(grid_, {device, *absent}, device, {}, situation),
           make.Number(ElementType::kPred, 1));
  return false;
}

const Instruction* Merger::At(const Region& region, int64_t device) {
  const auto in = region.frame_of.find(device);
  if (in == region.frame_of.end()) return nullptr;
  const auto at = in->second->at.at(device);
  return at == in->second->source.instructions().end() ? nullptr : at->get();
}

bool Merger::HasMet(const Region& region, const Instruction& at, int64_t device) {
  const auto& values = region.frame_of.at(device)->values;
  const auto known = values.find(&at);
  return known != values.end() && !known->second.empty() && known->second[device] != nullptr;
}

Result<std::vector<Merger::Comer>> Merger::Come(Frame& frame, const Instruction& instruction,
                                                const IntList& members) const {
  std::vector<Comer> comers;
  for (const int64_t member : members) {
    const Instruction* const at = At(frame.region, member);
    if (at == nullptr || HasMet(frame.region, *at, member)) return std::vector<Comer>();
    if (at != &instruction) {
      if (KindOfCollective(*at) != KindOfCollective(instruction) || ChannelOf(*at) != ChannelOf(instruction)) {
        return std::vector<Comer>();
      }
      VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(*at, grid_, member));
      if (group != members) return std::vector<Comer>();
    }
    comers.push_back({member, frame.region.frame_of.at(member), at});
  }
  for (const Comer& comer : comers) {
    VXLA_RETURN_IF_ERROR(
        CheckSameMeeting(grid_, {comers[0].device, *comers[0].instruction}, {comer.device, *comer.instruction}));
  }
  return comers;
}

Result<std::vector<Merger::Comer>> Merger::ComeToPermute(Frame& frame, const Instruction& instruction) const {
  std::vector<Comer> comers;
  std::vector<std::pair<Frame*, const Instruction*>> sites{{&frame, &instruction}};
  for (size_t s = 0; s < sites.size(); ++s) {
    const auto [site, at] = sites[s];
    if (!HaveCome(*site, *at, site->devices)) return std::vector<Comer>();
    for (const int64_t device : site->devices) {
      if (frame.region.frame_of.at(device) != site || HasMet(frame.region, *at, device)) return std::vector<Comer>();
      comers.push_back({device, site, at});
      VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*at, grid_, device));
      for (const auto& partner : {partners.source, partners.target}) {
        const auto in = partner ? frame.region.frame_of.find(*partner) : frame.region.frame_of.end();
        if (in == frame.region.frame_of.end()) continue;
        if (std::ranges::find(sites, in->second, [](const auto& known) { return known.first; }) != sites.end())
          continue;
        const Instruction* const other = At(frame.region, *partner);
        if (other == nullptr || KindOfCollective(*other) != KindOfCollective(instruction) ||
            ChannelOf(*other) != ChannelOf(instruction))
          return std::vector<Comer>();
        VXLA_RETURN_IF_ERROR(CheckSameMeeting(grid_, {frame.devices[0], instruction}, {*partner, *other}));
        sites.emplace_back(in->second, other);
      }
    }
  }
  std::ranges::sort(comers, {}, &Comer::device);
  return comers;
}

Result<IntList> Merger::AwaitedBy(const Region& region, int64_t device) const {
  const Frame& frame = *region.frame_of.at(device);
  const Instruction& instruction = *At(region, device);
  if (instruction.opcode() == Opcode::kRecvDone) {
    const Instruction& recv = *instruction.operand(0);
    VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
    if (!stated) {  // whoever has not ended may send
      IntList others = region.devices;
      std::erase_if(others, [&](int64_t other) { return other == device || At(region, other) == nullptr; });
      return others;
    }
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    return IntList{*partners.source};
  }
  IntList members = frame.devices;
  if (IsPermute(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    for (const auto& partner : {partners.source, partners.target}) {
      if (partner && std::ranges::find(members, *partner) == members.end()) members.push_back(*partner);
    }
  } else if (Has(instruction.opcode(), Trait::kMeets)) {
    VXLA_ASSIGN_OR_RETURN(members, GroupOf(instruction, grid_, device));
  }
  IntList awaited;
  for (const int64_t member : members) {
    const Instruction* const at = At(region, member);
    bool is_here = at == &instruction;
    if (!is_here && at != nullptr && Has(at->opcode(), Trait::kMeets) &&
        KindOfCollective(*at) == KindOfCollective(instruction) && ChannelOf(*at) == ChannelOf(instruction)) {
      is_here = true;
      if (!IsPermute(at->opcode())) {  // in the same group
        VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(*at, grid_, member));
        is_here = group == members;
      }
    }
    if (!is_here) awaited.push_back(member);
  }
  return awaited;
}

Status Merger::Deadlock(const Region& region) const {
  std::map<int64_t, DeviceSituation> situations;
  int64_t first = -1;
  for (const int64_t device : region.devices) {
    const Instruction* const at = At(region, device);
    DeviceSituation& situation = situations[device] = {DeviceSituation::State::kEnded, nullptr, {}};
    if (at == nullptr) continue;
    if (first < 0) first = device;
    VXLA_ASSIGN_OR_RETURN(IntList awaited, AwaitedBy(region, device));
    situation = {DeviceSituation::State::kWaiting, at, std::move(awaited)};
  }
  return DeadlockReport(grid_, region.devices, first, {}, [&](int64_t device) { return situations.at(device); });
}

bool Merger::SendsFurtherOn(const Region& region) const {
  const auto any_at = [&](const auto& is) {
    return std::ranges::any_of(region.devices, [&](int64_t device) {
      const Instruction* const at = At(region, device);
      return at != nullptr && is(*at);
    });
  };
  return any_at([](const Instruction& at) { return IsAnyOf(at.opcode(), Opcode::kWhile, Opcode::kConditional); }) &&
         any_at([&](const Instruction& at) {
           return at.opcode() == Opcode::kRecvDone && DoneElsewhere(*at.operand(0), Opcode::kSend);
         });
}

Status Merger::Untaken(const Region& region) const {
  for (const auto& [path, values] : region.sent) {
    if (values.empty()) continue;
    const auto& [channel, from, to] = path;
    const Instruction& send = *values.front().by;
    if (to != kAnyTarget && !region.frame_of.contains(to) && DoneElsewhere(send, Opcode::kRecv)) {
      return Unsupported("{}: {} receives it by another branch or loop than {}: {}", TextWithChannel(send),
                         grid_.Name(to), grid_.Name(from), kMeetApart)
          .At(send.location());
    }
    return UntakenReport(grid_, send, from, to);
  }
  return OkStatus();
}

Result<bool> Merger::StepToMeeting(Frame& frame, int64_t device, const Instruction& instruction) {
  IntList members;
  if (IsPermute(instruction.opcode())) {
    for (const int64_t own : frame.devices) {
      VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, own));
      for (const auto& partner : {partners.source, partners.target}) {
        if (partner) members.push_back(*partner);
      }
    }
  } else {
    VXLA_ASSIGN_OR_RETURN(members, GroupOf(instruction, grid_, device));
    if (members.empty()) members.push_back(device);
  }
  VXLA_ASSIGN_OR_RETURN(const bool may_come, MayCome(frame, instruction, device, members));
  if (!may_come) {
    Expansion make(frame.into, instruction);
    ValuesOf(frame, instruction)[device] = make.Zeros(instruction.shape());
    return true;
  }
  if (IsPermute(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<Comer> devices, ComeToPermute(frame, instruction));
    if (devices.empty()) return false;
    VXLA_RETURN_IF_ERROR(Permute(devices));
    return true;
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<Comer> comers, Come(frame, instruction, members));
  if (comers.empty()) return false;
  VXLA_RETURN_IF_ERROR(Exchange(comers));
  return true;
}

}  // namespace VXLA_NAMESPACE::merging
