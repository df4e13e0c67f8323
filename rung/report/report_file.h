// The report as a file: gathered, put into its page, and there whole or not at all.
#pragma once

#include <string>

#include "rung/report/document.h"

namespace rung::report {

inline constexpr const char* kReportFile = "rung-runs/report.html";  // where it goes unless told otherwise

// Makes the folder of `path` where it is missing, and replaces a file that is there. Errors: those of
// gather() and page_with(), and the file system's.
Result<void> write_report(const Sources& sources, const std::string& path);

}  // namespace rung::report
