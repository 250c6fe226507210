// vxla compile: a program as a bundle, which runs without a compiler.
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/image_programs.h"
#include "api/program.h"
#include "core/ir/module.h"
#include "scheduler/bundle/bundle.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

struct CompileCommandFlags {
  std::string file, out, bindings = "both", emulate;
  std::vector<std::string> targets = {"generic"}, argument_images, result_images, bounds;
  uint64_t seed = 0;
  CompileFlags compile;
  bool same_bits = false, no_cache = false, json = false;
};

Status AddVariant(const CompileCommandFlags& flags, const Module& module, const std::string& target,
                  const std::string& bindings, BundleBuilder& bundle) {
  Progress(fmt::format("compiling for {} under {}", target, bindings));
  DeviceOptions options;
  options.device = target;
  if (!IsGeneric(target)) options.emulate = flags.emulate;
  options.bindings = bindings;
  options.same_bits = flags.same_bits;
  options.cache = !flags.no_cache;
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenTarget(options));
  const std::unique_ptr<Client> client = MakeClient(device, flags.compile.evaluate_options(flags.seed));
  CompileOptions compile = flags.compile.options();
  compile.sizes_on_device = true;
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client->Compile(module, compile));
  return bundle.Add(*executable, *device, IsGeneric(target));
}

Status AddVariants(const CompileCommandFlags& flags, const Module& module, BundleBuilder& bundle, Json* variants) {
  for (const std::string& target : flags.targets) {
    for (const std::string bindings : {"addresses", "descriptors"}) {
      if (flags.bindings != "both" && flags.bindings != bindings) continue;
      VXLA_RETURN_IF_ERROR(AddVariant(flags, module, target, bindings, bundle));
      if (variants != nullptr) variants->push_back({{"target", target}, {"bindings", bindings}});
    }
  }
  return OkStatus();
}

// Of "0=R8G8B8A8_SRGB": what makes an array of an image, or back.
Status AddImage(const CompileCommandFlags& flags, std::span<const Shape* const> leaves, bool argument,
                const std::string& text, BundleBuilder& bundle) {
  const std::string option = fmt::format("--{}-image {}", argument ? "argument" : "result", text);
  const size_t equals = text.find('=');
  uint32_t leaf = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(equals, text.size()), leaf);
  if (equals == text.npos || error != std::errc() || end != text.data() + equals)
    return InvalidArgument("{}: NUMBER=FORMAT is wanted", option);
  if (leaf >= leaves.size())
    return InvalidArgument("{}: the program has {} {} arrays", option, leaves.size(), argument ? "argument" : "result");
  VXLA_ASSIGN_OR_RETURN(const VkFormat format, FormatNamed(option, std::string_view(text).substr(equals + 1)));
  VXLA_ASSIGN_OR_RETURN(const ImageArray image, ArrayOfImage(option, *leaves[leaf], format, /*written=*/!argument));
  if (image.same_bytes) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const XlaComputation program, argument ? TexelsToArray(image) : ArrayToTexels(image));
  BundleBuilder conversion;
  VXLA_RETURN_IF_ERROR(AddVariants(flags, program.module(), conversion, nullptr));
  const std::string file = conversion.Finish("vxla " VXLA_VERSION);
  bundle.AddConversion(argument, leaf, format, std::as_bytes(std::span(file)));
  return OkStatus();
}

Status AddImages(const CompileCommandFlags& flags, const Module& module, BundleBuilder& bundle) {
  std::vector<const Shape*> arguments;
  for (const Instruction* parameter : module.entry()->parameters())
    std::ranges::copy(FlattenTuple(parameter->shape()), std::back_inserter(arguments));
  for (const std::string& text : flags.argument_images)
    VXLA_RETURN_IF_ERROR(AddImage(flags, arguments, true, text, bundle));
  const std::vector<const Shape*> results = FlattenTuple(module.entry()->root()->shape());
  for (const std::string& text : flags.result_images)
    VXLA_RETURN_IF_ERROR(AddImage(flags, results, false, text, bundle));
  return OkStatus();
}

