// The two small pictures of the opening, drawn to the width there is so that their words stay readable on a phone.
import { el, svg } from "./dom.js";
import { short } from "./numbers.js";

// The example of the text: long table, short table, start, relation, and the place where the answer is read.
export const EXAMPLE = { long: [3, 0, 2, 1], short: [1, 0], start: 0, relation: 1 };
EXAMPLE.first = EXAMPLE.short[EXAMPLE.start];
EXAMPLE.entry = EXAMPLE.relation * EXAMPLE.short.length + EXAMPLE.first;
EXAMPLE.answer = EXAMPLE.long[EXAMPLE.entry];

// Redraws when the width changes.
function responsive(label, draw) {
  const box = el("div", { class: "picture", role: "img", "aria-label": label });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.min(760, Math.floor(box.clientWidth));
    if (width > 0 && width !== drawn) {
      drawn = width;
      box.replaceChildren(draw(width));
    }
  }).observe(box);
  return box;
}

const TABLES = [
  ["long table", EXAMPLE.long, "long"],
  ["short table", EXAMPLE.short, "short"],
  ["start", [EXAMPLE.start], "ask"],
  ["rel.", [EXAMPLE.relation], "ask"],
  ["?", ["="], "read"]];

function tokenLine(width, top, groups = TABLES) {
  const count = groups.reduce((sum, [, tokens]) => sum + tokens.length, 0), gap = Math.min(18, width * 0.022);
  const box = Math.min(52, (width - 4 - gap * (groups.length - 1)) / count), size = box - 4;
  const whole = box * count + gap * (groups.length - 1);
  let x = (width - whole) / 2;
  const centres = [], nodes = [];
  for (const [name, tokens, kind] of groups) {
    const from = x;
    for (const token of tokens) {
      nodes.push(
        svg("rect", { x: x + 2, y: top, width: size, height: size, rx: 5, class: `token ${kind}` }),
        svg("text",
          {
            x: x + box / 2, y: top + size / 2 + 1, class: "token-text", "text-anchor": "middle",
            "dominant-baseline": "central", "font-size": Math.min(18, size * 0.5),
          },
          token));
      centres.push(x + box / 2);
      x += box;
    }
    nodes.push(svg("text",
      {
        x: (from + x) / 2, y: top + size + 17, class: "caption", "text-anchor": "middle",
        "font-size": Math.min(13, Math.max(10.5, box * 0.33)),
      },
      name));
    x += gap;
  }
  return { nodes, centres, size, bottom: top + size + 24, cut: centres[EXAMPLE.long.length - 1] + box / 2 + gap / 2 };
}

