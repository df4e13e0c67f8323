// Eva and Index by one full layer.
//
// Claim: one softmax head of dimension 2⌈lg(n+1)⌉ evaluates every f: [n] → [n] written out in its prompt, at
// p = O(log log n) bits. Reference: the retrieval gadget (retrieval_head.h); Chen, Peng, Wu 2412.02975.
//
// Input: the row of position t holds the code of t, and of its token v: the bits, and the code as a target.
// Layer 1: the last token's target is its own token x; it fetches the bits of f(x). No MLP.
#include <algorithm>

#include "rung/constructions/construction.h"
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

LookupRow lookup_row(ModelWriter& model, int digits, int value_digits, int token) {
  const Slot code = model.slot("code", digits, "code of the position, -1 or 1");
  const Slot target =
      model.slot("target", digits, "code of the token, -1 or 1: at the last position, of the argument x");
  const Slot bits = model.slot("bits", value_digits, "bits of the token: at position t < n, of f(t)");
  const Slot one = model.slot("one", 1, "1");
  const Slot fetched = model.slot("fetched", value_digits, "0 at first, then the bits that the head read");
  auto& tokens = model.field_bits("token", token);
  tokens.code(target, -1, 1);
  tokens.code(bits, 0, 1);
  tokens.constant(one, {1});
  model.position_bits(digits).code(code, -1, 1);
  return {{code, target, one, coordinates(bits), coordinates(fetched)}, fetched};
}

Result<Construction> build_eva_lookup(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task(request.name, request.sizes));
  const bool index = request.name == "index";
  const std::int64_t n = task->size()["n"], positions = n + 1, values = index ? task->size()["sigma"] : n;
  const int D = digits_for(positions);
  const int proved = retrieval_precision_proved(D, positions);
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, positions, p);

  ModelWriter model(*task, p);
  const auto [head, fetched] =
      lookup_row(model, D, digits_for(values), std::max(D, digits_for(std::max(n, values))));
  LayerWriter& layer = model.layer(retrieval_mixer(gadget, {head}), "one lookup");
  write_retrieval(layer, gadget, {head});
  layer.after("fetched: at the last position, the bits of f(x)");
  model.output_bits(fetched);

  RUNG_TRY(Construction made,
           finish_construction(model, task,
                               fmt::format("One full layer with one head of dimension 2⌈lg(n+1)⌉ solves {}.",
                                           index ? "Index" : "Eva"),
                               "retrieval gadget; Chen, Peng, Wu 2412.02975"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("retrieval: beta = {}, delta = {:.4f}; below 1 is needed over all codes of {} digits",
                  gadget.beta, gadget.delta, D);
  made.interval = [gadget, positions] {
    const double leak = retrieval_leak(gadget, positions);
    return leak_argument(
        leak, fmt::format("the {} other tokens weigh at most {:.4f} of the target, whatever they hold",
                          positions - 1, leak));
  };
  return made;
}

ConstructionWord eva_construction() {
  return {
      .name = "eva",
      .summary = "f(x) by one retrieval head, or at n lg n bits of state",
      .task = "eva",
      .options = {{"by", "the mechanism", {"full", "linear", "delta", "mamba2", "loglinear", "sparse"}},
                  {"rows", "by linear and loglinear: value coordinates of the table (the root of n)", {}}},
      .build = [](const ConstructionRequest& request) {
        const std::string by = request.option("by", "full");
        if (request.options.contains("rows") && by != "linear" && by != "loglinear")
          return Result<Construction>(
              fail(ErrorCode::range, "[build] `rows` belongs to `by` linear and loglinear, not to {}", by));
        return by == "full"                      ? build_eva_lookup(request)
               : by == "sparse"                  ? build_eva_sparse(request)
               : by == "delta" || by == "mamba2" ? build_eva_written(request)
                                                 : build_eva_linear(request);
      }};
}

}  // namespace rung
