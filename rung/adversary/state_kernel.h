// States of a recurrent stack for many beginnings at once: the inner loop of every collision search.
//
// Two implementations. The lane kernel runs 16 (or 8) prompts in the lanes of vector registers; it knows the
// mixers that lane_plan.h names. The session kernel asks the exact machine token by token: slow, and right for
// every causal mixer. A test compares both on 100,000 random prompts.
//
// "Depth" is a number of layers: the states of the first `depth` layers, which do not depend on later ones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rung/adversary/beginnings.h"
#include "rung/adversary/target.h"

namespace rung {

// How choices are drawn from a 64-bit number, and how a state becomes one: the step function of a collision
// walk.
struct Walk {
  std::uint64_t salt = 0;
  std::int64_t depth = 1;               // layers whose states count
  std::int64_t first = 0, length = 1;   // slots
  const std::int64_t* start = nullptr;  // numbers(depth) values, common to all; null: an empty memory
};

class StateKernel {
 public:
  StateKernel(const Target& target, BeginningSpace space);
  virtual ~StateKernel() = default;

  const BeginningSpace& space() const { return space_; }
  std::int64_t layers() const { return static_cast<std::int64_t>(widths_.size()); }
  // Stored numbers of the first `depth` layers, layer after layer in the order of Session::state().
  std::int64_t numbers(std::int64_t depth) const { return numbers_[static_cast<std::size_t>(depth)]; }
  // Bits of those numbers on paper.
  std::int64_t bits(std::int64_t depth) const { return bits_[static_cast<std::size_t>(depth)]; }
  virtual std::string_view name() const = 0;
  virtual bool restarts() const = 0;  // whether `start` may be given

  // The state after the tokens up to slot first + length (exclusive of the tokens behind it): prompt i takes
  // row choices[i*length + j] at slot first + j. `start` holds the state before slot `first` (numbers(depth)
  // values for each prompt, or one for all when `common`); null: the beginning, with first rows in the slots
  // before. REQUIRES restarts() when start is given.
  virtual void run(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
                   const std::uint16_t* choices, const std::int64_t* start, bool common,
                   std::int64_t* out) const = 0;

  // The same choices for all prompts (`length` of them), each from its own start. The plain composition
  // unless overridden.
  virtual void run_alike(std::int64_t depth, std::int64_t first, std::int64_t length, std::int64_t count,
                         const std::uint16_t* choices, const std::int64_t* start, std::int64_t* out) const;

  // out[i] = key(state(draw(x[i]))). The default is the plain composition.
  virtual void keys(const Walk& walk, const std::uint64_t* x, std::int64_t count, std::uint64_t* out) const;

  // out[i * rows + v] = key of the state that the state of keys[i], before slot `slot`, becomes by row v. The
  // plain composition unless overridden. REQUIRES key_is_injective(depth), restarts().
  virtual void successors(std::int64_t depth, std::int64_t slot, const std::uint64_t* keys,
                          std::int64_t count, std::uint64_t* out) const;
  // The state that an injective key stands for.
  void unpack(std::int64_t depth, std::uint64_t key, std::int64_t* state) const;

  // The choices that a number stands for.
  void draw(const Walk& walk, std::uint64_t x, std::uint16_t* choices) const;
  // Injective while the state has at most 64 bits, else a hash.
  std::uint64_t key(std::int64_t depth, const std::int64_t* state) const;
  bool key_is_injective(std::int64_t depth) const { return bits(depth) <= 64; }

 protected:
  BeginningSpace space_;
  std::vector<std::vector<int>> widths_;      // per layer, per number
  std::vector<std::int64_t> numbers_, bits_;  // by depth
};

// The lane kernel where it applies, else the session kernel. `why_not` says why the lane kernel does not
// apply.
Result<std::unique_ptr<StateKernel>> make_state_kernel(const Target& target, BeginningSpace space,
                                                       std::string* why_not = nullptr);
std::unique_ptr<StateKernel> make_session_kernel(const Target& target, BeginningSpace space);

// SplitMix64's output function: what spreads a state's bits over the choices.
constexpr std::uint64_t spread(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;
inline constexpr int kChoicesPerDraw = 4;  // 16 bits each
inline constexpr std::size_t kMostChoices =
    1 << 12;  // rows a slot: a choice is 16 random bits times their number, over 2^16
inline constexpr std::uint64_t kKeyMultiplier = 0xD1342543DE82EF95ULL;

}  // namespace rung
