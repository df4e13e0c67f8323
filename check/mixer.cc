#include "check/mixer.h"

namespace rung_check {
namespace {

// heads(...): the parts read the same row; their outputs stand side by side.
template <class N>
class SideBySide final : public Mixer<N> {
 public:
  SideBySide(const Shape& shape, const Part<N>& part) {
    for (std::size_t i = 0; i < shape.parts.size(); ++i)
      parts_.push_back(make_mixer(shape.parts[i], part.under(text("part.", i))));
  }
  void reset() override {
    for (auto& part : parts_) part->reset();
  }
  void see(const Numbers<N>& u) override {
    for (auto& part : parts_) part->see(u);
  }
  Numbers<N> answer(std::int64_t position) override {
    Numbers<N> y;
    for (auto& part : parts_) {
      const Numbers<N> more = part->answer(position);
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }
  void state(StateOf<N>& out, std::int64_t positions) const override {
    for (const auto& part : parts_) part->state(out, positions);
  }
  void remember(MemoryOf<N>& out) const override {
    for (const auto& part : parts_) part->remember(out);
  }
  void recall(const MemoryOf<N>& memory, std::size_t& next) override {
    for (auto& part : parts_) part->recall(memory, next);
  }
  Numbers<N> last() override {
    Numbers<N> y;
    for (auto& part : parts_) {
      const Numbers<N> more = part->last();
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }

 private:
  std::vector<std::unique_ptr<Mixer<N>>> parts_;
};

}  // namespace

template <class N>
Map<N>::Map(const Part<N>& part, const std::string& name, std::int64_t r, std::int64_t c, bool sums_only)
    : rows(r),
      cols(c),
      shift(sums_only ? 0 : part.shift(name)),
      bits(sums_only ? 0 : part.bits(name)),
      weight(part.numbers(name + ".weight", {r, c})),
      bias(part.has(name + ".bias") ? part.numbers(name + ".bias", {r}) : Weights<N>(at(r), 0)) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < cols; ++column)
      if (weight[at(row * cols + column)] != 0) columns.push_back(static_cast<std::uint32_t>(column));
    starts.push_back(columns.size());
  }
}
template <class N>
Sum<N> Map<N>::sum(std::int64_t row, const Numbers<N>& x) const {
  // |weight| <= 2^46 and |x| < 2^48 (every row is saturated): the sum of 2^31 products stays below 2^126.
  Sum<N> total = bias[at(row)];
  const auto* w = weight.data() + row * cols;
  for (std::size_t i = starts[at(row)]; i < starts[at(row) + 1]; ++i)
    total += product(w[columns[i]], x[columns[i]]);
  return total;
}
template <class N>
Sum<N> Map<N>::wide_sum(std::int64_t row, const Numbers<N>& x) const {
  Sum<N> total = bias[at(row)];
  for (std::size_t c = 0; c < x.size(); ++c)
    total = rung_check::add(total, product(weight[at(row * cols) + c], x[c]));
  return total;
}
template <class N>
Numbers<N> Map<N>::operator()(const Numbers<N>& x, Budget& budget) const {
  budget.work(N::kWork * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols));
  Numbers<N> y(at(rows));
  for (std::int64_t r = 0; r < rows; ++r) y[at(r)] = sat(rsh(sum(r, x), shift), bits);
  return y;
}

template <class N>
void Channels<N>::add(const std::string& name, std::int64_t rows, bool convolved) {
  maps_.emplace_back(part_, name, rows, part_.width());
  offsets_.push_back(channels_);
  channels_ += rows;
  if (convolved) {
    convolved_ = channels_;
    convolved_maps_ = maps_.size();
  }
}
template <class N>
void Channels<N>::activate(const std::string& name, const std::string& word, std::size_t first,
                           std::size_t last) {
  if (word != "none") activations_.push_back({first, last, part_.function(name, word), part_.bits(name)});
}
template <class N>
void Channels<N>::finish(bool bias) {
  if (taps_ == 0) return;
  bias_ = bias ? part_.numbers("conv.bias", {convolved_}) : Weights<N>(at(convolved_), 0);
  weight_ = part_.numbers("conv.weight", {convolved_, taps_});
  shift_ = part_.shift("conv");
  bits_ = part_.bits("conv");
  if (part_.has_function("conv")) function_ = part_.function("conv", "");
}
template <class N>
void Channels<N>::reset() {
  earlier_.assign(taps_ > 1 ? at(convolved_) : 0, Numbers<N>(at(std::max<std::int64_t>(taps_ - 1, 0)), 0));
}
template <class N>
Numbers<N> Channels<N>::next(const Numbers<N>& u) {
  Numbers<N> all;
  all.reserve(at(channels_));
  for (const auto& map : maps_) {
    const Numbers<N> part = map(u, part_.budget);
    all.insert(all.end(), part.begin(), part.end());
  }
  if (taps_ > 0) part_.work(at(convolved_ * taps_));
  for (std::int64_t c = 0; taps_ > 0 && c < convolved_; ++c) {
    Number<N>& channel = all[at(c)];
    Sum<N> total = bias_[at(c)];
    total += product(weight_[at(c * taps_)], channel);
    if (taps_ > 1) {
      Numbers<N>& past = earlier_[at(c)];
      for (std::size_t j = 0; j < past.size(); ++j) total += product(weight_[at(c * taps_) + j + 1], past[j]);
      past.insert(past.begin(), channel);
      past.pop_back();
    }
    const Sum<N> rounded = rsh(total, shift_);
    channel = sat(function_ ? (*function_)(rounded) : rounded, bits_);
  }
  for (const auto& one : activations_) {
    const std::int64_t end = one.last < offsets_.size() ? offsets_[one.last] : channels_;
    for (std::int64_t c = offsets_[one.first]; c < end; ++c)
      all[at(c)] = sat(one.function(all[at(c)]), one.bits);
  }
  return all;
}
template <class N>
void Channels<N>::state(StateOf<N>& out) const {
  if (taps_ < 2) return;
  for (std::size_t m = 0; m < convolved_maps_; ++m)
    for (std::int64_t r = 0; r < maps_[m].rows; ++r) out.append(earlier_[at(offsets_[m] + r)], maps_[m].bits);
}
template <class N>
std::size_t Channels<N>::buffered() const {
  std::size_t count = 0;
  for (const auto& channel : earlier_) count += channel.size();
  return count;
}
template <class N>
void Channels<N>::recall(const Number<N>* numbers) {
  for (auto& channel : earlier_)
    for (auto& number : channel) number = *numbers++;
}

