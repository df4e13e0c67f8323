// What it costs to find two inputs with the same state.
import { commandsOf, grouped, recordsOf } from "../records.js";
import { plural, short } from "../numbers.js";
import { line } from "./chart.js";

const found = ({ cost }) => cost.found && typeof cost.lg_evaluations === "number";

function panel({ name, origin, configurations }) {
  const points = configurations.flatMap(({ id, costs }) => costs.map((cost) => ({ id, cost }))).filter(found);
  const sets = [...grouped(points, ({ id, cost }) => `${id}, ${plural(cost.layers, "layer")}`)].map(
    ([series, group], tone) => line(series,
      group.map(({ cost }) => ({ x: cost.bits, y: cost.lg_evaluations })).sort((a, b) => a.x - b.x),
      tone));
  return { name, origin, chart: {
    x: { title: "bits of state a layer", whole: true }, y: { title: "lg of the evaluations", min: 0 }, sets,
    tooltip: (raw, set) => `${set.label}: ${raw.x} bits, 2^${short(raw.y, 1)} evaluations`,
  } };
}

export function attackFigure(data) {
  const records = recordsOf(data, "attack", (configuration) => configuration.costs?.some((cost) => found({ cost })));
  if (!records.length) return null;
  return {
    id: "attack", title: "Cost of a collision against bits and layers",
    say: "A search that takes the model as a black box pays about half a bit of work for each bit of state, over all layers together. A search layer by layer pays for the bits of one layer and a factor for each further one: depth adds less resistance than bits.",
    panels: records.map(panel), columns: ["method", "layers", "bits a layer", "lg evaluations", "seconds", "found",
      "record",
      "size"],
    rows: records.flatMap(({ origin, size, configurations }) => configurations.flatMap(({ id, costs }) => costs.map(
      (cost) => [id,
        cost.layers,
        cost.bits,
        cost.lg_evaluations,
        cost.seconds,
        cost.found ? "yes" : "no",
        origin,
        size]))),
    commands: commandsOf(records),
  };
}
