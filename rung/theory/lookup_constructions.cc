// Constructions for the tasks other than L-SeqComp: weights that exist, compared with the architecture's own
// sizes.
//
// Eva, Index, Retrieval: one retrieval head. 2-Sum-last: one head with the query code of (M-x) mod M and the
// last token as blank (d = 2⌈lg M⌉+1), or cosines (d = 3, many bits). 2-Sum-exists, equality, disjointness,
// counting, associative recall and c-gram, nearest neighbour: a second layer on top. Eva by linear attention:
// the function as entries of the state, n lg n bits at n = 4^k. Dyck-(k,D): the stack automaton as an Elman
// network. Sparse layers: the target's block, then inside it. Costs are those of constructions_cost.h; spare
// layers do nothing, so a deeper stack can do all that a shallower one can.
#include <algorithm>
#include <bit>
#include <cmath>

#include "rung/theory/constructions_cost.h"
#include "rung/theory/service.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

void note_cost(Verdict& v, const ConstructionCost& cost) {
  v.parameters["construction"] = {{"word", cost.word},           {"full_layers", cost.full_layers},
                                  {"heads", cost.heads},         {"key_dim", cost.key_dim},
                                  {"value_dim", cost.value_dim}, {"precision", cost.precision}};
  if (cost.recurrent_layers > 0) {
    v.parameters["construction"]["recurrent_layers"] = cost.recurrent_layers;
    v.parameters["construction"]["state_bits"] = cost.state_bits;
  }
}

void settle(Verdict& v, const std::optional<Service>& service, const Setting& setting) {
  if (service) {
    v.outcome = Outcome::possible;
    v.status = std::max(v.status, service->status);
    v.left = service->scarcest.have;
    v.right = service->scarcest.need;
    v.margin = service->scarcest.ratio();
    v.parameters["scarcest"] = service->scarcest.name;
  }
  v.assumes = construction_assumptions(setting);
}

// The needs met by different layers, in order; spare layers pass through.
std::optional<Service> in_order(const Setting& setting, const std::vector<LookupNeed>& needs, bool sketches) {
  Service all;
  std::size_t next = 0;
  for (std::size_t i = 0; i < setting.layers.size() && next < needs.size(); ++i) {
    const auto service =
        lookup_service(setting.layers[i].mixer, setting.architecture.dimensions.precision, needs[next]);
    if (!service || service->capacity < needs[next].targets ||
        (!sketches && service->status != Status::proved))
      continue;
    all.status = std::max(all.status, service->status);
    if (!service->scarcest.name.empty())
      all.scarcest.meet(service->scarcest.name, service->scarcest.have, service->scarcest.need);
    ++next;
  }
  return next == needs.size() ? std::optional(all) : std::nullopt;
}

std::string shape_of(const LookupNeed& need) {
  return fmt::format("{} target{} at once, head dimension {} (or {} with one more bit), {} value bits",
                     need.targets, need.targets == 1 ? "" : "s", 2 * need.address, need.address, need.values);
}

std::optional<Verdict> lookups(const Theorem& theorem, const Setting& setting, const Question& question,
                               const ConstructionCost& cost, const std::vector<LookupNeed>& needs) {
  Verdict v = verdict_of(theorem, question);
  note_cost(v, cost);
  for (const auto& [name, value] : question.sizes) v.parameters[name] = value;
  const auto service = in_order(setting, needs, true);
  v.require(fmt::format("{} attention layer{} over the whole past: {}", needs.size(),
                        needs.size() == 1 ? "" : "s in order", shape_of(needs.back())),
            service.has_value(), fmt::format("word {}", setting.word.folded));
  settle(v, service, setting);
  v.argument = {
      fmt::format(
          "Every position has a code of {} bits; the querying token scores -2 beta (Hamming distance).",
          needs.front().address),
      fmt::format(
          "delta < 1 puts more than half of the weight on the target: each bit is decoded by y > 1/2 ({}).",
          service ? "holds at this precision and width" : "no layer of this stack fits")};
  return v;
}

