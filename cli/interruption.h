// Ctrl-C for commands that take long: the first one asks the work to end where it can be resumed.
#pragma once

namespace rung::cli {

// From now on SIGINT and SIGTERM only set the flag.
void listen_for_interruption();
bool interrupted();

}  // namespace rung::cli
