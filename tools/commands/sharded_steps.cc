#include "tools/commands/sharded_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/data/dimension_numbers.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kDevices = 4;
constexpr int kWhole = -1;

struct Array {
  std::string name;
  IntList sizes;
};

std::string TypeOf(const IntList& sizes) {
  return fmt::format("tensor<{}{}f32>", fmt::join(sizes, "x"), sizes.empty() ? "" : "x");
}

// An argument, and the result that it becomes: cut along a dimension.
struct Argument {
  IntList sizes;
  int cut = kWhole;
};

// How an array goes on where the devices meet.
struct Meeting {
  enum Kind : uint8_t { kSum, kScatter, kGather, kAllToAll, kLies } kind;  // kLies: devices do not meet
  int dimension = 0;                                                       // that is gathered, or cut from now on
  int before = 0;                                                          // of an all-to-all: that was cut until now
};
using Meetings = std::map<std::string, Meeting>;

std::string Lies(size_t rank, int cut) {
  std::vector<std::string> dimensions(rank, "{}");
  if (cut != kWhole) dimensions[static_cast<size_t>(cut)] = "{\"d\"}";
  return fmt::format("<@mesh, [{}]>", fmt::join(dimensions, ", "));
}

// Writes one of the two programs. The same text computes both: that of a device on its tiles, with collectives where
// the other one at most says how an array lies.
class StepWriter {
 public:
  StepWriter(bool by_hand, std::vector<Argument> arguments, Meetings meetings)
      : by_hand_(by_hand), arguments_(std::move(arguments)), meetings_(std::move(meetings)) {}

  Array argument(size_t i) const { return {fmt::format("%a{}", i), SizesOf(arguments_[i], by_hand_)}; }

