#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions only
// Invariant: after every slot, lane l of the state vectors holds the state of prompt l, as the exact machine
// has it.
//
// The first layer's channels depend on (position, row) alone and are computed once, when the kernel is made;
// a slot then costs a gather per channel and lane. Deeper layers work on vectors throughout.
#include "rung/adversary/lane_kernel.h"

#include <algorithm>
#include <new>

#include "rung/adversary/device_program.h"
#include "rung/adversary/lanes/lane_vector.h"
#include "rung/exact/embedding.h"
#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

using lanes::Element;
using lanes::LaneRow;

// A position of the beginnings: a slot, or a fixed token between two.
template <class V>
struct Place {
  std::int64_t position = 0;
  bool slot = false;
  std::uint32_t rows = 1;
  std::vector<V> update;  // rows x update channels of layer 0
  std::vector<V> full;    // rows x (update + read channels of layer 0, and the embedded row); depth > 1 only
};

template <class V>
struct Program {
  LanePlan plan;
  std::vector<Place<V>> places;
  std::vector<std::size_t>
      begins;  // by slot: the first place of it (fixed tokens before it included); one more at the end
  std::int64_t update_stride = 0, full_stride = 0;
  std::int64_t scratch = 0;  // numbers in one scratch row
};

// Working memory of one block of lanes.
template <class N>
struct LaneMemory {
  LaneRow<N> state, channels, reads, x, scratch, other;
  LaneMemory(const LanePlan& plan, std::int64_t numbers, std::int64_t scratch_row)
      : state(numbers),
        channels(scratch_row),
        reads(scratch_row),
        x(plan.width),
        scratch(scratch_row),
        other(scratch_row) {}
  lanes::Bench<N> bench() {
    return {state.data(), channels.data(), reads.data(), x.data(), scratch.data(), other.data()};
  }
};

// `same`: all lanes take row choice[0].
template <class N, class V>
RUNG_INLINE void feed_place(const Program<V>& program, std::int64_t depth, const Place<V>& place,
                            const std::uint32_t* choice, bool same, const lanes::Bench<N>& bench) {
  constexpr int kLanes = Element<N>::kLanes;
  const std::int64_t stride = depth > 1 ? program.full_stride : program.update_stride;
  const V* table = depth > 1 ? place.full.data() : place.update.data();
  const V* row[kLanes];
  for (int l = 0; l < kLanes; ++l) row[l] = table + static_cast<std::int64_t>(choice[same ? 0 : l]) * stride;
  lanes::feed(program.plan.layers.data(), depth, program.plan.width, program.plan.stream_bits, row, same,
              bench);
}

// Prompts [0, kLanes): slots [first, first + length), choices[j * kLanes + l], or choices[j] for all when
// `same`.
template <class N, class V>
RUNG_INLINE void feed_slots(const Program<V>& program, std::int64_t depth, std::int64_t first,
                            std::int64_t length, bool from_start, const std::uint32_t* choices, bool same,
                            LaneMemory<N>& memory) {
  static constexpr std::uint32_t kFirstRows[Element<N>::kLanes] = {};
  const auto begin = from_start ? 0 : program.begins[static_cast<std::size_t>(first)];
  const auto end = program.begins[static_cast<std::size_t>(first + length)];
  const auto varying = program.begins[static_cast<std::size_t>(first)];
  const lanes::Bench<N> bench = memory.bench();
  std::int64_t j = 0;
  for (std::size_t p = begin; p < end; ++p) {
    const bool varies = p >= varying && program.places[p].slot;
    feed_place<N, V>(program, depth, program.places[p],
                     varies ? choices + (same ? j : j * Element<N>::kLanes) : kFirstRows, same || !varies,
                     bench);
    j += varies;
  }
}

using N32 = lanes::Vector<std::int32_t>;
using N64 = lanes::Vector<std::int64_t>;
RUNG_VECTOR_CLONES void feed_block(const Program<std::int32_t>& program, std::int64_t depth,
                                   std::int64_t first, std::int64_t length, bool from_start,
                                   const std::uint32_t* choices, bool same, LaneMemory<N32>& bench) {
  feed_slots<N32, std::int32_t>(program, depth, first, length, from_start, choices, same, bench);
}
RUNG_VECTOR_CLONES void feed_block(const Program<std::int64_t>& program, std::int64_t depth,
                                   std::int64_t first, std::int64_t length, bool from_start,
                                   const std::uint32_t* choices, bool same, LaneMemory<N64>& bench) {
  feed_slots<N64, std::int64_t>(program, depth, first, length, from_start, choices, same, bench);
}

