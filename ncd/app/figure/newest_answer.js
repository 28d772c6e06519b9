// Requests for drawings while something moves: one at a time, and always for what is wanted by then.
// An answer is lines of JSON, the drawing first; once that has come, a newer wish ends the rest.

// Asks for the address that `wanted` returns, until that has been answered, or is none. `show` gets
// each line of an answer, `fail` a status, 0 if there is no server; both with the address.
export async function askNewest(asker, { wanted, headers, show, fail }) {
  if (asker.asked) return asker.hangUp?.();
  const isNewer = () => wanted() && wanted() !== asker.asked;
  try {
    while (isNewer()) {
      asker.asked = wanted();
      const call = new AbortController();
      const options = { headers: headers?.(), signal: call.signal };
      const answer = await fetch(asker.asked, options).catch(() => null);
      if (answer?.status !== 200) fail(answer?.status ?? 0, asker.asked);
      else
        for await (const line of lines(answer.body)) {
          show(line, asker.asked);
          asker.hangUp = () => isNewer() && call.abort();
          asker.hangUp();
        }
      asker.hangUp = null;
    }
  } finally {
    asker.asked = asker.hangUp = null;
  }
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const read = () => reader.read().catch(() => ({ done: true })); // cut off, such as by hanging up
  let text = "";
  for (let next = await read(); !next.done; next = await read()) {
    const parts = `${text}${next.value}`.split("\n");
    text = parts.pop();
    yield* parts.map((part) => JSON.parse(part));
  }
  if (text) yield JSON.parse(text);
}
