// What the descriptors say of a state update (rung/spec/mixers.h), against the machine: entrywise means that an entry
// moves by its own old value alone, and never down when that goes up, as long as decays are not negative.
#include <gtest/gtest.h>

#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "rung/exact/mixer.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/random_model.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Seen {
  int steps = 0;
  bool other_entries = false;  // an entry that followed another one
  bool falls = false;          // an entry that went down when the old state went up
  bool moves = false;          // an entry that followed its own old value
};

// The sign of every value of the tensor.
void negate(Weights& weights, const std::string& name) {
  Tensor& tensor = weights.tensors.at(name);
  Numbers values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(-tensor.integer(i));
  tensor = integer_tensor(tensor.shape, values);
}

Seen watch(const std::string& line, bool negative) {
  constexpr int kBits = 5;
  Seen seen;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomModel model{.architecture = {*parse_stack(line), {.width = 4, .precision = {.bits = kBits}}},
                      .fields = {{.size = 3}},
                      .output = {OutputSpec::Kind::logits, 3, 0},
                      .accumulator = Accumulator::round,
                      .seed = seed};
    model.architecture.dimensions.state = 2;
    model.architecture.dimensions.context = 8;
    auto weights = random_weights(model);
    if (!weights) {
      ADD_FAILURE() << line << ": " << weights.error().message;
      return seen;
    }
    if (negative) {
      const MixerShape shape = resolve(weights->architecture).value()[0].mixer;
      negate(*weights, fmt::format("layers.0.{}.table", decay_table_of(shape)));
    }
    const auto machine = Machine::load(*weights, {.positions = 8});
    if (!machine) {
      ADD_FAILURE() << line << ": " << machine.error().message;
      return seen;
    }
    const ExactMixer& part = *(*machine)->parts()->mixers(0).front();
    Random random(seed);
    const auto number = [&] { return random.between(-(1 << (kBits - 1)), (1 << (kBits - 1)) - 1); };
    const auto moved = [&](const Numbers& from, const Numbers& input) {
      const auto state = part.restore(from, 1);
      part.step(*state, input.data(), nullptr);
      Numbers after;
      state->append_numbers(after);
      return after;
    };
    for (int trial = 0; trial < 200; ++trial) {
      Numbers state(part.state_widths(1).size()), input(4);
      for (auto& entry : state) entry = number();
      for (auto& entry : input) entry = number();
      const std::size_t raised = random.below(state.size());
      Numbers higher = state;
      higher[raised] = std::max(state[raised], number());
      const Numbers a = moved(state, input), b = moved(higher, input);
      for (std::size_t i = 0; i < a.size(); ++i) {
        seen.other_entries = seen.other_entries || (i != raised && a[i] != b[i]);
        seen.falls = seen.falls || b[i] < a[i];
        seen.moves = seen.moves || (i == raised && a[i] != b[i]);
      }
      ++seen.steps;
    }
  }
  return seen;
}

TEST(state_update, is_what_the_descriptor_says) {
  int entrywise = 0, coupled = 0;
  for (const MixerDescriptor& mixer : mixer_descriptors()) {
    if (mixer.opaque || mixer.memory != Memory::fixed || mixer.state.value.empty()) continue;
    using enum MixerKind;
    if (mixer.kind == gla || mixer.kind == kda || mixer.kind == rwkv7) continue;  // in reals alone
    const bool both =
        mixer.kind == mamba || mixer.kind == mamba2 || mixer.kind == delta || mixer.kind == gdelta;
    for (const std::string form : {"", "(form=released)", "(form=released,norms=after)"}) {
      if (!form.empty() && !both) continue;
      if (form.find("norms") != std::string::npos && mixer.kind != mamba) continue;
      const std::string line = std::string(mixer.name) + form;
      SCOPED_TRACE(line);
      const Seen seen = watch(line, false);
      EXPECT_GT(seen.steps, 0);
      EXPECT_TRUE(seen.moves);
      if (mixer.update == Update::entrywise) {
        ++entrywise;
        EXPECT_FALSE(seen.other_entries);
        EXPECT_FALSE(seen.falls);
      } else {
        ++coupled;
        EXPECT_EQ(mixer.update.value, Update::coupled);
        EXPECT_TRUE(seen.other_entries);
      }
      // The sign of the decay is that of the table it names.
      if (mixer.decay == Decay::table) EXPECT_TRUE(watch(line, true).falls);
    }
  }
  EXPECT_GE(entrywise, 5);
  EXPECT_GE(coupled, 6);
}

}  // namespace
}  // namespace rung