// The task alone: what points where.
export function taskPicture() {
  return responsive(`A prompt: the long table ${EXAMPLE.long.join(" ")}, the short table ${EXAMPLE.short.join(" ")}, the start ${EXAMPLE.start}, the relation ${EXAMPLE.relation}. The start points into the short table, and its entry with the relation into the long one`, (width) => {
    const top = width < 480 ? 62 : 76, { nodes, centres, bottom } = tokenLine(width, top);
    const hop = (from, to, high) => svg("path",
      {
        d: `M ${centres[from]} ${top - 2} C ${centres[from]} ${top - high}, ${centres[to]} ${top - high}, ${centres[to]} ${top - 5}`,
        class: "look hop", "marker-end": "url(#tip-hop)",
      });
    return svg("svg", { viewBox: `0 0 ${width} ${bottom}`, width, height: bottom }, svg("defs", {},
      svg("marker",
        { id: "tip-hop", viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
        svg("path", { d: "M0 0 L8 4 L0 8 z", class: "tip hop" }))),
      hop(6, 4 + EXAMPLE.start, 40), hop(4 + EXAMPLE.start, EXAMPLE.entry, 40), svg("path",
        {
          d: `M ${centres[7]} ${top - 2} C ${centres[7]} ${top - 84}, ${centres[EXAMPLE.entry]} ${top - 84}, ${centres[EXAMPLE.entry]} ${top - 5}`,
          class: "look hop aside",
        }), nodes);
  });
}

// Three looks: each knows where to go because of the one before.
export function looksPicture() {
  return responsive("Three looks back from the last token: the first at the start and the relation, the second at an entry of the short table, the third at an entry of the long table", (width) => {
    const top = width < 480 ? 110 : 138, {
      nodes, centres, bottom,
    } = tokenLine(width, top), last = centres[centres.length - 1];
    const looks = [[[6, 7], 30], [[4 + EXAMPLE.start], 72], [[EXAMPLE.entry], top - 22]];
    const arcs = looks.flatMap(([targets, height], i) => targets.map((target) => svg("path",
      {
        d: `M ${last} ${top - 2} C ${last} ${top - height}, ${centres[target]} ${top - height}, ${centres[target]} ${top - 5}`,
        class: `look look-${i + 1}`, "marker-end": `url(#tip-${i + 1})`,
      })));
    const badges = looks.map(([targets, height], i) => {
      const target = centres[targets[0]], x = i === 0 ? (centres[6] + centres[7]) / 2 : (last + target) / 2, y = top - height * 0.75;
      return svg("g", {},
        svg("circle", { cx: x, cy: y, r: 11, class: `badge look-${i + 1}` }),
        svg("text", { x, y: y + 0.5, class: "badge-text", "text-anchor": "middle", "dominant-baseline": "central" },
          i + 1));
    });
    const tips = [1, 2, 3].map((i) => svg("marker",
      { id: `tip-${i}`, viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
      svg("path", { d: "M0 0 L8 4 L0 8 z", class: `tip look-${i}` })));
    return svg("svg",
      { viewBox: `0 0 ${width} ${bottom}`, width, height: bottom },
      svg("defs", {}, tips),
      arcs,
      nodes,
      badges);
  });
}

// One look and many summaries: all that passes the cut.
export function cutPicture(count) {
  const looks = `looks: ${short(count.lookBits)} bits each`, summaries = `${short(count.layers)} summaries: ${short(count.stateBits)} bits`;
  return responsive(`Everything that later tokens learn of the long table passes a cut: one look, aimed before anything is known, and ${summaries}`, (width) => {
    const small = width < 480, top = small ? 92 : 104, { nodes, centres, size, cut } = tokenLine(width, top);
    const labelBottom = top + size + 24, pipe = labelBottom + 14, lines = 12, height = pipe + lines * 3.2 + 40;
    const askers = [4, 5, 6, 7, 8].map((i, at) => svg("path",
      {
        d: `M ${centres[i]} ${top - 3} C ${centres[i]} ${top - 30 - at * 7}, ${cut - 30} ${top - 34 - at * 7}, ${centres[1] + (centres[2] - centres[1]) / 2} ${top - 5}`,
        class: "look faint",
      }));
    const strands = Array.from({ length: lines },
      (_, i) => svg("path",
        {
          d: `M ${centres[0] - size / 2} ${pipe + i * 3.2} H ${centres[centres.length - 1] + size / 2}`,
          class: "strand",
        }));
    const words = small ? 11.5 : 13.5;
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, askers, strands, nodes,
      svg("line", { x1: cut, x2: cut, y1: 26, y2: height - 24, class: "cut" }), svg("text",
        { x: cut, y: height - 8, class: "cut-text", "text-anchor": "middle", "font-size": words },
        "the cut"),
      svg("text",
        {
          x: centres[centres.length - 1] + size / 2, y: 16, class: "caption strong", "text-anchor": "end",
          "font-size": words,
        },
        looks),
      svg("text",
        {
          x: centres[centres.length - 1] + size / 2, y: pipe + lines * 3.2 + 14, class: "caption strong",
          "text-anchor": "end", "font-size": words,
        },
        summaries));
  });
}

// A mark that letters move over a table, and the place where the answer is read.
export const MARK = { table: [3, 0, 2, 1], letters: ["0↔1", "1↔2", "2↔3"], places: [0, 1, 2, 3] };

// A delta layer carries the mark along the letters; a full layer looks back once, to where it came.
export function markPicture() {
  const groups = [["table", MARK.table, "long"], ["letters", MARK.letters, "short"], ["?", ["="], "read"]];
  const place = MARK.places[MARK.places.length - 1];
  return responsive(`A table ${MARK.table.join(" ")}, then letters that exchange neighbours and carry a mark from place 0 to place ${place}; the last token looks at that place`, (width) => {
    const small = width < 480, top = small ? 70 : 88, { nodes, centres, size, bottom } = tokenLine(width, top, groups);
    const last = centres[centres.length - 1], first = MARK.table.length, words = small ? 11.5 : 13.5, lane = bottom + 12;
    const marks = MARK.places.slice(1).map((mark, i) => svg("text",
      { x: centres[first + i], y: lane, class: "caption strong", "text-anchor": "middle", "font-size": words },
      `at ${mark}`));
    return svg("svg", { viewBox: `0 0 ${width} ${lane + 22}`, width, height: lane + 22 },
      svg("defs", {}, svg("marker",
        { id: "tip-mark", viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
        svg("path", { d: "M0 0 L8 4 L0 8 z", class: "tip look-3" }))),
      svg("path",
        {
          d: `M ${last} ${top - 2} C ${last} ${top - (small ? 60 : 78)}, ${centres[place]} ${top - (small ? 60 : 78)}, ${centres[place]} ${top - 5}`,
          class: "look look-3", "marker-end": "url(#tip-mark)",
        }),
      svg("path", { d: `M ${centres[first] - size / 2} ${lane + 7} H ${last + size / 2}`, class: "strand" }),
      svg("text", { x: (last + centres[place]) / 2, y: 14, class: "caption", "text-anchor": "middle", "font-size": words },
        "full: one look"),
      svg("text",
        { x: centres[first] - size / 2, y: lane + 21, class: "caption", "text-anchor": "start", "font-size": words },
        "delta: where the mark is"),
      marks, nodes);
  });
}
