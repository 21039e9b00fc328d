// Where a message is written and sent, and an answer stopped.

import { $ } from "./dom.js";
import { fitHeight, isSendKey } from "./message_view.js";

const isTouch = matchMedia("(pointer: coarse)"); // focus on a phone would open its keyboard

export function focusComposer() {
  if (!isTouch.matches) $("prompt").focus();
}

export function setBusy(busy) {
  const focused = [$("send"), $("stop")].includes(document.activeElement);
  $("send").hidden = busy;
  $("stop").hidden = !busy;
  if (focused) $("prompt").focus();
}

// send(text) returns whether it took the text.
export function initComposer({ send, stop, editLast }) {
  const prompt = $("prompt");
  const update = () => {
    fitHeight(prompt);
    $("send").disabled = !prompt.value.trim();
  };
  const submit = () => {
    if (!prompt.value.trim() || !send(prompt.value.trim())) return;
    prompt.value = "";
    update();
    focusComposer();
  };
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  prompt.addEventListener("input", update);
  prompt.addEventListener("keydown", (event) => {
    if (isSendKey(event)) {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && !prompt.value) {
      editLast();
    }
  });
  $("stop").addEventListener("click", stop);
  for (const button of $("suggestions").children) button.addEventListener("click", () => send(button.textContent));
  update();
}
