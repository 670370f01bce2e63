// Your data: a file that stays on this machine, its columns, and what a learner makes of its trials.
import { box, button, element, select, short, table } from "./controls.js";
import { figure, look, unpack } from "./plot.js";
import { asker, attempt, fetched, json } from "./ask.js";
import * as state from "./state.js";

const NONE = ["", "(none)"];

export function start(host, views, spec, python) {
  let file = null, kind = "continuous", boxes = {}, linked = state.get("data.who", "");
  const input = element("input", { type: "file", accept: spec.ends.join(","), name: "file" });
  const drop = element("label", { className: "drop" }, "Drop a table here, or choose one", element("br"), input);
  const tools = element("div", { className: "tools" });
  host.append(drop, tools);
  button(tools, "Try an example", () => attempt(example));
  const download = button(tools, "Download the table", () => attempt(keep), "main");
  download.disabled = true;
  input.addEventListener("change", () => attempt(() => open(input.files[0])));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    attempt(() => open(event.dataTransfer.files[0]));
  });
  const words = {
    outcome: select(host, "data.outcome", "column of the outcome", [NONE], "", changed),
    to: select(host, "data.to", "column of what followed (for transitions)", [NONE], "", changed),
    choice: select(host, "data.choice", "column of the choice (if the outcome is what it paid)", [NONE], "", changed),
    subject: select(host, "data.subject", "column of the participant", [NONE], "", () => { nobody(); changed(); }),
    block: select(host, "data.block", "column of the block", [NONE], "", changed),
    trial: select(host, "data.trial", "column by which trials are ordered", [NONE], "", changed),
    missing: box(host, "data.missing", "number that means missing", "none", changed),
    decimal: select(host, "data.decimal", "decimal mark", [["", "recognised"], [",", "comma"], [".", "point"]], "", changed),
    kind: select(host, "data.kind", "kind of outcome", spec.kinds, spec.kinds[0], (chosen) => {
      if (chosen in spec.parameters) understand(chosen);
      changed();
    }),
    learner: select(host, "data.learner", "learner", spec.learners.map((name) => [name, short(name)]), "smile",
      () => { offer(true); changed(); }),
  };
  const own = element("div", { className: "pairs" });
  host.append(element("fieldset", {}, element("legend", {}, "Parameters of the learner"), own));
  if (words.kind.value in spec.parameters) kind = words.kind.value;
  offer(false);
  const who = select(host, "data.who", "participant to show", [NONE], "", changed);
  const hint = element("p", { className: "quiet" }, "There is no table yet.");
  views.append(hint);
  const first = table(views, "First rows of the table");
  const understood = element("pre", { className: "words", hidden: true });
  const picture = figure(views, "data", "Outcomes, surprise and learning rate, trial by trial", { height: 560 });
  views.append(understood);
  picture.frame.hidden = true;
  const ask = asker((query) => json(`/api/data?${query}`, { method: "POST", body: file }), show, views);

  async function open(chosen) {
    if (!chosen) return;
    if (chosen.size > spec.largest) {
      const limit = `more than ${spec.largest / 2 ** 20} MB, which is the most that is taken`;
      throw new Error(`${chosen.name} has ${limit}; use the command: astonish surprise`);
    }
    if (file) nobody();
    file = chosen;
    const found = await json(`/api/preview?${new URLSearchParams({ name: file.name })}`, { method: "POST", body: file });
    first(found.columns, found.rows);
    for (const name of ["outcome", "to", "choice", "subject", "block", "trial"]) {
      const usual = name === "outcome" ? name : ""; // a column of this very name
      words[name].offer([NONE, ...found.columns], state.get(`data.${name}`, usual));
    }
    hint.textContent = "Choose the column of the outcome: what happened on each trial.";
    hint.hidden = Boolean(words.outcome.value);
    changed();
  }

  function nobody() { // people of another column, or another table
    linked = "";
    who.offer([NONE], "");
    state.set("data.who", null);
  }

  async function example() { // samples of the Gaussian world
    const body = JSON.stringify({ samples: 120, seed: 3, learners: [] });
    const { samples } = await json("/api/gaussian", { method: "POST", body });
    const rows = [...unpack(samples)].map((value, at) => `${at + 1},${value.toFixed(2)}`);
    await open(new File([["trial,outcome", ...rows, ""].join("\n")], "example.csv"));
  }

  function offer(anew) { // what can be set of this learner, for outcomes of this kind
    if (anew) state.forget("data.set.");
    const parameters = Object.entries(spec.parameters[kind][words.learner.value] ?? {});
    own.replaceChildren();
    boxes = Object.fromEntries(parameters.map(([word, usual]) => [word, box(own, `data.set.${word}`, word, usual, changed)]));
    own.parentElement.hidden = parameters.length === 0;
  }

  function understand(found) {
    if (found === kind) return;
    kind = found;
    offer(false);
  }

  function query() {
    const asked = new URLSearchParams({ name: file.name });
    for (const [word, each] of Object.entries(boxes)) if (each.value !== "") asked.set(`set.${word}`, each.value);
    for (const [name, each] of Object.entries(words)) if (each.value) asked.set(name, each.value);
    if (who.value || linked) asked.set("who", who.value || linked);
    return asked;
  }

  function changed() {
    download.disabled = !file || !words.outcome.value;
    if (!download.disabled) ask(query());
  }

  function show(answer) {
    python(answer.python);
    linked = "";
    understand(answer.kind);
    who.offer(answer.participants, answer.who);
    understood.hidden = false;
    hint.hidden = true;
    understood.textContent = [answer.understood, "", `learner: ${answer.learner}`,
      ...(answer.assumed.length ? ["where nothing else was set:"] : []), ...answer.assumed.map((each) => `  ${each}`)].join("\n");
    picture.frame.hidden = false;
    const surprise = unpack(answer.surprise), panels = [];
    const marks = (name, packed, at, ...kinds) => (packed ? kinds.map((kind) => ({ kind, name, y: unpack(packed), ...look(at) })) : []);
    if (answer.outcome || answer.prediction) {
      panels.push({ label: "outcome", share: 0.5, marks: [...marks("outcome", answer.outcome, 6, "dots"),
        ...marks("prediction", answer.prediction, 0, "line")] });
    }
    panels.push({ label: "surprise", share: 0.25, zero: true, marks: marks("surprise", answer.surprise, 2, "line", "dots") },
      { label: "learning rate", share: 0.25, range: [-0.03, 1.03], marks: marks("learning rate", answer.learning_rate, 3, "line", "dots") });
    picture.draw({ words: `Participant ${answer.who}, ${surprise.length} trials.`,
      x: { label: "trial", range: [0, surprise.length + 1] }, panels });
  }

  async function keep() {
    const answer = await fetched(`/api/table?${query()}`, { method: "POST", body: file });
    const href = URL.createObjectURL(await answer.blob());
    element("a", { href, download: `${file.name.replace(/\.[^.]*$/, "")}-surprise.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }
}
