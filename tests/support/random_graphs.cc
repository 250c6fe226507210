#include "tests/support/random_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace VXLA_NAMESPACE::testing {
namespace {

struct Node {
  std::string name, type;
  std::vector<int64_t> sizes;
  bool used = false;

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  bool is_float() const { return type != "s32" && type != "pred"; }
};

std::string Join(const std::vector<int64_t>& values, const char* between = ",") {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}

std::string ShapeText(const std::string& type, const std::vector<int64_t>& sizes) {
  return fmt::format("{}[{}]", type, Join(sizes));
}

class Generator {
 public:
  Generator(uint64_t number, const RandomGraphOptions& options) : state_(number * 2 + 1), options_(options) {}

  std::string Make() {
    const int parameters = static_cast<int>(Below(3)) + 2;
    for (int p = 0; p < parameters; ++p) {
      Node node{fmt::format("p{}", p), FloatType(), Sizes(), false};
      if (Below(6) == 0) node.type = "s32";
      Emit(node, fmt::format("parameter({})", p));
    }
    for (int step = 0; step < options_.instructions; ++step) Step();
    std::string results, shapes;
    int left = 4;  // the last value, and a few that nothing has used
    for (auto node = nodes_.rbegin(); node != nodes_.rend() && left > 0; ++node) {
      if (node->used) continue;
      results += (results.empty() ? "" : ", ") + node->name;
      shapes += (shapes.empty() ? "" : ", ") + ShapeText(node->type, node->sizes);
      --left;
    }
    std::string text = "HloModule random\n";
    for (const auto& [name, region] : regions_) text += region + "\n";
    return text + "ENTRY main {\n" + body_ + fmt::format("  ROOT results = ({}) tuple({})\n}}\n", shapes, results);
  }

 private:
  uint64_t Next() {  // splitmix64
    uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  template <size_t N>
  const char* Pick(const std::array<const char*, N>& names) {
    return names[Below(N)];
  }

  std::string FloatType() { return Pick(std::array{"f32", "f32", "f32", "f32", "bf16", "f16", "f64"}); }
  std::vector<int64_t> Sizes() {
    constexpr std::array<int64_t, 8> kSizes{1, 2, 3, 5, 7, 8, 16, 33};
    std::vector<int64_t> sizes(Below(4));
    int64_t count = 1;
    for (int64_t& size : sizes) {
      size = kSizes[Below(kSizes.size())];
      if (count * size > options_.max_elements) size = 1;
      count *= size;
    }
    return sizes;
  }

  Node& Emit(Node node, const std::string& text) {
    if (node.name.empty()) node.name = fmt::format("v{}", next_++);
    body_ += fmt::format("  {} = {} {}\n", node.name, ShapeText(node.type, node.sizes), text);
    nodes_.push_back(node);
    return nodes_.back();
  }
  Node Add(const std::string& type, const std::vector<int64_t>& sizes, const std::string& text) {
    return Emit({"", type, sizes, false}, text);
  }
  Node Use(size_t index) {
    nodes_[index].used = true;
    return nodes_[index];
  }
  // Later values are likelier, so that programs are deep.
  template <typename Fits>
  const Node* Find(Fits fits) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (fits(nodes_[i])) fitting.push_back(i);
    }
    if (fitting.empty()) return nullptr;
    const size_t a = Below(fitting.size()), b = Below(fitting.size());
    nodes_[fitting[std::max(a, b)]].used = true;
    return &nodes_[fitting[std::max(a, b)]];
  }
  Node Any() {
    return *Find([](const Node& node) { return node.type != "pred"; });
  }
  Node AnyFloat() {
    if (const Node* node = Find([](const Node& n) { return n.is_float(); })) return *node;
    const Node node = Any();
    return Add("f32", node.sizes, fmt::format("convert({})", node.name));
  }
  Node Like(const Node& other) {
    return *Find([&](const Node& node) { return node.type == other.type && node.sizes == other.sizes; });
  }
  Node Scalar(const std::string& type, const std::string& value) {
    const std::string name = fmt::format("c{}", next_++);
    body_ += fmt::format("  {} = {}[] constant({})\n", name, type, value);
    return {name, type, {}, true};
  }
  std::string Region(const std::string& op, const std::string& type) {
    const std::string name = fmt::format("{}_{}", op, type);
    // (1 + a)(1 + b) - 1: associative, and no plain sum or product.
    const std::string combine = op == "compound" ? fmt::format(
                                                       "s = {0}[] add(a, b)  m = {0}[] multiply(a, b)  ROOT r = "
                                                       "{0}[] add(s, m)",
                                                       type)
                                                 : fmt::format("ROOT r = {}[] {}(a, b)", type, op);
    regions_[name] = fmt::format("{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  {2} }}", name, type, combine);
    return name;
  }

