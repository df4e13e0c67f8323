#include "rung/constructions/last_match.h"

namespace rung {

Result<int> last_match_precision(int key_digits, std::int64_t candidates, std::int64_t tokens) {
  if (const auto p = last_match_precision_proved(key_digits, candidates, tokens)) return *p;
  return fail(ErrorCode::resource,
              "[build] counting {} candidates needs more than {} bits; expected a smaller size", candidates,
              kMostPrecision);
}

IntervalArgument last_match_argument(const RetrievalGadget& before, const LastMatchGadget& gadget) {
  const double leak = std::max(before.delta, gadget.leak);
  const bool holds = gadget.holds() && before.delta < 1;
  return {holds, leak, holds ? 1 - leak : 0,
          "counts are exact, and in every lookup the others weigh less than the target, whatever they hold"};
}

void write_last_match(ModelWriter& model, const LastMatchGadget& gadget, const LastMatchSlots& slots) {
  const std::int64_t K = slots.own.size;
  const std::int64_t C = gadget.rank_digits;
  const Slot own_share =
      model.slot("own_share", 1, "V c/(c+1), c = candidates so far with this candidate's key");
  const Slot sought_share =
      model.slot("sought_share", 1, "V c/(c+1), c = candidates so far with the key sought");
  const Slot rank =
      model.slot("rank", C, "code of c at candidates, 0 elsewhere: this is the c-th candidate with its key");
  const Slot total = model.slot("total", C, "code of the number of candidates with the key sought");

  LayerWriter& count =
      model.layer(fmt::format("full(heads=2,dim={},vdim=1)", 2 * K + 1), "counts of equal keys");
  const CountingGadget& counting = gadget.counting;
  for (const std::int64_t head : {0, 1}) {
    const std::int64_t first = head * (2 * K + 1);
    count.map("q").select(first, head == 0 ? slots.own : slots.sought, counting.beta);
    count.map("k").select(first, slots.own, 1);
    for (std::int64_t d = 0; d < K; ++d) {
      count.map("q").set(first + K + d, slots.one.at(0), -counting.beta);
      count.map("k").set(first + K + d, slots.candidate.at(0), 1);
    }
    count.map("q").set(first + 2 * K, slots.one.at(0), -counting.saturation);
    count.map("k").set(first + 2 * K, slots.other.at(0), 1);
    count.map("v").set(head, slots.candidate.at(0), 1);
  }
  count.map("o").write(own_share, 0, 1);
  count.map("o").write(sought_share, 1, 1);
  count.scores(counting.scores);
  count.scalar("value.scale", counting.scale);
  ReluCircuit& mlp = count.mlp();
  const Bits own_bits =
      count_bits(mlp, counting, mlp.input(own_share.at(0), 0, counting.scale), static_cast<int>(C));
  const Bits sought_bits =
      count_bits(mlp, counting, mlp.input(sought_share.at(0), 0, counting.scale), static_cast<int>(C));
  const Number candidate = mlp.input(slots.candidate.at(0), 0, 1);
  for (std::int64_t d = 0; d < C; ++d) {
    mlp.add(rank.at(d), gated(mlp, candidate, 2 * own_bits[static_cast<std::size_t>(d)] - 1));
    mlp.add(total.at(d), 2 * sought_bits[static_cast<std::size_t>(d)] - 1);
  }
  count.after(rank.holds);
  count.after(total.holds);

  const std::int64_t D = K + C, V = static_cast<std::int64_t>(slots.values.size());
  LayerWriter& lookup = model.layer(fmt::format("full(heads=1,dim={},vdim={})", 2 * D + 1, V),
                                    "the candidate with the key sought and the total count");
  const RetrievalGadget& retrieval = gadget.lookup;
  lookup.map("q").select(0, slots.sought, retrieval.beta);
  lookup.map("q").select(K, total, retrieval.beta);
  lookup.map("k").select(0, slots.own, 1);
  lookup.map("k").select(K, rank, 1);
  for (std::int64_t d = 0; d < D; ++d) {
    lookup.map("q").set(D + d, slots.one.at(0), -retrieval.beta);
    lookup.map("k").set(D + d, slots.candidate.at(0), 1);
  }
  lookup.map("q").set(2 * D, slots.one.at(0),
                      retrieval.scores.low);  // tokens that are no candidates fall to the clip
  lookup.map("k").set(2 * D, slots.one.at(0), 1);
  lookup.map("k").set(2 * D, slots.candidate.at(0), -1);
  for (std::int64_t i = 0; i < V; ++i) {
    lookup.map("v").set(i, slots.values[static_cast<std::size_t>(i)], 1);
    lookup.map("o").set(slots.fetched[static_cast<std::size_t>(i)], i, 1);
  }
  lookup.scores(retrieval.scores);
  lookup.after("fetched: the value of the last candidate with the key sought");
}

}  // namespace rung
