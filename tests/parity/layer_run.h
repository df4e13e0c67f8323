// One mixer of a weights file on given rows, in double, with what it tells an observer.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "rung/exact/mixer.h"

namespace rung::parity {

// Keeps what a mixer tells under each name.
class Record final : public ValueObserver {
 public:
  int site(const std::string& name) override {
    const auto [found, fresh] = sites_.try_emplace(name, static_cast<int>(seen_.size()));
    if (fresh) seen_.emplace_back();
    return found->second;
  }
  void see(int site, double value) override { seen_[static_cast<std::size_t>(site)].push_back(value); }
  std::vector<double> of(const std::string& name) const {
    const auto found = sites_.find("layers.0." + name);
    return found == sites_.end() ? std::vector<double>{} : seen_[static_cast<std::size_t>(found->second)];
  }

 private:
  std::map<std::string, int> sites_;
  std::vector<std::vector<double>> seen_;
};

class StoredRows final : public Rows<double> {
 public:
  StoredRows(std::vector<double> values, std::int64_t width) : values_(std::move(values)), width_(width) {}
  std::int64_t count() const override { return static_cast<std::int64_t>(values_.size()) / width_; }
  std::int64_t width() const override { return width_; }
  void read(std::int64_t begin, std::int64_t end, double* out) const override {
    std::copy(values_.begin() + begin * width_, values_.begin() + end * width_, out);
  }
  const double* row(std::int64_t t) const { return values_.data() + t * width_; }

 private:
  std::vector<double> values_;
  std::int64_t width_;
};

struct LayerRun {
  std::vector<double> output, published, state;
  Record record;
};

class Layer {
 public:
  Layer(const Weights& weights, std::int64_t positions) : weights_(weights), positions_(positions) {
    shape_ = resolve(weights.architecture).value()[0].mixer;
  }
  const MixerShape& shape() const { return shape_; }
  LayerRun run(const StoredRows& rows, std::int64_t width, bool stepwise) const {
    LayerRun out;
    TensorSource source = TensorSource(weights_, &out.record).under("layers.0");
    const MixerContext<RealArithmetic> context{
        shape_,     width, true,  RealArithmetic{Accumulator::exact, 32, std::nullopt, &out.record},
        positions_, 32,    source};
    const auto mixer = make_mixer_for(context);
    EXPECT_FALSE(source.error()) << (source.error() ? source.error()->message : "");
    if (!mixer) return out;
    const auto map = source.map<RealArithmetic>("o", width, mixer->output_width());
    EXPECT_FALSE(source.error()) << (source.error() ? source.error()->message : "");
    const std::int64_t row = mixer->output_width() + mixer->published();
    std::vector<double> mixed(static_cast<std::size_t>(rows.count() * row));
    if (stepwise) {
      auto state = mixer->start();
      for (std::int64_t t = 0; t < rows.count(); ++t)
        mixer->step(*state, rows.row(t), mixed.data() + t * row);
      state->append_numbers(out.state);
    } else {
      std::vector<std::int64_t> all(static_cast<std::size_t>(rows.count()));
      for (std::size_t t = 0; t < all.size(); ++t) all[t] = static_cast<std::int64_t>(t);
      mixer->forward(rows, all, mixed.data());
    }
    std::vector<double> y(static_cast<std::size_t>(width));
    for (std::int64_t t = 0; t < rows.count(); ++t) {
      map.apply(RealArithmetic{}, mixed.data() + t * row, y.data());
      out.output.insert(out.output.end(), y.begin(), y.end());
      out.published.insert(out.published.end(), mixed.begin() + t * row + mixer->output_width(),
                           mixed.begin() + (t + 1) * row);
    }
    return out;
  }

 private:
  const Weights& weights_;
  std::int64_t positions_;
  MixerShape shape_;
};

}  // namespace rung::parity
