// What training found: the curves of the seeds with their spread, and the ceiling that no model of this size can pass.
import { commandLine, dataTable, el, facts } from "../dom.js";
import { drawChart, line, noPoints } from "../figures/chart.js";
import { percent, sizeText } from "../numbers.js";
import { meaningOf } from "../verdicts.js";

const BELOW = "lowest"; // the lower edge of the band: drawn, not named

// Mean, lowest and highest of the seeds at every step; a seed that stopped early keeps its last value.
function spread(curves) {
  const steps = [...new Set(curves.flatMap((curve) => curve.map(([step]) => step)))].sort((a, b) => a - b);
  const at = (curve, step) => {
    const reached = curve.filter(([own]) => own <= step);
    return (reached.length ? reached[reached.length - 1] : curve[0])[1];
  };
  return steps.map((step) => {
    const values = curves.map((curve) => at(curve, step));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return { step, mean, low: Math.min(...values), high: Math.max(...values) };
  });
}

function curveSets(training, curves) {
  const points = spread(curves), ends = [points[0].step, points[points.length - 1].step];
  const sets = [line(
    curves.length > 1 ? "mean of the seeds" : "accuracy",
    points.map(({ step, mean }) => ({ x: step, y: mean })),
    0,
    noPoints)];
  // With one curve the interval of the last score is all that is known of the spread.
  const edges = curves.length > 1 ? points
    : typeof training.low === "number" ? ends.map((step) => ({ step, low: training.low, high: training.high })) : [];
  const edge = { ...noPoints, borderWidth: 0 };
  if (edges.length)
    sets.push(line(BELOW, edges.map(({ step, low }) => ({ x: step, y: low })), 0, edge),
      line(
        curves.length > 1 ? "lowest to highest seed" : "95 % interval of the score",
        edges.map(({ step, high }) => ({ x: step, y: high })),
        0,
        { ...edge, fill: "-1", faint: true }));
  if (typeof training.ceiling === "number" && training.ceiling < 1)
    sets.push(line("ceiling", ends.map((x) => ({ x, y: training.ceiling })), 1, { ...noPoints, borderDash: [6, 4] }));
  return sets;
}

const recordText = (record) => (
  record && typeof record === "object" ? (record.file ?? JSON.stringify(record)) : record);

// The same row with smaller and larger states, as shipped records have it.
function byState(further) {
  if (!further?.length) return null;
  return [el("p", {}, "By the size of the state (shipped records):"),
    dataTable(["record", "architecture", "size", "class", "accuracy", "ceiling"], further.map((one) => [one.record?.configuration,
      one.arch, sizeText(one.size), one.label, percent(one.accuracy), typeof one.ceiling === "number" ? percent(one.ceiling) : null]),
    "Accuracy by the size of the state")];
}

export function trainingPart(training, closing, further) {
  if (!training || !training.state) return null;
  const head = el("h3", {}, "Training");
  if (training.state === "none") return el("section", { class: "part" }, head,
    el("p", { class: "muted" }, training.reason || "Nothing was trained here."), byState(further));
  const curves = (
    training.curves?.length ? training.curves : [training.curve ?? []]).filter((curve) => curve.length > 1);
  const box = el("div", { class: "chart small" });
  if (curves.length)
    closing.push(drawChart(box, {
      label: "Accuracy against training steps", x: { title: "training step" }, y: {
        title: "accuracy", min: 0, max: 1, percent: true,
      },
      sets: curveSets(training, curves), legendFilter: (name) => name !== BELOW,
    }));
  const interval = typeof training.low === "number" ? ` (${percent(training.low)} to ${percent(training.high)}, ${training.seeds} seeds)` : training.seeds ? ` over ${training.seeds} seeds` : "";
  return el("section", { class: "part" }, head,
    el("p", {},
      el("strong", { class: "figure-number" }, percent(training.accuracy)),
      interval,
      training.state === "shipped" ? el("span", { class: "shipped" }, "shipped record") : null),
    curves.length ? box : null,
    facts([["architecture", training.arch && el("code", {}, training.arch)], ["size", sizeText(training.size)],
      ["class", training.label && `${training.label}, ${meaningOf("label", training.label)}`], ["because", training.label_reason],
      ["ceiling",
        typeof training.ceiling === "number" ? [
          percent(training.ceiling),
          training.ceiling_reason ? `: ${training.ceiling_reason}` : ""] : null],
      ["record",
        recordText(training.record) && el("code", {}, recordText(training.record))], ["note", training.reason]]),
    byState(further), commandLine(training.command));
}
