// What a script meets in a page, for tests without a browser: elements that take everything, and
// requests that wait for their answers until a test gives them.

// Anything that a browser has: every part of it is such a thing again, unless it was set.
function thing(parts = {}) {
  const get = (_, name) => {
    if (name === Symbol.toPrimitive) return () => "";
    if (name === Symbol.iterator) return function* () {};
    if (name === "then") return undefined; // it is no promise
    return name in parts ? parts[name] : (parts[name] = thing());
  };
  const set = (_, name, value) => ((parts[name] = value), true);
  return new Proxy(function () {}, { get, set, apply: () => thing(), construct: () => thing() });
}

const elements = {}; // by selector
const element = (path) => (elements[path] ??= thing());
const heard = {}; // what the script does at an event of its document
globalThis.document = thing({
  querySelector: element,
  querySelectorAll: () => [],
  addEventListener: (name, heed) => (heard[name] = heed),
});
for (const name of ["window", "parent", "history", "location", "ResizeObserver", "MutationObserver", "matchMedia", "requestAnimationFrame", "getComputedStyle"])
  globalThis[name] = thing();
Object.assign(globalThis, { addEventListener() {}, innerWidth: 1280 });

const requests = []; // in their order; each is answered by `come`, or fails by `fail`
globalThis.fetch = (address, { body } = {}) =>
  new Promise((resolve, reject) => {
    const come = (data, status = 200) => (resolve({ status, ok: status < 300, json: async () => data, body: new Blob([JSON.stringify(data)]).stream() }), settled());
    const fail = () => (reject(new TypeError("the server is away")), settled());
    requests.push({ address: `${address}`, body, come, fail });
  });
const addresses = () => requests.map(({ address }) => address);
// Waits until everything that can go on has gone on; an answer that is read as a stream takes turns.
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
};
