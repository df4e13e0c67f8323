// One card a task: the verdict, the theorem behind it, its numbers and where they turn; what is impossible first. A task keeps its
// card while its contents change, so that open details survive a slider.
import { formula, theoremFormula } from "../formula.js";
import { el } from "../dom.js";
import { plural, short } from "../numbers.js";
import { grouped } from "../records.js";
import { sourceText } from "../evidence/theorem.js";
import { chip, meaningOf, withStatus, wordsOf } from "../verdicts.js";

const full = (verdict) => withStatus(verdict.verdict, verdict.theorem ? verdict.status : "");

// The same words as rung bound's, each side with the theorem and its status.
function depthText(pattern, context) {
  const by = (one) => (one ? ` (${one.theorem}, ${one.status})` : "");
  const can = pattern.largest_L_solvable ? `solvable to L = ${short(pattern.largest_L_solvable)}${by(pattern.solvable_by)}` : "no L provably solvable";
  const cannot = pattern.smallest_L_impossible ? `impossible from L = ${short(pattern.smallest_L_impossible)}${by(pattern.impossible_by)}`
    : pattern.horizon ? `no L provably impossible here: ${pattern.vacuous_by?.theorem ?? "a bound"} certifies from ${short(pattern.horizon)} tokens on` : "no L provably impossible here";
  return `L-SeqComp at up to ${short(context)} tokens: ${can}; ${cannot}.`;
}

function bar(name, bits, most, tone) {
  return el("div", { class: `balance-row ${tone}` }, el("span", { class: "name" }, name), el("span", { class: "track" }, el("span", { class: "fill", style: { width: `${Math.max(1, (100 * bits) / most)}%` } })), el("span", { class: "bits" }, short(bits)));
}

function numbers(verdict) {
  const { left, right } = verdict;
  if (typeof left !== "number" || typeof right !== "number") return null;
  const most = Math.max(left, right, 1e-9);
  if (verdict.verdict === "possible") {
    return el("p", { class: "card-line" }, `${verdict.unit}: ${short(left)} available, ${short(right)} needed`);
  }
  return el("div", { class: "balance" }, bar(`${verdict.unit} needed`, left, most, left > right ? "no" : ""), bar(`${verdict.unit} available`, right, most, ""));
}

function horizon(verdict) {
  const from = verdict.parameters?.certified_from, size = verdict.parameters?.n !== undefined ? "n" : "a prompt";
  if (verdict.verdict === "vacuous" && (typeof from === "number" || typeof verdict.horizon === "number"))
    return el("p", { class: "card-line" }, "Impossible from ", el("strong", {}, size === "n" ? `n = ${short(from ?? verdict.horizon)}` : `${short(from ?? verdict.horizon)} tokens`), " on.");
  if (verdict.verdict === "impossible" && typeof verdict.horizon === "number")
    return el("p", { class: "card-line" }, size === "n" ? `Impossible from n = ${short(from ?? verdict.horizon + 1)} on` : `Certified from ${short(verdict.horizon)} tokens on`, typeof verdict.parameters?.n === "number" ? `; here n = ${short(verdict.parameters.n)}.` : ".");
  return null;
}

function details(verdict, theorem) {
  const holds = (hypothesis) => el("li", { class: hypothesis.holds ? "holds-yes" : "holds-no" }, el("span", { class: "mark-word" }, hypothesis.holds ? "holds" : "fails"), el("span", {}, hypothesis.text, hypothesis.numbers ? el("span", { class: "muted" }, `: ${hypothesis.numbers}`) : null));
  const sizes = Object.entries(verdict.parameters ?? {}).filter(([, value]) => value !== null && typeof value !== "object");
  const counted = theoremFormula(verdict.theorem);
  return [counted ? el("div", { class: "formula" }, formula(counted, true)) : null, theorem?.statement ? el("p", {}, theorem.statement) : null, verdict.hypotheses.length ? el("ul", { class: "hypotheses" }, verdict.hypotheses.map(holds)) : null,
    verdict.assumes ? el("p", { class: "muted" }, `Assumes ${verdict.assumes}.`) : null,
    sizes.length ? el("p", { class: "muted parameters" }, sizes.map(([name, value]) => `${name} = ${typeof value === "number" ? short(value) : value}`).join(", ")) : null,
    verdict.source ? el("p", { class: "muted" }, `From ${sourceText(verdict.source, verdict.reference)}.`) : null];
}

