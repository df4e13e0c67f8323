// The gradients of log-linear attention (log_linear_attention.h) on tensor cores, as templates on the machine.
//
// As of causal attention, a block goes over the triangle twice: a warp owns keys and keeps dk and dv, then it owns
// queries and keeps dq and dshare. The decay's gradient needs w s p of a pair summed over the keys of a query, which
// is share . dshare, less summed over the queries of a key: both in float32, from products that were not rounded, and
// without the pair of a position with itself, which no decay touches.
#pragma once

#include "rung/learn/kernels/log_linear_tile.cuh"

namespace rung::kernels {

// The gradients of 16 keys, rows g and g + 8 of this lane. Where registers are too few for all of it, v is read again
// for every 16 queries.
template <int D>
struct LogLinearKeys {
  static constexpr bool kHoldsValues = D < 64;
  unsigned k[D / 16][4], v[D / 16][4];
  unsigned v_at;  // its rows in shared memory, the lane's offset included
  float dk[D / 8][4], dv[D / 8][4];
  float decay[2], inner[2];  // A, and the sum of w s p
};

// What the 16 queries in shared memory from `row` on add to the gradients of 16 keys, all pairs of this level, or where
// Diagonal of the same positions; keys are rows, queries columns.
template <class Core, int D, bool Diagonal>
RUNG_DEVICE void add_square(LogLinearKeys<D>& keys, const LogLinearShared<D>& at, int row, int level) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  const unsigned q = at.q + AttentionShared<D>::kPitch * row + lane_offset<Core, D>(),
                 dy = q + (at.dy - at.q);
  float s[2][4] = {}, p[2][4] = {};
  multiply_rows<Core, D>(s[0], s[1], keys.k, q);
  if (!keys.kHoldsValues) load_operand<Core, D>(keys.v, keys.v_at);
  multiply_rows<Core, D>(p[0], p[1], keys.v, dy);
  float key[2];
  if (!Diagonal) {
    const float start = *Core::template shared<float>(at.query_decay + 4 * row);
#pragma unroll
    for (int half = 0; half < 2; ++half) key[half] = Core::power_of_two(start - keys.decay[half]);
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float of_query[2];  // A, or the share
    Core::load_pair(of_query, Diagonal ? at.query_decay + 4 * (row + 8 * j + 2 * t)
                                       : at.share(level, row + 8 * j + 2 * t));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float weight;
      if (Diagonal) {
        const int i = 8 * j + 2 * t + e % 2, column = g + e / 2 * 8;
        const float share = *Core::template shared<float>(at.share(binary_digits(i ^ column), row + i));
        weight = column <= i ? share * Core::power_of_two(of_query[e % 2] - keys.decay[e / 2]) : 0.0f;
      } else {
        weight = of_query[e % 2] * key[e / 2];
      }
      s[j][e] *= weight;
      if (!Diagonal || 8 * j + 2 * t + e % 2 != g + e / 2 * 8)
        keys.inner[e / 2] = fmaf(s[j][e], p[j][e], keys.inner[e / 2]);
      p[j][e] *= weight;
    }
  }
  unsigned a[4];
  round_to_operand<Core>(a, s[0], s[1]);
  add_products<Core, D>(keys.dv, a, dy);
  round_to_operand<Core>(a, p[0], p[1]);
  add_products<Core, D>(keys.dk, a, q);
}

template <int D>
RUNG_DEVICE void clear_keys(LogLinearKeys<D>& keys) {
  clear_sums<D>(keys.dk);
  clear_sums<D>(keys.dv);
  keys.inner[0] = keys.inner[1] = 0.0f;
}
template <class Core, int D>
RUNG_DEVICE void load_keys(LogLinearKeys<D>& keys, const LogLinearShared<D>& at, int row) {
  const unsigned offset = AttentionShared<D>::kPitch * row + lane_offset<Core, D>();
  load_operand<Core, D>(keys.k, at.k + offset);
  keys.v_at = at.v + offset;
  if (keys.kHoldsValues) load_operand<Core, D>(keys.v, keys.v_at);
  load_decays<Core>(keys.decay, at.key_decay, row);
}
// The keys that begin at `first`, from the queries `chunk` .. chunk + count - 1 in shared memory that see them.
template <class Core, int D>
RUNG_DEVICE void add_query_chunk(LogLinearKeys<D>& keys, const LogLinearShared<D>& at, int first, int chunk,
                                 int count) {
  int row = first < chunk ? 0 : first - chunk;
  if (first >= chunk) {
    add_square<Core, D, true>(keys, at, row, 0);
    row += kAttentionTile;
  }
#pragma unroll 1
  for (; row < count; row += kAttentionTile)
    add_square<Core, D, false>(keys, at, row, binary_digits(first ^ (chunk + row)));
}

