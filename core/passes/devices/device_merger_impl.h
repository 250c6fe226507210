// Inside of core/passes/devices/device_merger.h: one walk through a program for many devices. device_merger.cc has the
// walk, device_meetings.cc who meets whom, device_exchanges.cc what they give, device_places.cc what goes between
// places, device_ways.cc the loops and branches.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/devices/device_merger.h"

namespace VXLA_NAMESPACE::merging {

using Values = std::vector<Instruction*>;  // by device, or by member of a group

template <typename... Args>
Status MergeError(const Instruction& instruction, StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format("{} {}: {}", OpcodeText(instruction.opcode()), instruction.name(),
                                  fmt::format(format, std::forward<Args>(args)...)))
      .At(instruction.location());
}

// Of what one program of all devices cannot do.
constexpr std::string_view kMeetApart = "only devices that run apart find out whether they meet";

bool IsPermute(Opcode opcode);
// Its value, or what it does, depends on which device it is.
bool KnowsItsDevice(const Instruction& instruction);

// Exchanges between devices that every branch of a conditional comes to (meeting_hoisting.cc): devices may take
// different branches and meet all the same. Whether all branches have the same exchanges in the same order: of one
// kind, with equal attributes, operand shapes and reducers, none in a loop, branch or call of its own, and no send or
// recv.
bool CanHoistMeetings(const Instruction& conditional);
// The exchanges in such a conditional's place, once each, between conditionals of what the branches do before, between
// and after them. Values that live on pass from each conditional to the next, zeros in the place of the other
// branches'.
void HoistMeetings(Module& module, Instruction& conditional);

// One class, because devices that wait, meet, exchange and part do so in the same frames of one walk.
class Merger {
 public:
  // places: null where all devices are here.
  Merger(const Module& source, const DeviceGrid& grid, const DevicePlaces* places)
      : source_(source), grid_(grid), places_(places), depends_(KnowsItsDevice), has_effects_(HasSideEffect) {}

  Result<MergedProgram> Merge(const std::vector<bool>& shared);
  // Conditionals of the source whose devices may part and meet all the same (CanHoistMeetings),
  // found by Merge.
  const std::vector<const Instruction*>& hoistable() const { return hoistable_; }

 private:
  struct Region;
  // One computation of the source for some devices, at the end of one of the target's. Each device goes through the
  // instructions in their order, and waits where others have to come too.
  struct Frame {
    Region& region;
    const Computation& source;
    Computation& into;
    IntList devices;
    Instruction*& parted;  // the region's
    // Where the results go: a call, or a conditional whose way is known; null: nowhere, it is a region's first frame.
    Frame* caller = nullptr;
    const Instruction* call = nullptr;
    std::unordered_map<const Instruction*, Values> values;
    std::map<int64_t, std::list<std::unique_ptr<Instruction>>::const_iterator> at;  // by device
    // Equal values are made once.
    std::map<std::pair<const Instruction*, Values>, Instruction*> copies;
    std::map<std::pair<std::string, int64_t>, Instruction*> integers;  // by shape and value
    std::map<std::pair<Instruction*, int64_t>, Instruction*> elements;
  };
  // What stands in one computation of the target: each device is in one of its frames, and they meet across frames.
  struct Region {
    Computation& into;
    IntList devices;
    Instruction* parted = nullptr;  // s32: which of partings_ has come to be, 0: none; null: none can
    std::list<Frame> frames;
    std::map<int64_t, Frame*> frame_of;  // by device
    // What sends have given and no recv has taken yet, by (channel, source, target); target kAnyTarget: not stated.
    struct Sent {
      Instruction* data = nullptr;
      const Instruction* by = nullptr;
    };
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Sent>> sent;
    std::map<int64_t, std::pair<int64_t, int64_t>> connections;  // of channels whose pairs nobody states
  };
  static constexpr int64_t kAnyTarget = -1;
  // Where a device stands at a meeting.
  struct Comer {
    int64_t device = 0;
    Frame* frame = nullptr;
    const Instruction* instruction = nullptr;
  };

