// Attacks: searches for two inputs that a model cannot tell apart though their answers differ. One technique,
// one file; the explicit list is in method_list.cc, and `auto` chooses from it by structure and size.
//
//   auto target = open_target("model.safetensors", task);
//   auto outcome = attack(*target, "auto", {.seconds = 60});
//   if (outcome->verdict == Evidence::refuted) write_certificate("cert.json", *outcome->certificate);
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/adversary/target.h"
#include "rung/ranks/ranks.h"
#include "rung/theory/outcome.h"

namespace rung {

struct SearchProgress {
  std::uint64_t evaluations = 0;                    // prompts (or segments) whose state was computed
  std::optional<double> expected_evaluations = {};  // in all, by the method's cost formula
  std::uint64_t memory_bytes = 0;
  std::string stage = {};  // "layer 2 of 3, segment 5 of 19"
};

// Where a search's inner loops run. automatic: on a CUDA device where there is one and the method and the model
// can use it.
enum class SearchDevice { cpu, cuda, automatic };
// Errors: no such word; cuda where there is no device.
Result<SearchDevice> parse_search_device(std::string_view word);

struct SearchOptions {
  double seconds = 600;  // wall clock
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  std::uint64_t seed = 1;
  std::string checkpoint = {};  // a file to resume from and to save to; empty: none
  std::function<void(const SearchProgress&)> progress = {};  // now and then, one call at a time
  std::function<bool()> stop = {};                   // true: end early (Ctrl-C), saving the checkpoint
  std::function<void(const std::string&)> log = {};  // a line for a person
  Ranks* ranks = nullptr;                            // those who share the search; null: this process alone
  std::string queue = {};                            // what they call it, once a job
  SearchDevice device = SearchDevice::cpu;
};

struct AttackOutcome {
  // That the model solves the task: refuted by the certificate; verified: every instance was run and answered
  // rightly; unverified: the budget ended first, or no method applies.
  Evidence verdict = Evidence::unverified;
  std::string method;  // the method that ended the search
  std::string reason;  // one line: why this method, and how it ended
  std::int64_t nominal_bits = 0;
  std::optional<double> effective_bits =
      {};  // collision entropy as measured: 2 lg(evaluations until a collision), or exact capacity
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<Certificate> certificate = {};
  bool no_collision = false;  // proved: no two beginnings leave the same state
  std::map<std::string, std::string> details =
      {};  // what a method wants to add, shown in --json and to people
};

struct Fitness {
  bool applies = false;
  std::string reason;         // why (not): "additive state with linear values, 640 key bits"
  double lg_evaluations = 0;  // expected cost, by which auto chooses
};

struct AttackMethod {
  std::string_view name;  // "distinguished-points"
  std::string_view summary;
  Fitness (*fitness)(const Target& target);
  // REQUIRES fitness(target).applies. Errors: the outside world only (a checkpoint of another search, a full
  // disk).
  Result<AttackOutcome> (*run)(const Target& target, const SearchOptions& options);
  bool seeks_collision = false;  // of states behind two beginnings: pointless once none is known to exist
  bool spreads = false;          // run() may be called on all ranks at once; those that do not lead only help
  bool on_device = false;        // its inner loops can run on a CUDA device
  bool named_only = false;       // about prompts of other lengths than the target's: not for auto
};
// Where attack() may keep searches, given options.checkpoint.
std::vector<std::string> checkpoint_paths(const std::string& checkpoint);
// In the order in which ties are broken.
std::span<const AttackMethod> attack_methods();
Result<const AttackMethod*> find_attack_method(std::string_view name);

// ENSURES: `method` by name or "auto"; auto tries applicable methods from cheap to expensive, each within half of
// what is left of the budget (the last: all of it), each with a checkpoint of its own (the path and the
// method's name), and `reason` says why each was taken. A real model is only searched for wrong answers.
// With several ranks, those methods that spread are run by all of them; the others by this one, which says
// so. REQUIRES no ranks, or options.ranks->leads(); one call a job then.
Result<AttackOutcome> attack(const Target& target, std::string_view method, const SearchOptions& options);
// What the other ranks do meanwhile. REQUIRES options.ranks, !options.ranks->leads().
void help_attack(const Target& target, const SearchOptions& options);

}  // namespace rung
