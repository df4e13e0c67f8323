// Training on a CPU: curves that depend on nothing but the member's own plan, lessons whose every answer the task
// itself confirms.
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "rung/evaluation/evaluation.h"
#include "rung/exact/quantise.h"
#include "tests/learn/training.h"

namespace rung::learn {
namespace {

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
  TrainingPlan plan = trainee("mamba2(form=plain)+full");
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

TEST(ensemble, trains_a_member_again_whose_file_has_no_answers_or_more_right_than_there_were) {
  const TrainingPlan plan = trainee();
  Folder folder;
  const auto whole = train_in(plan, folder / "run", 1);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const std::string path = whole->members[0].file;
  for (const char* numbers :
       {R"("right": [])", R"("right": [41])", R"("right": [1, 1])", R"("right": [], "answers": [])",
        R"("right": [0], "answers": [0])", R"("curve": [])", R"("curve": [{"step": 1}])",
        R"("curve": [{"step": 1, "accuracy": [1, 1]}])"}) {
    auto weights = read_weights(path);
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    auto told = nlohmann::json::parse(weights->notes.at("training"));
    told.update(nlohmann::json::parse(fmt::format("{{{}}}", numbers)));
    weights->notes["training"] = told.dump();
    ASSERT_TRUE(write_weights(path, *weights).ok());
    const auto again = train_in(plan, folder / "run", 1, true);
    ASSERT_TRUE(again.ok()) << again.error().message;
    expect_same_curve(whole->members[0], again->members[0]);
  }
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
  EXPECT_EQ(result->members[0].state, RecordState::done);
  EXPECT_EQ(result->members[1].state, RecordState::failed);
  EXPECT_NE(result->members[1].reason.find("NaN"), std::string::npos);
  // It has no curve, and is not trained again for that.
  EXPECT_TRUE(result->members[1].curve.empty());
  const auto written = std::filesystem::last_write_time(result->members[1].file);
  const auto again = train_in(plan, folder / "run", 2, true);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->members[1].state, RecordState::failed);
  EXPECT_EQ(std::filesystem::last_write_time(result->members[1].file), written);
}

// In floats, and rounded to integers of 12 bits.
TEST(ensemble, writes_a_file_that_the_exact_machine_finds_as_accurate) {
  for (const TokenEmbedding embedding : {TokenEmbedding::table, TokenEmbedding::binary}) {
    TrainingPlan plan = trainee("full");
    plan.embedding = embedding;
    plan.dimensions.position =
        embedding == TokenEmbedding::binary ? PositionCode::binary : PositionCode::table;
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
    EXPECT_EQ(weights->tensors.contains("embed.token.binary"), embedding == TokenEmbedding::binary);
    EXPECT_EQ(weights->tensors.contains("embed.token.table"), embedding == TokenEmbedding::table);
    CalibrationSet set{{}, (*task)->query_positions()};
    for (std::uint64_t i = 0; i < 32; ++i) {
      Instance instance = (*task)->generate(Variant::uniform, 5, i);
      set.prompts.push_back(std::move(instance.prompt));
      set.answers.push_back(std::move(instance.answer));
    }
    const auto integers = quantise(*weights, set, {.precision = 12});
    ASSERT_TRUE(integers.ok()) << integers.error().message;
    const auto rounded = Machine::load(integers->weights, {.positions = positions_needed(*weights, **task)});
    ASSERT_TRUE(rounded.ok()) << rounded.error().message;
    const auto as_integers = evaluate(**rounded, integers->weights, **task, {.seed = 77, .count = 400});
    ASSERT_TRUE(as_integers.ok());
    EXPECT_NEAR(as_integers->accuracy(), exact->accuracy(), 0.03);
  }
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

// Words and marks are drawn by the source that the device runs; every field and answer is the task's own.
TEST(lesson, puts_questions_apart_and_repeats_their_last_token_in_between) {
  for (const Variant variant :
       {Variant::uniform, Variant::permutation}) {  // as a kernel draws, and as the task does
    TrainingPlan plan = small_plan("full", "seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
    plan.variant = variant;
    plan.queries = 4;
    const Parts close(plan);
    plan.spacing = 5;
    const Parts apart(plan);
    const Batch a = close.lesson->draw({0, 0, {5, 6}, 0, 4, true}),
                b = apart.lesson->draw({0, 0, {5, 6}, 0, 4, true});
    ASSERT_TRUE(torch::equal(a.targets, b.targets));
    const torch::Tensor x = a.inputs.fields[0], y = b.inputs.fields[0];
    ASSERT_EQ(x.size(2), 9 + 4 * 3);
    ASSERT_EQ(y.size(2), 9 + 3 + 3 * 5);
    ASSERT_EQ(y.size(2), apart.lesson->length(0, 0));
    EXPECT_TRUE(torch::equal(x.narrow(2, 0, 9), y.narrow(2, 0, 9)));
    for (std::int64_t q = 0; q < 4; ++q) {
      EXPECT_EQ(b.inputs.wanted[q].item<std::int64_t>(), 9 + 5 * q + 2);
      EXPECT_TRUE(torch::equal(x.narrow(2, 9 + 3 * q, 3), y.narrow(2, 9 + 5 * q, 3)));
      for (std::int64_t t = 3; q < 3 && t < 5; ++t)
        EXPECT_TRUE(torch::equal(y.select(2, 9 + 5 * q + t), y.select(2, 9 + 5 * q + 2)));
    }
  }
  TrainingPlan plan = small_plan("full", "seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  plan.queries = 4, plan.spacing = 2;
  const auto refused = prepare(plan, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "[train] spacing = 2: a question of seqcomp has 3 tokens");
}

TEST(lesson, draws_words_and_marks_as_a_device_does_and_the_tasks_do) {
  const std::string file = std::string(RUNG_SOURCE_DIR) + "/tests/cases/tasks/thirds.json";
  for (const TaskRecord& record : {TaskRecord{"parity", {{"n", 9}}, {{"read", "all"}}},
                                   {"modulo", {{"n", 5}, {"m", 7}}, {}},
                                   {"group", {{"n", 6}}, {{"name", "D4"}, {"letters", "generators"}}},
                                   {"flipflop", {{"n", 12}, {"k", 3}}, {{"read", "all"}}},
                                   {file, {{"n", 20}}, {}},
                                   {"copy", {{"n", 6}}, {}},
                                   {"selective-copy", {{"n", 4}, {"m", 30}}, {}},
                                   {"tracked-recall", {{"n", 8}, {"w", 11}}, {{"group", "xor"}}}}) {
    TrainingPlan plan = trainee("gru");
    plan.tasks = {{record, 1}};
    plan.supervision = Supervision::every_query;
    auto lesson = Lesson::make(plan);
    ASSERT_TRUE(lesson.ok()) << lesson.error().message;
    EXPECT_TRUE(lesson->instance_task(0, 0)) << record.name;
    const Task& task = lesson->task(0, 0);
    const Batch batch = lesson->draw({0, 0, {5, 6}, 30, 7, true});
    for (std::int64_t row = 0; row < 14; ++row) {
      const Instance expected =
          task.generate(Variant::uniform, row < 7 ? 5 : 6, static_cast<std::uint64_t>(30 + row % 7));
      const std::int64_t length = task.prompt_length();
      for (std::size_t f = 0; f < expected.prompt.fields.size(); ++f) {
        const auto* from = batch.inputs.fields[f].data_ptr<std::int64_t>() + row * length;
        EXPECT_EQ(std::vector<std::int64_t>(from, from + length), expected.prompt.fields[f]) << record.name;
      }
      const auto* right = batch.targets.data_ptr<std::int64_t>() + row * batch.answers;
      EXPECT_EQ(std::vector<std::int64_t>(right, right + batch.answers), expected.answer) << record.name;
    }
  }
}

// What experiments train beside uniform questions: other variants, chains of thought, the easy order.
TEST(lesson, draws_on_a_device_whatever_the_experiments_train) {
  struct Case {
    TaskRecord record;
    Variant variant = Variant::uniform;
    Supervision supervision = Supervision::every_query;
  };
  for (const Case& given :
       {Case{{"khop", {{"n", 12}, {"k", 2}, {"sigma", 3}}, {{"read", "all"}}}},
        {{"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {{"order", "easy"}}}},
        {{"eva", {{"n", 9}}, {}}, Variant::zipf},
        {{"eva", {{"n", 9}}, {}}, Variant::permutation},
        {{"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {}}, Variant::uniform, Supervision::chain},
        {{"mqar", {{"n", 4}, {"M", 31}, {"sigma", 32}, {"queries", 12}}, {{"gaps", "0.01"}}}}}) {
    TrainingPlan plan = trainee("full");
    plan.tasks = {{given.record, 1}};
    plan.variant = given.variant, plan.supervision = given.supervision;
    auto lesson = Lesson::make(plan);
    ASSERT_TRUE(lesson.ok()) << lesson.error().message;
    EXPECT_TRUE(lesson->instance_task(0, 0)) << given.record.name;
    const Task& task = lesson->task(0, 0);
    const Batch batch = lesson->draw({0, 0, {5, 6}, 30, 7, true});
    const std::int64_t length = lesson->length(0, 0);
    for (std::int64_t row = 0; row < 14; ++row) {
      const Instance expected =
          task.generate(given.variant, row < 7 ? 5 : 6, static_cast<std::uint64_t>(30 + row % 7));
      const auto* from = batch.inputs.fields[0].data_ptr<std::int64_t>() + row * length;
      EXPECT_EQ(std::vector<std::int64_t>(from, from + task.prompt_length()), expected.prompt.fields[0]);
      const auto* right = batch.targets.data_ptr<std::int64_t>() + row * batch.answers;
      const std::vector<std::int64_t> answers(right, right + batch.answers);
      if (given.supervision == Supervision::chain)
        EXPECT_EQ(answers, *task.chain_of_thought(expected.prompt));
      else if (!task.gap_law())
        EXPECT_EQ(answers, expected.answer) << given.record.name;
    }
  }
}

TEST(lesson, asks_where_each_prompt_asks) {
  for (const Supervision supervision : {Supervision::every_query, Supervision::answer}) {
    TrainingPlan plan = trainee("full");
    plan.tasks = {{{"mqar", {{"n", 4}, {"M", 31}, {"sigma", 32}, {"queries", 12}}, {{"gaps", "0.01"}}}, 1}};
    plan.supervision = supervision;
    auto lesson = Lesson::make(plan);
    ASSERT_TRUE(lesson.ok()) << lesson.error().message;
    const Task& task = lesson->task(0, 0);
    const auto may_ask = task.query_positions();
    for (const bool teaching : {true, false}) {
      const Batch batch = lesson->draw({0, 0, {5, 6}, 30, 7, teaching});
      const bool last = teaching && supervision == Supervision::answer;
      ASSERT_EQ(batch.answers, last ? 1 : 4);
      ASSERT_EQ(batch.inputs.wanted.sizes(), (torch::IntArrayRef{2, 7, batch.answers}));
      for (std::int64_t row = 0; row < 14; ++row) {
        const Instance expected =
            task.generate(Variant::uniform, row < 7 ? 5 : 6, static_cast<std::uint64_t>(30 + row % 7));
        std::vector<std::int64_t> places, answers;
        for (std::size_t i = 0; i < may_ask.size(); ++i)
          if (expected.answer[i] != kNotAsked) {
            if (last) places.clear(), answers.clear();
            places.push_back(may_ask[i]), answers.push_back(expected.answer[i]);
          }
        const auto* wanted = batch.inputs.wanted.data_ptr<std::int64_t>() + row * batch.answers;
        const auto* right = batch.targets.data_ptr<std::int64_t>() + row * batch.answers;
        EXPECT_EQ(std::vector<std::int64_t>(wanted, wanted + batch.answers), places);
        EXPECT_EQ(std::vector<std::int64_t>(right, right + batch.answers), answers);
      }
    }
  }
}

TEST(model, reads_each_row_at_its_own_positions) {
  TrainingPlan plan = trainee("full+linear");
  plan.tasks = {{{"mqar", {{"n", 3}, {"M", 7}, {"sigma", 8}, {"queries", 6}}, {{"gaps", "0.01"}}}, 1}};
  plan.supervision = Supervision::every_query;
  const Parts parts(plan);
  const Batch batch = parts.lesson->draw({0, 0, {5}, 0, 5, true});
  const Parameters parameters(parts.model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  const torch::Tensor each = parts.model->forward(batch.inputs, parameters.leaves, {}).view({5, 3, -1});
  Inputs all = batch.inputs;
  all.wanted = torch::arange(18);
  const torch::Tensor whole = parts.model->forward(all, parameters.leaves, {}).view({5, 18, -1});
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto place = batch.inputs.wanted[0][row][i].item<std::int64_t>();
      EXPECT_TRUE(torch::allclose(each[row][i], whole[row][place], 1e-5, 1e-6)) << row << " " << place;
      EXPECT_FALSE(torch::allclose(each[row][i], whole[row][place - 1], 1e-5, 1e-6)) << "the place matters";
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

TEST(lesson, teaches_from_streams_that_no_seed_of_a_person_reaches) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62}) {
    EXPECT_GT(teaching_stream(seed), static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_GT(evaluation_stream(seed), static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_NE(teaching_stream(seed), evaluation_stream(seed));
  }
}

TEST(rounding, keeps_the_states_of_recurrences_on_p_bits) {
  for (const char* line : {"mamba2(form=plain)", "gdelta(form=plain)", "delta(form=plain)",
                           "mamba(form=plain)", "loglinear(base=mamba2,form=plain)"}) {
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
