// Training on a CPU: curves that depend on nothing but the member's own plan, checkpoints that go on where
// they stopped, lessons whose every answer the task itself confirms.
#include <ftw.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <tuple>

#include "rung/evaluation/evaluation.h"
#include "rung/learn/answer_loss.h"
#include "rung/learn/ensemble.h"
#include "rung/learn/trainer.h"
#include "tests/learn/models.h"

namespace rung::learn {
namespace {

namespace fs = std::filesystem;

TrainingPlan trainee(const std::string& line = "gdelta+full") { return small_plan(line, "eva", {{"n", 6}}); }

struct Parts {
  explicit Parts(const TrainingPlan& given) : plan(given) {
    auto made = Lesson::make(plan);
    RUNG_REQUIRE(made.ok(), "{}", made.error().message);
    lesson = std::make_unique<Lesson>(std::move(*made));
    auto spec = lesson->model_spec();
    RUNG_REQUIRE(spec.ok(), "{}", spec.error().message);
    auto built = Model::make(*spec);
    RUNG_REQUIRE(built.ok(), "{}", built.error().message);
    model = std::make_unique<Model>(std::move(*built));
  }
  Trainer trainer() const { return Trainer(plan, *lesson, *model, {members(plan)[0]}, torch::kCPU); }
  TrainingPlan plan;
  std::unique_ptr<Lesson> lesson;
  std::unique_ptr<Model> model;
};

void run_to(Trainer& trainer, const TrainingPlan& plan, std::int64_t step) {
  while (trainer.step_count() < step) {
    trainer.step();
    if (trainer.step_count() % plan.evaluate_every == 0) trainer.evaluate();
  }
}

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("rung-learn-" + std::to_string(::getpid()) + "-" + std::to_string(next_++))) {
    fs::create_directories(path_);
  }
  // Not remove_all of the standard library: PyTorch's wheel exports a broken one of its own.
  ~Folder() {
    nftw(
        path_.c_str(), [](const char* path, const struct stat*, int, struct FTW*) { return ::remove(path); },
        16, FTW_DEPTH | FTW_PHYS);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
  static inline int next_ = 0;
};

TEST(trainer, goes_on_from_a_checkpoint_to_the_same_bits) {
  for (const bool rounded : {false, true}) {
    TrainingPlan plan = trainee();
    plan.dropout = 0.1;
    if (rounded) plan.round_bits = 8, plan.round_after = 7;
    const Parts parts(plan);
    Folder folder;
    Trainer whole = parts.trainer();
    run_to(whole, plan, 40);
    Trainer first = parts.trainer();
    run_to(first, plan, 23);  // between two evaluations
    ASSERT_TRUE(first.save(folder / "checkpoint").ok());
    Trainer second = parts.trainer();
    const auto restored = second.restore(folder / "checkpoint");
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    run_to(second, plan, 40);
    ASSERT_EQ(whole.progress()[0].curve.size(), 4u);
    EXPECT_EQ(whole.progress()[0].curve, second.progress()[0].curve);
    const Weights a = whole.weights(0, {}), b = second.weights(0, {});
    EXPECT_EQ(a.notes, b.notes);
    for (const auto& [name, tensor] : a.tensors)
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        ASSERT_EQ(tensor.real(i), b.tensors.at(name).real(i)) << name;
  }
}

TEST(trainer, refuses_a_checkpoint_of_another_plan_or_a_broken_one) {
  const Parts parts(trainee()), others(trainee("full*2"));
  Folder folder;
  ASSERT_TRUE(parts.trainer().save(folder / "checkpoint").ok());
  const auto refused = others.trainer().restore(folder / "checkpoint");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another architecture"), std::string::npos)
      << refused.error().message;
  TrainingPlan longer = trainee();
  ++longer.steps;
  const Parts longer_parts(longer);
  const auto refused_too = longer_parts.trainer().restore(folder / "checkpoint");
  ASSERT_FALSE(refused_too.ok());
  EXPECT_NE(refused_too.error().message.find("another plan"), std::string::npos)
      << refused_too.error().message;
  const auto size = fs::file_size(folder / "checkpoint");
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{7}, size / 2, size - 1}) {
    fs::copy_file(folder / "checkpoint", folder / "cut", fs::copy_options::overwrite_existing);
    fs::resize_file(folder / "cut", cut);
    EXPECT_FALSE(parts.trainer().restore(folder / "cut").ok()) << cut;
  }
}

