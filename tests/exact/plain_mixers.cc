#include <algorithm>

#include "tests/exact/plain_layer.h"

namespace rung::plain {

namespace {

using Matrix = std::vector<Row>;  // a state: [value row][key column]

class Layer : public LayerParts {
 public:
  using LayerParts::LayerParts;

  Rows run() const {
    using enum MixerKind;
    switch (m_.kind) {
      case full:
      case topk:
      case sparse:
        return attention(read_, m_, prefix_, causal_, u_);
      case linear:
        return linear_attention();
      case mamba2:
      case delta:
      case gdelta:
        return matrix_recurrence();
      case loglinear:
        return log_linear();
      case mamba:
        return selective();
      case rnn:
        return elman();
      case gru:
        return gated_unit();
      case MixerKind::conv:
        return convolution();
      case identity:
        return finished(maps("v"));
      case heads: {
        Rows y(u_.size());
        for (std::size_t j = 0; j < m_.parts.size(); ++j) {
          const Rows part = mix(read_, m_.parts[j], prefix_ + "part." + std::to_string(j) + ".", causal_, u_);
          for (std::size_t t = 0; t < y.size(); ++t) y[t].insert(y[t].end(), part[t].begin(), part[t].end());
        }
        return y;
      }
      case none:
      case gla:
      case kda:
      case rwkv7:
      case recurrent:
      case compressed:
        break;
    }
    RUNG_REQUIRE(false, "no plain form of mixer {}", static_cast<int>(m_.kind));
    return {};
  }

 private:
  // Linear family
  // ------------------------------------------------------------------------------------------------------

  Row feature(const Row& x, bool is_key) const {
    Row out;
    switch (m_.feature) {
      case FeatureMap::identity:
        return x;
      case FeatureMap::relu:
        for (const auto& number : x) out.push_back(relu(number));
        return out;
      case FeatureMap::elu1:
      case FeatureMap::exp:
        for (const auto& number : x) out.push_back(sat(table("feature", number), bits("feature.bits")));
        return out;
      case FeatureMap::taylor2: {
        const std::int64_t g = scalar("feature.fraction"), more = is_key ? 0 : 1;
        out.push_back(power_of_two(2 * g + more));
        for (const auto& number : x) out.push_back(power_of_two(g + more) * number);
        for (const auto& a : x)
          for (const auto& b : x) out.push_back(a * b);
        for (auto& number : out) number = sat(rsh(number, scalar("feature.shift")), bits("feature.bits"));
        return out;
      }
    }
    return out;
  }

  Rows linear_attention() const {
    const auto channels = convolved({"q", "k", "v"});
    Rows y(count());
    for (std::int64_t h = 0; h < m_.heads; ++h) {
      Rows query, key, value = head_rows(channels[2], h, m_.value_dim);
      for (std::size_t t = 0; t < count(); ++t) {
        query.push_back(feature(slice(channels[0][t], h, m_.key_dim), false));
        key.push_back(feature(slice(channels[1][t], h, m_.key_dim), true));
      }
      for (std::size_t i = 0; i < count(); ++i) {
        const std::size_t end = causal_ ? i + 1 : count();
        for (std::size_t r = 0; r < static_cast<std::size_t>(m_.value_dim); ++r) {
          Big num = 0, den = 0;
          if (read_.accumulator() == Accumulator::exact) {  // the parallel form: weights φ(q_i)·φ(k_j)
            for (std::size_t j = 0; j < end; ++j) {
              num += dot(query[i], key[j]) * value[j][r];
              den += dot(query[i], key[j]);
            }
          } else {
            for (std::size_t c = 0; c < query[i].size(); ++c) {
              num += state_entry(value, key, r, c, end) * query[i][c];
              den += sum_entry(key, c, end) * query[i][c];
            }
          }
          y[i].push_back(
              sat(m_.normalised ? quot(num, den, scalar("value.scale", 1)) : rsh(num, scalar("read.shift")),
                  bits("y.bits")));
        }
      }
    }
    return y;
  }
  // S[r][c] after tokens 0 … end-1: a sum taken modulo 2^a once, or rounded and saturated token by token.
  Big state_entry(const Rows& value, const Rows& key, std::size_t r, std::size_t c, std::size_t end) const {
    Big s = 0;
    for (std::size_t j = 0; j < end; ++j)
      s = read_.accumulator() == Accumulator::wrap
              ? Big(s + value[j][r] * key[j][c])
              : sat(s + rsh(value[j][r] * key[j][c], scalar("update.shift")), read_.state_bits());
    return read_.settle(s);
  }
  Big sum_entry(const Rows& key, std::size_t c, std::size_t end) const {
    Big z = 0;
    for (std::size_t j = 0; j < end; ++j)
      z = read_.accumulator() == Accumulator::wrap ? Big(z + key[j][c])
                                                   : sat(z + key[j][c], read_.state_bits());
    return read_.settle(z);
  }

