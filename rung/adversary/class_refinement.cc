// Claim: one-full-layer-late, one-full-layer-early (docs/theorems.md). Fix T functions z_1^t(z_0) = t x_0 +
// z_0 and let z_0 < x_0 and w range freely. What reaches the last tokens from z_2 are its partial sums at
// their queries in the full layer and the states of the recurrent layers that leave the z_1 segment.
// Functions z_2 that agree in all of it end in the same activations for every (t, z_0, w), so two of them
// that differ at an argument that is asked for are a fooling pair.
//
// Search: all z_2 where there are at most 2^24, else some at random, refined stage by stage, keeping the
// largest class:
//   1. states of recurrent layers before the full one, after z_2 (none where the full layer is the first)
//   2. partial sums of z_2 at the queries of the last tokens; additive over z_2's tokens where the full layer
//   is the first,
//      so all z_2 are counted by adding hashes that are linear modulo 2^64
//   3. states of the layers after, leaving z_1^t, for every t
// Invariant: members of a class agree in everything that the stages so far have fixed (up to hashes; the pair
// is rerun).
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <unordered_map>

#include "rung/adversary/birthday.h"
#include "rung/adversary/forced_proof.h"
#include "rung/adversary/full_layer_view.h"
#include "rung/adversary/prompt_family.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/parallel.h"
#include "rung/base/plural.h"
#include "rung/base/random.h"

namespace rung {
namespace {

constexpr std::uint64_t kAll = std::uint64_t{1} << 24;      // up to this many functions z_2, all are counted
constexpr std::size_t kClasses = std::size_t{1} << 22;      // classes kept while counting
constexpr std::size_t kRefined = std::size_t{1} << 16;      // members whose states are computed
constexpr std::uint64_t kSampled = std::uint64_t{1} << 16;  // functions drawn where not all are counted
constexpr std::int64_t kClassRefinementChunk = 256;
constexpr std::int64_t kQuestions = 4096;  // (t, z_0, w) that are asked

using Row = FullLayerView::Row;
using Function = std::vector<std::int64_t>;  // the values of z_2

class Refinement {
 public:
  Refinement(const Target& target, const SearchOptions& options)
      : target_(target),
        options_(options),
        view_(*FullLayerView::make(target)),
        layout_(*seqcomp_layout(*target.task)),
        domain_(layout_.domain(1)),
        outcome_{.method = "decomposition", .nominal_bits = target.nominal_bits} {
    const std::int64_t m = layout_.domain(0);
    const auto proof = forced_proof(target);
    T_ = proof ? proof->T : m >= 4 ? 2 : 1;
    x0_ = proof ? proof->x0 : m / T_;
    y_ = proof ? proof->y : layout_.branching(1);
    while (T_ * x0_ * y_ > kQuestions && x0_ > 1) --x0_;
    base_ = target.task->generate(Variant::uniform, options.seed, 0).prompt;
    outcome_.details["T,x0,y"] = fmt::format("{},{},{}", T_, x0_, y_);
  }

