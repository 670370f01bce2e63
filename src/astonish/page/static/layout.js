// Where everything in a plot goes: ranges, ticks, margins and the places of panels.
import { count, extent, scale, ticks, widened } from "./axes.js";
import { KINDS } from "./marks.js";

export const FONT = 12, SMALL = 11, LINE = 15;
const GAP = 6, RIGHT = 12, BAR = 52; // of pixels: around labels, at the right, and for the colours of a heat map
const NOISE = 1e-12, LEAST = 20; // LEAST: pixels of a panel's height
const ruler = document.createElement("canvas").getContext("2d");

export function wide(text, size = FONT) { // pixels that a text takes
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

export function wrapped(text, most) { // words on lines that are at most so wide
  const lines = [];
  for (const word of String(text).split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && wide(longer, SMALL) <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export function legend(panels, width) { // entries in rows, each name once
  const seen = new Set(), entries = [];
  let left = 0, row = 0;
  for (const mark of panels.flatMap((panel) => panel.marks)) {
    if (!mark.name || !KINDS[mark.kind].sample || seen.has(mark.group ?? mark.name)) continue;
    seen.add(mark.group ?? mark.name);
    const long = 28 + wide(mark.name) + 14;
    if (left > 0 && left + long > width) [left, row] = [0, row + 1];
    entries.push({ mark, left, top: row * (LINE + 3) + 9 });
    left += long;
  }
  return { entries, height: entries.length ? (row + 1) * (LINE + 3) + 4 : 0 };
}

export function prepared(spec) { // panels with numbers only; each knows its axis and what stands along it
  const side = (spec.columns ?? 1) > 1;
  const panels = spec.panels.map((panel) => (
    { ...panel, own: side || Boolean(panel.x), along: panel.x ?? spec.x ?? {} }));
  const groups = [...panels.filter((panel) => panel.own).map((panel) => [panel]), panels.filter((panel) => !panel.own)];
  for (const group of groups.filter((each) => each.length)) {
    const found = group.flatMap((panel) => panel.marks.filter(named).flatMap((mark) => [...mark.x].map(String)));
    const names = [...new Set(found)];
    for (const panel of group) {
      panel.names = names.length ? names : null;
      panel.marks = stacked(panel.marks.map((mark) => numbered(mark, names)));
      panel.samples = panel.marks.filter(({ kind }) => ["line", "step", "dots", "bars"].includes(kind))
        .reduce((best, { x }) => (best && best.length >= x.length ? best : x), null);
    }
    const range = group[0].along.range ?? acrossRange(group, names);
    for (const panel of group) panel.xRange = range;
  }
  for (const panel of panels) Object.assign(panel, upright(panel));
  return panels;
}

const named = ({ kind, x }) => kind === "heat" || (x && typeof x[0] === "string");

function numbered(mark, names) {
  const { kind, x, y, low, z } = mark;
  if (kind === "heat") {
    const rows = Array.from(y ?? count(z.length), String);
    return { ...mark, x: count(z[0]?.length ?? 0).map((k) => k - 1), rows };
  }
  if (named(mark)) return { ...mark, x: Array.from(x, (each) => names.indexOf(String(each))) };
  return x ? mark : { ...mark, x: count((y ?? low).length) };
}

function stacked(marks) { // bars beside or upon each other
  const bars = marks.filter(({ kind }) => kind === "bars"), beside = bars.filter((mark) => !mark.stacked).length || 1;
  const places = [...new Set(bars.flatMap(({ x }) => [...x]))].sort((a, b) => a - b);
  const gaps = places.slice(1).map((each, k) => each - places[k]), room = 0.8 * Math.min(...gaps.length ? gaps : [1]);
  const above = new Map(), below = new Map();
  let at = 0;
  return marks.map((mark) => {
    if (mark.kind !== "bars") return mark;
    if (!mark.stacked) return { ...mark, thick: room / beside, offset: (at++ + 0.5) * room / beside - room / 2 };
    const base = Array.from(mark.x, (x, k) => {
      const pile = mark.y[k] < 0 ? below : above, from = pile.get(x) ?? 0;
      pile.set(x, from + (Number.isFinite(mark.y[k]) ? mark.y[k] : 0));
      return from;
    });
    return { ...mark, thick: room, offset: 0, base };
  });
}

function acrossRange(group, names) {
  if (names.length) return [-0.5, names.length - 0.5];
  const marks = group.flatMap((panel) => panel.marks), [low, high] = extent(marks.map(({ x }) => x));
  const thick = Math.max(0, ...marks.map((mark) => mark.thick ?? 0)) * 0.7;
  return thick ? [low - thick, high + thick] : widened([low, high], 0.02);
}

function upright(panel) { // the range of the heights, and the ticks there if they are known already
  const heat = panel.marks.find(({ kind }) => kind === "heat");
  if (heat) return { heat, yRange: [heat.rows.length - 0.5, -0.5], yTicks: heat.rows.map((name, k) => [k, name]) };
  if (panel.range) return { yRange: panel.range };
  let [low, high] = extent(panel.marks.flatMap((mark) => KINDS[mark.kind].heights(mark)), panel.log);
  if (panel.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (panel.zero && high - low < NOISE) [low, high] = [0, 1]; // nothing but what is left of rounding
  const ground = panel.zero || panel.marks.some(({ kind }) => kind === "bars");
  const [least, most] = widened([low, high], 0.05, panel.log);
  return { yRange: [ground && low === 0 ? 0 : least, ground && high === 0 && low < 0 ? 0 : most] };
}

function thinned(list, room, size) { // every so-many-th of the names, so that they do not touch
  const every = Math.max(1, Math.ceil(size / Math.max(room, 1)));
  return list.filter((_, k) => k % every === 0);
}

function acrossTicks(panel, width) {
  if (panel.along.ticks) return panel.along.ticks;
  if (!panel.names) return ticks(panel.xRange, Math.max(2, width / 80));
  const list = panel.names.map((name, k) => [k, name]), room = width / list.length;
  return list.length <= 8 ? list : thinned(list, room, Math.max(...panel.names.map((name) => wide(name, SMALL))) + 6);
}

// Gives each panel its place, at = { x, y, left, right, top, bottom }, of which x and y are scales.
export function arranged(panels, { columns = 1 }, width, top, height) {
  const rows = Math.ceil(panels.length / columns);
  const lines = Array.from({ length: rows }, (_, k) => panels.slice(k * columns, (k + 1) * columns));
  const last = panels.findLast((panel) => !panel.own), cell = width / columns;
  for (const panel of panels) {
    panel.across = panel.own || panel === last ? acrossTicks(panel, cell - 70) : [];
    const room = panel.names ? Math.max((cell - 60) / panel.across.length - 4, 30) : Infinity;
    panel.across = panel.across.map(([value, text]) => [value, wrapped(text, room)]);
    const deep = Math.max(0, ...panel.across.map(([, words]) => words.length));
    panel.deep = panel.across.length ? GAP + deep * 13 + (panel.along.label ? LINE + 2 : 0) : 0;
    panel.head = panel.label ? LINE + 3 : GAP;
  }
  const most = (line, part) => Math.max(...line.map((panel) => panel[part]));
  const need = lines.map((line) => most(line, "head") + most(line, "deep") + GAP);
  const shares = lines.map((line) => Math.max(...line.map(({ share = 1 / lines.length }) => share)));
  const free = Math.max(height - need.reduce((sum, each) => sum + each, 0), LEAST * lines.length);
  const total = shares.reduce((sum, each) => sum + each, 0);
  let from = top;
  lines.forEach((line, k) => {
    const high = free * shares[k] / total, head = Math.max(...line.map((panel) => panel.head));
    for (const panel of line) Object.assign(panel, { top: from + head, bottom: from + head + high });
    from += high + need[k];
  });
  for (let column = 0; column < columns; column += 1) {
    across(panels.filter((_, k) => k % columns === column), column * cell, cell);
  }
  return { panels, height: from };
}

const half = (text) => wide(text, SMALL) / 2 + 2;

function across(panels, start, cell) { // panels above each other begin at the same place
  for (const panel of panels) {
    const high = panel.bottom - panel.top;
    panel.upTicks = panel.ticks ?? (panel.yTicks ? thinned(panel.yTicks, high / panel.yTicks.length, LINE)
      : ticks(panel.yRange, Math.max(2, Math.floor(high / 28)), panel.log));
  }
  const margin = Math.max(12, ...panels.flatMap(({ upTicks }) => upTicks.map(([, text]) => wide(text, SMALL)))) + 10;
  const halves = panels.flatMap(({ across: named }) => named.slice(-1).flatMap(([, words]) => words.map(half)));
  const rest = Math.max(RIGHT, ...halves); // so that the last label fits
  for (const panel of panels) {
    const left = start + margin, right = start + cell - (panel.heat ? BAR : rest), { top, bottom } = panel;
    panel.at = { left, right, top, bottom, x: scale(panel.xRange, [left, right], panel.along.log),
      y: scale(panel.yRange, [bottom, top], panel.log) };
  }
}
