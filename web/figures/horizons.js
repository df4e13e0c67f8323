// Released models on a log axis: the context from which a task is certified impossible, beside the context they are used with.
import { short } from "../numbers.js";
import { dots } from "./chart.js";

const TASKS = [["eva", "remember a table (Eva)"], ["two-sum", "2-Sum"], ["seqcomp", "compose two functions"]];
const SPREAD = 0.17; // of a row: marks of one model that fall together are drawn one above the other
const FARTHEST = 1e18; // beyond this a number of tokens says nothing

export function horizonRows(data) {
  return (data.horizons ?? []).flatMap((model) => {
    const rows = (model.tasks ?? []).map((entry) => ({
      model, task: entry.task, verdict: entry.verdict, theorem: entry.theorem, status: entry.status,
      tokens: entry.horizon,
    }));
    // With f full layers the first depth that a theorem rules out is f + 1 functions, where the record does not say.
    const by = model.composition?.certified, L = by?.L ?? model.full + 1;
    if (by && typeof by.tokens === "number" && L > 2)
      rows.push({
        model, task: `compose ${L} functions`, verdict: model.composition.impossible ? "impossible" : "vacuous",
        theorem: by.theorem, status: by.status, tokens: by.tokens,
      });
    return rows;
  });
}

// What no axis can show.
function beyond(rows) {
  const far = rows.filter(({ tokens }) => typeof tokens === "number" && tokens > FARTHEST);
  if (!far.length) return null;
  const list = far.map(({ model, task, tokens }) => `${model.model} (${task}) from ${short(tokens)} tokens on`);
  return `Beyond the axis: ${list.join("; ")}.`;
}

export function horizonFigure(data) {
  const all = horizonRows(data);
  const drawn = all.filter(({ tokens }) => typeof tokens === "number" && tokens <= FARTHEST);
  if (!drawn.length) return null;
  const lowest = new Map();
  for (const { model, tokens } of drawn) lowest.set(model, Math.min(tokens, lowest.get(model) ?? Infinity));
  const models = [...lowest.keys()].sort((a, b) => lowest.get(a) - lowest.get(b));
  const names = models.map((model) => model.model);
  const marks = [...drawn.map(({ tokens }) => tokens), ...models.map((model) => model.context).filter(Boolean)];
  const smallest = Math.min(...marks), largest = Math.max(...marks);
  const place = (model) => models.indexOf(model);
  const sets = [dots("its own context",
    models.filter((model) => model.context).map(
      (model) => ({ x: model.context, y: place(model), model: model.model })),
    0,
    { pointStyle: "line", rotation: 90, pointRadius: 8, borderWidth: 3 })];
  TASKS.forEach(([task, title], i) => {
    const points = drawn.filter((row) => row.task === task).map(
      (row) => (
        { x: row.tokens, y: place(row.model) + (i - 1) * SPREAD, model: row.model.model, verdict: row.verdict }));
    if (points.length) sets.push(dots(title, points, i + 1));
  });
  const deeper = drawn.filter((row) => row.task.startsWith("compose "));
  if (deeper.length) sets.push(dots("compose more functions",
    deeper.map((row) => ({ x: row.tokens, y: place(row.model), model: row.model.model, task: row.task })),
    4));
  return {
    id: "horizons", wide: true, title: "Horizons of released models", say: "From how many tokens on a task is certified impossible, whatever the weights. The bar is the context that the model is used with.",
    note: beyond(all),
    height: 90 + 30 * models.length,
    chart: {
      x: {
        title: "tokens", log: true, min: 10 ** Math.floor(Math.log10(smallest)),
        max: 10 ** Math.ceil(Math.log10(largest)),
      }, y: { names, min: -0.6, max: names.length - 0.4, reverse: true }, sets,
      tooltip: (raw, set) => `${raw.model}, ${raw.task ?? set.label}: ${short(raw.x)} tokens`,
    },
    columns: ["model", "layers", "full layers", "state bits", "context", "task", "verdict", "from tokens",
      "theorem",
      "status"],
    rows: all.map(({ model, task, verdict, theorem, status, tokens }) => [
      model.model,
      model.layers,
      model.full,
      model.state_bits,
      model.context,
      task,
      verdict,
      tokens,
      theorem,
      status]),
    commands: ["rung bound config.json --assume-exact"],
  };
}
