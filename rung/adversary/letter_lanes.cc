#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions only
// The lane kernel of `rung verify`: 16 states of int32, or 8 of int64, read the same letter.
//
// Invariant: lane l holds what the exact machine has for node l. What a letter brings to the first layer
// does not depend on the state and is computed once, when the kernel is made.
#include <algorithm>
#include <cmath>

#include "rung/adversary/lanes/lane_vector.h"
#include "rung/adversary/letter_kernel.h"
#include "rung/exact/embedding.h"
#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

using lanes::Element;
using lanes::LaneRow;

// One letter's numbers: update and read channels of the first layer, and the embedded row.
template <class V>
struct LetterChannels {
  std::vector<V> update, read, x;
};

template <class V>
struct LetterProgram {
  LanePlan plan;
  LaneMap output;  // logits; its shift and bits are not used
  std::vector<LetterChannels<V>> letters;
  std::int64_t numbers = 0, scratch = 0;
};

template <class N>
struct LetterMemory {
  LaneRow<N> before, state, channels, x, scratch, other, logits;
  template <class V>
  explicit LetterMemory(const LetterProgram<V>& program)
      : before(program.numbers),
        state(program.numbers),
        channels(program.scratch),
        x(program.plan.width),
        scratch(program.scratch),
        other(program.scratch),
        logits(program.output.rows) {}
};

// memory.before → memory.state, memory.logits.
template <class N, class V>
RUNG_INLINE void read_letter(const LetterProgram<V>& program, const LetterChannels<V>& letter,
                             LetterMemory<N>& memory) {
  const LanePlan& plan = program.plan;
  for (std::int64_t e = 0; e < program.numbers; ++e)
    memory.state[static_cast<std::size_t>(e)] = memory.before[static_cast<std::size_t>(e)];
  const auto spread_row = [&](const std::vector<V>& row, N* to) RUNG_INLINE_LAMBDA {
    for (std::size_t c = 0; c < row.size(); ++c) to[c] = N{} + row[c];
  };
  N* state = memory.state.data();
  spread_row(letter.x, memory.x.data());
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const LaneLayer& layer = plan.layers[i];
    if (i == 0)
      spread_row(letter.update, memory.channels.data());
    else
      lanes::update_channels(layer, memory.x.data(), memory.channels.data());
    lanes::update(layer, memory.channels.data(), state, memory.scratch.data());
    if (i == 0)
      spread_row(letter.read, memory.channels.data());
    else
      lanes::read_channels(layer, memory.x.data(), memory.channels.data());
    lanes::read(layer, memory.channels.data(), state, plan.stream_bits, plan.width, memory.x.data(),
                memory.scratch.data(), memory.other.data());
    state += layer.numbers;
  }
  for (std::int64_t r = 0; r < program.output.rows; ++r)
    memory.logits[static_cast<std::size_t>(r)] = lanes::row_sum(program.output, r, memory.x.data());
}

using LetterN32 = lanes::Vector<std::int32_t>;
using LetterN64 = lanes::Vector<std::int64_t>;
RUNG_VECTOR_CLONES void read_letter_block(const LetterProgram<std::int32_t>& program,
                                          const LetterChannels<std::int32_t>& letter,
                                          LetterMemory<LetterN32>& memory) {
  read_letter<LetterN32, std::int32_t>(program, letter, memory);
}
RUNG_VECTOR_CLONES void read_letter_block(const LetterProgram<std::int64_t>& program,
                                          const LetterChannels<std::int64_t>& letter,
                                          LetterMemory<LetterN64>& memory) {
  read_letter<LetterN64, std::int64_t>(program, letter, memory);
}

std::vector<int> lane_widths(const LanePlan& plan) {
  std::vector<int> widths;
  for (const auto& layer : plan.layers)
    widths.insert(widths.end(), static_cast<std::size_t>(layer.numbers), layer.accumulator_bits);
  return widths;
}

template <class V>
class LetterLanes final : public LetterKernel {
 public:
  using N = lanes::Vector<V>;
  static constexpr int kLanes = Element<N>::kLanes;

  LetterLanes(LetterProgram<V> program, OutputSpec::Kind output, std::vector<std::int64_t> threshold,
              int task_bits)
      : LetterKernel(lane_widths(program.plan), task_bits, static_cast<std::int64_t>(program.letters.size())),
        program_(std::move(program)),
        output_(output),
        threshold_(std::move(threshold)) {}
  std::string_view name() const override { return sizeof(V) == 4 ? "lanes of int32" : "lanes of int64"; }
  std::vector<std::uint64_t> empty() const override { return std::vector<std::uint64_t>(code_.words()); }

  void read(const std::uint64_t* nodes, std::int64_t count, std::uint64_t* after,
            std::int64_t* answers) const override {
    LetterMemory<N> memory(program_);
    const std::size_t words = code_.words();
    std::fill_n(after, static_cast<std::size_t>(count * letters_) * words, 0);
    for (std::int64_t base = 0; base < count; base += kLanes) {
      const int used = static_cast<int>(std::min<std::int64_t>(kLanes, count - base));
      const std::uint64_t* from = nodes + static_cast<std::size_t>(base) * words;
      for (std::int64_t e = 0; e < program_.numbers; ++e)
        for (int i = 0; i < used; ++i)
          memory.before[static_cast<std::size_t>(e)][i] = static_cast<V>(
              code_.get(static_cast<std::size_t>(e), from + static_cast<std::size_t>(i) * words));
      for (std::int64_t l = 0; l < letters_; ++l) {
        read_letter_block(program_, program_.letters[static_cast<std::size_t>(l)], memory);
        for (int i = 0; i < used; ++i) {
          const auto edge = static_cast<std::size_t>((base + i) * letters_ + l);
          for (std::int64_t e = 0; e < program_.numbers; ++e)
            code_.put(static_cast<std::size_t>(e), memory.state[static_cast<std::size_t>(e)][i],
                      after + edge * words);
          answers[edge] = answer(memory, i);
        }
      }
    }
  }

