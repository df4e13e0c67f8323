#include "rung/spec/accounting.h"

#include <gtest/gtest.h>

#include "rung/spec/parameters.h"
#include "tests/spec/random_stack.h"

namespace rung {
namespace {

Account count(const char* line, Dimensions dimensions = {}, StorageBits bits = {}) {
  const Architecture a{*parse_stack(line), std::move(dimensions)};
  const auto layers = resolve(a);
  EXPECT_TRUE(layers.ok()) << (layers ? "" : layers.error().message);
  return account(a, *layers, bits);
}
std::string refusal(const char* line, Dimensions dimensions = {}) {
  auto stack = parse_stack(line);
  if (!stack) return "did not parse: " + stack.error().message;
  auto layers = resolve({*stack, std::move(dimensions)});
  return layers ? "accepted" : layers.error().message;
}
const Dimensions kSmall{.width = 64, .heads = 2, .vocabulary = 10, .context = 16};

TEST(Resolve, refuses_sizes_that_do_not_fit_each_other) {
  EXPECT_EQ(refusal("full", {.width = 64, .heads = 3}),
            "[arch] layer 1: heads = 3 does not divide width = 64");
  EXPECT_EQ(refusal("linear+full(heads=4,kv=3)"), "[arch] layer 2: kv = 3 does not divide heads = 4");
  EXPECT_EQ(refusal("full", {.heads = 4, .kv_heads = 3}),
            "[dimensions] kv_heads = 3 does not divide heads = 4");
  EXPECT_EQ(refusal("mamba2(heads=4,groups=3,form=plain)"),
            "[arch] layer 1: groups = 3 does not divide heads = 4");
  EXPECT_EQ(refusal("sparse(B=4,k=2,heads=4,groups=3,form=plain)"),
            "[arch] layer 1: groups = 3 does not divide heads = 4");
  EXPECT_EQ(refusal("loglinear(base=gdelta,state=4,form=plain)"),
            "[arch] layer 1: option state has no meaning for base=gdelta");
  EXPECT_EQ(refusal("heads(full:1,delta:2)"), "[arch] layer 1: heads = 3 does not divide width = 64");
  EXPECT_EQ(refusal("full", {.width = -4}), "[dimensions] width = -4 is outside 1..2147483648");
  EXPECT_EQ(refusal("full", {.width = std::int64_t{1} << 60}),
            "[dimensions] width = 1152921504606846976 is outside 1..2147483648");
}

TEST(Resolve, refuses_products_that_overflow) {
  EXPECT_EQ(refusal("linear(feature=taylor2,heads=2147483648,dim=2147483648)"),
            "[arch] layer 1: its sizes multiply to more than 2^62; expected a smaller network");
  EXPECT_EQ(refusal("full(window=2147483648,heads=1048576,dim=1048576)").substr(0, 16), "[arch] layer 1: ");
  EXPECT_EQ(refusal("recurrent(kind=x,elements=1125899906842624)*100000"),
            "[arch] the sizes of the network multiply to more than 2^62; expected a smaller one");
  EXPECT_EQ(refusal("heads(full:2147483648,delta:2147483648)").substr(0, 16), "[arch] layer 1: ");
}

TEST(Resolve, keeps_causal_mixers_out_of_encoders) {
  const Dimensions encoder{.causal = false};
  for (const char* line :
       {"rnn", "gru", "mamba(form=plain)", "mamba2(form=plain)", "delta(form=plain)", "gdelta(form=plain)",
        "loglinear", "sparse(B=2,k=1,form=plain)", "conv(width=2)", "full(chunk=4)", "full(conv=2)",
        "linear(conv=2)", "heads(full:1,delta:1)", "recurrent(kind=x,elements=1)",
        "compressed(kind=x,ratio=2,entry=2)", "topk(k=2,rope=half,form=plain)"})
    EXPECT_NE(refusal(line, encoder).find("has no bidirectional meaning"), std::string::npos) << line;
  for (const char* line : {"full", "full(window=4)", "full(rope=half)", "linear", "topk(k=2,form=plain)",
                           "identity", "none", "heads(full:1,linear:1)"})
    EXPECT_EQ(refusal(line, encoder), "accepted") << line;
}

TEST(Resolve, takes_open_sizes_from_dimensions) {
  const Dimensions d{.width = 96, .heads = 4, .kv_heads = 2, .state = 5, .context = 6};
  const Architecture a{*parse_stack("full+linear(dim=3)+mamba2(form=plain)+heads(full:2,delta(vdim=7,form="
                                    "plain):4)+loglinear+topk(k=3,form=plain)+mamba(form=plain)"),
                       d};
  const auto layers = *resolve(a);
  EXPECT_EQ(layers[0].mixer.heads, 4);
  EXPECT_EQ(layers[0].mixer.kv_heads, 2);
  EXPECT_EQ(layers[0].mixer.key_dim, 24);
  EXPECT_EQ(layers[1].mixer.value_dim, 3);  // follows the mixer's own key dimension
  EXPECT_EQ(layers[1].mixer.kv_heads, 4);   // --kv-heads speaks of softmax attention alone
  EXPECT_EQ(layers[2].mixer.key_dim, 5);
  EXPECT_EQ(layers[2].mixer.value_dim, 24);
  EXPECT_EQ(layers[3].mixer.parts[0].key_dim, 16);  // 96 / (2 + 4)
  EXPECT_EQ(layers[3].mixer.parts[1].value_dim, 7);
  EXPECT_EQ(layers[3].mixer.output_width(), 2 * 16 + 4 * 7);
  EXPECT_EQ(layers[4].mixer.levels, 4);
  EXPECT_EQ(layers[5].mixer.index_dim, 24);
  EXPECT_EQ(layers[6].mixer.inner, 96);
  EXPECT_EQ(layers[0].mlp, std::vector<std::int64_t>{384});
}

TEST(Accounting, counts_the_state_of_every_mixer) {
  // H = 2 heads of d = 32, width 64, N = 16.
  EXPECT_EQ(count("full", kSmall).layers[0].state_elements, 0);
  EXPECT_EQ(count("linear", kSmall).layers[0].state_elements, 2 * 32 * 33);
  EXPECT_EQ(count("linear(normalised=no)", kSmall).layers[0].state_elements, 2 * 32 * 32);
  EXPECT_EQ(count("linear(feature=taylor2,dim=3,vdim=5)", kSmall).layers[0].state_elements,
            2 * (1 + 3 + 9) * 6);
  EXPECT_EQ(count("rnn(size=7)", kSmall).layers[0].state_elements, 7);
  EXPECT_EQ(count("gru", kSmall).layers[0].state_elements, 64);
  EXPECT_EQ(count("mamba(inner=8,state=3,form=plain)", kSmall).layers[0].state_elements, 24);
  EXPECT_EQ(count("mamba2(form=plain)", kSmall).layers[0].state_elements, 2 * 32 * 16);
  EXPECT_EQ(count("delta(vdim=5,form=plain)", kSmall).layers[0].state_elements, 2 * 32 * 5);
  EXPECT_EQ(count("gdelta(kv=1,form=plain)", kSmall).layers[0].state_elements, 2 * 32 * 32);
  EXPECT_EQ(count("recurrent(kind=kda,elements=99,conv=5)", kSmall).layers[0].state_elements, 99);
  EXPECT_EQ(count("heads(linear:1,delta:1)", kSmall).layers[0].state_elements, 32 * 33 + 32 * 32);
  EXPECT_EQ(count("identity", kSmall).state_bits, 0);
  EXPECT_EQ(count("none", kSmall).state_bits, 0);
}

TEST(Accounting, counts_convolution_buffers_and_windows) {
  EXPECT_EQ(count("mamba(inner=8,conv=4,form=plain)", kSmall).layers[0].conv_elements, 3 * 8);
  EXPECT_EQ(count("mamba2(groups=1,conv=4,form=plain)", kSmall).layers[0].conv_elements, 3 * (64 + 2 * 16));
  EXPECT_EQ(count("gdelta(kv=1,conv=4,form=plain)", kSmall).layers[0].conv_elements, 3 * (2 * 32 + 2 * 32));
  EXPECT_EQ(count("full(kv=1,conv=3)", kSmall).layers[0].conv_elements, 2 * (64 + 32 + 32));
  EXPECT_EQ(count("conv(width=3)", kSmall).layers[0].conv_elements, 2 * 64);
  EXPECT_EQ(count("conv(width=1)", kSmall).layers[0].conv_elements, 0);
  EXPECT_EQ(count("recurrent(kind=kda,elements=99,conv=5)", kSmall).layers[0].conv_elements, 5);
  EXPECT_EQ(count("full(window=8,kv=1)", kSmall).layers[0].window_elements, 7 * 2 * 32);
  EXPECT_EQ(count("full(chunk=8)", kSmall).layers[0].window_elements, 7 * 2 * 64);
  EXPECT_EQ(count("full(window=8,cache=10)", kSmall).layers[0].window_elements, 7 * 10);
}

TEST(Accounting, gives_every_buffer_its_own_width) {
  const auto a =
      count("gdelta(conv=4,form=plain)+full(window=3)+full", kSmall, {.state = 32, .conv = 16, .cache = 8});
  EXPECT_EQ(a.layers[0].state_bits, 2 * 32 * 32 * 32 + 3 * 192 * 16);
  EXPECT_EQ(a.layers[1].state_bits, 2 * 128 * 8);
  EXPECT_EQ(a.layers[2].state_bits, 0);
  EXPECT_EQ(a.state_bits, a.layers[0].state_bits + a.layers[1].state_bits);
  EXPECT_EQ(a.cache_bits_per_token, 128 * 8);
  Dimensions d = kSmall;
  d.precision.bits = 8;
  d.accumulator_bits = 20;
  EXPECT_EQ(count("delta(conv=2,form=plain)", d).state_bits, 2 * 32 * 32 * 20 + 192 * 8);
}

TEST(Accounting, counts_the_cache_of_unbounded_attention_per_token) {
  EXPECT_EQ(count("full(kv=1)", kSmall).layers[0].cache_elements, 64);
  EXPECT_EQ(count("full(cache=576)", kSmall).layers[0].cache_elements, 576);
  EXPECT_EQ(count("topk(k=4,index_dim=6,form=plain)", kSmall).layers[0].cache_elements, 128 + 6);
  EXPECT_EQ(count("sparse(B=16,k=4,form=plain)", kSmall).layers[0].cache_elements, 128 + 8);
  EXPECT_EQ(count("compressed(kind=hca,ratio=128,entry=512,window=4)", kSmall).layers[0].cache_elements, 4);
  EXPECT_EQ(count("compressed(kind=hca,ratio=128,entry=512,window=4)", kSmall).layers[0].window_elements,
            3 * 512);
}

TEST(Accounting, counts_log_linear_levels_as_the_released_rule_does) {
  for (std::int64_t n = 1; n <= 5000; ++n) {
    std::int64_t released = 1, power = 1;  // ⌈log2(n + 1)⌉ + 1
    while (power < n + 1) power *= 2, ++released;
    ASSERT_EQ(loglinear_levels(n), released) << n;
  }
  const auto a = count("loglinear(base=gdelta,form=plain)", kSmall, {.context = 1000});
  EXPECT_EQ(a.layers[0].levels, 10);  // live at once: ⌊lg 1000⌋ + 1
  EXPECT_EQ(a.state_bits, 10 * 2 * 32 * 32 * 16);
  Dimensions open = kSmall;
  open.context = 0;
  EXPECT_EQ(count("loglinear", open).layers[0].levels, 1);
  EXPECT_FALSE(count("loglinear", open).notes.empty());
}

TEST(Accounting, never_holds_fewer_levels_than_the_bucket_rule_uses) {
  // Slow definition: merge levels 0..l into l + 1, l the lowest set bit of t; the highest level ever used.
  std::vector<bool> live(40, false);
  std::int64_t highest = 0;
  for (std::int64_t t = 0; t < 3000; ++t) {
    if (t > 0) {
      int l = 0;
      while (((t >> l) & 1) == 0) ++l;
      for (int i = 0; i <= l; ++i) live[i] = false;
      live[l + 1] = true;
      highest = std::max<std::int64_t>(highest, l + 1);
    }
    live[0] = true;
    ASSERT_LE(highest + 1, loglinear_levels(t + 1));
    ASSERT_LE(std::count(live.begin(), live.end(), true), loglinear_levels(t + 1));
  }
}

TEST(Accounting, writes_the_pattern_word) {
  EXPECT_EQ(count("(gdelta(form=plain)*3+full)*2", kSmall).pattern, "RRRFRRRF");
  EXPECT_EQ(fold_pattern(count("(gdelta(form=plain)*3+full)*2", kSmall).layers), "(R^3 F)^2");
  EXPECT_EQ(count("full(window=4)+full(chunk=4)+conv(width=2)+full", kSmall).pattern, "RRRF");
  EXPECT_EQ(count("full(conv=4)+linear(conv=4)", kSmall).pattern, "RFR");
  EXPECT_EQ(fold_pattern(count("full(conv=4)*3", kSmall).layers), "(R F)^3");
  EXPECT_EQ(count("identity+none+full", kSmall).pattern, "F");
  EXPECT_EQ(count("heads(full:1,delta:1)", kSmall).pattern, "(F∥R)");
  EXPECT_EQ(count("heads(delta:1,full:1)", kSmall).pattern, "(F∥R)");
  EXPECT_EQ(count("heads(linear:1,delta:1)", kSmall).pattern, "R");
  EXPECT_EQ(count("heads(full:1,full(window=3):1)", kSmall).pattern, "(F∥R)");
  EXPECT_EQ(count("sparse(B=4,k=2,form=plain)+topk(k=2,form=plain)", kSmall).pattern, "FF");
  EXPECT_EQ(count("sparse(B=4,k=2,form=plain)+topk(k=2,form=plain)", kSmall).pattern_notes.size(), 2u);
}

TEST(Accounting, counts_layers_under_their_word) {
  const auto a = count("full*2+full(window=8)+full(chunk=4)+gdelta(form=plain)+none", kSmall);
  const std::map<std::string, std::int64_t> expected{
      {"full", 2}, {"full(window=8)", 1}, {"full(chunk=4)", 1}, {"gdelta", 1}, {"none", 1}};
  EXPECT_EQ(a.counts, expected);
}

TEST(Parameters, counts_a_hand_worked_network) {
  // width 64, heads 2 x 32, mlp 256, vocabulary 10, context 16.
  const std::int64_t mlp = 256 * 64 + 256 + 64 * 256 + 64;
  EXPECT_EQ(count("full", kSmall).layers[0].parameters, 4 * 64 * 64 + mlp);
  EXPECT_EQ(count("full", kSmall).parameters, 4 * 64 * 64 + mlp + 10 * 64 + 16 * 64 + 10 * 64);
  Dimensions bare = kSmall;
  bare.mlp_given = true;
  bare.norm = Norm::rms;
  EXPECT_EQ(count("full(kv=1)", bare).layers[0].parameters, 64 + 64 * 64 + 2 * 32 * 64 + 64 * 64);
  bare.norm = Norm::none;
  EXPECT_EQ(count("gdelta(conv=4,form=plain)", bare).layers[0].parameters,
            4 * 64 * 64 + 2 * 2 * 64 + 192 * 4);
  EXPECT_EQ(count("mamba(inner=8,state=3,form=plain)", bare).layers[0].parameters,
            8 * 64 + 2 * 3 * 64 + 8 * 64 + 24 + 8 + 64 * 8);
  EXPECT_EQ(count("rnn(size=5)", bare).layers[0].parameters, 5 * 64 + 25 + 64 * 5);
  EXPECT_EQ(count("gru(size=5)", bare).layers[0].parameters, 3 * (5 * 64 + 25) + 64 * 5);
  EXPECT_EQ(count("conv(width=3)", bare).layers[0].parameters, 64 * 64 + 64 * 3 + 64 * 64);
  EXPECT_EQ(count("none", bare).layers[0].parameters, 0);
  EXPECT_EQ(count("loglinear", bare).layers[0].parameters, 4 * 64 * 64 + 2 * 6 * 64);
}

TEST(Parameters, are_absent_with_the_reason_rather_than_guessed) {
  const auto opaque = count("recurrent(kind=kda,elements=9)+full", kSmall);
  EXPECT_FALSE(opaque.parameters);
  EXPECT_NE(opaque.parameters_reason.find("recurrent(kda)"), std::string::npos);
  EXPECT_TRUE(opaque.layers[1].parameters);
  Dimensions open = kSmall;
  open.context = 0;  // a position table of unknown length
  EXPECT_EQ(*count("full", kSmall).parameters - *count("full", open).parameters, 16 * 64);
  EXPECT_NE(count("full", open).notes.at(0).find("context"), std::string::npos);
  EXPECT_FALSE(count("loglinear", open).parameters);  // one weight per level
}

TEST(Accounting, agrees_with_its_own_layers_on_random_stacks) {
  Random random(5);
  int counted = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Architecture a{random_stack(random, 12), {.width = 720720, .heads = 2, .context = 99}};
    auto layers = resolve(a);
    if (!layers) continue;
    ++counted;
    const auto out = account(a, *layers, {});
    ASSERT_EQ(out.layers.size(), a.stack.layers.size());
    std::int64_t bits = 0, number = 0;
    for (const auto& layer : out.layers) {
      EXPECT_GE(layer.state_bits, 0);
      EXPECT_EQ(parse_stack(layer.text)->layers.size(), 1u);
      bits += layer.state_bits;
    }
    for (const auto& [word, times] : out.counts) number += times;
    EXPECT_EQ(bits, out.state_bits);
    EXPECT_EQ(number, static_cast<std::int64_t>(a.stack.layers.size()));
  }
  EXPECT_GT(counted, 200);
}

}  // namespace
}  // namespace rung
