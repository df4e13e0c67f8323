// Exact full attention against the same loop nest in plain double, in one run and with the same flags.
//   layer    n = 4096, one head of 64, all positions: projections, scores, softmax, output
//   last     the last position alone, n doubling: time and memory should grow with n, not n²
//   million  Eva by one full layer at n = 1,048,576, one query
// Prints ratios; a ratio is the only figure that means something on a noisy machine.
//   build: cmake --preset release -DRUNG_BENCH=ON && cmake --build --preset release --target bench_exact_attention
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "bench/figure.h"
#include "rung/base/parallel.h"
#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "rung/exact/random_model.h"
#include "rung/exact/softmax_kernel.h"
#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
template <class Body>
double best_of(int rounds, Body body) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = now();
    body();
    best = std::min(best, now() - start);
  }
  return best;
}

// The peer: scores, exp, weighted sum and division in double, one thread, causal. Same loops as the
// definition.
RUNG_VECTOR_CLONES void plain_attention(const double* q, const double* k, const double* v, std::int64_t n,
                                        std::int64_t d, double* y) {
  std::vector<double> num(static_cast<std::size_t>(d));
  for (std::int64_t i = 0; i < n; ++i) {
    std::fill(num.begin(), num.end(), 0.0);
    double den = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < d; ++c) score += q[i * d + c] * k[j * d + c];
      const double weight = std::exp(score);
      den += weight;
      for (std::int64_t c = 0; c < d; ++c) num[static_cast<std::size_t>(c)] += weight * v[j * d + c];
    }
    for (std::int64_t c = 0; c < d; ++c) y[i * d + c] = num[static_cast<std::size_t>(c)] / den;
  }
}

void attention_kernel() {
  constexpr std::int64_t n = 4096, d = 64;
  constexpr int p = 8;
  Random random(1);
  std::vector<std::int64_t> q(n * d), k(n * d), v(n * d);
  for (auto* values : {&q, &k, &v})
    for (auto& value : *values) value = random.between(-(1 << (p - 1)), (1 << (p - 1)) - 1);
  ScoreRule rule;
  rule.shift = 12;
  rule.weights.low = -15;
  for (int s = -15; s <= 15; ++s)
    rule.weights.values.push_back(
        std::max<std::int64_t>(1, std::llround(std::ldexp(std::exp(s * 0.25), 10))));
  std::vector<double> qd(q.begin(), q.end()), kd(k.begin(), k.end()), vd(v.begin(), v.end()), yd(n * d);
  for (auto& value : qd) value *= 0.25 / 4096;
  const double peer = best_of(3, [&] { plain_attention(qd.data(), kd.data(), vd.data(), n, d, yd.data()); });
  for (const auto number : {KernelNumber::automatic, KernelNumber::int64, KernelNumber::int128}) {
    std::vector<std::int64_t> y(n * d);
    const double mine = best_of(3, [&] {
      auto store = make_head_store(d, d, rule, HeadWidths{p, p, p, n}, number);
      store->resize(n);
      for (std::int64_t t = 0; t < n; ++t) store->put(t, k.data() + t * d, v.data() + t * d);
      for (std::int64_t i = 0; i < n; ++i) {
        SoftmaxSums sums(d);
        store->add(q.data() + i * d, 0, i + 1, sums);
        for (std::int64_t c = 0; c < d; ++c)
          y[static_cast<std::size_t>(i * d + c)] = static_cast<std::int64_t>(
              rounded_quotient<Int128>(sums.num[static_cast<std::size_t>(c)], sums.den, 1));
      }
    });
    const char* name = number == KernelNumber::automatic ? "exact, automatic"
                       : number == KernelNumber::int64   ? "exact, int64"
                                                         : "exact, int128";
    fmt::print(
        "kernel   n={} d={} p={} all positions, one thread: {:<17} {:7.3f} s, plain double {:7.3f} s, ratio "
        "{:.2f}\n",
        n, d, p, name, mine, peer, mine / peer);
    add_figure({"exact_attention", name, mine, "s", "plain double", peer});
  }
}

Weights one_layer(std::int64_t context) {
  RandomModel model;
  model.architecture.stack = *parse_stack("full(heads=1,dim=64)");
  auto& dimensions = model.architecture.dimensions;
  dimensions.width = 64;
  dimensions.mlp_given = true;
  dimensions.vocabulary = 256;
  dimensions.context = context;
  dimensions.position = PositionCode::binary;
  dimensions.precision.bits = 8;
  model.fields = {FieldSpec{"token", 256, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 256, 0};
  return *random_weights(model);
}
Prompt tokens(std::int64_t n, std::int64_t alphabet) {
  Random random(2);
  Prompt prompt{n, {{}}};
  for (std::int64_t t = 0; t < n; ++t) prompt.fields[0].push_back(random.between(0, alphabet - 1));
  return prompt;
}

void whole_layer() {
  constexpr std::int64_t n = 4096, d = 64;
  const Weights weights = one_layer(n);
  const auto machine = Machine::load(weights, {.positions = n});
  const Prompt prompt = tokens(n, 256);
  std::vector<std::int64_t> all(n);
  for (std::int64_t t = 0; t < n; ++t) all[static_cast<std::size_t>(t)] = t;
  const double mine = best_of(3, [&] { (void)(*machine)->forward(prompt, all); });
  std::vector<double> x(n * d, 0.01), w(d * d, 0.01), q(n * d), k(n * d), v(n * d), y(n * d), o(n * d);
  auto project = [&](const std::vector<double>& in, std::vector<double>& out) {
    for (std::int64_t t = 0; t < n; ++t)
      for (std::int64_t r = 0; r < d; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < d; ++c)
          sum += w[static_cast<std::size_t>(r * d + c)] * in[static_cast<std::size_t>(t * d + c)];
        out[static_cast<std::size_t>(t * d + r)] = sum;
      }
  };
  const double peer = best_of(3, [&] {
    project(x, q);
    project(x, k);
    project(x, v);
    plain_attention(q.data(), k.data(), v.data(), n, d, y.data());
    project(y, o);
  });
  fmt::print(
      "layer    n={} d={} p=8 all positions: exact machine on {} threads {:7.3f} s, plain double on one "
      "{:7.3f} s, ratio {:.2f}\n",
      n, d, worker_count(), mine, peer, mine / peer);
  add_figure({"exact_attention", "layer, all workers", mine, "s", "plain double on one thread", peer});
}

