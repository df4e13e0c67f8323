// Uniform instances of eva, index, mqar (also with gaps), two-sum, seqcomp (in both orders), khop, automaton tasks, copy,
// selective-copy and tracked-recall, and those of eva and index in their other variants but the adversarial one, number by
// number as Task::generate draws them: the same source runs on the host, where a test compares it with the tasks bit for
// bit, and on a device, one thread an instance. SplitMix64 and Lemire's rejection as in rung/base/random.h.
//
// Behind an instance of eva, index, two-sum or seqcomp may stand further questions about the same tables,
// drawn from a stream of their own; behind one of eva, index or seqcomp its chain of thought. Instances of eva, index and
// seqcomp may be drawn from a part of what the task draws from, their support; with the whole of it they are the task's
// own.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"
#include "rung/learn/kernels/recall_draw.h"
#include "rung/learn/kernels/tracking_draw.h"

namespace rung::kernels {

class InstanceRandom {
 public:
  RUNG_HOST_DEVICE InstanceRandom(std::uint64_t seed, std::uint64_t stream)
      : counter_(mix(mix(seed + kGamma) + stream * kGamma)) {}
  RUNG_HOST_DEVICE std::uint64_t next() { return mix(counter_ += kGamma); }
  // Uniform on [0, bound). REQUIRES bound >= 1.
  RUNG_HOST_DEVICE std::uint64_t below(std::uint64_t bound) {
    std::uint64_t drawn = next(), low = drawn * bound;
    if (low < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        drawn = next();
        low = drawn * bound;
      }
    }
    return high_product(drawn, bound);
  }
  RUNG_HOST_DEVICE bool coin() { return next() >> 63; }

 private:
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  RUNG_HOST_DEVICE static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  RUNG_HOST_DEVICE static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
  }
  std::uint64_t counter_;
};

enum class InstanceKind {
  evaluation,
  mqar,
  gapped_mqar,
  two_sum,
  seqcomp,
  seqcomp_easy,
  khop,
  automaton,
  copy,
  tracked_recall
};
// How eva and index draw; every other kind is uniform.
enum class InstanceVariant { uniform, permutation, zipf };
inline constexpr int kMaxInstanceLevels = 8;

// A task's sizes under the tasks' own names; those that a kind does not name are unused.
struct InstanceTask {
  InstanceKind kind = InstanceKind::evaluation;
  std::int64_t n = 1;        // every kind but seqcomp
  std::int64_t sigma = 1;    // evaluation (eva: n), mqar, tracked_recall: values; copy, khop: symbols
  std::int64_t keys = 1;     // mqar: M
  std::int64_t queries = 1;  // mqar; with gaps the places where a question may stand
  std::int64_t modulus = 1;  // two_sum: M
  std::int64_t levels = 1;   // seqcomp: L <= kMaxInstanceLevels
  std::int64_t domain[kMaxInstanceLevels] = {};  // seqcomp: N_0 … N_{L-1}
  std::int64_t questions = 0;                    // behind the instance's own, of the first kinds but mqar
  bool parts = false;                            // seqcomp: questions ask for parts of the chain in turn
  InstanceAutomaton automaton = {};
  std::int64_t places = 0;                             // copy: m
  bool selective = false;                              // copy
  InstanceMark mark = {};                              // tracked_recall
  InstanceVariant variant = InstanceVariant::uniform;  // evaluation
  std::int64_t hops = 1;                               // khop: k
  bool everywhere = false;                             // khop: an answer at every place
  bool different = false;                              // khop: no symbol beside itself; sigma >= 2
  const std::uint64_t* gap_weights = nullptr;  // gapped_mqar: [queries], where the instances are drawn
  bool thoughts =
      false;  // evaluation, seqcomp: the chain of thought behind the prompt, without further questions
  // Positions from one question to the next: more than its tokens, and its last one is repeated; 0: its tokens.
  std::int64_t spacing = 0;
};