Result<EnsembleResult> train_in(const TrainingPlan& plan, const std::string& folder, int workers,
                                bool resume = false, std::function<bool()> stop = {}) {
  EnsembleOptions options;
  options.folder = folder;
  options.resume = resume;
  options.stop = std::move(stop);
  RUNG_TRY(const auto prepared, prepare(plan, workers));
  return train(*prepared, options);
}

void expect_same_curve(const MemberResult& a, const MemberResult& b) {
  ASSERT_EQ(a.curve.size(), b.curve.size());
  ASSERT_FALSE(a.curve.empty());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    EXPECT_EQ(a.curve[i].loss, b.curve[i].loss) << i;
    EXPECT_EQ(a.curve[i].accuracy, b.curve[i].accuracy) << i;
  }
  EXPECT_EQ(a.right, b.right);
}

// Words of an automaton have every length: what is taught on them has neither positions nor a context.
TEST(lesson, leaves_positions_and_context_out_for_automata) {
  const auto dimensions = [](const std::string& line, const std::string& task, const char* written) {
    const std::string text =
        fmt::format(R"({{"arch": "{}", "tasks": "{}", "dimensions": {{{}}}}})", line, task, written);
    const auto plan = parse_plan(text, "here");
    RUNG_REQUIRE(plan.ok(), "{}", plan.error().message);
    return Lesson::make(*plan)->model_spec()->architecture.dimensions;
  };
  EXPECT_EQ(dimensions("gru", "parity", R"("width": 8)").position, PositionCode::none);
  EXPECT_EQ(dimensions("gru", "parity", R"("width": 8)").context, 0);
  EXPECT_EQ(dimensions("gru", "parity", R"("width": 8, "position": "table")").position, PositionCode::table);
  EXPECT_GT(dimensions("gru", "parity", R"("width": 8, "position": "table")").context, 0);
  EXPECT_GT(dimensions("loglinear", "parity", R"("width": 8)").context, 0);  // its levels
  EXPECT_EQ(dimensions("gru", "eva", R"("width": 8)").position, PositionCode::table);
  EXPECT_GT(dimensions("gru", "eva", R"("width": 8)").context, 0);
}

TEST(ensemble, gives_every_member_the_curve_that_it_has_alone_bit_for_bit) {
  TrainingPlan plan = trainee("mamba2+full");
  plan.seeds = {3, 4};
  plan.rates = {1e-3, 3e-3};
  Folder folder;
  const auto together = train_in(plan, folder / "together", 2);
  ASSERT_TRUE(together.ok()) << together.error().message;
  ASSERT_EQ(together->members.size(), 4u);
  for (const MemberResult& member : together->members) {
    TrainingPlan alone = plan;
    alone.seeds = {member.plan.seed};
    alone.rates = {member.plan.rate};
    const auto result = train_in(alone, folder / ("alone" + std::to_string(member.plan.index)), 1);
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_same_curve(member, result->members[0]);
  }
  EXPECT_NE(together->members[0].curve.back().loss, together->members[1].curve.back().loss);
}

