// Why a pair had to exist: the countings of docs/certificate_v1.md behind the word `forced`, made from the
// model file and the task's sizes. Every function throws Rejected where its inequality does not hold, and
// otherwise says it in a line for people; what it computes is charged to the budget.
#pragma once

#include <functional>

#include "check/task.h"

namespace rung_check {

// Beginnings of a task of which every two have a common ending that gives them different answers.
class Beginnings {
 public:
  // Rejected: a task for which none are counted, an alphabet that it does not have.
  Beginnings(const Task& task, std::int64_t alphabet);

  std::int64_t most_positions() const { return most_positions_; }  // below the prompt's length
  // Whether there are more than 2^bits beginnings of c positions. REQUIRES 1 <= c <= most_positions().
  bool exceed(std::int64_t c, std::int64_t bits, Budget& budget) const;
  std::string shown(std::int64_t c) const;

 private:
  enum class Form { functions, sets, sets_or_empty, multisets };
  std::int64_t base_ = 0, most_positions_ = 0;
  Form form_ = Form::functions;
  std::function<std::int64_t(std::int64_t)> entries_;  // after c positions
};

// The two prompts of a claim, REQUIRES both checked as instances.
struct PromptPair {
  const Prompt &first, &second;
};

// One full layer alone: the answer token sees a part of the prompt through partial sums of `partial_bits`
// bits.
std::string forced_by_partial_sums(Model& model, const Task& task, const PromptPair& pair,
                                   std::int64_t partial_bits, Budget& budget);

// What one full layer among recurrent ones hands over on 2-SeqComp: arguments of z_2 that are asked for, and the bits that
// reach the bottom tokens. `early`: recurrent layers stand before the full one.
struct TranscriptBits {
  Int partial = 0, before = 0, after = 0;  // M_part, s_0, s_1
  bool early = false;
};
struct TranscriptCount {
  Int arguments = 0, bits = 0;
};
TranscriptCount transcript_count(const TranscriptBits& given, std::int64_t T, std::int64_t x0,
                                 std::int64_t y);

// One full layer among recurrent ones, 2-SeqComp: T functions z_1, x0 values of z_0 and y of w_1 leave fewer
// transcripts than there are functions z_2.
std::string forced_by_transcripts(Model& model, const Task& task, const PromptPair& pair, std::int64_t T,
                                  std::int64_t x0, std::int64_t y, Budget& budget);

// One sparse layer, two-sum: contents of a block against the bits of its message. `values`: with a position
// code.
std::string forced_by_messages(const Model& model, const Task& task, const Shape& sparse,
                               std::int64_t message_bits, std::optional<std::int64_t> values, Budget& budget);
// Its counting alone, of two-sum with n numbers modulo M.
std::string contents_exceed_messages(std::int64_t n, std::int64_t M, const Shape& sparse,
                                     std::int64_t message_bits, std::optional<std::int64_t> values,
                                     Budget& budget);

}  // namespace rung_check
