// The mixers of a real file that keep their tokens (docs/weights.md, "Mixers" and "Mode Q"), in intervals: full, topk, sparse.
#include "check/real_mixer.h"

namespace rung_check {
namespace {

Real dot(const Real* a, const Real* b, std::int64_t n) {
  Real total;
  for (std::int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

class RealAttention : public RealMixer {
 public:
  RealAttention(const Shape& shape, const RealSource& source)
      : s_(shape), source_(source), channels_(source, shape.conv) {
    channels_.add("q", s_.heads * s_.dk);
    channels_.add("k", s_.kv * s_.dk);
    channels_.add("v", s_.kv * s_.dv);
    channels_.finish();
    shift_ = source.source.shift("score");
    scale_ = static_cast<double>(source.source.scalar("value.scale", 1, 1, std::int64_t{1} << 32));
    tau_ = source.real("score.tau", 1);
    for (const char* name : {"score", "y"}) source.width(name);
  }

 protected:
  const Real* part(const Reals& row, std::size_t map, std::int64_t head, std::int64_t size) const {
    return row.data() + channels_.offset(map) + head * size;
  }
  std::int64_t key_head(std::int64_t head) const { return head * s_.kv / s_.heads; }
  Real score(const Real* query, const Real* key) const { return scaled(dot(query, key, s_.dk), -shift_); }
  // Softmax of one head over keys and values given by position; the largest weight is brought near 1, which
  // changes nothing.
  Reals attend(const Real* query, const std::vector<const Real*>& keys,
               const std::vector<const Real*>& values) const {
    source_.work(keys.size() * static_cast<std::uint64_t>(s_.dk + s_.dv + 4));  // 4: the exponential
    Reals scores, y(at(s_.dv));
    double top = -kInfinity;
    for (const auto* key : keys) {
      scores.push_back(Real(tau_) * score(query, key));
      top = std::max(top, scores.back().high);
    }
    if (keys.empty() || !std::isfinite(top))
      return Reals(y.size(), keys.empty() ? Real(0) : Real(-kInfinity, kInfinity));
    Real total;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const Real weight = exponential(scores[j] - Real(top));
      total += weight;
      for (std::size_t r = 0; r < y.size(); ++r) y[r] += weight * values[j][r];
    }
    for (auto& value : y) value = Real(scale_) * value / total;
    return y;
  }
  Reals attend_tokens(const std::vector<Reals>& rows, std::int64_t i, std::int64_t head,
                      const Row& which) const {
    std::vector<const Real*> keys, values;
    for (const auto j : which) {
      keys.push_back(part(rows[at(j)], 1, key_head(head), s_.dk));
      values.push_back(part(rows[at(j)], 2, key_head(head), s_.dv));
    }
    return attend(part(rows[at(i)], 0, head, s_.dk), keys, values);
  }
  Row visible(std::int64_t i, std::int64_t count) const {
    const bool causal = source_.architecture.causal;
    std::int64_t begin = 0, end = causal ? i + 1 : count;
    if (s_.window > 0) {
      begin = std::max<std::int64_t>(0, i - s_.window + 1);
      if (!causal) end = std::min(count, i + s_.window);
    }
    if (s_.chunk > 0) begin = i / s_.chunk * s_.chunk;
    return from_to(begin, end);
  }
  Reals all_heads(const std::vector<Reals>& rows, std::int64_t i, const Row& which) const {
    Reals y;
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      const Reals more = attend_tokens(rows, i, h, which);
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }

  Shape s_;
  RealSource source_;
  RealChannels channels_;
  std::int64_t shift_ = 0;
  double scale_ = 1, tau_ = 1;
};

class RealFull final : public RealAttention {
 public:
  using RealAttention::RealAttention;
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = channels_.all(u);
    std::vector<Reals> y;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(u.size()); ++i)
      y.push_back(all_heads(rows, i, visible(i, static_cast<std::int64_t>(u.size()))));
    return y;
  }
};

class RealTopK final : public RealAttention {
 public:
  RealTopK(const Shape& shape, const RealSource& source)
      : RealAttention(shape, source),
        query_(source, "index_q", shape.index_heads * shape.index_dim, source.architecture.width),
        key_(source, "index_k", shape.index_dim, source.architecture.width),
        weights_(source, "index_mix", shape.index_heads, source.architecture.width),
        index_shift_(source.source.shift("index")) {
    if (!shape.form.index_norm) return;
    gain_ = source.reals("index_norm.gain", {shape.index_dim});
    bias_ = source.reals("index_norm.bias", {shape.index_dim});
    source.width("index_norm");
    epsilon_ = real_epsilon(source, "index_norm.epsilon");
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = channels_.all(u);
    std::vector<Reals> y, keys;
    for (const auto& row : u) {
      keys.push_back(key_(row, source_.source.budget));
      if (gain_.empty()) continue;
      Real mean;
      for (const auto& x : keys.back()) mean += x;
      mean = mean / Real(static_cast<double>(gain_.size()));
      for (auto& x : keys.back()) x = x - mean;
      keys.back() = real_normalised(keys.back(), gain_, static_cast<double>(gain_.size()), 0, epsilon_);
      for (std::size_t i = 0; i < bias_.size(); ++i) keys.back()[i] += Real(bias_[i]);
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(u.size()); ++i) {
      const Reals query = query_(u[at(i)], source_.source.budget),
                  weight = weights_(u[at(i)], source_.source.budget);
      const Row seen = visible(i, static_cast<std::int64_t>(u.size()));
      source_.work(seen.size() * static_cast<std::uint64_t>(s_.index_heads * (s_.index_dim + 1)));
      Reals index;
      for (const auto j : seen) {
        Real total;
        for (std::int64_t h = 0; h < s_.index_heads; ++h)
          total +=
              (s_.signed_weights ? weight[at(h)] : positive_part(weight[at(h)])) *
              positive_part(scaled(dot(query.data() + h * s_.index_dim, keys[at(j)].data(), s_.index_dim),
                                   -index_shift_));
        index.push_back(total);
      }
      Row which = certainly_largest(index, s_.select, source_.source.budget);
      for (auto& j : which) j = seen[at(j)];
      y.push_back(all_heads(rows, i, which));
    }
    return y;
  }

