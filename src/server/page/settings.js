// The settings of a chat: its system prompt and how tokens are sampled. What is left empty is not
// sent, so that the model's own default holds.

import { $, el } from "./dom.js";

const NUMBERS = [
  { name: "temperature", label: "Temperature", min: 0, max: 5, step: 0.1, hint: "0 always takes the likeliest token." },
  { name: "top_p", label: "Top p", min: 0, max: 1, step: 0.05, hint: "Only the likeliest tokens that hold this share." },
  { name: "top_k", label: "Top k", min: 0, max: 1000, step: 1, hint: "Only so many of the likeliest tokens." },
  { name: "min_p", label: "Min p", min: 0, max: 1, step: 0.01, hint: "Only tokens this likely beside the likeliest." },
  { name: "repetition_penalty", label: "Repetition penalty", min: 0.05, max: 5, step: 0.05, hint: "Above 1 avoids tokens used before." },
  { name: "max_tokens", label: "Longest answer", min: 1, max: 1000000, step: 1, hint: "In tokens." },
  { name: "seed", label: "Seed", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, hint: "The same seed gives the same answer." },
];

function numberField({ name, label, hint, ...range }) {
  const attributes = { id: `set-${name}`, name, type: "number", inputmode: "decimal", placeholder: "default" };
  const input = el("input", { ...attributes, ...range, "aria-describedby": `hint-${name}` });
  const text = [el("label", { for: input.id }, label), el("span", { id: `hint-${name}`, class: "hint" }, hint)];
  return el("div", { class: "field" }, el("div", {}, ...text), input);
}

// The number in a field; undefined for none or a wrong one. Steps are for the arrows: between them
// any number goes, unless only whole ones do.
function readNumber({ name, step }) {
  const input = $(`set-${name}`);
  const { badInput, rangeUnderflow, rangeOverflow, stepMismatch } = input.validity;
  const wrong = badInput || rangeUnderflow || rangeOverflow || (step === 1 && stepMismatch);
  input.setAttribute("aria-invalid", String(wrong));
  return wrong || input.value === "" ? undefined : Number(input.value);
}

function read() {
  const settings = { system: $("system").value };
  for (const field of NUMBERS) settings[field.name] = readNumber(field);
  return settings;
}

export function showSettings(settings) {
  $("system").value = settings.system ?? "";
  for (const { name } of NUMBERS) $(`set-${name}`).value = settings[name] ?? "";
  read(); // marks no field as wrong any more
}

// `changed(settings)` is called with each change.
export function initSettings(changed) {
  $("sampling").append(...NUMBERS.map(numberField));
  $("settings-form").addEventListener("input", () => changed(read()));
  $("settings-reset").addEventListener("click", () => {
    showSettings({});
    changed(read());
  });
  $("settings-open").addEventListener("click", () => $("settings").showModal());
  for (const id of ["settings-close", "settings-done"]) $(id).addEventListener("click", () => $("settings").close());
}

// The body of the request for the next message of `chat`.
export function requestBody(chat) {
  const { system, ...sampling } = chat.settings;
  const said = chat.messages.filter((message) => message.content !== "");
  const messages = said.map(({ role, content, reasoning }) =>
    reasoning ? { role, content, reasoning_content: reasoning } : { role, content });
  if (system?.trim()) messages.unshift({ role: "system", content: system });
  return { ...sampling, messages, stream: true, stream_options: { include_usage: true } };
}
