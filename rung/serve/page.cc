#include "rung/serve/page.h"

#include <nlohmann/json.hpp>

#include "rung/report/document.h"
#include "rung/report/page.h"

namespace rung::serve {

Result<std::string> live_document(const PageSources& sources) {
  report::Sources from{.hierarchy = sources.hierarchy, .labs = report::kLabs, .shipped = report::shipped_results(), .store = sources.store, .live = true};
  if (!sources.results.empty()) from.shipped = {sources.results};
  RUNG_TRY(const nlohmann::ordered_json document, report::gather(from));
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<std::string> live_page(const PageSources& sources) {
  RUNG_TRY(const std::string document, live_document(sources));
  return report::page_with(document, {.live = true});
}

}  // namespace rung::serve