void last_position() {
  for (std::int64_t n = 1 << 14; n <= 1 << 18; n *= 4) {
    const Weights weights = one_layer(n);
    const auto machine = Machine::load(weights, {.positions = n});
    const Prompt prompt = tokens(n, 256);
    const std::int64_t last = n - 1;
    const double seconds = best_of(2, [&] { (void)(*machine)->forward(prompt, std::span(&last, 1)); });
    fmt::print("last     n={:<8} one query: {:7.3f} s, {:.0f} ns a token, peak memory so far {:.0f} MB\n", n,
               seconds, seconds / static_cast<double>(n) * 1e9, peak_megabytes());
  }
}

// Eva by the retrieval gadget at D = ⌈lg(n+1)⌉ = 21: keys (c(t), 1), query (β c(x), -β 1), score
// -2β·distance, value bits.
void million() {
  constexpr std::int64_t n = 1 << 20, digits = 21, beta = 2;
  Weights weights;
  weights.architecture.stack = *parse_stack(fmt::format("full(heads=1,dim={},vdim={})", digits + 1, digits));
  auto& dimensions = weights.architecture.dimensions;
  dimensions.width = 3 * digits + 1;  // position code, token code, answer bits, one
  dimensions.mlp_given = true;
  dimensions.vocabulary = n;
  dimensions.context = n + 1;
  dimensions.position = PositionCode::binary;
  dimensions.precision.bits = 8;
  weights.fields = {FieldSpec{"token", n, 1, 0}};
  weights.output = {OutputSpec::Kind::binary, digits - 1, 0};
  const std::int64_t width = dimensions.width;
  auto put = [&](const std::string& name, std::int64_t rows, std::int64_t cols,
                 const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>& entries) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(rows * cols), 0);
    for (const auto& [r, c, value] : entries) values[static_cast<std::size_t>(r * cols + c)] = value;
    weights.tensors[name] = integer_tensor({rows, cols}, values);
  };
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> position, token, key, query, value,
      output, out;
  for (std::int64_t b = 0; b < digits; ++b) {
    position.insert(position.end(), {{b, b, 2}, {digits, b, -1}});
    key.push_back({b, b, 1});
    query.push_back({b, digits + b, beta});
    if (b < digits - 1) token.push_back({b, digits + b, 2});
    token.push_back({digits - 1, digits + b, -1});
    value.push_back({b, digits + b, 1});
    output.push_back({2 * digits + b, b, 1});
    if (b < digits - 1) out.push_back({b, 2 * digits + b, 1});
  }
  position.push_back({digits, width - 1, 1});
  key.push_back({digits, width - 1, digits});
  query.push_back({digits, width - 1, -beta});
  put("embed.position.binary", digits + 1, width, position);
  put("embed.token.binary", digits, width, token);
  put("layers.0.q.weight", digits + 1, width, query);
  put("layers.0.k.weight", digits + 1, width, key);
  put("layers.0.v.weight", digits, width, value);
  put("layers.0.o.weight", width, digits, output);
  put("out.table", digits - 1, width, out);
  weights.tensors["layers.0.value.scale"] = integer_scalar(16);
  std::vector<std::int64_t> threshold(static_cast<std::size_t>(digits - 1), 0), table;
  weights.tensors["out.threshold"] = integer_tensor({digits - 1}, threshold);
  for (std::int64_t s = -63; s <= 0; ++s)
    table.push_back(std::llround(std::ldexp(std::exp(static_cast<double>(s)), 20)));
  weights.tensors["layers.0.score.table"] = integer_tensor({64}, table);
  weights.tensors["layers.0.score.low"] = integer_scalar(-63);
  const auto machine = Machine::load(weights, {.positions = n + 1});
  if (!machine) {
    fmt::print("million  {}\n", machine.error().message);
    return;
  }
  Prompt prompt = tokens(n + 1, n);
  const std::int64_t x = prompt.fields[0].back(), last = n;
  const double start = now();
  const auto readout = (*machine)->forward(prompt, std::span(&last, 1));
  const double seconds = now() - start;
  fmt::print("million  Eva n={} one query: {:.2f} s, peak memory {:.0f} MB, answer {}\n", n, seconds,
             peak_megabytes(),
             readout && (*readout)[0].answer[0] == prompt.fields[0][static_cast<std::size_t>(x)] ? "right"
                                                                                                 : "WRONG");
}

}  // namespace
}  // namespace rung

int main() {
  rung::attention_kernel();
  rung::whole_layer();
  rung::last_position();
  rung::million();
}
