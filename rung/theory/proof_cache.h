// Smallest proofs that were searched for already. A search depends on a handful of bit counts and on nothing
// else, and takes milliseconds; the same one is asked for by a verdict, by the summary of its pattern, and
// again at every other context. Thread-safe; bounded. Invariant: what is remembered equals what a search
// would find.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "rung/theory/seqcomp_proof.h"

namespace rung {

class ProofCache {
 public:
  using Search = std::function<std::optional<SeqcompProof>()>;

  // What `search` finds, or found when this question was asked before.
  std::optional<SeqcompProof> recall(const std::string& question, const Search& search);
  std::size_t size() const;

  static constexpr std::size_t kMost = 4096;  // then all are forgotten

 private:
  mutable std::mutex guard_;
  std::unordered_map<std::string, std::optional<SeqcompProof>> proofs_;
};

}  // namespace rung
