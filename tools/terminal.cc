#include "tools/terminal.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#ifdef _WIN32
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE {
namespace {

constexpr int kUsualColumns = 80;
constexpr int kInterrupted = 130;

std::atomic<bool> erase_line = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

}  // namespace

#ifdef _WIN32

bool StdoutIsTerminal() { return _isatty(_fileno(stdout)) != 0; }
bool StderrIsTerminal() { return _isatty(_fileno(stderr)) != 0; }
int TerminalColumns() { return kUsualColumns; }
void ExitOnInterrupt() {
  std::signal(SIGINT, [](int) { std::_Exit(kInterrupted); });
}
void EndOnClosedPipe() {}
void ReportFailedWrites() {}

#else

bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) != 0; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) != 0; }

int TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

void ExitOnInterrupt() {
  std::signal(SIGINT, [](int) {
    constexpr char kErase[] = "\r\x1b[K";
    if (erase_line && write(STDERR_FILENO, kErase, sizeof(kErase) - 1) < 0) std::_Exit(kInterrupted);
    std::_Exit(kInterrupted);
  });
}

void EndOnClosedPipe() { std::signal(SIGPIPE, SIG_DFL); }
void ReportFailedWrites() { std::signal(SIGXFSZ, SIG_IGN); }

#endif

void EraseLineOnInterrupt(bool erase) { erase_line = erase; }

}  // namespace VXLA_NAMESPACE
