#include "rung/learn/mixers/token_selection.h"

#include <cmath>

namespace rung::learn {

torch::Tensor attention_by_index(const AttentionRows& rows, const IndexRows& index, const MixerShape& shape,
                                 const torch::Tensor& hidden) {
  const torch::Tensor mix = shape.signed_weights ? index.mix : index.mix.relu();
  const torch::Tensor each = torch::matmul(index.q, index.k.transpose(-1, -2)).relu();  // [E, B, Hi, T, T]
  const torch::Tensor score = (mix.transpose(2, 3).unsqueeze(-1) * each).sum(2);        // [E, B, T, T]
  // Ties go to the smaller position: a stable descending sort keeps them in order.
  const torch::Tensor ranked =
      std::get<1>(score.detach().masked_fill(hidden, -INFINITY).sort(true, -1, true));
  const torch::Tensor chosen = ranked.narrow(-1, 0, std::min(shape.select, score.size(-1)));
  const torch::Tensor unseen =
      torch::ones_like(score, torch::kBool).scatter_(-1, chosen, false).logical_or_(hidden);
  const torch::Tensor logits =
      torch::matmul(rows.q, rows.k.transpose(-1, -2)) * rows.tau + (score - score.detach()).unsqueeze(2);
  return torch::matmul(logits.masked_fill(unseen.unsqueeze(2), -INFINITY).softmax(-1), rows.v);
}

}  // namespace rung::learn
