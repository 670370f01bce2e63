// Marks of a plot, one of each kind: how it is drawn, which heights it needs, and what is said of it at a place.
import { colour, pen, svg } from "./look.js";
import { written } from "./axes.js";

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b",
  "#fde725"];
const SHADES = 64;
const round = (place) => Math.round(place * 10) / 10;

function path({ x, y }, at, corner) { // gaps where there is no number
  let d = "", before = null;
  for (let k = 0; k < x.length; k += 1) {
    const [left, top] = [round(at.x(x[k])), round(at.y(y[k]))];
    if (!Number.isFinite(top) || !Number.isFinite(left)) { before = null; continue; }
    d += before === null ? `M${left} ${top}` : `${corner && before !== top ? `H${left}` : ""}L${left} ${top}`;
    before = top;
  }
  return d;
}

const value = (mark, k, span) => written(mark.y[k], span);
const rows = (mark) => [mark.y];

function lineSample(mark) { // for the legend, as the next two
  return svg("line", { x1: 0, x2: 22, y1: 0, y2: 0, ...pen({ ...mark, width: Math.max(mark.width ?? 1.6, 2) }) });
}

function boxSample({ color, opacity }) {
  return svg("rect", { x: 4, y: -5, width: 12, height: 10, fill: color, opacity });
}

function dotSample(mark) {
  const size = Math.min(Math.max(mark.size ?? 4, 6), 12);
  return dots({ ...mark, x: [11], y: [0], size }, { x: Number, y: Number })[0];
}

function dotShape(symbol, left, top, size) {
  const r = size / 2;
  if (symbol === "diamond") return `M${left - r} ${top}l${r} ${-r}l${r} ${r}l${-r} ${r}z`;
  return `M${left - r} ${top}a${r} ${r} 0 1 0 ${size} 0a${r} ${r} 0 1 0 ${-size} 0z`;
}

function dots({ x, y, size = 4, symbol = "circle", color, opacity }, at) {
  let d = "";
  for (let k = 0; k < x.length; k += 1) {
    const [left, top] = [round(at.x(x[k])), round(at.y(y[k]))];
    if (Number.isFinite(left) && Number.isFinite(top)) d += dotShape(symbol, left, top, size);
  }
  const inside = symbol === "open" ? { fill: "none", stroke: color, "stroke-width": 1.5 } : { fill: color };
  return [svg("path", { d, opacity, ...inside })];
}

function bars({ x, y, base, offset, thick, color, opacity }, at) {
  const made = [], zero = base ?? y.map(() => 0);
  for (let k = 0; k < x.length; k += 1) {
    const [from, to] = [at.y(zero[k]), at.y(zero[k] + y[k])], left = at.x(x[k] + offset - thick / 2);
    if (!Number.isFinite(from) || !Number.isFinite(to)) continue;
    made.push(svg("rect", { x: round(left), width: Math.max(round(at.x(x[k] + offset + thick / 2) - left), 0.5),
      y: round(Math.min(from, to)), height: round(Math.abs(to - from)), fill: color, opacity }));
  }
  return made;
}

function band({ x, low, high, color, opacity = 0.2 }, at) { // one shape for each stretch without gaps
  const there = Array.from(x, (_, k) => Number.isFinite(at.y(low[k])) && Number.isFinite(at.y(high[k])));
  let d = "";
  for (let from = 0; from < x.length; from += 1) {
    if (!there[from]) continue;
    let end = from;
    while (there[end + 1]) end += 1;
    const place = (list) => (k) => `${round(at.x(x[k]))} ${round(at.y(list[k]))}`;
    const along = Array.from({ length: end - from + 1 }, (_, k) => from + k);
    d += `M${[...along.map(place(high)), ...along.reverse().map(place(low))].join("L")}z`;
    from = end;
  }
  return [svg("path", { d, fill: color, opacity })];
}

function shade(part) {
  const place = Math.round(Math.min(Math.max(part, 0), 1) * SHADES) / SHADES * (VIRIDIS.length - 1);
  const from = Math.min(Math.floor(place), VIRIDIS.length - 2), more = place - from;
  const channel = (k) => {
    const [a, b] = [VIRIDIS[from], VIRIDIS[from + 1]].map((hex) => parseInt(hex.slice(k, k + 2), 16));
    return Math.round(a + (b - a) * more);
  };
  return `rgb(${channel(1)},${channel(3)},${channel(5)})`;
}

function heat({ z, low = 0, high = 1 }, at) { // cells of one colour are one shape
  const shapes = new Map();
  z.forEach((row, i) => row.forEach((each, j) => {
    if (!Number.isFinite(each)) return;
    const fill = shade((each - low) / (high - low)), left = round(at.x(j - 0.5)), top = round(at.y(i - 0.5));
    const d = `M${left} ${top}H${round(at.x(j + 0.5))}V${round(at.y(i + 0.5))}H${left}z`;
    shapes.set(fill, (shapes.get(fill) ?? "") + d);
  }));
  return [...shapes].map(([fill, d]) => svg("path", { d, fill, stroke: fill, "stroke-width": 0.4 }));
}

export function colourBar({ low = 0, high = 1 }, left, top, height) {
  const steps = 32, part = height / steps;
  const label = (text, y) => svg("text", { x: left + 14, y, fill: colour("text"), "font-size": 11 }, text);
  const boxes = Array.from({ length: steps }, (_, k) => svg("rect", { x: left, y: top + height - (k + 1) * part,
    width: 10, height: part + 0.5, fill: shade(k / (steps - 1)) }));
  return [...boxes, label(written(high), top + 9), label(written(low), top + height)];
}

function text({ x, y, text: words, color = colour("text"), size = 12 }, at) {
  return Array.from(words, (word, k) => svg("text", { x: round(at.x(x[k])), y: round(at.y(y[k])), fill: color,
    "font-size": size, "text-anchor": "middle", "dominant-baseline": "central" }, String(word)));
}

function rules({ x, color = colour("quiet"), dash, width = 1, opacity }, at) {
  const d = Array.from(x, (each) => `M${round(at.x(each))} ${at.top}V${at.bottom}`).join("");
  return [svg("path", { d, ...pen({ color, dash, width, opacity }) })];
}

export const KINDS = {
  line: { draw: (mark, at) => [svg("path", { d: path(mark, at, false), "stroke-linejoin": "round", ...pen(mark) })],
    heights: rows, say: value, sample: lineSample },
  step: { draw: (mark, at) => [svg("path", { d: path(mark, at, true), ...pen(mark) })],
    heights: rows, say: value, sample: lineSample },
  dots: { draw: dots, heights: rows, say: value, sample: dotSample },
  bars: { draw: bars, heights: ({ y, base }) => [Array.from(y, (each, k) => each + (base?.[k] ?? 0)), [0]],
    say: value, sample: boxSample },
  band: { draw: band, heights: ({ low, high }) => [low, high],
    say: (mark, k, span) => `${written(mark.low[k], span)} to ${written(mark.high[k], span)}`, sample: boxSample },
  rules: { draw: rules, heights: () => [], sample: (mark) => lineSample({ color: colour("quiet"), ...mark }) },
  heat: { draw: heat, heights: () => [] },
  text: { draw: text, heights: rows },
};
