#include "rung/design/design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "rung/base/nearest_word.h"
#include "rung/base/require.h"
#include "rung/theory/strongest_construction.h"

namespace rung {
namespace {

constexpr std::int64_t kMostDesignLayers = 1024, kMostCompositions = 2'000'000;
constexpr std::size_t kMostDesignMixers = 6, kMostNeeds = 64;

// What a layout is known to do.
enum class Support { none, sketched, proved };

// The theory, asked about layouts: everything that does not depend on the order is made once.
class LayoutTheory {
 public:
  static Result<LayoutTheory> make(const DesignRequest& request) {
    LayoutTheory theory(request);
    for (const Need& need : request.needs) {
      RUNG_TRY(Question question, need.question(request.context));
      theory.questions_.push_back(std::move(question));
    }
    for (const Mixer& mixer : request.mixers) {
      const Architecture one{Stack{{mixer}}, request.dimensions};
      RUNG_TRY(const auto shapes, resolve(one));
      StorageBits bits = request.bits;
      bits.context = request.context;
      const Account counted = account(one, shapes, bits);
      LayoutCost cost;
      cost.cache_bytes =
          Integer(counted.cache_bits_per_token) * request.context;  // bits: divided when summed
      cost.state_bytes = counted.state_bits;
      cost.full = counted.layers.front().letters.find('F') == std::string::npos ? 0 : 1;
      cost.parameters = counted.layers.front().parameters;
      theory.costs_.push_back(cost);
      if (counted.parameters && cost.parameters) theory.outer_ = *counted.parameters - *cost.parameters;
    }
    RUNG_TRY(const Setting all, theory.setting(theory.everything()));
    (void)all;
    return theory;
  }

  const std::vector<Question>& questions() const { return questions_; }

  // Every mixer once: sizes that the theory refuses are refused here.
  LayoutWord everything() const {
    LayoutWord word;
    for (std::size_t i = 0; i < request_.mixers.size(); ++i) word.push_back(static_cast<int>(i));
    return word;
  }

  Result<Setting> setting(const LayoutWord& word) const {
    SettingOptions options;
    options.context = request_.context;
    options.chain_of_thought = request_.chain_of_thought;
    options.storage = request_.bits;
    options.assumes = request_.assumes;
    return make_setting({layout_stack(request_, word), request_.dimensions}, options);
  }

  Support support(const LayoutWord& word) const {
    const auto asked = setting(word);
    if (!asked) return Support::none;
    Support least = Support::proved;
    for (const Question& question : questions_) {
      const auto built = strongest_construction(*asked, question);
      if (!built) return Support::none;
      if (!is_proved(built->status)) least = Support::sketched;
    }
    return least;
  }

  std::vector<NeedVerdict> verdicts(const LayoutWord& word) const {
    std::vector<NeedVerdict> out;
    const auto asked = setting(word);
    RUNG_REQUIRE(asked.ok(), "{}", asked.error().message);
    for (std::size_t i = 0; i < questions_.size(); ++i)
      out.push_back({request_.needs[i].text, decide(*asked, questions_[i])});
    return out;
  }

  LayoutCost cost(const Composition& composition) const {
    LayoutCost out{.parameters = outer_};
    for (std::size_t i = 0; i < composition.size(); ++i) {
      out.cache_bytes += costs_[i].cache_bytes * composition[i];
      out.state_bytes += costs_[i].state_bytes * composition[i];
      out.full += costs_[i].full * composition[i];
      if (composition[i] == 0) continue;
      if (!costs_[i].parameters)
        out.parameters = std::nullopt;
      else if (out.parameters)
        *out.parameters += *costs_[i].parameters * composition[i];
    }
    out.cache_bytes = (out.cache_bytes + 7) / 8;
    out.state_bytes = (out.state_bytes + 7) / 8;
    return out;
  }
  bool counts_parameters() const {
    return std::all_of(costs_.begin(), costs_.end(),
                       [](const LayoutCost& c) { return c.parameters.has_value(); });
  }

