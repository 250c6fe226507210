#include "tools/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "api/program.h"
#include "api/replicas.h"
#include "core/mlir/importer/dynamic_program.h"
#include "tools/messages.h"
#include "tools/numpy_file.h"

namespace VXLA_NAMESPACE {
namespace {

std::string WantedName(size_t leaf) { return fmt::format("arg_{}", leaf); }

// What the files give: the entries of one .npz, or .npy files in order. Arrays are read when a parameter asks for them.
class GivenArrays {
 public:
  static Result<GivenArrays> Open(const std::vector<std::string>& files) {
    if (!files.empty()) Progress("reading " + files[0]);
    GivenArrays given;
    if (files.size() == 1 && IsNpzName(files[0])) {
      VXLA_ASSIGN_OR_RETURN(given.archive_, NpzFile::Open(files[0]));
      given.archive_->TakeUnnamedAs("arg");
      return given;
    }
    for (size_t k = 0; k < files.size(); ++k) {
      if (IsNpzName(files[k])) {
        return InvalidArgument("{}: one .npz or several .npy files can be given, not both", files[k]);
      }
      given.files_.emplace(WantedName(k), files[k]);
    }
    return given;
  }

  std::vector<std::string> names() const {
    if (archive_ != nullptr) return archive_->names();
    std::vector<std::string> names;
    for (const auto& [name, file] : files_) names.push_back(name);
    return names;
  }
  bool Contains(const std::string& name) const {
    return archive_ != nullptr ? archive_->Contains(name) : files_.contains(name);
  }
  Result<std::vector<int64_t>> SizesOf(const std::string& name) const {
    if (archive_ == nullptr) {
      VXLA_ASSIGN_OR_RETURN(const NumpyArray array, ReadNpy(files_.at(name)));
      return array.shape;
    }
    std::optional<std::vector<int64_t>> sizes;
    const auto stop = [&](const NumpyArray& header) {  // before its data is unpacked
      sizes = header.shape;
      return InvalidArgument("only sizes are wanted");
    };
    const Result<NumpyArray> array = archive_->Read(name, stop);
    if (!sizes.has_value()) return array.status();
    return *std::move(sizes);
  }
  // The array for a parameter of this shape: one for all devices or one for each.
  Result<std::vector<Literal>> Read(const std::string& name, const Shape& wanted, int64_t devices) const {
    if (archive_ == nullptr) {
      VXLA_ASSIGN_OR_RETURN(const NumpyArray array, ReadNpy(files_.at(name)));
      return ToLiterals(array, wanted, "", name, devices);
    }
    VXLA_ASSIGN_OR_RETURN(const std::string type_name, archive_->TypeName(name));
    VXLA_ASSIGN_OR_RETURN(const NumpyArray array, archive_->Read(name, [&](const NumpyArray& header) {
      return CheckArrayOf(header, wanted, type_name, name, devices);
    }));
    return ToLiterals(array, wanted, type_name, name, devices);
  }

 private:
  std::unique_ptr<NpzFile> archive_;
  std::map<std::string, std::string> files_;  // by name
};

}  // namespace

std::vector<const Literal*> ProgramArguments::pointers() const {
  std::vector<const Literal*> result;
  for (const Literal& value : values) result.push_back(&value);
  return result;
}

namespace {

// A piece of the leading axis for each device, all of one live size.
std::vector<Literal> Deal(const Literal& stacked, const Shape& shape, int64_t devices) {
  std::vector<Literal> pieces;
  const size_t size = stacked.bytes().size() / static_cast<size_t>(devices);
  for (int64_t d = 0; d < devices; ++d) {
    Literal& piece = pieces.emplace_back(shape);
    if (size > 0)
      std::memcpy(piece.mutable_bytes().data(), stacked.bytes().data() + static_cast<size_t>(d) * size, size);
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.is_dynamic_dimension(i)) piece.set_dynamic_size(i, stacked.dynamic_size(i + 1));
    }
  }
  return pieces;
}

