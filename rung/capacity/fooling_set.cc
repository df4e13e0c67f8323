// Claim: `separated` prefixes are pairwise told apart. They are drawn at random, answered on the same
// continuations (compared by token, since the numbering of choices may depend on the prefix), and counted by
// different answers among those with the same set of legal continuations; two such rows differ at a
// continuation that both allow.
#include "rung/capacity/fooling_set.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rung/base/parallel.h"
#include "rung/capacity/prefix_tree.h"
#include "rung/capacity/row_table.h"
#include "rung/ranks/task_queue.h"

namespace rung {
namespace {

struct SuffixStep {
  std::int64_t choice = 0;
  std::vector<std::int64_t> token;  // one position's numbers over all fields
};
using Suffix = std::vector<SuffixStep>;

// Walks on the tree of prompts, with the sizes of a position at hand.
class Walker {
 public:
  explicit Walker(const Task& task) : task_(task), length_(task.prompt_length()) {
    for (const FieldSpec& field : task.fields())
      field_length_.push_back(static_cast<std::size_t>(field.length));
  }

  // Extends at random up to `length` tokens; false where a position cannot be enumerated.
  bool extend_at_random(Prompt& prefix, std::int64_t length, Random& random, Suffix* steps = nullptr) const {
    while (prefix.positions < length) {
      const std::int64_t choices = task_.choices(prefix);
      if (choices < 1) return false;
      const auto choice = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(choices)));
      task_.extend(prefix, choice);
      if (steps) steps->push_back({choice, last_token(prefix)});
    }
    return true;
  }

  // All continuations of `prefix`, while there are at most `limit`; false once there are more.
  bool all_suffixes(Prompt& prefix, Suffix& steps, std::size_t limit, std::vector<Suffix>& found) const {
    if (prefix.positions == length_) {
      if (found.size() == limit) return false;
      found.push_back(steps);
      return true;
    }
    for (std::int64_t choice = 0, choices = task_.choices(prefix); choice < choices; ++choice) {
      task_.extend(prefix, choice);
      steps.push_back({choice, last_token(prefix)});
      const bool room = all_suffixes(prefix, steps, limit, found);
      steps.pop_back();
      retract_to(prefix, prefix.positions - 1);
      if (!room) return false;
    }
    return true;
  }

  // Follows the suffix token by token; false where it is not legal after this prefix. The place of the token
  // among the choices is nearly always the recorded one; a shifted numbering is searched nearby. A token
  // missed further away costs a column of the row, never the certainty of the bound.
  bool follow(Prompt& prefix, const Suffix& suffix) const {
    for (const SuffixStep& step : suffix) {
      const std::int64_t choices = task_.choices(prefix);
      bool found = take(prefix, step, step.choice, choices);
      for (std::int64_t shift = 1; shift <= kNearby && !found; ++shift)
        found = take(prefix, step, step.choice - shift, choices) ||
                take(prefix, step, step.choice + shift, choices);
      if (!found) return false;
    }
    return true;
  }

  void retract_to(Prompt& prefix, std::int64_t positions) const {
    for (std::size_t f = 0; f < prefix.fields.size(); ++f)
      prefix.fields[f].resize(static_cast<std::size_t>(positions) * field_length_[f]);
    prefix.positions = positions;
  }

 private:
  static constexpr std::int64_t kNearby = 16;

  bool take(Prompt& prefix, const SuffixStep& step, std::int64_t choice, std::int64_t choices) const {
    if (choice < 0 || choice >= choices) return false;
    task_.extend(prefix, choice);
    const std::int64_t* expected = step.token.data();
    for (std::size_t f = 0; f < prefix.fields.size(); expected += field_length_[f++])
      if (!std::equal(expected, expected + field_length_[f],
                      prefix.fields[f].data() + prefix.fields[f].size() - field_length_[f])) {
        retract_to(prefix, prefix.positions - 1);
        return false;
      }
    return true;
  }

  std::vector<std::int64_t> last_token(const Prompt& prefix) const {
    std::vector<std::int64_t> token;
    for (std::size_t f = 0; f < prefix.fields.size(); ++f)
      token.insert(token.end(), prefix.fields[f].end() - static_cast<std::ptrdiff_t>(field_length_[f]),
                   prefix.fields[f].end());
    return token;
  }

  const Task& task_;
  std::int64_t length_;
  std::vector<std::size_t> field_length_;
};

// The continuations to try: all of those of one random prefix, or else random ones, each from a prefix of its
// own. Empty where a position cannot be enumerated.
std::vector<Suffix> choose_suffixes(const Task& task, const Walker& walker, const FoolingSample& sample) {
  std::vector<Suffix> suffixes;
  Random random(sample.seed, 0);
  Prompt prefix = task.empty_prompt();
  if (!walker.extend_at_random(prefix, sample.cut, random)) return {};
  Suffix steps;
  if (task.prompt_length() - sample.cut <= kLongestTree &&
      walker.all_suffixes(prefix, steps, static_cast<std::size_t>(sample.suffixes), suffixes))
    return suffixes;
  suffixes.clear();
  for (std::int64_t i = 0; i < sample.suffixes; ++i) {
    Random stream(sample.seed, static_cast<std::uint64_t>(i));
    Prompt start = task.empty_prompt();
    Suffix drawn;
    if (!walker.extend_at_random(start, sample.cut, stream) ||
        !walker.extend_at_random(start, task.prompt_length(), stream, &drawn))
      return {};
    suffixes.push_back(std::move(drawn));
  }
  return suffixes;
}

