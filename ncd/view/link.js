// The address says what is seen. It is replaced, so that a page stays one entry of the history.
// A message that comes after its page was left says nothing of the next one.
function follow(query, page) {
  if (!location.pathname.endsWith(`/${page}`)) return;
  const wanted = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(location.search))
    if (name.startsWith("embed")) wanted.append(name, value);
  const search = wanted.size ? `?${wanted}` : "";
  if (search !== location.search)
    history.replaceState(history.state, "", location.pathname + search + location.hash);
}
