// What the theory says a construction costs, against every built file: layers, heads, dimensions, width, precision,
// state, positions and written tokens. The vectors are what `possible` verdicts compare an architecture with, so they
// are the file's own numbers, not bounds of them.
#include "rung/theory/constructions_cost.h"

#include "rung/theory/tracking_cost.h"
#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

Question question_of(const ConstructionRequest& request) {
  QuestionForm form;
  for (const char* option : {"name", "letters", "group"})
    if (const auto given = request.options.find(option); given != request.options.end())
      form.options[option] = given->second;
  auto question = make_question(request.name, request.sizes, std::int64_t{1} << 20, false, form);
  EXPECT_TRUE(question) << question.error().message;
  return *question;
}

// The vector of a request; nothing where the theory has none.
std::optional<ConstructionCost> cost_of(const ConstructionRequest& request) {
  const Question q = question_of(request);
  const std::string by = request.option("by", ""), name = request.name;
  const auto size = [&](const char* which) { return q.size(which); };
  const auto rows = [&](std::int64_t n) {
    return request.options.contains("rows") ? std::stoll(request.options.at("rows"))
                                            : eva_linear_cost(n).value_dim();
  };
  if (name == "eva") {
    const std::int64_t n = size("n");
    if (by == "linear" || by == "loglinear")
      return eva_table_cost(by == "linear" ? Use::table : Use::buckets, n, rows(n));
    if (by == "delta" || by == "mamba2") return eva_table_cost(by == "delta" ? Use::delta : Use::ssd, n, 1);
    return by == "sparse" ? std::nullopt : std::optional(eva_full_cost(n));
  }
  if (name == "index") {
    const std::int64_t n = size("n"), sigma = size("sigma");
    if (by == "linear") return eva_table_cost(Use::table, n, rows(n), sigma);
    if (by == "positions") return index_lookup_cost(n, sigma);
    return by == "cot" ? std::nullopt : std::optional(index_counter_cost(n, sigma));
  }
  if (name == "retrieval") return retrieval_cost(size("n"), static_cast<int>(size("D")), size("sigma"));
  if (name == "two-sum") {
    if (by == "binary") return two_sum_binary_cost(size("n"), size("M"));
    if (by == "sparse") {
      const auto made = build_construction(request);
      return two_sum_slots_cost(size("n"), size("M"),
                                *made->weights.architecture.stack.layers[1].number("B"));
    }
    if (request.option("blank", "") == "counting") return std::nullopt;
    return two_sum_cosines_cost(size("n"), size("M"));
  }
  if (name == "two-sum-exists") return two_sum_exists_cost(size("n"), size("M"));
  if (name == "equality" || name == "disjointness") return equality_cost(size("n"));
  if (name == "counting") return counting_cost(size("n"), size("sigma"));
  if (name == "mqar") return mqar_cost(size("n"), size("M"), size("sigma"), size("queries"));
  if (name == "cgram") return cgram_cost(size("n"), size("c"), size("sigma"));
  if (name == "dyck") return dyck_cost(size("k"), size("depth"));
  if (name == "tracked-recall")
    return tracked_recall_cost(tracked_group(request.option("group", "symmetric")), size("n"), size("sigma"),
                               size("w"));
  if (q.followed) {
    auto cost = by == "full" ? parity_full_cost(size("n"))
                : by == "delta" || by == "gdelta"
                    ? automaton_exchanges_cost(q.followed->least, by == "delta" ? Use::delta : Use::gdelta)
                : by == "cascade" ? automaton_cascade_cost(q.followed->least)
                : by == "mamba2"  ? flipflop_cost(size("k"))
                : by == "gru"
                    ? automaton_cells_cost(q.followed->least, Use::gru)
                    : automaton_cells_cost(q.followed->least, by == "elman" ? Use::elman : Use::counter);
    if (cost) cost->construction = name;
    return cost;
  }
  if (name != "seqcomp") return std::nullopt;
  const SeqcompDigits digits = seqcomp_digits(q);
  const std::string word = request.option("pattern", "");
  const std::int64_t L = digits.L, full = std::count(word.begin(), word.end(), 'F');
  const CarryForm form = word.find('R') == std::string::npos             ? CarryForm::none
                         : request.option("carry", "heads") == "columns" ? CarryForm::columns
                                                                         : CarryForm::heads;
  if (request.option("encoder", "no") == "yes") return seqcomp_encoder_cost(digits);
  if (request.option("cot", "no") == "yes") return seqcomp_thought_cost(digits);
  if (word.empty() || word == std::string(static_cast<std::size_t>(L) + 1, 'F'))
    return seqcomp_full_cost(digits);
  if (form == CarryForm::none)
    return full == 2 * L ? seqcomp_serial_cost(digits) : seqcomp_precomposed_cost(digits, form);
  if (word.find("RR") != std::string::npos)
    return seqcomp_absorbed_cost(digits, static_cast<std::int64_t>(word.size()) - full - 1);
  if (full == L - 1 && word.front() == 'R') return seqcomp_precomposed_cost(digits, form);
  return seqcomp_carried_cost(digits, word.front() == 'F', form);
}

