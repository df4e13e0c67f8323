// Invariant: the numbers are the exact machine's own (model_parts.h); nothing is recomputed by another rule.
#include "rung/adversary/full_layer_view.h"

#include "rung/adversary/state_bits.h"

namespace rung {

std::optional<FullLayerView> FullLayerView::make(const Target& target) {
  if (!target.exact() || !target.machine->parts() || !target.weights.architecture.dimensions.causal)
    return std::nullopt;
  FullLayerView view;
  view.parts_ = target.machine->parts();
  view.fields_ = target.task->fields();
  for (std::size_t i = 0; i < target.layers.size(); ++i) {
    const MixerShape& m = target.layers[i].mixer;
    using enum MixerKind;
    if (m.kind == full) {
      view.layer_ = static_cast<std::int64_t>(i);
      view.softmax_ = view.parts_->mixers(view.layer_).front()->softmax();
      return view.softmax_ && m.conv == 0 ? std::optional(view) : std::nullopt;
    }
    if (!has_bounded_state(m)) return std::nullopt;
    view.first_ = view.first_ && (m.kind == identity || m.kind == none);
  }
  return std::nullopt;
}

template <class Take>
FullLayerView::Row FullLayerView::run(const Prompt& prompt, std::int64_t begin, std::int64_t end,
                                      const Take& take) const {
  std::vector<std::vector<std::unique_ptr<ExactState>>> states(static_cast<std::size_t>(layer_));
  for (std::int64_t l = 0; l < layer_; ++l)
    for (const ExactMixer* mixer : parts_->mixers(l))
      states[static_cast<std::size_t>(l)].push_back(mixer->start());
  Row x(static_cast<std::size_t>(parts_->width())), u(x), mixed;
  for (std::int64_t t = first_ ? begin : 0; t < end; ++t) {
    parts_->embed(prompt_row(prompt, fields_, t).data(), t, x.data());
    for (std::int64_t l = 0; l < layer_; ++l) {
      parts_->input(l, x.data(), u.data());
      mixed.clear();
      const auto mixers = parts_->mixers(l);
      for (std::size_t i = 0; i < mixers.size(); ++i) {
        const auto at = mixed.size();
        mixed.resize(at + static_cast<std::size_t>(mixers[i]->output_width()));
        mixers[i]->step(*states[static_cast<std::size_t>(l)][i], u.data(), mixed.data() + at);
      }
      parts_->finish(l, mixed.data(), x.data());
    }
    if (t < begin) continue;
    parts_->input(layer_, x.data(), u.data());
    take(u);
  }
  Row numbers;
  for (const auto& layer : states)
    for (const auto& state : layer) state->append_numbers(numbers);
  return numbers;
}

std::vector<FullLayerView::Row> FullLayerView::inputs(const Prompt& prompt, std::int64_t begin,
                                                      std::int64_t end) const {
  std::vector<Row> rows;
  run(prompt, begin, end, [&](const Row& u) { rows.push_back(u); });
  return rows;
}

FullLayerView::Row FullLayerView::states_before(const Prompt& prompt, std::int64_t positions) const {
  return run(prompt, 0, positions, [](const Row&) {});
}

FullLayerView::Row FullLayerView::query(const Row& input) const {
  const auto segment = softmax_->open({});
  segment->append(input.data());
  const auto numbers = segment->query(0);
  return {numbers.begin(), numbers.end()};
}

FullLayerView::Row FullLayerView::sums(const std::vector<Row>& inputs, const Row& query) const {
  const auto segment = softmax_->open({});
  for (const Row& input : inputs) segment->append(input.data());
  Row numbers;
  for (const auto& head : segment->sums(query, segment->size())) {
    for (const auto num : head.num) numbers.push_back(static_cast<std::int64_t>(num));
    numbers.push_back(static_cast<std::int64_t>(head.den));
  }
  return numbers;
}

}  // namespace rung
