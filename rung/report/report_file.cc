#include "rung/report/report_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/report/page.h"
#include "rung/spec/staged_file.h"

namespace rung::report {

Result<void> write_report(const Sources& sources, const std::string& path) {
  namespace fs = std::filesystem;
  RUNG_TRY(const nlohmann::ordered_json document, gather(sources));
  // Text of records may hold bytes that are no UTF-8; the page shows a mark in their place.
  RUNG_TRY(const std::string page,
           page_with(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                     {.live = sources.live}));
  std::error_code code;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::create_directories(folder, code) && code)
    return fail(ErrorCode::io, "[report] folder {}: {}", folder.string(), code.message());
  RUNG_TRY(StagedFile file, StagedFile::open(path, true));
  RUNG_CHECK(file.write(page));
  return file.commit();
}

}  // namespace rung::report
