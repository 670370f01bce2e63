// Gaussian world: linked plots of samples, estimates, surprise, learning rate and error.
import { checkboxes, folded, slider, table } from "./controls.js";
import { colour, count, figure, look, swatch, unpack } from "./plots.js";
import { question } from "./ask.js";

export function start(panel, spec, python) {
  const host = panel.querySelector(".controls"), views = panel.querySelector(".views");
  const made = (where, some) => Object.fromEntries(Object.entries(some).map(
    ([name, each]) => [name, slider(where, `gaussian.${name}`, each, changed)]));
  const sliders = made(host, spec.sliders);
  const place = (name) => spec.learners.indexOf(name);
  const chosen = checkboxes(host, "gaussian.learners", "Learners", spec.learners, spec.shown,
    (name) => swatch(place(name)), changed);
  Object.assign(sliders, made(folded(host, "Parameters of single learners"), spec.more));
  const picture = figure(views, "gaussian", "Samples, estimates, surprise, rate and error", 720);
  const errors = table(views, "Errors of the learners");
  const ask = question("/api/gaussian", show);

  function changed() {
    ask({ ...Object.fromEntries(Object.entries(sliders).map(([name, each]) => [name, each.value])),
      learners: chosen.value });
  }

  function show(answer) {
    python(answer.python);
    const samples = unpack(answer.samples), truth = unpack(answer.truth), x = count(samples.length);
    const data = [
      { x: marks(answer.changes), y: bars(answer.changes), yaxis: "y5", mode: "lines", name: "jumps", hoverinfo: "skip",
        line: { color: colour("quiet"), width: 1, dash: "dot" }, opacity: 0.55 },
      { x, y: samples, mode: "markers", name: "samples", marker: { color: colour("quiet"), size: 4, opacity: 0.65 } },
      { x, y: truth, mode: "lines", name: "truth", line: { color: colour("ink"), width: 1.5, shape: "hv" } },
    ];
    for (const [name, made] of Object.entries(answer.learners)) {
      const estimate = unpack(made.estimate), line = { ...look(place(name)), width: 1.6 };
      const common = { x, mode: "lines", line, legendgroup: name, name };
      data.push({ ...common, y: estimate });
      data.push({ ...common, y: unpack(made.surprise), yaxis: "y2", showlegend: false });
      data.push({ ...common, y: unpack(made.rate), yaxis: "y3", showlegend: false });
      data.push({ ...common, y: estimate.map((e, t) => Math.abs(e - truth[t])), yaxis: "y4", showlegend: false });
    }
    const axis = (title, low, high, more = {}) => ({ title: { text: title }, domain: [low, high], ...more });
    picture.draw(data, {
      xaxis: { title: { text: "sample" }, anchor: "y4", range: [0, samples.length + 1] },
      yaxis: axis("value", 0.62, 1), yaxis2: axis("surprise", 0.42, 0.58, { rangemode: "tozero" }),
      yaxis3: axis("rate", 0.22, 0.38, { range: [-0.03, 1.03] }),
      yaxis4: axis("error", 0, 0.18, { rangemode: "tozero" }),
      yaxis5: { domain: [0, 1], range: [0, 1], visible: false, fixedrange: true },
      uirevision: samples.length,
    }, `${samples.length} samples, ${answer.changes.length - 1} jumps.`);
    const rows = Object.entries(answer.learners).map(([name, made]) => [name, made.squared_error, made.absolute_error,
      made.told]);
    const least = Math.min(...rows.map((row) => row[1]));
    errors(["learner", "mean squared error", "mean absolute error", "what it is told"], rows,
      rows.findIndex((row) => row[1] === least));
  }

  changed();
}

const marks = (steps) => steps.flatMap((step) => [step - 0.5, step - 0.5, null]);
const bars = (steps) => steps.flatMap(() => [0, 1, null]);
