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
#include "rung/adversary/lanes/state_walk.h"
#include "rung/adversary/target.h"

namespace rung {

using lanes::kGoldenGamma;
using lanes::kKeyMultiplier;
using lanes::spread;

inline constexpr std::size_t kMostChoices =
    1 << 12;  // rows a slot: a choice is 16 random bits times their number, over 2^16

// How choices are drawn from a code, and how a state becomes one: the step function of a collision walk.
struct Walk {
  std::uint64_t salt = 0;
  std::int64_t depth = 1;               // layers whose states count
  std::int64_t first = 0, length = 1;   // slots
  const std::int64_t* start = nullptr;  // numbers(depth) values, common to all; null: an empty memory
  int words = 1;                        // of a code
};

class DeviceProgram;

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

  // out[i] = code(state(draw(x[i]))), walk.words words each. The default is the plain composition.
  virtual void keys(const Walk& walk, const std::uint64_t* x, std::int64_t count, std::uint64_t* out) const;

  // out[i * rows + v] = key of the state that the state of keys[i], before slot `slot`, becomes by row v. The
  // plain composition unless overridden. REQUIRES key_is_injective(depth), restarts().
  virtual void successors(std::int64_t depth, std::int64_t slot, const std::uint64_t* keys,
                          std::int64_t count, std::uint64_t* out) const;
  // The kernel on a CUDA device. Errors: why it is not there.
  virtual Result<std::unique_ptr<DeviceProgram>> on_device() const;

  // The state that an injective key stands for.
  void unpack(std::int64_t depth, std::uint64_t key, std::int64_t* state) const;

  // The choices that a code stands for.
  void draw(const Walk& walk, const std::uint64_t* x, std::uint16_t* choices) const;
  // Words of a walk's code: as many as it takes to be injective, or so nearly that no walk notices.
  int code_words(std::int64_t depth) const { return key_is_injective(depth) ? 1 : lanes::kMostWords; }
  // Injective while the state has at most 64 bits, else a hash.
  std::uint64_t key(std::int64_t depth, const std::int64_t* state) const {
    return code(depth, state).word[0];
  }
  bool key_is_injective(std::int64_t depth) const { return bits(depth) <= 64; }

 protected:
  lanes::Code code(std::int64_t depth, const std::int64_t* state) const;

  BeginningSpace space_;
  std::vector<std::vector<int>> widths_;      // per layer, per number
  std::vector<std::int64_t> numbers_, bits_;  // by depth
};

// The lane kernel where it applies, else the session kernel. `why_not` says why the lane kernel does not
// apply.
Result<std::unique_ptr<StateKernel>> make_state_kernel(const Target& target, BeginningSpace space,
                                                       std::string* why_not = nullptr);
std::unique_ptr<StateKernel> make_session_kernel(const Target& target, BeginningSpace space);

}  // namespace rung
