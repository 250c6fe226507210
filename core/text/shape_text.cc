#include "core/text/shape_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/host/delimited_list.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

// What XLA writes after a layout's ':': tiles, dynamic sizes, memory space and so on.
Status CheckAnnotations(const Lexer& lexer, const std::string& text) {
  size_t i = 0;
  while (i < text.size()) {
    size_t open = i;
    while (open < text.size() && text[open] != '(') ++open;
    const std::string name = text.substr(i, open - i);
    constexpr std::string_view kNames[] = {"D", "T", "L", "#", "*", "E", "S", "SC", "P", "M"};
    if (std::ranges::find(kNames, name) == std::end(kNames) || open == text.size()) {
      return lexer.Error("unknown layout annotation '{}'", name);
    }
    i = open;
    do {  // T(8,128)(2,1): tiles of tiles; SC(0:10)(1:4,5): splits of several dimensions
      int depth = 0;
      do {
        const char c = text[i++];
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (!std::isalnum(static_cast<unsigned char>(c)) &&
            std::string_view("()[]{},*<=?_:-#").find(c) == std::string_view::npos) {
          return lexer.Error("unexpected character '{}' in a layout annotation", c);
        }
      } while (depth > 0 && i < text.size());
    } while ((name == "T" || name == "SC") && i < text.size() && text[i] == '(');
  }
  return OkStatus();
}

Status CheckOrder(const Lexer& lexer, const Shape& shape, const std::vector<int64_t>& minor_to_major) {
  // {:T(128)} states no order: the default one, which has no dimension to order for a scalar.
  std::vector<bool> seen(shape.dimensions().size(), false);
  if (minor_to_major.size() != seen.size()) {
    return lexer.Error("the layout {{{}}} names {} dimensions of {}, which has {}", JoinInts(minor_to_major),
                       minor_to_major.size(), shape.ToString(), seen.size());
  }
  for (const int64_t dimension : minor_to_major) {
    if (dimension < 0 || dimension >= shape.rank() || seen[dimension]) {
      return lexer.Error("the layout {{{}}} is not a permutation of the dimensions of {}", JoinInts(minor_to_major),
                         shape.ToString());
    }
    seen[dimension] = true;
  }
  return OkStatus();
}

// At '{'.
Status ParseLayout(Lexer& lexer, Shape& shape) {
  Layout layout;
  lexer.Next();
  while (!lexer.At(":") && !lexer.At("}")) {
    VXLA_ASSIGN_OR_RETURN(layout.minor_to_major.emplace_back(), lexer.TakeInt("a dimension of the layout"));
    if (!lexer.Eat(",")) break;
  }
  if (lexer.At(":")) {
    VXLA_ASSIGN_OR_RETURN(layout.annotations, lexer.TakeUntilBrace());
    VXLA_RETURN_IF_ERROR(CheckAnnotations(lexer, layout.annotations));
  }
  VXLA_RETURN_IF_ERROR(CheckOrder(lexer, shape, layout.minor_to_major));
  VXLA_RETURN_IF_ERROR(lexer.Expect("}"));
  shape.set_layout(std::move(layout));
  return OkStatus();
}

Status ParseOptionalLayout(Lexer& lexer, Shape& shape, LayoutRule rule) {
  if (!lexer.At("{")) return OkStatus();
  const char next = lexer.PeekChar();
  if (next != ':' && !std::isdigit(static_cast<unsigned char>(next))) return OkStatus();
  if (rule == LayoutRule::kAfterShape) return ParseLayout(lexer, shape);
  const Lexer before = lexer;
  Shape with_layout = shape;
  if (ParseLayout(lexer, with_layout).ok() && (lexer.At("{") || shape.rank() == 0)) {
    shape = std::move(with_layout);
  } else {
    lexer = before;
  }
  return OkStatus();
}

