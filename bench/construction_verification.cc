// How fast constructions are built and verified, beside the plain way: one forward pass an instance.
//   million    retrieval at n = 1,048,576 by one full layer: built, then 1,000 queries against each of 3 functions
//   seqcomp    L = 3 at T ≈ 2,100: built and verified on adversarial and random instances
//   smallest   seqcomp L = 2, m = n_1 = 2: all 4,096 inputs
//   peer       the same queries on one prefix, one after the other by forward(): what sharing the prefix saves
// Wall and processor seconds: only the second means something on a machine with other work.
//   build: cmake --preset release -DRUNG_BENCH=ON && cmake --build --preset release --target bench_construction_verification
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>

#include "bench/figure.h"
#include "rung/constructions/verification.h"

namespace rung {
namespace {

struct Clock {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  double processor_begin = processor();
  static double processor() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  double spent() const { return processor() - processor_begin; }
  std::string text() const {
    return fmt::format("{:.2f} s ({:.2f} s of processor)",
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                       spent());
  }
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Construction built(const ConstructionRequest& request) {
  auto made = build_construction(request);
  RUNG_REQUIRE(bool(made), "{}", made ? "" : made.error().message);
  return std::move(*made);
}

void verified(const char* name, const ConstructionRequest& request) {
  const Clock clock;
  const Construction made = built(request);
  const auto found = verify(made, {});
  RUNG_REQUIRE(bool(found), "{}", found ? "" : found.error().message);
  fmt::print(
      "{:<9} T={}: built and verified ({}) on {} instances, {} errors, in {}, {:.0f} instances a second\n",
      name, made.task->prompt_length(), mode_name(found->mode), found->instances, found->errors, clock.text(),
      found->instances_per_second());
  add_figure({"construction_verification", name, found->instances_per_second(), "instances/s"});
}

// `functions` prefixes with `queries` last positions each; one forward() a query when not shared. Returns queries
// in a processor second.
double lookups(const char* name, const ConstructionRequest& request, int functions, int queries,
               bool shared) {
  const Clock clock;
  const Construction made = built(request);
  const Task& task = *made.task;
  const auto machine = Machine::load(made.weights, {.positions = task.prompt_length()});
  RUNG_REQUIRE(bool(machine), "{}", machine ? "" : machine.error().message);
  const std::int64_t last = task.prompt_length() - 1;
  int wrong = 0;
  for (int f = 0; f < functions; ++f) {
    Prompt prompt = task.generate(Variant::uniform, 1, static_cast<std::uint64_t>(f)).prompt;
    task.retract(prompt);
    Random random(7, static_cast<std::uint64_t>(f));
    std::vector<std::vector<std::int64_t>> rows, expected;
    for (int i = 0; i < queries; ++i) {
      task.extend(prompt,
                  static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(task.choices(prompt)))));
      rows.push_back(prompt_row(prompt, made.weights.fields, last));
      expected.push_back(task.answer(prompt));
      if (!shared) wrong += (*(*machine)->forward(prompt, std::span(&last, 1)))[0].answer != expected.back();
      task.retract(prompt);
    }
    if (!shared) continue;
    const auto readouts = (*machine)->forward_variants(prompt, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) wrong += (*readouts)[i].answer != expected[i];
  }
  fmt::print("{:<9} T={}: {} functions, {} queries each, {} wrong, in {}, peak memory so far {:.0f} MB\n",
             name, task.prompt_length(), functions, queries, wrong, clock.text(), peak_megabytes());
  return functions * queries / clock.spent();
}

}  // namespace
}  // namespace rung

// bench_construction_verification [NAME]: all of them, or one.
int main(int argc, char** argv) {
  using namespace rung;
  const auto asked = [&](std::string_view name) { return argc < 2 || name == argv[1]; };
  if (asked("million")) lookups("million", {.name = "retrieval", .sizes = {{"n", 1'048'576}}}, 3, 1000, true);
  if (asked("smallest")) verified("smallest", {.name = "seqcomp", .sizes = {{"L", 2}, {"m", 2}, {"n1", 2}}});
  if (asked("seqcomp"))
    verified("seqcomp", {.name = "seqcomp", .sizes = {{"L", 3}, {"m", 100}, {"n1", 4}, {"n2", 4}}});
  if (asked("peer")) {
    const double shared = lookups("shared", {.name = "retrieval", .sizes = {{"n", 16'384}}}, 1, 200, true);
    const double peer = lookups("peer", {.name = "retrieval", .sizes = {{"n", 16'384}}}, 1, 200, false);
    add_figure({"construction_verification", "a shared beginning", shared, "instances a processor second",
                "one forward pass each", peer});
  }
}
