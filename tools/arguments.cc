#include "tools/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "tools/numpy_file.h"

namespace vxla {
namespace {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// ln x for x in (0, 1], by the series of atanh on the mantissa; good to about 1e-15. The C library's may differ by
// machine.
double Log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double sum = 0;
  for (int k = 31; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

// cos(2 pi x) for x in [0, 1), by its Taylor series on a quarter turn.
double CosTurns(double x) {
  x = std::fabs(x - 0.5);  // cos(2 pi x) = -cos(2 pi |x - 1/2|), the argument now in [0, 1/2]
  const bool flip = x > 0.25;
  const double y = 6.2831853071795865 * (flip ? 0.5 - x : x);
  const double y2 = y * y;
  double term = 1, sum = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -y2 / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  return flip ? sum : -sum;
}

// A normal deviate (Box and Muller) from two words.
double Normal(uint32_t a, uint32_t b) {
  const double u = (a + 1.0) / 4294967296.0;  // in (0, 1]
  return std::sqrt(-2 * Log(u)) * CosTurns(b / 4294967296.0);
}

std::string WantedName(size_t leaf) { return fmt::format("arg_{}", leaf); }

// By name, sidecars included.
Result<std::map<std::string, NumpyArray>> ReadGiven(const std::vector<std::string>& files) {
  if (files.size() == 1 && files[0].ends_with(".npz")) return ReadNpz(files[0]);
  std::map<std::string, NumpyArray> given;
  for (size_t k = 0; k < files.size(); ++k) {
    if (files[k].ends_with(".npz")) {
      return InvalidArgument("{}: one .npz or several .npy files can be given, not both", files[k]);
    }
    VXLA_ASSIGN_OR_RETURN(NumpyArray array, ReadNpy(files[k]));
    given.emplace(WantedName(k), std::move(array));
  }
  return given;
}

}  // namespace

std::vector<const Literal*> ProgramArguments::pointers() const {
  std::vector<const Literal*> result;
  for (const Literal& value : values) result.push_back(&value);
  return result;
}

Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array) {
  Literal literal(shape);
  const ElementType type = shape.element_type();
  const std::array<uint32_t, 2> key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto words =
        Philox({static_cast<uint32_t>(i), static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32), array, 0}, key);
    if (IsFloating(type)) {
      literal.SetDouble(i, Normal(words[0], words[1]));
    } else if (IsComplex(type)) {
      literal.SetComplex(i, {Normal(words[0], words[1]), Normal(words[2], words[3])});
    } else {
      const uint64_t largest = type == ElementType::kPred ? 1
                               : IsSigned(type)           ? static_cast<uint64_t>(MaxSigned(type))
                                                          : MaxUnsigned(type);
      literal.SetInt(i, static_cast<int64_t>(words[0] % (std::min<uint64_t>(largest, 7) + 1)));
    }
  }
  return literal;
}

namespace {

// A piece of the leading axis for each device, all of one live size.
std::vector<Literal> Deal(const Literal& stacked, const Shape& shape, int64_t devices) {
  std::vector<Literal> pieces;
  const size_t size = stacked.bytes().size() / static_cast<size_t>(devices);
  for (int64_t d = 0; d < devices; ++d) {
    Literal& piece = pieces.emplace_back(shape);
    if (size > 0)
      std::memcpy(piece.mutable_bytes().data(), stacked.bytes().data() + static_cast<size_t>(d) * size, size);
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.is_dynamic_dimension(i)) piece.set_dynamic_size(i, stacked.dynamic_size(i + 1));
    }
  }
  return pieces;
}

// One value, or one for each device if a leaf differs between them.
std::vector<Literal> Rebuild(const Shape& shape, std::vector<std::vector<Literal>> leaves, int64_t devices) {
  const bool differ = std::ranges::any_of(leaves, [](const auto& leaf) { return leaf.size() > 1; });
  std::vector<Literal> values;
  for (int64_t d = 0; d < (differ ? devices : 1); ++d) {
    std::vector<Literal> of_device;
    for (std::vector<Literal>& leaf : leaves) {
      const bool last = leaf.size() > 1 || !differ || d == devices - 1;
      Literal& from = leaf[leaf.size() > 1 ? static_cast<size_t>(d) : 0];
      of_device.push_back(last ? std::move(from) : Literal(from));
    }
    values.push_back(UnflattenLiteral(shape, of_device));
  }
  return values;
}

}  // namespace

