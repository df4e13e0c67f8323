// A certificate: two inputs side by side, the place where they differ, and what is equal all the same.
import { commandLine, el, facts } from "../dom.js";
import { plural, short, sizeText } from "../numbers.js";
import { chip, icon, seal } from "../verdicts.js";

const AROUND = 4; // equal tokens shown beside a difference
const WHOLE = 48; // prompts up to this length are shown whole
const MOST = 120; // tokens shown of a prompt with many differences

// Which positions to show: all of a short prompt; of a long one the differences, their neighbours, and both ends.
function shownPositions(length, differ, cut) {
  if (length <= WHOLE) return [...Array(length).keys()];
  const keep = new Set();
  const add = (middle) => { for (let i = Math.max(0, middle - AROUND); i <= Math.min(length - 1, middle + AROUND); ++i) keep.add(i); };
  for (const at of differ) { if (keep.size > MOST) break; add(at); }
  for (let i = Math.max(0, length - 8); i < length; ++i) keep.add(i);
  for (let i = 0; i < 3; ++i) keep.add(i);
  if (cut > 0 && cut <= length) { keep.add(cut - 1); if (cut < length) keep.add(cut); }
  return [...keep].sort((a, b) => a - b);
}

const tokenText = (token) => (Array.isArray(token) ? token.join(":") : String(token));

// `cut`: the first position after the place where the states are equal.
export function sideBySide(first, second, differ, cut) {
  const length = Math.max(first.length, second.length);
  const different = differ?.length ? differ : [...Array(length).keys()].filter(
    (i) => tokenText(first[i]) !== tokenText(second[i]));
  const marked = new Set(different), shown = shownPositions(length, different, cut);
  const pieces = [];
  shown.forEach((at, i) => {
    const gap = at - (i ? shown[i - 1] : -1) - 1;
    if (gap > 0) pieces.push(el("span", { class: "gap" }, `${short(gap)} more`));
    if (at === cut) pieces.push(
      el("span", { class: "cut-mark", title: "Here every layer's state is the same for both" },
        el("span", {}, "equal")));
    const isDifferent = marked.has(at);
    pieces.push(el("span",
      { class: `pair${isDifferent ? " differs" : ""}`, title: `position ${at}` },
      el("span", {}, tokenText(first[at] ?? "")),
      el("span", {}, tokenText(second[at] ?? ""))));
  });
  return el("div", {
    class: "prompts", role: "img",
    "aria-label": `Two prompts of ${length} tokens that differ at ${different.length === 1 ? `position ${different[0]}` : plural(different.length, "position")}`,
  },
    el("div", { class: "prompt-names", "aria-hidden": "true" },
      el("span", {}, "first"),
      el("span", {}, "second")), el("div", { class: "pairs" }, pieces));
}

const answer = (value) => (Array.isArray(value) ? value.join(" ") : String(value));

export function outcomeLines(certificate) {
  const [right, otherRight] = certificate.answers ?? [];
  const [said, alsoSaid] = certificate.model_answers ?? [];
  if (right === undefined) return null;
  return el("dl", { class: "answers" }, el("dt", {}, "right answers"), el("dd", {},
    answer(right),
    el("span", { class: "versus" }, "≠"),
    answer(otherRight)),
    said === undefined ? null : [
      el("dt", {}, "the model says"),
      el("dd", {},
        answer(said),
        el("span", { class: "versus" }, answer(said) === answer(alsoSaid) ? "=" : "≠"),
        answer(alsoSaid))]);
}

// The numbers that are equal: the state of every layer after the cut, or the activation at the answer.
function equalNumbers(certificate) {
  const states = (Array.isArray(certificate.states) ? certificate.states : []).map((numbers, layer) => [`state of layer ${layer + 1}`, numbers]);
  const rows = states.length ? states : certificate.activation?.length ? [
    ["activation at the answer", certificate.activation]] : [];
  if (!rows.length) return null;
  const shown = rows.slice(0, 8);
  return el("dl", { class: "states" }, shown.map(([name, numbers]) => [
    el("dt", {}, name),
    el("dd", {},
      (Array.isArray(numbers) ? numbers.flat(Infinity) : [numbers]).slice(0, 64).map(
        (number) => el("span", {}, String(number).replace("-", "−"))),
      Array.isArray(numbers) && numbers.flat(Infinity).length > 64 ? " …" : null)]),
    rows.length > shown.length ? [
      el("dt", {}, "and"),
      el("dd", {}, `${rows.length - shown.length} layers more`)] : null);
}

export function certificatePart(certificate) {
  if (!certificate || !certificate.state) return null;
  const head = el("h3", {}, "Certificate");
  if (certificate.state === "none") return el("section", { class: "part" }, head,
    el("p", { class: "muted" }, certificate.reason || "None is owed here."));
  const differ = certificate.differ ?? [];
  return el("section", { class: "part" }, head,
    el("p", {},
      certificate.state === "verified" ? seal() : chip(certificate.state),
      " ",
      certificate.state === "verified" ? "Two inputs that this model cannot tell apart, although their answers differ." : certificate.reason),
    certificate.first?.length ? [sideBySide(certificate.first, certificate.second ?? [], differ, certificate.cut),
      el("div", { class: "equal" },
        icon("seal"),
        el("span", {},
          el("strong", {}, "Equal all the same: "),
          certificate.equal || "everything that the model keeps of the two beginnings")),
        equalNumbers(certificate), outcomeLines(certificate)] : null,
    facts([["label", certificate.label], ["kind", certificate.kind], ["block",
      certificate.block !== undefined && certificate.block !== null && `${certificate.block}; the query selects ${[certificate.selected].flat().join(", ")}`],
      ["found by", certificate.why || certificate.method], [
      "model",
      certificate.arch && el("code", {}, certificate.arch)], ["size", sizeText(certificate.size)],
      ["file", certificate.file && el("code", {}, certificate.file)], ["checked by",
        certificate.checker && [
          el("code", {}, certificate.checker.command),
          ` exit code ${certificate.checker.exit}${certificate.checker.said ? ` (${certificate.checker.said})` : ""}`,
          certificate.checker.seconds !== undefined ? `, ${short(certificate.checker.seconds, 2)} s` : ""]]]),
    commandLine(certificate.command));
}
