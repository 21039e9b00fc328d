// Copying, also where the page is not served securely and navigator.clipboard does not exist.

import { icon, iconButton } from "./dom.js";
import { announce } from "./notices.js";

const SHOWN_MS = 1500;

function copyBySelection(text) {
  const area = document.createElement("textarea");
  const focused = document.activeElement;
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Copies what `text()` gives when it is pressed.
export function copyButton(label, text) {
  const button = iconButton("copy", label, async () => {
    const done = await copy(text());
    announce(done ? "Copied" : "The browser did not let this page copy");
    if (!done) return;
    button.replaceChildren(icon("check"));
    setTimeout(() => button.replaceChildren(icon("copy")), SHOWN_MS);
  });
  return button;
}
