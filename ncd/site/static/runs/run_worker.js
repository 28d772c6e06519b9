// Runs models beside the page, so that the page answers meanwhile. The runtime is loaded once.

import * as ort from "./ort.mjs";
import { initial } from "./initial_values.js";
import { normals, wholes } from "./torch_random.js";

ort.env.wasm.numThreads = 1; // several threads need headers that a static host may not send
ort.env.wasm.proxy = false;
let ready = null;
const sessions = new Map(); // by the model's address and the arrays that it gives besides
const files = new Map();

async function begun() {
  const packed = new Uint8Array(await bytes(new URL("ort.wasm.gz", import.meta.url)));
  const gzip = packed[0] === 0x1f && packed[1] === 0x8b; // some hosts unpack it on the way
  const stream = () => new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  ort.env.wasm.wasmBinary = gzip ? await new Response(stream()).arrayBuffer() : packed.buffer;
}

function bytes(url) {
  if (!files.has(`${url}`)) files.set(`${url}`, loaded(url));
  return files.get(`${url}`);
}

async function loaded(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} is not there (${answer.status})`);
  return answer.arrayBuffer();
}

async function session(model, more) {
  await (ready ??= begun());
  const key = `${model} ${more}`;
  if (!sessions.has(key)) sessions.set(key, ort.InferenceSession.create(giving(new Uint8Array(await bytes(model)), more)));
  return sessions.get(key);
}

// An ONNX file whose graph has these arrays as outputs, too. In its encoding, a list grows by what
// is appended: 0x3a begins the graph, 0x62 an output, 0x0a its name.
function giving(file, names) {
  const field = (tag, inner) => [tag, ...varint(inner.length), ...inner];
  const output = (name) => field(0x62, field(0x0a, [...new TextEncoder().encode(name)]));
  const more = names.length ? field(0x3a, names.flatMap(output)) : [];
  const found = new Uint8Array(file.length + more.length);
  found.set(file);
  found.set(more, file.length);
  return found;
}

function varint(number) {
  return number < 128 ? [number] : [(number & 127) | 128, ...varint(number >> 7)];
}

let ready_inputs = new Map(); // those of the last run, which are often those of the next

async function tensors(inputs) {
  const found = new Map();
  const feeds = {};
  for (const input of inputs) {
    const key = JSON.stringify(input);
    found.set(key, (feeds[input.name] = ready_inputs.get(key) ?? (await tensor(input))));
  }
  ready_inputs = found;
  return feeds;
}

async function tensor({ kind, dims, ...own }) {
  const count = dims.reduce((all, each) => all * each, 1);
  const found = await numbers(own, count);
  const whole = kind === "int64" && !(found instanceof BigInt64Array);
  return new ort.Tensor(kind, whole ? BigInt64Array.from(found, (each) => BigInt(each)) : found, dims);
}

// Returns numbers that are given, or stand in a file, or are drawn from a seed.
async function numbers({ data, file, at, seed, below, start, axes }, count) {
  if (data) return data;
  if (file) return new Float32Array(await bytes(file), 4 * at, count);
  if (below !== undefined) return wholes(seed, count, below);
  return start === undefined ? normals(seed, count) : initial(start, axes ?? [], seed, count);
}

self.onmessage = async ({ data: { number, model, more, wanted, inputs } }) => {
  try {
    const run = await session(model, more);
    const feeds = await tensors(inputs);
    const start = performance.now();
    const asked = wanted.filter((name) => !(name in feeds));
    const made = asked.length ? await run.run(feeds, asked) : {};
    const ms = performance.now() - start;
    const plain = (name) => {
      const { data, dims } = made[name] ?? feeds[name];
      return [name, { data: Float32Array.from(data, Number), dims: [...dims] }];
    };
    self.postMessage({ number, ms, values: Object.fromEntries(wanted.map(plain)) });
  } catch (error) {
    self.postMessage({ number, error: `${error.message ?? error}` });
  }
};
