// Claim: sparse-two-sum, sparse-two-sum-positions (docs/theorems.md). B-sets A with v and A' without it hand
// over the same message; the query asks for -v, every block holds A' (positions in the tokens: each block a
// set of its own without v). A block that is not selected changes from A' to A: messages, selection and read
// tokens stay, the answer flips.
//
// Search: a birthday on the message of one block, where only contents that change the answer make a pair:
// 2^(b/2) messages of b effective bits. Without positions one pair serves every block, and ties go to smaller
// blocks, so one is left unread; with positions every block is searched in turn until one with a pair is not
// selected. Other tasks: the block that the answer reads varies, everything else stays. Invariant: a pair is
// believed only after both prompts, messages and selections are rerun (certify_sparse_pair).
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <cmath>

#include "rung/adversary/birthday.h"
#include "rung/adversary/sparse_view.h"
#include "rung/adversary/varied_prompts.h"
#include "rung/base/random.h"

namespace rung {
namespace {

constexpr double kSparseBlocksSpareBits = 12;  // contents beyond the number of messages, in bits
constexpr std::uint64_t kContexts = 64;        // values asked for, or instances, before the search gives up

std::int64_t query_of(const Target& target) { return target.task->query_positions().back(); }

// Contents of a block of two-sum: sets of B different values, half of them with v.
class BlockSets {
 public:
  BlockSets(std::int64_t low, std::int64_t high, std::int64_t block, std::int64_t v, std::uint64_t seed)
      : low_(low), high_(high), block_(block), v_(v), seed_(seed) {}
  std::vector<std::int64_t> set(std::uint64_t index, bool with_v) const {
    Random random(seed_, index);
    std::vector<std::int64_t> values;
    if (with_v) values.push_back(v_);
    while (static_cast<std::int64_t>(values.size()) < block_) {
      const std::int64_t x = random.between(low_, high_);
      if (x != v_ && std::find(values.begin(), values.end(), x) == values.end()) values.push_back(x);
    }
    std::sort(values.begin(), values.end());
    return values;
  }
  std::vector<std::int64_t> set(std::uint64_t index) const { return set(index, index % 2 == 1); }

 private:
  std::int64_t low_, high_, block_, v_;
  std::uint64_t seed_;
};

void put_block(Prompt& prompt, std::int64_t first, const std::vector<std::int64_t>& tokens) {
  std::copy(tokens.begin(), tokens.end(), prompt.fields[0].begin() + first);
}

// Prompts with one block that varies: member(i) is a valid instance, and the blocks around it do not depend
// on i.
struct OneBlock {
  std::function<Prompt(std::uint64_t index)> member;
  std::int64_t block = 0;
};

class SparseBlocksSearch {
 public:
  SparseBlocksSearch(const Target& target, const SparseView& view, const SearchOptions& options)
      : target_(target), view_(view), options_(options) {
    outcome_ = {.method = "sparse-blocks", .nominal_bits = view.message_bits()};
    outcome_.reason = "the budget ended before two blocks met";
  }

  Result<AttackOutcome> two_sum() {
    const auto size = target_.task->size();
    const std::int64_t n = size.at("n").get<std::int64_t>(), M = size.at("M").get<std::int64_t>(),
                       B = view_.shape().block;
    const bool lower_half = (M - 1) / 2 > B;  // values 1 .. ⌊(M-1)/2⌋ where they suffice
    const std::int64_t low = lower_half ? 1 : 0, high = lower_half ? (M - 1) / 2 : M - 1;
    if (high - low < B) {
      outcome_.reason = fmt::format("blocks of {} different values need a larger modulus than {}", B, M);
      return outcome_;
    }
    const bool alike = target_.weights.architecture.dimensions.position == PositionCode::none;
    Random random(options_.seed);
    for (std::uint64_t context = 0; context < kContexts && !late(); ++context) {
      const std::int64_t v = random.between(low, high);
      const BlockSets sets(low, high, B, v, options_.seed + context);
      Prompt base = target_.task->generate(Variant::uniform, options_.seed, context).prompt;
      for (std::int64_t t = 0; t < n; t += B) {
        auto filler = sets.set(~static_cast<std::uint64_t>(t), false);
        filler.resize(static_cast<std::size_t>(std::min(B, n - t)));
        put_block(base, t, filler);
      }
      base.fields[0][static_cast<std::size_t>(n)] = (M - v) % M;
      for (std::int64_t block = n / B - 1; block >= 0 && !late(); --block) {
        std::optional<std::vector<std::int64_t>>
            without;  // of the pair that was found in this block, when it was selected
        const auto member = [&](std::uint64_t index) {
          Prompt prompt = base;
          put_block(prompt, block * B, sets.set(index));
          return prompt;
        };
        RUNG_CHECK(search(
            {member, block},
            [&](std::uint64_t first, std::uint64_t second) -> Result<std::optional<Certificate>> {
              if (first % 2 == 1) std::swap(first, second);  // first: without v
              without = sets.set(first);
              if (!alike) return certify_sparse_pair(target_, view_, member(first), member(second), block);
              Prompt everywhere = base;
              for (std::int64_t t = 0; t + B <= n; t += B) put_block(everywhere, t, *without);
              for (std::int64_t r = n / B - 1; r >= 0; --r) {
                Prompt replaced = everywhere;
                put_block(replaced, r * B, sets.set(second));
                RUNG_TRY(auto certificate, certify_sparse_pair(target_, view_, everywhere, replaced, r));
                if (certificate) return certificate;
              }
              return std::optional<Certificate>{};
            },
            [&] { return without.has_value(); }));
        if (outcome_.certificate) return outcome_;
        if (alike) break;  // every other block gives the same messages: another value
        if (without) put_block(base, block * B, *without);
      }
    }
    return outcome_;
  }