// One value, or one for each device if a leaf differs between them.
std::vector<Literal> Rebuild(const Shape& shape, std::vector<std::vector<Literal>> leaves, int64_t devices) {
  const bool differ = std::ranges::any_of(leaves, [](const auto& leaf) { return leaf.size() > 1; });
  std::vector<Literal> values;
  for (int64_t d = 0; d < (differ ? devices : 1); ++d) {
    std::vector<Literal> of_device;
    for (std::vector<Literal>& leaf : leaves) {
      const bool last = leaf.size() > 1 || !differ || d == devices - 1;
      Literal& from = leaf[leaf.size() > 1 ? static_cast<size_t>(d) : 0];
      of_device.push_back(last ? std::move(from) : Literal(from));
    }
    values.push_back(UnflattenLiteral(shape, of_device));
  }
  return values;
}

}  // namespace

namespace {

bool IsStacked(const NumpyArray& array, const Shape& wanted, int64_t devices) {
  return devices > 1 && static_cast<int>(array.shape.size()) == wanted.rank() + 1;
}

}  // namespace

Status CheckArrayOf(const NumpyArray& array, const Shape& wanted, const std::string& type_name, const std::string& name,
                    int64_t devices) {
  if (!IsStacked(array, wanted, devices)) return CheckArray(array, wanted, type_name, name);
  if (array.shape[0] != devices) {
    return InvalidArgument("{}: a leading axis of {}, {} devices (replicas times partitions)", name, array.shape[0],
                           devices);
  }
  return CheckArray(array, StackedShape(wanted, devices), type_name, name);
}

Result<std::vector<Literal>> ToLiterals(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                                        const std::string& name, int64_t devices) {
  VXLA_RETURN_IF_ERROR(CheckArrayOf(array, wanted, type_name, name, devices));
  if (!IsStacked(array, wanted, devices)) {
    VXLA_ASSIGN_OR_RETURN(Literal literal, ToLiteral(array, wanted, type_name, name));
    std::vector<Literal> one;
    one.push_back(std::move(literal));
    return one;
  }
  VXLA_ASSIGN_OR_RETURN(const Literal stacked, ToLiteral(array, StackedShape(wanted, devices), type_name, name));
  return Deal(stacked, wanted, devices);
}

std::vector<std::vector<const Literal*>> ReplicatedArguments::pointers(int64_t devices) const {
  std::vector<std::vector<const Literal*>> result(static_cast<size_t>(devices));
  for (size_t d = 0; d < result.size(); ++d) {
    for (const std::vector<Literal>& value : values) result[d].push_back(&value[value.size() == 1 ? 0 : d]);
  }
  return result;
}

namespace {

// Sizes that a program leaves open are those of the arrays.
Result<std::vector<Shape>> ParameterShapes(const Module& module, const GivenArrays& given, int64_t devices) {
  std::vector<Shape> shapes;
  for (const Instruction* parameter : module.entry()->parameters()) shapes.push_back(parameter->shape());
  if (!mlir::IsDynamicProgram(module)) return shapes;
  const mlir::DynamicProgram program = mlir::DynamicProgram::Of(module);
  for (size_t k = 0; k < shapes.size(); ++k) {
    const mlir::Type& type = program.parameters()[k];
    if (!type.unranked && !mlir::HasUnknownSize(type.shape)) continue;
    const std::string name = WantedName(k);
    if (!given.Contains(name))
      return InvalidArgument("{}: {} leaves sizes open, so it must be given", name, mlir::PrintType(type));
    VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, given.SizesOf(name));
    // One array for all devices, or one for each.
    if (devices > 1 && !type.unranked && sizes.size() == static_cast<size_t>(type.shape.rank()) + 1)
      sizes.erase(sizes.begin());
    if (!type.unranked && sizes.size() != static_cast<size_t>(type.shape.rank()))
      return InvalidArgument("{}: an array of {} dimensions, {} needed", name, sizes.size(), mlir::PrintType(type));
    if (type.unranked) {
      shapes[k] = Shape(type.shape.element_type(), sizes);
      continue;
    }
    for (int i = 0; i < type.shape.rank(); ++i) {
      if (type.shape.dimension(i) != kUnboundedSize) continue;
      shapes[k].set_dimension(i, sizes[static_cast<size_t>(i)]);
      shapes[k].set_dynamic_dimension(i, false);
    }
  }
  return shapes;
}