  // The entry's parameters: one for all devices of what they share.
  std::vector<Values> AddParameters(Computation& entry, const std::vector<bool>& shared, MergedProgram& program);
  // What the results consist of, each value once; program.results says which ones are a device's.
  Values LeavesOf(Expansion& make, const Values& roots, MergedProgram& program) const;
  // `arguments`: of the devices, by parameter. Gives the roots, by device. parted: as a frame's, before and after.
  Result<Values> Emit(const Computation& source, Computation& into, const IntList& devices,
                      const std::vector<Values>& arguments, Instruction*& parted);
  static Frame& Open(Region& region, const Computation& source, const IntList& devices,
                     const std::vector<Values>& arguments);
  // As far as the devices of a frame get; false: none of them has moved.
  Result<bool> GoOn(Frame& frame);
  void Return(Frame& frame, int64_t device);
  // False: it has to wait.
  Result<bool> Step(Frame& frame, int64_t device, const Instruction& instruction);
  Result<bool> StepTogether(Frame& frame, int64_t device, const Instruction& instruction);
  bool HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const;
  // Where the device waits, its own instruction for what the others do by `instruction`; null: it is elsewhere.
  static const Instruction* At(const Region& region, int64_t device);
  // It stands there, and has what the meeting gives.
  static bool HasMet(const Region& region, const Instruction& at, int64_t device);
  // The members at one meeting, by different instructions perhaps; none: not all of them have come.
  Result<std::vector<Comer>> Come(Frame& frame, const Instruction& instruction, const IntList& members) const;
  // The devices of all frames whose collective-permutes give one another something; none: not all of them have come.
  Result<std::vector<Comer>> ComeToPermute(Frame& frame, const Instruction& instruction) const;
  // Which devices have to come before this one can go on; none: any of them may be the one.
  Result<IntList> AwaitedBy(const Region& region, int64_t device) const;
  Status Deadlock(const Region& region) const;
  // Whether one device waits for data while another waits for it before a loop or a branch, and something else sends
  // such data.
  bool SendsFurtherOn(const Region& region) const;
  Status Untaken(const Region& region) const;
  // Whether those who take part with `device` may come. If one is not in the region, it has taken another way before:
  // false if nothing there does what this instruction waits for (the run ends with a report), else kUnsupported.
  Result<bool> MayCome(Frame& frame, const Instruction& instruction, int64_t device, const IntList& others);
  // Whether a run may come to the instruction more than once.
  bool StandsInLoop(const Instruction& instruction) const;
  // Whether another instruction than this one, or this one by another way, may be what a device elsewhere does.
  bool DoneElsewhere(const Instruction& instruction, Opcode kind) const;

  Values& ValuesOf(Frame& frame, const Instruction& instruction) {
    Values& values = frame.values[&instruction];
    if (values.empty()) values.resize(static_cast<size_t>(grid_.count()));
    return values;
  }
  Values OperandsOf(Frame& frame, const Instruction& instruction, int64_t device) {
    Values operands;
    for (const Instruction* operand : instruction.operands()) {
      operands.push_back(frame.values.at(operand)[device]);
    }
    return operands;
  }
  Instruction* Copy(Frame& frame, int64_t device, const Instruction& instruction);
  // A constant in the instruction's place.
  Instruction* IntegerOf(Frame& frame, const Instruction& instruction, int64_t value);
  Instruction* ElementOf(Frame& frame, const Instruction& like, Instruction* tuple, int64_t index);
  Computation* PlainCopyOf(Computation* computation);

  bool IsHere(int64_t device) const { return places_ == nullptr || places_->IsHere(device); }
  bool AnyHere(const IntList& devices) const {
    return std::ranges::any_of(devices, [&](int64_t device) { return IsHere(device); });
  }
  // Stands for a value of devices elsewhere, each time another one; what is made of it is dead code in the end.
  Instruction* Absent(Computation& into, const Instruction& like, const Shape& shape);
  // A value that a device gives to others.
  struct Handed {
    int64_t giver = 0;
    Instruction** value = nullptr;
    IntList takers;
  };
  // Afterwards the values are known at the places of those that take them. Places differ in what stands here, but never
  // in which values are one, so that all of them merge alike.
  void Share(Computation& into, const Instruction& like, const std::vector<Handed>& handed);
  PlaceExchange NewExchange(const Instruction& like, const std::set<int64_t>& places);
  // Null: this place has no part in it.
  Instruction* CallOf(Computation& into, const Instruction& like, PlaceExchange exchange, Values posted,
                      std::vector<Shape> received);
  void ShareWays(Computation& into, const Instruction& like, const IntList& devices, Values& ways);
  // Exchanges, and loops and branches with exchanges in them, keep one order.
  void InOrder(Computation& into, Instruction* exchange);
  bool Exchanges(const Computation& computation) const { return last_.contains(&computation); }

