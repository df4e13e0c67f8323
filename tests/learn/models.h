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

// Released forms, gla, kda, rwkv7 and rotary positions: every option once.
inline const std::vector<std::string>& released_lines() {
  static const std::vector<std::string> lines{
      "full(rope=half)",
      "full(kv=1,window=4,conv=3,rope=interleaved,theta=100,rope_dim=4)",
      "mamba(form=released,conv=3)",
      "mamba(form=released,select=input,gate=none,norms=after,rank=2)",
      "mamba(form=released,conv=3,conv_bias=no,act=none,gate=sigmoid,norms=before,rank=2)",
      "mamba(gate=silu,norms=after,form=plain)",
      "mamba2(form=released,conv=3)",
      "mamba2(form=released,groups=1,skip=channel,norm=before,gate=sigmoid)",
      "mamba2(form=released,groups=2,norm_groups=1,conv=2,conv_bias=no)",
      "mamba2(act=silu,decay=sigmoid,skip=head,norm=after,form=plain)",
      "delta(form=released,conv=2,range=2)",
      "delta(form=released,qk_act=elu1,qk_norm=sum,beta=no)",
      "delta(form=released,conv=2,conv_bias=yes,qk_act=relu,scale=no,norm=after,gate=silu)",
      "gdelta(form=released,conv=3,kv=1)",
      "gdelta(qk_norm=l2,gate=silu,norm=before,form=plain)",
      "gdelta(form=released,range=2,gate=none,norm=none)",
      "gla(rank=4)",
      "gla(kv=1,conv=3,conv_bias=yes,rank=4,gate=sigmoid)",
      "gla(rank=4,gate=none)",
      "kda(rank=4,conv=3)",
      "kda(rank=4,kv=1,decay=bounded,range=2,conv=2,conv_bias=yes)",
      "rwkv7(rank_w=4,rank_a=4,rank_g=4)",
      "rwkv7(rank_w=4,rank_a=4,rank_g=4)+rwkv7(rank_w=4,rank_a=4,rank_g=4,rank_v=4,values=first,key_norm="
      "unit)",
      "loglinear(base=mamba2,form=released,conv=3)",
      "loglinear(base=mamba2,form=released,groups=1,skip=channel,norm=before,gate=sigmoid)",
      "loglinear(base=gdelta,form=released,conv=3,range=2,kv=1)",
      "loglinear(base=gdelta,form=released,partition=strong)",
      "loglinear(base=mamba2,form=released,partition=strong,norm=none,gate=none,skip=none)",
      "sparse(B=4,k=3,form=released,window=3)",
      "sparse(B=4,k=2,kv=1,form=released,first=0,local=1,rope=none,compress=pool,span=4,stride=2)",
      "sparse(B=4,k=3,form=released,compress=weighted,span=4,stride=2,window=2)",
      "sparse(B=2,k=2,kv=1,form=released,compress=linear,span=4,stride=2,rope=interleaved,local=0)",
      "topk(k=3,rope=half,form=plain)",
      "topk(k=3,kv=1,index_heads=2,weights=signed,index_norm=yes,rope=interleaved,index_rope=half,rope_dim="
      "4)",
      "topk(k=4,index_heads=2,weights=signed,index_norm=yes,rope=half,index_rope=half,rope_dim=2,q_rank=5,"
      "kv_rank=4)"};
  return lines;
}

inline const std::vector<std::string>& causal_lines() {
  static const std::vector<std::string> plain{"full",
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
                                              "mamba(form=plain)",
                                              "mamba(conv=3,form=plain)",
                                              "mamba2(form=plain)",
                                              "mamba2(groups=1,conv=2,form=plain)",
                                              "delta(form=plain)",
                                              "delta(conv=2,form=plain)",
                                              "gdelta(form=plain)",
                                              "loglinear",
                                              "loglinear(base=mamba2,form=plain)",
                                              "loglinear(base=gdelta,form=plain)",
                                              "sparse(B=4,k=2,form=plain)",
                                              "sparse(B=3,k=1,window=4,form=plain)",
                                              "topk(k=3,form=plain)",
                                              "topk(k=3,index_heads=2,weights=signed,form=plain)",
                                              "conv(width=3)",
                                              "identity",
                                              "none",
                                              "heads(full:1,linear:1)",
                                              "full+gdelta(form=plain)*2",
                                              "heads(gdelta(form=released):1,full(rope=half):1)"};
  static const std::vector<std::string> lines = [] {
    auto all = plain;
    all.insert(all.end(), released_lines().begin(), released_lines().end());
    return all;
  }();
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
