// What it costs to find two inputs with the same state.
import { commandsOf, configurationsOf, grouped } from "../records.js";
import { plural, short } from "../numbers.js";
import { line } from "./chart.js";

export function attackFigure(data) {
  const entries = configurationsOf(data, "attack").filter(({ configuration }) => configuration.costs?.length);
  if (!entries.length) return null;
  const points = entries.flatMap((entry) => entry.configuration.costs.map((cost) => ({ ...entry, cost })));
  const origins = new Set(entries.map(({ origin }) => origin));
  const sets = [], rows = [];
  let tone = 0;
  for (const [name, group] of grouped(points,
    (
      {
        configuration, cost, origin,
      }) => `${configuration.id}, ${plural(cost.layers, "layer")}${origins.size > 1 ? ` (${origin})` : ""}`)) {
    const found = group.filter(({ cost }) => cost.found && typeof cost.lg_evaluations === "number");
    if (found.length) sets.push(
      line(name,
        found.map(({ cost }) => ({ x: cost.bits, y: cost.lg_evaluations })).sort((a, b) => a.x - b.x),
        tone++));
    for (const { configuration, cost, origin, size } of group) rows.push([
      configuration.id,
      cost.layers,
      cost.bits,
      cost.lg_evaluations,
      cost.seconds,
      cost.found ? "yes" : "no",
      origin,
      size]);
  }
  if (!sets.length) return null;
  return {
    id: "attack", title: "Cost of a collision against bits and layers", say: "Every bit of state costs the attacker half a bit of work. Searching layer by layer makes depth nearly free: stacking layers adds bits, not resistance.",
    chart: {
      x: { title: "bits of state a layer", whole: true }, y: { title: "lg of the evaluations", min: 0 }, sets,
      tooltip: (raw, set) => `${set.label}: ${raw.x} bits, 2^${short(raw.y, 1)} evaluations`,
    },
    columns: ["method", "layers", "bits a layer", "lg evaluations", "seconds", "found", "record",
      "size"], rows, commands: commandsOf(entries),
  };
}
