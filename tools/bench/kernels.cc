#include "tools/bench/kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kElements = 16 << 20;

BufferSlice Floats(int buffer, int64_t count) { return {buffer, 0, 4 * count}; }

Step MakeStep(std::string name, std::string algorithm, std::string generated, uint32_t workgroup,
              std::vector<Binding> bindings, std::array<uint32_t, 3> groups, int64_t flop) {
  Step step;
  step.name = std::move(name);
  step.kernel.algorithm = std::move(algorithm);
  step.kernel.generated = std::move(generated);
  step.kernel.constants = {workgroup, 1, 1};
  step.kernel.buffer_count = static_cast<uint32_t>(bindings.size());
  step.bindings = std::move(bindings);
  step.groups = groups;
  step.flop = flop;
  return step;
}

// Declares tensors 0 .. count - 1 for loads of `width` f32 at once.
std::string Tensors(int count, int width) {
  std::string text;
  for (int k = 0; k < count; ++k) {
    text += fmt::format("TENSOR({}, f32)\n", k);
    if (width >= 4) text += fmt::format("TENSOR({}, f32x4)\n", k);
    if (width == 8) text += fmt::format("TENSOR({}, u64x4)\n", k);
  }
  return text;
}

bool Fits(const DeviceFacts& facts, uint32_t workgroup, int width) {
  return workgroup <= facts.max_workgroup_invocations && workgroup <= facts.max_workgroup_size[0] &&
         (width < 8 || facts.int64);
}

std::vector<BenchKernel> AddSweep(const DeviceFacts& facts) {
  struct Shape {
    uint32_t workgroup, items;
    int width;
    bool adjacent;
  };
  constexpr Shape kShapes[] = {{256, 1, 1, false}, {1024, 16, 1, false}, {512, 32, 1, false}, {64, 16, 1, true},
                               {64, 4, 4, false},  {256, 1, 4, false},   {256, 4, 4, false},  {1024, 4, 4, false},
                               {64, 4, 8, false},  {256, 4, 8, false}};
  std::vector<BenchKernel> kernels;
  for (const Shape& s : kShapes) {
    if (!Fits(facts, s.workgroup, s.width)) continue;
    const int64_t groups = kElements / (int64_t{s.workgroup} * s.items * s.width);
    if (groups > facts.max_group_count[0]) continue;
    const std::string name = fmt::format("add: workgroup {}, {} x {} elements each{}", s.workgroup, s.items, s.width,
                                         s.adjacent ? ", adjacent" : "");
    kernels.push_back(
        {name,
         {MakeStep(name, "bench/add.comp",
                   Tensors(3, s.width) + fmt::format("#define WIDTH {}\n#define ITEMS {}u\n#define ADJACENT {}\n",
                                                     s.width, s.items, s.adjacent ? 1 : 0),
                   s.workgroup,
                   {{Floats(0, kElements), Access::kRead},
                    {Floats(1, kElements), Access::kRead},
                    {Floats(2, kElements), Access::kWrite}},
                   {static_cast<uint32_t>(groups), 1, 1}, kElements)}});
  }
  return kernels;
}

std::vector<BenchKernel> SumSweep(const DeviceFacts& facts) {
  struct Shape {
    uint32_t workgroup, items;
    int width;
  };
  constexpr Shape kShapes[] = {{1024, 128, 1}, {64, 64, 1}, {64, 64, 4},  {256, 16, 4}, {256, 64, 4},
                               {1024, 16, 4},  {64, 32, 8}, {256, 32, 8}, {512, 16, 8}, {512, 32, 8}};
  std::vector<BenchKernel> kernels;
  auto defines = [](const Shape& s) {
    return fmt::format("#define WIDTH {}\n#define ITEMS {}u\n#define THREADS {}u\n", s.width, s.items, s.workgroup);
  };
  for (const Shape& s : kShapes) {
    if (!Fits(facts, s.workgroup, s.width) || !facts.subgroup_shuffle) continue;
    const int64_t groups = kElements / (int64_t{s.workgroup} * s.items * s.width);
    const Shape last{static_cast<uint32_t>(std::min<int64_t>(groups, 128)),
                     static_cast<uint32_t>(std::max<int64_t>(groups / 128, 1)), 1};
    if (s.workgroup % facts.subgroup_size != 0 || last.workgroup % facts.subgroup_size != 0) continue;
    const std::string name = fmt::format("sum: workgroup {}, {} x {} elements each", s.workgroup, s.items, s.width);
    std::vector<Step> steps{
        MakeStep(name, "bench/sum.comp", Tensors(2, s.width) + defines(s), s.workgroup,
                 {{Floats(0, kElements), Access::kRead}, {Floats(1, groups), Access::kWrite}},
                 {static_cast<uint32_t>(groups), 1, 1}, kElements),
        MakeStep(name + ", last", "bench/sum.comp", Tensors(2, 1) + defines(last), last.workgroup,
                 {{Floats(1, groups), Access::kRead}, {Floats(2, 1), Access::kWrite}}, {1, 1, 1}, groups)};
    kernels.push_back({name, std::move(steps)});
  }
  return kernels;
}

