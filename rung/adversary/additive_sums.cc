// Claim: in a first full layer the partial sums (num, den) of z_L at a query are sums over its tokens, and
// the queries of z_0, w_1 .. and `=` depend on their own tokens alone. Two functions z_L with equal sums at
// these L+1 queries look alike to the last tokens in that layer; what else reaches them crosses through the
// states of the layers after it.
//
// Search. A move is a small group of places with two contents that add the same to all sums: one place with
// two values of equal shares where there are such, else groups of 2, 3, 4 places by a birthday on sums of
// shares. The first move changes the entry that the answer reads. K moves on disjoint places give 2^K
// functions with equal sums; among them a birthday on the states that leave z_1 (or, where those have too
// many bits, on the answer activation). With nothing recurrent after the full layer the first move alone is a
// fooling pair. Invariant: all members have equal sums at the last tokens (up to 64-bit linear hashes of
// shares; every pair is rerun).
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "rung/adversary/birthday.h"
#include "rung/adversary/forced_proof.h"
#include "rung/adversary/full_layer_view.h"
#include "rung/adversary/prompt_family.h"
#include "rung/adversary/resumed_run.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/random.h"

namespace rung {
namespace {

constexpr std::int64_t kMoves = 40;          // 2^40 functions are more than any budget evaluates
constexpr std::size_t kLargestGroup = 4;     // places of one move
constexpr std::int64_t kContents = 1 << 18;  // of one group, in its birthday
constexpr std::int64_t kValues = 4096;       // of one place whose shares are computed
constexpr double kCrossingBits = 44;         // up to here the states that leave z_1 are compared
constexpr std::int64_t kFirstPlaces = 64;    // places tried for the move that changes the answer

struct Move {
  std::vector<std::int64_t> places;
  std::vector<std::vector<std::int64_t>> contents;  // two or more, of equal shares
};

// Shares of z_L's tokens at the queries of the last tokens, as linear hashes, computed when first asked for.
class Shares {
 public:
  Shares(const Target& target, const FullLayerView& view, const SeqCompLayout& layout, const Prompt& base,
         std::uint64_t seed)
      : view_(view),
        layout_(layout),
        base_(base),
        seed_(seed),
        values_(std::min(layout.domain(layout.levels() - 1), kValues)) {
    for (const auto& input : view.inputs(base, layout.start_position(), target.length()))
      queries_.push_back(view.query(input));
  }
  std::int64_t values() const { return values_; }
  const std::vector<std::uint64_t>& at(std::int64_t place) {
    auto& share = shares_[place];
    if (!share.empty()) return share;
    const std::int64_t position = layout_.table_position(layout_.levels()) + place;
    Prompt prompt = base_;
    for (std::int64_t v = 0; v < values_; ++v) {
      prompt.fields[0][static_cast<std::size_t>(position)] = v;
      const auto input = view_.inputs(prompt, position, position + 1);
      Random multiplier(seed_);
      std::uint64_t hash = 0;
      for (const auto& query : queries_)
        for (const auto number : view_.sums(input, query))
          hash += static_cast<std::uint64_t>(number) * (multiplier.next() | 1);
      share.push_back(hash);
    }
    return share;
  }

 private:
  const FullLayerView& view_;
  const SeqCompLayout& layout_;
  const Prompt& base_;
  std::uint64_t seed_;
  std::int64_t values_;
  std::vector<FullLayerView::Row> queries_;
  std::map<std::int64_t, std::vector<std::uint64_t>> shares_;
};

// Contents of these places with equal sums; `critical`: they must differ at the first place.
std::optional<Move> find_move(Shares& shares, const std::vector<std::int64_t>& places, bool critical,
                              Random& random) {
  if (places.size() == 1) {
    std::unordered_map<std::uint64_t, std::vector<std::int64_t>> classes;
    const auto& share = shares.at(places[0]);
    for (std::size_t v = 0; v < share.size(); ++v) classes[share[v]].push_back(static_cast<std::int64_t>(v));
    const auto largest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.size(), b.first) < std::pair(b.second.size(), a.first);
    });
    if (largest->second.size() < 2) return std::nullopt;
    Move move{places, {}};
    for (const auto v : largest->second) move.contents.push_back({v});
    return move;
  }
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> seen;
  for (std::int64_t i = 0; i < kContents; ++i) {
    std::vector<std::int64_t> content;
    std::uint64_t sum = 0;
    for (const auto place : places) {
      content.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shares.values()))));
      sum += shares.at(place)[static_cast<std::size_t>(content.back())];
    }
    const auto [at, fresh] = seen.try_emplace(sum, content);
    if (fresh || at->second == content || (critical && at->second[0] == content[0])) continue;
    return Move{places, {at->second, content}};
  }
  return std::nullopt;
}

