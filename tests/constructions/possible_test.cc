// `possible, proved` means built: at the boundary of every construction and beside it, at hundreds of random sizes. An
// architecture with exactly the resources of a cost vector gets the verdict, padded at random it keeps it, and what the
// verdict names is built with exactly the architecture's sizes and run. With one resource less the construction does
// not fit.
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "rung/theory/construction_fit.h"
#include "rung/theory/tracking_cost.h"
#include "tests/constructions/padding.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

struct PossibleCase {
  std::string theorem, task;
  TaskSizes sizes;
  ConstructionCost cost;
  bool thought = false, encoder = false;
  std::map<std::string, std::string> options = {};  // of the task
};

// One layer of the cost as an architecture writes it, with some more of everything.
std::string layer_line(const LayerCost& layer, Random& random, std::int64_t more) {
  const auto extra = [&] { return more == 0 ? 0 : random.between(0, more); };
  const std::int64_t heads = layer.heads + extra(), dim = layer.key_dim + extra(),
                     vdim = std::max<std::int64_t>(1, layer.value_dim) + extra();
  const std::string sizes = fmt::format("dim={},vdim={}", dim, vdim);
  switch (layer.use) {
    case Use::lookup:
    case Use::softmax: {
      const std::int64_t shared = more > 0 ? random.between(1, 2) : 1;  // query heads a key/value head
      if (more > 0 && random.below(4) == 0)
        return fmt::format("heads(linear(dim=2,vdim=2,feature=relu,normalised=no):1,full({}):{})", sizes,
                           heads);
      return fmt::format("full(heads={},kv={},{})", heads * shared, heads, sizes);
    }
    case Use::mlp:
      return more > 0 && random.below(2) ? "identity(heads=1,vdim=2)" : "none";
    case Use::carry:
      return fmt::format("linear(heads={},{},feature={},normalised={})", heads, sizes,
                         layer.key_dim > 1 || random.below(3) ? random.below(2) ? "relu" : "elu1" : "exp",
                         random.below(2) ? "yes" : "no");
    case Use::table:
      return fmt::format("linear(heads={},{},feature={},normalised=no)", heads, sizes,
                         random.below(2) ? "identity" : "relu");
    case Use::relu_table:
      return fmt::format("linear(heads={},{},feature=relu,normalised=no)", heads, sizes);
    case Use::buckets:
      return fmt::format("loglinear(heads={},{})", heads, sizes);
    case Use::delta:
    case Use::gdelta:
      return fmt::format("{}(heads={},{},steps={},form=plain)", layer.use == Use::delta ? "delta" : "gdelta",
                         heads, sizes, layer.steps + extra());
    case Use::ssd:
      return fmt::format("mamba2(heads={},dim={},state={},form=plain)", heads, vdim, dim);
    case Use::elman:
      return fmt::format("rnn(size={})", vdim);
    case Use::counter:
      return fmt::format("rnn(cell=relu,size={})", vdim);
    case Use::gru:
      return fmt::format("gru(size={})", vdim);
    case Use::slots:
      return fmt::format("sparse(B={},k=1,heads={},{},form=plain)", layer.block, heads, sizes);
  }
  return "";
}

// Layers that do nothing; some of them could carry or look up, and are not needed.
std::string idle_line(Random& random, bool causal) {
  static const std::vector<std::string> kEither{"none", "identity(heads=2,vdim=3)",
                                                "linear(heads=1,dim=2,vdim=2)", "full(heads=2,dim=2,vdim=1)",
                                                "full(window=2,heads=1,dim=2,vdim=2)"};
  static const std::vector<std::string> kCausal{"rnn(size=2)",
                                                "gru(size=2)",
                                                "delta(heads=1,dim=2,vdim=2,form=plain)",
                                                "mamba2(heads=1,dim=2,state=2,form=plain)",
                                                "mamba(inner=2,state=2,form=plain)",
                                                "conv(width=2,channels=2)",
                                                "sparse(B=2,k=1,heads=1,dim=2,vdim=2,form=plain)",
                                                "loglinear(heads=1,dim=2,vdim=2)",
                                                "topk(k=2,heads=1,dim=2,vdim=2,form=plain)"};
  const std::uint64_t which = random.below(kEither.size() + (causal ? kCausal.size() : 0));
  return which < kEither.size() ? kEither[which] : kCausal[which - kEither.size()];
}

