// Any sweep of the store: x, y, colour and panel are chosen from what the records differ in. A point is the members of one setting;
// members of different settings are never put together, and a line is settings that differ in x alone.
import { chosenAt, keepChoice } from "../address.js";
import { el } from "../dom.js";
import { short } from "../numbers.js";
import { grouped } from "../records.js";
import { line, noPoints } from "./chart.js";
import { figureFrame } from "./frame.js";

const PLACE = "figure-sweep";
const MEASURED = ["accuracy", "loss", "steps_done", "rate"];
const NAMES = ["configuration", "model"]; // mostly they repeat what the other fields say
const PANELS = 12;

const isNumber = (value) => typeof value === "number";
const fieldOf = (member, name) => member.fields?.[name] ?? member[name];
const named = (name, value) => (isNumber(value) || typeof value === "boolean" ? `${name.split(".").pop()}=${value}` : String(value ?? `${name.split(".").pop()}=–`));

// Of the members of one setting at one x.
function pointOf(members, x, y) {
  const values = members.map((member) => member[y]), ceilings = members.map((member) => member.ceiling).filter(isNumber);
  return {
    x, y: values.reduce((sum, value) => sum + value, 0) / values.length, count: values.length,
    low: values.length > 1 ? Math.min(...values) : undefined, high: values.length > 1 ? Math.max(...values) : undefined,
    ceiling: ceilings.length ? Math.min(...ceilings) : undefined, label: members[0].label,
  };
}

// Lines of a panel: [{name, colour, points}].
function linesOf(members, fields, { x, y, series }) {
  const derived = x === "layers" ? ["arch"] : ["layers", "mixers"];
  const others = fields.filter((name) => name !== x && name !== series && !NAMES.includes(name) && !derived.includes(name));
  const lines = new Map();
  const key = (member) => JSON.stringify([...(series ? [series] : []), ...others].map((name) => fieldOf(member, name) ?? null));
  for (const [name, list] of grouped(members, key)) {
    const differing = others.filter((field) => new Set(members.map((member) => JSON.stringify(fieldOf(member, field)))).size > 1);
    const label = [...(series ? [series] : []), ...differing].map((field) => named(field, fieldOf(list[0], field))).join(", ") || y;
    // Settings that meet at one x, such as two files of one architecture, are lines of their own.
    for (const [at, group] of [...grouped(list, (member) => JSON.stringify([fieldOf(member, x), member.setting]))].sort(
      ([, a], [, b]) => fieldOf(a[0], x) - fieldOf(b[0], x))) {
      const point = pointOf(group, fieldOf(group[0], x), y);
      for (let number = 1; ; ++number) {
        const where = `${name}#${number}`;
        if (!lines.has(where)) lines.set(where, { name: number > 1 ? `${label} (${number})` : label, colour: series ? String(fieldOf(list[0], series)) : name, points: [] });
        const { points } = lines.get(where);
        if (points.length && points[points.length - 1].x === point.x) continue;
        points.push(point);
        break;
      }
      void at;
    }
  }
  return [...lines.values()];
}

function panelOf(name, members, fields, choice, colours) {
  const lines = linesOf(members, fields, choice);
  const xs = members.map((member) => fieldOf(member, choice.x)), doubling = Math.min(...xs) > 0 && Math.max(...xs) >= 4 * Math.min(...xs);
  const seen = new Map();
  const sets = lines.map(({ name: label, colour, points }) => {
    if (!colours.has(colour)) colours.set(colour, colours.size);
    const twin = seen.get(colour) ?? 0;
    seen.set(colour, twin + 1);
    return line(label, points, colours.get(colour), twin ? { borderDash: [2 + 2 * twin, 3] } : {});
  });
  // One dashed line for every ceiling, however many lines have it.
  const ceilings = grouped(lines.map(({ name: label, points }) => ({ label, points: points.filter(({ ceiling }) => ceiling < 1) }))
    .filter(({ points }) => points.length > 1), ({ points }) => JSON.stringify(points.map(({ x, ceiling }) => [x, ceiling])));
  if (choice.y === "accuracy") for (const [, [first, ...rest]] of ceilings) sets.push(line(
    `ceiling: ${rest.length ? `${first.label} and ${short(rest.length)} more` : first.label}`,
    first.points.map(({ x, ceiling }) => ({ x, y: ceiling })), 5, { ...noPoints, pointStyle: "line", borderDash: [6, 4], borderWidth: 1.5 }));
  return { name, origin: "yours", points: lines.reduce((sum, { points }) => Math.max(sum, points.length), 0), chart: {
    x: { title: choice.x, ...(doubling ? { log: true, base: 2 } : {}) },
    y: choice.y === "accuracy" ? { title: "accuracy", min: 0, max: 1, percent: true } : { title: choice.y },
    sets, tooltip: (raw, set) => `${set.label}: ${choice.x} = ${short(raw.x, 3)}, ${short(raw.y, 3)}${raw.count > 1 ? ` (${raw.count} members, ${short(raw.low, 3)} to ${short(raw.high, 3)})` : ""}${raw.label ? `, ${raw.label}` : ""}`,
  } };
}

