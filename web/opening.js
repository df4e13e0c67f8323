// The opening: why one full layer and a hundred linear ones cannot do what three full layers do, for people who have not read the paper.
import { commandLine, el } from "./dom.js";
import { balance } from "./evidence/theorem.js";
import { outcomeLines, sideBySide } from "./evidence/certificate.js";
import { formula } from "./formula.js";
import { highlightKey } from "./evidence.js";
import { cutPicture, EXAMPLE, looksPicture, MARK, markPicture, taskPicture } from "./pictures.js";
import { plural, short, sizeText } from "./numbers.js";
import { cellButton } from "./table.js";
import { seal } from "./verdicts.js";

// The numbers of the count, or nothing where a record does not hold all of them.
function countOf(parameters, left, right, size, architecture, command) {
  const { T, x_0: starts, y, M_part: lookBits, s_after: stateBits } = parameters ?? {};
  const numbers = [T, starts, y ?? size?.n1, lookBits, stateBits, left, right, size?.m, size?.n1];
  if (!numbers.every((value) => typeof value === "number")) return null;
  const layers = Number(/linear[^*]*\*(\d+)/.exec(architecture ?? "")?.[1] ?? 100);
  return {
    T, starts, relations: y ?? size.n1, lookBits, stateBits, left, right, m: size.m, n1: size.n1,
    entries: size.m * size.n1, layers, prompt: parameters.prompt, command,
  };
}

export function storyCount(data) {
  for (const highlight of data.hierarchy?.highlights ?? [])
    for (const cell of highlight.cells ?? []) {
      const bound = cell.bound ?? {};
      const count = bound.state === "impossible" ? countOf(
        bound.numbers,
        bound.numbers?.left,
        bound.numbers?.right,
        cell.size,
        cell.arch,
        bound.command) : null;
      if (count) return count;
    }
  const own = data.opening?.impossible;
  return own ? countOf(
    own.parameters,
    own.left,
    own.right,
    data.opening.size,
    own.architecture,
    data.opening.command) : null;
}

function brokenPair(data) {
  for (const highlight of data.hierarchy?.highlights ?? [])
    for (const cell of highlight.cells ?? []) if (
      cell.certificate?.state === "verified" && cell.certificate.first?.length) return cell.certificate;
  return (data.hierarchy?.cells ?? []).find(
    (cell) => cell.column === "seqcomp" && cell.certificate?.state === "verified" && cell.certificate.first?.length)?.certificate ?? null;
}

// Words beside what they speak of; what is wide goes below both.
const step = (number, title, words, show, below) => el("section", { class: "step" },
  el("div", { class: "words" },
    el("h3", {}, el("span", { class: "number", "aria-hidden": "true" }, number), title),
    words),
  show ? el("div", { class: "show" }, show) : null,
  below ? el("div", { class: "below" }, below) : null);
const strong = (text) => el("strong", {}, text);

function rival(cell, key) {
  const name = cell.title ?? cell.arch;
  return el("div", { class: "rival" }, el("h4", {}, cell.title ?? el("code", {}, cell.arch)),
    cell.title ? el("code", {}, cell.arch) : null, el("span", { class: "sizes" }, cell.what ? `${cell.what} ` : "", sizeText(cell.size)),
    cellButton(cell, key, name));
}

function highlights(data) {
  const list = data.hierarchy?.highlights ?? [];
  if (!list.length) return null;
  return el("div", { class: "highlights" }, list.map((highlight, h) => el("section", { class: "highlight" },
    el("h3", {}, highlight.title), highlight.what ? el("p", { class: "muted" }, highlight.what) : null,
    el("div", { class: "rivals" }, (highlight.cells ?? []).map((cell, c) => rival(cell, highlightKey(h, c)))))));
}

