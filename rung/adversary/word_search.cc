// Every word up to a length, for models whose memory grows: full attention, position codes, a context.
//
// Invariant: `level` holds one word for every memory that words of the current length leave, with the
// state of the task. Two words of one length with equal memories and equal task states have the same
// answers for every common ending, so one of them is followed. The memory of a full layer counts as the
// multiset of its tokens: its sums are exact, so their order does not matter. Of a finite model, run in
// floats, memories are the same at every length: one that was seen before is not followed again, and the
// search can come to an end.
#include <algorithm>
#include <set>

#include "rung/adversary/product_search.h"
#include "rung/adversary/search_clock.h"
#include "rung/base/parallel.h"

namespace rung {
namespace {

constexpr std::int64_t kWordsAtOnce = 4096;

struct FollowedWord {
  std::uint32_t parent = 0;  // of all words followed; 0 is the empty one
  std::int32_t letter = -1;
  std::int64_t state = 0;  // of the task
};

class WordSearch {
 public:
  WordSearch(const Target& target, const ProductTask& task, const SearchOptions& options, std::int64_t depth,
             bool finite)
      : target_(target), task_(task), options_(options), clock_(options), depth_(depth), finite_(finite) {}

  Result<ProductOutcome> run() {
    words_.push_back({0, -1, task_.start});
    std::vector<std::uint32_t> level{0};
    ProductOutcome outcome;
    outcome.states = 1;
    outcome.reason = "the depth asked for is reached";
    std::set<std::vector<std::int64_t>> seen;
    std::uint64_t bytes = 0;
    if (finite_) {  // the memory after ^ is a node as any other
      RUNG_TRY(auto first, begun());
      auto memory = memory_of(*first);
      memory.push_back(task_.start);
      seen.insert(std::move(memory));
    }
    for (std::int64_t length = 0; length < depth_; ++length) {
      std::vector<std::uint32_t> next;
      if (!finite_) seen.clear(), bytes = 0;
      for (std::size_t begin = 0; begin < level.size(); begin += kWordsAtOnce) {
        const std::size_t count = std::min<std::size_t>(kWordsAtOnce, level.size() - begin);
        std::vector<Result<std::vector<Edge>>> edges(count, std::vector<Edge>{});
        parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t from, std::int64_t to) {
          for (std::int64_t i = from; i < to; ++i)
            edges[static_cast<std::size_t>(i)] = expand(level[begin + static_cast<std::size_t>(i)]);
        });
        for (std::size_t i = 0; i < count; ++i) {
          if (!edges[i]) return edges[i].error();
          for (std::size_t l = 0; l < edges[i]->size(); ++l) {
            auto& edge = (*edges[i])[l];
            const std::uint32_t from = level[begin + i];
            const std::int64_t state = task_.after(words_[from].state, static_cast<std::int64_t>(l));
            const std::int64_t expected = task_.answers[static_cast<std::size_t>(state)];
            ++outcome.edges;
            if (edge.answer != expected) {
              outcome.verdict = ProductVerdict::refuted;
              outcome.word = letters_of(from);
              outcome.word.push_back(static_cast<std::int64_t>(l));
              outcome.answer = edge.answer;
              outcome.expected = expected;
              outcome.reason = "the word is answered wrongly, and every shorter word rightly";
              outcome.depth = length + 1;
              return finish(std::move(outcome));
            }
            if (!finite_ && length + 1 == depth_) continue;
            edge.memory.push_back(state);
            const std::uint64_t size = edge.memory.size() * sizeof(std::int64_t) + kPerWord;
            if (!seen.insert(std::move(edge.memory)).second) continue;
            bytes += size;
            next.push_back(static_cast<std::uint32_t>(words_.size()));
            words_.push_back({from, static_cast<std::int32_t>(l), state});
            ++outcome.states;
          }
        }
        outcome.memory_bytes = std::max(outcome.memory_bytes, bytes + words_.size() * sizeof(FollowedWord));
        const bool full = outcome.memory_bytes > options_.memory_bytes;
        if (full || clock_.over()) {
          outcome.reason = full ? "the memory allowed is full" : "the budget ended";
          outcome.depth = length;
          return finish(std::move(outcome));
        }
        clock_.report({outcome.edges,
                       {},
                       outcome.memory_bytes,
                       fmt::format("words of {} letters, {} followed", length + 1, next.size())});
      }
      level = std::move(next);
      if (finite_ && level.empty()) {
        outcome.verdict = ProductVerdict::proved;
        outcome.reason = "every reachable state was expanded, and every answer is right";
        outcome.depth = length;
        return finish(std::move(outcome));
      }
    }
    outcome.depth = depth_;
    return finish(std::move(outcome));
  }