Status CheckOneDevice(const Module& module) {
  const ModuleAttributes& attributes = module.attributes();
  if (attributes.replica_count <= 1 && attributes.num_partitions <= 1) return OkStatus();
  return Unsupported("the program is for {} replicas and {} partitions; a bundle holds programs of one device",
                     attributes.replica_count, attributes.num_partitions);
}

Status CompileToFile(const CompileCommandFlags& flags, Json& json) {
  VXLA_RETURN_IF_ERROR(CheckNotInput(flags.out, flags.file));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(flags.file, flags.compile));
  if (!flags.bounds.empty()) {
    VXLA_ASSIGN_OR_RETURN(module, WithSizeBounds(*module, fmt::format("{}", fmt::join(flags.bounds, ","))));
  }
  VXLA_RETURN_IF_ERROR(CheckOneDevice(*module));
  BundleBuilder bundle;
  Json variants = Json::array();
  VXLA_RETURN_IF_ERROR(AddVariants(flags, *module, bundle, &variants));
  VXLA_RETURN_IF_ERROR(AddImages(flags, *module, bundle));
  Progress("");
  const std::string bytes = bundle.Finish("vxla " VXLA_VERSION);
  VXLA_RETURN_IF_ERROR(WriteText(flags.out, bytes));
  PrintWritten(flags.out);
  if (flags.json) json = {{"file", flags.out}, {"bytes", bytes.size()}, {"variants", std::move(variants)}};
  return OkStatus();
}

}  // namespace

CommandBody AddCompile(CLI::App& app) {
  auto flags = std::make_shared<CompileCommandFlags>();
  app.add_option("FILE", flags->file, "the program as HLO text, StableHLO text or bytecode; - is standard input")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", flags->out, "the bundle to write: vxla run takes it as any program")
      ->required()
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_option("--target", flags->targets,
                 "what the kernels are for: generic (any Vulkan 1.1 device), generic+FEATURE+... (that enables these: "
                 "i64, f64, f16, storage16, storage8, fma, division, subgroups32 or another size, matrices16x16x16 or "
                 "another shape), or devices of this machine as "
                 "--device names them elsewhere; several give a variant each")
      ->expected(1, 1 << 10)
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--bindings", flags->bindings, "how kernels reach memory; a variant for each way")
      ->check(OneOf({"both", "addresses", "descriptors"}))
      ->capture_default_str();
  app.add_option(
         "--argument-image", flags->argument_images,
         "the argument array of that number may be an image of this format in libvxla_runtime, which compiles no "
         "conversions: 0=R8G8B8A8_SRGB; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("N=FORMAT");
  app.add_option("--result-image", flags->result_images, "the same of a result array")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("N=FORMAT");
  app.add_option(
         "--bound", flags->bounds,
         "of a program that leaves sizes open (tensor<?x4xf32>): the most that a dimension variable of JAX's has, "
         "b=1024, or dimension 1 of argument 0, 0.1=16; sizes that the program computes from these follow")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=N");
  app.add_option("--seed", flags->seed, "of the state that rng and rng-get-and-update-state draw from")
      ->check(WholeNumber(0, UINT64_MAX))
      ->type_name("N")
      ->capture_default_str();
  flags->compile.AddTo(app);
  app.option_defaults()->group(kCompileOptions);
  app.add_flag("--same-bits", flags->same_bits,
               "products and sums round as on every other device, instead of by what the target does fastest");
  app.add_option("--emulate", flags->emulate,
                 "what the kernels for devices of this machine do without, or are written for, as of vxla run: with "
                 "gpu,matrices kernels of GPUs with matrix units, which plain code stands in for")
      ->type_name("LIST");
  app.add_flag("--no-cache", flags->no_cache, "neither read nor write the cache of compiled kernels");
  app.add_flag("--json", flags->json, "the file's size and variants, as one JSON object on stdout");
  return [flags](Json& json) { return AtPlace(CompileToFile(*flags, json), flags->file); };
}

}  // namespace VXLA_NAMESPACE
