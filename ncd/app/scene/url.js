// Writes the state to the address. It replaces the entry, so that a page is one entry of the
// history. A message that arrives after its page was left is ignored.
function follow(query, page) {
  if (!location.pathname.endsWith(`/${page}`)) return;
  const wanted = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(location.search))
    if (/^(embed.*|present|views|with)$/.test(name) && !wanted.has(name)) wanted.append(name, value);
  if (document.ncdOwn?.page !== page) document.ncdOwn = null;
  const own = document.ncdOwn; // what the browser itself keeps in the link
  if (own) own.value ? wanted.set(own.name, own.value) : wanted.delete(own.name);
  const search = wanted.size ? `?${wanted}`.replaceAll("%2C", ",").replaceAll("%3D", "=") : "";
  if (search !== location.search)
    history.replaceState(history.state, "", location.pathname + search + location.hash);
}