Architecture architecture_of(const PossibleCase& c, Random& random, std::int64_t more) {
  std::string line;
  const auto add = [&](const std::string& layer) { line += (line.empty() ? "" : "+") + layer; };
  for (const LayerCost& layer : c.cost.layers)
    for (std::int64_t i = 0; i < layer.count; ++i) {
      if (more > 0 && random.below(3) == 0) add(idle_line(random, !c.encoder));
      add(layer_line(layer, random, more));
    }
  if (more > 0 && random.below(3) == 0) add(idle_line(random, !c.encoder));
  // How linear attention keeps its sums: all layers of a file alike; exact ones of many bits have no machine.
  const char* sums = c.cost.precision > 16  ? "wrap"
                     : random.below(3) == 0 ? "exact"
                     : random.below(2)      ? "round"
                                            : "wrap";
  for (const char* word : {"loglinear(", "linear("})
    for (std::size_t at = 0; (at = line.find(word, at)) != std::string::npos;
         at += std::string_view(word).size())
      if (at == 0 || line[at - 1] != 'g')
        line.insert(at + std::string_view(word).size(), fmt::format("acc={},", sums));
  const auto stack = parse_stack(line);
  EXPECT_TRUE(stack) << line << (stack ? "" : stack.error().message);
  Architecture architecture{*stack, {}};
  Dimensions& d = architecture.dimensions;
  d.width = c.cost.width + (more > 0 ? random.between(0, 9) : 0);
  d.precision.bits = c.cost.precision + (more > 0 ? static_cast<int>(random.between(0, 6)) : 0);
  d.precision.bits = std::min(d.precision.bits, 40);
  d.causal = !c.encoder;
  d.position = c.cost.position;
  if (more > 0 && random.below(2)) d.position = PositionCode::table;
  if (more > 0 && c.cost.position == PositionCode::none && random.below(2)) d.position = PositionCode::binary;
  // A normalised carrier counts in two bits.
  if (c.cost.entry_bits > 1) d.accumulator_bits = c.cost.entry_bits + (more > 0 ? random.between(0, 3) : 0);
  return architecture;
}

struct Judged {
  Setting setting;
  Question question;
  Verdict verdict;
};
Judged judged(const PossibleCase& c, const Architecture& architecture) {
  auto setting = make_setting(architecture, {.chain_of_thought = c.thought});
  EXPECT_TRUE(setting) << setting.error().message;
  auto question = make_question(c.task, c.sizes, setting->context, false, {.options = c.options});
  EXPECT_TRUE(question) << question.error().message;
  const Theorem& named = theorem(c.theorem);
  auto verdict = apply(named, *setting, *question);
  EXPECT_TRUE(verdict) << c.theorem << " on " << format_stack(architecture.stack);
  return {*setting, *question, verdict.value_or(Verdict{})};
}

bool proved_possible(const Verdict& v) { return v.outcome == Outcome::possible && is_proved(v.status); }

std::string what_fails(const Verdict& v) {
  std::string text;
  for (const auto& h : v.hypotheses)
    if (!h.holds) text += h.text + ": " + h.numbers + "; ";
  return text;
}

void expect_witness(const PossibleCase& c, const Architecture& architecture, std::uint64_t seed) {
  const Judged found = judged(c, architecture);
  const std::string line = format_stack(architecture.stack);
  ASSERT_TRUE(proved_possible(found.verdict))
      << c.theorem << " on " << line << ": " << what_fails(found.verdict);
  const auto made = build_possible(found.setting, found.question, found.verdict, seed);
  ASSERT_TRUE(made) << c.theorem << " on " << line << ": " << made.error().message;
  const Dimensions& own = made->weights.architecture.dimensions;
  Weights stated{.architecture = architecture, .accumulator = Accumulator::exact};
  ASSERT_TRUE(separate_accumulator(stated));
  EXPECT_EQ(made->weights.architecture.stack, stated.architecture.stack);
  EXPECT_EQ(made->weights.accumulator, stated.accumulator);
  EXPECT_EQ(own.width, architecture.dimensions.width);
  EXPECT_EQ(own.precision, architecture.dimensions.precision);
  EXPECT_EQ(own.position, architecture.dimensions.position);
  const Verification run = verified(*made, {.budget = 300, .samples = 12});
  EXPECT_GT(run.instances, 0u);
  EXPECT_EQ(run.errors, 0u) << c.theorem << " on " << line << " width " << own.width << " p "
                            << own.precision.bits << ": "
                            << (run.failure ? show_failure(*made->task, *run.failure) : "");
}

