#include "rung/adversary/state_kernel.h"

#include "rung/adversary/device_program.h"
#include "rung/adversary/lane_kernel.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/parallel.h"

namespace rung {
namespace {

constexpr int kWidestNumber = 62;  // of any state, in bits

// The width of every stored number, by giving each layer's bits evenly to its numbers where they are equal
// (all mixers but normalised linear attention with exact sums, whose Z is narrower; there the larger width
// serves both).
std::vector<std::vector<int>> number_widths(const Target& target, std::int64_t positions) {
  std::vector<std::vector<int>> widths;
  auto session = target.machine->start();
  RUNG_REQUIRE(session.ok(), "{}", session.error().message);
  const auto state = (*session)->state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto count = static_cast<std::int64_t>(state[i].size());
    const std::int64_t bits =
        layer_state_bits(target.weights, target.layers[i].mixer, fmt::format("layers.{}.", i), positions);
    widths.emplace_back(static_cast<std::size_t>(count),
                        count == 0 ? 0 : static_cast<int>((bits + count - 1) / count));
  }
  // Exact sums, and buffers of a convolution beside the state, have widths of their own: the widest serves
  // all.
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const MixerShape& mixer = target.layers[i].mixer;
    const bool exact_sums =
        mixer.kind == MixerKind::linear && target.weights.accumulator == Accumulator::exact;
    if (exact_sums || mixer.conv > 0) std::fill(widths[i].begin(), widths[i].end(), kWidestNumber);
  }
  return widths;
}

class SessionKernel final : public StateKernel {
 public:
  SessionKernel(const Target& target, BeginningSpace space)
      : StateKernel(target, std::move(space)), target_(target) {}
  std::string_view name() const override { return "session"; }
  bool restarts() const override { return false; }

  void run(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
           const std::uint16_t* choices, const std::int64_t* start, bool, std::int64_t* out) const override {
    RUNG_REQUIRE(start == nullptr, "the session kernel starts at the beginning");
    const auto fields = target_.task->fields();
    const std::int64_t end = space_.slots[static_cast<std::size_t>(first + length - 1)].position + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const Prompt prompt = space_.prefix({choices + i * length, static_cast<std::size_t>(length)},
                                          static_cast<std::size_t>(first));
      auto session = target_.machine->start();
      for (std::int64_t t = 0; t < end; ++t) {
        const auto readout = (*session)->append(prompt_row(prompt, fields, t), false);
        RUNG_REQUIRE(readout.ok(), "{}", readout.error().message);
      }
      const auto state = (*session)->state();
      std::int64_t* to = out + i * numbers(depth);
      for (std::int64_t layer = 0; layer < depth; ++layer)
        to = std::copy(state[static_cast<std::size_t>(layer)].begin(),
                       state[static_cast<std::size_t>(layer)].end(), to);
    }
  }

 private:
  const Target& target_;
};

}  // namespace

StateKernel::StateKernel(const Target& target, BeginningSpace space)
    : space_(std::move(space)), widths_(number_widths(target, space_.cut())) {
  for (const auto& slot : space_.slots)
    RUNG_REQUIRE(slot.rows.size() <= kMostChoices, "{} rows in a slot; at most {}", slot.rows.size(),
                 kMostChoices);
  numbers_ = {0};
  bits_ = {0};
  for (const auto& layer : widths_) {
    numbers_.push_back(numbers_.back() + static_cast<std::int64_t>(layer.size()));
    std::int64_t bits = bits_.back();
    for (const int width : layer) bits += width;
    bits_.push_back(bits);
  }
}

void StateKernel::draw(const Walk& walk, const std::uint64_t* x, std::uint16_t* choices) const {
  lanes::Draw draw(x, walk.words, walk.salt);
  for (std::int64_t j = 0; j < walk.length; ++j)
    choices[j] = static_cast<std::uint16_t>(draw.next(
        static_cast<std::uint32_t>(space_.slots[static_cast<std::size_t>(walk.first + j)].rows.size())));
}

lanes::Code StateKernel::code(std::int64_t depth, const std::int64_t* state) const {
  lanes::Code code(key_is_injective(depth));
  for (std::int64_t layer = 0; layer < depth; ++layer)
    for (const int width : widths_[static_cast<std::size_t>(layer)]) code.add(*state++, width);
  return code;
}

void StateKernel::keys(const Walk& walk, const std::uint64_t* x, std::int64_t count,
                       std::uint64_t* out) const {
  std::vector<std::uint16_t> choices(static_cast<std::size_t>(count * walk.length));
  for (std::int64_t i = 0; i < count; ++i) draw(walk, x + i * walk.words, choices.data() + i * walk.length);
  const std::int64_t size = numbers(walk.depth);
  std::vector<std::int64_t> states(static_cast<std::size_t>(count * size));
  run(walk.depth, walk.first, walk.length, count, choices.data(), walk.start, true, states.data());
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(code(walk.depth, states.data() + i * size).word, walk.words, out + i * walk.words);
}

void StateKernel::run_alike(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
                            const std::uint16_t* choices, const std::int64_t* start,
                            std::int64_t* out) const {
  std::vector<std::uint16_t> repeated;
  for (std::int64_t i = 0; i < count; ++i) repeated.insert(repeated.end(), choices, choices + length);
  run(depth, first, length, count, repeated.data(), start, false, out);
}

Result<std::unique_ptr<DeviceProgram>> StateKernel::on_device() const {
  return fail(ErrorCode::unsupported, "states of these mixers are not evaluated on a device");
}

void StateKernel::unpack(std::int64_t depth, std::uint64_t key, std::int64_t* state) const {
  std::int64_t i = numbers(depth);
  for (std::int64_t layer = depth - 1; layer >= 0; --layer) {
    const auto& widths = widths_[static_cast<std::size_t>(layer)];
    for (auto width = widths.rbegin(); width != widths.rend(); ++width)
      state[--i] = lanes::take_number(key, *width);
  }
}

void StateKernel::successors(std::int64_t depth, std::int64_t slot, const std::uint64_t* keys,
                             std::int64_t count, std::uint64_t* out) const {
  const auto rows = static_cast<std::int64_t>(space_.slots[static_cast<std::size_t>(slot)].rows.size());
  const std::int64_t size = numbers(depth);
  std::vector<std::int64_t> before(static_cast<std::size_t>(size)),
      after(static_cast<std::size_t>(rows * size));
  std::vector<std::uint16_t> choices(static_cast<std::size_t>(rows));
  for (std::int64_t v = 0; v < rows; ++v)
    choices[static_cast<std::size_t>(v)] = static_cast<std::uint16_t>(v);
  for (std::int64_t i = 0; i < count; ++i) {
    unpack(depth, keys[i], before.data());
    run(depth, slot, 1, rows, choices.data(), before.data(), true, after.data());
    for (std::int64_t v = 0; v < rows; ++v) out[i * rows + v] = key(depth, after.data() + v * size);
  }
}

std::unique_ptr<StateKernel> make_session_kernel(const Target& target, BeginningSpace space) {
  return std::make_unique<SessionKernel>(target, std::move(space));
}

Result<std::unique_ptr<StateKernel>> make_state_kernel(const Target& target, BeginningSpace space,
                                                       std::string* why_not) {
  auto plan = plan_lanes(target);
  std::string reason = plan ? "" : plan.error().message;
  if (plan) {
    auto kernel = make_lane_kernel(target, space, std::move(*plan));
    if (kernel) return kernel;
    reason = kernel.error().message;
  }
  if (why_not) *why_not = reason;
  return make_session_kernel(target, std::move(space));
}

}  // namespace rung
