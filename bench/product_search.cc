// How many product states a minute `rung verify` explores, beside the exact machine token by token in the
// same run.
//   bench_product_search [seconds]
// One-layer models with 64 bits of state whose answers are all 0, against an automaton whose answers are
// all 0: nothing is ever wrong, so the search goes on until its time is over. The peer expands the first
// nodes of the same graph by sessions of the exact machine, each from the beginning of its word, into a
// std::unordered_set, on one core.
#include <fmt/format.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <unordered_set>

#include "bench/figure.h"
#include "rung/adversary/product_search.h"
#include "rung/base/parallel.h"
#include "rung/exact/random_model.h"

namespace rung {
namespace {

Target silent_target(const std::string& line, int precision, std::uint64_t seed) {
  RandomModel model{.architecture = {*parse_stack(line), {}}, .accumulator = Accumulator::wrap, .seed = seed};
  auto& d = model.architecture.dimensions;
  d.width = 16;
  d.mlp = {};
  d.mlp_given = true;
  d.position = PositionCode::none;
  d.precision.bits = precision;
  model.fields = {{.name = "token", .size = 3}};
  d.vocabulary = 3;
  model.output = {OutputSpec::Kind::logits, 1, 0};
  Target target;
  target.weights = std::move(*random_weights(model));
  target.layers = *resolve(target.weights.architecture);
  target.machine = std::move(*Machine::load(target.weights, {.positions = 1 << 20}));
  return target;
}

// Of all threads, user and system: what a loaded machine does not change much.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void measure(const std::string& line, double seconds) {
  const ProductTask task{
      .states = 2, .next = {0, 1, 1, 0}, .answers = {0, 0}, .letters = {{0}, {1}}, .begin = {{2}}};
  // Of many random models one with a large graph: most forget, and their graphs end at once.
  constexpr std::uint64_t kModels = 60;
  std::uint64_t chosen = 1, most = 0;
  for (std::uint64_t seed = 1; seed <= kModels; ++seed) {
    const Target tried = silent_target(line, 8, seed);
    const auto look = search_product(tried, task, {.seconds = 0.2, .memory_bytes = std::uint64_t{1} << 30});
    if (look.ok() && look->states > most) most = look->states, chosen = seed;
  }
  const Target target = silent_target(line, 8, chosen);
  const SearchOptions options{.seconds = seconds, .memory_bytes = std::uint64_t{6} << 30};
  const double before = processor_seconds();
  const auto outcome = search_product(target, task, options);
  const double processor = processor_seconds() - before;
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  const double rate = static_cast<double>(outcome->edges) / 2 / outcome->seconds;
  const auto kernel = make_letter_kernel(target, task.letters, 2);

  constexpr double kPeerSeconds = 3;
  const auto start = std::chrono::steady_clock::now();
  std::unordered_set<std::string> seen;
  std::deque<std::vector<std::int64_t>> words{{}};
  std::uint64_t expanded = 0;
  double spent = 0;
  for (; !words.empty() && spent < kPeerSeconds; ++expanded) {
    for (std::int64_t l = 0; l < 2; ++l) {
      auto word = words.front();
      word.push_back(l);
      auto session = target.machine->start();
      (void)(*session)->append(*task.begin, false);
      for (std::size_t t = 0; t < word.size(); ++t)
        (void)(*session)->append({{word[t]}}, t + 1 == word.size());
      std::string key;
      for (const auto& layer : (*session)->state())
        for (const auto number : layer) key += fmt::format("{} ", number);
      if (seen.insert(std::move(key)).second) words.push_back(std::move(word));
    }
    words.pop_front();
    spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const double peer = static_cast<double>(expanded) / spent;
  fmt::print(
      "{:<34} {:>3} bits, {}: {:.3g} states expanded in {:.1f} s, {:.1f} s of processors ({}, depth {}), "
      "{:.3g} a minute on {} cores, {:.3g} in two processor-minutes; peer {:.3g} a minute on one: {:.0f} "
      "times\n",
      line, outcome->state_bits, kernel->name(), static_cast<double>(outcome->edges) / 2, outcome->seconds,
      processor, name_of(outcome->verdict), outcome->depth, rate * 60, worker_count(),
      static_cast<double>(outcome->edges) / 2 / processor * 120, peer * 60, rate / peer);
  add_figure({"product_search", line, rate * 60, "states/min", "exact machine on one core", peer * 60});
}

}  // namespace
}  // namespace rung

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 20;
  for (const char* line :
       {"mamba2(heads=1,dim=2,state=4,form=plain)", "mamba(inner=2,state=4,form=plain)",
        "delta(heads=1,dim=4,vdim=2,form=plain)", "delta(heads=1,dim=4,vdim=2,steps=2,form=plain)",
        "rnn(size=8)", "gru(size=8)", "linear(heads=1,dim=4,vdim=2,normalised=no)",
        "mamba2(heads=1,dim=2,state=4,form=plain)+rnn(size=8)"})
    rung::measure(line, seconds);
}