// Every resource, one below.
void expect_no_fit_below(const PossibleCase& c, Random& random) {
  const Architecture exact = architecture_of(c, random, 0);
  const auto fits = [&](const Architecture& architecture) {
    auto setting = make_setting(architecture, {.chain_of_thought = c.thought});
    EXPECT_TRUE(setting) << setting.error().message;
    const auto fit = fit_construction(*setting, c.cost);
    return fit.holds() && is_proved(fit.status);
  };
  ASSERT_TRUE(fits(exact)) << c.theorem << " " << format_stack(exact.stack);
  const auto less = [&](const char* what, const std::function<void(Architecture&)>& change) {
    Architecture below = exact;
    change(below);
    EXPECT_FALSE(fits(below)) << c.theorem << " with less " << what << ": " << format_stack(exact.stack);
  };
  if (c.cost.width > 1) less("width", [](Architecture& a) { a.dimensions.width -= 1; });
  if (c.cost.precision > 2) less("precision", [](Architecture& a) { a.dimensions.precision.bits -= 1; });
  if (c.cost.entry_bits > 1)
    less("state", [&](Architecture& a) { a.dimensions.accumulator_bits = c.cost.entry_bits - 1; });
  if (c.cost.position != PositionCode::none)
    less("positions", [](Architecture& a) { a.dimensions.position = PositionCode::none; });
  less("number", [](Architecture& a) { a.dimensions.precision = {NumberFormat::fp8_e4m3, 8, 0}; });
  less("position", [](Architecture& a) { a.dimensions.position = PositionCode::rope; });
  if (exact.stack.layers.size() > 1) less("layers", [](Architecture& a) { a.stack.layers.pop_back(); });
  for (std::size_t i = 0; i < exact.stack.layers.size(); ++i)
    for (const char* option : {"heads", "kv", "dim", "vdim", "state", "steps", "size"})
      if (const auto value = exact.stack.layers[i].number(option); value && *value > 1)
        less(option, [&](Architecture& a) {
          for (auto& given : a.stack.layers[i].options)
            if (given.name == option || (given.name == "heads" && std::string_view(option) == "kv") ||
                (given.name == "kv" && std::string_view(option) == "heads"))
              given.value = *value - 1;
        });
}

void check_cases(const std::vector<PossibleCase>& cases, std::uint64_t seed) {
  Random random(seed, 0);
  for (const PossibleCase& c : cases) {
    expect_witness(c, architecture_of(c, random, 0), random.next());
    for (int i = 0; i < 3; ++i) expect_witness(c, architecture_of(c, random, 3), random.next());
    expect_no_fit_below(c, random);
    if (testing::Test::HasFailure()) return;
  }
}

std::int64_t drawn_size(Random& random, std::int64_t low, std::int64_t high) {
  return random.between(low, high);
}

constexpr int kRounds = 8;

TEST(Possible, is_built_for_lookups) {
  Random random(14, 2);
  std::vector<PossibleCase> cases;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t n = drawn_size(random, 1, 40), sigma = drawn_size(random, 2, 40),
                       D = drawn_size(random, 3, 7);
    cases.push_back({"eva-full", "eva", {{"n", n}}, eva_full_cost(n)});
    cases.push_back({"index-full", "index", {{"n", n}, {"sigma", sigma}}, index_lookup_cost(n, sigma)});
    cases.push_back({"index-full", "index", {{"n", n}, {"sigma", sigma}}, index_counter_cost(n, sigma)});
    const std::int64_t pairs = drawn_size(random, 1, 8);
    cases.push_back({"retrieval-full",
                     "retrieval",
                     {{"n", pairs}, {"D", D}, {"sigma", sigma}},
                     retrieval_cost(pairs, static_cast<int>(D), sigma)});
  }
  check_cases(cases, 3);
}

