// Further ways to build Eva and 2-Sum-last: one file each, chosen by --by.
#pragma once

#include "rung/constructions/construction.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {

// The row of one lookup: position t carries its code and the bits of f(t), the last one the code of x. `token`:
// digits of the largest token.
struct LookupRow {
  RetrievalHead head;
  Slot fetched;
};
LookupRow lookup_row(ModelWriter& model, int digits, int value_digits, int token);

// The task is the request's name: eva, or (lookup and linear) index.
Result<Construction> build_eva_lookup(const ConstructionRequest& request);
Result<Construction> build_eva_linear(const ConstructionRequest& request);   // by=linear and by=loglinear
Result<Construction> build_eva_written(const ConstructionRequest& request);  // by=delta, by=mamba2, one row
Result<Construction> build_eva_sparse(const ConstructionRequest& request);
Result<Construction> build_two_sum_sparse(const ConstructionRequest& request);

}  // namespace rung
