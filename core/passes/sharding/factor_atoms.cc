#include "core/passes/sharding/factor_atoms.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace VXLA_NAMESPACE {
namespace {

// What an array says in parts is one dimension of so many at most.
constexpr int64_t kMostParts = 256;

int64_t SizeOf(const FactorRule& rule, int factor) { return rule.factors[factor].size; }

// Of parts that are the same in each of `count` equal runs, those of one run, in elements of which each is `every` of
// the dimension's; nothing of others.
std::optional<IntList> PartsOfEach(const IntList& parts, int64_t count, int64_t every, int64_t size) {
  if (count < 1 || every < 1 || std::ssize(parts) % count != 0) return std::nullopt;
  const size_t each = parts.size() / static_cast<size_t>(count);
  IntList own;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] % every != 0 || parts[i] != parts[i % each]) return std::nullopt;
    if (i < each) own.push_back(parts[i] / every);
  }
  if (std::accumulate(own.begin(), own.end(), int64_t{0}) != size) return std::nullopt;
  return own;
}

// The atoms of one dimension go to its factors, one after the other.
class Reader {
 public:
  Reader(const MeshAtoms& mesh, const FactorRule& rule, const std::vector<int>& factors, std::vector<Atoms>& atoms)
      : mesh_(mesh), rule_(rule), factors_(factors), atoms_(atoms), left_(SizeOf(rule, factors[0])) {}

  void Read(const Atoms& all, FactorReading reading) {
    for (size_t i = 0; i < all.size(); ++i) {
      const std::span<const int> rest = std::span(all).subspan(i);
      if (mesh_.IsParts(all[i]) ? !TakeParts(mesh_.PartsOf(all[i])) : !TakeAtom(rest, reading)) break;
    }
    if (!Own().empty() && mesh_.IsParts(Own().back())) Own().pop_back();
  }

 private:
  bool TakeParts(const IntList& parts) {
    for (size_t j = factors_.size(); j-- > at_;) {
      int64_t count = j == at_ ? 1 : left_, every = 1;
      for (size_t k = at_ + 1; k < j; ++k) count *= SizeOf(rule_, factors_[k]);
      for (size_t k = j + 1; k < factors_.size(); ++k) every *= SizeOf(rule_, factors_[k]);
      const int64_t size = j == at_ ? left_ : SizeOf(rule_, factors_[j]);
      const std::optional<IntList> own = PartsOfEach(parts, count, every, size);
      if (!own) continue;
      at_ = j;
      left_ = size;
      parts_ = *own;
      if (parts_.size() > 1) Own().push_back(mesh_.InParts(*own));
      return true;
    }
    return false;
  }

  bool TakeAtom(std::span<const int> rest, FactorReading reading) {
    const int64_t size = mesh_.size(rest[0]);
    while (left_ == 1 && at_ + 1 < factors_.size() && parts_.size() < 2) left_ = SizeOf(rule_, factors_[++at_]);
    if (reading == FactorReading::kGuessed && Own().empty() && (IsWhole() || left_ % size != 0)) {
      size_t k = at_ + 1;
      while (k < factors_.size() &&
             (rule_.factors[factors_[k]].is_whole || !mesh_.Divides(rest, SizeOf(rule_, factors_[k]))))
        ++k;
      if (k == factors_.size()) return false;
      at_ = k;
      left_ = SizeOf(rule_, factors_[k]);
    }
    if (left_ == 0 || IsWhole() || left_ % size != 0) return false;
    if (parts_.size() > 1 && std::ranges::any_of(parts_, [size](int64_t part) { return part % size != 0; }))
      return false;
    for (int64_t& part : parts_) part /= size;
    left_ /= size;
    Own().push_back(rest[0]);
    return true;
  }

  Atoms& Own() { return atoms_[factors_[at_]]; }
  bool IsWhole() const { return rule_.factors[factors_[at_]].is_whole; }

  const MeshAtoms& mesh_;
  const FactorRule& rule_;
  const std::vector<int>& factors_;
  std::vector<Atoms>& atoms_;
  size_t at_ = 0;
  int64_t left_;
  IntList parts_;  // of what is left of the factor
};