// jax.jit leaves parameters out that a function does not use, and then the arrays of its arguments are too many. Says
// so where arrays in order fit the parameters; OK where there are not too many.
Status CheckCount(const GivenArrays& given, const std::vector<const Shape*>& wanted, int64_t devices) {
  size_t count = 0;
  while (given.Contains(WantedName(count))) ++count;
  if (count <= wanted.size()) return OkStatus();
  std::vector<std::string> fitting;
  for (size_t k = 0; k < count && fitting.size() < wanted.size(); ++k) {
    const std::string name = WantedName(k);
    const Shape& shape = *wanted[fitting.size()];
    if (given.Read(name, shape, devices).ok()) fitting.push_back(name);
  }
  std::string which;
  if (!wanted.empty() && fitting.size() == wanted.size())
    which = fmt::format("; {} fit in this order", fmt::join(fitting, ", "));
  return InvalidArgument(
      "arg_{}: no parameter wants it: {} arrays given, the program takes {}{}. jax.jit leaves out arguments that a "
      "function does not use: lower jax.jit(f, keep_unused=True), or give only those that are used",
      wanted.size(), count, wanted.size(), which);
}

// "12 seeded (seed 0), 3 from args.npz"
std::string Summary(size_t seeded, size_t from_files, const ArgumentSource& source, int64_t devices) {
  const std::vector<std::string>& files = source.files;
  std::string text = fmt::format("arguments: {} seeded (seed {}{}{})", seeded, source.seed,
                                 source.fill == ArgumentFill::kSmall ? "" : fmt::format(", {}", FillName(source.fill)),
                                 devices == 1 ? "" : fmt::format(", one for each of {} devices", devices));
  if (from_files == 0) return text;
  return text +
         fmt::format(", {} from {}", from_files, files.size() == 1 ? files[0] : fmt::format("{} files", files.size()));
}

}  // namespace

Result<ReplicatedArguments> LoadReplicatedArguments(const Module& module, const ArgumentSource& source,
                                                    int64_t devices) {
  const std::vector<std::string>& files = source.files;
  VXLA_ASSIGN_OR_RETURN(const GivenArrays given, GivenArrays::Open(files));
  ReplicatedArguments arguments;
  VXLA_ASSIGN_OR_RETURN(const std::vector<Shape> parameters, ParameterShapes(module, given, devices));
  std::vector<const Shape*> wanted;
  for (const Shape& parameter : parameters) {
    for (const Shape* leaf : FlattenTuple(parameter)) {
      if (leaf->IsArray()) wanted.push_back(leaf);
    }
  }
  VXLA_RETURN_IF_ERROR(CheckCount(given, wanted, devices));
  size_t next = 0, seeded = 0;
  std::set<std::string> used;
  for (const Shape& parameter : parameters) {
    std::vector<std::vector<Literal>> leaves;
    for (const Shape* leaf : FlattenTuple(parameter)) {
      const std::string name = WantedName(next++);
      std::vector<Literal>& pieces = leaves.emplace_back();
      if (!leaf->IsArray()) {
        pieces.emplace_back(*leaf);
        continue;
      }
      if (given.Contains(name)) {
        VXLA_ASSIGN_OR_RETURN(pieces, given.Read(name, *leaf, devices));
        used.insert(name);
        continue;
      }
      if (leaf->IsDynamic())
        return InvalidArgument("{}: {} has dynamic dimensions, so it must be given", name, leaf->ToString());
      VXLA_RETURN_IF_ERROR(CheckedElementCount(leaf->dimensions()).status());
      const auto number = static_cast<uint32_t>(next - 1);
      Progress(fmt::format("seeding {}: {}", name, leaf->ToString()));
      if (devices == 1) {
        pieces.push_back(RandomLiteral(*leaf, source.seed, number, source.fill));
      } else {
        const Shape stacked = StackedShape(*leaf, devices);
        VXLA_RETURN_IF_ERROR(CheckedElementCount(stacked.dimensions()).status());
        pieces = Deal(RandomLiteral(stacked, source.seed, number, source.fill), *leaf, devices);
      }
      ++seeded;
    }
    arguments.values.push_back(Rebuild(parameter, std::move(leaves), devices));
  }
  if (seeded > 0) arguments.notes.push_back(Summary(seeded, used.size(), source, devices));
  for (const std::string& name : given.names()) {
    if (used.contains(name) || name.ends_with("__dtype")) continue;
    return InvalidArgument("{}{}: no parameter wants it; the program takes arg_0 to arg_{} ({} arrays)",
                           files.size() == 1 ? files[0] + ": " : "", name, static_cast<int64_t>(next) - 1, next);
  }
  return arguments;
}

