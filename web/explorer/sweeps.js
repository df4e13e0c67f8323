// Sweeps that are running, from /api/runs: asked for every two seconds while the page is looked at.
import { el, svg } from "../dom.js";
import { drawChart, line, noPoints } from "../figures/chart.js";
import { percent, plural, short, sizeText } from "../numbers.js";
import { chip } from "../verdicts.js";

const EVERY = 2000; // ms
const QUIET = 120; // s without news after which a running member may be gone
const MEMBERS = 60; // rows of a run
const CURVES = 24; // lines of a chart

const seconds = (time, now) => (time ? (Date.parse(now) - Date.parse(time)) / 1000 : null);

function sparkline(curve) {
  if (curve.length < 2) return null;
  const last = curve[curve.length - 1][0] || 1;
  const points = curve.map(([step, accuracy]) => `${((60 * step) / last).toFixed(1)},${(15 - 14 * accuracy).toFixed(1)}`).join(" ");
  return svg("svg", { viewBox: "0 0 60 16", width: 60, height: 16, class: "spark", role: "img", "aria-label": `accuracy from ${percent(curve[0][1])} to ${percent(curve[curve.length - 1][1])}` }, svg("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }));
}

const share = (member) => (member.state === "done" ? 1 : member.steps ? Math.min(1, (member.step ?? 0) / member.steps) : 0);

function memberRow(member, now) {
  const quiet = member.state === "running" ? seconds(member.news, now) : null;
  return el("tr", {}, el("td", {}, member.member ?? "–"), el("td", {}, member.seed ?? "–"), el("td", {}, member.rate ?? "–"),
    el("td", {}, chip(member.state, member.state, { running: "pending", done: "yes" }[member.state]), quiet !== null && quiet > QUIET ? el("span", { class: "muted" }, ` no news for ${short(Math.round(quiet / 60))} min`) : null),
    el("td", {}, el("progress", { max: 1, value: share(member), "aria-label": `step ${member.step ?? 0} of ${member.steps ?? "?"}` }), el("span", { class: "muted" }, ` ${short(member.step ?? 0)} of ${short(member.steps)}`)),
    el("td", {}, percent(member.accuracy)), el("td", {}, sparkline(member.curve)));
}

class Run {
  constructor() {
    this.head = el("div", { class: "sweep-head" });
    this.chart = el("div", { class: "chart small" });
    this.rows = el("tbody");
    this.note = el("p", { class: "muted" });
    this.root = el("article", { class: "sweep" }, this.head, this.chart, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Members" },
      el("table", { class: "data" }, el("thead", {}, el("tr", {}, ["member", "seed", "rate", "state", "step", "accuracy", ""].map((name) => el("th", { scope: "col" }, name)))), this.rows)), this.note);
  }

  show(run, now) {
    const done = run.members.reduce((sum, member) => sum + share(member), 0), all = Math.max(1, run.members.length);
    this.head.replaceChildren(el("h3", {}, `${run.task ?? run.id} `, el("code", {}, run.arch ?? ""), " ", el("span", { class: "muted" }, sizeText(run.size))),
      el("p", {}, chip(run.state === "running" ? "pending" : run.state === "done" ? "held" : run.state, run.state), ` ${plural(run.count, "member")} on ${run.device || run.host}, ${percent(done / all)} of the steps`), el("progress", { max: 1, value: done / all, "aria-label": "All steps" }));
    this.rows.replaceChildren(...run.members.slice(0, MEMBERS).map((member) => memberRow(member, now)));
    this.note.textContent = run.count > MEMBERS ? `The first ${MEMBERS} of ${short(run.count)}; rung runs list has all.` : "";
    const curves = run.members.filter((member) => member.curve.length > 1).slice(0, CURVES);
    const key = JSON.stringify(curves.map((member) => member.curve.length));
    this.chart.hidden = curves.length === 0;
    if (key === this.key || !curves.length) return;
    this.key = key;
    this.finish?.();
    this.finish = drawChart(this.chart, { label: `Accuracy of ${run.arch ?? run.id} on ${run.task ?? "its task"}`, legend: false, x: { title: "training step" }, y: { title: "accuracy", min: 0, max: 1, percent: true },
      tooltip: (raw, set) => `${set.label}: step ${short(raw.x)}, ${percent(raw.y)}`, sets: curves.map((member, i) => line(`member ${member.member ?? i}`, member.curve.map(([x, y]) => ({ x, y })), i, { ...noPoints, borderWidth: 1.25 })) });
  }
}

export function mountSweeps(after) {
  const list = el("div", { class: "sweeps" });
  const state = el("p", { class: "muted", role: "status" }, "Asking the store.");
  const section = el("section", { id: "sweeps", class: "chapter", "data-title": "Sweeps" }, el("h2", {}, "Running sweeps"), state, list);
  after.after(section);
  const runs = new Map();
  let version = "", timer = null;

  const show = (document) => {
    const running = document.runs.filter((run) => run.state === "running").length;
    state.textContent = document.runs.length ? `${short(running)} running, ${short(document.runs.length - running)} that ended lately, in ${document.store}.` : `No sweep is in ${document.store} yet; rung train starts one.`;
    list.replaceChildren(...document.runs.map((run) => {
      if (!runs.has(run.id)) runs.set(run.id, new Run());
      runs.get(run.id).show(run, document.made);
      return runs.get(run.id).root;
    }));
  };
  const look = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    try {
      const reply = await fetch(`/api/runs?seen=${encodeURIComponent(version)}`, { cache: "no-store", credentials: "omit" });
      const answer = await reply.json();
      if (!reply.ok) state.textContent = answer.message ?? `The server says ${reply.status}.`;
      else if (!answer.unchanged) { version = answer.version; show(answer); }
    } catch {
      state.textContent = "The server does not answer. Is rung serve still running?";
      version = "";
    }
    timer = setTimeout(look, EVERY);
  };
  document.addEventListener("visibilitychange", look);
  look();
}
