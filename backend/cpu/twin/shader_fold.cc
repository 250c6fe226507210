#include "backend/cpu/twin/shader_fold.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/reference/arithmetic/parallel.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

size_t BytesOf(ElementType type) { return static_cast<size_t>(ShaderCarrierBytes(ShaderCarrierOf(type))); }

// Accumulators side by side, by value.
struct Accumulators {
  std::vector<std::vector<std::byte>> values;
  std::vector<uint8_t> holds;

  void Reset(const ShaderReducer& reducer, size_t count) {
    values.resize(reducer.types().size());
    for (size_t v = 0; v < values.size(); ++v) {
      const size_t bytes = BytesOf(reducer.types()[v]);
      values[v].assign(count * bytes, std::byte{0});
      if (reducer.identity().empty()) continue;
      for (size_t i = 0; i < count; ++i) std::memcpy(values[v].data() + i * bytes, reducer.identity()[v].data(), bytes);
    }
    holds.assign(count, reducer.identity().empty() ? 0 : 1);
  }
};

// Blocks of accumulators picked from wherever they lie.
class Picked {
 public:
  explicit Picked(const ShaderReducer& reducer) : reducer_(reducer), blocks_(reducer.types().size()) {
    for (ShaderBlock& block : blocks_) pointers_.push_back(block.bytes);
  }
  void Pick(const Accumulators& from, const int64_t* at, int64_t n) {
    for (size_t v = 0; v < blocks_.size(); ++v) {
      const size_t bytes = BytesOf(reducer_.types()[v]);
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(blocks_[v].bytes + static_cast<size_t>(i) * bytes,
                    from.values[v].data() + static_cast<size_t>(at[i]) * bytes, bytes);
      }
    }
  }
  void Put(Accumulators& to, int64_t at, int64_t i) const {
    for (size_t v = 0; v < blocks_.size(); ++v) {
      const size_t bytes = BytesOf(reducer_.types()[v]);
      std::memcpy(to.values[v].data() + static_cast<size_t>(at) * bytes,
                  blocks_[v].bytes + static_cast<size_t>(i) * bytes, bytes);
    }
  }
  void* const* pointers() { return pointers_.data(); }

 private:
  const ShaderReducer& reducer_;
  std::vector<ShaderBlock> blocks_;
  std::vector<void*> pointers_;
};

// One level for the shares [begin, end) of rows, counted row by row.
class LevelFold {
 public:
  // `elements`: the first level's, else accumulators.
  LevelFold(const AccumulationLevel& level, int64_t steps, const ShaderReducer& reducer, const ShaderLoader& load,
            bool elements)
      : level_(level),
        steps_(steps),
        elements_(elements),
        reducer_(reducer),
        load_(load),
        runner_(reducer),
        first_(reducer),
        second_(reducer) {
    for (const ElementType type : reducer.types()) value_bytes_.push_back(BytesOf(type));
  }

  void Run(int64_t begin, int64_t end, ShaderSums* out) {
    chains_ = level_.lanes * level_.width;
    begin_ = begin;
    const size_t count = static_cast<size_t>((end - begin) * chains_);
    running_.Reset(reducer_, count);
    TakeElements(end);
    for (int64_t m = 1; m < level_.width; m *= 2) Join(end, level_.width, m);
    for (int64_t m = 1; m < level_.lanes; m *= 2) Join(end, chains_, m * level_.width);
    for (int64_t group = begin; group < end; ++group) {
      for (size_t v = 0; v < value_bytes_.size(); ++v) {
        const size_t bytes = value_bytes_[v];
        std::memcpy(out->values[v].data() + static_cast<size_t>(group) * bytes,
                    running_.values[v].data() + static_cast<size_t>((group - begin) * chains_) * bytes, bytes);
      }
      out->holds[static_cast<size_t>(group)] = running_.holds[static_cast<size_t>((group - begin) * chains_)];
    }
  }

 private:
  // The chain's place: which share of which row, which step comes first, how many follow.
  struct Chain {
    int64_t row, step, turns, slot;
  };
  Chain ChainAt(int64_t index) const {
    const int64_t group = begin_ + index / chains_, within = index % chains_;
    const int64_t share = group % level_.shares, lane = within / level_.width;
    return {group / level_.shares, level_.Begin(share, lane), level_.Turns(steps_, share, lane), within % level_.width};
  }

  void TakeElements(int64_t end) {
    const int64_t count = (end - begin_) * chains_;
    for (int64_t at = 0; at < count; at += kShaderBlock) TakeBlock(at, std::min(kShaderBlock, count - at));
  }

