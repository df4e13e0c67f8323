// Widths that grow with the length: exact sums of linear attention, partial sums of a softmax, live states of
// log-linear attention; each against a count by brute force, and the searches that have to live with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "rung/spec/accounting.h"
#include "rung/theory/pattern.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

int width_doublings(std::int64_t v) {
  return v <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(v - 1)));
}

std::int64_t width_counted(const std::string& line, int p, std::int64_t tokens) {
  const Setting setting = Asked().width(1).bits(p).setting(line);
  const Account counted = account(setting.architecture, setting.layers, {.context = tokens});
  EXPECT_EQ(Integer(counted.state_bits), setting.word.total().after(tokens)) << line;
  return counted.state_bits;
}

// The products v φ that one token can add, with v and the key's channel of p bits.
std::vector<std::int64_t> one_token_products(int p, bool relu) {
  const std::int64_t top = std::int64_t{1} << (p - 1);
  std::set<std::int64_t> found;
  for (std::int64_t v = -top; v < top; ++v)
    for (std::int64_t k = relu ? 0 : -top; k < top; ++k) found.insert(v * k);
  return {found.begin(), found.end()};
}
std::set<std::int64_t> width_sums_after(const std::vector<std::int64_t>& terms, int tokens) {
  std::set<std::int64_t> sums{0};
  for (int t = 0; t < tokens; ++t) {
    std::set<std::int64_t> next;
    for (const auto sum : sums)
      for (const auto term : terms) next.insert(sum + term);
    sums = std::move(next);
  }
  return sums;
}

TEST(widths, of_an_exact_sum_hold_every_sum_that_there_is) {
  for (const int p : {2, 3, 4})
    for (const bool relu : {false, true})
      for (int tokens = 1; tokens <= 9; ++tokens) {
        const std::string feature = relu ? "relu" : "identity";
        const auto bits =
            width_counted("linear(normalised=no,dim=1,vdim=1,feature=" + feature + ")", p, tokens);
        EXPECT_EQ(bits, 2 * p - 1 + width_doublings(tokens));
        const auto reached =
            static_cast<std::int64_t>(width_sums_after(one_token_products(p, relu), tokens).size());
        EXPECT_LE(reached, std::int64_t{1} << bits) << p << " " << feature << " " << tokens;
        if (!relu && p > 2 && tokens > 1 && std::has_single_bit(static_cast<unsigned>(tokens))) {
          EXPECT_GT(reached, std::int64_t{1} << (bits - 1)) << "a bit is wasted: " << p << " " << tokens;
        }
        // Z sums features alone.
        const auto normalised = width_counted("linear(dim=1,vdim=1,feature=" + feature + ")", p, tokens);
        std::vector<std::int64_t> keys;
        const std::int64_t top = std::int64_t{1} << (p - 1);
        for (std::int64_t k = relu ? 0 : -top; k < top; ++k) keys.push_back(k);
        EXPECT_LE(static_cast<std::int64_t>(width_sums_after(keys, tokens).size()),
                  std::int64_t{1} << (normalised - bits));
        EXPECT_EQ(normalised - bits, (relu ? p - 1 : p) + width_doublings(tokens));
      }
  // Tables and products saturate to p bits: every feature map is as wide as the identity.
  for (const char* feature : {"elu1", "exp"})
    EXPECT_EQ(width_counted(fmt::format("linear(dim=2,vdim=3,feature={})", feature), 5, 8), 6 * 12 + 2 * 8);
  EXPECT_EQ(width_counted("linear(dim=2,vdim=3,feature=taylor2)", 5, 8), 7 * (3 * 12 + 8));
}