  Result<AttackOutcome> run() {
    std::vector<Function> members;
    if (view_.first() && functions() <= kAll) {
      members = count_all();
    } else {
      members = draw();
      if (!view_.first())
        members = keep_largest("states before the full layer", std::move(members), [&](const Function& z) {
                    return hash_numbers(0, view_.states_before(prompt(z, 0, 0, 0), domain_));
                  }).front();
      const auto queries = bottom_queries(members.front());
      members = keep_largest("partial sums at the last tokens", std::move(members), [&](const Function& z) {
                  const auto inputs = view_.inputs(prompt(z, 0, 0, 0), 0, domain_);
                  std::uint64_t hash = 0;
                  for (const Row& query : queries) hash = hash_numbers(hash, view_.sums(inputs, query));
                  return hash;
                }).front();
    }
    const auto classes =
        keep_largest("states that leave z_1, for every t", std::move(members), [&](const Function& z) {
          std::uint64_t hash = 0;
          const auto run_class_refinement =
              ResumedRun::make(*target_.machine, target_.task->fields(), prompt(z, 0, 0, 0), domain_);
          for (std::int64_t t = 0; t < T_; ++t)
            for (const auto& layer :
                 run_class_refinement->states(prompt(z, t, 0, 0), layout_.start_position()))
              hash = hash_numbers(hash, layer);
          return hash;
        });
    outcome_.reason = late() ? "the budget ended before two functions met"
                             : "no class holds two functions that differ where they are asked";
    for (const auto& members_of_one : classes) {
      RUNG_TRY(outcome_.certificate, fooling_pair(members_of_one));
      if (!outcome_.certificate) continue;
      outcome_.verdict = Evidence::refuted;
      outcome_.reason = fmt::format("a class of {} functions that end alike for all {} questions",
                                    members_of_one.size(), T_ * x0_ * y_);
      break;
    }
    outcome_.seconds = elapsed();
    return outcome_;
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool late() const { return elapsed() > options_.seconds || (options_.stop && options_.stop()); }

  std::uint64_t functions() const {
    std::uint64_t count = 1;
    for (std::int64_t j = 0; j < domain_ && count <= kAll; ++j) count *= static_cast<std::uint64_t>(domain_);
    return count;
  }

  Prompt prompt(const Function& z2, std::int64_t t, std::int64_t z0, std::int64_t w) const {
    Prompt made = base_;
    auto& tokens = made.fields[0];
    std::copy(z2.begin(), z2.end(), tokens.begin() + layout_.table_position(2));
    for (std::int64_t a = 0; a < layout_.domain(0); ++a)
      tokens[static_cast<std::size_t>(layout_.table_position(1) + a)] = a < x0_ ? t * x0_ + a : 0;
    tokens[static_cast<std::size_t>(layout_.start_position())] = z0;
    tokens[static_cast<std::size_t>(layout_.branch_position(1))] = w;
    return made;
  }
  std::int64_t argument(std::int64_t t, std::int64_t z0, std::int64_t w) const {
    return w * layout_.domain(0) + t * x0_ + z0;
  }

  // The different queries of z_0, w and `=` in the full layer. Where recurrent layers stand before it they
  // depend on z_2 through the states that its class shares, so one member speaks for all.
  std::vector<Row> bottom_queries(const Function& member) const {
    std::set<Row> queries;
    for (std::int64_t t = 0; t < T_; ++t)
      for (std::int64_t z0 = 0; z0 < x0_; ++z0)
        for (std::int64_t w = 0; w < y_; ++w)
          for (const Row& input :
               view_.inputs(prompt(member, t, z0, w), layout_.start_position(), layout_.length()))
            queries.insert(view_.query(input));
    return {queries.begin(), queries.end()};
  }

  // Counts every z_2 by its partial sums; members of the largest class, at most kRefined of them.
  std::vector<Function> count_all() {
    Function zero(static_cast<std::size_t>(domain_), 0);
    const auto queries = bottom_queries(zero);
    // share[j][v]: the hash of what value v at place j adds; linear, so the hash of a function is the sum of
    // its shares.
    std::vector<std::vector<std::uint64_t>> share(static_cast<std::size_t>(domain_));
    for (std::int64_t j = 0; j < domain_; ++j)
      for (std::int64_t v = 0; v < domain_; ++v) {
        Function z = zero;
        z[static_cast<std::size_t>(j)] = v;
        const auto input = view_.inputs(prompt(z, 0, 0, 0), j, j + 1);
        Random multiplier(options_.seed);
        std::uint64_t hash = 0;
        for (const Row& query : queries)
          for (const auto number : view_.sums(input, query))
            hash += static_cast<std::uint64_t>(number) * (multiplier.next() | 1);
        share[static_cast<std::size_t>(j)].push_back(hash);
      }
    std::unordered_map<std::uint64_t, std::uint64_t> classes;
    Function z = zero;
    const std::function<void(std::size_t, std::uint64_t, const std::function<bool(std::uint64_t)>&)> walk =
        [&](std::size_t j, std::uint64_t hash, const std::function<bool(std::uint64_t)>& take) {
          if (stopped_) return;
          if (j + 1 == z.size()) {
            for (std::int64_t v = 0; v < domain_ && !stopped_; ++v) {
              z[j] = v;
              stopped_ = !take(hash + share[j][static_cast<std::size_t>(v)]);
            }
            return;
          }
          for (std::int64_t v = 0; v < domain_ && !stopped_; ++v) {
            z[j] = v;
            walk(j + 1, hash + share[j][static_cast<std::size_t>(v)], take);
          }
        };
    std::uint64_t counted = 0;
    walk(0, 0, [&](std::uint64_t hash) {
      if (classes.size() < kClasses || classes.contains(hash)) ++classes[hash];
      return ++counted % 65536 != 0 || !late();
    });
    outcome_.evaluations += counted;
    auto largest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, b.first) < std::pair(b.second, a.first);
    });
    outcome_.memory_bytes = classes.size() * 32;
    note("partial sums at the last tokens", counted, classes.size(), largest->second);
    std::vector<Function> members;
    stopped_ = false;
    walk(0, 0, [&](std::uint64_t hash) {
      if (hash == largest->first) members.push_back(z);
      return members.size() < kRefined;
    });
    return members;
  }

