#include "cli/interruption.h"

#include <csignal>

namespace rung::cli {
namespace {

volatile std::sig_atomic_t flag = 0;

}  // namespace

void listen_for_interruption() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { flag = 1; });
}

bool interrupted() { return flag != 0; }

}  // namespace rung::cli
