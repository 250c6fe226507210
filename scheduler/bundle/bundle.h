// Bundle: a program as it was compiled, in one file that needs no compiler: docs/guides/bundle.md has the format. A
// file holds several variants, each a plan with the SPIR-V of its kernels for a device or for any; all share constants
// and modules that are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

class Executable;

// A part of the modules or of the constants of a bundle.
struct BundlePart {
  uint64_t offset = 0, size = 0;  // bytes
  friend bool operator==(const BundlePart&, const BundlePart&) = default;
};

struct BundleVariant {
  bool generic = false;  // for any device that has what it was made for, else for that device and its driver alone
  DeviceFacts made_for;  // what the kernels rely on
  Plan plan;             // without the text of kernels, constants' words and what only compiling needs
  std::vector<BundlePart> modules;    // by Plan::kernels
  std::vector<BundlePart> constants;  // by Plan::constants

  // "generic under descriptors"
  std::string ToString() const;
};

// A program that turns the texels of an image into an argument's array, or a result's array into texels: a bundle
// itself, among the constants.
struct BundleConversion {
  bool argument = false;
  uint32_t leaf = 0;    // which argument or result array
  uint32_t format = 0;  // VkFormat
  BundlePart bundle;
};

struct Bundle {
  std::string producer;  // "vxla 0.1.0"
  std::vector<Shape> parameters;
  Shape result;
  std::vector<BundleVariant> variants;
  std::vector<BundleConversion> conversions;
  std::span<const std::byte> modules, constants;  // within the bytes that were read

  std::span<const std::byte> Module(const BundlePart& part) const { return modules.subspan(part.offset, part.size); }
  std::span<const std::byte> Constant(const BundlePart& part) const {
    return constants.subspan(part.offset, part.size);
  }
};

// Whether bytes begin as a bundle does.
bool IsBundle(std::span<const std::byte> bytes);
// Refers to `bytes`, which outlive it. All that a plan says of its own tables holds: indices are in range, slices
// within their buffers, buffers within their blocks, regions within each other. kInvalidArgument: the bytes are no
// bundle, cut off, damaged, or say what cannot be. kUnsupported: another version of the format.
Result<Bundle> ReadBundle(std::span<const std::byte> bytes);
// The part of ReadBundle that looks at meanings: kInvalidArgument.
Status CheckVariant(const Bundle& bundle, const BundleVariant& variant);

// Pure. Why a device cannot run a variant; empty: it can, where it is opened for the variant's way to bind.
std::string WhyNot(const BundleVariant& variant, const DeviceFacts& opened);
// The same of a device that is opened for these ways to bind.
std::string WhyNot(const BundleVariant& variant, const DeviceFacts& opened, std::span<const BindingMode> modes);
// Pure. The variant that runs best on a device opened for these ways to bind: one made for it before generic ones, then
// in the order of the modes, then the one that uses the most features. kUnsupported: none does, with the reason of
// each.
Result<size_t> ChooseVariant(const Bundle& bundle, const DeviceFacts& device, std::span<const BindingMode> modes);

// Puts a file together.
class BundleBuilder {
 public:
  // What an executable runs, with the modules that its device compiles; `generic`: BundleVariant. All are of one
  // program.
  // kUnsupported: the program needs more than its bundle can hold (steps for the host, sizes that arguments decide).
  Status Add(const Executable& executable, Device& device, bool generic);
  // Another file's bytes, for images of the format in the place of the argument or result array.
  void AddConversion(bool argument, uint32_t leaf, uint32_t format, std::span<const std::byte> file);
  // The bytes of the file.
  std::string Finish(const std::string& producer);

 private:
  // Equal bytes are there once.
  class Pool {
   public:
    explicit Pool(size_t alignment) : alignment_(alignment) {}
    BundlePart Add(std::span<const std::byte> bytes);
    const std::string& bytes() const { return bytes_; }

   private:
    size_t alignment_;
    std::string bytes_;
    std::unordered_multimap<uint64_t, BundlePart> parts_;  // by hash
  };

  Bundle bundle_;
  Pool modules_{4}, constants_{64};
};

}  // namespace VXLA_NAMESPACE