TEST(widths, of_rounded_and_wrapped_sums_and_of_given_entries_do_not_grow) {
  for (const char* acc : {"round", "wrap"})
    for (const std::int64_t tokens : {1, 1000}) {
      EXPECT_EQ(width_counted(fmt::format("linear(acc={},dim=2,vdim=2)", acc), 5, tokens), 30);
      EXPECT_EQ(Asked()
                    .bits(5)
                    .entries(9)
                    .setting(fmt::format("linear(acc={},dim=2,vdim=2)", acc))
                    .word.total()
                    .after(tokens),
                54);
    }
  EXPECT_EQ(Asked().bits(5).entries(9).setting("linear(dim=2,vdim=2)").word.total().after(1000), 54);
  EXPECT_EQ(Asked().bf16().setting("linear(dim=2,vdim=2)").word.total().after(1000), 96);  // no exact floats
  EXPECT_FALSE(make_setting({*parse_stack("loglinear(base=mamba2,acc=wrap,form=plain)"), {}}, {}));
}

// Whether some table u(i, v) of one-token terms tells all functions on [n] apart by their sums (modulo 2^p where
// they wrap): weights of one head with one key and one value number, one for every pair of position and token.
// The search is exhaustive where it ends within its budget; what it does not find in time counts as unknown.
struct SumSearch {
  std::vector<std::int64_t> terms;
  std::int64_t n, modulus;
  std::int64_t budget = 20'000;

  bool found(const std::set<std::int64_t>& before, std::int64_t position) {
    if (position == n) return true;
    return extend(before, before.size() * static_cast<std::size_t>(n), {}, 0, 0, position);
  }
  // Chooses the terms of one position, larger ones later.
  bool extend(const std::set<std::int64_t>& before, std::size_t size, const std::set<std::int64_t>& sums,
              std::int64_t chosen, std::size_t from, std::int64_t position) {
    if (chosen == n) return sums.size() == size && found(sums, position + 1);
    for (std::size_t k = from; k < terms.size(); ++k) {
      if (--budget < 0) return false;
      std::set<std::int64_t> more = sums;
      for (const auto sum : before) {
        const std::int64_t x = sum + terms[k];
        more.insert(modulus == 0 ? x : ((x % modulus) + modulus) % modulus);
      }
      if (more.size() == sums.size() + before.size() &&
          extend(before, size, more, chosen + 1, k + 1, position))
        return true;
    }
    return false;
  }
};
bool some_weights_keep_eva(int p, std::int64_t n, bool wraps) {
  SumSearch search{one_token_products(p, false), n, wraps ? std::int64_t{1} << p : 0};
  return search.found({0}, 0);
}

TEST(widths, never_make_a_theorem_refute_weights_that_exist) {
  std::size_t kept = 0, refuted = 0;
  for (const int p : {2, 3, 4})
    for (const char* acc : {"exact", "wrap"})
      for (std::int64_t n = 2; n <= 4; ++n) {
        const bool exists = some_weights_keep_eva(p, n, std::string(acc) == "wrap");
        const auto outcome = Asked().width(1).bits(p).outcome(
            fmt::format("linear(feature=identity,normalised=no,heads=1,dim=1,vdim=1,acc={})", acc), "eva",
            {{"n", n}});
        kept += exists;
        refuted += outcome == Outcome::impossible;
        if (exists) {
          EXPECT_NE(outcome, Outcome::impossible) << p << " " << acc << " " << n;
        }
      }
  EXPECT_GT(kept, 4u);
  EXPECT_GT(refuted, 4u);
  // Four bits do not hold 27 functions; sums of products of 4-bit numbers do: u(i, v) = v 3^i.
  const std::string line = "linear(feature=identity,normalised=no,heads=1,dim=1,vdim=1";
  EXPECT_TRUE(some_weights_keep_eva(4, 3, false));
  EXPECT_EQ(Asked().width(1).bits(4).outcome(line + ",acc=round)", "eva", {{"n", 3}}), Outcome::impossible);
  EXPECT_NE(Asked().width(1).bits(4).outcome(line + ")", "eva", {{"n", 3}}), Outcome::impossible);
}

