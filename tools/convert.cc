// vxla convert: reads a program and writes it again.
#include "api/program.h"
#include "core/mlir/dynamic_program.h"
#include "core/mlir/printer.h"
#include "core/text/hlo_printer.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

struct ConvertFlags {
  std::string in, out, to;
};

Status Convert(const ConvertFlags& flags) {
  const std::string extension =
      flags.out.find('.') == std::string::npos ? "" : flags.out.substr(flags.out.rfind('.') + 1);
  const std::string form = !flags.to.empty()                              ? flags.to
                           : extension == "mlir" || extension == "mlirbc" ? "stablehlo"
                                                                          : "hlo";
  if (extension == "mlirbc" && flags.to.empty())
    return Unsupported("{}: writing bytecode is not supported; hlo and StableHLO text are", flags.out);
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadProgram(flags.in));
  if (mlir::IsDynamicProgram(*module))
    return Unsupported("{}: its arguments decide sizes; only programs whose sizes are known are converted", flags.in);
  if (form == "hlo") return WriteText(flags.out, PrintHlo(*module));
  const Result<std::string> text = mlir::PrintStablehlo(*module);
  if (!text.ok()) return AtPlace(text.status(), flags.in);
  return WriteText(flags.out, *text);
}

}  // namespace

CommandBody AddConvert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  app.add_option("IN", flags->in, "the program; - is standard input")->required()->type_name("");
  app.add_option("OUT", flags->out, "the file to write; - is standard output")->required()->type_name("");
  app.add_option("--to", flags->to, "the form of OUT; else its extension says it")
      ->check(CLI::IsMember({"hlo", "stablehlo"}));
  return [flags](nlohmann::ordered_json&) { return Convert(*flags); };
}

}  // namespace VXLA_NAMESPACE
