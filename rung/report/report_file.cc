#include "rung/report/report_file.h"

#include "rung/base/staged_file.h"
#include "rung/report/page.h"

namespace rung::report {

Result<void> write_report(const Sources& sources, const std::string& path, bool replace) {
  RUNG_TRY(const Document document, gather(sources));
  RUNG_TRY(const std::string page, page_with(document_text(document), {.live = sources.live}));
  RUNG_TRY(StagedFile file, StagedFile::open(path, replace));
  RUNG_CHECK(file.write(page));
  return file.commit();
}

}  // namespace rung::report
