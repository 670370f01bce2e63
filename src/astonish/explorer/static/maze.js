// The maze: both environments, the agent walking, its belief beside the truth, and how surprised it is.
import { button, element, folded, select, short, slider, sliders, values } from "./controls.js";
import { axis, colour, count, figure, look, narrow, unpack, uprights, WHOLE_HEIGHT } from "./plots.js";
import { question } from "./ask.js";
import * as state from "./state.js";

const SPEEDS = [1, 2, 5, 10, 25, 50];

export function start(host, views, spec, python) {
  const rooms = 16;
  let walk = null, playing = false, last = 0, part = 0;
  let switches = state.get("maze.switches", "").split(" ").filter(Boolean).map(Number);

  const tools = element("div", { className: "tools" });
  const play = button(tools, "Play", toggle, "main");
  button(tools, "Step", () => { if (playing) toggle(); to(place.value + 1); });
  button(tools, "Switch environment", () => {
    const before = Math.min(place.value, spec.steps - 1);
    switches = switches.includes(before) ? switches.filter((step) => step !== before) : [...switches, before];
    state.set("maze.switches", switches.join(" "));
    changed();
  });
  button(tools, "Start over", () => { switches = []; state.set("maze.switches", null); to(0); changed(); });
  const where = element("p", { className: "quiet", role: "status" });
  host.append(tools, where);
  const place = slider(host, "maze.at", { label: "step", low: 0, high: spec.steps, default: 0, step: 1, whole: true },
    show);
  const speed = select(host, "maze.speed", "steps in a second", SPEEDS, 5, () => {});
  const learner = select(host, "maze.learner", "learner, one belief for each room",
    spec.learners.map((name) => [name, short(name)]), "smile", changed);
  const parameters = element("p", { className: "quiet" });
  host.append(parameters);
  const set = sliders(host, "maze", spec.sliders, changed);
  Object.assign(set, sliders(folded(host, "Parameters of other learners"), "maze", spec.more, changed));

  const mazes = figure(views, "maze", "The two environments, and the agent", 330);
  const belief = figure(views, "belief", "Chances of going from room to room: believed, and true", 400);
  const series = figure(views, "maze-surprise", "Surprise, learning rate and error so far", 420);
  const ask = question("/api/maze", (answer) => {
    python(answer.python);
    walk = { ...answer };
    for (const name of ["estimate", "surprise", "learning_rate", "error"]) walk[name] = unpack(answer[name]);
    show();
  });

  function changed() {
    ask({ ...values(set), learner: learner.value, switches });
  }

  function to(step) {
    place.put(step);
    show();
  }

  function toggle() {
    playing = !playing;
    play.textContent = playing ? "Pause" : "Play";
    if (playing && place.value >= spec.steps) place.put(0);
    last = performance.now();
    part = 0;
    if (playing) requestAnimationFrame(frame);
  }

  function frame(now) {
    if (!playing) return;
    part += (now - last) / 1000 * Number(speed.value);
    last = now;
    if (part >= 1 && walk && host.offsetParent) { // while it can be seen
      to(place.value + Math.floor(part));
      part %= 1;
    }
    if (place.value >= spec.steps) toggle();
    requestAnimationFrame(frame);
  }

  function show() {
    if (!walk) return;
    const at = place.value, environment = walk.environment[Math.max(at - 1, 0)], room = walk.rooms[at];
    parameters.textContent = `Parameters: ${walk.settings}.`;
    where.textContent = `After ${at} step${at === 1 ? "" : "s"}: room ${room + 1}, environment ${"AB"[environment]}`;
    drawMazes(environment, room);
    drawBelief(environment, at);
    drawSeries(at);
  }

  function drawMazes(environment, room) {
    const data = spec.environments.flatMap((rows, which) => {
      const axes = { xaxis: which ? "x2" : "x", yaxis: which ? "y2" : "y" };
      const flat = rows.flat(), here = flat.indexOf(room), seen = which === environment;
      return [{ ...axes, ...walls, mode: "lines", line: { color: colour(seen ? "text" : "line"), width: 2 } },
        { ...axes, x: flat.map((_, k) => k % 4 + 0.5), y: flat.map((_, k) => 3.5 - Math.floor(k / 4)),
        text: flat.map((each) => String(each + 1)), mode: "text", hoverinfo: "skip",
        textfont: { color: colour(seen ? "text" : "quiet"), size: 13 } },
        { ...axes, x: [here % 4 + 0.5], y: [3.5 - Math.floor(here / 4)], mode: "markers", hoverinfo: "skip",
        marker: { size: 34, color: look(1).color, symbol: seen ? "circle" : "circle-open", opacity: seen ? 0.55 : 0.4,
          line: { width: 2, color: look(1).color } } }];
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

  function drawBelief(environment, at) {
    const names = Array.from({ length: rooms }, (_, k) => k + 1);
    const believed = names.map((i) => names.map((j) => (i === j ? 0 : 1 / (rooms - 1))));
    const seen = new Set();
    for (let t = at - 1; t >= 0 && seen.size < rooms; t -= 1) { // only the room that was left last is seen anew
      const from = walk.rooms[t];
      if (seen.has(from)) continue;
      seen.add(from);
      for (let k = 0; k < rooms - 1; k += 1) believed[from][k + (k >= from)] = walk.estimate[t * (rooms - 1) + k];
    }
    const map = (z, axes) => ({ type: "heatmap", x: names, y: names, z, zmin: 0, zmax: 0.25, colorscale: "Viridis", ...axes,
      hovertemplate: "from %{y} to %{x}: %{z:.3f}<extra></extra>" });
    const ends = (title, domain, more) => (
      { ...axis(title, ...domain, more), fixedrange: true, dtick: 5, tick0: 1, showgrid: false });
    const [first, second] = narrow() ? [{ x: [0, 1], y: [0.57, 1] }, { x: [0, 1], y: [0, 0.43] }]
      : [{ x: [0, 0.46], y: [0, 1] }, { x: [0.54, 1], y: [0, 1] }];
    belief.draw([
      map(believed, { showscale: false }),
      map(spec.transitions[environment], { xaxis: "x2", yaxis: "y2", colorbar: { thickness: 12, title: { text: "chance" } } }),
    ], {
      xaxis: ends("believed: to room", first.x),
      yaxis: ends("from room", first.y, { autorange: "reversed" }),
      xaxis2: ends(`true, in ${"AB"[environment]}: to room`, second.x, { anchor: "y2" }),
      yaxis2: ends(narrow() ? "from room" : "", second.y, { autorange: "reversed", anchor: "x2" }),
      dragmode: false, height: narrow() ? 620 : 400,
    });
  }

  function drawSeries(at) {
    const line = (name, k, yaxis) => ({ x: count(at), y: walk[name].subarray(0, at), mode: "lines", yaxis,
      name: name.replace("_", " "), line: { ...look(k), width: 1.4 } });
    const changes = walk.switched.filter((step) => step < at).map((step) => step + 0.5), up = { rangemode: "tozero" };
    const lines = [line("surprise", 0, "y"), line("learning_rate", 2, "y2"), line("error", 1, "y3")];
    series.draw([uprights(changes, "switches", "y4"), ...lines], {
      xaxis: { title: { text: "step" }, anchor: "y3", range: [0, Math.max(at, 50)] },
      yaxis: axis("surprise", 0.7, 1, up), yaxis2: axis("learning rate", 0.36, 0.64, up), yaxis3: axis("error", 0, 0.3, up),
      yaxis4: WHOLE_HEIGHT, margin: { l: 72, r: 14, t: 12, b: 44 },
    });
  }

  changed();
}

const walls = { x: [], y: [], hoverinfo: "skip" }; // with a door in the middle of each
for (let k = 0; k <= 4; k += 1) {
  for (let j = 0; j < 4; j += 1) {
    for (const [low, high] of [[0, 0.36], [0.64, 1]]) {
      walls.x.push(k, k, null, j + low, j + high, null);
      walls.y.push(j + low, j + high, null, k, k, null);
    }
  }
}
