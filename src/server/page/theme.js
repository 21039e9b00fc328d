// Dark and light: the system's choice until the button says otherwise.

import { $, icon } from "./dom.js";
import { loadPreference, savePreference } from "./storage.js";

const NEXT = { system: "light", light: "dark", dark: "system" };

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  const button = $("theme");
  const label = `Theme: ${theme}. Change to ${NEXT[theme]}`;
  button.setAttribute("aria-label", label);
  button.title = label;
  button.replaceChildren(icon(`theme-${theme}`));
}

export function initTheme() {
  const saved = loadPreference("theme");
  apply(saved in NEXT ? saved : "system");
  $("theme").addEventListener("click", () => {
    const theme = NEXT[document.documentElement.dataset.theme];
    apply(theme);
    savePreference("theme", theme);
  });
}
