// One token through one layer, written once for plain integers, on the host or in a thread of a device, and for
// vectors of lanes: what a token brings (channels), what it does to the state (update), what the layer hands on
// (read). The same rules as rung/exact/mixers, which a test compares; kept apart from them because there a
// number is one number.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "rung/adversary/lanes/lane_layer.h"
#include "rung/exact/integer.h"

namespace rung::lanes {

// A number: a plain integer, or a vector with one in each lane.
template <class N>
struct Element {
  using type = std::remove_cvref_t<decltype(std::declval<N>()[0])>;
  static constexpr int kLanes = static_cast<int>(sizeof(N) / sizeof(type));
};
template <>
struct Element<std::int32_t> {
  using type = std::int32_t;
  static constexpr int kLanes = 1;
};
template <>
struct Element<std::int64_t> {
  using type = std::int64_t;
  static constexpr int kLanes = 1;
};

template <class N>
RUNG_INLINE N all(std::int64_t value) {
  return N{} + static_cast<typename Element<N>::type>(value);
}
template <class N>
RUNG_INLINE typename Element<N>::type lane(const N& x, int i) {
  if constexpr (Element<N>::kLanes == 1)
    return x;
  else
    return x[i];
}
template <class N>
RUNG_INLINE void set_lane(N& x, int i, std::int64_t value) {
  if constexpr (Element<N>::kLanes == 1)
    x = static_cast<N>(value);
  else
    x[i] = static_cast<typename Element<N>::type>(value);
}

// x / 2^shift, ties to even: floor((x + half - 1 + the quotient's lowest bit) / 2^shift).
template <class N>
RUNG_INLINE N rsh(N x, int shift) {
  using V = typename Element<N>::type;
  if (shift == 0) return x;
  if (shift < 0) return x * all<N>(std::int64_t{1} << -shift);
  if (shift >= static_cast<int>(sizeof(V)) * 8 - 1) return N{};
  const V by = static_cast<V>(shift);
  return (x + all<N>((std::int64_t{1} << (shift - 1)) - 1) + ((x >> by) & all<N>(1))) >> by;
}
template <class N>
RUNG_INLINE N sat(N x, int bits) {
  using V = typename Element<N>::type;
  if (bits >= static_cast<int>(sizeof(V)) * 8) return x;
  const N high = all<N>((std::int64_t{1} << (bits - 1)) - 1), low = all<N>(-(std::int64_t{1} << (bits - 1)));
  x = x > high ? high : x;
  return x < low ? low : x;
}
template <class N>
RUNG_INLINE N wrap_to(N x, int bits) {
  using V = typename Element<N>::type;
  const int unused = static_cast<int>(sizeof(V)) * 8 - bits;
  if (unused <= 0) return x;
  const V by = static_cast<V>(unused);
  return (x << by) >> by;
}
template <class N, template <class> class Row>
RUNG_INLINE N settle(const Layer<Row>& layer, N x) {
  return layer.accumulator == Accumulator::wrap ? wrap_to(x, layer.accumulator_bits)
                                                : sat(x, layer.accumulator_bits);
}
template <class N>
RUNG_INLINE N relu(N x) {
  return x > N{} ? x : N{};
}
template <class N, template <class> class Row>
RUNG_INLINE N look(const Table<Row>& table, N x) {
  N y = N{};
  const auto last = static_cast<std::int64_t>(table.values.size()) - 1;
  if constexpr (sizeof(typename Element<N>::type) == 4 &&
                Element<N>::kLanes > 1) {  // sums of 31 bits: nothing overflows
    N index = x - all<N>(table.low);
    index = index > all<N>(last) ? all<N>(last) : index;
    index = relu(index);
    std::int32_t at[Element<N>::kLanes], found[Element<N>::kLanes];
    std::memcpy(at, &index, sizeof at);
    for (int i = 0; i < Element<N>::kLanes; ++i) found[i] = table.narrow[static_cast<std::size_t>(at[i])];
    std::memcpy(&y, found, sizeof y);
    return y;
  }
  for (int i = 0; i < Element<N>::kLanes; ++i) {
    const std::int64_t index = static_cast<std::int64_t>(lane(x, i)) - table.low;
    set_lane(y, i, table.values[static_cast<std::size_t>(index < 0 ? 0 : index > last ? last : index)]);
  }
  return y;
}

template <class N, template <class> class Row>
RUNG_INLINE N row_sum(const Map<Row>& map, std::int64_t row, const N* x) {
  N sum = map.bias.empty() ? N{} : all<N>(map.bias[static_cast<std::size_t>(row)]);
  const auto add_row = [&](const auto* weight) RUNG_INLINE_LAMBDA {
    if (map.starts.empty()) {
      for (std::int64_t c = 0; c < map.cols; ++c) sum += (N{} + weight[c]) * x[c];
      return;
    }
    const std::size_t end = map.starts[static_cast<std::size_t>(row) + 1];
    for (std::size_t i = map.starts[static_cast<std::size_t>(row)]; i < end; ++i) {
      const std::int32_t c = map.columns[i];
      sum += (N{} + weight[c]) * x[c];
    }
  };
  if constexpr (sizeof(typename Element<N>::type) == 4)
    add_row(map.narrow.data() + row * map.cols);
  else
    add_row(map.weight.data() + row * map.cols);
  return sum;
}
template <class N, template <class> class Row>
RUNG_INLINE void apply(const Map<Row>& map, const N* x, N* y) {
  for (std::int64_t r = 0; r < map.rows; ++r) y[r] = sat(rsh(row_sum(map, r, x), map.shift), map.bits);
}

template <class N>
RUNG_INLINE void unit_length(const UnitRule& rule, N* row, std::int64_t size, int at) {
  Int128 squares = 0;
  for (std::int64_t c = 0; c < size; ++c) squares += static_cast<Int128>(lane(row[c], at)) * lane(row[c], at);
  const Int128 root = integer_sqrt(squares << (2 * rule.extra));
  for (std::int64_t c = 0; c < size; ++c)
    set_lane(row[c], at,
             root == 0
                 ? 0
                 : saturate(divide_half_even(
                                static_cast<Int128>(lane(row[c], at)) << (rule.fraction + rule.extra), root),
                            rule.bits));
}
// Features of linear attention, unit keys of delta: in place.
template <class N, template <class> class Row>
RUNG_INLINE void dress(const Layer<Row>& layer, N* channels, std::int64_t heads) {
  const Shape& m = layer.shape;
  const std::int64_t count = heads * m.key_dim;
  if (m.kind == MixerKind::linear) {
    if (m.feature == FeatureMap::relu)
      for (std::int64_t c = 0; c < count; ++c) channels[c] = relu(channels[c]);
    if (m.feature == FeatureMap::elu1 || m.feature == FeatureMap::exp)
      for (std::int64_t c = 0; c < count; ++c)
        channels[c] = sat(look(layer.feature_table, channels[c]), layer.feature_bits);
  } else if (layer.unit.bits > 0) {
    for (std::int64_t h = 0; h < heads; ++h)
      for (int i = 0; i < Element<N>::kLanes; ++i)
        unit_length(layer.unit, channels + h * m.key_dim, m.key_dim, i);
  }
}

// What the token brings to the state: keys, values, then gates (update_channels numbers).
template <class N, template <class> class Row>
RUNG_INLINE void update_channels(const Layer<Row>& layer, const N* x, N* out) {
  const Shape& m = layer.shape;
  if (m.kind == MixerKind::rnn || m.kind == MixerKind::gru)
    for (std::int64_t r = 0; r < layer.value.rows; ++r) out[r] = row_sum(layer.value, r, x);
  if (m.kind == MixerKind::mamba) {
    const std::int64_t entries = m.inner * m.state;
    N* b = out + 2 * entries;
    N *step = b + m.state, *value = step + m.inner;
    apply(layer.key, x, b);
    apply(layer.beta, x, step);
    apply(layer.value, x, value);
    for (std::int64_t i = 0; i < m.inner; ++i) {
      const N delta = look(layer.beta_table, step[i]);
      for (std::int64_t n = 0; n < m.state; ++n) {
        const std::int64_t e = i * m.state + n;
        out[e] = look(layer.gate_table,
                      rsh(delta * all<N>(layer.rates[static_cast<std::size_t>(e)]), layer.index_shift));
        out[entries + e] = rsh(delta * b[n] * value[i], layer.update_shift);
      }
    }
    return;
  }
  if (layer.query.rows == 0) return;
  apply(layer.key, x, out);
  dress(layer, out, m.kind == MixerKind::linear ? m.heads : m.steps * m.kv_heads);
  out += layer.key.rows;
  apply(layer.value, x, out);
  out += layer.value.rows;
  if (layer.beta.rows > 0) {
    apply(layer.beta, x, out);
    for (std::int64_t h = 0; h < layer.beta.rows; ++h) out[h] = look(layer.beta_table, out[h]);
    out += layer.beta.rows;
  }
  if (layer.gate.rows > 0) {
    apply(layer.gate, x, out);
    for (std::int64_t h = 0; h < m.heads; ++h) out[h] = look(layer.gate_table, out[h]);
  }
}
// What the read needs of the token: features of the query; identity: the value itself.
template <class N, template <class> class Row>
RUNG_INLINE void read_channels(const Layer<Row>& layer, const N* x, N* out) {
  if (layer.shape.kind == MixerKind::identity) return apply(layer.value, x, out);
  if (layer.query.rows == 0) return;
  apply(layer.query, x, out);
  if (layer.shape.kind == MixerKind::mamba) {
    N* skip = out + layer.query.rows;
    apply(layer.value, x, skip);
    for (std::int64_t i = 0; i < layer.value.rows; ++i)
      skip[i] = rsh(all<N>(layer.skip[static_cast<std::size_t>(i)]) * skip[i], layer.skip_shift);
    return;
  }
  dress(layer, out, layer.shape.kind == MixerKind::linear ? layer.shape.heads : layer.shape.kv_heads);
}

template <class N, template <class> class Row>
RUNG_INLINE void update(const Layer<Row>& layer, const N* channels, N* state, N* scratch) {
  using enum MixerKind;
  const Shape& m = layer.shape;
  const std::int64_t dk = m.key_dim, dv = m.value_dim;
  if (m.kind == linear) {
    const N* value = channels + m.heads * dk;
    const auto add = [&](N& s, N d, int shift) RUNG_INLINE_LAMBDA {
      if (layer.accumulator == Accumulator::exact)
        s += d;
      else if (layer.accumulator == Accumulator::wrap)
        s = wrap_to(s + d, layer.accumulator_bits);
      else
        s = sat(s + rsh(d, shift), layer.accumulator_bits);
    };
    for (std::int64_t h = 0; h < m.heads; ++h) {
      const N* phi = channels + h * dk;
      for (std::int64_t r = 0; r < dv; ++r)
        for (std::int64_t c = 0; c < dk; ++c) add(*state++, value[h * dv + r] * phi[c], layer.update_shift);
      if (m.normalised)
        for (std::int64_t c = 0; c < dk; ++c) add(*state++, phi[c], 0);
    }
  } else if (m.kind == mamba2) {
    const N* value = channels + m.kv_heads * dk;
    const N* decay = value + m.heads * dv;
    for (std::int64_t h = 0; h < m.heads; ++h) {
      const N* key = channels + h / (m.heads / m.kv_heads) * dk;
      for (std::int64_t r = 0; r < dv; ++r)
        for (std::int64_t c = 0; c < dk; ++c, ++state)
          *state = settle(layer, rsh(decay[h] * *state, layer.decay_shift) + value[h * dv + r] * key[c]);
    }
  } else if (m.kind == mamba) {
    const std::int64_t entries = m.inner * m.state;
    for (std::int64_t e = 0; e < entries; ++e)
      state[e] = settle(layer, rsh(channels[e] * state[e], layer.decay_shift) + channels[entries + e]);
  } else if (m.kind == delta || m.kind == gdelta) {
    const N* value = channels + m.steps * m.kv_heads * dk;
    const N* beta = value + m.steps * m.heads * dv;
    const N* alpha = beta + m.steps * m.heads;
    for (std::int64_t h = 0; h < m.heads; ++h)
      for (std::int64_t r = 0; r < dv; ++r, state += dk) {
        if (m.kind == gdelta)
          for (std::int64_t c = 0; c < dk; ++c)
            state[c] = settle(layer, rsh(alpha[h] * state[c], layer.decay_shift));
        for (std::int64_t step = 0; step < m.steps; ++step) {
          const N* key = channels + (step * m.kv_heads + h / (m.heads / m.kv_heads)) * dk;
          const std::int64_t head = step * m.heads + h;
          N seen = N{};
          for (std::int64_t c = 0; c < dk; ++c) seen += state[c] * key[c];
          const N error = settle(layer, value[head * dv + r] - rsh(seen, layer.predict_shift));
          for (std::int64_t c = 0; c < dk; ++c)
            state[c] = settle(layer, state[c] + rsh(beta[head] * error * key[c], layer.write_shift));
        }
      }
  } else if (m.kind == gru) {
    const std::int64_t n = m.inner;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto gate = [&](std::int64_t row) RUNG_INLINE_LAMBDA {
        return look(layer.gate_table, rsh(channels[row] + row_sum(layer.key, row, state), layer.gate_shift));
      };
      const N z = gate(i), r = gate(n + i);
      const N kept = rsh(r * row_sum(layer.key, 2 * n + i, state), layer.fraction);
      const N fresh = look(layer.cell_table, rsh(channels[2 * n + i] + kept, layer.cell_shift));
      scratch[i] = settle(
          layer, rsh(z * state[i] + (all<N>(std::int64_t{1} << layer.fraction) - z) * fresh, layer.fraction));
    }
    for (std::int64_t i = 0; i < n; ++i) state[i] = scratch[i];
  } else if (m.kind == rnn) {
    for (std::int64_t i = 0; i < m.inner; ++i) {
      const N sum = rsh(channels[i] + row_sum(layer.key, i, state), layer.cell_shift);
      scratch[i] = settle(layer, m.relu_cell ? relu(sum) : look(layer.cell_table, sum));
    }
    for (std::int64_t i = 0; i < m.inner; ++i) state[i] = scratch[i];
  }
}