// The entrywise form of the first layer (lanes::entry_step). All entries of one prompt lie in one vector, and
// several prompts are interleaved to hide the multiplier's latency; nothing is gathered.
struct EntryTable {
  static constexpr int kEntries = 16;  // padded
  static constexpr int kTogether = 4;
  lanes::EntryRule rule;
  std::vector<std::size_t> begins;  // by slot, as Program::begins
  struct Position {
    bool slot = false;
    std::size_t offset = 0;  // of its first row, in vectors of kEntries
  };
  std::vector<Position> positions;
  std::vector<std::int32_t> terms, decays;  // rows of kEntries

  // The same rows as a device reads them: as many entries as it takes, and one decay for several where they agree.
  void for_device(std::int64_t numbers, LaneRows& to) const {
    lanes::EntryRows& form = to.entries;
    form.rule = rule;
    form.entries = numbers <= 4 ? 4 : numbers <= 8 ? 8 : kEntries;
    const std::size_t count = terms.size() / kEntries, half = static_cast<std::size_t>(form.entries) / 2;
    form.groups = rule.gated ? 2 : 0;
    for (std::size_t row = 0; row < count && rule.gated; ++row)
      for (std::size_t e = 0; e < static_cast<std::size_t>(numbers); ++e)
        if (decays[row * kEntries + e] != decays[row * kEntries + e / half * half])
          form.groups = form.entries;
    form.stride = lanes::entry_stride(form.entries, form.groups);
    to.entry_rows.assign(count * static_cast<std::size_t>(form.stride), 0);
    for (std::size_t row = 0; row < count; ++row) {
      std::int32_t* at = to.entry_rows.data() + row * static_cast<std::size_t>(form.stride);
      at = std::copy_n(terms.data() + row * kEntries, form.entries, at);
      for (int group = 0; group < form.groups; ++group)
        *at++ = decays[row * kEntries + static_cast<std::size_t>(group * form.entries / form.groups)];
    }
  }
};

template <class N, bool kGated>
RUNG_INLINE void feed_entries(const EntryTable& table, std::size_t begin, std::size_t end,
                              std::size_t varying, const std::uint32_t* choices, int lanes, N* state) {
  lanes::EntryRule rule = table.rule;
  rule.gated = kGated;
  std::int64_t j = 0;
  for (std::size_t p = begin; p < end; ++p) {
    const auto& position = table.positions[p];
    const bool varies = position.slot && p >= varying;
    for (int i = 0; i < EntryTable::kTogether; ++i) {
      const std::size_t row = position.offset + (varies ? choices[j * lanes + i] : 0);
      N term, decay = N{};
      std::memcpy(&term, table.terms.data() + row * EntryTable::kEntries, sizeof term);
      if (kGated) std::memcpy(&decay, table.decays.data() + row * EntryTable::kEntries, sizeof decay);
      state[i] = lanes::entry_step(rule, state[i], decay, term);
    }
    j += varies;
  }
}
RUNG_VECTOR_CLONES void feed_entry_block(const EntryTable& table, std::size_t begin, std::size_t end,
                                         std::size_t varying, const std::uint32_t* choices, int lanes,
                                         const std::int32_t* start, std::int32_t* out) {
  using N = lanes::Vector<std::int32_t>;
  N state[EntryTable::kTogether];
  for (auto& s : state) std::memcpy(&s, start, sizeof s);
  if (table.rule.gated)
    feed_entries<N, true>(table, begin, end, varying, choices, lanes, state);
  else
    feed_entries<N, false>(table, begin, end, varying, choices, lanes, state);
  std::memcpy(out, state, sizeof state);
}