constexpr std::int64_t kFoolingSetPieces = 256;  // that the prefixes are handed out in, at most

std::vector<std::string> rows_between(std::int64_t first, std::int64_t last,
                                      const std::function<std::string(std::int64_t)>& row_of) {
  std::vector<std::string> rows(static_cast<std::size_t>(last - first));
  parallel_for(last - first, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) rows[static_cast<std::size_t>(i)] = row_of(first + i);
  });
  return rows;
}

// A item is "first last", its result the rows, each behind its length.
void answer_pieces(QueueWorker& worker, const std::function<std::string(std::int64_t)>& row_of) {
  while (const auto item = worker.draw()) {
    char* end = nullptr;
    const std::int64_t first = std::strtoll(item->order.c_str(), &end, 10),
                       last = std::strtoll(end, nullptr, 10);
    std::string text;
    for (const std::string& row : rows_between(first, last, row_of)) {
      std::vector<std::uint8_t> length;
      append_varint(length, row.size());
      text.append(length.begin(), length.end());
      text += row;
    }
    worker.hand_in(*item, std::move(text));
  }
}

// The rows of all prefixes, in any order; none on a rank that does not lead.
std::vector<std::string> all_rows(const FoolingSample& sample, std::int64_t count,
                                  const std::function<std::string(std::int64_t)>& row_of) {
  if (!sample.ranks || sample.ranks->alone()) return rows_between(0, count, row_of);
  const std::string name = fmt::format("rows at cut {}", sample.cut);
  QueueWorker worker(*sample.ranks, name);
  if (!sample.ranks->leads()) {
    answer_pieces(worker, row_of);
    return {};
  }
  TaskQueue queue(*sample.ranks, name);
  const std::int64_t items = std::min(count, kFoolingSetPieces);
  for (std::int64_t i = 0; i < items; ++i)
    queue.post(fmt::format("{} {}", count * i / items, count * (i + 1) / items));
  std::jthread own([&] { answer_pieces(worker, row_of); });
  std::vector<std::string> rows;
  while (queue.open() > 0)
    if (const auto event = queue.collect(0.2)) {
      const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(event->text.data()),
                                                event->text.size());
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = read_varint(bytes, at);
        rows.push_back(event->text.substr(at, length));
        at += length;
      }
    }
  queue.close();
  return rows;
}

}  // namespace

Result<FoolingSet> find_fooling_set(const Task& task, const FoolingSample& sample) {
  RUNG_REQUIRE(
      sample.cut >= 0 && sample.cut <= task.prompt_length() && sample.prefixes >= 1 && sample.suffixes >= 1,
      "cut={} prefixes={} suffixes={}", sample.cut, sample.prefixes, sample.suffixes);
  const auto endless = [&] {
    return fail(ErrorCode::unsupported, "[capacity] the prompts of {} cannot be enumerated", task.name());
  };
  const Walker walker(task);
  const std::vector<Suffix> suffixes = choose_suffixes(task, walker, sample);
  if (suffixes.empty()) return endless();
  FoolingSet best{
      .separated = 1, .prefixes = sample.prefixes, .suffixes = static_cast<std::int64_t>(suffixes.size())};
  best.prefixes = std::clamp<std::int64_t>(sample.answers / best.suffixes, 1, sample.prefixes);

  const auto queries = task.query_positions();
  const auto first = static_cast<std::size_t>(std::lower_bound(queries.begin(), queries.end(), sample.cut) -
                                              queries.begin());
  const AnswerSpec spec = task.answer_spec();
  const std::size_t group = spec.kind == AnswerSpec::Kind::vector ? static_cast<std::size_t>(spec.size) : 1;
  // Which suffixes are legal after prefix number i, then answers; empty where a position cannot be
  // enumerated.
  const auto row_of = [&](std::int64_t i) -> std::string {
    Random random(sample.seed, static_cast<std::uint64_t>(sample.suffixes + i));
    Prompt prefix = task.empty_prompt();
    if (!walker.extend_at_random(prefix, sample.cut, random)) return {};
    std::string legal;
    std::vector<std::uint8_t> answers;
    for (const Suffix& suffix : suffixes) {
      const bool followed = walker.follow(prefix, suffix);
      legal += followed ? '1' : '0';
      if (followed) {
        const auto answer = task.answer(prefix);
        for (std::size_t a = first * group; a < answer.size(); ++a) append_varint(answers, zigzag(answer[a]));
      }
      walker.retract_to(prefix, sample.cut);
    }
    return legal + std::string(answers.begin(), answers.end());
  };
  std::vector<std::string> rows = all_rows(sample, best.prefixes, row_of);
  if (sample.ranks && !sample.ranks->leads()) return FoolingSet{};
  if (std::find(rows.begin(), rows.end(), std::string()) != rows.end()) return endless();

  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::int64_t run = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool same = i > 0 && rows[i].compare(0, suffixes.size(), rows[i - 1], 0, suffixes.size()) == 0;
    run = same ? run + 1 : 1;
    best.separated = std::max(best.separated, run);
  }
  return best;
}

}  // namespace rung
