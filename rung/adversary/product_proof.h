// A model file and an automaton task as one problem of `rung verify`, and the certificates of its outcomes.
//
//   auto problem = open_product("model.safetensors", task, /*depth=*/{});
//   auto outcome = search(*problem, options, {});
//   product_certificate(*problem, *outcome)       // of `proved` and `refuted`
#pragma once

#include "rung/adversary/product_search.h"

namespace rung {

struct ProductProblem {
  Target target;
  ProductTask task;
  bool finite = false;  // the model is a finite automaton (finite_state.h)
  bool floats = false;  // run in a float format: what is found is about this evaluator's order of operations
};

// The task as the search needs it. REQUIRES task.automaton().
ProductTask product_task(const Task& task);

// Errors: a file that is no model, a task that is no automaton task, a model that does not fit it;
// without a depth a model that is no finite automaton, which is named; one that has no answers letter by
// letter; floats without a format. `quantised`: the model is run as reals rounded to this format (mode
// Q).
Result<ProductProblem> open_product(const std::string& model_path, std::shared_ptr<const Task> task,
                                    std::optional<std::int64_t> depth,
                                    const std::optional<Precision>& quantised = {});
// The same for weights that are in memory.
Result<ProductProblem> make_product(Weights weights, std::shared_ptr<const Task> task,
                                    std::optional<std::int64_t> depth,
                                    const std::optional<Precision>& quantised = {});

// Where time or memory end the search of a finite model, and no depth was asked for, the powers of short words
// are looked at (orbits.h). ENSURES a refuting word was run again by the exact machine as a whole prompt.
Result<ProductOutcome> search(const ProductProblem& problem, const SearchOptions& options,
                              std::optional<std::int64_t> depth);

// Nothing where the outcome is bounded, and of floats, which rung-check does not run bit for bit.
std::optional<Certificate> product_certificate(const ProductProblem& problem, const ProductOutcome& outcome);

}  // namespace rung
