// One program for one device that does what the same program does on many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/devices/replica_groups.h"
#include "core/ir/module.h"
#include "core/passes/devices/reduction_form.h"

namespace VXLA_NAMESPACE {

// Where the devices of a run are: a place is a physical device, or a process, with a program of its own for the devices
// that it holds.
struct DevicePlaces {
  IntList place_of;  // by device
  int64_t here = 0;
  PlaceLink link = PlaceLink::kStaging;    // between any two
  std::optional<ReductionForm> form = {};  // of all-reduces over several places; not given: ChooseReductionForm
  MemberOrder order = MemberOrder::kPairs;
  bool IsHere(int64_t device) const { return place_of[device] == here; }
};

// What places give one another in the middle of a program: a custom call (CallKind::kExchange, with its number) whose
// operands are what this place posts, and whose result is a tuple of what it receives. All places count exchanges
// alike, and those that take part in some come to them in one order.
struct PlaceExchange {
  // So many bytes of an array that a place posts, or all of it, and where they go.
  struct Piece {
    int64_t place = 0, which = 0;
    int64_t result = 0;  // element of the result
    int64_t begin_bytes = 0, size_bytes = kAll;
    int64_t at_bytes = 0;  // in the result
    static constexpr int64_t kAll = -1;
  };
  int64_t number = 0;
  std::string what;                        // "all-reduce ar (channel_id 7)"
  std::vector<int64_t> places;             // that take part
  std::vector<std::vector<Shape>> posted;  // by place
  std::vector<std::vector<Piece>> takes;   // by place: what makes up its results
  // Of its call, by which a host finds what does it.
  std::string target() const { return OwnCall(CallKind::kExchange, number).custom_call_target; }
  // Of the array that it is taken from.
  int64_t SizeOf(const Piece& piece) const;
  // That a place gets from others.
  int64_t BytesReceived(int64_t place) const;
};

struct MergedProgram {
  // Its result is a tuple of the arrays (and tokens) that the devices' results are made of, once each.
  std::unique_ptr<Module> module;
  // By device, the leaves of its result, depth first, among them.
  std::vector<IntList> results;
  // What its parameters are: (device, number) of the program's own. A parameter that all devices share is device 0's.
  std::vector<std::pair<int64_t, int64_t>> parameters;
  // What may end a run in vain, by number from 1 (devices that meet in a loop or branch have parted, a slice is wider
  // than what lives); which of them came to be is one more element of the result, the last one, 0 for none. Empty:
  // nothing can.
  std::vector<Status> partings;
  std::vector<PlaceExchange> exchanges;  // between places
};

// Every instruction stands there once for each device; once for those that compute the same from the same values, so
// what devices share (a counter, weights after an all-reduce) is computed once. Collectives become operations on the
// values of all members, in the order of the group: an all-reduce is additions (pairs, then pairs of those; sums of 8
// and 16 bits in f32), which fuse with what makes and uses them. Loops and conditionals with collectives are
// one for the devices that go the same way, which they do if what decides is the same value, or if they
// meet inside (the run then says whether they did); integers that follow from a device's number are known here. What
// draws from a device's own state or talks to its host says which device it is (Notes::device). Devices whose branches
// are known meet wherever each of them stands: instructions of one kind and channel are one meeting.
//
// shared[p]: all devices' parameter p has one value. Errors: those of CheckCollectives; kDeviceFailure: a collective
// that not all of its members reach, or data that nobody takes (who waits for whom); kUnsupported: members that come to
// a collective by different loops, or by branches that data decide and whose collectives differ.
//
// With `places` the program of one of several: what its own devices do. Parameters are those of its devices and the
// shared ones; `results` of devices elsewhere are empty. What is not here is nowhere computed: what its devices need of
// it comes by `exchanges`. Of devices that meet inside a loop or branch and might part, the first one's way is taken
// everywhere. The same instructions as in the program of all devices combine what members give, so results have the
// same bits wherever the devices are.
Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared,
                                   const std::optional<DevicePlaces>& places = {});

}  // namespace VXLA_NAMESPACE
