// Several architectures side by side at one context: what each keeps, what each provably does, and where they
// differ. `rung compare` prints it (docs/compare.md).
//
//   RUNG_TRY(const Comparison c, compare({{"A", a}, {"B", b}}, {.context = 131072}));
//   c.sentence == "Nothing is provably impossible for either at 131,072 tokens; B keeps 5.9 GiB less."
//
// Bytes are those of the types in use, for `batch` sequences: state is what is bounded (recurrent state,
// convolution buffers, windows), cache what grows with every token. Weights are not among them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/released/architecture_choice.h"
#include "rung/theory/pattern.h"
#include "rung/theory/theorem.h"

namespace rung {

// What a model keeps between two tokens.
struct KeptBytes {
  Integer state = 0, cache = 0;
  Integer total() const { return state + cache; }
};
// REQUIRES context >= 1, batch >= 1. The account's state is that of `context` tokens.
KeptBytes kept_bytes(const Account& account, std::int64_t context, std::int64_t batch);
Integer bytes_of_bits(const Integer& bits);    // rounded up
std::string bytes_text(const Integer& bytes);  // "128.00 MiB"

// How many functions an architecture composes (L-SeqComp).
struct CompositionDepth {
  std::optional<int> proved;      // the largest L with proved weights for every prompt of the context
  std::optional<int> sketched;    // the same where a sketch counts too; at least `proved`
  std::optional<int> impossible;  // the smallest L that is impossible at sizes within the context
  std::string proved_by, sketched_by, impossible_by;  // theorems
  Status impossible_status = Status::proved;
  std::int64_t of_word = 0;  // the pattern theorem's own size family: the largest L of the word
};
CompositionDepth composition_depth(const Setting& setting);

struct ComparedModel {
  std::string name;
  ChosenArchitecture chosen;
  Account account;  // at the context
  KeptBytes kept;
  std::string types;  // "state 32 bits, cache 16 bits"
  CompositionDepth depth;
  Verdict recall;                 // Eva, as many arguments as the context holds
  std::vector<Verdict> verdicts;  // one a task
};

struct Comparison {
  std::int64_t context = 0, batch = 1;
  bool chain_of_thought = false;
  std::vector<ComparedModel> models;
  std::vector<std::string> differing;  // tasks on which two verdicts differ, in the order of the tasks
  std::string sentence;
};

struct NamedArchitecture {
  std::string name;
  ChosenArchitecture chosen;
};
struct CompareOptions {
  std::optional<std::int64_t> context;  // default: the least that a model names, or kDefaultContext
  std::int64_t batch = 1;
  bool chain_of_thought = false, assume_exact = false;
};
// REQUIRES at least one architecture. ENSURES: one-line errors for sizes that no theorem can be asked about.
Result<Comparison> compare(std::vector<NamedArchitecture> architectures, const CompareOptions& options);

// Schema rung.compare/1.
nlohmann::ordered_json comparison_document(const Comparison& comparison);

}  // namespace rung
