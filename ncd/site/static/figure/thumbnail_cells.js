// What a small picture of an array shows: the same numbers as ncd/explain/thumbnails.py chooses, for
// a run in the browser. wire_values.py says what is told of an array.

const COLUMNS = 64; // features of a stripe, those with the largest numbers
const IGNORED = 3; // outliers that are ignored, or one in 2,000 numbers
const RARE = 2000;
const OUTLIERS_FROM = 12; // numbers
const FAR = 5; // an outlier is at least this many times as large as the other numbers

export const strides = (dims) => dims.map((_, i) => dims.slice(i + 1).reduce((all, each) => all * each, 1));

// Returns the place of each position along some dimensions.
export function places(dims, of) {
  const steps = strides(dims);
  return of.reduce((all, i) => all.flatMap((at) => Array.from({ length: dims[i] }, (_, n) => at + n * steps[i])), [0]);
}

// Returns the shape, the bytes and the words of the picture of an array; null if it has no numbers.
export function thumbnailCells(told, { data, dims }) {
  const [rows, columns] = told.sides;
  const lead = told.order.length - rows - columns;
  const of = [told.order.slice(0, lead), told.order.slice(lead, lead + rows), told.order.slice(lead + rows)];
  let [starts, down, across] = of.map((own) => places(dims, own));
  const known = data.filter(Number.isFinite);
  if (!known.length) return null;
  const { channels } = told;
  const count = starts.length / channels;
  const most = told.tiles.length;
  const read = (start, y, x) => data[start + y + x];
  if (told.choice === "maps") starts = liveliest(starts, most, (start) => down.flatMap((y) => across.map((x) => read(start, y, x))));
  starts = starts.slice(0, most * channels);
  if (told.choice === "columns" && across.length > COLUMNS) {
    const loud = (x) => Math.max(...starts.flatMap((start) => down.map((y) => finite(Math.abs(read(start, y, x))))));
    across = largest(across, COLUMNS, loud);
  }
  const maps = starts.map((start) => down.map((y) => across.map((x) => read(start, y, x))));
  const [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  const round = (value) => Number(value.toPrecision(2));
  const left = count > most ? `; ${told.choice === "maps" ? `the ${most} liveliest of ${count}` : `the first ${most} of ${count} pictures`}` : "";
  const said = `${told.said.split(",")[0]}, ${data.length.toLocaleString("en-US")} numbers from ${round(low)} to ${round(high)}${left}`;
  return { ...painted(told, pool(maps, told.most), known, low < 0), signed: low < 0, said };
}

const finite = (value) => (Number.isFinite(value) ? value : 0);

// Returns those of some places with the largest numbers, in their order.
function largest(all, most, number) {
  const ranked = all.map((at, i) => [number(at), i]).sort(([a, i], [b, j]) => b - a || i - j);
  return ranked.slice(0, most).map(([, i]) => i).sort((a, b) => a - b).map((i) => all[i]);
}

function liveliest(starts, most, numbers) {
  const spread = (start) => {
    const own = numbers(start).map(finite);
    const mean = own.reduce((a, b) => a + b, 0) / own.length;
    return own.reduce((all, each) => all + (each - mean) ** 2, 0);
  };
  return starts.length > most ? largest(starts, most, spread) : starts;
}

// Pools maps to at most `most` cells a side: the mean of a block, or its number furthest from zero
// where means would hide a few outliers.
function pool(maps, most) {
  const [rows, columns] = [maps[0].length, maps[0][0].length].map((size) => Math.ceil(size / most));
  if (rows === 1 && columns === 1) return maps;
  const steps = (length, step) => Array.from({ length: Math.ceil(length / step) }, (_, i) => i * step);
  const blocks = maps.map((map) =>
    steps(map.length, rows).map((y) =>
      steps(map[0].length, columns).map((x) =>
        map.slice(y, y + rows).flatMap((row) => row.slice(x, x + columns)).filter(Number.isFinite))));
  const each = (value) => blocks.map((map) => map.map((row) => row.map((block) => (block.length ? value(block) : NaN))));
  const means = each((block) => block.reduce((a, b) => a + b, 0) / block.length);
  const furthest = each((block) => {
    const [low, high] = [Math.min(0, ...block), Math.max(0, ...block)];
    return high >= -low ? high : low;
  });
  const size = (every) => every.flat(2).reduce((all, one) => Math.max(all, finite(Math.abs(one))), 0);
  return size(means) < 0.5 * size(furthest) ? furthest : means;
}

// Returns the bytes: places on the scale, shares of the largest for bars, or colours.
function painted({ painting, channels }, maps, known, signed) {
  const flat = maps.flat(2);
  const shape = [maps.length, maps[0].length, maps[0][0].length];
  if (painting === "bars") {
    const most = Math.max(...flat.filter(Number.isFinite)) || 1;
    return { shape, cells: Uint8Array.from(flat, (value) => finite(value / most) * 255) };
  }
  if (painting === "colour") {
    const [low, high] = [Math.min(...flat.map(finite)), Math.max(...flat.map(finite))];
    const channel = (value) => Math.round((255 * (finite(value) - low)) / (high - low || 1));
    const pictures = maps.filter((_, i) => i % channels === 0).map((_, n) => [0, 1, 2].map((i) => maps[n * channels + (i % channels)]));
    const pixels = pictures.flatMap((own) => own[0].flatMap((row, y) => row.flatMap((_, x) => own.map((map) => channel(map[y][x])))));
    return { shape: [pictures.length, shape[1], shape[2]], cells: Uint8Array.from(pixels) };
  }
  const high = scaleEnd(known);
  const low = signed ? -high : 0;
  const share = (value) => Math.min(1, Math.max(0, (value - low) / (high - low)));
  return { shape, cells: Uint8Array.from(flat, (value) => (Number.isFinite(value) ? 1 + Math.round(254 * share(value)) : 0)) };
}

// Returns the end of the scale: the largest size of a number, without a few outliers.
function scaleEnd(known) {
  const sizes = known.map(Math.abs).sort((a, b) => b - a);
  const few = Math.max(IGNORED, Math.floor(sizes.length / RARE));
  let beyond = 0;
  if (sizes.length > OUTLIERS_FROM) {
    for (let n = 1; n <= few && !beyond; n++) if (sizes[n - 1] > FAR * sizes[n] && sizes[n] > 0) beyond = n;
    if (!beyond && sizes[0] > FAR * sizes[few] && sizes[few] > 0) beyond = few;
  }
  return sizes[beyond] || 1;
}
