#include "rung/serve/page.h"

#include <fmt/format.h>

#include "rung/report/document.h"
#include "rung/report/page.h"

namespace rung::serve {

Result<std::string> live_document(const PageSources& sources) {
  report::Sources from{.hierarchy = sources.hierarchy,
                       .labs = report::kLabs,
                       .shipped = report::shipped_results(),
                       .store = sources.store,
                       .live = true};
  if (!sources.results.empty()) from.shipped = {sources.results};
  RUNG_TRY(const report::Document document, report::gather(from));
  return report::document_text(document) + "\n";
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