TEST(widths, stand_in_what_a_verdict_assumes) {
  const auto assumes = [](const Verdict& v, const std::string& text) {
    return std::any_of(v.assumes.begin(), v.assumes.end(),
                       [&](const std::string& a) { return a.find(text) != std::string::npos; });
  };
  auto small = Asked().width(2).heads(1).bits(4);
  const auto exact = small.on("linear", "eva", {{"n", 100}});
  EXPECT_TRUE(assumes(exact, "7 + ⌈lg t⌉ bits an entry"));
  EXPECT_FALSE(assumes(exact, "state entries"));
  EXPECT_TRUE(assumes(small.on("linear(acc=wrap)", "eva", {{"n", 100}}), "state entries of 4 bits"));
  EXPECT_TRUE(assumes(Asked(small).entries(7).on("linear", "eva", {{"n", 100}}), "state entries of 7 bits"));
  EXPECT_TRUE(assumes(small.on("delta(form=plain)+linear", "eva", {{"n", 100}}), "state entries of 4 bits"));
  for (const char* task : {"equality", "dyck", "three-sum", "seqcomp"}) {
    const auto v = task == std::string("seqcomp") ? small.on("full", task, {{"m", 100}})
                                                  : small.on("full", task, {{"n", 400}});
    EXPECT_TRUE(v.theorem.starts_with("full-alone")) << task;
    EXPECT_TRUE(assumes(v, "an exponent table of 16 bits")) << task;
    const auto given = Asked(small).sums(28).on(
        "full", task, task == std::string("seqcomp") ? TaskSizes{{"m", 100}} : TaskSizes{{"n", 400}});
    EXPECT_TRUE(assumes(given, "partial sums of 28 bits")) << task;
  }
  EXPECT_TRUE(
      assumes(small.on("full+linear", "seqcomp", {{"m", 90}, {"n1", 9}}), "an exponent table of 16 bits"));
}

TEST(widths, of_partial_sums_hold_every_sum_over_the_prompt) {
  // H = 3 heads of 2 values, p = 5, at N tokens: p_num = 16 + 5 + ⌈lg N⌉ + 1, p_den = 16 + ⌈lg N⌉.
  const Setting setting = Asked().width(6).heads(3).bits(5).setting("full");
  for (const std::int64_t N : {1, 2, 3, 4, 5, 64, 65, 1000}) {
    const int lg = width_doublings(N);
    EXPECT_EQ(setting.word.partial(N), 3 * (2 * (22 + lg) + 16 + lg)) << N;
    const Integer largest = Integer(N) * ((1 << 16) - 1);  // all scores at the top of the table
    EXPECT_LE(largest, (Integer(1) << (16 + lg)) - 1);
    EXPECT_LE(2 * largest * 16 + 1, Integer(1) << (22 + lg));  // values from -16 to 15
  }
  const Setting fixed = Asked().width(6).heads(3).bits(5).sums(30).setting("full");
  EXPECT_EQ(fixed.word.partial(1), 3 * 3 * 30);
  EXPECT_EQ(fixed.word.partial(1 << 20), 3 * 3 * 30);
  EXPECT_FALSE(make_setting({*parse_stack("full"), {}}, {.sum_bits = 0}));
  EXPECT_FALSE(make_setting({*parse_stack("full"), {}}, {.sum_bits = 5000}));
}