std::optional<Verdict> eva(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n");
  return lookups(t, s, q, eva_full_cost(n), {{address_bits(n + 1), code_bits(n), 1}});
}
std::optional<Verdict> index(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n");
  return lookups(t, s, q, eva_full_cost(n), {{address_bits(n + 1), code_bits(q.size("sigma")), 1}});
}
std::optional<Verdict> retrieval(const Theorem& t, const Setting& s, const Question& q) {
  const int D = static_cast<int>(q.size("D"));
  return lookups(t, s, q, retrieval_cost(q.size("n"), D, q.size("sigma")),
                 {{D, code_bits(q.size("sigma")), 1}});
}
std::optional<Verdict> recall(const Theorem& t, const Setting& s, const Question& q) {
  const bool gram = q.task == "cgram";
  const std::int64_t symbols = gram ? q.size("c") - 1 : 1, alphabet = gram ? q.size("sigma") : q.size("M");
  const std::int64_t bits = symbols * code_bits(alphabet);
  if (bits > 4096) return std::nullopt;
  auto v = lookups(t, s, q, recall_cost(q.prompt, symbols, alphabet),
                   {{address_bits(q.prompt), code_bits(alphabet), symbols},
                    {static_cast<int>(bits), code_bits(q.size("sigma")), 1}});
  v->assumes.push_back(gram ? "the context stood only once before" : "no key repeats");
  return v;
}
std::optional<Verdict> compare(const Theorem& t, const Setting& s, const Question& q) {
  const int D = address_bits(q.prompt);
  return lookups(t, s, q, equality_cost(q.size("n")), {{D, 1, 1}, {D, 1, 1}});
}

std::optional<Verdict> counting(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t n = question.size("n");
  const auto cost = counting_cost(n, question.size("sigma"));
  const int D = address_bits(question.prompt), symbol = code_bits(question.size("sigma"));
  auto v = lookups(theorem, setting, question, cost, {{D, symbol, 1}, {std::max(symbol, 1), 1, 1}});
  const Precision& precision = setting.architecture.dimensions.precision;
  const int fine =
      precision.format == NumberFormat::fixed ? precision.fraction : whole_bits(precision, std::nullopt) - 1;
  const int need = 2 * address_bits(n + 1);
  v->require("outputs to 1/n²: fraction bits", fine >= need, fmt::format("{} of {}", fine, need));
  if (fine < need) v->outcome = Outcome::open;
  return v;
}

