// The open chat's messages on the screen, and the scrolling that follows a growing answer.

import { $ } from "./dom.js";
import { MessageView } from "./message_view.js";

const NEAR_PX = 80;

export class Conversation {
  constructor(actions) {
    this.actions = actions;
    this.views = new Map(); // message -> its view
    this.due = new Set(); // messages to draw in the next frame
    this.follows = true; // the end is in view, and stays there
    this.scroller = $("scroller");
    this.scroller.addEventListener("scroll", () => this.scrolled());
    $("to-end").addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.follow()).observe($("messages"));
  }

  // `writing`: the message whose text is still coming, if any.
  show(chat, writing) {
    this.views.clear();
    for (const message of chat.messages) this.views.set(message, new MessageView(message, this.actions));
    $("messages").replaceChildren(...[...this.views.values()].map((view) => view.root));
    if (writing) this.views.get(writing)?.draw(true);
    $("welcome").hidden = chat.messages.length > 0;
    this.toEnd();
  }

  // Draws `message` in the next frame, however often it is asked to before; nothing where it is of
  // another chat.
  redraw(message, writing) {
    if (!this.views.has(message)) return;
    if (!writing) return this.views.get(message).draw(false);
    if (this.due.size === 0) requestAnimationFrame(() => this.drawDue());
    this.due.add(message);
  }

  drawDue() {
    for (const message of this.due) if (this.views.has(message)) this.views.get(message).draw(this.isWriting(message));
    this.due.clear();
  }

  isWriting(message) {
    return this.views.get(message).root.classList.contains("writing");
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follows = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    $("to-end").hidden = this.follows;
  }

  follow() {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  toEnd() {
    this.follows = true;
    this.follow();
    this.scrolled();
  }
}
