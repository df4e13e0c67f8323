// A model run as a protocol, step by step: players on a line, messages with their bits, what everybody knows afterwards.
import { el, svg } from "./dom.js";
import { plural, short } from "./numbers.js";

const SHOWN_TOKENS = 6;

// "w_1, =" with its index below the line.
const ownsText = (owns) => String(owns ?? "").split(/(_-?\w+)/).map(
  (piece) => (piece.startsWith("_") ? el("sub", {}, piece.slice(1)) : piece));
const ICONS = {
  first: "M12 3v10l-7-5zM4 3v10", back: "M11 3v10L4 8z", forward: "M5 3v10l7-5z", last: "M4 3v10l7-5zM12 3v10",
};
const stepIcon = (name) => svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
  svg("path",
    {
      d: ICONS[name], fill: "currentColor", stroke: "currentColor", "stroke-width": 1.5, "stroke-linejoin": "round",
      "stroke-linecap": "round",
    }));

// Steps: the beginning, then every message of every epoch, and the end of each epoch.
export function stepsOf(trace) {
  const steps = [{ epoch: -1, kind: "begin" }];
  (trace.epochs ?? []).forEach((epoch, e) => {
    (epoch.messages ?? []).forEach((message, m) => steps.push({ epoch: e, kind: "message", message, index: m }));
    steps.push({ epoch: e, kind: "end" });
  });
  return steps;
}

function playerBox(player, place, knowledge, most) {
  const tokens = player.tokens ?? [];
  const shown = tokens.slice(0, SHOWN_TOKENS).join(" ") + (tokens.length > SHOWN_TOKENS ? " …" : "");
  return el("div", { class: `player-box${place.active ? " active" : ""}`, "data-player": player.name },
    el("span", { class: "owns" }, ownsText(player.owns)), el("span", { class: "tokens", title: tokens.join(" ") }, shown), el(
      "span",
      { class: "received" },
      `${short(knowledge)} bits heard`),
    el("span", { class: "meter", "aria-hidden": "true" },
      el("span", { style: { width: `${most ? (100 * knowledge) / most : 0}%` } })));
}

function arc(from, to, message, current, width) {
  const high = 16 + Math.min(74, Math.abs(to - from) * 0.26), top = 100;
  const path = `M ${from} ${top} C ${from} ${top - high * 1.25}, ${to} ${top - high * 1.25}, ${to} ${top - 4}`;
  const label = `${short(message.bits)} bits`, middle = Math.max(34,
    Math.min(width - 34, (from + to) / 2)), y = top - high * 0.94 - 7;
  return svg("g", {
    class: `message ${message.charged ? "charged" : "asked"}${current ? " current" : ""}`,
  }, svg("path", { d: path, "marker-end": current ? "url(#arrow)" : null }),
    current ? [
      svg("rect", { x: middle - 34, y: y - 10, width: 68, height: 20, rx: 10, class: "label-back" }),
      svg("text", { x: middle, y: y + 1, "text-anchor": "middle", "dominant-baseline": "central" }, label)] : null);
}

// Bits that every player has heard when these steps are done: charged ones, and tokens that were read.
function heardBits(players, done) {
  const order = players.map((player) => player.name), bits = new Map(order.map((name) => [name, 0]));
  for (const { message } of done) {
    if (!message || (!message.charged && message.kind !== "tokens")) continue;
    const receivers = message.to === "later" ? order.slice(order.indexOf(message.from) + 1) : [message.to];
    for (const name of receivers) bits.set(name, (bits.get(name) ?? 0) + message.bits);
  }
  return bits;
}

const ownerOf = (players, name) =>
  name === "later" ? "everybody later" : (players.find((player) => player.name === name)?.owns ?? name);

// What happens in a step, as text and nodes.
function sentence(step, epoch, players) {
  if (step.kind === "begin")
    return [`Before the first layer. ${plural(players.length, "player")} own the prompt, from left to right; `,
      "each knows its own tokens and nothing else."];
  if (step.kind === "end")
    return [`After layer ${step.epoch + 1} (${epoch.mixer}): ${short(epoch.charged_bits)} bits were sent in it; `,
      `the formula says ${short(epoch.formula_bits)}.`];
  const { from, to, kind, numbers, bits, charged } = step.message;
  return [`Layer ${step.epoch + 1}: `, ...ownsText(ownerOf(players, from)), ` sends ${kind} to `,
    ...ownsText(ownerOf(players, to)), `: ${plural(numbers, "number")}, ${short(bits)} bits`,
    charged ? "." : " (not charged: the earlier player answers and forgets)."];
}

