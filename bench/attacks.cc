// What attacks cost, each beside a straightforward baseline in the same run, on models read from a file.
//   bench_attacks [points | break | wide | stack | lists | lattice | reachable]...     (all, when none is named)
// points, wide, stack, reachable: also on a CUDA device, where there is one (wide: only there).
// Baselines: the exact machine token by token on as many workers (points, reachable: a std::unordered_set of
// its states), and for searches the evaluations that a plain birthday would need, at the rate that was just
// measured.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>

#include "bench/figure.h"
#include "rung/adversary/attack.h"
#include "rung/adversary/device_program.h"
#include "rung/adversary/scaling.h"
#include "rung/adversary/state_kernel.h"
#include "rung/base/parallel.h"
#include "rung/base/random.h"

namespace rung {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Through a file, as a user's model comes.
Target from_file(const std::string& mixer, std::int64_t layers, std::int64_t bits, std::int64_t n) {
  auto made = retentive_target(mixer, layers, bits, n, 1);
  RUNG_REQUIRE(made.ok(), "{}", made.error().message);
  const std::string path = fmt::format("/tmp/rung-bench-{}.safetensors", getpid());
  const auto written = write_weights(path, made->weights);
  RUNG_REQUIRE(written.ok(), "{}", written.error().message);
  auto target = open_target(path, made->task);
  std::remove(path.c_str());
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  return std::move(*target);
}

double evaluation_rate(const StateKernel& kernel, std::int64_t tokens, std::int64_t count) {
  const Walk walk{.salt = 1, .depth = kernel.layers(), .first = 0, .length = tokens};
  const double time = seconds([&] {
    parallel_for(count, std::max<std::int64_t>(1, count / (4 * worker_count())),
                 [&](std::int64_t begin, std::int64_t end) {
                   constexpr std::int64_t kBatch = 256;
                   std::vector<std::uint64_t> x(kBatch), next(kBatch);
                   for (std::int64_t i = begin; i < end; i += kBatch) {
                     for (std::int64_t j = 0; j < kBatch; ++j)
                       x[static_cast<std::size_t>(j)] = static_cast<std::uint64_t>(i + j);
                     kernel.keys(walk, x.data(), std::min(kBatch, end - i), next.data());
                   }
                 });
  });
  return static_cast<double>(count) / time;
}

// Walks to distinguished points on the device, ends looked at as in a search.
double device_rate(const StateKernel& kernel, std::int64_t tokens, double at_least) {
  const std::int64_t depth = kernel.layers();
  const Walk walk{.salt = 1, .depth = depth, .length = tokens, .words = kernel.code_words(depth)};
  auto program = kernel.on_device();
  RUNG_REQUIRE(program.ok(), "{}", program.error().message);
  const auto evaluation = (*program)->evaluation(walk, kernel.key_is_injective(depth));
  RUNG_REQUIRE(evaluation.ok(), "{}", evaluation.error().message);
  constexpr int kZeros = 14;
  auto walks = DeviceWalks::start(*evaluation, kZeros, std::uint64_t{20} << kZeros, 1);
  RUNG_REQUIRE(walks.ok(), "{}", walks.error().message);
  double evaluations = 0;
  const auto walk_for = [&](double limit) {
    evaluations = 0;
    const auto start = std::chrono::steady_clock::now();
    for (double time = 0;; evaluations += static_cast<double>(walks->advance()->evaluations)) {
      time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (time > limit) return evaluations / time;
    }
  };
  walk_for(at_least / 4);  // until batches have their size
  return walk_for(at_least);
}

void points() {
  constexpr std::int64_t kTokens = 12;
  const Target target = from_file("mamba2", 1, 64, 32);
  auto kernel = make_state_kernel(target, *beginnings(*target.task, 256));
  const auto session = make_session_kernel(target, (*kernel)->space());
  const double lanes = evaluation_rate(**kernel, kTokens, 1 << 24),
               machine = evaluation_rate(*session, kTokens, 1 << 16);
  fmt::print(
      "points     2-head gated state of {} bits, {} tokens, {} workers: {} {:.3g} evaluations/s, exact "
      "machine {:.3g}/s, ratio {:.0f}\n",
      target.nominal_bits, kTokens, worker_count(), (*kernel)->name(), lanes, machine, lanes / machine);
  add_figure(
      {"attacks", "points, a gated state of 64 bits", lanes, "evaluations/s", "exact machine", machine});
  if (lanes::device_count() == 0) return;
  for (const std::int64_t bits : {64, 72}) {
    const Target wide = from_file("mamba2", 1, bits, 32);
    const auto wide_kernel = make_state_kernel(wide, *beginnings(*wide.task, 256));
    const double peer = bits == 64 ? lanes : evaluation_rate(**wide_kernel, kTokens, 1 << 24),
                 device = device_rate(**wide_kernel, kTokens, 4);
    fmt::print(
        "points     the same of {} bits on {}: {:.3g} evaluations/s, {} workers {:.3g}/s, ratio {:.0f}\n",
        bits, lanes::device_name(), device, worker_count(), peer, device / peer);
    add_figure({"attacks", fmt::format("points on a device, a gated state of {} bits", bits), device,
                "evaluations/s", "lanes", peer, lanes::device_name()});
  }
}

void search(const std::string& label, const Target& target, const std::string& method, double lg_baseline,
            double rate, double limit, SearchDevice on = SearchDevice::cpu) {
  const auto outcome = attack(target, method, {.seconds = limit, .device = on});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  std::string baseline = fmt::format("a birthday on all of it: 2^{:.0f} evaluations", lg_baseline);
  if (rate > 0) baseline += fmt::format(", {:.2g} s at the rate above", std::exp2(lg_baseline) / rate);
  fmt::print("{:<10} {} bits, n={}: {} in {:.2f} s, {} evaluations{}; {}\n", label, target.nominal_bits,
             target.length() - 1, evidence_name(outcome->verdict), outcome->seconds, outcome->evaluations,
             outcome->effective_bits ? fmt::format(", effective bits {:.1f}", *outcome->effective_bits) : "",
             baseline);
  add_figure({"attacks", fmt::format("{}, {} bits", label, target.nominal_bits),
              static_cast<double>(outcome->evaluations) / outcome->seconds, "evaluations/s", "", 0,
              on == SearchDevice::cuda ? lanes::device_name() : ""});
}

void reachable() {
  const Target target = from_file("mamba2", 1, 28, 12);
  const auto outcome = attack(target, "reachable", {.seconds = 900});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  // The baseline: the same levels with the exact machine's successors in a hash set, on a state small enough
  // for it.
  const Target small = from_file("mamba2", 1, 16, 12);
  auto kernel = make_state_kernel(small, *beginnings(*small.task, 256));
  std::uint64_t steps = 0;
  const double time = seconds([&] {
    std::unordered_set<std::uint64_t> now{0};
    const auto slots = static_cast<std::int64_t>((*kernel)->space().slots.size());
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      std::unordered_set<std::uint64_t> next;
      std::vector<std::uint64_t> after((*kernel)->space().slots[static_cast<std::size_t>(slot)].rows.size());
      for (const auto key : now) {
        (*kernel)->StateKernel::successors(1, slot, &key, 1, after.data());
        steps += after.size();
        next.insert(after.begin(), after.end());
      }
      now = std::move(next);
    }
  });
  const double fast = static_cast<double>(outcome->evaluations) / outcome->seconds,
               slow = static_cast<double>(steps) / time;
  fmt::print(
      "reachable  {} bits, n={}: {} states of 2^28, {:.1f} s, peak memory {:.0f} MB, {:.3g} steps/s; one "
      "thread with a hash set {:.3g} steps/s, ratio {:.1f}\n",
      target.nominal_bits, target.length() - 1,
      outcome->details.count("states") ? outcome->details.at("states") : "not all", outcome->seconds,
      peak_megabytes(), fast, slow, fast / slow);
  add_figure({"attacks", "reachable states of 28 bits", fast, "steps/s", "one thread with a hash set", slow});
  if (lanes::device_count() == 0) return;
  for (const std::int64_t bits : {28, 36}) {
    const Target large = from_file("mamba2", 1, bits, 12);
    const auto found = attack(large, "reachable", {.seconds = 600, .device = SearchDevice::cuda});
    RUNG_REQUIRE(found.ok(), "{}", found.error().message);
    const double device = static_cast<double>(found->evaluations) / found->seconds;
    fmt::print("reachable  {} bits on {}: {}, {:.1f} s, {:.3g} steps/s, {} workers {:.3g}/s, ratio {:.0f}\n",
               bits, lanes::device_name(), found->reason, found->seconds, device, worker_count(), fast,
               device / fast);
    add_figure({"attacks", fmt::format("reachable states of {} bits on a device", bits), device, "steps/s",
                "lanes, 28 bits", fast, lanes::device_name()});
  }
}