TEST(widths, that_grow_leave_the_smallest_certified_prompt_the_smallest) {
  for (const char* line : {"full+linear(acc=round)", "full+linear"}) {
    auto asked = Asked().width(2).heads(1).bits(4).context(4096);
    const auto v = asked.on(line, "seqcomp", {{"L", 2}});
    ASSERT_EQ(v.outcome, Outcome::impossible) << line;
    const auto first = v.horizon->convert_to<std::int64_t>();
    EXPECT_EQ(asked.context(first).outcome(line, "seqcomp", {{"L", 2}}), Outcome::impossible);
    EXPECT_EQ(asked.context(first - 1).outcome(line, "seqcomp", {{"L", 2}}), Outcome::vacuous);
    EXPECT_EQ(
        asked.context(first).outcome(
            line, "seqcomp", {{"m", v.parameters["m"].integer()}, {"n1", v.parameters["n1"].integer()}}),
        Outcome::impossible);
    // No sizes with a shorter prompt are certified at their own widths.
    std::size_t tried = 0;
    for (std::int64_t m = 2; m + m + 3 < first; ++m)
      for (std::int64_t n = 1; m * n + m + 3 < first; n += 1 + n / 8) {
        EXPECT_NE(asked.context(4096).outcome(line, "seqcomp", {{"m", m}, {"n1", n}}), Outcome::impossible)
            << m << " " << n;
        ++tried;
      }
    EXPECT_GT(tried, 100u);
  }
}

TEST(widths, that_grow_leave_the_first_size_that_certifies_the_first) {
  for (const auto& [line, task] : {std::pair{"full", "equality"},
                                   {"full", "dyck"},
                                   {"linear", "eva"},
                                   {"linear", "equality"},
                                   {"loglinear", "index"},
                                   {"loglinear", "equality"},
                                   {"linear(normalised=no)", "mqar"}}) {
    auto asked = Asked().width(2).heads(1).bits(3).context(1 << 20);
    const auto v = asked.on(line, task);
    ASSERT_TRUE(v.horizon) << line << " " << task;
    const auto horizon = v.horizon->convert_to<std::int64_t>();
    EXPECT_EQ(asked.outcome(line, task, {{"n", horizon + 1}}), Outcome::impossible) << line << " " << task;
    for (std::int64_t n = 1; n <= horizon; ++n)
      EXPECT_NE(asked.outcome(line, task, {{"n", n}}), Outcome::impossible)
          << line << " " << task << " " << n;
  }
}

// THEORY's rule: before token t > 0, the states of levels 0 .. l are added into level l + 1, l the lowest set
// bit of t; then level 0 is the token's own.
TEST(widths, of_log_linear_states_count_the_live_ones) {
  std::vector<bool> live(40, false);
  std::int64_t most = 0;
  for (std::uint64_t t = 0; t < 5000; ++t) {
    if (t > 0) {
      const int l = std::countr_zero(t);
      EXPECT_FALSE(live[static_cast<std::size_t>(l) + 1]) << t;
      std::fill(live.begin(), live.begin() + l + 1, false);
      live[static_cast<std::size_t>(l) + 1] = true;
    }
    live[0] = true;
    const auto now = std::count(live.begin(), live.end(), true);
    EXPECT_EQ(now, std::popcount(t) + 1) << t;
    most = std::max<std::int64_t>(most, now);
    const auto context = static_cast<std::int64_t>(t) + 1;
    EXPECT_EQ(loglinear_live_states(context), most) << context;  // ⌊lg T⌋ + 1, not ⌊lg T⌋ + 2
    const auto highest = std::find(live.rbegin(), live.rend(), true);
    EXPECT_LE(live.rend() - highest, loglinear_levels(context)) << context;  // the weights have one for each
  }
  const std::string line = "loglinear(base=mamba2,dim=1,state=1,heads=1,form=plain)";
  for (const std::int64_t context : {1, 2, 3, 4, 7, 8, 4096})
    EXPECT_EQ(width_counted(line, 5, context), 5 * std::bit_width(static_cast<std::uint64_t>(context)));
}

TEST(widths, of_the_oldest_bucket_are_those_of_its_own_sum) {
  // One entry of 2p - 1 bits and k more after 2^k tokens: 5 + 3 at n = 8 .. 15.
  const auto v = Asked().width(1).heads(1).bits(3).on("loglinear(dim=1,vdim=1)", "eva", {{"n", 12}});
  EXPECT_EQ(v.theorem, "log-linear-eva");
  EXPECT_EQ(*v.right, 8);
}

}  // namespace
}  // namespace rung