 private:
  RealMap query_, key_, weights_;
  std::int64_t index_shift_;
  std::vector<double> gain_, bias_;  // of the index keys' layer norm; empty: none
  double epsilon_ = 0;
};

class RealSparse final : public RealAttention {
 public:
  RealSparse(const Shape& shape, const RealSource& source) : RealAttention(shape, source) {
    const std::int64_t width = source.architecture.width;
    std::int64_t content = s_.block * width;
    if (source.source.has("compress_hidden.weight")) {
      const Tensor& weight = source.source.file.take(source.source.prefix + "compress_hidden.weight");
      if (weight.shape.size() != 2)
        throw Malformed(text(source.source.prefix, "compress_hidden.weight has no two axes"));
      hidden_.emplace(source, "compress_hidden", weight.shape[0], content);
      content = hidden_->rows;
    }
    key_ = RealMap(source, "compress_k", s_.kv * s_.dk, content);
    value_ = RealMap(source, "compress_v", s_.kv * s_.dv, content);
    weights_ = RealMap(source, "mix", (s_.window > 0 ? 3 : 1) * s_.heads, width);
    fraction_ = source.source.fraction("mix.fraction", 30);
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = channels_.all(u);
    std::vector<Reals> keys, values, y;
    for (std::int64_t r = 0; (r + 1) * s_.block <= static_cast<std::int64_t>(u.size()); ++r) {
      Reals content;
      for (const auto t : from_to(r * s_.block, (r + 1) * s_.block))
        content.insert(content.end(), u[at(t)].begin(), u[at(t)].end());
      if (hidden_) {
        content = (*hidden_)(content, source_.source.budget);
        for (auto& x : content) x = positive_part(x);
      }
      keys.push_back(key_(content, source_.source.budget));
      values.push_back(value_(content, source_.source.budget));
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(u.size()); ++i) {
      const std::int64_t blocks = i / s_.block;
      source_.work(at(blocks) * at(s_.heads * s_.dk));
      std::vector<Reals> sums(at(s_.groups), Reals(at(blocks)));
      for (std::int64_t h = 0; h < s_.heads; ++h)
        for (std::int64_t r = 0; r < blocks; ++r)
          sums[at(h * s_.groups / s_.heads)][at(r)] +=
              score(part(rows[at(i)], 0, h, s_.dk), keys[at(r)].data() + key_head(h) * s_.dk);
      std::vector<Row> selected;
      for (const auto& sum : sums)
        selected.push_back(certainly_largest(sum, s_.select, source_.source.budget));
      const Reals weight = weights_(u[at(i)], source_.source.budget);
      const double one = std::ldexp(1.0, static_cast<int>(fraction_));
      Reals out;
      for (std::int64_t h = 0; h < s_.heads; ++h) {
        Row tokens;
        for (const auto r : selected[at(h * s_.groups / s_.heads)])
          for (const auto j : from_to(r * s_.block, (r + 1) * s_.block)) tokens.push_back(j);
        for (const auto j : from_to(blocks * s_.block, i + 1)) tokens.push_back(j);
        std::vector<const Real*> block_keys, block_values;
        for (std::int64_t r = 0; r < blocks; ++r) {
          block_keys.push_back(keys[at(r)].data() + key_head(h) * s_.dk);
          block_values.push_back(values[at(r)].data() + key_head(h) * s_.dv);
        }
        const Reals cmp = attend(part(rows[at(i)], 0, h, s_.dk), block_keys, block_values),
                    sel = attend_tokens(rows, i, h, tokens);
        const auto share = [&](std::int64_t which) { return clipped(weight[at(which)], 0, one); };
        Reals win(cmp.size());
        if (s_.window > 0)
          win = attend_tokens(rows, i, h, from_to(std::max<std::int64_t>(0, i - s_.window + 1), i + 1));
        for (std::size_t r = 0; r < cmp.size(); ++r)
          out.push_back(scaled(
              s_.window > 0 ? share(3 * h) * cmp[r] + share(3 * h + 1) * sel[r] + share(3 * h + 2) * win[r]
                            : share(h) * cmp[r] + (Real(one) - share(h)) * sel[r],
              -fraction_));
      }
      y.push_back(std::move(out));
    }
    return y;
  }