class Card {
  constructor(task) {
    this.head = el("div", { class: "head" });
    this.body = el("div", {});
    this.inside = el("div", { class: "card-details" });
    this.more = el("details", {}, el("summary", {}, "Why"), this.inside);
    this.root = el("article", { class: "verdict-card", "data-task": task, "aria-label": task }, this.head, this.body, this.more);
  }

  show(verdict, theorem, summary) {
    const changed = this.verdict !== undefined && this.verdict !== verdict.verdict;
    this.verdict = verdict.verdict;
    this.root.dataset.verdict = verdict.verdict;
    this.head.replaceChildren(el("h4", {}, verdict.task), chip(verdict.verdict, full(verdict)));
    const failing = verdict.verdict === "open" ? verdict.hypotheses.find((hypothesis) => !hypothesis.holds) : null;
    this.body.replaceChildren(...[
      summary ? el("p", { class: "card-line muted" }, summary) : null,
      verdict.theorem ? el("p", { class: "card-line theorem" }, el("code", {}, verdict.theorem), verdict.status === "proved" || verdict.status === "checked" ? null : el("span", { class: "shipped" }, verdict.status)) : el("p", { class: "card-line muted" }, "No theorem applies."),
      failing ? el("p", { class: "card-line muted" }, `Fails: ${failing.text}${failing.numbers ? `: ${failing.numbers}` : ""}`) : null, numbers(verdict), horizon(verdict)].filter(Boolean));
    this.inside.replaceChildren(...details(verdict, theorem).filter(Boolean));
    if (!changed) return;
    this.root.classList.remove("changed");
    requestAnimationFrame(() => this.root.classList.add("changed"));
  }
}

export class VerdictCards {
  #cards = new Map();
  #theorems;
  #tasks;

  // theorems: by id, with their statements; tasks: {name: summary}.
  constructor(theorems, tasks) {
    this.#tasks = tasks ?? {};
    this.#theorems = theorems ?? {};
    this.word = el("p", { class: "explorer-word" });
    this.counts = el("p", { class: "explorer-counts", role: "status" });
    this.depth = el("p", { class: "explorer-depth" });
    this.list = el("div", { class: "verdict-cards" });
    this.root = el("div", { class: "explorer-verdicts" }, this.word, this.counts, this.depth, this.list);
  }

  show(answer) {
    this.word.replaceChildren(el("code", {}, answer.architecture), ` ${plural(answer.layers, "layer")}, ${typeof answer.state_bits === "number" ? plural(answer.state_bits, "state bit") : `${answer.state_bits} state bits`}, ${plural(answer.context, "token")}, precision ${answer.precision}`);
    const order = wordsOf("bound");
    const ranked = [...answer.verdicts].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
    this.counts.replaceChildren(...[...grouped(ranked, full)].map(([text, list]) => el("span", { class: "count", title: meaningOf("bound", list[0].verdict) }, chip(list[0].verdict, `${list.length} ${text}`))));
    const pattern = answer.pattern;
    this.depth.hidden = !pattern;
    if (pattern) this.depth.textContent = depthText(pattern, answer.context);
    const wanted = ranked.map((verdict) => {
      if (!this.#cards.has(verdict.task)) this.#cards.set(verdict.task, new Card(verdict.task));
      const card = this.#cards.get(verdict.task);
      card.show(verdict, this.#theorems[verdict.theorem], this.#tasks[verdict.task]);
      return card.root;
    });
    if (wanted.length !== this.list.children.length || wanted.some((card, i) => this.list.children[i] !== card)) this.list.replaceChildren(...wanted);
  }
}