MixerKind kind_of(Use use) {
  switch (use) {
    case Use::lookup:
    case Use::softmax:
      return MixerKind::full;
    case Use::mlp:
      return MixerKind::none;
    case Use::carry:
    case Use::table:
    case Use::relu_table:
      return MixerKind::linear;
    case Use::buckets:
      return MixerKind::loglinear;
    case Use::delta:
      return MixerKind::delta;
    case Use::gdelta:
      return MixerKind::gdelta;
    case Use::gru:
      return MixerKind::gru;
    case Use::ssd:
      return MixerKind::mamba2;
    case Use::elman:
    case Use::counter:
      return MixerKind::rnn;
    case Use::slots:
      return MixerKind::sparse;
  }
  return MixerKind::none;
}

void expect_cost(const ConstructionRequest& request, const std::string& line) {
  const auto cost = cost_of(request);
  const auto file = build_construction(request);
  const bool priced = request.name == "mqar" || request.name == "cgram" || request.name == "counting";
  if (priced) {
    EXPECT_EQ(cost.has_value(), static_cast<bool>(file))
        << line;  // too many bits for one, too many for the other
    if (!file) return;
  }
  ASSERT_TRUE(file) << line << ": " << file.error().message;
  if (!cost) return;
  const Construction& made = *file;
  const Dimensions& own = made.weights.architecture.dimensions;
  const auto shapes = resolve(made.weights.architecture);
  ASSERT_TRUE(shapes) << line;
  std::size_t next = 0;
  // The one-head form fetches each w with its own width; its vector has the widest.
  const bool narrower =
      request.option("pattern", "").find_first_not_of('F') == std::string::npos && cost->word == "F^{2L}";
  for (const LayerCost& layer : cost->layers)
    for (std::int64_t i = 0; i < layer.count; ++i, ++next) {
      ASSERT_LT(next, shapes->size()) << line;
      const MixerShape& m = (*shapes)[next].mixer;
      EXPECT_EQ(m.kind, kind_of(layer.use)) << line << " layer " << next;
      if (layer.use == Use::mlp) continue;
      EXPECT_EQ(m.steps, layer.steps) << line << " layer " << next;
      if (m.kind == MixerKind::rnn || m.kind == MixerKind::gru) {
        EXPECT_EQ(m.inner, layer.value_dim) << line;
        continue;
      }
      EXPECT_EQ(m.heads, layer.heads) << line << " layer " << next;
      EXPECT_EQ(m.key_dim, layer.key_dim) << line << " layer " << next;
      if (narrower)
        EXPECT_LE(m.value_dim, layer.value_dim) << line << " layer " << next;
      else
        EXPECT_EQ(m.value_dim, layer.value_dim) << line << " layer " << next;
    }
  EXPECT_EQ(next, shapes->size()) << line;
  EXPECT_EQ(own.width, cost->width) << line;
  ASSERT_TRUE(made.p_proved) << line;
  EXPECT_EQ(std::max(*made.p_proved, request.option("carry", "") == "columns" ? cost->precision : 0),
            cost->precision)
      << line;
  EXPECT_EQ(own.precision.bits, cost->precision) << line;
  EXPECT_EQ(own.position, cost->position) << line;
  EXPECT_EQ(own.causal, cost->sight != Sight::bidirectional) << line;
  EXPECT_EQ(made.weights.decode.steps, cost->generated) << line;
  const bool normalised = request.option("normalised", "no") == "yes";
  if (cost->entry_bits > 0)
    EXPECT_EQ(own.accumulator_bits, normalised ? 2 : cost->entry_bits) << line;
  else
    EXPECT_FALSE(own.accumulator_bits) << line;
  if (made.interval) {
    EXPECT_TRUE(made.interval().holds) << line;
  }
  EXPECT_EQ(request.name, cost->construction == "equality" ? request.name : cost->construction) << line;
}

