// What the theory says a construction costs, against every built file: layers, heads, dimensions, precision,
// state and written tokens. The formulas are what `possible` verdicts compare an architecture with, so a
// built file may need less, never more.
#include "rung/theory/constructions_cost.h"

#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

// The formula of a form at the sizes of its task; nothing where the theory has none.
std::optional<ConstructionCost> cost_of(const std::string& form, const Construction& made) {
  const auto json = made.task->size();
  const auto size = [&](const char* name) { return json.at(name).get<std::int64_t>(); };
  const std::int64_t T = made.task->prompt_length();
  if (form == "eva") return eva_full_cost(size("n"));
  if (form == "eva_linear" || form == "eva_loglinear") return eva_linear_cost(size("n"));
  if (form == "eva_sparse") return eva_sparse_cost(size("n"), 1);
  if (form == "retrieval") return retrieval_cost(size("n"), static_cast<int>(size("D")), size("sigma"));
  if (form == "two_sum_threshold") return two_sum_trigonometric_cost(size("n"), size("M"), false);
  if (form == "two_sum_counting") return two_sum_trigonometric_cost(size("n"), size("M"), true);
  if (form == "two_sum_binary") return two_sum_binary_cost(size("n"), size("M"));
  if (form == "two_sum_sparse")
    return two_sum_slots_cost(size("n"), size("M"), *made.weights.architecture.stack.layers[1].number("B"));
  if (form == "two_sum_exists") return two_sum_exists_cost(size("n"), size("M"));
  if (form == "equality" || form == "disjointness") return equality_cost(size("n"));
  if (form == "counting") return counting_cost(size("n"), size("sigma"));
  if (form == "mqar") return recall_cost(T, 1, std::max(size("M"), size("sigma")));
  if (form == "cgram") return recall_cost(T, size("c") - 1, size("sigma"));
  if (form.starts_with("sparse_average")) return sparse_average_cost(size("n"), size("q"));
  if (form.starts_with("nearest"))
    return nearest_cost(size("n"), size("d"),
                        std::ldexp(static_cast<double>(size("margin")), -static_cast<int>(size("f"))));
  if (!form.starts_with("seqcomp")) return std::nullopt;
  const int L = static_cast<int>(size("L"));
  if (form == "seqcomp_full") return seqcomp_full_cost(L, T);
  if (form == "seqcomp_early") return seqcomp_early_cost(L, T);
  if (form == "seqcomp_late") return seqcomp_middle_cost(L, T);
  if (form == "seqcomp_encoder") return seqcomp_encoder_cost(L, T);
  if (form == "seqcomp_thought") return seqcomp_thought_cost(L, T);
  if (form.starts_with("seqcomp_precomposed")) {
    const std::int64_t last = size(fmt::format("n{}", L - 1).c_str());
    std::int64_t N = size("m");
    for (int l = 1; l < L; ++l) N *= size(fmt::format("n{}", l).c_str());
    return seqcomp_precomposed_cost(L, T, last, N, form.ends_with("early"));
  }
  return std::nullopt;
}

struct Built {
  std::int64_t full = 0, recurrent = 0, heads = 0, key_dim = 0,
               value_dim = 0;   // the last three of the full layers, where there are any
  std::int64_t collecting = 0;  // heads of the recurrent layers
};
Built measured(const Construction& made) {
  const auto shapes = resolve(made.weights.architecture);
  EXPECT_TRUE(shapes);
  Built built, states;
  for (const auto& shape : *shapes) {
    const auto& mixer = shape.mixer;
    if (mixer.kind == MixerKind::none) continue;
    const bool reads = mixer.kind == MixerKind::full || mixer.kind == MixerKind::sparse;
    (reads ? built.full : built.recurrent) += 1;
    Built& sizes = reads ? built : states;
    sizes.heads = std::max(sizes.heads, mixer.heads);
    sizes.key_dim = std::max(sizes.key_dim, mixer.key_dim);
    sizes.value_dim = std::max(sizes.value_dim, mixer.value_dim);
  }
  built.collecting = states.heads;
  if (built.full == 0)
    built.heads = states.heads, built.key_dim = states.key_dim, built.value_dim = states.value_dim;
  return built;
}

