// A construction hands over a certificate (docs/certificate_v1.md): its file is right on a stated set of
// instances, which a stranger can make, run and compare without rung. Everything stated was run here first.
#pragma once

#include "rung/certificate/certificate.h"
#include "rung/constructions/verification.h"

namespace rung {

// The sets that the certificate states, chosen so that a slow checker reruns them within seconds: every
// instance where those are few; else a walk through the tree of prompts by `seed`, and the worst and
// adversarial instances listed one by one. ENSURES on success: the model answers all of them. Errors: those
// of the machine; an instance that is answered wrongly.
Result<ConstructionClaim> certified_claim(const Construction& construction, std::uint64_t seed);

// REQUIRES model_sha256 of the file that holds construction.weights.
Certificate construction_certificate(const Construction& construction, ConstructionClaim claim,
                                     std::string model_sha256);

}  // namespace rung