int run(const std::set<std::string>& wanted) {
  const auto asked = [&](const char* name) { return wanted.empty() || wanted.count(name) != 0; };
  double rate = 0;
  if (asked("points") || asked("break") || asked("wide") || asked("stack") || asked("lists")) {
    if (asked("points")) points();
    const Target target = from_file("mamba2", 1, 64, 32);
    auto kernel = make_state_kernel(target, *beginnings(*target.task, 256));
    rate = evaluation_rate(**kernel, 12, 1 << 22);
  }
  if (asked("break")) search("break", from_file("mamba2", 1, 56, 32), "distinguished-points", 28, rate, 300);
  if (asked("wide") && lanes::device_count() > 0)
    search("wide", from_file("mamba2", 1, 72, 32), "distinguished-points", 36, rate, 600, SearchDevice::cuda);
  if (asked("stack")) {
    search("stack", from_file("mamba2", 3, 32, 4096), "hierarchical", 48, rate, 120);
    if (lanes::device_count() > 0)
      search("on device", from_file("mamba2", 3, 32, 4096), "hierarchical", 48, rate, 120,
             SearchDevice::cuda);
  }
  if (asked("lists"))
    search("lists", from_file("linear", 1, 128, 256), "generalised-birthday", 64, rate, 120);
  if (asked("lattice")) search("lattice", from_file("linear-values", 1, 640, 256), "lattice", 320, 0, 300);
  if (asked("reachable")) reachable();
  return 0;
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) { return rung::run(std::set<std::string>(argv + 1, argv + argc)); }
