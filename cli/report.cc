// rung report: everything that was done, on one page that opens from disk.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "rung/base/nearest_word.h"
#include "rung/report/report_file.h"
#include "rung/store/store.h"

namespace rung::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::optional<std::string> out;
  std::optional<std::string> hierarchy, store, results;
  bool force = false, json = false;
};

Result<int> run_report(const ReportFlags& flags) {
  std::error_code code;
  report::Sources sources{.hierarchy = flags.hierarchy.value_or("rung-runs/hierarchy"),
                          .labs = report::kLabs,
                          .shipped = report::shipped_results(),
                          .store = store_path(flags.store)};
  // What is named must be there; what is usual may be absent.
  if (flags.hierarchy && !fs::is_directory(*flags.hierarchy, code))
    return fail(ErrorCode::io, "[report] --hierarchy {}: no such folder", rung::quoted(*flags.hierarchy));
  if (flags.results && !fs::is_directory(*flags.results, code))
    return fail(ErrorCode::io, "[report] --results {}: no such folder", rung::quoted(*flags.results));
  if (flags.store && !fs::exists(*flags.store, code))
    return fail(ErrorCode::io, "[report] --store {}: no such file", rung::quoted(*flags.store));
  if (flags.results) sources.shipped = {*flags.results};
  if (flags.json) {
    RUNG_TRY(const report::Document document, report::gather(sources));
    print_json(nlohmann::ordered_json::parse(report::document_text(document)));
    return 0;
  }
  // The usual place is the program's own: a new page takes that of the old one.
  const std::string out = flags.out.value_or(report::kReportFile);
  RUNG_CHECK(report::write_report(sources, out, flags.force || !flags.out));
  fmt::print("{}\n", out);
  return 0;
}

}  // namespace

Command report_command() {
  auto flags = std::make_shared<ReportFlags>();
  Command command{.name = "report",
                  .summary = "one page with the hierarchy, its evidence, plots and protocols"};
  command.description =
      "Writes one HTML file that opens from disk and loads nothing: why one full layer and a hundred linear "
      "ones cannot do what three full layers do, the hierarchy's table with the evidence behind every cell, "
      "plots of all records with their data, the protocol step by step, and the horizons of released models. "
      "What is not there is left out, and the page names the command that makes it. Shipped records stand "
      "beside those of rung-runs/lab and of the store.";
  command.examples = {"rung report", "rung report --hierarchy rung-runs/hierarchy --out report.html"};
  command.options = {
      {"--hierarchy", "folder of rung hierarchy (default: rung-runs/hierarchy)", &flags->hierarchy},
      {"--store",
       "store of runs (default: $RUNG_STORE, or rung-runs/runs.sqlite)",
       &flags->store,
       {.file = FileUse::read}},
      {"--results", "folder of shipped records (default: those of this program)", &flags->results},
      {"--out",
       "the page (default: rung-runs/report.html, replaced)",
       &flags->out,
       {.excludes = {"--json"}, .file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--out"}}},
      {"--json", "the page's data instead: one JSON document, schema rung.report/2", &flags->json}};
  command.run = [flags]() -> Result<int> { return run_report(*flags); };
  return command;
}

}  // namespace rung::cli