TEST(Possible, is_built_for_strings_counts_and_sums) {
  Random random(14, 3);
  std::vector<PossibleCase> cases;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t n = drawn_size(random, 1, 20), sigma = drawn_size(random, 2, 9),
                       M = drawn_size(random, 2, 40);
    cases.push_back({"compare-full", "equality", {{"n", n}}, equality_cost(n)});
    auto disjoint = equality_cost(n);
    disjoint.construction = "disjointness";
    cases.push_back({"compare-full", "disjointness", {{"n", n}}, disjoint});
    cases.push_back({"counting-full", "counting", {{"n", n}, {"sigma", sigma}}, *counting_cost(n, sigma)});
    cases.push_back({"two-sum-full", "two-sum", {{"n", n}, {"M", M}}, two_sum_binary_cost(n, M)});
    cases.push_back({"two-sum-full", "two-sum", {{"n", n}, {"M", M}}, *two_sum_cosines_cost(n, M)});
    const std::int64_t pairs = drawn_size(random, 2, 12), modulus = drawn_size(random, 3, 30);
    cases.push_back({"two-sum-full",
                     "two-sum-exists",
                     {{"n", pairs}, {"M", modulus}},
                     *two_sum_exists_cost(pairs, modulus)});
  }
  check_cases(cases, 4);
}

TEST(Possible, is_built_for_recall) {
  Random random(14, 4);
  std::vector<PossibleCase> cases;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t n = drawn_size(random, 1, 9), M = drawn_size(random, 1, 12),
                       sigma = drawn_size(random, 2, 9), queries = drawn_size(random, 1, 4),
                       length = drawn_size(random, 6, 16), c = drawn_size(random, 2, 4);
    cases.push_back({"recall-full",
                     "mqar",
                     {{"n", n}, {"M", M}, {"sigma", sigma}, {"queries", queries}},
                     *mqar_cost(n, M, sigma, queries)});
    cases.push_back(
        {"recall-full", "cgram", {{"n", length}, {"c", c}, {"sigma", sigma}}, *cgram_cost(length, c, sigma)});
  }
  check_cases(cases, 5);
}

TEST(Possible, is_built_for_recurrences) {
  Random random(14, 5);
  std::vector<PossibleCase> cases;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t n = drawn_size(random, 2, 20), sigma = drawn_size(random, 2, 20),
                       rows = drawn_size(random, 1, n);
    cases.push_back(
        {"eva-linear",
         "eva",
         {{"n", n}},
         eva_table_cost(Use::table, n, (n + (n + rows - 1) / rows - 1) / ((n + rows - 1) / rows))});
    cases.push_back({"eva-linear", "eva", {{"n", n}}, eva_table_cost(Use::delta, n, 1)});
    cases.push_back({"eva-linear", "eva", {{"n", n}}, eva_table_cost(Use::ssd, n, 1)});
    cases.push_back({"eva-linear", "eva", {{"n", n}}, eva_table_cost(Use::buckets, n, 1)});
    cases.push_back(
        {"eva-linear", "index", {{"n", n}, {"sigma", sigma}}, eva_table_cost(Use::table, n, 1, sigma)});
    const std::int64_t k = drawn_size(random, 1, 3), depth = drawn_size(random, 1, 4);
    cases.push_back({"dyck-automaton",
                     "dyck",
                     {{"n", drawn_size(random, 2, 12)}, {"k", k}, {"depth", depth}},
                     *dyck_cost(k, depth)});
  }
  check_cases(cases, 6);
}