  Array Dot(const Array& a, const Array& b, const IntList& batch_a, const IntList& batch_b, const IntList& over_a,
            const IntList& over_b) {
    IntList sizes;
    for (const int64_t d : batch_a) sizes.push_back(a.sizes[static_cast<size_t>(d)]);
    const auto free = [&](const Array& array, const IntList& batch, const IntList& over) {
      for (int64_t d = 0; d < std::ssize(array.sizes); ++d) {
        const auto lists = [d](const IntList& list) { return std::ranges::find(list, d) != list.end(); };
        if (!lists(batch) && !lists(over)) sizes.push_back(array.sizes[static_cast<size_t>(d)]);
      }
    };
    free(a, batch_a, over_a);
    free(b, batch_b, over_b);
    const std::string batch = batch_a.empty() ? ""
                                              : fmt::format(", batching_dims = [{}] x [{}]", fmt::join(batch_a, ", "),
                                                            fmt::join(batch_b, ", "));
    return Add(sizes, fmt::format("stablehlo.dot_general {}, {}{}, contracting_dims = [{}] x [{}] : ({}, {}) -> {}",
                                  a.name, b.name, batch, fmt::join(over_a, ", "), fmt::join(over_b, ", "),
                                  TypeOf(a.sizes), TypeOf(b.sizes), TypeOf(sizes)));
  }
  Array Of(const char* operation, const Array& a) {
    return Add(a.sizes, fmt::format("stablehlo.{} {} : {}", operation, a.name, TypeOf(a.sizes)));
  }
  Array Of(const char* operation, const Array& a, const Array& b) {
    return Add(a.sizes, fmt::format("stablehlo.{} {}, {} : {}", operation, a.name, b.name, TypeOf(a.sizes)));
  }
  Array Filled(double value, const IntList& sizes) {
    return Add(sizes, fmt::format("stablehlo.constant dense<{:.6e}> : {}", value, TypeOf(sizes)));
  }
  // Of the last dimensions, so many.
  Array Reduced(const char* operation, const Array& a, double first, size_t count) {
    const Array zero = Filled(first, {});
    IntList sizes(a.sizes.begin(), a.sizes.end() - static_cast<ptrdiff_t>(count)), over;
    for (size_t d = sizes.size(); d < a.sizes.size(); ++d) over.push_back(static_cast<int64_t>(d));
    return Add(sizes, fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = [{}] : ({}, "
                                  "tensor<f32>) -> {}",
                                  a.name, zero.name, operation, fmt::join(over, ", "), TypeOf(a.sizes), TypeOf(sizes)));
  }
  // Along a new last dimension.
  Array Repeated(const Array& a, const IntList& sizes) {
    IntList dimensions;
    for (size_t d = 0; d < a.sizes.size(); ++d) dimensions.push_back(static_cast<int64_t>(d));
    return Add(sizes, fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : ({}) -> {}", a.name,
                                  fmt::join(dimensions, ", "), TypeOf(a.sizes), TypeOf(sizes)));
  }
  Array Swapped(const Array& a) {  // the first two dimensions
    IntList sizes = a.sizes, dimensions;
    std::swap(sizes[0], sizes[1]);
    for (size_t d = 0; d < sizes.size(); ++d) dimensions.push_back(static_cast<int64_t>(d < 2 ? 1 - d : d));
    return Add(sizes, fmt::format("stablehlo.transpose {}, dims = [{}] : ({}) -> {}", a.name,
                                  fmt::join(dimensions, ", "), TypeOf(a.sizes), TypeOf(sizes)));
  }

  // What happens to the array of that name before others use it.
  Array At(const std::string& point, const Array& a) {
    const auto found = meetings_.find(point);
    if (found == meetings_.end()) return a;
    const Meeting& meeting = found->second;
    if (by_hand_) return meeting.kind == Meeting::kLies ? a : Met(a, meeting);
    if (meeting.kind == Meeting::kSum || meeting.kind == Meeting::kGather) return a;
    return Add(a.sizes, fmt::format("sdy.sharding_constraint {} {} : {}", a.name,
                                    Lies(a.sizes.size(), meeting.dimension), TypeOf(a.sizes)));
  }

  // Results: the arguments from `first` on after the step, and the loss.
  std::string Finish(const std::vector<Array>& results, size_t first) const {
    std::vector<std::string> names, types, given, in, out, tiles, result_types, returned;
    for (const Array& result : results) {
      names.push_back(result.name);
      types.push_back(TypeOf(result.sizes));
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      const std::string lies = Lies(argument.sizes.size(), argument.cut);
      given.push_back(fmt::format("%{}{}: {} {{sdy.sharding = #sdy.sharding{}}}", by_hand_ ? "g" : "a", i,
                                  TypeOf(argument.sizes), lies));
      in.push_back(lies);
      tiles.push_back(fmt::format("%a{}: {}", i, TypeOf(SizesOf(argument, true))));
      if (i < first) continue;
      out.push_back(lies);
      result_types.push_back(TypeOf(argument.sizes));
    }
    out.push_back(Lies(0, kWhole));
    result_types.emplace_back("tensor<f32>");
    for (size_t i = 0; i < out.size(); ++i)
      returned.push_back(fmt::format("{} {{sdy.sharding = #sdy.sharding{}}}", result_types[i], out[i]));
    std::string text = fmt::format(
        "module @step attributes {{mhlo.num_partitions = {} : i32}} {{\n  sdy.mesh @mesh = <[\"d\"={}]>\n  func.func "
        "@main({}) -> ({}) {{\n",
        kDevices, kDevices, fmt::join(given, ", "), fmt::join(returned, ", "));
    if (!by_hand_) {
      return text + body_ +
             fmt::format("    return {} : {}\n  }}\n}}\n", fmt::join(names, ", "), fmt::join(types, ", "));
    }
    std::vector<std::string> operands, operand_types, made;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      operands.push_back(fmt::format("%g{}", i));
      operand_types.push_back(TypeOf(arguments_[i].sizes));
    }
    for (size_t i = 0; i < results.size(); ++i) made.push_back(fmt::format("%r#{}", i));
    text += fmt::format(
        "    %r:{} = sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{\"d\"}} ({}) {{\n",
        results.size(), fmt::join(operands, ", "), fmt::join(in, ", "), fmt::join(out, ", "), fmt::join(tiles, ", "));
    text += body_ + fmt::format("    sdy.return {} : {}\n", fmt::join(names, ", "), fmt::join(types, ", "));
    return text + fmt::format("    }} : ({}) -> ({})\n    return {} : {}\n  }}\n}}\n", fmt::join(operand_types, ", "),
                              fmt::join(result_types, ", "), fmt::join(made, ", "), fmt::join(result_types, ", "));
  }

 private:
  static IntList SizesOf(const Argument& argument, bool of_tile) {
    IntList sizes = argument.sizes;
    if (of_tile && argument.cut != kWhole) sizes[static_cast<size_t>(argument.cut)] /= kDevices;
    return sizes;
  }

  Array Add(const IntList& sizes, const std::string& text) {
    Array made{fmt::format("%{}", count_++), sizes};
    body_ += fmt::format("    {} = {}\n", made.name, text);
    return made;
  }

  Array Met(const Array& a, const Meeting& meeting) {
    static const std::string kOver =
        "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = "
        "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>";
    static const std::string kAdds =
        "({\n      ^bb0(%l: tensor<f32>, %m: tensor<f32>):\n        %s = stablehlo.add %l, %m : tensor<f32>\n        "
        "stablehlo.return %s : tensor<f32>\n      }) ";
    IntList sizes = a.sizes;
    int64_t& size = sizes[static_cast<size_t>(meeting.dimension)];
    std::string operation, more, region;
    switch (meeting.kind) {
      case Meeting::kSum:
        operation = "all_reduce";
        more = ", use_global_device_ids";
        region = kAdds;
        break;
      case Meeting::kScatter:
        operation = "reduce_scatter";
        more = fmt::format(", scatter_dimension = {} : i64, use_global_device_ids", meeting.dimension);
        region = kAdds;
        size /= kDevices;
        break;
      case Meeting::kGather:
        operation = "all_gather";
        more = fmt::format(", all_gather_dim = {} : i64, use_global_device_ids", meeting.dimension);
        size *= kDevices;
        break;
      case Meeting::kLies:
        break;
      case Meeting::kAllToAll:
        operation = "all_to_all";
        more = fmt::format(", split_dimension = {} : i64, concat_dimension = {} : i64, split_count = {} : i64",
                           meeting.dimension, meeting.before, kDevices);
        size /= kDevices;
        sizes[static_cast<size_t>(meeting.before)] *= kDevices;
        break;
    }
    return Add(sizes, fmt::format("\"stablehlo.{}\"({}) <{{{}{}}}> {}: ({}) -> {}", operation, a.name, kOver, more,
                                  region, TypeOf(a.sizes), TypeOf(sizes)));
  }

  const bool by_hand_;
  const std::vector<Argument> arguments_;
  const Meetings meetings_;
  std::string body_;
  int count_ = 0;
};

