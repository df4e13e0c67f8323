// The report as a file: gathered, put into its page, and there whole or not at all.
#pragma once

#include <string>

#include "rung/report/document.h"

namespace rung::report {

inline constexpr const char* kReportFile = "rung-runs/report.html";  // where it goes unless told otherwise

// Errors: those of gather() and page_with(), and of rung/base/staged_file.h.
Result<void> write_report(const Sources& sources, const std::string& path, bool replace);

}  // namespace rung::report
