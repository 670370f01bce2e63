// Plots: unpacked numbers, one look in light and dark, and pictures to keep.
import { element, button } from "./controls.js";

// Okabe & Ito's colours, told apart by colour-blind people too; with dashes there are enough for all learners.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C"];
const DASHES = ["solid", "dash", "dot"];

export function look(at) {
  return { color: COLOURS[at % COLOURS.length], dash: DASHES[Math.floor(at / COLOURS.length) % DASHES.length] };
}

export function swatch(at) {
  const { color, dash } = look(at), dashes = { solid: "none", dash: "7 4", dot: "2 3" }[dash];
  const line = `<line x1="0" x2="24" y1="6" y2="6" stroke="${color}" stroke-width="3" stroke-dasharray="${dashes}"/>`;
  const about = 'xmlns="http://www.w3.org/2000/svg" class="swatch" viewBox="0 0 24 12" aria-hidden="true"';
  return new DOMParser().parseFromString(`<svg ${about}>${line}</svg>`, "image/svg+xml").documentElement;
}

export function unpack(packed) {
  const letters = atob(packed.f8), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k);
  return new Float64Array(bytes.buffer);
}

export function count(length) {
  return Float64Array.from({ length }, (_, at) => at + 1);
}

export function axis(title, low, high, more = {}) { // one of several above each other
  return { title: { text: title }, domain: [low, high], ...more };
}

export function uprights(places, name, yaxis) { // dotted lines through all plots that are above each other
  return { x: places.flatMap((x) => [x, x, null]), y: places.flatMap(() => [0, 1, null]), yaxis, mode: "lines", name,
    hoverinfo: "skip", line: { color: colour("quiet"), width: 1, dash: "dot" }, opacity: 0.55 };
}

export const WHOLE_HEIGHT = { domain: [0, 1], range: [0, 1], visible: false, fixedrange: true };

const style = getComputedStyle(document.documentElement); // it follows the theme

export function colour(name) {
  return style.getPropertyValue(`--${name}`).trim();
}

export function narrow() {
  return matchMedia("(max-width: 52rem)").matches;
}

export function figure(host, name, title, height) {
  const plot = element("div", { className: "plot", role: "img", "aria-label": title });
  const tools = element("div", { className: "tools" });
  for (const format of ["png", "svg"]) {
    const made = button(tools, format.toUpperCase(), () => {
      const { width, height } = plot.getBoundingClientRect();
      window.Plotly.downloadImage(plot, { format, filename: `astonish-${name}`, width, height, scale: 2 });
    });
    made.setAttribute("aria-label", `Save "${title}" as ${format.toUpperCase()}`);
  }
  const frame = element("figure", { className: "figure" }, element("figcaption", {}, element("h2", {}, title), tools), plot);
  host.append(frame);
  function draw(data, layout, words) {
    if (words) plot.setAttribute("aria-label", `${title}. ${words}`);
    return window.Plotly.react(plot, data, dressed({ height, ...layout }), { displayModeBar: false, responsive: true });
  }
  return { frame, plot, draw };
}

function dressed(layout) {
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("line"), linecolor: colour("line") };
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  return {
    autosize: true, margin: { l: 62, r: 14, t: 12, b: 44 }, showlegend: true,
    paper_bgcolor: colour("back"), plot_bgcolor: "rgba(0,0,0,0)", // lines of jumps lie over all panels
    font: { color: colour("text"), family: "system-ui, sans-serif", size: 12 },
    legend: { orientation: "h", y: 1.01, yanchor: "bottom", x: 0 }, hovermode: "closest", dragmode: "zoom",
    ...layout,
    ...Object.fromEntries(axes.map((key) => [key, { ...axis, ...layout[key] }])),
  };
}
