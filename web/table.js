// The hierarchy's table: every cell a button that opens its evidence.
import { el } from "./dom.js";
import { sizeText, short } from "./numbers.js";
import { boundWord, chip, comparison, constructionLine, icon, meaningOf, seal, trainingLine, wordsOf } from "./verdicts.js";

export const cellKey = (cell) => `${cell.row}-${cell.column}`;

function line(name, value, mark) {
  return el("span", { class: "line" },
    el("span", { class: "name" }, name),
    el("span", { class: `value ${mark ?? ""}` }, value));
}

// What a cell shows at a glance. `key` is its place in the address.
export function cellButton(cell, key, label) {
  if (cell.state === "pending" || cell.state === "stopped")
    return el("a",
      { class: "cell waiting", href: `#evidence/${key}`, "aria-label": `${label}: ${cell.state}` },
      chip(cell.state),
      el("span", { class: "note" }, cell.state === "stopped" ? "stopped before it was done" : "not run yet"));
  const bound = cell.bound ?? {};
  const built = constructionLine(cell.construction, bound);
  const trained = trainingLine(cell.training, cell.size);
  const broken = cell.certificate?.state;
  const words = [
    boundWord(bound),
    comparison(bound),
    built && `built ${built.text}`,
    broken === "verified" && "broken, verified",
    trained && `trained ${trained.text}`].filter(Boolean).join(", ");
  return el("a", {
    class: `cell ${bound.state ?? "none"}`, href: `#evidence/${key}`,
    "aria-label": `${label}: ${words}. Open the evidence`,
  },
    el("span", { class: "head" },
      chip(bound.state ?? "none", boundWord(bound)),
      comparison(bound) && el("span", { class: "count" }, comparison(bound))),
    built && line("built", built.text, built.word === "verified" ? "yes" : "no"),
    broken === "verified" && line("broken",
      [cell.certificate.brief ? `${cell.certificate.brief}, ` : "", icon("seal"), " verified"],
      "seal"),
    (broken === "unverified" || broken === "refuted") && line("broken", broken),
    trained && line("trained",
      [
        trained.text,
        trained.shipped && el("span", { class: "shipped", title: "a record that came with the program" }, "shipped")]));
}

function legend() {
  return el("ul", { class: "legend" },
    wordsOf("bound").map((word) => el("li", {}, chip(word), ` ${meaningOf("bound", word)}`)),
    el("li", {}, seal(), " two inputs that a concrete model confuses, checked by a separate program"));
}

export function hierarchyTable(hierarchy) {
  const cells = new Map((hierarchy.cells ?? []).map((cell) => [cellKey(cell), cell]));
  const columns = hierarchy.columns ?? [];
  const head = el("tr", {}, el("td", {}), columns.map((column) => el("th", { scope: "col" }, el("span",
    { class: "title" },
    column.title),
    el("span", { class: "what" }, column.what), el("span", { class: "sizes" },
      sizeText(column.size),
      column.prompt_tokens ? `; ${short(column.prompt_tokens)} tokens` : ""))));
  const rows = (hierarchy.rows ?? []).map((row) => el("tr", {},
    el("th", { scope: "row" },
      el("span", { class: "title" }, row.title),
      el("span", { class: "what" }, row.what),
      row.arch && el("code", {}, row.arch)),
    columns.map((column) => {
      const cell = cells.get(`${row.id}-${column.id}`);
      return el("td", { "data-column": column.title },
        cell ? cellButton(cell,
          cellKey(cell),
          `${row.title}, ${column.title}`) : el("span", { class: "cell none" }, "–"));
    })));
  return el("div", { class: "hierarchy" }, legend(), el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
}
