// Released forms beyond the cases of tests/cases/parity: each against another form that it must equal, or against the
// formula of its source written out for one head and one entry.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/base/random.h"
#include "rung/spec/mixers.h"
#include "rung/spec/parameters.h"
#include "tests/parity/layer_run.h"

namespace rung::parity {
namespace {

constexpr std::int64_t kTokens = 11;

double drawn(Random& random) { return static_cast<double>(random.between(-1000, 1000)) / 1000; }

// A one-layer file with every tensor of the line, drawn.
Weights drawn_layer(const std::string& line, std::int64_t width, std::int64_t context = 0,
                    std::uint64_t seed = 7) {
  Weights weights;
  weights.mode = WeightMode::real;
  weights.architecture.stack = parse_stack(line).value();
  auto& d = weights.architecture.dimensions;
  d.width = width;
  d.context = context;
  d.mlp_given = true;
  const auto layers = resolve(weights.architecture).value();
  const auto& layer = layers[0];
  Random random(seed);
  const auto tensors = layer_tensors(layer, 0, Norm::none).value();
  for (const auto& tensor : tensors) {
    std::vector<double> values(static_cast<std::size_t>(tensor.size()));
    for (auto& value : values) value = drawn(random);
    if (tensor.name.ends_with(".a.weight"))
      for (auto& value : values) value = -std::exp(value);
    weights.tensors[tensor.name] = real_tensor(tensor.shape, values, DType::f64);
  }
  return weights;
}
void set(Weights& weights, const std::string& name, const std::vector<std::int64_t>& shape,
         const std::vector<double>& values) {
  weights.tensors["layers.0." + name] = real_tensor(shape, values, DType::f64);
}
std::vector<double> get(const Weights& weights, const std::string& name) {
  const Tensor& tensor = weights.tensors.at("layers.0." + name);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.real(i));
  return values;
}
std::vector<double> repeated(const std::vector<double>& once) {
  auto twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  return twice;
}
StoredRows drawn_rows(std::int64_t width) {
  Random random(11);
  std::vector<double> values(static_cast<std::size_t>(kTokens * width));
  for (auto& value : values) value = drawn(random) * 2;
  return StoredRows(values, width);
}
LayerRun run(const Weights& weights, std::int64_t width) {
  return Layer(weights, kTokens).run(drawn_rows(width), width, true);
}
void expect_same(const LayerRun& a, const LayerRun& b, double within = 1e-12) {
  ASSERT_EQ(a.output.size(), b.output.size());
  ASSERT_FALSE(a.output.empty());
  double largest = 0;
  for (std::size_t i = 0; i < a.output.size(); ++i) {
    EXPECT_NEAR(a.output[i], b.output[i], within) << i;
    largest = std::max(largest, std::abs(a.output[i]));
  }
  EXPECT_GT(largest, 1e-3);
}
double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

// Groups of Mamba-2 are layers of their own when each has its norm: one head of each beside the other.
TEST(released_forms, mamba2_groups_with_a_norm_each_stand_side_by_side) {
  constexpr std::int64_t w = 4;
  const Weights both = drawn_layer("mamba2(form=released,heads=2,dim=3,state=2,groups=2,conv=4)", w);
  const LayerRun whole = run(both, w);
  std::vector<double> sum(whole.output.size(), 0.0);
  for (std::int64_t g = 0; g < 2; ++g) {
    Weights one = drawn_layer("mamba2(form=released,heads=1,dim=3,state=2,groups=1,conv=4)", w);
    const auto cut = [&](const char* name, std::int64_t rows, std::int64_t columns) {
      const auto all = get(both, name);
      const auto first = all.begin() + g * rows * columns;
      set(one, name,
          columns == 1 ? std::vector<std::int64_t>{rows} : std::vector<std::int64_t>{rows, columns},
          {first, first + rows * columns});
    };
    for (const char* name : {"x.weight", "z.weight"}) cut(name, 3, w);
    for (const char* name : {"b.weight", "c.weight"}) cut(name, 2, w);
    cut("dt.weight", 1, w);
    for (const char* name : {"dt.bias", "a.weight", "skip.weight"}) cut(name, 1, 1);
    cut("ynorm.gain", 3, 1);
    // Channels x (6), b (4), c (4): three, two and two of them are this group's.
    std::vector<double> taps, bias;
    const auto all_taps = get(both, "conv.weight"), all_bias = get(both, "conv.bias");
    for (const auto& [first, count] :
         {std::pair<std::int64_t, std::int64_t>{3 * g, 3}, {6 + 2 * g, 2}, {10 + 2 * g, 2}})
      for (std::int64_t c = first; c < first + count; ++c) {
        bias.push_back(all_bias[static_cast<std::size_t>(c)]);
        for (std::int64_t j = 0; j < 4; ++j) taps.push_back(all_taps[static_cast<std::size_t>(c * 4 + j)]);
      }
    set(one, "conv.weight", {7, 4}, taps);
    set(one, "conv.bias", {7}, bias);
    std::vector<double> out;
    const auto o = get(both, "o.weight");
    for (std::int64_t r = 0; r < w; ++r)
      for (std::int64_t c = 0; c < 3; ++c) out.push_back(o[static_cast<std::size_t>(r * 6 + 3 * g + c)]);
    set(one, "o.weight", {w, 3}, out);
    const LayerRun part = run(one, w);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.output[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(whole.output[i], sum[i], 1e-12);
}

// The same groups under one norm are another layer.
TEST(released_forms, mamba2_with_one_norm_for_all_groups_differs) {
  constexpr std::int64_t w = 4;
  const Weights apart = drawn_layer("mamba2(form=released,heads=2,dim=3,state=2,groups=2)", w);
  Weights together = apart;
  together.architecture.stack =
      parse_stack("mamba2(form=released,heads=2,dim=3,state=2,groups=2,norm_groups=1)").value();
  EXPECT_NE(run(apart, w).output, run(together, w).output);
}

// Key heads that value heads share are key heads repeated.
TEST(released_forms, shared_key_heads_are_repeated_ones) {
  constexpr std::int64_t w = 3;
  for (const char* word : {"gdelta(form=released,", "kda("}) {
    const Weights shared = drawn_layer(std::string(word) + "heads=2,kv=1,dim=2,vdim=3)", w);
    Weights own = shared;
    own.architecture.stack = parse_stack(std::string(word) + "heads=2,kv=2,dim=2,vdim=3)").value();
    for (const char* name : {"q.weight", "k.weight"}) set(own, name, {4, w}, repeated(get(shared, name)));
    expect_same(run(own, w), run(shared, w));
  }
  const Weights shared = drawn_layer("gla(heads=2,kv=1,dim=2,vdim=3,rank=2)", w);
  Weights own = shared;
  own.architecture.stack = parse_stack("gla(heads=2,kv=2,dim=2,vdim=3,rank=2)").value();
  set(own, "k.weight", {4, w}, repeated(get(shared, "k.weight")));
  set(own, "v.weight", {6, w}, repeated(get(shared, "v.weight")));
  set(own, "gate.weight", {4, 2}, repeated(get(shared, "gate.weight")));
  set(own, "gate.bias", {4}, repeated(get(shared, "gate.bias")));
  expect_same(run(own, w), run(shared, w));
}

// One head of one entry each, written out.
TEST(released_forms, kda_with_a_bounded_decay_is_its_formula) {
  constexpr std::int64_t w = 2;
  Weights one = drawn_layer("kda(heads=1,dim=1,vdim=1,rank=1,decay=bounded,range=2)", w);
  set(one, "gate.bound", {}, {-5});
  set(one, "ynorm.epsilon", {}, {0.3});
  const auto at = [&](const char* name) { return get(one, name); };
  const auto dot = [&](const char* name, const double* x) { return at(name)[0] * x[0] + at(name)[1] * x[1]; };
  const StoredRows rows = drawn_rows(w);
  const LayerRun got = run(one, w);
  double s = 0;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const double* x = rows.row(t);
    double q = silu(dot("q.weight", x)), k = silu(dot("k.weight", x));
    q /= std::sqrt(q * q + 1e-6);
    k /= std::sqrt(k * k + 1e-6);
    const double v = silu(dot("v.weight", x)), beta = 2 * sigmoid(dot("beta.weight", x));
    const double gate = at("gate.weight")[0] * dot("gate_low.weight", x) + at("gate.bias")[0];
    s *= std::exp(-5 * sigmoid(-at("a.weight")[0] * gate));
    s += beta * k * (v - s * k);
    const double o = s * q, z = at("z.weight")[0] * dot("z_low.weight", x) + at("z.bias")[0];
    const double y = o / std::sqrt(o * o + 0.3) * at("ynorm.gain")[0] * sigmoid(z);
    for (std::int64_t r = 0; r < w; ++r)
      EXPECT_NEAR(got.output[static_cast<std::size_t>(t * w + r)],
                  at("o.weight")[static_cast<std::size_t>(r)] * y, 1e-12);
  }
}

TEST(released_forms, gla_does_not_decay_below_its_floor) {
  constexpr std::int64_t w = 3;
  Weights floored = drawn_layer("gla(heads=1,dim=2,vdim=2,rank=2)", w);
  Weights open = floored;
  set(floored, "gate.floor", {}, {0});  // decay 1
  set(open, "gate.weight", {2, 2}, {0, 0, 0, 0});
  set(open, "gate.bias", {2}, {200, 200});
  expect_same(run(floored, w), run(open, w));
  set(floored, "gate.floor", {}, {-1e9});  // no floor
  Weights plain = floored;
  plain.tensors.erase("layers.0.gate.floor");
  expect_same(run(floored, w), run(plain, w));
}

// fla's options of DeltaNet, one head of two entries, without a convolution.
TEST(released_forms, delta_net_activations_and_norms_are_their_formulas) {
  constexpr std::int64_t w = 2;
  const struct {
    const char* act;
    double (*f)(double);
  } acts[] = {{"silu", silu},
              {"relu", [](double x) { return x > 0 ? x : 0.0; }},
              {"elu1", [](double x) { return x > 0 ? x + 1 : std::exp(x); }},
              {"none", [](double x) { return x; }}};
  for (const auto& act : acts)
    for (const bool sum : {false, true}) {
      if (sum && std::string_view(act.act) == "relu") continue;  // its sums can be 0
      Weights one =
          drawn_layer(fmt::format("delta(form=released,heads=1,dim=2,vdim=1,beta=no,qk_act={},qk_norm={})",
                                  act.act, sum ? "sum" : "l2"),
                      w);
      set(one, "ynorm.epsilon", {}, {1});
      const auto at = [&](const char* name, std::size_t i) { return get(one, name)[i]; };
      const StoredRows rows = drawn_rows(w);
      const LayerRun got = run(one, w);
      double s[2] = {0, 0};
      for (std::int64_t t = 0; t < kTokens; ++t) {
        const double* x = rows.row(t);
        const auto head = [&](const char* name, double out[2]) {
          for (std::size_t i = 0; i < 2; ++i)
            out[i] = act.f(at(name, 2 * i) * x[0] + at(name, 2 * i + 1) * x[1]);
          const double by = sum ? out[0] + out[1] : std::sqrt(out[0] * out[0] + out[1] * out[1] + 1e-6);
          for (std::size_t i = 0; i < 2; ++i) out[i] /= by;
        };
        double q[2], k[2];
        head("q.weight", q);
        head("k.weight", k);
        const double v = silu(at("v.weight", 0) * x[0] + at("v.weight", 1) * x[1]);
        const double error = v - (s[0] * k[0] + s[1] * k[1]);
        for (std::size_t i = 0; i < 2; ++i) s[i] += k[i] * error;
        const double o = (s[0] * q[0] + s[1] * q[1]) / std::sqrt(2.0);
        const double y = o / std::sqrt(o * o + 1) * at("ynorm.gain", 0);
        const double expected = at("o.weight", 0) * y;
        EXPECT_NEAR(got.output[static_cast<std::size_t>(t * w)], expected, 1e-9 * (1 + std::abs(expected)))
            << act.act << " " << sum << " " << t;
      }
    }
}

// FalconMamba: norms of B, C and the time step; one channel, one state entry more than one would hide the norm.
TEST(released_forms, falcon_mamba_norms_stand_where_they_are_said_to) {
  constexpr std::int64_t w = 2;
  for (const bool before : {false, true}) {
    Weights one = drawn_layer(
        fmt::format("mamba(form=released,inner=2,state=2,rank=2,norms={})", before ? "before" : "after"), w);
    set(one, "select.epsilon", {}, {0.01});
    const auto times = [&](const char* name, const std::vector<double>& x) {
      const auto m = get(one, name);
      std::vector<double> y;
      for (std::size_t r = 0; r < m.size() / x.size(); ++r) {
        double total = 0;
        for (std::size_t c = 0; c < x.size(); ++c) total += m[r * x.size() + c] * x[c];
        y.push_back(total);
      }
      return y;
    };
    const auto normed = [](std::vector<double> x) {
      const double root = std::sqrt((x[0] * x[0] + x[1] * x[1]) / 2 + 0.01);
      return std::vector<double>{x[0] / root, x[1] / root};
    };
    const StoredRows rows = drawn_rows(w);
    const LayerRun got = run(one, w);
    double s[2][2] = {};
    for (std::int64_t t = 0; t < kTokens; ++t) {
      const std::vector<double> u{rows.row(t)[0], rows.row(t)[1]};
      auto x = times("x.weight", u);
      for (auto& value : x) value = silu(value);
      const auto b = normed(times("b.weight", x)), c = normed(times("c.weight", x));
      auto low = times("delta_low.weight", x);
      if (before) low = normed(low);
      auto step = times("delta.weight", low);
      if (!before) step = normed(step);
      const auto z = times("z.weight", u);
      std::vector<double> y(2);
      for (std::size_t i = 0; i < 2; ++i) {
        const double dt = softplus(step[i] + get(one, "delta.offset")[i]);
        double sum = 0;
        for (std::size_t n = 0; n < 2; ++n) {
          s[i][n] = std::exp(dt * get(one, "a.weight")[2 * i + n]) * s[i][n] + dt * b[n] * x[i];
          sum += s[i][n] * c[n];
        }
        y[i] = (sum + get(one, "skip.weight")[i] * x[i]) * silu(z[i]);
      }
      const auto out = times("o.weight", y);
      for (std::size_t r = 0; r < 2; ++r)
        EXPECT_NEAR(got.output[static_cast<std::size_t>(t) * 2 + r], out[r], 1e-12);
    }
  }
}

TEST(released_forms, limits_of_the_step_are_kept) {
  constexpr std::int64_t w = 3;
  Weights limited = drawn_layer("mamba2(form=released,heads=1,dim=2,state=2)", w);
  Weights fixed = limited;
  set(limited, "dt.low", {}, {0.5});
  set(limited, "dt.high", {}, {0.5});
  set(fixed, "dt.weight", {1, w}, {0, 0, 0});
  set(fixed, "dt.bias", {1}, {std::log(std::expm1(0.5))});
  expect_same(run(limited, w), run(fixed, w));
}

// Weights 1/span per place, and linear maps that take that share of each entry, are the mean.
TEST(released_forms, learned_compressions_contain_the_mean) {
  constexpr std::int64_t w = 4, span = 4, dim = 2;
  const std::string rest =
      ",B=4,k=2,window=3,heads=2,kv=1,dim=2,vdim=2,span=4,stride=2,first=1,local=1,rope=half)";
  const Weights pool = drawn_layer("sparse(form=released,compress=pool" + rest, w);
  Weights weighted = pool, linear = pool;
  weighted.architecture.stack = parse_stack("sparse(form=released,compress=weighted" + rest).value();
  linear.architecture.stack = parse_stack("sparse(form=released,compress=linear" + rest).value();
  std::vector<double> maps;
  for (std::int64_t row = 0; row < span * dim; ++row)
    for (std::int64_t o = 0; o < dim; ++o) maps.push_back(row % dim == o ? 1.0 / span : 0.0);
  for (const char* name : {"compress_k.weight", "compress_v.weight"}) {
    set(weighted, name, {1, span}, std::vector<double>(span, 1.0 / span));
    set(linear, name, {1, span * dim, dim}, maps);
  }
  const LayerRun mean = run(pool, w);
  expect_same(run(weighted, w), mean);
  expect_same(run(linear, w), mean);
  // Without places and without turning, the mean before turning is the mean after it.
  const std::string still = ",B=4,k=2,window=3,heads=2,kv=1,dim=2,vdim=2,first=1,local=2,rope=none)";
  Weights unturned = drawn_layer("sparse(form=released,compress=pool" + still, w);
  set(unturned, "compress_k.place", {1, 4, 2}, std::vector<double>(8, 0.0));
  Weights fla = unturned;
  fla.tensors.erase("layers.0.compress_k.place");
  fla.architecture.stack = parse_stack("sparse(form=released,compress=mean" + still).value();
  expect_same(run(unturned, w), run(fla, w));
}

// Overlapping windows: the score of a block is Σ_{i<κ/s} Σ_{j<B/s} p[bB/s+i+j-κ/s+1]; here by hand from the weights of
// one head with two windows a block.
TEST(released_forms, overlapping_windows_score_blocks_as_the_source_says) {
  constexpr std::int64_t w = 2, block = 4, span = 4, stride = 2;
  Weights one = drawn_layer(
      "sparse(form=released,compress=pool,B=4,k=2,heads=1,dim=2,vdim=1,span=4,stride=2,first=0,"
      "local=1,rope=none)",
      w);
  const auto q = get(one, "q.weight"), k = get(one, "k.weight"), place = get(one, "compress_k.place");
  const StoredRows rows = drawn_rows(w);
  const LayerRun got = run(one, w);
  std::vector<double> expected;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const auto map = [&](const std::vector<double>& m, std::int64_t at, std::size_t r) {
      return m[2 * r] * rows.row(at)[0] + m[2 * r + 1] * rows.row(at)[1];
    };
    std::vector<double> p;
    double sum = 0;
    for (std::int64_t c = 0; c * stride + span - 1 <= t; ++c) {
      double score = 0;
      for (std::size_t i = 0; i < 2; ++i) {
        double mean = 0;
        for (std::int64_t j = 0; j < span; ++j)
          mean += (map(k, c * stride + j, i) + place[static_cast<std::size_t>(2 * j) + i]) / span;
        score += map(q, t, i) * mean;
      }
      p.push_back(std::exp(score));  // score.tau is 1
      sum += p.back();
    }
    const std::int64_t own = t / block;
    std::vector<std::pair<double, std::int64_t>> ranked;
    for (std::int64_t b = 0; b < own; ++b) {
      double score = 0;
      for (std::int64_t i = 0; i < span / stride; ++i)
        for (std::int64_t j = 0; j < block / stride; ++j) {
          const std::int64_t c = b * block / stride + i + j - span / stride + 1;
          if (c >= 0 && c < static_cast<std::int64_t>(p.size()))
            score += p[static_cast<std::size_t>(c)] / sum;
        }
      ranked.emplace_back(-score, b);
    }
    std::sort(ranked.begin(), ranked.end());
    if (!ranked.empty()) expected.push_back(static_cast<double>(ranked[0].second));
    expected.push_back(static_cast<double>(own));
    expected.push_back(-1);
  }
  EXPECT_EQ(got.record.of("selected"), expected);
}

// Interleaved weights become half-split ones by taking each head's rows of q and k in the order 0, 2, 1, 3.
TEST(released_forms, interleaved_rope_is_half_split_rope_of_reordered_rows) {
  constexpr std::int64_t w = 3;
  const Weights interleaved = drawn_layer("full(heads=2,kv=1,dim=4,vdim=2,rope=interleaved,theta=100)", w);
  Weights half = interleaved;
  half.architecture.stack = parse_stack("full(heads=2,kv=1,dim=4,vdim=2,rope=half,theta=100)").value();
  for (const auto& [name, heads] : {std::pair<const char*, std::int64_t>{"q.weight", 2}, {"k.weight", 1}}) {
    const auto rows = get(interleaved, name);
    std::vector<double> moved;
    for (std::int64_t h = 0; h < heads; ++h)
      for (const std::int64_t r : {0, 2, 1, 3})
        for (std::int64_t c = 0; c < w; ++c)
          moved.push_back(rows[static_cast<std::size_t>((4 * h + r) * w + c)]);
    set(half, name, {4 * heads, w}, moved);
  }
  expect_same(run(half, w), run(interleaved, w));
  Weights none = interleaved;
  none.architecture.stack = parse_stack("full(heads=2,kv=1,dim=4,vdim=2)").value();
  EXPECT_NE(run(none, w).output, run(interleaved, w).output);
}

// The state after every token, in the format where one is given.
std::vector<std::vector<double>> states_of(const Weights& weights, const StoredRows& rows, std::int64_t width,
                                           std::optional<Precision> format) {
  TensorSource source = TensorSource(weights, nullptr).under("layers.0");
  const MixerShape shape = resolve(weights.architecture).value()[0].mixer;
  const MixerContext<RealArithmetic> context{
      shape,        width,
      true,         RealArithmetic{format ? Accumulator::round : Accumulator::exact, 32, format, nullptr},
      rows.count(), 32,
      source};
  const auto mixer = make_mixer_for(context);
  EXPECT_FALSE(source.error()) << (source.error() ? source.error()->message : "");
  std::vector<std::vector<double>> out;
  auto state = mixer->start();
  for (std::int64_t t = 0; t < rows.count(); ++t) {
    mixer->step(*state, rows.row(t), nullptr);
    state->append_numbers(out.emplace_back());
  }
  return out;
}

// What theorems assume of the update in each form (rung/spec/mixers.h): an entrywise one never lets an entry fall when
// the old state is higher, the inputs alike; a coupled one does.
TEST(released_forms, update_their_states_as_the_descriptors_say) {
  constexpr std::int64_t w = 3;
  int entrywise = 0;
  for (const char* line :
       {"mamba(form=released,inner=3,state=2)", "mamba(form=released,inner=3,state=2,norms=after,gate=none)",
        "mamba2(form=released,heads=2,dim=2,state=2)", "mamba2(form=plain,heads=2,dim=2,state=2,act=silu)",
        "gla(heads=2,dim=2,vdim=2,rank=2)", "delta(form=released,heads=1,dim=2,vdim=2)",
        "gdelta(form=released,heads=1,dim=2,vdim=2)", "kda(heads=1,dim=2,vdim=2,rank=2)",
        "rwkv7(heads=1,dim=3,vdim=2)"}) {
    const Weights weights = drawn_layer(line, w);
    const Assumptions assumed = assumptions_of(resolve(weights.architecture).value()[0].mixer);
    bool falls = false;
    Random random(5);
    for (int trial = 0; trial < 300; ++trial) {
      // Two beginnings, then the same two tokens: the first is the row before, where a layer keeps it.
      std::vector<double> same(2 * w);
      for (auto& value : same) value = 2 * drawn(random);
      std::vector<std::vector<std::vector<double>>> runs;
      for (int which = 0; which < 2; ++which) {
        std::vector<double> values(3 * w);
        for (auto& value : values) value = 2 * drawn(random);
        values.insert(values.end(), same.begin(), same.end());
        runs.push_back(states_of(weights, StoredRows(values, w), w, std::nullopt));
      }
      for (std::size_t i = 0; i < runs[0][3].size(); ++i)
        falls = falls || (runs[0][3][i] < runs[1][3][i] && runs[0][4][i] > runs[1][4][i]);
    }
    entrywise += assumed.update == Update::entrywise;
    EXPECT_EQ(falls, assumed.update != Update::entrywise) << line;
    if (assumed.update == Update::entrywise) EXPECT_NE(assumed.decay, Decay::unknown) << line;
  }
  EXPECT_EQ(entrywise, 5);
}

// Monotone states of few values come to rest while a token repeats: the theorem on aperiodicity in these forms.
TEST(released_forms, that_are_monotone_come_to_rest) {
  constexpr std::int64_t w = 3;
  const Precision e4m3 = *parse_precision("e4m3");
  for (const char* line :
       {"mamba(form=released,inner=3,state=2,conv=3)", "mamba2(form=released,heads=2,dim=2,state=2,conv=2)",
        "gla(heads=2,dim=2,vdim=2,rank=2,conv=3)"})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Weights weights = drawn_layer(line, w, 0, seed);
      Random random(seed);
      std::vector<double> values(4 * w), last(w);
      for (auto& value : values) value = 2 * drawn(random);
      for (auto& value : last) value = 2 * drawn(random);
      const std::int64_t rest = 256 + 3;  // (values - 1) steps behind the convolution
      for (std::int64_t t = 0; t <= rest; ++t) values.insert(values.end(), last.begin(), last.end());
      const auto states = states_of(weights, StoredRows(values, w), w, e4m3);
      EXPECT_EQ(states.back(), states[states.size() - 2]) << line << " " << seed;
      EXPECT_NE(states[4], states[5]) << line << " " << seed;
    }
}

}  // namespace
}  // namespace rung::parity
