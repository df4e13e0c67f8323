// rung report: everything that was done, on one page that opens from disk.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "rung/report/document.h"
#include "rung/report/page.h"
#include "rung/spec/staged_file.h"
#include "rung/store/store.h"

namespace rung::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string hierarchy = "rung-runs/hierarchy", out = "rung-runs/report.html";
  std::optional<std::string> store, results;
  bool json = false;
};

Result<int> run_report(const Flags& flags) {
  std::error_code code;
  report::Sources sources{.hierarchy = flags.hierarchy,
                          .labs = report::kLabs,
                          .shipped = report::shipped_results(),
                          .store = store_path(flags.store)};
  if (flags.results) {
    if (!fs::is_directory(*flags.results, code))
      return fail(ErrorCode::io, "[report] --results {}: no such folder", *flags.results);
    sources.shipped = {*flags.results};
  }
  if (flags.store && !fs::exists(*flags.store, code)) return fail(ErrorCode::io, "[report] --store {}: no such file", *flags.store);
  RUNG_TRY(const nlohmann::ordered_json document, report::gather(sources));
  if (flags.json) {
    print_json(document);
    return 0;
  }
  // Text of records may hold bytes that are no UTF-8; the page shows a mark in their place.
  RUNG_TRY(const std::string page, report::page_with(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), {}));
  const fs::path folder = fs::path(flags.out).parent_path();
  if (!folder.empty() && !fs::create_directories(folder, code) && code)
    return fail(ErrorCode::io, "[report] folder {}: {}", folder.string(), code.message());
  RUNG_TRY(StagedFile file, StagedFile::open(flags.out, true));
  RUNG_CHECK(file.write(page));
  RUNG_CHECK(file.commit());
  fmt::print("{}\n", flags.out);
  return 0;
}

}  // namespace

Command report_command() {
  auto flags = std::make_shared<Flags>();
  Command command{.name = "report", .summary = "one page with the hierarchy, its evidence, plots and protocols"};
  command.description =
      "Writes one HTML file that opens from disk and loads nothing: why one full layer and a hundred linear ones cannot do what three full "
      "layers do, the hierarchy's table with the evidence behind every cell, plots of all records with their data, the protocol step by "
      "step, and the horizons of released models. What is not there is left out, and the page names the command that makes it. Shipped "
      "records stand beside those of rung-runs/lab and of the store.";
  command.examples = {"rung report", "rung report --hierarchy rung-runs/hierarchy --out report.html"};
  command.options = {
      {.names = "--hierarchy", .help = "folder of rung hierarchy (default: rung-runs/hierarchy)", .target = &flags->hierarchy},
      {.names = "--store", .help = "store of runs (default: $RUNG_STORE, or rung-runs/runs.sqlite)", .target = &flags->store},
      {.names = "--results", .help = "folder of shipped records (default: those of this program)", .target = &flags->results},
      {.names = "--out", .help = "the page (default: rung-runs/report.html)", .target = &flags->out},
      {.names = "--json", .help = "the page's data instead: one JSON document, schema rung.report/1", .target = &flags->json}};
  command.run = [flags]() -> Result<int> { return run_report(*flags); };
  return command;
}

}  // namespace rung::cli