 private:
  explicit LayoutTheory(const DesignRequest& request) : request_(request) {}

  const DesignRequest& request_;
  std::vector<Question> questions_;
  std::vector<LayoutCost> costs_;  // a layer each; bytes hold bits
  std::int64_t outer_ = 0;
};

// All compositions of `layers` layers, in order.
template <class Visit>
void each_composition(std::size_t mixers, std::int64_t layers, const Visit& visit) {
  Composition c(mixers, 0);
  const auto fill = [&](const auto& self, std::size_t i, std::int64_t left) -> void {
    if (i + 1 == mixers) {
      c[i] = left;
      visit(c);
      return;
    }
    for (std::int64_t count = 0; count <= left; ++count) {
      c[i] = count;
      self(self, i + 1, left - count);
    }
  };
  fill(fill, 0, layers);
}

std::int64_t composition_count(std::size_t mixers, std::int64_t layers) {
  Integer count = 1;
  for (std::size_t i = 1; i < mixers; ++i)
    count = count * (layers + static_cast<std::int64_t>(i)) / static_cast<std::int64_t>(i);
  return count > kMostCompositions ? kMostCompositions + 1 : count.convert_to<std::int64_t>();
}

// Words of this composition; 0 where they are more than 2^62.
std::int64_t order_count(const Composition& c) {
  Integer count = 1;
  std::int64_t placed = 0;
  for (const std::int64_t number : c)
    for (std::int64_t i = 1; i <= number; ++i) count = count * ++placed / i;
  return bit_length(count) > 62 ? 0 : count.convert_to<std::int64_t>();
}

// Layers of each mixer spread as evenly as they can be, each at the end of its stretch, the rarest placed first: the
// way hybrids are usually written. No theorem prefers it.
LayoutWord spread(const Composition& composition) {
  std::int64_t layers = 0;
  for (const std::int64_t number : composition) layers += number;
  std::vector<std::size_t> order(composition.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return composition[a] < composition[b]; });
  LayoutWord word(static_cast<std::size_t>(layers), -1);
  for (const std::size_t mixer : order)
    for (std::int64_t i = 1; i <= composition[mixer]; ++i) {
      auto place = (i * layers + composition[mixer] - 1) / composition[mixer] - 1;
      while (place >= 0 && word[static_cast<std::size_t>(place)] >= 0) --place;
      if (place < 0) place = std::find(word.begin(), word.end(), -1) - word.begin();
      word[static_cast<std::size_t>(place)] = static_cast<int>(mixer);
    }
  return word;
}

bool is_subsequence(const LayoutWord& part, const LayoutWord& whole) {
  std::size_t at = 0;
  for (const int letter : whole)
    if (at < part.size() && part[at] == letter) ++at;
  return at == part.size();
}

bool contains_composition(const Composition& c, const LayoutWord& word) {
  const Composition least = composition_of(word, c.size());
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c[i] < least[i]) return false;
  return true;
}

// The word's letters first, in order, then what the composition has beyond them.
LayoutWord completed(const LayoutWord& word, const Composition& composition) {
  LayoutWord out = word;
  const Composition own = composition_of(word, composition.size());
  for (std::size_t i = 0; i < composition.size(); ++i)
    for (std::int64_t n = own[i]; n < composition[i]; ++n) out.push_back(static_cast<int>(i));
  return out;
}

class Designer {
 public:
  Designer(const DesignRequest& request, const LayoutTheory& theory) : request_(request), theory_(theory) {}

  Result<Design> run() {
    Design out{.request = request_};
    out.compositions = composition_count(request_.mixers.size(), request_.layers);
    const auto asked = [&](Support least) {
      return feasible_layouts(
          request_.mixers.size(), request_.layers,
          [&, least](const LayoutWord& word) { return support(word) >= least; }, request_.limits);
    };
    RUNG_TRY(proved_, asked(Support::proved));
    RUNG_TRY(sketched_, asked(Support::sketched));
    out.questions = static_cast<std::int64_t>(known_.size());
    find_front(out);
    find_excluded(out);
    if (out.front.empty()) out.lacking = lacking();
    return out;
  }

