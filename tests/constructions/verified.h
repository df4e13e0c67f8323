// Builds a construction and checks it: what most tests of constructions begin with.
#pragma once

#include <gtest/gtest.h>

#include "rung/constructions/precision_search.h"
#include "rung/spec/accounting.h"

namespace rung {

inline Construction built(const ConstructionRequest& request) {
  auto made = build_construction(request);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

inline Verification verified(const Construction& made, const VerificationOptions& options = {}) {
  auto found = verify(made, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found;
}

// State bits over all layers, as rung show counts them.
inline std::int64_t state_bits(const Construction& made) {
  const auto layers = resolve(made.weights.architecture);
  EXPECT_TRUE(layers);
  return account(made.weights.architecture, *layers, {}).state_bits;
}

// Every instance of this size was run and answered.
inline void expect_exhaustive(const Construction& made) {
  const Verification found = verified(made);
  EXPECT_EQ(found.mode, VerificationMode::exhaustive) << made.claim;
  EXPECT_GT(found.instances, 0u);
  EXPECT_EQ(found.errors, 0u) << made.claim << " "
                              << (found.failure ? show_failure(*made.task, *found.failure) : "");
}

// Samples were answered, and the argument covers the rest.
inline void expect_interval(const Construction& made, std::int64_t samples) {
  const Verification found = verified(made, {.budget = 1000, .samples = samples});
  EXPECT_EQ(found.mode, VerificationMode::interval) << made.claim;
  EXPECT_EQ(found.errors, 0u) << made.claim << " "
                              << (found.failure ? show_failure(*made.task, *found.failure) : "");
}

// Errs, and shows an instance that the task itself confirms.
inline void expect_failure(const Construction& made, const VerificationOptions& options = {}) {
  const Verification found = verified(made, options);
  EXPECT_GT(found.errors, 0u) << made.claim;
  ASSERT_TRUE(found.failure);
  EXPECT_NE(found.failure->expected, found.failure->answered);
  EXPECT_EQ(made.task->answer(found.failure->prompt), found.failure->expected);
}

// The smallest precision that passes, from 2 up, and an instance that fails one bit below.
inline void expect_smallest_precision(const ConstructionRequest& request, int p,
                                      const VerificationOptions& options = {}) {
  const auto search = search_precision(request, options, 2, 48);
  ASSERT_TRUE(search) << search.error().message;
  ASSERT_TRUE(search->p_measured);
  EXPECT_EQ(*search->p_measured, p);
  if (p > 2) {
    EXPECT_EQ(*search->failed_at, p - 1);
    EXPECT_TRUE(search->failure);
  }
}

}  // namespace rung
