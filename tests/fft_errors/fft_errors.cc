// Prints the errors of fft beside FFTW's for each kind of transform and length: the measurement of docs/benchmarks.
#include "tests/support/fft_errors.h"

#include <CLI/CLI.hpp>
#include <regex>

namespace VXLA_NAMESPACE::testing::fft_errors {
namespace {

struct Sweep {
  std::vector<std::string> lengths;
  std::vector<std::string> types = {"c64", "c128"};
  int values = 65536, lines = 0, rows = 1;
};

void PrintErrors(const Work& work, int values) {
  const Comparison c = Compare(work, std::max(2, values / (work.lines * work.rows * work.n)));
  const double unit = work.wide ? 0x1p-53 : 0x1p-24;
  fmt::print("{} {} {} rms {:.3f} max {:.3f} own {:.3f} fftw {:.3f}\n", work.wide ? "c128" : "c64", NameOf(work.kind),
             work.n, c.rms_ratio(), c.largest_ratio(), c.own.relative() / unit, c.fftws.relative() / unit);
}

void PrintErrorsOf(const Sweep& sweep, int n) {
  for (const std::string& type : sweep.types) {
    for (const Kind kind : kKinds) {
      // A half spectrum of several rows would have to be symmetric in its first column.
      if (sweep.rows > 1 && kind == Kind::kIrfft) continue;
      const int lines = sweep.lines > 0 ? sweep.lines : std::max(1, 4096 / (sweep.rows * n));
      PrintErrors({kind, lines, n, type == "c128", sweep.rows}, sweep.values);
    }
  }
}

// An error's text, or none.
std::string IsRange(const std::string& text) {
  static const std::regex kRange("[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})?");
  return std::regex_match(text, kRange) ? "" : text + " is neither a length nor a range";
}

int Main(int argc, char** argv) {
  Sweep sweep;
  CLI::App app("The errors of fft beside FFTW's, both against FFTW in long double");
  app.add_option("LENGTHS", sweep.lengths, "lengths and ranges of them: 2-260 1000")->required()->check(IsRange);
  app.add_option("--types", sweep.types, "c64, c128 or both")->delimiter(',')->check(CLI::IsMember({"c64", "c128"}));
  app.add_option("--values", sweep.values, "values of each kind and length, about")->check(CLI::PositiveNumber);
  app.add_option("--lines", sweep.lines, "transforms at once; 0: of 4,096 values")->check(CLI::NonNegativeNumber);
  app.add_option("--rows", sweep.rows, "of the first axis; 1: one axis")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  for (const std::string& part : sweep.lengths) {
    const size_t dash = part.find('-');
    const int first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int n = first; n <= last; ++n) PrintErrorsOf(sweep, n);
  }
  return 0;
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::fft_errors

int main(int argc, char** argv) { return vxla::testing::fft_errors::Main(argc, argv); }
