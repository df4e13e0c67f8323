// What can be asked: an architecture line or a document, context, precision, sizes, a task.
import { el } from "../dom.js";
import { short } from "../numbers.js";

const EXAMPLES = ["full+linear*100", "full*3", "linear*100", "(gdelta*3+full)*12", "mamba2*24", "loglinear*4+full", "heads(full:2,linear:2)*2"];
const START = EXAMPLES[0];
const FORMATS = ["fixed", "bf16", "fp16", "fp32", "e4m3", "e5m2"];
const LOW_CONTEXT = 4, HIGH_CONTEXT = 24, START_CONTEXT = 16; // powers of two
const LARGEST_DOCUMENT = 1 << 20; // bytes, as the server takes them

const quoted = (text) => (/^[\w.+*/:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

let unique = 0;
function field(label, input, note) {
  input.id ||= `explorer-${++unique}`;
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input, note);
}

// chosen: what the address says, by the names of choices() below; anything that is no such value is left as it begins.
export function makeControls({ changed, chosen = {} }) {
  let dropped = null; // {name, text}
  const idle = { line: "", names: new Set() }; // sizes that this line does not use
  let contextSet = false, precisionSet = false; // by hand; until then a document's own count

  const line = el("input", { id: "explorer-line", type: "text", value: START, spellcheck: "false", autocomplete: "off", autocapitalize: "off", autocorrect: "off", maxlength: "4000", "aria-describedby": "explorer-trouble", oninput: () => changed(true) });
  const caret = el("div", { class: "caret", "aria-hidden": "true", hidden: true });
  const trouble = el("p", { id: "explorer-trouble", class: "trouble", role: "alert" });
  const examples = el("div", { class: "examples", role: "group", "aria-label": "Examples" }, EXAMPLES.map((text) => el("button", { type: "button", class: "quiet small", onclick: () => { drop(null); line.value = text; changed(false); } }, el("code", {}, text))));

  const context = el("input", { id: "explorer-context", type: "range", min: LOW_CONTEXT, max: HIGH_CONTEXT, step: 1, value: START_CONTEXT, oninput: () => { contextSet = true; label(); changed(false); } });
  const contextText = el("output", { for: "explorer-context" });
  const bits = el("input", { id: "explorer-bits", type: "range", min: 2, max: 32, step: 1, value: 16, oninput: () => { precisionSet = true; format.value = "fixed"; label(); changed(false); } });
  const bitsText = el("output", { for: "explorer-bits" });
  const format = el("select", { id: "explorer-format", "aria-label": "Number format", onchange: () => { precisionSet = true; label(); changed(false); } }, FORMATS.map((name) => el("option", { value: name }, name === "fixed" ? "fixed point" : name)));
  const width = el("input", { type: "number", id: "explorer-width", min: 1, max: 1 << 20, value: 16, inputmode: "numeric", oninput: () => changed(true) });
  const heads = el("input", { type: "number", id: "explorer-heads", min: 1, max: 4096, value: 1, inputmode: "numeric", oninput: () => changed(true) });
  const task = el("select", { id: "explorer-task", onchange: () => changed(false) }, el("option", { value: "all" }, "all tasks"));
  const check = (id, text) => {
    const box = el("input", { type: "checkbox", id, onchange: () => { label(); changed(false); } });
    return { box, row: el("div", { class: "check" }, box, el("label", { for: id }, text)) };
  };
  const thought = check("explorer-cot", "with chain of thought"), encoder = check("explorer-encoder", "encoder (sees both ways)"), exact = check("explorer-exact", "read floats as exact integers");

  const file = el("input", { type: "file", id: "explorer-file", class: "hidden", accept: ".json,application/json", onchange: () => { take(file.files[0]); file.value = ""; } });
  const fileName = el("code", {});
  const fileRow = el("div", { class: "dropped", hidden: true }, fileName, el("button", { type: "button", class: "quiet small", onclick: () => { drop(null); changed(false); line.focus(); } }, "remove"));
  const zone = el("div", { class: "zone" }, file, el("label", { for: "explorer-file", class: "quiet" }, "Open a config.json"), el("span", { class: "muted" }, " or drop it here"));
  const lineField = el("div", { class: "field" }, el("label", { for: "explorer-line" }, "Architecture"), line, caret);

  function label() {
    const tokens = 2 ** Number(context.value);
    const count = `${tokens.toLocaleString("en-US")} tokens`;
    if (dropped && !contextSet) contextText.textContent = `the file’s own${dropped.context ? `, ${short(dropped.context)} tokens` : ""}`;
    else contextText.replaceChildren("2", el("sup", {}, context.value), ` = ${count}`);
    context.setAttribute("aria-valuetext", dropped && !contextSet ? contextText.textContent : count);
    const own = dropped && !precisionSet;
    bitsText.textContent = own ? `the file’s own${dropped.precision ? `, ${dropped.precision}` : ""}` : format.value === "fixed" ? `${bits.value} bits` : format.value;
    bits.setAttribute("aria-valuetext", bitsText.textContent);
    bits.classList.toggle("idle", own || format.value !== "fixed");
    const floating = own ? dropped.precision && !/^\d/.test(dropped.precision) : format.value !== "fixed";
    exact.row.hidden = !floating;
    sizes.hidden = encoder.row.hidden = Boolean(dropped); // the file gives them
  }

  function drop(next) {
    dropped = next;
    contextSet = next ? false : contextSet;
    precisionSet = next ? false : precisionSet;
    lineField.hidden = examples.hidden = Boolean(next);
    fileRow.hidden = !next;
    fileName.textContent = next?.name ?? "";
    label();
  }

  async function take(chosen) {
    if (!chosen) return;
    if (chosen.size > LARGEST_DOCUMENT) return complain(`${chosen.name} has more than 1 MiB; expected a config.json`);
    drop({ name: chosen.name, text: await chosen.text() });
    changed(false);
  }

  // A message about a column of the line points there; a suggestion can be taken.
  function complain(message) {
    const column = Number(/at column (\d+)/.exec(message ?? "")?.[1] ?? 0);
    line.setAttribute("aria-invalid", String(Boolean(message) && !dropped));
    caret.hidden = !column || Boolean(dropped);
    caret.textContent = column ? `${" ".repeat(column - 1)}↑ column ${column}` : "";
    trouble.replaceChildren(...(message ? [message.replace(/^\[[\w-]+\] /, "")] : []));
    const wrong = /"([^"]+)" at column/.exec(message ?? "")?.[1], right = /did you mean "([^"]+)"/.exec(message ?? "")?.[1];
    if (column && wrong && right && line.value.slice(column - 1).startsWith(wrong))
      trouble.append(" ", el("button", { type: "button", class: "quiet small", onclick: () => { line.value = line.value.slice(0, column - 1) + right + line.value.slice(column - 1 + wrong.length); line.focus(); changed(false); } }, "use ", el("code", {}, right)));
  }

  // What the server said of the question: the file's own numbers, and the tasks that there are.
  function learn(answer) {
    if (dropped) {
      if (!contextSet) { dropped.context = answer.context; context.value = Math.round(Math.log2(answer.context)); }
      if (!precisionSet) {
        dropped.precision = answer.precision;
        format.value = FORMATS.includes(answer.precision) ? answer.precision : "fixed";
        if (/^\d+$/.test(answer.precision)) bits.value = answer.precision;
      }
    }
    if (task.options.length <= 2 && answer.verdicts.length > 1) {
      const chosenTask = task.value;
      task.replaceChildren(task.options[0], ...answer.verdicts.map((verdict) => el("option", { value: verdict.task }, verdict.task)));
      task.value = chosenTask;
    }
    label();
  }

  function question() {
    const parameters = new URLSearchParams();
    const words = ["rung", "bound", quoted(dropped ? dropped.name : line.value)];
    const put = (name, value) => { parameters.set(name, value); words.push(`--${name}`, quoted(String(value))); };
    const flag = (name) => { parameters.set(name, "1"); words.push(`--${name}`); };
    if (!dropped) {
      if (!line.value.trim()) { complain("Expected an architecture, such as full+linear*100."); return null; }
      parameters.set("arch", line.value);
      if (line.value !== idle.line) { idle.line = line.value; idle.names.clear(); }
      for (const [name, input] of [["width", width], ["heads", heads]]) {
        input.disabled = idle.names.has(name);
        input.title = input.disabled ? "not used by this architecture" : "";
        if (input.disabled) continue;
        if (!input.value) { complain(`Expected a number for ${name}.`); return null; }
        put(name, input.value);
      }
      if (encoder.box.checked) flag("encoder");
    }
    if (!dropped || contextSet) put("context", 2 ** Number(context.value));
    if (!dropped || precisionSet) put("precision", format.value === "fixed" ? bits.value : format.value);
    if (task.value !== "all") put("task", task.value);
    if (thought.box.checked) flag("cot");
    if (!exact.row.hidden && exact.box.checked) flag("assume-exact");
    parameters.set("lenient", "1");
    return { target: `/api/bound?${parameters}`, document: dropped?.text, command: words.join(" ") };
  }

  const sizes = el("div", { class: "pair-fields" }, field("Width", width), field("Heads", heads));
  const root = el("form", { class: "explorer-controls", onsubmit: (event) => { event.preventDefault(); changed(false); } },
    lineField, fileRow, trouble, examples, zone,
    el("div", { class: "field" }, el("div", { class: "label-row" }, el("label", { for: "explorer-context" }, "Context"), contextText), context),
    el("div", { class: "field" }, el("div", { class: "label-row" }, el("label", { for: "explorer-bits" }, "Precision"), bitsText), bits, format),
    sizes, field("Task", task), el("div", { class: "checks" }, thought.row, encoder.row, exact.row));
  const boxes = { cot: thought.box, encoder: encoder.box, exact: exact.box };
  const inputs = { width, heads, bits, context };
  if (chosen.arch) line.value = chosen.arch.slice(0, 4000);
  if (FORMATS.includes(chosen.format)) { format.value = chosen.format; precisionSet = true; }
  for (const [name, input] of Object.entries(inputs)) if (/^\d{1,7}$/.test(chosen[name] ?? "")) input.value = chosen[name];
  if (chosen.context) contextSet = true;
  if (chosen.bits) precisionSet = true;
  for (const [name, box] of Object.entries(boxes)) box.checked = chosen[name] === "1";
  if (/^[\w-]+$/.test(chosen.task ?? "") && chosen.task !== "all") {
    task.append(el("option", { value: chosen.task }, chosen.task));
    task.value = chosen.task;
  }
  label();

  return {
    root, question, complain, learn,
    // What differs from where the explorer begins.
    choices() {
      if (dropped) return {};
      const differing = { arch: line.value === START ? "" : line.value, task: task.value === "all" ? "" : task.value, format: format.value === "fixed" ? "" : format.value };
      for (const [name, input] of Object.entries(inputs)) differing[name] = input.value === input.defaultValue ? "" : input.value;
      for (const [name, box] of Object.entries(boxes)) differing[name] = box.checked ? "1" : "";
      return differing;
    },
    // Whether the trouble is a size that the line does not use: it is left out from then on.
    leaveOut(trouble) {
      const name = /`(width|heads)` is not used/.exec(trouble ?? "")?.[1];
      if (!name || idle.names.has(name)) return false;
      idle.names.add(name);
      return true;
    },
    takeDropsOn(section) {
      const over = (on) => (event) => {
        if (!event.dataTransfer?.types?.includes("Files")) return;
        event.preventDefault();
        section.classList.toggle("dropping", on);
      };
      section.addEventListener("dragover", over(true));
      section.addEventListener("dragleave", (event) => { if (!section.contains(event.relatedTarget)) over(false)(event); });
      section.addEventListener("drop", (event) => { over(false)(event); take(event.dataTransfer?.files?.[0]); });
    },
  };
}