 private:
  struct Candidate {
    Composition composition;
    LayoutCost cost;
    bool proved = true;
    std::int64_t alike = 0;
  };

  Support support(const LayoutWord& word) {
    const auto [place, fresh] = known_.try_emplace(word, Support::none);
    if (fresh) place->second = theory_.support(word);
    return place->second;
  }

  bool within_budget(const LayoutCost& cost) const {
    return std::all_of(request_.budget.begin(), request_.budget.end(),
                       [&](const CostLimit& limit) { return cost.of(limit.kind) <= limit.most; });
  }

  // Costs no more of anything, is at least as sure, and costs less of something or is surer.
  bool dominates(const Candidate& a, const Candidate& b) const {
    bool less = a.proved && !b.proved;
    if (b.proved && !a.proved) return false;
    for (const CostKind kind : request_.minimise) {
      if (a.cost.of(kind) > b.cost.of(kind)) return false;
      less = less || a.cost.of(kind) < b.cost.of(kind);
    }
    return less;
  }

  void find_front(Design& out) {
    const auto feasible = [](const FeasibleLayouts& layouts, const Composition& c) {
      return std::any_of(layouts.minimal.begin(), layouts.minimal.end(),
                         [&](const LayoutWord& word) { return contains_composition(c, word); });
    };
    std::vector<Candidate> front;
    each_composition(request_.mixers.size(), request_.layers, [&](const Composition& c) {
      const bool proved = feasible(proved_, c);
      if (!proved && !feasible(sketched_, c)) return;
      Candidate candidate{c, theory_.cost(c), proved};
      if (!within_budget(candidate.cost)) return;
      if (std::any_of(front.begin(), front.end(),
                      [&](const Candidate& other) { return dominates(other, candidate); }))
        return;
      std::erase_if(front, [&](const Candidate& other) { return dominates(candidate, other); });
      const auto same = std::find_if(front.begin(), front.end(), [&](const Candidate& other) {
        return other.proved == candidate.proved &&
               std::all_of(request_.minimise.begin(), request_.minimise.end(),
                           [&](CostKind kind) { return other.cost.of(kind) == candidate.cost.of(kind); });
      });
      if (same == front.end())
        front.push_back(std::move(candidate));
      else
        ++same->alike;
    });
    std::stable_sort(front.begin(), front.end(), [&](const Candidate& a, const Candidate& b) {
      for (const CostKind kind : request_.minimise)
        if (a.cost.of(kind) != b.cost.of(kind)) return a.cost.of(kind) < b.cost.of(kind);
      return a.proved > b.proved;
    });
    for (const Candidate& candidate : front) out.front.push_back(shown(candidate));
  }

  DesignedLayout shown(const Candidate& candidate) {
    const FeasibleLayouts& layouts = candidate.proved ? proved_ : sketched_;
    DesignedLayout out{.cost = candidate.cost,
                       .proved = candidate.proved,
                       .orders = order_count(candidate.composition),
                       .alike = candidate.alike};
    for (const LayoutWord& word : layouts.minimal)
      if (contains_composition(candidate.composition, word)) out.suffices.push_back(word);
    out.layers = spread(candidate.composition);
    const bool holds = std::any_of(out.suffices.begin(), out.suffices.end(),
                                   [&](const LayoutWord& word) { return is_subsequence(word, out.layers); });
    if (!holds && support(out.layers) < (candidate.proved ? Support::proved : Support::sketched))
      out.layers = completed(out.suffices.front(), candidate.composition);
    out.needs = theory_.verdicts(out.layers);
    for (const NeedVerdict& need : out.needs)
      RUNG_REQUIRE(need.verdict.outcome == Outcome::possible, "{} is not possible for a layout of the front",
                   need.need);
    return out;
  }