// The last layer of each list must also find a match among n keys that may repeat: β > log 2n.
std::optional<Verdict> two_sum(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t n = question.size("n"), M = question.size("M");
  const bool exists = question.task == "two-sum-exists";
  const auto cost = exists ? two_sum_exists_cost(n, M) : two_sum_binary_cost(n, M);
  const auto trigonometric = two_sum_trigonometric_cost(n, M, exists);
  const Precision& precision = setting.architecture.dimensions.precision;
  const bool fixed = precision.format == NumberFormat::fixed;
  const int fraction = two_sum_fraction_bits(n, M), least_fraction = exists ? kCountingFraction : 0;
  Verdict v = verdict_of(theorem, question);
  note_cost(v, cost);
  v.parameters["n"] = n;
  v.parameters["M"] = M;
  Service service;
  std::int64_t found = 0;
  for (const auto& layer : setting.layers) {
    const auto consider_shape = [&](const MixerShape& m) {
      if (m.kind != MixerKind::full || m.window || m.chunk || m.heads < cost.heads) return false;
      const bool binary =
          m.key_dim >= cost.key_dim &&
          (!fixed || (precision.fraction >= least_fraction &&
                      precision.bits - precision.fraction >= cost.precision - least_fraction));
      const bool cosines = m.key_dim >= 3 && fixed && precision.fraction >= fraction &&
                           precision.bits - precision.fraction >= trigonometric.precision - fraction;
      if (binary) {
        service.scarcest.meet("head dimension", static_cast<double>(m.key_dim),
                              static_cast<double>(cost.key_dim));
        if (fixed) service.scarcest.meet("precision bits", precision.bits, cost.precision);
      } else if (cosines) {
        service.scarcest.meet("precision bits", precision.bits, trigonometric.precision);
      }
      return binary || cosines;
    };
    bool fits = consider_shape(layer.mixer);
    for (const auto& part : layer.mixer.parts) fits = fits || consider_shape(part);
    found += fits;
    if (found == cost.full_layers) break;
  }
  v.require(fmt::format("{} full layer{}: head dimension {} at {} bits, or 3 at {}.{} bits", cost.full_layers,
                        exists ? "s" : "", cost.key_dim, cost.precision, trigonometric.precision, fraction),
            found >= cost.full_layers, fmt::format("{} found", found));
  settle(v, found >= cost.full_layers ? std::optional(service) : std::nullopt, setting);
  v.argument = {"The last token queries the code of (M - x) mod M; itself it is the blank, at score -beta.",
                "A match outweighs the blank, and without a match the blank outweighs all n others together: "
                "beta > log 2n."};
  return v;
}

std::optional<Verdict> two_sum_slots(const Theorem& theorem, const Setting& setting,
                                     const Question& question) {
  const std::int64_t n = question.size("n"), M = question.size("M");
  std::optional<Service> service;
  std::optional<ConstructionCost> cost;
  const Precision& precision = setting.architecture.dimensions.precision;
  for (const auto& layer : setting.layers) {
    const MixerShape& m = layer.mixer;
    if (m.kind != MixerKind::sparse) continue;
    cost = two_sum_slots_cost(n, M, m.block);
    if (m.heads < m.block || m.kv_heads < m.block || m.key_dim < cost->key_dim) continue;
    if (precision.format == NumberFormat::fixed && precision.bits - precision.fraction < cost->precision)
      continue;
    service.emplace();
    service->scarcest.meet("heads", static_cast<double>(m.heads), static_cast<double>(m.block));
    service->scarcest.meet("head dimension", static_cast<double>(m.key_dim),
                           static_cast<double>(cost->key_dim));
    break;
  }
  if (!cost) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  note_cost(v, *cost);
  v.parameters["n"] = n;
  v.parameters["M"] = M;
  v.require("a sparse layer with a head for every place of a block", service.has_value(),
            fmt::format("B = {} heads of dimension {}", cost->heads, cost->key_dim));
  settle(v, service, setting);
  return v;
}

std::optional<Verdict> table(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t n = question.size("n"), values = question.task == "index" ? question.size("sigma") : n;
  Verdict v = verdict_of(theorem, question);
  note_cost(v, eva_linear_cost(n));
  v.parameters["n"] = n;
  std::optional<Service> service;
  for (const auto& layer : setting.layers)
    if (!service || service->status != Status::proved)
      if (const auto found =
              table_service(layer.mixer, setting.architecture.dimensions, n, code_bits(values)))
        service = found;
  v.require("causal", setting.causal());
  v.require("a linear state with an entry for every argument", service.has_value(),
            fmt::format("n = {} entries of {} bits", n, code_bits(values)));
  if (!v.all_hold()) service.reset();
  settle(v, service, setting);
  return v;
}

