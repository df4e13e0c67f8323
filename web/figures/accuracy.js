// Accuracy on Eva against n, with the information ceiling: how often a state of that many bits can be right at best.
import { commandsOf, configurationsOf, grouped, mechanismOf, sizeOf } from "../records.js";
import { percent, short } from "../numbers.js";
import { line } from "./chart.js";

export function accuracyFigure(data) {
  const entries = configurationsOf(data, "capacity").filter(
    ({ configuration }) => typeof configuration.accuracy === "number" && sizeOf(configuration));
  if (!entries.length) return null;
  const rows = [], sets = [];
  const origins = new Set(entries.map(({ origin }) => origin));
  let tone = 0;
  for (const [name, group] of grouped(entries,
    ({ origin, configuration }) => `${mechanismOf(configuration)}${origins.size > 1 ? ` (${origin})` : ""}`)) {
    const points = group.map(({ configuration }) => ({
      x: sizeOf(configuration), y: configuration.accuracy, low: configuration.interval?.[0],
      high: configuration.interval?.[1], ceiling: configuration.ceiling,
    })).sort((a, b) => a.x - b.x);
    sets.push(line(name, points, tone, name.endsWith("(yours)") ? { borderDash: [2, 3] } : {}));
    const ceilings = points.filter((point) => typeof point.ceiling === "number" && point.ceiling < 1);
    if (ceilings.length) sets.push(line(`${name}, ceiling`,
      ceilings.map((point) => ({ x: point.x, y: point.ceiling })),
      tone,
      { borderDash: [6, 4], hollow: true, pointRadius: 3, borderWidth: 1.25 }));
    for (const { configuration, origin, size } of group) rows.push([
      mechanismOf(configuration),
      sizeOf(configuration),
      configuration.accuracy,
      configuration.interval?.[0],
      configuration.interval?.[1],
      configuration.ceiling,
      configuration.label,
      origin,
      size]);
    ++tone;
  }
  return {
    id: "accuracy", title: "Accuracy against n", say: "Remembering a table of n entries. A recurrent state of fixed size cannot be right more often than its ceiling (dashed), whatever its weights; full attention has no such ceiling.",
    chart: {
      x: { title: "n, entries of the table", log: true, base: 2 },
      y: { title: "accuracy", min: 0, max: 1, percent: true }, sets,
      legendFilter: (name) => !name.endsWith(", ceiling"),
      tooltip: (raw, set) => `${set.label}: n = ${short(raw.x)}, ${percent(raw.y)}`,
    },
    columns: ["mechanism", "n", "accuracy", "low", "high", "ceiling", "class", "record",
      "size"], rows, commands: commandsOf(entries),
  };
}
