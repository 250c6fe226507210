#include "backend/vulkan/lower/sort/sort_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/vulkan/lower/software_kernels.h"
#include "backend/vulkan/lower/sort/sort_text.h"
#include "backend/vulkan/lower/tuning/tuner.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The steps.
class SortWriter : SortText {
 public:
  using SortText::SortText;

  std::vector<Step> Write(BufferMap& buffers) {
    const int64_t item_bytes = ItemBytes();
    shape_ = TuneSort(context_.facts, work_.rows, work_.length, item_bytes, work_.order.key_words);
    shape_.unit = static_cast<uint32_t>(std::min<int64_t>(shape_.unit, 2 * shape_.tile()));
    if (work_.length <= shape_.tile()) return {TileStep(operands(), results(), work_.kept)};
    if (work_.kept < work_.length) {
      const bool few = 2 * work_.kept <= shape_.tile();
      const SelectShape select = TunerOf(context_.facts).Select(context_.facts, work_.length, work_.kept, item_bytes);
      const DigitSelectShape digits =
          TuneDigitSelect(context_.facts, work_.rows, work_.length, work_.kept, shape_.tile(), work_.order.key_words,
                          work_.order.key_words * work_.order.word_bits());
      if (digits.chunk > 0 && !(few && select.chunk > 0)) return WriteDigitSelection(buffers, digits);
      if (few) return WriteSelection(buffers, select);
    }
    return WriteSorted(buffers, operands());
  }

 private:
  // All items, or the first of them, in order.
  std::vector<Step> WriteSorted(BufferMap& buffers, const Items& items) const {
    if (items.length <= shape_.tile()) return {TileStep(items, results(), work_.kept)};
    const RadixShape radix = TuneRadix(context_.facts, shape_, work_.rows, items.length, ItemBytes(),
                                       work_.order.key_words, work_.order.word_bits());
    return radix.chunk > 0 ? WriteRadix(buffers, radix, items) : WriteMerges(buffers, items);
  }

  // Two scratches, to and fro; the second is made when it is needed.
  std::vector<Step> WriteMerges(BufferMap& buffers, const Items& items) const {
    std::vector<int64_t> widths;
    for (int64_t width = shape_.tile(); width < items.length; width *= 2) widths.push_back(width);
    Items from = MakeScratch(buffers, items.length), to;
    if (widths.size() > 1) to = MakeScratch(buffers, items.length);
    std::vector<Step> steps{TileStep(items, from, shape_.tile())};
    for (const int64_t width : widths) {
      steps.push_back(MergeStep(width, from, width == widths.back() ? results() : to));
      std::swap(from, to);
    }
    return steps;
  }

  // The first of each part of a row, then the first of those: few results need no more.
  std::vector<Step> WriteSelection(BufferMap& buffers, const SelectShape& select) const {
    std::vector<Step> steps;
    Items from = operands();
    const auto left = [&](int64_t part) {
      const int64_t whole = (from.length - 1) / part;
      return whole * work_.kept + std::min(work_.kept, from.length - whole * part);
    };
    if (select.chunk > 0) {
      const Items to = MakeScratch(buffers, left(select.chunk));
      steps.push_back(WriteSelectChunks(*this, select, from, to));
      from = to;
    }
    while (from.length > shape_.tile()) {
      const Items to = MakeScratch(buffers, left(shape_.tile()));
      steps.push_back(TileStep(from, to, work_.kept));
      from = to;
    }
    steps.push_back(TileStep(from, results(), work_.kept));
    return steps;
  }

  // Least digit first.
  std::vector<SortDigit> Digits(int digit_bits) const {
    std::vector<SortDigit> digits;
    for (int word = work_.order.key_words - 1; word >= 0; --word) {
      for (int low = work_.order.key_low; low < work_.order.key_high; low += digit_bits) digits.push_back({word, low});
    }
    return digits;
  }