 private:
  static constexpr std::uint64_t kPerWord = 128;  // bytes of a set's node, about

  struct Edge {
    std::int64_t answer = 0;
    std::vector<std::int64_t> memory;
  };

  ProductOutcome finish(ProductOutcome outcome) const {
    outcome.seconds = clock_.seconds();
    return outcome;
  }
  std::vector<std::int64_t> letters_of(std::uint32_t word) const {
    std::vector<std::int64_t> letters;
    for (; words_[word].letter >= 0; word = words_[word].parent) letters.push_back(words_[word].letter);
    std::reverse(letters.begin(), letters.end());
    return letters;
  }
  // Before the first letter.
  Result<std::unique_ptr<Session>> begun() const {
    RUNG_TRY(auto session, target_.machine->start());
    if (task_.begin) {
      RUNG_TRY([[maybe_unused]] const auto none, session->append(*task_.begin, false));
    }
    return session;
  }
  // Every letter behind the word: a session cannot be copied, so each runs the whole word.
  Result<std::vector<Edge>> expand(std::uint32_t word) const {
    const auto letters = letters_of(word);
    std::vector<Edge> edges;
    for (const auto& row : task_.letters) {
      RUNG_TRY(auto session, begun());
      const auto append = [&](const std::vector<std::int64_t>& tokens,
                              bool wanted) -> Result<std::optional<Readout>> {
        return session->append(tokens, wanted);
      };
      for (const auto letter : letters) {
        RUNG_TRY([[maybe_unused]] const auto none,
                 append(task_.letters[static_cast<std::size_t>(letter)], false));
      }
      RUNG_TRY(const auto readout, append(row, true));
      edges.push_back({readout->answer.front(), memory_of(*session)});
    }
    return edges;
  }
  std::vector<std::int64_t> memory_of(const Session& session) const {
    std::vector<std::int64_t> all;
    const auto layers = session.state();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const MixerShape& m = target_.layers[i].mixer;
      std::vector<std::int64_t> numbers = layers[i];
      if (m.kind == MixerKind::full && !m.window && !m.chunk && m.conv == 0) sort_tokens(m, numbers);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
  }
  // Head by head: the sums of a head do not see in which order its tokens came.
  static void sort_tokens(const MixerShape& m, std::vector<std::int64_t>& numbers) {
    const auto row = static_cast<std::size_t>(m.key_dim + m.value_dim);
    const std::size_t head = numbers.size() / static_cast<std::size_t>(m.kv_heads);
    for (std::size_t h = 0; h < static_cast<std::size_t>(m.kv_heads); ++h) {
      std::vector<std::vector<std::int64_t>> tokens;
      for (std::size_t at = h * head; at < (h + 1) * head; at += row)
        tokens.emplace_back(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                            numbers.begin() + static_cast<std::ptrdiff_t>(at + row));
      std::sort(tokens.begin(), tokens.end());
      auto to = numbers.begin() + static_cast<std::ptrdiff_t>(h * head);
      for (const auto& token : tokens) to = std::copy(token.begin(), token.end(), to);
    }
  }

  const Target& target_;
  const ProductTask& task_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::int64_t depth_;
  bool finite_;
  std::vector<FollowedWord> words_;
};

}  // namespace

Result<ProductOutcome> search_words(const Target& target, const ProductTask& task,
                                    const SearchOptions& options, std::int64_t depth) {
  return WordSearch(target, task, options, depth, false).run();
}

Result<ProductOutcome> search_float_product(const Target& target, const ProductTask& task,
                                            const SearchOptions& options,
                                            std::optional<std::int64_t> most_depth) {
  return WordSearch(target, task, options, most_depth.value_or(kMostFloatLetters), true).run();
}

}  // namespace rung
