// A construction: weights that a proof writes down, with the claim they prove and how it can be checked.
//
//   auto made = build_construction({.name = "eva", .sizes = {{"n", 64}}});
//   made->weights                                     // run by the exact machine like any trained model
//   verify(*made, {})                                 // verification.h
//
// A construction is added by adding its file, which defines ConstructionWord NAME_construction(), and one
// line in construction_list.cc. Determinism: the weights depend on the request alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/constructions/model_writer.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task.h"
#include "rung/theory/softmax_gadgets.h"

namespace rung {

struct ConstructionRequest {
  std::string name;
  TaskSizes sizes;
  std::map<std::string, std::string>
      options;                   // by=linear, pattern=RFF, encoder=yes, cot=yes, blank=counting, ...
  std::optional<int> precision;  // absent: the smallest that the lemma proves

  // The option's word, or `fallback`.
  std::string option(const std::string& name, const std::string& fallback) const;
};

struct Construction {
  Weights weights;
  std::shared_ptr<const Task> task;
  std::string claim, reference;
  std::vector<Slot> slots;  // what every coordinate of the residual row holds
  std::optional<int>
      p_proved;       // smallest precision for which the lemma holds at this size; absent: none proves it
  std::string lemma;  // one line: where p_proved comes from
  MlpCost mlp;
  std::string paper_mlp;                       // what the paper counts instead
  std::function<IntervalArgument()> interval;  // empty: no argument about all inputs
  // The inputs that come closest to a wrong answer at these very weights, at most `count`; run first when not
  // all are. Empty: the task's adversarial ones are the worst that is known.
  std::function<std::vector<Instance>(std::int64_t count)> worst;
};

struct ConstructionWord {
  std::string_view name;
  std::string_view summary;
  std::string_view task;  // whose sizes it takes
  struct Option {
    std::string_view name, help;
    std::vector<std::string_view> words;  // the first is the default; empty: any text
  };
  std::vector<Option> options = {};
  // REQUIRES request.options among those above, request.precision in 2..48 or absent.
  Result<Construction> (*build)(const ConstructionRequest& request);
};

// The explicit list, in the order of docs/constructions.md.
std::span<const ConstructionWord> construction_words();
Result<const ConstructionWord*> find_construction_word(std::string_view name);

// ENSURES: unknown names, options and sizes are one-line errors with the nearest word; weights carry claim,
// reference, layout and invariant as notes.
Result<Construction> build_construction(const ConstructionRequest& request);

// Arguments about all inputs: nothing is rounded, or what is read outweighs all else, which is at most `leak` of it.
inline IntervalArgument exact_argument(bool holds, std::string why) {
  return {holds, 0, holds ? 1.0 : 0.0, std::move(why)};
}
inline IntervalArgument leak_argument(double leak, std::string why) {
  return {leak < 1, leak, 1 - leak, std::move(why)};
}

// The last steps that every construction shares: weights, notes and costs from the writer.
Result<Construction> finish_construction(ModelWriter& model, std::shared_ptr<const Task> task,
                                         std::string claim, std::string reference);

}  // namespace rung
