// The page and its document, from the report; a page that says what is missing where rung was built without
// it.
#pragma once

#include <string>

#include "rung/base/result.h"

namespace rung::serve {

struct PageSources {
  std::string hierarchy, store, results;  // paths
};

Result<std::string> live_page(const PageSources& sources);      // HTML
Result<std::string> live_document(const PageSources& sources);  // rung.report/2 with live = true

}  // namespace rung::serve
