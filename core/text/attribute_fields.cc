#include "core/text/attribute_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/devices/op_sharding_text.h"
#include "core/host/delimited_list.h"
#include "core/host/ranges.h"
#include "core/text/literal_text.h"
#include "core/text/mesh_groups.h"
#include "core/text/shape_text.h"

namespace VXLA_NAMESPACE {
namespace {

template <typename... Args>
void Append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// ---- lists

Status TakeInts(Lexer& lexer, std::string_view open, std::string_view close, IntList& list) {
  VXLA_ASSIGN_OR_RETURN(list, TakeListOf(lexer, open, close, [&] { return lexer.TakeInt("an integer"); }));
  return OkStatus();
}

// "3x-1x2" or "0_1x2_3_1": each part of a word that `separator` splits, as an integer.
Status SplitInts(std::string_view text, char separator, SourceLocation location, IntList& values) {
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    int64_t value = 0;
    const auto parsed = std::from_chars(text.data() + begin, text.data() + end, value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end) {
      return InvalidArgument("expected integers separated by '{}', found '{}'", separator, text).At(location);
    }
    values.push_back(value);
    if (end == text.size()) return OkStatus();
    begin = end + 1;
  }
}

// Each dimension of a word "AxBxC" as its integers separated by '_', of which there are at least `least` and at most
// `most`.
Status SplitDimensions(const Token& word, size_t least, size_t most, std::vector<IntList>& dimensions) {
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(word.text.find('x', begin), word.text.size());
    IntList values;
    VXLA_RETURN_IF_ERROR(SplitInts(word.text.substr(begin, end - begin), '_', word.location, values));
    if (values.size() < least || values.size() > most) {
      return InvalidArgument("{} numbers in a dimension of '{}', expected {}", values.size(), word.text,
                             least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most))
          .At(word.location);
    }
    dimensions.push_back(std::move(values));
    if (end == word.text.size()) return OkStatus();
    begin = end + 1;
  }
}

// {item,item}
template <typename T, typename Item>
void AppendList(std::string& out, const std::vector<T>& values, std::string_view separator, Item&& item) {
  out += '{';
  for (const T& value : values) {
    if (&value != values.data()) out += separator;
    item(value);
  }
  out += '}';
}

}  // namespace

Result<size_t> TakeOneOf(Lexer& lexer, std::span<const std::string_view> texts) {
  const auto found = std::ranges::find(texts, lexer.token().text);
  if (lexer.token().kind != TokenKind::kIdentifier || found == texts.end()) {
    std::string expected;
    for (const std::string_view text : texts) {
      if (!text.empty()) Append(expected, "{}{}", expected.empty() ? "" : ", ", text);
    }
    return lexer.Expected("one of " + expected);
  }
  lexer.Next();
  return static_cast<size_t>(found - texts.begin());
}

// ---- scalars and words

Status ParseValue(Lexer& lexer, bool& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, lexer.TakeBool());
  return OkStatus();
}
Status ParseValue(Lexer& lexer, int64_t& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, lexer.TakeInt("an integer"));
  return OkStatus();
}
Status ParseValue(Lexer& lexer, std::optional<int64_t>& value) { return ParseValue(lexer, value.emplace()); }

Status ParseValue(Lexer& lexer, float& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(const auto literal, ParseLiteral(lexer, Shape(ElementType::kF32)));
  if (literal == nullptr) return lexer.Error("expected a number, found '...'");
  value = literal->data<float>()[0];
  return OkStatus();
}

Status ParseValue(Lexer& lexer, std::string& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, lexer.TakeString("a string"));
  return OkStatus();
}
Status ParseWord(Lexer& lexer, std::string& value) {
  lexer.Next();
  if (lexer.token().kind != TokenKind::kIdentifier) return lexer.Expected("a word");
  value = lexer.token().text;
  lexer.Next();
  return OkStatus();
}
Status ParseValue(Lexer& lexer, RawText& value) {
  VXLA_ASSIGN_OR_RETURN(value.text, lexer.TakeRawAfter());
  return OkStatus();
}

void AppendValue(std::string& out, bool value) { out += value ? "true" : "false"; }
void AppendValue(std::string& out, int64_t value) { Append(out, "{}", value); }
void AppendValue(std::string& out, float value) {
  out += PrintLiteral(Literal::FromVector<float>(Shape(ElementType::kF32), {{value}}));
}
void AppendValue(std::string& out, const std::string& value) { out += Quote(value); }
void AppendValue(std::string& out, const RawText& value) { out += value.text; }