class AdditiveSumsSearch {
 public:
  AdditiveSumsSearch(const Target& target, const SearchOptions& options)
      : target_(target),
        options_(options),
        view_(*FullLayerView::make(target)),
        layout_(*seqcomp_layout(*target.task)),
        random_(options.seed),
        base_(target.task->generate(Variant::uniform, options.seed, 0).prompt),
        shares_(target, view_, layout_, base_, options.seed) {
    outcome_ = {.method = "additive", .nominal_bits = target.nominal_bits};
    for (std::size_t i = static_cast<std::size_t>(view_.layer()) + 1; i < target.layers.size(); ++i)
      after_ += layer_state_bits(target.weights, target.layers[i].mixer, fmt::format("layers.{}.", i),
                                 layout_.start_position());
  }

  Result<AttackOutcome> run() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    const auto late = [&] { return elapsed() > options_.seconds || (options_.stop && options_.stop()); };
    find_moves(late);
    outcome_.seconds = elapsed();
    outcome_.details["moves"] = std::to_string(moves_.size());
    if (moves_.empty()) {
      outcome_.reason =
          "no entry that the answer reads can change without changing the sums at the last tokens";
      return outcome_;
    }
    std::int64_t places = 0, first = layout_.length();
    for (const auto& move : moves_)
      for (const auto place : move.places) {
        ++places;
        first = std::min(first, layout_.table_position(layout_.levels()) + place);
      }
    outcome_.details["places"] = std::to_string(places);
    const bool crossing = after_ > 0 && static_cast<double>(after_) <= kCrossingBits && bounded_after();
    outcome_.details["compared"] =
        crossing ? fmt::format("states that leave z_1, {} bits", after_) : "answer activations";
    const auto resumed = ResumedRun::make(*target_.machine, target_.task->fields(), base_, first);
    const auto queries = target_.task->query_positions();
    Birthday birthday;
    birthday.stage = "birthday among functions with equal sums";
    birthday.limit = members();
    birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
      const Prompt prompt = member(index);
      std::uint64_t key = 0;
      if (crossing) {
        for (const auto& layer : resumed->states(prompt, layout_.start_position()))
          key = hash_numbers(key, layer);
      } else if (resumed) {
        key = hash_numbers(0, resumed->last(prompt).activation);
      } else {
        RUNG_TRY(const auto readouts, target_.machine->forward(prompt, queries));
        key = hash_numbers(0, readouts[0].activation);
      }
      return std::vector<Ending>{{key, hash_numbers(0, target_.task->answer(prompt))}};
    };
    birthday.meet = [&](std::uint64_t one, std::uint64_t two) -> Result<std::optional<Certificate>> {
      RUNG_TRY(auto certificate, certify_fooling_pair(target_, member(one), member(two)));
      if (certificate) label_fooling_pair(target_, *certificate);
      return certificate;
    };
    birthday.expected_evaluations = std::exp2(std::min(62.0, static_cast<double>(after_) / 2));
    SearchOptions rest = options_;
    rest.seconds = options_.seconds - outcome_.seconds;
    RUNG_CHECK(search_birthday(birthday, rest, outcome_));
    outcome_.seconds = elapsed();
    return outcome_;
  }

 private:
  bool bounded_after() const {
    return std::all_of(target_.layers.begin() + view_.layer() + 1, target_.layers.end(),
                       [](const auto& layer) { return has_bounded_state(layer.mixer); });
  }

  // The first move decides what is asked: the argument at which z_L is read becomes its first place.
  template <class Late>
  void find_moves(const Late& late) {
    const std::int64_t levels = layout_.levels(), domain = layout_.domain(levels - 1);
    const std::int64_t lower = levels == 1 ? domain : layout_.domain(levels - 2);
    const std::int64_t block = levels == 1 ? 0
                                           : base_.token(layout_.branch_position(levels - 1)) *
                                                 lower;  // arguments that w_{L-1} allows
    std::int64_t next = domain - 1;  // places are used from the end: what stands before is computed once
    const auto take = [&](std::size_t count, std::int64_t place) {
      std::vector<std::int64_t> places;
      if (place >= 0) places.push_back(place);
      while (places.size() < count && next >= 0) {
        if (next != place) places.push_back(next);
        --next;
      }
      return places;
    };
    for (std::size_t group = 1; group <= kLargestGroup && moves_.empty(); ++group)
      for (std::int64_t i = 0; i < std::min(lower, kFirstPlaces) && moves_.empty() && !late(); ++i) {
        const std::int64_t place = block + lower - 1 - i, before = next;
        const auto places = take(group, place);
        if (places.size() < group) break;
        if (auto move = find_move(shares_, places, true, random_)) {
          moves_.push_back(std::move(*move));
          ask(place);
        }
        next = before;
      }
    if (moves_.empty()) return;
    const auto used = moves_.front().places;
    std::size_t group = 1;
    while (static_cast<std::int64_t>(moves_.size()) < kMoves && after_ > 0 && !late()) {
      std::vector<std::int64_t> places;
      while (places.size() < group && next >= 0) {
        if (std::find(used.begin(), used.end(), next) == used.end()) places.push_back(next);
        --next;
      }
      if (places.size() < group) break;
      if (auto move = find_move(shares_, places, false, random_)) {
        moves_.push_back(std::move(*move));
      } else if (group < kLargestGroup) {
        ++group;
      }
    }
  }

  // Lower functions and z_0 such that z_L is read at `argument`; w and z_0 stay, and so do the last tokens'
  // queries.
  void ask(std::int64_t argument) {
    const std::int64_t levels = layout_.levels();
    if (levels == 1) {
      base_.fields[0][static_cast<std::size_t>(layout_.start_position())] = argument;
      return;
    }
    std::int64_t at = base_.token(layout_.start_position());
    for (std::int64_t l = 1; l + 1 < levels; ++l)
      at = base_.token(layout_.branch_position(l)) * layout_.domain(l - 1) +
           base_.token(layout_.table_position(l) + at);
    base_.fields[0][static_cast<std::size_t>(layout_.table_position(levels - 1) + at)] =
        argument % layout_.domain(levels - 2);
  }

  std::uint64_t members() const {
    std::uint64_t count = 1;
    for (const auto& move : moves_) {
      count *= move.contents.size();
      if (count > std::uint64_t{1} << kMoves) return std::uint64_t{1} << 62;
    }
    return count;
  }
  Prompt member(std::uint64_t index) const {
    Prompt prompt = base_;
    // All of few, in order; of many, numbers that look random.
    std::uint64_t rest = members() > std::uint64_t{1} << 40 ? Random(options_.seed, index).next() : index;
    for (const auto& move : moves_) {
      const auto& content = move.contents[rest % move.contents.size()];
      rest /= move.contents.size();
      for (std::size_t i = 0; i < content.size(); ++i)
        prompt
            .fields[0][static_cast<std::size_t>(layout_.table_position(layout_.levels()) + move.places[i])] =
            content[i];
    }
    return prompt;
  }

  const Target& target_;
  const SearchOptions& options_;
  const FullLayerView view_;
  const SeqCompLayout layout_;
  Random random_;
  Prompt base_;
  Shares shares_;
  std::vector<Move> moves_;
  std::int64_t after_ = 0;
  AttackOutcome outcome_;
};

Fitness additive_sums_fitness(const Target& target) {
  const auto layout = seqcomp_layout(*target.task);
  if (!layout || layout->order() != SeqCompLayout::Order::hard)
    return {false, "SeqComp in the hard order alone", 0};
  const auto view = FullLayerView::make(target);
  if (!view || !view->first())
    return {false, "the first layer that mixes tokens is not a whole full layer", 0};
  if (target.weights.decode.steps > 0) return {false, "chain of thought", 0};
  const auto& d = target.weights.architecture.dimensions;
  const double activation =
      static_cast<double>(d.width * stored_number(target.weights, "stream.bits", d.precision.bits));
  return {true, fmt::format("a first full layer, then {} state bits", target.nominal_bits),
          std::min(activation, static_cast<double>(target.nominal_bits)) / 2 + 18};
}

Result<AttackOutcome> run_additive_sums(const Target& target, const SearchOptions& options) {
  return AdditiveSumsSearch(target, options).run();
}

}  // namespace

AttackMethod additive_sums_method() {
  return {"additive", "functions z_L with equal sums in a first full layer", &additive_sums_fitness,
          &run_additive_sums};
}

}  // namespace rung
