// One message on the screen: its text, what can be done with it, and what is known about it.

import { copyButton } from "./clipboard.js";
import { el, icon, iconButton } from "./dom.js";
import { showMarkdown } from "./markdown.js";

const NAMES = { user: "You", assistant: "Assistant" };

const ENDINGS = { stopped: "Stopped", length: "Cut off at the token limit" };

function facts({ ending, stats }) {
  const words = [];
  if (ENDINGS[ending]) words.push(ENDINGS[ending]);
  if (stats) {
    words.push(`${stats.completion} ${stats.completion === 1 ? "token" : "tokens"}`);
    if (stats.perSecond) words.push(`${stats.perSecond.toFixed(stats.perSecond < 10 ? 1 : 0)} tokens/s`);
    words.push(`first after ${(stats.firstMs / 1000).toFixed(2)} s`);
  }
  return words.join(" · ");
}

export class MessageView {
  // actions: {edit(message, text), regenerate(message)}
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.summary = el("summary");
    this.thoughts = el("div");
    this.reasoning = el("details", { class: "reasoning" }, this.summary, this.thoughts);
    this.text = el("div", { class: "text" });
    this.note = el("p", { class: "note", hidden: true });
    this.facts = el("span", { class: "facts" });
    this.root = el("article", { class: `message ${message.role}`, "aria-label": NAMES[message.role] });
    this.root.append(this.reasoning, this.text, this.note, this.toolbar());
    this.draw(false);
  }

  toolbar() {
    this.editButton = iconButton("pencil", "Edit message", () => this.edit());
    const buttons = [copyButton("Copy message", () => this.message.content), this.editButton];
    const regenerate = () => this.actions.regenerate(this.message);
    if (this.message.role === "assistant")
      buttons.push(iconButton("redo", "Regenerate answer", regenerate, { class: "icon-button regenerate" }));
    return el("div", { class: "toolbar" }, ...buttons, this.facts);
  }

  retryButton() {
    const retry = () => this.actions.regenerate(this.message);
    return el("button", { type: "button", class: "link regenerate", onclick: retry }, "Try again");
  }

  // Shows the message as it is now. `writing`: its text is still coming.
  draw(writing) {
    const { role, content, reasoning, error } = this.message;
    const thinks = writing && content === "";
    this.reasoning.hidden = !reasoning;
    this.summary.textContent = thinks ? "Reasoning…" : "Reasoning";
    this.thoughts.textContent = reasoning ?? "";
    if (role === "assistant") showMarkdown(this.text, content);
    else this.text.textContent = content;
    this.root.classList.toggle("writing", writing);
    this.root.classList.toggle("waiting", thinks && !reasoning);
    this.root.setAttribute("aria-busy", String(writing));
    this.facts.textContent = facts(this.message);
    this.note.hidden = !error;
    this.note.replaceChildren(...(error ? [icon("warning"), error, " ", this.retryButton()] : []));
  }

  edit() {
    const area = el("textarea", { "aria-label": "Message text", rows: 1 });
    area.value = this.message.content;
    const save = this.message.role === "user" ? "Send" : "Save";
    const form = el("form", { class: "editor" }, area, el("div", { class: "buttons" },
      el("button", { type: "button", class: "button", onclick: () => this.endEdit(form) }, "Cancel"),
      el("button", { type: "submit", class: "button primary" }, save)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!area.value.trim()) return;
      this.endEdit(form);
      this.actions.edit(this.message, area.value.trim());
    });
    form.addEventListener("keydown", (event) => this.editorKey(event, form));
    this.root.classList.add("editing");
    this.root.prepend(form);
    fitHeight(area);
    area.addEventListener("input", () => fitHeight(area));
    area.focus();
  }

  editorKey(event, form) {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.endEdit(form);
    } else if (isSendKey(event) && event.target.tagName === "TEXTAREA") {
      event.preventDefault();
      form.requestSubmit();
    }
  }

  endEdit(form) {
    form.remove();
    this.root.classList.remove("editing");
    this.editButton.focus();
  }
}

// Enter sends, Shift+Enter breaks the line; Enter that ends an input method's word does neither.
export const isSendKey = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

export function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
