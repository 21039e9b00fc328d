// Asks for the API key when the server wants one. Requests that fail together share one question.

import { setKeyPrompt } from "./api.js";
import { $ } from "./dom.js";
import { apiKey, setApiKey } from "./storage.js";

let question = null;

function ask() {
  const dialog = $("key-dialog");
  $("key-wrong").hidden = !apiKey();
  $("key").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "use"), { once: true });
  });
}

export function initKeyDialog() {
  $("key-form").addEventListener("submit", () => setApiKey($("key").value.trim()));
  $("key-cancel").addEventListener("click", () => $("key-dialog").close());
  setKeyPrompt(() => (question ??= ask().finally(() => (question = null))));
}
