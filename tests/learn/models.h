// Small models of every word of the language, and random prompts for them.
#pragma once

#include <string>
#include <vector>

#include "rung/base/random.h"
#include "rung/learn/model.h"
#include "rung/records/training_plan.h"

namespace rung::learn {

inline ModelSpec small_model(const std::string& line, std::int64_t context = 21, bool causal = true) {
  ModelSpec spec;
  auto stack = parse_stack(line);
  RUNG_REQUIRE(stack.ok(), "{}", line);
  spec.architecture.stack = *stack;
  Dimensions& dims = spec.architecture.dimensions;
  dims.width = 12;
  dims.heads = 2;
  dims.norm = Norm::rms;
  dims.context = context;
  dims.vocabulary = 11;
  dims.causal = causal;
  dims.precision = *parse_precision("fp32");
  spec.fields = {{"token", 11, 1, 0}};
  spec.output = {OutputSpec::Kind::logits, 7, 0};
  return spec;
}

inline const std::vector<std::string>& causal_lines() {
  static const std::vector<std::string> lines{"full",
                                              "full(kv=1)",
                                              "full(window=4)",
                                              "full(chunk=5)",
                                              "full(conv=3)",
                                              "linear",
                                              "linear(feature=taylor2)",
                                              "linear(feature=relu)",
                                              "linear(feature=identity,normalised=no)",
                                              "rnn",
                                              "rnn(cell=relu)",
                                              "gru",
                                              "mamba",
                                              "mamba(conv=3)",
                                              "mamba2",
                                              "mamba2(groups=1,conv=2)",
                                              "delta",
                                              "delta(conv=2)",
                                              "gdelta",
                                              "loglinear",
                                              "loglinear(base=mamba2)",
                                              "loglinear(base=gdelta)",
                                              "sparse(B=4,k=2)",
                                              "sparse(B=3,k=1,window=4)",
                                              "topk(k=3)",
                                              "conv(width=3)",
                                              "identity",
                                              "none",
                                              "heads(full:1,linear:1)",
                                              "full+gdelta*2"};
  return lines;
}

// A plan of seconds: one small task, an evaluation now and then.
inline TrainingPlan small_plan(const std::string& line, const std::string& task, const TaskSizes& sizes) {
  TrainingPlan plan;
  plan.arch = line;
  plan.dimensions.width = 16;
  plan.dimensions.heads = 2;
  plan.dimensions.norm = Norm::rms;
  plan.tasks = {{{task, sizes, {}}, 1}};
  plan.steps = 40;
  plan.warmup = 5;
  plan.batch = 8;
  plan.evaluate_every = 10;
  plan.evaluate_count = 24;
  plan.final_count = 40;
  plan.checkpoint_every = 20;
  plan.device = "cpu";
  return plan;
}

// Field values [1, prompts, length].
inline Inputs random_inputs(const ModelSpec& spec, std::int64_t members, std::int64_t prompts,
                            std::int64_t length, std::uint64_t seed) {
  Inputs inputs;
  Random random(seed);
  for (const FieldSpec& field : spec.fields) {
    torch::Tensor values = torch::empty({members, prompts, length}, torch::kLong);
    auto* at = values.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < values.numel(); ++i) at[i] = random.between(0, field.size - 1);
    inputs.fields.push_back(values);
  }
  return inputs;
}

}  // namespace rung::learn