Array Updated(StepWriter& w, const std::string& name, const Array& weight, const Array& slope) {
  const Array met = w.At("slope of " + name, slope);
  return w.Of("subtract", weight, w.Of("multiply", met, w.Filled(1e-3, met.sizes)));
}

// The sum of squares, of which y is half the slope.
Array LossOf(StepWriter& w, const Array& y) {
  return w.At("loss", w.Reduced("add", w.Of("multiply", y, y), 0, y.sizes.size()));
}

struct BlockWeights {
  Array q, k, v, out, up, down;
};

// Of attention and two layers behind it.
struct BlockValues {
  Array input, q, k, v, probabilities, read, middle, hidden, y;
};

BlockValues Forwards(StepWriter& w, const Array& x, const Array& input, const BlockWeights& weights) {
  BlockValues f;
  f.input = input;
  const auto of_heads = [&](const Array& weight) { return w.At("heads", w.Dot(input, weight, {}, {}, {2}, {0})); };
  f.q = of_heads(weights.q);
  f.k = of_heads(weights.k);
  f.v = of_heads(weights.v);
  const Array scores = w.Dot(f.q, f.k, {0, 2}, {0, 2}, {3}, {3});
  const Array e =
      w.Of("exponential", w.Of("subtract", scores, w.Repeated(w.Reduced("maximum", scores, -1e30, 1), scores.sizes)));
  f.probabilities = w.Of("divide", e, w.Repeated(w.Reduced("add", e, 0, 1), e.sizes));
  f.read = w.Dot(f.probabilities, f.v, {0, 1}, {0, 2}, {3}, {1});  // batch, heads, tokens, each
  const Array r = w.Of("add", x, w.At("attention", w.Dot(f.read, weights.out, {}, {}, {1, 3}, {0, 1})));
  f.middle = w.At("r", r);
  const Array wide = w.At("hidden", w.Dot(f.middle, weights.up, {}, {}, {2}, {0}));
  f.hidden = w.Of("maximum", wide, w.Filled(0, wide.sizes));
  f.y = w.Of("add", r, w.At("layers", w.Dot(f.hidden, weights.down, {}, {}, {2}, {0})));
  return f;
}

