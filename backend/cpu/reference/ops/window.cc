// Reduce-window and select-and-scatter.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "backend/cpu/reference/reducer_fold.h"
#include "backend/cpu/reference/arithmetic/twofold.h"
#include "backend/cpu/reference/eval.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

// Where windows reach: which operand element a window position of an output reads.
class WindowReach {
 public:
  WindowReach(const Window& window, const Shape& operand, const Shape& output)
      : strides_(RowMajorStrides(operand.dimensions())),
        output_(output.dimensions().begin(), output.dimensions().end()),
        operand_(operand.dimensions().begin(), operand.dimensions().end()),
        window_(window) {
    for (const WindowDimension& w : window) {
      sizes_.push_back(w.size);
      taps_ *= w.size;
    }
  }

  int64_t taps() const { return taps_; }
  size_t rank() const { return sizes_.size(); }

  std::vector<int64_t> OutputIndex(int64_t at) const {
    std::vector<int64_t> index(rank());
    for (size_t d = rank(); d-- > 0;) {
      index[d] = at % output_[d];
      at /= output_[d];
    }
    return index;
  }
  void NextOutput(std::vector<int64_t>& index) const { Next(index, output_); }
  void NextTap(std::vector<int64_t>& tap) const { Next(tap, sizes_); }

  // The offset in the operand, or -1 in the padding and in the holes of the base dilation.
  int64_t Offset(const int64_t* output, const int64_t* taps) const {
    int64_t offset = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const WindowDimension& w = window_[d];
      const int64_t tap = w.reversal ? w.size - 1 - taps[d] : taps[d];
      int64_t x = output[d] * w.stride - w.pad_low + tap * w.rhs_dilate;
      if (x < 0) return -1;
      if (w.lhs_dilate != 1) {
        if (x % w.lhs_dilate != 0) return -1;
        x /= w.lhs_dilate;
      }
      if (x >= operand_[d]) return -1;
      offset += x * strides_[d];
    }
    return offset;
  }

 private:
  static void Next(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) return;
      index[d] = 0;
    }
  }

  std::vector<int64_t> strides_, output_, operand_, sizes_;
  Window window_;
  int64_t taps_ = 1;
};

Window WindowOf(const Instruction& instruction, int rank) {
  Window window = instruction.attributes<WindowAttributes>().window;
  if (window.empty()) window.resize(static_cast<size_t>(rank));  // a scalar, or a window of ones
  return window;
}

// One block of neighbouring outputs, window position by window position.
void ReduceBlock(ReducerFold& folder, const WindowReach& reach, int64_t first, int64_t n, std::span<Literal> results) {
  const size_t rank = reach.rank();
  std::vector<int64_t> outputs(static_cast<size_t>(n) * rank), index = reach.OutputIndex(first), tap(rank, 0);
  for (int64_t i = 0; i < n; ++i) {
    std::ranges::copy(index, outputs.begin() + i * static_cast<int64_t>(rank));
    reach.NextOutput(index);
  }
  int64_t offsets[kBlockSize];
  folder.LoadInit(n);
  for (int64_t t = 0; t < reach.taps(); ++t) {
    for (int64_t i = 0; i < n; ++i)
      offsets[i] = reach.Offset(outputs.data() + static_cast<size_t>(i) * rank, tap.data());
    folder.LoadValueAt(offsets, n);
    folder.Fold(n);
    reach.NextTap(tap);
  }
  folder.Store(results, first, 1, n);
}

// A window that covers all of one dimension up to (or from) each output: a running reduction, done in one pass.
struct Running {
  int64_t outer = 1, size = 1, inner = 1;
  bool from_end = false;
};

std::optional<Running> AsRunning(const Window& window, const Shape& operand) {
  std::optional<Running> running;
  int64_t before = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    const int64_t n = operand.dimension(static_cast<int>(d));
    if (w.stride != 1 || w.lhs_dilate != 1 || w.reversal) return std::nullopt;
    if (w.size == 1) {
      if (w.pad_low != 0 || w.pad_high != 0) return std::nullopt;
    } else {
      const bool prefix = w.pad_low == n - 1 && w.pad_high == 0, suffix = w.pad_low == 0 && w.pad_high == n - 1;
      if (running || w.rhs_dilate != 1 || w.size != n || !(prefix || suffix)) return std::nullopt;
      running = Running{before, n, 1, suffix};
    }
    if (running && w.size == 1) running->inner *= n;
    before *= n;
  }
  return running;
}

