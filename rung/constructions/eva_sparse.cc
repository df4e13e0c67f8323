// Eva by (B, 1)-sparse attention.
//
// Claim: one sparse layer that selects a single block solves Eva with one head of dimension 2⌈lg(n+1)⌉ at p =
// O(log log n) bits: a block's compressed key is the code of its number, the block of x wins, and the
// retrieval gadget works inside it. Reference: ours; block compression and selection as in NSA 2502.11089;
// retrieval_head.h.
//
// Input: as for the full layer: the code of the position, the bits of the token, the token's code as a
// target. Layer 1: the compressed key of block r is the code of r (the high digits of its first position) in
// the coordinates of the high digits, so the score of block r is -2β (distance of r and x div B): 0 for one
// block alone, which is selected (unless x lies in the unfinished block, which is always read). Inside, the
// scores are those of the gadget; at most 2B tokens take part. mix = 0: only the selected tokens count.
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// The smallest power of two whose square is at least n: blocks and tokens of a block are then about as many.
std::int64_t balanced_block(std::int64_t n) {
  std::int64_t B = 1;
  while (B * B < n) B *= 2;
  return B;
}

// The smallest p at which a head over `keys` of the 2^D codes reads its target.
int few_keys_precision(int digits, std::int64_t keys) {
  int p = 2;
  while (p < 48 && retrieval_leak(retrieval_gadget(digits, keys, p), keys) >= 1) ++p;
  return p;
}

}  // namespace

Result<Construction> build_eva_sparse(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("eva", request.sizes));
  const std::int64_t n = task->size()["n"], positions = n + 1, B = balanced_block(n);
  const int D = digits_for(positions), low = B == 1 ? 0 : digits_for(B), V = digits_for(n);
  const std::int64_t keys = std::min(2 * B, positions);
  const int proved = few_keys_precision(D, keys);
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, keys, p);

  ModelWriter model(*task, p);
  const auto [head, fetched] = lookup_row(model, D, V, D);
  LayerWriter& layer = model.layer(fmt::format("sparse(B={},k=1,heads=1,dim={},vdim={})", B, 2 * D, V),
                                   "one block, one lookup in it");
  write_retrieval(layer, gadget, {head});
  for (int d = low; d < D; ++d) {  // the first token of the block stands for all
    layer.map("compress_k").set(d, head.code.at(d), 1);
    layer.map("compress_k").set(D + d, head.one.at(0), 1);
  }
  layer.after("fetched: at the last position, the bits of f(x)");
  model.output_bits(fetched);

  RUNG_TRY(Construction made,
           finish_construction(
               model, task,
               fmt::format("One sparse layer with blocks of {} that selects one block solves Eva.", B),
               "block selection by the block's code, then the retrieval gadget (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format("retrieval among at most {} tokens: beta = {}, leak = {:.4f} < 1", keys,
                           gadget.beta, retrieval_leak(gadget, keys));
  made.interval = [gadget, keys] {
    const double leak = retrieval_leak(gadget, keys);
    return leak_argument(leak,
                         "the right block has the only score of 0, and its other tokens weigh less than "
                         "the target, whatever they hold");
  };
  return made;
}

}  // namespace rung
