#include "rung/exact/attention_pattern.h"

#include <numeric>

#include "rung/exact/machine.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"

namespace rung {
namespace {

using Row = std::vector<std::int64_t>;

void add_patterns(const SplitSoftmax& softmax, const std::vector<Row>& inputs, std::int64_t layer,
                  std::int64_t first_head, std::vector<HeadPattern>& out) {
  const Row front(softmax.front_widths().size(), 0);
  const auto tokens = softmax.open(front);
  for (const Row& input : inputs) tokens->append(input.data());
  const auto heads = static_cast<std::size_t>(softmax.sizes().heads);
  const std::size_t at = out.size();
  for (std::size_t h = 0; h < heads; ++h)
    out.push_back({layer, first_head + static_cast<std::int64_t>(h), {}});
  for (std::int64_t i = 0; i < tokens->size(); ++i) {
    std::vector<std::vector<double>> rows(heads);
    std::vector<Int128> before(heads, 0);
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto sums = tokens->sums(tokens->query(i), j + 1);
      for (std::size_t h = 0; h < heads; ++h) {
        rows[h].push_back(static_cast<double>(sums[h].den - before[h]));
        before[h] = sums[h].den;
      }
    }
    for (std::size_t h = 0; h < heads; ++h) {
      if (before[h] > 0)
        for (double& weight : rows[h]) weight /= static_cast<double>(before[h]);
      out[at + h].weights.push_back(std::move(rows[h]));
    }
  }
}

}  // namespace

Result<std::vector<HeadPattern>> attention_patterns(const Weights& weights, const Prompt& prompt) {
  if (!weights.architecture.dimensions.causal)
    return fail(ErrorCode::unsupported, "[attention] an encoder; expected a causal model");
  if (prompt.positions > kMaxPatternTokens)
    return fail(ErrorCode::resource, "[attention] a prompt of {} tokens; expected at most {}",
                prompt.positions, kMaxPatternTokens);
  RUNG_TRY(const auto machine, Machine::load(weights, {.positions = prompt.positions}));
  const ModelParts* parts = machine->parts();
  if (!parts) return fail(ErrorCode::unsupported, "[attention] real weights; expected integer ones");
  RUNG_CHECK(parts->check(prompt));

  const auto count = static_cast<std::size_t>(prompt.positions),
             width = static_cast<std::size_t>(parts->width());
  std::vector<Row> rows(count, Row(width));
  for (std::size_t t = 0; t < count; ++t) {
    const Row row = prompt_row(prompt, weights.fields, static_cast<std::int64_t>(t));
    parts->embed(row.data(), static_cast<std::int64_t>(t), rows[t].data());
  }
  // What each layer hands to the next, as the machine computes it.
  std::vector<std::vector<Row>> after(static_cast<std::size_t>(parts->layers()), std::vector<Row>(count));
  std::vector<std::int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  RUNG_TRY(
      const auto out,
      machine->forward(prompt, all,
                       [&](std::int64_t layer, std::int64_t position, std::span<const std::int64_t> row) {
                         after[static_cast<std::size_t>(layer)][static_cast<std::size_t>(position)].assign(
                             row.begin(), row.end());
                       }));
  RUNG_REQUIRE(out.size() == count, "{} readouts of {} positions", out.size(), count);

  std::vector<HeadPattern> patterns;
  for (std::int64_t layer = 0; layer < parts->layers(); ++layer) {
    const std::vector<Row>& from = layer == 0 ? rows : after[static_cast<std::size_t>(layer - 1)];
    std::vector<Row> inputs(count, Row(width));
    for (std::size_t t = 0; t < count; ++t) parts->input(layer, from[t].data(), inputs[t].data());
    std::int64_t head = 0;
    for (const ExactMixer* mixer : parts->mixers(layer)) {
      const SplitSoftmax* softmax = mixer->softmax();
      if (!softmax) continue;
      add_patterns(*softmax, inputs, layer, head, patterns);
      head += softmax->sizes().heads;
    }
  }
  return patterns;
}

}  // namespace rung
