// The decision rule, over every label and outcome: what can confirm, what can refute, and what says nothing.
#include <gtest/gtest.h>

#include "rung/lab/configuration_run.h"
#include "rung/lab/experiment.h"
#include "rung/lab/separation.h"
#include "rung/lab/verdict.h"

namespace rung::lab {
namespace {

Outcome trained(LabelClass label, std::vector<double> accuracies, double ceiling = 1,
                bool exhaustive = false) {
  Outcome out;
  out.id = "model";
  out.label.letter = label;
  out.label.ceiling = ceiling;
  std::uint64_t seed = 1;
  for (const double accuracy : accuracies)
    out.scores.push_back({.seed = seed++,
                          .right = static_cast<std::uint64_t>(1000 * accuracy + 0.5),
                          .of = 1000,
                          .exhaustive = exhaustive});
  return out;
}

Prediction about(PredictionKind kind, Scope scope, std::optional<double> accuracy = {}) {
  Prediction out;
  out.id = "prediction";
  out.kind = kind;
  out.scope = scope;
  out.accuracy = accuracy;
  return out;
}

Decision of(const Prediction& prediction, const Outcome& outcome, std::vector<Outcome> than = {},
            std::vector<Outcome> given = {}) {
  const std::vector<Outcome> one{outcome};
  const Finding finding = decide(prediction, one, than, given);
  EXPECT_FALSE(finding.reason.empty());
  // An open question says what would close it, and nothing else does.
  EXPECT_EQ(finding.decides.empty(), finding.decision != Decision::undecided) << finding.reason;
  return finding.decision;
}

const std::vector<std::vector<double>> kOutcomes = {{0, 0, 0},          {0.3, 0.31, 0.3}, {0.1, 0.9, 1},
                                                    {0.99, 0.99, 0.99}, {1, 1, 1},        {1}};

TEST(verdict, never_lets_the_gap_touch_a_theorem) {
  for (const auto& accuracies : kOutcomes)
    for (const bool exhaustive : {false, true})
      for (const double ceiling : {0.2, 1.0}) {
        EXPECT_EQ(of(about(PredictionKind::reaches, Scope::theorem, 0.99),
                     trained(LabelClass::G, accuracies, ceiling, exhaustive)),
                  Decision::undecided);
        EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::theorem),
                     trained(LabelClass::G, accuracies, ceiling, exhaustive)),
                  Decision::undecided);
        EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::theorem, 0.5),
                     trained(LabelClass::G, accuracies, ceiling, exhaustive)),
                  Decision::undecided);
      }
}

TEST(verdict, never_lets_a_failed_training_refute_what_is_constructible) {
  for (const auto& accuracies : kOutcomes) {
    double best = 0;
    for (const double accuracy : accuracies) best = std::max(best, accuracy);
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::theorem, 0.99), trained(LabelClass::K, accuracies)),
              best >= 0.99 ? Decision::held : Decision::undecided);
    EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::theorem), trained(LabelClass::K, accuracies)),
              Decision::undecided);
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::theorem, 0.99), trained(LabelClass::C, accuracies)),
              Decision::undecided);
  }
}

TEST(verdict, refutes_class_C_by_an_exhaustive_check_alone) {
  const Prediction fails = about(PredictionKind::stays_below, Scope::theorem);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 0.4})), Decision::held);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 0.999})), Decision::held);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 1})), Decision::undecided);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 1}, 1, true)), Decision::failed);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 0.999}, 1, true)), Decision::held);
  // Above a ceiling: a sample asks for the exhaustive check; noise does not.
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 0.29}, 0.295)), Decision::held);
  EXPECT_EQ(of(fails, trained(LabelClass::C, {0.3, 0.29}, 0.1)), Decision::undecided);
}