  std::vector<std::vector<std::int64_t>> numbers(const std::uint64_t* node) const override {
    std::vector<std::vector<std::int64_t>> all;
    std::size_t e = 0;
    for (const auto& layer : program_.plan.layers) {
      if (layer.shape.kind == MixerKind::none) continue;
      all.emplace_back();
      for (std::int64_t i = 0; i < layer.numbers; ++i) all.back().push_back(code_.get(e++, node));
    }
    return all;
  }

 private:
  std::int64_t answer(LetterMemory<N>& memory, int lane) const {
    std::int64_t answer = 0;
    for (std::int64_t r = 0; r < program_.output.rows; ++r) {
      const V z = memory.logits[static_cast<std::size_t>(r)][lane];
      if (output_ == OutputSpec::Kind::logits) {
        if (z > memory.logits[static_cast<std::size_t>(answer)][lane]) answer = r;
      } else if (z > threshold_[static_cast<std::size_t>(r)]) {
        answer |= std::int64_t{1} << r;
      }
    }
    return answer;
  }

  LetterProgram<V> program_;
  OutputSpec::Kind output_;
  std::vector<std::int64_t> threshold_;
};

// Bits of the largest logit, sign included, for rows of `bits` bits.
int logit_bits(const LaneMap& map, int bits) {
  double largest = 0;
  for (std::int64_t r = 0; r < map.rows; ++r) {
    double sum = map.bias.empty() ? 0 : std::abs(static_cast<double>(map.bias[static_cast<std::size_t>(r)]));
    for (std::int64_t c = 0; c < map.cols; ++c)
      sum += std::ldexp(std::abs(static_cast<double>(map.weight[static_cast<std::size_t>(r * map.cols + c)])),
                        bits - 1);
    largest = std::max(largest, sum);
  }
  return static_cast<int>(std::ceil(std::log2(largest + 1))) + 2;
}

template <class V>
std::unique_ptr<LetterKernel> letter_lanes(const Target& target, const LetterRows& rows, LanePlan plan,
                                           LaneMap output, int task_bits) {
  LetterProgram<V> program;
  const LaneLayer& first = plan.layers[0];
  program.scratch = plan.width;
  for (const auto& layer : plan.layers) {
    program.numbers += layer.numbers;
    program.scratch = std::max(
        {program.scratch, layer.update_channels, layer.read_channels, layer.shape.output, layer.numbers});
    for (const auto& map : layer.mlp) program.scratch = std::max(program.scratch, map.rows);
  }
  TensorSource source(target.weights);
  const Embedding<Exact64> embedding(target.weights, Exact64{}, source, source.width("stream"));
  std::vector<std::int64_t> threshold;
  if (target.weights.output.kind != OutputSpec::Kind::logits)
    threshold = source.numbers<std::int64_t>("out.threshold", {output.rows});
  RUNG_REQUIRE(!source.error(), "{}", source.error()->message);
  std::vector<std::int64_t> x(static_cast<std::size_t>(plan.width)),
      updates(static_cast<std::size_t>(first.update_channels)),
      reads(static_cast<std::size_t>(first.read_channels));
  for (const auto& row : rows) {
    embedding.embed(row.data(), 0, x.data());
    lanes::update_channels(first, x.data(), updates.data());
    lanes::read_channels(first, x.data(), reads.data());
    program.letters.push_back(
        {{updates.begin(), updates.end()}, {reads.begin(), reads.end()}, {x.begin(), x.end()}});
  }
  program.plan = std::move(plan);
  program.output = std::move(output);
  return std::make_unique<LetterLanes<V>>(std::move(program), target.weights.output.kind,
                                          std::move(threshold), task_bits);
}

}  // namespace

Result<std::unique_ptr<LetterKernel>> make_letter_lanes(const Target& target, const LetterRows& rows,
                                                        int task_bits, bool wide) {
  RUNG_TRY(LanePlan plan, plan_lanes(target));
  if (plan.layers.empty()) return fail(ErrorCode::unsupported, "no layers");
  TensorSource source(target.weights);
  auto out = source.under("out");
  const std::int64_t size = target.weights.output.size;
  LaneMap output{
      .rows = size, .cols = plan.width, .weight = out.numbers<std::int64_t>("table", {size, plan.width})};
  if (out.has("bias")) output.bias = out.numbers<std::int64_t>("bias", {size});
  RUNG_REQUIRE(!source.error(), "{}", source.error()->message);
  const int bits = std::max(plan.sum_bits, logit_bits(output, plan.stream_bits));
  if (bits > 62) return fail(ErrorCode::unsupported, "sums of {} bits", bits);
  if (bits > 31 || wide)
    return letter_lanes<std::int64_t>(target, rows, std::move(plan), std::move(output), task_bits);
  output.narrow.assign(output.weight.begin(), output.weight.end());
  return letter_lanes<std::int32_t>(target, rows, std::move(plan), std::move(output), task_bits);
}

}  // namespace rung
