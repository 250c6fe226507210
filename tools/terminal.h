// What differs between systems about terminals and interrupts.
#pragma once

namespace vxla {

bool StderrIsTerminal();
// Ctrl-C ends the process with exit code 130, which scripts know.
void ExitOnInterrupt();
// A reader that closed its end of a pipe is an error of the write, not the end of the process.
void IgnoreBrokenPipes();

}  // namespace vxla