// The initial value also fills the padding, so leaving the padding out is right only if it is an identity.
bool PaddingVanishes(const EvalContext& context, const ReducerFoldMaker& factory, int64_t count) {
  std::atomic<bool> vanishes{true};
  context.For(count, 64 * kBlockSize, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<ReducerFold> folder = factory.New();
    for (int64_t at = begin; at < end && vanishes; at += kBlockSize) {
      if (!folder->InitVanishes(at, std::min<int64_t>(kBlockSize, end - at))) vanishes = false;
    }
  });
  return vanishes;
}

// From the end each element would come in front of what is folded already; and initial values that lie before the first
// element of a window are folded with each other.
bool MayRun(const ReducerFoldMaker& factory, const Running& running) {
  return !factory.InOrder() || (!running.from_end && factory.New()->InitStays());
}

void ReduceRunning(const EvalContext& context, const ReducerFoldMaker& factory, const Running& r,
                   std::span<Literal> results) {
  const bool along_outer = r.inner == 1;
  const int64_t line = along_outer ? r.outer : r.inner, lines = along_outer ? 1 : r.outer;
  const int64_t lane_stride = along_outer ? r.size : 1, lanes = std::clamp<int64_t>((line + 7) / 8, 1, kBlockSize);
  const int64_t blocks = CeilDivide(line, lanes);
  context.For(lines * blocks, 1, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<ReducerFold> folder = factory.New();
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * lanes, n = std::min(lanes, line - first);
      const int64_t base = b / blocks * r.size * r.inner + first * lane_stride;
      folder->LoadInit(n);
      for (int64_t i = 0; i < r.size; ++i) {
        const int64_t at = base + (r.from_end ? r.size - 1 - i : i) * r.inner;
        folder->LoadValue(at, lane_stride, n);
        r.from_end ? folder->FoldInFront(n) : folder->Fold(n);
        folder->Store(results, at, lane_stride, n);
      }
    }
  });
}

// For each source element the operand offset that its window selects, or -1 if the window lies in the padding. The
// selecting computation keeps the earlier of two elements when it says true.
std::vector<int64_t> SelectAll(const EvalContext& context, const ScalarProgram& select, const WindowReach& reach,
                               const Literal& operand, int64_t sources) {
  std::vector<int64_t> chosen(static_cast<size_t>(sources), -1);
  const size_t rank = reach.rank();
  context.For(sources, 256, [&](int64_t begin, int64_t end) {
    ScalarProgram::Frame frame(select);
    const int64_t n = end - begin;
    std::vector<int64_t> outputs(static_cast<size_t>(n) * rank), index = reach.OutputIndex(begin), tap(rank, 0);
    for (int64_t i = 0; i < n; ++i) {
      std::ranges::copy(index, outputs.begin() + i * static_cast<int64_t>(rank));
      reach.NextOutput(index);
    }
    int64_t lanes[kBlockSize], held[kBlockSize], offered[kBlockSize];
    for (int64_t t = 0; t < reach.taps(); ++t, reach.NextTap(tap)) {
      int64_t active = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t offset = reach.Offset(outputs.data() + static_cast<size_t>(i) * rank, tap.data());
        int64_t& mine = chosen[static_cast<size_t>(begin + i)];
        if (offset < 0) continue;
        if (mine < 0) {
          mine = offset;
          continue;
        }
        lanes[active] = begin + i;
        held[active] = mine;
        offered[active++] = offset;
      }
      if (active == 0) continue;
      GatherElements(operand, held, active, frame.input(0));
      GatherElements(operand, offered, active, frame.input(1));
      frame.Run(active);
      const uint64_t* keep = static_cast<const uint64_t*>(frame.output(0));
      for (int64_t i = 0; i < active; ++i) {
        if (!keep[i]) chosen[static_cast<size_t>(lanes[i])] = offered[i];
      }
    }
  });
  return chosen;
}