export function protocolPlayer(protocols) {
  const titles = { built: "A built model", broken: "A broken model" };
  const section = el("div", { class: "protocol" });
  const tabs = protocols.map(
    (protocol, i) => el("button", { type: "button", class: "tab", onclick: () => choose(i) },
      titles[protocol.kind] ?? protocol.kind));
  const stage = el("div", { class: "stage" });
  section.append(el("div", { class: "tabs", role: "group", "aria-label": "Protocols" }, tabs), stage);

  function choose(which) {
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", i === which ? "true" : "false"));
    const trace = protocols[which].document, steps = stepsOf(trace), players = trace.players ?? [];
    let at = 0;
    const line = el("div", { class: "players" }), wires = el("div", { class: "wires" });
    const words = el("p", { class: "saying", "aria-live": "polite" }), knows = el("ul", { class: "knows" });
    const slider = el("input",
      {
        type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "Step of the protocol",
        oninput: () => go(Number(slider.value)),
      });
    const place = el("span", { class: "place" });
    const button = (icon, name, act) => el("button",
      { type: "button", class: "step-button", "aria-label": name, title: name, onclick: act },
      stepIcon(icon));
    const nextEpoch = (by) => {
      const ends = steps.map((step, i) => (step.kind !== "message" ? i : -1)).filter((i) => i >= 0);
      return by > 0 ? ends.find((i) => i > at) ?? at : [...ends].reverse().find((i) => i < at) ?? at;
    };
    const controls = el("div", { class: "controls" },
      button("first", "Back one layer", () => go(nextEpoch(-1))),
      button("back", "Back one message", () => go(at - 1)),
      button("forward", "Forward one message", () => go(at + 1)),
      button("last", "Forward one layer", () => go(nextEpoch(1))),
      slider,
      place);

    const total = (trace.charged_bits ?? 0) + (trace.read_bits ?? 0);

    function draw() {
      const step = steps[at], bits = heardBits(players, steps.slice(1, at + 1));
      const speaking = step.message ? [step.message.from, step.message.to] : [];
      line.replaceChildren(...players.map(
        (player) => playerBox(player, { active: speaking.includes(player.name) },
          bits.get(player.name) ?? 0,
          total)));
      const width = Math.max(300, line.scrollWidth || line.clientWidth || 600);
      const centre = (name) => {
        const i = players.findIndex((player) => player.name === name);
        return (i + 0.5) * (width / players.length);
      };
      const shown = steps.slice(0, at + 1).filter((entry) => entry.epoch === step.epoch && entry.message);
      const target = (message) => (message.to === "later" ? width - 8 : centre(message.to));
      wires.replaceChildren(svg("svg", { viewBox: `0 0 ${width} 104`, width, height: 104, "aria-hidden": "true" },
        svg("defs", {},
          svg("marker",
            { id: "arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
            svg("path", { d: "M0 0 L8 4 L0 8 z" }))),
        shown.map(
          (entry) => arc(centre(entry.message.from), target(entry.message), entry.message, entry === step, width))));
      const epoch = (trace.epochs ?? [])[step.epoch];
      words.replaceChildren(...sentence(step, epoch, players));
      const finished = step.kind === "end" ? step.epoch : step.epoch - 1;
      const known = (finished < 0 ? trace.knowledge : trace.epochs[finished].knowledge) ?? [];
      knows.replaceChildren(...known.map((entry) => el("li", {},
        el("strong", {}, ownsText(ownerOf(players, entry.player))),
        step.kind === "message" ? " so far knows " : " knows ",
        entry.line)));
      slider.value = String(at);
      slider.setAttribute("aria-valuetext", words.textContent);
      place.textContent = `${at} / ${steps.length - 1}`;
    }
    function go(to) {
      at = Math.max(0, Math.min(steps.length - 1, to));
      draw();
    }
    const keys = (event) => {
      const to = {
        ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1, PageDown: nextEpoch(1),
        PageUp: nextEpoch(-1),
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    };
    const theatre = el("div",
      {
        class: "theatre", tabindex: "0", role: "group", "aria-label": "Protocol; arrow keys step forward and back",
        onkeydown: keys,
      },
      words,
      el("div", { class: "scroll" },
        el("div", { class: "line-box", style: { minWidth: `${players.length * 68}px` } }, wires, line)),
      controls,
      knows);
    const right = trace.reference?.join(" "), said = trace.answer?.join(" ");
    const about = el("p", { class: "muted" }, el("code", {}, trace.architecture), ` on ${trace.task}. `,
      `The protocol's activations ${trace.equal_rows ? "equal" : "differ from"} the model's, bit for bit`,
      trace.rows_compared ? `, in ${short(trace.rows_compared)} rows` : "",
      `; ${short(trace.charged_bits)} bits were charged and the formula says ${short(trace.formula_bits)}.`,
      said !== undefined ? ` It answers ${said}; right is ${right}.` : "");
    stage.replaceChildren(about, theatre);
    new ResizeObserver(draw).observe(line);
    go(0);
  }
  choose(0);
  return section;
}
