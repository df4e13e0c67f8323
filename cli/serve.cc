// rung serve: the report, live on this machine, with a bound explorer.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.h"
#include "cli/interruption.h"
#include "rung/serve/listener.h"
#include "rung/serve/page.h"
#include "rung/serve/running_sweeps.h"
#include "rung/serve/site.h"
#include "rung/store/store.h"

namespace rung::cli {
namespace {

struct ServeFlags {
  std::int64_t port = 8017;
  std::string host = "127.0.0.1";
  std::optional<std::string> hierarchy, store, results;
  bool verbose = false, json = false;
};

Result<int> run_serve(const ServeFlags& flags) {
  using namespace std::chrono_literals;
  const serve::PageSources sources{.hierarchy = flags.hierarchy.value_or("rung-runs/hierarchy"),
                                   .store = store_path(flags.store),
                                   .results = flags.results.value_or("")};
  // A store may come later; a file that is none never is one.
  std::error_code problem;
  if (std::filesystem::exists(sources.store, problem)) {
    RUNG_TRY(const auto readable, Store::open(sources.store, Store::Access::read));
  }
  serve::RunningSweeps sweeps(sources.store);
  serve::Site site({.page = [&] { return serve::live_page(sources); },
                    .document = [&] { return serve::live_document(sources); },
                    .runs = [&](const std::string& seen) { return sweeps.document(seen); }});
  listen_for_interruption();
  RUNG_TRY(const auto listener,
           serve::Listener::open({.host = flags.host, .port = flags.port, .verbose = flags.verbose}, site));
  if (!listener->loopback())
    fmt::print(stderr,
               "rung: [serve] {} can be reached by other machines, and nothing asks them for a password\n",
               flags.host);
  if (flags.json)
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"schema", "rung.serve/1"}, {"url", listener->url()}, {"port", listener->port()}}
                   .dump());
  else
    fmt::print("{}\n", listener->url());
  std::fflush(stdout);
  while (!interrupted()) std::this_thread::sleep_for(20ms);
  if (!listener->stop() && flags.verbose)
    fmt::print(stderr, "rung: [serve] requests under way were cut off\n");
  return 0;
}

}  // namespace

Command serve_command() {
  auto flags = std::make_shared<ServeFlags>();
  Command command{.name = "serve", .summary = "the report live in a browser, with a bound explorer"};
  command.description =
      "Serves the page of `rung report` on this machine: the same tables and figures, the sweeps that are "
      "running, and a bound explorer that asks the library behind `rung bound`. Prints the address when it "
      "listens; Ctrl-C ends it. It answers this machine alone unless --host names another address, and then "
      "anybody who reaches it: there is no password. Nothing is written.";
  command.examples = {"rung serve", "rung serve --port 0 --store rung-runs/runs.sqlite"};
  command.options = {
      {"--port", "port (default: 8017; 0: any that is free)", &flags->port},
      {"--host", "address to listen at, in digits (default: 127.0.0.1, this machine alone)", &flags->host},
      {"--hierarchy", "folder of rung hierarchy (default: rung-runs/hierarchy)", &flags->hierarchy},
      {"--store", "store of runs (default: $RUNG_STORE, or rung-runs/runs.sqlite)", &flags->store},
      {"--results", "folder of results of rung lab (default: those that are installed)", &flags->results},
      {"--verbose", "a line a request on standard error", &flags->verbose},
      {"--json", "the address as one JSON document, schema rung.serve/1", &flags->json}};
  command.run = [flags]() -> Result<int> { return run_serve(*flags); };
  return command;
}

}  // namespace rung::cli
