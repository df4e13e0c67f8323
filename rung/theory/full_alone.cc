// One full layer and nothing else: the query token's own value fixes its query, so what it learns of any part
// of the prompt is that part's partial sums, M_part bits (and, from recurrent heads in the layer, the state
// that leaves the part).
//
// Claim. If fixing the query token, the contents of one part of the other positions fall into more classes
// than 2^(M_part + s), one full layer does not solve the task (M_part: sums over the whole prompt): equality and disjointness n > M_part + s;
// Dyck-(k, D) with k types (pairs: openings to one player, closings to the other, all but the last pair) (n/2
// - 1) lg k > M_part, no recurrent heads (the parts interleave); 3-Sum with last number 0: lg of the sum of
// C(M', 1..n-2) > M_part + s. L-SeqComp at L = 1: m lg m > M_part + s. Literature's Ω (Bhattamishra et al.
// 2406.09347; Sanford, Hsu, Telgarsky 2306.02896) with its constant for exact integer sums (mode X). Status:
// proved. No chain of thought. Smallest case by exhaustion: m = 3, weights {1,2}, values {0,1} leave 16 sums
// for 27 functions.
#include <functional>

#include "rung/theory/horizon.h"
#include "rung/theory/one_full_layer.h"
#include "rung/theory/theorem_groups.h"
#include "rung/theory/three_sum_values.h"

