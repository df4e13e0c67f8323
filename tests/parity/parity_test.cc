// Released layers, imported from the layout of their library, give the outputs, caches and inner results of the
// public references: as a whole and token by token, in double.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/spec/accounting.h"
#include "tests/parity/layer_run.h"
#include "tests/parity/released_case.h"

namespace rung::parity {
namespace {

constexpr double kWithin = 1e-7;  // the cases are rounded to 9 digits

void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  EXPECT_LE(worst, kWithin) << what;
}

// [states][value rows][key columns] as [states][key][value].
std::vector<double> key_by_value(const double* state, std::int64_t states, std::int64_t keys,
                                 std::int64_t values) {
  std::vector<double> out;
  for (std::int64_t h = 0; h < states; ++h)
    for (std::int64_t k = 0; k < keys; ++k)
      for (std::int64_t v = 0; v < values; ++v) out.push_back(state[(h * values + v) * keys + k]);
  return out;
}

class ReleasedLayer : public testing::TestWithParam<ReleasedCase> {
 protected:
  ReleasedLayer()
      : folder_(std::filesystem::path(testing::TempDir()) / ("parity-" + GetParam().name)),
        rows_(GetParam().numbers("input"), GetParam().width()) {
    std::filesystem::remove_all(folder_);
    directory_ = write_model(GetParam(), folder_);
    if (GetParam().content.contains("input_v_first")) {  // read beside the input
      std::vector<double> wide;
      const auto first = GetParam().numbers("input_v_first");
      const auto input = GetParam().numbers("input");
      const std::size_t width = static_cast<std::size_t>(GetParam().width()),
                        more = first.size() / static_cast<std::size_t>(GetParam().tokens());
      for (std::size_t t = 0; t < static_cast<std::size_t>(GetParam().tokens()); ++t) {
        wide.insert(wide.end(), input.begin() + static_cast<std::ptrdiff_t>(t * width),
                    input.begin() + static_cast<std::ptrdiff_t>((t + 1) * width));
        wide.insert(wide.end(), first.begin() + static_cast<std::ptrdiff_t>(t * more),
                    first.begin() + static_cast<std::ptrdiff_t>((t + 1) * more));
      }
      rows_ = StoredRows(wide, static_cast<std::int64_t>(width + more));
    }
  }
  ~ReleasedLayer() override { std::filesystem::remove_all(folder_); }

  Result<ImportedLayer> imported() const {
    return import_layer(
        {.directory = directory_.path.string(), .from = directory_.from, .layer = directory_.layer});
  }
  LayerRun run(const Weights& weights, bool stepwise) const {
    return Layer(weights, GetParam().tokens()).run(rows_, GetParam().width(), stepwise);
  }
  void check_state(const MixerShape& shape, const std::vector<double>& state) const;

