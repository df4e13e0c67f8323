// What the mixers of docs/weights.md share: their tensors by name, the short convolution with what stands behind it, and
// the end of a layer.
#pragma once

#include <algorithm>
#include <string>

#include "tests/exact/plain_mixers.h"

namespace rung::plain {

class LayerParts {
 public:
  LayerParts(const TensorReader& read, const MixerShape& m, std::string prefix, bool causal, const Rows& u)
      : read_(read), m_(m), prefix_(std::move(prefix)), causal_(causal), u_(u) {}

 protected:
  std::int64_t scalar(const char* name, std::int64_t absent = 0) const {
    return read_.scalar(prefix_ + name, absent);
  }
  std::int64_t bits(const char* name) const { return read_.bits(prefix_ + name); }
  bool has(const char* name) const { return read_.has(prefix_ + name); }
  Big table(const char* name, const Big& x) const { return read_.table(prefix_ + name, x); }
  std::size_t count() const { return u_.size(); }
  Rows maps(const char* name) const {
    Rows out;
    for (const auto& row : u_) out.push_back(read_.map(prefix_ + name, row));
    return out;
  }
  Rows finished(Rows y) const {
    for (auto& row : y)
      for (auto& number : row) number = sat(number, bits("y.bits"));
    return y;
  }
  static Row slice(const Row& row, std::int64_t index, std::int64_t width) {
    return Row(row.begin() + index * width, row.begin() + (index + 1) * width);
  }
  std::int64_t key_head(std::int64_t h) const { return h * m_.kv_heads / m_.heads; }

  // The named maps, their outputs side by side through the short convolution when there is one.
  std::vector<Rows> convolved(const std::vector<const char*>& names) const {
    std::vector<Rows> channels;
    for (const char* name : names) channels.push_back(maps(name));
    std::vector<Rows> out = channels;
    std::int64_t first = 0;
    for (std::size_t which = 0; m_.conv > 0 && which < names.size(); ++which) {
      const std::size_t width = channels[which][0].size();
      for (std::size_t t = 0; t < count(); ++t)
        for (std::size_t c = 0; c < width; ++c) {
          Big sum = m_.form.conv_bias ? read_.at(prefix_ + "conv.bias", first + static_cast<std::int64_t>(c))
                                      : Big(0);
          for (std::size_t j = 0; j < static_cast<std::size_t>(m_.conv) && j <= t; ++j)
            sum += read_.at(prefix_ + "conv.weight",
                            (first + static_cast<std::int64_t>(c)) * m_.conv + static_cast<std::int64_t>(j)) *
                   channels[which][t - j][c];
          Big shifted = rsh(sum, scalar("conv.shift"));
          if (has("conv.table")) shifted = table("conv", shifted);
          out[which][t][c] = sat(shifted, bits("conv.bits"));
        }
      first += static_cast<std::int64_t>(width);
    }
    // Activations of a released form: q and k have one, everything else the other.
    for (std::size_t which = 0; which < names.size(); ++which) {
      const bool is_key = std::string(names[which]) == "q" || std::string(names[which]) == "k";
      const char* name = is_key ? "qk_act" : "act";
      if ((is_key ? m_.form.key_act : m_.form.act) == Activation::none) continue;
      for (auto& row : out[which])
        for (auto& number : row)
          number = sat(table(name, number), bits((std::string(name) + ".bits").c_str()));
    }
    return out;
  }

  // From o to y: gate and norm of a released form.
  Rows output_stage(Rows o, std::int64_t group) const {
    const bool gated = m_.form.gate != Activation::none, normed = m_.form.norm != OutputNorm::none;
    if (!gated && !normed) return finished(std::move(o));
    for (auto& row : o)
      for (auto& number : row) number = sat(number, bits("read.bits"));
    const auto gate = [&] {
      if (!gated) return;
      const Rows z = maps("z");
      for (std::size_t t = 0; t < count(); ++t)
        for (std::size_t i = 0; i < o[t].size(); ++i)
          o[t][i] = sat(rsh(o[t][i] * table("z", z[t][i]), scalar("gated.shift")), bits("gated.bits"));
    };
    const auto norm = [&] {
      const std::int64_t extra = scalar("ynorm.extra");
      for (auto& row : o)
        for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(row.size()); begin += group) {
          const Row x(row.begin() + begin, row.begin() + begin + group);
          const Big root = isqrt(power_of_two(2 * extra) * dot(x, x) / Big(group) + scalar("ynorm.epsilon"));
          for (std::int64_t i = 0; i < group; ++i) {
            const Big gain =
                read_.at(prefix_ + "ynorm.gain", (begin + i) % read_.extent(prefix_ + "ynorm.gain", 0));
            row[static_cast<std::size_t>(begin + i)] =
                root == 0 ? Big(0)
                          : sat(round_quotient(x[static_cast<std::size_t>(i)] * gain *
                                                   power_of_two(scalar("ynorm.fraction") + extra),
                                               root),
                                bits("ynorm.bits"));
          }
        }
    };
    if (m_.form.norm == OutputNorm::before) {
      norm();
      gate();
    } else {
      gate();
      if (normed) norm();
    }
    return finished(std::move(o));
  }
  static Rows head_rows(const Rows& rows, std::int64_t head, std::int64_t width) {
    Rows out;
    for (const auto& row : rows) out.push_back(slice(row, head, width));
    return out;
  }

  const TensorReader& read_;
  const MixerShape& m_;
  const std::string prefix_;
  const bool causal_;
  const Rows& u_;
};

// full, topk and sparse (plain_attention.cc).
Rows attention(const TensorReader& read, const MixerShape& m, const std::string& prefix, bool causal,
               const Rows& u);

}  // namespace rung::plain
