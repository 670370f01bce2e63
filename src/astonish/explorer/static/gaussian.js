// Gaussian world: linked plots of samples, estimates, surprise, learning rate and error.
import { checkboxes, folded, short, sliders, table, values } from "./controls.js";
import { axis, colour, count, figure, look, swatch, unpack, uprights, WHOLE_HEIGHT } from "./plots.js";
import { question } from "./ask.js";

export function start(host, views, spec, python) {
  const set = sliders(host, "gaussian", spec.sliders, changed);
  const place = (name) => spec.learners.indexOf(name);
  const chosen = checkboxes(host, "gaussian.learners", "Learners", spec.learners, spec.shown,
    (name) => swatch(place(name)), changed);
  Object.assign(set, sliders(folded(host, "Parameters of other learners"), "gaussian", spec.more, changed));
  const picture = figure(views, "gaussian", "Samples, estimates, surprise, learning rate and error", 720);
  const errors = table(views, "Errors of the learners");
  const ask = question("/api/gaussian", show);

  function changed() {
    ask({ ...values(set), learners: chosen.value });
  }

  function show(answer) {
    python(answer.python);
    const samples = unpack(answer.samples), truth = unpack(answer.truth), x = count(samples.length);
    const data = [
      uprights(answer.changes.map((step) => step - 0.5), "jumps", "y5"),
      { x, y: samples, mode: "markers", name: "samples", marker: { color: colour("quiet"), size: 4, opacity: 0.65 } },
      { x, y: truth, mode: "lines", name: "truth", line: { color: colour("text"), width: 1.5, shape: "hv" } },
    ];
    for (const [name, made] of Object.entries(answer.learners)) {
      const estimate = unpack(made.estimate), off = estimate.map((e, t) => Math.abs(e - truth[t]));
      const common = { x, mode: "lines", line: { ...look(place(name)), width: 1.6 }, legendgroup: name, name: short(name) };
      const parts = [estimate, unpack(made.surprise), unpack(made.learning_rate), off];
      parts.forEach((y, k) => data.push({ ...common, y, yaxis: `y${k ? k + 1 : ""}`, showlegend: k === 0 }));
    }
    picture.draw(data, {
      xaxis: { title: { text: "sample" }, anchor: "y4", range: [0, samples.length + 1] },
      yaxis: axis("value", 0.62, 1), yaxis2: axis("surprise", 0.42, 0.58, { rangemode: "tozero" }),
      yaxis3: axis("learning rate", 0.22, 0.38, { range: [-0.03, 1.03] }),
      yaxis4: axis("error", 0, 0.18, { rangemode: "tozero" }), yaxis5: WHOLE_HEIGHT, uirevision: samples.length,
    }, `${samples.length} samples, ${answer.changes.length - 1} jumps.`);
    const rows = Object.entries(answer.learners).map(
      ([name, made]) => [short(name), made.squared_error, made.absolute_error, made.settings]);
    const least = Math.min(...rows.map((row) => row[1]));
    errors(["learner", "mean squared error", "mean absolute error", "its parameters"], rows,
      rows.findIndex((row) => row[1] === least));
  }

  changed();
}
