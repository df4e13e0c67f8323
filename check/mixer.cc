#include "check/mixer.h"

namespace rung_check {
namespace {

constexpr std::int64_t kLargestTable = std::int64_t{1} << 24;
constexpr std::int64_t kTableLow = std::int64_t{1} << 47;

// heads(...): the parts read the same row; their outputs stand side by side.
class SideBySide final : public Mixer {
 public:
  SideBySide(const Shape& shape, const Context& context, const Source& source) {
    for (std::size_t i = 0; i < shape.parts.size(); ++i)
      parts_.push_back(make_mixer(shape.parts[i], context, source.under(text("part.", i))));
  }
  void reset() override {
    for (auto& part : parts_) part->reset();
  }
  void see(const Row& u) override {
    for (auto& part : parts_) part->see(u);
  }
  Row answer(std::int64_t position) override {
    Row y;
    for (auto& part : parts_) {
      const Row more = part->answer(position);
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }
  void state(State& out, std::int64_t positions) const override {
    for (const auto& part : parts_) part->state(out, positions);
  }
  void remember(Memory& out) const override {
    for (const auto& part : parts_) part->remember(out);
  }
  void recall(const Memory& memory, std::size_t& next) override {
    for (auto& part : parts_) part->recall(memory, next);
  }
  Row last() override {
    Row y;
    for (auto& part : parts_) {
      const Row more = part->last();
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }

 private:
  std::vector<std::unique_ptr<Mixer>> parts_;
};

}  // namespace

Map::Map(const Source& source, const std::string& name, std::int64_t r, std::int64_t c, bool sums_only)
    : rows(r),
      cols(c),
      shift(sums_only ? 0 : source.shift(name)),
      bits(sums_only ? 0 : source.bits(name)),
      weight(source.numbers(name + ".weight", {r, c})) {
  bias =
      source.has(name + ".bias") ? source.numbers(name + ".bias", {r}) : Row(static_cast<std::size_t>(r), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < cols; ++column)
      if (weight[static_cast<std::size_t>(row * cols + column)] != 0)
        columns.push_back(static_cast<std::uint32_t>(column));
    starts.push_back(columns.size());
  }
}
Int Map::sum(std::int64_t row, const Row& x) const {
  // |weight| <= 2^46 and |x| < 2^48 (every row is saturated): the sum of 2^31 products stays below 2^126.
  Int total = bias[static_cast<std::size_t>(row)];
  const std::int64_t* w = weight.data() + row * cols;
  const auto r = static_cast<std::size_t>(row);
  for (std::size_t i = starts[r]; i < starts[r + 1]; ++i)
    total += static_cast<Int>(w[columns[i]]) * x[columns[i]];
  return total;
}
Row Map::operator()(const Row& x, Budget& budget) const {
  budget.work(static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols));
  Row y(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) y[static_cast<std::size_t>(r)] = sat(rsh(sum(r, x), shift), bits);
  return y;
}

Table::Table(const Source& source, const std::string& name)
    : low(source.scalar(name + ".low", 0, -kTableLow, kTableLow)) {
  const Tensor& tensor = source.file.take(source.prefix + name + ".table");
  if (tensor.shape.size() != 1 || tensor.shape[0] < 1 || tensor.shape[0] > kLargestTable)
    throw Malformed(text("the table ", source.prefix, name, " has no 1 to 2^24 entries"));
  entries = source.numbers(name + ".table", tensor.shape);
}
std::int64_t Table::clip(Int x) const {
  return static_cast<std::int64_t>(
      std::clamp<Int>(x, low, low + static_cast<std::int64_t>(entries.size()) - 1));
}

void State::append(const Row& more, std::int64_t width) {
  numbers.insert(numbers.end(), more.begin(), more.end());
  bits += static_cast<std::int64_t>(more.size()) * width;
}

Channels::Channels(const Source& source, std::int64_t taps) : source_(source), taps_(taps) {}
void Channels::add(const std::string& name, std::int64_t rows, std::int64_t cols, bool convolved) {
  maps_.emplace_back(source_, name, rows, cols);
  offsets_.push_back(channels_);
  channels_ += rows;
  if (convolved) {
    convolved_ = channels_;
    convolved_maps_ = maps_.size();
  }
}
void Channels::activate(const std::string& name, std::size_t first, std::size_t last) {
  activations_.push_back({first, last, Table(source_, name), source_.bits(name)});
}
void Channels::finish(bool bias) {
  if (taps_ == 0) return;
  bias_ = bias ? source_.numbers("conv.bias", {convolved_}) : Row(static_cast<std::size_t>(convolved_), 0);
  weight_ = source_.numbers("conv.weight", {convolved_, taps_});
  shift_ = source_.shift("conv");
  bits_ = source_.bits("conv");
  if (source_.has("conv.table")) table_.emplace(source_, "conv");
}
void Channels::reset() {
  earlier_.assign(taps_ > 1 ? static_cast<std::size_t>(convolved_) : 0,
                  Row(static_cast<std::size_t>(std::max<std::int64_t>(taps_ - 1, 0)), 0));
}
Row Channels::next(const Row& u) {
  Row all;
  all.reserve(static_cast<std::size_t>(channels_));
  for (const auto& map : maps_) {
    const Row part = map(u, source_.budget);
    all.insert(all.end(), part.begin(), part.end());
  }
  if (taps_ > 0) source_.budget.work(static_cast<std::uint64_t>(convolved_ * taps_));
  for (std::int64_t c = 0; taps_ > 0 && c < convolved_; ++c) {
    std::int64_t& channel = all[static_cast<std::size_t>(c)];
    Int total = bias_[static_cast<std::size_t>(c)] +
                static_cast<Int>(weight_[static_cast<std::size_t>(c * taps_)]) * channel;
    if (taps_ > 1) {
      Row& past = earlier_[static_cast<std::size_t>(c)];
      for (std::size_t j = 0; j < past.size(); ++j)
        total += static_cast<Int>(weight_[static_cast<std::size_t>(c * taps_) + j + 1]) * past[j];
      past.insert(past.begin(), channel);
      past.pop_back();
    }
    const Int rounded = rsh(total, shift_);
    channel = sat(table_ ? (*table_)(rounded) : rounded, bits_);
  }
  for (const auto& one : activations_) {
    const std::int64_t end = one.last < offsets_.size() ? offsets_[one.last] : channels_;
    for (std::int64_t c = offsets_[one.first]; c < end; ++c)
      all[static_cast<std::size_t>(c)] = sat(one.table(all[static_cast<std::size_t>(c)]), one.bits);
  }
  return all;
}
void Channels::state(State& out) const {
  if (taps_ < 2) return;
  for (std::size_t m = 0; m < convolved_maps_; ++m)
    for (std::int64_t r = 0; r < maps_[m].rows; ++r)
      out.append(earlier_[static_cast<std::size_t>(offsets_[m] + r)], maps_[m].bits);
}

std::size_t Channels::buffered() const {
  std::size_t count = 0;
  for (const auto& channel : earlier_) count += channel.size();
  return count;
}
void Channels::recall(const std::int64_t* numbers) {
  for (auto& channel : earlier_)
    for (auto& number : channel) number = *numbers++;
}

const Row& next_row(const Memory& memory, std::size_t& next) {
  if (next >= memory.size()) throw Rejected("a memory has fewer rows than the model has mixers");
  return memory[next++];
}

Row normalised(const Row& x, const Row& gain, std::int64_t count, std::int64_t fraction, std::int64_t extra,
               std::int64_t bits, std::int64_t epsilon) {
  Int squares = 0;
  for (const auto value : x) squares = add(squares, mul(value, value));
  const Int root = isqrt(add(mul(squares, Int{1} << (2 * extra)) / count, epsilon));
  Row y(x.size(), 0);
  if (root == 0) return y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = sat(round_div(mul(mul(x[i], gain[i]), Int{1} << (fraction + extra)), root), bits);
  return y;
}

OutputStage::OutputStage(const Shape& shape, const Source& source, std::int64_t gain, std::int64_t group)
    : form_(shape.form), group_(group), y_bits_(source.bits("y")) {
  const bool normed = form_.norm != "none";
  if (gated() || normed) read_bits_ = source.bits("read");
  if (gated()) {
    table_.emplace(source, "z");
    gated_shift_ = source.shift("gated");
    gated_bits_ = source.bits("gated");
  }
  if (!normed) return;
  gain_ = source.numbers("ynorm.gain", {gain});
  fraction_ = source.fraction("ynorm.fraction", 24);
  extra_ = source.fraction("ynorm.extra", 24);
  norm_bits_ = source.bits("ynorm");
  epsilon_ = source.scalar("ynorm.epsilon", 0, 0, std::int64_t{1} << 46);
}
void OutputStage::gate(Row& o, const std::int64_t* z) const {
  if (!gated()) return;
  for (std::size_t i = 0; i < o.size(); ++i)
    o[i] = sat(rsh(mul(o[i], (*table_)(z[i])), gated_shift_), gated_bits_);
}
void OutputStage::norm(Row& o) const {
  for (std::size_t begin = 0; begin < o.size(); begin += static_cast<std::size_t>(group_)) {
    const auto from = o.begin() + static_cast<std::ptrdiff_t>(begin);
    Row gains;
    for (std::size_t i = 0; i < static_cast<std::size_t>(group_); ++i)
      gains.push_back(gain_[(begin + i) % gain_.size()]);
    const Row part =
        normalised(Row(from, from + group_), gains, group_, fraction_, extra_, norm_bits_, epsilon_);
    std::copy(part.begin(), part.end(), from);
  }
}
Row OutputStage::operator()(const std::vector<Int>& read, const std::int64_t* z) const {
  Row o;
  for (const Int number : read) o.push_back(sat(number, read_bits_ > 0 ? read_bits_ : y_bits_));
  if (form_.norm == "before") {
    norm(o);
    gate(o, z);
  } else {
    gate(o, z);
    if (form_.norm == "after") norm(o);
  }
  for (auto& number : o) number = sat(number, y_bits_);
  return o;
}

StepDecay::StepDecay(const Source& source, const std::string& name, std::int64_t heads)
    : step_(source, name),
      decay_(source, "decay"),
      rates_(source.numbers("a.weight", {heads})),
      index_shift_(source.scalar("decay.index_shift", 0, -40, 100)) {}
std::int64_t StepDecay::decay(std::int64_t step, std::int64_t head) const {
  return decay_(rsh(static_cast<Int>(step) * rates_[static_cast<std::size_t>(head)], index_shift_));
}

void Mixer::state(State&, std::int64_t) const {
  throw Rejected("the model has a layer whose memory grows with the prompt");
}

void Mixer::remember(Memory& out) const {
  State numbers;
  state(numbers, 1);
  out.push_back(std::move(numbers.numbers));
}
void Mixer::recall(const Memory&, std::size_t&) {
  throw Rejected("the model has a layer whose memory grows with the prompt");
}

std::unique_ptr<Mixer> make_mixer(const Shape& shape, const Context& context, const Source& source) {
  if (shape.kind == "none") return nullptr;
  if (shape.kind == "heads") return std::make_unique<SideBySide>(shape, context, source);
  if (auto attention = make_attention(shape, context, source)) return attention;
  if (auto recurrence = make_recurrence(shape, context, source)) return recurrence;
  throw Malformed(text("the mixer ", shape.kind, " cannot be evaluated"));
}

}  // namespace rung_check
