// The maze: both environments, the agent walking, its belief beside the truth, and how surprised it is.
import { button, element, folded, select, short, slider, sliders, values } from "./controls.js";
import { colour, figure, look, narrow, unpack } from "./plot.js";
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

  const mazes = figure(views, "maze", "The two environments, and the agent", { height: 330 });
  const belief = figure(views, "belief", "Probabilities of going from room to room: believed, and true", { height: 400 });
  const series = figure(views, "maze-surprise", "Surprise, learning rate and error so far", { height: 420 });
  const ask = question("/api/maze", (answer) => {
    python(answer.python);
    walk = { ...answer };
    for (const name of ["estimate", "surprise", "learning_rate", "error"]) walk[name] = unpack(answer[name]);
    show();
  }, views);

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
    const panels = spec.environments.map((rows, which) => {
      const flat = rows.flat(), here = flat.indexOf(room), seen = which === environment, { color } = look(1);
      return { label: seen ? `${"AB"[which]}: the agent is here` : "AB"[which], range: [-0.15, 4.15], ticks: [], marks: [
        { kind: "line", ...walls, color: colour(seen ? "text" : "line"), width: 2 },
        { kind: "dots", x: [here % 4 + 0.5], y: [3.5 - Math.floor(here / 4)], size: 34, color, symbol: seen ? "circle" : "open",
          opacity: seen ? 0.55 : 0.4 },
        { kind: "text", x: flat.map((_, k) => k % 4 + 0.5), y: flat.map((_, k) => 3.5 - Math.floor(k / 4)),
          text: flat.map((each) => each + 1), color: colour(seen ? "text" : "quiet"), size: 13 }] };
    });
    mazes.draw({ words: `The agent is in room ${room + 1} of environment ${"AB"[environment]}.`, panels, columns: 2, legend: false,
      x: { range: [-0.15, 4.15], ticks: [] }, height: narrow() ? 220 : 330 });
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
    const map = (z, label) => ({ label: "from room", x: { label }, marks: [{ kind: "heat", x: names, y: names, z, low: 0, high: 0.25,
      hover: (i, j, value) => `from ${i + 1} to ${j + 1}: ${value.toFixed(3)}` }] });
    belief.draw({
      panels: [map(believed, "believed: to room"), map(spec.transitions[environment], `true, in ${"AB"[environment]}: to room`)],
      columns: narrow() ? 1 : 2, height: narrow() ? 620 : 400,
    });
  }

  function drawSeries(at) {
    const changes = { kind: "rules", x: walk.switched.filter((step) => step < at).map((step) => step + 0.5), name: "switches", dash: "dot" };
    series.draw({
      x: { label: "step", range: [0, Math.max(at, 50)] },
      panels: ["surprise", "learning_rate", "error"].map((name, k) => ({ label: name.replace("_", " "), zero: true, marks: [changes,
        { kind: "line", y: walk[name].subarray(0, at), name: name.replace("_", " "), ...look([0, 2, 1][k]), width: 1.4 }] })),
    });
  }

  changed();
}

const walls = { x: [], y: [] }; // with a door in the middle of each
for (let k = 0; k <= 4; k += 1) {
  for (let j = 0; j < 4; j += 1) {
    for (const [low, high] of [[0, 0.36], [0.64, 1]]) {
      walls.x.push(k, k, NaN, j + low, j + high, NaN);
      walls.y.push(j + low, j + high, NaN, k, k, NaN);
    }
  }
}
