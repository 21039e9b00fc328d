// What the page says about itself: a banner that stays, a toast that goes, and words for screen
// readers alone.

import { $, el } from "./dom.js";

const TOAST_MS = 8000;
let timer = 0;

export function announce(text) {
  $("announcer").textContent = text;
}

// "" takes it away.
export function banner(text) {
  $("banner").hidden = !text;
  $("banner").textContent = text;
}

export function hideToast() {
  clearTimeout(timer);
  $("toast").replaceChildren();
}

// `undo`, where given, is what its button does.
export function toast(text, undo) {
  hideToast();
  const act = () => {
    hideToast();
    undo();
  };
  const button = undo ? [el("button", { type: "button", class: "link", onclick: act }, "Undo")] : [];
  $("toast").replaceChildren(el("span", {}, text), ...button);
  timer = setTimeout(hideToast, TOAST_MS);
}