// In the order of the weights.
std::vector<Array> Slopes(StepWriter& w, const BlockValues& f, const BlockWeights& weights) {
  const Array &p = f.probabilities, &h = f.hidden, dy = w.At("y", f.y);
  const Array slope_down = w.Dot(h, dy, {}, {}, {0, 1}, {0, 1});
  const Array dh = w.Of("multiply", w.At("hidden", w.Dot(dy, weights.down, {}, {}, {2}, {1})), w.Of("sign", h));
  const Array slope_up = w.Dot(f.middle, dh, {}, {}, {0, 1}, {0, 1});
  const Array dr = w.Of("add", f.y, w.At("dr", w.Dot(dh, weights.up, {}, {}, {2}, {1}))), all_dr = w.At("all dr", dr);
  const Array slope_out = w.Dot(f.read, all_dr, {}, {}, {0, 2}, {0, 1});
  const Array dread = w.At("heads", w.Dot(all_dr, weights.out, {}, {}, {2}, {2}));  // batch, tokens, heads, each
  const Array dv = w.Dot(p, dread, {0, 1}, {0, 2}, {2}, {1});
  const Array dp = w.Dot(dread, f.v, {0, 2}, {0, 2}, {3}, {3});
  const Array mean = w.Repeated(w.Reduced("add", w.Of("multiply", dp, p), 0, 1), p.sizes);
  const Array ds = w.Of("multiply", p, w.Of("subtract", dp, mean));
  const Array dq = w.Dot(ds, f.k, {0, 1}, {0, 2}, {3}, {1}), dk = w.Dot(ds, f.q, {0, 1}, {0, 2}, {2}, {1});
  const auto slope = [&](const Array& d) { return w.Dot(f.input, d, {}, {}, {0, 1}, {0, 2}); };
  return {slope(dq), slope(dk), slope(dv), slope_out, slope_up, slope_down};
}

// Forwards and backwards, and what the weights are then.
std::string BlockStep(bool by_hand, int64_t width, const std::vector<int>& cuts, const Meetings& meetings) {
  const int64_t batch = 8, tokens = 64, heads = 8, each = width / heads, inner = 4 * width;
  const std::vector<std::pair<std::string, IntList>> arrays = {
      {"x", {batch, tokens, width}}, {"wq", {width, heads, each}}, {"wk", {width, heads, each}},
      {"wv", {width, heads, each}},  {"wo", {heads, each, width}}, {"up", {width, inner}},
      {"down", {inner, width}}};
  std::vector<Argument> arguments;
  for (size_t i = 0; i < arrays.size(); ++i) arguments.push_back({arrays[i].second, cuts[i]});
  StepWriter w(by_hand, arguments, meetings);
  const auto weight = [&](size_t i) { return w.At(arrays[i].first, w.argument(i)); };
  const Array x = w.argument(0), input = w.At("x", x);
  const BlockWeights weights{weight(1), weight(2), weight(3), weight(4), weight(5), weight(6)};
  const BlockValues values = Forwards(w, x, input, weights);
  const std::vector<Array> slopes = Slopes(w, values, weights);
  std::vector<Array> results;
  for (size_t i = 0; i < slopes.size(); ++i)
    results.push_back(Updated(w, arrays[i + 1].first, w.argument(i + 1), slopes[i]));
  results.push_back(LossOf(w, values.y));
  return w.Finish(results, 1);
}

