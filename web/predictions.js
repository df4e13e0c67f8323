// What the experiments predicted before they ran, and what came of it.
import { el } from "./dom.js";
import { originName } from "./records.js";
import { chip } from "./verdicts.js";

export function predictionsSection(data) {
  const entries = (data.lab ?? []).flatMap(
    (record) => (record.lab?.verdicts ?? []).map((verdict) => ({ record, verdict })));
  if (!entries.length) return null;
  return el("div", { class: "predictions" }, entries.map(({ record, verdict }) => el("details", {}, el("summary",
    {},
    chip(verdict.verdict),
    el("span", { class: "statement" }, verdict.statement),
    el("span", { class: "muted" }, `${record.lab.experiment}, ${verdict.scope}`),
    el("span", { class: "shipped" }, originName(record))),
    el("p", {}, verdict.reason), verdict.decides ? el("p", { class: "muted" }, "What would decide it: ",
      verdict.decides) : null)));
}
