// An answer in the making. It goes on while another chat is on the screen.

import { streamChat } from "./api.js";
import { requestBody } from "./settings.js";

// What is worth keeping of a chunk's `usage` and `timings`.
function statsOf({ usage, timings }) {
  return {
    prompt: usage.prompt_tokens,
    completion: usage.completion_tokens,
    perSecond: timings.predicted_per_second,
    firstMs: timings.ttft_ms,
  };
}

function absorb(message, chunk) {
  const choice = chunk.choices[0];
  message.content += choice?.delta.content ?? "";
  message.reasoning += choice?.delta.reasoning_content ?? "";
  if (choice?.finish_reason) message.ending = choice.finish_reason;
  if (chunk.usage) message.stats = statsOf(chunk);
}

// Appends the answer to `chat` and fills it as it comes, calling `grown(message)` each time. Never
// throws: what goes wrong stands in message.error.
export class Generation {
  constructor(chat, grown) {
    const body = requestBody(chat);
    this.message = { role: "assistant", content: "", reasoning: "" };
    this.abort = new AbortController();
    chat.messages.push(this.message);
    this.done = this.run(body, grown);
  }

  async run(body, grown) {
    try {
      for await (const chunk of streamChat(body, this.abort.signal)) {
        absorb(this.message, chunk);
        grown(this.message);
      }
    } catch (error) {
      if (this.abort.signal.aborted) this.message.ending = "stopped";
      else this.message.error = error.message;
    }
  }

  stop() {
    this.abort.abort();
  }
}
