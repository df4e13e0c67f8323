// Another program, run to its end: rung-check, whose exit code is a verdict, and rung-learn, which trains.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rung/base/result.h"

namespace rung {

struct ChildRun {
  int exit = -1;  // its exit code; 128 + the signal that ended it
  double seconds = 0;
  bool interrupted = false;  // it was asked to end (SIGINT), by `stop` or by the limit
};

struct ChildOptions {
  std::string output;    // the file that receives its standard output
  std::string errors;    // likewise; empty: nowhere
  double seconds = 600;  // then SIGINT, and SIGKILL a while later
  std::function<bool()> stop = {};
  std::vector<std::string> environment = {};  // added: "RUNG_THREADS=1"
};

// Errors: a program that cannot be started, an output file that cannot be made.
Result<ChildRun> run_child(const std::vector<std::string>& words, const ChildOptions& options);

}  // namespace rung