  // Matrix states: what one token does to a state, for linear (inside log-linear), mamba2, delta, gdelta
  // -------------------

  struct Token {
    Row q, k, v;  // features for linear; c, b, x for mamba2
    Big gate, beta;
    Big step = 1;                   // of mamba2
    std::vector<Token> later = {};  // further steps of the delta rule: k, v and beta
  };

  Row to_length(const Row& x) const {
    Row y(x.size(), 0);
    if (m_.form.plain() ? !has("key.fraction") : m_.form.key_norm == KeyNorm::none) return x;
    if (m_.form.key_norm == KeyNorm::sum) {
      Big total = 0;
      for (const auto& number : x) total += number;
      for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = sat(quot(x[i], total, power_of_two(scalar("key.fraction"))), bits("key.bits"));
      return y;
    }
    const std::int64_t extra = scalar("key.extra", 8);
    const Big epsilon = m_.form.key_norm == KeyNorm::l2 ? Big(scalar("key.epsilon")) : Big(0);
    const Big root = isqrt(power_of_two(2 * extra) * dot(x, x) + epsilon);
    if (root == 0) return y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = sat(round_quotient(x[i] * power_of_two(scalar("key.fraction") + extra), root), bits("key.bits"));
    return y;
  }

  MixerKind base() const { return m_.kind == MixerKind::loglinear ? m_.base : m_.kind; }

  // tokens[h][t]
  std::vector<std::vector<Token>> tokens() const {
    const bool is_mamba2 = base() == MixerKind::mamba2, is_linear = base() == MixerKind::linear;
    // In the order of the page: q k v, or x b c.
    const auto channels = is_mamba2 ? convolved({"x", "b", "c"}) : convolved({"q", "k", "v"});
    const Rows &q = channels[is_mamba2 ? 2 : 0], &k = channels[1], &v = channels[is_mamba2 ? 0 : 2];
    Rows gate, beta;
    const bool is_delta = base() == MixerKind::delta || base() == MixerKind::gdelta;
    const char* gate_name = is_mamba2 && m_.form.step ? "dt" : "gate";
    if (is_mamba2 || base() == MixerKind::gdelta) gate = maps(gate_name);
    if (is_delta && m_.form.beta) beta = maps("beta");
    std::vector<std::vector<Token>> out(static_cast<std::size_t>(m_.heads));
    for (std::int64_t h = 0; h < m_.heads; ++h)
      for (std::size_t t = 0; t < count(); ++t) {
        const std::int64_t from = is_linear ? h : key_head(h);
        Token token{slice(q[t], from, m_.key_dim), slice(k[t], from, m_.key_dim),
                    slice(v[t], h, m_.value_dim), 0, Big(m_.range)};
        if (is_linear) {
          token.q = feature(token.q, false);
          token.k = feature(token.k, true);
        } else if (!is_mamba2) {
          token.q = to_length(token.q);
          token.k = to_length(token.k);
        }
        if (!gate.empty()) token.gate = table(gate_name, gate[t][static_cast<std::size_t>(h)]);
        if (!gate.empty() && m_.form.step) {
          if (is_mamba2) token.step = token.gate;
          token.gate = table(
              "decay", rsh(token.gate * read_.at(prefix_ + "a.weight", h), scalar("decay.index_shift")));
        }
        if (!beta.empty()) token.beta = table("beta", beta[t][static_cast<std::size_t>(h)]);
        for (std::int64_t j = 1; j < m_.steps; ++j)
          token.later.push_back({{},
                                 to_length(slice(k[t], j * m_.kv_heads + from, m_.key_dim)),
                                 slice(v[t], j * m_.heads + h, m_.value_dim),
                                 0,
                                 table("beta", beta[t][static_cast<std::size_t>(j * m_.heads + h)])});
        out[static_cast<std::size_t>(h)].push_back(std::move(token));
      }
    return out;
  }