// choices[j * lanes + l] from code l of x, as StateKernel::draw.
RUNG_VECTOR_CLONES void draw_block(const std::uint64_t* x, int words, int lanes_used, std::uint64_t salt,
                                   std::int64_t length, const std::uint32_t* rows, int lanes,
                                   std::uint32_t* choices) {
  std::uint64_t even[16], odd[16];
  for (int l = 0; l < 16; ++l) even[l] = odd[l] = l < lanes_used ? spread(x[l * words] ^ salt) : 0;
  if (words > 1)
    for (int l = 0; l < lanes_used; ++l) {
      odd[l] = spread(x[l * words + 1] ^ even[l]);
      even[l] += odd[l];
    }
  constexpr std::int64_t kChoices = lanes::kChoicesPerDraw;
  for (std::int64_t begin = 0; begin < length; begin += kChoices) {
    std::uint64_t bits[16];
    const std::uint64_t* y = begin / kChoices % 2 == 0 ? even : odd;
    for (int l = 0; l < 16; ++l)
      bits[l] = spread(y[l] + static_cast<std::uint64_t>(begin / kChoices + 1) * kGoldenGamma);
    for (std::int64_t j = begin; j < std::min<std::int64_t>(length, begin + kChoices); ++j) {
      const std::uint32_t count = rows[j];
      for (int l = 0; l < lanes; ++l)
        choices[j * lanes + l] =
            static_cast<std::uint32_t>(bits[l] >> (16 * (j - begin)) & 0xffff) * count >> 16;
    }
  }
}

template <class V>
class LaneKernel final : public StateKernel {
 public:
  using N = lanes::Vector<V>;
  static constexpr int kLanes = Element<N>::kLanes;

  LaneKernel(const Target& target, BeginningSpace space, Program<V> program)
      : StateKernel(target, std::move(space)), program_(std::move(program)) {
    for (const auto& slot : space_.slots) rows_.push_back(static_cast<std::uint32_t>(slot.rows.size()));
    if constexpr (sizeof(V) == 4) make_entries();
  }
  std::string_view name() const override { return sizeof(V) == 4 ? "lanes of int32" : "lanes of int64"; }
  bool restarts() const override { return true; }

  void run(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
           const std::uint16_t* choices, const std::int64_t* start, bool common,
           std::int64_t* out) const override {
    std::vector<std::uint32_t> block(static_cast<std::size_t>(length * kLanes));
    run_blocks(depth, first, length, count, start, common, false, block.data(), out,
               [&](std::int64_t base, int used) {
                 for (std::int64_t j = 0; j < length; ++j)
                   for (int l = 0; l < used; ++l)
                     block[static_cast<std::size_t>(j * kLanes + l)] = choices[(base + l) * length + j];
               });
  }
  void run_alike(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
                 const std::uint16_t* choices, const std::int64_t* start, std::int64_t* out) const override {
    const std::vector<std::uint32_t> row(choices, choices + length);
    run_blocks(depth, first, length, count, start, false, true, row.data(), out, [](std::int64_t, int) {});
  }

