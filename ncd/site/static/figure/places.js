// Places of pictures: each is chosen by the pointer or the arrow keys, and framed.

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const rect = (name, x, y, w, h) => `<rect class="${name}" x="${x}" y="${y}" width="${w}" height="${h}"/>`;
export const framed = (x, y, w, h) => rect("frame", x, y, w, h) + rect("frame in", x, y, w, h);

// Returns the pointer's place in a picture, as shares of its height and width.
export function shares(picture, { clientX, clientY }) {
  const { left, top, width, height } = picture.getBoundingClientRect();
  return [(clientY - top) / height, (clientX - left) / width];
}

// Lets places of a picture be chosen: `at` gets shares while the pointer drags, `step` the rows and
// columns of an arrow, and `rest` hears that the pointer has let go.
export function choosePlaces(picture, { at, step, rest }) {
  picture.onpointerdown = (event) => {
    picture.setPointerCapture(event.pointerId);
    at(shares(picture, event));
  };
  picture.onpointermove = (event) => event.buttons && at(shares(picture, event));
  picture.onpointerup = rest;
  picture.onkeydown = (event) => stepBy(event, step);
}

// Takes an arrow key as a step down and across.
export function stepBy(event, step) {
  if (!ARROWS[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  step(ARROWS[event.key]);
}