  // One step of the delta rule on one row of the state.
  void step(Row& row, const Big& v, const Token& token) const {
    const Big e = read_.settle(v - rsh(dot(row, token.k), scalar("predict.shift")));
    for (std::size_t c = 0; c < row.size(); ++c)
      row[c] = read_.settle(row[c] + rsh(token.beta * e * token.k[c], scalar("write.shift")));
  }

  Matrix updated(Matrix s, const Token& token, bool with_value) const {
    for (std::size_t r = 0; r < s.size(); ++r) {
      const Big v = with_value ? token.v[r] : Big(0);
      if (base() == MixerKind::linear) {
        if (!with_value) continue;
        for (std::size_t c = 0; c < s[r].size(); ++c) {
          const Big d = v * token.k[c];
          switch (read_.accumulator()) {
            case Accumulator::exact:
              s[r][c] += d;
              break;
            case Accumulator::wrap:
              s[r][c] = wrap(s[r][c] + d, read_.state_bits());
              break;
            case Accumulator::round:
              s[r][c] = sat(s[r][c] + rsh(d, scalar("update.shift")), read_.state_bits());
          }
        }
      } else if (base() == MixerKind::mamba2) {
        for (std::size_t c = 0; c < s[r].size(); ++c)
          s[r][c] = read_.settle(rsh(token.gate * s[r][c], scalar("decay.shift")) +
                                 rsh(token.step * v * token.k[c], scalar("update.shift")));
      } else {
        if (base() == MixerKind::gdelta)
          for (auto& entry : s[r]) entry = read_.settle(rsh(token.gate * entry, scalar("decay.shift")));
        step(s[r], v, token);
        for (const auto& later : token.later) step(s[r], with_value ? later.v[r] : Big(0), later);
      }
    }
    return s;
  }

  Matrix zero_state() const {
    const auto columns =
        static_cast<std::size_t>(base() == MixerKind::linear ? m_.feature_dim() : m_.key_dim);
    return Matrix(static_cast<std::size_t>(m_.value_dim), Row(columns, 0));
  }

  Rows matrix_recurrence() const {
    Rows sums(count());
    const auto heads = tokens();
    for (const auto& head : heads) {
      Matrix s = zero_state();
      for (std::size_t t = 0; t < count(); ++t) {
        s = updated(std::move(s), head[t], true);
        for (const auto& row : s) sums[t].push_back(dot(row, head[t].q));
      }
    }
    return emitted(sums, heads);
  }

  // The layer's output from what its heads read.
  Rows emitted(Rows sums, const std::vector<std::vector<Token>>& heads) const {
    const bool is_mamba2 = base() == MixerKind::mamba2;
    const std::int64_t outputs = m_.heads * m_.value_dim;
    const Big scale = m_.form.scaled ? scalar("read.scale", 1) : 1;
    for (std::size_t t = 0; t < count(); ++t)
      for (std::int64_t i = 0; i < outputs; ++i) {
        Big& o = sums[t][static_cast<std::size_t>(i)];
        o = rsh(scale * o, scalar("read.shift"));
        const std::int64_t head = i / m_.value_dim;
        if (m_.form.skip != Skip::none)
          o += rsh(read_.at(prefix_ + "skip.weight", m_.form.skip == Skip::head ? head : i) *
                       heads[static_cast<std::size_t>(head)][t].v[static_cast<std::size_t>(i % m_.value_dim)],
                   scalar("skip.shift"));
      }
    return output_stage(std::move(sums), is_mamba2 ? outputs / m_.form.norm_groups : m_.value_dim);
  }

