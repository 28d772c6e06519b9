// What the plane and the hidden space are drawn with: regions, lines and points on a canvas.

import { classOf, mix, times } from "./hidden_space.js";

const FAINT = 0.12;
const STRONG = 0.36; // of the colour of a class, where it is sure

// A canvas as fine as the screen; its side in the page's points.
export function board(canvas) {
  const fine = window.devicePixelRatio || 1;
  const side = Math.max(1, canvas.clientWidth);
  const wide = Math.round(side * fine);
  if (canvas.width !== wide) canvas.width = canvas.height = wide;
  const ink = canvas.getContext("2d");
  ink.setTransform(wide / side, 0, 0, wide / side, 0, 0);
  ink.clearRect(0, 0, side, side);
  return { ink, side };
}

export const shade = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;

// The classes of all places of a square, as colours, and the borders between them.
export function regions(host, ink, side, scoresAt, strength = 1) {
  const { p, colours } = host.data;
  const n = p <= 12 ? 121 : p <= 64 ? 71 : 41;
  const image = new ImageData(n, n);
  const found = Array.from({ length: n * n }, (_, i) =>
    scoresAt(((i % n) * side) / (n - 1), (Math.floor(i / n) * side) / (n - 1)),
  );
  for (const [i, scores] of found.entries()) {
    const alpha = FAINT + (STRONG - FAINT) * sure(scores);
    image.data.set([...colours[classOf(scores)], 255 * alpha * strength], 4 * i);
  }
  const small = new OffscreenCanvas(n, n);
  small.getContext("2d").putImageData(image, 0, 0);
  const half = side / (n - 1) / 2; // a colour stands for what is around its place
  ink.drawImage(small, -half, -half, side + 2 * half, side + 2 * half);
  Object.assign(ink, { strokeStyle: host.ink, lineWidth: 1.8, globalAlpha: 0.8 * strength });
  ink.beginPath();
  const several = found[0].length > 1;
  for (let k = 0; k < (several ? found[0].length : 1); k++)
    level(ink, n, side / (n - 1), found.map((scores) => (several ? lead(scores, k) : scores[0])));
  ink.stroke();
  ink.globalAlpha = 1;
}

// By how much one score is above all others.
const lead = (scores, k) => scores[k] - Math.max(...scores.filter((_, j) => j !== k));

// The line along which numbers on a square grid are 0: a piece of it in each half of a cell.
function level(ink, n, step, numbers) {
  for (let i = 0; i < n * (n - 1); i++) {
    if (i % n === n - 1) continue;
    for (const corners of [[i, i + 1, i + n], [i + n + 1, i + 1, i + n]]) {
      const above = corners.filter((at) => numbers[at] > 0);
      if (above.length === 0 || above.length === 3) continue;
      const lone = corners.find((at) => (numbers[at] > 0) === (above.length === 1));
      const ends = corners.filter((at) => at !== lone).map((at) => {
        const share = numbers[lone] / (numbers[lone] - numbers[at]);
        return mix([lone % n, Math.floor(lone / n)], [at % n, Math.floor(at / n)], share);
      });
      line(ink, ...ends.map((end) => times(end, step)));
    }
  }
}

// From 0 where all classes are as likely to 1 where one is certain.
function sure(scores) {
  if (scores.length === 1) return Math.abs(2 / (1 + Math.exp(-scores[0])) - 1);
  const top = Math.max(...scores);
  const share = 1 / scores.reduce((sum, each) => sum + Math.exp(each - top), 0);
  return (share * scores.length - 1) / (scores.length - 1);
}

export function line(ink, [a, b], [c, d]) {
  ink.moveTo(a, b);
  ink.lineTo(c, d);
}

// A point in the shape and the colour of its class; struck through where it is taken for another.
export function mark(host, ink, [x, y], kind, wrong, r = 5) {
  ink.beginPath();
  if (kind === 0) ink.arc(x, y, r, 0, 7);
  else {
    const [corners, first] = [[4, 0.125], [3, 0.75], [4, 0]][kind - 1];
    for (let i = 0; i < corners; i++) {
      const angle = 2 * Math.PI * (first + i / corners);
      ink.lineTo(x + 1.2 * r * Math.cos(angle), y + 1.2 * r * Math.sin(angle));
    }
    ink.closePath();
  }
  Object.assign(ink, { fillStyle: shade(host.data.colours[kind]), strokeStyle: host.ink, lineWidth: 1 });
  ink.fill();
  ink.stroke();
  if (!wrong) return;
  ink.beginPath();
  line(ink, [x - r - 2, y - r - 2], [x + r + 2, y + r + 2]);
  line(ink, [x - r - 2, y + r + 2], [x + r + 2, y - r - 2]);
  ink.lineWidth = 1.3;
  ink.stroke();
}