Status ParseValue(Lexer& lexer, std::vector<std::string>& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, TakeListOf(lexer, "{", "}", [&] { return lexer.TakeString("a string"); }));
  return OkStatus();
}
void AppendValue(std::string& out, const std::vector<std::string>& value) {
  AppendList(out, value, ",", [&](const std::string& text) { out += Quote(text); });
}

// ---- lists of integers

Status ParseValue(Lexer& lexer, IntList& value) {
  lexer.Next();
  return TakeInts(lexer, "{", "}", value);
}
void AppendValue(std::string& out, const IntList& value) { Append(out, "{{{}}}", JoinInts(value)); }

Status ParseValue(Lexer& lexer, std::vector<IntList>& value) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&] { return TakeInts(lexer, "{", "}", value.emplace_back()); });
}
void AppendValue(std::string& out, const std::vector<IntList>& value) {
  AppendList(out, value, ",", [&](const IntList& list) { AppendValue(out, list); });
}

Status ParseValue(Lexer& lexer, std::vector<std::pair<int64_t, int64_t>>& value) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&]() -> Status {
    IntList pair;
    VXLA_RETURN_IF_ERROR(TakeInts(lexer, "{", "}", pair));
    if (pair.size() != 2) return lexer.Error("expected pairs {{source,target}}, found {} numbers", pair.size());
    value.emplace_back(pair[0], pair[1]);
    return OkStatus();
  });
}
void AppendValue(std::string& out, const std::vector<std::pair<int64_t, int64_t>>& value) {
  AppendList(out, value, ",", [&](const auto& pair) { Append(out, "{{{},{}}}", pair.first, pair.second); });
}

Status ParseValue(Lexer& lexer, std::vector<PrecisionLevel>& value) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const size_t place, TakeOneOf(lexer, TextsOf(PrecisionLevel())));
    value.push_back(static_cast<PrecisionLevel>(place));
    return OkStatus();
  });
}
void AppendValue(std::string& out, const std::vector<PrecisionLevel>& value) {
  AppendList(out, value, ",", [&](PrecisionLevel level) { AppendValue(out, level); });
}

// ---- slice={[0:5], [1:9:2]}

Status ParseValue(Lexer& lexer, std::vector<SliceDimension>& value) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&]() -> Status {
    SliceDimension& slice = value.emplace_back();
    VXLA_RETURN_IF_ERROR(lexer.Expect("["));
    VXLA_ASSIGN_OR_RETURN(slice.start, lexer.TakeInt("the start of a slice"));
    VXLA_RETURN_IF_ERROR(lexer.Expect(":"));
    VXLA_ASSIGN_OR_RETURN(slice.limit, lexer.TakeInt("the limit of a slice"));
    if (lexer.Eat(":")) VXLA_SET_OR_RETURN(slice.stride, lexer.TakeInt("the stride of a slice"));
    return lexer.Expect("]");
  });
}
void AppendValue(std::string& out, const std::vector<SliceDimension>& value) {
  const bool strided = std::ranges::any_of(value, [](const SliceDimension& s) { return s.stride != 1; });
  AppendList(out, value, ", ", [&](const SliceDimension& slice) {
    Append(out, "[{}:{}", slice.start, slice.limit);
    if (strided) Append(out, ":{}", slice.stride);
    out += ']';
  });
}

// ---- padding=0_1x2_3_1

Status ParseValue(Lexer& lexer, std::vector<PaddingDimension>& value) {
  const Token word = lexer.TakeWordAfter("-");
  if (word.text.empty()) {
    // A scalar has nothing to pad.
    VXLA_RETURN_IF_ERROR(lexer.Expect("{"));
    return lexer.Expect("}");
  }
  std::vector<IntList> dimensions;
  VXLA_RETURN_IF_ERROR(SplitDimensions(word, 2, 3, dimensions));
  for (const IntList& d : dimensions) value.push_back({d[0], d[1], d.size() > 2 ? d[2] : 0});
  return OkStatus();
}
void AppendValue(std::string& out, const std::vector<PaddingDimension>& value) {
  if (value.empty()) out += "{}";
  const bool interior = std::ranges::any_of(value, [](const PaddingDimension& p) { return p.interior != 0; });
  for (const PaddingDimension& padding : value) {
    Append(out, "{}{}_{}", &padding == value.data() ? "" : "x", padding.low, padding.high);
    if (interior) Append(out, "_{}", padding.interior);
  }
}

