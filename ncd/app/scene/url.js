// Links come from elements of several runs, and one of an older run may be shown after, or again
// after, one of a newer. Each has a number that grows with the messages of its session, and the
// newest alone counts. After a reconnection a session may be another, whose numbers begin anew.

const PAUSE = 100; // milliseconds between two links: browsers refuse an address that changes too often

// Returns whether a message is newer than all others of its kind that have been seen.
export function newest(kind, { session, number }) {
  const seen = (document.ncdSeen ??= { sessions: [], numbers: {} });
  if (!seen.sessions.includes(session)) {
    seen.sessions.push(session);
    seen.numbers = {};
  }
  if (session !== seen.sessions.at(-1) || number <= (seen.numbers[kind] ?? 0)) return false;
  seen.numbers[kind] = number;
  return true;
}

// Writes the newest link to the address, as soon as it may change again.
export function keepLink(link) {
  if (!newest("link", link)) return;
  const links = (document.ncdLinks ??= { last: -Infinity });
  links.next = link;
  links.timer ??= setTimeout(() => {
    Object.assign(links, { timer: null, last: performance.now() });
    follow(links.next.query, links.next.page);
  }, Math.max(0, links.last + PAUSE - performance.now()));
}

// Writes the state to the address. It replaces the entry, so that a page is one entry of the
// history. A message that arrives after its page was left is ignored.
export function follow(query, page) {
  if (!location.pathname.endsWith(`/${page}`)) return;
  const wanted = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(location.search))
    if (/^(embed.*|present|views|with)$/.test(name) && !wanted.has(name)) wanted.append(name, value);
  if (document.ncdOwn?.page !== page) document.ncdOwn = null;
  const own = document.ncdOwn; // what the browser itself keeps in the link
  if (own?.value) wanted.set(own.name, own.value);
  else if (own) wanted.delete(own.name);
  const search = wanted.size ? `?${wanted}`.replaceAll("%2C", ",").replaceAll("%3D", "=") : "";
  if (search !== location.search)
    history.replaceState(history.state, "", location.pathname + search + location.hash);
}
