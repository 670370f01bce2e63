// Axes: from numbers to places on the screen, to ticks, and to words.
const NOISE = 1e-9; // of the range of an axis: what is smaller is left over from rounding

export function unpack(packed) { // numbers as the server sends them
  const letters = atob(packed.f8), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k);
  return new Float64Array(bytes.buffer);
}

export function count(length) { // 1, 2, 3, ...
  return Float64Array.from({ length }, (_, at) => at + 1);
}

export function written(value, span = 0, digits = 4) {
  if (typeof value !== "number" || Number.isNaN(value)) return "missing";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "minus infinite";
  if (Math.abs(value) <= NOISE * span) return "0";
  const size = Math.abs(value), rounded = Number(value.toPrecision(digits));
  return size >= 1e6 || size < 1e-4 ? String(rounded.toExponential()) : String(rounded);
}

export function scale([low, high], [from, to], log = false) { // .value goes back from the screen
  const through = log ? Math.log10 : Number, start = through(low), slope = (to - from) / (through(high) - start || 1);
  const place = (value) => from + (through(value) - start) * slope;
  place.value = (at) => { const found = start + (at - from) / slope; return log ? 10 ** found : found; };
  place.span = Math.abs(high - low);
  return place;
}

export function ticks([low, high], most, log = false) { // round numbers, at most so many
  const values = log ? decades(low, high, most) : rounds(low, high, most);
  return values.map((value) => [value, written(value, log ? 0 : high - low, 12)]);
}

function rounds(low, high, most) {
  const least = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= least * (1 - NOISE));
  const first = Math.ceil(low / step - 1e-6), last = Math.floor(high / step + 1e-6);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) => (first + k) * step);
}

function decades(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 1) return rounds(low, high, most).filter((value) => value > 0);
  const every = Math.ceil((last - first + 1) / Math.max(most, 2));
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, k) => 10 ** (first + k * every));
}

export function extent(lists, log = false) { // the least and the greatest of all finite numbers
  let low = Infinity, high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : log ? [0.1, 1] : [0, 1];
}

export function widened([low, high], part, log = false) { // so that nothing lies on the edge
  if (log) return [low / (1 + 4 * part), high * (1 + 4 * part)];
  const most = Math.max(Math.abs(low), Math.abs(high)), flat = high - low <= NOISE * most;
  const more = flat ? most * 0.1 || 0.5 : (high - low) * part;
  return [low - more, high + more];
}

export function nearest(list, value) { // the index of the number that is nearest; -1 if there is none
  let best = -1, least = Infinity;
  for (let k = 0; k < list.length; k += 1) {
    const away = Math.abs(list[k] - value);
    if (away < least) [best, least] = [k, away];
  }
  return best;
}
