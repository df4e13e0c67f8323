// How well each pattern of full (F) and recurrent (R) layers composes L functions.
import { commandsOf, configurationsOf, grouped } from "../records.js";
import { percent } from "../numbers.js";
import { dots } from "./chart.js";

const READ = /^L(\d+)-(certified-)?(.+)$/;

export function depthFigure(data) {
  const entries = configurationsOf(data, "depth").map((entry) => ({ ...entry, read: READ.exec(entry.configuration.id) })).filter(
    ({ read, configuration }) => read && typeof configuration.accuracy === "number")
    .map((entry) => ({
      ...entry, L: Number(entry.read[1]), pattern: entry.read[3] + (entry.read[2] ? "*" : ""),
      certified: Boolean(entry.read[2]),
    }));
  if (!entries.length) return null;
  const patterns = [...new Set(entries.map(({ pattern }) => pattern))].sort(
    (a, b) => a.replace("*", "").length - b.replace("*", "").length || a.localeCompare(b));
  const sets = [], rows = [];
  const origins = new Set(entries.map(({ origin }) => origin));
  const groups = grouped(entries, ({ L, origin }) => `L = ${L}${origins.size > 1 ? ` (${origin})` : ""}`);
  let tone = 0;
  for (const [name, group] of groups) {
    const shift = groups.size > 1 ? (tone / (groups.size - 1) - 0.5) * 0.3 : 0;
    sets.push(dots(name,
      group.map(({ pattern, configuration }) => ({
        x: patterns.indexOf(pattern) + shift, y: configuration.accuracy, low: configuration.interval?.[0],
        high: configuration.interval?.[1], pattern,
      })),
      tone++));
    for (const { L, pattern, configuration, origin, size } of group) rows.push([pattern, L,
      configuration.accuracy,
      configuration.interval?.[0],
      configuration.interval?.[1],
      configuration.label,
      origin,
      size]);
  }
  return {
    id: "depth", title: "Depth against the number of functions composed", say: "F is a full layer, R a recurrent one. Composing L functions takes L + 1 full layers, or L with a recurrence before the second.",
    note: "A star marks few-bit models at a size where a theorem says that no weights do it. Everything else is training: a low accuracy shows that a model was not found, not that none exists.",
    chart: {
      x: { names: patterns, min: -0.5, max: patterns.length - 0.5 },
      y: { title: "accuracy", min: 0, max: 1, percent: true }, sets,
      tooltip: (raw, set) => `${raw.pattern}, ${set.label}: ${percent(raw.y)}`,
    },
    columns: ["pattern", "L", "accuracy", "low", "high", "class", "record",
      "size"], rows, commands: commandsOf(entries),
  };
}
