// What differs between systems about terminals and interrupts.
#pragma once

namespace vxla {

bool StderrIsTerminal();
// Ctrl-C ends the process with exit code 130, which scripts know.
void ExitOnInterrupt();
// A closed pipe or a file size limit is an error of the write, not the end of the process.
void ReportFailedWrites();

}  // namespace vxla
