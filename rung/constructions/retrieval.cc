// Retrieval of pairs by one full layer.
//
// Claim: one softmax head of dimension 2D reads the value of the pair with the asked key, among n pairs with
// distinct keys of D bits, at p = O(log D) bits. Reference: the retrieval gadget (retrieval_head.h); Chen,
// Peng, Wu 2412.02975.
//
// The query carries the asked key itself, so its own key must not match: codes are kept as differences of two
// coordinates, the role `query` adds more than any number to both, the embedding saturates both at the same
// number, and the query's own key is (0^D, 1^D) at score -βD. Input: digits of the key and bits of the value.
// Layer 1: fetched, at the query, holds the bits of the asked value. No MLP.
#include "rung/constructions/construction.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

Result<Construction> build_retrieval(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("retrieval", request.sizes));
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), sigma = size["sigma"].get<std::int64_t>();
  const int D = size["D"].get<int>(), value_digits = digits_for(sigma);
  const int proved = pair_precision_proved(D, n);
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, n + 1, p);

  ModelWriter model(*task, p);
  constexpr int kBlankBits = 16;  // 2^16 blanks every number of a row of at most 16 bits
  model.stream_bits(std::min(p, kBlankBits));
  const Slot high =
      model.slot("digit 1", D, "1 where a digit of the key is 1; at the query the largest number");
  const Slot low =
      model.slot("digit 0", D, "1 where a digit of the key is 0; at the query the largest number");
  const Slot target = model.slot("target", D, "code of the key, -1 or 1: at the query, of the asked one");
  const Slot bits = model.slot("bits", value_digits, "bits of the value");
  const Slot one = model.slot("one", 1, "1");
  const Slot fetched = model.slot("fetched", value_digits, "0, then the bits that the head read");
  auto& key = model.field_bits("key", D);
  key.code(high, 0, 1);
  key.code(low, 1, 0);
  key.code(target, -1, 1);
  key.constant(one, {1});
  model.field_bits("value", digits_for(sigma + 1)).code(bits, 0, 1);
  auto& role = model.field_table("role", 2);
  constexpr std::int64_t kQuery = 1;
  for (std::int64_t d = 0; d < D; ++d) {
    role.set(kQuery, high.at(d), std::int64_t{1} << kBlankBits);
    role.set(kQuery, low.at(d), std::int64_t{1} << kBlankBits);
  }

  LayerWriter& layer =
      model.layer(fmt::format("full(heads=1,dim={},vdim={})", 2 * D, value_digits), "one lookup by key");
  layer.map("k").select(0, high, 1);
  layer.map("k").select(0, low, -1);
  layer.map("q").select(0, target, gadget.beta);
  for (std::int64_t d = 0; d < D; ++d) {
    layer.map("k").set(D + d, one.at(0), 1);
    layer.map("q").set(D + d, one.at(0), -gadget.beta);
  }
  layer.map("v").select(0, bits, 1);
  layer.map("o").write(fetched, 0, 1);
  layer.scores(gadget.scores);
  layer.after("fetched: at the query, the bits of the value of the asked key");
  model.output_bits(fetched);
  RUNG_TRY(
      Construction made,
      finish_construction(
          model, task, "One full layer with one head of dimension 2D retrieves the value of a key of D bits.",
          "retrieval gadget; Chen, Peng, Wu 2412.02975"));
  made.p_proved = proved;
  made.lemma = fmt::format(
      "retrieval: beta = {}, leak = {:.4f}; below 1 is needed over the {} nearest keys of {} bits and the "
      "query itself",
      gadget.beta, pair_leak(gadget, n), n - 1, D);
  made.interval = [gadget, n] {
    const double leak = pair_leak(gadget, n);
    return leak_argument(
        leak,
        fmt::format("the {} other tokens weigh at most {:.4f} of the target, whatever they hold", n, leak));
  };
  return made;
}

}  // namespace

ConstructionWord retrieval_construction() {
  return {.name = "retrieval",
          .summary = "the value of a key by one retrieval head",
          .task = "retrieval",
          .build = build_retrieval};
}

}  // namespace rung