// Float sums in double (of f64 and c128 compensated), rounded once.
void ScatterSums(const std::vector<int64_t>& chosen, const Literal& source, const Literal& init, Literal& result) {
  const ElementType type = result.shape().element_type();
  const size_t parts = IsComplex(type) ? 2 : 1;
  const ComplexDouble start = init.GetComplex(0);
  std::vector<double> initial(static_cast<size_t>(result.element_count()) * parts, start.real());
  for (size_t i = 1; parts == 2 && i < initial.size(); i += 2) initial[i] = start.imag();
  WideSums sums(std::move(initial), RealPart(type) == ElementType::kF64);
  Block block;
  for (int64_t at = 0; at < static_cast<int64_t>(chosen.size()); at += kBlockSize) {
    const int64_t n = std::min<int64_t>(kBlockSize, static_cast<int64_t>(chosen.size()) - at);
    LoadBlock(source, at, n, block.bytes);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t to = chosen[static_cast<size_t>(at + i)];
      for (size_t p = 0; to >= 0 && p < parts; ++p) {
        sums.Add(static_cast<size_t>(to) * parts + p, block.as<double>()[static_cast<size_t>(i) * parts + p]);
      }
    }
  }
  const std::vector<double> totals = std::move(sums).Finish();
  StoreElements(RealPart(type), totals.data(), static_cast<int64_t>(totals.size()), result.mutable_bytes().data());
}

void ScatterEach(const ScalarProgram& program, const std::vector<int64_t>& chosen, const Literal& source,
                 Literal& result) {
  ScalarProgram::Frame frame(program);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    LoadBlock(result, chosen[i], 1, frame.input(0));
    LoadBlock(source, static_cast<int64_t>(i), 1, frame.input(1));
    frame.Run(1);
    ScatterElements(frame.output(0), &chosen[i], 1, result);
  }
}

}  // namespace

EvalResult EvalReduceWindow(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const size_t count = operands.size() / 2;
  VXLA_ASSIGN_OR_RETURN(const ReducerFoldMaker factory,
                        ReducerFoldMaker::Make(*instruction.called(0), operands.first(count), operands.subspan(count)));
  std::vector<Literal> results;
  for (const Shape* shape : FlattenTuple(instruction.shape())) results.push_back(Literal::Uninitialized(*shape));
  const Shape& output = results[0].shape();
  const Window window = WindowOf(instruction, output.rank());
  const std::optional<Running> running = AsRunning(window, operands[0].shape());
  const bool one_pass =
      running && MayRun(factory, *running) && PaddingVanishes(context, factory, results[0].element_count());
  if (one_pass) ReduceRunning(context, factory, *running, results);
  const WindowReach reach(window, operands[0].shape(), output);
  const int64_t lanes = std::clamp<int64_t>(results[0].element_count() / 16, 32, kBlockSize);
  context.For(one_pass ? 0 : results[0].element_count(), lanes,
              [&](int64_t begin, int64_t end) { ReduceBlock(*factory.New(), reach, begin, end - begin, results); });
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  std::vector<Value> elements(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return Value::Tuple(std::move(elements));
}

EvalResult EvalSelectAndScatter(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const ScalarProgram select, ScalarProgram::Compile(*instruction.called(0)));
  VXLA_ASSIGN_OR_RETURN(const ScalarProgram scatter, ScalarProgram::Compile(*instruction.called(1)));
  const Literal& source = operands[1].literal();
  const WindowReach reach(WindowOf(instruction, source.shape().rank()), operands[0].shape(), source.shape());
  const std::vector<int64_t> chosen = SelectAll(context, select, reach, operands[0].literal(), source.element_count());
  Literal result(instruction.shape());
  const ElementType type = instruction.shape().element_type();
  if (scatter.single_op() != nullptr && scatter.single_op()->opcode() == Opcode::kAdd &&
      (IsFloating(type) || IsComplex(type))) {
    ScatterSums(chosen, source, operands[2].literal(), result);
    return result;
  }
  Block init;
  LoadSplat(operands[2].literal(), 0, kBlockSize, init.bytes);
  for (int64_t at = 0; at < result.element_count(); at += kBlockSize) {
    StoreBlock(init.bytes, std::min<int64_t>(kBlockSize, result.element_count() - at), result, at);
  }
  ScatterEach(scatter, chosen, source, result);
  return result;
}

}  // namespace VXLA_NAMESPACE