  std::filesystem::path folder_;
  ReleasedModelDirectory directory_;
  StoredRows rows_;
};

void ReleasedLayer::check_state(const MixerShape& m, const std::vector<double>& state) const {
  const auto& one = GetParam();
  const auto& cache = one.content["final_state"];
  std::size_t at = 0;
  const auto take = [&](std::size_t count) {
    EXPECT_LE(at + count, state.size());
    const std::vector<double> part(
        state.begin() + static_cast<std::ptrdiff_t>(std::min(at, state.size())),
        state.begin() + static_cast<std::ptrdiff_t>(std::min(at + count, state.size())));
    at += count;
    return part;
  };
  if (cache.contains("recurrent_state_k_by_v")) {
    const auto expected = one.state("recurrent_state_k_by_v");
    const auto states = static_cast<std::int64_t>(cache["recurrent_state_k_by_v"].size());
    expect_near(key_by_value(take(expected.size()).data(), states, m.key_dim, m.value_dim), expected,
                "state");
  }
  if (cache.contains("ssm_state")) {
    const auto expected = one.state("ssm_state");
    expect_near(take(expected.size()), expected, "state");
  }
  if (cache.contains("level_states_level_head_k_by_v")) {
    // The reference merges when the next token comes, rung when this one has passed.
    std::vector<std::vector<double>> levels;
    std::vector<std::int64_t> counts;
    for (std::size_t level = 0; level < cache["level_counts"].size(); ++level) {
      levels.push_back(flat(cache["level_states_level_head_k_by_v"][level]));
      counts.push_back(cache["level_counts"][level].get<std::int64_t>());
    }
    for (std::size_t level = 0; level + 1 < levels.size() && counts[level] == std::int64_t{1} << level;
         ++level) {
      for (std::size_t i = 0; i < levels[level].size(); ++i)
        levels[level + 1][i] = (counts[level + 1] > 0 ? levels[level + 1][i] : 0) + levels[level][i];
      counts[level + 1] += counts[level];
      counts[level] = 0;
    }
    for (std::size_t level = 0; level < levels.size(); ++level)
      if (counts[level] != 0)
        expect_near(key_by_value(take(levels[level].size()).data(), m.heads, m.key_dim, m.value_dim),
                    levels[level], "level " + std::to_string(level));
  }
  // The buffer lacks the oldest column, which no later token reads, and begins with the newest.
  for (const char* name : {"conv_state", "conv_state_q", "conv_state_k", "conv_state_v"}) {
    if (!cache.contains(name)) continue;
    if (!cache[name][0].is_array()) {  // a row
      expect_near(take(cache[name].size()), one.state(name), name);
      continue;
    }
    std::vector<double> expected;
    for (const auto& channel : cache[name])
      for (std::size_t j = channel.size() - 1; j > 0; --j) expected.push_back(channel[j].get<double>());
    expect_near(take(expected.size()), expected, name);
  }
  if (cache.contains("k_cache"))
    for (std::size_t h = 0; h < cache["k_cache"][0].size(); ++h) {
      std::vector<double> expected;
      for (std::size_t t = 0; t < cache["k_cache"].size(); ++t)
        for (const char* name : {"k_cache", "v_cache"}) {
          const auto row = flat(cache[name][t][h]);
          expected.insert(expected.end(), row.begin(), row.end());
        }
      expect_near(take(expected.size()), expected, "cache of head " + std::to_string(h));
    }
  if (cache.contains("kv_cache")) {
    std::vector<double> expected;
    for (std::size_t t = 0; t < cache["kv_cache"].size(); ++t)
      for (const char* name : {"kv_cache", "pe_cache_interleaved_layout"}) {
        const auto row = flat(cache[name][t]);
        expected.insert(expected.end(), row.begin(), row.end());
      }
    expect_near(take(expected.size()), expected, "latent cache");
    const auto keys = one.state("indexer_k_cache");
    expect_near(take(keys.size()), keys, "index keys");
  }
  EXPECT_EQ(at, state.size()) << "numbers of the state that the reference does not keep";
}

// Lists that end with -1 in the record, as `rows` of the case have them: sorted, without padding.
void expect_lists(const std::vector<double>& told, const nlohmann::json& rows, const std::string& what) {
  std::vector<std::vector<double>> got(1);
  for (const double entry : told)
    if (entry < 0)
      got.emplace_back();
    else
      got.back().push_back(entry);
  got.pop_back();
  std::vector<std::vector<double>> expected;
  const auto add = [&](const nlohmann::json& list) {
    std::vector<double> one;
    for (const auto& entry : list)
      if (entry.get<double>() >= 0) one.push_back(entry.get<double>());
    std::sort(one.begin(), one.end());
    expected.push_back(one);
  };
  for (const auto& row : rows)
    if (!row.empty() && row[0].is_array())
      for (const auto& list : row) add(list);
    else
      add(row);
  EXPECT_EQ(got, expected) << what;
}

TEST_P(ReleasedLayer, has_the_reference_outputs_and_caches) {
  const auto& one = GetParam();
  const auto layer = imported();
  ASSERT_TRUE(layer) << layer.error().message;
  const auto shape = resolve(layer->weights.architecture).value()[0].mixer;
  const LayerRun whole = run(layer->weights, false), steps = run(layer->weights, true);
  for (const LayerRun* way : {&whole, &steps}) {
    const std::string how = way == &whole ? " (whole)" : " (token by token)";
    expect_near(way->output, one.numbers("output"), "output" + how);
    if (one.content.contains("core_output"))
      expect_near(way->record.of("core"), one.numbers("core_output"), "core_output" + how);
    if (one.content.contains("output_v_first"))
      expect_near(way->published, one.numbers("output_v_first"), "published values" + how);
    if (one.content.contains("selected_blocks"))
      expect_lists(way->record.of("selected"), one.content["selected_blocks"], "selected blocks" + how);
    if (one.content["final_state"].contains("selected_tokens"))
      expect_lists(way->record.of("selected"), one.content["final_state"]["selected_tokens"],
                   "selected tokens" + how);
    if (one.content.contains("index_scores")) {
      std::vector<double> expected;  // s <= t alone
      for (std::size_t t = 0; t < one.content["index_scores"].size(); ++t)
        for (std::size_t s = 0; s <= t; ++s)
          expected.push_back(one.content["index_scores"][t][s].get<double>());
      expect_near(way->record.of("index.score"), expected, "index scores" + how);
    }
  }
  check_state(shape, steps.state);
}

// The other reading of the same weights that a case has, by one option.
TEST_P(ReleasedLayer, has_the_outputs_of_the_other_reading) {
  const auto& one = GetParam();
  const struct {
    const char *key, *option, *value;
  } readings[] = {{"output_strong", "partition", "strong"}, {"output_interleaved", "rope", "interleaved"}};
  for (const auto& reading : readings) {
    if (!one.content.contains(reading.key)) continue;
    auto layer = imported();
    ASSERT_TRUE(layer) << layer.error().message;
    auto& options = layer->weights.architecture.stack.layers[0].options;
    std::erase_if(options, [&](const MixerOption& option) { return option.name == reading.option; });
    options.push_back({reading.option, std::string(reading.value)});
    for (const bool stepwise : {false, true})
      expect_near(run(layer->weights, stepwise).output, one.numbers(reading.key), reading.key);
  }
}

// Elements of the reference's cache that a later token can depend on; all but the oldest column of a convolution.
TEST_P(ReleasedLayer, is_counted_as_the_reference_keeps_it) {
  const auto& one = GetParam();
  const auto layer = imported();
  ASSERT_TRUE(layer) << layer.error().message;
  const auto layers = resolve(layer->weights.architecture);
  ASSERT_TRUE(layers) << layers.error().message;
  const auto counted = account(layer->weights.architecture, *layers, {.context = one.tokens()}).layers[0];
  std::int64_t state = 0, conv = 0, cache = 0;
  for (const auto& [name, array] : one.content["final_state"].items()) {
    const auto size = static_cast<std::int64_t>(flat(array).size());
    if (name.starts_with("conv_state"))
      conv += array[0].is_array() ? size - static_cast<std::int64_t>(array.size()) : size;
    else if (name == "recurrent_state_k_by_v" || name == "ssm_state")
      state += size;
    else if (name == "level_states_level_head_k_by_v")
      state += size / static_cast<std::int64_t>(array.size());  // of one level
    else if (name.find("cache") != std::string::npos)
      cache += size / one.tokens();
  }
  EXPECT_EQ(counted.state_elements, state);
  EXPECT_EQ(counted.conv_elements, conv);
  EXPECT_EQ(counted.cache_elements, cache);
  if (one.content["final_state"].contains("level_counts")) {
    std::int64_t live = 0;
    for (const auto& count : one.content["final_state"]["level_counts"]) live += count != 0;
    EXPECT_GE(counted.levels, live);
  }
  // What is counted is what the file holds, scalars aside.
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : layer->weights.tensors)
    if (name.starts_with("layers.0.") && !tensor.shape.empty()) numbers += tensor.size();
  EXPECT_EQ(counted.parameters, numbers);
}

// The negative control: every weight matters to what the test looks at.
TEST_P(ReleasedLayer, notices_every_changed_tensor) {
  const auto layer = imported();
  ASSERT_TRUE(layer) << layer.error().message;
  const auto expected = run(layer->weights, true);
  for (const auto& [name, tensor] : layer->weights.tensors) {
    if (!name.starts_with("layers.0.") || name.starts_with("layers.0.norm1")) continue;
    Weights changed = layer->weights;
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.real(i) * 1.5 + 0.25);
    changed.tensors[name] = real_tensor(tensor.shape, values, DType::f64);
    const auto got = run(changed, true);
    EXPECT_TRUE(got.output != expected.output ||
                got.record.of("index.score") != expected.record.of("index.score"))
        << name;
  }
}

std::string case_name(const testing::TestParamInfo<ReleasedCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Parity, ReleasedLayer, testing::ValuesIn(released_cases()), case_name);

}  // namespace
}  // namespace rung::parity
