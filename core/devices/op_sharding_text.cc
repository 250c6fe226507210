#include "core/devices/op_sharding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostDevices = 1 << 20;

class OpShardingReader {
 public:
  OpShardingReader(std::string_view text, int rank, int64_t devices)
      : text_(text), left_(text), rank_(rank), devices_(devices) {}

  Result<std::optional<ArraySharding>> Read() {
    if (!Eat("{")) return Error("'{{' is missing");
    for (const std::string_view word : {"replicated", "manual", "unknown"}) {
      if (Eat(word)) return std::optional<ArraySharding>();
    }
    if (Eat("maximal")) return Maximal();
    if (At("{")) return Error("shardings of several arrays");
    if (!Eat("devices=")) return Error("devices=[...] is missing");
    VXLA_ASSIGN_OR_RETURN(tiles_, Bracketed());
    VXLA_ASSIGN_OR_RETURN(const IntList devices, Devices());
    VXLA_RETURN_IF_ERROR(ReadRest());
    return Sharding(devices);
  }

 private:
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("the sharding '{}': {}", text_, fmt::format(format, std::forward<Args>(args)...));
  }

  // On one device: each of them computes it.
  Result<std::optional<ArraySharding>> Maximal() {
    if (!Eat("device=")) return Error("device=N is missing at '{}'", left_);
    VXLA_ASSIGN_OR_RETURN(const int64_t device, Number());
    if (device >= devices_) return Error("device {} of {}", device, devices_);
    return std::optional<ArraySharding>();
  }

  void SkipSpaces() {
    while (left_.starts_with(' ')) left_.remove_prefix(1);
  }
  bool At(std::string_view what) {
    SkipSpaces();
    return left_.starts_with(what);
  }
  bool Eat(std::string_view what) {
    if (!At(what)) return false;
    left_.remove_prefix(what.size());
    return true;
  }

  Result<int64_t> Number() {
    SkipSpaces();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    if (error != std::errc() || number < 0) return Error("a number is missing at '{}'", left_);
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return number;
  }

  Result<IntList> Numbers() {
    IntList numbers;
    do {
      VXLA_ASSIGN_OR_RETURN(const int64_t number, Number());
      numbers.push_back(number);
    } while (Eat(","));
    return numbers;
  }

  Result<IntList> Bracketed() {
    if (!Eat("[")) return Error("'[' is missing at '{}'", left_);
    VXLA_ASSIGN_OR_RETURN(IntList numbers, Numbers());
    if (!Eat("]")) return Error("']' is missing at '{}'", left_);
    return numbers;
  }

  Result<int64_t> CountOf(const IntList& sizes) const {
    int64_t count = 1;
    for (const int64_t size : sizes) {
      if (size < 1 || size > kMostDevices / count)
        return Error("{} of 1 to {} devices needed", JoinInts(sizes), kMostDevices);
      count *= size;
    }
    return count;
  }

  // 0,2,1,3 or <=[2,2]T(1,0)
  Result<IntList> Devices() {
    VXLA_ASSIGN_OR_RETURN(const int64_t count, CountOf(tiles_));
    if (!Eat("<=")) {
      VXLA_ASSIGN_OR_RETURN(IntList devices, Numbers());
      return Checked(std::move(devices), count);
    }
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, Bracketed());
    VXLA_RETURN_IF_ERROR(CountOf(sizes).status());
    IntList order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (Eat("T(")) {
      VXLA_ASSIGN_OR_RETURN(order, Numbers());
      IntList sorted = order;
      std::ranges::sort(sorted);
      for (size_t i = 0; i < sorted.size() || i < sizes.size(); ++i) {
        if (i >= sorted.size() || sorted[i] != static_cast<int64_t>(i))
          return Error("T({}) is no order of {} dimensions", JoinInts(order), sizes.size());
      }
      if (!Eat(")")) return Error("')' is missing at '{}'", left_);
    }
    return Checked(IotaDevices(sizes, order), count);
  }

  Result<IntList> Checked(IntList devices, int64_t count) const {
    IntList sorted = devices;
    std::ranges::sort(sorted);
    const bool all = std::ssize(sorted) == count && sorted.front() == 0 && sorted.back() == count - 1 &&
                     std::ranges::adjacent_find(sorted) == sorted.end();
    if (!all) return Error("[{}] tiles for the devices {}", JoinInts(tiles_), JoinInts(devices));
    return devices;
  }

  // Dimensions of the tiles behind the array's: of copies, or of places that the program tells apart itself.
  Status ReadRest() {
    size_t behind = 0;
    if (Eat("last_tile_dim_replicate")) {
      behind = 1;
    } else if (Eat("last_tile_dims={")) {
      do {
        if (!Eat("replicated"))
          return Unsupported("the sharding '{}': last_tile_dims of other kinds than 'replicated'", text_);
        ++behind;
      } while (Eat(","));
      if (!Eat("}")) return Error("'}}' is missing at '{}'", left_);
    }
    if (tiles_.size() != static_cast<size_t>(rank_) + behind)
      return Error("{} dimensions of an array of {}", tiles_.size() - std::min(behind, tiles_.size()), rank_);
    if (Eat("metadata=")) return OkStatus();
    if (!Eat("}") || !left_.empty()) return Error("'{}' at its end", left_);
    return OkStatus();
  }

  std::optional<ArraySharding> Sharding(const IntList& devices) const {
    auto mesh = std::make_shared<DeviceMesh>();
    ArraySharding sharding;
    for (size_t d = 0; d < tiles_.size(); ++d) {
      const std::string name = fmt::format("\"_{}\"", d);
      if (tiles_[d] > 1) mesh->axes.push_back({name, tiles_[d]});
      if (d >= static_cast<size_t>(rank_)) continue;
      DimensionSharding& dimension = sharding.dimensions.emplace_back();
      if (tiles_[d] > 1) dimension.axes.push_back({name});
    }
    mesh->ids = devices;
    sharding.mesh = std::move(mesh);
    return sharding;
  }

  std::string_view text_, left_;
  int rank_;
  int64_t devices_;
  IntList tiles_;
};

}  // namespace

IntList IotaDevices(const IntList& sizes, const IntList& order) {
  const IntList strides = RowMajorStrides(sizes);
  IntList devices{0};
  for (const int64_t d : order) {
    IntList more;
    for (const int64_t device : devices) {
      for (int64_t i = 0; i < sizes[d]; ++i) more.push_back(device + i * strides[d]);
    }
    devices = std::move(more);
  }
  return devices;
}

Result<std::optional<ArraySharding>> ReadOpSharding(std::string_view text, int rank, int64_t devices) {
  return OpShardingReader(text, rank, devices).Read();
}

}  // namespace VXLA_NAMESPACE
