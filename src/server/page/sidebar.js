// The list of chats; on a narrow screen a drawer over the conversation.

import { $, el, iconButton } from "./dom.js";

let shown = ""; // what the list shows: a button that is being pressed must not be replaced by its like

// actions: {open(chat), remove(chat)}
export function showChats(chats, open, actions) {
  const wanted = JSON.stringify([open.id, chats.map(({ id, title }) => [id, title])]);
  if (wanted === shown) return;
  shown = wanted;
  const items = chats.map((chat) => {
    const current = chat === open ? "page" : null;
    const go = () => actions.open(chat);
    return el("li", {},
      el("button", { type: "button", id: `chat-${chat.id}`, class: "chat", "aria-current": current, onclick: go }, chat.title),
      iconButton("trash", `Delete chat: ${chat.title}`, () => actions.remove(chat)));
  });
  const focused = document.activeElement.id;
  $("chats").replaceChildren(...items);
  if (focused.startsWith("chat-")) $(focused)?.focus();
  $("no-chats").hidden = chats.length > 0;
}

export function closeDrawer() {
  setDrawer(false);
}

function setDrawer(isOpen) {
  document.body.classList.toggle("drawer-open", isOpen);
  $("drawer").setAttribute("aria-expanded", String(isOpen));
}

export function initDrawer() {
  $("drawer").addEventListener("click", () => {
    setDrawer(true);
    $("new-chat").focus();
  });
  $("backdrop").addEventListener("click", closeDrawer);
  $("sidebar").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !document.body.classList.contains("drawer-open")) return;
    closeDrawer();
    $("drawer").focus();
  });
}
