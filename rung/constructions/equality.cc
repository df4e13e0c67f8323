// Equality and disjointness of two strings by two full layers.
//
// Claim: two full layers with one head decide a#b# at p = O(log log n) bits; one full layer or a recurrence
// needs linear size. Reference: Bhattamishra et al. 2406.09347; retrieval_head.h, presence_head.h.
//
// Input: the row of position t holds the code of t, its bit, and, where it holds b_i, the code of a_i's
// position as a target. Layer 1: b_i fetches a_i; MLP: flag = [a_i != b_i] (equality) or [a_i and b_i]
// (disjointness), 0 outside b. Layer 2: the last token reads 1 iff some token is flagged. The answer is yes
// iff it reads 0.
#include "rung/constructions/construction.h"
#include "rung/constructions/presence_head.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

Result<Construction> build_two_strings(const ConstructionRequest& request, bool equal) {
  RUNG_TRY(const std::shared_ptr<const Task> task,
           make_task(equal ? "equality" : "disjointness", request.sizes));
  const std::int64_t n = task->size()["n"], T = task->prompt_length();
  const int D = digits_for(T);
  const int proved = std::max(retrieval_precision_proved(D, T), presence_precision_proved(T));
  const int p = request.precision.value_or(proved);
  const RetrievalGadget lookup = retrieval_gadget(D, T, p);
  const PresenceGadget presence = presence_gadget(T, p);

  ModelWriter model(*task, p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot target = model.slot("target", D, "at b_i: code of the position of a_i; 0 elsewhere");
  const Slot one = model.slot("one", 1, "1");
  const Slot second = model.slot("second", 1, "1 at the bits of b");
  const Slot bit = model.slot("bit", 1, "the token's bit; 0 at #");
  const Slot fetched = model.slot("fetched", 1, "0 at first; after layer 1, at b_i: a_i");
  const Slot flag = model.slot("flag", 1,
                               equal ? "after layer 1: [a_i != b_i] at b_i, 0 elsewhere"
                                     : "after layer 1: [a_i and b_i] at b_i, 0 elsewhere");
  const Slot found = model.slot("found", 1, "after layer 2, at the last token: 1 iff some flag is set");
  model.field_table("token", 3).set(1, bit.at(0), 1);
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < T; ++t) {
    const bool of_b = t > n && t < T - 1;
    const auto own = signed_code(t, D), other = signed_code(of_b ? t - n - 1 : 0, D);
    for (int d = 0; d < D; ++d) {
      position.set(t, code.at(d), own[static_cast<std::size_t>(d)]);
      if (of_b) position.set(t, target.at(d), other[static_cast<std::size_t>(d)]);
    }
    position.set(t, one.at(0), 1);
    if (of_b) position.set(t, second.at(0), 1);
  }

  const std::vector<RetrievalHead> heads{{code, target, one, {bit.at(0)}, {fetched.at(0)}}};
  LayerWriter& first = model.layer(retrieval_mixer(lookup, heads), "b_i fetches a_i");
  write_retrieval(first, lookup, heads);
  ReluCircuit& mlp = first.mlp();
  const Number a = restored(mlp, mlp.input(fetched.at(0), 0, 1)), b = mlp.input(bit.at(0), 0, 1),
               s = mlp.input(second.at(0), 0, 1);
  mlp.add(flag.at(0), equal ? mlp.relu(a - b + s - 1) + mlp.relu(b - a + s - 1) : all_of(mlp, {a, b, s}));
  first.after("fetched: a_i at b_i, something else at other tokens");
  first.after(flag.holds);

  const PresenceHead test{flag, one, {flag.at(0)}, {found.at(0)}};
  LayerWriter& last = model.layer(presence_mixer(test), "is any token flagged");
  write_presence(last, presence, test);
  last.after(found.holds);
  model.output_yes(found, -2, -1);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task,
                          fmt::format("Two full layers with one head decide {} of two strings of n bits.",
                                      equal ? "equality" : "disjointness"),
                          "Bhattamishra et al. 2406.09347; retrieval gadget, presence head"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("retrieval: delta = {:.4f} < 1 over {} digits; presence: leak = {:.4f} < 1 over {} tokens",
                  lookup.delta, D, presence.leak, T);
  made.interval = [lookup, presence, T] {
    const double leak = std::max(retrieval_leak(lookup, T), presence.leak);
    return leak_argument(
        leak, "in both layers the other tokens weigh less than the one that counts, whatever they hold");
  };
  return made;
}

}  // namespace

ConstructionWord equality_construction() {
  return {.name = "equality",
          .summary = "a = b by two full layers",
          .task = "equality",
          .build = [](const ConstructionRequest& request) { return build_two_strings(request, true); }};
}
ConstructionWord disjointness_construction() {
  return {.name = "disjointness",
          .summary = "no common element of two sets, by two full layers",
          .task = "disjointness",
          .build = [](const ConstructionRequest& request) { return build_two_strings(request, false); }};
}

}  // namespace rung