// What starts, choices and entries are drawn from: the first so many of each. Entries of a table that no question of the
// support asks for repeat those that one does, by its choices and values modulo the support's: a model need not learn to look
// away from them, which it would have to unlearn when they are asked for.
struct InstanceSupport {
  std::int64_t size[kMaxInstanceLevels] = {};  // evaluation: of n, sigma; seqcomp: of m, n_1 … n_{L-1}
};
RUNG_HOST_DEVICE inline InstanceSupport whole_support(const InstanceTask& task) {
  InstanceSupport whole;
  if (task.kind == InstanceKind::evaluation) whole.size[0] = task.n, whole.size[1] = task.sigma;
  if (task.kind == InstanceKind::seqcomp)
    for (std::int64_t l = 0; l < task.levels; ++l)
      whole.size[l] = l == 0 ? task.domain[0] : task.domain[l] / task.domain[l - 1];
  return whole;
}
// seqcomp: N'_l, the values of z_{l+1} that are drawn.
RUNG_HOST_DEVICE inline std::int64_t support_domain(const InstanceSupport& support, std::int64_t l) {
  std::int64_t domain = support.size[0];
  for (std::int64_t k = 1; k <= l; ++k) domain *= support.size[k];
  return domain;
}

// Kinds that may be asked again of the same tables.
RUNG_HOST_DEVICE inline bool asks_again(InstanceKind kind) {
  return kind == InstanceKind::evaluation || kind == InstanceKind::two_sum || kind == InstanceKind::seqcomp;
}

// The kinds of question, number 0 being the task's own. seqcomp in parts: levels a to b for all a <= b.
RUNG_HOST_DEVICE inline std::int64_t question_kinds(const InstanceTask& task) {
  return task.parts ? task.levels * (task.levels + 1) / 2 : 1;
}

// Tokens of the tables, and of one question about them.
RUNG_HOST_DEVICE inline std::int64_t table_length(const InstanceTask& task) {
  if (task.kind == InstanceKind::mqar) return 2 * task.n;
  if (task.kind != InstanceKind::seqcomp && task.kind != InstanceKind::seqcomp_easy) return task.n;
  std::int64_t length = 0;
  for (std::int64_t l = 0; l < task.levels; ++l) length += task.domain[l];
  return length;
}
RUNG_HOST_DEVICE inline std::int64_t question_length(const InstanceTask& task) {
  return task.kind == InstanceKind::seqcomp || task.kind == InstanceKind::seqcomp_easy ? task.levels + 1 : 1;
}
// Tokens of the chain of thought, the answer included.
RUNG_HOST_DEVICE inline std::int64_t thought_length(const InstanceTask& task) {
  return task.kind == InstanceKind::seqcomp ? task.levels + 1 : 1;
}
RUNG_HOST_DEVICE inline std::int64_t question_spacing(const InstanceTask& task) {
  return task.spacing > 0 ? task.spacing : question_length(task);
}
// Tokens of a prompt with what follows it, and answers of an instance.
RUNG_HOST_DEVICE inline std::int64_t instance_length(const InstanceTask& task) {
  if (task.kind == InstanceKind::automaton) return 1 + task.n;
  if (task.kind == InstanceKind::copy) return task.places + task.n;
  if (task.kind == InstanceKind::tracked_recall) return task.n + task.mark.word + 1;
  if (task.kind == InstanceKind::mqar) return table_length(task) + task.queries;
  if (task.kind == InstanceKind::gapped_mqar) return 2 * (task.n + task.queries);
  if (task.kind == InstanceKind::khop) return task.n;
  if (task.thoughts) return table_length(task) + question_length(task) + thought_length(task) - 1;
  return table_length(task) + question_length(task) + task.questions * question_spacing(task);
}
RUNG_HOST_DEVICE inline std::int64_t instance_answers(const InstanceTask& task) {
  if (task.kind == InstanceKind::copy || (task.kind == InstanceKind::automaton && task.automaton.everywhere))
    return task.n;
  if (task.kind == InstanceKind::gapped_mqar) return task.n;
  if (task.kind == InstanceKind::khop) return task.everywhere ? task.n : 1;
  if (task.thoughts) return thought_length(task);
  return task.kind == InstanceKind::mqar ? task.queries : 1 + task.questions;
}
// Fields of a prompt. The tokens of an instance are those of its fields, one after the other.
RUNG_HOST_DEVICE inline std::int64_t instance_fields(const InstanceTask& task) {
  return task.kind == InstanceKind::tracked_recall ? kMarkFields : 1;
}
RUNG_HOST_DEVICE inline std::int64_t instance_tokens(const InstanceTask& task) {
  return instance_fields(task) * instance_length(task);
}
// int32 numbers of scratch that one instance needs: values of which many are wanted are the head of a shuffled list, and
// the steps of khop are kept.
RUNG_HOST_DEVICE inline std::int64_t instance_scratch(const InstanceTask& task) {
  switch (task.kind) {
    case InstanceKind::copy:
      return task.selective && marks_by_shuffle(task.n, task.places) ? task.places : 0;
    case InstanceKind::mqar:
      return task.keys >= task.n ? distinct_scratch(task.n, task.keys) : 0;
    case InstanceKind::gapped_mqar: {
      const std::int64_t keys = distinct_scratch(task.n, task.keys),
                         values = distinct_scratch(task.n, task.sigma);
      return keys > values ? keys : values;
    }
    case InstanceKind::evaluation:
      return task.variant == InstanceVariant::permutation ? distinct_scratch(task.n, task.sigma) : 0;
    case InstanceKind::khop:
      return task.n;
    case InstanceKind::two_sum:
    case InstanceKind::seqcomp:
    case InstanceKind::seqcomp_easy:
    case InstanceKind::automaton:
    case InstanceKind::tracked_recall:
      return 0;
  }
  return 0;
}

