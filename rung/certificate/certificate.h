// What an adversary or a construction hands over: a claim about one model file with everything that a
// stranger needs to verify it. docs/certificate_v1.md is the format; rung-check verifies it with code of its
// own, so nothing here decides whether a claim is true.
//
//   Certificate c{.model_sha256 = *file_sha256(path), .task = ..., .claim = FoolingPairClaim{...}};
//   write_certificate("cert.json", c);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "rung/base/result.h"
#include "rung/base/words.h"
#include "rung/spec/prompt.h"
#include "rung/tasks/task.h"

namespace rung {

inline constexpr std::string_view kCertificateSchema = "rung.certificate/1";

// Whether a theorem forces such a certificate to exist for all weights of this size, or it was only found for
// these.
enum class ClaimLabel { found, forced };
template <>
inline constexpr auto kWords<ClaimLabel> = std::to_array<std::string_view>({"found", "forced by theorem"});

// Two prompts that end alike: what every pair says. The reference answers differ, so one of the two is
// answered wrongly.
struct EndAlike {
  Prompt first, second;
  std::int64_t position = 0;             // the answer position
  std::vector<std::int64_t> activation;  // residual row there after the last layer and norm
  std::vector<std::int64_t> answer;      // the model's, for both
  std::vector<std::int64_t> first_answer, second_answer;
  ClaimLabel label = ClaimLabel::found;
};

struct CollisionClaim {
  EndAlike pair;
  std::int64_t cut = 0;                           // positions
  std::vector<std::vector<std::int64_t>> states;  // per layer, after `cut` positions
  std::int64_t nominal_bits = 0;
  std::optional<std::int64_t> alphabet =
      {};  // present iff forced: the values of one entry of the beginnings counted
};
struct SparsePairClaim {
  EndAlike pair;
  std::int64_t block = 0;
  std::vector<std::int64_t> key, value;             // the block's message
  std::vector<std::vector<std::int64_t>> selected;  // per group, increasing
  std::optional<std::int64_t> message_bits = {};    // present iff forced
  std::optional<std::int64_t> values = {};          // present iff forced and the model has a position code
};
struct FoolingPairClaim {
  EndAlike pair;
  struct Transcripts {  // one full layer among recurrent ones, 2-SeqComp
    std::int64_t T = 0, x0 = 0, y = 0;
  };
  struct PartialSums {  // one full layer alone
    std::int64_t bits = 0;
  };
  using Proof = std::variant<Transcripts, PartialSums>;
  std::optional<Proof> proof;  // present iff forced
};
struct WrongAnswerClaim {
  Prompt prompt;
  std::int64_t position = 0;
  std::vector<std::int64_t> answer, expected;
};
struct ConstructionClaim {
  struct Walk {
    std::uint64_t seed = 0, begin = 0, end = 0;
  };
  struct All {};
  std::vector<std::variant<All, Walk, std::vector<Prompt>>> checked;
  std::uint64_t instances = 0;
  std::string digest;
};
struct CapacityClaim {
  bool by_model = false;
  std::int64_t cut = 0;
  std::vector<Prompt> prefixes, suffixes;
  std::string digest;  // of the table of answers
};

// The automaton that a model is compared with: states and letters are numbers; a letter is a row of a prompt.
struct CertifiedAutomaton {
  std::vector<std::vector<std::int64_t>> letters, next;  // next[state][letter]
  std::optional<std::vector<std::int64_t>> begin;        // the row before the first letter
  std::vector<std::int64_t> answers;                     // by state
  std::int64_t start = 0;
};
// Right at every length: the graph of (state of the model, state of the task), explored breadth first.
struct EveryLengthClaim {
  CertifiedAutomaton automaton;
  std::uint64_t states = 0, edges = 0;
  std::int64_t depth = 0;  // of the deepest node
  std::string digest;      // NodeDigest of all nodes
};
struct WrongWordClaim {
  CertifiedAutomaton automaton;
  std::vector<std::int64_t> word;  // letters
  std::int64_t answer = 0, expected = 0;
  // Aperiodicity: whatever the weights of a model of these shapes, some word of at most `letters` letters is
  // answered wrongly, one of u wⁿ v.
  struct Powers {
    std::vector<std::int64_t> before, word, after;  // u, w, v
    std::int64_t letters = 0;
  };
  std::optional<Powers> proof = {};  // present iff forced
};

using Claim = std::variant<CollisionClaim, SparsePairClaim, FoolingPairClaim, WrongAnswerClaim,
                           ConstructionClaim, CapacityClaim, EveryLengthClaim, WrongWordClaim>;

struct CertifiedTask {
  std::string name;
  std::map<std::string, std::int64_t> size;    // every size, defaults filled in
  std::map<std::string, std::string> options;  // those that differ from their default
  std::vector<std::string> field_names;        // of its prompts, in field order
};

// The task as certificates name it. REQUIRES a built-in task.
CertifiedTask certified_task(const Task& task);
// The same for the claims that carry their automaton; a task of a user's file is called "automaton" there.
CertifiedTask certified_automaton_task(const Task& task);

struct Certificate {
  std::string model_sha256;  // empty only in a capacity certificate by the task
  CertifiedTask task;
  Claim claim;
  std::map<std::string, std::string> notes;
};

// The pair of a claim that has one.
const EndAlike* claimed_pair(const Claim& claim);
std::string_view claim_kind(const Claim& claim);  // "collision", "sparse-pair", "fooling-pair", ...

// The file's text: one JSON document, keys in the order of the format page, arrays of numbers on one line.
std::string certificate_text(const Certificate& certificate);
// Whole or not at all. Errors: the file system.
Result<void> write_certificate(const std::string& path, const Certificate& certificate);

// What a construction claim says of its instances: how many different ones there are, and the digest of their
// lines, each once, in the order of the sets.
std::string instance_line(const Prompt& prompt, const std::vector<std::int64_t>& answers);
class InstanceList {
 public:
  // Whether it was new.
  bool add(const Prompt& prompt, const std::vector<std::int64_t>& answers);
  std::uint64_t count() const { return seen_.size(); }
  std::string digest() const;

 private:
  std::unordered_set<std::string> seen_;
  std::string lines_;
};
// The digest of an every-length claim: one line a node, in the order of the search.
class NodeDigest {
 public:
  NodeDigest();
  // `memory`: the numbers of every mixer that has a memory, in order; `state`: of the task.
  void add(const std::vector<std::vector<std::int64_t>>& memory, std::int64_t state);
  std::string hexadecimal();  // once, at the end

 private:
  std::unique_ptr<void, void (*)(void*)> hash_;
};

// Lower-case hexadecimal SHA-256.
std::string sha256(std::string_view bytes);
Result<std::string> file_sha256(const std::string& path);

}  // namespace rung
