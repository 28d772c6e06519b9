// Tells the other views of the page what has come, and keeps it for those that are made later.

export default function ({ data }) {
  (document.ncdTold ??= {})[data.event] = data;
  document.dispatchEvent(new Event(data.event));
}
