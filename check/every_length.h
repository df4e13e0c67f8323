// Certificates about an automaton task and every length of its words (docs/certificate_v1.md,
// "every-length" and "wrong-word").
#pragma once

#include "check/certificate.h"
#include "check/document.h"

namespace rung_check {

bool speaks_of_words(const std::string& kind);

// REQUIRES speaks_of_words(kind of the frame). Throws Rejected, Malformed or OutOfResources.
Report verify_words(Members& frame, const std::string* model, Budget& budget);

// The model that a frame names: the bytes must have its hash.
void check_model_hash(Members& frame, const std::string* model);

}  // namespace rung_check
