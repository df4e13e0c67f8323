// The page: reads its data, and puts the sections that have something to show one below the other.
import { placeOf } from "./address.js";
import { readDocument } from "./document.js";
import { commandLine, el, guarded } from "./dom.js";
import { evidenceIndex, mountEvidence } from "./evidence.js";
import { mountExplorer } from "./explorer.js";
import { accuracyFigure } from "./figures/accuracy.js";
import { attackFigure } from "./figures/attack.js";
import { capacityFigure } from "./figures/capacity.js";
import { depthFigure } from "./figures/depth.js";
import { figureFrame } from "./figures/frame.js";
import { horizonFigure } from "./figures/horizons.js";
import { precisionFigure } from "./figures/precision.js";
import { sweepSection } from "./figures/sweep.js";
import { plural, short } from "./numbers.js";
import { opening } from "./opening.js";
import { protocolPlayer } from "./player.js";
import { predictionsSection } from "./predictions.js";
import { runsSection } from "./runs.js";
import { hierarchyTable } from "./table.js";
import { mountTheme } from "./theme.js";
import { useWords } from "./verdicts.js";

const data = readDocument(document.getElementById("rung-data").textContent);
useWords(data.words);

const section = (id, title, lead, ...children) => el("section", { id, class: "chapter", "data-title": title },
  el("h2", {}, title),
  lead ? el("p", { class: "lead" }, lead) : null,
  children);

function hierarchySection() {
  const hierarchy = data.hierarchy;
  if (!hierarchy) return section("hierarchy", "The hierarchy", null,
    el("p", { class: "empty" }, "Nothing has been run yet. This command fills the table in about three minutes: ",
      commandLine("rung hierarchy")));
  const unfinished = (hierarchy.cells ?? []).filter((cell) => cell.state && cell.state !== "done").length;
  return section("hierarchy", "The hierarchy", "Every cell is something that ran: a bound with its number at this size, weights that a proof writes down, an instance that breaks a model, a trained model beside its ceiling. Open a cell to see the evidence.",
    unfinished ? el("p", { class: "notice" }, `${plural(unfinished, "cell")} not done yet; running `,
      el("code", {}, "rung hierarchy"),
      " again resumes where it stopped.")
      : null, hierarchyTable(hierarchy), hierarchy.precision ? el("p", { class: "muted" },
        `Arithmetic: ${hierarchy.precision}. `,
        hierarchy.seconds ? `The table took ${short(Math.round(hierarchy.seconds))} s.` : "") : null);
}

function figuresSection() {
  const figures = [accuracyFigure, capacityFigure, depthFigure, attackFigure,
    precisionFigure].map((make) => make(data)).filter(Boolean);
  const shipped = (data.lab ?? []).filter(
    (record) => record.origin !== "own").length, own = (data.lab ?? []).length - shipped;
  const where = data.lab?.length ? `${short(shipped)} shipped records${own ? ` beside ${short(own)} of your own` : ""}.` : "Experiments add figures here once they have run: rung lab --list names them.";
  return figures.length ? section("figures", "What was measured", where,
    el("div", { class: "figures" }, figures.map(figureFrame))) : null;
}

function horizonsSection() {
  const figure = horizonFigure(data);
  if (!figure) return null;
  const within = data.horizons.filter((model) => model.tasks.some((task) => task.verdict === "impossible")).length;
  return section("horizons", "Released models", null,
    el("p", { class: "lead" }, `Bounds for ${short(data.horizons.length)} released configurations. `,
      within ? `For ${short(within)} of them a task is certified impossible within their own context.` : "For none of them is a task certified impossible within the context that it is used with."),
    el("p", {}, "A bound is ",
      el("strong", {}, "vacuous"),
      " at a size when the theorem applies but its count does not yet exceed the bits that the model has: then it says nothing, neither that the task is hard nor that it is easy. Most horizons below lie far beyond any context in use, some at astronomical lengths. When such a model fails in practice, it is a failure of learning or of addressing; this theory does not explain it. Softmax sums are read as exact integers of the model's own width, which no released model computes with. Models with full layers have no horizon for a task when weights that do it are known to exist; they are in the data, not in the picture."),
    el("div", { class: "figures" }, figureFrame(figure)));
}

function footer() {
  const made = (data.made ?? "").replace("T", " ").replace(/\..*$/, " UTC");
  return [el("div", { class: "foot" }, el("p", {}, `rung ${data.version ?? ""}. This page was made on ${made}`,
    data.hierarchy?.machine ? `; the table ran on ${typeof data.hierarchy.machine === "string" ? data.hierarchy.machine : Object.entries(data.hierarchy.machine).map(([name, value]) => `${name} ${value}`).join(", ")}` : "",
    ". It loads nothing from anywhere; its data is inside, and every figure gives it back as CSV."),
    el("p", {},
      "Verdicts speak of worst-case inputs and the best possible weights. They say nothing about what training finds: where weights exist, training may still miss them, and a model that fails refutes nothing."),
    (data.absent ?? []).length ? el("p", {}, "Not here yet: ",
      data.absent.map(({ what, command }, i) => [i ? "; " : "", `${what} (`, el("code", {}, command), ")"]),
      ".") : null,
    el("p", {},
      "Drawn with Chart.js 3.9 (MIT licence, Chart.js contributors) and KaTeX 0.16 (MIT licence, Khan Academy and contributors; fonts under the SIL Open Font License). rung is under the Apache License 2.0."))];
}

function protocolSection() {
  return data.protocols.length ? section("protocol", "A model as a protocol",
    "Lower bounds argue about players: each owns a stretch of the prompt, and a layer lets those behind hear a counted number of bits from those in front. Step through a model that was built and one that was broken.",
    protocolPlayer(data.protocols)) : null;
}

function predictionsChapter() {
  const predictions = predictionsSection(data);
  return predictions ? section("predictions", "Predictions and verdicts",
    "Stated before the runs that decide them. A model that merely failed to train decides nothing.", predictions) : null;
}

const runsChapter = () => (data.runs?.members.length ? section("runs", "Runs", null,
  guarded(() => sweepSection(data.runs), "part"), runsSection(data.runs)) : null);

function mount() {
  const main = document.getElementById("top");
  const chapters = [
    () => opening(data),
    hierarchySection,
    protocolSection,
    figuresSection,
    predictionsChapter,
    horizonsSection,
    runsChapter];
  main.append(...chapters.map((make) => guarded(make, "chapter")).filter(Boolean));
  const explorer = el("section", { id: "explorer", class: "chapter", "data-title": "Explorer", hidden: !data.live });
  if (data.live) {
    main.append(explorer);
    mountExplorer(explorer, data);
  }
  document.getElementById("about").append(...footer());
  const nav = document.getElementById("sections");
  nav.append(
    el("a", { href: "#why" }, "Why"),
    ...[...main.querySelectorAll(".chapter[id]:not([hidden])")].map(
      (chapter) => el("a", { href: `#${chapter.id}` }, chapter.dataset.title)));
  mountTheme(document.getElementById("theme"));
  mountEvidence(document.getElementById("evidence"), evidenceIndex(data.hierarchy), data.theorems);
  // The browser looked for the place before it was made, and knows nothing of what is chosen there.
  const land = () => document.getElementById(placeOf())?.scrollIntoView({ behavior: "instant" });
  addEventListener("hashchange", () => location.hash.includes("?") && land());
  land();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

mount();