  std::vector<Step> WriteRadix(BufferMap& buffers, const RadixShape& radix, const Items& items) const {
    const std::vector<SortDigit> digits = Digits(radix.digit_bits);
    const int64_t parts = work_.rows * CeilDivide(items.length, radix.part());
    const BufferSlice counts = buffers.Scratch(parts * radix.radix() * 4);
    const BufferSlice totals = radix.by_tiles ? buffers.Scratch(work_.rows * radix.radix() * 4) : counts;
    Items from = items, spare;
    std::vector<Step> steps;
    for (size_t i = 0; i < digits.size(); ++i) {
      Items to = results();
      if (i + 1 < digits.size()) to = spare.in_scratch() ? spare : MakeScratch(buffers, items.length);
      for (int phase = 0; phase < 3; ++phase) {
        steps.push_back(RadixStep({radix, phase, digits[i], counts, totals, from, to}));
      }
      spare = std::exchange(from, to);
    }
    return steps;
  }

  // Where the passes that select by digits leave what they know.
  struct SelectionState {
    BufferSlice counts, states, parts;
  };

  // The key of the last one kept, digit by digit, then all that come before it or are it, and the order of those.
  std::vector<Step> WriteDigitSelection(BufferMap& buffers, const DigitSelectShape& shape) const {
    std::vector<SortDigit> digits = Digits(shape.digit_bits);
    std::ranges::reverse(digits);
    const auto passes = static_cast<int64_t>(digits.size());
    const int64_t counters = work_.rows * passes * shape.radix(),
                  chunks = work_.rows * CeilDivide(work_.length, shape.chunk);
    const SelectionState state{buffers.Scratch(counters * 4),
                               buffers.Scratch(work_.rows * passes * (work_.order.key_words + 1) * 4),
                               buffers.Scratch(chunks * 2 * 4)};
    const Items chosen = MakeScratch(buffers, work_.kept);
    std::vector<Step> steps{ClearStep(context_, work_.name, state.counts, counters)};
    for (size_t known = 0; known <= digits.size(); ++known) {
      steps.push_back(DigitSelectStep(known < digits.size() ? 0 : 1, shape, digits, known, state, chosen));
    }
    steps.push_back(DigitSelectStep(2, shape, digits, digits.size(), state, chosen));
    for (Step& step : WriteSorted(buffers, chosen)) steps.push_back(std::move(step));
    return steps;
  }

  // What merge.comp needs to sort RUN neighbours in registers. Lanes that read neighbours make one access of many on
  // GPUs.
  void WriteRun(KernelBuilder& kernel) const {
    std::string even, odd, exchange;
    for (uint32_t i = 0; i + 1 < shape_.run; ++i) (i % 2 == 0 ? even : odd) += fmt::format(" F({}, {})", i, i + 1);
    const auto swap = [&](const std::string& type, const std::string& name, const std::string& member) {
      exchange += fmt::format(
          " {{ {0} kept = {1}_##i{2}; {1}_##i{2} = exchanged ? {1}_##j{2} : kept; {1}_##j{2} = exchanged ? kept : "
          "{1}_##j{2}; }}",
          type, name, member);
    };
    for (const SortField& field : fields_) swap(field.glsl_type, "item", "." + field.name);
    swap("Key", "key", "");
    const std::vector<std::string> ones(static_cast<size_t>(work_.order.key_words), "0xffffffffu");
    kernel.Append("#define LAST_KEY Key({})\n", fmt::join(ones, ", "));
    WriteEach(kernel, shape_.run);
    kernel.Append("#define EVEN_PAIRS(F){}\n#define ODD_PAIRS(F){}\n", even, odd);
    kernel.Append("#define EXCHANGE(i, j){}\n#define READS_RUNS {}\n", exchange,
                  context_.facts.costs.accesses_by_lane || shape_.lanes == 1 ? 1 : 0);
  }

