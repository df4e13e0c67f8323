#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rung/base/nearest_word.h"
#include "rung/spec/architecture.h"
#include "rung/spec/mixer_alias.h"
#include "rung/spec/mixers.h"
#include "rung/spec/repetition.h"
#include "tests/spec/random_stack.h"

namespace rung {
namespace {

std::string parse_error(std::string_view text) {
  auto stack = parse_stack(text);
  return stack ? "accepted " + format_stack(*stack) : stack.error().message;
}
std::string canonical(std::string_view text) {
  auto stack = parse_stack(text);
  return stack ? format_stack(*stack) : stack.error().message;
}

TEST(StackLanguage, refuses_unknown_words_with_column_and_nearest_word) {
  EXPECT_EQ(parse_error("delta+fool"), "[arch] unknown mixer \"fool\" at column 7; did you mean \"full\"?");
  EXPECT_EQ(parse_error("gdleta*3"), "[arch] unknown mixer \"gdleta\" at column 1; did you mean \"gdelta\"?");
  EXPECT_EQ(parse_error("full(windw=8)"),
            "[arch] unknown option \"windw\" of full at column 6; did you mean \"window\"?");
  EXPECT_EQ(parse_error("linear( feature = rulu )"),
            "[arch] unknown feature \"rulu\" at column 19; did you mean \"relu\"?");
  EXPECT_EQ(parse_error("none(x=1)"), "[arch] unknown option \"x\" of none at column 6; it has none");
  EXPECT_EQ(parse_error("heads(full:2,rnn:2)").substr(0, 64),
            "[arch] \"rnn\" at column 14 is not made of heads; heads(...) takes");
  EXPECT_EQ(parse_error("heads(full(heads=2):2)"),
            "[arch] option \"heads\" at column 12; inside heads(...) write full:count");
  EXPECT_EQ(parse_error("zzzzzzzzz").substr(0, 66),
            "[arch] unknown mixer \"zzzzzzzzz\" at column 1; expected one of full");
}

TEST(StackLanguage, refuses_malformed_lines_at_their_column) {
  EXPECT_EQ(parse_error(""), "[arch] line ends at column 1; expected a mixer or \"(\"");
  EXPECT_EQ(parse_error("full+"), "[arch] line ends at column 6; expected a mixer or \"(\"");
  EXPECT_EQ(parse_error("full)"), "[arch] unexpected \")\" at column 5; expected \"+\", \"*\" or the end");
  EXPECT_EQ(parse_error("(full"), "[arch] line ends at column 6; expected \")\"");
  EXPECT_EQ(parse_error("full*"), "[arch] line ends at column 6; expected how many times");
  EXPECT_EQ(parse_error("full*x"), "[arch] unexpected \"x\" at column 6; expected how many times");
  EXPECT_EQ(parse_error("é+full"), "[arch] unexpected \"é\" at column 1; expected a mixer or \"(\"");
  EXPECT_EQ(parse_error("full + é"), "[arch] unexpected \"é\" at column 8; expected a mixer or \"(\"");
  EXPECT_EQ(parse_error("full(window)"), "[arch] unexpected \")\" at column 12; expected \"=\"");
  EXPECT_EQ(parse_error("full(window=)"), "[arch] unexpected \")\" at column 13; expected a number");
  EXPECT_EQ(parse_error("full(window=2,window=3)"),
            "[arch] option \"window\" of full given twice at column 15");
  EXPECT_EQ(parse_error("full(window=2,chunk=3)"),
            "[arch] \"full\" at column 1 has both window and chunk; expected one of them");
  EXPECT_EQ(parse_error("sparse(B=4)"), "[arch] \"sparse\" at column 1 needs k= (selected blocks)");
  EXPECT_EQ(
      parse_error("heads"),
      "[arch] line ends at column 6; expected \"(\" and the groups of heads, as in heads(full:2,delta:2)");
  EXPECT_EQ(parse_error("heads(full)"),
            "[arch] unexpected \")\" at column 11; expected \":\" and the number of heads");
  EXPECT_EQ(parse_error(std::string_view("full\0", 5)),
            "[arch] unexpected \"?\" at column 5; expected \"+\", \"*\" or the end");
}

TEST(StackLanguage, refuses_sizes_before_it_unrolls_them) {
  EXPECT_EQ(parse_error("full*1000000000"), "[arch] more than 100000 layers at column 6");
  EXPECT_EQ(parse_error("full*99999999999999999999999"),
            "[arch] repetition = 99999999999999999999999 at column 6 is outside 1..1152921504606846976");
  EXPECT_EQ(parse_error("((full*1000)*1000)*1000"), "[arch] more than 100000 layers at column 14");
  EXPECT_EQ(parse_error("full*100000+full"), "[arch] more than 100000 layers at column 12");
  EXPECT_EQ(parse_error("full*0"),
            "[arch] *0 at column 6 leaves no layer; expected 1 or more, or the layer left out");
  EXPECT_EQ(parse_error("full*-3"), "[arch] repetition = -3 at column 6 is outside 1..1152921504606846976");
  EXPECT_EQ(parse_error("full(window=1152921504606846976)"),
            "[arch] window = 1152921504606846976 at column 13 is outside 1..2147483648");
  EXPECT_EQ(parse_error("full(window=-1)"), "[arch] window = -1 at column 13 is outside 1..2147483648");
  EXPECT_EQ(parse_error(std::string(1000, '(')), "[arch] more than 64 open parentheses at column 65");
  EXPECT_EQ(parse_error(std::string(kMaxStackText + 1, ' ')),
            "[arch] line of 16777217 bytes; at most 16777216 are read");
}

TEST(StackLanguage, gives_canonical_lines_back_as_they_are) {
  for (const char* line :
       {"full*3", "linear+full*2", "(gdelta*3+full)*12", "heads(full:2,delta:2)*4", "sparse(B=16,k=4)",
        "full(window=128)", "loglinear(base=gdelta)", "recurrent(kind=rwkv7,elements=49152)",
        "heads(full(window=8):2,delta:2)", "(full(window=1024)*5+full)*10+full(window=1024)*2",
        "conv(width=3)*2+(full+conv(width=3)*3)*2+full", "((rnn+gru)*2+full)*3"})
    EXPECT_EQ(canonical(line), line);
}

TEST(StackLanguage, reads_every_spelling_of_a_network_as_one_value) {
  EXPECT_EQ(canonical(" full + full\t*2\n"), "full*3");
  EXPECT_EQ(canonical("((gdelta * 3) + (full)) * 12"), "(gdelta*3+full)*12");
  EXPECT_EQ(canonical("gdelta*2*2"), "gdelta*4");
  EXPECT_EQ(canonical("full()"), "full");
  EXPECT_EQ(canonical("linear(normalised=yes,feature=elu1)"), "linear");
  EXPECT_EQ(canonical("full(dim=8,window=4,heads=2)"), "full(window=4,heads=2,dim=8)");
  EXPECT_EQ(canonical("topk(index_heads=1 , k = 4)"), "topk(k=4)");
  EXPECT_EQ(canonical("heads( full ( kv = 1 ) : 2 , delta : 2 )"), "heads(full(kv=1):2,delta:2)");
  EXPECT_EQ(parse_stack("(full+linear)*2")->layers.size(), 4u);
}

TEST(StackLanguage, reads_sizes_as_people_write_them) {
  EXPECT_EQ(canonical("full(window=4k)*2"), "full(window=4096)*2");
  EXPECT_EQ(canonical("full(window=1e3)"), "full(window=1000)");
  EXPECT_EQ(canonical("full*1k"), "full*1024");
  EXPECT_EQ(parse_error("full(window=4x)"),
            "[arch] window = \"4x\" at column 13 is not a whole number; expected one such as 4096 or 4k");
  EXPECT_EQ(parse_error("full(window=4G)"), "[arch] window = 4G at column 13 is outside 1..2147483648");
}

TEST(StackLanguage, knows_the_names_that_people_use) {
  EXPECT_EQ(canonical("(GDN*3+attention)*12"), "(gdelta*3+full)*12");
  EXPECT_EQ(canonical("ssd+Mamba-2+MAMBA"), "mamba2*2+mamba");
  EXPECT_EQ(canonical("swa(window=128)+SWA(window=4k)"), "full(window=128)+full(window=4096)");
  EXPECT_EQ(canonical("heads(attn:2,deltanet:2)"), "heads(full:2,delta:2)");
  EXPECT_EQ(parse_error("full+swa"),
            "[arch] \"swa\" at column 6 is full with window= and needs it, as in swa(window=128)");
  EXPECT_EQ(parse_error("atention"),
            "[arch] unknown mixer \"atention\" at column 1; did you mean \"attention\"?");
  EXPECT_EQ(parse_error("heads(mlp:2)").substr(0, 36), "[arch] \"mlp\" at column 7 is not made");
  // Which recurrence this is depends on whose file says it.
  EXPECT_EQ(parse_error("linear_attention"),
            "[arch] \"linear_attention\" at column 1 is gdelta in some files and linear in others; expected "
            "one of the two "
            "words");
  for (const MixerAlias& alias : mixer_aliases())
    for (const MixerDescriptor& word : mixer_descriptors()) EXPECT_NE(alias.name, word.name);
}

TEST(StackLanguage, parse_undoes_format_for_random_stacks) {
  EXPECT_TRUE(rc::check("parse(format(s)) == s", [](std::uint64_t seed) {
    Random random(seed);
    const Stack stack = random_stack(random, 60);
    const std::string line = format_stack(stack);
    auto again = parse_stack(line);
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == stack);
    RC_ASSERT(format_stack(*again) == line);
    // White space between any two tokens changes nothing.
    std::string spaced;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool joint = std::string_view("()+*,:=").find(line[i]) != std::string_view::npos;
      spaced += joint ? std::string(" ") + line[i] + "\t" : std::string(1, line[i]);
    }
    auto loose = parse_stack(spaced);
    RC_ASSERT(loose.ok());
    RC_ASSERT(*loose == stack);
  }));
}