template <class N>
OutputStage<N>::OutputStage(const Shape& shape, const Part<N>& part, std::int64_t gain, std::int64_t group)
    : norm_(shape.form.norm), group_(group), y_bits_(part.bits("y")), read_bits_(y_bits_) {
  const bool has_gate = shape.form.gate != "none", normed = norm_ != "none";
  if (has_gate || normed) read_bits_ = part.bits("read");
  if (has_gate) {
    gate_ = part.function("z", shape.form.gate);
    gated_shift_ = part.shift("gated");
    gated_bits_ = part.bits("gated");
  }
  if (!normed) return;
  gain_ = part.numbers("ynorm.gain", {gain});
  length_ = read_length(part, "ynorm");
}
template <class N>
void OutputStage<N>::gate(Numbers<N>& o, const Number<N>* z) const {
  for (std::size_t i = 0; gate_ && i < o.size(); ++i)
    o[i] = sat(rsh(mul(o[i], (*gate_)(z[i])), gated_shift_), gated_bits_);
}
template <class N>
void OutputStage<N>::norm(Numbers<N>& o) const {
  for (std::size_t begin = 0; begin < o.size(); begin += at(group_)) {
    const auto from = o.begin() + static_cast<std::ptrdiff_t>(begin);
    Weights<N> gains;
    for (std::size_t i = 0; i < at(group_); ++i) gains.push_back(gain_[(begin + i) % gain_.size()]);
    const Numbers<N> part = length_(Numbers<N>(from, from + group_), group_, gains);
    std::copy(part.begin(), part.end(), from);
  }
}
template <class N>
Numbers<N> OutputStage<N>::operator()(const Sums<N>& read, const Number<N>* z) const {
  Numbers<N> o;
  for (const auto& number : read) o.push_back(sat(number, read_bits_));
  if (norm_ == "before") norm(o);
  gate(o, z);
  if (norm_ == "after") norm(o);
  for (auto& number : o) number = sat(number, y_bits_);
  return o;
}

template <class N>
void Mixer<N>::state(StateOf<N>&, std::int64_t) const {
  throw Rejected("the model has a layer whose memory grows with the prompt");
}
template <class N>
void Mixer<N>::remember(MemoryOf<N>& out) const {
  StateOf<N> numbers;
  state(numbers, 1);
  out.push_back(std::move(numbers.numbers));
}
template <class N>
void Mixer<N>::recall(const MemoryOf<N>&, std::size_t&) {
  throw Rejected("the model has a layer whose memory grows with the prompt");
}

template <class N>
std::unique_ptr<Mixer<N>> make_mixer(const Shape& shape, const Part<N>& part) {
  if (shape.kind == "none") return nullptr;
  if (shape.kind == "heads") return std::make_unique<SideBySide<N>>(shape, part);
  if (auto attention = make_attention(shape, part)) return attention;
  if (auto recurrence = make_recurrence(shape, part)) return recurrence;
  throw Malformed(text("the mixer ", shape.kind, " cannot be evaluated"));
}

template struct Map<Integers>;
template struct Map<Intervals>;
template class Channels<Integers>;
template class Channels<Intervals>;
template class OutputStage<Integers>;
template class OutputStage<Intervals>;
template class Mixer<Integers>;
template class Mixer<Intervals>;
template std::unique_ptr<Mixer<Integers>> make_mixer(const Shape&, const Part<Integers>&);
template std::unique_ptr<Mixer<Intervals>> make_mixer(const Shape&, const Part<Intervals>&);

}  // namespace rung_check
