// One thread's state, and how a row moves it: in registers for the entrywise form of a first layer, whose rows
// lie in shared memory where they fit; for every other stack in local memory, by the lanes' own feed(). And what a
// thread does with it. Compiled for the host as well, where it is the device's plain form.
#pragma once

#include "rung/adversary/lanes/evaluation.h"

namespace rung::lanes {

// Loads of several numbers at once.
struct alignas(8) Two {
  std::int32_t x, y;
};
struct alignas(16) Four {
  std::int32_t x, y, z, w;
};

// The rows of an evaluation as a block of threads reads them.
struct BlockRows {
  const std::int32_t* rows;
  std::uint32_t first;  // the number of the first row there
};

enum class Settling { none, wrap, saturate };

template <int kEntries, int kGroups, Settling kSettling>
class EntryMachine {
 public:
  static constexpr int kThreads = 512;

  RUNG_INLINE explicit EntryMachine(const Evaluation& evaluation) : evaluation_(evaluation) {
    rule_ = evaluation.entries.rule;
    rule_.gated = kGroups > 0;
    rule_.wraps = kSettling == Settling::wrap;
    rule_.saturates = kSettling == Settling::saturate;
  }
  RUNG_INLINE void begin() {
    RUNG_UNROLL
    for (int e = 0; e < kEntries; ++e)
      state_[e] =
          evaluation_.start && e < evaluation_.numbers ? static_cast<std::int32_t>(evaluation_.start[e]) : 0;
  }
  RUNG_INLINE void unpack(std::uint64_t code) {
    RUNG_UNROLL
    for (int e = kEntries - 1; e >= 0; --e)
      state_[e] =
          e < evaluation_.numbers ? static_cast<std::int32_t>(take_number(code, evaluation_.widths[e])) : 0;
  }
  RUNG_INLINE_ON_DEVICE void step(const BlockRows& block, std::uint32_t row) {
    constexpr int kStride = entry_stride(kEntries, kGroups);
    const auto* at = reinterpret_cast<const Four*>(block.rows + (row - block.first) * kStride);
    std::int32_t term[kEntries], decay[kGroups > 0 ? (kGroups + 3) / 4 * 4 : 4];
    RUNG_UNROLL
    for (int i = 0; i < kEntries / 4; ++i) put(at[i], term + 4 * i);
    if constexpr (kGroups == 2) {
      const Two two = *reinterpret_cast<const Two*>(at + kEntries / 4);
      decay[0] = two.x, decay[1] = two.y;
    } else {
      RUNG_UNROLL
      for (int i = 0; i < kGroups / 4; ++i) put(at[kEntries / 4 + i], decay + 4 * i);
    }
    RUNG_ASSUME(rule_.bits > 0 && rule_.bits < 32);
    RUNG_ASSUME(kGroups == 0 || (rule_.shift > 0 && rule_.shift < 31));
    RUNG_UNROLL
    for (int e = 0; e < kEntries; ++e)
      state_[e] = entry_step<std::int32_t>(rule_, state_[e], kGroups > 0 ? decay[e * kGroups / kEntries] : 0,
                                           term[e]);
  }
  RUNG_INLINE_ON_DEVICE Code code() const {
    Code code(evaluation_.packs);
    RUNG_UNROLL
    for (int e = 0; e < kEntries; ++e)
      if (e < evaluation_.numbers) code.add(state_[e], evaluation_.widths[e]);
    return code;
  }

 private:
  RUNG_INLINE static void put(const Four& four, std::int32_t* to) {
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  }
  const Evaluation& evaluation_;
  EntryRule rule_;
  std::int32_t state_[kEntries];
};

template <class V, int kNumbers, int kScratch>
class StackMachine {
 public:
  static constexpr int kThreads = 128;
  static constexpr bool kWide = sizeof(V) == 8;

  RUNG_INLINE explicit StackMachine(const Evaluation& evaluation) : evaluation_(evaluation) {}
  RUNG_INLINE void begin() {
    for (int e = 0; e < evaluation_.numbers; ++e)
      state_[e] = evaluation_.start ? static_cast<V>(evaluation_.start[e]) : 0;
  }
  RUNG_INLINE void set(int e, std::int64_t number) { state_[e] = static_cast<V>(number); }
  RUNG_INLINE std::int64_t number(int e) const { return state_[e]; }
  RUNG_INLINE void unpack(std::uint64_t code) {
    for (int e = evaluation_.numbers - 1; e >= 0; --e)
      state_[e] = static_cast<V>(take_number(code, evaluation_.widths[e]));
  }
  RUNG_INLINE_ON_DEVICE void step(const BlockRows&, std::uint32_t row) {
    const StackRows<V>& stack = rows();
    const V* at = stack.rows + row * stack.stride;
    feed(stack.layers, evaluation_.depth, stack.width, stack.stream_bits, &at, true,
         Bench<V>{state_, channels_, reads_, x_, scratch_, other_});
  }
  RUNG_INLINE_ON_DEVICE Code code() const {
    Code code(evaluation_.packs);
    for (int e = 0; e < evaluation_.numbers; ++e) code.add(state_[e], evaluation_.widths[e]);
    return code;
  }

