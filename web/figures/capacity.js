// Bits that a trained recurrence provably kept, for each element of its state.
import { commandsOf, configurationsOf, grouped, mechanismOf } from "../records.js";
import { short } from "../numbers.js";
import { line } from "./chart.js";

export function capacityFigure(data) {
  const entries = configurationsOf(data, "capacity").filter(
    ({ configuration }) => typeof configuration.capacity?.bits_per_element === "number");
  if (!entries.length) return null;
  const rows = [], sets = [];
  const origins = new Set(entries.map(({ origin }) => origin));
  let tone = 0;
  for (const [name, group] of grouped(entries,
    ({ origin, configuration }) => `${mechanismOf(configuration)}${origins.size > 1 ? ` (${origin})` : ""}`)) {
    sets.push(line(name,
      group.map(
        ({ configuration: { capacity } }) => ({ x: capacity.n, y: capacity.bits_per_element })).sort((a, b) => a.x - b.x),
      tone++,
      name.endsWith("(yours)") ? { borderDash: [2, 3] } : {}));
    for (const { configuration, origin, size } of group) rows.push([
      mechanismOf(configuration),
      configuration.capacity.n,
      configuration.capacity.elements,
      configuration.capacity.kept_bits,
      configuration.capacity.table_bits,
      configuration.capacity.bits_per_element,
      configuration.capacity.one_level ? "one level" : "state",
      origin,
      size]);
  }
  return {
    id: "capacity", title: "Bits kept for each number of the state", say: "The ceiling read backwards: an accuracy on n entries proves how many bits the state must have held. Trained models keep far fewer than the bits their numbers have.",
    chart: {
      x: { title: "n, entries of the table", log: true, base: 2 }, y: { title: "bits per state element", min: 0 },
      sets, tooltip: (raw, set) => `${set.label}: n = ${short(raw.x)}, ${short(raw.y, 2)} bits`,
    },
    columns: ["mechanism", "n", "elements", "kept bits", "table bits", "bits per element", "of", "record",
      "size"], rows, commands: commandsOf(entries),
  };
}
