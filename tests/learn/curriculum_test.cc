// What members are taught on the way to the whole task: a support that each passes at its own pace, values between that
// are read from inside, a file to start from.
#include <set>

#include "rung/learn/answer_loss.h"
#include "tests/learn/training.h"

namespace rung::learn {
namespace {

// Stages that are passed within a few dozen steps: two values, then three, then all five.
TrainingPlan paced() {
  TrainingPlan plan = small_plan("full", "eva", {{"n", 5}});
  plan.steps = 120;
  plan.batch = 16;
  plan.rates = {1e-2};
  plan.queries = 4;
  plan.evaluate_count = 64;
  plan.support = {{{"n", 2}}, {{"n", 3}}};
  plan.advance = 0.8;
  return plan;
}

std::vector<std::int64_t> stages_of(const std::vector<CurvePoint>& curve) {
  std::vector<std::int64_t> stages;
  for (const CurvePoint& point : curve) stages.push_back(point.stage);
  return stages;
}

TEST(support, is_what_a_member_is_taught_and_the_whole_task_is_what_it_is_measured_on) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"seqcomp", {{"L", 2}, {"m", 4}, {"n1", 6}}, {}}, 1}};
  plan.queries = 3;
  plan.parts = true;
  plan.support = {{{"m", 2}, {"n1", 3}}};
  const Parts parts(plan);
  ASSERT_EQ(parts.lesson->supports(), 2u);
  const std::int64_t length = parts.lesson->length(0, 0);
  const Batch taught = parts.lesson->draw({0, 0, {5, 5}, 0, 40, true, false, {0, 1}});
  const Batch plain = parts.lesson->draw({0, 0, {5, 5}, 0, 40, true});
  EXPECT_TRUE(torch::equal(taught.inputs.fields[0][1], plain.inputs.fields[0][1])) << "the whole is the task";
  EXPECT_TRUE(torch::equal(taught.targets[1], plain.targets[1]));
  const torch::Tensor small = taught.inputs.fields[0][0];  // [B, T]: 24 of z_2, 4 of z_1, three questions
  EXPECT_EQ(small.narrow(1, 0, 24).max().item<std::int64_t>(), 5);
  EXPECT_EQ(small.narrow(1, 24, 4).max().item<std::int64_t>(), 1);
  for (std::int64_t q = 0; q < 3; ++q) {
    EXPECT_LE(small.select(1, length - 9 + 3 * q).max().item<std::int64_t>(), 1);
    EXPECT_EQ(small.select(1, length - 8 + 3 * q).max().item<std::int64_t>(), 2);
  }
  EXPECT_EQ(taught.targets[0].max().item<std::int64_t>(), 5);
  EXPECT_GT(plain.targets[0].max().item<std::int64_t>(), 20);
}

TEST(support, leaves_a_share_of_every_batch_whole) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"seqcomp", {{"L", 2}, {"m", 4}, {"n1", 6}}, {}}, 1}};
  plan.support = {{{"m", 2}, {"n1", 3}}};
  const Parts none(plan);
  plan.whole = 0.25;
  const Parts some(plan);
  const Lesson::Draw draw{0, 0, {5, 6}, 0, 40, true, false, {0, 0}};
  const auto rows = [&](const Parts& parts, const Lesson::Draw& what, std::int64_t first,
                        std::int64_t count) {
    return parts.lesson->draw(what).inputs.fields[0].narrow(1, first, count);
  };
  Lesson::Draw whole = draw, measured = draw;
  whole.supports = {};
  measured.teaching = false;
  EXPECT_TRUE(torch::equal(rows(some, draw, 0, 10), rows(none, whole, 0, 10)));
  EXPECT_TRUE(torch::equal(rows(some, draw, 10, 30), rows(none, draw, 10, 30)));
  EXPECT_FALSE(torch::equal(rows(none, draw, 0, 10), rows(none, whole, 0, 10)));
  EXPECT_TRUE(torch::equal(rows(some, measured, 0, 40), rows(none, measured, 0, 40)));
  plan.support.clear();
  const auto refused = check_plan(plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("whole needs support"), std::string::npos);
}