Result<Shape> ParseArray(Lexer& lexer, LayoutRule rule) {
  const Token type_token = lexer.token();
  const std::optional<ElementType> type = ParseElementType(type_token.text);
  if (type_token.kind != TokenKind::kIdentifier || !type || *type == ElementType::kTuple) {
    return lexer.Expected("a shape");
  }
  lexer.Next();
  VXLA_RETURN_IF_ERROR(lexer.Expect("["));
  std::vector<int64_t> dimensions;
  std::vector<bool> dynamic;
  while (!lexer.At("]")) {
    if (dimensions.size() == kMaxRank) return lexer.Error("arrays have at most {} dimensions", kMaxRank);
    const bool bounded = lexer.Eat("<=");
    const bool unbounded = !bounded && lexer.Eat("?");
    int64_t size = kUnboundedSize;
    if (!unbounded) {
      VXLA_ASSIGN_OR_RETURN(size, lexer.TakeInt("the size of a dimension"));
      if (size < 0) {  // kUnboundedSize is a negative number too
        return InvalidArgument("size {} of dimension {} is negative", size, dimensions.size()).At(type_token.location);
      }
    }
    dimensions.push_back(size);
    dynamic.push_back(bounded || unbounded);
    if (!lexer.Eat(",")) break;
  }
  if (!IsArrayElement(*type) && !dimensions.empty()) {
    return InvalidArgument("{} has no dimensions, found {}", type_token.text, dimensions.size())
        .At(type_token.location);
  }
  VXLA_RETURN_IF_ERROR(lexer.Expect("]"));
  Shape known(*type, dimensions);
  for (int i = 0; i < known.rank(); ++i) {  // `?` is no error yet: a program may be refined
    if (known.dimension(i) == kUnboundedSize) known.set_dimension(i, 1);
  }
  VXLA_RETURN_IF_ERROR(CheckShape(known).At(type_token.location));
  Shape shape(*type, std::move(dimensions));
  for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, dynamic[i]);
  VXLA_RETURN_IF_ERROR(ParseOptionalLayout(lexer, shape, rule));
  return shape;
}

}  // namespace

bool AtShape(Lexer& lexer) {
  if (lexer.At("(")) return true;
  if (lexer.token().kind != TokenKind::kIdentifier) return false;
  if (lexer.AtIdentifier("b")) return lexer.PeekChar() == '(';
  return lexer.PeekChar() == '[' && ParseElementType(lexer.token().text).has_value();
}

Result<Shape> ParseShape(Lexer& lexer, LayoutRule rule, int depth) {
  if (lexer.AtIdentifier("b") && lexer.PeekChar() == '(') {
    lexer.Next();
    lexer.Next();
    VXLA_ASSIGN_OR_RETURN(Shape contents, ParseArray(lexer, LayoutRule::kAfterShape));
    if (!contents.IsArray()) return lexer.Error("a buffer holds an array, not {}", contents.ToString());
    VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
    contents.set_is_buffer(true);
    return contents;
  }
  if (!lexer.At("(")) return ParseArray(lexer, rule);
  if (depth == kMaxTupleDepth) return lexer.Error("shapes nest more than {} levels deep", kMaxTupleDepth);
  const auto element = [&] { return ParseShape(lexer, LayoutRule::kAfterShape, depth + 1); };
  VXLA_ASSIGN_OR_RETURN(std::vector<Shape> elements, TakeListOf(lexer, "(", ")", element));
  return Shape::Tuple(std::move(elements));
}

void AppendShape(std::string& out, const Shape& shape) {
  if (!shape.IsTuple()) {
    out += shape.ToString(/*with_layout=*/true);
    return;
  }
  out += '(';
  for (size_t i = 0; i < shape.tuple_elements().size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && i % 5 == 0) fmt::format_to(std::back_inserter(out), "/*index={}*/", i);
    AppendShape(out, shape.tuple_elements()[i]);
  }
  out += ')';
}

}  // namespace VXLA_NAMESPACE
