// A mixer that learns: its parameters and its forward pass. One file a word of the language in mixers/, one
// line in mixer_list.cc. Each has a plain form, tensor operations that follow docs/weights.md line by line
// (autograd gives its gradient), and where it pays a fast one; pass.plain chooses, and a test compares them,
// forward and backward.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rung/learn/forward_context.h"
#include "rung/spec/architecture.h"
#include "rung/spec/weights.h"

namespace rung::learn {

class LearnedMixer {
 public:
  virtual ~LearnedMixer() = default;
  // u [E, B, T, W] -> [E, B, T, output width]
  virtual torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                                const ForwardContext& pass) const = 0;
  // Scalars and table functions that the weights file needs beside the parameters.
  virtual void describe(Weights&) const {}
  // Adds its name if it is a released form whose recurrence no kernel computes there (on a CUDA device, or on a CPU): it
  // is trained position by position in tensor operations, and the run says so.
  virtual void unfused([[maybe_unused]] bool on_device, std::vector<std::string>&) const {}
};

struct MixerPlace {
  std::string prefix;  // "layers.3." or "layers.3.part.0."
  std::int64_t width = 0;
  bool causal = true;
  std::map<std::string, double> scalars = {};  // of ModelSpec
  // The scalar of the file that is not learned: prefix + name, or what a fresh model has.
  double scalar(const std::string& name, double otherwise) const;
};

// Declares the mixer's parameters in `layout`. REQUIRES learnable(shape).
std::unique_ptr<LearnedMixer> make_mixer(const MixerShape& shape, const MixerPlace& place,
                                         ParameterLayout& layout);
// One line on what has no gradient form (opaque mixers of released models).
Result<void> learnable(const MixerShape& shape);

// The standard deviation that keeps a map's outputs as large as its inputs.
double fan_in_deviation(std::int64_t inputs);

// The rows of a stacked map's output, apart: one split, so that the gradients come back in one pass.
inline std::vector<torch::Tensor> split_rows(const torch::Tensor& all,
                                             const std::vector<std::int64_t>& sizes) {
  return all.split_with_sizes(sizes, -1);
}
// heads side by side: [E, B, T, H * d] -> [E, B, T, H, d]
inline torch::Tensor split_heads(const torch::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, std::vector<std::int64_t>{heads, x.size(-1) / heads});
}
inline torch::Tensor join_heads(const torch::Tensor& y) { return y.flatten(-2); }
// Key heads K to H heads: head h reads key head floor(h K / H). [.., K, d] -> [.., H, d]
torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads);

}  // namespace rung::learn
