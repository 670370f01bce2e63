// The maze: the agent walking, what learners believe comes next, and how surprised they are.
import { button, element, folded, select, short, slider, sliders, values } from "./controls.js";
import { colour, count, figure, look, narrow, unpack, written } from "./plot.js";
import { json, question } from "./ask.js";
import { explanation } from "./explain.js";
import { rooms } from "./rooms.js";
import * as state from "./state.js";

const SPEEDS = [1, 2, 5, 10, 25, 50];
const ROOMS = 16, SERIES = ["believed", "surprise", "smoothed", "learning_rate", "error"];
const LOOKS = [0, 2]; // of the two learners; the agent has the one between
const TRACE = [[225, 260], [185, 225]]; // heights on wide and on narrow screens, with one learner and with two

export function start(host, views, spec, python) {
  let walk = null, explaining = -1, playing = false, last = 0, part = 0, furthest = 0, drawn = null;
  let switches = state.get("maze.switches", "").split(" ").filter(Boolean).map(Number);

  const tools = element("div", { className: "tools" });
  const play = button(tools, "Play", toggle, "main");
  button(tools, "Step", () => { if (playing) toggle(); to(place.value + 1); });
  button(tools, "Switch environment", pressed);
  button(tools, "Start over", startOver);
  const where = element("p", { className: "quiet", role: "status" });
  views.append(tools, where);
  const mazes = rooms(views, "Rooms");
  const trace = figure(views, "maze-trace", "Surprise and error so far", { height: 250 });
  const explained = explanation(views, (step, asked, name) => json("/api/explain-maze",
    { method: "POST", body: JSON.stringify({ ...asked, learner: name, at: step }) }),
  { what: "step", moved: (step) => { to(step + 1); explain(step); }, closed: () => { explaining = -1; }, key: "maze.explained" });
  const more = folded(views, "Belief as a matrix, and learning rate");
  const belief = figure(more, "maze-belief", "Probabilities from room to room: believed, and true");
  const rates = figure(more, "maze-rate", "Learning rate so far", { height: 190 });
  more.addEventListener("toggle", show);

  const all = { label: "step", low: 0, high: spec.steps, default: 0, step: 1, whole: true };
  const place = slider(host, "maze.at", all, show);
  const speed = select(host, "maze.speed", "steps in a second", SPEEDS, 5, () => {});
  const names = spec.learners.map((name) => [name, short(name)]);
  const first = select(host, "maze.learner", "learner, one belief for each room", names, "smile", changed);
  const others = [["none", "none"], ...names];
  const second = select(host, "maze.second", "second learner, beside it", others, "none", changed);
  const parameters = element("p", { className: "quiet" });
  host.append(parameters);
  const set = sliders(host, "maze", spec.sliders, changed);
  Object.assign(set, sliders(folded(host, "Parameters of other learners"), "maze", spec.more, changed));

  const ask = question("/api/maze", (answer) => {
    python(answer.python);
    walk = { ...answer, learners: Object.entries(answer.learners).map(([name, made], k) => ({
      ...made, ...Object.fromEntries(SERIES.map((each) => [each, unpack(made[each])])), name: short(name),
      get look() { return look(LOOKS[k]); } })) }; // which follows the theme
    show();
    if (explaining >= 0) explain(explaining); // with what is set now
  }, views);

  function changed() {
    ask({ ...values(set), learner: first.value, second: second.value, switches });
  }

  function explain(step) {
    explaining = step;
    const learners = [first.value, second.value].filter((name) => name !== "none");
    explained.show(step, { ...values(set), switches }, [...new Set(learners)]);
  }

  function pressed() {
    const before = Math.min(place.value, spec.steps - 1);
    switches = switches.includes(before) ? switches.filter((step) => step !== before) : [...switches, before];
    state.set("maze.switches", switches.join(" "));
    furthest = place.value; // what was shown of later steps is another walk now
    changed();
  }

  function startOver() {
    switches = [];
    state.set("maze.switches", null);
    furthest = 0;
    to(0);
    changed();
  }

  function to(step) {
    place.put(step);
    show();
  }

  function toggle() {
    playing = !playing;
    play.textContent = playing ? "Pause" : "Play";
    where.setAttribute("aria-live", playing ? "off" : "polite"); // else every step would be read out
    if (playing && place.value >= spec.steps) place.put(0);
    last = performance.now();
    part = 0;
    if (playing) requestAnimationFrame(frame);
  }

  function frame(now) {
    if (!playing || !play.isConnected) return;
    part += (now - last) / 1000 * Number(speed.value);
    last = now;
    if (part >= 1 && walk && play.offsetParent) { // while it can be seen
      to(place.value + Math.floor(part));
      part %= 1;
    }
    if (place.value >= spec.steps) toggle();
    requestAnimationFrame(frame);
  }

  function show() {
    if (!walk) return;
    const at = place.value;
    furthest = Math.max(furthest, at);
    parameters.textContent = walk.learners.map(about).join(" ");
    drawRooms(at);
    drawTrace(at);
    if (more.open) drawMore(at);
  }

  const environmentAt = (at) => walk.environment[Math.max(at - 1, 0)];

  function about({ name, settings, estimator, measure }) {
    const several = `It holds several beliefs about a room, and their ${estimator} is shown.`;
    return `${name}: ${settings}. Its surprise is the ${measure}. ${estimator === "mode" ? "" : several}`;
  }

  function drawRooms(at) {
    const environment = environmentAt(at), here = walk.rooms[at];
    const views = walk.learners.map((made) => ({ title: `${"AB"[environment]}: ${made.name}`,
      arrangement: spec.environments[environment], here, probabilities: row(made, here, at),
      surprise: at ? shareOf(made.surprise, at - 1) : null, color: made.look.color }));
    const said = walk.learners.map((made, k) => sentence(made, views[k].probabilities, at)).join(" ");
    const place = `room ${here + 1}, environment ${"AB"[environment]}`;
    where.textContent = `After ${at} step${at === 1 ? "" : "s"}: ${place}. ${said}`;
    mazes.draw(views, where.textContent, drawn !== null && drawn !== at);
    drawn = at;
  }

  function sentence({ name, surprise, error }, probabilities, at) {
    const likely = Array.from(probabilities, (p, room) => [p, room + 1]).sort(([a], [b]) => b - a)[0];
    const alike = likely[0] - 1 / (ROOMS - 1) < 1e-9;
    const next = alike ? "expects all rooms alike" : `now expects room ${likely[1]} most (${likely[0].toFixed(2)})`;
    const so = at ? `surprise ${written(surprise[at - 1], 0, 3)}, error ${written(error[at - 1], 0, 3)}, ` : "";
    return `${name}: ${so}${next}.`;
  }

  function drawTrace(at) {
    const label = (name) => `surprise of ${name}, mean of ${spec.smoothed} steps`;
    const own = walk.learners.map((made) => (
      { label: label(made.name), marks: [switchRules(), line(made, "smoothed")] }));
    const error = { label: "error (mean square)", zero: true,
      marks: [switchRules(), ...walk.learners.map((made) => line(made, "error"))] };
    trace.draw({
      words: where.textContent, x: steps(), height: TRACE[narrow() ? 1 : 0][own.length - 1], panels: [...own, error],
      picked: at ? at - 1 : undefined, pick: (index) => { if (playing) toggle(); to(index + 1); explain(index); },
    });
  }

  const steps = () => ({ label: "step", range: [0, Math.max(furthest, 50)] });

  function line(made, name) {
    return { kind: "line", name: made.name, x: count(furthest), y: made[name].subarray(0, furthest), ...made.look };
  }

  function switchRules() {
    const places = walk.switched.filter((step) => step < furthest).map((step) => step + 0.5);
    return { kind: "rules", name: "switches", x: places, color: colour("quiet"), dash: "dot" };
  }

  function drawMore(at) {
    const names = Array.from({ length: ROOMS }, (_, k) => String(k + 1)), environment = environmentAt(at);
    const hover = (i, j, p) => `from ${i + 1} to ${j + 1}: ${p.toFixed(3)}`;
    const map = (label, z) => (
      { label, x: { label: "to room" }, marks: [{ kind: "heat", z, x: names, y: names, low: 0, high: 0.25, hover }] });
    const rows = (made) => names.map((_, from) => Array.from(row(made, from, at)));
    const believed = walk.learners.map((made) => map(`from room, as ${made.name} believes`, rows(made)));
    const panels = [...believed, map(`from room, truly in ${"AB"[environment]}`, spec.transitions[environment])];
    const [columns, height] = narrow() ? [1, 330 * panels.length] : [panels.length, 330];
    belief.draw({ panels, columns, height, legend: false });
    const panel = { zero: true, marks: [switchRules(), ...walk.learners.map((made) => line(made, "learning_rate"))] };
    rates.draw({ x: steps(), panels: [panel] });
  }

  function row({ believed }, from, at) { // what is believed after so many steps about the room after this one
    const other = ROOMS - 1, found = new Float64Array(ROOMS);
    const left = at > 0 ? walk.rooms.lastIndexOf(from, at - 1) : -1; // the step at which it was left last
    for (let k = 0; k < other; k += 1) found[k + (k >= from)] = left < 0 ? 1 / other : believed[left * other + k] ;
    return found;
  }

  changed();
}

function shareOf(values, at) { // from 0, the least of the walk, to 1, the most: learners measure surprise differently
  const [low, high] = values.reduce(([a, b], each) => [Math.min(a, each), Math.max(b, each)], [Infinity, -Infinity]);
  return high > low ? (values[at] - low) / (high - low) : 0;
}