// The number a position and head that this lane's row `half` of the 16 from `first` on is; -1 after the last.
template <class Core>
RUNG_DEVICE std::int64_t scalar_place(const LogLinearPlan& plan, int first, int half) {
  const AttentionPlace place = attention_place<Core>(plan.tiles);
  const int position = lane_row<Core>(first, half);
  return position < place.end ? (place.n * plan.tiles.positions + position) * plan.tiles.heads + place.h : -1;
}

template <class Core, int D>
RUNG_DEVICE void finish_keys(const LogLinearKeys<D>& keys, const LogLinearPlan& plan, int first,
                             const LogLinearGradients& out, float* inner) {
  write_rows<Core, D>(out.dk, plan.tiles, first, keys.dk, 1.0f, 1.0f, plan.key_size, plan.packed);
  write_rows<Core, D>(out.dv, plan.tiles, first, keys.dv, 1.0f, 1.0f, plan.value_size, plan.packed);
  if (!inner) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = quad_sum<Core>(keys.inner[half]);
    const std::int64_t to = scalar_place<Core>(plan, first, half);
    if (Core::thread() % 4 == 0 && to >= 0) inner[to] = -sum;
  }
}

// The gradients of 16 queries, rows g and g + 8 of this lane.
template <int D>
struct LogLinearQueries {
  unsigned q[D / 16][4], dy[D / 16][4];
  float dq[D / 8][4];
  int level;               // of the squares at hand; 0: none yet
  float share[2], sum[2];  // of that level: the share times exp(A_i - A_a), dshare over exp(A_i - A_a)
  float inner[2];          // share . dshare of the levels before, in the quad's first lane
};

// What sixteen keys off the diagonal add; queries are rows, keys columns.
template <class Core, int D>
RUNG_DEVICE void add_square(LogLinearQueries<D>& queries, unsigned k, unsigned v, unsigned decays,
                            float start) {
  float s[2][4] = {}, p[2][4] = {};
  multiply_rows<Core, D>(s[0], s[1], queries.q, k);
  multiply_rows<Core, D>(p[0], p[1], queries.dy, v);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float key[2];
    Core::load_pair(key, decays + 32 * j);
#pragma unroll
    for (int e = 0; e < 2; ++e) key[e] = Core::power_of_two(start - key[e]);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      p[j][e] *= key[e % 2];
      queries.sum[e / 2] = fmaf(s[j][e], p[j][e], queries.sum[e / 2]);
      p[j][e] *= queries.share[e / 2];
    }
  }
  unsigned a[4];
  round_to_operand<Core>(a, p[0], p[1]);
  add_products<Core, D>(queries.dq, a, k);
}
// What the sixteen keys of the queries' own positions add, with dshare of their levels.
template <class Core, int D>
RUNG_DEVICE void add_own_square(LogLinearQueries<D>& queries, const LogLinearShared<D>& at, unsigned k,
                                unsigned v, unsigned decays, int row) {
  const int lane = Core::thread() % 32, g = lane / 4, t = lane % 4;
  float s[2][4] = {}, p[2][4] = {}, own[2], sums[2][kSquareLevels] = {};
  load_decays<Core>(own, at.query_decay, row);
  multiply_rows<Core, D>(s[0], s[1], queries.q, k);
  multiply_rows<Core, D>(p[0], p[1], queries.dy, v);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float key[2];
    Core::load_pair(key, decays + 32 * j);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int i = g + e / 2 * 8, column = 8 * j + 2 * t + e % 2, level = binary_digits(i ^ column);
      const float share = *Core::template shared<float>(at.share(level, row + i));
      const float flow = column <= i ? p[j][e] * Core::power_of_two(own[e / 2] - key[e % 2]) : 0.0f;
#pragma unroll
      for (int l = 0; l < kSquareLevels; ++l) sums[e / 2][l] += l == level ? s[j][e] * flow : 0.0f;
      p[j][e] = flow * share;
    }
  }
  unsigned a[4];
  round_to_operand<Core>(a, p[0], p[1]);
  add_products<Core, D>(queries.dq, a, k);
  Core::sync_warp();  // every lane has read its shares
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int l = 0; l < kSquareLevels; ++l) {
      const float sum = quad_sum<Core>(sums[half][l]);
      if (t == 0) {
        const int of = lane_row<Core>(row, half);
        if (l > 0)
          queries.inner[half] =
              fmaf(*Core::template shared<float>(at.share(l, of)), sum, queries.inner[half]);
        *Core::template shared<float>(at.dshare(l, of)) = sum;
      }
    }
}