TEST(ensemble, stops_writes_checkpoints_and_goes_on_to_the_same_curves) {
  TrainingPlan plan = trainee();
  plan.seeds = {1, 2, 3};
  Folder folder;
  const auto whole = train_in(plan, folder / "whole", 2);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  std::atomic<int> asked{0};
  const auto stopped = train_in(plan, folder / "parts", 2, false, [&] { return ++asked > 60; });
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_TRUE(stopped->stopped);
  const auto refused = train_in(plan, folder / "parts", 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("`resume`"), std::string::npos);
  const auto resumed = train_in(plan, folder / "parts", 2, true);
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_FALSE(resumed->stopped);
  for (std::size_t e = 0; e < 3; ++e) expect_same_curve(whole->members[e], resumed->members[e]);
}

TEST(ensemble, marks_a_member_whose_loss_is_no_number_and_goes_on_with_the_others) {
  TrainingPlan plan = trainee("full");
  plan.rates = {3e-3};
  plan.scales = {1, 1e6};
  plan.dimensions.norm = Norm::none;
  plan.dimensions.mlp_given = true;
  plan.dimensions.mlp = {16, 16, 16, 16, 16, 16};
  Folder folder;
  const auto result = train_in(plan, folder / "run", 2);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->members[0].state, MemberResult::State::done);
  EXPECT_EQ(result->members[1].state, MemberResult::State::failed);
  EXPECT_NE(result->members[1].reason.find("NaN"), std::string::npos);
}

TEST(ensemble, writes_a_file_that_the_exact_machine_finds_as_accurate) {
  TrainingPlan plan = trainee("full");
  plan.steps = 400;
  plan.batch = 32;
  plan.rates = {1e-2};
  plan.evaluate_every = 100;
  plan.final_count = 400;
  Folder folder;
  const auto result = train_in(plan, folder / "run", 1);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const MemberResult& member = result->members[0];
  EXPECT_GT(member.accuracy(), 0.9);
  const auto weights = read_weights(member.file);
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  const auto task = make_task("eva", {{"n", 6}});
  ASSERT_TRUE(check_fit(*weights, **task).ok());
  const auto machine =
      Machine::load(*weights, {.positions = positions_needed(*weights, **task), .unrounded = true});
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  const auto exact = evaluate(**machine, *weights, **task, {.seed = 77, .count = 400});
  ASSERT_TRUE(exact.ok());
  EXPECT_NEAR(exact->accuracy(), member.accuracy(), 0.06);
}

TEST(lesson, asks_further_questions_whose_answers_the_task_confirms) {
  struct Asked {
    std::string name;
    TaskSizes sizes;
    std::int64_t question;
    Variant variant = Variant::uniform;
  };
  for (const auto& [name, sizes, question, variant] :
       std::vector<Asked>{{"eva", {{"n", 5}}, 1},
                          {"eva", {{"n", 5}}, 1, Variant::zipf},
                          {"eva", {{"n", 5}}, 1, Variant::permutation},
                          {"index", {{"n", 5}}, 1},
                          {"two-sum", {{"n", 5}}, 1},
                          {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 3}}, 3}}) {
    TrainingPlan plan = trainee("full");
    plan.variant = variant;
    plan.tasks = {{{name, sizes, {}}, 1}};
    plan.queries = 3;
    const Parts parts(plan);
    const Task& task = parts.lesson->task(0, 0);
    const std::int64_t base = task.prompt_length(), length = parts.lesson->length(0, 0);
    ASSERT_EQ(length, base + 2 * question) << name;
    const Batch batch = parts.lesson->draw({0, 0, {5, 6}, 3, 4, true});
    ASSERT_EQ(batch.answers, 3);
    std::set<std::int64_t> different;
    for (std::int64_t row = 0; row < 8; ++row) {
      const auto* token = batch.inputs.fields[0].data_ptr<std::int64_t>() + row * length;
      for (std::int64_t q = 0; q < 3; ++q) {
        Prompt prompt{base, {std::vector<std::int64_t>(token, token + base - question)}};
        const auto* asked = token + base - question + q * question;
        prompt.fields[0].insert(prompt.fields[0].end(), asked, asked + question);
        ASSERT_TRUE(task.validate(prompt).ok()) << name;
        EXPECT_EQ(batch.targets.view({-1})[row * 3 + q].item<std::int64_t>(), task.answer(prompt).back())
            << name;
        different.insert(*asked);
      }
      EXPECT_EQ(batch.inputs.wanted[2].item<std::int64_t>(), length - 1);
    }
    EXPECT_GT(different.size(), 1u) << name;
  }
}

