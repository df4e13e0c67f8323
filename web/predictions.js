// What the experiments predicted before they ran, and what came of it, experiment by experiment.
import { el } from "./dom.js";
import { plural } from "./numbers.js";
import { grouped, originName } from "./records.js";
import { chip, meaningOf, wordsOf } from "./verdicts.js";

function counts(verdicts) {
  const byWord = grouped(verdicts, ({ verdict }) => verdict);
  return wordsOf("prediction").filter((word) => byWord.has(word)).map((word) => el("span", { title: meaningOf("prediction", word) },
    chip(word, `${byWord.get(word).length} ${word}`)));
}

// A statement with its verdict in every record.
function statement(entries) {
  const [{ verdict: first }] = entries;
  return el("li", {},
    el("p", {}, first.statement, el("span", { class: "muted" }, first.scope === "theorem" ? " A theorem." : " Empirical.")),
    el("dl", { class: "facts" }, entries.map(({ record, verdict }) => [
      el("dt", {}, record.lab.size, el("span", { class: "shipped" }, originName(record))),
      el("dd", {}, chip(verdict.verdict), " ", verdict.reason,
        verdict.decides ? el("span", { class: "muted" }, ` What would decide it: ${verdict.decides}`) : null)])));
}

function experiment(name, records) {
  const entries = records.flatMap((record) => (record.lab.verdicts ?? []).map((verdict) => ({ record, verdict })));
  return el("details", {},
    el("summary", {}, el("span", { class: "experiment" }, name), el("span", { class: "tests" }, records[0].lab.tests),
      el("span", { class: "counts" }, counts(entries.map(({ verdict }) => verdict)))),
    el("ul", {}, [...grouped(entries, ({ verdict }) => verdict.id)].map(([, list]) => statement(list))));
}

export function predictionsSection(data) {
  const records = (data.lab ?? []).filter((record) => record.lab?.verdicts?.length);
  if (!records.length) return null;
  const all = records.flatMap((record) => record.lab.verdicts);
  return el("div", { class: "predictions" },
    el("p", { class: "muted" }, `${plural(all.length, "verdict")} of ${plural(records.length, "record")}: `, counts(all)),
    [...grouped(records, (record) => record.lab.experiment)].map(([name, list]) => experiment(name, list)));
}
