// How well each pattern of full (F) and recurrent (R) layers composes L functions.
import { commandsOf, grouped, recordsOf } from "../records.js";
import { percent } from "../numbers.js";
import { dots } from "./chart.js";

// "L2-certified-FR" -> {L: 2, pattern: "FR*"}; "L2-separated-FR" -> {L: 2, pattern: "FR"}
function readId(id) {
  const read = /^L(\d+)-(certified-|separated-)?(.+)$/.exec(id);
  return read && { L: Number(read[1]), pattern: read[3] + (read[2] === "certified-" ? "*" : "") };
}
const letters = (pattern) => pattern.replace("*", "").length;

function panel({ name, origin, configurations }) {
  const entries = configurations.map((configuration) => ({ configuration, ...readId(configuration.id) }));
  const patterns = [...new Set(entries.map(({ pattern }) => pattern))].sort(
    (a, b) => letters(a) - letters(b) || a.localeCompare(b));
  const groups = [...grouped(entries, ({ L }) => L)].sort(([a], [b]) => a - b);
  // Marks of one pattern side by side.
  const shift = (tone) => (groups.length > 1 ? (tone / (groups.length - 1) - 0.5) * 0.4 : 0);
  const sets = groups.map(([L, group], tone) => dots(`L = ${L}`, group.map(({ pattern, configuration }) => ({
    x: patterns.indexOf(pattern) + shift(tone), y: configuration.accuracy, low: configuration.interval?.[0], high: configuration.interval?.[1], pattern,
  })), tone));
  return { name, origin, chart: {
    x: {
      names: patterns, min: -0.5, max: patterns.length - 0.5,
    }, y: { title: "accuracy", min: 0, max: 1, percent: true }, sets,
    tooltip: (raw, set) => `${raw.pattern}, ${set.label}: ${percent(raw.y)}`,
  } };
}

export function depthFigure(data) {
  const records = recordsOf(data, "depth",
    (configuration) => readId(configuration.id) && typeof configuration.accuracy === "number");
  if (!records.length) return null;
  return {
    id: "depth", title: "Depth against the number of functions composed",
    say: "F is a full layer, R a recurrent one. Composing L functions takes L + 1 full layers, or L with a recurrence before the second.",
    note: "A star marks few-bit models at a size where a theorem says that no weights do it. Everything else is training: a low accuracy shows that a model was not found, not that none exists; and at these sizes a pattern with too few layers may still do much of the task.",
    panels: records.map(panel), columns: ["pattern", "L", "accuracy", "low", "high", "class", "record", "size"],
    rows: records.flatMap(({ origin, size, configurations }) => configurations.map(
      (c) => [
        readId(c.id).pattern,
        readId(c.id).L,
        c.accuracy,
        c.interval?.[0],
        c.interval?.[1],
        c.label,
        origin,
        size])),
    commands: commandsOf(records),
  };
}