 private:
  RUNG_INLINE const StackRows<V>& rows() const {
    if constexpr (kWide)
      return evaluation_.stack64;
    else
      return evaluation_.stack32;
  }
  const Evaluation& evaluation_;
  V state_[kNumbers], channels_[kScratch], reads_[kScratch], x_[kScratch], scratch_[kScratch],
      other_[kScratch];
};

// x -> choices -> state -> code.
template <class Machine>
RUNG_INLINE void evaluate(Machine& machine, const Evaluation& evaluation, const BlockRows& block,
                          std::uint64_t* code) {
  Draw draw(code, evaluation.words, evaluation.salt);
  machine.begin();
  for (std::int32_t p = evaluation.route.begin; p < evaluation.route.end; ++p) {
    const Step step = evaluation.route.steps[p];
    std::uint32_t row = step.row;
    if (step.rows > 0 && p >= evaluation.route.varying) row += draw.next(step.rows);
    machine.step(block, row);
  }
  const Code end = machine.code();
  code[0] = end.word[0];
  if (evaluation.words > 1) code[1] = end.word[1];
}

// Counts up by one: the number before. Several threads may.
RUNG_INLINE std::uint32_t count_up(std::uint32_t* count) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(count, 1u);
#else
  return (*count)++;
#endif
}

RUNG_INLINE std::uint64_t draw_start(const Chains& chains, std::uint64_t chain, std::uint64_t drawn) {
  return spread(chains.seed + (drawn * chains.count + chain) * kGoldenGamma);
}
RUNG_INLINE void start_chain(const Chains& chains, std::uint64_t i, int words) {
  chains.code[0][i] = chains.start[i] = draw_start(chains, i, 0);
  if (words > 1) chains.code[1][i] = 0;
  chains.length[i] = 0;
  chains.drawn[i] = 1;
}

// Chain i, so many steps. Invariant between steps: the code is what the start leads to after `length`
// evaluations.
template <class Machine>
RUNG_INLINE void walk_chain(Machine& machine, const Evaluation& evaluation, const BlockRows& block,
                            const Chains& chains, std::uint64_t i, std::int64_t steps, int zeros,
                            std::uint64_t patience, const TrailEnds& ends) {
  std::uint64_t code[kMostWords] = {chains.code[0][i], evaluation.words > 1 ? chains.code[1][i] : 0};
  std::uint64_t start = chains.start[i], length = chains.length[i];
  for (std::int64_t step = 0; step < steps; ++step) {
    evaluate(machine, evaluation, block, code);
    ++length;
    const bool ended = distinguished(code[0], zeros);
    if (!ended && length <= patience) continue;
    if (ended) {
      const std::uint32_t place = count_up(ends.count);
      if (place < ends.capacity) ends.ends[place] = {code[0], start, length};
    }
    code[0] = start = draw_start(chains, i, chains.drawn[i]++);
    code[1] = length = 0;
  }
  chains.code[0][i] = code[0];
  if (evaluation.words > 1) chains.code[1][i] = code[1];
  chains.start[i] = start;
  chains.length[i] = length;
}

// Number i of the codes that x or, where it is null, first + i leads to.
template <class Machine>
RUNG_INLINE void evaluate_code(Machine& machine, const Evaluation& evaluation, const BlockRows& block,
                               const std::uint64_t* x, std::uint64_t first, std::uint64_t i,
                               std::uint64_t* out) {
  const int words = evaluation.words;
  std::uint64_t code[kMostWords] = {x ? x[i * words] : first + i, x && words > 1 ? x[i * words + 1] : 0};
  evaluate(machine, evaluation, block, code);
  out[i * words] = code[0];
  if (words > 1) out[i * words + 1] = code[1];
}

// What the state of `code`, before the route, becomes by row `choice` of its last step, put into the set: whether
// it was new.
template <class Machine>
RUNG_INLINE bool reach(Machine& machine, const Evaluation& evaluation, const BlockRows& block,
                       std::uint64_t code, std::uint32_t choice, std::uint32_t* set) {
  machine.unpack(code);
  const Route& route = evaluation.route;
  for (std::int32_t p = route.begin; p < route.end; ++p)
    machine.step(block, route.steps[p].row + (p + 1 == route.end ? choice : 0));
  const std::uint64_t after = machine.code().word[0];
  std::uint32_t* const word = set + (after >> 5);
  const std::uint32_t bit = std::uint32_t{1} << (after & 31);
  if (*word & bit) return false;
#if defined(__CUDA_ARCH__)
  return (atomicOr(word, bit) & bit) == 0;
#else
  *word |= bit;
  return true;
#endif
}

