// Accuracy on Eva against n, with the information ceiling: how often a state of that many bits can be right at best.
import { commandsOf, grouped, mechanismOf, recordsOf, sizeOf } from "../records.js";
import { percent, short } from "../numbers.js";
import { line, noPoints } from "./chart.js";

const CEILING = "ceiling: ";

// One dashed line for every ceiling among the configurations: states that have the same share it.
function ceilings(data, configurations, largest) {
  const reasons = [
    ...new Set(
      configurations.map(({ ceiling_reason: reason }) => reason))].filter((reason) => data.ceilings?.[reason]);
  const curves = reasons.map((reason) => ({ reason, points: data.ceilings[reason].filter(([n]) => n <= largest) }));
  return [...grouped(curves, ({ points }) => JSON.stringify(points.map(([n, value]) => [n, value.toFixed(3)])))].map(([, [first, ...rest]]) => line(
    `${CEILING}${[first, ...rest].map(({ reason }) => reason).join("; ")}`,
    first.points.map(([x, y]) => ({ x, y })),
    5,
    { ...noPoints, pointStyle: "line", borderDash: [6, 4], borderWidth: 1.5 }));
}

export function accuracyFigure(data) {
  const records = recordsOf(data, "capacity",
    (configuration) => typeof configuration.accuracy === "number" && sizeOf(configuration));
  if (!records.length) return null;
  const panels = records.map(({ name, origin, configurations }) => {
    const series = [...grouped(configurations, mechanismOf)].map(([mechanism, group], tone) => line(mechanism,
      group.map((configuration) => ({
        x: sizeOf(configuration), y: configuration.accuracy, low: configuration.interval?.[0],
        high: configuration.interval?.[1],
      })).sort((a, b) => a.x - b.x), tone));
    const sets = [...series, ...ceilings(data, configurations, Math.max(...configurations.map(sizeOf)))];
    return { name, origin, chart: {
      x: {
        title: "n, entries of the table", log: true, base: 2,
      }, y: { title: "accuracy", min: 0, max: 1, percent: true }, sets,
      tooltip: (raw, set) => `${set.label}: n = ${short(raw.x)}, ${percent(raw.y)}`,
    } };
  });
  return {
    id: "accuracy", title: "Accuracy against n",
    say: "Remembering a table of n entries. A recurrent state of fixed size cannot be right more often than its ceiling (dashed), whatever its weights; full attention has no such ceiling.",
    note: "The ceiling is a theorem about the best weights with that state; the curves are what training found.",
    panels, columns: ["mechanism", "n", "accuracy", "low", "high", "ceiling", "class", "record", "size"],
    rows: records.flatMap(({ origin, size, configurations }) => configurations.map(
      (c) => [
        mechanismOf(c),
        sizeOf(c),
        c.accuracy,
        c.interval?.[0],
        c.interval?.[1],
        c.ceiling,
        c.label,
        origin,
        size])),
    commands: commandsOf(records),
  };
}
