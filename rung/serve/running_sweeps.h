// Sweeps that are running, as the store tells it: runs with their members' state, step, accuracy and curve.
// Documents are made again only when the store's files have changed. Thread-safe.
#pragma once

#include <mutex>
#include <string>

#include "rung/base/result.h"

namespace rung::serve {

class RunningSweeps {
 public:
  explicit RunningSweeps(std::string store_path) : path_(std::move(store_path)) {}

  // rung.live/1 (docs/serve.md): all runs that are running and the latest others. With `seen` equal to the
  // document's version: {"schema", "version", "unchanged": true}. A store that is not there has no runs.
  Result<std::string> document(const std::string& seen);

 private:
  std::string path_;
  std::mutex guard_;
  std::string version_, text_;
};

}  // namespace rung::serve