  // Sorts tiles; of each the first `kept` go on, side by side.
  Step TileStep(const Items& from, const Items& to, int64_t kept) const {
    KernelBuilder kernel(context_.facts);
    const int64_t tiles = WriteHead(kernel, from.length, shape_.tile());
    const uint32_t rows = shape_.rows_per_group;
    kernel.Append(
        "#define TILE_PASS 1\n#define ANY_ORDER {}\n#define IN_REGISTERS {}\n#define LANES {}u\n#define "
        "ROWS {}u\n#define RUN {}u\n"
        "#define TILE {}u\n#define KEPT {}u\n#define UNIT RUN\n#define ROWS_SIDE_BY_SIDE {}\n"
        "#define BY_UNITS(g) {}\n",
        AnyOrder() ? 1 : 0, shape_.in_registers ? 1 : 0, shape_.lanes, rows, shape_.run, shape_.tile(),
        std::min(kept, shape_.tile()), work_.stride > 1 ? 1 : 0, kernel.Divide("(g)", tiles));
    WriteItems(kernel, from, to);
    WriteShared(kernel, 2 * shape_.tile() * rows);
    if (shape_.in_registers) WriteRun(kernel);
    return kernel.Finish(work_.name, "sort/merge.comp", {shape_.lanes * rows, 1, 1},
                         CeilDivide(work_.rows * tiles, rows));
  }

  Step MergeStep(int64_t width, const Items& from, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const int64_t units = WriteHead(kernel, from.length, shape_.unit);
    kernel.Params({{"SORTED_RUN", width}});
    kernel.Append("#define TILE_PASS 0\n#define ANY_ORDER {}\n#define UNIT {}u\n#define BY_UNITS(g) {}\n",
                  AnyOrder() ? 1 : 0, shape_.unit, kernel.Divide("(g)", units));
    WriteItems(kernel, from, to);
    constexpr uint32_t kGroup = 64;
    return kernel.Finish(work_.name + " merge", "sort/merge.comp", {kGroup, 1, 1},
                         CeilDivide(work_.rows * units, kGroup));
  }

  // sort/radix_tiles.comp, or what software drivers take.
  Step RadixStep(const RadixPass& pass) const {
    const RadixShape& radix = pass.radix;
    if (!radix.by_tiles) return WriteRadixChunks(*this, pass);
    KernelBuilder kernel(context_.facts);
    const bool scans = pass.phase == 1;
    const int64_t units = scans ? work_.rows * radix.radix() / radix.scan_digits() : PartsOf(pass);
    WriteRadixHead(kernel, pass, units, "BY_TILES");
    const uint32_t lanes = scans ? 256 : radix.lanes;
    kernel.Append("#define LANES {}u\n#define ITEMS {}u\n", radix.lanes, radix.chunk);
    if (scans) {
      kernel.Append("#define DIGITS {}u\n#define STRIPS {}u\n", radix.scan_digits(), lanes / radix.scan_digits());
    }
    if (pass.phase != 0) WriteCounters(kernel, pass.totals, "total");
    if (pass.phase == 2) {
      kernel.Append("#define DIGIT_BITS {}u\n#define SUBGROUP {}\n", radix.digit_bits, context_.facts.subgroup_size);
      WriteShared(kernel, radix.part());
      WriteEach(kernel, static_cast<uint32_t>(radix.chunk));
    }
    return kernel.Finish(NameOf(pass), "sort/radix_tiles.comp", {lanes, 1, 1}, units);
  }