TEST(verdict, judges_constructions_by_their_errors) {
  for (const LabelClass label : {LabelClass::K, LabelClass::G})
    for (const std::uint64_t errors : {0, 1})
      for (const bool complete : {false, true}) {
        Outcome written = trained(label, {1});
        written.origin = Origin::written;
        written.scores[0] = {.right = 1000 - errors, .of = 1000, .exhaustive = complete};
        const Decision no_error = errors == 0
                                      ? (complete ? Decision::held : Decision::undecided)
                                      : (label == LabelClass::K ? Decision::failed : Decision::undecided);
        EXPECT_EQ(of(about(PredictionKind::reaches, Scope::theorem, 1.0), written), no_error)
            << name_of(label) << errors << complete;
        const Decision errs = errors > 0 ? Decision::held : complete ? Decision::failed : Decision::undecided;
        EXPECT_EQ(of(about(PredictionKind::errs, Scope::empirical), written), errs)
            << name_of(label) << errors << complete;
      }
}

TEST(verdict, asks_empirical_predictions_of_the_interval_over_seeds) {
  for (const LabelClass label : {LabelClass::C, LabelClass::K, LabelClass::G}) {
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::empirical, 0.9), trained(label, {1, 1, 1})),
              Decision::held);
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::empirical, 0.9), trained(label, {0.3, 0.31, 0.3})),
              Decision::failed);
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::empirical, 0.9), trained(label, {0.1, 1, 1})),
              Decision::undecided);
    EXPECT_EQ(of(about(PredictionKind::reaches, Scope::empirical, 0.9), trained(label, {1})),
              Decision::undecided);
    EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::empirical, 0.9), trained(label, {0.3, 0.31, 0.3})),
              Decision::held);
    EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::empirical, 0.9), trained(label, {1, 1, 1})),
              Decision::failed);
    EXPECT_EQ(of(about(PredictionKind::stays_below, Scope::empirical, 0.9), trained(label, {0.1, 1, 1})),
              Decision::undecided);
  }
}

TEST(verdict, counts_seeds_where_a_prediction_says_how_many) {
  const Outcome most = trained(LabelClass::G, {1, 1, 1, 0.995, 0.2, 1, 0.1, 1});
  Prediction reaches = about(PredictionKind::reaches, Scope::empirical, 0.99);
  EXPECT_EQ(of(reaches, most), Decision::undecided);  // by the interval
  reaches.seeds = 6;
  EXPECT_EQ(of(reaches, most), Decision::held);
  reaches.seeds = 7;
  EXPECT_EQ(of(reaches, most), Decision::failed);
  reaches.seeds = 9;
  EXPECT_EQ(of(reaches, most), Decision::undecided);
  Prediction below = about(PredictionKind::stays_below, Scope::empirical, 0.5);
  below.seeds = 8;
  EXPECT_EQ(of(below, most), Decision::failed);
  EXPECT_EQ(of(below, trained(LabelClass::G, {0.1, 0.2, 0.4, 0.49, 0, 0, 0, 0})), Decision::held);
  EXPECT_EQ(of(below, trained(LabelClass::G, {0.1, 0.2})), Decision::undecided);
}

TEST(verdict, says_nothing_about_layers_at_a_size_that_does_not_separate) {
  Prediction below = about(PredictionKind::stays_below, Scope::empirical, 0.5);
  below.separated = true;
  Outcome outcome = trained(LabelClass::G, {0.1, 0.1, 0.1});
  EXPECT_EQ(of(below, outcome), Decision::undecided);
  outcome.separation = Separation{.needed = 70, .carried = 70, .state = 0, .table = 33};
  EXPECT_EQ(of(below, outcome), Decision::undecided);
  outcome.separation->carried = 69;
  EXPECT_EQ(of(below, outcome), Decision::held);
  outcome.separation->state = 17;
  EXPECT_EQ(of(below, outcome), Decision::undecided);
  outcome.separation->state = 16;
  EXPECT_EQ(of(below, outcome), Decision::held);
}