// Tokens go to their experts, two layers each, and come back.
std::string ExpertStep(bool by_hand, int64_t width) {
  const int64_t groups = kDevices, tokens = 64, experts = kDevices, capacity = 16, inner = 4 * width;
  const Meeting there{Meeting::kAllToAll, 0, 1}, back{Meeting::kAllToAll, 1, 0};
  StepWriter w(by_hand,
               {{{groups, tokens, width}, 0},
                {{groups, tokens, experts, capacity}, 0},
                {{experts, width, inner}, 0},
                {{experts, inner, width}, 0}},
               {{"tokens", there}, {"answers", back}, {"slopes", there}, {"loss", {Meeting::kSum}}});
  const Array x = w.argument(0), goes = w.argument(1), up = w.argument(2), down = w.argument(3);
  const auto sent = [&](const Array& of) { return w.Swapped(w.Dot(goes, of, {0}, {0}, {1}, {1})); };
  const Array given = w.At("tokens", sent(x));  // experts, groups, capacity, width
  const Array wide = w.Dot(given, up, {0}, {0}, {3}, {1});
  const Array h = w.Of("maximum", wide, w.Filled(0, wide.sizes));
  const Array answers = w.Swapped(w.At("answers", w.Dot(h, down, {0}, {0}, {3}, {1})));
  const Array y = w.Dot(goes, answers, {0}, {0}, {2, 3}, {1, 2});
  const Array d = w.At("slopes", sent(y));
  const Array dh = w.Of("multiply", w.Dot(d, down, {0}, {0}, {3}, {2}), w.Of("sign", h));
  return w.Finish({Updated(w, "up", up, w.Dot(given, dh, {0}, {0}, {1, 2}, {1, 2})),
                   Updated(w, "down", down, w.Dot(h, d, {0}, {0}, {1, 2}, {1, 2})), LossOf(w, y)},
                  2);
}

}  // namespace

std::vector<ShardedStep> ShardedSteps(int64_t width) {
  const std::vector<const char*> weights = {"wq", "wk", "wv", "wo", "up", "down"};
  const Meeting sum{Meeting::kSum}, tokens{Meeting::kGather, 1}, parts{Meeting::kScatter, 1};
  const Meeting batch{Meeting::kLies, 0};
  Meetings data{{"loss", sum}},
      fully{{"loss", sum}, {"heads", batch}, {"hidden", batch}, {"attention", batch}, {"layers", batch}, {"dr", batch}};
  for (const std::string name : weights) {
    data["slope of " + name] = sum;
    fully[name] = {Meeting::kGather, 0};
    fully["slope of " + name] = {Meeting::kScatter, 0};
  }
  const Meetings tensor{{"attention", sum}, {"layers", sum}, {"dr", sum}};
  const Meetings sequence{{"x", tokens},
                          {"attention", parts},
                          {"r", tokens},
                          {"layers", parts},
                          {"y", tokens},
                          {"dr", parts},
                          {"all dr", tokens},
                          {"loss", sum},
                          {"heads", {Meeting::kLies, 2}},
                          {"hidden", {Meeting::kLies, 2}}};
  struct Style {
    const char* name;
    std::vector<int> cuts;
    Meetings meetings;
  };
  const std::vector<Style> styles = {{"data parallel", {0, kWhole, kWhole, kWhole, kWhole, kWhole, kWhole}, data},
                                     {"tensor parallel", {kWhole, 1, 1, 1, 0, 1, 0}, tensor},
                                     {"sequence parallel", {1, 1, 1, 1, 0, 1, 0}, sequence},
                                     {"fully sharded", {0, 0, 0, 0, 0, 0, 0}, fully}};
  std::vector<ShardedStep> steps;
  for (const Style& style : styles) {
    steps.push_back({style.name, BlockStep(false, width, style.cuts, style.meetings),
                     BlockStep(true, width, style.cuts, style.meetings), kDevices});
  }
  steps.push_back({"expert parallel", ExpertStep(false, width), ExpertStep(true, width), kDevices});
  return steps;
}

}  // namespace VXLA_NAMESPACE
