// Attributes of the StableHLO and CHLO dialects as MLIR writes them where they are no VHLO.
#include <algorithm>

#include "core/mlir/bytecode/entries.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Their words are VHLO's.
constexpr std::pair<StablehloAttribute, VhloAttribute> kSameKeywords[] = {
    {StablehloAttribute::kComparisonDirection, VhloAttribute::kComparisonDirection},
    {StablehloAttribute::kComparisonType, VhloAttribute::kComparisonType},
    {StablehloAttribute::kFftType, VhloAttribute::kFftType},
    {StablehloAttribute::kPrecision, VhloAttribute::kPrecision},
    {StablehloAttribute::kRngAlgorithm, VhloAttribute::kRngAlgorithm},
    {StablehloAttribute::kRngDistribution, VhloAttribute::kRngDistribution},
    {StablehloAttribute::kTranspose, VhloAttribute::kTranspose},
    {StablehloAttribute::kResultAccuracyMode, VhloAttribute::kResultAccuracyMode},
};

// The parts of an attribute in the order of their encoding; [] is a list of numbers, the others are numbers.
struct AttributeParts {
  StablehloAttribute kind;
  std::string_view name, parts;
};
constexpr AttributeParts kParts[] = {
    {StablehloAttribute::kChannelHandle, "stablehlo.channel_handle", "handle type"},
    {StablehloAttribute::kConvDimensionNumbers, "stablehlo.conv",
     "input_batch_dimension input_feature_dimension input_spatial_dimensions[] kernel_input_feature_dimension "
     "kernel_output_feature_dimension kernel_spatial_dimensions[] output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions[]"},
    {StablehloAttribute::kDotDimensionNumbers, "stablehlo.dot",
     "lhs_batching_dimensions[] rhs_batching_dimensions[] lhs_contracting_dimensions[] rhs_contracting_dimensions[]"},
    {StablehloAttribute::kGatherDimensionNumbers, "stablehlo.gather",
     "offset_dims[] collapsed_slice_dims[] operand_batching_dims[] start_indices_batching_dims[] start_index_map[] "
     "index_vector_dim"},
    {StablehloAttribute::kScatterDimensionNumbers, "stablehlo.scatter",
     "update_window_dims[] inserted_window_dims[] input_batching_dims[] scatter_indices_batching_dims[] "
     "scatter_dims_to_operand_dims[] index_vector_dim"},
};

}  // namespace

Status BytecodeEntries::ReadParts(ByteReader& in, std::string_view parts, Attribute& out) {
  while (!parts.empty()) {
    const size_t end = std::min(parts.find(' '), parts.size());
    std::string_view name = parts.substr(0, end);
    parts.remove_prefix(std::min(end + 1, parts.size()));
    if (name.ends_with("[]")) {
      name.remove_suffix(2);
      VXLA_ASSIGN_OR_RETURN(const IntList values, ReadInts(in, name));
      SetAttribute(out.entries, std::string(name), IntListAttribute(values));
    } else {
      VXLA_ASSIGN_OR_RETURN(const int64_t value, in.SignedVarint(name));
      SetAttribute(out.entries, std::string(name), IntegerAttribute(value));
    }
  }
  return OkStatus();
}

Status BytecodeEntries::ReadDotAlgorithm(ByteReader& in, Attribute& out) {
  out.kind = Attribute::Kind::kDialect;
  out.text = "stablehlo.dot_algorithm";
  for (const char* const name : {"lhs_precision_type", "rhs_precision_type", "accumulation_type"}) {
    VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
    SetAttribute(out.entries, name, TypeAttribute(*type));
  }
  VXLA_RETURN_IF_ERROR(ReadParts(in, "lhs_component_count rhs_component_count num_primitive_operations", out));
  VXLA_ASSIGN_OR_RETURN(const uint8_t imprecise, in.Byte("whether an algorithm may be imprecise"));
  Attribute allows(Attribute::Kind::kBool);
  allows.integer = imprecise != 0 ? 1 : 0;
  SetAttribute(out.entries, "allow_imprecise_accumulation", std::move(allows));
  return OkStatus();
}

Status BytecodeEntries::DecodeStablehloAttribute(ByteReader& in, StablehloAttribute kind, Attribute& out) {
  for (const auto& [code, same] : kSameKeywords) {
    if (code == kind) return ReadKeyword(in, *FindVhloKeywords(same), out);
  }
  if (const auto row = std::ranges::find(kParts, kind, &AttributeParts::kind); row != std::end(kParts)) {
    out.kind = Attribute::Kind::kDialect;
    out.text = row->name;
    return ReadParts(in, row->parts, out);
  }
  const auto mesh = std::ranges::find(kMeshCodes, kind, &MeshCodes::stablehlo);
  if (mesh != std::end(kMeshCodes)) return DecodeMesh(in, mesh->kind, false, out);
  switch (kind) {
    case StablehloAttribute::kTypeExtensions:
      return ReadBounds(in, out);
    case StablehloAttribute::kOutputOperandAlias:
      return ReadAlias(in, out);
    case StablehloAttribute::kDotAlgorithm:
      return ReadDotAlgorithm(in, out);
    case StablehloAttribute::kResultAccuracy:
      return ReadAccuracy(in, out);
    default:
      out.kind = Attribute::Kind::kRaw;
      out.text = fmt::format("StableHLO attribute {}", static_cast<uint64_t>(kind));
      return OkStatus();
  }
}

Status BytecodeEntries::DecodeChloAttribute(ByteReader& in, ChloAttribute kind, Attribute& out) {
  switch (kind) {
    case ChloAttribute::kComparisonDirection:
      return ReadKeyword(in, *FindVhloKeywords(VhloAttribute::kComparisonDirection), out);
    case ChloAttribute::kComparisonType:
      return ReadKeyword(in, *FindVhloKeywords(VhloAttribute::kComparisonType), out);
    default:
      out.kind = Attribute::Kind::kRaw;
      out.text = fmt::format("CHLO attribute {}", static_cast<uint64_t>(kind));
      return OkStatus();
  }
}

}  // namespace VXLA_NAMESPACE::mlir