  std::vector<Function> draw() {
    std::vector<Function> members(kSampled);
    for (std::uint64_t i = 0; i < kSampled; ++i) {
      Random random(options_.seed, i);
      for (std::int64_t j = 0; j < domain_; ++j)
        members[i].push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(domain_))));
    }
    return members;
  }

  // The members' classes by `key`, the largest first. Stops at the budget with what has been computed.
  template <class Key>
  std::vector<std::vector<Function>> keep_largest(const std::string& stage, std::vector<Function> members,
                                                  const Key& key) {
    std::vector<std::uint64_t> keys(members.size());
    std::size_t done = 0;
    for (; done < members.size() && (done == 0 || !late()); done += kClassRefinementChunk) {
      const auto begin = static_cast<std::int64_t>(done);
      parallel_for(
          std::min<std::int64_t>(kClassRefinementChunk, static_cast<std::int64_t>(members.size()) - begin), 8,
          [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t i = begin + from; i < begin + to; ++i)
              keys[static_cast<std::size_t>(i)] = key(members[static_cast<std::size_t>(i)]);
          });
      if (options_.progress)
        options_.progress({outcome_.evaluations + done, {}, outcome_.memory_bytes, stage});
    }
    done = std::min(done, members.size());
    outcome_.evaluations += done;
    std::unordered_map<std::uint64_t, std::size_t> place;
    std::vector<std::vector<Function>> classes;
    for (std::size_t i = 0; i < done; ++i) {
      const auto [at, fresh] = place.try_emplace(keys[i], classes.size());
      if (fresh) classes.emplace_back();
      classes[at->second].push_back(std::move(members[i]));
    }
    std::stable_sort(classes.begin(), classes.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    note(stage, done, classes.size(), classes.front().size());
    return classes;
  }
  void note(const std::string& stage, std::uint64_t tried, std::uint64_t classes, std::uint64_t largest) {
    outcome_.details[fmt::format("stage {}", ++stages_)] =
        fmt::format("{}: {} tried, {} classes, largest {}", stage, tried, classes, largest);
  }

  Result<std::optional<Certificate>> fooling_pair(const std::vector<Function>& members) {
    for (std::int64_t t = 0; t < T_; ++t)
      for (std::int64_t z0 = 0; z0 < x0_; ++z0)
        for (std::int64_t w = 0; w < y_; ++w) {
          const auto at = static_cast<std::size_t>(argument(t, z0, w));
          for (const Function& other : members) {
            if (other[at] == members.front()[at]) continue;
            RUNG_TRY(auto certificate, certify_fooling_pair(target_, prompt(members.front(), t, z0, w),
                                                            prompt(other, t, z0, w)));
            if (!certificate) break;  // equal hashes of different numbers
            label_fooling_pair(target_, *certificate);
            return certificate;
          }
        }
    return std::optional<Certificate>{};
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  const Target& target_;
  const SearchOptions& options_;
  const FullLayerView view_;
  const SeqCompLayout layout_;
  const std::int64_t domain_;  // N_1
  std::int64_t T_ = 1, x0_ = 1, y_ = 1;
  Prompt base_;
  AttackOutcome outcome_;
  bool stopped_ = false;
  int stages_ = 0;
};

Fitness class_refinement_fitness(const Target& target) {
  const auto layout = seqcomp_layout(*target.task);
  if (!layout || layout->levels() != 2 || layout->order() != SeqCompLayout::Order::hard)
    return {false, "2-SeqComp in the hard order alone", 0};
  const auto view = FullLayerView::make(target);
  if (!view)
    return {false, "no full layer without window, chunk or convolution behind layers of bounded state", 0};
  for (std::size_t i = static_cast<std::size_t>(view->layer()) + 1; i < target.layers.size(); ++i)
    if (!has_bounded_state(target.layers[i].mixer))
      return {false, "a second layer keeps a cache that grows", 0};
  if (target.weights.decode.steps > 0) return {false, "chain of thought", 0};
  const double all =
      static_cast<double>(layout->domain(1)) * std::log2(static_cast<double>(layout->domain(1)));
  return {true,
          fmt::format("one full layer, {}, {:.0f} bits of functions z_2",
                      counted(target.nominal_bits, "state bit"), all),
          std::max(std::min(all, 24.0), static_cast<double>(target.nominal_bits) / 2)};
}

Result<AttackOutcome> run_class_refinement(const Target& target, const SearchOptions& options) {
  return Refinement(target, options).run();
}

}  // namespace

AttackMethod class_refinement_method() {
  return {"decomposition",
          "functions z_2 with one transcript, class by class: 2-SeqComp against one full layer among "
          "recurrent ones",
          &class_refinement_fitness, &run_class_refinement};
}

}  // namespace rung
