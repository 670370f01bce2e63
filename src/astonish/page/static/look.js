// Colours and dashes: one look in light and in dark, all of them defined in style.css.
const COLOURS = 7; // --series-0 ... in style.css: Okabe & Ito's, told apart by colour-blind people too
const DASHES = ["solid", "dash", "dot"]; // with them there are enough looks for all learners
const DASHED = { dash: "7 4", dot: "2 3" };
const SVG = "http://www.w3.org/2000/svg";
const style = getComputedStyle(document.documentElement); // it follows the theme

export function colour(name) {
  return style.getPropertyValue(`--${name}`).trim();
}

export function look(at) {
  return { color: colour(`series-${at % COLOURS}`), dash: DASHES[Math.floor(at / COLOURS) % DASHES.length] };
}

export function svg(kind, attributes = {}, ...children) { // attributes without a value are left out
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function pen({ color = colour("text"), width = 1.6, dash, opacity }) { // attributes of a line
  return { fill: "none", stroke: color, "stroke-width": width, "stroke-dasharray": DASHED[dash], opacity };
}

export function swatch(at) { // its colour follows the theme by itself
  const drawn = pen({ color: null, dash: look(at).dash, width: 3 });
  const line = svg("line", { x1: 0, x2: 24, y1: 6, y2: 6, ...drawn });
  line.setAttribute("class", `series-${at % COLOURS}`);
  return svg("svg", { class: "swatch", viewBox: "0 0 24 12", "aria-hidden": true }, line);
}

export function narrow() {
  return matchMedia("(max-width: 52rem)").matches;
}
