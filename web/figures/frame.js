// What every figure has: a sentence on what to see, the drawing, its data as a table and as CSV, and the command that made it.
import { csv } from "../csv.js";
import { commandLine, dataTable, el } from "../dom.js";
import { short } from "../numbers.js";
import { token } from "../theme.js";
import { drawChart } from "./chart.js";

const MOST_ROWS = 500;

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

// A drawing, with the words that tell it from those beside it. Own records stand beside shipped ones.
function panelBox(figure, { name, origin, chart }, several) {
  const box = el("div", { class: "chart", style: { height: `${figure.height ?? 320}px` } });
  waiting.set(box,
    () => drawChart(box, { label: `${figure.title}. ${figure.say}${name ? ` ${name}.` : ""}`, ...chart }));
  nearby.observe(box);
  return el("div", { class: "panel-box" },
    several ? el("h4", {}, name, el("span", { class: "shipped" }, origin)) : null,
    box);
}

// Drawings of fewer points than a line takes say little: they stand below, folded.
const FEW = 2;
const pointsOf = ({ points, chart }) => points ?? Math.max(0, ...chart.sets.map((set) => set.data.length));
function folded(boxes, name) {
  if (!boxes.length) return null;
  const details = el("details", { class: "few" }, el("summary", {}, name), el("div", { class: "panels" }, boxes));
  details.addEventListener("toggle", () => details.open && details.querySelectorAll(".chart").forEach(drawNow));
  return details;
}

// All drawings of the figure side by side on the page's colour, as one picture.
function savePicture(figure, link) {
  const canvases = [...link.closest("figure").querySelectorAll("canvas[data-drawn]")].filter((canvas) => canvas.width);
  const sheet = document.createElement("canvas"), gap = 24;
  sheet.width = canvases.reduce((sum, canvas) => sum + canvas.width + gap, gap);
  sheet.height = Math.max(...canvases.map((canvas) => canvas.height)) + 2 * gap;
  const context = sheet.getContext("2d");
  context.fillStyle = token("--surface");
  context.fillRect(0, 0, sheet.width, sheet.height);
  let at = gap;
  for (const canvas of canvases) {
    context.drawImage(canvas, at, gap);
    at += canvas.width + gap;
  }
  link.href = sheet.toDataURL("image/png");
}

// The table is made when it is asked for.
function dataDetails(figure) {
  const details = el("details", { class: "figure-data" },
    el("summary", {}, `Data (${short(figure.rows.length)} rows)`));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const shown = figure.rows.slice(0, MOST_ROWS).map(
      (row) => row.map((value) => (typeof value === "number" ? short(value, 3) : value)));
    details.append(
      dataTable(figure.columns, shown, `Data of the figure ${figure.title}`),
      figure.rows.length > MOST_ROWS ? el("p", { class: "muted" },
        `The first ${MOST_ROWS} rows; the CSV has all.`) : "");
  });
  return details;
}

// figure: {id, title, say, note?, height?, wide?, panels: [{name, origin, chart}] or chart, columns, rows, commands: [text]}
export function figureFrame(figure) {
  const panels = figure.panels ?? [{ chart: figure.chart }], several = panels.length > 1;
  const full = several ? panels.filter((panel) => pointsOf(panel) > FEW) : panels, few = several ? panels.filter((panel) => pointsOf(panel) <= FEW) : [];
  const shown = full.length ? full : few, below = full.length ? few : [];
  const picture = el("a", { class: "png", download: `${figure.id}.png`, href: "#", onclick: () => savePicture(figure, picture) }, "PNG");
  return el("figure", { id: `figure-${figure.id}`, class: figure.wide || several ? "wide" : "" },
    el("figcaption", {}, el("h3", {}, figure.title), el("p", {}, figure.say)),
    el("div", { class: "panels" }, shown.map((panel) => panelBox(figure, panel, several))),
    folded(below.map((panel) => panelBox(figure, panel, several)), `${short(below.length)} more, of at most ${FEW} points a line`),
    figure.note ? el("p", { class: "muted note" }, figure.note) : null,
    el("div", { class: "figure-foot" },
      dataDetails(figure),
      el("a",
        {
          class: "csv", download: `${figure.id}.csv`,
          href: `data:text/csv;charset=utf-8,${encodeURIComponent(csv(figure.columns, figure.rows))}`,
        },
        "CSV"),
      picture,
      figure.commands.map(commandLine)));
}