TEST(StackLanguage, survives_any_mutation_of_a_line) {
  Random random(11);
  const char* alphabet = "()+*,:= 0159abkfulwx-._\n\xC3";
  int accepted = 0, refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string line = format_stack(random_stack(random, 6));
    for (std::uint64_t edits = 1 + random.below(4); edits > 0 && !line.empty(); --edits) {
      const std::size_t where = random.below(line.size());
      switch (random.below(4)) {
        case 0:
          line[where] = alphabet[random.below(24)];
          break;
        case 1:
          line.erase(where, 1 + random.below(4));
          break;
        case 2:
          line.insert(where, 1, alphabet[random.below(24)]);
          break;
        default:
          line[where] = static_cast<char>(random.below(256));
      }
    }
    auto stack = parse_stack(line);
    if (stack) {
      ++accepted;
      EXPECT_EQ(*parse_stack(format_stack(*stack)), *stack) << line;
      static_cast<void>(resolve({*stack, {}}).ok());
    } else {
      ++refused;
      EXPECT_EQ(stack.error().message.find('\n'), std::string::npos);
      EXPECT_EQ(stack.error().message.substr(0, 6), "[arch]");
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

TEST(StackLanguage, formats_the_largest_stack_in_bounded_time) {
  Random random(3);
  std::vector<int> letters(kMaxLayers);
  for (auto& letter : letters) letter = static_cast<int>(random.below(50));
  EXPECT_EQ(unfold(fold(letters)), letters);
  EXPECT_EQ(canonical("(full*3+gdelta)*25000"), "(full*3+gdelta)*25000");
}

TEST(Repetition, unfolding_gives_every_short_sequence_back) {
  for (int length = 1; length <= 9; ++length) {
    int total = 1;
    for (int i = 0; i < length; ++i) total *= 3;
    for (int code = 0; code < total; ++code) {
      std::vector<int> letters;
      for (int i = 0, rest = code; i < length; ++i, rest /= 3) letters.push_back(rest % 3);
      ASSERT_EQ(unfold(fold(letters)), letters);
    }
  }
}

TEST(NearestWord, knows_swaps_and_says_nothing_when_nothing_is_near) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  const std::string_view words[] = {"full", "linear"};
  EXPECT_EQ(nearest_word("fulll", words), "full");
  EXPECT_EQ(nearest_word("xxxxxxx", words), "");
  EXPECT_EQ(suggest("fulll", words, "see the list"), "did you mean \"full\"?");
  EXPECT_EQ(suggest("xxxxxxx", words, "see the list"), "see the list");
}

}  // namespace
}  // namespace rung