// By hand: the rule of docs/lab.md.
TEST(separation, counts_with_the_bits_that_members_that_compose_were_seen_to_need) {
  const Separation floats{
      .needed = 162, .fetched = 8, .bits = 32, .carried = 1024, .state = 256, .table = 75};
  const auto outcome = [&](std::int64_t m, double accuracy, std::optional<int> bits) {
    ConfigurationOutcome out;
    out.subject = {"full", "seqcomp", {{"L", 2}, {"m", m}}};
    out.scores = {{.right = static_cast<std::uint64_t>(100 * accuracy), .of = 100, .carried_bits = bits}};
    out.separation = floats;
    return out;
  };
  std::vector<ConfigurationOutcome> all{outcome(18, 1, 4),   outcome(18, 0.95, 5), outcome(18, 0.1, 1),
                                        outcome(18, 0.1, 9), outcome(20, 0.1, 1),  outcome(22, 1, {})};
  measure_separation(all);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].separation->bits, 5);
    EXPECT_EQ(all[i].separation->carried, 4 * 8 * 5);
    EXPECT_EQ(all[i].separation->state, 40);
    EXPECT_FALSE(all[i].separation->separated()) << "a state of 40 bits is more than half of 75";
  }
  EXPECT_EQ(all[4].separation, floats) << "nothing composed at this size";
  EXPECT_EQ(all[5].separation, floats) << "nothing was measured";
}

TEST(separation, counts_what_a_shortcut_needs_and_what_a_layer_fetches) {
  const auto counted = [](const std::string& arch, const std::string& sizes, const std::string& more) {
    const auto experiment = parse_experiment(
        R"({"name": "x", "tests": "x", "small": {"configurations": [{"id": "a", "arch": ")" + arch +
            R"(", "dimensions": {"width": 16}, "tasks": {"name": "seqcomp", "size": )" + sizes + "}" + more +
            R"(}]}, "predictions": [{"id": "a", "statement": "a", "kind": "reaches", "scope": "empirical", )"
            R"("configurations": ["a"], "accuracy": 1}]})",
        "x", "small", 1);
    RUNG_REQUIRE(experiment.ok(), "{}", experiment.error().message);
    const auto outcome = labelled(experiment->configurations[0]);
    RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
    return outcome->separation;
  };
  const std::string ten = R"({"L": 2, "m": 10, "n1": 10})", rounded = R"(, "round_bits": 4)";
  const auto plain = counted("full(heads=1,dim=8,vdim=4)*2", ten, rounded);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->needed, 70);   // ten entries of 100 values, 7 bits each
  EXPECT_EQ(plain->carried, 64);  // four times 4 numbers of 4 bits
  EXPECT_EQ(plain->state, 0);
  EXPECT_TRUE(plain->separated());
  EXPECT_EQ(separation_text(*plain), "separated: 70 > 64 bits");
  EXPECT_EQ(counted("full(heads=1,dim=8,vdim=4)*2", ten, "")->carried, 512);  // fp32
  EXPECT_FALSE(counted("full(heads=2,dim=8,vdim=4)*2", ten, rounded)->separated());
  const auto mixed =
      counted("mamba2(heads=1,dim=4,state=1,form=plain)+full(heads=1,dim=8,vdim=4)*2", ten, rounded);
  EXPECT_EQ(mixed->state, 16);  // below half of 10 lg 10 = 33.2
  EXPECT_TRUE(mixed->separated());
  EXPECT_FALSE(counted("mamba2(heads=1,dim=5,state=1,form=plain)+full(heads=1,dim=8,vdim=4)*2", ten, rounded)
                   ->separated());
  EXPECT_EQ(
      counted("heads(full(dim=8,vdim=4):1,mamba2(dim=4,state=1,form=plain):1)*2", ten, rounded)->carried, 64);
  // Three functions: the cheaper of both levels, min(6, 6) * 6 and min(36, 5) * 8.
  EXPECT_EQ(counted("full(heads=1,dim=8,vdim=2)*3", R"({"L": 3, "m": 6, "n1": 6, "n2": 5})", rounded)->needed,
            36);
  EXPECT_EQ(counted("full(heads=1,dim=8,vdim=2)*3", R"({"L": 3, "m": 6, "n1": 6, "n2": 4})", rounded)->needed,
            32);
  EXPECT_FALSE(counted("full", R"({"L": 1, "m": 8})", ""));
}