namespace rung {
namespace {

struct Part {
  std::string name, symbolic;
  std::function<std::optional<Count>(std::int64_t n)> classes;
  std::function<std::int64_t(std::int64_t n)> prompt;  // tokens at size n, as many as a sum can run over
  bool interleaved = false;
  bool even = false;  // odd sizes ask nothing: every prompt has one answer
};

std::vector<std::string> counted_widths(const Setting& setting) {
  std::vector<std::string> assumes{setting.mode_x()};
  for (auto& width : setting.widths()) assumes.push_back(std::move(width));
  return assumes;
}

// The checked statements are about decoders.
void keep_checked(Verdict& v, const Setting& setting) {
  if (v.status == Status::checked && !setting.causal()) v.status = Status::proved;
}

std::optional<Verdict> alone(const Theorem& theorem, const Setting& setting, const Question& question,
                             const Part& part) {
  const Word& word = setting.word;
  if (word.full_letters() != 1 || word.letters.size() != 1) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  const WordLetter& letter = word.full(0);
  std::int64_t n = question.size("n");
  if (part.even && !question.fixed) n -= n % 2;
  const bool nothing_asked = part.even && n % 2 != 0;
  v.parameters["n"] = n;
  v.require("one full layer and nothing else that mixes positions", !letter.selects, "word " + word.folded);
  v.require("exact integer sums (mode X)", setting.exact_sums(), setting.mode_x());
  v.require("no chain of thought", !setting.chain_of_thought);
  v.require("causal, or no recurrent heads in the layer", setting.causal() || letter.state.empty());
  if (part.interleaved)
    v.require("no recurrent heads in the layer", letter.state.empty(),
              letter.state.after(question.prompt).str() + " bits");
  if (!v.all_hold()) return v;
  keep_checked(v, setting);
  v.assumes = counted_widths(setting);
  const auto bits_at = [&](std::int64_t k) {
    const Integer tokens = part.prompt(k);
    return Integer(letter.partial.after(tokens) + letter.state.after(tokens));
  };
  const auto certifies = [&](std::int64_t k) {
    const auto classes = part.classes(k);
    return classes && !bits_suffice(bits_at(k), *classes);
  };
  const auto first = first_certified(part.prompt, certifies);
  // Asked about all sizes that fit, a bound that certifies at some of them has answered.
  if (!question.fixed && first && *first < n && !certifies(n)) n = *first;
  v.parameters["n"] = n;
  const Integer bits = bits_at(n);
  const auto classes = nothing_asked ? std::nullopt : part.classes(n);
  const bool impossible = !nothing_asked && certifies(n);
  v.left = classes ? classes->lg() : 0.0;
  v.right = bits.convert_to<double>();
  v.margin = *v.left / *v.right;
  v.outcome = impossible ? Outcome::impossible : Outcome::vacuous;
  v.require(part.symbolic + " > M_part + s", impossible,
            fmt::format("{:.6g} against {} bits", *v.left, bits.str()));
  if (first) {
    v.horizon = *first - 1;
    v.parameters["certified_from"] = *first;
  }
  v.argument = {
      fmt::format("Two players: one holds {}, the other the rest with the query token.", part.name),
      fmt::format("The query token's query is its own: the first player sends partial sums, {} bits.",
                  bits.str()),
      fmt::format("{} = {:.6g} bits are needed to tell the first parts apart.", part.symbolic, *v.left),
      impossible ? "Pigeonhole: two of them send one message."
                 : "The message is long enough: vacuous at this size."};
  return v;
}

std::optional<Verdict> full_alone_strings(const Theorem& t, const Setting& s, const Question& q) {
  return alone(t, s, q,
               {.name = "a",
                .symbolic = "n",
                .classes = [](std::int64_t n) { return std::optional(Count::power(2, n)); },
                .prompt = [](std::int64_t n) { return 2 * n + 2; }});
}
std::optional<Verdict> full_alone_dyck(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t types = q.size("k");
  return alone(t, s, q,
               {.name = "the opening brackets",
                .symbolic = "(n/2 - 1) lg k",
                .classes = [=](std::int64_t n) -> std::optional<Count> {
                  if (n < 4) return std::nullopt;
                  return Count::power(types, n / 2 - 1);
                },
                .prompt = [](std::int64_t n) { return n; },
                .interleaved = true,
                .even = true});  // an odd number of brackets never nests
}
std::optional<Verdict> full_alone_three_sum(const Theorem& t, const Setting& s, const Question& q) {
  const Integer given = q.size("M"), own = q.size("n");
  const bool square = given == own * own + 1;
  return alone(t, s, q,
               {.name = "x_1 .. x_(n-2)",
                .symbolic = "lg sum C(M',1..n-2)",
                .classes = [=](std::int64_t n) -> std::optional<Count> {
                  const Integer M = square ? Integer(n) * n + 1 : given, values = three_sum_values(M);
                  if (n < 3 || values < 1) return std::nullopt;
                  return two_sum_count(n - 2, values);
                },
                .prompt = [](std::int64_t n) { return n; }});
}

std::optional<Verdict> full_alone_seqcomp(const Theorem& theorem, const Setting& setting,
                                          const Question& question) {
  const Word& word = setting.word;
  if (question.L != 1 || word.full_letters() != 1 || word.letters.size() != 1) return std::nullopt;
  const WordLetter& letter = word.full(0);
  Verdict v = verdict_of(theorem, question);
  v.require("one full layer and nothing else that mixes positions", true, "word " + word.folded);
  v.require("exact integer sums (mode X)", setting.exact_sums(), setting.mode_x());
  v.require("causal", setting.causal());
  v.require("no chain of thought", !setting.chain_of_thought);
  if (letter.selects) v.status = Status::sketch;
  if (!v.all_hold()) return v;
  v.assumes = counted_widths(setting);
  Integer m = question.fixed ? question.seqcomp.m : Integer(question.prompt - 2);
  const auto proof_at = [&](const Integer& size) {
    return full_alone_proof(letter.partial.after(size + 2), letter.state.after(size + 2), size);
  };
  const auto first = first_certified([](std::int64_t k) { return k + 2; },
                                     [&](std::int64_t k) { return proof_at(k).certified; });
  if (!question.fixed && first && *first < m && !proof_at(m).certified) m = *first;
  const auto proof = proof_at(m);
  v.left = proof.left;
  v.right = proof.right;
  v.margin = proof.margin();
  v.parameters["L"] = 1;
  v.parameters["m"] = m.convert_to<std::int64_t>();
  if (first) {
    v.horizon = *first + 2;
    v.parameters["certified_from"] = json_number(*v.horizon);
  }
  v.outcome = proof.certified ? Outcome::impossible : Outcome::vacuous;
  v.require("m lg m > M_part + s", proof.certified,
            fmt::format("{:.6g} against {:.0f} bits", proof.left, proof.right));
  v.argument = {
      "Players: z_1 holds its m values; z_0 and `=` follow.",
      fmt::format("`=` queries with its own token: z_1 reaches it through {:.0f} bits of partial sums.",
                  proof.right),
      fmt::format("All m^m functions must be told apart: {:.6g} bits.", proof.left)};
  return v;
}

}  // namespace

std::vector<Theorem> full_alone_theorems() {
  return {
      {.id = "full-alone-strings",
       .tasks = {"equality", "disjointness"},
       .variants = kEveryPrompt,
       .evaluate = full_alone_strings},
      {.id = "full-alone-dyck", .tasks = {"dyck"}, .variants = kEveryPrompt, .evaluate = full_alone_dyck},
      {.id = "full-alone-three-sum", .tasks = {"three-sum"}, .evaluate = full_alone_three_sum},
      {.id = "full-alone-seqcomp",
       .tasks = {"seqcomp"},
       .options = kHardOrder,
       .variants = kEveryPrompt,
       .evaluate = full_alone_seqcomp},
  };
}

}  // namespace rung