std::optional<Verdict> dyck(const Theorem& theorem, const Setting& setting, const Question& question) {
  const auto cost = dyck_cost(question.size("k"), question.size("depth"));
  Verdict v = verdict_of(theorem, question);
  v.parameters["construction"] = {{"state_bits", cost.state_bits}, {"units", cost.units}};
  std::optional<Service> service;
  for (const auto& layer : setting.layers)
    if (layer.mixer.kind == MixerKind::rnn && cost.units && layer.mixer.inner >= *cost.units &&
        whole_bits(setting.architecture.dimensions.precision, std::nullopt) >= 2) {
      service.emplace();
      service->scarcest.meet("hidden units", static_cast<double>(layer.mixer.inner),
                             static_cast<double>(*cost.units));
    }
  v.require("an Elman layer with a unit for every (stack, symbol)", service.has_value(),
            cost.units ? fmt::format("{} units", *cost.units) : "too many to count");
  settle(v, service, setting);
  v.argument = {
      "Unit (q, a) is on iff symbol a was read and the automaton is then in state q: a threshold of two "
      "inputs."};
  return v;
}

std::optional<Verdict> nearest(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t n = question.size("n"), d = question.size("d");
  const double gap =
      std::ldexp(static_cast<double>(question.size("margin")), -static_cast<int>(question.size("f")));
  Verdict v = verdict_of(theorem, question);
  std::optional<Service> service;
  if (gap > 0) {
    const auto cost = nearest_cost(n, d, gap);
    note_cost(v, cost);
    const Precision& p = setting.architecture.dimensions.precision;
    const bool fine = p.format == NumberFormat::fixed
                          ? p.bits >= cost.precision && p.fraction >= cost.precision / 2 - 1
                          : p.format == NumberFormat::fp32;
    const LookupNeed need{address_bits(question.prompt), 1, 1};
    std::int64_t found = 0;
    for (const auto& layer : setting.layers)
      if (const auto s = lookup_service(layer.mixer, p, need);
          s && layer.mixer.key_dim >= d && layer.mixer.value_dim >= d) {
        service = s;
        ++found;
      }
    if (!fine || found < 2) service.reset();
  }
  v.require("two full layers of the points' dimension, scores to the margin", service.has_value(),
            fmt::format("d = {}, margin {:.3g}", d, gap));
  settle(v, service, setting);
  return v;
}

std::optional<Verdict> sparse_average(const Theorem& theorem, const Setting& setting,
                                      const Question& question) {
  const auto cost = sparse_average_cost(question.size("n"), question.size("q"));
  Verdict v = verdict_of(theorem, question);
  note_cost(v, cost);
  v.parameters["read"] = "last";
  const Precision& p = setting.architecture.dimensions.precision;
  std::optional<Service> service;
  for (const auto& layer : setting.layers) {
    const MixerShape& m = layer.mixer;
    if (m.kind != MixerKind::full || m.window || m.chunk || m.key_dim < cost.key_dim) continue;
    if (m.heads * m.value_dim < question.size("d") || p.bits < cost.precision) continue;
    service.emplace();
    service->scarcest.meet("head dimension", static_cast<double>(m.key_dim),
                           static_cast<double>(cost.key_dim));
    break;
  }
  v.require("one full layer of head dimension 10 q log n", service.has_value(),
            fmt::format("{}", cost.key_dim));
  settle(v, service, setting);
  return v;
}

}  // namespace

