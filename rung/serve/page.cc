#include "rung/serve/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rung/report/document.h"
#include "rung/report/page.h"
#include "rung/tasks/task.h"
#include "rung/theory/theorem.h"

namespace rung::serve {

Result<std::string> live_document(const PageSources& sources) {
  report::Sources from{.hierarchy = sources.hierarchy,
                       .labs = report::kLabs,
                       .shipped = report::shipped_results(),
                       .store = sources.store,
                       .live = true};
  if (!sources.results.empty()) from.shipped = {sources.results};
  RUNG_TRY(nlohmann::ordered_json document, report::gather(from));
  // The explorer may meet any theorem and any task.
  for (const Theorem& theorem : theorems())
    if (nlohmann::ordered_json& known = document["theorems"][std::string(theorem.id)]; known.is_null())
      known = {{"title", theorem.title},
               {"statement", theorem.statement},
               {"source", source_name(theorem.source)},
               {"reference", theorem.reference},
               {"status", status_name(theorem.status)}};
  for (const TaskWord& word : task_words()) document["tasks"][std::string(word.name)] = word.summary;
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<std::string> live_page(const PageSources& sources) {
  // The routes below /api work without a page.
  if (!report::kPageShell.missing.empty())
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\"><meta "
        "charset=\"utf-8\"><title>rung</title>\n<h1>rung</h1>\n<p>This rung was built without its page; "
        "missing Debian packages: {}.</p></html>\n",
        report::kPageShell.missing);
  RUNG_TRY(const std::string document, live_document(sources));
  return report::page_with(document, {.live = true});
}

}  // namespace rung::serve
