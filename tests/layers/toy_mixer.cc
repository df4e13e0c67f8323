// The mixer of docs/mixers.md, counted, written and run. toy_mixer_test.py compiles this file in a tree that has
// followed the page.
#include <fmt/format.h>

#include "rung/exact/machine.h"
#include "rung/exact/random_model.h"
#include "rung/spec/accounting.h"
#include "rung/spec/mixers.h"
#include "rung/spec/parameters.h"
#include "tests/exact/plain_model.h"
#include "tests/exact/strained_model.h"

namespace {

using namespace rung;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

template <class T>
T taken(Result<T> result) {
  if (!result) expect(false, result.error().message);
  return std::move(*result);
}

void is_counted() {
  Architecture network{taken(parse_stack("peak(size=3)*2")), {.width = 8, .precision = {.bits = 6}}};
  expect(format_stack(network.stack) == "peak(size=3)*2", "the language gives it back");
  const auto layers = taken(resolve(network));
  const Account counted = account(network, layers, {});
  expect(counted.state_bits == 2 * 3 * 6, fmt::format("{} bits of state", counted.state_bits));
  expect(counted.pattern == "RR", counted.pattern);
  const auto tensors = taken(layer_tensors(layers[0], 0, Norm::none));
  expect(tensors[0].name == "layers.0.v.weight" && tensors[0].shape == std::vector<std::int64_t>{3, 8},
         tensors[0].name);
  network.dimensions.causal = false;
  expect(!resolve(network), "it has no bidirectional meaning");
}

void means_the_same_twice() {
  int lively = 0;
  for (const char* line : {"peak", "peak(size=3)", "conv(width=2)+peak+full"})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Weights weights = taken(random_weights(varied_model(line, true, seed)));
      if (seed % 2 == 1) strain(weights, seed);
      constexpr std::int64_t kPositions = 9;
      const auto machine = taken(Machine::load(weights, {.positions = kPositions}));
      const Prompt prompt = random_prompt(weights.fields, kPositions, seed);
      const auto fast = taken(machine->forward(prompt, all_positions(kPositions)));
      const auto slow = plain::evaluate(weights, prompt);
      for (std::size_t t = 0; t < slow.size(); ++t)
        expect(plain::Row(fast[t].activation.begin(), fast[t].activation.end()) == slow[t].activation,
               fmt::format("{} seed {} position {}", line, seed, t));
      lively += fast.front().activation != fast.back().activation;
    }
  expect(lively > 30, "the rows hardly differ");
}

}  // namespace

int main() {
  is_counted();
  means_the_same_twice();
  fmt::print("counted and run\n");
}