TEST(lesson, asks_for_parts_of_a_chain_and_measures_the_whole) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 3}}, {}}, 1}};
  plan.queries = 3;
  plan.parts = true;
  const Parts parts(plan);
  const std::int64_t ends = 6;  // N_1 = 6 values, then the end tokens of three kinds
  EXPECT_EQ(parts.lesson->model_spec()->fields[0].size, ends + 3);
  const Batch taught = parts.lesson->draw({0, 0, {5}, 0, 6, true});
  const Batch asked = parts.lesson->draw({0, 0, {5}, 0, 6, false});
  const std::int64_t length = parts.lesson->length(0, 0);
  std::set<std::int64_t> kinds;
  for (std::int64_t row = 0; row < 6; ++row) {
    const auto* token = taught.inputs.fields[0].data_ptr<std::int64_t>() + row * length;
    for (std::int64_t q = 1; q <= 3; ++q) kinds.insert(token[length - 1 - (q - 1) * 3]);
    // Evaluation asks for the whole chain alone.
    EXPECT_EQ(asked.inputs.fields[0].data_ptr<std::int64_t>()[(row + 1) * (length - 6) - 1], ends);
  }
  EXPECT_EQ(kinds, (std::set<std::int64_t>{6, 7, 8}));
  for (const char* name : {"eva", "two-sum"}) {
    plan.tasks = {{{name, {{"n", 4}}, {}}, 1}};
    EXPECT_FALSE(Lesson::make(plan).ok()) << name;
  }
}

TEST(lesson, teaches_the_chain_of_thought_token_by_token) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {}}, 1}};
  plan.supervision = Supervision::chain;
  const Parts parts(plan);
  const Task& task = parts.lesson->task(0, 0);
  const Batch batch = parts.lesson->draw({0, 0, {5}, 0, 6, true});
  const std::int64_t length = parts.lesson->length(0, 0), base = task.prompt_length();
  for (std::int64_t row = 0; row < 6; ++row) {
    const auto* token = batch.inputs.fields[0].data_ptr<std::int64_t>() + row * length;
    const Prompt prompt{base, {std::vector<std::int64_t>(token, token + base)}};
    const auto chain = task.chain_of_thought(prompt);
    ASSERT_TRUE(chain);
    ASSERT_EQ(batch.answers, static_cast<std::int64_t>(chain->size()));
    for (std::size_t i = 0; i < chain->size(); ++i) {
      EXPECT_EQ(
          batch.targets.view({-1})[row * batch.answers + static_cast<std::int64_t>(i)].item<std::int64_t>(),
          (*chain)[i]);
      if (i + 1 < chain->size()) EXPECT_EQ(token[base + static_cast<std::int64_t>(i)], (*chain)[i]);
    }
  }
}