// A value of [0, bound) as the variant draws it.
RUNG_HOST_DEVICE inline std::int32_t draw_value(const InstanceTask& task, InstanceRandom& random,
                                                std::int64_t bound) {
  return static_cast<std::int32_t>(task.variant == InstanceVariant::zipf ? draw_zipf(random, bound)
                                                                         : random.below(bound));
}

RUNG_HOST_DEVICE inline void draw_evaluation(const InstanceTask& task, const InstanceSupport& support,
                                             InstanceRandom& random, std::int32_t* tokens,
                                             std::int64_t* answers, std::int32_t* scratch) {
  if (task.variant == InstanceVariant::permutation)
    draw_distinct(random, task.n, task.sigma, 0, tokens, 1, scratch);
  else
    for (std::int64_t i = 0; i < task.n; ++i) {
      tokens[i] = draw_value(task, random, support.size[1]);
      tokens[i] = tokens[i % support.size[0]];
    }
  tokens[task.n] = draw_value(task, random, support.size[0]);
  answers[0] = tokens[tokens[task.n]];
}

RUNG_HOST_DEVICE inline void draw_mqar(const InstanceTask& task, InstanceRandom& random, std::int32_t* tokens,
                                       std::int64_t* answers, std::int32_t* scratch) {
  const auto sigma = static_cast<std::int32_t>(task.sigma);
  const bool different = task.keys >= task.n;
  if (different)
    draw_distinct(random, task.n, task.keys, sigma, tokens, 2, scratch);
  else
    for (std::int64_t i = 0; i < task.n; ++i)
      tokens[2 * i] = sigma + static_cast<std::int32_t>(random.below(task.keys));
  for (std::int64_t i = 0; i < task.n; ++i)
    tokens[2 * i + 1] = static_cast<std::int32_t>(random.below(task.sigma));
  for (std::int64_t i = 0; i < task.queries; ++i) {
    std::int64_t pair = static_cast<std::int64_t>(random.below(task.n));
    const std::int32_t key = tokens[2 * pair];
    tokens[2 * task.n + i] = key;
    if (!different)  // the last one wins
      for (pair = task.n - 1; tokens[2 * pair] != key;) --pair;
    answers[i] = tokens[2 * pair + 1];
  }
}

