// Runs a model beside the page, so that the page answers meanwhile. The runtime is loaded once.

import * as ort from "./ort.mjs";

ort.env.wasm.numThreads = 1; // several threads need headers that a static host may not send
ort.env.wasm.proxy = false;
let session = null;

async function begun(url) {
  const packed = new Uint8Array(await bytes(new URL("ort.wasm.gz", import.meta.url)));
  const gzip = packed[0] === 0x1f && packed[1] === 0x8b; // some hosts unpack it on the way
  const stream = () => new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  ort.env.wasm.wasmBinary = gzip ? await new Response(stream()).arrayBuffer() : packed.buffer;
  return ort.InferenceSession.create(new Uint8Array(await bytes(url)));
}

async function bytes(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} is not there (${answer.status})`);
  return answer.arrayBuffer();
}

self.onmessage = async ({ data: { number, model, inputs } }) => {
  try {
    session ??= begun(model);
    const ready = await session;
    const feeds = inputs.map(({ name, kind, data, dims }) => [name, new ort.Tensor(kind, data, dims)]);
    const start = performance.now();
    const found = await ready.run(Object.fromEntries(feeds));
    const ms = performance.now() - start;
    const values = Object.entries(found).map(([name, { data, dims }]) => [name, { data: Float32Array.from(data, Number), dims }]);
    self.postMessage({ number, ms, values: Object.fromEntries(values) });
  } catch (error) {
    session = null;
    self.postMessage({ number, error: `${error.message ?? error}` });
  }
};
