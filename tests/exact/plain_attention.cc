#include <functional>
#include <numeric>

#include "tests/exact/plain_layer.h"

namespace rung::plain {
namespace {

class Attention : public LayerParts {
 public:
  using LayerParts::LayerParts;
  Rows run() const {
    if (m_.kind != MixerKind::sparse) return softmax();
    return m_.form.plain() ? sparse_attention() : window_attention();
  }

 private:
  Big score(const Row& q, const Row& k) const { return rsh(dot(q, k), scalar("score.shift")); }

  // keys and values of one head, at the positions (or blocks) `seen`.
  Row attend(const Row& q, const Rows& keys, const Rows& values, const std::vector<std::size_t>& seen) const {
    Row num(static_cast<std::size_t>(m_.value_dim), 0);
    Big den = 0;
    for (const std::size_t j : seen) {
      const Big weight = table("score", score(q, keys[j]));
      den += weight;
      for (std::size_t c = 0; c < num.size(); ++c) num[c] += weight * values[j][c];
    }
    for (auto& number : num) number = sat(quot(number, den, scalar("value.scale", 1)), bits("y.bits"));
    return num;
  }

  std::vector<std::size_t> visible(std::size_t i) const {
    std::vector<std::size_t> seen;
    for (std::size_t j = 0; j < count(); ++j) {
      const auto distance = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j);
      if (causal_ && distance < 0) continue;
      if (m_.window && std::abs(distance) >= *m_.window) continue;
      if (m_.chunk && static_cast<std::int64_t>(i) / *m_.chunk != static_cast<std::int64_t>(j) / *m_.chunk)
        continue;
      seen.push_back(j);
    }
    return seen;
  }

  // The `k` members of `candidates` with the largest merit, ties to the smaller, in increasing order.
  static std::vector<std::size_t> largest(std::vector<std::size_t> candidates, std::int64_t k,
                                          const std::function<Big(std::size_t)>& merit) {
    std::vector<std::size_t> chosen;
    while (!candidates.empty() && static_cast<std::int64_t>(chosen.size()) < k) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < candidates.size(); ++i) {
        const Big difference = merit(candidates[i]) - merit(candidates[best]);
        if (difference > 0 || (difference == 0 && candidates[i] < candidates[best])) best = i;
      }
      chosen.push_back(candidates[best]);
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  Row layer_normed(const Row& x) const {
    Big sum = 0;
    for (const auto& number : x) sum += number;
    Row z;
    for (const auto& number : x) z.push_back(number * Big(x.size()) - sum);
    const std::int64_t extra = scalar("index_norm.extra");
    const Big root =
        isqrt(power_of_two(2 * extra) * dot(z, z) / Big(x.size()) + scalar("index_norm.epsilon"));
    Row y;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const Big up = z[i] * read_.at(prefix_ + "index_norm.gain", at) *
                     power_of_two(scalar("index_norm.fraction") + extra);
      const Big normed = root == 0 ? Big(0) : sat(round_quotient(up, root), bits("index_norm.bits"));
      y.push_back(sat(normed + read_.at(prefix_ + "index_norm.bias", at), bits("index_norm.bits")));
    }
    return y;
  }

  Rows softmax() const {
    const auto channels = convolved({"q", "k", "v"});
    Rows index_q, index_k, index_mix;
    if (m_.kind == MixerKind::topk) {
      index_q = maps("index_q");
      index_k = maps("index_k");
      if (m_.form.index_norm)
        for (auto& row : index_k) row = layer_normed(row);
      index_mix = maps("index_mix");
    }
    Rows y(count());
    for (std::size_t i = 0; i < count(); ++i) {
      std::vector<std::size_t> seen = visible(i);
      if (m_.kind == MixerKind::topk)
        seen = largest(seen, m_.select, [&](std::size_t j) {
          Big sum = 0;
          for (std::int64_t h = 0; h < m_.index_heads; ++h)
            sum += (m_.signed_weights ? index_mix[i][static_cast<std::size_t>(h)]
                                      : relu(index_mix[i][static_cast<std::size_t>(h)])) *
                   relu(rsh(dot(slice(index_q[i], h, m_.index_dim), index_k[j]), scalar("index.shift")));
          return sum;
        });
      for (std::int64_t h = 0; h < m_.heads; ++h) {
        const Row out =
            attend(slice(channels[0][i], h, m_.key_dim), head_rows(channels[1], key_head(h), m_.key_dim),
                   head_rows(channels[2], key_head(h), m_.value_dim), seen);
        y[i].insert(y[i].end(), out.begin(), out.end());
      }
    }
    return y;
  }

