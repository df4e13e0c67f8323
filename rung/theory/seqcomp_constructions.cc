// L-SeqComp, the possible side of the pattern theorem: #F >= L+1, or #F = L with an R before the second F
// (anywhere, L = 1).
//
// A schedule at the final token `=`. It needs z_0, then i_1, .., i_L in order; i_l (l >= 2) also needs
// w_{l-1}. Each full layer fetches as many targets as it has heads for: one step of the chain if its address
// is known by then, and w's with the rest. Two heads: F^{L+1}. One head: F^{2L}. A recurrent layer that
// reaches L tokens back hands z_0 and all w to `=` at once (R F^L); and if a full layer stands before it,
// z_0's own token has fetched i_1 there already (F R F^{L-1}). Pre-composition: the tokens of z_{L-1} see
// z_L, so in one full layer each fetches z_L(w', value) for all n_{L-1} values w' (a head each, or value
// slots), which saves one F: F^L (L >= 2), R F^{L-1} (L >= 3). Absorption: linear states before the first F
// that hold z_1 save a lookup. Encoders double: ⌈lg(L+1)⌉ + 1 layers. With chain of thought one F writes L+1
// tokens. Status: proved (all inputs checked at m = n_1 = 2); carriers other than linear attention, windows
// and convolutions: sketch.
#include <algorithm>
#include <bit>

#include "rung/theory/constructions_cost.h"
#include "rung/theory/service.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

struct Scale {
  std::int64_t prompt;
  int address, values;  // bits of a position, and of a token
};
Scale scale_of(const Question& question) {
  const std::int64_t alphabet = question.fixed
                                    ? question.seqcomp.arguments(question.L - 1).convert_to<std::int64_t>()
                                    : question.prompt;
  return {question.prompt, address_bits(question.prompt), code_bits(alphabet)};
}

// What `=` knows between layers.
struct Knowledge {
  std::int64_t chain = 0;  // 0: nothing; 1: z_0; 1 + l: i_l
  std::int64_t w = 0;      // w_1 .. w_w

  // One full layer with this many targets.
  void fetch(std::int64_t L, std::int64_t targets) {
    const std::int64_t step = chain <= L && (chain < 2 || w >= chain - 1) ? 1 : 0;
    w = std::min(L - 1, w + targets - step);
    chain += step;
  }
};

struct Plan {
  bool reaches = false;
  std::optional<std::size_t> carrier;  // layer of the recurrence used
  std::int64_t lookups = 0;            // full layers used
  Status status = Status::proved;
  Scarcest scarcest;
  std::int64_t chain = 0;  // how far it gets
};

class Planner {
 public:
  Planner(const Setting& setting, std::int64_t L, const Scale& scale)
      : setting_(setting), L_(L), scale_(scale) {
    const Precision& precision = setting.architecture.dimensions.precision;
    const LookupNeed need{scale.address, scale.values, 2};
    for (std::size_t i = 0; i < setting.layers.size(); ++i) {
      if (i > 0 && setting.architecture.stack.layers[i] == setting.architecture.stack.layers[i - 1]) {
        lookups_.push_back(lookups_.back());
        carries_.push_back(carries_.back());
        continue;
      }
      lookups_.push_back(lookup_service(setting.layers[i].mixer, precision, need));
      carries_.push_back(L <= kMostCarried ? carry_service(setting.layers[i], precision, L, scale.values)
                                           : std::nullopt);
    }
  }

  // With the carrier at layer `at`, or none.
  Plan run(std::optional<std::size_t> at) const {
    Plan plan;
    plan.carrier = at;
    Knowledge known;
    bool first_fetched = false;
    for (std::size_t i = 0; i < lookups_.size() && known.chain <= L_; ++i) {
      if (at == i) {
        known.w = L_ - 1;
        known.chain = std::max<std::int64_t>(known.chain, first_fetched ? 2 : 1);
        note(plan, *carries_[i]);
      } else if (lookups_[i]) {
        known.fetch(L_, lookups_[i]->capacity);
        first_fetched = true;
        ++plan.lookups;
        note(plan, *lookups_[i]);
      }
    }
    plan.chain = known.chain;
    plan.reaches = known.chain > L_;
    return plan;
  }

  // No carrier; or the best of: the first carrier, the first proved one, the first ones behind the first
  // lookup.
  Plan best(bool with_carrier) const {
    if (!with_carrier) return run(std::nullopt);
    Plan best;
    best.status = Status::conjecture;
    bool behind = false, seen[2][2] = {};
    for (std::size_t i = 0; i < carries_.size(); ++i) {
      if (lookups_[i] && !carries_[i]) behind = true;
      if (!carries_[i]) continue;
      bool& done = seen[behind][carries_[i]->status == Status::proved];
      if (done) continue;
      done = true;
      const Plan plan = run(i);
      if (plan.reaches > best.reaches || (plan.reaches == best.reaches && plan.status < best.status))
        best = plan;
      if (lookups_[i]) behind = true;
    }
    return best;
  }

