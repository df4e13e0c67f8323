// Light, dark, or as the system says. Charts listen for "themechange".

const CHOICES = ["auto", "light", "dark"];
const FACES = { auto: "◐", light: "○", dark: "●" };
const KEY = "rung-theme";

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a page from disk may not have storage
  }
}

export function applyTheme(choice) {
  const root = document.documentElement;
  if (choice === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", choice);
  document.dispatchEvent(new Event("themechange"));
}

export function mountTheme(button) {
  let choice = CHOICES.includes(remembered()) ? remembered() : "auto";
  const show = () => {
    button.textContent = FACES[choice];
    button.title = `Colours: ${choice}`;
    button.setAttribute("aria-label", `Colours: ${choice}. Change`);
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      /* not kept, still applied */
    }
    applyTheme(choice);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
    () => document.dispatchEvent(new Event("themechange")));
  // Paper is white.
  addEventListener("beforeprint", () => applyTheme("light"));
  addEventListener("afterprint", () => applyTheme(choice));
  applyTheme(choice);
  show();
}

export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