Shape StackedShape(const Shape& shape, int64_t devices) {
  std::vector<int64_t> sizes{devices};
  sizes.insert(sizes.end(), shape.dimensions().begin(), shape.dimensions().end());
  Shape stacked(shape.element_type(), sizes);
  for (int i = 0; i < shape.rank(); ++i) stacked.set_dynamic_dimension(i + 1, shape.is_dynamic_dimension(i));
  return stacked;
}

Result<std::vector<Literal>> ToLiterals(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                                        const std::string& name, int64_t devices) {
  const bool one_more = devices > 1 && static_cast<int>(array.shape.size()) == wanted.rank() + 1;
  if (!one_more) {
    VXLA_ASSIGN_OR_RETURN(Literal literal, ToLiteral(array, wanted, type_name, name));
    std::vector<Literal> one;
    one.push_back(std::move(literal));
    return one;
  }
  if (array.shape[0] != devices) {
    return InvalidArgument("{}: a leading axis of {}, {} devices (replicas times partitions)", name, array.shape[0],
                           devices);
  }
  VXLA_ASSIGN_OR_RETURN(const Literal stacked, ToLiteral(array, StackedShape(wanted, devices), type_name, name));
  return Deal(stacked, wanted, devices);
}

std::vector<std::vector<const Literal*>> ReplicatedArguments::pointers(int64_t devices) const {
  std::vector<std::vector<const Literal*>> result(static_cast<size_t>(devices));
  for (size_t d = 0; d < result.size(); ++d) {
    for (const std::vector<Literal>& value : values) result[d].push_back(&value[value.size() == 1 ? 0 : d]);
  }
  return result;
}

Result<ReplicatedArguments> LoadReplicatedArguments(const Module& module, const std::vector<std::string>& files,
                                                    uint64_t seed, int64_t devices) {
  VXLA_ASSIGN_OR_RETURN(const auto given, ReadGiven(files));
  ReplicatedArguments arguments;
  size_t next = 0;
  std::set<std::string> used;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<std::vector<Literal>> leaves;
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      const std::string name = WantedName(next++);
      std::vector<Literal>& pieces = leaves.emplace_back();
      if (!leaf->IsArray()) {
        pieces.emplace_back(*leaf);
        continue;
      }
      if (const auto it = given.find(name); it != given.end()) {
        VXLA_ASSIGN_OR_RETURN(pieces, ToLiterals(it->second, *leaf, TypeNameOf(given, name), name, devices));
        used.insert(name);
        continue;
      }
      if (leaf->IsDynamic())
        return InvalidArgument("{}: {} has dynamic dimensions, so it must be given", name, leaf->ToString());
      VXLA_RETURN_IF_ERROR(CheckedElementCount(leaf->dimensions()).status());
      const auto number = static_cast<uint32_t>(next - 1);
      if (devices == 1) {
        pieces.push_back(RandomLiteral(*leaf, seed, number));
      } else {
        const Shape stacked = StackedShape(*leaf, devices);
        VXLA_RETURN_IF_ERROR(CheckedElementCount(stacked.dimensions()).status());
        pieces = Deal(RandomLiteral(stacked, seed, number), *leaf, devices);
      }
      arguments.notes.push_back(fmt::format("{}: {} from seed {}{}", name, leaf->ToString(), seed,
                                            devices == 1 ? "" : fmt::format(", one for each of {} devices", devices)));
    }
    arguments.values.push_back(Rebuild(parameter->shape(), std::move(leaves), devices));
  }
  for (const auto& [name, array] : given) {
    if (used.contains(name) || name.ends_with("__dtype")) continue;
    return InvalidArgument("{}: no parameter wants it; the program takes arg_0 to arg_{} ({} arrays)", name,
                           static_cast<int64_t>(next) - 1, next);
  }
  return arguments;
}

Result<ProgramArguments> LoadArguments(const Module& module, const std::vector<std::string>& files, uint64_t seed) {
  VXLA_ASSIGN_OR_RETURN(ReplicatedArguments one, LoadReplicatedArguments(module, files, seed, 1));
  ProgramArguments arguments;
  for (std::vector<Literal>& value : one.values) arguments.values.push_back(std::move(value[0]));
  arguments.notes = std::move(one.notes);
  return arguments;
}

}  // namespace vxla
