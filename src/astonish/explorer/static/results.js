// What an analysis has found so far: parameters of participants, what they and the model did, tables, and files to keep.
import { button, element, select, table } from "./controls.js";
import { colour, figure, look, unpack } from "./plot.js";
import { copy } from "./copy.js";
import * as state from "./state.js";

const short = (value) => (value === null ? "unknown" : String(Number(value.toPrecision(3))));
const within = (value, low, high) => (low === null ? `${short(value)} (interval not known)` : `${short(value)} (${short(low)} to ${short(high)})`);

export function results(host) {
  const part = (heading) => {
    const made = element("div", { hidden: true }, ...(heading ? [element("h2", {}, heading)] : []));
    host.append(made);
    return made;
  };
  const command = part("What was asked, as a command"), keep = part("To keep");
  const said = part("What it says"), tables = part(), parameters = part(), course = part();
  const notes = element("details", { className: "more", hidden: true }, element("summary", {}, "What was read and assumed"));
  host.append(notes);
  const lines = element("pre", { className: "words" });
  notes.append(lines);
  const people = new Map(), shown = new Map(); // by model: participants, and the table of them
  let chooser = null, picture = null;
  state.get("data.fit.who", "");

  function clear() {
    for (const each of [command, keep, said]) for (const old of [...each.children].slice(1)) old.remove();
    for (const each of [tables, course, parameters]) each.replaceChildren();
    for (const each of [command, keep, said, tables, course, parameters]) each.hidden = true;
    notes.hidden = true;
    lines.textContent = "";
    people.clear();
    shown.clear();
    chooser = picture = null;
  }

  function asked(words) {
    command.hidden = false;
    command.append(element("pre", { className: "words" }, words));
  }

  function fitted({ model, parameters: names, people: more }) {
    parameters.hidden = false;
    if (!people.has(model)) {
      people.set(model, []);
      shown.set(model, table(parameters, `Parameters of ${model}, with 95 % intervals`));
    }
    const all = people.get(model);
    all.push(...more);
    shown.get(model)(["participant", ...names, "BIC", "note"], all.map(
      ({ who, values, low, high, bic, note }) => [who, ...values.map((value, k) => within(value, low[k], high[k])), short(bic), note]));
    if (more.some((each) => each.course)) offer();
  }

  function offer() { // whose course is drawn
    course.hidden = false;
    if (!chooser) {
      chooser = select(course, "data.fit.who", "participant to compare with the model", [], "", draw);
      picture = figure(course, "fit", "One participant, and the model", { height: 300 });
    }
    const listed = [...people].flatMap(([model, all]) => all.filter((each) => each.course)
      .map(({ who }, at) => [`${model} ${at}`, people.size > 1 ? `${who}, ${model}` : who]));
    const before = chooser.value;
    chooser.offer(listed, before);
    if (!before) draw();
  }

  function draw() {
    const [, model, at] = /^(.*) (\d+)$/.exec(chooser.value);
    const { who, course: own } = people.get(model).filter((each) => each.course)[at];
    const values = Object.fromEntries(Object.entries(own).map(([name, packed]) => [name, packed.f8 ? unpack(packed) : packed]));
    const panel = own.made ? chosen(values) : { label: "response", marks: [
      { kind: "dots", name: "outcome", y: values.outcome, color: colour("quiet"), size: 3 },
      { kind: "dots", name: `response of ${who}`, y: values.response, color: look(1).color, size: 4 },
      { kind: "line", name: `expected by ${model}`, y: values.expected, ...look(0) }] };
    picture.draw({ words: `${who}: what was answered on each trial, and what ${model} expects.`, x: { label: "trial" }, panels: [panel], legend: true });
  }

  function chosen({ chances, made, labels }) { // of two options the probability of the second, else of each
    const from = labels.length === 2 ? 1 : 0;
    const lines = labels.slice(from).map((label, k) => ({ kind: "line", name: `probability of ${label}`, y: unpack(chances[k + from]), ...look(k) }));
    const height = made.map((choice) => (labels.length === 2 ? choice : 1.05 + 0.05 * choice));
    return { label: "probability", marks: [...lines, { kind: "dots", name: "chosen", y: height, color: colour("quiet"), size: 3 }] };
  }

  function found({ name, columns, rows }) {
    tables.hidden = false;
    const bic = columns.indexOf("BIC"), least = bic < 0 ? -1 : rows.findIndex((row) => row[bic] === Math.min(...rows.map((each) => each[bic])));
    table(tables, name)(columns, rows.map((row) => row.map((cell) => cell ?? "unknown")), least);
  }

  function show(text) {
    if (!text.trim()) return;
    said.hidden = false;
    said.append(text.includes("\n") ? element("pre", {}, text.trim()) : element("p", {}, text));
  }

  function say(text) {
    notes.hidden = false;
    lines.textContent += `${text}\n`;
  }

  function done(job, { methods, bibtex, python, files }) {
    keep.hidden = false;
    const tools = element("div", { className: "tools" });
    const link = (text, path, more) => tools.append(element("a", { className: "button", href: `/api/jobs/${job}/${path}`, ...more }, text));
    link("Download everything (.zip)", "results.zip", { download: "" });
    link("Open the report", "report.html", { target: "_blank", rel: "noopener" });
    link("Download the report", "report.html?download", { download: "" });
    for (const [text, what] of [["Copy the methods paragraph", methods], ["Copy BibTeX", bibtex], ["Copy Python", python]]) {
      const made = button(tools, text, () => copy(what, made));
    }
    keep.append(tools, element("p", { className: "quiet" }, `In the .zip: ${files.join(", ")}. It is gone when this page is closed.`));
  }

  return { clear, asked, fitted, found, show, say, done };
}
