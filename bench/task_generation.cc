// Instances per minute: Eva of n = 64 into memory, and as JSON lines. The peer fills the same arrays with the
// standard library's generator (std::mt19937_64 and uniform_int_distribution), one instance after another, on
// as many workers.
//   bench_task_generation [instances]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>

#include "bench/figure.h"
#include "rung/base/parallel.h"
#include "rung/tasks/instance_rows.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

constexpr std::int64_t kN = 64;
constexpr std::int64_t kGrain = 4096;  // instances a worker takes at a time
constexpr int kRounds = 3;             // the best of these counts: the machine may be shared

double seconds(const std::function<void()>& work) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// A grain of instances is kept in memory at a time; the sum of the answers keeps the compiler honest.
std::int64_t generate(const Task& task, std::int64_t count) {
  std::atomic<std::int64_t> sum = 0;
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Instance> instances;
    instances.reserve(static_cast<std::size_t>(end - begin));
    std::int64_t answers = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      instances.push_back(task.generate(Variant::uniform, 1, static_cast<std::uint64_t>(i)));
      answers += instances.back().answer.front();
    }
    sum += answers;
  });
  return sum;
}

std::int64_t generate_with_standard_library(std::int64_t count) {
  std::atomic<std::int64_t> sum = 0;
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Instance> instances;
    instances.reserve(static_cast<std::size_t>(end - begin));
    std::mt19937_64 random(static_cast<std::uint64_t>(begin));
    std::uniform_int_distribution<std::int64_t> below(0, kN - 1);
    std::int64_t answers = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      Instance instance{Prompt{kN + 1, {std::vector<std::int64_t>(kN + 1)}}, {}};
      auto& tokens = instance.prompt.fields[0];
      for (auto& token : tokens) token = below(random);
      instance.answer = {tokens[static_cast<std::size_t>(tokens[kN])]};
      answers += instance.answer.front();
      instances.push_back(std::move(instance));
    }
    sum += answers;
  });
  return sum;
}

int run(std::int64_t count) {
  auto task = make_task("eva", {{"n", kN}});
  if (!task) return 1;
  std::int64_t sums = 0;
  const double ours = seconds([&] { sums += generate(**task, count); });
  const double peer = seconds([&] { sums += generate_with_standard_library(count); });
  std::uint64_t bytes = 0;
  const std::int64_t rows = std::max<std::int64_t>(1, count / 4);
  const double written = seconds([&] {
    bytes = 0;
    const InstanceRows lines(**task, Variant::uniform, 1, RowForm::jsonl, false);
    const auto result =
        lines.write(0, static_cast<std::uint64_t>(rows), "\n", [&](std::string_view text) -> Result<void> {
          bytes += text.size();
          return {};
        });
    RUNG_REQUIRE(result.ok(), "a sink that never fails");
  });
  const auto per_minute = [](std::int64_t instances, double time) {
    return 60e-6 * static_cast<double>(instances) / time;
  };
  fmt::print("eva, n = {}, {} instances, {} workers, best of {} rounds (check {})\n", kN, count,
             worker_count(), kRounds, sums);
  fmt::print("  rung, into memory              {:8.1f} million instances/min\n", per_minute(count, ours));
  fmt::print("  standard library, into memory  {:8.1f} million instances/min; rung is {:.2f} times as fast\n",
             per_minute(count, peer), peer / ours);
  fmt::print(
      "  rung, as JSON lines            {:8.1f} million rows/min ({:.0f} thousand rows/s, {:.0f} MB/s)\n",
      per_minute(rows, written), 1e-3 * static_cast<double>(rows) / written,
      1e-6 * static_cast<double>(bytes) / written);
  add_figure({"task_generation", "eva into memory", per_minute(count, ours), "million/min",
              "standard library", per_minute(count, peer)});
  add_figure({"task_generation", "eva as JSON lines", per_minute(rows, written), "million/min"});
  return 0;
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 2'000'000;
  return rung::run(std::clamp<std::int64_t>(count, 1, 1'000'000'000));
}
