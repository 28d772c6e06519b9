// A picture in a frame that can be zoomed and moved by dragging, with Ctrl and the wheel, with
// buttons, or with + − 0. A vertical swipe scrolls the page. The view is the zoom factor and the
// upper left corner of the visible part, in fractions of the picture.

import { swallowClick } from "./sizes.js";

const LARGEST = 40;

export function zoomable(frame, inner, changed = () => {}) {
  const view = { k: 1, x: 0, y: 0 };
  const within = (value, low, high) => Math.max(low, Math.min(high, value));

  function show() {
    const room = 1 - 1 / view.k;
    view.x = within(view.x, 0, room);
    view.y = within(view.y, 0, room);
    inner.style.width = inner.style.height = `${100 * view.k}%`;
    inner.style.left = `${-100 * view.k * view.x}%`;
    inner.style.top = `${-100 * view.k * view.y}%`;
    frame.classList.toggle("zoomed", view.k > 1);
    changed(view);
  }

  // The point under the pointer stays in place.
  function scale(factor, [x, y] = [0.5, 0.5]) {
    const k = within(view.k * factor, 1, LARGEST);
    view.x += x / view.k - x / k;
    view.y += y / view.k - y / k;
    view.k = k;
    show();
  }

  // Moves a part of the picture, in fractions of the whole, into the frame.
  function reveal(x0, y0, x1, y1) {
    const side = 1 / view.k;
    if (x0 < view.x || x1 > view.x + side) view.x = (x0 + x1 - side) / 2;
    if (y0 < view.y || y1 > view.y + side) view.y = (y0 + y1 - side) / 2;
    show();
  }

  // Shows the middle of the left side, or all of the picture.
  function open(k) {
    Object.assign(view, { k, x: 0, y: 0.5 - 0.5 / k });
    show();
  }

  const fit = () => open(1);
  const act = { in: () => scale(1.5), out: () => scale(1 / 1.5), fit };
  const keys = { "+": act.in, "=": act.in, "-": act.out, 0: fit };
  frame.addEventListener("wheel", wheel, { passive: false });
  frame.addEventListener("pointerdown", drag);
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  function wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    scale(Math.exp(-event.deltaY / 250), spot(frame, event));
  }

  function drag(down) {
    if (down.button !== 0 || view.k === 1) return;
    const { width, height } = frame.getBoundingClientRect();
    const from = { ...view };
    let moved = false;
    frame.onpointermove = (event) => {
      const [dx, dy] = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      if (!moved) frame.setPointerCapture(down.pointerId);
      moved = true;
      view.x = from.x - dx / width / view.k;
      view.y = from.y - dy / height / view.k;
      show();
    };
    frame.onpointerup = frame.onpointercancel = () => {
      frame.onpointermove = frame.onpointerup = frame.onpointercancel = null;
      if (moved) swallowClick(frame);
    };
  }

  show();
  return { view, act, fit, open, reveal, show };
}

// Returns the pointer's position in an element, in fractions of it.
export function spot(element, event) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
}