TEST(Possible, is_built_for_sequential_composition) {
  Random random(14, 6);
  std::vector<PossibleCase> cases;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t L = 1 + i % 3;
    TaskSizes sizes{{"L", L}, {"m", drawn_size(random, 2, 5)}};
    for (std::int64_t l = 1; l < L; ++l) sizes[fmt::format("n{}", l)] = drawn_size(random, 1, 3);
    auto question = make_question("seqcomp", sizes, 4096, false);
    ASSERT_TRUE(question) << question.error().message;
    const SeqcompDigits digits = seqcomp_digits(*question);
    cases.push_back({"seqcomp-full", "seqcomp", sizes, seqcomp_full_cost(digits)});
    if (auto cost = seqcomp_serial_cost(digits)) cases.push_back({"seqcomp-full", "seqcomp", sizes, *cost});
    for (const bool late : {false, true})
      for (const CarryForm form : {CarryForm::heads, CarryForm::columns}) {
        auto cost = seqcomp_carried_cost(digits, late, form);
        cost.entry_bits = 2;  // whatever feature is drawn
        cases.push_back({"seqcomp-recurrence", "seqcomp", sizes, cost});
      }
    for (const CarryForm form : {CarryForm::none, CarryForm::heads, CarryForm::columns})
      if (auto cost = seqcomp_precomposed_cost(digits, form)) {
        if (form != CarryForm::none) cost->entry_bits = 2;
        cases.push_back({"seqcomp-precomposed", "seqcomp", sizes, *cost});
      }
    if (auto cost = seqcomp_absorbed_cost(digits, drawn_size(random, 1, L))) {
      cost->entry_bits = 2;
      cases.push_back({"seqcomp-absorbed", "seqcomp", sizes, *cost});
    }
    cases.push_back({"seqcomp-encoder", "seqcomp", sizes, seqcomp_encoder_cost(digits), false, true});
    cases.push_back({"seqcomp-thought", "seqcomp", sizes, seqcomp_thought_cost(digits), true});
  }
  check_cases(cases, 7);
}

// The task's least automaton, as the theorems see it.
Automaton least_of(const std::string& task, const TaskSizes& sizes,
                   const std::map<std::string, std::string>& options) {
  auto question = make_question(task, sizes, 4096, false, {.options = options});
  EXPECT_TRUE(question) << task << ": " << question.error().message;
  return question->followed->least;
}

// A user's automaton as a file: random, or one whose letters permute its states.
std::string drawn_automaton(Random& random, bool permutes, int number) {
  const std::uint64_t states = random.between(2, 5), letters = random.between(1, 3);
  nlohmann::ordered_json file;
  for (std::uint64_t l = 0; l < letters; ++l)
    file["alphabet"].push_back(std::string(1, static_cast<char>('a' + l)));
  std::vector<std::vector<std::uint64_t>> next(letters, std::vector<std::uint64_t>(states));
  for (std::uint64_t l = 0; l < letters; ++l)
    for (std::uint64_t q = 0; q < states; ++q) {
      next[l][q] = permutes ? q : random.below(states);
      if (permutes) std::swap(next[l][q], next[l][random.below(q + 1)]);
    }
  std::vector<std::uint64_t> reached{0};  // a file names no state that no word comes to
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const auto& letter : next)
      if (std::find(reached.begin(), reached.end(), letter[reached[i]]) == reached.end())
        reached.push_back(letter[reached[i]]);
  const auto name = [](std::uint64_t q) { return fmt::format("q{}", q); };
  file["start"] = name(0);
  for (const auto q : reached) {
    file["states"].push_back(name(q));
    file["outputs"][name(q)] = random.below(3);
    for (std::uint64_t l = 0; l < letters; ++l)
      file["transitions"][name(q)][std::string(1, static_cast<char>('a' + l))] = name(next[l][q]);
  }
  const std::string path = fmt::format("{}/possible-{}-{}.json", testing::TempDir(), permutes, number);
  std::ofstream(path) << file.dump();
  return path;
}