// A member that knows the task keeps it with a few bits of what it fetches.
TEST(carried_bits, are_the_fewest_with_which_a_member_does_as_well) {
  TrainingPlan plan = paced();
  plan.support.clear();
  plan.steps = 300;
  plan.rates = {1e-2, 1e-9};
  plan.carried_bits = true;
  Folder folder;
  const auto result = train_in(plan, folder / "run", 1);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_GE(result->members[0].accuracy(), 0.95);
  ASSERT_TRUE(result->members[0].carried_bits && result->members[1].carried_bits);
  EXPECT_LE(*result->members[0].carried_bits, 8);
  // A state that grows along the prompt is measured over its whole range.
  TrainingPlan growing = plan;
  growing.arch = "linear(heads=1,dim=8,feature=exp)+full";
  growing.rates = {1e-2};
  const auto grown = train_in(growing, folder / "growing", 1);
  ASSERT_TRUE(grown.ok()) << grown.error().message;
  ASSERT_GE(grown->members[0].accuracy(), 0.95);
  ASSERT_TRUE(grown->members[0].carried_bits);
  EXPECT_GE(*grown->members[0].carried_bits, 2);
  EXPECT_LE(*grown->members[0].carried_bits, 12);
  // It is measured at the end and changes nothing; a resumed run finds it in the file.
  plan.carried_bits = false;
  const auto without = train_in(plan, folder / "without", 1);
  ASSERT_TRUE(without.ok());
  expect_same_curve(result->members[0], without->members[0]);
  EXPECT_EQ(result->members[0].right, without->members[0].right);
  EXPECT_FALSE(without->members[0].carried_bits);
}

// One number that is fetched has two bits: of five equally likely answers it can tell four.
TEST(carry_bits, are_all_that_a_position_has_of_the_others_in_training_and_after_it) {
  TrainingPlan plan = paced();
  plan.arch = "full(heads=1,dim=8,vdim=1)";
  plan.support.clear();
  plan.steps = 400;
  plan.final_count = 2000;
  Folder folder;
  const auto free = train_in(plan, folder / "free", 1);
  ASSERT_TRUE(free.ok()) << free.error().message;
  ASSERT_GE(free->members[0].accuracy(), 0.95);
  for (const int bits : {2, 5}) {
    plan.carry_bits = bits;
    plan.round_after = 200;
    const auto rounded = train_in(plan, folder / std::to_string(bits), 1);
    ASSERT_TRUE(rounded.ok()) << rounded.error().message;
    EXPECT_EQ(rounded->members[0].carried_bits, bits);
    if (bits == 2)
      EXPECT_LE(rounded->members[0].accuracy(), 0.84) << "four fifths and sampling error";
    else
      EXPECT_GE(rounded->members[0].accuracy(), 0.95);
  }
  // A cell's states are rounded by its kernel, a matrix's by the plain recurrence.
  for (const char* arch : {"gru(size=3)+full", "delta(form=plain,dim=2)+full"}) {
    plan.arch = arch;
    plan.steps = 4, plan.round_after = 2;
    EXPECT_TRUE(train_in(plan, folder / std::string(arch), 1).ok()) << arch;
  }
  plan.arch = "heads(full:1,linear:1)";
  const auto sums = train_in(plan, folder / "sums", 1);
  ASSERT_FALSE(sums.ok());
  EXPECT_NE(sums.error().message.find("stay exact"), std::string::npos) << sums.error().message;
}

TEST(support, is_passed_at_each_members_own_pace_the_same_alone_and_in_company) {
  TrainingPlan plan = paced();
  plan.seeds = {1, 2, 3};
  plan.rates = {1e-2, 1e-9};  // one that learns, one that never does
  Folder folder;
  const auto together = train_in(plan, folder / "together", 2);
  ASSERT_TRUE(together.ok()) << together.error().message;
  std::set<std::vector<std::int64_t>> paces;
  for (const MemberResult& member : together->members) {
    const auto stages = stages_of(member.curve);
    EXPECT_TRUE(std::is_sorted(stages.begin(), stages.end()));
    EXPECT_EQ(stages.front(), 0);
    EXPECT_EQ(stages.back(), member.plan.rate > 1e-3 ? 2 : 0) << member.plan.index;
    EXPECT_EQ(ending_note(plan, member.curve),
              member.plan.rate > 1e-3 ? "" : "stayed at the first of 3 stages");
    paces.insert(stages);
    TrainingPlan alone = plan;
    alone.seeds = {member.plan.seed};
    alone.rates = {member.plan.rate};
    const auto result = train_in(alone, folder / ("alone" + std::to_string(member.plan.index)), 1);
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_same_curve(member, result->members[0]);
  }
  EXPECT_GE(paces.size(), 2u);
}

