// The theorem behind a cell: what it says, with its numbers, and where it is from.
import { commandLine, el, facts } from "../dom.js";
import { formula, theoremFormula } from "../formula.js";
import { plural, short } from "../numbers.js";
import { boundWord, chip, sides } from "../verdicts.js";

const VACUOUS = "The theorem is about this architecture, but its count does not exceed the bits at this size. That is not evidence that the task can be done: the theorem has nothing to say here.";

// Two bars on one scale: bits that are needed, bits that are available.
export function balance(left, right, names = ["needed", "available"]) {
  const largest = Math.max(left, right);
  const bar = (name, value, kind) => el("div", { class: `balance-row ${kind}` }, el("span", { class: "name" }, name),
    el("span", { class: "track" },
      el("span", { class: "fill", style: { width: `${Math.max(1, (100 * value) / largest)}%` } })),
      el("span", { class: "bits" }, plural(value, "bit")));
  return el("div", {
    class: "balance", role: "img", "aria-label": `${names[0]} ${plural(left, "bit")}, ${names[1]} ${plural(right, "bit")}`,
  },
    bar(names[0], left, left > right ? "no" : "quiet"), bar(names[1], right, "yes"));
}

// "literature: Author 1999"; the paper is the one that this program is about.
export const sourceText = (source, reference) => [source, reference].filter(Boolean).join(": ");

// What the mark `checked` means, with the theorem's name in Coq.
const checkedBy = (formal) => [
  "Coq, without axioms: theorem ", el("code", {}, formal), " of ", el("code", {}, "proofs/Statements.v"),
  ". What is left to believe is its statement, and Coq."];

const NAMES = {
  left: "bits needed", right: "bits available", state_bits: "bits of state", prompt: "tokens in the prompt",
  certified_from: "impossible from", margin: "needed / available", M_part: "bits of partial sums a token (M_part)",
  M_out: "bits of an output (M_out)", s_before: "state bits before the full layer",
  s_after: "state bits after the full layer",
};

// The same question about another model of the cell, in one line.
function furtherLine(bound) {
  const { left, right } = sides(bound);
  return el("li", {},
    chip(bound.state, boundWord(bound)),
    " ",
    el("code", {}, bound.arch),
    left !== undefined && bound.state !== "possible" ? `: ${plural(left, "bit")} needed, ${short(right)} available` : "",
    commandLine(bound.command));
}

export function theoremPart(bound, theorems, further = []) {
  if (!bound || !bound.state) return null;
  if (!bound.theorem) return el("section", { class: "part" },
    el("h3", {}, "Theorem"),
    el("p", { class: "muted" }, bound.reason || "No theorem applies to this architecture and task."),
    commandLine(bound.command));
  const theorem = theorems?.[bound.theorem];
  const status = bound.status ?? theorem?.status;
  const { left, right } = sides(bound);
  const numbers = Object.entries(bound.numbers ?? {}).filter(
    ([, value]) => value !== null && typeof value !== "object");
  return el("section", { class: "part" }, el("h3", {}, "Theorem"), el("p", {},
    chip(bound.state, boundWord(bound)),
    " ",
    bound.title ?? theorem?.title ?? bound.theorem),
    bound.theorem && theoremFormula(bound.theorem) ? el("div", { class: "formula" },
      formula(theoremFormula(bound.theorem), true)) : null,
    bound.statement || theorem?.statement ? el("p", {}, bound.statement || theorem.statement) : null,
    left !== undefined && right !== undefined && bound.state !== "possible" ? balance(left, right) : null,
    bound.inequality && (
      bound.state === "possible" || left === undefined) ? el("p", { class: "inequality" }, bound.inequality) : null,
    Array.isArray(bound.argument) && bound.argument.length ? el("ol", { class: "argument" }, bound.argument.map((line) => el("li", {}, line))) : null,
    bound.state === "vacuous" ? el("p", { class: "muted" }, VACUOUS) : null,
    numbers.length ? el("details", {},
      el("summary", {}, "Its numbers"),
      facts(numbers.map(
        ([name, value]) => [NAMES[name] ?? name, typeof value === "number" ? short(value, 2) : String(value)])))
      : null,
    facts([
      ["about", bound.arch && el("code", {}, bound.arch)],
      ["status", status],
      ["checked by", status === "checked" && theorem?.formal && el("span", {}, checkedBy(theorem.formal))],
      ["source", sourceText(bound.source ?? theorem?.source ?? "", bound.reference ?? theorem?.reference ?? "")],
      ["takes for granted", bound.assumes],
      ["implemented in", theorem?.file && el("code", {}, theorem.file)],
      ["tested by", theorem?.test && el("code", {}, theorem.test)]]),
    commandLine(bound.command),
    further.length ? el("div", { class: "further" },
      el("h4", {}, "And for other models of this cell"),
      el("ul", {}, further.map(furtherLine))) : null);
}