TEST(Possible, is_built_for_automata) {
  Random random(14, 8);
  std::vector<PossibleCase> cases;
  const auto add = [&](std::string theorem, const std::string& task, const TaskSizes& sizes,
                       std::optional<ConstructionCost> cost,
                       const std::map<std::string, std::string>& options = {}) {
    ASSERT_TRUE(cost) << theorem << " on " << task;
    const bool file = task.ends_with(".json");
    if (cost->construction.empty()) cost->construction = file ? "automaton" : task;
    cases.push_back({std::move(theorem), task, sizes, *cost, false, false, options});
  };
  const auto by_all = [&](const std::string& task, const TaskSizes& sizes,
                          const std::map<std::string, std::string>& options, bool permutes) {
    const Automaton least = least_of(task, sizes, options);
    for (const Use use : {Use::counter, Use::elman, Use::gru})
      add("automaton-rnn", task, sizes, automaton_cells_cost(least, use), options);
    if (permutes)
      for (const Use use : {Use::delta, Use::gdelta})
        add("permutations-delta", task, sizes, automaton_exchanges_cost(least, use), options);
  };
  by_all("parity", {{"n", 6}}, {}, true);
  for (const std::int64_t m : {3, 5}) by_all("modulo", {{"n", 4}, {"m", m}}, {}, true);
  by_all("flipflop", {{"n", 5}, {"k", 3}}, {}, false);
  for (const char* name : {"S3", "Z4", "D4", "Q8", "Z2xZ2"})
    for (const char* letters : {"all", "generators"})
      by_all("group", {{"n", 4}}, {{"name", name}, {"letters", letters}}, true);
  int cascades = 0;
  for (int i = 0; i < 24; ++i) {
    const bool permutes = i % 3 == 0;
    const std::string file = drawn_automaton(random, permutes, i);
    by_all(file, {{"n", 5}}, {}, permutes);
    if (auto cost = automaton_cascade_cost(least_of(file, {{"n", 5}}, {})); cost && cost->entry_bits > 0) {
      add("cascade-mamba2", file, {{"n", 5}}, cost);
      ++cascades;
    }
  }
  EXPECT_GE(cascades, 3);
  for (const std::int64_t k : {2, 3, 6}) {
    add("cascade-mamba2", "flipflop", {{"n", 5}, {"k", k}}, flipflop_cost(k));
    if (k <= 3)
      add("cascade-mamba2", "flipflop", {{"n", 5}, {"k", k}},
          automaton_cascade_cost(least_of("flipflop", {{"n", 5}, {"k", k}}, {})));
  }
  for (const std::int64_t n : {1, 2, 7, 12, 40})
    add("parity-full", "parity", {{"n", n}}, parity_full_cost(n));
  for (const char* group : {"symmetric", "cyclic", "xor"})
    for (const std::int64_t n : {2, 4, 8})
      add("tracked-recall-hybrid", "tracked-recall", {{"n", n}, {"sigma", n}, {"w", 5}},
          tracked_recall_cost(tracked_group(group), n, n, 5), {{"group", group}});
  check_cases(cases, 8);
}

// With nothing that depends on the position the weights are right at every length, and only then.
TEST(Possible, at_every_length_asks_for_no_positions_and_no_levels) {
  const auto every_length = [](const std::string& line, PositionCode position) {
    Architecture architecture{*parse_stack(line), {.position = position}};
    const auto setting = make_setting(architecture, {});
    const auto question = make_question("parity", {}, setting->context, false);
    const Verdict verdict = decide(*setting, *question);
    EXPECT_EQ(verdict.every_length->outcome == Outcome::open, !verdict.every_length->reason.empty());
    return verdict.every_length->outcome;
  };
  EXPECT_EQ(every_length("delta(heads=1,form=plain)", PositionCode::none), Outcome::possible);
  EXPECT_EQ(every_length("gru", PositionCode::none), Outcome::possible);
  EXPECT_EQ(every_length("mamba2(form=plain)+rnn", PositionCode::none), Outcome::possible);
  EXPECT_EQ(every_length("mamba2(form=plain)*2", PositionCode::none), Outcome::impossible);
  EXPECT_EQ(every_length("delta(heads=1,form=plain)", PositionCode::table), Outcome::open);
  EXPECT_EQ(every_length("delta(heads=1,form=plain)+loglinear", PositionCode::none), Outcome::open);
  const auto setting =
      make_setting({*parse_stack("delta(heads=1,form=plain)"), {.position = PositionCode::table}}, {});
  const auto question = make_question("parity", {}, setting->context, false);
  EXPECT_EQ(decide(*setting, *question).every_length->reason, "positions (table) of one context");
}