// ---- window={size=3x3 stride=2x2 pad=0_0x1_1 lhs_dilate=1x2 rhs_dilate=1x2 rhs_reversal=0x1}

namespace {

struct WindowPart {
  std::string_view name;
  int64_t WindowDimension::*value;
};
constexpr WindowPart kWindowParts[] = {{"size", &WindowDimension::size},
                                       {"stride", &WindowDimension::stride},
                                       {"lhs_dilate", &WindowDimension::lhs_dilate},
                                       {"rhs_dilate", &WindowDimension::rhs_dilate}};

Status SetWindowPart(const Token& part, const std::vector<IntList>& dimensions, Window& window) {
  for (size_t i = 0; i < window.size(); ++i) {
    WindowDimension& dimension = window[i];
    if (part.text == "pad") {
      dimension.pad_low = dimensions[i][0];
      dimension.pad_high = dimensions[i][1];
      continue;
    }
    if (part.text == "rhs_reversal") {
      dimension.reversal = dimensions[i][0] != 0;
      continue;
    }
    const auto found = std::ranges::find(kWindowParts, part.text, &WindowPart::name);
    if (found == std::end(kWindowParts)) {
      return InvalidArgument("unknown attribute '{}' of a window", part.text).At(part.location);
    }
    dimension.*found->value = dimensions[i][0];
  }
  return OkStatus();
}

}  // namespace

Status ParseValue(Lexer& lexer, Window& value) {
  lexer.Next();
  VXLA_RETURN_IF_ERROR(lexer.Expect("{"));
  std::vector<std::string_view> seen;
  while (lexer.token().kind == TokenKind::kAttribute) {
    const Token part = lexer.token();
    if (Contains(seen, part.text)) return lexer.Error("duplicate attribute '{}' of a window", part.text);
    const Token word = lexer.TakeWordAfter("-");
    std::vector<IntList> dimensions;
    const size_t numbers = part.text == "pad" ? 2 : 1;
    VXLA_RETURN_IF_ERROR(SplitDimensions(word, numbers, numbers, dimensions));
    if (seen.empty()) value.resize(dimensions.size());
    if (dimensions.size() != value.size()) {
      return InvalidArgument("window: {} has {} dimensions, {} has {}", part.text, dimensions.size(), seen.front(),
                             value.size())
          .At(part.location);
    }
    seen.push_back(part.text);
    VXLA_RETURN_IF_ERROR(SetWindowPart(part, dimensions, value));
    lexer.Eat(",");
  }
  return lexer.Expect("}");
}
Status ParseValue(Lexer& lexer, std::optional<Window>& value) { return ParseValue(lexer, value.emplace()); }

void AppendValue(std::string& out, const Window& value) {
  std::string parts;
  auto append = [&](std::string_view name, bool wanted, auto&& text) {
    if (!wanted) return;
    Append(parts, "{}{}=", parts.empty() ? "" : " ", name);
    for (const WindowDimension& dimension : value) {
      if (&dimension != value.data()) parts += 'x';
      text(dimension);
    }
  };
  auto any = [&](auto&& differs) { return std::ranges::any_of(value, differs); };
  auto append_int = [&](const WindowPart& part, bool wanted) {
    append(part.name, wanted, [&](const WindowDimension& d) { Append(parts, "{}", d.*part.value); });
  };
  auto not_one = [&](const WindowPart& part) {
    return any([&](const WindowDimension& d) { return d.*part.value != 1; });
  };
  append_int(kWindowParts[0], !value.empty());
  append_int(kWindowParts[1], not_one(kWindowParts[1]));
  append("pad", any([](const WindowDimension& d) { return d.pad_low != 0 || d.pad_high != 0; }),
         [&](const WindowDimension& d) { Append(parts, "{}_{}", d.pad_low, d.pad_high); });
  append_int(kWindowParts[2], not_one(kWindowParts[2]));
  append_int(kWindowParts[3], not_one(kWindowParts[3]));
  append("rhs_reversal", any([](const WindowDimension& d) { return d.reversal; }),
         [&](const WindowDimension& d) { parts += d.reversal ? '1' : '0'; });
  Append(out, "{{{}}}", parts);
}