TEST(lesson, mixes_tasks_by_weight_and_moves_through_the_stages_of_a_curriculum) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"eva", {{"n", 8}}, {}}, 3}, {{"two-sum", {{"n", 8}}, {}}, 1}};
  plan.curriculum = {{{"n", 3}}, {{"n", 5}}};
  plan.stage_steps = 10;
  const Parts parts(plan);
  int first = 0;
  for (std::int64_t step = 0; step < 4000; ++step) first += parts.lesson->task_at(step) == 0;
  EXPECT_NEAR(first, 3000, 5);
  EXPECT_EQ(parts.lesson->stages(), 3u);
  EXPECT_EQ(parts.lesson->length(0, 0), 4);
  EXPECT_EQ(parts.lesson->length(2, 0), 9);
  EXPECT_EQ(stage_at(plan, 0), 0u);
  EXPECT_EQ(stage_at(plan, 9), 0u);
  EXPECT_EQ(stage_at(plan, 10), 1u);
  EXPECT_EQ(stage_at(plan, 20), 2u);
  EXPECT_EQ(stage_at(plan, 39), 2u);
  Trainer trainer = parts.trainer();
  run_to(trainer, plan, 40);
  EXPECT_EQ(trainer.progress()[0].curve.back().accuracy.size(), 2u);
}

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
    EXPECT_EQ(stage_note(plan, member.curve),
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
  refused(plan, "i_1 to i_2");
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
  refused(other, "tensor embed.token.table has another shape");
  other = next;
  other.queries = 5;
  refused(other, "tensor embed.position.table has another shape");
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

TEST(lesson, teaches_from_streams_that_no_seed_of_a_person_reaches) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62}) {
    EXPECT_GT(teaching_stream(seed), static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_GT(evaluation_stream(seed), static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_NE(teaching_stream(seed), evaluation_stream(seed));
  }
}

TEST(rounding, keeps_the_states_of_recurrences_on_p_bits) {
  for (const char* line : {"mamba2", "gdelta", "delta", "mamba", "loglinear(base=mamba2)"}) {
    const ModelSpec spec = small_model(line);
    auto model = Model::make(spec);
    ASSERT_TRUE(model.ok()) << model.error().message;
    Parameters parameters(model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32);
    const Inputs inputs = random_inputs(spec, 1, 2, 21, 5);
    ActivationRounding coarse(3), fine(16);
    ForwardContext pass;
    pass.training = true;
    const torch::Tensor exact = model->forward(inputs, parameters.leaves, pass).detach();
    pass.rounding = &fine;
    const torch::Tensor near = model->forward(inputs, parameters.leaves, pass).detach();
    pass.rounding = &coarse;
    const torch::Tensor far = model->forward(inputs, parameters.leaves, pass);
    far.sum().backward();
    EXPECT_TRUE(coarse.largest.contains("layers.0.state")) << line;
    EXPECT_LT((near - exact).abs().max().item<double>(), 0.05) << line;
    EXPECT_GT((far.detach() - exact).abs().max().item<double>(), 0.05) << line;
    EXPECT_GT(parameters.gradient.abs().max().item<double>(), 0) << line;
  }
}

TEST(pass, drops_by_seed_step_and_place_alone) {
  ForwardContext pass;
  pass.training = true;
  pass.dropout = 0.25;
  pass.seeds = torch::tensor(std::vector<std::int64_t>{4, 9}, torch::kLong);
  pass.step = torch::tensor(std::vector<std::int64_t>{7}, torch::kLong);
  const torch::Tensor x = torch::ones({2, 100, 20});
  const torch::Tensor first = pass.drop(x), second = pass.drop(x);
  EXPECT_NEAR(first.mean().item<double>(), 1, 0.05);
  EXPECT_NEAR((first == 0).to(torch::kFloat32).mean().item<double>(), 0.25, 0.03);
  EXPECT_FALSE(torch::equal(first, second));
  EXPECT_FALSE(torch::equal(first[0], first[1]));
  ForwardContext alone = pass;
  alone.places = 0;
  alone.seeds = pass.seeds.narrow(0, 1, 1);
  EXPECT_TRUE(torch::equal(alone.drop(x.narrow(0, 1, 1)), first.narrow(0, 1, 1)));
}

TEST(plan, comes_back_from_its_own_text) {
  TrainingPlan plan = trainee();
  plan.stop = 0.99;
  plan.parts = true;
  plan.round_bits = 6;
  plan.rates = {1e-3, 0.1};
  plan.support = {{{"n", 3}}};
  plan.advance = 0.9;
  plan.supervision = Supervision::deep;
  plan.deep = {{1, 2, 0}};
  plan.from = "earlier.safetensors";
  plan.scales = {1};
  plan.tasks[0].task.options = {{"order", "easy"}};
  const auto read = parse_plan(plan_text(plan), "test");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(plan_text(*read), plan_text(plan));
}

TEST(plan, refuses_what_it_does_not_know_in_one_line) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {R"({"arch":"full","tasks":"eva","stepps":3})", "did you mean \"steps\""},
           {R"({"arch":"full","tasks":"eva","steps":0})", "steps = 0"},
           {R"({"arch":"full","tasks":"eva","steps":1e30})", "whole number"},
           {R"({"arch":"full","tasks":"eva","rates":["a"]})", "number expected"},
           {R"({"arch":"full","tasks":"eva","seeds":[-1]})", "at least 0"},
           {R"({"arch":"full","tasks":[{"name":"eva","sizes":{}}]})", "unknown field"},
           {R"({"arch":"full","tasks":"eva","steps":10,"curriculum":[{"n":3}],"stage_steps":10})",
            "leave none"},
           {R"({"arch":"full","tasks":"eva","steps":10,"round_bits":4,"round_after":10})", "after the last"},
           {R"({"arch":"full","tasks":"eva","curriculum":[{"n":3}],"support":[{"n":3}]})", "one of the two"},
           {R"({"arch":"full","tasks":"eva","support":[{"n":3}],"advance":1.5})", "advance = 1.5"},
           {R"({"arch":"full","tasks":"eva","round_bits":12,"precision":"bf16"})", "bf16"},
           {R"({"arch":"full"})", "no task"},
           {R"({"tasks":"eva"})", "no architecture"},
           {R"({"arch":"full","tasks":"eva","precision":"fp8"})", "fp32"},
           {R"({"arch":"full","tasks":"eva","dropout":null})", "number expected"},
           {"[]", "object expected"},
           {"{", "["}}) {
    const auto read = parse_plan(text, "plan.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(forecast, refuses_a_run_that_cannot_fit_before_it_starts) {
  TrainingPlan plan = trainee("full");
  plan.tasks = {{{"two-sum", {{"n", 2000000}, {"M", 50}}, {}}, 1}};
  const auto refused = prepare(plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("needs"), std::string::npos) << refused.error().message;
  plan = trainee("full");
  plan.batch = 1 << 20;
  plan.tasks = {{{"eva", {{"n", 500}}, {}}, 1}};
  EXPECT_FALSE(prepare(plan).ok());
}

TEST(rounding, keeps_p_bits_and_passes_gradients_where_nothing_saturates) {
  ActivationRounding rounding(4);
  torch::Tensor x =
      torch::tensor({{-3.0f, 0.26f, 1.0f, 6.9f}, {0.1f, -0.2f, 0.3f, 0.7f}}).requires_grad_(true);
  const torch::Tensor y = rounding.apply("x", x, ActivationRounding::Unit::follows);
  const auto fractions = std::vector<int>{rounding.fractions(0).at("x"), rounding.fractions(1).at("x")};
  EXPECT_EQ(fractions, (std::vector<int>{0, 3}));  // units 1 and 1/8: 6.9 and 0.7 stay below 7.5 units
  EXPECT_TRUE(
      torch::equal(y.detach(), torch::tensor({{-3.0f, 0.0f, 1.0f, 7.0f}, {0.125f, -0.25f, 0.25f, 0.75f}})));
  y.sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::ones_like(x)));
  const torch::Tensor large = torch::full({2, 1}, 100.0f).requires_grad_(true);
  const torch::Tensor clipped = rounding.apply("x", large, ActivationRounding::Unit::stays);
  EXPECT_TRUE(torch::equal(clipped.detach(), torch::tensor({{7.0f}, {0.875f}})));
  clipped.sum().backward();
  EXPECT_TRUE(torch::equal(large.grad(), torch::zeros_like(large)));
}

}  // namespace
}  // namespace rung::learn