  Result<AttackOutcome> any_task() {
    const std::int64_t B = view_.shape().block;
    bool reads = false;
    for (std::uint64_t context = 0; context < kContexts && !late(); ++context)
      for (std::int64_t block = view_.blocks(query_of(target_)) - 1; block >= 0 && !late(); --block) {
        const auto varied =
            VariedPrompts::find(*target_.task, block * B, (block + 1) * B,
                                static_cast<double>(view_.message_bits()) + kSparseBlocksSpareBits, true,
                                options_.seed + context);
        if (!varied) continue;
        reads = true;
        const auto member = [&](std::uint64_t index) { return varied->member(index); };
        bool met = false;
        RUNG_CHECK(search(
            {member, block},
            [&](std::uint64_t first, std::uint64_t second) {
              met = true;
              return certify_sparse_pair(target_, view_, member(first), member(second), block);
            },
            [&] { return met; }));
        if (outcome_.certificate) return outcome_;
      }
    if (!reads) outcome_.reason = "the answer reads no complete block that can vary";
    return outcome_;
  }

 private:
  bool late() const { return outcome_.seconds > options_.seconds || (options_.stop && options_.stop()); }

  // A birthday on the messages of one block. `enough`: a pair was met, though it made no certificate (the
  // block was selected).
  Result<void> search(
      const OneBlock& one,
      const std::function<Result<std::optional<Certificate>>(std::uint64_t, std::uint64_t)>& meet,
      const std::function<bool()>& enough) {
    Birthday birthday;
    birthday.stage = fmt::format("messages of block {}", one.block);
    birthday.expected_evaluations = std::exp2(std::min(static_cast<double>(view_.message_bits()) / 2, 62.0));
    birthday.evaluate = [&](std::uint64_t index) -> Result<std::vector<Ending>> {
      const Prompt prompt = one.member(index);
      const auto message = view_.message(prompt, one.block);
      return std::vector<Ending>{{hash_numbers(hash_numbers(0, message.key), message.value),
                                  hash_numbers(0, target_.task->answer(prompt))}};
    };
    birthday.meet = meet;
    SearchOptions rest = options_;
    rest.seconds = options_.seconds - outcome_.seconds;
    rest.stop = [&] { return enough() || (options_.stop && options_.stop()); };
    return search_birthday(birthday, rest, outcome_);
  }

  const Target& target_;
  const SparseView& view_;
  const SearchOptions& options_;
  AttackOutcome outcome_;
};

Fitness sparse_blocks_fitness(const Target& target) {
  const auto view = SparseView::make(target);
  if (!view) return {false, "not one block-sparse layer without a window, alone among position-wise ones", 0};
  if (target.weights.decode.steps > 0) return {false, "a chain of thought may select again", 0};
  if (view->blocks(query_of(target)) <= view->shape().select)
    return {false, "the query reads every block", 0};
  return {true,
          fmt::format("blocks of {} tokens hand over {} bits", view->shape().block, view->message_bits()),
          static_cast<double>(view->message_bits()) / 2};
}

Result<AttackOutcome> run_sparse_blocks(const Target& target, const SearchOptions& options) {
  const auto view = SparseView::make(target);
  SparseBlocksSearch search(target, *view, options);
  RUNG_TRY(auto outcome, target.task->name() == "two-sum" ? search.two_sum() : search.any_task());
  outcome.details["message_bits"] = std::to_string(view->message_bits());
  return outcome;
}

}  // namespace

AttackMethod sparse_blocks_method() {
  return {"sparse-blocks", "two contents of an unselected block with equal messages", &sparse_blocks_fitness,
          &run_sparse_blocks};
}

}  // namespace rung
