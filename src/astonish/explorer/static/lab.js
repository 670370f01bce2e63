// Belief lab: a belief, an observation, and what becomes of them.
import { element, select, slider, sliders, table, values } from "./controls.js";
import { colour, count, figure, look, unpack } from "./plots.js";
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

export function start(host, views, spec, python) {
  let family = null, set = {}, expected = null;
  const presets = select(host, "lab.preset", "examples of the paper", [["", "choose one ..."],
    ...spec.presets.map((each, k) => [k, each.label])], "", take);
  const families = select(host, "lab.family", "family of beliefs",
    Object.entries(spec.families).map(([name, each]) => [name, each.label]), "gaussian", (name) => {
      shape(name, true);
      moved();
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
    own.replaceChildren();
    const { sliders: { x, ...others }, outcomes } = spec.families[name];
    set = sliders(own, "lab.own", others, moved);
    const labels = outcomes.map((text, k) => [x.least + k, text]);
    set.x = labels.length ? select(own, "lab.own.x", x.label, labels, x.default, moved)
      : slider(own, "lab.own.x", x, moved);
  }

  function take(which) {
    if (which === "") return;
    const preset = spec.presets[which];
    families.put(preset.family);
    shape(preset.family, true);
    for (const [word, value] of Object.entries(preset.values)) set[word].put(value);
    changed();
  }

  function moved() { // it is no longer the example
    presets.put("");
    changed();
  }

  function changed() {
    ask({ family, m: readiness.value, ...values(set) });
  }

  function show(answer, asked) {
    python(answer.python);
    const { outcomes, sliders: { x } } = spec.families[asked.family];
    drawBeliefs(answer.drawn, asked.x, outcomes[asked.x - x.least] ?? asked.x);
    drawSteps(answer);
    measures(["measure", "value", "what it says"], answer.measures.map(
      ({ name, value, meaning }) => [name, value ?? Infinity, meaning]));
  }

  function drawBeliefs(drawn, x, observation) {
    const continuous = drawn.kind === "curves", at = continuous ? unpack(drawn.at) : drawn.at;
    const data = Object.entries(NAMES).map(([name, label], k) => {
      const { color } = look([0, 3, 1][k]), common = { x: at, y: unpack(drawn[name]), name: label };
      return continuous ? { ...common, mode: "lines", line: { color, width: 2.2, dash: ["solid", "dot", "dash"][k] } }
        : { ...common, type: "bar", marker: { color } };
    });
    expected = continuous ? drawn.expected && unpack(drawn.expected) : count(at.length).map((k) => k - 1);
    const seen = drawn.same_axis ? [{ x, text: "observation", dash: "dot" }] : [];
    beliefs.draw(data, {
      xaxis: { title: { text: continuous ? "parameter" : "" }, fixedrange: true },
      yaxis: { title: { text: continuous ? "density" : "weight" }, rangemode: "tozero", fixedrange: true },
      barmode: "group", hovermode: "x", hoverdistance: -1, dragmode: false, ...marked(seen),
    }, `Observation: ${observation}.`);
    if (!beliefs.listens) {
      beliefs.listens = true;
      beliefs.plot.on("plotly_click", (event) => drop(event.points[0]));
    }
  }

  function drop(point) { // the observation to expect if what was clicked were true
    if (!expected) return;
    const { whole, most } = spec.families[family].sliders.x, there = Math.min(expected[point.pointNumber], most);
    set.x.put(whole ? Math.round(there) : Number(there.toPrecision(3)));
    moved();
  }

  function drawSteps(answer) {
    const x = unpack(answer.gammas), [first, second] = [look(0).color, look(1).color];
    const [gamma, bound, most] = [answer.gamma, answer.bound, answer.bound_max].map((number) => number?.toPrecision(3));
    steps.draw([
      { x, y: unpack(answer.again), mode: "lines", name: "surprise left, S_cc", line: { color: first, width: 2 } },
      { x, y: unpack(answer.spent), mode: "lines", name: "change of the belief, D[new || old]", yaxis: "y2",
        line: { color: second, width: 2, dash: "dash" } },
      { x: [answer.gamma], y: [answer.bound], yaxis: "y2", mode: "markers", name: `gamma = ${gamma}`,
        marker: { color: second, size: 11, symbol: "diamond" } },
      { x: [0, 1], y: [answer.bound, answer.bound], yaxis: "y2", mode: "lines",
        name: `bound B = ${bound} of ${most} nats`, line: { color: second, width: 1, dash: "dot" } },
    ], {
      xaxis: { title: { text: "gamma" }, range: [-0.02, 1.02], fixedrange: true },
      yaxis: { title: { text: "S_cc (nats)" }, rangemode: "tozero", fixedrange: true },
      yaxis2: { title: { text: "change (nats)" }, overlaying: "y", side: "right", rangemode: "tozero", showgrid: false,
        fixedrange: true },
      ...marked([{ x: answer.gamma, text: "gamma", dash: "dash" }]), dragmode: false, margin: { l: 62, r: 62, t: 12, b: 44 },
    }, `Gamma is ${gamma}, the bound ${bound} of ${most} nats.`);
  }

  shape(families.value, false);
  changed();
}
