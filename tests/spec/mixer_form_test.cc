// The forms of released layers in the language: their defaults, their names, and what is refused.
#include <gtest/gtest.h>

#include "rung/spec/accounting.h"
#include "rung/spec/mixers.h"
#include "rung/spec/quantisable.h"

namespace rung {
namespace {

std::string canonical_form(const char* line) {
  const auto stack = parse_stack(line);
  return stack ? format_stack(*stack) : stack.error().message;
}
MixerShape shape_of(const char* line, Dimensions dimensions = {}) {
  const auto layers = resolve({*parse_stack(line), std::move(dimensions)});
  EXPECT_TRUE(layers) << (layers ? "" : layers.error().message);
  return layers ? (*layers)[0].mixer : MixerShape{};
}
std::string refused(const char* line) {
  const auto layers = resolve({*parse_stack(line), {}});
  return layers ? "accepted" : layers.error().message;
}

TEST(mixer_form, options_that_equal_the_default_of_the_form_are_not_written) {
  EXPECT_EQ(canonical_form("mamba2(form=released,gate=silu,decay=step)"), "mamba2");
  EXPECT_EQ(canonical_form("mamba2(gate=none,form=released)"), "mamba2(gate=none)");
  EXPECT_EQ(canonical_form("mamba2(gate=none,form=plain)"), "mamba2(form=plain)");
  EXPECT_EQ(canonical_form("mamba2(gate=silu,form=plain)"), "mamba2(form=plain,gate=silu)");
  EXPECT_EQ(canonical_form("sparse(B=4,k=3,form=released,first=1,local=2)"), "sparse(B=4,k=3)");
  EXPECT_EQ(canonical_form("sparse(B=4,k=3,form=released,first=0)"), "sparse(B=4,k=3,first=0)");
  EXPECT_EQ(*parse_stack("gdelta(form=released,qk_norm=l2)"), *parse_stack("gdelta"));
}

TEST(mixer_form, a_whole_stack_is_put_into_released_forms_by_one_word) {
  EXPECT_EQ(canonical_form("released(gdelta*3+full)*2"), "(gdelta*3+full(form=released))*2");
  EXPECT_EQ(canonical_form("released(mamba2(gate=silu,state=4)+linear+rnn)+mamba2"),
            "mamba2(state=4)+linear+rnn+mamba2");
  EXPECT_EQ(canonical_form("released(heads(full:1,delta(form=plain):1)+kda)"),
            "heads(full(form=released):1,delta(form=plain):1)+kda");
  EXPECT_EQ(canonical_form("released(loglinear+loglinear(base=mamba2))"), "loglinear+loglinear(base=mamba2)");
  EXPECT_EQ(canonical_form("released(plain(topk(k=2)))+topk(k=2)"), "topk(k=2,form=plain)+topk(k=2)");
  EXPECT_EQ(canonical_form("released ( sparse(B=2,k=1) )"), "sparse(B=2,k=1)");
  EXPECT_EQ(canonical_form("released(full"), "[arch] line ends at column 14; expected \")\"");
  EXPECT_EQ(canonical_form("released").find("[arch] unknown mixer \"released\""), 0u);
  // Every mixer hears the option or has one form.
  for (const char* line : {"full(form=released)", "topk(k=2,form=released)", "gla(form=released)",
                           "kda(form=released)", "rwkv7(form=released)", "mamba(form=released)"})
    EXPECT_FALSE(shape_of(line).form.plain()) << line;
  EXPECT_EQ(shape_of("full(form=released)").form, shape_of("full(rope=half)").form);
  EXPECT_TRUE(shape_of("topk(k=2,form=released)").signed_weights);
}

TEST(mixer_form, plain_around_a_stack_mirrors_released) {
  EXPECT_EQ(canonical_form("plain(gdelta*3+full)*2"), "(gdelta(form=plain)*3+full)*2");
  EXPECT_EQ(canonical_form("plain(mamba2(state=4)+linear+kda+loglinear+sparse(B=2,k=1,score=tokens))"),
            "mamba2(state=4,form=plain)+linear+kda+loglinear+sparse(B=2,k=1,score=tokens)");
  EXPECT_EQ(canonical_form("plain(released(delta)+delta(form=released)+delta)"), "delta*2+delta(form=plain)");
  EXPECT_EQ(canonical_form("plain").find("[arch] unknown mixer \"plain\""), 0u);
}

// Documents of rung 0.2 and earlier say no form of plain mixers; those of today say every form, and mean the same to both.
TEST(mixer_form, spelled_lines_are_the_same_stack_whatever_an_unsaid_form_means) {
  for (const std::string line :
       {"(gdelta*3+full)*2", "plain(mamba+mamba2)+mamba",
        "topk(k=2,rope=none)+plain(topk(k=2,weights=signed))", "loglinear+loglinear(base=gdelta)",
        "heads(full(rope=half):1,delta:1)+gla+sparse(B=2,k=1,score=tokens)"}) {
    const Stack stack = *parse_stack(line);
    for (const std::string& spelled : {format_spelled_stack(stack), format_whole_stack(stack)})
      for (const UnsaidForm unsaid : {UnsaidForm::released, UnsaidForm::plain, UnsaidForm::refused}) {
        const auto again = parse_stack(spelled, unsaid);
        ASSERT_TRUE(again) << spelled << ": " << again.error().message;
        EXPECT_EQ(*again, stack) << spelled;
      }
  }
  EXPECT_EQ(spelled_line("delta*2+full", UnsaidForm::plain), "delta(form=plain)*2+full");
  EXPECT_EQ(spelled_line("delta*2+full", UnsaidForm::released), "delta(form=released)*2+full");
  EXPECT_EQ(spelled_line("linear(acc=wrap)", UnsaidForm::plain), "linear(acc=wrap)");
  EXPECT_EQ(spelled_line("full*3, both directions", UnsaidForm::plain), "full*3, both directions");
  EXPECT_EQ(parse_stack("full+delta(dim=2)", UnsaidForm::refused).error().message,
            "[arch] \"delta\" at column 6 says no form; expected form=released or form=plain");
}

TEST(mixer_form, several_steps_a_token_are_plain) {
  EXPECT_EQ(canonical_form("delta(steps=2,form=plain)"), "delta(steps=2)");
  EXPECT_TRUE(shape_of("gdelta(steps=3)").form.plain());
  EXPECT_EQ(format_spelled_stack(*parse_stack("delta(steps=2)")), "delta(steps=2,form=plain)");
  EXPECT_FALSE(parse_stack("delta(steps=2)", UnsaidForm::refused));
  EXPECT_FALSE(parse_stack("delta", UnsaidForm::refused));
}

TEST(mixer_form, whole_lines_say_every_option_of_a_released_form) {
  const auto whole = [](const char* line) { return format_whole_stack(*parse_stack(line)); };
  EXPECT_EQ(whole("mamba2(state=4,gate=none)"),
            "mamba2(state=4,form=released,conv_bias=yes,act=silu,decay=step,skip=head,gate=none,norm=after)");
  EXPECT_EQ(whole("loglinear(base=gdelta)"),
            "loglinear(base=gdelta,partition=weak,form=released,conv_bias=no,gate=silu,norm=before)");
  EXPECT_EQ(
      whole("loglinear(base=mamba2,skip=auto)"),
      "loglinear(base=mamba2,partition=weak,form=released,conv_bias=yes,skip=head,gate=silu,norm=after)");
  EXPECT_EQ(canonical_form("loglinear(base=mamba2,skip=head,gate=auto)"), "loglinear(base=mamba2)");
  EXPECT_EQ(whole("topk(k=4,rope=none,index_rope=none)").find("theta"), std::string::npos);
  EXPECT_NE(whole("topk(k=4)").find("theta=10000"), std::string::npos);
  EXPECT_EQ(whole("plain(delta)+full+delta(form=plain,qk_norm=l2)"),
            "delta(form=plain)+full+delta(form=plain,qk_norm=l2)");
}

TEST(mixer_form, the_plain_form_keeps_the_sizes) {
  const auto plain = [](const char* line) {
    return format_mixer(plain_form(parse_stack(line)->layers.front()));
  };
  EXPECT_EQ(plain("gdelta(heads=4,dim=8,conv=4,range=2,form=released,gate=none)"),
            "gdelta(heads=4,dim=8,conv=4,range=2,form=plain)");
  EXPECT_EQ(plain("sparse(B=4,k=2,window=8,form=released,first=0)"), "sparse(B=4,k=2,window=8,form=plain)");
  EXPECT_EQ(plain("heads(full(dim=8,rope=half):1,mamba2(form=released):2)"),
            "heads(full(dim=8):1,mamba2(form=plain):2)");
  EXPECT_EQ(plain("kda(heads=2,rank=4)"), "kda(heads=2,rank=4)");
}

TEST(mixer_form, a_word_that_has_a_released_form_is_in_it_unless_it_says_otherwise) {
  const char* kWords[] = {
      "mamba",           "mamba2",   "delta", "gdelta", "loglinear(base=mamba2)", "loglinear(base=gdelta)",
      "sparse(B=4,k=1)", "topk(k=3)"};
  for (const std::string line : kWords) {
    EXPECT_EQ(*parse_stack(line), *parse_stack("released(" + line + ")")) << line;
    EXPECT_FALSE(shape_of(line.c_str()).form.plain()) << line;
    EXPECT_TRUE(shape_of(("plain(" + line + ")").c_str()).form.plain()) << line;
  }
  for (const char* line :
       {"full", "linear", "loglinear", "rnn", "gdelta(form=plain)", "delta(range=2,form=plain)",
        "sparse(B=4,k=1,score=tokens)", "topk(k=3,form=plain,weights=signed)"})
    EXPECT_TRUE(shape_of(line).form.plain()) << line;
  for (const char* line : {"gla", "plain(kda)", "rwkv7", "full(rope=half)", "gdelta(form=plain,gate=silu)",
                           "mamba2(form=plain,skip=head)"})
    EXPECT_FALSE(shape_of(line).form.plain()) << line;
  EXPECT_FALSE(shape_of("full", {.position = PositionCode::rope}).form.plain());
  EXPECT_TRUE(shape_of("full(rope=none)", {.position = PositionCode::rope}).form.plain());
}

TEST(mixer_form, refuses_options_that_mean_nothing_where_they_stand) {
  EXPECT_EQ(refused("sparse(B=4,k=2,span=4,form=plain)"),
            "[arch] layer 1: option span has no meaning for form=plain");
  EXPECT_EQ(refused("sparse(B=4,k=2,form=released,stride=3)"),
            "[arch] layer 1: stride = 3 does not divide span = 4");
  EXPECT_EQ(refused("loglinear(form=released)"),
            "[arch] layer 1: form=released has no meaning for base=linear; expected mamba2 or gdelta");
  EXPECT_EQ(refused("loglinear(partition=strong)"), "[arch] layer 1: partition=strong is of form=released");
  EXPECT_EQ(refused("loglinear(base=gdelta,gate=silu,form=plain)"),
            "[arch] layer 1: option gate has no meaning for form=plain");
  EXPECT_EQ(refused("full(theta=100)"),
            "[arch] layer 1: options theta and rope_dim have no meaning without rope");
  EXPECT_EQ(refused("full(rope=half,rope_dim=3)"),
            "[arch] layer 1: rope_dim = 3; an even number of 2 to dim = 64 expected");
  EXPECT_EQ(refused("topk(k=2,kv_rank=4)"), "[arch] layer 1: q_rank and kv_rank come together");
  EXPECT_EQ(refused("rwkv7(rank_v=4)"), "[arch] layer 1: option rank_v has no meaning for values=own");
  EXPECT_EQ(refused("mamba(norms=before,form=plain)"),
            "[arch] layer 1: norms=before is of the bottleneck; expected a rank");
  EXPECT_NE(canonical_form("heads(rwkv7:2)").find("rwkv7"), std::string::npos);
  EXPECT_FALSE(parse_stack("heads(rwkv7:2)"));
}

TEST(mixer_form, has_an_integer_form_where_tables_and_norms_suffice) {
  for (const char* line :
       {"mamba2(form=released)", "mamba(form=released)", "delta(form=released)",
        "heads(gdelta(form=released):1,full:1)", "mamba2(gate=silu,form=plain)",
        "loglinear(base=mamba2,form=released,partition=strong)",
        "sparse(B=2,k=1,form=released,rope=none,compress=linear)", "mamba(form=released,norms=after)",
        "topk(k=2,form=released,rope=none,index_rope=none)"}) {
    const auto result =
        quantisable({*parse_stack(line), {.width = 64, .position = PositionCode::none, .context = 8}});
    EXPECT_TRUE(result) << line << ": " << result.error().message;
  }
}

TEST(mixer_form, has_no_integer_form) {
  for (const char* line :
       {"gla", "kda", "rwkv7", "heads(gla:1,full:1)", "sparse(B=2,k=1,form=released)",
        "topk(k=2,form=released)", "topk(k=2,form=released,rope=none)", "full(form=released)"}) {
    const auto result = quantisable({*parse_stack(line), {.width = 64, .position = PositionCode::none}});
    ASSERT_FALSE(result) << line;
    EXPECT_NE(result.error().message.find("has no integer form"), std::string::npos)
        << result.error().message;
  }
}

// Live levels of the strong partition, by its rule, are ⌈lg t⌉ + 1.
TEST(mixer_form, strong_levels_are_counted_as_they_come_to_live) {
  std::vector<std::int64_t> counts(12, 0);
  const Architecture a{*parse_stack("loglinear(base=gdelta,form=released,partition=strong)"),
                       {.width = 8, .heads = 1}};
  const auto layers = resolve(a);
  ASSERT_TRUE(layers) << layers.error().message;
  for (std::int64_t t = 1; t <= 300; ++t) {
    std::int64_t carry = 0;
    for (std::size_t level = 0; level < counts.size(); ++level) {
      const std::int64_t capacity = level == 0 ? 1 : std::int64_t{1} << (level - 1);
      if (level == 0 || counts[level] + carry > capacity) {
        std::swap(counts[level], carry);
      } else {
        counts[level] += carry;
        carry = 0;
      }
    }
    ASSERT_EQ(carry, 0);
    counts[0] = 1;
    const auto live = std::count_if(counts.begin(), counts.end(), [](std::int64_t c) { return c > 0; });
    const auto counted = account(a, *layers, {.context = t}).layers[0];
    EXPECT_EQ(counted.levels, live) << t;
    EXPECT_EQ(counted.state_bits, live * counted.state_elements * a.dimensions.precision.bits) << t;
  }
}

}  // namespace
}  // namespace rung