std::vector<BenchKernel> DotSweep(const DeviceFacts& facts, int64_t size) {
  struct Shape {
    uint32_t lanes, rows, columns;
    bool share, wide;
  };
  // Lane counts of 0 stand for the subgroup size.
  constexpr Shape kShapes[] = {{64, 8, 4, false, false}, {8, 16, 4, false, false}, {0, 8, 4, true, false},
                               {0, 16, 4, true, false},  {0, 8, 8, true, false},   {0, 16, 8, true, false},
                               {0, 8, 8, true, true},    {0, 16, 8, true, true}};
  std::vector<BenchKernel> kernels;
  for (Shape s : kShapes) {
    if (s.lanes == 0) s.lanes = facts.subgroup_size;
    const bool whole = size % s.rows == 0 && size % (s.lanes * s.columns) == 0 && (!s.share || s.rows % s.lanes == 0);
    if (!whole || !Fits(facts, s.lanes, s.wide ? 8 : 4) || (s.share && !facts.subgroup_shuffle)) continue;
    const std::string name = fmt::format("dot: {} lanes, {} rows x {} columns each{}{}", s.lanes, s.rows, s.columns,
                                         s.share ? ", lhs shared" : "", s.wide ? ", wide loads" : "");
    const int64_t count = size * size;
    kernels.push_back(
        {name,
         {MakeStep(
             name, "bench/dot.comp",
             Tensors(3, s.wide ? 8 : 4) + fmt::format("#define LANES {}u\n#define ROWS {}u\n#define COLUMNS "
                                                      "{}u\n#define SHARED_LHS {}\n#define WIDE {}\n"
                                                      "#define SIZE {}u\n",
                                                      s.lanes, s.rows, s.columns, s.share ? 1 : 0, s.wide ? 1 : 0,
                                                      size),
             s.lanes,
             {{Floats(0, count), Access::kRead}, {Floats(1, count), Access::kRead}, {Floats(2, count), Access::kWrite}},
             {static_cast<uint32_t>(size / (s.lanes * s.columns)), static_cast<uint32_t>(size / s.rows), 1},
             2 * size * size * size)}});
  }
  return kernels;
}

// The driver's built-in function in place of ours.
std::vector<BenchKernel> BuiltinSweep(const DeviceFacts& facts, const std::string& function) {
  struct Shape {
    uint32_t workgroup, items;
  };
  constexpr Shape kShapes[] = {{64, 16}, {256, 1}, {256, 16}, {1024, 16}, {512, 32}};
  std::vector<BenchKernel> kernels;
  for (const Shape& s : kShapes) {
    const int64_t groups = kElements / (int64_t{s.workgroup} * s.items);
    if (!Fits(facts, s.workgroup, 1) || groups > facts.max_group_count[0]) continue;
    const std::string name = fmt::format("built-in {}: workgroup {}, {} elements each", function, s.workgroup, s.items);
    kernels.push_back(
        {name,
         {MakeStep(name, "bench/unary.comp",
                   Tensors(2, 1) + fmt::format("#define FUNCTION {}\n#define ITEMS {}u\n", function, s.items),
                   s.workgroup, {{Floats(0, kElements), Access::kRead}, {Floats(1, kElements), Access::kWrite}},
                   {static_cast<uint32_t>(groups), 1, 1}, kElements)}});
  }
  return kernels;
}