  // The largest composition of the set with the layers asked for: as many of the bounded mixers as it allows, the
  // rest of the unbounded one that costs least. Nothing where the set has no layout of that length.
  std::optional<Composition> largest_member(const DownSet& set) const {
    Composition c(set.most.size(), 0);
    std::int64_t left = request_.layers;
    std::optional<std::size_t> filler;
    for (std::size_t i = 0; i < set.most.size(); ++i) {
      if (set.most[i]) {
        c[i] = std::min(*set.most[i], left);
        left -= c[i];
        continue;
      }
      const auto cheaper = [&](std::size_t a, std::size_t b) {
        Composition one(c.size(), 0), other(c.size(), 0);
        one[a] = other[b] = 1;
        const LayoutCost left_cost = theory_.cost(one), right_cost = theory_.cost(other);
        for (const CostKind kind : request_.minimise)
          if (left_cost.of(kind) != right_cost.of(kind)) return left_cost.of(kind) < right_cost.of(kind);
        return false;
      };
      if (!filler || cheaper(i, *filler)) filler = i;
    }
    if (left > 0 && !filler) return std::nullopt;
    if (filler) c[*filler] += left;
    return c;
  }

  // One word that holds every layout of the set as a subsequence: between any two bounded layers, and around them,
  // as many of every unbounded mixer as there are layers. Nothing where several bounded mixers have an order.
  std::optional<LayoutWord> superword(const DownSet& set) const {
    std::vector<int> unbounded;
    std::optional<std::size_t> bounded;
    for (std::size_t i = 0; i < set.most.size(); ++i) {
      if (!set.most[i]) unbounded.push_back(static_cast<int>(i));
      if (set.most[i] && *set.most[i] > 0) {
        if (bounded) return std::nullopt;
        bounded = i;
      }
    }
    LayoutWord word;
    const std::int64_t gaps = bounded ? *set.most[*bounded] : 0;
    for (std::int64_t gap = 0; gap <= gaps; ++gap) {
      if (gap > 0) word.push_back(static_cast<int>(*bounded));
      for (const int letter : unbounded)
        word.insert(word.end(), static_cast<std::size_t>(request_.layers), letter);
    }
    return word;
  }

  void find_excluded(Design& out) {
    std::vector<DownSet> sets = proved_.ruled_out;
    for (const DownSet& set : sketched_.ruled_out)
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
    for (const DownSet& set : sets) {
      const auto largest = largest_member(set);
      const bool everything =
          std::none_of(set.most.begin(), set.most.end(), [](const auto& most) { return most.has_value(); });
      if (!largest || everything) continue;
      ExcludedLayouts one{.set = set, .example = spread(*largest), .cost = theory_.cost(*largest)};
      const bool costlier =
          std::any_of(out.front.begin(), out.front.end(), [&](const DesignedLayout& layout) {
            return layout.proved &&
                   std::all_of(request_.minimise.begin(), request_.minimise.end(),
                               [&](CostKind kind) { return layout.cost.of(kind) <= one.cost.of(kind); });
          });
      if (costlier) continue;
      for (NeedVerdict& need : theory_.verdicts(one.example))
        if (need.verdict.outcome != Outcome::possible || !is_proved(need.verdict.status))
          one.failing.push_back(std::move(need));
      const bool hopeful = std::any_of(one.failing.begin(), one.failing.end(), [](const NeedVerdict& need) {
        return need.verdict.outcome == Outcome::impossible && is_proved(need.verdict.status);
      });
      if (const auto all = hopeful ? superword(set) : std::nullopt)
        for (NeedVerdict& need : theory_.verdicts(*all))
          if (need.verdict.outcome == Outcome::impossible && is_proved(need.verdict.status) &&
              !one.impossible)
            one.impossible = std::move(need);
      out.excluded.push_back(std::move(one));
    }
    std::stable_sort(out.excluded.begin(), out.excluded.end(),
                     [&](const ExcludedLayouts& a, const ExcludedLayouts& b) {
                       for (const CostKind kind : request_.minimise)
                         if (a.cost.of(kind) != b.cost.of(kind)) return a.cost.of(kind) < b.cost.of(kind);
                       return false;
                     });
  }