RUNG_HOST_DEVICE inline void draw_two_sum(const InstanceTask& task, InstanceRandom& random,
                                          std::int32_t* tokens, std::int64_t* answers) {
  const bool yes = task.modulus == 1 || random.coin();
  const std::int64_t last = static_cast<std::int64_t>(random.below(task.modulus));
  const std::int64_t match = last == 0 ? 0 : task.modulus - last;
  const std::uint64_t place = random.below(task.n);
  tokens[task.n] = static_cast<std::int32_t>(last);
  for (std::int64_t j = 0; j < task.n; ++j) {
    std::int64_t x = static_cast<std::int64_t>(random.below(task.modulus));
    while (!yes && x == match) x = static_cast<std::int64_t>(random.below(task.modulus));
    tokens[j] = static_cast<std::int32_t>(x);
  }
  if (yes) tokens[place] = static_cast<std::int32_t>(match);
  answers[0] = yes ? 1 : 0;
}

// Where the values between, i_1 … i_{L-1}, of a question go: i_l to to[(l - 1) * stride], -1 where the question
// does not pass it. Null: nowhere.
struct BetweenValues {
  std::int64_t* to = nullptr;
  std::int64_t stride = 0;
};

// A start and its choices, and the end token, which says the kind; the tables stand in front of tokens.
// i_0 = z_0, i_l = z_l(w_{l-1} N_{l-2} + i_{l-1}). Kind 0 asks for i_L; a part, levels a to b, gives i_{a-1}
// in the place of the start and asks for i_b.
RUNG_HOST_DEVICE inline std::int64_t draw_composition(const InstanceTask& task,
                                                      const InstanceSupport& support, InstanceRandom& random,
                                                      const std::int32_t* tables, std::int64_t kind,
                                                      std::int32_t* question, BetweenValues between) {
  std::int64_t first = 1, last = task.levels;
  for (std::int64_t other = kind; other > 0; --other) {  // in the order (1,1) … (1,L-1), (2,2) … (L,L)
    if (other == kind)
      last = 1;
    else if (++last == task.levels + 1 || (first == 1 && last == task.levels))
      last = ++first;
  }
  question[0] = static_cast<std::int32_t>(random.below(support_domain(support, first == 1 ? 0 : first - 2)));
  for (std::int64_t l = 1; l < task.levels; ++l)
    question[l] = static_cast<std::int32_t>(random.below(support.size[l]));
  question[task.levels] = static_cast<std::int32_t>(task.domain[task.levels - 1] + kind);
  for (std::int64_t l = 1; between.to && l < task.levels; ++l) between.to[(l - 1) * between.stride] = -1;
  std::int64_t table = table_length(task), value = question[0];
  for (std::int64_t l = 1; l <= last; ++l) {
    table -= task.domain[l - 1];
    if (l < first) continue;
    const std::int64_t argument = l == 1 ? value : question[l - 1] * task.domain[l - 2] + value;
    value = tables[table + argument];
    if (between.to && l < task.levels) between.to[(l - 1) * between.stride] = value;
  }
  return value;
}

// The entry of z_l that entry j repeats, j itself where a question can ask for it.
RUNG_HOST_DEVICE inline std::int64_t repeated_entry(const InstanceTask& task, const InstanceSupport& support,
                                                    std::int64_t l, std::int64_t j) {
  if (l == 1) return j % support.size[0];
  const std::int64_t values = task.domain[l - 2];
  return j / values % support.size[l - 1] * values + j % values % support_domain(support, l - 2);
}

