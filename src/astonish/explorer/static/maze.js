// The maze: both environments, the agent walking, its belief beside the truth, and how surprised it is.
import { button, element, select, slider } from "./controls.js";
import { colour, count, figure, look, narrow, unpack } from "./plots.js";
import { question } from "./ask.js";
import * as state from "./state.js";

const SPEEDS = [1, 2, 5, 10, 25, 50];

export function start(panel, spec, python) {
  const host = panel.querySelector(".controls"), views = panel.querySelector(".views");
  const truth = unpack(spec.transitions), rooms = 16;
  let walk = null, at = state.number("maze.at", 0), playing = false, last = 0, part = 0;
  let switches = state.get("maze.switches", "").split(" ").filter(Boolean).map(Number);

  const tools = element("div", { className: "tools" });
  host.append(tools);
  const play = button(tools, "Play", toggle, "main");
  button(tools, "Step", () => { if (playing) toggle(); to(at + 1); });
  button(tools, "Switch environment", () => {
    const before = Math.min(at, spec.steps - 1);
    switches = switches.includes(before) ? switches.filter((step) => step !== before) : [...switches, before];
    state.set("maze.switches", switches.join(" "));
    changed();
  });
  button(tools, "Start over", () => { switches = []; state.set("maze.switches", null); to(0); changed(); });
  const where = element("p", { className: "quiet", role: "status" });
  host.append(where);
  const place = slider(host, "maze.at", { label: "step", low: 0, high: spec.steps, default: 0, step: 1, whole: true },
    () => { at = place.value; show(); });
  const speed = select(host, "maze.speed", "steps in a second", SPEEDS, 5, () => {});
  const sliders = Object.fromEntries(Object.entries(spec.sliders).map(
    ([name, each]) => [name, slider(host, `maze.${name}`, each, changed)]));
  const learner = select(host, "maze.learner", "learner, one belief for each room", spec.learners, "smile", changed);
  const told = element("p", { className: "quiet" });
  host.append(told);

  const mazes = figure(views, "maze", "The two environments, and the agent", 330);
  const belief = figure(views, "belief", "Chances of going from room to room: believed, and true", 400);
  const felt = figure(views, "maze-surprise", "Surprise, rate and error so far", 420);
  const ask = question("/api/maze", (answer) => {
    python(answer.python);
    walk = { ...answer, row: unpack(answer.row), surprise: unpack(answer.surprise), rate: unpack(answer.rate),
      error: unpack(answer.error) };
    show();
  });

  function changed() {
    ask({ ...Object.fromEntries(Object.entries(sliders).map(([name, each]) => [name, each.value])),
      learner: learner.value, switches });
  }

  function to(step) {
    at = Math.min(step, spec.steps);
    place.put(at);
    show();
  }

  function toggle() {
    playing = !playing;
    play.textContent = playing ? "Pause" : "Play";
    if (playing && at >= spec.steps) at = 0;
    last = performance.now();
    part = 0;
    if (playing) requestAnimationFrame(frame);
  }

  function frame(now) {
    if (!playing) return;
    part += (now - last) / 1000 * Number(speed.value);
    last = now;
    if (part >= 1 && walk && !panel.hidden) {
      to(at + Math.floor(part));
      part %= 1;
    }
    if (at >= spec.steps) toggle();
    requestAnimationFrame(frame);
  }

  function show() {
    if (!walk) return;
    const environment = walk.environment[Math.max(at - 1, 0)], room = walk.rooms[at];
    told.textContent = `It is told: ${walk.told}.`;
    where.textContent = `After ${at} step${at === 1 ? "" : "s"}: room ${room + 1}, environment ${"AB"[environment]}`;
    drawMazes(environment, room);
    drawBelief(environment);
    drawFelt();
  }

  function drawMazes(environment, room) {
    const data = [];
    spec.environments.forEach((rows, which) => {
      const axes = { xaxis: which ? "x2" : "x", yaxis: which ? "y2" : "y" };
      const flat = rows.flat(), here = flat.indexOf(room);
      const seen = which === environment;
      data.push({ ...axes, ...walls, mode: "lines", line: { color: seen ? colour("ink") : colour("line"), width: 2 } });
      data.push({ ...axes, x: flat.map((_, k) => k % 4 + 0.5), y: flat.map((_, k) => 3.5 - Math.floor(k / 4)),
        text: flat.map((each) => String(each + 1)), mode: "text", hoverinfo: "skip",
        textfont: { color: seen ? colour("text") : colour("quiet"), size: 13 } });
      data.push({ ...axes, x: [here % 4 + 0.5], y: [3.5 - Math.floor(here / 4)], mode: "markers", hoverinfo: "skip",
        marker: { size: 34, color: look(1).color, symbol: seen ? "circle" : "circle-open", opacity: seen ? 0.55 : 0.4,
          line: { width: 2, color: look(1).color } } });
    });
    const flatAxis = (more) => ({ visible: false, fixedrange: true, range: [-0.15, 4.15], ...more });
    const title = (text, x) => ({ text, x, y: 1.02, xref: "paper", yref: "paper", showarrow: false, xanchor: "center",
      yanchor: "bottom" });
    const names = ["A", "B"].map((name, k) => k === environment ? `<b>${name}: the agent is here</b>` : name);
    mazes.draw(data, {
      xaxis: flatAxis({ domain: [0, 0.47] }), yaxis: flatAxis({ scaleanchor: "x" }),
      xaxis2: flatAxis({ domain: [0.53, 1], anchor: "y2" }), yaxis2: flatAxis({ scaleanchor: "x2", anchor: "x2" }),
      annotations: [title(names[0], 0.235), title(names[1], 0.765)], showlegend: false, dragmode: false,
      margin: { l: 8, r: 8, t: 34, b: 8 }, height: narrow() ? 220 : 330,
    }, `The agent is in room ${room + 1} of environment ${"AB"[environment]}.`);
  }

  function drawBelief(environment) {
    const believed = Array.from({ length: rooms }, (_, i) => Array.from({ length: rooms }, (_, j) =>
      i === j ? 0 : 1 / (rooms - 1)));
    const seen = new Set();
    for (let t = at - 1; t >= 0 && seen.size < rooms; t -= 1) { // only the room that was left last is seen anew
      const from = walk.rooms[t];
      if (seen.has(from)) continue;
      seen.add(from);
      for (let k = 0; k < rooms - 1; k += 1) believed[from][k + (k >= from)] = walk.row[t * (rooms - 1) + k];
    }
    const true_ = Array.from({ length: rooms }, (_, i) => Array.from(truth.subarray(
      (environment * rooms + i) * rooms, (environment * rooms + i + 1) * rooms)));
    const names = Array.from({ length: rooms }, (_, k) => k + 1);
    const map = (z, axes) => ({ type: "heatmap", x: names, y: names, z, zmin: 0, zmax: 0.25, colorscale: "Viridis", ...axes,
      hovertemplate: "from %{y} to %{x}: %{z:.3f}<extra></extra>" });
    const axis = (title, more) => ({ title: { text: title }, fixedrange: true, dtick: 5, tick0: 1, showgrid: false, ...more });
    const [first, second] = narrow() ? [{ x: [0, 1], y: [0.57, 1] }, { x: [0, 1], y: [0, 0.43] }]
      : [{ x: [0, 0.46], y: [0, 1] }, { x: [0.54, 1], y: [0, 1] }];
    belief.draw([
      map(believed, { showscale: false }),
      map(true_, { xaxis: "x2", yaxis: "y2", colorbar: { thickness: 12, title: { text: "chance" } } }),
    ], {
      xaxis: axis("believed: to room", { domain: first.x }),
      yaxis: axis("from room", { autorange: "reversed", domain: first.y }),
      xaxis2: axis(`true, in ${"AB"[environment]}: to room`, { domain: second.x, anchor: "y2" }),
      yaxis2: axis(narrow() ? "from room" : "", { autorange: "reversed", anchor: "x2", domain: second.y }),
      dragmode: false, height: narrow() ? 620 : 400,
    });
  }

  function drawFelt() {
    const x = count(at), line = (k) => ({ ...look(k), width: 1.4 });
    const changes = walk.switched.filter((step) => step < at).map((step) => step + 0.5);
    const axis = (title, low, high, more = {}) => ({ title: { text: title }, domain: [low, high], rangemode: "tozero", ...more });
    felt.draw([
      { x: changes.flatMap((step) => [step, step, null]), y: changes.flatMap(() => [0, 1, null]), yaxis: "y4", mode: "lines",
        name: "switches", line: { color: colour("quiet"), width: 1.2, dash: "dot" }, hoverinfo: "skip" },
      { x, y: walk.surprise.subarray(0, at), mode: "lines", name: "surprise", line: line(0) },
      { x, y: walk.rate.subarray(0, at), mode: "lines", name: "rate (gamma)", line: line(2), yaxis: "y2" },
      { x, y: walk.error.subarray(0, at), mode: "lines", name: "error", line: line(1), yaxis: "y3" },
    ], {
      xaxis: { title: { text: "step" }, anchor: "y3", range: [0, Math.max(at, 50)] },
      yaxis: axis("surprise", 0.7, 1), yaxis2: axis("rate", 0.36, 0.64), yaxis3: axis("error", 0, 0.3),
      yaxis4: { domain: [0, 1], range: [0, 1], visible: false, fixedrange: true }, margin: { l: 72, r: 14, t: 12, b: 44 },
    });
  }

  changed();
}

const walls = (() => { // with a door in the middle of each
  const x = [], y = [];
  for (let k = 0; k <= 4; k += 1) {
    for (let j = 0; j < 4; j += 1) {
      for (const [low, high] of [[0, 0.36], [0.64, 1]]) {
        x.push(k, k, null, j + low, j + high, null);
        y.push(j + low, j + high, null, k, k, null);
      }
    }
  }
  return { x, y, hoverinfo: "skip" };
})();
