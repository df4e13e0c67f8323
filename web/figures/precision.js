// The smallest number of bits p at which one full layer looks an entry up among n.
import { originName } from "../records.js";
import { short } from "../numbers.js";
import { line } from "./chart.js";

export function precisionFigure(data) {
  const proved = (data.precision?.rows ?? []).map(({ n, p }) => ({ x: n, y: p }));
  const sweeps = (data.sweeps ?? []).filter(
    (sweep) => sweep.name === "eva" && (sweep.rows ?? []).some((row) => row.n && row.p_measured));
  if (!proved.length) return null;
  const rows = proved.map(({ x, y }) => ["proved enough", x, y, "theorem"]);
  const sets = [line("proved enough (lemma)", proved, 0, { stepped: "before", pointRadius: 0, pointHitRadius: 8 })];
  sweeps.forEach((sweep, i) => {
    const measured = sweep.rows.filter((row) => row.p_measured).map((row) => ({ x: row.n, y: row.p_measured }));
    sets.push(line(`smallest that passed, ${originName(sweep)}`, measured, 1 + i, { showLine: false }));
    for (const row of sweep.rows.filter((entry) => entry.p_measured)) rows.push(
      ["smallest that passed", row.n, row.p_measured, originName(sweep)]);
  });
  const built = (data.hierarchy?.cells ?? []).filter(
    (cell) => cell.column === "eva" && cell.row === "full" && cell.construction?.precision_smallest && cell.construction?.size?.n);
  if (built.length) sets.push(line("in the table above",
    built.map(({ construction }) => ({ x: construction.size.n, y: construction.precision_smallest })),
    4,
    { showLine: false }));
  for (const { construction } of built) rows.push(
    ["in the table", construction.size.n, construction.precision_smallest, "hierarchy"]);
  return {
    id: "precision", title: "Smallest precision against n", say: "One full layer finds one entry among n with remarkably few bits a number: they grow like log log n, because distinct addresses are mostly far apart.",
    chart: {
      x: { title: "n, entries of the table", log: true, base: 2 },
      y: { title: "bits p", min: 0, suggestedMax: 6, whole: true }, sets,
      tooltip: (raw, set) => `${set.label}: n = ${short(raw.x)}, p = ${raw.y}`,
    },
    columns: ["what", "n", "p", "record"], rows, commands: sweeps.length ? [
      ...new Set(
        sweeps.map((sweep) => sweep.command ?? "rung build eva --sweep n=2..1024 --json"))] : ["rung build eva --sweep n=2..1024 --json"],
  };
}