// The layer's output row x from its state, in place: mixer, W_O, residual, MLP. `scratch` holds two rows of
// the widest width.
template <class N, template <class> class Row>
RUNG_INLINE void read(const Layer<Row>& layer, const N* channels, const N* state, int stream_bits,
                      std::int64_t width, N* x, N* scratch, N* other) {
  using enum MixerKind;
  const Shape& m = layer.shape;
  const std::int64_t dk = m.key_dim, dv = m.value_dim;
  N* y = scratch;
  if (m.kind == identity)
    for (std::int64_t i = 0; i < layer.value.rows; ++i) y[i] = sat(channels[i], layer.output_bits);
  if (m.kind == rnn || m.kind == gru)
    for (std::int64_t i = 0; i < m.inner; ++i) y[i] = sat(state[i], layer.output_bits);
  if (m.kind == mamba)
    for (std::int64_t i = 0; i < m.inner; ++i) {
      N sum = N{};
      for (std::int64_t n = 0; n < m.state; ++n) sum += state[i * m.state + n] * channels[n];
      y[i] = sat(rsh(sum, layer.read_shift) + channels[m.state + i], layer.output_bits);
    }
  if (m.kind == linear || m.kind == mamba2 || m.kind == delta || m.kind == gdelta)
    for (std::int64_t h = 0; h < m.heads; ++h) {
      const bool normalised = m.kind == linear && m.normalised;
      const N* query = channels + (m.kind == linear ? h : h / (m.heads / m.kv_heads)) * dk;
      const N* rows = state + h * (dv + (normalised ? 1 : 0)) * dk;
      const auto dot = [&](std::int64_t r) RUNG_INLINE_LAMBDA {
        N sum = N{};
        for (std::int64_t c = 0; c < dk; ++c) sum += rows[r * dk + c] * query[c];
        return sum;
      };
      const N den = normalised ? dot(dv) : N{};
      for (std::int64_t r = 0; r < dv; ++r) {
        const N num = dot(r);
        if (!normalised) {
          y[h * dv + r] = sat(rsh(num, layer.read_shift), layer.output_bits);
          continue;
        }
        for (int i = 0; i < Element<N>::kLanes; ++i)
          set_lane(
              y[h * dv + r], i,
              saturate(rounded_quotient<Int128>(lane(num, i), lane(den, i), layer.scale), layer.output_bits));
      }
    }
  if (m.kind != none)
    for (std::int64_t w = 0; w < width; ++w)
      other[w] = sat(x[w] + sat(rsh(row_sum(layer.output, w, y), layer.output.shift), layer.output.bits),
                     stream_bits);
  if (m.kind != none)
    for (std::int64_t w = 0; w < width; ++w) x[w] = other[w];
  if (layer.mlp.empty()) return;
  const N* from = x;
  N *to = scratch, *next = other;
  for (std::size_t k = 0; k < layer.mlp.size(); ++k) {
    apply(layer.mlp[k], from, to);
    if (k < layer.activation.size())
      for (std::int64_t i = 0; i < layer.mlp[k].rows; ++i)
        to[i] = layer.activation[k].values.empty() ? relu(to[i])
                                                   : sat(look(layer.activation[k], to[i]), layer.mlp[k].bits);
    from = to;
    N* const used = to;
    to = next;
    next = used;
  }
  for (std::int64_t w = 0; w < width; ++w) x[w] = sat(x[w] + from[w], stream_bits);
}