 private:
  template <class Prepare>
  void run_blocks(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
                  const std::int64_t* start, bool common, bool same, const std::uint32_t* block,
                  std::int64_t* out, Prepare prepare) const {
    const std::int64_t size = numbers(depth);
    LaneMemory<N> bench(program_.plan, size, program_.scratch);
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      prepare(base, used);
      begin(bench, size, start ? (common ? start : start + base * size) : nullptr, common, used);
      feed_block(program_, depth, first, length, start == nullptr, block, same, bench);
      for (std::int64_t e = 0; e < size; ++e)
        for (int l = 0; l < used; ++l)
          out[(base + l) * size + e] = bench.state[static_cast<std::size_t>(e)][l];
    }
  }

 public:
  void keys(const Walk& walk, const std::uint64_t* x, std::int64_t count, std::uint64_t* out) const override {
    if constexpr (sizeof(V) == 4) {
      if (walk.depth == 1 && entries_) return entry_keys(walk, x, count, out);
    }
    const std::int64_t size = numbers(walk.depth);
    LaneMemory<N> bench(program_.plan, size, program_.scratch);
    std::vector<std::uint32_t> block(static_cast<std::size_t>(walk.length * kLanes));
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      draw_block(x + base * walk.words, walk.words, used, walk.salt, walk.length, rows_.data() + walk.first,
                 kLanes, block.data());
      begin(bench, size, walk.start, true, used);
      feed_block(program_, walk.depth, walk.first, walk.length, walk.start == nullptr, block.data(), false,
                 bench);
      std::uint64_t keys[kLanes * lanes::kMostWords];
      pack_lanes(walk.depth, walk.words, bench.state, keys);
      std::copy_n(keys, used * walk.words, out + base * walk.words);
    }
  }

  void successors(std::int64_t depth, std::int64_t slot, const std::uint64_t* keys, std::int64_t count,
                  std::uint64_t* out) const override {
    const std::int64_t size = numbers(depth), rows = rows_[static_cast<std::size_t>(slot)];
    LaneMemory<N> bench(program_.plan, size, program_.scratch);
    LaneRow<N> before(size);
    std::uint64_t block[kLanes], after[kLanes];
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      for (int l = 0; l < kLanes; ++l) block[l] = l < used ? keys[base + l] : 0;
      unpack_lanes(depth, block, before);
      for (std::int64_t v = 0; v < rows; ++v) {
        const auto choice = static_cast<std::uint32_t>(v);
        for (std::int64_t e = 0; e < size; ++e)
          bench.state[static_cast<std::size_t>(e)] = before[static_cast<std::size_t>(e)];
        feed_block(program_, depth, slot, 1, false, &choice, true, bench);
        pack_lanes(depth, 1, bench.state, after);
        for (int l = 0; l < used; ++l) out[(base + l) * rows + v] = after[l];
      }
    }
  }

  Result<std::unique_ptr<DeviceProgram>> on_device() const override {
    LaneRows rows;
    rows.plan = &program_.plan;
    rows.begins = program_.begins;
    rows.scratch = program_.scratch;
    const bool full = program_.full_stride > 0;
    rows.stride = full ? program_.full_stride : program_.update_stride;
    std::uint32_t row = 0;
    std::vector<V> channels;
    for (const auto& place : program_.places) {
      rows.steps.push_back({row, place.slot ? place.rows : 0});
      const auto& from = full ? place.full : place.update;
      channels.insert(channels.end(), from.begin(), from.end());
      row += place.rows;
    }
    if constexpr (sizeof(V) == 4)
      rows.rows32 = std::move(channels);
    else
      rows.rows64 = std::move(channels);
    if (entries_ && lanes::fits_entries(entries_->rule)) entries_->for_device(numbers(1), rows);
    for (const auto& layer : widths_) rows.widths.insert(rows.widths.end(), layer.begin(), layer.end());
    rows.numbers = numbers_;
    return DeviceProgram::make(rows);
  }

 private:
  // The entrywise form of the first layer, where it has one: channels multiplied out.
  void make_entries() {
    const LaneLayer& layer = program_.plan.layers[0];
    const lanes::Shape& m = layer.shape;
    const bool gated = m.kind == MixerKind::mamba2;
    if ((!gated && m.kind != MixerKind::linear) || layer.numbers > EntryTable::kEntries) return;
    EntryTable table;
    const bool wraps = layer.accumulator == Accumulator::wrap;
    table.rule = {.gated = gated,
                  .wraps = wraps,
                  .saturates = !wraps && (gated || layer.accumulator == Accumulator::round),
                  .shift = layer.decay_shift,
                  .bits = layer.accumulator_bits};
    table.begins = program_.begins;
    const std::int64_t stride = program_.update_stride, heads = m.heads, dk = m.key_dim, dv = m.value_dim;
    for (const auto& place : program_.places) {
      table.positions.push_back({place.slot, table.terms.size() / EntryTable::kEntries});
      for (std::uint32_t row = 0; row < place.rows; ++row) {
        const V* channels = place.update.data() + row * stride;
        std::int32_t terms[EntryTable::kEntries] = {}, decays[EntryTable::kEntries] = {};
        std::size_t e = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
          const V* key = channels + (gated ? h / (heads / m.kv_heads) : h) * dk;
          const V* value = channels + (gated ? m.kv_heads : heads) * dk + h * dv;
          const V decay = gated ? channels[m.kv_heads * dk + heads * dv + h] : 0;
          for (std::int64_t r = 0; r < dv; ++r)
            for (std::int64_t c = 0; c < dk; ++c, ++e) {
              const std::int64_t product = std::int64_t{value[r]} * key[c];
              terms[e] = static_cast<std::int32_t>(layer.accumulator == Accumulator::round && !gated
                                                       ? lanes::rsh<std::int64_t>(product, layer.update_shift)
                                                       : product);
              decays[e] = decay;
            }
          if (!gated && m.normalised)
            for (std::int64_t c = 0; c < dk; ++c) terms[e++] = key[c];
        }
        table.terms.insert(table.terms.end(), terms, terms + EntryTable::kEntries);
        if (gated) table.decays.insert(table.decays.end(), decays, decays + EntryTable::kEntries);
      }
    }
    entries_ = std::move(table);
  }
  void entry_keys(const Walk& walk, const std::uint64_t* x, std::int64_t count, std::uint64_t* out) const {
    constexpr int kTogether = EntryTable::kTogether, kEntries = EntryTable::kEntries;
    std::vector<std::uint32_t> block(static_cast<std::size_t>(walk.length * kLanes));
    alignas(64) std::int32_t start[kEntries] = {}, after[kTogether * kEntries];
    for (std::int64_t e = 0; walk.start && e < numbers(1); ++e)
      start[e] = static_cast<std::int32_t>(walk.start[e]);
    const std::size_t varying = entries_->begins[static_cast<std::size_t>(walk.first)],
                      begin = walk.start ? varying : 0;
    const std::size_t end = entries_->begins[static_cast<std::size_t>(walk.first + walk.length)];
    const auto& widths = widths_[0];
    const bool packs = key_is_injective(1);
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      draw_block(x + base * walk.words, walk.words, used, walk.salt, walk.length, rows_.data() + walk.first,
                 kLanes, block.data());
      for (int group = 0; group < used; group += kTogether) {
        feed_entry_block(*entries_, begin, end, varying, block.data() + group, kLanes, start, after);
        for (int i = 0; i < std::min(kTogether, used - group); ++i) {
          lanes::Code code(packs);
          for (std::size_t e = 0; e < widths.size(); ++e)
            code.add(after[i * kEntries + static_cast<int>(e)], widths[e]);
          std::copy_n(code.word, walk.words, out + (base + group + i) * walk.words);
        }
      }
    }
  }

  // Codes of the lanes' states, and the states of injective ones.
  void pack_lanes(std::int64_t depth, int words, LaneRow<N>& state, std::uint64_t* keys) const {
    std::fill_n(keys, kLanes * words, 0);
    const bool packs = key_is_injective(depth);
    std::size_t e = 0;
    for (std::int64_t layer = 0; layer < depth; ++layer)
      for (const int width : widths_[static_cast<std::size_t>(layer)]) {
        const N number = state[e++];
        const auto value = [&](int l) { return static_cast<std::uint64_t>(std::int64_t{number[l]}); };
        if (packs && width < 64) {
          const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
          for (int l = 0; l < kLanes; ++l) keys[l] = keys[l] << width | (value(l) & mask);
        } else {
          for (int w = 0; w < words; ++w)
            for (int l = 0; l < kLanes; ++l)
              keys[l * words + w] = keys[l * words + w] * lanes::multiplier(w) + value(l);
        }
      }
  }
  void unpack_lanes(std::int64_t depth, std::uint64_t* keys, LaneRow<N>& state) const {
    auto e = static_cast<std::size_t>(numbers(depth));
    for (std::int64_t layer = depth - 1; layer >= 0; --layer) {
      const auto& widths = widths_[static_cast<std::size_t>(layer)];
      for (auto width = widths.rbegin(); width != widths.rend(); ++width) {
        const int unused = 64 - *width;
        --e;
        for (int l = 0; l < kLanes; ++l) {
          state[e][l] = static_cast<V>(static_cast<std::int64_t>(keys[l] << unused) >> unused);
          keys[l] = unused == 0 ? 0 : keys[l] >> *width;
        }
      }
    }
  }
  void begin(LaneMemory<N>& bench, std::int64_t size, const std::int64_t* start, bool common,
             int used) const {
    if (!start) {
      bench.state.clear();
      return;
    }
    for (std::int64_t e = 0; e < size; ++e)
      for (int l = 0; l < used; ++l)
        bench.state[static_cast<std::size_t>(e)][l] = static_cast<V>(common ? start[e] : start[l * size + e]);
  }

  Program<V> program_;
  std::vector<std::uint32_t> rows_;
  std::optional<EntryTable> entries_;
};

