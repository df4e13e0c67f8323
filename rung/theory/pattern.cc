// L-SeqComp, the impossible side of the pattern theorem, evaluated with constants (one_full_layer.h,
// two_full_layers.h, decomposition.h). A theorem for L' functions also refutes L > L': z_L, z_{L-1}, .. are
// the identity on the smaller domain and w_{L'}, .. are 0; those constant bottom tokens are charged as spare
// ones.
#include "rung/theory/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/theory/decomposition.h"
#include "rung/theory/one_full_layer.h"
#include "rung/theory/proof_cache.h"
#include "rung/theory/strongest_construction.h"
#include "rung/theory/theorem_groups.h"
#include "rung/theory/two_full_layers.h"

namespace rung {
namespace {

// Which count speaks about a word with f full layers at L functions, and for which L' <= L.
enum class Rule { none, late, early, two, fewer, equal };
struct Chosen {
  Rule rule = Rule::none;
  int L = 0;  // L'
};
bool early_state(const PatternBits& bits) {
  return bits.gaps[0] > 0 || (bits.gaps.size() > 2 && bits.gaps[1] > 0);
}

Chosen choose(const PatternBits& bits, int L) {
  const int f = static_cast<int>(bits.gaps.size()) - 1;
  if (f < 1 || f > L || L < 2) return {};
  if (f == L) {
    if (early_state(bits)) return {};
    return {L == 2 ? Rule::two : Rule::equal, L};
  }
  if (f == 1) return {bits.gaps[0] > 0 ? Rule::early : Rule::late, 2};
  return {Rule::fewer, f + 1};
}

OneFullLayer one_full(const PatternBits& b, int spare) {
  return {b.partial, b.gaps[0], b.gaps[1] + b.beside[0], spare};
}
TwoFullLayers two_full(const PatternBits& b) {
  return {.partial = b.partial,
          .outputs = b.outputs,
          .recurrence_follows = b.gaps[2] > 0,
          .after = b.gaps[2],
          .beside_first = b.beside[0],
          .beside_second = b.beside[1]};
}
Decomposition decomposition(const PatternBits& b, const Chosen& chosen, int spare) {
  Decomposition d{.L = chosen.L,
                  .one_more_full = chosen.rule == Rule::equal,
                  .partial = b.partial,
                  .outputs = b.outputs,
                  .gaps = b.gaps,
                  .beside = b.beside,
                  .spare = spare};
  if (chosen.rule == Rule::fewer) {  // heads beside an F read no more than an R right behind it
    for (std::size_t k = 0; k < b.beside.size(); ++k) d.gaps[k + 1] += b.beside[k];
    d.beside.clear();
  }
  return d;
}

// Sizes for L functions that contain the proof's sizes for L': the tables on top are the identity.
SeqcompSizes extended(SeqcompSizes sizes, int L) {
  while (sizes.L() < L) sizes.n.push_back(1);
  return sizes;
}
SeqcompSizes restricted(SeqcompSizes sizes, int L) {
  while (sizes.L() > L) sizes.n.pop_back();
  return sizes;
}

SeqcompProof proof_at(const PatternBits& bits, const Chosen& chosen, int L, const SeqcompSizes& sizes) {
  const int spare = L - chosen.L;
  if (chosen.rule == Rule::two) return best_proof(two_full(bits), sizes);
  if (chosen.rule == Rule::late || chosen.rule == Rule::early)
    return best_proof(one_full(bits, spare), sizes);
  return best_proof(decomposition(bits, chosen, spare), sizes);
}

// All that a search looks at.
std::string search_key(const PatternBits& bits, const Chosen& chosen, int L) {
  std::string key = fmt::format("{} {} {} {} {}", static_cast<int>(chosen.rule), chosen.L, L,
                                bits.partial.str(), bits.outputs.str());
  for (const Integer& gap : bits.gaps) key += fmt::format(" {}", gap.str());
  for (const Integer& beside : bits.beside) key += fmt::format(",{}", beside.str());
  return key;
}

ProofCache& proof_memory() {
  static ProofCache memory;
  return memory;
}

std::optional<SeqcompProof> smallest_at(const PatternBits& bits, const Chosen& chosen, int L) {
  if (chosen.L > kLongestSearch) return std::nullopt;
  return proof_memory().recall(search_key(bits, chosen, L), [&]() -> std::optional<SeqcompProof> {
    const auto objective = L == chosen.L ? Objective::prompt : Objective::arguments;
    if (chosen.rule == Rule::two) return smallest_proof(two_full(bits), objective);
    if (chosen.rule == Rule::late || chosen.rule == Rule::early)
      return smallest_proof(one_full(bits, L - chosen.L), objective);
    return smallest_proof(decomposition(bits, chosen, L - chosen.L));
  });
}

// The smallest certified prompt. Widths of sums and live states grow with the prompt, so the search is one for
// the least P with P >= F(P), F(P) the smallest prompt that the bits of a prompt of P tokens certify. F never
// falls (more bits certify no less), so climbing from below, P <- F(P), never passes the least P: it is there
// when F(P) <= P. Bits only change at powers of two, so a few rounds suffice; a prompt within P tokens has no
// more bits than P has, so what is returned is certified at its own length.
std::optional<SeqcompProof> smallest(const Word& word, const Chosen& chosen, int L) {
  constexpr int kRounds = 200;  // more than there are powers of two below the top of every search
  Integer prompt = 1;
  for (int round = 0; round < kRounds; ++round) {
    auto found = smallest_at(pattern_bits(word, prompt), chosen, L);
    if (!found) return std::nullopt;
    const Integer next = extended(found->sizes, L).prompt_length();
    if (next <= prompt || pattern_bits(word, next) == pattern_bits(word, prompt)) return found;
    prompt = next;
  }
  return std::nullopt;
}

std::string text(const Integer& value) { return value.str(); }

std::vector<std::string> explain(const PatternBits& b, const Chosen& chosen, const SeqcompProof& p, int L) {
  std::vector<std::string> steps{fmt::format("Players: z_{} .. z_1 own their tables, z_0 its token, (w, =) "
                                             "the last {} tokens; the prompt has {} tokens.",
                                             L, L, extended(p.sizes, L).prompt_length().str()),
                                 fmt::format("Messages: partial softmax sums of {} bits per token and layer; "
                                             "recurrent states are handed down once.",
                                             b.partial.str())};
  const std::string T = p.T.empty() ? "1" : p.T[0].str();
  switch (chosen.rule) {
    case Rule::late:
      steps.push_back(fmt::format(
          "Take T = {} functions z_1 with disjoint images on x_0 = {} arguments: T x_0 y = {} arguments of "
          "z_2 are asked for, y = {}.",
          T, p.x0.str(), text(p.T[0] * p.x0 * p.y), p.y.str()));
      steps.push_back(
          fmt::format("Bottom tokens query with their own token: z_2 sends sums to x_0 + y + 1 = {} states, "
                      "and for each of the T functions {} state bits leave the z_1 segment.",
                      text(p.x0 + p.y + 1), text(b.gaps[1] + b.beside[0])));
      break;
    case Rule::early:
      steps.push_back(
          fmt::format("{} state bits stand before the F: T = {} functions z_1 are drawn from one class of "
                      "crossing states, spread over {} values.",
                      b.gaps[0].str(), T, text((p.T[0] * p.x0 + 1) / 2)));
      break;
    case Rule::two:
      steps.push_back(fmt::format(
          "First F: z_1 reaches w_1 and = through {} states, so T = {} functions z_1 of one class spread "
          "x_0 = {} arguments over at least {} values.",
          text(p.y + 1), T, p.x0.str(), text((p.T[0] * p.x0 + 1) / 2)));
      steps.push_back(
          "On that class = does not depend on z_1 before the second F: the sums of z_2 there are fixed "
          "once.");
      break;
    default:
      for (std::size_t l = 0; l < p.T.size(); ++l)
        steps.push_back(
            fmt::format("Step {}: keep T_{} = {} functions z_{} and the largest class of all messages above.",
                        l + 1, l + 1, p.T[l].str(), l + 1));
  }
  steps.push_back(fmt::format(
      "Answers on these arguments: {:.6g} bits; messages and states fixed: {:.6g} bits.", p.left, p.right));
  steps.push_back(
      p.certified ? "Pigeonhole: two tables z_L with one transcript differ on an argument that is asked for."
                  : "No pigeonhole at these sizes: vacuous at this size.");
  return steps;
}

void note_proof(Verdict& v, const SeqcompProof& proof, int L) {
  const auto number = [](const Integer& value) -> Parameter {  // sizes are evidence: every digit
    if (bit_length(value) <= 53) return value.convert_to<std::int64_t>();
    return value.str();
  };
  const SeqcompSizes sizes = extended(proof.sizes, L);
  v.parameters["L"] = L;
  v.parameters["m"] = number(sizes.m);
  for (std::size_t l = 0; l < sizes.n.size(); ++l)
    v.parameters[fmt::format("n{}", l + 1)] = number(sizes.n[l]);
  v.parameters["x_0"] = number(proof.x0);
  if (proof.T.size() == 1)
    v.parameters["T"] = number(proof.T[0]);
  else
    for (std::size_t l = 0; l < proof.T.size(); ++l)
      v.parameters[fmt::format("T_{}", l + 1)] = number(proof.T[l]);
  if (proof.T.size() == 1) v.parameters["y"] = number(proof.y);
  v.parameters["prompt"] = number(sizes.prompt_length());
}

void note_bits(Verdict& v, const PatternBits& bits) {
  v.parameters["M_part"] = json_number(bits.partial);
  v.parameters["M_out"] = json_number(bits.outputs);
  v.parameters["s_before"] = json_number(bits.gaps[0]);
  Integer after = 0;
  for (std::size_t k = 1; k < bits.gaps.size(); ++k) after += bits.gaps[k];
  for (const auto& b : bits.beside) after += b;
  v.parameters["s_after"] = json_number(after);
}

// The best margin among prompts that fill the context (L' = 2): what the bound falls short by.
std::optional<SeqcompProof> nearest_within(const PatternBits& bits, const Chosen& chosen, int L,
                                           std::int64_t context) {
  if (chosen.L != 2) return std::nullopt;
  return proof_memory().recall(fmt::format("{} within {}", search_key(bits, chosen, L), context), [&] {
    std::optional<SeqcompProof> best;
    for (std::int64_t n = 1; n < context; n *= 4) {
      const std::int64_t m = (context - L - 1) / (1 + (L - 1) * n);
      if (m < 1) break;
      const auto proof = proof_at(bits, chosen, L, {m, {n}});
      if (!best || proof.margin() > best->margin()) best = proof;
    }
    return best;
  });
}

std::optional<Verdict> evaluate(const Theorem& theorem, const Setting& setting, const Question& question,
                                Rule rule) {
  const Word& word = setting.word;
  PatternBits bits = pattern_bits(word, question.prompt);
  const Chosen chosen = choose(bits, question.L);
  if (chosen.rule != rule || word.uncovered()) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  // The checked statements are about two tables, and with two full layers about states of one shape at every length.
  if ((rule == Rule::equal || (rule == Rule::two && word.total().levels())) && v.status == Status::checked)
    v.status = Status::proved;
  if (word.selects()) v.status = Status::sketch;
  v.require(rule == Rule::two || rule == Rule::equal ? "#F = L and no recurrent state before the second F"
                                                     : "#F <= L-1",
            true, fmt::format("word {}, #F = {}, L = {}", word.folded, word.full_letters(), question.L));
  v.require(
      "exact integer sums (mode X)", setting.exact_sums(),
      setting.floating() && !setting.unknown_format()
          ? fmt::format("{} sums are rounded{}", format_precision(setting.architecture.dimensions.precision),
                        setting.assume_exact ? ", assumed exact" : "")
          : setting.mode_x());
  v.require("causal", setting.causal());
  v.require("no chain of thought", !setting.chain_of_thought);
  note_bits(v, bits);
  if (!v.all_hold()) return v;
  v.assumes = {setting.mode_x(), "layers position-wise but for the mixer"};
  for (auto& width : setting.widths()) v.assumes.push_back(std::move(width));
  const auto least = smallest(word, chosen, question.L);
  if (least) v.horizon = extended(least->sizes, question.L).prompt_length();
  std::optional<SeqcompProof> proof;
  if (question.fixed) {
    proof = proof_at(bits, chosen, question.L, restricted(question.seqcomp, chosen.L));
    if (!proof->certified && least && least->sizes == proof->sizes) proof = least;
  } else if (least && *v.horizon <= question.prompt) {
    proof = least;
    bits = pattern_bits(word, *v.horizon);  // its own, not those of the whole context
    note_bits(v, bits);
  } else {
    proof = nearest_within(bits, chosen, question.L, question.prompt);
    if (proof) proof->certified = false;
  }
  const bool impossible = proof && proof->certified;
  if (proof) {
    v.left = proof->left;
    v.right = proof->right;
    v.margin = proof->margin();
    if (question.fixed) {
      for (const auto& [name, value] : question.sizes) v.parameters[name] = value;
      SeqcompProof shown = *proof;
      shown.sizes = question.seqcomp;
      note_proof(v, shown, question.L);
    } else {
      note_proof(v, *proof, question.L);
    }
    v.argument = explain(bits, chosen, *proof, question.L);
  }
  if (v.horizon) v.parameters["certified_from"] = json_number(*v.horizon);
  if (!least && chosen.L >= 3)
    v.parameters["growth"] = fmt::format("N ~ M^{}", size_exponent(chosen.L, rule == Rule::equal));
  v.require("the counts of the proof exceed the bits", impossible,
            proof ? fmt::format("{:.6g} against {:.6g} bits", proof->left, proof->right)
                  : "no sizes within the context");
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous;
  return v;
}

std::optional<Verdict> late(const Theorem& t, const Setting& s, const Question& q) {
  return evaluate(t, s, q, Rule::late);
}
std::optional<Verdict> early(const Theorem& t, const Setting& s, const Question& q) {
  return evaluate(t, s, q, Rule::early);
}
std::optional<Verdict> two(const Theorem& t, const Setting& s, const Question& q) {
  return s.word.head_wise() ? std::nullopt : evaluate(t, s, q, Rule::two);
}
std::optional<Verdict> fewer(const Theorem& t, const Setting& s, const Question& q) {
  return evaluate(t, s, q, Rule::fewer);
}
std::optional<Verdict> equal(const Theorem& t, const Setting& s, const Question& q) {
  return s.word.head_wise() ? std::nullopt : evaluate(t, s, q, Rule::equal);
}
std::optional<Verdict> head_wise(const Theorem& t, const Setting& s, const Question& q) {
  if (!s.word.head_wise()) return std::nullopt;
  auto v = evaluate(t, s, q, Rule::two);
  return v ? v : evaluate(t, s, q, Rule::equal);
}

}  // namespace

PatternBits pattern_bits(const Word& word, const Integer& tokens) {
  PatternBits bits{word.partial(tokens), word.outputs(), {}, {}};
  const std::size_t f = word.full_letters();
  bits.gaps.assign(f + 1, 0);
  std::size_t seen = 0;
  for (const auto& letter : word.letters) {
    const Integer state = letter.state.after(tokens);
    if (letter.kind == WordLetter::Kind::full) {
      bits.beside.push_back(state);
      ++seen;
    } else {
      bits.gaps[seen] += state;
    }
  }
  return bits;
}

std::optional<Verdict> strongest_construction(const Setting& setting, const Question& question) {
  std::vector<Verdict> verdicts;
  for (const Theorem& theorem : theorems()) {
    // The refutations of this file search for sizes and never say "possible".
    const bool refutes = theorem.evaluate == late || theorem.evaluate == early || theorem.evaluate == two ||
                         theorem.evaluate == fewer || theorem.evaluate == equal ||
                         theorem.evaluate == head_wise;
    if (!theorem.evaluate || refutes ||
        std::find(theorem.tasks.begin(), theorem.tasks.end(), question.task) == theorem.tasks.end())
      continue;
    if (auto verdict = apply(theorem, setting, question); verdict && verdict->outcome == Outcome::possible)
      verdicts.push_back(std::move(*verdict));
  }
  if (verdicts.empty()) return std::nullopt;
  rank(verdicts);
  return verdicts.front();
}

PatternSummary summarise_pattern(const Setting& setting) {
  PatternSummary summary;
  const PatternBits bits = pattern_bits(setting.word, setting.context);
  summary.full = setting.word.full_letters();
  const bool anywhere = summary.full == 1 && (bits.gaps[0] > 0 || bits.gaps[1] > 0);
  summary.early = summary.full > 0 && (early_state(bits) || anywhere);
  if (summary.full > 0) {
    const auto fulls = static_cast<std::int64_t>(summary.full);
    const bool carries = std::max(setting.word.reach(0), setting.word.reach(1)) >= fulls + 1;
    summary.asymptotic = fulls - (summary.early && carries ? 0 : 1);
  }
  const auto ask = [&](std::int64_t L) -> std::optional<Verdict> {
    if (L < 1 || 2 * L + 1 > setting.context) return std::nullopt;
    const auto question = make_question("seqcomp", {{"L", L}}, setting.context, false);
    if (!question) return std::nullopt;
    return decide(setting, *question);
  };
  // Constructions are monotone in L: the largest by bisection below the word's own limit (encoders and chains
  // of thought aside).
  std::int64_t low = 0, high = std::min<std::int64_t>(setting.context / 2, std::int64_t{1} << 20);
  // Refutations cost most, and they never say "possible".
  const auto constructed = [&](std::int64_t L) {
    const auto question = make_question("seqcomp", {{"L", L}}, setting.context, false);
    return question && strongest_construction(setting, *question).has_value();
  };
  const auto solves = [&](std::int64_t L) {
    const bool costly = L >= 1 && choose(bits, static_cast<int>(L)).rule != Rule::none;
    if (costly && !constructed(L)) return false;
    auto v = ask(L);
    if (!v || v->outcome != Outcome::possible) return false;
    if (!summary.solvable || L > *summary.solvable)
      summary.solvable = static_cast<int>(L), summary.solvable_by = v;
    return true;
  };
  if (solves(1)) {
    low = 1;
    if (!setting.chain_of_thought && setting.causal())
      high = std::min<std::int64_t>(high, static_cast<std::int64_t>(setting.layers.size()) + 1);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (solves(middle) ? low : high) = middle;
    }
  }
  // Refutations: the smallest L that any count speaks about; deeper ones only need longer prompts.
  const std::int64_t f = static_cast<std::int64_t>(summary.full);
  for (const std::int64_t L : {f, f + 1}) {
    if (L < 1 || (summary.solvable && L <= *summary.solvable)) continue;
    auto v = ask(L);
    if (!v) continue;
    if (v->outcome == Outcome::impossible) {
      summary.impossible = static_cast<int>(L);
      summary.impossible_by = v;
      break;
    }
    if (v->outcome == Outcome::vacuous && (!summary.vacuous_by || !summary.vacuous_by->horizon))
      summary.vacuous_by = v;
  }
  return summary;
}

