#include "rung/spec/mixers.h"

#include <gtest/gtest.h>

#include <set>

#include "rung/spec/accounting.h"
#include "rung/spec/parameters.h"

namespace rung {
namespace {

TEST(mixers, are_described_in_the_order_of_their_kinds_by_names_of_their_own) {
  std::set<std::string_view> names;
  const auto all = mixer_descriptors();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].kind, static_cast<MixerKind>(i));
    EXPECT_EQ(&mixer_descriptor(all[i].kind), &all[i]);
    EXPECT_TRUE(names.insert(all[i].name).second) << all[i].name;
  }
  EXPECT_EQ(all.back().kind, MixerKind::compressed);
}

// What decides between possible and impossible: a mixer whose letter is R is charged for what it remembers.
TEST(mixers, of_letter_R_are_charged_bits_and_those_of_letter_F_a_cache) {
  for (const MixerDescriptor& mixer : mixer_descriptors()) {
    std::string line(mixer.name);
    if (mixer.kind == MixerKind::heads) line = "heads(delta:1,full:1)";
    for (const OptionWord& option : mixer.options)
      if (option.required)
        line += fmt::format("{}{}={}", line.back() == ')' || line == mixer.name ? "(" : ",", option.name,
                            option.is_number ? "3" : "kda");
    if (line.find('(') != std::string::npos && line.back() != ')') line += ')';
    SCOPED_TRACE(line);
    const auto stack = parse_stack(line);
    ASSERT_TRUE(stack) << stack.error().message;
    const Architecture network{*stack, {.width = 8}};
    const auto layers = resolve(network);
    ASSERT_TRUE(layers) << layers.error().message;
    const Account counted = account(network, *layers, {});
    const bool remembers = mixer.letter == Letter::recurrent || mixer.letter == Letter::of_parts;
    const bool looks_back = mixer.letter == Letter::full || mixer.letter == Letter::of_parts;
    EXPECT_EQ(counted.state_bits > 0, remembers);
    EXPECT_EQ(counted.cache_bits_per_token > 0, looks_back);
  }
}

}  // namespace
}  // namespace rung