 private:
  static constexpr std::int64_t kMostCarried = 1 << 20;

  static void note(Plan& plan, const Service& service) {
    plan.status = std::max(plan.status, service.status);
    if (!service.scarcest.name.empty())
      plan.scarcest.meet(service.scarcest.name, service.scarcest.have, service.scarcest.need);
  }

  const Setting& setting_;
  std::int64_t L_;
  Scale scale_;
  std::vector<std::optional<Service>> lookups_, carries_;
};

void settle(Verdict& v, const Plan& plan, const Setting& setting) {
  v.assumes = construction_assumptions(setting);
  if (!plan.reaches) return;
  v.outcome = Outcome::possible;
  v.status = std::max(v.status, plan.status);
  v.left = plan.scarcest.have;
  v.right = plan.scarcest.need;
  v.margin = plan.scarcest.ratio();
  v.parameters["scarcest"] = plan.scarcest.name;
}

void note_sizes(Verdict& v, const Question& question, const Scale& scale) {
  v.parameters["L"] = question.L;
  v.parameters["prompt"] = scale.prompt;
  if (question.fixed)
    for (const auto& [name, value] : question.sizes) v.parameters[name] = value;
}

std::optional<Verdict> by_schedule(const Theorem& theorem, const Setting& setting, const Question& question,
                                   bool carrier) {
  const Scale scale = scale_of(question);
  const Plan plan = Planner(setting, question.L, scale).best(carrier);
  if (carrier && !plan.carrier) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  note_sizes(v, question, scale);
  const auto cost =
      carrier ? seqcomp_early_cost(question.L, scale.prompt) : seqcomp_full_cost(question.L, scale.prompt);
  v.parameters["construction"] = {{"word", cost.word},           {"full_layers", cost.full_layers},
                                  {"heads", cost.heads},         {"key_dim", cost.key_dim},
                                  {"value_dim", cost.value_dim}, {"precision", cost.precision}};
  v.parameters["lookups"] = plan.lookups;
  if (plan.carrier) v.parameters["carrier_layer"] = *plan.carrier;
  v.require(carrier ? "a recurrence hands z_0 and all w to `=`, and the full layers left look up the chain"
                    : "the full layers look up z_0, the w and the chain",
            plan.reaches,
            fmt::format("{} of {} chain steps with {} lookups of dimension {}", plan.chain, question.L + 1,
                        plan.lookups, cost.key_dim));
  settle(v, plan, setting);
  v.argument = {
      fmt::format("Positions have codes of {} bits, so the MLP at `=` computes every target.", scale.address),
      carrier
          ? fmt::format("Layer {} (recurrent) hands z_0, w_1 .. w_{} to `=`.", *plan.carrier, question.L - 1)
          : std::string("The first lookups fetch z_0 and the w."),
      fmt::format("Each further full layer looks up one i_l: {} of {} steps done.", plan.chain,
                  question.L + 1)};
  return v;
}

std::optional<Verdict> full(const Theorem& t, const Setting& s, const Question& q) {
  return by_schedule(t, s, q, false);
}
std::optional<Verdict> recurrence(const Theorem& t, const Setting& s, const Question& q) {
  return by_schedule(t, s, q, true);
}

