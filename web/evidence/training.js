// What training found: the curve, the interval over the seeds, and the ceiling that no model of this size can pass.
import { commandLine, el, facts } from "../dom.js";
import { drawChart, line, noPoints } from "../figures/chart.js";
import { percent } from "../numbers.js";

const LABELS = {
  C: "C, certified impossible: no training can reach 100 %",
  K: "K, constructible: weights exist, training may or may not find them", G: "G, gap: no theorem decides",
};

export function trainingPart(training, closing) {
  if (!training || !training.state) return null;
  const head = el("h3", {}, "Training");
  if (training.state === "none") return el("section", { class: "part" }, head,
    el("p", { class: "muted" }, training.reason || "Nothing was trained here."));
  const curve = training.curve ?? [];
  const box = el("div", { class: "chart small" });
  if (curve.length > 1) {
    const steps = [curve[0][0], curve[curve.length - 1][0]];
    const sets = [line("accuracy", curve.map(([x, y]) => ({ x, y })), 0, noPoints)];
    if (typeof training.ceiling === "number" && training.ceiling < 1) sets.push(
      line("ceiling", steps.map((x) => ({ x, y: training.ceiling })), 3, { ...noPoints, borderDash: [6, 4] }));
    if (typeof training.low === "number" && typeof training.high === "number")
      sets.push(
        line("interval, low",
          steps.map((x) => ({ x, y: training.low })),
          0,
          { ...noPoints, borderWidth: 0, hidden: false }),
        line("95 % interval over the seeds",
          steps.map((x) => ({ x, y: training.high })),
          0,
          { ...noPoints, borderWidth: 0, fill: "-1", faint: true }));
    closing.push(drawChart(box,
      {
        label: "Accuracy against training steps", x: { title: "training step" },
        y: { title: "accuracy", min: 0, max: 1, percent: true }, sets,
        legendFilter: (name) => name !== "interval, low",
      }));
  }
  return el("section", { class: "part" }, head,
    el("p", {},
      el("strong", { class: "figure-number" }, percent(training.accuracy)),
      typeof training.low === "number" ? ` (${percent(training.low)} to ${percent(training.high)} over ${training.seeds} seeds)` : training.seeds ? ` over ${training.seeds} seeds` : "",
      training.state === "shipped" ? el("span", { class: "shipped" }, "shipped record") : null),
    curve.length > 1 ? box : null,
    facts([
      ["class", LABELS[training.label] ?? training.label],
      ["ceiling", typeof training.ceiling === "number" ? percent(training.ceiling) : null],
      ["record", training.record && el("code", {}, training.record)],
      ["note", training.reason]]),
    commandLine(training.command));
}
