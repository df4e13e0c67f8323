// A full layer's sums over the shared tokens are formed for every new query and added to those over the new
// tokens: exact integers, so the split changes nothing (docs/weights.md). Every other mixer continues from
// its stored numbers.
#include "rung/adversary/resumed_run.h"

#include "rung/base/require.h"

namespace rung {

struct ResumedRun::Continuation {
  struct Own {
    std::unique_ptr<ExactState> state;
    std::unique_ptr<AttentionSegment> tokens;
  };
  std::vector<std::vector<Own>> layers;
};

std::optional<ResumedRun> ResumedRun::make(const Machine& machine, const std::vector<FieldSpec>& fields,
                                           const Prompt& base, std::int64_t shared) {
  RUNG_REQUIRE(shared >= 0 && shared <= base.positions, "shared={} of {}", shared, base.positions);
  if (!machine.parts() || !machine.start()) return std::nullopt;
  ResumedRun run(machine, fields);
  for (std::int64_t l = 0; l < run.parts_->layers(); ++l) {
    run.layers_.emplace_back();
    for (const ExactMixer* mixer : run.parts_->mixers(l)) {
      if (mixer->selection()) return std::nullopt;
      run.layers_.back().push_back({mixer, {}, nullptr});
    }
  }
  for (auto& layer : run.layers_)
    for (auto& mixer : layer)
      if (const SplitSoftmax* full = mixer.mixer->softmax()) {
        const std::vector<std::int64_t> zeros(full->front_widths().size(), 0);
        mixer.tokens = full->open(zeros);  // no shared token yet
      } else {
        mixer.mixer->start()->append_numbers(mixer.state);
      }
  Continuation beginning = run.begin();
  std::vector<std::int64_t> x;
  for (std::int64_t t = 0; t < shared; ++t) run.step(beginning, base, t, x);
  for (std::size_t l = 0; l < run.layers_.size(); ++l)
    for (std::size_t i = 0; i < run.layers_[l].size(); ++i) {
      auto& mixer = run.layers_[l][i];
      auto& own = beginning.layers[l][i];
      if (own.tokens) {
        mixer.tokens = std::move(own.tokens);
      } else {
        mixer.state.clear();
        own.state->append_numbers(mixer.state);
      }
    }
  run.shared_ = shared;
  return run;
}

ResumedRun::Continuation ResumedRun::begin() const {
  Continuation run;
  for (const auto& layer : layers_) {
    run.layers.emplace_back();
    for (const auto& mixer : layer) {
      if (mixer.tokens)
        run.layers.back().push_back({nullptr, mixer.mixer->softmax()->open(mixer.tokens->front())});
      else
        run.layers.back().push_back({mixer.mixer->restore(mixer.state, shared_), nullptr});
    }
  }
  return run;
}

void ResumedRun::step(Continuation& run, const Prompt& prompt, std::int64_t t,
                      std::vector<std::int64_t>& x) const {
  const auto width = static_cast<std::size_t>(parts_->width());
  x.resize(width);
  parts_->embed(prompt_row(prompt, fields_, t).data(), t, x.data());
  std::vector<std::int64_t> input(width), mixed;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!layers_[l].empty()) parts_->input(static_cast<std::int64_t>(l), x.data(), input.data());
    std::size_t at = 0;
    for (std::size_t i = 0; i < layers_[l].size(); ++i) {
      const auto& shared = layers_[l][i];
      auto& own = run.layers[l][i];
      mixed.resize(at + static_cast<std::size_t>(shared.mixer->output_width()));
      if (own.tokens) {
        own.tokens->append(input.data());
        const auto query = own.tokens->query(own.tokens->size() - 1);
        auto sums = own.tokens->sums(query, own.tokens->size());
        const auto earlier = shared.tokens->sums(query, shared.tokens->size());
        for (std::size_t h = 0; h < sums.size(); ++h) {
          for (std::size_t c = 0; c < sums[h].num.size(); ++c) sums[h].num[c] += earlier[h].num[c];
          sums[h].den += earlier[h].den;
        }
        shared.mixer->softmax()->finish(sums, mixed.data() + at);
      } else {
        shared.mixer->step(*own.state, input.data(), mixed.data() + at);
      }
      at = mixed.size();
    }
    parts_->finish(static_cast<std::int64_t>(l), mixed.data(), x.data());
  }
}

Readout ResumedRun::last(const Prompt& prompt) const {
  RUNG_REQUIRE(prompt.positions > shared_, "{} positions, {} shared", prompt.positions, shared_);
  Continuation run = begin();
  std::vector<std::int64_t> x;
  for (std::int64_t t = shared_; t < prompt.positions; ++t) step(run, prompt, t, x);
  return parts_->read(prompt.positions - 1, x.data());
}

std::vector<std::vector<std::int64_t>> ResumedRun::states(const Prompt& prompt,
                                                          std::int64_t positions) const {
  RUNG_REQUIRE(positions > shared_ && positions <= prompt.positions, "{} of {} positions, {} shared",
               positions, prompt.positions, shared_);
  Continuation run = begin();
  std::vector<std::int64_t> x;
  for (std::int64_t t = shared_; t < positions; ++t) step(run, prompt, t, x);
  std::vector<std::vector<std::int64_t>> all;
  for (const auto& layer : run.layers) {
    all.emplace_back();
    for (const auto& own : layer)
      if (own.state) own.state->append_numbers(all.back());
  }
  return all;
}

}  // namespace rung
