#include "core/text/module_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/delimited_list.h"
#include "core/host/ranges.h"
#include "core/text/attribute_fields.h"
#include "core/text/shape_text.h"

namespace VXLA_NAMESPACE {
namespace {

// Kept as written: they steer XLA's own compiler.
constexpr std::string_view kOtherAttributes[] = {"alias_passthrough_params",
                                                 "allow_spmd_sharding_propagation_to_parameters",
                                                 "allow_spmd_sharding_propagation_to_output", "origin_recovery_table"};

// { (param, {index}), ... } at the attribute.
Status ParseBufferDonor(Lexer& lexer, std::vector<std::pair<int64_t, IntList>>& donors) {
  lexer.Next();
  return TakeList(lexer, "{", "}", [&]() -> Status {
    auto& donor = donors.emplace_back();
    VXLA_RETURN_IF_ERROR(lexer.Expect("("));
    VXLA_ASSIGN_OR_RETURN(donor.first, lexer.TakeInt("a parameter's number"));
    if (!lexer.At(",")) return lexer.Expected("','");
    VXLA_RETURN_IF_ERROR(ParseValue(lexer, donor.second));
    VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
    return OkStatus();
  });
}

// {(shape, ...)->shape} at the attribute.
Status ParseEntryLayout(Lexer& lexer, ModuleAttributes& attributes) {
  lexer.Next();
  VXLA_RETURN_IF_ERROR(lexer.Expect("{"));
  VXLA_ASSIGN_OR_RETURN(Shape parameters, ParseShape(lexer));
  if (!parameters.IsTuple()) return lexer.Error("entry_computation_layout: expected (parameter shapes)->result shape");
  VXLA_RETURN_IF_ERROR(lexer.Expect("->"));
  VXLA_ASSIGN_OR_RETURN(Shape result, ParseShape(lexer));
  attributes.entry_computation_layout.emplace(std::move(parameters.mutable_tuple_elements()), std::move(result));
  return lexer.Expect("}");
}

Status ParseCount(Lexer& lexer, int64_t& count) {
  const Token name = lexer.token();
  VXLA_RETURN_IF_ERROR(ParseValue(lexer, count));
  if (count >= 1) return OkStatus();
  return InvalidArgument("{}: {} is below 1", name.text, count).At(name.location);
}

Status ParseAttribute(Lexer& lexer, ModuleAttributes& attributes) {
  const Token name = lexer.token();
  if (name.text == "is_scheduled") return ParseValue(lexer, attributes.is_scheduled);
  if (name.text == "replica_count") return ParseCount(lexer, attributes.replica_count);
  if (name.text == "num_partitions") return ParseCount(lexer, attributes.num_partitions);
  if (name.text == "input_output_alias") return ParseValue(lexer, attributes.input_output_alias);
  if (name.text == "buffer_donor") return ParseBufferDonor(lexer, attributes.buffer_donor);
  if (name.text == "entry_computation_layout") return ParseEntryLayout(lexer, attributes);
  if (name.text == "frontend_attributes") return ParseValue(lexer, attributes.frontend_attributes);
  if (!Contains(kOtherAttributes, name.text)) {
    return lexer.Error("unknown attribute '{}' of HloModule", name.text);
  }
  RawText value;
  VXLA_RETURN_IF_ERROR(ParseValue(lexer, value));
  attributes.others.emplace_back(name.text, std::move(value));
  return OkStatus();
}

constexpr std::string_view kTables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
constexpr std::string_view kLocationFields[] = {"file_name_id", "function_name_id", "line",
                                                "end_line",     "column",           "end_column"};
constexpr std::string_view kFrameFields[] = {"file_location_id", "parent_frame_id"};

// {file_name_id=1 line=3}
Status ParseRecord(Lexer& lexer, std::span<const std::string_view> fields, std::string& out) {
  VXLA_RETURN_IF_ERROR(lexer.Expect("{"));
  out += '{';
  bool first = true;
  while (lexer.token().kind == TokenKind::kAttribute) {
    const std::string_view name = lexer.token().text;
    if (!Contains(fields, name)) return lexer.Error("unknown field '{}' of a stack-frame table", name);
    int64_t value = 0;
    VXLA_RETURN_IF_ERROR(ParseValue(lexer, value));
    fmt::format_to(std::back_inserter(out), "{}{}={}", first ? "" : " ", name, value);
    first = false;
    lexer.Eat(",");
  }
  out += '}';
  return lexer.Expect("}");
}

Status ParseTable(Lexer& lexer, std::string_view table, std::string& out) {
  out += table;
  out += '\n';
  lexer.Next();
  while (lexer.token().kind == TokenKind::kInt) {
    VXLA_ASSIGN_OR_RETURN(const int64_t id, lexer.TakeInt("an id"));
    fmt::format_to(std::back_inserter(out), "{} ", id);
    if (table == "FileNames" || table == "FunctionNames") {
      VXLA_ASSIGN_OR_RETURN(const std::string name, lexer.TakeString("a string"));
      out += Quote(name);
    } else {
      const bool locations = table == "FileLocations";
      const auto fields = locations ? std::span<const std::string_view>(kLocationFields)
                                    : std::span<const std::string_view>(kFrameFields);
      VXLA_RETURN_IF_ERROR(ParseRecord(lexer, fields, out));
    }
    out += '\n';
  }
  return OkStatus();
}

}  // namespace

Status ParseModuleHeader(Lexer& lexer, Module& module) {
  lexer.Next();
  const TokenKind kind = lexer.token().kind;  // XLA's own texts write `HloModule name:` too
  if (kind != TokenKind::kIdentifier && kind != TokenKind::kName && kind != TokenKind::kLabel) {
    return lexer.Expected("the module's name");
  }
  module.set_name(std::string(lexer.token().text));
  lexer.Next();
  std::vector<std::string_view> seen;
  while (lexer.Eat(",")) {
    if (lexer.token().kind != TokenKind::kAttribute) return lexer.Expected("an attribute of HloModule");
    const std::string_view name = lexer.token().text;
    if (Contains(seen, name)) return lexer.Error("duplicate attribute '{}' of HloModule", name);
    seen.push_back(name);
    VXLA_RETURN_IF_ERROR(ParseAttribute(lexer, module.mutable_attributes()));
  }
  return OkStatus();
}

Status ParseStackFrames(Lexer& lexer, Module& module) {
  std::string& out = module.mutable_attributes().stack_frames.text;
  for (const std::string_view table : kTables) {
    if (!lexer.AtIdentifier(table)) continue;
    if (!out.empty()) out += '\n';
    VXLA_RETURN_IF_ERROR(ParseTable(lexer, table, out));
  }
  return OkStatus();
}

Status CheckEntryLayout(const Module& module, SourceLocation location) {
  const auto& layout = module.attributes().entry_computation_layout;
  if (!layout) return OkStatus();
  const auto& parameters = module.entry()->parameters();
  if (layout->first.size() != parameters.size()) {
    return InvalidArgument("entry_computation_layout: {} parameters, but {} has {}", layout->first.size(),
                           module.entry()->name(), parameters.size())
        .At(location);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (Compatible(layout->first[i], parameters[i]->shape())) continue;
    return InvalidArgument("entry_computation_layout: parameter {} is {}, but {} has {}", i,
                           layout->first[i].ToString(), module.entry()->name(), parameters[i]->shape().ToString())
        .At(location);
  }
  const Shape& result = module.entry()->root()->shape();
  if (Compatible(layout->second, result)) return OkStatus();
  return InvalidArgument("entry_computation_layout: the result is {}, but {} has {}", layout->second.ToString(),
                         module.entry()->name(), result.ToString())
      .At(location);
}

void AppendModuleHeader(std::string& out, const Module& module) {
  const ModuleAttributes& attributes = module.attributes();
  fmt::format_to(std::back_inserter(out), "HloModule {}", module.name());
  auto append = [&](std::string_view name, bool wanted, const auto& value) {
    if (!wanted) return;
    fmt::format_to(std::back_inserter(out), ", {}=", name);
    AppendValue(out, value);
  };
  append("is_scheduled", attributes.is_scheduled, true);
  append("input_output_alias", !attributes.input_output_alias.empty(), attributes.input_output_alias);
  if (!attributes.buffer_donor.empty()) {
    std::string donors;
    for (const auto& [parameter, index] : attributes.buffer_donor) {
      fmt::format_to(std::back_inserter(donors), "{}({}, {{{}}})", donors.empty() ? "" : ", ", parameter,
                     JoinInts(index));
    }
    append("buffer_donor", true, RawText{"{" + donors + "}"});
  }
  if (const auto& layout = attributes.entry_computation_layout) {
    out += ", entry_computation_layout={";
    AppendShape(out, Shape::Tuple(layout->first));
    out += "->";
    AppendShape(out, layout->second);
    out += '}';
  }
  for (const auto& [name, value] : attributes.others) append(name, true, value);
  append("frontend_attributes", !attributes.frontend_attributes.text.empty(), attributes.frontend_attributes);
  append("replica_count", attributes.replica_count != 1, attributes.replica_count);
  append("num_partitions", attributes.num_partitions != 1, attributes.num_partitions);
  out += "\n\n";
  if (!attributes.stack_frames.text.empty()) out += attributes.stack_frames.text + "\n";
}

}  // namespace VXLA_NAMESPACE
