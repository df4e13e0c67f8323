// Eva by a state that is written entry by entry: the delta rule, a state space without decay, and linear or log-linear
// attention with one value coordinate (Index too).
//
// Claim (tight up to rounding): a state of n entries of ⌈lg n⌉ bits solves Eva, n⌈lg n⌉ bits, where no
// recurrence with fewer than n lg n does (pigeonhole). Reference: ours; the delta rule is that of Schlag,
// Irie, Schmidhuber 2102.11174, the state space that of Dao, Gu 2405.21060.
//
// Input: the row of position i < n holds e_i as its key, 0 at the last one; of the token v: the number v -
// 2^(a-1) and e_v as the query. Layer 1: keys are orthonormal and each is written once. Delta rule with beta
// = 1: S e_i = 0 before the write, so S ← S + f(i) e_iᵀ; the last token's key is 0 and changes nothing. State
// space with decay 1, and linear attention: h ← h + f(i) e_iᵀ. The last token reads entry x. No MLP. The logit of v is 2 v' read -
// v'², v' = v - 2^(a-1): largest at v = f(x).
#include <cmath>

#include "rung/constructions/eva_forms.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

Result<Construction> build_eva_written(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task(request.name, request.sizes));
  const std::string by = request.option("by", "delta");
  const bool ssd = by == "mamba2", index = request.name == "index";
  const std::int64_t n = task->size()["n"], values = index ? task->size()["sigma"] : n;
  const int entry = digits_for(values);  // bits of one state entry
  const int proved = std::max(2, entry);
  const int p = request.precision.value_or(proved);
  const std::int64_t middle = std::int64_t{1} << (entry - 1), tokens = std::max(n, values);

  ModelWriter model(*task, p);
  const Slot number = model.slot("number", 1, "the token v as v - 2^(a-1)");
  const Slot place = model.slot("place", n, "e of the position; 0 at the last position");
  const Slot wanted = model.slot("wanted", n, "e of the token: at the last position, of the argument x");
  const Slot read = model.slot("read", 1, "after layer 1, at the last position: f(x) - 2^(a-1)");
  auto& token = model.field_table("token", tokens);
  for (std::int64_t v = 0; v < tokens; ++v) {
    if (v < values) token.set(v, number.at(0), v - middle);
    if (v < n) token.set(v, wanted.at(v), 1);
  }
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t) position.set(t, place.at(t), 1);
  model.accumulator(Accumulator::wrap, std::min(p, entry));

  const std::string size = fmt::format("heads=1,dim={},vdim=1", n);
  LayerWriter& layer =
      model.layer(ssd              ? fmt::format("mamba2(heads=1,dim=1,state={})", n)
                  : by == "delta"  ? fmt::format("delta({})", size)
                  : by == "linear" ? fmt::format("linear(feature=identity,normalised=no,{})", size)
                                   : fmt::format("loglinear({})", size),
                  "the state is the table of f");
  layer.map(ssd ? "c" : "q").select(0, wanted, 1);
  layer.map(ssd ? "b" : "k").select(0, place, 1);
  layer.map(ssd ? "x" : "v").select(0, number, 1);
  layer.map("o").write(read, 0, 1);
  if (by == "delta" || ssd)
    layer.table(ssd ? "gate" : "beta", 0, {1});  // beta = 1, decay = 1, whatever the token
  if (by == "loglinear")
    for (std::int64_t level = 0; level < loglinear_levels(task->prompt_length()); ++level)
      layer.map("level").bias(level, 1);
  layer.after("read: at the last position, f(x) - 2^(a-1)");

  model.output_nearest(read.at(0), values, middle);
  RUNG_TRY(Construction made,
           finish_construction(model, task,
                               fmt::format("{} with {} state bits solves {}; n lg {} = {:.1f} are needed.",
                                           by == "delta"    ? "The delta rule"
                                           : ssd            ? "A state space"
                                           : by == "linear" ? "Linear attention"
                                                            : "Log-linear attention",
                                           n * entry, index ? "Index" : "Eva", index ? "σ" : "n",
                                           static_cast<double>(n) * std::log2(static_cast<double>(values))),
                               by == "delta" ? "orthonormal keys; Schlag, Irie, Schmidhuber 2102.11174"
                               : ssd         ? "no decay; Dao, Gu 2405.21060"
                                             : "tight: pigeonhole on all functions"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} entries of {} bits, each written once", n, entry);
  made.interval = [p, proved] {
    return exact_argument(p >= proved, "every entry of the state holds one value of f exactly");
  };
  return made;
}

}  // namespace rung
