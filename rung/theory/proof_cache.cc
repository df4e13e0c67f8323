#include "rung/theory/proof_cache.h"

namespace rung {

std::optional<SeqcompProof> ProofCache::recall(const std::string& question, const Search& search) {
  {
    const std::lock_guard lock(guard_);
    if (const auto known = proofs_.find(question); known != proofs_.end()) return known->second;
  }
  auto found = search();
  const std::lock_guard lock(guard_);
  if (proofs_.size() >= kMost) proofs_.clear();
  proofs_.emplace(question, found);
  return found;
}

std::size_t ProofCache::size() const {
  const std::lock_guard lock(guard_);
  return proofs_.size();
}

}  // namespace rung