template <class V>
Result<std::unique_ptr<StateKernel>> make(const Target& target, BeginningSpace space, LanePlan plan) {
  Program<V> program;
  program.plan = std::move(plan);
  const auto& layers = program.plan.layers;
  const LaneLayer& first = layers[0];
  program.update_stride = first.update_channels;
  program.full_stride =
      layers.size() > 1 ? program.update_stride + first.read_channels + program.plan.width : 0;
  program.scratch = program.plan.width;
  for (const auto& layer : layers) {
    program.scratch = std::max(
        {program.scratch, layer.update_channels, layer.read_channels, layer.shape.output, layer.numbers});
    for (const auto& map : layer.mlp) program.scratch = std::max(program.scratch, map.rows);
  }
  std::int64_t total = 0;
  for (const auto& slot : space.slots) total += static_cast<std::int64_t>(slot.rows.size());
  if ((total + space.cut()) * (program.update_stride + program.full_stride) *
          static_cast<std::int64_t>(sizeof(V)) >
      kMostLaneBytes)
    return fail(ErrorCode::resource, "the table of first-layer channels would exceed {} bytes",
                kMostLaneBytes);

  TensorSource source(target.weights);
  const Embedding<Exact64> embedding(target.weights, Exact64{}, source, source.width("stream"));
  RUNG_REQUIRE(!source.error(), "{}", source.error()->message);
  const auto fields = target.task->fields();
  std::vector<std::int64_t> x(static_cast<std::size_t>(program.plan.width));
  std::vector<std::int64_t> updates(
      static_cast<std::size_t>(std::max<std::int64_t>(1, program.update_stride)));
  std::vector<std::int64_t> reads(static_cast<std::size_t>(std::max<std::int64_t>(1, first.read_channels)));
  const auto add_row = [&](Place<V>& place, const std::vector<std::int64_t>& row) {
    embedding.embed(row.data(), place.position, x.data());
    lanes::update_channels(first, x.data(), updates.data());
    place.update.insert(place.update.end(), updates.begin(), updates.begin() + program.update_stride);
    if (layers.size() == 1) return;
    lanes::read_channels(first, x.data(), reads.data());
    place.full.insert(place.full.end(), updates.begin(), updates.begin() + program.update_stride);
    place.full.insert(place.full.end(), reads.begin(), reads.begin() + first.read_channels);
    place.full.insert(place.full.end(), x.begin(), x.end());
  };
  std::size_t next = 0;
  program.begins.push_back(0);
  for (std::int64_t t = 0; t < space.cut() && next < space.slots.size(); ++t) {
    Place<V> place;
    place.position = t;
    place.slot = space.slots[next].position == t;
    if (place.slot) {
      place.rows = static_cast<std::uint32_t>(space.slots[next].rows.size());
      for (const auto& row : space.slots[next].rows) add_row(place, row);
      ++next;
    } else {
      add_row(place, prompt_row(space.base, fields, t));
    }
    program.places.push_back(std::move(place));
    if (program.places.back().slot) program.begins.push_back(program.places.size());
  }
  return std::unique_ptr<StateKernel>(
      std::make_unique<LaneKernel<V>>(target, std::move(space), std::move(program)));
}

}  // namespace

Result<std::unique_ptr<StateKernel>> make_lane_kernel(const Target& target, BeginningSpace space,
                                                      LanePlan plan, bool wide) {
  if (plan.layers.empty()) return fail(ErrorCode::unsupported, "no layers");
  if (plan.sum_bits > 62) return fail(ErrorCode::unsupported, "sums of {} bits", plan.sum_bits);
  if (plan.sum_bits <= 31 && !wide) return make<std::int32_t>(target, std::move(space), std::move(plan));
  return make<std::int64_t>(target, std::move(space), std::move(plan));
}

}  // namespace rung