RUNG_HOST_DEVICE inline void draw_seqcomp(const InstanceTask& task, const InstanceSupport& support,
                                          InstanceRandom& random, std::int32_t* tokens, std::int64_t* answers,
                                          BetweenValues between) {
  std::int64_t at = 0;
  for (std::int64_t l = task.levels; l >= 1; --l) {
    const std::int64_t values = support_domain(support, l - 1);
    std::int32_t* table = tokens + at;
    for (std::int64_t j = 0; j < task.domain[l - 1]; ++j, ++at) {
      table[j] = static_cast<std::int32_t>(random.below(values));
      table[j] = table[repeated_entry(task, support, l, j)];
    }
  }
  answers[0] = draw_composition(task, support, random, tokens, 0, tokens + at, between);
}

// Easy order: w_1 … w_{L-1}, z_0, the values of z_1 … z_L, =; drawn in the order of the hard one.
RUNG_HOST_DEVICE inline void draw_seqcomp_easy(const InstanceTask& task, InstanceRandom& random,
                                               std::int32_t* tokens, std::int64_t* answers) {
  const std::int64_t levels = task.levels, length = instance_length(task);
  std::int64_t at = length - 1;
  for (std::int64_t l = levels; l >= 1; --l) {
    at -= task.domain[l - 1];
    for (std::int64_t j = 0; j < task.domain[l - 1]; ++j)
      tokens[at + j] = static_cast<std::int32_t>(random.below(task.domain[l - 1]));
  }
  tokens[levels - 1] = static_cast<std::int32_t>(random.below(task.domain[0]));
  for (std::int64_t l = 1; l < levels; ++l)
    tokens[l - 1] = static_cast<std::int32_t>(random.below(task.domain[l] / task.domain[l - 1]));
  tokens[length - 1] = static_cast<std::int32_t>(task.domain[levels - 1]);
  std::int64_t value = tokens[levels - 1];
  for (std::int64_t l = 1; l <= levels; ++l) {
    value = tokens[at + (l == 1 ? value : tokens[l - 2] * task.domain[l - 2] + value)];
    at += task.domain[l - 1];
  }
  answers[0] = value;
}

// The chain of thought: the arguments at which z_1 … z_L are read, and the answer. It stands behind the prompt but for its
// last token. REQUIRES the prompt drawn and answers[0] its answer.
RUNG_HOST_DEVICE inline void write_thoughts(const InstanceTask& task, std::int32_t* tokens,
                                            std::int64_t* answers) {
  if (task.kind != InstanceKind::seqcomp) return;  // the answer alone
  std::int64_t table = table_length(task);
  const std::int32_t* const question = tokens + table;
  answers[0] = question[0];
  for (std::int64_t l = 1; l <= task.levels; ++l) {
    table -= task.domain[l - 1];
    const std::int64_t value = tokens[table + answers[l - 1]];
    answers[l] = l < task.levels ? question[l] * task.domain[l - 1] + value : value;
    tokens[table_length(task) + question_length(task) + l - 1] = static_cast<std::int32_t>(answers[l - 1]);
  }
}

// Half of the questions, as far as chance finds any, have the answer no.
RUNG_HOST_DEVICE inline std::int64_t draw_sum_question(const InstanceTask& task, InstanceRandom& random,
                                                       const std::int32_t* table, std::int32_t* question) {
  constexpr int kTries = 32;
  const bool yes = random.coin();
  std::int64_t found = 1, last = (task.modulus - table[random.below(task.n)]) % task.modulus;
  for (int i = 0; i < kTries && !yes && found == 1; ++i) {
    last = static_cast<std::int64_t>(random.below(task.modulus));
    const std::int64_t match = last == 0 ? 0 : task.modulus - last;
    found = 0;
    for (std::int64_t j = 0; j < task.n; ++j) found |= table[j] == match;
  }
  question[0] = static_cast<std::int32_t>(last);
  return found;
}

