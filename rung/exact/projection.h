// The position-wise front of a mixer: one or more linear maps of x_t, written side by side into channels,
// followed by an optional causal depthwise convolution over the leading channels (a short convolution inside
// a layer is itself a recurrence; its buffer is part of the state).
//   convolved_t[c] = act(rsh(Σ_j taps[c][j] * channel_{t-j}[c], shift)), channels before the start are 0
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "rung/exact/mixer.h"

namespace rung {

template <class A>
class Projection {
 public:
  using Value = typename A::Value;
  struct Buffer {
    std::vector<Value> earlier;  // taps - 1 rows of channels, newest first
  };

  Projection() = default;
  explicit Projection(const A& arithmetic) : arithmetic_(arithmetic) {}

  void add(LinearMap<A> map) {
    channels_ += map.rows();
    maps_.push_back(std::move(map));
  }
  // Convolves all channels added so far with rows [first_row, first_row + channels) of conv.weight.
  void convolve(const MixerContext<A>& context, std::int64_t first_row) {
    const auto& shape = context.shape;
    if (shape.conv < 1) return;
    auto taps = context.source.template numbers<Value>("conv.weight", {shape.conv_channels, shape.conv});
    if (context.source.error()) return;
    RUNG_REQUIRE(first_row + channels_ <= shape.conv_channels, "rows {}+{} of {}", first_row, channels_,
                 shape.conv_channels);
    taps_ = shape.conv;
    convolved_ = channels_;
    conv_.assign(taps.begin() + first_row * taps_, taps.begin() + (first_row + channels_) * taps_);
    conv_shift_ = context.source.shift("conv.shift");
    conv_width_ = context.source.width("conv");
    // What comes out is told apart by the map it came from: "conv.16" begins at row 16 of conv.weight.
    std::int64_t row = first_row;
    for (const auto& map : maps_) {
      sites_.insert(sites_.end(), static_cast<std::size_t>(map.rows()),
                    context.source.site("conv." + std::to_string(row)));
      row += map.rows();
    }
    // A released form has a bias, and its own activation behind this.
    if (shape.form.conv_bias) {
      auto bias = context.source.template numbers<Value>("conv.bias", {shape.conv_channels});
      if (context.source.error()) return;
      bias_.assign(bias.begin() + first_row, bias.begin() + first_row + channels_);
    }
    if (context.source.has_table("conv")) conv_table_ = context.source.table("conv", "silu");
    sum_site_ = context.source.site("conv.sum");
  }

  std::int64_t channels() const { return channels_; }
  std::int64_t reach() const { return taps_ > 1 ? taps_ - 1 : 0; }  // earlier positions that a row depends on

  // Channels of rows [begin, end), row-major.
  void read(const Rows<Value>& x, std::int64_t begin, std::int64_t end, Value* out) const {
    const std::int64_t first = std::max<std::int64_t>(0, begin - reach());
    std::vector<Value> input(static_cast<std::size_t>((end - first) * x.width()));
    x.read(first, end, input.data());
    if (taps_ == 0) {
      for (std::int64_t t = begin; t < end; ++t)
        apply_maps(input.data() + (t - first) * x.width(), out + (t - begin) * channels_);
      return;
    }
    std::vector<Value> raw(static_cast<std::size_t>((end - first) * channels_));
    for (std::int64_t t = first; t < end; ++t)
      apply_maps(input.data() + (t - first) * x.width(), raw.data() + (t - first) * channels_);
    for (std::int64_t t = begin; t < end; ++t) {
      Value* row = out + (t - begin) * channels_;
      for (std::int64_t c = 0; c < channels_; ++c)
        row[c] =
            c < convolved_
                ? tap(c, t,
                      [&](std::int64_t s) {
                        return s < 0 ? Value{0} : raw[static_cast<std::size_t>((s - first) * channels_ + c)];
                      })
                : raw[static_cast<std::size_t>((t - first) * channels_ + c)];
    }
  }

  // Bits of the buffer's numbers, in their order.
  std::vector<int> buffer_widths() const {
    std::vector<int> widths;
    std::int64_t first = 0;
    for (const auto& map : maps_) {
      for (std::int64_t c = first; c < std::min(first + map.rows(), convolved_); ++c)
        widths.insert(widths.end(), static_cast<std::size_t>(reach()), map.width().bits);
      first += map.rows();
    }
    return widths;
  }
  std::int64_t buffer_size() const { return reach() * convolved_; }
  Buffer start() const { return Buffer{std::vector<Value>(static_cast<std::size_t>(buffer_size()))}; }
  void step(Buffer& buffer, const Value* x, Value* out) const {
    apply_maps(x, out);
    if (taps_ == 0) return;
    for (std::int64_t c = 0; c < convolved_; ++c) {
      const Value now = out[c];
      Value* past = buffer.earlier.data() + c * reach();
      out[c] = tap(c, 0, [&](std::int64_t s) { return s == 0 ? now : past[-s - 1]; });
      for (std::int64_t j = reach() - 1; j > 0; --j) past[j] = past[j - 1];
      if (reach() > 0) past[0] = now;
    }
  }

  int sum_bits(int input_bits) const {
    int largest = 0;
    for (const auto& map : maps_) largest = std::max(largest, map.sum_bits(input_bits));
    if (taps_ > 0) {
      double norm = 0;
      for (std::int64_t c = 0; c < convolved_; ++c) {
        double row = 0;
        for (std::int64_t j = 0; j < taps_; ++j)
          row += std::abs(static_cast<double>(conv_[static_cast<std::size_t>(c * taps_ + j)]));
        norm = std::max(norm, row);
      }
      int channel_bits = 0;
      for (const auto& map : maps_) channel_bits = std::max(channel_bits, map.width().bits);
      largest = std::max(largest, channel_bits + static_cast<int>(std::ceil(std::log2(norm + 1))) + 1 +
                                      shift_growth(conv_shift_));
    }
    return largest;
  }

 private:
  void apply_maps(const Value* x, Value* out) const {
    for (const auto& map : maps_) {
      map.apply(arithmetic_, x, out);
      out += map.rows();
    }
  }
  template <class Past>
  Value tap(std::int64_t c, std::int64_t t, Past past) const {
    typename A::Wide sum = bias_.empty() ? Value{0} : bias_[static_cast<std::size_t>(c)];
    for (std::int64_t j = 0; j < taps_; ++j)
      sum += static_cast<typename A::Wide>(conv_[static_cast<std::size_t>(c * taps_ + j)]) * past(t - j);
    Width width = conv_width_;
    width.site = sites_[static_cast<std::size_t>(c)];
    if (!conv_table_) return arithmetic_.narrow(sum, conv_shift_, width);
    const auto index = arithmetic_.rescale(sum, conv_shift_);
    arithmetic_.watch(sum_site_, index);
    return arithmetic_.narrow(arithmetic_.table(*conv_table_, index), 0, width);
  }

  A arithmetic_;
  std::vector<LinearMap<A>> maps_;
  std::int64_t channels_ = 0, convolved_ = 0, taps_ = 0;
  std::vector<Value> conv_, bias_;  // taps of each channel, newest first; bias
  int conv_shift_ = 0, sum_site_ = -1;
  Width conv_width_;
  std::vector<int> sites_;  // of the convolved channels
  std::optional<Table> conv_table_;
};

}  // namespace rung
