// Designs against the theory's verdict on every layout.
#include "rung/design/design.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace rung {
namespace {

std::vector<Mixer> mixers_of(const std::vector<std::string>& lines) {
  std::vector<Mixer> out;
  for (const auto& line : lines) {
    const auto stack = parse_stack(line);
    EXPECT_TRUE(stack) << line;
    out.push_back(stack->layers.front());
  }
  return out;
}

DesignRequest request_of(std::int64_t layers, const std::vector<std::string>& mixers,
                         const std::vector<std::string>& needs, std::int64_t context = 256) {
  DesignRequest request{.layers = layers, .mixers = mixers_of(mixers), .context = context};
  request.dimensions.width = 512;
  request.dimensions.heads = 4;
  request.dimensions.precision.bits = 32;
  request.minimise = {CostKind::cache, CostKind::state};
  for (const auto& need : needs) {
    const auto parsed = parse_need(need);
    EXPECT_TRUE(parsed) << need << ": " << parsed.error().message;
    request.needs.push_back(*parsed);
  }
  return request;
}

template <class Visit>
void every_layout(const DesignRequest& request, const Visit& visit) {
  LayoutWord word(static_cast<std::size_t>(request.layers), 0);
  while (true) {
    visit(word);
    std::size_t i = 0;
    while (i < word.size() && ++word[i] == static_cast<int>(request.mixers.size())) word[i++] = 0;
    if (i == word.size()) return;
  }
}

// The theory's own verdict, by decide(): 2 proved, 1 a sketch, 0 not known to do all needs.
int verdict_on(const DesignRequest& request, const LayoutWord& word) {
  SettingOptions options;
  options.context = request.context;
  options.storage = request.bits;
  options.chain_of_thought = request.chain_of_thought;
  const auto setting = make_setting({layout_stack(request, word), request.dimensions}, options);
  EXPECT_TRUE(setting);
  int least = 2;
  for (const Need& need : request.needs) {
    const Verdict v = decide(*setting, *need.question(request.context));
    if (v.outcome != Outcome::possible) return 0;
    if (!is_proved(v.status)) least = 1;
  }
  return least;
}

LayoutCost cost_of(const DesignRequest& request, const LayoutWord& word) {
  const Architecture architecture{layout_stack(request, word), request.dimensions};
  StorageBits bits = request.bits;
  bits.context = request.context;
  const Account counted = account(architecture, *resolve(architecture), bits);
  LayoutCost cost{.cache_bytes = (Integer(counted.cache_bits_per_token) * request.context + 7) / 8,
                  .state_bytes = (Integer(counted.state_bits) + 7) / 8,
                  .parameters = counted.parameters};
  for (const auto& layer : counted.layers) cost.full += layer.letters.find('F') != std::string::npos;
  return cost;
}

using CostRow = std::pair<std::vector<Integer>, bool>;  // costs, proved
CostRow row_of(const DesignRequest& request, const LayoutCost& cost, bool proved) {
  CostRow row;
  for (const CostKind kind : request.minimise) row.first.push_back(cost.of(kind));
  row.second = proved;
  return row;
}

// The front over all words, one by one.
std::set<CostRow> front_by_words(const DesignRequest& request) {
  std::set<CostRow> rows;
  every_layout(request, [&](const LayoutWord& word) {
    const LayoutCost cost = cost_of(request, word);
    for (const CostLimit& limit : request.budget)
      if (cost.of(limit.kind) > limit.most) return;
    if (const int known = verdict_on(request, word)) rows.insert(row_of(request, cost, known == 2));
  });
  std::set<CostRow> front;
  for (const CostRow& row : rows) {
    const bool dominated = std::any_of(rows.begin(), rows.end(), [&](const CostRow& other) {
      if (row.second && !other.second) return false;
      for (std::size_t i = 0; i < row.first.size(); ++i)
        if (other.first[i] > row.first[i]) return false;
      return other != row;
    });
    if (!dominated) front.insert(row);
  }
  return front;
}

// How many layouts the front has.
std::size_t expect_same_front(const DesignRequest& request) {
  const auto design = search_design(request);
  EXPECT_TRUE(design) << design.error().message;
  if (!design) return 0;
  std::set<CostRow> found;
  for (const DesignedLayout& layout : design->front) {
    found.insert(row_of(request, layout.cost, layout.proved));
    EXPECT_EQ(static_cast<std::int64_t>(layout.layers.size()), request.layers);
    EXPECT_EQ(verdict_on(request, layout.layers), layout.proved ? 2 : 1);
    const LayoutCost counted = cost_of(request, layout.layers);
    EXPECT_EQ(counted.cache_bytes, layout.cost.cache_bytes);
    EXPECT_EQ(counted.state_bytes, layout.cost.state_bytes);
    EXPECT_EQ(counted.full, layout.cost.full);
    EXPECT_EQ(counted.parameters, layout.cost.parameters);
  }
  EXPECT_EQ(found, front_by_words(request)) << design_document(*design).dump(1);
  return design->front.size();
}

TEST(design, is_the_front_over_all_layouts) {
  const std::vector<std::vector<std::string>> alphabets = {
      {"full", "linear(feature=relu,normalised=no)"},
      {"full", "gdelta(form=plain)"},
      {"full", "linear(feature=relu,normalised=no)", "gdelta(form=plain)"},
      {"full", "full(window=8)", "linear"},
      {"topk(k=8,form=plain)", "full", "mamba2(form=plain)"}};
  const std::vector<std::vector<std::string>> needs = {{"seqcomp:L=1"},
                                                       {"seqcomp:L=2"},
                                                       {"eva"},
                                                       {"mqar:n=16"},
                                                       {"seqcomp:L=2", "mqar:n=16"},
                                                       {"equality:n=8", "eva:n=16"},
                                                       {"dyck:n=8"}};
  std::size_t fronts = 0, layouts = 0;
  for (const auto& alphabet : alphabets)
    for (const auto& need : needs)
      for (const std::int64_t layers : {3, 5}) {
        SCOPED_TRACE(alphabet.back() + " " + need.back() + " " + std::to_string(layers));
        const std::size_t found = expect_same_front(request_of(layers, alphabet, need));
        fronts += found > 0;
        layouts += found;
      }
  // Most have an answer, and some a choice.
  EXPECT_GT(fronts, 40u);
  EXPECT_GT(layouts, fronts);
}

TEST(design, every_objective_and_budget_is_heard) {
  for (const std::vector<CostKind>& minimise : {std::vector{CostKind::memory},
                                                {CostKind::cache},
                                                {CostKind::state},
                                                {CostKind::full},
                                                {CostKind::parameters},
                                                {CostKind::full, CostKind::parameters},
                                                {CostKind::cache, CostKind::state, CostKind::parameters}}) {
    DesignRequest request = request_of(
        4, {"full", "linear(feature=relu,normalised=no)", "gdelta(heads=8,form=plain)"}, {"seqcomp:L=2"});
    request.minimise = minimise;
    expect_same_front(request);
    request.budget = {{CostKind::full, 2}};
    expect_same_front(request);
    request.budget = {{CostKind::full, 1}};
    expect_same_front(request);
  }
}

// What the search rests on: the theory writes weights for a layout that holds one it writes weights for.
TEST(design, weights_for_a_layout_are_weights_for_every_larger_one) {
  std::mt19937 draw(11);
  const DesignRequest request =
      request_of(6,
                 {"full", "linear(feature=relu,normalised=no)", "gdelta(form=plain)", "full(window=8)", "rnn",
                  "sparse(B=4,k=2,form=plain)"},
                 {"seqcomp:L=2"});
  const std::vector<std::string> needs = {"seqcomp:L=1",  "seqcomp:L=2",   "seqcomp:L=2,m=4,n1=2",
                                          "eva",          "mqar:n=16",     "index",
                                          "two-sum:n=16", "counting:n=16", "dyck:n=8",
                                          "cgram:n=16",   "equality:n=8"};
  std::int64_t compared = 0;
  for (int trial = 0; trial < 400; ++trial) {
    LayoutWord small(draw() % 4), large;
    for (int& letter : small) letter = static_cast<int>(draw() % request.mixers.size());
    for (std::size_t i = 0; i <= small.size(); ++i) {
      for (std::size_t more = draw() % 3; more > 0; --more)
        large.push_back(static_cast<int>(draw() % request.mixers.size()));
      if (i < small.size()) large.push_back(small[i]);
    }
    if (small.empty() || large.size() == small.size()) continue;
    for (const auto& text : needs) {
      DesignRequest one = request;
      one.needs = {*parse_need(text)};
      const int before = verdict_on(one, small);
      EXPECT_GE(verdict_on(one, large), before) << text << ": " << format_stack(layout_stack(one, small))
                                                << " in " << format_stack(layout_stack(one, large));
      compared += before > 0;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(design, says_what_is_lacking_where_no_layout_does_it) {
  DesignRequest request = request_of(4, {"full", "gdelta(form=plain)"}, {"seqcomp:L=2"});
  request.dimensions.width = 8;
  request.dimensions.heads = 1;
  const auto design = search_design(request);
  ASSERT_TRUE(design);
  EXPECT_TRUE(design->front.empty());
  ASSERT_EQ(design->lacking.size(), 1u);
  EXPECT_NE(design->lacking[0].verdict.outcome, Outcome::possible);
}

TEST(design, names_a_theorem_that_rules_layouts_out) {
  // No full layer, and less state than a table of the context's length.
  DesignRequest request = request_of(4, {"full", "gdelta(heads=1,dim=4,vdim=4,form=plain)"}, {"eva"}, 4096);
  const auto design = search_design(request);
  ASSERT_TRUE(design);
  ASSERT_FALSE(design->front.empty());
  ASSERT_FALSE(design->excluded.empty());
  const ExcludedLayouts& none = design->excluded.front();
  EXPECT_EQ(down_set_text(request, none.set), "no full");
  ASSERT_TRUE(none.impossible);
  EXPECT_EQ(none.impossible->verdict.theorem, "recurrent-eva");
  EXPECT_EQ(none.impossible->verdict.outcome, Outcome::impossible);
}

TEST(design, refuses_what_it_cannot_ask) {
  const auto refused = [](DesignRequest request, std::string_view word) {
    const auto design = search_design(request);
    EXPECT_FALSE(design);
    if (!design) EXPECT_NE(design.error().message.find(word), std::string::npos) << design.error().message;
  };
  const DesignRequest fine = request_of(4, {"full", "gdelta(form=plain)"}, {"seqcomp:L=2"});
  DesignRequest request = fine;
  request.layers = 0;
  refused(request, "0 layers");
  request = fine;
  request.mixers.push_back(request.mixers.front());
  refused(request, "stands twice");
  request = fine;
  request.needs.clear();
  refused(request, "nothing is needed");
  request = fine;
  request.needs = {*parse_need("mqar:n=4096")};
  refused(request, "mqar:n=4096");
  for (const char* text :
       {"nothing", "seqcomp:", "seqcomp:L", "seqcomp:L=", "seqcomp:L=2,L=3", "seqcomp:L=x"})
    EXPECT_FALSE(parse_need(text)) << text;
}

}  // namespace
}  // namespace rung