class Costs : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Constructions, Costs, testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Costs, of_a_built_file_are_those_of_the_theory) {
  for (const auto& line : GetParam().lines) expect_cost(request_of_line(line), line);
}

TEST(Costs, of_what_follows_a_state_are_those_of_the_built_file) {
  std::vector<std::string> lines{"flipflop --k 2 --by mamba2", "flipflop --k 9 --by mamba2",
                                 "flipflop --k 3 --by cascade", "flipflop --k 6 --by cascade"};
  for (const char* by : {"delta", "gdelta", "rnn", "elman", "gru"}) {
    for (const char* task : {"parity", "modulo --m 3", "modulo --m 8", "group --name S3", "group --name Q8",
                             "group --name A4 --letters generators", "group --name S4 --letters generators",
                             "group --name Z2xZ2xZ2"})
      lines.push_back(fmt::format("{} --by {}", task, by));
    if (!std::string_view(by).ends_with("delta")) lines.push_back(fmt::format("flipflop --k 4 --by {}", by));
  }
  for (const int n : {1, 2, 3, 8, 33, 500}) lines.push_back(fmt::format("parity --n {} --by full", n));
  for (const char* group : {"symmetric", "cyclic", "xor"})
    for (const int n : {2, 4, 16})
      lines.push_back(fmt::format("tracked-recall --n {} --sigma {} --w 6 --group {}", n, n + 1, group));
  for (const auto& line : lines) expect_cost(request_of_line(line), line);
}

// Hundreds of sizes drawn at random, every construction that a `proved` verdict names.
TEST(Costs, are_met_exactly_at_random_sizes) {
  Random random(14, 1);
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.between(low, high); };
  for (int i = 0; i < 25; ++i) {
    std::vector<std::string> lines;
    const std::int64_t n = draw(1, 70);
    lines.push_back(fmt::format("eva --n {}", draw(1, 3000)));
    lines.push_back(fmt::format("eva --n {} --by linear --rows {}", n, draw(1, n)));
    lines.push_back(fmt::format("eva --n {} --by {}", n, i % 2 ? "delta" : "mamba2"));
    lines.push_back(fmt::format("index --n {} --sigma {} --by positions", draw(1, 900), draw(2, 900)));
    lines.push_back(fmt::format("index --n {} --sigma {} --by full", draw(1, 300), draw(2, 300)));
    lines.push_back(fmt::format("index --n {} --sigma {} --by linear", n, draw(2, 90)));
    const std::int64_t D = draw(3, 20);
    lines.push_back(fmt::format("retrieval --n {} --D {} --sigma {}", draw(1, 8), D, draw(2, 90)));
    lines.push_back(fmt::format("two-sum --n {} --M {}", draw(1, 400), draw(2, 900)));
    lines.push_back(fmt::format("two-sum --n {} --M {} --by binary", draw(1, 400), draw(2, 900)));
    lines.push_back(fmt::format("two-sum-exists --n {} --M {}", draw(2, 60), draw(3, 200)));
    lines.push_back(fmt::format("{} --n {}", i % 2 ? "equality" : "disjointness", draw(1, 300)));
    lines.push_back(fmt::format("counting --n {} --sigma {}", draw(1, 200), draw(2, 40)));
    lines.push_back(
        fmt::format("mqar --n {} --M {} --sigma {} --queries {}", n, draw(1, 90), draw(2, 90), draw(1, 20)));
    lines.push_back(fmt::format("cgram --n {} --c {} --sigma {}", n + 8, draw(2, 6), draw(2, 20)));
    lines.push_back(fmt::format("dyck --n 8 --k {} --depth {}", draw(1, 4), draw(1, 5)));
    const std::int64_t L = draw(1, 3);
    std::string sizes = fmt::format("seqcomp --L {} --m {}", L, draw(2, 9));
    for (std::int64_t l = 1; l < L; ++l) sizes += fmt::format(" --n{} {}", l, draw(1, 5));
    const std::string F(static_cast<std::size_t>(L), 'F'), rest(static_cast<std::size_t>(L) - 1, 'F');
    const char* carry = i % 2 ? "heads" : "columns";
    const char* feature = i % 3 ? "relu" : "elu1";
    const char* normalised = i % 5 < 2 ? "yes" : "no";
    lines.push_back(sizes);
    lines.push_back(fmt::format("{} --pattern R{} --carry {} --feature {} --normalised {}", sizes, F, carry,
                                feature, normalised));
    lines.push_back(fmt::format("{} --pattern FR{} --carry {} --feature {} --normalised {}", sizes, rest,
                                carry, feature, normalised));
    lines.push_back(sizes + " --encoder");
    lines.push_back(sizes + " --cot");
    lines.push_back(fmt::format("{} --pattern RR{}", sizes, rest));
    if (L >= 2) lines.push_back(fmt::format("{} --pattern {}{}", sizes, F, F));
    if (L >= 2) lines.push_back(fmt::format("{} --pattern {}", sizes, F));
    if (L >= 3) lines.push_back(fmt::format("{} --pattern R{} --carry {}", sizes, rest, carry));
    for (const auto& line : lines) expect_cost(request_of_line(line), line);
  }
}