  // Up to kShaderBlock chains, turn by turn.
  void TakeBlock(int64_t at, int64_t count) {
    std::vector<Chain> chains;
    int64_t most = 0;
    for (int64_t i = 0; i < count; ++i) {
      chains.push_back(ChainAt(at + i));
      most = std::max(most, chains.back().turns);
    }
    Accumulators& into = level_.block > 0 ? block_ : running_;
    const int64_t base = level_.block > 0 ? 0 : at;
    if (level_.block > 0) block_.Reset(reducer_, static_cast<size_t>(count));
    int64_t rows[kShaderBlock], elements[kShaderBlock], targets[kShaderBlock];
    for (int64_t turn = 0; turn < most; ++turn) {
      int64_t n = 0;
      for (int64_t i = 0; i < count; ++i) {
        const Chain& chain = chains[static_cast<size_t>(i)];
        if (turn >= chain.turns) continue;
        rows[n] = chain.row;
        elements[n] = (chain.step + turn * level_.stride()) * level_.width + chain.slot;
        targets[n++] = base + i;
      }
      load_(rows, elements, n, second_.pointers());
      CombineInto(into, targets, n, nullptr, elements_);
      if (level_.block > 0 && ((turn + 1) % level_.block == 0 || turn + 1 == most)) {
        for (int64_t i = 0; i < count; ++i) targets[i] = at + i;
        second_.Pick(block_, All(count), count);
        CombineInto(running_, targets, count, block_.holds.data());
        block_.Reset(reducer_, static_cast<size_t>(count));
      }
    }
  }

  const int64_t* All(int64_t count) {
    while (static_cast<int64_t>(all_.size()) < count) all_.push_back(static_cast<int64_t>(all_.size()));
    return all_.data();
  }

  // In every group of `size` accumulators each one at a multiple of 2 * distance takes the one `distance` beyond it.
  void Join(int64_t end, int64_t size, int64_t distance) {
    std::vector<int64_t> targets, sources;
    const int64_t count = (end - begin_) * chains_;
    for (int64_t base = 0; base < count; base += size) {
      for (int64_t j = 0; j + distance < size; j += 2 * distance) {
        targets.push_back(base + j);
        sources.push_back(base + j + distance);
      }
    }
    std::vector<uint8_t> held;
    for (size_t at = 0; at < targets.size(); at += kShaderBlock) {
      const int64_t n = std::min<int64_t>(kShaderBlock, static_cast<int64_t>(targets.size() - at));
      second_.Pick(running_, sources.data() + at, n);
      held.clear();
      for (int64_t i = 0; i < n; ++i)
        held.push_back(running_.holds[static_cast<size_t>(sources[at + static_cast<size_t>(i)])]);
      CombineInto(running_, targets.data() + at, n, held.data());
    }
  }

  // Combines second_ into the accumulators at `targets`; `held` null: all of second_ are values, or `elements`.
  void CombineInto(Accumulators& into, const int64_t* targets, int64_t n, const uint8_t* held, bool elements = false) {
    first_.Pick(into, targets, n);
    elements ? runner_.Take(first_.pointers(), second_.pointers(), n)
             : runner_.Combine(first_.pointers(), second_.pointers(), n);
    const bool knows = reducer_.identity().empty();
    for (int64_t i = 0; i < n; ++i) {
      uint8_t& holds = into.holds[static_cast<size_t>(targets[i])];
      if (knows && held != nullptr && held[i] == 0) continue;
      (holds != 0 ? first_ : second_).Put(into, targets[i], i);
      holds = 1;
    }
  }

  const AccumulationLevel& level_;
  const int64_t steps_;
  const bool elements_;
  const ShaderReducer& reducer_;
  const ShaderLoader& load_;
  ShaderReducer::Runner runner_;
  Picked first_, second_;
  Accumulators running_, block_;
  std::vector<size_t> value_bytes_;
  std::vector<int64_t> all_;
  int64_t chains_ = 1, begin_ = 0;
};

ShaderSums FoldLevel(int64_t rows, int64_t row_size, const AccumulationLevel& level, const ShaderReducer& reducer,
                     const ShaderLoader& load, bool elements, int threads) {
  ShaderSums sums;
  const int64_t groups = rows * level.shares;
  for (const ElementType type : reducer.types()) sums.values.emplace_back(static_cast<size_t>(groups) * BytesOf(type));
  sums.holds.assign(static_cast<size_t>(groups), 0);
  const int64_t grain = std::max<int64_t>(1, 2048 / (level.lanes * level.width));
  ParallelFor(groups, grain, threads, [&](int64_t begin, int64_t end) {
    LevelFold(level, row_size / level.width, reducer, load, elements).Run(begin, end, &sums);
  });
  return sums;
}

}  // namespace

