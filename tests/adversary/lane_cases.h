// Models of every mixer that the lanes know: what fast kernels are compared on.
#pragma once

#include "tests/adversary/targets.h"

namespace rung {

struct LaneCase {
  std::string label;
  RandomTarget model;
  std::string task = "eva";
  TaskSizes sizes = {{"n", 12}};
};

inline std::vector<LaneCase> lane_cases() {
  return {
      {"linear_wrap", {"linear(heads=2,dim=2,feature=relu,normalised=no)*2"}},
      {"linear_normalised", {"linear(heads=1,dim=3)*2"}},
      {"linear_round", {.architecture = "linear(heads=1,dim=2)*2", .accumulator = Accumulator::round}},
      {"linear_exact", {.architecture = "linear(heads=1,dim=2)*2", .accumulator = Accumulator::exact}},
      {"mamba2", {.architecture = "mamba2(heads=2,dim=2,state=2,form=plain)*3", .precision = 8}},
      {"mamba2_saturating",
       {.architecture = "mamba2(heads=2,dim=2,state=2,form=plain)*2", .accumulator = Accumulator::round}},
      {"delta", {.architecture = "delta(heads=2,dim=2,form=plain)*2", .accumulator = Accumulator::round}},
      {"gdelta",
       {.architecture = "gdelta(heads=2,dim=2,form=plain)*2",
        .precision = 8,
        .accumulator = Accumulator::round}},
      {"delta_steps",
       {.architecture = "delta(heads=2,kv=1,dim=2,steps=3,form=plain)*2", .accumulator = Accumulator::round}},
      {"gdelta_steps", {.architecture = "gdelta(heads=1,dim=2,steps=2,form=plain)*2", .precision = 6}},
      {"rnn", {.architecture = "rnn(size=3)*2", .accumulator = Accumulator::round}},
      {"gru", {.architecture = "gru(size=3)*2", .accumulator = Accumulator::round}},
      {"gru_wide", {.architecture = "gru(size=2)*2", .precision = 8}},
      {"mamba", {.architecture = "mamba(inner=2,state=3,form=plain)*2", .accumulator = Accumulator::round}},
      {"mamba_wide", {.architecture = "mamba(inner=3,state=1,form=plain)*2", .precision = 7}},
      {"mlp",
       {.architecture = "gdelta(heads=1,dim=2,form=plain)+identity+rnn(size=2)+none+mamba2(heads=1,dim="
                        "2,state=2,form=plain)",
        .mlp = {5, 3}}},
      {"mqar",
       {.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)*2"},
       "mqar",
       {{"n", 4}, {"queries", 1}}},
      {"retrieval", {.architecture = "delta(heads=1,dim=2,form=plain)"}, "retrieval", {{"n", 6}}}};
}

}  // namespace rung
