// The words of outcomes and their marks: one colour and one shape each, so that neither is needed alone. The words and what they mean
// come with the document (`words`): what a bound says, how evidence stands, what became of a prediction, the class of a model.
import { el, svg } from "./dom.js";
import { percent, short, sizeText } from "./numbers.js";

const SHAPES = {
  no: "M4.5 4.5l7 7M11.5 4.5l-7 7", // a cross
  yes: "M3.5 8.5l3 3 6-7", // a tick
  seal: "M8 1.8l1.7 1.3 2.1-.1.6 2 1.7 1.3-.7 2 .7 2-1.7 1.3-.6 2-2.1-.1L8 14.8l-1.7-1.3-2.1.1-.6-2-1.7-1.3.7-2-.7-2 1.7-1.3.6-2 2.1.1zM5.6 8.4l1.7 1.7 3-3.4",
  quiet: "M4 8h8", // a dash
  pending: "M8 4v4l2.5 2M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z",
};

export function icon(kind) {
  return svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, class: "icon", "aria-hidden": "true" },
    svg("path",
      {
        d: SHAPES[kind] ?? SHAPES.quiet, fill: "none", stroke: "currentColor",
        "stroke-width": kind === "seal" ? 1.3 : 2, "stroke-linecap": "round", "stroke-linejoin": "round",
      }));
}

const KINDS = {
  impossible: "no", refuted: "no", failed: "no",
  possible: "yes", verified: "yes", held: "yes", trained: "yes",
  pending: "pending", stopped: "pending",
};
export const kindOf = (word) => KINDS[word] ?? "quiet";

export function chip(word, shown = word, kind = kindOf(word)) {
  return el("span", { class: `chip ${kind}` }, icon(kind), el("span", {}, shown));
}

// A certificate that rung-check accepted.
export const seal = () => chip("verified", "verified", "seal");

let words = {};
export const useWords = (given) => { words = given ?? {}; };
export const wordsOf = (group) => Object.keys(words[group] ?? {});
export const meaningOf = (group, word) => words[group]?.[word] ?? "";

// What is not proved never goes without its word: "possible, sketch".
export const withStatus = (word, status) => (!status || status === "proved" || status === "checked" ? word : `${word}, ${status}`);

export const boundWord = (bound) => withStatus(bound?.state ?? "none", bound?.status);

// "9,510.6 > 8,748 bits": what a bound compares, in short; empty where it compares nothing.
export function comparison(bound) {
  const { left, right } = sides(bound);
  if (left === undefined || right === undefined || bound.state === "possible") return "";
  return `${short(left)} ${left > right ? ">" : "≤"} ${short(right)} bits`;
}

// Bits needed and bits available, wherever the record keeps them.
export function sides(bound) {
  const numbers = bound?.numbers ?? {};
  const number = (value) => (typeof value === "number" ? value : undefined);
  return { left: number(numbers.left) ?? number(bound?.left), right: number(numbers.right) ?? number(bound?.right) };
}

// What was checked, in short: every input, run or by an argument about all of them, or so many.
function checked(construction) {
  if (
    construction.mode === "exhaustive" && construction.instances) return `all ${short(construction.instances)} inputs`;
  if (construction.all_inputs?.holds || construction.mode === "interval") return "all inputs";
  return construction.instances ? `${short(construction.instances)} inputs` : "";
}

// `bound` may speak of a smaller model than the one that is built: the line then says so.
export function constructionLine(construction, bound) {
  if (!construction || construction.state === "none" || !construction.state) return null;
  if (construction.state !== "verified") return { word: construction.state, text: "built, and it errs" };
  const bits = construction.precision_smallest ?? construction.precision_proved;
  const larger = bound?.state === "impossible" && construction.arch && construction.arch !== bound.arch;
  const which = construction.brief || (larger ? "a larger one" : "");
  return {
    word: "verified",
    text: [which, bits ? `${bits} bits` : "", checked(construction)].filter(Boolean).join(", ") || "verified",
  };
}

// `size` is the cell's: a record of another one says so.
export function trainingLine(training, size) {
  if (
    !training || training.accuracy === undefined || training.accuracy === null || training.state === "none") return null;
  const ceiling = typeof training.ceiling === "number" && training.ceiling < 1 ? `, ceiling ${percent(training.ceiling)}` : "";
  const elsewhere = training.size && size && sizeText(training.size) !== sizeText(size) ? ` at ${sizeText(training.size)}` : "";
  const cut = training.retry ? ", cut short" : "";
  return { text: `${percent(training.accuracy)}${ceiling}${elsewhere}${cut}`, shipped: training.state === "shipped" };
}