// The trainer of a GPU has several members; its arithmetic on a CPU is that of one, up to the order of sums.
TEST(support, is_each_members_own_in_one_batched_program_too) {
  TrainingPlan plan = paced();
  plan.seeds = {1};
  plan.rates = {1e-2, 1e-9};
  const Parts parts(plan);
  Trainer both(plan, *parts.lesson, *parts.model, members(plan), torch::kCPU);
  run_to(both, plan, plan.steps);
  EXPECT_EQ(both.progress()[0].curve.back().stage, 2);
  EXPECT_EQ(both.progress()[1].curve.back().stage, 0);
}

TEST(support, goes_on_from_a_checkpoint_to_the_same_stages_and_bits) {
  const TrainingPlan plan = paced();
  const Parts parts(plan);
  Folder folder;
  Trainer whole = parts.trainer();
  run_to(whole, plan, 120);
  const auto stages = stages_of(whole.progress()[0].curve);
  ASSERT_EQ(stages.back(), 2);
  // Behind the evaluation that moved it on, before the next.
  const auto moved = std::find(stages.begin(), stages.end(), 1) - stages.begin();
  Trainer first = parts.trainer();
  run_to(first, plan, 10 * moved + 3);
  ASSERT_EQ(first.progress()[0].stage, 1u);
  ASSERT_TRUE(first.save(folder / "checkpoint").ok());
  Trainer second = parts.trainer();
  ASSERT_TRUE(second.restore(folder / "checkpoint").ok());
  EXPECT_EQ(second.progress()[0].stage, 1u);
  run_to(second, plan, 120);
  EXPECT_EQ(whole.progress()[0].curve, second.progress()[0].curve);
}

TEST(support, counts_only_the_whole_task_for_an_early_stop) {
  TrainingPlan plan = paced();
  plan.steps = 30;
  plan.support = {{{"n", 1}}, {{"n", 1}}};  // one value: learned at once, and all right twice in a row
  plan.advance = plan.stop.emplace(0.999);
  const Parts parts(plan);
  Trainer trainer = parts.trainer();
  run_to(trainer, plan, 30);
  EXPECT_EQ(trainer.progress()[0].curve.back().stage, 2);
  EXPECT_EQ(trainer.progress()[0].steps, 30);
  EXPECT_LT(trainer.progress()[0].curve.back().accuracy[0], 0.999);
}

TEST(support, is_refused_where_a_task_has_none_or_no_such_size) {
  struct Refused {
    std::string task;
    TaskSizes sizes, support;
    std::string part;
  };
  for (const auto& [task, sizes, support, part] :
       std::vector<Refused>{{"two-sum", {{"n", 5}}, {{"n", 3}}, "eva, index or seqcomp"},
                            {"khop", {{"n", 5}}, {{"n", 3}}, "khop has none"},
                            {"eva", {{"n", 5}}, {{"m", 3}}, "no size \"m\"; n expected"},
                            {"eva", {{"n", 5}}, {{"n", 6}}, "n = 6 of eva; 1 to 5 expected"},
                            {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {{"L", 1}}, "m, n1 expected"},
                            {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {{"n1", 0}}, "1 to 2 expected"}}) {
    TrainingPlan plan = trainee("full");
    plan.tasks = {{{task, sizes, {}}, 1}};
    plan.support = {support};
    const auto made = Lesson::make(plan);
    ASSERT_FALSE(made.ok()) << task;
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  }
  TrainingPlan plan = trainee("full");
  plan.support = {{{"n", 3}}};
  plan.variant = Variant::zipf;
  EXPECT_FALSE(Lesson::make(plan).ok());
}

TrainingPlan composing(const std::string& line = "full*3") {
  TrainingPlan plan = small_plan(line, "seqcomp", {{"L", 3}, {"m", 2}, {"n1", 3}, {"n2", 2}});
  plan.queries = 3;
  plan.parts = true;
  plan.supervision = Supervision::deep;
  return plan;
}