  // What a window that begins at `first` becomes for key head g: name is compress_k or compress_v, rows k or v.
  Row window(const std::string& name, const Rows& rows, std::size_t first, std::int64_t g,
             std::int64_t dim) const {
    const std::int64_t span = m_.form.span;
    const std::string weight = prefix_ + name + ".weight", place = prefix_ + name + ".place";
    Row out;
    for (std::int64_t e = 0; e < dim; ++e) {
      const auto x = [&](std::int64_t j, std::int64_t i) {
        const Big& number = rows[first + static_cast<std::size_t>(j)][static_cast<std::size_t>(g * dim + i)];
        return read_.has(place) ? Big(number + read_.at(place, (g * span + j) * dim + i)) : number;
      };
      Big sum = 0;
      for (std::int64_t j = 0; j < span; ++j) {
        if (m_.form.compress == Compression::weighted)
          sum += read_.at(weight, g * span + j) * x(j, e);
        else if (m_.form.compress == Compression::linear)
          for (std::int64_t i = 0; i < dim; ++i)
            sum += read_.at(weight, (g * span * dim + j * dim + i) * dim + e) * x(j, i);
        else
          sum += x(j, e);
      }
      const bool mean = m_.form.compress == Compression::mean || m_.form.compress == Compression::pool;
      out.push_back(sat(mean ? quot(sum, span, 1) : rsh(sum, scalar((name + ".shift").c_str())),
                        bits((name + ".bits").c_str())));
    }
    return out;
  }

  Rows window_attention() const {
    const Rows q = maps("q"), k = maps("k"), v = maps("v"), mixes = maps("mix");
    const std::int64_t span = m_.form.span, stride = m_.form.stride, group_size = m_.heads / m_.kv_heads;
    Rows y(count());
    for (std::size_t i = 0; i < count(); ++i)
      for (std::int64_t h = 0; h < m_.heads; ++h) {
        const std::int64_t g = h / group_size, now = static_cast<std::int64_t>(i), own = now / m_.block;
        const auto query = [&](std::int64_t head) { return slice(q[i], head, m_.key_dim); };
        Rows window_keys, window_values;
        std::vector<std::size_t> seen;
        for (std::int64_t c = 0; c * stride + span - 1 <= now; ++c) {
          seen.push_back(static_cast<std::size_t>(c));
          window_keys.push_back(window("compress_k", k, static_cast<std::size_t>(c * stride), g, m_.key_dim));
          window_values.push_back(
              window("compress_v", v, static_cast<std::size_t>(c * stride), g, m_.value_dim));
        }
        // The chance of every window, then the score of a block.
        Row chance(seen.size(), 0);
        for (std::int64_t head = g * group_size; head < (g + 1) * group_size; ++head) {
          Row weights;
          Big all = 0;
          for (const auto& key : window_keys)
            all += weights.emplace_back(table("score", score(query(head), key)));
          for (std::size_t c = 0; c < weights.size(); ++c)
            chance[c] += quot(weights[c], all, power_of_two(scalar("chance.fraction")));
        }
        std::vector<std::size_t> forced, others;
        for (std::int64_t b = 0; b <= own; ++b)
          (b < m_.form.first_blocks || b > own - m_.form.local_blocks ? forced : others)
              .push_back(static_cast<std::size_t>(b));
        auto selected = largest(forced, m_.select, [](std::size_t) { return Big(0); });
        const auto more =
            largest(others, m_.select - static_cast<std::int64_t>(selected.size()), [&](std::size_t b) {
              Big sum = 0;
              for (std::int64_t a = 0; a < span / stride; ++a)
                for (std::int64_t j = 0; j < m_.block / stride; ++j) {
                  const std::int64_t c =
                      static_cast<std::int64_t>(b) * m_.block / stride + a + j - span / stride + 1;
                  if (c >= 0 && c < static_cast<std::int64_t>(chance.size()))
                    sum += chance[static_cast<std::size_t>(c)];
                }
              return sum;
            });
        selected.insert(selected.end(), more.begin(), more.end());
        std::vector<std::size_t> tokens, recent;
        for (std::size_t t = 0; t <= i; ++t) {
          if (std::count(selected.begin(), selected.end(), t / static_cast<std::size_t>(m_.block)) > 0)
            tokens.push_back(t);
          if (m_.window && static_cast<std::int64_t>(i - t) < *m_.window) recent.push_back(t);
        }
        const Rows keys = head_rows(k, g, m_.key_dim), values = head_rows(v, g, m_.value_dim);
        const Row branches[] = {attend(query(h), window_keys, window_values, seen),
                                attend(query(h), keys, values, tokens),
                                attend(query(h), keys, values, recent)};
        for (std::size_t c = 0; c < branches[0].size(); ++c) {
          Big sum = 0;
          for (std::size_t b = 0; b < (m_.window ? 3u : 2u); ++b)
            sum += table("mix", mixes[i][static_cast<std::size_t>(3 * h) + b]) * branches[b][c];
          y[i].push_back(sat(rsh(sum, scalar("mix.fraction")), bits("y.bits")));
        }
      }
    return y;
  }

