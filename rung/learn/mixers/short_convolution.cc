#include "rung/learn/mixers/short_convolution.h"

#include <numeric>

#include "rung/learn/mixers/mixers.h"

namespace rung::learn {

ShortConvolution::ShortConvolution(const std::string& prefix, std::int64_t channels, std::int64_t taps,
                                   ParameterLayout& layout, const char* name)
    : weight_(layout.add(prefix + name, {channels, taps}, Start{Start::Kind::normal, fan_in_deviation(taps)},
                         true)) {}

torch::Tensor ShortConvolution::forward(const torch::Tensor& x, const Leaves& leaves) const {
  const torch::Tensor& weight = leaves[weight_];  // [E, C, w]
  const std::int64_t taps = weight.size(2), length = x.size(2);
  torch::Tensor out;
  for (std::int64_t j = 0; j < taps && j < length; ++j) {
    const torch::Tensor tap = weight.select(2, j).unsqueeze(1).unsqueeze(1);  // [E, 1, 1, C]
    const torch::Tensor shifted =
        j == 0 ? x : torch::constant_pad_nd(x.narrow(2, 0, length - j), {0, 0, j, 0});
    out = j == 0 ? shifted * tap : torch::addcmul(out, shifted, tap);
  }
  return out;
}

std::vector<torch::Tensor> convolved_rows(const torch::Tensor& all,
                                          const std::optional<ShortConvolution>& conv, std::size_t convolved,
                                          const std::vector<std::int64_t>& sizes, const Leaves& leaves) {
  if (!conv) return split_rows(all, sizes);
  const std::vector<std::int64_t> head(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(convolved));
  std::vector<std::int64_t> outer{std::accumulate(head.begin(), head.end(), std::int64_t{0})};
  outer.insert(outer.end(), sizes.begin() + static_cast<std::ptrdiff_t>(convolved), sizes.end());
  std::vector<torch::Tensor> apart = split_rows(all, outer);
  std::vector<torch::Tensor> rows = split_rows(conv->forward(apart[0], leaves), head);
  rows.insert(rows.end(), apart.begin() + 1, apart.end());
  return rows;
}

std::vector<torch::Tensor> mapped_rows(const torch::Tensor& u, const torch::Tensor& weight,
                                       std::int64_t multiple, const std::optional<ShortConvolution>& conv,
                                       std::size_t convolved, const std::vector<std::int64_t>& sizes,
                                       const Leaves& leaves) {
  const std::int64_t missing = (multiple - weight.size(1) % multiple) % multiple;
  if (missing == 0) return convolved_rows(apply_map(u, weight), conv, convolved, sizes, leaves);
  std::vector<std::int64_t> wide(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(convolved)),
      few(sizes.begin() + static_cast<std::ptrdiff_t>(convolved), sizes.end());
  few.push_back(missing);
  wide.push_back(std::accumulate(few.begin(), few.end(), std::int64_t{0}));
  std::vector<torch::Tensor> rows = convolved_rows(
      apply_map(u, torch::constant_pad_nd(weight, {0, 0, 0, missing})), conv, convolved, wide, leaves);
  const std::vector<torch::Tensor> last = split_rows(rows.back(), few);
  rows.pop_back();
  rows.insert(rows.end(), last.begin(), last.end() - 1);
  return rows;
}

namespace {

class Convolution : public LearnedMixer {
 public:
  Convolution(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : prefix_(place.prefix),
        value_(layout.add(place.prefix + "v.weight", {shape.inner, place.width},
                          Start::normal(fan_in_deviation(place.width)), true)),
        taps_(place.prefix, shape.inner, shape.conv, layout, "taps.weight") {}
  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    return pass.round(prefix_ + "y",
                      taps_.forward(pass.round(prefix_ + "v", apply_map(u, leaves[value_])), leaves));
  }

 private:
  std::string prefix_;
  ParameterLayout::Index value_;
  ShortConvolution taps_;
};

}  // namespace

std::unique_ptr<LearnedMixer> convolution_mixer(const MixerShape& shape, const MixerPlace& place,
                                                ParameterLayout& layout) {
  return std::make_unique<Convolution>(shape, place, layout);
}

}  // namespace rung::learn
