// The store with 1,000 and 10,000 members: appending an ensemble, asking for members, on both back ends; the
// peer is reading the same JSON lines and looking at every one, which is what a folder of log files would
// cost.
//
//   cmake -S . -B build -G Ninja -DRUNG_BENCH=ON && ninja -C build bench_store_query &&
//   build/bench/bench_store_query
#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "bench/figure.h"
#include "rung/base/random.h"
#include "rung/store/sqlite.h"
#include "rung/store/store.h"

namespace {

constexpr int kRepeats = 15;
constexpr int kCurvePoints = 100;

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Median, least and most of the repeats.
double report(const char* what, const std::function<void()>& work, int repeats = kRepeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(milliseconds(work));
  std::sort(times.begin(), times.end());
  fmt::print("| {:<52} | {:>9.2f} | {:>9.2f} | {:>9.2f} |\n", what, times[times.size() / 2], times.front(),
             times.back());
  return times[times.size() / 2];
}

std::vector<rung::Record> ensemble(int members, const std::string& run) {
  static const char* const kArchitectures[] = {"full*4", "delta(form=plain)*4", "(gdelta(form=plain)*3+full)",
                                               "mamba2(form=plain)*4"};
  rung::Random random(1);
  std::vector<rung::Record> records;
  for (int i = 0; i < members; ++i) {
    std::string curve;
    for (int point = 0; point < kCurvePoints; ++point)
      curve += fmt::format("{}[{},{:.6f}]", point ? "," : "", 100 * point, random.unit());
    records.push_back(
        {.kind = "member",
         .parent = run,
         .state = i % 50 == 0 ? rung::RecordState::failed : rung::RecordState::done,
         .seed = i,
         .device = "cpu",
         .body = fmt::format(R"({{"task":"{}","arch":"{}","accuracy":{:.4f},"curve":[{}]}})",
                             i % 2 ? "eva" : "mqar", kArchitectures[i % 4], random.unit(), curve)});
  }
  return records;
}

void expect(bool held, const char* what) {
  if (held) return;
  fmt::print(stderr, "store_query: {}\n", what);
  std::exit(1);
}

void measure(const std::string& folder, const std::string& kind, int members) {
  const std::string path = fmt::format("{}/runs-{}.{}", folder, members, kind);
  fmt::print("\n{} members, {}:\n\n| what, in ms | median | least | most |\n| --- | --- | --- | --- |\n",
             members, kind);
  const auto records = ensemble(members, "the-run");
  report(
      "append all members at once",
      [&] { expect((*rung::Store::open(path))->append(records).ok(), "append"); }, 1);
  report("append one record",
         [&] { expect((*rung::Store::open(path))->append(rung::Record{.kind = "note"}).ok(), "append"); });
  const auto count = [&](rung::Store& store, const rung::Filter& filter) {
    return store.query(filter).value().size();
  };
  report("open, then query all members", [&] {
    const auto store = rung::Store::open(path, rung::Store::Access::read);
    expect(count(**store, {.kind = "member"}) == static_cast<std::size_t>(members), "members");
  });
  const auto store = rung::Store::open(path, rung::Store::Access::read);
  const double all =
      report("query all members", [&] { expect(count(**store, {.kind = "member"}) > 0, "members"); });
  rung::add_figure({"store_query", fmt::format("all of {} members, {}", members, kind), all, "ms"});
  report("query the members of a run by accuracy, best 10", [&] {
    expect(count(**store, {.parent = "the-run", .sort = "accuracy", .limit = 10}) == 10, "best");
  });
  const double few = report("query by task, architecture and state", [&] {
    expect(
        count(**store, {.task = "eva", .arch = "delta(form=plain)*4", .state = rung::RecordState::done}) > 0,
        "task");
  });
  if (kind != "jsonl") return;
  const double peer = report("peer: read every line, parse none, look for a word", [&] {
    std::ifstream file(path);
    std::size_t found = 0;
    for (std::string line; std::getline(file, line);)
      found += line.find("\"arch\":\"delta*4\"") != std::string::npos;
    expect(found > 0, "peer");
  });
  rung::add_figure({"store_query", fmt::format("some of {} members, {}", members, kind), few, "ms",
                    "read every line for a word", peer});
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "rung-bench.XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 1;
  for (const int members : {1000, 10000}) {
    if (!rung::sqlite_version().empty()) measure(folder, "sqlite", members);
    measure(folder, "jsonl", members);
  }
  std::filesystem::remove_all(folder);
}
