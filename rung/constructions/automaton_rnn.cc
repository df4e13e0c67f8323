// Any automaton by one layer of relu cells.
//
// Claim: |Q||Σ| cells of 2 bits, and one more where no letter leads to the start, follow every automaton at
// every length. Reference: ours (the classical simulation of automata by threshold cells).
//
// Invariant: after a word that ends in σ and had led to q before it, the cell (q, σ) is 1 and every other
// 0; after ^ alone, a cell whose letter leads to the start is 1. Cell (q, σ) becomes max(0, [token = σ] +
// Σ over the cells (q', σ') with δ(q', σ') = q, at most one of which is 1, − 1). The answer of δ(q, σ) is
// read off the cell. With a table (rnn with its own, or gru) the cell is min(1, max(0, ·)), which is the same
// on these numbers; a gru's gates are fixed, z = 0 and r = 1.
#include "rung/constructions/automaton_forms.h"

namespace rung {

Slot letter_slot(ModelWriter& model, const Task& task) {
  const std::int64_t tokens = task.fields().front().size;
  const Slot slot = model.slot("letter", tokens, "e of the token; the last is ^");
  auto& embedding = model.field_table("token", tokens);
  for (std::int64_t v = 0; v < tokens; ++v) embedding.set(v, slot.at(v), 1);
  return slot;
}

void output_answer(ModelWriter& model, const Automaton& automaton, const Slot& slot) {
  if (automaton.accepts)
    model.output_yes(slot, 2, 1);
  else
    model.output_bits(slot);
}

Result<Construction> build_automaton_rnn(const ConstructionRequest& request, const SharedTask& task,
                                         AutomatonCell kind) {
  const Automaton a = minimised(*task->automaton());
  const std::int64_t letters = a.letter_count(), states = a.state_count();
  if (letters * states > kMostAutomatonCells)
    return fail(ErrorCode::resource, "[build] {} states times {} letters are {} cells; at most {} expected",
                states, letters, letters * states, kMostAutomatonCells);
  const auto cell = [&](std::int64_t q, std::int64_t letter) { return q * letters + letter; };
  std::int64_t first = -1;  // a cell whose letter leads to the start
  for (std::int64_t q = 0; q < states && first < 0; ++q)
    for (std::int64_t l = 0; l < letters && first < 0; ++l)
      if (a.step(static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(l)) == a.start) first = cell(q, l);
  const bool own = first < 0;
  const std::int64_t cells = letters * states + (own ? 1 : 0);
  if (own) first = letters * states;

  constexpr int kProved = kAutomatonCellBits;
  ModelWriter model(*task, request.precision.value_or(kProved));
  model.context(0);
  const Slot letter = letter_slot(model, *task);
  const Slot answer =
      model.slot("answer", automaton_answer_digits(a), "0 at first, then the digits of the answer");
  model.accumulator(Accumulator::exact, kProved);
  const bool gated = kind == AutomatonCell::gated;
  LayerWriter& layer = model.layer(
      gated ? fmt::format("gru(size={})", cells)
            : fmt::format("rnn({}size={})", kind == AutomatonCell::relu ? "cell=relu," : "", cells),
      "a cell for every state and letter");
  MapWriter &x = layer.map(gated ? "xn" : "x"), &h = layer.map(gated ? "hn" : "h"), &o = layer.map("o");
  if (kind != AutomatonCell::relu) layer.table("cell", 0, {0, 1});
  if (gated) {
    layer.table("gate", 0, {0, 1});
    for (std::int64_t c = 0; c < cells; ++c) layer.map("xr").bias(c, 1);
  }
  for (std::int64_t q = 0; q < states; ++q)
    for (std::int64_t l = 0; l < letters; ++l) {
      x.set(cell(q, l), letter.at(l), 1);
      x.bias(cell(q, l), -1);
      const std::uint32_t to = a.step(static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(l));
      for (std::int64_t next = 0; next < letters; ++next) h.set(cell(to, next), cell(q, l), 1);
      for (std::int64_t d = 0; d < answer.size; ++d) o.set(answer.at(d), cell(q, l), a.out[to] >> d & 1);
    }
  // ^ lights the first cell: 2 - 1, or 1 where it is a cell of its own, which nothing else lights.
  x.set(first, letter.at(letters), own ? 1 : 2);
  if (own)
    for (std::int64_t next = 0; next < letters; ++next) h.set(cell(a.start, next), first, 1);
  layer.after("answer: the digits of the answer to the letters so far (at ^: 0, or the start's)");
  output_answer(model, a, answer);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task, "One layer of recurrent cells follows any automaton at every length.",
                          "a cell for every state and letter"));
  made.p_proved = kProved;
  made.lemma = fmt::format("{} cells of 2 bits, one of which is 1", cells);
  made.interval = [p = model.precision()] {
    return exact_argument(p >= kProved,
                          "one cell is 1 after every token, and it names the state and the last letter");
  };
  return made;
}

}  // namespace rung