  Rows sparse_attention() const {
    const Rows q = maps("q"), k = maps("k"), v = maps("v"), mixes = maps("mix");
    const auto block = static_cast<std::size_t>(m_.block);
    Rows block_k, block_v;
    for (std::size_t r = 0; (r + 1) * block <= count(); ++r) {
      Row content;
      for (std::size_t t = r * block; t < (r + 1) * block; ++t)
        content.insert(content.end(), u_[t].begin(), u_[t].end());
      if (has("compress_hidden.weight")) {
        content = read_.map(prefix_ + "compress_hidden", content);
        for (auto& number : content) number = relu(number);
      }
      block_k.push_back(read_.map(prefix_ + "compress_k", content));
      block_v.push_back(read_.map(prefix_ + "compress_v", content));
    }
    const std::int64_t fraction = scalar("mix.fraction"), group_size = m_.heads / m_.groups;
    const std::int64_t score_low = scalar("score.low"),
                       score_high = score_low + read_.extent(prefix_ + "score.table", 0) - 1;
    Rows y(count());
    for (std::size_t i = 0; i < count(); ++i) {
      std::vector<std::size_t> blocks(i / block);
      std::iota(blocks.begin(), blocks.end(), std::size_t{0});
      for (std::int64_t h = 0; h < m_.heads; ++h) {
        const std::int64_t group = h / group_size;
        const auto selected = largest(blocks, m_.select, [&](std::size_t r) {
          Big sum = 0;
          for (std::int64_t other = group * group_size; other < (group + 1) * group_size; ++other)
            sum += clip(score(slice(q[i], other, m_.key_dim), slice(block_k[r], key_head(other), m_.key_dim)),
                        score_low, score_high);
          return sum;
        });
        std::vector<std::size_t> tokens, recent;
        for (std::size_t t = 0; t <= i; ++t) {
          if (t / block == i / block || std::count(selected.begin(), selected.end(), t / block) > 0)
            tokens.push_back(t);
          if (m_.window && static_cast<std::int64_t>(i - t) < *m_.window) recent.push_back(t);
        }
        const Row query = slice(q[i], h, m_.key_dim);
        const Rows keys = head_rows(k, key_head(h), m_.key_dim),
                   values = head_rows(v, key_head(h), m_.value_dim);
        const Row compressed = attend(query, head_rows(block_k, key_head(h), m_.key_dim),
                                      head_rows(block_v, key_head(h), m_.value_dim), blocks);
        const Row chosen = attend(query, keys, values, tokens), window = attend(query, keys, values, recent);
        const auto lambda = [&](std::int64_t index) {
          return clip(mixes[i][static_cast<std::size_t>(index)], 0, power_of_two(fraction));
        };
        for (std::size_t c = 0; c < compressed.size(); ++c) {
          const Big sum =
              m_.window ? Big(lambda(3 * h) * compressed[c] + lambda(3 * h + 1) * chosen[c] +
                              lambda(3 * h + 2) * window[c])
                        : Big(lambda(h) * compressed[c] + (power_of_two(fraction) - lambda(h)) * chosen[c]);
          y[i].push_back(sat(rsh(sum, fraction), bits("y.bits")));
        }
      }
    }
    return y;
  }
};

}  // namespace

Rows attention(const TensorReader& read, const MixerShape& m, const std::string& prefix, bool causal,
               const Rows& u) {
  return Attention(read, m, prefix, causal, u).run();
}

}  // namespace rung::plain