export function sweepSection(runs) {
  const members = (runs.members ?? []).filter((member) => MEASURED.some((name) => isNumber(member[name])));
  const fields = [...new Set(members.flatMap((member) => Object.keys(member.fields ?? {})))];
  const numbers = fields.filter((name) => members.some((member) => isNumber(fieldOf(member, name))));
  const ys = MEASURED.filter((name) => members.some((member) => isNumber(member[name])));
  if (!ys.length || !(numbers.length + ys.length > 1)) return null;
  const xs = [...numbers.filter((name) => name.startsWith("size.")), ...numbers.filter((name) => !name.startsWith("size.")),
    ...(ys.includes("rate") ? ["rate"] : [])];
  if (!xs.length) return null;
  const linked = chosenAt(PLACE), among = (value, list, usual) => (list.includes(value) ? value : usual);
  const choice = {
    x: among(linked.x, xs, xs[0]), y: among(linked.y, ys, ys[0]),
    series: among(linked.series, fields, fields.includes("arch") ? "arch" : ""), panel: among(linked.panel, fields, ""),
  };
  const slot = el("div", {});
  const draw = () => {
    const colours = new Map(), all = members.filter((member) => isNumber(fieldOf(member, choice.x)) && isNumber(member[choice.y]));
    const parts = [...grouped(all, (member) => JSON.stringify(choice.panel ? fieldOf(member, choice.panel) ?? null : null))];
    const rest = fields.filter((name) => name !== choice.panel);
    const panels = parts.slice(0, PANELS).map(([, list]) => panelOf(choice.panel ? named(choice.panel, fieldOf(list[0], choice.panel)) : "", list, rest, choice, colours));
    const rows = parts.flatMap(([, list]) => linesOf(list, rest, choice).flatMap(({ name, points }) => points.map((point) => [
      choice.panel ? fieldOf(list[0], choice.panel) : "", name, point.x, point.y, point.low ?? point.y, point.high ?? point.y, point.count, point.ceiling, point.label])));
    slot.replaceChildren(panels.length ? figureFrame({
      id: "sweep", title: `${choice.y} against ${choice.x}`,
      say: "Your own records. A point is the members of one setting, its bar their spread; records that differ in anything else are never put together.",
      note: parts.length > PANELS ? `The first ${PANELS} of ${short(parts.length)} panels; the CSV has all.` : null,
      panels, columns: [choice.panel || "panel", "series", choice.x, choice.y, "least", "largest", "members", "ceiling", "class"], rows,
      commands: [`rung runs plot --kind member --x ${choice.x} --y ${choice.y}${choice.panel ? ` --panel ${choice.panel}` : ""} --out sweep.svg`],
    }) : el("p", { class: "empty" }, "No record has both."));
  };
  const select = (name, list, empty) => {
    const box = el("select", { id: `sweep-${name}`, onchange: () => { choice[name] = box.value; keepChoice(PLACE, choice); draw(); } },
      [...(empty ? [""] : []), ...list].map((value) => el("option", { value, selected: value === choice[name] }, value || "–")));
    return el("div", { class: "field" }, el("label", { for: box.id }, name === "series" ? "colour" : name), box);
  };
  draw();
  return el("div", { class: "store-sweep" },
    el("div", { class: "sweep-choices", role: "group", "aria-label": "What the figure shows" },
      select("x", xs), select("y", ys), select("series", fields, true), select("panel", fields, true)),
    slot);
}
