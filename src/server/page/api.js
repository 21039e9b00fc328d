// Requests to the server that sent this page.

import { apiKey } from "./storage.js";

export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// Asks for a key and tells whether there is one now. Set by key_dialog.js.
let askKey = async () => false;
export const setKeyPrompt = (prompt) => (askKey = prompt);

function fetchWithKey(path, options) {
  const headers = { "Content-Type": "application/json" };
  if (apiKey()) headers.Authorization = `Bearer ${apiKey()}`;
  return fetch(path, { ...options, headers });
}

async function failure(response) {
  const body = await response.json().catch(() => null);
  return new ApiError(body?.error?.message ?? `The server answered ${response.status}.`, response.status);
}

const orElse = (promise, message) =>
  promise.catch((error) => {
    throw error.name === "AbortError" ? error : new ApiError(message);
  });

// A 200, or an ApiError. A 401 asks for the key and tries again.
async function call(path, options = {}) {
  for (;;) {
    const response = await orElse(fetchWithKey(path, options), "The server cannot be reached.");
    if (response.ok) return response;
    if (response.status !== 401 || !(await askKey())) throw await failure(response);
  }
}

// The data of each server-sent event.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await orElse(reader.read(), "The connection was lost.");
    if (done) return;
    const frames = (buffer + value).split("\n\n");
    buffer = frames.pop();
    for (const frame of frames) if (frame.startsWith("data: ")) yield frame.slice(6);
  }
}

// The one model that is served: {id, max_model_len, ...}.
export async function fetchModel() {
  return (await (await call("/v1/models")).json()).data[0];
}

// The chunks of a chat completion.
export async function* streamChat(body, signal) {
  const response = await call("/v1/chat/completions", { method: "POST", body: JSON.stringify(body), signal });
  for await (const data of events(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(chunk.error.message);
    yield chunk;
  }
  throw new ApiError("The connection ended before the answer did.");
}