nlohmann::ordered_json pattern_json(const Setting& setting, const PatternSummary& s) {
  const auto number = [](const auto& value) -> nlohmann::ordered_json {
    if (value) return *value;
    return nullptr;
  };
  const auto by = [](const std::optional<Verdict>& v) -> nlohmann::ordered_json {
    if (!v) return nullptr;
    return {{"theorem", v->theorem}, {"status", status_name(v->status)}, {"parameters", v->parameters}};
  };
  nlohmann::ordered_json horizon = nullptr;
  if (s.vacuous_by && s.vacuous_by->horizon) horizon = json_number(*s.vacuous_by->horizon);
  nlohmann::ordered_json json;
  json["word"] = setting.word.text;
  json["full"] = s.full;
  json["early_recurrence"] = s.early;
  json["largest_L_of_the_word"] = s.asymptotic;
  json["largest_L_solvable"] = number(s.solvable);
  json["smallest_L_impossible"] = number(s.impossible);
  json["solvable_by"] = by(s.solvable_by);
  json["impossible_by"] = by(s.impossible_by);
  json["vacuous_by"] = by(s.vacuous_by);
  json["horizon"] = std::move(horizon);
  return json;
}

std::vector<Theorem> pattern_theorems() {
  const auto row = [](const char* id, auto* evaluate) {
    return Theorem{.id = id,
                   .tasks = {"seqcomp"},
                   .options = kHardOrder,
                   .variants = kEveryPrompt,
                   .evaluate = evaluate};
  };
  return {row("one-full-layer-late", late),  row("one-full-layer-early", early), row("two-full-layers", two),
          row("decomposition-fewer", fewer), row("decomposition-equal", equal),  row("head-wise", head_wise)};
}

}  // namespace rung