  // What every mixer, in every order, is short of.
  std::vector<NeedVerdict> lacking() const {
    LayoutWord all;
    for (std::int64_t i = 0; i < request_.layers; ++i)
      for (std::size_t m = 0; m < request_.mixers.size(); ++m) all.push_back(static_cast<int>(m));
    std::vector<NeedVerdict> out;
    for (NeedVerdict& need : theory_.verdicts(all))
      if (need.verdict.outcome != Outcome::possible) out.push_back(std::move(need));
    return out;
  }

  const DesignRequest& request_;
  const LayoutTheory& theory_;
  std::map<LayoutWord, Support> known_;
  FeasibleLayouts proved_, sketched_;
};

nlohmann::ordered_json cost_document(const LayoutCost& cost) {
  return {{"cache_bytes", json_number(cost.cache_bytes)},
          {"state_bytes", json_number(cost.state_bytes)},
          {"full", cost.full},
          {"parameters", cost.parameters ? nlohmann::ordered_json(*cost.parameters) : nullptr}};
}

nlohmann::ordered_json need_document(const NeedVerdict& need) {
  nlohmann::ordered_json json = verdict_json(need.verdict);
  json["need"] = need.need;
  return json;
}

nlohmann::ordered_json words_document(const DesignRequest& request, const LayoutWord& word) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const int letter : word)
    out.push_back(format_spelled_mixer(request.mixers[static_cast<std::size_t>(letter)]));
  return out;
}

Result<void> check_request(const DesignRequest& request) {
  if (request.layers < 1 || request.layers > kMostDesignLayers)
    return fail(ErrorCode::range, "[design] {} layers; expected 1 to {}", request.layers, kMostDesignLayers);
  if (request.mixers.empty() || request.mixers.size() > kMostDesignMixers)
    return fail(ErrorCode::range, "[design] {} mixers; expected 1 to {}", request.mixers.size(),
                kMostDesignMixers);
  for (std::size_t i = 0; i < request.mixers.size(); ++i)
    for (std::size_t j = i + 1; j < request.mixers.size(); ++j)
      if (request.mixers[i] == request.mixers[j])
        return fail(ErrorCode::parse, "[design] {} stands twice among the mixers",
                    format_mixer(request.mixers[i]));
  if (request.needs.empty())
    return fail(ErrorCode::missing, "[design] nothing is needed; expected a task, as in seqcomp:L=4");
  if (request.needs.size() > kMostNeeds)
    return fail(ErrorCode::resource, "[design] {} needs; expected at most {}", request.needs.size(),
                kMostNeeds);
  if (request.minimise.empty()) return fail(ErrorCode::missing, "[design] nothing to minimise");
  if (composition_count(request.mixers.size(), request.layers) > kMostCompositions)
    return fail(ErrorCode::resource,
                "[design] more than {} ways to share {} layers among {} mixers; expected fewer of them",
                kMostCompositions, request.layers, request.mixers.size());
  return {};
}

}  // namespace

Result<CostKind> parse_cost_kind(std::string_view text) {
  return parse_word<CostKind>(text, "[design] unknown cost");
}

Integer LayoutCost::of(CostKind kind) const {
  switch (kind) {
    case CostKind::memory:
      return cache_bytes + state_bytes;
    case CostKind::cache:
      return cache_bytes;
    case CostKind::state:
      return state_bytes;
    case CostKind::full:
      return full;
    case CostKind::parameters:
      return parameters.value_or(0);
  }
  return 0;
}

Stack layout_stack(const DesignRequest& request, const LayoutWord& word) {
  Stack stack;
  stack.layers.reserve(word.size());
  for (const int letter : word) stack.layers.push_back(request.mixers[static_cast<std::size_t>(letter)]);
  return stack;
}

