// Gather and scatter of random forms against loops that follow the definition index by index: batching dimensions,
// collapsed and inserted ones, windows, index vectors in any dimension, positions out of range.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace indexing_oracle_test {

using enum ElementType;
using Sizes = std::vector<int64_t>;

bool Has(const Sizes& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }
std::string Braces(const Sizes& list) { return "{" + JoinInts(list) + "}"; }

// What gather and scatter share. Each dimension of the operand is batching, collapsed (inserted) or a window; a random
// part of the dimensions that are not batching is indexed.
struct Form {
  Sizes operand, indices, windows;                      // sizes; of windows one per operand dimension
  Sizes operand_batching, indices_batching, collapsed;  // dimensions
  Sizes index_map;
  int64_t index_vector_dim = 0;
  Sizes result, offset_dims;  // of gather's result or scatter's updates

  Sizes batch_sizes() const {
    Sizes sizes;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (static_cast<int64_t>(d) != index_vector_dim) sizes.push_back(indices[d]);
    }
    return sizes;
  }
};

Form RandomForm(std::mt19937& engine) {
  auto below = [&](uint32_t n) { return static_cast<int64_t>(engine() % n); };
  Form f;
  const int64_t rank = 1 + below(4);
  Sizes batch;  // the indices' batch dimensions
  for (int64_t d = 0; d < rank; ++d) {
    f.operand.push_back(1 + below(6));
    const int64_t role = below(4);
    const bool batching = role == 0 && f.operand_batching.size() < 2;
    if (batching) f.operand_batching.push_back(d);
    if (role == 1) f.collapsed.push_back(d);
    f.windows.push_back(batching || role == 1 ? 1 : 1 + below(static_cast<uint32_t>(f.operand.back())));
    if (!batching && below(3) > 0) f.index_map.push_back(d);
  }
  std::shuffle(f.index_map.begin(), f.index_map.end(), engine);
  for (int64_t d : f.operand_batching) batch.push_back(f.operand[static_cast<size_t>(d)]);
  const int64_t more = below(3);
  for (int64_t k = 0; k < more; ++k) batch.push_back(below(5) == 0 ? 0 : 1 + below(4));
  Sizes order(batch.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), engine);
  f.indices.resize(batch.size());
  for (size_t k = 0; k < batch.size(); ++k) f.indices[static_cast<size_t>(order[k])] = batch[k];
  f.index_vector_dim = below(static_cast<uint32_t>(batch.size()) + 1);
  for (size_t k = 0; k < f.operand_batching.size(); ++k) {
    f.indices_batching.push_back(order[k] + (order[k] >= f.index_vector_dim ? 1 : 0));
  }
  const Sizes batch_sizes = f.indices;
  f.indices.insert(f.indices.begin() + f.index_vector_dim, static_cast<int64_t>(f.index_map.size()));
  // One index may leave its dimension out if that is the last.
  if (f.index_map.size() == 1 && f.index_vector_dim == static_cast<int64_t>(batch_sizes.size()) && below(2) == 0) {
    f.indices.pop_back();
  }
  Sizes windows;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Has(f.collapsed, d) && !Has(f.operand_batching, d)) windows.push_back(f.windows[static_cast<size_t>(d)]);
  }
  const int64_t out_rank = static_cast<int64_t>(windows.size() + batch_sizes.size());
  Sizes all(static_cast<size_t>(out_rank));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), engine);
  f.offset_dims.assign(all.begin(), all.begin() + static_cast<int64_t>(windows.size()));
  std::ranges::sort(f.offset_dims);
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < out_rank; ++d) {
    f.result.push_back(Has(f.offset_dims, d) ? windows[next_window++] : batch_sizes[next_batch++]);
  }
  return f;
}

// Positions from -2 to two beyond the end.
Literal RandomIndices(const Form& f, std::mt19937& engine) {
  Literal s(Shape(kS32, f.indices));
  for (int64_t i = 0; i < s.element_count(); ++i) s.SetInt(i, static_cast<int64_t>(engine() % 10) - 2);
  return s;
}

