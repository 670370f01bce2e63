// Your data: a file that stays on this machine, what its columns are, and what a learner makes of its trials.
import { box, button, element, folded, select, short, table } from "./controls.js";
import { unpack } from "./plot.js";
import { asker, attempt, fetched, json } from "./ask.js";
import { control, controls, guessed, NONE } from "./options.js";
import { takes } from "./drop.js";
import { explanation } from "./explain.js";
import { trials } from "./trials.js";
import { fits } from "./fits.js";
import { download } from "./save.js";
import * as state from "./state.js";

const MEANINGS = ["outcome", "to", "choice", "subject", "block", "trial"]; // of columns that both parts use
const CELLS = ["missing", "decimal", "label", "options"];
const LABELS = {
  outcome: "column of the outcome", to: "column of what followed (for transitions)",
  choice: "column of the choice (if the outcome is what it paid)", subject: "column of the participant",
  block: "column of the block", trial: "column by which trials are ordered",
};

let last = null; // the table that was read last, for another link to it

export function start(host, views, spec, python) {
  let file = null, kind = "continuous", boxes = {}, linked = state.get("data.who", ""), found = null, latest = null;
  const input = element("input", { type: "file", accept: spec.ends.join(","), name: "file" });
  const tools = element("div", { className: "tools" }), invitation = "Drop a table anywhere on the page, or choose one";
  const drop = element("label", { className: "drop" }, invitation, element("br"), input);
  host.append(drop, tools);
  button(tools, "Try an example", () => attempt(example));
  const whole = button(tools, "Download the table", () => attempt(keep), "main");
  whole.disabled = true;
  input.addEventListener("change", () => input.files[0] && attempt(() => open(input.files[0])));
  const described = Object.fromEntries(spec.options.table.map((each) => [each.name, each]));
  const columns = Object.fromEntries(MEANINGS.map((name) => {
    const about = { ...described[name], shape: "column", several: false, label: LABELS[name], options: [] };
    return [name, control(host, `data.${name}`, { name, flag: `--${name}`, ...about }, () => pickedColumn(name))];
  }));
  columns.reward = { ...columns.outcome, spec: { ...columns.outcome.spec, flag: "--reward" } }; // what a choice paid
  const words = {
    kind: select(host, "data.kind", "kind of outcome", spec.kinds, spec.kinds[0], (chosen) => {
      if (chosen in spec.parameters) understand(chosen);
      changed();
    }),
    learner: select(host, "data.learner", "learner", spec.learners.map((name) => [name, short(name)]), "smile",
      () => { offer(true); changed(); }),
  };
  const own = element("div", { className: "pairs" });
  host.append(element("fieldset", {}, element("legend", {}, "Parameters of the learner, for surprise"), own));
  if (words.kind.value in spec.parameters) kind = words.kind.value;
  offer(false);
  const who = select(host, "data.who", "participant to show", [NONE], "", changed);
  const folds = folded(host, "More about the cells of the table");
  const cells = controls(folds, "data", CELLS.map((name) => described[name]), changed);
  const hint = element("p", { className: "quiet" }, lost());
  views.append(hint);
  const first = table(views, "First rows of the table");
  const understood = element("pre", { className: "words", hidden: true }), surprising = element("div");
  views.append(surprising);
  const picture = trials(surprising);
  const about = (at) => json(`/api/explain-data?${query()}&at=${at}`, { method: "POST", body: file });
  const explained = explanation(surprising, about, { what: "trial", moved: pick, closed: () => pick(NaN) });
  surprising.append(understood);
  const panel = fits(host, views, spec, { ...columns, ...cells }, { asked: tableWords, file: () => file, python });
  const ask = asker((asked) => json(`/api/data?${asked}`, { method: "POST", body: file }), show, surprising);
  state.get("data.pick", "");
  takes((dropped) => attempt(() => open(dropped)));
  if (last) attempt(() => open(last));

  function lost() { // a link to a view of a table, which stays with whoever has it
    const name = state.get("data.name", "");
    const again = `This link is about a table that is not here: drop ${name} again. What was set is kept.`;
    return name ? again : "There is no table yet.";
  }

  async function open(chosen) {
    if (chosen.size > spec.largest) {
      const limit = `more than ${spec.largest / 2 ** 20} MB, which is the most that is taken`;
      throw new Error(`${chosen.name} has ${limit}; use the command: astonish surprise`);
    }
    const asked = new URLSearchParams({ name: chosen.name });
    const answer = await json(`/api/preview?${asked}`, { method: "POST", body: chosen });
    if (file) nobody();
    file = last = chosen;
    found = answer;
    state.set("data.name", file.name);
    for (const name of MEANINGS) columns[name].offer(found.columns, found.guessed[name]);
    panel.offer(found.columns, found.guessed);
    mark();
    changed();
  }

  function pickedColumn(name) {
    if (name === "subject") nobody();
    mark();
    changed();
  }

  function mark() { // what each column is, in the preview and beside the controls
    const all = { ...columns, ...panel.columns };
    delete all.reward;
    for (const [name, each] of Object.entries(all)) {
      guessed(each.row, each.value && each.value === found.guessed[name] && !state.get(`data.${name}`, ""));
    }
    const meaning = (column) => Object.keys(all).filter((name) => all[name].value === column).join(", ");
    first(found.columns.map((column) => (meaning(column) ? `${column} (${meaning(column)})` : column)), found.rows);
    const same = found.constant.length ? [`The same in all rows: ${found.constant.join(", ")}.`] : [];
    if (!columns.outcome.value) same.unshift("Choose the column of the outcome: what happened on each trial.");
    hint.textContent = same.join(" ");
    hint.hidden = same.length === 0;
  }

  function nobody() { // people of another column, or another table
    linked = "";
    who.offer([NONE], "");
    state.set("data.who", null);
    explained.hide();
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
    boxes = Object.fromEntries(parameters.map(
      ([word, usual]) => [word, box(own, `data.set.${word}`, word, usual, changed)]));
    own.parentElement.hidden = parameters.length === 0;
  }

  function understand(now) {
    if (now === kind) return;
    kind = now;
    offer(false);
  }

  function tableWords() { // as the commands have them
    const { outcome, to, choice } = columns, asked = [["name", file.name]];
    if (choice.value) asked.push(["choice", choice.value], ["reward", outcome.value]);
    else asked.push(["outcome", outcome.value], ["outcome", to.value]);
    for (const name of ["subject", "block", "trial"]) asked.push([name, columns[name].value]);
    if (words.kind.value in spec.parameters) asked.push(["kind", words.kind.value]);
    for (const [name, each] of Object.entries(cells)) for (const word of each.values) asked.push([name, word]);
    return { asked, learner: words.learner.value };
  }

  function query() { // for surprise
    const { asked, learner } = tableWords(), settings = Object.entries(boxes).filter(([, each]) => each.value !== "");
    const list = [...asked, ["learner", learner], ["who", who.value === NONE[0] ? linked : who.value],
      ...settings.map(([word, each]) => ["settings", `${word}=${each.value}`])];
    return new URLSearchParams(list.filter(([, value]) => value));
  }

  function changed() {
    whole.disabled = !file || !columns.outcome.value;
    if (!whole.disabled) ask(query());
  }

  function show(answer) {
    python(answer.python);
    linked = "";
    understand(answer.kind);
    who.offer(answer.participants, answer.who);
    understood.hidden = false;
    understood.textContent = [answer.understood, "", `learner: ${answer.learner}`,
      ...(answer.assumed.length ? ["where nothing else was set:"] : []),
      ...answer.assumed.map((each) => `  ${each}`)].join("\n");
    latest = answer;
    paint();
  }

  function pick(index) {
    state.set("data.pick", Number.isInteger(index) ? index : null);
    if (latest) paint();
  }

  function paint() { // the trials, and the one that is picked, which is explained
    const at = Number.parseInt(state.get("data.pick", ""), 10), [length] = latest.surprise.shape;
    picture.draw(latest, at, pick);
    if (at >= 0 && at < length) explained.show(at);
    else if (at >= 0) explained.hide();
  }

  async function keep() {
    const answer = await fetched(`/api/table?${query()}`, { method: "POST", body: file });
    download(await answer.blob(), `${file.name.replace(/\.[^.]*$/, "")}-surprise.csv`);
  }
}
