// The position-wise front of a mixer: one or more linear maps of x_t, written side by side into channels,
// followed by an optional causal depthwise convolution over the leading channels (a short convolution inside
// a layer is itself a recurrence; its buffer is part of the state).
//   convolved_t[c] = act(rsh(bias[c] + Σ_j taps[c][j] * channel_{t-j}[c], shift)), channels before the start are 0
// A released form has activations behind it, with or without a convolution: channel ← sat(T(channel), bits).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "rung/exact/released_form.h"

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
    if (shape.form.conv_bias) {
      auto bias = context.source.template numbers<Value>("conv.bias", {shape.conv_channels});
      if (context.source.error()) return;
      bias_.assign(bias.begin() + first_row, bias.begin() + first_row + channels_);
    }
    if (context.source.has_table("conv")) conv_table_ = context.source.table("conv", "silu");
    sum_site_ = context.source.site("conv.sum");
  }

  // Channels [begin, end) go through the table `name`, behind the convolution.
  void activate(const MixerContext<A>& context, const std::string& name, Activation activation,
                std::int64_t begin, std::int64_t end) {
    if (activation == Activation::none) return;
    activations_.push_back({begin, end, context.source.table(name, activation_function(activation)),
                            context.source.width(name), context.source.integer()});
  }

  std::int64_t channels() const { return channels_; }
  // Of a channel as the mixer reads it.
  int channel_bits(std::int64_t channel) const {
    for (const auto& one : activations_)
      if (channel >= one.begin && channel < one.end) return one.width.bits;
    if (taps_ > 0 && channel < convolved_) return conv_width_.bits;
    for (const auto& map : maps_) {
      if (channel < map.rows()) return map.width().bits;
      channel -= map.rows();
    }
    RUNG_REQUIRE(false, "channel {} of {}", channel, channels_);
    return 0;
  }
  // The widest channel of [begin, end).
  int channel_bits(std::int64_t begin, std::int64_t end) const {
    int widest = 0;
    for (std::int64_t c = begin; c < end; ++c) widest = std::max(widest, channel_bits(c));
    return widest;
  }
  std::int64_t reach() const { return taps_ > 1 ? taps_ - 1 : 0; }  // earlier positions that a row depends on

  // Channels of rows [begin, end), row-major.
  void read(const Rows<Value>& x, std::int64_t begin, std::int64_t end, Value* out) const {
    const std::int64_t first = std::max<std::int64_t>(0, begin - reach());
    std::vector<Value> input(static_cast<std::size_t>((end - first) * x.width()));
    x.read(first, end, input.data());
    if (taps_ == 0) {
      for (std::int64_t t = begin; t < end; ++t) {
        apply_maps(input.data() + (t - first) * x.width(), out + (t - begin) * channels_);
        apply_activations(out + (t - begin) * channels_);
      }
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
      apply_activations(row);
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
    for (std::int64_t c = 0; taps_ > 0 && c < convolved_; ++c) {
      const Value now = out[c];
      Value* past = buffer.earlier.data() + c * reach();
      out[c] = tap(c, 0, [&](std::int64_t s) { return s == 0 ? now : past[-s - 1]; });
      for (std::int64_t j = reach() - 1; j > 0; --j) past[j] = past[j - 1];
      if (reach() > 0) past[0] = now;
    }
    apply_activations(out);
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
      int sum = channel_bits + static_cast<int>(std::ceil(std::log2(norm + 1))) + 1;
      if (!bias_.empty()) sum = std::max(sum, number_bits(bias_)) + 1;
      largest = std::max(largest, sum + shift_growth(conv_shift_));
    }
    return largest;
  }

 private:
  struct ChannelActivation {
    std::int64_t begin, end;
    Table table;
    Width width;
    bool rounded;
  };
  void apply_activations(Value* out) const {
    for (const auto& one : activations_)
      for (std::int64_t c = one.begin; c < one.end; ++c)
        out[c] = kept(arithmetic_, one.rounded, arithmetic_.table(one.table, out[c]), 0, one.width);
  }
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
  std::vector<ChannelActivation> activations_;
  std::optional<Table> conv_table_;
};

}  // namespace rung