// A question about the tables: its tokens [question_length]; its answer. REQUIRES asks_again(task.kind),
// 0 <= kind < question_kinds(task).
RUNG_HOST_DEVICE inline std::int64_t draw_question(const InstanceTask& task, const InstanceSupport& support,
                                                   InstanceRandom& random, const std::int32_t* tables,
                                                   std::int64_t kind, std::int32_t* question,
                                                   BetweenValues between) {
  if (task.kind == InstanceKind::seqcomp)
    return draw_composition(task, support, random, tables, kind, question, between);
  if (task.kind == InstanceKind::two_sum) return draw_sum_question(task, random, tables, question);
  question[0] = draw_value(task, random, support.size[0]);
  return tables[question[0]];
}

// The kind of question i of an instance: in turn over both, so that every place meets every kind. The
// instance's own question stays where its kind is 0.
RUNG_HOST_DEVICE inline std::int64_t question_kind(const InstanceTask& task, std::uint64_t index,
                                                   std::int64_t i) {
  return static_cast<std::int64_t>((index + static_cast<std::uint64_t>(i)) %
                                   static_cast<std::uint64_t>(question_kinds(task)));
}

// Far along in the same seed's streams: no instance is drawn from these.
RUNG_HOST_DEVICE inline InstanceRandom question_stream(std::uint64_t seed, std::uint64_t index) {
  return InstanceRandom(seed, index + (std::uint64_t{1} << 40));
}

// Instance (seed, index): tokens [instance_tokens], answers [instance_answers], scratch [instance_scratch]; of
// gapped_mqar, places [instance_answers] too, the positions of the answers.
// between: of question 0, seqcomp's alone; those of question i stand i numbers behind.
// REQUIRES sizes of the support in 1 .. those of whole_support(task), where the kind names them.
RUNG_HOST_DEVICE inline void draw_instance(const InstanceTask& task, const InstanceSupport& support,
                                           std::uint64_t seed, std::uint64_t index, std::int32_t* tokens,
                                           std::int64_t* answers, std::int32_t* scratch,
                                           BetweenValues between = {}, std::int64_t* places = nullptr) {
  InstanceRandom random(seed, index);
  switch (task.kind) {
    case InstanceKind::evaluation:
      draw_evaluation(task, support, random, tokens, answers, scratch);
      break;
    case InstanceKind::mqar:
      return draw_mqar(task, random, tokens, answers, scratch);
    case InstanceKind::gapped_mqar:
      return draw_gapped({task.n, task.keys, task.sigma, task.queries, task.gap_weights}, random, tokens,
                         answers, places, scratch);
    case InstanceKind::two_sum:
      draw_two_sum(task, random, tokens, answers);
      break;
    case InstanceKind::seqcomp:
      draw_seqcomp(task, support, random, tokens, answers, between);
      break;
    case InstanceKind::seqcomp_easy:
      return draw_seqcomp_easy(task, random, tokens, answers);
    case InstanceKind::khop:
      return draw_hops({task.n, task.hops, task.sigma, task.everywhere, task.different}, random, tokens,
                       answers, scratch);
    case InstanceKind::automaton:
      return draw_word(task.automaton, task.n, random, tokens, answers);
    case InstanceKind::copy:
      return draw_copy(task.n, task.places, task.sigma, task.selective, random, tokens, answers, scratch);
    case InstanceKind::tracked_recall:
      return draw_marked(task.mark, task.n, task.sigma, random, tokens, answers);
  }
  if (task.thoughts) return write_thoughts(task, tokens, answers);
  InstanceRandom further = question_stream(seed, index);
  for (std::int64_t i = 0; i <= task.questions; ++i) {
    std::int32_t* const question = tokens + table_length(task) + i * question_spacing(task);
    if (const std::int64_t kind = question_kind(task, index, i); i > 0 || kind > 0)
      answers[i] = draw_question(task, support, further, tokens, kind, question,
                                 {between.to ? between.to + i : nullptr, between.stride});
    for (std::int64_t t = question_length(task); i < task.questions && t < question_spacing(task); ++t)
      question[t] = question[t - 1];
  }
}

}  // namespace rung::kernels