  // Phase `phase` of sort/radix_select.comp, when `known` digits have been counted.
  Step DigitSelectStep(int phase, const DigitSelectShape& shape, const std::vector<SortDigit>& digits, size_t known,
                       const SelectionState& state, const Items& to) const {
    KernelBuilder kernel(context_.facts);
    const Items from = operands();
    const int64_t chunks = WriteHead(kernel, from.length, shape.chunk);
    const bool counts = phase == 0;
    const SortDigit digit = counts ? digits[known] : SortDigit{};
    const int above = digit.low + shape.digit_bits;
    const bool within = counts && known > 0 && digits[known - 1].word == digit.word;  // part of the word is known
    kernel.Params({{"DIGIT_LOW", digit.low},
                   {"KNOWN_LOW", within ? above : 0},
                   {"FOUND_LOW", known > 0 ? digits[known - 1].low : 0}});
    std::string matches =
        within ? fmt::format("((key{0} ^ known{0}) >> KNOWN_LOW) == 0u", WordSuffix(digit.word)) : "true";
    for (int word = 0; word < digit.word; ++word) matches += fmt::format(" && key{0} == known{0}", WordSuffix(word));
    const int words = work_.order.key_words;
    const uint32_t high = work_.order.key_high >= 32 ? ~0u : (1u << work_.order.key_high) - 1,
                   mask = high & ~((1u << work_.order.key_low) - 1);
    kernel.Append(
        "#define PHASE {}\n#define RADIX {}u\n#define LANES {}u\n#define CHUNK {}u\n#define KEPT {}u\n"
        "#define DIGITS {}u\n#define KNOWN {}\n#define KEY_WORDS {}u\n#define BY_CHUNKS(g) {}\n",
        phase, shape.radix(), shape.lanes, shape.chunk, work_.kept, digits.size(), known, words,
        kernel.Divide("(g)", CeilDivide(from.length, shape.chunk)));
    kernel.Append(
        "#define NO_KEY Key(0u)\n#define MASKED(key) ((key) & 0x{:x}u)\n#define MATCHES(key, known) "
        "({})\n#define KEY_WORD(key) key{}\n#define SET_DIGIT(key, digit) key{} |= (digit) << FOUND_LOW\n",
        mask, matches, WordSuffix(digit.word), WordSuffix(known > 0 ? digits[known - 1].word : 0));
    if (phase != 2) WriteCounters(kernel, state.counts, "count");
    WriteCounters(kernel, state.states, "state");
    if (phase != 0) WriteCounters(kernel, state.parts, "part");
    WriteTypes(kernel);
    std::vector<std::string> loads;
    std::string stores;
    for (int word = 0; word < words; ++word) {
      loads.push_back(fmt::format("load_state(i + {}u)", word));
      stores += fmt::format(" store_state(i + {}u, key{});", word, WordSuffix(word));
    }
    kernel.Append("Key load_key(uint i) {{ return Key({}); }}\nvoid store_key(uint i, Key key) {{{} }}\n",
                  fmt::join(loads, ", "), stores);
    WritePlace(kernel);
    WriteRead(kernel, from);
    if (phase == 2) {
      WriteEmit(kernel, to);
      kernel.Append("#define EACH {}u\n", shape.each);
    } else {
      WriteReadGroup(kernel, from);
    }
    constexpr const char* kPhases[] = {"digit", "count", "gather"};
    return kernel.Finish(work_.name + " " + kPhases[phase], "sort/radix_select.comp", {shape.lanes, 1, 1},
                         work_.rows * chunks);
  }
  SortShape shape_;
};

}  // namespace

std::vector<Step> LowerSortWork(const LowerContext& context, const SortWork& work, BufferMap& buffers) {
  return SortWriter(context, work).Write(buffers);
}

Status CheckSortWork(const LowerContext& context, const Instruction& instruction, const SortWork& work) {
  if (context.bindings != BindingMode::kDescriptors) return OkStatus();
  const SortFields moved(context, work);
  if (const size_t count = 1 + moved.MostBindings(); count > context.facts.max_storage_buffers) {
    return Unsupported("{} needs {} storage buffers, more than this device's {}", instruction.name(), count,
                       context.facts.max_storage_buffers);
  }
  if (const int64_t bytes = std::ranges::max(moved.fields_, {}, &SortField::bytes).bytes() * work.rows * work.length;
      static_cast<uint64_t>(bytes) > context.facts.max_storage_range_bytes) {
    return Unsupported(
        "{} needs {} bytes of scratch memory in one piece, more than this device's storage-buffer range of {} "
        "(--bindings=addresses has no such limit)",
        instruction.name(), bytes, context.facts.max_storage_range_bytes);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