// The layers that look up with n_{L-1} targets at once, or hold that many value slots: two of them, then the
// usual rest.
std::optional<Verdict> precomposed(const Theorem& theorem, const Setting& setting, const Question& question) {
  const int L = question.L;
  if (L < 2 || !question.fixed) return std::nullopt;
  const Scale scale = scale_of(question);
  const Integer n = question.seqcomp.n.back();
  if (n > (1 << 20)) return std::nullopt;
  const std::int64_t targets = n.convert_to<std::int64_t>();
  const Precision& precision = setting.architecture.dimensions.precision;
  // First full layer: z_{L-1} tokens fetch n_{L-1} values each while `=` collects (or starts its chain,
  // behind a carrier). The last lookup brings all those values at once; in between the chain runs to i_{L-2}.
  const auto attempt = [&](bool early) {
    Plan plan;
    std::size_t i = 0;
    if (early) {
      while (i < setting.layers.size() && !carry_service(setting.layers[i], precision, L, scale.values)) ++i;
      if (i == setting.layers.size()) return plan;
      const auto carry = carry_service(setting.layers[i], precision, L, scale.values);
      plan.carrier = i++;
      plan.status = carry->status;
    }
    Knowledge known{.chain = early ? 1 : 0, .w = early ? L - 1 : 0};
    bool composed = false;
    for (; i < setting.layers.size() && !plan.reaches; ++i) {
      const auto wide = lookup_service(setting.layers[i].mixer, precision,
                                       {scale.address, scale.values, std::max<std::int64_t>(targets, 2)});
      if (!wide) continue;
      const bool fetches_all = wide->capacity >= targets;
      ++plan.lookups;
      plan.status = std::max(plan.status, wide->status);
      if (!wide->scarcest.name.empty())
        plan.scarcest.meet(wide->scarcest.name, wide->scarcest.have, wide->scarcest.need);
      // i_{L-1} and i_L come together once z_{L-1} is composed, i_{L-2} and w_{L-1} are there (w_{L-2} for
      // the address).
      if (composed && fetches_all && known.chain == L - 1 && known.w >= std::max(0, L - 2)) {
        plan.reaches = known.w >= L - 1 || wide->capacity > targets;
        if (plan.reaches) break;
      }
      known.fetch(L, std::min<std::int64_t>(wide->capacity, 2));
      composed = composed || fetches_all;
    }
    return plan;
  };
  Plan plan = attempt(false);
  if (!plan.reaches && L >= 3) plan = attempt(true);
  const Integer room = Integer(setting.architecture.dimensions.width) * setting.p(),
                stored = n * scale.values;
  const bool wide_enough = room >= stored;  // the composed values wait in the token's activation
  plan.reaches = plan.reaches && wide_enough;
  Verdict v = verdict_of(theorem, question);
  note_sizes(v, question, scale);
  const auto cost = seqcomp_precomposed_cost(L, scale.prompt, targets, std::int64_t{1} << scale.values,
                                             plan.carrier.has_value());
  v.parameters["construction"] = {{"word", cost.word},           {"full_layers", cost.full_layers},
                                  {"heads", cost.heads},         {"key_dim", cost.key_dim},
                                  {"value_dim", cost.value_dim}, {"precision", cost.precision}};
  v.require("heads for all n_{L-1} continuations of a z_{L-1} token", plan.reaches,
            fmt::format("n_{{L-1}} = {}", targets));
  v.require("an activation holds them", wide_enough, fmt::format("{} of {} bits", room.str(), stored.str()));
  settle(v, plan, setting);
  v.argument = {
      fmt::format("In one full layer every z_{} token fetches z_{}(w', its value) for all {} values w'.",
                  L - 1, L, targets),
      "Its own lookup then brings the answers for all w' at once; the MLP picks the right one: one F saved."};
  return v;
}

// One carrier, then one table layer that holds z_1, all before the first full layer: i_1 without an F.
std::optional<Verdict> absorbed(const Theorem& theorem, const Setting& setting, const Question& question) {
  if (!question.fixed || question.seqcomp.m > (std::int64_t{1} << 40)) return std::nullopt;
  const Scale scale = scale_of(question);
  const std::int64_t L = question.L, m = question.seqcomp.m.convert_to<std::int64_t>();
  const Precision& precision = setting.architecture.dimensions.precision;
  Plan plan;
  std::size_t i = 0;
  const auto carried = [&](std::size_t k) {
    return carry_service(setting.layers[k], precision, L, scale.values);
  };
  const auto table = [&](std::size_t k) {
    return table_service(setting.layers[k].mixer, setting.architecture.dimensions, m, code_bits(m));
  };
  while (i < setting.layers.size() && !carried(i)) ++i;
  if (i < setting.layers.size()) plan.carrier = i, plan.status = carried(i)->status;
  std::size_t held = i + 1;
  while (held < setting.layers.size() && !table(held)) ++held;
  if (held >= setting.layers.size()) return std::nullopt;
  plan.status = std::max(plan.status, table(held)->status);
  plan.scarcest = table(held)->scarcest;
  Knowledge known{.chain = 2, .w = L - 1};
  for (std::size_t k = held + 1; k < setting.layers.size() && known.chain <= L; ++k)
    if (const auto service =
            lookup_service(setting.layers[k].mixer, precision, {scale.address, scale.values, 1})) {
      known.fetch(L, 1);
      ++plan.lookups;
      plan.status = std::max(plan.status, service->status);
    }
  plan.chain = known.chain;
  plan.reaches = known.chain > L;
  Verdict v = verdict_of(theorem, question);
  note_sizes(v, question, scale);
  v.require("a linear state that holds z_1, behind a carrier and before the lookups", plan.reaches,
            fmt::format("m = {} entries; {} lookups", m, plan.lookups));
  settle(v, plan, setting);
  return v;
}

