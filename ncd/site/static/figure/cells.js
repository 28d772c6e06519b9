// Numbers as pixels of a canvas, in the colours of a scale.

// Returns the 256 colours between some hexadecimal ones.
export function shades(stops) {
  const every = stops.split(" ");
  const channel = (stop, i) => parseInt(stop.slice(2 * i, 2 * i + 2), 16);
  return Array.from({ length: 256 }, (_, n) => {
    const at = (n / 255) * (every.length - 1);
    const low = Math.min(Math.floor(at), every.length - 2);
    return [0, 1, 2].map((i) => channel(every[low], i) * (low + 1 - at) + channel(every[low + 1], i) * (at - low));
  });
}

// Paints a pixel for each cell; one without a colour is transparent.
export function paintCells(canvas, rows, columns, colour) {
  const image = new ImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const found = colour(Math.floor(i / columns), i % columns);
    if (found) image.data.set([...found, 255], 4 * i);
  }
  Object.assign(canvas, { width: columns, height: rows });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Returns the colour of a number on a scale of 256, nothing where it is masked.
export function shade(scale, value, low, high) {
  if (!Number.isFinite(value)) return null;
  return scale[Math.round(255 * Math.min(1, Math.max(0, (value - low) / (high - low || 1))))];
}
