// Gaussian world: linked plots of samples, estimates, surprise, learning rate and error.
import { checkboxes, element, folded, select, short, sliders, table, values } from "./controls.js";
import { colour, figure, look, swatch, unpack } from "./plot.js";
import { json, persist, question, say } from "./ask.js";
import { explanation } from "./explain.js";
import * as state from "./state.js";

const REST = 400; // milliseconds without a change, after which averages are computed

function averaged(found) { // two digits of the standard error, and as many places of the mean
  if (!found) return "...";
  const places = Math.min(Math.max(1 - Math.floor(Math.log10(found.error || 1)), 0), 12);
  return `${found.mean.toFixed(places)} ± ${found.error.toFixed(places)}`;
}

export function start(host, views, spec, python) {
  const set = sliders(host, "gaussian", spec.sliders, changed);
  const place = (name) => spec.learners.indexOf(name);
  const measure = select(host, "gaussian.measure", "measure of surprise", spec.measures, spec.measures[0][0], changed);
  const chosen = checkboxes(host, "gaussian.learners", "Learners", spec.learners, spec.shown,
    (name) => swatch(place(name)), changed);
  Object.assign(set, sliders(folded(host, "Parameters of other learners"), "gaussian", spec.more, changed));
  const picture = figure(views, "gaussian", "Samples, estimates, surprise, learning rate and error",
    { height: 720, stays: true });
  const explained = explanation(views, (at, { measure: _, learners: __, ...world }, learner) => json(
    "/api/explain-gaussian", { method: "POST", body: JSON.stringify({ ...world, learner, at }) }),
  { moved: pick, closed: () => pick(NaN), key: "gaussian.explained" });
  const about = element("p", { className: "quiet" });
  views.append(about);
  const errors = table(views, "Errors of the learners");
  const verdict = element("p", { className: "quiet", role: "status" });
  views.append(verdict);
  const ask = question("/api/gaussian", (answer, asked) => { latest = [answer, asked]; show(); }, views);
  let latest = null, averages = null, resting = null, picked = Number.parseInt(state.get("gaussian.pick", ""), 10);

  function changed() {
    ask({ ...values(set), measure: measure.value, learners: chosen.value });
    averages = null;
    clearTimeout(resting);
    resting = setTimeout(average, REST);
  }

  function settings() { // all that averages depend on
    const { seed, ...world } = values(set);
    return JSON.stringify({ ...world, learners: chosen.value });
  }

  async function average() {
    const body = settings(), wanted = () => settings() === body;
    try {
      const found = await persist(() => json("/api/averages", { method: "POST", body }), wanted);
      if (!wanted()) return; // it has moved on
      averages = found;
      if (latest) showErrors(latest[0]);
    } catch (trouble) {
      if (wanted()) say(trouble.message);
    }
  }

  function pick(index) {
    picked = index;
    state.set("gaussian.pick", Number.isInteger(index) ? index : null);
    show();
  }

  function show() {
    const [answer, asked] = latest;
    python(answer.python);
    draw(answer);
    about.textContent = answer.surprise.words;
    showErrors(answer);
    if (picked >= 0 && picked < answer.samples.shape[0] && asked.learners.length) explained.show(picked, asked, asked.learners);
    else if (picked >= 0) explained.hide();
  }

  function draw(answer) {
    const samples = unpack(answer.samples), truth = unpack(answer.truth), panels = [[], [], [], []];
    const changes = answer.changes.map((step) => step - 0.5);
    const jumps = { kind: "rules", x: changes, name: "jumps", dash: "dot", opacity: 0.6 };
    for (const [name, made] of Object.entries(answer.learners)) {
      const estimate = unpack(made.estimate), off = estimate.map((each, t) => Math.abs(each - truth[t]));
      const parts = [estimate, made.surprise && unpack(made.surprise), unpack(made.learning_rate), off];
      const common = { kind: "line", name: short(name), ...look(place(name)), group: name };
      parts.forEach((y, k) => y && panels[k].push({ ...common, y }));
    }
    const world = [
      { kind: "dots", y: samples, name: "samples", color: colour("quiet"), size: 4, opacity: 0.65 },
      { kind: "step", y: truth, name: "truth", color: colour("text"), width: 1.5 },
    ];
    picture.draw({
      words: `${samples.length} samples, ${answer.changes.length - 1} jumps. ${answer.surprise.words}`,
      x: { label: "sample", range: [0, samples.length + 1] }, picked, pick,
      panels: [
        { label: "value", share: 0.4, marks: [jumps, ...world, ...panels[0]] },
        { label: answer.surprise.label, share: 0.2, zero: true, marks: [jumps, ...panels[1]] },
        { label: "learning rate", share: 0.2, range: [-0.03, 1.03], marks: [jumps, ...panels[2]] },
        { label: "error", share: 0.2, zero: true, marks: [jumps, ...panels[3]] },
      ],
    });
  }

  function showErrors(answer) {
    const rows = Object.entries(answer.learners).map(([name, made]) => {
      return [short(name), made.squared_error, made.absolute_error, averaged(averages?.learners[name]), made.settings];
    });
    errors(["learner", "mean squared error", "mean absolute error", `mean squared error over ${spec.seeds} seeds`,
      "its parameters"], rows, Object.keys(answer.learners).indexOf(averages?.best));
    verdict.textContent = averages?.words ?? `Averages over ${spec.seeds} random seeds are being computed ...`;
  }

  changed();
}
