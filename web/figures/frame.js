// What every figure has: a sentence on what to see, the drawing, its data as a table and as CSV, and the command that made it.
import { commandLine, dataTable, el } from "../dom.js";
import { short } from "../numbers.js";
import { drawChart } from "./chart.js";

const quoted = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
export const csv = (columns, rows) => [columns, ...rows].map(
  (row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";

// Draws when the figure comes near the window; printing draws what is left.
const waiting = new Map();
const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) drawNow(entry.target);
}, { rootMargin: "300px" });
function drawNow(box) {
  const draw = waiting.get(box);
  waiting.delete(box);
  nearby.unobserve(box);
  draw?.();
}
addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawNow));

// figure: {id, title, say, chart, height?, columns, rows, commands: [text], note?}
export function figureFrame(figure) {
  const box = el("div", { class: "chart", style: { height: `${figure.height ?? 320}px` } });
  const table = el("details", { class: "figure-data" },
    el("summary", {}, `Data (${short(figure.rows.length)} rows)`));
  table.addEventListener("toggle", () => {
    if (table.open && table.children.length === 1) table.append(
      dataTable(
        figure.columns,
        figure.rows.slice(0, 500).map(
          (row) => row.map((value) => (typeof value === "number" ? short(value, 3) : value))),
        `Data of the figure ${figure.title}`),
      figure.rows.length > 500 ? el("p", { class: "muted" }, "The first 500 rows; the CSV has all.") : "");
  });
  waiting.set(box, () => drawChart(box, { label: `${figure.title}. ${figure.say}`, ...figure.chart }));
  nearby.observe(box);
  return el("figure", { id: `figure-${figure.id}`, class: figure.wide ? "wide" : "" }, el("figcaption", {},
    el("h3", {}, figure.title),
    el("p", {}, figure.say)), box,
    figure.note ? el("p", { class: "muted note" }, figure.note) : null,
    el("div", { class: "figure-foot" }, table,
      el("a",
        {
          class: "csv", download: `${figure.id}.csv`,
          href: `data:text/csv;charset=utf-8,${encodeURIComponent(csv(figure.columns, figure.rows))}`,
        },
        "CSV"),
      figure.commands.map(commandLine)));
}