Result<ReplicatedArguments> LoadWholeArguments(const Module& module, const std::vector<Sharding>& parameters,
                                               const ArgumentSource& source, int64_t devices) {
  Module wholes(module.name());
  Computation* const entry = wholes.AddComputation("main");
  for (const Instruction* parameter : module.entry()->parameters()) {
    const size_t number = static_cast<size_t>(parameter->parameter_number());
    entry->Add(Opcode::kParameter, parameters[number].WholeShapeOf(parameter->shape()), {},
               ParameterAttributes{parameter->parameter_number()});
  }
  entry->set_root(entry->Add(Opcode::kTuple, Shape()));
  wholes.set_entry(entry);
  VXLA_ASSIGN_OR_RETURN(ReplicatedArguments arguments, LoadReplicatedArguments(wholes, source, 1));
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].is_cut()) continue;
    std::vector<Literal> tiles;
    for (int64_t d = 0; d < devices; ++d) {
      VXLA_ASSIGN_OR_RETURN(Literal tile, TileOf(arguments.values[p][0], parameters[p], static_cast<size_t>(d)));
      tiles.push_back(std::move(tile));
    }
    arguments.values[p] = std::move(tiles);
  }
  return arguments;
}

Result<Literal> WholeResults(const Literal& stacked, const std::vector<Sharding>& results, int64_t devices) {
  std::vector<Literal> wholes;
  const std::vector<const Literal*> leaves = FlattenLiteral(stacked);
  for (size_t k = 0; k < leaves.size(); ++k) {
    const std::span<const int64_t> sizes = leaves[k]->shape().dimensions();
    const Shape shape(leaves[k]->shape().element_type(), {sizes.begin() + 1, sizes.end()});
    const std::vector<Literal> tiles = Deal(*leaves[k], shape, devices);
    std::vector<const Literal*> pointers;
    for (const Literal& tile : tiles) pointers.push_back(&tile);
    VXLA_ASSIGN_OR_RETURN(Literal whole, WholeOf(pointers, results[k]));
    wholes.push_back(std::move(whole));
  }
  return stacked.shape().IsTuple() ? Literal::Tuple(std::move(wholes)) : std::move(wholes[0]);
}

Status RefineForArguments(std::unique_ptr<Module>& module, const ArgumentSource& source, const EvaluateOptions& options,
                          int64_t devices) {
  if (!mlir::IsDynamicProgram(*module)) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const ReplicatedArguments arguments, LoadReplicatedArguments(*module, source, devices));
  VXLA_ASSIGN_OR_RETURN(module, RefineOnCpu(*module, arguments.pointers(devices)[0], options));
  return CheckRunnable(*module, {}, options.custom_calls);
}

Result<ProgramArguments> LoadArguments(const Module& module, const ArgumentSource& source) {
  VXLA_ASSIGN_OR_RETURN(ReplicatedArguments one, LoadReplicatedArguments(module, source, 1));
  ProgramArguments arguments;
  for (std::vector<Literal>& value : one.values) arguments.values.push_back(std::move(value[0]));
  arguments.notes = std::move(one.notes);
  return arguments;
}

}  // namespace VXLA_NAMESPACE