// Beyond the sizes that are built, costs only grow: what fits at n fits below.
TEST(Costs, never_fall_with_the_size) {
  std::int64_t width = 0;
  int p = 0, counted = 0, recalled = 0;
  for (std::int64_t n = 1; n <= std::int64_t{1} << 20; n = n * 5 / 4 + 1) {
    const auto eva = eva_full_cost(n);
    EXPECT_GE(eva.precision, p) << n;
    EXPECT_GE(eva.width, width) << n;
    p = eva.precision, width = eva.width;
    if (const auto counting = counting_cost(n, 4)) {
      EXPECT_GE(counting->precision, counted) << n;
      counted = counting->precision;
    }
    if (const auto mqar = mqar_cost(n, 2 * n, n, n)) {
      EXPECT_GE(mqar->precision, recalled) << n;
      recalled = mqar->precision;
    }
  }
}

TEST(Costs, of_counting_beyond_the_exact_search_are_upper_bounds) {
  for (const std::int64_t n : {100, 1000, 5000}) {
    const auto exact = counting_precision_proved(n, n + 2);
    ASSERT_TRUE(exact);
    EXPECT_TRUE(counting_gadget(n, n + 2, *exact).holds);
    EXPECT_FALSE(counting_gadget(n, n + 2, *exact - 1).holds);
  }
  for (const std::int64_t n : {kCountedOneByOne + 1, 3 * kCountedOneByOne}) {
    const auto bound = counting_precision_proved(n, n + 2);
    ASSERT_TRUE(bound);
    EXPECT_TRUE(counting_gadget(n, n + 2, *bound).holds) << n;
  }
}

TEST(Costs, that_are_measured_cover_what_is_built) {
  for (const char* line :
       {"nearest --n 2 --margin 128 --by softmax", "nearest --n 12 --margin 128 --by softmax",
        "nearest --n 40 --d 3 --margin 64 --by softmax"}) {
    const Construction made = built(request_of_line(line));
    const Question q = question_of(request_of_line(line));
    const auto cost = nearest_cost(q.size("n"), q.size("d"), q.size("sigma"), q.size("f"));
    EXPECT_EQ(made.weights.architecture.dimensions.width, cost.width) << line;
    EXPECT_LE(*made.p_proved, cost.precision) << line;
  }
  for (const char* line : {"sparse-average --n 3 --q 2 --f 0", "sparse-average --n 24 --q 3 --d 2",
                           "sparse-average --n 64 --q 1", "sparse-average --n 40 --q 4"}) {
    const Construction made = built(request_of_line(line));
    const Question q = question_of(request_of_line(line));
    const auto cost = sparse_average_cost(q.size("n"), q.size("q"), q.size("d"), q.size("f"), true);
    EXPECT_LE(made.weights.architecture.dimensions.width, cost.width) << line;
    EXPECT_LE(*made.p_proved, cost.precision) << line;
  }
}

}  // namespace
}  // namespace rung
