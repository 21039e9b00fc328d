// OpenAI's official client for Node against the server at SERVER_URL, which runs SmolLM2; the one at KEYED_URL wants the key "secret".
"use strict";

const assert = require("node:assert/strict");
const { setTimeout: sleep } = require("node:timers/promises");
const { test } = require("node:test");
const OpenAI = require("openai");

const { SERVER_URL, KEYED_URL, ANSWER } = process.env; // ANSWER: mlx-lm's to the question below
const options = { baseURL: `${SERVER_URL}/v1`, apiKey: "none", maxRetries: 0 };
const client = new OpenAI(options);
const QUESTION = [{ role: "user", content: "What is the capital of France?" }];
const GREEDY = { model: "default", messages: QUESTION, temperature: 0, max_tokens: 64 };
const ENDLESS = { model: "default", messages: QUESTION, temperature: 0, max_tokens: 1900, ignore_eos: true };

const PLACE = {
  type: "object",
  properties: { city: { type: "string", maxLength: 20 }, capital: { type: "boolean" } },
  required: ["city", "capital"],
  additionalProperties: false,
};
const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string", maxLength: 20 }, unit: { enum: ["C", "F"] } },
      required: ["city", "unit"],
      additionalProperties: false,
    },
  },
};
const CALL = { ...GREEDY, tools: [WEATHER], tool_choice: "required", parallel_tool_calls: false, max_tokens: 200 };

async function gauge(name) {
  const text = await (await fetch(`${SERVER_URL}/metrics`)).text();
  return Number(text.match(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m"))[1]);
}

const running = () => gauge("vllm:num_requests_running");

async function becomes(value, read) {
  for (let i = 0; i < 500; ++i) {
    if ((await read()) === value) return;
    await sleep(20);
  }
  assert.equal(await read(), value);
}

// After a client has left: nothing runs, waits or holds memory.
async function idle() {
  for (const name of ["num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"])
    await becomes(0, () => gauge(`vllm:${name}`));
}

function checkPlace(text) {
  const place = JSON.parse(text);
  assert.deepEqual(Object.keys(place), ["city", "capital"]);
  assert.equal(typeof place.city, "string");
  assert.equal(typeof place.capital, "boolean");
}

function checkCall(call) {
  assert.equal(call.type, "function");
  assert.equal(call.function.name, "get_weather");
  const { city, unit, ...rest } = JSON.parse(call.function.arguments);
  assert.ok(typeof city === "string" && ["C", "F"].includes(unit));
  assert.deepEqual(rest, {});
}

test("chat", async () => {
  const reply = await client.chat.completions.create(GREEDY);
  assert.equal(reply.choices[0].message.content, ANSWER);
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
});

test("a streamed chat, event by event", async () => {
  const stream = await client.chat.completions.create({ ...GREEDY, stream: true, stream_options: { include_usage: true } });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  assert.equal(choices.map((choice) => choice.delta.content ?? "").join(""), ANSWER);
  assert.equal(choices[0].delta.role, "assistant");
  assert.deepEqual(choices.map((choice) => choice.finish_reason).filter(Boolean), ["stop"]);
  const whole = await client.chat.completions.create(GREEDY);
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.deepEqual(
    ["prompt_tokens", "completion_tokens"].map((key) => chunks.at(-1).usage[key]),
    ["prompt_tokens", "completion_tokens"].map((key) => whole.usage[key]),
  );
});

test("a streamed chat, put together by the client", async () => {
  const stream = client.chat.completions.stream({ ...GREEDY, logprobs: true });
  let text = "";
  stream.on("content", (delta) => (text += delta));
  const reply = await stream.finalChatCompletion();
  assert.equal(text, ANSWER);
  assert.equal(reply.choices[0].message.content, ANSWER);
  assert.equal(reply.choices[0].logprobs.content.map((entry) => entry.token).join(""), ANSWER);
});

test("completions", async () => {
  const body = { model: "default", prompt: "One, two, three,", temperature: 0, max_tokens: 12 };
  const whole = await client.completions.create(body);
  let text = "";
  for await (const chunk of await client.completions.create({ ...body, stream: true })) text += chunk.choices[0]?.text ?? "";
  assert.ok(text.length > 0);
  assert.equal(text, whole.choices[0].text);
});

test("tools", async () => {
  const reply = await client.chat.completions.create(CALL);
  const { message, finish_reason } = reply.choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.content, null);
  assert.equal(message.tool_calls.length, 1);
  checkCall(message.tool_calls[0]);
  const streamed = await client.chat.completions.stream(CALL).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.tool_calls[0].function.arguments, message.tool_calls[0].function.arguments);
  const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "18 degrees, sunny" };
  const after = await client.chat.completions.create({ ...GREEDY, messages: [...QUESTION, message, result], tools: [WEATHER], tool_choice: "none" });
  assert.ok(after.choices[0].message.content);
});

