#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions only
// Invariant: after every slot, lane l of the state vectors holds the state of prompt l, as the exact machine has it.
//
// The first layer's channels depend on (position, row) alone and are computed once, when the kernel is made; a slot then costs a
// gather per channel and lane. Deeper layers work on vectors throughout.
#include "rung/adversary/lane_kernel.h"

#include <algorithm>
#include <new>

#include "rung/adversary/lane_step.h"
#include "rung/exact/embedding.h"
#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

using lanes::Element;

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
  std::vector<std::size_t> begins;  // by slot: the first place of it (fixed tokens before it included); one more at the end
  std::int64_t update_stride = 0, full_stride = 0;
  std::int64_t scratch = 0;  // numbers in one scratch row
};

// Vectors on their natural boundary (std::allocator forgets it for vector types), zero at first.
template <class N>
class Row {
 public:
  explicit Row(std::int64_t size) : size_(static_cast<std::size_t>(size)), data_(new (std::align_val_t{lanes::kVectorBytes}) N[size_ + 1]()) {}
  ~Row() { ::operator delete[](data_, std::align_val_t{lanes::kVectorBytes}); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  N* data() { return data_; }
  N& operator[](std::size_t i) { return data_[i]; }
  void clear() { std::fill_n(data_, size_, N{}); }

 private:
  std::size_t size_;
  N* data_;
};

// Working memory of one block of lanes.
template <class N>
struct Bench {
  Row<N> state, channels, reads, x, scratch, other;
  Bench(const LanePlan& plan, std::int64_t numbers, std::int64_t scratch_row)
      : state(numbers), channels(scratch_row), reads(scratch_row), x(plan.width), scratch(scratch_row), other(scratch_row) {}
};

template <class N, class V>
RUNG_INLINE void feed(const Program<V>& program, std::int64_t depth, const Place<V>& place, const std::uint32_t* choice, Bench<N>& bench) {
  constexpr int kLanes = Element<N>::kLanes;
  const LanePlan& plan = program.plan;
  const LaneLayer& first = plan.layers[0];
  const std::int64_t updates = program.update_stride, stride = depth > 1 ? program.full_stride : updates;
  const V* table = depth > 1 ? place.full.data() : place.update.data();
  const V* row[kLanes];
  for (int l = 0; l < kLanes; ++l) row[l] = table + static_cast<std::int64_t>(choice[l]) * stride;
  for (std::int64_t c = 0; c < updates; ++c) {
    N gathered;
    for (int l = 0; l < kLanes; ++l) gathered[l] = row[l][c];
    bench.channels[static_cast<std::size_t>(c)] = gathered;
  }
  N* state = bench.state.data();
  lanes::update(first, bench.channels.data(), state, bench.scratch.data());
  if (depth == 1) return;
  const std::int64_t reads = first.read_channels();
  for (std::int64_t c = 0; c < reads; ++c)
    for (int l = 0; l < kLanes; ++l) bench.reads[static_cast<std::size_t>(c)][l] = row[l][updates + c];
  for (std::int64_t w = 0; w < plan.width; ++w)
    for (int l = 0; l < kLanes; ++l) bench.x[static_cast<std::size_t>(w)][l] = row[l][updates + reads + w];
  for (std::int64_t i = 0; i < depth; ++i) {
    const LaneLayer& layer = plan.layers[static_cast<std::size_t>(i)];
    if (i > 0) {
      lanes::update_channels(layer, bench.x.data(), bench.channels.data());
      lanes::update(layer, bench.channels.data(), state, bench.scratch.data());
    }
    if (i + 1 < depth) {
      if (i > 0) lanes::read_channels(layer, bench.x.data(), bench.reads.data());
      lanes::read(layer, bench.reads.data(), state, plan.stream_bits, plan.width, bench.x.data(), bench.scratch.data(), bench.other.data());
    }
    state += layer.numbers;
  }
}

// Prompts [0, kLanes): slots [first, first + length), choices[j * kLanes + l].
template <class N, class V>
RUNG_INLINE void feed_slots(const Program<V>& program, std::int64_t depth, std::int64_t first, std::int64_t length, bool from_start,
                            const std::uint32_t* choices, Bench<N>& bench) {
  static constexpr std::uint32_t kFirstRows[Element<N>::kLanes] = {};
  const auto begin = from_start ? 0 : program.begins[static_cast<std::size_t>(first)];
  const auto end = program.begins[static_cast<std::size_t>(first + length)];
  const auto varying = program.begins[static_cast<std::size_t>(first)];
  std::int64_t j = 0;
  for (std::size_t p = begin; p < end; ++p) {
    const bool varies = p >= varying && program.places[p].slot;
    feed<N, V>(program, depth, program.places[p], varies ? choices + j * Element<N>::kLanes : kFirstRows, bench);
    j += varies;
  }
}

using N32 = lanes::Vector<std::int32_t>;
using N64 = lanes::Vector<std::int64_t>;
RUNG_VECTOR_CLONES void feed_block(const Program<std::int32_t>& program, std::int64_t depth, std::int64_t first, std::int64_t length, bool from_start,
                                   const std::uint32_t* choices, Bench<N32>& bench) {
  feed_slots<N32, std::int32_t>(program, depth, first, length, from_start, choices, bench);
}
RUNG_VECTOR_CLONES void feed_block(const Program<std::int64_t>& program, std::int64_t depth, std::int64_t first, std::int64_t length, bool from_start,
                                   const std::uint32_t* choices, Bench<N64>& bench) {
  feed_slots<N64, std::int64_t>(program, depth, first, length, from_start, choices, bench);
}

// choices[j * lanes + l] from x[l], as StateKernel::draw.
RUNG_VECTOR_CLONES void draw_block(const std::uint64_t* x, int lanes_used, std::uint64_t salt, std::int64_t length, const std::uint32_t* rows,
                                   int lanes, std::uint32_t* choices) {
  std::uint64_t y[16];
  for (int l = 0; l < 16; ++l) y[l] = l < lanes_used ? spread(x[l] ^ salt) : 0;
  for (std::int64_t begin = 0; begin < length; begin += kChoicesPerDraw) {
    std::uint64_t bits[16];
    for (int l = 0; l < 16; ++l) bits[l] = spread(y[l] + static_cast<std::uint64_t>(begin / kChoicesPerDraw + 1) * kGoldenGamma);
    for (std::int64_t j = begin; j < std::min<std::int64_t>(length, begin + kChoicesPerDraw); ++j) {
      const std::uint32_t count = rows[j];
      for (int l = 0; l < lanes; ++l)
        choices[j * lanes + l] = static_cast<std::uint32_t>(bits[l] >> (16 * (j - begin)) & 0xffff) * count >> 16;
    }
  }
}

template <class V>
class LaneKernel final : public StateKernel {
 public:
  using N = lanes::Vector<V>;
  static constexpr int kLanes = Element<N>::kLanes;

