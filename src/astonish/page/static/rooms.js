// The rooms of the maze as they are now: how probable each is to be next, and how surprising the last step was.
import { element } from "./controls.js";
import { colour, svg } from "./look.js";
import { savers } from "./save.js";

const ROOM = 100, SIDE = 4 * ROOM, GAP = 50, HEAD = 44, RIM = 4, DOOR = 0.28; // DOOR: the open share of a wall
const LIKELY = 0.25; // a room with four doors leads to each neighbour with this probability
const least = 0.14 * ROOM, most = 0.46 * ROOM; // radius of the ring without surprise, and with the most

export function rooms(host, title) {
  const plot = element("div", { className: "rooms", role: "img", "aria-label": title });
  const tools = element("div", { className: "tools" });
  let drawn = null;
  savers(tools, title, "maze", () => drawn);
  const frame = element("figure", { className: "figure" },
    element("figcaption", {}, element("h2", {}, title), tools), plot);
  host.append(frame);

  // views: [{ title, arrangement, here, probabilities, surprise: from 0 to 1, or null, color }]; flash: the agent moved
  function draw(views, words, flash) {
    const width = views.length * (SIDE + GAP) - GAP + 2 * RIM, height = HEAD + SIDE + RIM;
    const places = views.map((_, k) => ({ transform: `translate(${k * (SIDE + GAP) + RIM} ${HEAD})` }));
    drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": true,
      "font-family": "system-ui, sans-serif" }, ...views.map((view, k) => svg("g", places[k], ...one(view, flash))));
    plot.replaceChildren(drawn);
    plot.views = views; // for tests
    plot.setAttribute("aria-label", `${title}. ${words}`);
  }

  return { frame, plot, draw };
}

function one({ title, arrangement, here, probabilities, surprise, color }, flash) {
  const flat = arrangement.flat();
  return [
    svg("text", { x: 0, y: -14, "font-size": 26, "font-weight": 600, fill: colour("text") }, title),
    ...flat.flatMap((room, k) => cell(room, k, room === here ? null : probabilities[room], color)),
    svg("path", { d: WALLS, stroke: colour("text"), "stroke-width": 4, "stroke-linecap": "round", fill: "none" }),
    ...agent(flat.indexOf(here), surprise, flash),
  ];
}

const corner = (k) => [(k % 4) * ROOM, Math.floor(k / 4) * ROOM];

function light(hex, share, back) { // relative luminance (WCAG) of a colour that covers so much of a background
  const pieces = (text) => text.slice(1).match(text.length > 4 ? /../g : /./g); // of #rrggbb or #rgb
  const parts = (text) => pieces(text).map((piece) => parseInt(piece.padEnd(2, piece), 16) / 255);
  const under = parts(back), mixed = parts(hex).map((part, k) => part * share + under[k] * (1 - share));
  const [red, green, blue] = mixed.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function inkOn(color, share) { // the one of two colours of letters that is easier to read there
  const [back, text] = [colour("back"), colour("text")], ground = light(color, share, back);
  const away = (ink) => Math.abs(Math.log((light(ink, 1, back) + 0.05) / (ground + 0.05))); // ln of the contrast
  return away(back) > away(text) ? back : text;
}

function cell(room, k, probability, color) { // a room: its number, and how probable it is to be next
  const [x, y] = corner(k), share = 0.92 * Math.min((probability ?? 0) / LIKELY, 1), ink = inkOn(color, share);
  const made = [
    svg("rect", { x, y, width: ROOM, height: ROOM, fill: color, "fill-opacity": share }),
    svg("text", { x: x + 9, y: y + 25, "font-size": 20, fill: ink }, String(room + 1)),
  ];
  if (probability === null || probability < 0.005) return made;
  return [...made, svg("text", { x: x + ROOM / 2, y: y + 66, "font-size": 28, "text-anchor": "middle", fill: ink },
    probability.toFixed(2).replace(/^0/, ""))];
}

function agent(k, surprise, flash) { // a dot, and a ring that is the larger the greater the surprise
  const [x, y] = corner(k).map((edge) => edge + ROOM / 2), color = colour("series-1");
  const dot = svg("circle", { cx: x, cy: y, r: 0.09 * ROOM, fill: color });
  if (surprise === null) return [dot];
  const r = least + (most - least) * Math.min(Math.max(surprise, 0), 1);
  return [svg("circle", { cx: x, cy: y, r, fill: color, "fill-opacity": 0, stroke: color, "stroke-width": 5,
    class: flash ? "ring flash" : "ring" }), dot];
}

let WALLS = ""; // with a door in the middle of each
for (let k = 0; k <= 4; k += 1) {
  for (let j = 0; j < 4; j += 1) {
    for (const [low, high] of [[0, 0.5 - DOOR / 2], [0.5 + DOOR / 2, 1]]) {
      const [from, to] = [(j + low) * ROOM, (j + high) * ROOM];
      WALLS += `M${k * ROOM} ${from}V${to}M${from} ${k * ROOM}H${to}`;
    }
  }
}