TEST(deep, teaches_the_values_between_that_the_chain_of_thought_names) {
  TrainingPlan plan = composing();
  plan.parts = false;
  const Parts parts(plan);
  const Task& task = parts.lesson->task(0, 0);
  const Batch batch = parts.lesson->draw({0, 0, {5, 6}, 0, 4, true});
  ASSERT_EQ(batch.between.sizes().vec(), (std::vector<std::int64_t>{2, 2, 12}));
  EXPECT_FALSE(parts.lesson->draw({0, 0, {5, 6}, 0, 4, false}).between.defined());
  const std::int64_t length = parts.lesson->length(0, 0), base = task.prompt_length();
  for (std::int64_t row = 0; row < 8; ++row)
    for (std::int64_t q = 0; q < 3; ++q) {
      const auto* token = batch.inputs.fields[0].data_ptr<std::int64_t>() + row * length;
      Prompt prompt{base, {std::vector<std::int64_t>(token, token + base - 4)}};
      prompt.fields[0].insert(prompt.fields[0].end(), token + base - 4 + 4 * q, token + base + 4 * q);
      // Its second and third thoughts are the arguments w_l N_{l-1} + i_l: i_1 below N_0 = 2, i_2 below N_1 = 6.
      const auto thoughts = *task.chain_of_thought(prompt);
      const auto at = [&](std::int64_t l) {
        return batch.between[l - 1].flatten()[row * 3 + q].item<std::int64_t>();
      };
      EXPECT_EQ(at(1), thoughts[1] % 2);
      EXPECT_EQ(at(2), thoughts[2] % 6);
    }
}

TEST(deep, reads_named_layers_and_leaves_no_trace_in_the_file_or_the_answers) {
  TrainingPlan plan = composing();
  const Parts by_default(plan);
  const auto places = by_default.model->spec().readouts;
  ASSERT_EQ(places.size(), 2u);  // i_1 behind the first of three layers, i_2 behind the second
  EXPECT_EQ(places[0].place, (DeepReadout{1, 1, 0}));
  EXPECT_EQ(places[1].place, (DeepReadout{2, 2, 0}));
  EXPECT_EQ(places[0].size, 2);
  EXPECT_EQ(places[1].size, 6);
  TrainingPlan plain = plan;
  plain.supervision = Supervision::every_query;
  const Parts without(plain);
  Trainer one = by_default.trainer(), other = without.trainer();
  const Weights a = one.weights(0, {}), b = other.weights(0, {});
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors)
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      ASSERT_EQ(tensor.real(i), b.tensors.at(name).real(i)) << name;  // the same start
  EXPECT_EQ(one.final_scores()[0].right, other.final_scores()[0].right);
  // It teaches: the layers below a readout and no others move otherwise than without.
  plan.deep = {{1, 2, 3}};
  const Parts named(plan);
  const auto gradient = [](const Parts& parts, const std::string& name) {
    Parameters parameters(parts.model->layout(), {1}, {1.0}, torch::kCPU, torch::kFloat32);
    const Batch batch = parts.lesson->draw({0, 0, {5}, 0, 4, true});
    teach(*parts.model, batch, parameters.leaves, {}, 0);
    for (const ParameterSpec& spec : parts.model->layout().specs())
      for (const NamedRows& rows : spec.rows)
        if (rows.name == name) return parameters.gradient[0].narrow(0, spec.offset, spec.size()).clone();
    ADD_FAILURE() << name;
    return torch::Tensor();
  };
  for (const char* taught : {"layers.0.o.weight", "layers.1.mlp.0.weight"})
    EXPECT_FALSE(torch::equal(gradient(named, taught), gradient(without, taught))) << taught;
  for (const char* same : {"layers.2.o.weight", "out.table"})
    EXPECT_TRUE(torch::equal(gradient(named, same), gradient(without, same))) << same;
  EXPECT_GT(gradient(named, "readout.0.weight").abs().max().item<double>(), 0);
}

TEST(deep, reads_tokens_of_the_question_from_where_they_stand) {
  TrainingPlan plan = composing();
  plan.deep = {{1, 1, 0, 3}, {1, 2, 1, 1}};
  const Parts parts(plan);
  Parameters parameters(parts.model->layout(), {1}, {1.0}, torch::kCPU, torch::kFloat32);
  const std::vector<ParameterSpec>& specs = parts.model->layout().specs();
  for (std::size_t k = specs.size() - 4; k < specs.size(); ++k)  // weight and bias of two readouts
    parameters.leaves[k].data().zero_();
  const Batch batch = parts.lesson->draw({0, 0, {5}, 0, 8, true});
  teach(*parts.model, batch, parameters.leaves, {}, 0);
  const std::int64_t size = parts.model->spec().fields[0].size, rows = batch.targets.size(1);
  for (std::size_t k = 0; k < 2; ++k) {
    // Of a map that says the same of every token, the bias learns 1/size minus the token's share.
    torch::Tensor share = torch::zeros({size});
    for (std::int64_t q = 0; q < batch.answers; ++q) {
      const std::int64_t at = batch.inputs.wanted[q].item<std::int64_t>() - plan.deep[k].token;
      for (std::int64_t b = 0; b < 8; ++b)
        share[batch.inputs.fields[0][0][b][at].item<std::int64_t>()] += 1.0 / static_cast<double>(rows);
    }
    const ParameterSpec& bias = specs[specs.size() - 3 + 2 * k];
    ASSERT_EQ(bias.size(), size);
    EXPECT_TRUE(torch::allclose(parameters.gradient[0].narrow(0, bias.offset, size),
                                1.0 / static_cast<double>(size) - share, 1e-5, 1e-6));
  }
}

