// The explicit list: a mixer is added by adding its file in mixers/ and its case here.
#include "rung/base/require.h"
#include "rung/exact/mixer.h"

namespace rung {

template <class A>
std::unique_ptr<MixerFor<A>> make_full(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_linear(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_rnn(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_gru(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_mamba(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_mamba2(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_delta(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_log_linear(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_sparse(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_topk(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_conv(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_released_sparse(const MixerContext<A>&);
// Forms of released layers, which mode Q alone runs.
template <class A>
std::unique_ptr<MixerFor<A>> make_kda(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_released_topk(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_gla(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_rwkv7(const MixerContext<A>&);
template <class A>
std::unique_ptr<MixerFor<A>> make_identity(const MixerContext<A>&);

namespace {

// heads(...): the parts read the same input; their outputs stand side by side.
template <class A>
class SideBySide final : public MixerFor<A> {
 public:
  using Value = typename A::Value;
  explicit SideBySide(const MixerContext<A>& context) {
    for (std::size_t i = 0; i < context.shape.parts.size(); ++i) {
      const MixerContext<A> part{context.shape.parts[i],
                                 context.width,
                                 context.causal,
                                 context.arithmetic,
                                 context.positions,
                                 context.input_bits,
                                 context.source.under("part." + std::to_string(i))};
      parts_.push_back(make_mixer_for(part));
      if (context.source.error()) return;
    }
  }
  struct State final : MixerState<A> {
    std::vector<std::unique_ptr<MixerState<A>>> parts;
    void append_numbers(std::vector<Value>& out) const override {
      for (const auto& part : parts) part->append_numbers(out);
    }
  };
  std::int64_t output_width() const override {
    std::int64_t total = 0;
    for (const auto& part : parts_) total += part->output_width();
    return total;
  }
  int sum_bits() const override {
    int largest = 0;
    for (const auto& part : parts_) largest = std::max(largest, part->sum_bits());
    return largest;
  }
  void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    std::int64_t offset = 0;
    for (const auto& part : parts_) {
      std::vector<Value> own(wanted.size() * static_cast<std::size_t>(part->output_width()));
      part->forward(x, wanted, own.data());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        std::copy_n(own.begin() + static_cast<std::int64_t>(i) * part->output_width(), part->output_width(),
                    y + static_cast<std::int64_t>(i) * output_width() + offset);
      offset += part->output_width();
    }
  }
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    for (const auto& part : parts_) state->parts.push_back(part->start());
    return state;
  }
  std::vector<const MixerFor<A>*> parts() const override {
    std::vector<const MixerFor<A>*> all;
    for (const auto& part : parts_) all.push_back(part.get());
    return all;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i]->step(*state.parts[i], x, y);
      if (y) y += parts_[i]->output_width();
    }
  }

 private:
  std::vector<std::unique_ptr<MixerFor<A>>> parts_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_mixer_for(const MixerContext<A>& context) {
  if (context.shape.opaque() && context.shape.parts.empty()) {
    context.source.refuse(
        fail(ErrorCode::unsupported,
             "[exact] \"{}\" holds the mixer {}, which is counted and bounded but has no weights to run",
             context.source.prefix(), opaque_name(context.shape)));
    return nullptr;
  }
  const bool plain = context.shape.form.plain();
  switch (context.shape.kind) {
    case MixerKind::full:
      return make_full(context);
    case MixerKind::linear:
      return make_linear(context);
    case MixerKind::rnn:
      return make_rnn(context);
    case MixerKind::gru:
      return make_gru(context);
    case MixerKind::mamba:
      return make_mamba(context);
    case MixerKind::mamba2:
      return make_mamba2(context);
    case MixerKind::delta:
    case MixerKind::gdelta:
      return make_delta(context);
    case MixerKind::kda:
      return make_kda(context);
    case MixerKind::gla:
      return make_gla(context);
    case MixerKind::rwkv7:
      return make_rwkv7(context);
    case MixerKind::loglinear:
      return make_log_linear(context);
    case MixerKind::sparse:
      return plain ? make_sparse(context) : make_released_sparse(context);
    case MixerKind::topk:
      return has_integer_form(context.shape) ? make_topk(context) : make_released_topk(context);
    case MixerKind::heads:
      return std::make_unique<SideBySide<A>>(context);
    case MixerKind::conv:
      return make_conv(context);
    case MixerKind::identity:
      return make_identity(context);
    case MixerKind::none:
      return nullptr;
    case MixerKind::recurrent:
    case MixerKind::compressed:
      break;
  }
  RUNG_REQUIRE(false, "an opaque mixer is refused above");
  return nullptr;
}
RUNG_INSTANTIATE_MIXER(make_mixer_for);

}  // namespace rung
