#include "rung/report/report_file.h"

#include <nlohmann/json.hpp>

#include "rung/base/staged_file.h"
#include "rung/report/page.h"

namespace rung::report {

Result<void> write_report(const Sources& sources, const std::string& path, bool replace) {
  RUNG_TRY(const nlohmann::ordered_json document, gather(sources));
  // Text of records may hold bytes that are no UTF-8; the page shows a mark in their place.
  RUNG_TRY(const std::string page,
           page_with(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                     {.live = sources.live}));
  RUNG_TRY(StagedFile file, StagedFile::open(path, replace));
  RUNG_CHECK(file.write(page));
  return file.commit();
}

}  // namespace rung::report