TEST(deep, goes_on_from_a_checkpoint_and_learns_what_it_reads) {
  TrainingPlan plan = composing("full*2");
  plan.tasks[0].task.sizes = {{"L", 2}, {"m", 2}, {"n1", 2}};
  plan.support = {{{"m", 1}}};
  const Parts parts(plan);
  Folder folder;
  Trainer whole = parts.trainer();
  run_to(whole, plan, 40);
  Trainer first = parts.trainer();
  run_to(first, plan, 23);
  ASSERT_TRUE(first.save(folder / "checkpoint").ok());
  Trainer second = parts.trainer();
  ASSERT_TRUE(second.restore(folder / "checkpoint").ok());
  run_to(second, plan, 40);
  EXPECT_EQ(whole.progress()[0].curve, second.progress()[0].curve);
}

TEST(deep, is_refused_without_a_composition_or_such_a_place) {
  const auto refused = [](const TrainingPlan& plan, const std::string& part) {
    const auto made = prepare(plan, 1);
    ASSERT_FALSE(made.ok()) << part;
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  };
  TrainingPlan plan = trainee("full");
  plan.supervision = Supervision::deep;
  refused(plan, "eva has no values between");
  plan = composing();
  plan.deep = {{3, 1, 0}};
  refused(plan, "values 1 to 2");
  plan.deep = {{1, 1, 0, 4}};
  refused(plan, "token 4");
  plan.deep = {{1, 4, 0}};
  refused(plan, "layer 4 of 3");
  plan.deep = {{1, 0, 0}};
  refused(plan, "deep.layer = 0");
  plan.deep = {{1, 1, 0}};
  plan.supervision = Supervision::every_query;
  refused(plan, "supervision deep expected");
}

TEST(warm_start, begins_with_the_numbers_of_a_file_and_names_the_tensor_that_does_not_fit) {
  TrainingPlan plan = composing();
  Folder folder;
  const auto taught = train_in(plan, folder / "first", 1);
  ASSERT_TRUE(taught.ok()) << taught.error().message;
  TrainingPlan next = plan;
  next.from = taught->members[0].file;
  next.seeds = {7};
  next.rates = {1e-9};
  next.supervision = Supervision::every_query;  // a file has no readouts
  const auto result = train_in(next, folder / "next", 1);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto a = read_weights(taught->members[0].file), b = read_weights(result->members[0].file);
  ASSERT_TRUE(a.ok() && b.ok());
  for (const auto& [name, tensor] : a->tensors)
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      ASSERT_NEAR(tensor.real(i), b->tensors.at(name).real(i), 1e-5) << name;
  const auto refused = [&](const TrainingPlan& other, const std::string& part) {
    const auto made = prepare(other, 1);
    ASSERT_FALSE(made.ok()) << part;
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  };
  TrainingPlan other = next;
  other.dimensions.width = 24;
  refused(other, "tensor embed.token.table has shape [");
  other = next;
  other.queries = 5;
  refused(other, "tensor embed.position.table has shape [");
  other = next;
  other.embedding = TokenEmbedding::binary;
  refused(other, "the file has no tensor embed.token.binary");
  other = next;
  other.arch = "full*2";
  refused(other, "architecture is full*3; full*2 expected");
  other = next;
  other.dimensions.heads = 4;
  refused(other, "layers.0.score.tau");
  other = next;
  other.dimensions.activation = MlpActivation::silu;
  refused(other, "another activation");
  other = next;
  other.from = folder / "none";
  refused(other, "none");
  other = next;
  other.scales = {2};
  refused(other, "scale 1 expected");
}

}  // namespace
}  // namespace rung::learn