test("tools that the client runs", async () => {
  const asked = [];
  const callback = (call) => asked.push(call) && "18 degrees, sunny";
  const tool = { ...WEATHER, function: { ...WEATHER.function, function: callback, parse: JSON.parse } };
  const named = { type: "function", function: { name: "get_weather" } };
  const runner = client.chat.completions.runTools({ ...CALL, tools: [tool], tool_choice: named }, { maxChatCompletions: 1 });
  await runner.done();
  assert.equal(asked.length, 1);
  assert.ok(["C", "F"].includes(asked[0].unit));
  assert.equal(runner.messages.at(-1).role, "tool");
});

test("structured output", async () => {
  const format = { type: "json_schema", json_schema: { name: "place", strict: true, schema: PLACE } };
  const body = { ...GREEDY, response_format: format, max_tokens: 200 };
  const reply = await client.chat.completions.parse(body);
  checkPlace(reply.choices[0].message.content);
  assert.deepEqual(reply.choices[0].message.parsed, JSON.parse(reply.choices[0].message.content));
  const streamed = await client.chat.completions.stream(body).finalChatCompletion();
  assert.equal(streamed.choices[0].message.content, reply.choices[0].message.content);
});

test("responses", async () => {
  const body = { model: "default", input: QUESTION[0].content, temperature: 0, max_output_tokens: 64 };
  const reply = await client.responses.create(body);
  assert.equal(reply.output_text, ANSWER);
  assert.equal((await client.responses.retrieve(reply.id)).output_text, ANSWER);
  const stream = client.responses.stream({ ...body, store: false });
  let text = "";
  stream.on("response.output_text.delta", (event) => (text += event.delta));
  assert.equal((await stream.finalResponse()).output_text, ANSWER);
  assert.equal(text, ANSWER);
  const text_format = { format: { type: "json_schema", name: "place", strict: true, schema: PLACE } };
  checkPlace((await client.responses.create({ ...body, text: text_format, max_output_tokens: 200 })).output_text);
});

test("embeddings", async () => {
  const body = { model: "default", input: ["The capital of France", "A town in Peru"] };
  const packed = await client.embeddings.create(body); // the client asks for base64 unless told otherwise
  const plain = await client.embeddings.create({ ...body, encoding_format: "float" });
  assert.equal(packed.data.length, 2);
  packed.data.forEach(({ embedding, index }) => {
    assert.deepEqual(embedding, plain.data[index].embedding.map(Math.fround));
    assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5);
  });
  const short = await client.embeddings.create({ ...body, dimensions: 8 });
  assert.equal(short.data[0].embedding.length, 8);
});

test("models", async () => {
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert.equal(models.length, 1);
  assert.equal((await client.models.retrieve(models[0])).id, models[0]);
});

test("errors", async () => {
  const refused = (body, kind, expected) =>
    assert.rejects(client.chat.completions.create({ ...GREEDY, ...body }), (error) => {
      assert.ok(error instanceof kind, error);
      for (const [key, value] of Object.entries(expected)) assert.equal(error[key], value);
      assert.ok(error.requestID);
      return true;
    });
  for (const stream of [false, true]) {
    await refused({ temperature: -1, stream }, OpenAI.BadRequestError, { status: 400, param: "temperature", type: "invalid_request_error" });
    await refused({ model: "gpt-5", stream }, OpenAI.NotFoundError, { status: 404, code: "model_not_found" });
    const long = [{ role: "user", content: "q ".repeat(5000) }];
    await refused({ messages: long, stream }, OpenAI.BadRequestError, { code: "context_length_exceeded" });
  }
  await assert.rejects(new OpenAI({ ...options, baseURL: `${KEYED_URL}/v1` }).models.list(), OpenAI.AuthenticationError);
  const keyed = new OpenAI({ ...options, baseURL: `${KEYED_URL}/v1`, apiKey: "secret" });
  assert.equal((await keyed.models.list()).data.length, 1);
});

test("a timeout", async () => {
  const call = client.chat.completions.create(ENDLESS, { timeout: 300 });
  await assert.rejects(call, OpenAI.APIConnectionTimeoutError);
  await idle();
});

test("an abort of a stream", async () => {
  const stream = await client.chat.completions.create({ ...ENDLESS, stream: true });
  let events = 0;
  for await (const _ of stream) {
    if (++events < 5) continue;
    assert.equal(await running(), 1);
    stream.controller.abort();
  }
  await idle();
});

test("an abort of an answer that has not come", async () => {
  const abort = new AbortController();
  const rejected = assert.rejects(client.chat.completions.create(ENDLESS, { signal: abort.signal }), OpenAI.APIUserAbortError);
  await becomes(1, running);
  abort.abort();
  await rejected;
  await idle();
});

test("an abort of a stream that the client puts together", async () => {
  const stream = client.chat.completions.stream(ENDLESS);
  stream.once("content", () => stream.abort());
  await assert.rejects(stream.done(), OpenAI.APIUserAbortError);
  await idle();
  assert.equal((await client.chat.completions.create(GREEDY)).choices[0].message.content, ANSWER);
});