 private:
  std::optional<RealMap> hidden_;
  RealMap key_, value_, weights_;
  std::int64_t fraction_ = 0;
};

// sparse in its released form.
class RealWindows final : public RealAttention {
 public:
  RealWindows(const Shape& shape, const RealSource& source)
      : RealAttention(shape, source),
        key_(source, "compress_k", shape, shape.dk),
        value_(source, "compress_v", shape, shape.dv),
        gates_(source, "mix", 3 * shape.heads, source.architecture.width),
        gate_(source.function("mix", "sigmoid")),
        fraction_(source.source.fraction("mix.fraction", 30)) {
    if (shape.form.compress != "mean")
      key_.place = source.reals("compress_k.place", {shape.kv, shape.form.span, shape.dk});
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = channels_.all(u);
    const auto count = static_cast<std::int64_t>(u.size());
    std::vector<Reals> keys, values, y;
    for (std::int64_t first = 0; first + s_.form.span <= count; first += s_.form.stride) {
      keys.push_back(joined(key_, rows, 1, first));
      values.push_back(joined(value_, rows, 2, first));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t seen = i + 1 < s_.form.span ? 0 : at((i + 1 - s_.form.span) / s_.form.stride + 1);
      const Reals gates = gates_(u[at(i)], source_.source.budget);
      std::vector<Row> chosen;
      for (std::int64_t g = 0; g < s_.kv; ++g) chosen.push_back(tokens(rows[at(i)], i, g, keys, seen));
      Reals out;
      for (std::int64_t h = 0; h < s_.heads; ++h) {
        std::vector<const Real*> window_keys, window_values;
        for (std::size_t c = 0; c < seen; ++c) {
          window_keys.push_back(keys[c].data() + key_head(h) * s_.dk);
          window_values.push_back(values[c].data() + key_head(h) * s_.dv);
        }
        std::vector<Reals> branches = {attend(part(rows[at(i)], 0, h, s_.dk), window_keys, window_values),
                                       attend_tokens(rows, i, h, chosen[at(key_head(h))])};
        if (s_.window > 0)
          branches.push_back(
              attend_tokens(rows, i, h, from_to(std::max<std::int64_t>(0, i - s_.window + 1), i + 1)));
        for (std::int64_t r = 0; r < s_.dv; ++r) {
          Real total;
          for (std::size_t b = 0; b < branches.size(); ++b)
            total += gate_(gates[at(3 * h) + b]) * branches[b][at(r)];
          out.push_back(scaled(total, -fraction_));
        }
      }
      y.push_back(std::move(out));
    }
    return y;
  }