// Multiplications and additions alone: eight chains an element, so that none waits for the one before it, of numbers
// that stay where they are.
std::vector<BenchKernel> ArithmeticPeak(const DeviceFacts& facts) {
  constexpr uint32_t kWorkgroup = 256;
  constexpr int64_t kSteps = 512, kFlopOfElement = kSteps * 8 * 2;
  const int64_t count = int64_t{1} << (facts.costs.subgroups_in_turn ? 14 : 21);
  if (!Fits(facts, kWorkgroup, 1)) return {};
  const std::string step = facts.fused_multiply_add ? "fma(v[k], a, b)" : "v[k] * a + b";
  const std::string text = fmt::format(
      "float chains(float x) {{\n  float v[8], a = 0.5f + 0.001f * x, b = 0.5f * x;\n"
      "  [[unroll]] for (int k = 0; k < 8; ++k) v[k] = x + float(k);\n"
      "  for (uint i = 0u; i < {}u; ++i) {{\n    [[unroll]] for (int k = 0; k < 8; ++k) v[k] = {};\n  }}\n"
      "  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));\n}}\n"
      "#define FUNCTION chains\n#define ITEMS 1u\n",
      kSteps, step);
  return {{"multiplications and additions",
           {MakeStep("multiplications and additions", "bench/unary.comp", Tensors(2, 1) + text, kWorkgroup,
                     {{Floats(0, count), Access::kRead}, {Floats(1, count), Access::kWrite}},
                     {static_cast<uint32_t>(count / kWorkgroup), 1, 1}, count * kFlopOfElement)}}};
}

// What an invocation of a copy kernel takes: so many times `width` f32 at once.
struct CopyShape {
  uint32_t workgroup, items;
  int width;
};

BenchKernel CopyBy(const DeviceFacts& facts, int64_t bytes, const CopyShape& s) {
  const int64_t group_bytes = 4 * int64_t{s.workgroup} * s.items * s.width;
  // As much at a time as a binding reaches.
  const int64_t most = std::min<int64_t>(
      facts.max_group_count[0],
      static_cast<int64_t>(std::min<uint64_t>(facts.max_storage_range_bytes, uint64_t{1} << 32)) / group_bytes);
  BenchKernel kernel;
  kernel.name = fmt::format("a copy kernel: workgroup {}, {} x {} elements each", s.workgroup, s.items, s.width);
  for (int64_t left = std::max<int64_t>(1, (bytes + group_bytes - 1) / group_bytes), at = 0; left > 0;) {
    const int64_t groups = std::min(left, most);
    const int64_t size = groups * group_bytes;
    kernel.steps.push_back(MakeStep(
        kernel.name, "bench/copy.comp",
        Tensors(2, s.width) + fmt::format("#define WIDTH {}\n#define ITEMS {}u\n", s.width, s.items), s.workgroup,
        {{{0, at, size}, Access::kRead}, {{1, at, size}, Access::kWrite}}, {static_cast<uint32_t>(groups), 1, 1}, 0));
    left -= groups;
    at += size;
  }
  return kernel;
}

}  // namespace

std::vector<BenchKernel> CopySweep(const DeviceFacts& facts, int64_t bytes) {
  constexpr CopyShape kShapes[] = {{256, 16, 1}, {1024, 16, 1}, {64, 16, 4}, {256, 4, 4}, {256, 16, 4}, {1024, 4, 4}};
  std::vector<BenchKernel> kernels;
  for (const CopyShape& s : kShapes) {
    if (Fits(facts, s.workgroup, s.width)) kernels.push_back(CopyBy(facts, bytes, s));
  }
  return kernels;
}

BenchKernel CopyKernel(const DeviceFacts& facts, int64_t bytes) {
  const uint32_t workgroup = std::min({256u, facts.max_workgroup_invocations, facts.max_workgroup_size[0]});
  return CopyBy(facts, bytes, {workgroup, 1, 4});
}

std::vector<BenchKernel> BenchKernels(const std::string& case_name, const DeviceFacts& facts) {
  if (case_name == "add") return AddSweep(facts);
  if (case_name == "sum") return SumSweep(facts);
  if (case_name == "dot_512") return DotSweep(facts, 512);
  if (case_name == "dot_1024") return DotSweep(facts, 1024);
  if (case_name == kArithmeticPeak) return ArithmeticPeak(facts);
  constexpr std::string_view kBuiltin = "_vs_builtin";
  if (case_name.ends_with(kBuiltin))
    return BuiltinSweep(facts, case_name.substr(0, case_name.size() - kBuiltin.size()));
  return {};
}

}  // namespace VXLA_NAMESPACE::vulkan
