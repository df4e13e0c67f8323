// Eva by a state that is written entry by entry: the delta rule, and a state space without decay.
//
// Claim (tight up to rounding): a state of n entries of ⌈lg n⌉ bits solves Eva, n⌈lg n⌉ bits, where no
// recurrence with fewer than n lg n does (pigeonhole). Reference: ours; the delta rule is that of Schlag,
// Irie, Schmidhuber 2102.11174, the state space that of Dao, Gu 2405.21060.
//
// Input: the row of position i < n holds e_i as its key, 0 at the last one; of the token v: the number v -
// 2^(a-1) and e_v as the query. Layer 1: keys are orthonormal and each is written once. Delta rule with beta
// = 1: S e_i = 0 before the write, so S ← S + f(i) e_iᵀ; the last token's key is 0 and changes nothing. State
// space with decay 1: h ← h + f(i) e_iᵀ. The last token reads entry x. No MLP. The logit of v is 2 v' read -
// v'², v' = v - 2^(a-1): largest at v = f(x).
#include <cmath>

#include "rung/constructions/eva_forms.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

Result<Construction> build_eva_written(const ConstructionRequest& request) {
  RUNG_TRY(auto made_task, make_task("eva", request.sizes));
  const std::shared_ptr<const Task> task = std::move(made_task);
  const bool delta = request.option("by", "delta") == "delta";
  const std::int64_t n = task->size()["n"].get<std::int64_t>();
  const int entry = digits_for(n);  // bits of one state entry
  const int proved = std::max(2, entry);
  const int p = request.precision.value_or(proved);
  const std::int64_t middle = std::int64_t{1} << (entry - 1);

  ModelWriter model(*task, p);
  const Slot number = model.slot("number", 1, "the token v as v - 2^(a-1)");
  const Slot place = model.slot("place", n, "e of the position; 0 at the last position");
  const Slot wanted = model.slot("wanted", n, "e of the token: at the last position, of the argument x");
  const Slot read = model.slot("read", 1, "after layer 1, at the last position: f(x) - 2^(a-1)");
  auto& token = model.field_table("token", n);
  for (std::int64_t v = 0; v < n; ++v) {
    token.set(v, number.at(0), v - middle);
    token.set(v, wanted.at(v), 1);
  }
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t) position.set(t, place.at(t), 1);
  model.accumulator(Accumulator::wrap, std::min(p, entry));

  LayerWriter& layer = model.layer(delta ? fmt::format("delta(heads=1,dim={},vdim=1)", n)
                                         : fmt::format("mamba2(heads=1,dim=1,state={})", n),
                                   "the state is the table of f");
  layer.map(delta ? "q" : "c").select(0, wanted, 1);
  layer.map(delta ? "k" : "b").select(0, place, 1);
  layer.map(delta ? "v" : "x").select(0, number, 1);
  layer.map("o").write(read, 0, 1);
  layer.table(delta ? "beta" : "gate", 0, {1});  // beta = 1, decay = 1, whatever the token
  layer.after("read: at the last position, f(x) - 2^(a-1)");

  model.output_nearest(read.at(0), n, middle);
  RUNG_TRY(Construction made,
           finish_construction(model, task,
                               fmt::format("{} with {} state bits solves Eva; n lg n = {:.1f} are needed.",
                                           delta ? "The delta rule" : "A state space", n * entry,
                                           static_cast<double>(n) * std::log2(static_cast<double>(n))),
                               delta ? "orthonormal keys; Schlag, Irie, Schmidhuber 2102.11174"
                                     : "no decay; Dao, Gu 2405.21060"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} entries of {} bits, each written once", n, entry);
  made.interval = [p, proved] {
    return IntervalArgument{p >= proved, 0, p >= proved ? 1.0 : 0.0,
                            "every entry of the state holds one value of f exactly"};
  };
  return made;
}

}  // namespace rung