  // Log-linear, weak: no running levels. The bucket of level l + 1 at time t holds the 2^l tokens that the set bit
  // l of t says; it was put together when its last token had passed, from the states that were live then.
  struct Bucket {
    std::size_t first = 0, size = 0;
  };
  static std::vector<std::pair<std::int64_t, Bucket>> buckets(
      std::size_t t) {  // (level, tokens) at time t, without level 0
    std::vector<std::pair<std::int64_t, Bucket>> out;
    std::size_t first = 0;
    for (int l = 62; l >= 0; --l)
      if ((t >> l) & 1) {
        out.push_back({l + 1, {first, std::size_t{1} << l}});
        first += std::size_t{1} << l;
      }
    return out;
  }
  Matrix added(Matrix a, const Matrix& b) const {
    const bool plain_sum = base() == MixerKind::linear && read_.accumulator() == Accumulator::exact;
    for (std::size_t r = 0; r < a.size(); ++r)
      for (std::size_t c = 0; c < a[r].size(); ++c)
        a[r][c] = plain_sum ? Big(a[r][c] + b[r][c]) : read_.settle(a[r][c] + b[r][c]);
    return a;
  }
  // The state of `bucket` after the update of time t. REQUIRES t >= first + size.
  Matrix bucket_state(const std::vector<Token>& head, Bucket bucket, std::size_t t) const {
    const std::size_t born = bucket.first + bucket.size;
    Matrix s = updated(zero_state(), head[born - 1], true);  // level 0 just before
    auto before = buckets(born - 1);
    std::reverse(before.begin(), before.end());  // lower levels first
    for (const auto& [level, part] : before)
      if (part.first >= bucket.first) s = added(std::move(s), bucket_state(head, part, born - 1));
    for (std::size_t now = born; now <= t; ++now) s = updated(std::move(s), head[now], false);
    return s;
  }

  // The strong partition, counted token by token: (tokens, state) of every level at time t, without level 0.
  std::vector<std::pair<std::int64_t, Matrix>> strong_levels(const std::vector<Token>& head,
                                                             std::size_t t) const {
    std::vector<std::pair<std::int64_t, Matrix>> held(static_cast<std::size_t>(m_.levels) + 1,
                                                      {0, zero_state()});
    for (std::size_t now = 0; now <= t; ++now) {
      std::pair<std::int64_t, Matrix> carry{0, zero_state()};
      for (std::size_t level = 0; level < held.size() && now > 0; ++level) {
        const std::int64_t room = level < 2 ? 1 : std::int64_t{1} << (level - 1);
        if (level == 0 || held[level].first + carry.first > room) {
          std::swap(held[level], carry);
        } else {
          held[level] = {held[level].first + carry.first, added(held[level].second, carry.second)};
          carry = {0, zero_state()};
        }
      }
      for (auto& [tokens, state] : held) state = updated(std::move(state), head[now], false);
      held[0] = {1, updated(zero_state(), head[now], true)};
    }
    return held;
  }

  Rows log_linear() const {
    const Rows levels = maps("level");
    const auto heads = tokens();
    Rows sums(count());
    for (std::size_t h = 0; h < heads.size(); ++h)
      for (std::size_t t = 0; t < count(); ++t) {
        const auto lambda = [&](std::int64_t level) {
          const Big& raw =
              levels[t][h * static_cast<std::size_t>(m_.levels) + static_cast<std::size_t>(level)];
          return has("level.table") || !m_.form.plain() ? table("level", raw) : relu(raw);
        };
        Row sum(static_cast<std::size_t>(m_.value_dim), 0);
        const auto look = [&](std::int64_t level, const Matrix& s) {
          for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += lambda(level) * dot(s[r], heads[h][t].q);
        };
        if (m_.form.strong) {
          const auto held = strong_levels(heads[h], t);
          for (std::int64_t level = 0; level < m_.levels; ++level)
            look(level, held[static_cast<std::size_t>(level)].second);
        } else {
          look(0, updated(zero_state(), heads[h][t], true));
          for (const auto& [level, bucket] : buckets(t)) look(level, bucket_state(heads[h], bucket, t));
        }
        sums[t].insert(sums[t].end(), sum.begin(), sum.end());
      }
    return emitted(std::move(sums), heads);
  }

  // Vector states
  // ------------------------------------------------------------------------------------------------------