template <int D>
RUNG_DEVICE void clear_queries(LogLinearQueries<D>& queries) {
  clear_sums<D>(queries.dq);
  queries.level = 0;
  queries.inner[0] = queries.inner[1] = 0.0f;
}
template <class Core, int D>
RUNG_DEVICE void load_queries(LogLinearQueries<D>& queries, const LogLinearShared<D>& at, int row) {
  const unsigned offset = AttentionShared<D>::kPitch * row + lane_offset<Core, D>();
  load_operand<Core, D>(queries.q, at.q + offset);
  load_operand<Core, D>(queries.dy, at.dy + offset);
}
template <class Core, int D>
RUNG_DEVICE void begin_level(LogLinearQueries<D>& queries, const LogLinearShared<D>& at, int row, int level) {
  queries.level = level;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    queries.share[half] = *Core::template shared<float>(at.share(level, lane_row<Core>(row, half)));
    queries.sum[half] = 0.0f;
  }
}
template <class Core, int D>
RUNG_DEVICE void end_level(LogLinearQueries<D>& queries, const LogLinearShared<D>& at, int row) {
  if (queries.level == 0) return;
  const float start = *Core::template shared<float>(at.query_decay + 4 * row);
  float own[2];
  load_decays<Core>(own, at.query_decay, row);
  Core::sync_warp();  // every lane has read its share
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = quad_sum<Core>(queries.sum[half]);
    queries.inner[half] = fmaf(queries.share[half], sum, queries.inner[half]);
    if (Core::thread() % 4 == 0)
      *Core::template shared<float>(at.dshare(queries.level, lane_row<Core>(row, half))) =
          sum * Core::power_of_two(own[half] - start);
  }
}
// The queries that begin at `first`, in shared memory from `row` on, from the keys `chunk` .. chunk + count - 1 there.
template <class Core, int D>
RUNG_DEVICE void add_key_chunk(LogLinearQueries<D>& queries, const LogLinearShared<D>& at, int first, int row,
                               int chunk, int count) {
  constexpr unsigned kTileBytes = kAttentionTile * AttentionShared<D>::kPitch;
  const float start = *Core::template shared<float>(at.query_decay + 4 * row);
  const int stop = first < chunk + count ? first : chunk + count;
  unsigned k = at.k + lane_offset<Core, D>(), decays = at.key_decay + 8 * (Core::thread() % 4);
  const unsigned to_values = at.v - at.k;
#pragma unroll 1
  for (int key = chunk; key < stop;) {
    const int level = binary_digits(first ^ key), end = level_end(key, level);
    if (level != queries.level) {
      end_level<Core, D>(queries, at, row);
      begin_level<Core, D>(queries, at, row, level);
    }
#pragma unroll 1
    for (; key < stop && key < end; key += kAttentionTile) {
      add_square<Core, D>(queries, k, k + to_values, decays, start);
      k += kTileBytes;
      decays += 4 * kAttentionTile;
    }
  }
  if (first >= chunk + count) return;
  end_level<Core, D>(queries, at, row);
  add_own_square<Core, D>(queries, at, k, k + to_values, decays, row);
}
template <class Core, int D>
RUNG_DEVICE void finish_queries(const LogLinearQueries<D>& queries, const LogLinearShared<D>& at,
                                const LogLinearPlan& plan, int first, int row, const LogLinearGradients& out,
                                float* inner) {
  write_rows<Core, D>(out.dq, plan.tiles, first, queries.dq, 1.0f, 1.0f, plan.key_size, plan.packed);
  const int lane = Core::thread() % 32;
  if (inner && lane % 4 == 0) {
    // The same lane wrote the other half of it.
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (const std::int64_t to = scalar_place<Core>(plan, first, half); to >= 0)
        inner[to] += queries.inner[half];
  }
  Core::sync_warp();
  const AttentionPlace place = attention_place<Core>(plan.tiles);
  float* dshare =
      out.dshare + ((place.n * plan.tiles.positions + first) * plan.tiles.heads + place.h) * plan.levels;
  const std::int64_t pitch = static_cast<std::int64_t>(plan.tiles.heads) * plan.levels;
#pragma unroll 1
  for (LevelWalk walk(lane, 32, plan.levels); walk.row < kAttentionTile && first + walk.row < place.end;
       walk.next()) {
    // Level l >= 1 is the bucket that bit l - 1 of the position cuts.
    const bool there =
        walk.level == 0 || (walk.level < 32 && ((first + walk.row) >> (walk.level - 1) & 1) != 0);
    dshare[walk.row * pitch + walk.level] =
        there ? *Core::template shared<float>(at.dshare(walk.level, row + walk.row)) : 0.0f;
  }
}

