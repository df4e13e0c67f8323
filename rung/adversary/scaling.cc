#include "rung/adversary/scaling.h"

#include <algorithm>
#include <chrono>

#include "rung/base/nearest_word.h"
#include "rung/exact/random_model.h"

namespace rung {
namespace {

constexpr std::int64_t kWidth = 16;
constexpr int kRetention = 32;  // decays lie in [1 - 1/32, 1]

std::vector<std::int64_t> numbers_of(const Weights& weights, const std::string& name) {
  const Tensor& tensor = weights.tensors.at(name);
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.integer(static_cast<std::int64_t>(i));
  return values;
}
void set_numbers(Weights& weights, const std::string& name, const std::vector<std::int64_t>& values) {
  auto& tensor = weights.tensors.at(name);
  tensor = integer_tensor(tensor.shape, values);
}

// Decays near one: a gated state that keeps what it is told.
void retain(Weights& weights, std::size_t layer) {
  const std::string prefix = fmt::format("layers.{}.", layer);
  const std::int64_t one = std::int64_t{1} << weights.tensors.at(prefix + "decay.shift").integer(0);
  auto table = numbers_of(weights, prefix + "gate.table");
  for (auto& value : table) value = one - (one - value) / kRetention;
  set_numbers(weights, prefix + "gate.table", table);
  weights.tables.erase(prefix + "gate");
}

// The value is the token, the key the position's.
void linear_values(Weights& weights) {
  const auto token_rows = weights.tensors.at("embed.token.table").shape[0];
  auto token = numbers_of(weights, "embed.token.table"),
       position = numbers_of(weights, "embed.position.table");
  auto key = numbers_of(weights, "layers.0.k.weight"), value = numbers_of(weights, "layers.0.v.weight");
  for (std::int64_t r = 0; r < token_rows; ++r)
    for (std::int64_t c = 0; c < kWidth; ++c)
      token[static_cast<std::size_t>(r * kWidth + c)] = c == 0 ? r : 0;
  for (std::size_t i = 0; i < position.size(); i += kWidth) position[i] = 0;
  for (std::size_t i = 0; i < key.size(); i += kWidth) key[i] = 0;
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = i == 0;
  set_numbers(weights, "embed.token.table", token);
  set_numbers(weights, "embed.position.table", position);
  set_numbers(weights, "layers.0.k.weight", key);
  set_numbers(weights, "layers.0.v.weight", value);
  weights.tensors["layers.0.v.shift"] = integer_scalar(0);
}

struct Series {
  std::string method, mixer;
  std::int64_t layers, n;
  std::vector<std::int64_t> bits;  // a layer
};

const std::vector<Series>& all_series() {
  static const std::vector<Series> kSeries = {
      {"reachable", "mamba2", 1, 8, {8, 12, 16, 20, 24}},
      {"distinguished-points", "linear", 1, 32, {16, 24, 32, 40, 48, 56}},
      {"distinguished-points", "mamba2", 1, 32, {16, 24, 32, 40, 48, 56}},
      {"distinguished-points", "mamba2", 2, 32, {8, 12, 16, 20, 24}},
      {"distinguished-points", "mamba2", 3, 32, {8, 12, 16}},
      {"hierarchical", "mamba2", 2, 1024, {8, 16, 24, 32, 36}},
      {"hierarchical", "mamba2", 3, 4096, {8, 16, 24, 32}},
      {"hierarchical", "mamba2", 4, 16384, {8, 16, 20}},
      {"generalised-birthday", "linear", 1, 256, {32, 48, 64, 96, 128, 160}},
      {"lattice", "linear-values", 1, 256, {64, 128, 256, 384, 512, 640}},
      {"big-bucket", "loglinear", 1, 32, {16, 20, 24, 28, 32}},
      {"big-bucket", "loglinear", 2, 32, {8, 12, 16}},
      {"sparse-blocks", "sparse", 1, 64, {16, 20, 24, 28, 32, 36}},
      {"flip", "hybrid", 1, 64, {16, 24, 32}},
  };
  return kSeries;
}

}  // namespace

Result<Target> retentive_target(const std::string& mixer, std::int64_t layers, std::int64_t bits,
                                std::int64_t n, std::uint64_t seed) {
  RUNG_REQUIRE(layers >= 1 && bits >= 4 && bits % 4 == 0 && n >= 2, "layers={} bits={} n={}", layers, bits,
               n);
  const bool sparse = mixer == "sparse", hybrid = mixer == "hybrid";
  RUNG_TRY(auto task, sparse   ? make_task("two-sum", {{"n", n}, {"M", n * n}})
                      : hybrid ? make_task("seqcomp", {{"L", 2}, {"m", n / 4}, {"n1", 4}})
                               : make_task("eva", {{"n", n}}));
  RandomModel model;
  auto& d = model.architecture.dimensions;
  d.width = kWidth;
  d.mlp_given = true;
  d.context = task->prompt_length();
  d.vocabulary = task->fields()[0].size;
  d.precision.bits = 10;
  std::string line;
  if (mixer == "mamba2") {
    // Two heads of 1 x 2 entries, or of 2 x 2 from 48 bits on.
    const std::int64_t rows = bits >= 48 && bits % 8 == 0 ? 2 : 1;
    line = fmt::format("mamba2(heads=2,dim={},state=2)*{}", rows, layers);
    d.accumulator_bits = bits / (4 * rows);
  } else if (mixer == "linear") {
    const std::int64_t entries = bits >= 64 ? 8 : 4;
    line =
        fmt::format("linear(heads=1,dim=2,vdim={},feature=identity,normalised=no)*{}", entries / 2, layers);
    d.accumulator_bits = bits / entries;
  } else if (mixer == "loglinear") {
    line = fmt::format("loglinear(base=linear,heads=1,dim=2)*{}", layers);
    d.accumulator_bits = bits / 4;
  } else if (sparse) {
    // One head: a key and a value of two numbers each are a block's message. Tokens carry no positions.
    line = "sparse(B=8,k=2,heads=1,dim=2)";
    d.position = PositionCode::none;
    d.precision.bits = static_cast<int>(bits / 4);
  } else if (hybrid) {
    // The answer's activation has `bits` bits.
    line = "full(heads=1,dim=2)+linear(heads=1,dim=2)";
    d.width = 4;
    d.precision.bits = static_cast<int>(bits / 4);
  } else {
    constexpr int kKeyBits = 10;
    line = fmt::format("linear(heads=1,dim={},vdim=1,feature=identity,normalised=no)",
                       (bits + kKeyBits - 1) / kKeyBits);
    model.accumulator = Accumulator::exact;
  }
  RUNG_TRY(model.architecture.stack, parse_stack(line, UnsaidForm::plain));
  model.fields = task->fields();
  const AnswerSpec answer = task->answer_spec();
  model.output = {OutputSpec::Kind::logits, answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size, 0};
  model.seed = seed;
  RUNG_TRY(auto weights, random_weights(model));
  if (mixer == "mamba2")
    for (std::int64_t l = 0; l < layers; ++l) retain(weights, static_cast<std::size_t>(l));
  if (mixer == "linear-values") linear_values(weights);
  return make_target(std::move(weights), std::shared_ptr<const Task>(std::move(task)));
}

Result<std::vector<ScalingPoint>> attack_scaling(const ScalingOptions& options) {
  if (options.method != "auto") {
    std::vector<std::string_view> names{"auto"};
    for (const auto& series : all_series()) names.push_back(series.method);
    if (std::find(names.begin(), names.end(), options.method) == names.end())
      return fail(ErrorCode::parse, "[break] no scaling series for {}; {}", rung::quoted(options.method),
                  suggest(options.method, names));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<ScalingPoint> points;
  for (const auto& series : all_series()) {
    if (options.method != "auto" && options.method != series.method) continue;
    for (const std::int64_t bits : series.bits) {
      if (elapsed() > options.seconds || (options.stop && options.stop())) return points;
      RUNG_TRY(auto target, retentive_target(series.mixer, series.layers, bits, series.n, options.seed));
      RUNG_TRY(const AttackMethod* method, find_attack_method(series.method));
      if (!method->fitness(target).applies) continue;
      SearchOptions search{.seconds = std::min(options.seconds_per_point, options.seconds - elapsed()),
                           .seed = options.seed};
      search.stop = options.stop;
      RUNG_TRY(const auto outcome, method->run(target, search));
      ScalingPoint point{series.method,
                         format_spelled_stack(target.weights.architecture.stack),
                         series.layers,
                         bits,
                         series.n,
                         target.nominal_bits,
                         options.seed,
                         outcome.verdict,
                         outcome.evaluations,
                         outcome.seconds,
                         outcome.effective_bits,
                         {}};
      if (const auto tokens = outcome.details.find("tokens"); tokens != outcome.details.end())
        point.tokens = tokens->second;
      if (options.point) options.point(point);
      points.push_back(std::move(point));
      if (points.back().verdict == Evidence::unverified && series.method != "reachable")
        break;  // larger ones cost more
    }
  }
  return points;
}

}  // namespace rung
