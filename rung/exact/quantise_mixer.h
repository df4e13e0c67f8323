// One mixer as integers: which fractions depend on each other, and which shifts follow from them
// (docs/weights.md has the formulas whose shifts these are). Attention is in quantise_attention.cc,
// recurrences in quantise_recurrence.cc.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rung/exact/quantise_model.h"

namespace rung {

class MixerQuantiser {
 public:
  MixerQuantiser(IntegerModel& model, const MixerShape& mixer, const std::string& prefix,
                 const InputScale& in)
      : model_(model), m_(mixer), prefix_(prefix), in_(in) {}

  // The fraction of every output.
  std::vector<int> run();

 private:
  using Fractions = std::map<std::string, int>;  // of channels, by the name of their map

  // Names under the prefix.
  std::string at(const std::string& name) const { return prefix_ + name; }
  int fraction(const std::string& name, int bits, bool positive_only = false) const {
    return model_.fraction(at(name), bits, positive_only);
  }
  // Where the observer saw a channel as the mixer reads it: behind the short convolution, where there is one.
  std::string channel_site(const std::string& name) const;
  // One table behind the convolution: all channels have one fraction.
  bool tied() const { return m_.conv > 0 && model_.names_table(at("conv")); }
  // A channel's best fraction there.
  int channel(const std::string& name, int bits, bool positive_only = false) const;
  // Of a state entry; nothing may be clipped where sums wrap.
  int state_fraction(const std::string& name) const;
  // The maps and the short convolution behind them; `wanted` holds the channels' fractions, equal ones with a
  // convolution.
  void project(const std::vector<std::pair<std::string, std::int64_t>>& maps, const Fractions& wanted,
               int bits);
  // The same with activations between (docs/weights.md, "Released forms in integers"): writes maps, convolution and tables;
  // returns the fraction of every channel as the mixer reads it, at most `most` where that has one.
  struct FrontMap {
    std::string name;
    std::int64_t rows = 0;
    std::string table;  // of its activation
    Activation function = Activation::none;
  };
  Fractions front(const std::vector<FrontMap>& maps, const Fractions& most);
  // A map that nothing convolves, of the layer's input, or of integers at `from`.
  void plain_map(const std::string& name, std::int64_t rows, int fraction, int bits,
                 const InputScale* from = nullptr);
  // Lowers first and second until their sum is at most `total`, the one with more precision first; both alike
  // when they are one convolution's.
  void share(const std::string& first, const std::string& second, int total, Fractions& wanted) const;
  void output(int fraction, int bits);  // y
  // A released output stage: where o is kept first, and the way from there to y.
  bool staged() const { return m_.form.gate != Activation::none || m_.form.norm != OutputNorm::none; }
  int core_fraction(int y) const { return staged() ? fraction("read", model_.guarded_bits()) : y; }
  void output_form(int core, int y, std::int64_t outputs, std::int64_t gain);
  void gate_stage(int& now, int fraction, int bits, std::int64_t outputs);
  void norm_stage(int& now, int fraction, int bits, std::int64_t gain);
  // gain, fraction and width of a norm whose outputs are at `fraction`.
  void norm_gain(const std::string& name, int fraction, int bits, std::int64_t gain);
  // epsilon of a norm whose inputs are at `in`; the extra bits that go with it.
  int write_epsilon(const std::string& name, double epsilon, int in);
  // skip.weight, of channels at `in`, added to o at `core`.
  void skip_weights(std::int64_t rows, int in, int core);

  std::vector<int> attention();
  void score_rule(int query, int key, int value, int y);
  void sparse_branches(int key, int value);
  void window_branches(int key, int value);  // of the released form
  void index_maps();

  // State cells: the fraction of Σ_c S[r][c] q[c].
  int linear_cell(int y, bool normalised);
  // decay=step: the table behind `name`, whose fraction is returned; and what follows from a step.
  int step_table(const std::string& name, std::int64_t rows, const InputScale* from = nullptr);
  void step_decay(int step, std::int64_t rows, std::int64_t columns, std::vector<std::int64_t> shape);
  void head_decay(const std::string& name);
  int mamba2_cell(int core);
  int delta_cell(bool gated);
  std::vector<int> matrix_recurrence();
  void gate(const std::string& name, const char* function, std::int64_t rows, int out,
            const InputScale* from = nullptr);
  // What q and k are divided by; their fractions afterwards.
  void key_norm(Fractions& wanted);
  std::vector<int> mamba();
  // Norms of b, c and the time step: of numbers at `in`, to numbers at `out` or near it, which is returned; and the step
  // behind its own, whose bottleneck is at `low`.
  int select_norm(const std::string& name, int in, int out, int bits);
  int normed_step(const InputScale& before, int low);
  std::vector<int> elman();
  std::vector<int> gru();
  std::vector<int> position_wise();

  IntegerModel& model_;
  const MixerShape& m_;
  std::string prefix_;
  const InputScale& in_;
};

}  // namespace rung