// Working memory of one block of lanes, or of one thread.
template <class N>
struct Bench {
  N *state, *channels, *reads, *x, *scratch, *other;
};

// A token through the first `depth` layers. rows[l]: what lane l's token brings to the first layer: update
// channels and, for depth > 1, read channels and the embedded row. `same`: rows[0] serves all lanes.
template <class N, class V, template <class> class Row>
RUNG_INLINE void feed(const Layer<Row>* layers, std::int64_t depth, std::int64_t width, int stream_bits,
                      const V* const* rows, bool same, const Bench<N>& bench) {
  const Layer<Row>& first = layers[0];
  const auto gather = [&](std::int64_t c) RUNG_INLINE_LAMBDA {
    if (Element<N>::kLanes == 1 || same) return N{} + static_cast<typename Element<N>::type>(rows[0][c]);
    N gathered = N{};
    for (int l = 0; l < Element<N>::kLanes; ++l) set_lane(gathered, l, rows[l][c]);
    return gathered;
  };
  const std::int64_t updates = first.update_channels, reads = first.read_channels;
  for (std::int64_t c = 0; c < updates; ++c) bench.channels[c] = gather(c);
  N* state = bench.state;
  update(first, bench.channels, state, bench.scratch);
  if (depth == 1) return;
  for (std::int64_t c = 0; c < reads; ++c) bench.reads[c] = gather(updates + c);
  for (std::int64_t w = 0; w < width; ++w) bench.x[w] = gather(updates + reads + w);
  for (std::int64_t i = 0; i < depth; ++i) {
    const Layer<Row>& layer = layers[i];
    if (i > 0) {
      update_channels(layer, bench.x, bench.channels);
      update(layer, bench.channels, state, bench.scratch);
    }
    if (i + 1 < depth) {
      if (i > 0) read_channels(layer, bench.x, bench.reads);
      read(layer, bench.reads, state, stream_bits, width, bench.x, bench.scratch, bench.other);
    }
    state += layer.numbers;
  }
}

// The first layer alone, where every entry of the state lives by itself (mamba2, linear attention):
// s <- settle(rsh(a s) + u), with a and u known per (position, row).
struct EntryRule {
  bool gated = false, wraps = false, saturates = false;
  int shift = 0, bits = 0;
};
template <class N>
RUNG_INLINE N entry_step(const EntryRule& rule, N s, N decay, N term) {
  s = (rule.gated ? rsh(s * decay, rule.shift) : s) + term;
  if (rule.wraps) s = wrap_to(s, rule.bits);
  if (rule.saturates) s = sat(s, rule.bits);
  return s;
}

}  // namespace rung::lanes