std::optional<Verdict> encoder(const Theorem& theorem, const Setting& setting, const Question& question) {
  if (setting.causal()) return std::nullopt;
  const Scale scale = scale_of(question);
  const int L = question.L, layers = encoder_layers(L);
  const Precision& precision = setting.architecture.dimensions.precision;
  Plan plan;
  for (std::size_t i = 0; i < setting.layers.size() && plan.lookups < layers; ++i) {
    const std::int64_t targets = plan.lookups == 0 ? std::max(1, L) : 2;
    const auto service = lookup_service(setting.layers[i].mixer, precision,
                                        {scale.address, scale.values + code_bits(L + 2), targets});
    if (!service || service->capacity < targets) continue;
    ++plan.lookups;
    plan.status = std::max(plan.status, service->status);
    if (!service->scarcest.name.empty())
      plan.scarcest.meet(service->scarcest.name, service->scarcest.have, service->scarcest.need);
  }
  plan.reaches = plan.lookups == layers;
  Verdict v = verdict_of(theorem, question);
  note_sizes(v, question, scale);
  v.require("⌈lg(L+1)⌉ + 1 full layers", plan.reaches, fmt::format("{} of {}", plan.lookups, layers));
  settle(v, plan, setting);
  v.argument = {
      "Every token of z_l points to the token of z_{l+1} that continues it; each layer doubles the reach."};
  return v;
}

std::optional<Verdict> thought(const Theorem& theorem, const Setting& setting, const Question& question) {
  if (!setting.chain_of_thought) return std::nullopt;
  Scale scale = scale_of(question);
  scale.address = address_bits(scale.prompt + question.L + 1);
  const Precision& precision = setting.architecture.dimensions.precision;
  Plan plan;
  const std::int64_t targets = question.L >= 2 ? 2 : 1;
  for (const auto& layer : setting.layers) {
    const auto service = lookup_service(layer.mixer, precision, {scale.address, scale.values, targets});
    if (!service || service->capacity < targets) continue;
    plan.reaches = true;
    plan.status = service->status;
    plan.scarcest = service->scarcest;
    plan.lookups = 1;
    break;
  }
  Verdict v = verdict_of(theorem, question);
  note_sizes(v, question, scale);
  v.parameters["generated"] = question.L + 1;
  v.require("causal", setting.causal());
  v.require("one full layer with two heads", plan.reaches);
  if (!setting.causal()) plan.reaches = false;
  settle(v, plan, setting);
  v.assumes.push_back("an output vocabulary of N_{L-1} words");
  v.argument = {fmt::format(
      "Write u_0 = z_0, u_t = w_t N_(t-1) + i_t, u_L = i_L: {} tokens, one lookup each.", question.L + 1)};
  return v;
}

}  // namespace

std::vector<Theorem> seqcomp_constructions() {
  constexpr auto file = "rung/theory/seqcomp_constructions.cc", test = "tests/theory/constructions_test.cc";
  using enum Source;
  using enum Status;
  return {
      {.id = "seqcomp-full",
       .title = "L+1 full layers compose L functions",
       .statement =
           "F^{L+1} with two heads of dimension 2⌈lg T⌉ (F^{2L} with one) solves L-SeqComp at all sizes.",
       .source = literature,
       .reference = "Chen, Peng, Wu 2412.02975; weights ours",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = full},
      {.id = "seqcomp-recurrence",
       .title = "A recurrence before the second full layer saves one",
       .statement = "R F^L and F R F^{L-1} solve L-SeqComp when R reaches L tokens back.",
       .source = ours,
       .reference = "possible side of the pattern theorem",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = recurrence},
      {.id = "seqcomp-precomposed",
       .title = "Pre-composition saves one full layer at small n_{L-1}",
       .statement = "F^L (L >= 2) and R F^{L-1} (L >= 3) solve L-SeqComp when n_{L-1} heads, or that many "
                    "value slots, are there.",
       .source = ours,
       .reference = "size caveat of the pattern theorem",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = precomposed},
      {.id = "seqcomp-absorbed",
       .title = "A state that holds z_1 saves one full layer at small m",
       .statement = "Linear states before the first F with m entries of ⌈lg m⌉ bits absorb z_1.",
       .source = ours,
       .reference = "size caveat of the pattern theorem",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = absorbed},
      {.id = "seqcomp-encoder",
       .title = "Encoders double",
       .statement = "⌈lg(L+1)⌉+1 bidirectional full layers solve L-SeqComp.",
       .source = literature,
       .reference = "Chen, Peng, Wu 2412.02975; weights ours",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = encoder},
      {.id = "seqcomp-thought",
       .title = "One full layer and L+1 written tokens",
       .statement = "With chain of thought one full layer with two heads solves L-SeqComp in L+1 tokens.",
       .source = paper,
       .reference = "L+1 tokens for this prompt order",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"seqcomp"},
       .options = {{"order", {"hard"}}},
       .variants = kEveryVariant,
       .evaluate = thought},
  };
}

}  // namespace rung