  LaneKernel(const Target& target, BeginningSpace space, Program<V> program) : StateKernel(target, std::move(space)), program_(std::move(program)) {
    for (const auto& slot : space_.slots) rows_.push_back(static_cast<std::uint32_t>(slot.rows.size()));
  }
  std::string_view name() const override { return sizeof(V) == 4 ? "lanes of int32" : "lanes of int64"; }
  bool restarts() const override { return true; }

  void run(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count, const std::uint16_t* choices, const std::int64_t* start,
           bool common, std::int64_t* out) const override {
    const std::int64_t size = numbers(depth);
    Bench<N> bench(program_.plan, size, program_.scratch);
    std::vector<std::uint32_t> block(static_cast<std::size_t>(length * kLanes));
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      for (std::int64_t j = 0; j < length; ++j)
        for (int l = 0; l < used; ++l) block[static_cast<std::size_t>(j * kLanes + l)] = choices[(base + l) * length + j];
      begin(bench, size, start ? (common ? start : start + base * size) : nullptr, common, used);
      feed_block(program_, depth, first, length, start == nullptr, block.data(), bench);
      for (std::int64_t e = 0; e < size; ++e)
        for (int l = 0; l < used; ++l) out[(base + l) * size + e] = bench.state[static_cast<std::size_t>(e)][l];
    }
  }

