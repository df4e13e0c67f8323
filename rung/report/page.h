// The page: one HTML text with its style, its script and its data inside; nothing is loaded from anywhere.
//
//   RUNG_TRY(const auto document, gather(sources));   // document.h
//   RUNG_TRY(const std::string html, page_with(document_text(document), {}));
//
// `rung serve` gives the same page with live = true: the script then shows the explorer and may ask its own
// host.
#pragma once

#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung::report {

// What web/ was bundled into. Without esbuild or a library `missing` names the Debian packages, and the rest
// is empty.
struct PageShell {
  std::string_view html = {};    // with the marks that page.cc replaces
  std::string_view script = {};  // of the page's one script element
  std::string_view missing = {};
};
extern const PageShell kPageShell;

struct PageOptions {
  bool live = false;  // served by `rung serve`: the page may fetch from its own host
};

// `document`: JSON text, schema rung.report/2. ENSURES: no byte of it ends the script element or opens
// another; a Content-Security-Policy that lets only the page's own script run. Errors: a program that was
// built without the page.
Result<std::string> page_with(std::string_view document, const PageOptions& options);

// The script-src source of a text: 'sha256-…' in base64.
std::string script_hash(std::string_view script);
// JSON with `<` written as \u003c, so that no text in it can be read as markup.
std::string as_script_data(std::string_view json);

}  // namespace rung::report
