// Weights that a proof writes down: what was verified, where each head looks, what each coordinate holds.
import { commandLine, dataTable, el, facts, svg } from "../dom.js";
import { percent, short, sizeText } from "../numbers.js";
import { chip } from "../verdicts.js";

// One head as a heat map; rows are the tokens that look, columns those that are looked at.
function heatMap(tokens, entry) {
  const n = tokens.length, edge = 22, cell = Math.max(9, Math.min(26, 460 / n)), side = edge + n * cell;
  const font = Math.min(12, cell * 0.7);
  const labels = tokens.flatMap((token, i) => [
    svg("text",
      {
        x: edge - 5, y: edge + (i + 0.5) * cell, "text-anchor": "end", "dominant-baseline": "central",
        "font-size": font,
      },
      token),
    svg("text", { x: edge + (i + 0.5) * cell, y: edge - 7, "text-anchor": "middle", "font-size": font }, token)]);
  const squares = (entry.weights ?? []).flatMap((row, i) => (row ?? []).map((weight, j) => (typeof weight !== "number" ? null : svg("rect",
    {
      x: edge + j * cell + 0.5, y: edge + i * cell + 0.5, width: cell - 1, height: cell - 1, rx: 2,
      class: weight > 0 ? "warm" : "cold", "fill-opacity": weight > 0 ? 0.08 + 0.92 * Math.min(1, weight) : 1,
    },
    svg("title", {}, `${tokens[i]} (position ${i}) looks at ${tokens[j]} (position ${j}): ${percent(weight)}`)))));
  return svg("svg",
    {
      viewBox: `0 0 ${side} ${side}`, class: "heat", role: "img",
      "aria-label": `Attention of layer ${entry.layer + 1}, head ${entry.head + 1}: each row is a token that looks, each column a token that is looked at`,
    },
    squares,
    labels);
}

function strongest(tokens, entry) {
  return (entry.weights ?? []).flatMap(
    (row, i) => (row ?? []).map(
      (weight, j) => [i, tokens[i], j, tokens[j], weight])).filter(([, , , , weight]) => weight >= 0.01);
}

function attention(pattern) {
  const layers = pattern.layers ?? [];
  if (!layers.length || !pattern.tokens?.length) return null;
  const picture = el("div", { class: "heat-box" });
  const tabs = layers.map(
    (entry, i) => el("button", { type: "button", class: "tab", onclick: () => show(i) },
      `layer ${entry.layer + 1}`,
      entry.head !== undefined ? `, head ${entry.head + 1}` : ""));
  const show = (at) => {
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", i === at ? "true" : "false"));
    picture.replaceChildren(heatMap(pattern.tokens, layers[at]),
      el("details", {},
        el("summary", {}, "As a table"),
        dataTable(
          ["position", "token", "looks at", "token", "weight"],
          strongest(pattern.tokens, layers[at]),
          "Attention weights of at least 1 %")));
  };
  show(0);
  return el("div", { class: "attention" },
    el("h4", {}, "Where it looks"),
    el("p", { class: "muted" }, "Rows look, columns are looked at; darker is more. One small input",
      pattern.size ? ` (${sizeText(pattern.size)})` : "",
      pattern.answer !== undefined ? `; the answer is ${[pattern.answer].flat().join(" ")}` : "",
      "."),
    el("div", { class: "tabs", role: "group", "aria-label": "Layers and heads" }, tabs),
    picture);
}

function coordinates(list) {
  if (!list?.length) return null;
  const last = Math.max(...list.map((entry) => entry.to ?? entry.from));
  return el("div", { class: "coordinates" }, el("h4", {}, "What each coordinate holds"),
    el("div", { class: "strip", "aria-hidden": "true" },
      list.map((entry, i) => el("span",
        {
          class: `piece tone-${i % 6}`, style: { flexGrow: (entry.to ?? entry.from) - entry.from + 1 },
          title: entry.name ? `${entry.name}: ${entry.content}` : entry.content,
        }))),
    el("ol", { class: "holds" },
      list.map((entry, i) => el("li", {},
        el("span", { class: `swatch tone-${i % 6}`, "aria-hidden": "true" }),
        el("span", { class: "range" },
          entry.from === (entry.to ?? entry.from) ? `${entry.from}` : `${entry.from}–${entry.to}`),
        el("span", {}, entry.name ? el("strong", {}, entry.name, " ") : null, entry.content)))),
    el("p", { class: "muted" }, `${last + 1} coordinates in all.`));
}

export function constructionPart(construction) {
  if (!construction || !construction.state) return null;
  const head = el("h3", {}, "Construction");
  if (construction.state === "none") return el("section", { class: "part" }, head,
    el("p", { class: "muted" }, construction.reason || "The theory gives none here."));
  return el("section", { class: "part" }, head,
    el("p", {},
      chip(construction.state, construction.state === "verified" ? "built and verified" : construction.state),
      " ",
      construction.name ?? ""),
    construction.reason ? el("p", {}, construction.reason) : null,
    facts([["architecture",
      construction.arch && el("code", {}, construction.arch)],
      ["size", sizeText(construction.size)], ["lemma", construction.lemma], ["source", construction.reference],
      ["precision proved enough", construction.precision_proved && `${construction.precision_proved} bits`], [
        "smallest that passed",
        construction.precision_smallest && `${construction.precision_smallest} bits (measured)`],
      ["claim", construction.claim], ["why all inputs",
        construction.all_inputs?.holds && construction.all_inputs.reason], [
        "checked",
        construction.instances && `${short(construction.instances)} inputs, ${construction.mode ?? ""}; ${short(construction.errors ?? 0)} errors`],
        ["weights", construction.model && el("code", {}, construction.model)]]),
    construction.attention ? attention(construction.attention) : null, coordinates(construction.coordinates), commandLine(construction.command));
}
