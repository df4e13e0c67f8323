// Tracked recall by a delta layer and a full layer: what neither does alone.
//
// Claim: delta + full without positions solves tracked-recall with a recurrent state of 2n bits, for words
// of any length; recall alone needs n lg n bits of a recurrence, and following the word at every length is beyond
// full attention without positions (aperiodicity). Reference: ours; state-based recall 2604.03444.
//
// Layer 1 (delta): the state is the row e_mark. Steps 0 … s−1 exchange entries as the letter moves the
// mark, with β = 1 at letters and 0 elsewhere; the last step has the key e_0 and the value 1 at pairs: it
// makes entry 0 equal to 1, once and again, before any letter comes. The row is read as Σ_c c S[c] = mark.
// MLP: the digits of the mark. Layer 2 (full): the key of a pair is the code (±1) of its place with −D
// beside it, and the query the mark's code with 1: the score is 0 at the pair of the mark, −2 or less at
// other pairs, −1 or less elsewhere (−D − 1 beside the code), and the weight is 1 at 0 and 0 below. So the
// value is read exactly.

#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/tasks/tracked_group.h"

namespace rung {
namespace {

Result<Construction> build_tracked_recall(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task,
           make_task("tracked-recall", request.sizes, request.options));
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), sigma = size["sigma"].get<std::int64_t>();
  if (n > kMostTrackedPlaces)
    return fail(ErrorCode::resource, "[build] n = {}; at most {} places expected", n, kMostTrackedPlaces);
  const TrackedGroup group = tracked_group(request.option("group", "symmetric"));
  const std::int64_t letters = tracked_letters(group, n), keys = task->fields().front().size;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> moves;
  for (std::int64_t l = 0; l < letters; ++l) moves.push_back(tracked_exchanges(group, n, l));
  const std::int64_t exchanges = most_tracked_exchanges(group, n);
  const int D = digits_for(n), V = digits_for(sigma);
  const int proved = tracked_recall_bits(n);
  const int p = request.precision.value_or(proved);

  ModelWriter model(*task, p);
  const Slot key = model.slot("key", keys, "e of the place of a pair, of the number of a letter");
  const Slot code = model.slot("code", D, "its code, -1 or 1");
  const Slot pair = model.slot("pair", 1, "1 at a pair");
  const Slot letter = model.slot("letter", 1, "1 at a letter");
  const Slot value = model.slot("value", V, "bits of the value of a pair");
  const Slot mark = model.slot("mark", 1, "0 at first, then the place of the mark");
  const Slot digits = model.slot("digits", D, "after layer 1: its bits");
  const Slot fetched = model.slot("fetched", V, "0 at first, then the bits of the value at the mark");
  auto& places = model.field_table("key", keys);
  for (std::int64_t v = 0; v < keys; ++v) {
    places.set(v, key.at(v), 1);
    for (int d = 0; d < D; ++d) places.set(v, code.at(d), v >> d & 1 ? 1 : -1);
  }
  model.field_bits("value", digits_for(sigma + 1)).code(value, 0, 1);
  auto& roles = model.field_table("role", 3);
  roles.set(0, pair.at(0), 1);
  roles.set(1, letter.at(0), 1);

  model.accumulator(Accumulator::round, 2);
  LayerWriter& first = model.layer(fmt::format("delta(heads=1,dim={},vdim=1,steps={})", n, exchanges + 1),
                                   "letters move the mark");
  for (std::int64_t l = 0; l < letters; ++l)
    for (std::size_t s = 0; s < moves[static_cast<std::size_t>(l)].size(); ++s) {
      const auto [i, j] = moves[static_cast<std::size_t>(l)][s];
      first.map("k").set(static_cast<std::int64_t>(s) * n + i, key.at(l), 1);
      first.map("k").set(static_cast<std::int64_t>(s) * n + j, key.at(l), -1);
    }
  for (std::int64_t s = 0; s < exchanges; ++s) first.map("beta").set(s, letter.at(0), 1);
  first.map("k").set(exchanges * n, pair.at(0), 1);
  first.map("v").set(exchanges, pair.at(0), 1);
  first.map("beta").bias(exchanges, 1);
  first.table("beta", 0, {0, 1});
  for (std::int64_t c = 0; c < n; ++c) first.map("q").bias(c, c);
  first.map("o").set(mark.at(0), 0, 1);
  first.after("mark: where the letters so far left it");
  const Number place = first.mlp().input(mark.at(0), 0, n - 1);
  const Bits bits = decoded_wide(first.mlp(), place, D);
  for (int d = 0; d < D; ++d) first.mlp().add(digits.at(d), bits[static_cast<std::size_t>(d)].within(0, 1));
  first.after(digits.holds);

  LayerWriter& second = model.layer(fmt::format("full(heads=1,dim={},vdim={})", D + 1, V), "one lookup");
  second.map("q").select(0, digits, 2);
  for (int d = 0; d < D; ++d) second.map("q").bias(d, -1);
  second.map("q").bias(D, 1);
  second.map("k").select(0, code, 1);
  second.map("k").set(D, pair.at(0), 1);
  second.map("k").bias(D, -D - 1);
  second.map("v").select(0, value, 1);
  second.table("score", -1, {0, 1});
  second.map("o").write(fetched, 0, 1);
  second.after("fetched: at `=`, the bits of the value at the mark");
  model.output_bits(fetched);

  RUNG_TRY(Construction made,
           finish_construction(model, task, "A delta layer and a full layer solve tracked-recall.",
                               "transpositions by the delta rule, and one lookup"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("{} entries of 2 bits follow the mark, and the score at its pair is 0, elsewhere less", n);
  made.interval = [p, proved] {
    return exact_argument(p >= proved,
                          "the state is the row of the mark, and one pair has weight 1, all else 0");
  };
  return made;
}

}  // namespace

ConstructionWord tracked_recall_construction() {
  return {.name = "tracked-recall",
          .summary = "a delta layer follows the mark, a full layer looks its value up",
          .task = "tracked-recall",
          .options = {{"group", "how letters move the mark", {"symmetric", "cyclic", "xor"}}},
          .build = build_tracked_recall};
}

}  // namespace rung
