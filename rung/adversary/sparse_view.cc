// Claim: sparse-two-sum (docs/theorems.md). What a query learns from a block that it does not select is the
// block's compressed key and value. Invariant: the layers before the sparse one are position-wise, so a
// block's message depends on the rows of its own tokens (and their positions) alone.
#include "rung/adversary/sparse_view.h"

#include <algorithm>
#include <numeric>

#include "rung/adversary/state_bits.h"
#include "rung/theory/horizon.h"

namespace rung {
std::optional<SparseView> SparseView::make(const Target& target) {
  if (!target.exact() || !target.machine->parts() || !target.weights.architecture.dimensions.causal)
    return std::nullopt;
  SparseView view;
  view.target_ = &target;
  view.fields_ = target.task->fields();
  for (std::size_t i = 0; i < target.layers.size(); ++i) {
    const MixerShape& m = target.layers[i].mixer;
    if (is_position_wise(m)) continue;
    if (view.shape_ || m.kind != MixerKind::sparse || !m.form.plain() || m.window) return std::nullopt;
    view.layer_ = static_cast<std::int64_t>(i);
    view.shape_ = &m;
  }
  if (!view.shape_) return std::nullopt;
  view.mixer_ = target.machine->parts()->mixers(view.layer_).front();
  const auto widths = view.mixer_->selection()->summary_widths();
  view.message_bits_ = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  return view;
}

std::vector<std::int64_t> SparseView::input(const Prompt& prompt, std::int64_t t) const {
  const ModelParts& parts = *target_->machine->parts();
  std::vector<std::int64_t> x(static_cast<std::size_t>(parts.width())), u(x), mixed;
  parts.embed(prompt_row(prompt, fields_, t).data(), t, x.data());
  for (std::int64_t l = 0; l < layer_; ++l) {
    parts.input(l, x.data(), u.data());
    mixed.clear();
    for (const ExactMixer* mixer : parts.mixers(l)) {
      const auto at = mixed.size();
      mixed.resize(at + static_cast<std::size_t>(mixer->output_width()));
      auto state = mixer->start();
      mixer->step(*state, u.data(), mixed.data() + at);
    }
    parts.finish(l, mixed.data(), x.data());
  }
  parts.input(layer_, x.data(), u.data());
  return u;
}

SparseView::Message SparseView::message(const Prompt& prompt, std::int64_t block) const {
  const std::int64_t first = block * shape_->block;
  RUNG_REQUIRE(block >= 0 && first + shape_->block <= prompt.positions, "block {} of {} positions", block,
               prompt.positions);
  auto state = mixer_->start();
  for (std::int64_t t = first; t < first + shape_->block; ++t)
    mixer_->step(*state, input(prompt, t).data(), nullptr);
  const auto numbers = mixer_->selection()->summary(*state, 0);
  Message message;
  for (std::int64_t h = 0, at = 0; h < shape_->kv_heads; ++h) {
    const auto key = numbers.begin() + at, value = key + shape_->key_dim, end = value + shape_->value_dim;
    message.key.insert(message.key.end(), key, value);
    message.value.insert(message.value.end(), value, end);
    at += shape_->key_dim + shape_->value_dim;
  }
  return message;
}

std::vector<std::vector<std::int64_t>> SparseView::selected(const Prompt& prompt,
                                                            std::int64_t position) const {
  auto state = mixer_->start();
  for (std::int64_t t = 0; t < position; ++t) mixer_->step(*state, input(prompt, t).data(), nullptr);
  return mixer_->selection()->wanted_by_group(*state, input(prompt, position).data());
}

std::optional<std::int64_t> forcing_values(const Target& target, const SparseView& view) {
  const Task& task = *target.task;
  if (task.name() != "two-sum" || target.weights.decode.steps > 0)  // every generated token selects again
    return std::nullopt;
  const auto size = task.size();
  const std::int64_t n = size.at("n").get<std::int64_t>(), M = size.at("M").get<std::int64_t>();
  const MixerShape& m = view.shape();
  const bool positions = target.weights.architecture.dimensions.position != PositionCode::none;
  const SparseLayer layer{m.block, m.select * m.groups, view.message_bits(), positions};
  if (!sparse_two_sum_impossible(layer, n, M)) return std::nullopt;
  return positions ? (determined_values(layer.message_bits, m.block) + 1).convert_to<std::int64_t>() : 0;
}

Result<std::optional<Certificate>> certify_sparse_pair(const Target& target, const SparseView& view,
                                                       const Prompt& first, const Prompt& second,
                                                       std::int64_t block) {
  RUNG_TRY(auto certificate, certify_fooling_pair(target, first, second));
  if (!certificate) return certificate;
  auto pair = std::get<FoolingPairClaim>(certificate->claim).pair;
  const auto fields = target.task->fields();
  for (std::int64_t t = 0; t < first.positions; ++t)
    if (t / view.shape().block != block && prompt_row(first, fields, t) != prompt_row(second, fields, t))
      return std::optional<Certificate>{};
  if (block >= view.blocks(pair.position)) return std::optional<Certificate>{};
  auto message = view.message(first, block);
  auto selected = view.selected(first, pair.position);
  if (message != view.message(second, block) || selected != view.selected(second, pair.position))
    return std::optional<Certificate>{};
  for (const auto& group : selected)
    if (std::find(group.begin(), group.end(), block) != group.end()) return std::optional<Certificate>{};
  SparsePairClaim claim{std::move(pair),     block, std::move(message.key), std::move(message.value),
                        std::move(selected), {}};
  if (const auto values = forcing_values(target, view)) {
    claim.pair.label = ClaimLabel::forced;
    claim.message_bits = view.message_bits();
    if (*values > 0) claim.values = values;
  }
  certificate->claim = std::move(claim);
  return certificate;
}

}  // namespace rung
