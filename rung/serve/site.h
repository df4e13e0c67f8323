// The routes of the live page: one function a route, no file among them, so that no path can lead out of the
// report.
//
//   /                 the page                        /api/bound    what an architecture can do, as `rung bound --json`
//   /api/report.json  the page's document             /api/runs     sweeps that are running, from the store
//   /api/health       alive                           /favicon.ico  a ladder
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rung/base/result.h"
#include "rung/serve/answer.h"
#include "rung/serve/bound_explorer.h"

namespace rung::serve {

// Where the pages come from. Each may be called by several threads at once.
struct Pages {
  std::function<Result<std::string>()> page;      // HTML
  std::function<Result<std::string>()> document;  // rung.report/2
  // rung.live/1; `seen` is the version that the asker has already, whose answer is short.
  std::function<Result<std::string>(const std::string& seen)> runs;
};

class Site final : public Responder {
 public:
  explicit Site(Pages pages) : pages_(std::move(pages)) {}

  std::optional<Answer> at_hand(const Request& request) override;
  Answer work_out(const Request& request) override;

 private:
  Pages pages_;
  BoundExplorer explorer_;
};

}  // namespace rung::serve
