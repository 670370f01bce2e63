// Belief lab: a belief, an observation, and what becomes of them.
import { element, select, slider, sliders, table, values } from "./controls.js";
import { colour, figure, look, nearest, unpack, written } from "./plot.js";
import { mention, question } from "./ask.js";
import { stack } from "./explain.js";
import * as state from "./state.js";

const NAMES = { belief: "belief", scaled: "scaled likelihood of the observation", updated: "updated belief (SMiLe)" };
const DASHES = ["solid", "dot", "dash"];

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
  const beliefs = figure(views, "lab-belief", "Belief, scaled likelihood and updated belief",
    { height: 380, stays: true });
  const sentence = element("p", { role: "status", className: "sentence" });
  views.append(sentence);
  const steps = figure(views, "lab-step",
    "Surprise left after a step of size gamma, and what the step costs (Figure 2B)", { height: 380 });
  const terms = stack(views, 340), measures = table(views, "Measures of surprise");
  const ask = question("/api/lab", show, views);

  function shape(name, anew) {
    family = name;
    const apply = (key) => !anew && key.slice("lab.own.".length) in spec.families[name].sliders;
    const dropped = state.names("lab.own.").filter((key) => !apply(key)).flatMap((key) => state.forget(key));
    mention(dropped.length ? `Dropped, because they belong to another family of beliefs: ${dropped.join(", ")}.` : "");
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
    drawBeliefs(answer, asked.x, outcomes[asked.x - x.least] ?? asked.x);
    drawSteps(answer);
    sentence.textContent = answer.sentence;
    terms.draw(answer);
    measures(["measure", "value", "what it says"], answer.measures.map(
      ({ name, value, meaning }) => [name, value ?? Infinity, meaning]));
  }

  function drawBeliefs({ drawn, sentence: words }, seen, observation) {
    const continuous = drawn.kind === "curves", x = continuous ? unpack(drawn.at) : drawn.at;
    const kind = continuous ? "line" : "bars", color = colour("quiet");
    const marks = Object.entries(NAMES).map(([name, label], k) => (
      { kind, x, y: unpack(drawn[name]), name: label, ...look([0, 3, 1][k]), width: 2.2, dash: DASHES[k] }));
    if (drawn.same_axis) marks.push({ kind: "rules", x: [seen], name: "observation", color, dash: "dot", width: 1.5 });
    expected = continuous ? drawn.expected && unpack(drawn.expected) : drawn.at.map((_, k) => k);
    beliefs.draw({
      words: `Observation: ${observation}. ${words}`, x: { label: continuous ? "parameter" : "" },
      panels: [{ label: continuous ? "density" : "weight", zero: true, marks }],
      click: (at) => drop(continuous ? nearest(x, at) : Math.round(at)),
    });
  }

  function drop(which) { // the observation to expect if what was clicked were true
    if (!expected || !(which in expected)) return;
    const { whole, most } = spec.families[family].sliders.x, there = Math.min(expected[which], most);
    set.x.put(whole ? Math.round(there) : Number(there.toPrecision(3)));
    moved();
  }

  function drawSteps(answer) {
    const x = unpack(answer.gammas), [first, second] = [look(0).color, look(1).color];
    const numbers = [answer.gamma, answer.bound, answer.bound_max].map((number) => number ?? Infinity);
    const [gamma, bound, most] = numbers.map((number) => written(number, 0, 3)), color = colour("quiet");
    const here = { kind: "rules", x: [answer.gamma], name: `gamma = ${gamma}`, color, dash: "dash", width: 1.5 };
    steps.draw({
      words: `Gamma is ${gamma}, the bound ${bound} of ${most} nats.`, x: { label: "gamma", range: [-0.02, 1.02] },
      panels: [
        { label: "surprise left, S_cc (nats)", zero: true, marks: [
          { kind: "line", x, y: unpack(answer.again), name: "surprise left, S_cc", color: first, width: 2 }, here] },
        { label: "change of the belief, D[new || old] (nats)", zero: true, marks: [
          { kind: "line", x, y: unpack(answer.spent), name: "change of the belief, D[new || old]", color: second,
            width: 2, dash: "dash" },
          { kind: "line", x: [0, 1], y: [numbers[1], numbers[1]], name: `bound B = ${bound} of ${most} nats`,
            color: second, width: 1, dash: "dot" },
          here, { kind: "dots", x: [answer.gamma], y: [numbers[1]], color: second, size: 11, symbol: "diamond" }] },
      ],
    });
  }

  shape(families.value, false);
  changed();
}
