// What differs between systems about terminals, interrupts and pipes.
#pragma once

namespace VXLA_NAMESPACE {

bool StdoutIsTerminal();
bool StderrIsTerminal();
// Columns of the terminal that stderr is; 80 where it does not say.
int TerminalColumns();

// Ctrl-C ends the process with exit code 130, which scripts know, and erases the line of progress that is shown.
void ExitOnInterrupt();
void EraseLineOnInterrupt(bool erase);
// A reader that closes its pipe (`vxla run f.hlo | head -1`) ends the process without a word, as it ends other
// commands: by SIGPIPE, which a shell reports as 141. Whoever started the process may have switched that off.
void EndOnClosedPipe();
// A file size limit is an error of the write, not the end of the process.
void ReportFailedWrites();

}  // namespace VXLA_NAMESPACE