Atoms DimensionTiling(const MeshAtoms& mesh, const FactorRule& rule, const std::vector<int>& factors,
                      const std::vector<Atoms>& atoms) {
  Atoms made;
  if (factors.size() == 1) return atoms[factors[0]];
  int64_t count = 1;  // that those before leave
  bool in_parts = false;
  for (size_t j = 0; j < factors.size(); ++j) {
    const Atoms& own = atoms[factors[j]];
    const int64_t size = SizeOf(rule, factors[j]);
    const size_t parts_at = mesh.PartsAt(own);
    if (!own.empty() && (count > 1 || parts_at < own.size())) {
      if (in_parts || (count > 1 && parts_at > 0 && parts_at < own.size())) return made;
      int64_t every = 1;
      for (size_t k = j + 1; k < factors.size(); ++k) every *= SizeOf(rule, factors[k]);
      const IntList inner = parts_at < own.size() ? mesh.PartsOf(own[parts_at]) : IntList{size};
      if (count * std::ssize(inner) > kMostParts) return made;
      IntList parts;
      for (int64_t i = 0; i < count; ++i) {
        for (const int64_t part : inner) parts.push_back(part * every);
      }
      const size_t before = count > 1 ? 0 : parts_at;
      made.insert(made.end(), own.begin(), own.begin() + static_cast<ptrdiff_t>(before));
      made.push_back(mesh.InParts(parts));
      for (size_t i = before; i < own.size(); ++i) {
        if (!mesh.IsParts(own[i])) made.push_back(own[i]);
      }
      in_parts = true;
    } else {
      made.insert(made.end(), own.begin(), own.end());
    }
    count *= size / std::max<int64_t>(1, mesh.SizeOf(own));
  }
  return made;
}

// What is asked of the longest array of a slice, pad or concatenate by one of the arrays, whose run is cut in parts.
// Without parts where they are not those of the operation.
Atoms OfLongest(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors::Run* run,
                const Atoms& atoms) {
  const size_t at = mesh.PartsAt(atoms);
  if (at == atoms.size()) return atoms;
  Atoms real = mesh.WithoutParts(atoms);
  if (run == nullptr || at > 0) return real;
  std::set<int64_t> ends;
  for (const int64_t end : EndsOf(mesh.PartsOf(atoms[0]))) ends.insert(run->start + end);
  for (const int64_t end : EndsOf(rule.factors[run->factor].parts)) {
    const bool is_inside = run->start < end && end < run->start + run->size;
    if (is_inside && !ends.contains(end)) return real;
    ends.insert(end);
  }
  if (run->start > 0) ends.insert(run->start);
  real.insert(real.begin(), mesh.InParts(PartsBetween({ends.begin(), ends.end()})));
  return real;
}

// And what its run is then.
Atoms OfRun(const MeshAtoms& mesh, const FactorRule::ArrayFactors::Run& run, const Atoms& atoms) {
  Atoms real = mesh.WithoutParts(atoms);
  std::vector<int64_t> ends;
  for (const int64_t end : EndsOf(mesh.PartsOf(atoms[0]))) {
    if (run.start < end && end <= run.start + run.size) ends.push_back(end - run.start);
  }
  if (ends.size() > 1) real.insert(real.begin(), mesh.InParts(PartsBetween(ends)));
  return real;
}

}  // namespace

IntList PartsBetween(const std::vector<int64_t>& ends) {
  IntList parts(ends.begin(), ends.end());
  for (size_t i = parts.size(); i-- > 1;) parts[i] -= parts[i - 1];
  return parts;
}

std::vector<int64_t> EndsOf(const IntList& parts) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const int64_t part : parts) ends.push_back(end += part);
  return ends;
}

bool RefinesParts(const IntList& parts, const IntList& others) {
  return std::ranges::includes(EndsOf(parts), EndsOf(others));
}

std::vector<Atoms> FactorAtoms(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                               const Tiling& tiling, FactorReading reading) {
  std::vector<Atoms> atoms(rule.factors.size());
  for (size_t d = 0; d < array.size(); ++d) {
    const std::vector<int>& factors = array[d];
    const Atoms& all = tiling.dimensions[d];
    if (factors.empty() || all.empty()) continue;
    const FactorRule::Factor& first = rule.factors[factors[0]];
    if (first.is_shifted) {
      const auto run = std::ranges::find(array.runs, d, &FactorRule::ArrayFactors::Run::dimension);
      const bool exact = reading == FactorReading::kExact && run != array.runs.end();
      atoms[factors[0]] = OfLongest(mesh, rule, exact ? &*run : nullptr, all);
    } else if (factors.size() == 1 && first.may_pad) {
      atoms[factors[0]] = all;
    } else {
      Reader(mesh, rule, factors, atoms).Read(all, reading);
    }
  }
  return atoms;
}

Tiling ArrayTiling(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                   const std::vector<Atoms>& atoms) {
  Tiling tiling;
  for (const std::vector<int>& factors : array.dimensions) {
    tiling.dimensions.push_back(factors.empty() ? Atoms() : DimensionTiling(mesh, rule, factors, atoms));
  }
  for (const FactorRule::ArrayFactors::Run& run : array.runs) {
    const Atoms& along = atoms[run.factor];
    if (!along.empty() && mesh.IsParts(along[0])) tiling.dimensions[run.dimension] = OfRun(mesh, run, along);
  }
  return tiling;
}

}  // namespace VXLA_NAMESPACE