TEST(verdict, orders_by_intervals_and_margin) {
  Prediction better = about(PredictionKind::ordered, Scope::empirical);
  better.margin = 0.02;
  const Outcome high = trained(LabelClass::G, {0.9, 0.9, 0.9}), low = trained(LabelClass::G, {0.3, 0.3, 0.3}),
                wide = trained(LabelClass::G, {0.1, 0.9, 0.6});
  EXPECT_EQ(of(better, high, {low}), Decision::held);
  EXPECT_EQ(of(better, low, {high}), Decision::failed);
  EXPECT_EQ(of(better, high, {high}), Decision::failed);
  EXPECT_EQ(of(better, wide, {low}), Decision::undecided);
  EXPECT_EQ(of(better, high, {}), Decision::undecided);
  // Every one of several: one failure is a failure.
  EXPECT_EQ(of(better, high, {low, high}), Decision::failed);
}

TEST(verdict, leaves_everything_open_while_the_controls_did_not_train) {
  Prediction below = about(PredictionKind::stays_below, Scope::empirical, 0.9);
  const Outcome low = trained(LabelClass::G, {0.3, 0.3, 0.3}), high = trained(LabelClass::K, {1, 1, 1});
  EXPECT_EQ(of(below, low, {}, {low}), Decision::undecided);
  EXPECT_EQ(of(below, low, {}, {high}), Decision::held);
  EXPECT_EQ(of(below, high, {}, {high}), Decision::failed);
}

TEST(verdict, is_undecided_about_what_was_not_run) {
  for (const auto kind : {PredictionKind::reaches, PredictionKind::stays_below, PredictionKind::ordered,
                          PredictionKind::errs, PredictionKind::slope, PredictionKind::serves})
    for (const LabelClass label : {LabelClass::C, LabelClass::K, LabelClass::G}) {
      EXPECT_EQ(of(about(kind, Scope::empirical, 0.5), trained(label, {}), {trained(label, {})}),
                Decision::undecided);
      EXPECT_EQ(decide(about(kind, Scope::empirical, 0.5), {}, {}, {}).decision, Decision::undecided);
    }
}

TEST(verdict, compares_zipf_questions_with_the_mass_that_the_state_has_room_for) {
  EXPECT_DOUBLE_EQ(zipf_mass(0, 4), 0);
  EXPECT_DOUBLE_EQ(zipf_mass(4, 4), 1);
  EXPECT_DOUBLE_EQ(zipf_mass(2, 4), 1.5 / (1 + 0.5 + 1.0 / 3 + 0.25));
  Outcome uniform = trained(LabelClass::G, {0.3, 0.3});
  Prediction mass = about(PredictionKind::serves, Scope::empirical);
  mass.margin = 0.02;
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.72, 0.72}), {uniform}), Decision::undecided)
      << "no state was counted";
  uniform.capacity = StateCapacity{.n = 4, .alphabet = 4, .elements = 3, .table_bits = 8, .mean_bits = 5.5};
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.72, 0.72}), {uniform}), Decision::held);
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.65, 0.65}), {uniform}), Decision::failed);
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.80, 0.80}), {uniform}), Decision::failed);
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.72}), {uniform}), Decision::undecided) << "one seed";
  uniform.capacity->mean_bits = 1.5;
  EXPECT_EQ(of(mass, trained(LabelClass::G, {0.1, 0.1}), {uniform}), Decision::undecided)
      << "nothing was kept";
}

