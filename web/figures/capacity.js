// Bits that a trained recurrence kept at least, for each element of its state.
import { commandsOf, grouped, mechanismOf, recordsOf } from "../records.js";
import { short } from "../numbers.js";
import { line } from "./chart.js";

export function capacityFigure(data) {
  const records = recordsOf(data, "capacity",
    (configuration) => typeof configuration.capacity?.bits_per_element === "number");
  if (!records.length) return null;
  const panels = records.map(({ name, origin, configurations }) => ({ name, origin, chart: {
    x: { title: "n, entries of the table", log: true, base: 2 }, y: { title: "bits per state element, at least", min: 0 },
    sets: [...grouped(configurations, mechanismOf)].map(([mechanism, group], tone) => line(mechanism,
      group.map(({ capacity }) => ({ x: capacity.n, y: capacity.bits_per_element })).sort((a, b) => a.x - b.x),
      tone)),
    tooltip: (raw, set) => `${set.label}: n = ${short(raw.x)}, ${short(raw.y, 2)} bits`,
  } }));
  return {
    id: "capacity", title: "Bits kept for each number of the state",
    say: "The ceiling read backwards at a one-sided 95 % confidence bound of the accuracy over the seeds: bits that the state held at least, here for each of its numbers. What training reaches, not what the state could hold.",
    panels, columns: ["mechanism", "n", "elements", "kept bits", "table bits", "bits per element", "of", "record",
      "size"],
    rows: records.flatMap(({ origin, size, configurations }) => configurations.map((c) => [
      mechanismOf(c),
      c.capacity.n,
      c.capacity.elements,
      c.capacity.kept_bits,
      c.capacity.table_bits,
      c.capacity.bits_per_element,
      c.capacity.one_level ? "one level" : "state",
      origin,
      size])),
    commands: commandsOf(records),
  };
}