Result<ShaderReducer> ShaderReducer::FromComputation(const Computation& computation) {
  const ReducerFacts facts = FactsOfReducer(computation);
  ShaderReducer reducer;
  reducer.types_ = facts.types;
  reducer.in_order_ = facts.in_order();
  if (facts.identity) {
    std::vector<std::byte>& identity = reducer.identity_.emplace_back(BytesOf(facts.types[0]));
    LoadShaderCarriers(facts.types[0], facts.identity->bytes().data(), 1, identity.data());
  }
  if (facts.adds_floats) {
    reducer.combine_ = FindShaderFunction("add_" + std::string(ShaderSuffix(facts.types[0])));
    return reducer;
  }
  VXLA_ASSIGN_OR_RETURN(reducer.program_, ShaderProgram::Compile(computation));
  return reducer;
}

Result<ShaderReducer> ShaderReducer::Of(const Instruction& instruction) {
  if (instruction.notes().wide_sum) return Sum(ElementType::kC64, true);
  if (const std::optional<ElementType> pair = PairTypeOf(instruction)) return ProductInPairs(*pair);
  return FromComputation(*instruction.called(0));
}

Result<ShaderReducer> ShaderReducer::Sum(ElementType type, bool wide) {
  ShaderReducer reducer;
  reducer.types_ = {type};
  reducer.identity_ = {std::vector(BytesOf(type), std::byte{0})};
  reducer.combine_ = FindShaderFunction(wide ? "add_wide_f32" : "add_" + std::string(ShaderSuffix(type)));
  VXLA_CHECK(reducer.combine_.run != nullptr, "a sum of a type without addition");
  return reducer;
}

ShaderReducer ShaderReducer::ProductInPairs(ElementType pair) {
  ShaderReducer reducer;
  reducer.types_ = {pair};
  reducer.identity_.resize(1);
  reducer.identity_[0].resize(BytesOf(pair));
  Literal identity{Shape(pair)};
  identity.SetComplex(0, 1);
  LoadShaderCarriers(pair, identity.bytes().data(), 1, reducer.identity_[0].data());
  const std::string suffix(ShaderSuffix(RealPart(pair)));
  reducer.combine_ = FindShaderFunction("multiply_pair_" + suffix);
  reducer.take_ = FindShaderFunction("multiply_into_pair_" + suffix);
  VXLA_CHECK(reducer.combine_.run != nullptr && reducer.take_.run != nullptr, "a product of a type without pairs");
  return reducer;
}

ShaderReducer::Runner::Runner(const ShaderReducer& reducer) : reducer_(reducer) {
  if (reducer.program_) frame_.emplace(*reducer.program_);
}

void ShaderReducer::Runner::Take(void* const* a, const void* const* b, int64_t n) {
  if (reducer_.take_.run == nullptr) return Combine(a, b, n);
  const void* in[] = {a[0], b[0]};
  reducer_.take_.run(in, a[0], n, nullptr);
}

void ShaderReducer::Runner::Combine(void* const* a, const void* const* b, int64_t n) {
  if (!frame_) {
    const void* in[] = {a[0], b[0]};
    return reducer_.combine_.run(in, a[0], n, nullptr);
  }
  const size_t count = reducer_.types_.size();
  std::vector<const void*> arguments(a, a + count);
  arguments.insert(arguments.end(), b, b + count);
  frame_->Run(arguments.data(), a, n);
}

ShaderSums FoldRows(int64_t rows, int64_t row_size, const AccumulationOrder& order, const ShaderReducer& reducer,
                    const ShaderLoader& load, int threads) {
  VXLA_CHECK(!order.empty(), "an order without levels");
  return FoldShares(rows, order[0].shares, FoldLevel(rows, row_size, order[0], reducer, load, true, threads),
                    std::span(order).subspan(1), reducer, threads);
}

ShaderSums FoldShares(int64_t rows, int64_t shares, ShaderSums sums, std::span<const AccumulationLevel> levels,
                      const ShaderReducer& reducer, int threads) {
  for (const AccumulationLevel& level : levels) {
    const ShaderLoader load = [&](const int64_t* row, const int64_t* element, int64_t n, void* const* values) {
      for (size_t v = 0; v < sums.values.size(); ++v) {
        const size_t bytes = BytesOf(reducer.types()[v]);
        for (int64_t i = 0; i < n; ++i) {
          std::memcpy(static_cast<std::byte*>(values[v]) + static_cast<size_t>(i) * bytes,
                      sums.values[v].data() + static_cast<size_t>(row[i] * shares + element[i]) * bytes, bytes);
        }
      }
    };
    sums = FoldLevel(rows, shares, level, reducer, load, false, threads);
    shares = level.shares;
  }
  VXLA_CHECK(shares == 1, "an order that does not end in one accumulator a row");
  return sums;
}

}  // namespace VXLA_NAMESPACE