// The number that stood there, which is replaced where it was 0. Several threads may.
RUNG_INLINE std::uint64_t claim(std::uint64_t* place, std::uint64_t number) {
#if defined(__CUDA_ARCH__)
  return atomicCAS(reinterpret_cast<unsigned long long*>(place), 0ull,
                   static_cast<unsigned long long>(number));
#else
  const std::uint64_t found = *place;
  if (found == 0) *place = number;
  return found;
#endif
}
// REQUIRES code + 1 != 0, and an empty place.
RUNG_INLINE void meet(const CodeTable& table, std::uint64_t code, std::uint32_t number) {
  for (std::uint64_t i = spread(code) & (table.places - 1);; i = (i + 1) & (table.places - 1)) {
    const std::uint64_t found = claim(table.codes + i, code + 1);
    if (found == 0) {
      table.numbers[i] = number;
      return;
    }
    if (found == code + 1) {
      const std::uint32_t place = count_up(table.met);
      if (place < table.capacity) table.meetings[place] = {i, number};
      return;
    }
  }
}
RUNG_INLINE std::uint64_t leaf_code(const std::int64_t* leaf, std::int32_t own) {
  std::uint64_t code = 0;
  for (std::int32_t e = 0; e < own; ++e)
    code = spread(code * kKeyMultiplier + static_cast<std::uint64_t>(leaf[e]));
  return code >> 1;
}

template <class Machine>
RUNG_INLINE void grow_leaf(Machine& machine, const Leaves& leaves, std::uint64_t i) {
  const bool second = i >= leaves.count;
  const std::int64_t* leaf = leaves.leaves + (second ? i - leaves.count : i) * leaves.own;
  for (int e = 0; e < leaves.below; ++e) machine.set(e, leaves.common[e]);
  for (int e = 0; e < leaves.own; ++e) machine.set(leaves.below + e, leaf[e]);
  const std::uint32_t* rows = second ? leaves.two : leaves.one;
  for (std::int32_t p = 0; p < leaves.steps; ++p) machine.step({}, rows[p]);
  for (int e = 0; e < leaves.own; ++e) leaves.grown[i * leaves.own + e] = machine.number(leaves.below + e);
  for (int e = 0; e < leaves.below && i == 0; ++e) leaves.end[e] = machine.number(e);
}

inline constexpr std::int64_t kFewNumbers = 16, kFewScratch = 32, kMostNumbers = 256, kMostScratch = 512;

// use(Kind<Machine>{}) with the machine that the evaluation asks for. REQUIRES fits_device(evaluation).
template <class M>
struct Kind {
  using Machine = M;
};
template <int kEntries, class Use>
int with_entries(const EntryRule& rule, int groups, const Use& use) {
  using enum Settling;
  if (groups == 2)
    return rule.wraps ? use(Kind<EntryMachine<kEntries, 2, wrap>>{})
                      : use(Kind<EntryMachine<kEntries, 2, saturate>>{});
  if (groups > 2)
    return rule.wraps ? use(Kind<EntryMachine<kEntries, kEntries, wrap>>{})
                      : use(Kind<EntryMachine<kEntries, kEntries, saturate>>{});
  return rule.wraps       ? use(Kind<EntryMachine<kEntries, 0, wrap>>{})
         : rule.saturates ? use(Kind<EntryMachine<kEntries, 0, saturate>>{})
                          : use(Kind<EntryMachine<kEntries, 0, none>>{});
}
template <class V, class Use>
int with_stack(const StackRows<V>& stack, const Use& use) {
  if (stack.numbers <= kFewNumbers && stack.scratch <= kFewScratch)
    return use(Kind<StackMachine<V, kFewNumbers, kFewScratch>>{});
  return use(Kind<StackMachine<V, kMostNumbers, kMostScratch>>{});
}
// The same for the layers themselves, also where the first has an entrywise form.
template <class Use>
int with_layers(const Evaluation& evaluation, const Use& use) {
  return evaluation.stack32.layers ? with_stack(evaluation.stack32, use)
                                   : with_stack(evaluation.stack64, use);
}
template <class Use>
int with_machine(const Evaluation& evaluation, const Use& use) {
  const EntryRows& rows = evaluation.entries;
  switch (evaluation.form) {
    case Evaluation::Form::entries:
      return rows.entries == 4   ? with_entries<4>(rows.rule, rows.groups, use)
             : rows.entries == 8 ? with_entries<8>(rows.rule, rows.groups, use)
                                 : with_entries<16>(rows.rule, rows.groups, use);
    case Evaluation::Form::stack32:
      return with_stack(evaluation.stack32, use);
    case Evaluation::Form::stack64:
      return with_stack(evaluation.stack64, use);
  }
  return 1;
}

inline bool fits_thread(const Evaluation& evaluation) {
  const auto fits = [](const auto& stack) {
    return stack.numbers <= kMostNumbers && stack.scratch <= kMostScratch;
  };
  return fits(evaluation.stack32) && fits(evaluation.stack64);
}

}  // namespace rung::lanes