  void Step() {
    switch (Below(options_.loops ? 19 : 18)) {
      case 0:
      case 1:
      case 2:
        return Unary();
      case 3:
      case 4:
      case 5:
        return Binary();
      case 6:
        return Select();
      case 7:
        return Convert();
      case 8:
      case 9:
        return Reduce();
      case 10:
        return Dot();
      case 11:
        return Window();
      case 12:
      case 13:
      case 14:
        return Move();
      case 15:
        return Variadic();
      case 16:
      case 17:
        return Amplify();
      default:
        return Loop();
    }
  }

  void Unary() {
    const Node x = AnyFloat();
    const char* op = Pick(std::array{"tanh", "exponential", "sine", "cosine", "logistic", "negate", "abs", "floor",
                                     "sign", "cbrt", "log-plus-one", "exponential-minus-one", "rsqrt", "sqrt", "log",
                                     "erf", "ceil", "round-nearest-even"});
    Node given = x;
    const std::string name = op;
    if (name == "sqrt" || name == "rsqrt" || name == "log" || name == "log-plus-one")
      given = Add(x.type, x.sizes, fmt::format("abs({})", x.name));
    if (name == "exponential" && Below(2) == 0) given = Add(x.type, x.sizes, fmt::format("tanh({})", x.name));
    nodes_.back().used |= given.name != x.name;
    Add(x.type, x.sizes, fmt::format("{}({})", op, given.name));
  }

  // What rounding left becomes visible: in a function of a large argument, in whole numbers, in a small difference.
  void Amplify() {
    const Node x = AnyFloat();
    const Node factor = Scalar(x.type, Pick(std::array{"1000", "1e4", "300"}));
    const std::string factors = fmt::format("v{}", next_++);
    body_ +=
        fmt::format("  {} = {} broadcast({}), dimensions={{}}\n", factors, ShapeText(x.type, x.sizes), factor.name);
    if (Below(3) == 0) {
      const Node sum = Add(x.type, x.sizes, fmt::format("add({}, {})", x.name, factors));
      nodes_.back().used = true;
      Add(x.type, x.sizes, fmt::format("subtract({}, {})", sum.name, factors));
      return;
    }
    const Node product = Add(x.type, x.sizes, fmt::format("multiply({}, {})", x.name, factors));
    nodes_.back().used = true;
    const char* op = Pick(std::array{"sine", "cosine", "floor", "tan", "convert"});
    Add(std::string(op) == "convert" ? "s32" : x.type, x.sizes, fmt::format("{}({})", op, product.name));
  }

  void Binary() {
    const Node a = Any(), b = Like(a);
    const char* op = a.is_float() ? Pick(std::array{"add", "subtract", "multiply", "divide", "maximum", "minimum",
                                                    "add", "multiply", "atan2"})
                                  : Pick(std::array{"add", "subtract", "multiply", "maximum", "minimum", "and", "xor"});
    Add(a.type, a.sizes, fmt::format("{}({}, {})", op, a.name, b.name));
  }

  void Select() {
    const Node a = Any(), b = Like(a), c = Like(a);
    const Node chosen =
        Add("pred", a.sizes,
            fmt::format("compare({}, {}), direction={}", a.name, b.name, Pick(std::array{"LT", "GE", "EQ", "NE"})));
    nodes_.back().used = true;
    Add(a.type, a.sizes, fmt::format("select({}, {}, {})", chosen.name, c.name, a.name));
  }

  void Convert() {
    const Node x = Any();
    const std::string to = Below(5) == 0 ? "s32" : FloatType();
    if (to == x.type) return Unary();
    Add(to, x.sizes, fmt::format("convert({})", x.name));
  }

  std::string Identity(const std::string& op, const std::string& type) {
    if (op == "add" || op == "compound") return "0";
    if (op == "multiply") return "1";
    if (type == "s32") return op == "maximum" ? "-2147483648" : "2147483647";
    return op == "maximum" ? "-inf" : "inf";
  }