// ---- dim_labels=bf01_oi01->bf01

namespace {

// "b01f": where the two letters and each numbered spatial dimension stand; '?' stands for a dimension of no use.
Status ReadLabels(const Token& word, std::string_view labels, std::string_view letters, int64_t& first, int64_t& second,
                  IntList& spatial) {
  auto error = [&](std::string_view what) {
    return InvalidArgument("dim_labels: '{}' of '{}' {}", labels, word.text, what).At(word.location);
  };
  first = second = -1;
  IntList positions(10, -1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const char c = labels[i];
    if (c == '?') continue;
    const bool digit = c >= '0' && c <= '9';
    if (!digit && letters.find(c) == std::string_view::npos) return error(fmt::format("has the unknown label '{}'", c));
    int64_t& position = digit ? positions[c - '0'] : c == letters[0] ? first : second;
    if (position >= 0) return error(fmt::format("names '{}' twice", c));
    position = static_cast<int64_t>(i);
  }
  if (first < 0 || second < 0) return error(fmt::format("lacks '{}'", first < 0 ? letters[0] : letters[1]));
  while (!positions.empty() && positions.back() < 0) positions.pop_back();
  if (Contains(positions, -1)) return error("skips a spatial dimension");
  spatial = std::move(positions);
  return OkStatus();
}

void AppendLabels(std::string& out, char first_label, int64_t first, char second_label, int64_t second,
                  const IntList& spatial) {
  int64_t last = std::max(first, second);
  for (const int64_t position : spatial) last = std::max(last, position);
  std::string labels(static_cast<size_t>(last) + 1, '?');
  labels.at(first) = first_label;
  labels.at(second) = second_label;
  for (size_t i = 0; i < spatial.size(); ++i) labels.at(spatial[i]) = static_cast<char>('0' + i);
  out += labels;
}

}  // namespace

Status ParseValue(Lexer& lexer, std::optional<ConvolutionDimensions>& value) {
  const Token word = lexer.TakeWordAfter("?->");
  const size_t underscore = word.text.find('_');
  const size_t arrow = word.text.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos || arrow < underscore) {
    return InvalidArgument("dim_labels: expected input_kernel->output as in bf01_oi01->bf01, found '{}'", word.text)
        .At(word.location);
  }
  ConvolutionDimensions& d = value.emplace();
  VXLA_RETURN_IF_ERROR(
      ReadLabels(word, word.text.substr(0, underscore), "bf", d.input_batch, d.input_feature, d.input_spatial));
  VXLA_RETURN_IF_ERROR(ReadLabels(word, word.text.substr(underscore + 1, arrow - underscore - 1), "oi",
                                  d.kernel_output_feature, d.kernel_input_feature, d.kernel_spatial));
  VXLA_RETURN_IF_ERROR(
      ReadLabels(word, word.text.substr(arrow + 2), "bf", d.output_batch, d.output_feature, d.output_spatial));
  if (d.input_spatial.size() != d.kernel_spatial.size() || d.input_spatial.size() != d.output_spatial.size()) {
    return InvalidArgument("dim_labels: '{}' names {}, {} and {} spatial dimensions", word.text, d.input_spatial.size(),
                           d.kernel_spatial.size(), d.output_spatial.size())
        .At(word.location);
  }
  return OkStatus();
}
void AppendValue(std::string& out, const ConvolutionDimensions& d) {
  AppendLabels(out, 'b', d.input_batch, 'f', d.input_feature, d.input_spatial);
  out += '_';
  AppendLabels(out, 'o', d.kernel_output_feature, 'i', d.kernel_input_feature, d.kernel_spatial);
  out += "->";
  AppendLabels(out, 'b', d.output_batch, 'f', d.output_feature, d.output_spatial);
}

// ---- replica_groups={{0,1},{2,3}} or [2,2]<=[2,2]T(1,0)