std::vector<Theorem> lookup_constructions() {
  constexpr auto file = "rung/theory/lookup_constructions.cc", test = "tests/theory/constructions_test.cc";
  using enum Source;
  using enum Status;
  return {
      {.id = "eva-full",
       .title = "One retrieval head solves Eva",
       .statement = "One full layer, one head of dimension 2⌈lg(n+1)⌉ and p = O(log log n) bits answers Eva "
                    "(block-sparse and "
                    "token-selecting layers too, as a sketch).",
       .source = paper,
       .reference = "precision sharpened from O(log n)",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"eva"},
       .variants = kEveryVariant,
       .evaluate = eva},
      {.id = "index-full",
       .title = "One retrieval head solves Index",
       .statement = "As eva-full, sigma values.",
       .source = ours,
       .reference = "as eva-full",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"index"},
       .variants = kEveryVariant,
       .evaluate = index},
      {.id = "retrieval-full",
       .title = "One retrieval head fetches by key",
       .statement = "Pairs with different D-bit keys: one head of dimension 2D.",
       .source = ours,
       .reference = "as eva-full",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"retrieval"},
       .variants = kEveryVariant,
       .evaluate = retrieval},
      {.id = "recall-full",
       .title = "Two full layers recall what followed",
       .statement = "Layer 1 fetches the c-1 tokens before (1 for key-value pairs), layer 2 matches content; "
                    "contexts that "
                    "stand once.",
       .source = ours,
       .reference = "induction heads",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"mqar", "cgram"},
       .variants = kEveryVariant,
       .evaluate = recall},
      {.id = "compare-full",
       .title = "Two full layers compare two strings",
       .statement = "Layer 1: b_i fetches a_i and sets a flag; layer 2: is there a flag.",
       .source = ours,
       .reference = "presence test",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"equality", "disjointness"},
       .variants = kEveryVariant,
       .evaluate = compare},
      {.id = "counting-full",
       .title = "Two full layers count",
       .statement = "A blank with the score of a match: y = cnt/(cnt+1), read to 2 lg n fraction bits.",
       .source = ours,
       .reference = "counting blank",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"counting"},
       .variants = kEveryVariant,
       .evaluate = counting},
      {.id = "two-sum-full",
       .title = "One full layer solves 2-Sum-last, two solve 2-Sum-exists",
       .statement = "Head dimension 2⌈lg M⌉+1 with p = 1+⌈lg 2β⌉, β > log 2n; or dimension 3 with "
                    "⌈2 lg M + lg log 16n⌉ fraction bits.",
       .source = paper,
       .reference = "blank token and self-match repaired",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"two-sum", "two-sum-exists"},
       .variants = kEveryVariant,
       .evaluate = two_sum},
      {.id = "two-sum-slots",
       .title = "A sparse layer with a head for every place of a block",
       .statement = "H = B slot heads, each keeping one token of every block: H d p = B (2⌈lg M⌉+1) p.",
       .source = ours,
       .reference = "tightness of the sparse bound",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"two-sum"},
       .variants = kEveryVariant,
       .evaluate = two_sum_slots},
      {.id = "eva-linear",
       .title = "A linear state that is the table",
       .statement =
           "Unnormalised linear attention with d = ⌈√n⌉ stores f in d²⌈lg n⌉ state bits, n lg n at n = 4^k.",
       .source = ours,
       .reference = "tightness of recurrent-eva",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"eva", "index"},
       .variants = kEveryVariant,
       .evaluate = table},
      {.id = "dyck-automaton",
       .title = "Dyck-(k,D) by a stack automaton",
       .statement =
           "D⌈lg k⌉+⌈lg(D+1)⌉+1 state bits suffice; an Elman network has a unit for every (stack, symbol).",
       .source = ours,
       .reference = "finite automata as threshold networks",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"dyck"},
       .variants = kEveryVariant,
       .evaluate = dyck},
      {.id = "nearest-full",
       .title = "Nearest neighbour in two full layers",
       .statement =
           "Layer 1: the label token copies its point; layer 2: scores log(4n)/γ times the dot product.",
       .source = ours,
       .reference = "fraction bits measured to n = 1024",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"nearest"},
       .variants = kEveryVariant,
       .evaluate = nearest},
      {.id = "sparse-average-full",
       .title = "q-sparse averages by one full layer",
       .statement = "Random ±1 keys of dimension 8 to 10 q log n; O(q log n) is proved by Sanford, Hsu, "
                    "Telgarsky 2306.02896.",
       .source = literature,
       .reference = "Sanford, Hsu, Telgarsky 2306.02896; constant measured",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"sparse-average"},
       .options = {{"read", {"last"}}},
       .variants = kEveryVariant,
       .evaluate = sparse_average},
  };
}

}  // namespace rung