// Where a file is another construction than the formula's, and what it costs then. Everything else is at most
// the formula.
void apply_deviations(const std::string& form, const Construction& made, ConstructionCost& cost) {
  const auto size = [&](const char* name) { return made.task->size().at(name).get<std::int64_t>(); };
  const std::int64_t T = made.task->prompt_length();
  if (form == "eva_loglinear") {  // every live bucket has the state of the formula
    cost.state_bits *= loglinear_levels(T);
  } else if (
      form ==
      "two_sum_sparse") {  // codes are read in place of a blank's share; an unfinished block has a head of its own
    cost.value_dim = cost.key_dim / 2;
    cost.heads += size("n") % cost.heads != 0;
  } else if (form == "two_sum_exists") {  // built by cosines; the second head reads a number
    cost.precision = two_sum_trigonometric_cost(size("n"), size("M"), true).precision;
    cost.value_dim = address_bits(size("M"));
  } else if (form == "seqcomp_encoder") {  // the pointer's level, a unit vector, travels along
    cost.value_dim += size("L") + 1;
  } else if (
      form ==
      "seqcomp_thought") {  // the query is linear in the token, so the code is that of (argument, function)
    cost.key_dim += 2 * std::int64_t{address_bits(size("L") + 2)};
    cost.precision += 1;
  } else if (
      form == "mqar" ||
      form == "cgram") {  // the formula assumes that no key repeats; counting them takes a layer and its bits
    const std::int64_t candidates = form == "mqar" ? size("n") : T;
    const std::int64_t symbols = form == "mqar" ? size("M") + size("sigma") : size("sigma");
    const std::int64_t matched = form == "mqar" ? 1 : size("c") - 1;
    const auto counted = counting_cost(candidates, 1);
    cost.full_layers += 1;
    cost.heads = std::max<std::int64_t>(cost.heads, 2);
    cost.key_dim = std::max<std::int64_t>(
        cost.key_dim, 2 * (matched * address_bits(symbols) + address_bits(candidates + 1)) + 1);
    cost.value_dim = std::max<std::int64_t>(cost.value_dim, address_bits(symbols));
    cost.precision = counted.precision;
  } else if (
      form.starts_with(
          "nearest")) {  // points have f fraction bits whatever the margin; labels push others down by one coordinate
    cost.precision = std::max(cost.precision, static_cast<int>(size("f")) + 4);
    cost.key_dim += 1;
    if (form == "nearest_thresholds")
      cost.full_layers += 1, cost.heads = 2 * ((std::int64_t{1} << size("f")) / size("margin")) + 2;
  } else if (form.starts_with("sparse_average")) {  // a sum in place of the solved query: q² in place of q
    cost.key_dim *= size("q");
    cost.value_dim = size("d");
  }
}

class Costs : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Constructions, Costs, testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Costs, of_a_built_file_are_those_of_the_theory) {
  const std::string& form = GetParam().name;
  for (const auto& line : GetParam().lines) {
    const Construction made = built(request_of_line(line));
    const Built file = measured(made);
    auto cost = cost_of(form, made);
    if (!cost) {
      EXPECT_TRUE(form == "dyck" || form == "eva_delta" || form == "eva_mamba2" ||
                  form.starts_with("index") || form == "seqcomp_absorbed")
          << form;
      continue;
    }
    apply_deviations(form, made, *cost);
    EXPECT_EQ(file.full, cost->full_layers) << line;
    EXPECT_EQ(file.recurrent, cost->recurrent_layers) << line;
    EXPECT_LE(file.heads, cost->heads) << line;
    EXPECT_LE(file.key_dim, cost->key_dim) << line;
    EXPECT_LE(file.value_dim, cost->value_dim) << line;
    EXPECT_LE(*made.p_proved, cost->precision) << line;
    EXPECT_EQ(made.weights.decode.steps, cost->generated) << line;
    if (cost->state_bits > 0) {
      EXPECT_LE(state_bits(made), cost->state_bits) << line;
    }
    if (form == "seqcomp_early" || form == "seqcomp_late") {
      EXPECT_EQ(file.collecting, made.task->size().at("L").get<std::int64_t>()) << line;
    }
  }
}

// Where the formula is the construction's own, it is met exactly.
TEST(Costs, are_met_exactly_by_the_tight_constructions) {
  for (const std::int64_t n : {4, 10, 64, 300}) {
    EXPECT_EQ(state_bits(built(request_of_line(fmt::format("eva --n {} --by linear", n)))),
              eva_linear_cost(n).state_bits);
    const Construction lookup = built(request_of_line(fmt::format("eva --n {}", n)));
    EXPECT_EQ(measured(lookup).key_dim, eva_full_cost(n).key_dim);
    EXPECT_EQ(*lookup.p_proved, eva_full_cost(n).precision);
  }
  for (const auto& [k, depth] : {std::pair(1, 5), {2, 2}, {3, 3}, {4, 4}})
    EXPECT_EQ(state_bits(built(request_of_line(fmt::format("dyck --n 8 --k {} --depth {}", k, depth)))),
              dyck_cost(k, depth).state_bits);
}

TEST(Costs, of_counting_cover_every_length) {
  for (std::int64_t n = 1; n <= 120; ++n)
    EXPECT_LE(*built(request_of_line(fmt::format("counting --n {}", n))).p_proved,
              counting_cost(n, 4).precision)
        << n;
}

// A state that holds z_1 has N lg N bits, and L numbers of ⌈lg⌉ bits go along.
TEST(Costs, of_absorption_are_the_bits_of_the_function) {
  for (const auto& [m, n1] : {std::pair(2, 2), {8, 4}, {11, 3}}) {
    const Construction made =
        built(request_of_line(fmt::format("seqcomp --L 2 --m {} --n1 {} --pattern RRF", m, n1)));
    const std::int64_t digits = address_bits(m * n1);
    EXPECT_EQ(state_bits(made), m * digits + 2 * digits);
  }
}

}  // namespace
}  // namespace rung