  Result<bool> StepToMeeting(Frame& frame, int64_t device, const Instruction& instruction);
  Status Exchange(const std::vector<Comer>& members);
  int64_t ReduceAtPlaces(Computation& into, const Instruction& instruction, const IntList& members,
                         std::vector<Values>& given);
  // An all-reduce in which each place reduces a part of the arrays and gives it to the others; its results. None:
  // every place reduces all of them.
  std::optional<Values> ReduceInParts(Computation& into, const Instruction& instruction, const IntList& members,
                                      int64_t block, const std::vector<Values>& given);
  struct PartedReduction;
  Instruction* GiveParts(Expansion& make, PartedReduction& reduction);  // null: this place has no part in it
  Instruction* GiveSums(Expansion& make, const PartedReduction& reduction, Instruction* parts,
                        const std::vector<Shape>& whole);
  Status CheckGroup(const Instruction& instruction, const Values& given, int64_t members) const;
  Status Permute(const std::vector<Comer>& devices);
  Status Send(Frame& frame, int64_t device, const Instruction& instruction);
  Result<bool> Receive(Frame& frame, int64_t device, const Instruction& done);
  // Of a recv whose pairs nobody states; none: nobody has sent yet.
  Result<std::optional<int64_t>> SourceOnChannel(Region& region, const Instruction& recv, int64_t device) const;

  void Call(Frame& frame, const Instruction& instruction);
  struct MergedBranch {
    Computation* computation = nullptr;
    Instruction *operand = nullptr, *parted = nullptr;
  };
  Result<Values> Branch(Frame& frame, const Instruction& instruction, int branch, const IntList& devices,
                        MergedBranch& merged);
  Status Conditional(Frame& frame, const Instruction& instruction);
  IntList KnownBranches(Frame& frame, const Instruction& instruction);
  Status While(Frame& frame, const Instruction& instruction, const IntList& devices);
  // Of classes of devices that go their own ways, those whose members meet inside of the instruction go one way, which
  // is the first one's: a check says whether it is the others' too.
  struct Ways {
    std::vector<IntList> classes;
    std::vector<const Instruction*> meetings;  // by class; null: its devices have one value
  };
  Status Parting(const Instruction& instruction, const Instruction& meeting, const IntList& devices) const;
  Result<Ways> WaysOf(const Instruction& instruction, const std::vector<IntList>& classes);
  Status NoteHoistable(const Instruction& conditional, const std::vector<IntList>& classes);
  void AddCheck(Frame& frame, const Instruction& instruction, const Instruction& meeting, const IntList& devices,
                const Values& ways);
  void AddParted(Frame& frame, const Instruction& like, Instruction* parted);
  // Rows of a ragged exchange that do not fit where they go.
  void AddMisfits(Expansion& make, const std::vector<Comer>& members, const std::vector<Values>& given);
  // The run ends with that status where the truth value `fails` holds.
  void AddFault(Frame& frame, const Instruction& like, Status fault, Instruction* fails);
  void CheckSlices(Frame& frame, const Instruction& instruction, const Values& operands);
  struct Loop;
  void PlaceState(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop);
  Result<Values> EmitLoop(const Computation& source, const Instruction& instruction, const IntList& devices,
                          const Loop& loop, Computation*& merged, Values& given, Instruction*& parted);
  Instruction* StateElement(Frame& frame, const Instruction& instruction, const Loop& loop, Instruction* state,
                            size_t i);
  Result<bool> TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop);

  const Module& source_;
  const DeviceGrid grid_;
  std::unique_ptr<Module> target_;
  const DevicePlaces* const places_;
  DeepProperty depends_, has_effects_;
  std::unordered_map<const Computation*, Computation*> plain_;
  std::vector<Status> partings_;
  std::vector<const Instruction*> hoistable_;
  std::vector<PlaceExchange> exchanges_;
  int64_t exchange_count_ = 0;
  std::unordered_map<const Computation*, Instruction*> last_;  // exchange, or what has some inside
};

}  // namespace VXLA_NAMESPACE::merging
