// Talks to the chat engine with the official openai client and checks that both
// agree. Usage: node openai_client.mjs http://127.0.0.1:PORT [MODEL]
// The openai package must be resolvable from this file or from the working
// directory. Prints OK, or says what is wrong and exits with 1.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const base = process.argv[2];
const model = process.argv[3] ?? "tiny-chat";
if (!base) {
  console.error("usage: node openai_client.mjs BASE_URL [MODEL]");
  process.exit(2);
}

async function load() {
  try {
    return await import("openai");
  } catch {
    const require = createRequire(path.join(process.cwd(), "package.json"));
    return await import(pathToFileURL(require.resolve("openai")).href);
  }
}
const module = await load();
const OpenAI = module.OpenAI ?? module.default?.OpenAI ?? module.default;
const client = new OpenAI({ baseURL: `${base.replace(/\/$/, "")}/v1`, apiKey: "none", maxRetries: 0, timeout: 30_000 });
const messages = [
  { role: "system", content: "Be short." },
  { role: "user", content: "Tell me about the sea." },
];

// Streaming with usage.
const stream = await client.chat.completions.create({
  model, messages, max_tokens: 12, temperature: 0, stream: true, stream_options: { include_usage: true },
});
let text = "", usage = null, finish = null, chunks = 0;
for await (const chunk of stream) {
  assert.equal(chunk.object, "chat.completion.chunk");
  assert.equal(chunk.model, model);
  chunks++;
  if (chunk.choices.length === 0) {
    usage = chunk.usage;
    continue;
  }
  assert.equal(usage, null, "a chunk with choices came after the usage");
  text += chunk.choices[0].delta.content ?? "";
  finish = chunk.choices[0].finish_reason ?? finish;
}
assert.ok(text.length > 0, "the stream had no text");
assert.equal(finish, "length");
assert.equal(usage.completion_tokens, 12);
assert.equal(usage.total_tokens, usage.prompt_tokens + 12);
assert.ok(chunks >= 13, `only ${chunks} chunks`);

// The client's own accumulator accepts the stream.
const accumulated = await client.chat.completions
  .stream({ model, messages, max_tokens: 12, temperature: 0 })
  .finalChatCompletion();
assert.equal(accumulated.choices[0].message.content, text);

// Whole.
const whole = await client.chat.completions.create({ model, messages, max_completion_tokens: 12, temperature: 0 });
assert.equal(whole.object, "chat.completion");
assert.equal(whole.choices[0].message.role, "assistant");
assert.equal(whole.choices[0].message.content, text, "streamed and whole answers differ at temperature 0");
assert.equal(whole.usage.completion_tokens, 12);

// Text completion, several choices, an aborted stream.
const completion = await client.completions.create({ model, prompt: "Once", max_tokens: 4, n: 2, seed: 1 });
assert.equal(completion.choices.length, 2);
const aborted = await client.chat.completions.create({ model, messages, max_tokens: 400, stream: true });
for await (const _ of aborted) break;
aborted.controller.abort();

// Models and errors.
const list = await client.models.list();
assert.deepEqual(list.data.map((m) => m.id), [model]);
await assert.rejects(client.chat.completions.create({ model: "no-such-model", messages }), (e) => {
  assert.ok(e instanceof OpenAI.NotFoundError, `${e?.constructor?.name} instead of NotFoundError`);
  assert.equal(e.status, 404);
  assert.equal(e.type, "NotFoundError");
  assert.equal(e.param, "model");
  return true;
});
await assert.rejects(client.chat.completions.create({ model, messages, temperature: -1 }), (e) => {
  assert.ok(e instanceof OpenAI.BadRequestError, `${e?.constructor?.name} instead of BadRequestError`);
  return true;
});
console.log("OK");