// Where the window of a result (or update) element starts, and the element's place in it, by operand dimension.
void Locate(const Form& f, const Literal& indices, const Sizes& at, Sizes& start, Sizes& within) {
  Sizes batch, offset;
  for (size_t d = 0; d < at.size(); ++d)
    (Has(f.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(at[d]);
  start.assign(f.operand.size(), 0), within.assign(f.operand.size(), 0);
  for (size_t k = 0; k < f.index_map.size(); ++k) {
    Sizes where = batch;
    if (f.index_vector_dim < static_cast<int64_t>(f.indices.size())) {
      where.insert(where.begin() + f.index_vector_dim, static_cast<int64_t>(k));
    }
    start[static_cast<size_t>(f.index_map[k])] = indices.GetInt(PositionOf(where, f.indices));
  }
  for (size_t k = 0; k < f.operand_batching.size(); ++k) {
    const int64_t d = f.indices_batching[k];
    start[static_cast<size_t>(f.operand_batching[k])] = batch[static_cast<size_t>(d < f.index_vector_dim ? d : d - 1)];
  }
  size_t next = 0;
  for (size_t d = 0; d < f.operand.size(); ++d) {
    if (!Has(f.collapsed, static_cast<int64_t>(d)) && !Has(f.operand_batching, static_cast<int64_t>(d)))
      within[d] = offset[next++];
  }
}

std::string Batching(const Form& f, const char* operand, const char* indices) {
  if (f.operand_batching.empty()) return "";
  return std::string(", ") + operand + "=" + Braces(f.operand_batching) + ", " + indices + "=" +
         Braces(f.indices_batching);
}

TEST(GatherOracleTest, RandomForms) {
  std::mt19937 engine(21);
  for (int round = 0; round < 400; ++round) {
    const Form f = RandomForm(engine);
    const Literal x = Random(kS32, f.operand, 1), s = RandomIndices(f, engine);
    const std::string text =
        Entry("p = " + Text(x.shape()) + " parameter(0)\ns = " + Text(s.shape()) + " parameter(1)\nROOT r = " +
              Text(Shape(kS32, f.result)) + " gather(p, s), offset_dims=" + Braces(f.offset_dims) +
              ", collapsed_slice_dims=" + Braces(f.collapsed) + ", start_index_map=" + Braces(f.index_map) +
              Batching(f, "operand_batching_dims", "start_indices_batching_dims") +
              ", index_vector_dim=" + std::to_string(f.index_vector_dim) + ", slice_sizes=" + Braces(f.windows));
    const Literal y = RunText(text, {x, s});
    ASSERT_EQ(y.element_count(), CountOf(f.result)) << text;
    for (int64_t i = 0; i < y.element_count(); ++i) {
      Sizes at, within;
      Locate(f, s, IndexOf(i, f.result), at, within);
      for (size_t d = 0; d < at.size(); ++d)
        at[d] = std::clamp<int64_t>(at[d], 0, f.operand[d] - f.windows[d]) + within[d];
      ASSERT_EQ(y.GetInt(i), x.GetInt(PositionOf(at, f.operand))) << text << " at " << i;
    }
  }
}

// Sums of integers and (with the overwriting computation) of distinct targets do not depend on the order.
TEST(ScatterOracleTest, RandomFormsOfSumsSkipWhatIsOutside) {
  std::mt19937 engine(22);
  for (int round = 0; round < 400; ++round) {
    const Form f = RandomForm(engine);
    const ElementType type = round % 2 ? kS64 : kF32;
    const Literal x = Random(type, f.operand, 1), s = RandomIndices(f, engine), u = Random(type, f.result, 2);
    const std::string t(ElementTypeName(type));
    const std::string text = Entry(
        "p = " + Text(x.shape()) + " parameter(0)\ns = " + Text(s.shape()) + " parameter(1)\nu = " + Text(u.shape()) +
            " parameter(2)\nROOT r = " + Text(x.shape()) +
            " scatter(p, s, u), update_window_dims=" + Braces(f.offset_dims) +
            ", inserted_window_dims=" + Braces(f.collapsed) + ", scatter_dims_to_operand_dims=" + Braces(f.index_map) +
            Batching(f, "input_batching_dims", "scatter_indices_batching_dims") +
            ", index_vector_dim=" + std::to_string(f.index_vector_dim) + ", to_apply=sum",
        "sum { a = " + t + "[] parameter(0)\n b = " + t + "[] parameter(1)\n ROOT r = " + t + "[] add(a, b) }\n");
    const Literal y = RunText(text, {x, s, u});
    std::vector<double> want;
    std::vector<uint64_t> integers;  // wrap round
    for (int64_t i = 0; i < x.element_count(); ++i) {
      want.push_back(type == kF32 ? x.GetDouble(i) : 0);
      integers.push_back(type == kF32 ? 0 : static_cast<uint64_t>(x.GetInt(i)));
    }
    for (int64_t i = 0; i < u.element_count(); ++i) {
      Sizes at, within;
      Locate(f, s, IndexOf(i, f.result), at, within);
      bool inside = true;
      for (size_t d = 0; d < at.size(); ++d) {
        at[d] += within[d];
        inside = inside && at[d] >= 0 && at[d] < f.operand[d];
      }
      if (!inside) continue;
      const auto position = static_cast<size_t>(PositionOf(at, f.operand));
      want[position] += type == kF32 ? u.GetDouble(i) : 0;
      integers[position] += type == kF32 ? 0 : static_cast<uint64_t>(u.GetInt(i));
    }
    for (int64_t i = 0; i < x.element_count(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (type == kF32) {
        ASSERT_EQ(y.GetDouble(i), static_cast<float>(want[k])) << text << " at " << i;
      } else {
        ASSERT_EQ(static_cast<uint64_t>(y.GetInt(i)), integers[k]) << text << " at " << i;
      }
    }
  }
}

}  // namespace indexing_oracle_test
}  // namespace VXLA_NAMESPACE::testing