// Softmax over everything visible means the same to the last token with and without causality.
TEST(Possible, holds_for_encoders_where_only_the_last_token_asks) {
  Random random(14, 7);
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t n = drawn_size(random, 1, 12);
    for (PossibleCase c : {PossibleCase{"eva-full", "eva", {{"n", n}}, eva_full_cost(n)},
                           PossibleCase{"compare-full", "equality", {{"n", n}}, equality_cost(n)},
                           PossibleCase{"retrieval-full",
                                        "retrieval",
                                        {{"n", 4}, {"D", 3}, {"sigma", n + 1}},
                                        retrieval_cost(4, 3, n + 1)}}) {
      c.encoder = true;
      expect_witness(c, architecture_of(c, random, 0), random.next());
    }
  }
}

// The controls: idle parts have weights of their own, which only W_O = 0 keeps out, and nothing smaller is padded.
TEST(Possible, is_wrong_where_an_idle_layer_speaks) {
  const Architecture target{*parse_stack("rnn(size=3)+full(heads=2,dim=9,vdim=4)"),
                            {.width = 20, .precision = {.bits = 6}}};
  auto made = padded_to(built({.name = "eva", .sizes = {{"n", 6}}}), target, 1);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(verified(*made, {.budget = 1000, .samples = 50}).errors, 0u);
  Tensor& output = made->weights.tensors.at("layers.0.o.weight");
  output =
      integer_tensor(output.shape, std::vector<std::int64_t>(static_cast<std::size_t>(output.size()), 1));
  EXPECT_GT(verified(*made, {.budget = 1000, .samples = 50}).errors, 0u);
}

TEST(Possible, is_not_padded_into_less) {
  const Construction made = built({.name = "eva", .sizes = {{"n", 6}}});
  for (const auto& [line, width, bits] : {std::tuple("full(heads=1,dim=5,vdim=3)", 30, 8),
                                          {"full(heads=1,dim=6,vdim=2)", 30, 8},
                                          {"full(heads=1,dim=6,vdim=3)", 11, 8},
                                          {"full(window=9,heads=1,dim=6,vdim=3)", 30, 8},
                                          {"linear", 30, 8}})
    EXPECT_FALSE(padded_to(made, {*parse_stack(line), {.width = width, .precision = {.bits = bits}}}, 1))
        << line;
  Architecture nowhere{*parse_stack("full(heads=1,dim=6,vdim=3)"),
                       {.width = 30, .position = PositionCode::none}};
  EXPECT_FALSE(padded_to(made, nowhere, 1));
}

// What a verdict says about floats is run in them: mode Q.
TEST(Possible, in_a_float_format_is_right_in_that_format) {
  for (const char* format : {"bf16", "fp16", "fp32"})
    for (const auto& [task, sizes] : {std::pair<std::string, TaskSizes>{"eva", {{"n", 5}}},
                                      {"eva", {{"n", 60}}},
                                      {"index", {{"n", 40}, {"sigma", 5}}},
                                      {"seqcomp", {{"m", 3}, {"n1", 2}}}}) {
      Architecture architecture{*parse_stack(task == "seqcomp" ? "full*3" : "full"), {}};
      architecture.dimensions.heads = 2;
      architecture.dimensions.precision = *parse_precision(format);
      auto setting = make_setting(architecture, {});
      ASSERT_TRUE(setting);
      auto question = make_question(task, sizes, setting->context, false);
      ASSERT_TRUE(question);
      const Verdict verdict = decide(*setting, *question);
      ASSERT_TRUE(proved_possible(verdict)) << task << " " << format << ": " << what_fails(verdict);
      ConstructionRequest request{.name = task, .sizes = question->sizes, .precision = 12};
      if (task == "index") request.options["by"] = "positions";
      const Verification run =
          verified(built(request), {.budget = 2000, .samples = 40, .quantised = *parse_precision(format)});
      EXPECT_EQ(run.errors, 0u) << task << " " << format;
    }
}

}  // namespace
}  // namespace rung
