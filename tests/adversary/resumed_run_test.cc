#include "rung/adversary/resumed_run.h"

#include "tests/adversary/targets.h"

namespace rung {
namespace {

Target target_of(const std::string& architecture) {
  return random_target({.architecture = architecture, .width = 6, .precision = 8},
                       task_of("seqcomp", {{"L", 2}, {"m", 4}, {"n1", 5}}));
}

TEST(resumed_run, refuses_layers_that_select_among_earlier_tokens) {
  for (const char* architecture :
       {"sparse(B=4,k=2,heads=1,dim=2,form=plain)", "topk(heads=1,dim=2,k=3,form=plain)"}) {
    const auto target = target_of(architecture);
    const Prompt prompt = target.task->generate(Variant::uniform, 1, 0).prompt;
    EXPECT_FALSE(ResumedRun::make(*target.machine, target.task->fields(), prompt, 5)) << architecture;
  }
}

TEST(resumed_run, gives_the_numbers_of_the_whole_run_for_every_mixer) {
  for (const char* architecture :
       {"full(heads=2,dim=3)", "full(heads=2,dim=3,conv=3)", "full(heads=1,dim=2,window=4)",
        "linear(heads=2,dim=2)", "mamba2(heads=2,dim=2,form=plain)", "mamba(inner=4,form=plain)", "rnn",
        "gru", "delta(heads=1,dim=3,form=plain)", "gdelta(heads=1,dim=3,conv=2,form=plain)",
        "loglinear(base=linear,heads=1,dim=2)", "loglinear(base=gdelta,heads=1,dim=2,form=plain)",
        "conv(width=3)", "identity", "heads(full:1,linear:1)",
        "full(heads=1,dim=2)+linear(heads=1,dim=2)*3+full(heads=1,dim=2)+none"}) {
    const auto target = target_of(architecture);
    const auto& task = *target.task;
    const Prompt base = task.generate(Variant::uniform, 1, 0).prompt;
    for (const std::int64_t shared : {0, 1, 8, 20, 26}) {
      const auto run = ResumedRun::make(*target.machine, task.fields(), base, shared);
      ASSERT_TRUE(run) << architecture;
      for (std::uint64_t i = 1; i <= 3; ++i) {
        Prompt prompt = task.generate(Variant::uniform, 1, i).prompt;
        std::copy_n(base.fields[0].begin(), shared, prompt.fields[0].begin());
        const auto whole = target.machine->forward(prompt, task.query_positions());
        ASSERT_TRUE(whole);
        EXPECT_EQ(run->last(prompt).activation, (*whole)[0].activation) << architecture << " from " << shared;
        if (target.pattern.find('F') != std::string::npos) continue;
        const auto states = states_after(target, prompt, 27);
        ASSERT_TRUE(states);
        EXPECT_EQ(run->states(prompt, 27), *states) << architecture << " from " << shared;
      }
    }
  }
}

}  // namespace
}  // namespace rung