std::string down_set_text(const DesignRequest& request, const DownSet& set) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < set.most.size(); ++i) {
    if (!set.most[i]) continue;
    const std::string name = format_mixer(request.mixers[i]);
    parts.push_back(*set.most[i] == 0 ? fmt::format("no {}", name)
                                      : fmt::format("at most {} {}", *set.most[i], name));
  }
  return parts.empty() ? "any layout" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<Design> search_design(const DesignRequest& request) {
  RUNG_CHECK(check_request(request));
  RUNG_TRY(const LayoutTheory theory, LayoutTheory::make(request));
  const auto uses = [&](CostKind kind) {
    return std::find(request.minimise.begin(), request.minimise.end(), kind) != request.minimise.end() ||
           std::any_of(request.budget.begin(), request.budget.end(),
                       [&](const CostLimit& limit) { return limit.kind == kind; });
  };
  if (uses(CostKind::parameters) && !theory.counts_parameters())
    return fail(ErrorCode::unsupported,
                "[design] the parameters of a mixer are not counted; expected another cost");
  return Designer(request, theory).run();
}

nlohmann::ordered_json design_document(const Design& design) {
  const DesignRequest& request = design.request;
  nlohmann::ordered_json front = nlohmann::ordered_json::array(), excluded = nlohmann::ordered_json::array(),
                         lacking = nlohmann::ordered_json::array();
  const auto needs_document = [](const std::vector<NeedVerdict>& needs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const NeedVerdict& need : needs) list.push_back(need_document(need));
    return list;
  };
  for (const DesignedLayout& layout : design.front) {
    nlohmann::ordered_json suffices = nlohmann::ordered_json::array();
    for (const LayoutWord& word : layout.suffices) suffices.push_back(words_document(request, word));
    front.push_back({{"layers", words_document(request, layout.layers)},
                     {"architecture", format_spelled_stack(layout_stack(request, layout.layers))},
                     {"cost", cost_document(layout.cost)},
                     {"needs", needs_document(layout.needs)},
                     {"proved", layout.proved},
                     {"suffices", std::move(suffices)},
                     {"alike", layout.alike},
                     {"orders", layout.orders > 0 ? nlohmann::ordered_json(layout.orders) : nullptr}});
  }
  for (const ExcludedLayouts& one : design.excluded) {
    nlohmann::ordered_json most = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < one.set.most.size(); ++i)
      if (one.set.most[i]) most[format_spelled_mixer(request.mixers[i])] = *one.set.most[i];
    excluded.push_back(
        {{"layouts", down_set_text(request, one.set)},
         {"at_most", std::move(most)},
         {"example", words_document(request, one.example)},
         {"cost", cost_document(one.cost)},
         {"failing", needs_document(one.failing)},
         {"impossible", one.impossible ? need_document(*one.impossible) : nlohmann::ordered_json()}});
  }
  for (const NeedVerdict& need : design.lacking) lacking.push_back(need_document(need));
  nlohmann::ordered_json mixers = nlohmann::ordered_json::array(), needs = nlohmann::ordered_json::array(),
                         minimise = nlohmann::ordered_json::array();
  for (const Mixer& mixer : request.mixers) mixers.push_back(format_spelled_mixer(mixer));
  for (const Need& need : request.needs) needs.push_back(need.text);
  for (const CostKind kind : request.minimise) minimise.push_back(cost_kind_name(kind));
  return {{"schema", "rung.design/2"},
          {"layers", request.layers},
          {"mixers", std::move(mixers)},
          {"context", request.context},
          {"needs", std::move(needs)},
          {"minimise", std::move(minimise)},
          {"chain_of_thought", request.chain_of_thought},
          {"assumes", request.assumes},
          {"compositions", design.compositions},
          {"questions", design.questions},
          {"front", std::move(front)},
          {"excluded", std::move(excluded)},
          {"lacking", std::move(lacking)}};
}

}  // namespace rung
