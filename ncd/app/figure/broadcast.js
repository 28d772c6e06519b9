// Passes a message on to the other views, and keeps it for views created later. One with a number is
// passed on once, and not after a newer one; a drawing has none, so that the browser keeps it.

import { newest } from "../scene/url.js";

export default function ({ data }) {
  if (data.number && !newest(data.event, data)) return;
  (document.ncdTold ??= {})[data.event] = data;
  document.dispatchEvent(new Event(data.event));
}