 private:
  struct Joint {
    Joint(const RealSource& source, const std::string& name, const Shape& s, std::int64_t d) : dim(d) {
      source.width(name);
      if (s.form.compress != "weighted" && s.form.compress != "linear") return;
      weight = source.reals(name + ".weight", s.form.compress == "weighted" ? Row{s.kv, s.form.span}
                                                                            : Row{s.kv, s.form.span * d, d});
      shift = source.source.shift(name);
    }
    std::int64_t dim, shift = 0;
    std::vector<double> weight, place;
  };
  // One key, or one value, of the window that begins at `first`, for every key head.
  Reals joined(const Joint& joint, const std::vector<Reals>& rows, std::size_t map,
               std::int64_t first) const {
    const std::int64_t span = s_.form.span, dim = joint.dim;
    const bool linear = s_.form.compress == "linear";
    source_.work(at(s_.kv * span * dim) * at(linear ? dim : 1));
    Reals out;
    for (std::int64_t g = 0; g < s_.kv; ++g) {
      Reals sums(at(dim));
      for (std::int64_t j = 0; j < span; ++j)
        for (std::int64_t i = 0; i < dim; ++i) {
          Real x = part(rows[at(first + j)], map, g, dim)[i];
          if (!joint.place.empty()) x += Real(joint.place[at((g * span + j) * dim + i)]);
          if (joint.weight.empty())
            sums[at(i)] += x;
          else if (!linear)
            sums[at(i)] += Real(joint.weight[at(g * span + j)]) * x;
          for (std::int64_t e = 0; linear && e < dim; ++e)
            sums[at(e)] += Real(joint.weight[at(((g * span + j) * dim + i) * dim + e)]) * x;
        }
      for (const auto& sum : sums)
        out.push_back(joint.weight.empty() ? sum / Real(static_cast<double>(span))
                                           : scaled(sum, -joint.shift));
    }
    return out;
  }
  // The tokens of the blocks that key head g selects at i.
  Row tokens(const Reals& row, std::int64_t i, std::int64_t g, const std::vector<Reals>& keys,
             std::size_t seen) const {
    Reals chance(seen);
    source_.work(seen * (seen + at(s_.dk)) * at(s_.heads));
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      if (key_head(h) != g) continue;
      Reals scores;
      for (std::size_t c = 0; c < seen; ++c)
        scores.push_back(Real(tau_) * score(part(row, 0, h, s_.dk), keys[c].data() + g * s_.dk));
      for (std::size_t c = 0; c < seen; ++c) {
        Real over = 1;  // 1 / share: the sum of e^(s_j - s_c)
        for (std::size_t j = 0; j < seen; ++j)
          if (j != c) over += exponential(scores[j] - scores[c]);
        chance[c] += Real(1) / over;
      }
    }
    const std::int64_t own = i / s_.block, per_block = s_.block / s_.form.stride,
                       reach = s_.form.span / s_.form.stride;
    source_.work(at(own + 1) * at(per_block) * at(reach));
    Row forced, others;
    Reals scores;
    for (std::int64_t b = 0; b <= own; ++b) {
      if (b < s_.form.first || b > own - s_.form.local) {
        forced.push_back(b);
        continue;
      }
      others.push_back(b);
      scores.emplace_back();
      for (std::int64_t a = 0; a < reach; ++a)
        for (std::int64_t j = 0; j < per_block; ++j)
          if (const std::int64_t c = b * per_block + a + j - reach + 1;
              c >= 0 && c < static_cast<std::int64_t>(seen))
            scores.back() += chance[at(c)];
    }
    if (static_cast<std::int64_t>(forced.size()) > s_.select) forced.resize(at(s_.select));
    const std::int64_t left = s_.select - static_cast<std::int64_t>(forced.size());
    Row blocks = forced;
    if (left > 0)
      for (const auto o : certainly_largest(scores, left, source_.source.budget))
        blocks.push_back(others[at(o)]);
    Row out;
    for (const auto b : blocks)
      for (const auto t : from_to(b * s_.block, std::min((b + 1) * s_.block, i + 1))) out.push_back(t);
    return out;
  }

  Joint key_, value_;
  RealMap gates_;
  RealFunction gate_;
  std::int64_t fraction_;
};

}  // namespace

std::unique_ptr<RealMixer> make_real_attention(const Shape& shape, const RealSource& source) {
  if (shape.kind == "full") return std::make_unique<RealFull>(shape, source);
  if (shape.kind == "topk") return std::make_unique<RealTopK>(shape, source);
  if (shape.kind == "sparse" && !shape.form.plain()) return std::make_unique<RealWindows>(shape, source);
  if (shape.kind == "sparse") return std::make_unique<RealSparse>(shape, source);
  return nullptr;
}

}  // namespace rung_check