export function opening(data) {
  const count = storyCount(data), pair = brokenPair(data), e = EXAMPLE;
  return el("section", { id: "why", class: "opening" },
    el("p", { class: "eyebrow" }, "The expressiveness of attention, executed"),
    el("h1", {}, "Why one full layer and a hundred linear ones cannot do what three full layers do"),
    el("p", { class: "lead" }, "A language model reads its prompt through layers of two kinds. In a ",
      strong("full attention"),
      " layer every token looks back, once, at all earlier tokens. A ",
      strong("linear attention"),
      " layer never looks back: it carries a summary of fixed size along the prompt. Summaries are cheap, so it is tempting to trade looks for many summaries. For some tasks no number of summaries behind one look pays for the looks that are missing, and this page counts why."),
    el("div", { class: "steps" },
      step(1, "The task: follow two pointers",
        [
          el("p", {},
            `The prompt lists a long table, then a short one, and only then the question: a start and a relation. Look the start up in the short table: entry ${e.start} holds ${e.first}. Together with the relation ${e.relation} that names entry ${e.entry} of the long table, which holds ${e.answer}. That is the answer.`),
          el("p", {}, "The catch: the long table goes by before anyone knows which entry will matter.")],
        taskPicture()),
      step(2, "Three full layers: three looks",
        el("p", {},
          "The last token first looks at the question (1), then at the right entry of the short table (2), then at the right entry of the long table (3). Each look knows where to go because of the one before. Weights that do exactly this are written down and checked in the table below."),
        looksPicture()),
      count ? step(3, `One look and ${short(count.layers)} summaries`,
        [
          el("p", {},
            `With one full layer, every token looks back when it knows nothing but itself: the last token cannot yet know which entry it needs. What a token hears of the long table in that look is at most ${short(count.lookBits)} bits.`),
          el("p", {},
            `The ${short(count.layers)} linear layers behind it pass on their summaries, ${short(count.stateBits)} bits in all. But of the long table they hold what was written before the question was read, and that must do for every question that might come.`)],
        cutPicture(count)) : null,
      count ? step(4, "Count the bits that pass the cut", [
        el("p", {},
          `Take ${plural(count.T, "short table")}, ${plural(count.starts, "start")} and ${plural(count.relations, "relation")}. Together they ask for ${short(count.T * count.starts * count.relations)} different entries of the long table, each one of ${short(count.entries)} values. Right answers to all of them need more bits than can pass.`),
        el("p", {},
          `What can pass: the looks of ${short(count.starts + count.relations + 1)} different tokens (the starts, the relations and the last one), ${short(count.lookBits)} bits each, and ${short(count.stateBits)} bits of summaries${count.T > 1 ? " for each short table" : ""}.`),
        el("p", { class: "muted" }, "lg is the logarithm to base 2: a choice among N is worth lg N bits.")],
        [el("div", { class: "formula" },
          formula(
            String.raw`\underbrace{T\,x_0\,y\,\lg N_1}_{\text{answers}} \;>\; \underbrace{(x_0+y+1)\,M_{\mathrm{part}}}_{\text{looks}} + \underbrace{T\,s}_{\text{summaries}}`,
            true)),
          el("div", { class: "formula numbers" },
            formula(
              String.raw`${count.T}\cdot${count.starts}\cdot${count.relations}\cdot\lg ${count.entries} \;>\; ${count.starts + count.relations + 1}\cdot${count.lookBits} + ${count.T}\cdot${count.stateBits}`,
              true)),
          balance(count.left, count.right, ["answers need", "can pass"]), commandLine(count.command)]) : null,
      step(5, "So two prompts look the same", [
        el("p", {},
          "There are more long tables than ways to pass the cut: two different long tables must leave exactly the same looks and the same summaries. Ask for an entry where they differ. The model gives both prompts one answer, and it is wrong for at least one of them."),
        el("p", {},
          "No weights escape this count, so no training does. Another linear layer adds a few bits to what can pass; a longer prompt asks for more than that again. What is missing are further looks, each taken when the one before has told where to go.")],
        pair ? el("div", { class: "outcome" },
          el("p", {},
            "Below are two such prompts for a concrete model, found by search and checked by a separate program."),
          outcomeLines(pair),
          el("p", {}, seal(), " ", (pair.equal ?? "").replace(/\.?$/, "."))) : null,
        pair ? sideBySide(pair.first, pair.second ?? [], pair.differ, pair.cut) : null),
      step(6, "Where a hybrid is above both of its parents", [
        el("p", {},
          `Above, layers with a summary are the cheap kind that falls short. There is a second axis, on which it is the other way round: following. Here letters move a mark over a table, from place 0 to place ${MARK.places[MARK.places.length - 1]}, and then the value at the mark is asked for.`),
        el("p", {},
          "A delta layer can follow the mark: each letter exchanges two numbers of its state. But it would need a state as large as the table to know the value. Full attention can look any value up, but without positions it loses count of the letters: from some length on, one letter more changes nothing that it computes. One delta layer and one full layer together do both, at every length, with two bits of state a place. The three stand side by side below.")],
        markPicture())),
    highlights(data));
}
