// The evidence behind a cell, in a panel that has an address of its own (#evidence/ROW-COLUMN).
import { el, guarded } from "./dom.js";
import { sizeText } from "./numbers.js";
import { cellKey } from "./table.js";
import { theoremPart } from "./evidence/theorem.js";
import { constructionPart } from "./evidence/construction.js";
import { certificatePart } from "./evidence/certificate.js";
import { trainingPart } from "./evidence/training.js";

const PREFIX = "#evidence/";

// Every cell by its key, in reading order; highlights after the table.
export function evidenceIndex(hierarchy) {
  const index = new Map();
  const named = (list, id) => (list ?? []).find((entry) => entry.id === id);
  for (const row of hierarchy?.rows ?? [])
    for (const column of hierarchy?.columns ?? []) {
      const cell = (hierarchy.cells ?? []).find((entry) => entry.row === row.id && entry.column === column.id);
      if (cell) index.set(cellKey(cell), { cell, title: `${row.title} on ${column.title}`, row, column });
    }
  (hierarchy?.highlights ?? []).forEach((highlight, h) => (highlight.cells ?? []).forEach((cell, c) => {
    const column = named(hierarchy.columns, cell.column);
    index.set(
      highlightKey(h, c),
      { cell, title: cell.title ?? `${cell.arch} on ${column?.title ?? cell.task}`, column });
  }));
  return index;
}

export const highlightKey = (highlight, cell) => `highlight-${highlight + 1}-${cell + 1}`;

export function mountEvidence(dialog, index, theorems) {
  const keys = [...index.keys()];
  let opener = null, closing = [];

  const render = (key) => {
    const { cell, title, row, column } = index.get(key);
    const at = keys.indexOf(key);
    const step = (by, name, sign) => el("a",
      {
        class: "quiet", href: PREFIX + keys[(at + by + keys.length) % keys.length], "aria-label": `${name} cell`,
        title: `${name} cell`,
      },
      sign);
    closing.forEach((finish) => finish());
    closing = [];
    const parts = [
      () => theoremPart(cell.bound, theorems, cell.further_bounds),
      () => constructionPart(cell.construction),
      () => certificatePart(cell.certificate),
      () => trainingPart(cell.training, closing, cell.further_trainings)].map((make) => guarded(make, "part"));
    dialog.replaceChildren(
      el("div", { class: "panel-head" }, step(-1, "Previous", "←"), step(1, "Next", "→"), el("span",
        { class: "spacer" }),
        el("button", { type: "button", class: "quiet close", "aria-label": "Close", onclick: () => dialog.close() },
          "✕")),
      el("div", { class: "panel" }, el("h2", { id: "evidence-title", tabindex: "-1" }, title),
        el("p", { class: "subject" },
          el("code", {}, cell.arch ?? row?.arch),
          " on ",
          cell.task ?? column?.task,
          cell.size ? ` with ${sizeText(cell.size)}` : ""),
        cell.what || column?.what ? el("p", { class: "muted" }, cell.what ?? column.what) : null, parts));
    dialog.dispatchEvent(new Event("shown"));
  };

  const follow = () => {
    const key = decodeURIComponent(location.hash.slice(PREFIX.length));
    if (!location.hash.startsWith(PREFIX) || !index.has(key)) {
      if (dialog.open) dialog.close();
      return;
    }
    if (!dialog.open) {
      opener = document.activeElement;
      render(key);
      dialog.showModal();
    } else {
      render(key);
    }
    dialog.scrollTop = 0;
    dialog.querySelector("h2").focus({ preventScroll: true });
  };

  dialog.addEventListener("close", () => {
    if (location.hash.startsWith(PREFIX)) history.replaceState(null, "", "#");
    closing.forEach((finish) => finish());
    closing = [];
    (opener && opener !== document.body ? opener : null)?.focus?.({ preventScroll: true });
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest?.("[data-keeps-arrows]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = keys.indexOf(decodeURIComponent(location.hash.slice(PREFIX.length)));
    if (by && at >= 0) location.hash = PREFIX + keys[(at + by + keys.length) % keys.length];
  });
  addEventListener("hashchange", follow);
  follow();
}