// Whole: the block owns the head. Otherwise each warp owns 16 positions of it. `inner` [N, T, H]: what the decay's
// gradient is the sum of, or null.
template <class Core, int D, bool Whole>
RUNG_DEVICE void log_linear_backward_block(const LogLinearPlan& plan, const LogLinearInputs& in,
                                           const Slice& dy, const LogLinearGradients& out,
                                           const float* prefix, float* inner) {
  const LogLinearShared<D> at(plan, true);
  const AttentionPlan& tiles = plan.tiles;
  const AttentionPlace place = attention_place<Core>(tiles);
  const auto gather_keys = [&](int first, int count) {
    gather_positions<Core, D>(at.k, in.k, plan, place, first, count, plan.key_size);
    gather_positions<Core, D>(at.v, in.v, plan, place, first, count, plan.value_size);
    if (!Whole) stage_decays<Core>(at.key_decay, plan, place, prefix, first, count);
  };
  const auto gather_queries = [&](int first, int count) {
    gather_positions<Core, D>(at.q, in.q, plan, place, first, count, plan.key_size);
    gather_positions<Core, D>(at.dy, dy, plan, place, first, count, plan.value_size);
    stage_decays<Core>(at.query_decay, plan, place, prefix, first, count);
    stage_shares<Core, D>(at, plan, place, in.share, prefix, first, count);
  };
  gather_keys(place.begin, tiles.own);
  if constexpr (Whole) {
    gather_queries(0, tiles.rows);
    Core::wait_copies();
    Core::sync_block();
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const int first = attention_tile<Core>(tiles, place, round);
      if (first >= place.end) continue;
      LogLinearKeys<D> keys;
      load_keys<Core, D>(keys, at, first);
      clear_keys<D>(keys);
      add_query_chunk<Core, D>(keys, at, first, 0, tiles.rows);
      finish_keys<Core, D>(keys, plan, first, out, inner);
    }
    if (!at.kApart) Core::sync_block();  // nobody needs another's shares any more
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const int first = attention_tile<Core>(tiles, place, round);
      if (first >= place.end) continue;
      LogLinearQueries<D> queries;
      load_queries<Core, D>(queries, at, first);
      clear_queries<D>(queries);
      add_key_chunk<Core, D>(queries, at, first, first, 0, tiles.rows);
      finish_queries<Core, D>(queries, at, plan, first, first, out, inner);
    }
  } else {
    const int first = attention_tile<Core>(tiles, place, 0), row = first - place.begin;
    const bool active = first < place.end;
    LogLinearKeys<D> keys;
    clear_keys<D>(keys);
#pragma unroll 1
    for (int chunk = place.begin; chunk < tiles.positions; chunk += tiles.rows) {
      if (chunk > place.begin) Core::sync_block();
      const int count = chunk_rows(tiles, tiles.positions - chunk);
      gather_queries(chunk, count);
      Core::wait_copies();
      Core::sync_block();
      if (!active) continue;
      load_keys<Core, D>(keys, at, row);  // again: registers are short while a chunk is loaded
      add_query_chunk<Core, D>(keys, at, first, chunk, count);
    }
    if (active) finish_keys<Core, D>(keys, plan, first, out, inner);

    Core::sync_block();
    gather_queries(place.begin, tiles.own);
    LogLinearQueries<D> queries;
    clear_queries<D>(queries);
#pragma unroll 1
    for (int chunk = 0; chunk < place.end; chunk += tiles.rows) {
      if (chunk > 0) Core::sync_block();
      const int count = chunk_rows(tiles, place.end - chunk);
      gather_keys(chunk, count);
      Core::wait_copies();
      Core::sync_block();
      if (!active) continue;
      load_queries<Core, D>(queries, at, row);
      add_key_chunk<Core, D>(queries, at, first, row, chunk, count);
    }
    if (active) finish_queries<Core, D>(queries, at, plan, first, row, out, inner);
  }
}

}  // namespace rung::kernels
