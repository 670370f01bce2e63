// Belief lab: a belief, an observation, and what becomes of them.
import { element, select, slider, table } from "./controls.js";
import { colour, figure, look, unpack } from "./plots.js";
import { question } from "./ask.js";
import * as state from "./state.js";

const NAMES = { belief: "belief", scaled: "scaled likelihood of the observation", updated: "updated belief (SMiLe)" };

function marked(lines) { // upright lines through the whole plot, with a word beside each
  const color = colour("quiet");
  return {
    shapes: lines.map(({ x, dash }) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper",
      line: { color, width: 1.5, dash } })),
    annotations: lines.map(({ x, text }) => ({ x, text, y: 1, yref: "paper", showarrow: false, xanchor: "left",
      yanchor: "top", font: { color } })),
  };
}

export function start(panel, spec, python) {
  const host = panel.querySelector(".controls"), views = panel.querySelector(".views");
  let family = state.get("lab.family", "gaussian"), sliders = {}, sample = null, silent = true;
  if (!(family in spec.families)) family = "gaussian";
  const presets = select(host, "lab.preset", "examples of the paper", [["", "choose one ..."],
    ...spec.presets.map((each, k) => [k, each.label])], "", take);
  const families = select(host, "lab.family", "family of beliefs",
    Object.entries(spec.families).map(([name, each]) => [name, each.label]), "gaussian", (name) => {
      presets.put("");
      shape(name, true);
      changed();
    });
  const readiness = slider(host, "lab.m", spec.sliders.m, changed);
  const own = element("div");
  host.append(own);
  const beliefs = figure(views, "lab-belief", "Belief, scaled likelihood and updated belief", 380);
  const steps = figure(views, "lab-step", "Surprise left after a step of size gamma, and what the step costs (Figure 2B)", 340);
  const measures = table(views, "Measures of surprise");
  const ask = question("/api/lab", show);

  function shape(name, anew) {
    family = name;
    if (anew) state.forget("lab.own.");
    const about = spec.families[name];
    own.replaceChildren();
    sliders = Object.fromEntries(Object.entries(about.sliders).map(
      ([word, each]) => [word, slider(own, `lab.own.${word}`, each, moved)]));
    if (about.outcomes.length) {
      const box = select(own, "lab.own.x", "observation", about.outcomes.map((text, k) => [k, text]),
        about.sample.default, moved);
      sample = { get value() { return Number(box.value); }, put: (value) => box.put(String(value)) };
    } else {
      sample = slider(own, "lab.own.x", about.sample, moved);
    }
  }

  function take(which) {
    if (which === "") return;
    const { family: name, values, x } = spec.presets[which];
    silent = true;
    families.put(name);
    shape(name, true);
    for (const [word, value] of Object.entries(values)) sliders[word].put(value);
    sample.put(x);
    silent = false;
    changed();
  }

  function moved() { // it is no longer the example
    presets.put("");
    changed();
  }

  function changed() {
    if (silent) return;
    ask({ family, m: readiness.value, x: sample.value,
      ...Object.fromEntries(Object.entries(sliders).map(([word, each]) => [word, each.value])) });
  }

  function show(answer, asked) {
    python(answer.python);
    const about = spec.families[asked.family];
    drawBeliefs(answer.drawn, about, asked.x);
    drawSteps(answer);
    measures(["measure", "value", "what it says"], answer.measures.map(
      ({ name, value, meaning }) => [name, value ?? Infinity, meaning]));
  }

  function drawBeliefs(drawn, about, x) {
    const at = drawn.kind === "bars" ? drawn.at : unpack(drawn.at);
    const data = Object.entries(NAMES).map(([name, label], k) => {
      const { color } = look([0, 3, 1][k]);
      const common = { x: at, y: unpack(drawn[name]), name: label };
      return drawn.kind === "bars" ? { ...common, type: "bar", marker: { color } }
        : { ...common, mode: "lines", line: { color, width: 2.2, dash: ["solid", "dot", "dash"][k] } };
    });
    const continuous = drawn.kind === "curves";
    const seen = continuous && asNumber() ? [{ x, text: "observation", dash: "dot" }] : [];
    beliefs.draw(data, {
      xaxis: { title: { text: continuous ? "parameter" : "" }, fixedrange: true },
      yaxis: { title: { text: continuous ? "density" : "weight" }, rangemode: "tozero", fixedrange: true },
      barmode: "group", hovermode: "x", hoverdistance: -1, dragmode: false, ...marked(seen),
    }, about.outcomes.length ? `Observation: ${about.outcomes[x]}.` : `Observation: ${x}.`);
    if (!beliefs.listens) {
      beliefs.listens = true;
      beliefs.plot.on("plotly_click", (event) => drop(event.points[0]));
    }
  }

  const asNumber = () => family === "gaussian";

  function drop(point) { // the observation that speaks most for what was clicked
    const about = spec.families[family], there = Number(point.x);
    const guess = { gaussian: () => there, poisson: () => Math.round(there), exponential: () => 1 / there,
      beta: () => Number(there > 0.5) }[family] ?? (() => Math.min(point.pointNumber, about.outcomes.length - 1));
    const { step } = about.sample;
    sample.put(Number((Math.round(guess() / step) * step).toPrecision(6)));
    moved();
  }

  function drawSteps(answer) {
    const gamma = unpack(answer.gammas), again = unpack(answer.again), spent = unpack(answer.spent);
    const [first, second] = [look(0).color, look(1).color];
    steps.draw([
      { x: gamma, y: again, mode: "lines", name: "surprise left, S_cc", line: { color: first, width: 2 } },
      { x: gamma, y: spent, mode: "lines", name: "change of the belief, D[new || old]", yaxis: "y2",
        line: { color: second, width: 2, dash: "dash" } },
      { x: [answer.gamma], y: [answer.bound], yaxis: "y2", mode: "markers", name: `gamma = ${answer.gamma?.toPrecision(3)}`,
        marker: { color: second, size: 11, symbol: "diamond" } },
      { x: [0, 1], y: [answer.bound, answer.bound], yaxis: "y2", mode: "lines",
        name: `bound B = ${answer.bound?.toPrecision(3)} of ${answer.bound_max?.toPrecision(3)} nats`,
        line: { color: second, width: 1, dash: "dot" } },
    ], {
      xaxis: { title: { text: "gamma" }, range: [-0.02, 1.02], fixedrange: true },
      yaxis: { title: { text: "S_cc (nats)" }, rangemode: "tozero", fixedrange: true },
      yaxis2: { title: { text: "change (nats)" }, overlaying: "y", side: "right", rangemode: "tozero", showgrid: false,
        fixedrange: true },
      ...marked([{ x: answer.gamma, text: "gamma", dash: "dash" }]), dragmode: false, margin: { l: 62, r: 62, t: 12, b: 44 },
    }, `Gamma is ${answer.gamma?.toPrecision(3)}, the bound ${answer.bound?.toPrecision(3)} of ${answer.bound_max?.toPrecision(3)} nats.`);
  }

  shape(family, false);
  silent = false;
  changed();
}