  void keys(const Walk& walk, const std::uint64_t* x, std::int64_t count, std::uint64_t* out) const override {
    const std::int64_t size = numbers(walk.depth);
    Bench<N> bench(program_.plan, size, program_.scratch);
    std::vector<std::uint32_t> block(static_cast<std::size_t>(walk.length * kLanes));
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      draw_block(x + base, used, walk.salt, walk.length, rows_.data() + walk.first, kLanes, block.data());
      begin(bench, size, walk.start, true, used);
      feed_block(program_, walk.depth, walk.first, walk.length, walk.start == nullptr, block.data(), bench);
      std::uint64_t keys[kLanes];
      pack_lanes(walk.depth, bench.state, keys);
      std::copy_n(keys, used, out + base);
    }
  }

  void successors(std::int64_t depth, std::int64_t slot, const std::uint64_t* keys, std::int64_t count, std::uint64_t* out) const override {
    const std::int64_t size = numbers(depth), rows = rows_[static_cast<std::size_t>(slot)];
    Bench<N> bench(program_.plan, size, program_.scratch);
    Row<N> before(size);
    std::uint32_t choice[kLanes];
    std::uint64_t block[kLanes], after[kLanes];
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      for (int l = 0; l < kLanes; ++l) block[l] = l < used ? keys[base + l] : 0;
      unpack_lanes(depth, block, before);
      for (std::int64_t v = 0; v < rows; ++v) {
        std::fill_n(choice, kLanes, static_cast<std::uint32_t>(v));
        for (std::int64_t e = 0; e < size; ++e) bench.state[static_cast<std::size_t>(e)] = before[static_cast<std::size_t>(e)];
        feed_block(program_, depth, slot, 1, false, choice, bench);
        pack_lanes(depth, bench.state, after);
        for (int l = 0; l < used; ++l) out[(base + l) * rows + v] = after[l];
      }
    }
  }

 private:
  // keys of the lanes' states, and the states of injective keys.
  void pack_lanes(std::int64_t depth, Row<N>& state, std::uint64_t* keys) const {
    std::fill_n(keys, kLanes, 0);
    const bool packs = key_is_injective(depth);
    std::size_t e = 0;
    for (std::int64_t layer = 0; layer < depth; ++layer)
      for (const int width : widths_[static_cast<std::size_t>(layer)]) {
        const N number = state[e++];
        if (packs && width < 64) {
          const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
          for (int l = 0; l < kLanes; ++l) keys[l] = keys[l] << width | (static_cast<std::uint64_t>(static_cast<std::int64_t>(number[l])) & mask);
        } else {
          for (int l = 0; l < kLanes; ++l) keys[l] = keys[l] * kKeyMultiplier + static_cast<std::uint64_t>(static_cast<std::int64_t>(number[l]));
        }
      }
  }
  void unpack_lanes(std::int64_t depth, std::uint64_t* keys, Row<N>& state) const {
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
  void begin(Bench<N>& bench, std::int64_t size, const std::int64_t* start, bool common, int used) const {
    if (!start) {
      bench.state.clear();
      return;
    }
    for (std::int64_t e = 0; e < size; ++e)
      for (int l = 0; l < used; ++l) bench.state[static_cast<std::size_t>(e)][l] = static_cast<V>(common ? start[e] : start[l * size + e]);
  }

  Program<V> program_;
  std::vector<std::uint32_t> rows_;
};

template <class V>
Result<std::unique_ptr<StateKernel>> make(const Target& target, BeginningSpace space, LanePlan plan) {
  Program<V> program;
  program.plan = std::move(plan);
  const auto& layers = program.plan.layers;
  const LaneLayer& first = layers[0];
  program.update_stride = first.update_channels();
  program.full_stride = layers.size() > 1 ? program.update_stride + first.read_channels() + program.plan.width : 0;
  program.scratch = program.plan.width;
  for (const auto& layer : layers) {
    program.scratch = std::max({program.scratch, layer.update_channels(), layer.read_channels(), layer.shape.output_width(), layer.numbers});
    for (const auto& map : layer.mlp) program.scratch = std::max(program.scratch, map.rows);
  }
  std::int64_t total = 0;
  for (const auto& slot : space.slots) total += static_cast<std::int64_t>(slot.rows.size());
  if ((total + space.cut()) * (program.update_stride + program.full_stride) * static_cast<std::int64_t>(sizeof(V)) > kMostLaneBytes)
    return fail(ErrorCode::resource, "the table of first-layer channels would exceed {} bytes", kMostLaneBytes);

  TensorSource source(target.weights);
  const Embedding<Exact64> embedding(target.weights, Exact64{}, source, source.width("stream"));
  RUNG_REQUIRE(!source.error(), "{}", source.error()->message);
  const auto fields = target.task->fields();
  std::vector<std::int64_t> x(static_cast<std::size_t>(program.plan.width));
  std::vector<std::int64_t> updates(static_cast<std::size_t>(std::max<std::int64_t>(1, program.update_stride)));
  std::vector<std::int64_t> reads(static_cast<std::size_t>(std::max<std::int64_t>(1, first.read_channels())));
  const auto add_row = [&](Place<V>& place, const std::vector<std::int64_t>& row) {
    embedding.embed(row.data(), place.position, x.data());
    lanes::update_channels(first, x.data(), updates.data());
    place.update.insert(place.update.end(), updates.begin(), updates.begin() + program.update_stride);
    if (layers.size() == 1) return;
    lanes::read_channels(first, x.data(), reads.data());
    place.full.insert(place.full.end(), updates.begin(), updates.begin() + program.update_stride);
    place.full.insert(place.full.end(), reads.begin(), reads.begin() + first.read_channels());
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
  return std::unique_ptr<StateKernel>(std::make_unique<LaneKernel<V>>(target, std::move(space), std::move(program)));
}

}  // namespace

Result<std::unique_ptr<StateKernel>> make_lane_kernel(const Target& target, BeginningSpace space, LanePlan plan, bool wide) {
  if (plan.layers.empty()) return fail(ErrorCode::unsupported, "no layers");
  if (plan.sum_bits > 62) return fail(ErrorCode::unsupported, "sums of {} bits", plan.sum_bits);
  if (plan.sum_bits <= 31 && !wide) return make<std::int32_t>(target, std::move(space), std::move(plan));
  return make<std::int64_t>(target, std::move(space), std::move(plan));
}

}  // namespace rung