namespace {

Status CheckIota(const Lexer& lexer, const ReplicaGroups& value, int64_t& count) {
  auto all_positive = [](const IntList& list) {
    return !list.empty() && std::ranges::all_of(list, [](int64_t v) { return v > 0; });
  };
  if (!all_positive(*value.iota_dimensions) || !all_positive(*value.iota_reshape) ||
      value.iota_dimensions->size() != 2) {
    return lexer.Error("replica_groups: [{}]<=[{}] must be [groups,size]<=[positive sizes]",
                       JoinInts(*value.iota_dimensions), JoinInts(*value.iota_reshape));
  }
  VXLA_ASSIGN_OR_RETURN(count, CheckedElementCount(*value.iota_dimensions));
  VXLA_ASSIGN_OR_RETURN(const int64_t reshaped, CheckedElementCount(*value.iota_reshape));
  if (count != reshaped) {
    return lexer.Error("replica_groups: [{}] has {} devices, [{}] has {}", JoinInts(*value.iota_dimensions), count,
                       JoinInts(*value.iota_reshape), reshaped);
  }
  if (!value.iota_transpose) {
    if (value.iota_reshape->size() == 1) return OkStatus();
    return lexer.Error("replica_groups: T(...) must follow [{}]", JoinInts(*value.iota_reshape));
  }
  IntList sorted = *value.iota_transpose;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i) || sorted.size() != value.iota_reshape->size()) {
      return lexer.Error("replica_groups: T({}) is not a permutation of the dimensions of [{}]",
                         JoinInts(*value.iota_transpose), JoinInts(*value.iota_reshape));
    }
  }
  return OkStatus();
}

}  // namespace

Status ExpandIota(Lexer& lexer, ReplicaGroups& value) {
  int64_t devices = 0;
  VXLA_RETURN_IF_ERROR(CheckIota(lexer, value, devices));
  if (!lexer.Spend(devices)) return lexer.Error("replica_groups: {} devices are too many for this text", devices);
  const IntList all = IotaDevices(*value.iota_reshape, value.iota_transpose.value_or(IntList{0}));
  const int64_t size = (*value.iota_dimensions)[1];
  for (int64_t first = 0; first < devices; first += size)
    value.groups.emplace_back(all.begin() + first, all.begin() + first + size);
  return OkStatus();
}

Status ParseIotaReshape(Lexer& lexer, ReplicaGroups& value) {
  VXLA_RETURN_IF_ERROR(TakeInts(lexer, "[", "]", value.iota_reshape.emplace()));
  if (!lexer.AtIdentifier("T")) return OkStatus();
  lexer.Next();
  return TakeInts(lexer, "(", ")", value.iota_transpose.emplace());
}

Status ParseValue(Lexer& lexer, ReplicaGroups& value) {
  lexer.Next();
  if (lexer.AtIdentifier("mesh")) return ParseMeshGroups(lexer, value);
  if (!lexer.At("[")) {
    return TakeList(lexer, "{", "}", [&] { return TakeInts(lexer, "{", "}", value.groups.emplace_back()); });
  }
  VXLA_RETURN_IF_ERROR(TakeInts(lexer, "[", "]", value.iota_dimensions.emplace()));
  VXLA_RETURN_IF_ERROR(lexer.Expect("<="));
  VXLA_RETURN_IF_ERROR(ParseIotaReshape(lexer, value));
  return ExpandIota(lexer, value);
}
void AppendValue(std::string& out, const ReplicaGroups& value) {
  if (!value.iota_dimensions) return AppendValue(out, value.groups);
  Append(out, "[{}]<=[{}]", JoinInts(*value.iota_dimensions), JoinInts(value.iota_reshape.value_or(IntList{})));
  if (value.iota_transpose) Append(out, "T({})", JoinInts(*value.iota_transpose));
}

// ---- {{0}: (1, {2}, must-alias), ...}

