// The members of the store: one row a configuration, its curves on demand.
import { el } from "./dom.js";
import { drawChart, line, noPoints } from "./figures/chart.js";
import { csv } from "./csv.js";
import { percent, short, sizeText } from "./numbers.js";
import { grouped } from "./records.js";

const CURVES = 40; // of one configuration in a drawing
const ROWS = 40; // configurations shown at once

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

function groupRow(members) {
  const [first] = members, name = [first.task, sizeText(first.size), first.asked, first.arch].filter(Boolean).join(" "), accuracies = members.map((member) => member.accuracy).filter(
    (value) => typeof value === "number");
  const curves = members.filter((member) => member.curve?.length > 1);
  const byState = [...grouped(members, (member) => member.state)];
  const states = byState.length === 1 ? byState[0][0] : byState.map(([state, list]) => `${list.length} ${state}`).join(", ");
  const details = el("tr", { class: "run-curves", hidden: true }, el("td", { colspan: 7 }));
  let finish = null;
  const open = el("button", { type: "button", class: "quiet small", "aria-expanded": "false", onclick: () => {
    details.hidden = !details.hidden;
    open.setAttribute("aria-expanded", String(!details.hidden));
    if (details.hidden) { finish?.(); finish = null; return; }
    const box = el("div", { class: "chart small" });
    details.firstChild.replaceChildren(box);
    finish = drawChart(box, { label: `Training curves of ${name}`, legend: false, x: { title: "training step" }, y: {
      title: "accuracy", min: 0, max: 1, percent: true,
    }, tooltip: (raw, set) => `${set.label}: step ${short(raw.x)}, ${percent(raw.y)}`,
      sets: curves.slice(0, CURVES).map((member, i) => line(`seed ${member.seed ?? "?"}`,
        member.curve.map(([x, y]) => ({ x, y })),
        i,
        { ...noPoints, borderWidth: 1.25 })) });
  } }, "curves");
  return [el("tr", {}, el("td", {}, first.task ?? "–"), el("td", {}, sizeText(first.size)), el("td", {}, first.asked || "–"), el("td", {}, el("code", {}, first.arch ?? "–")), el(
    "td",
    { class: "right" },
    short(members.length),
    el("span", { class: "muted" }, ` ${states}`)),
    el("td", { class: "right" },
      accuracies.length ? [
        percent(median(accuracies)),
        el("span", { class: "muted" }, `, best ${percent(Math.max(...accuracies))}`)] : "–"),
      el("td", {}, curves.length ? open : null)), details];
}

export function runsSection(runs) {
  const members = runs.members ?? [];
  // Only what differs in nothing but seed, rate, decay and scale stands in one row.
  const groups = [...grouped(members, (member) => member.setting)];
  const body = el("tbody");
  let shown = 0;
  const more = el("button", { type: "button", class: "quiet", onclick: () => add() });
  const add = () => {
    for (const [, list] of groups.slice(shown, shown + ROWS)) body.append(...groupRow(list));
    shown = Math.min(groups.length, shown + ROWS);
    more.hidden = shown >= groups.length;
    more.textContent = `Show more (${shown} of ${groups.length})`;
  };
  add();
  const columns = ["id", "run", "state", "task", "size", "asked", "arch", "label", "seed", "rate", "accuracy", "loss"];
  const link = el("a", { class: "csv", download: "runs.csv", href: "#" }, "CSV");
  // Made when it is asked for: a thousand rows need not be in the page twice.
  link.addEventListener("click",
    () => (
      link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv(columns, members.map((member) => columns.map((name) => (name === "size" ? sizeText(member.size) : member[name])))))}`));
  return el("div", { class: "runs" }, el("p", { class: "muted" },
    `${short(runs.total)} trained models in ${runs.store}, in ${short(groups.length)} configurations.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
      el("table", { class: "data" },
        el("thead", {},
          el("tr", {},
            ["task", "size", "options", "architecture", "members", "accuracy (median)",
              ""].map((name) => el("th", { scope: "col" }, name)))),
        body)), el("div", { class: "figure-foot" }, more, link));
}
