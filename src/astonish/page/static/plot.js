// Plots: lines, dots, bars and heat maps in panels, drawn as SVG, with values to read off and pictures to keep.
import { element } from "./controls.js";
import { colour, narrow, pen, svg } from "./look.js";
import { colourBar, KINDS } from "./marks.js";
import { arranged, FONT, legend, LINE, prepared, SMALL } from "./layout.js";
import { reading } from "./reading.js";
import { savers } from "./save.js";

export { count, nearest, unpack, written } from "./axes.js";
export { colour, look, narrow, swatch } from "./look.js";

const LOW = 260; // pixels, below which there is no room for a legend
let clips = 0;

export function figure(host, name, title, { height = 400, stays = false } = {}) { // stays: in view on narrow screens
  const plot = element("div", { className: "plot", role: "img", tabIndex: 0, "aria-label": title });
  const tools = element("div", { className: "tools" }), canvas = element("div", { className: "canvas" }, plot);
  const frame = element("figure", { className: stays ? "figure stays" : "figure" },
    element("figcaption", {}, element("h2", {}, title), tools), canvas);
  const picture = { frame, plot, data: [], draw };
  const reader = reading(canvas, plot);
  let spec = null, drawn = null;
  savers(tools, title, name, () => drawn);
  host.append(frame);
  new ResizeObserver(() => { if (spec && plot.clientWidth !== drawn?.width.baseVal.value) render(); }).observe(plot);

  function draw(wanted) {
    spec = wanted;
    plot.setAttribute("aria-label", spec.words ? `${title}. ${spec.words}` : title);
    render();
  }

  function render() {
    const panels = prepared(spec);
    picture.data = plot.plotted = panels.flatMap((panel, at) => panel.marks.map(
      ({ name: of, kind, x, y, low, high, z }, k) => (
        { panel: at, name: of, kind, x: spec.panels[at].marks[k].x ?? x, y, low, high, z })));
    const width = plot.clientWidth;
    if (!width) return; // out of sight; it is drawn when it is shown
    const most = spec.height ?? height, share = Math.max(150, 0.42 * window.innerHeight);
    const high = stays && narrow() ? Math.min(most, share) : most;
    drawn = drawing(panels, high < LOW ? { ...spec, legend: false } : spec, width, high);
    plot.replaceChildren(drawn);
    reader.of(panels, spec);
  }

  return picture;
}

function drawing(panels, spec, width, height) {
  const named = spec.legend === false ? { entries: [], height: 0 } : legend(panels, width);
  const placed = arranged(panels, spec, width, named.height, height - named.height);
  const all = svg("svg", { width, height: placed.height, viewBox: `0 0 ${width} ${placed.height}`, "aria-hidden": true,
    "font-family": "system-ui, sans-serif", "font-size": FONT });
  for (const { mark, left, top } of named.entries) {
    all.append(svg("g", { transform: `translate(${left} ${top})` }, KINDS[mark.kind].sample(mark),
      words(mark.name, 27, 4, { size: FONT })));
  }
  for (const panel of panels) all.append(...drawPanel(panel));
  if (Number.isInteger(spec.picked)) all.append(...pickedAt(panels, spec.picked));
  return all;
}

function words(text, x, y, { anchor, size = SMALL, color = colour("text") } = {}) {
  return svg("text", { x, y, fill: color, "text-anchor": anchor, "font-size": size }, String(text));
}

function drawPanel(panel) {
  const { at, marks, heat } = panel, clip = `clip-${clips++}`, inside = svg("g", { "clip-path": `url(#${clip})` });
  const rim = heat ? 0 : 5; // a dot on the edge is seen
  const box = { x: at.left - rim, y: at.top - rim,
    width: Math.max(at.right - at.left + 2 * rim, 0), height: at.bottom - at.top + 2 * rim };
  for (const mark of marks) inside.append(...KINDS[mark.kind].draw(mark, at));
  return [svg("clipPath", { id: clip }, svg("rect", box)), ...axes(panel), inside,
    ...(heat ? colourBar(heat, at.right + 8, at.top, at.bottom - at.top) : [])];
}

function axes({ at, upTicks, across, along, label, names, heat }) {
  const made = [], quiet = { anchor: "middle", color: colour("quiet") };
  const line = (d, name) => svg("path", { d, ...pen({ color: colour(name), width: 1 }) });
  for (const [value, text] of upTicks) {
    const y = Math.round(at.y(value)) + 0.5;
    if (!heat) made.push(line(`M${at.left} ${y}H${at.right}`, "grid"));
    made.push(words(text, at.left - 6, y + 4, { ...quiet, anchor: "end" }));
  }
  for (const [value, lines] of across) {
    lines.forEach((text, k) => made.push(words(text, at.x(value), at.bottom + 15 + 13 * k, quiet)));
    if (!names) made.push(line(`M${at.x(value)} ${at.bottom}v4`, "line"));
  }
  made.push(line(`M${at.left} ${at.top}V${at.bottom}H${at.right}`, "line"));
  if (label) made.push(words(label, at.left, at.top - 6, { size: FONT }));
  if (across.length && along.label) {
    const below = at.bottom + 8 + 13 * Math.max(...across.map(([, lines]) => lines.length)) + LINE - 2;
    made.push(words(along.label, (at.left + at.right) / 2, below, { anchor: "middle", size: FONT }));
  }
  return made;
}

function pickedAt(panels, index) { // an upright line through all panels, and a marker on the sample
  const first = panels.find(({ samples }) => samples && index < samples.length), made = [];
  if (!first || index < 0) return [];
  const x = first.samples[index], color = colour("accent");
  for (const { at } of panels.filter((panel) => panel === first || !panel.own)) {
    made.push(svg("path", { d: `M${at.x(x)} ${at.top}V${at.bottom}`, class: "picked", ...pen({ color, width: 2 }) }));
  }
  const { y } = first.marks.find((mark) => mark.x === first.samples), high = first.at.y(y[index]);
  const ring = svg("circle", { cx: first.at.x(x), cy: high, r: 6, ...pen({ color, width: 2.5 }) });
  return Number.isFinite(high) ? [...made, ring] : made;
}