  Rows selective() const {
    const Rows x = convolved({"x"})[0];
    const auto of = [&](const char* name, const Rows& from) {
      Rows out;
      for (const auto& row : from) out.push_back(read_.map(prefix_ + name, row));
      return out;
    };
    // With norms: every row divided by its root mean square.
    const auto rms = [&](const std::string& name, Rows rows) {
      const auto number = [&](const char* what) { return scalar((name + what).c_str()); };
      for (auto& row : rows) {
        const Big root =
            isqrt(power_of_two(2 * number(".extra")) * dot(row, row) / Big(row.size()) + number(".epsilon"));
        for (auto& entry : row)
          entry =
              root == 0
                  ? Big(0)
                  : sat(round_quotient(entry * power_of_two(number(".fraction") + number(".extra")), root),
                        bits((name + ".bits").c_str()));
      }
      return rows;
    };
    const bool after = m_.form.inner_norms == InnerNorms::after,
               normed = m_.form.inner_norms != InnerNorms::none;
    const Rows& from = m_.form.select_conv ? x : u_;
    Rows b = of("b", from), c = of("c", from), low = m_.form.rank > 0 ? of("delta_low", from) : from;
    if (normed && !after) low = rms("delta_norm", low);
    Rows delta = of("delta", low);
    if (normed) {
      b = rms("b_norm", b);
      c = rms("c_norm", c);
      if (after) delta = rms("delta_norm", delta);
      for (auto& row : delta)
        for (std::size_t i = 0; i < row.size(); ++i)
          row[i] += read_.at(prefix_ + "delta.offset", static_cast<std::int64_t>(i));
    }
    Rows y(count(), Row(static_cast<std::size_t>(m_.inner), 0));
    for (std::size_t i = 0; i < static_cast<std::size_t>(m_.inner); ++i) {
      Row h(static_cast<std::size_t>(m_.state), 0);
      for (std::size_t t = 0; t < count(); ++t) {
        const Big step = table("delta", delta[t][i]);
        for (std::size_t n = 0; n < h.size(); ++n) {
          const Big rate = read_.at(prefix_ + "a.weight",
                                    static_cast<std::int64_t>(i) * m_.state + static_cast<std::int64_t>(n));
          const Big decay = table("decay", rsh(step * rate, scalar("decay.index_shift")));
          h[n] = read_.settle(rsh(decay * h[n], scalar("decay.shift")) +
                              rsh(step * b[t][n] * x[t][i], scalar("update.shift")));
        }
        const Big skip = read_.at(prefix_ + "skip.weight", static_cast<std::int64_t>(i));
        y[t][i] = rsh(dot(c[t], h), scalar("read.shift")) + rsh(skip * x[t][i], scalar("skip.shift"));
      }
    }
    return output_stage(std::move(y), m_.inner);
  }

  Rows elman() const {
    Rows y;
    Row h(static_cast<std::size_t>(m_.inner), 0);
    for (const auto& u : u_) {
      const Row x = read_.sums(prefix_ + "x", u), past = read_.sums(prefix_ + "h", h);
      for (std::size_t i = 0; i < h.size(); ++i) {
        const Big sum = rsh(x[i] + past[i], scalar("cell.shift"));
        h[i] = read_.settle(m_.relu_cell ? relu(sum) : table("cell", sum));
      }
      y.push_back(h);
    }
    return finished(y);
  }

  Rows gated_unit() const {
    Rows y;
    Row h(static_cast<std::size_t>(m_.inner), 0);
    const std::int64_t fraction = scalar("gate.fraction");
    for (const auto& u : u_) {
      const auto of = [&](const char* name, const Row& row) { return read_.sums(prefix_ + name, row); };
      const Row xz = of("xz", u), hz = of("hz", h), xr = of("xr", u), hr = of("hr", h), xn = of("xn", u),
                hn = of("hn", h);
      for (std::size_t i = 0; i < h.size(); ++i) {
        const Big z = table("gate", rsh(xz[i] + hz[i], scalar("gate.shift"))),
                  r = table("gate", rsh(xr[i] + hr[i], scalar("gate.shift")));
        const Big n = table("cell", rsh(xn[i] + rsh(r * hn[i], fraction), scalar("cell.shift")));
        h[i] = read_.settle(rsh(z * h[i] + (power_of_two(fraction) - z) * n, fraction));
      }
      y.push_back(h);
    }
    return finished(y);
  }

  Rows convolution() const {
    const Rows v = maps("v");
    Rows y(count(), Row(static_cast<std::size_t>(m_.inner), 0));
    for (std::size_t t = 0; t < count(); ++t)
      for (std::size_t c = 0; c < y[t].size(); ++c) {
        Big sum = 0;
        for (std::size_t j = 0; j < static_cast<std::size_t>(m_.conv) && j <= t; ++j)
          sum += read_.at(prefix_ + "taps.weight",
                          static_cast<std::int64_t>(c) * m_.conv + static_cast<std::int64_t>(j)) *
                 v[t - j][c];
        y[t][c] = sat(rsh(sum, scalar("taps.shift")), bits("y.bits"));
      }
    return y;
  }
};

}  // namespace

Rows mix(const TensorReader& read, const MixerShape& shape, const std::string& prefix, bool causal,
         const Rows& u) {
  return Layer(read, shape, prefix, causal, u).run();
}

}  // namespace rung::plain
