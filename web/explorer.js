// The bound explorer, shown only where `rung serve` answers. `section` is empty and in the page; `data` is the document of the page.
// The theory is not here: every verdict is an answer of /api/bound, which is what `rung bound --json` prints.
import { chosenAt, keepChoice } from "./address.js";
import { commandLine, el } from "./dom.js";
import { Asking } from "./explorer/asking.js";
import { makeControls } from "./explorer/controls.js";
import { mountSweeps } from "./explorer/sweeps.js";
import { VerdictCards } from "./explorer/verdict_cards.js";

const TYPING = 140; // ms of quiet before a keystroke asks
const PLACE = "explorer";
const SLIDING = 30; // the same for a slider

export function mountExplorer(section, data) {
  const cards = new VerdictCards(data.theorems, data.tasks);
  const status = el("p", { class: "explorer-status muted", role: "status" });
  const command = el("div", { class: "explorer-command" });
  const asking = new Asking();
  let timer = null;

  const show = (question, { answer, trouble, milliseconds }) => {
    if (controls.leaveOut(trouble)) return ask();
    controls.complain(trouble);
    cards.root.classList.toggle("stale", Boolean(trouble));
    if (!answer) return;
    controls.learn(answer);
    cards.show(answer);
    status.textContent = `Answered in ${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms.`;
    command.replaceChildren(commandLine(question.command));
  };
  const ask = () => {
    const question = controls.question();
    if (question) asking.ask(question, (result) => show(question, result));
  };
  // A dropped document is no part of an address.
  const keep = () => keepChoice(PLACE, controls.choices());
  const controls = makeControls({
    chosen: chosenAt(PLACE),
    changed: (typing) => {
      keep();
      clearTimeout(timer);
      timer = setTimeout(ask, typing ? TYPING : SLIDING);
    },
  });

  section.append(el("h2", {}, "Explorer"),
    el("p", { class: "lead" }, "Type an architecture, or drop a model’s config.json, and move the context and the precision. Impossible means that no weights exist; possible, that some do. Nothing is said about training."),
    el("div", { class: "explorer" }, controls.root, el("div", { class: "explorer-answers" }, cards.root, status, command)));
  controls.takeDropsOn(section);
  ask();
  mountSweeps(section);
}
