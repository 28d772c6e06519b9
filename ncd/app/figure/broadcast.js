// Passes a message on to the other views, and keeps it for views created later.

export default function ({ data }) {
  (document.ncdTold ??= {})[data.event] = data;
  document.dispatchEvent(new Event(data.event));
}
