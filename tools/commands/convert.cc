// vxla convert: reads a program and writes it again.
#include "api/program.h"
#include "core/mlir/bytecode/container.h"
#include "core/mlir/bytecode/writer.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/mlir/printer/printer.h"
#include "core/mlir/reader/parser.h"
#include "core/passes/expand/expanders.h"
#include "core/text/hlo_printer.h"
#include "scheduler/bundle/bundle.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/commands/convert_kernels.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

struct ConvertFlags {
  std::string in, out, to, target = mlir::kDefaultVhlo.ToString();
};

// A program whose arguments decide sizes is written as it was read.
Result<std::string> Bytecode(const Module& module, const std::string& target) {
  const std::optional<mlir::VhloVersion> version = mlir::VhloVersion::Parse(target);
  if (!version) {
    return InvalidArgument("--target-version {}: no version of VHLO from {} to {}", target,
                           mlir::kOldestVhlo.ToString(), mlir::kNewestVhlo.ToString());
  }
  if (mlir::IsDynamicProgram(module)) return mlir::WriteBytecode(mlir::DynamicProgram::Of(module).program(), *version);
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> forms, WithStablehloForms(module, ChloForms::kExpanded));
  VXLA_ASSIGN_OR_RETURN(const std::string text, mlir::PrintStablehlo(*forms));
  VXLA_ASSIGN_OR_RETURN(const mlir::Program program, mlir::ParseMlir(text));
  return mlir::WriteBytecode(program, *version);
}

// A program whose arguments decide sizes stays the text that it is, if it is one.
Result<std::string> Text(const Module& module) {
  if (!mlir::IsDynamicProgram(module)) {
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> forms, WithStablehloForms(module, ChloForms::kKept));
    return mlir::PrintStablehlo(*forms);
  }
  const mlir::DynamicProgram program = mlir::DynamicProgram::Of(module);
  if (!program.source().starts_with(mlir::kBytecodeMagic)) return std::string(program.source());
  return mlir::PrintStablehlo(module);
}

Status WriteProgram(const std::string& path, std::string_view text) {
  VXLA_RETURN_IF_ERROR(WriteText(path, text));
  PrintWritten(path);
  return OkStatus();
}

Status Convert(const ConvertFlags& flags) {
  VXLA_RETURN_IF_ERROR(CheckNotInput(flags.out, flags.in));
  const std::string extension =
      flags.out.find('.') == std::string::npos ? "" : flags.out.substr(flags.out.rfind('.') + 1);
  const std::string form = !flags.to.empty()       ? flags.to
                           : extension == "mlir"   ? "stablehlo"
                           : extension == "mlirbc" ? "bytecode"
                                                   : "hlo";
  VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(flags.in));
  const bool kernels = form == "hlsl" || form == "msl" || form == "spirv";
  if (const auto file = std::as_bytes(std::span(bytes.view())); IsBundle(file) && kernels) {
    Status status = ConvertKernels(file, flags.out, form);
    if (status.ok()) PrintNotes({fmt::format("{}: kernels written as {}", flags.out, form)});
    return status.ok() ? status : std::move(status).WithPrefix(flags.in + ": ");
  }
  if (kernels) return InvalidArgument("{}: no bundle: --to {} takes what vxla compile wrote", flags.in, form);
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseProgram(bytes.view(), flags.in));
  if (mlir::IsDynamicProgram(*module) && form == "hlo")
    return Unsupported("{}: its arguments decide sizes, which HLO text has no form for", flags.in);
  if (form == "hlo") return WriteProgram(flags.out, PrintHlo(*module));
  const Result<std::string> text = form == "bytecode" ? Bytecode(*module, flags.target) : Text(*module);
  if (!text.ok()) return AtPlace(text.status(), flags.in);
  return WriteProgram(flags.out, *text);
}

}  // namespace

CommandBody AddConvert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  app.add_option("IN", flags->in, "the program, or a bundle; - is standard input")->required()->type_name("");
  app.add_option("OUT", flags->out, "the file to write; - is standard output; of a bundle a folder")
      ->required()
      ->type_name("");
  app.add_option(
         "--to", flags->to,
         "the form of OUT; else its extension says it; hlsl, msl, spirv: the kernels of a bundle, into the folder OUT")
      ->check(OneOf({"hlo", "stablehlo", "bytecode", "hlsl", "msl", "spirv"}));
  app.add_option("--target-version", flags->target, "the version of VHLO that bytecode is written in")
      ->type_name("V")
      ->capture_default_str();
  return [flags](nlohmann::ordered_json&) { return Convert(*flags); };
}

}  // namespace VXLA_NAMESPACE