// Half of four entries kept whole, the others guessed: (1 + 1/2) / (1 + 1/2 + 1/3 + 1/4) and a quarter of the rest.
TEST(verdict, compares_zipf_questions_with_entries_that_are_kept_whole) {
  EXPECT_DOUBLE_EQ(zipf_mass(1.5, 4), 1.25 / (1 + 0.5 + 1.0 / 3 + 0.25));
  Outcome uniform = trained(LabelClass::G, {0.625, 0.625});
  uniform.capacity = StateCapacity{.n = 4, .alphabet = 4, .elements = 3, .table_bits = 8, .mean_bits = 0};
  Prediction whole = about(PredictionKind::serves, Scope::empirical);
  whole.room = Room::answers;
  whole.margin = 0.01;
  const double expected = 0.72 + 0.28 / 4;
  for (const double miss : {-0.02, 0.02})
    EXPECT_EQ(of(whole, trained(LabelClass::G, {expected + miss, expected + miss}), {uniform}),
              Decision::failed);
  EXPECT_EQ(of(whole, trained(LabelClass::G, {expected, expected}), {uniform}), Decision::held);
  EXPECT_EQ(of(whole, trained(LabelClass::G, {expected, expected}), {trained(LabelClass::G, {0.625, 0.625})}),
            Decision::undecided)
      << "no state was counted";
  // The same two entries where eight may be asked for: (1 + 1/2) / (1 + 1/2 + ... + 1/8).
  const double eighths = 1.5 / (761.0 / 280);
  Outcome eight = trained(LabelClass::G, {eighths + (1 - eighths) / 8, eighths + (1 - eighths) / 8});
  EXPECT_EQ(of(whole, eight, {uniform}), Decision::failed);
  eight.subject.size["n"] = 8;
  EXPECT_EQ(of(whole, eight, {uniform}), Decision::held);
  uniform.scores = trained(LabelClass::G, {0.25, 0.25}).scores;
  EXPECT_EQ(of(whole, trained(LabelClass::G, {0.25, 0.25}), {uniform}), Decision::undecided) << "chance";
}

TEST(verdict, fits_slopes_of_searches_that_ended) {
  Outcome search;
  search.id = "search";
  search.origin = Origin::attack;
  for (const std::int64_t layers : {1, 2})
    for (const std::int64_t bits : {8, 16, 24, 32})
      search.costs.push_back(
          {layers, bits, 0.5 * static_cast<double>(bits) + 3.0 * static_cast<double>(layers), 1, true});
  search.costs.push_back({1, 40, 99, 1, false});  // gave up: no point of the line
  Prediction half = about(PredictionKind::slope, Scope::empirical);
  half.low = 0.45, half.high = 0.55;
  EXPECT_EQ(of(half, search), Decision::held);
  half.low = 0.6, half.high = 1;
  EXPECT_EQ(of(half, search), Decision::failed);
  Prediction layers = about(PredictionKind::slope, Scope::empirical);
  layers.over = Axis::layers, layers.low = 2.9, layers.high = 3.1;
  EXPECT_EQ(of(layers, search), Decision::held);
  // Against the bits of all layers, two layers climb half as fast.
  half.over = Axis::total_bits, half.low = 0.2, half.high = 0.6;
  EXPECT_EQ(of(half, search), Decision::held);
  half.low = 0.3;
  EXPECT_EQ(of(half, search), Decision::failed);
  search.costs.resize(2);
  EXPECT_EQ(of(half, search), Decision::undecided);
}

TEST(verdict, matches_stars_anywhere) {
  for (const auto& [pattern, id, expected] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"a", "a", true},
                                                               {"a", "ab", false},
                                                               {"a*", "ab", true},
                                                               {"*b", "ab", true},
                                                               {"*", "", true},
                                                               {"a*c*e", "abcde", true},
                                                               {"a*c*e", "abcd", false},
                                                               {"", "a", false},
                                                               {"ab*ab", "abab", true},
                                                               {"ab*ab", "aba", false}})
    EXPECT_EQ(matches(pattern, id), expected) << pattern << " " << id;
}

}  // namespace
}  // namespace rung::lab
