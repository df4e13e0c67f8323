// The flip-flop by one state space layer: the last value written, at every length.
//
// Claim: one mamba2 entry of ⌈lg k⌉ bits (2 at least) with decays 1 and 0 solves flipflop. Reference: Liu
// et al.
// 2306.00946 for the task; the set-reset layer of Sarrof, Veitsman, Hahn 2405.17394.
//
// Input: hold brings 0, write v brings v − m with m = ⌊k/2⌋, ^ brings the first value's. Layer 1: hold has
// decay 1, everything else decay 0, so S is what was written last. The logit of v is 2 (v − m) S − (v −
// m)².
#include "rung/base/nearest_word.h"
#include "rung/constructions/automaton_forms.h"

namespace rung {

Result<Construction> build_flipflop_mamba2(const ConstructionRequest& request, const SharedTask& task) {
  const Automaton& a = *task->automaton();
  const std::int64_t k = a.answers, letters = a.letter_count(), middle = k / 2;
  const int entry = flipflop_bits(k);
  const int p = request.precision.value_or(entry);

  ModelWriter model(*task, p);
  model.context(0);
  const Slot written =
      model.slot("written", 1, "v - m where the token writes v, m = k div 2; 0 where it holds");
  const Slot writes =
      model.slot("writes", 1, "1 where the token writes (^ writes the first value), 0 where it holds");
  const Slot last = model.slot("last", 1, "0 at first, then v - m for the v written last");
  auto& token = model.field_table("token", letters + 1);
  const auto write = [&](std::int64_t row, std::int64_t value) {
    token.set(row, written.at(0), value - middle);
    token.set(row, writes.at(0), 1);
  };
  // A letter writes where all states go to one; it holds where none moves.
  for (std::int64_t l = 0; l < letters; ++l) {
    const std::uint32_t to = a.step(0, static_cast<std::uint32_t>(l));
    bool holds = true, resets = true;
    for (std::uint32_t q = 0; q < a.state_count(); ++q) {
      holds = holds && a.step(q, static_cast<std::uint32_t>(l)) == q;
      resets = resets && a.step(q, static_cast<std::uint32_t>(l)) == to;
    }
    if (!holds && !resets)
      return fail(ErrorCode::unsupported, "[build] the letter {} of {} neither holds nor writes",
                  rung::quoted(a.letters[static_cast<std::size_t>(l)]), task->name());
    if (!holds) write(l, a.out[to]);
  }
  write(letters, a.out[a.start]);
  model.accumulator(Accumulator::exact, std::min(p, entry));
  LayerWriter& layer = model.layer("mamba2(heads=1,dim=1,state=1)", "set and hold");
  layer.map("x").set(0, written.at(0), 1);
  layer.map("b").bias(0, 1);
  layer.map("c").bias(0, 1);
  layer.map("gate").set(0, writes.at(0), 1);
  layer.table("gate", 0, {1, 0});
  layer.map("o").set(last.at(0), 0, 1);
  layer.after(last.holds);
  model.output_nearest(last.at(0), k, middle);

  RUNG_TRY(Construction made,
           finish_construction(model, task, "One state space entry solves flipflop at every length.",
                               "set-reset layer"));
  made.p_proved = entry;
  made.lemma = fmt::format("one entry of {} bits, written or kept", entry);
  made.interval = [p, entry] { return exact_argument(p >= entry, "the entry holds the last value exactly"); };
  return made;
}

}  // namespace rung