Status ParseValue(Lexer& lexer, std::vector<Aliasing>& value) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&]() -> Status {
    Aliasing& alias = value.emplace_back();
    VXLA_RETURN_IF_ERROR(TakeInts(lexer, "{", "}", alias.output_index));
    VXLA_RETURN_IF_ERROR(lexer.Expect(":"));
    VXLA_RETURN_IF_ERROR(lexer.Expect("("));
    VXLA_ASSIGN_OR_RETURN(alias.operand, lexer.TakeInt("an operand's number"));
    VXLA_RETURN_IF_ERROR(lexer.Expect(","));
    VXLA_RETURN_IF_ERROR(TakeInts(lexer, "{", "}", alias.operand_index));
    if (lexer.Eat(",")) {
      if (!lexer.AtIdentifier("may-alias") && !lexer.AtIdentifier("must-alias")) {
        return lexer.Expected("may-alias or must-alias");
      }
      alias.kind = lexer.token().text;
      lexer.Next();
    }
    return lexer.Expect(")");
  });
}
void AppendValue(std::string& out, const std::vector<Aliasing>& value) {
  AppendList(out, value, ", ", [&](const Aliasing& alias) {
    Append(out, "{{{}}}: ({}, {{{}}}", JoinInts(alias.output_index), alias.operand, JoinInts(alias.operand_index));
    if (!alias.kind.empty()) Append(out, ", {}", alias.kind);
    out += ')';
  });
}

// ---- shapes and values

Status ParseValue(Lexer& lexer, std::optional<Shape>& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, ParseShape(lexer));
  return OkStatus();
}
void AppendValue(std::string& out, const Shape& value) { AppendShape(out, value); }

Status ParseValue(Lexer& lexer, std::optional<std::vector<Shape>>& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(value, TakeListOf(lexer, "{", "}", [&] { return ParseShape(lexer); }));
  return OkStatus();
}
void AppendValue(std::string& out, const std::vector<Shape>& value) {
  AppendList(out, value, ", ", [&](const Shape& shape) { AppendShape(out, shape); });
}

Status ParseValue(Lexer& lexer, std::optional<ShapedLiteral>& value) {
  lexer.Next();
  value.emplace();
  VXLA_ASSIGN_OR_RETURN(value->shape, ParseShape(lexer, LayoutRule::kBeforeLiteral));
  VXLA_ASSIGN_OR_RETURN(value->literal, ParseLiteral(lexer, value->shape));
  return OkStatus();
}
void AppendValue(std::string& out, const ShapedLiteral& value) {
  AppendShape(out, value.shape);
  out += ' ';
  out += value.literal == nullptr ? "{...}" : PrintLiteral(*value.literal);
}

// ---- which opcode has which field

Presence PresenceOf(Opcode opcode, std::string_view field, FieldKind kind) {
  using enum Presence;
  const Presence usual = kind == FieldKind::kRequired ? kRequired : kOptional;
  auto is = [&](std::initializer_list<Opcode> opcodes) { return Contains(opcodes, opcode); };
  using enum Opcode;
  if (field == "dimensions") {
    // Map's are all the operand's; broadcast's may be left out for a scalar.
    if (is({kMap, kBroadcast, kAllToAll})) return kOptional;
    if (is({kAllGather, kAllGatherStart, kReduceScatter})) return kRequired;
    if (is({kAllReduce, kAllReduceStart, kCollectiveBroadcast, kCollectiveReduce, kRaggedAllToAll})) return kUnknown;
  } else if (field == "use_global_device_ids") {
    if (is({kAllToAll, kRaggedAllToAll, kCollectiveBroadcast})) return kUnknown;
  } else if (field == "lhs_ragged_dims" || field == "rhs_group_dims") {
    if (opcode != kRaggedDot) return kUnknown;
  } else if (field == "algorithm") {
    if (is({kRaggedDot, kScaledDot})) return kUnknown;
  } else if (field == "result_accuracy") {
    if (is({kAbs, kCeil, kClz, kConvert, kFloor, kImag, kIsFinite, kNegate, kNot, kPopulationCount, kReal,
            kRoundNearestAfz, kRoundNearestEven, kSign})) {
      return kUnknown;
    }
  }
  return usual;
}

CalledNames CalledNamesOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
      return {{"condition", "body"}, {}};
    case Opcode::kConditional:
      return {{"true_computation", "false_computation"}, "branch_computations"};
    case Opcode::kSelectAndScatter:
      return {{"select", "scatter"}, {}};
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      return {{"calls"}, {}};
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return {{"calls"}, {}, false};
    case Opcode::kCustomCall:
      return {{"to_apply"}, "called_computations", false};
    case Opcode::kCall:
    case Opcode::kScan:
      return {{"to_apply"}, {}};
    default:
      if (Has(opcode, Trait::kOnScalars)) return {{"to_apply"}, {}};
      return {{}, {}, false};
  }
}

}  // namespace VXLA_NAMESPACE