  void Reduce() {
    const Node x = Any();
    if (x.rank() == 0) return Unary();
    std::vector<int64_t> reduced, kept;
    const auto first = static_cast<int64_t>(Below(static_cast<uint64_t>(x.rank())));
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d == first || Below(3) == 0) {
        reduced.push_back(d);
      } else {
        kept.push_back(x.sizes[static_cast<size_t>(d)]);
      }
    }
    std::string op = Pick(std::array{"add", "add", "add", "maximum", "minimum", "multiply", "compound"});
    Node given = x;
    if (x.is_float() && (op == "multiply" || op == "compound"))  // factors near one
      given = Add(x.type, x.sizes, fmt::format("{}({})", op == "multiply" ? "cosine" : "sine", x.name));
    const Node zero = Scalar(x.type, Identity(op, x.type));
    nodes_.back().used |= given.name != x.name;
    Add(x.type, kept,
        fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply={}", given.name, zero.name, Join(reduced),
                    Region(op, x.type)));
  }

  // A sum and a maximum of one array side by side, or the greatest value with its place.
  void Variadic() {
    const Node x = AnyFloat();
    if (x.rank() == 0) return Unary();
    const auto dimension = Below(static_cast<uint64_t>(x.rank()));
    std::vector<int64_t> kept = x.sizes;
    kept.erase(kept.begin() + static_cast<int64_t>(dimension));
    const bool place = Below(2) == 0;
    const std::string second = place ? "s32" : x.type, name = fmt::format("pair{}_{}", place ? "_place" : "", x.type);
    const std::string pair = fmt::format(
        "{0}[] parameter(0)  j = {1}[] parameter(1)  b = {0}[] parameter(2)  k = {1}[] "
        "parameter(3)",
        x.type, second);
    const std::string combine =
        place
            ? fmt::format(
                  "g = pred[] compare(a, b), direction=GE  e = pred[] compare(a, b), direction=EQ  l = pred[] "
                  "compare(j, k), direction=LT  v = {0}[] select(g, a, b)  t = s32[] select(l, j, k)  o = s32[] "
                  "select(g, j, k)  w = s32[] select(e, t, o)  ROOT r = ({0}[], s32[]) tuple(v, w)",
                  x.type)
            : fmt::format("s = {0}[] add(a, b)  m = {0}[] maximum(j, k)  ROOT r = ({0}[], {0}[]) tuple(s, m)", x.type);
    regions_[name] = fmt::format("{} {{ a = {}  {} }}", name, pair, combine);
    std::string other = x.name;
    if (place) {
      other = fmt::format("v{}", next_++);
      body_ += fmt::format("  {} = {} iota(), iota_dimension={}\n", other, ShapeText("s32", x.sizes), dimension);
    }
    const Node first_init = Scalar(x.type, place ? "-inf" : "0"), second_init = Scalar(second, place ? "0" : "-inf");
    const std::string both = fmt::format("v{}", next_++);
    body_ += fmt::format("  {} = ({}, {}) reduce({}, {}, {}, {}), dimensions={{{}}}, to_apply={}\n", both,
                         ShapeText(x.type, kept), ShapeText(second, kept), x.name, other, first_init.name,
                         second_init.name, dimension, name);
    Add(x.type, kept, fmt::format("get-tuple-element({}), index=0", both));
    Add(second, kept, fmt::format("get-tuple-element({}), index=1", both));
  }

  // Rows of one value with rows of another.
  void Dot() {
    const Node x = AnyFloat();
    if (x.rank() == 0) return Unary();
    const int64_t inner = x.sizes.back(), rows = x.count() / inner;
    if (rows * rows > options_.max_elements) return Binary();
    const Node y = Like(x);
    const auto flat = [&](const Node& node) {
      const Node two = Add(x.type, {rows, inner}, fmt::format("reshape({})", node.name));
      nodes_.back().used = true;
      return two.name;
    };
    const std::string a = flat(x), b = flat(y);
    Add(x.type, {rows, rows}, fmt::format("dot({}, {}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}", a, b));
  }

  void Window() {
    const Node x = Any();
    if (x.rank() == 0) return Unary();
    std::vector<int64_t> windows, sizes;
    std::string pads, strides;
    for (const int64_t size : x.sizes) {
      const auto window = static_cast<int64_t>(Below(3)) + 1, stride = static_cast<int64_t>(Below(2)) + 1;
      const int64_t low = window - 1, padded = size + low;
      windows.push_back(window);
      sizes.push_back((padded - window) / stride + 1);
      strides += (strides.empty() ? "" : "x") + std::to_string(stride);
      pads += fmt::format("{}{}_0", pads.empty() ? "" : "x", low);
    }
    const std::string op = Pick(std::array{"add", "maximum"});
    const Node zero = Scalar(x.type, Identity(op, x.type));
    Add(x.type, sizes,
        fmt::format("reduce-window({}, {}), window={{size={} stride={} pad={}}}, to_apply={}", x.name, zero.name,
                    Join(windows, "x"), strides, pads, Region(op, x.type)));
  }

  void Move() {
    const Node x = Any();
    std::vector<int64_t> order(x.sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    switch (Below(7)) {
      case 0:
        Add(x.type, {x.count()}, fmt::format("reshape({})", x.name));
        return;
      case 1: {
        for (size_t d = order.size(); d > 1; --d) std::swap(order[d - 1], order[Below(d)]);
        std::vector<int64_t> sizes;
        for (const int64_t d : order) sizes.push_back(x.sizes[static_cast<size_t>(d)]);
        Add(x.type, sizes, fmt::format("transpose({}), dimensions={{{}}}", x.name, Join(order)));
        return;
      }
      case 2: {
        const auto times = static_cast<int64_t>(Below(4)) + 2;
        if (x.rank() > 3 || x.count() * times > options_.max_elements) return Binary();
        const auto at = static_cast<int64_t>(Below(static_cast<uint64_t>(x.rank()) + 1));
        std::vector<int64_t> sizes = x.sizes;
        sizes.insert(sizes.begin() + at, times);
        for (int64_t& d : order) d += d >= at;
        Add(x.type, sizes, fmt::format("broadcast({}), dimensions={{{}}}", x.name, Join(order)));
        return;
      }
      case 3: {
        if (x.rank() == 0) return Binary();
        std::string ranges;
        std::vector<int64_t> sizes;
        for (const int64_t size : x.sizes) {
          const auto start = static_cast<int64_t>(Below(static_cast<uint64_t>(size)));
          const auto kept = static_cast<int64_t>(Below(static_cast<uint64_t>(size - start))) + 1;
          ranges += fmt::format("{}[{}:{}]", ranges.empty() ? "" : ", ", start, start + kept);
          sizes.push_back(kept);
        }
        Add(x.type, sizes, fmt::format("slice({}), slice={{{}}}", x.name, ranges));
        return;
      }
      case 4: {
        if (x.rank() == 0 || 2 * x.count() > options_.max_elements) return Binary();
        const Node y = Like(x);
        const auto d = Below(static_cast<uint64_t>(x.rank()));
        std::vector<int64_t> sizes = x.sizes;
        sizes[d] *= 2;
        Add(x.type, sizes, fmt::format("concatenate({}, {}), dimensions={{{}}}", x.name, y.name, d));
        return;
      }
      case 5: {
        if (x.rank() == 0) return Binary();
        Add(x.type, x.sizes,
            fmt::format("reverse({}), dimensions={{{}}}", x.name, Below(static_cast<uint64_t>(x.rank()))));
        return;
      }
      default: {
        if (x.rank() == 0) return Binary();
        const Node zero = Scalar(x.type, "1");
        std::string padding;
        std::vector<int64_t> sizes;
        for (const int64_t size : x.sizes) {
          const auto low = static_cast<int64_t>(Below(2)), high = static_cast<int64_t>(Below(2));
          padding += fmt::format("{}{}_{}", padding.empty() ? "" : "x", low, high);
          sizes.push_back(size + low + high);
        }
        Add(x.type, sizes, fmt::format("pad({}, {}), padding={}", x.name, zero.name, padding));
      }
    }
  }

  // A few steps of x = f(x + y), which keeps its size.
  void Loop() {
    const Node x = AnyFloat(), y = Like(x);
    const std::string shape = ShapeText(x.type, x.sizes), state = fmt::format("(s32[], {0}, {0})", shape);
    const std::string id = std::to_string(next_++);
    const char* op = Pick(std::array{"tanh", "sine", "cosine", "logistic"});
    regions_["while_" + id] = fmt::format(
        "condition_{0} {{ s = {1} parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant({2})  ROOT "
        "c = "
        "pred[] compare(i, n), direction=LT }}\n"
        "body_{0} {{ s = {1} parameter(0)  i = s32[] get-tuple-element(s), index=0  x = {3} get-tuple-element(s), "
        "index=1  "
        "y = {3} get-tuple-element(s), index=2  one = s32[] constant(1)  j = s32[] add(i, one)  z = {3} add(x, y)  f = "
        "{3} "
        "{4}(z)  ROOT t = {1} tuple(j, f, y) }}",
        id, state, Below(4) + 2, shape, op);
    const Node zero = Scalar("s32", "0");
    body_ += fmt::format(
        "  start_{0} = {1} tuple({2}, {3}, {4})\n  loop_{0} = {1} while(start_{0}), "
        "condition=condition_{0}, body=body_{0}\n",
        id, state, zero.name, x.name, y.name);
    Add(x.type, x.sizes, fmt::format("get-tuple-element(loop_{}), index=1", id));
  }

  uint64_t state_;
  const RandomGraphOptions options_;
  std::vector<Node> nodes_;
  std::map<std::string, std::string> regions_;
  std::string body_;
  int next_ = 0;
};

}  // namespace

std::string RandomGraph(uint64_t number, const RandomGraphOptions& options) {
  return Generator(number, options).Make();
}

}  // namespace vxla::testing
