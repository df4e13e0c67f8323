// Elements are made here and nowhere else: text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(
  document.createElementNS(SVG, tag),
  attributes,
  children);

// A command line with a button that copies it.
export function commandLine(text) {
  if (!text) return null;
  const copy = el("button",
    { type: "button", class: "copy", "aria-label": `Copy the command ${text}`, title: "Copy" },
    "copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(copy.previousSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      copy.textContent = "selected";
    }
    setTimeout(() => (copy.textContent = "copy"), 1500);
  });
  return el("span", { class: "command" }, el("code", {}, text), copy);
}

// Definition rows: [[name, value], ...]; values may be nodes; empty ones are left out.
export function facts(rows) {
  const kept = rows.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "");
  return kept.length === 0 ? null : el("dl", { class: "facts" },
    kept.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function dataTable(columns, rows, caption) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "data" }, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {},
        rows.map((row) => el("tr", {},
          row.map((value) => el("td", {}, value === null || value === undefined ? "–" : String(value))))))));
}

// A record that one part of the page does not understand must not take the others away.
export function guarded(make, kind) {
  try {
    return make();
  } catch (error) {
    return el("section", { class: kind },
      el("p", { class: "notice" }, `A part of this page could not be shown: ${error.message}.`));
  }
}
