// VHLO, the versioned form of StableHLO that portable artifacts hold: which operations, attributes and types each of
// its versions has, by the names and numbers of the format.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/mlir/bytecode/codes.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// 0.9 to 0.20 and then 1.1, 1.2 ... as one number that counts the minor versions: 0.20 is 1.0.
struct VhloVersion {
  int number = 0;

  static constexpr VhloVersion Of(int major, int minor) { return {major == 0 ? minor : minor + 20}; }
  // "1.15.0", "1.15"; null: no such version.
  static std::optional<VhloVersion> Parse(std::string_view text);
  std::string ToString() const;
  friend auto operator<=>(const VhloVersion&, const VhloVersion&) = default;
};
inline constexpr VhloVersion kOldestVhlo = VhloVersion::Of(0, 9), kNewestVhlo = VhloVersion::Of(1, 20);

// One version of an operation. `properties` are "name:kind name:kind ..." in the order of their encoding, which is
// alphabetical. A kind that ends with '?' may be absent in StableHLO, where the artifact states what that means; a
// number after it is that value. Kinds:
//   i, i32, f, b, s    numbers, truth values, strings      y, ys  symbols, lists of symbols
//   d, d2, w, g, v, t  lists and matrices of i64, lists of i1, replica groups, the value of a constant, types
//   P, L, al, a        precisions, layouts, aliases, other lists
//   D, B, acc          dictionaries, what custom calls are configured with, accuracies
//   cmp, dir, api, fft, alg, dist, tr   the keywords of VhloWords
struct VhloOperation {
  std::string_view name;  // without its version: "add"
  int version;            // of add_v1
  VhloVersion since, until;
  std::string_view properties;
};
// "add_v1"; null: no such operation.
const VhloOperation* FindVhloOperation(std::string_view name);
// The newest form of "add" in `target`. Null: none, with the version that has it first in `*since`, if there is one.
const VhloOperation* FindVhloOperation(std::string_view name, VhloVersion target, std::optional<VhloVersion>* since);

struct VhloProperty {
  std::string_view name, kind, otherwise;
  bool optional = false;
};
// Takes the next property off `properties`.
VhloProperty NextVhloProperty(std::string_view& properties);

// Keywords that an attribute of its own code says by their place; empty words are no values.
struct VhloKeywords {
  VhloAttribute code;
  std::string_view kind;
  std::span<const std::string_view> words;
  std::string_view stablehlo = {};  // what StableHLO calls the kind, where its keywords have one
};
const VhloKeywords* FindVhloKeywords(VhloAttribute code);
const VhloKeywords* FindVhloKeywords(std::string_view kind);

struct VhloElementType {
  VhloType code;
  ElementType type;
  VhloVersion since;
};
std::span<const VhloElementType> VhloElementTypes();

// The parts of StableHLO's dimension numbers, which are attributes of the operation in VHLO.
struct VhloGroup {
  std::string_view operation, attribute;
  std::string_view dialect_name;  // of the attribute
  std::span<const std::string_view> parts;
};
std::span<const VhloGroup> VhloGroups();

// An operation with VHLO's attributes as StableHLO has it.
void ToStablehlo(Operation& operation, const VhloOperation& form);
// The way back: an operation of StableHLO, CHLO or func with VHLO's attributes. What it cannot make of one stays as it
// is, for the form to be missed.
Status ToVhlo(Operation& operation, const Program& program);
// Whether an attribute that an older version lacks is what that version means.
bool SaysNothing(const Attribute& attribute);

}  // namespace VXLA_NAMESPACE::mlir
