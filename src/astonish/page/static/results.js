// What an analysis has found so far: parameters, whose learner fits better, what people and the model did, tables, files.
import { button, element, select, table } from "./controls.js";
import { colour, figure, look, unpack } from "./plot.js";
import { copy } from "./copy.js";
import * as state from "./state.js";

const short = (value) => (value === null ? "unknown" : String(Number(value.toPrecision(3))));
const within = (value, low, high) => (
  `${short(value)} (${low === null ? "interval not known" : `${short(low)} to ${short(high)}`})`);

export function results(host) {
  const part = (heading) => {
    const made = element("div", { hidden: true }, ...(heading ? [element("h2", {}, heading)] : []));
    host.append(made);
    return made;
  };
  const command = part("What was asked, as a command"), keep = part("To keep");
  const said = part("What it says"), tables = part(), compared = part();
  const parameters = part(), course = part();
  const lines = element("pre", { className: "words" }), summary = element("summary", {}, "What was read and assumed");
  const notes = element("details", { className: "more", hidden: true }, summary, lines);
  host.append(notes);
  const people = new Map(), shown = new Map(); // by model: participants, and the table of them
  const rest = element("p", { className: "quiet" }); // what cannot be drawn
  let chooser = null, picture = null, differences = null;
  state.get("data.fit.who", "");

  function clear() {
    for (const each of [command, keep, said]) for (const old of [...each.children].slice(1)) old.remove();
    for (const each of [tables, compared, course, parameters]) each.replaceChildren();
    for (const each of [command, keep, said, tables, compared, course, parameters]) each.hidden = true;
    notes.hidden = true;
    lines.textContent = "";
    people.clear();
    shown.clear();
    chooser = picture = differences = null;
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
    const cells = ({ values, low, high }) => values.map((value, k) => within(value, low[k], high[k]));
    shown.get(model)(["participant", ...names, "BIC", "note"],
      all.map((each) => [each.who, ...cells(each), short(each.bic), each.note]));
    if (people.size > 1) compare();
    if (more.some((each) => each.course)) offer();
  }

  function compare() { // by how much the BIC of each learner exceeds the least, participant by participant
    compared.hidden = false;
    differences ??= figure(compared, "bic", "Which learner has the least BIC, participant by participant?",
      { height: 300 });
    const all = [...people].map(([model, each]) => [model, new Map(each.map(({ who, bic }) => [who, bic]))]);
    const everywhere = [...all[0][1].keys()].filter((who) => all.every(([, bic]) => Number.isFinite(bic.get(who))));
    const least = everywhere.map((who) => Math.min(...all.map(([, bic]) => bic.get(who))));
    const marks = all.map(([model, bic], at) => ({ kind: "dots", name: model, size: 7,
      symbol: ["circle", "diamond", "open"][at % 3], color: look(at).color, x: everywhere,
      y: everywhere.map((who, k) => bic.get(who) - least[k]) }));
    const wins = marks.map(({ name: model, y }) => `${model} for ${y.filter((value) => value === 0).length}`);
    const words = `Of ${everywhere.length} participants who are fitted by all, the least BIC has ${wins.join(", ")}.`;
    differences.draw({ words, x: { label: "participant" },
      panels: [{ label: "BIC above the least", marks }], legend: true });
  }

  function offer() { // whose course is drawn
    course.hidden = false;
    if (!chooser) {
      chooser = select(course, "data.fit.who", "participant to compare with the model", [], "", draw);
      picture = figure(course, "fit", "One participant, and the model", { height: 300 });
      course.append(rest);
    }
    const listed = [...people].flatMap(([model, all]) => all.filter((each) => each.course)
      .map(({ who }, at) => [`${model} ${at}`, people.size > 1 ? `${who}, ${model}` : who]));
    const before = chooser.value, total = [...people.values()].reduce((sum, all) => sum + all.length, 0);
    rest.textContent = listed.length < total ? "Others are in trials.csv: the page keeps only so many trials." : "";
    chooser.offer(listed, before);
    if (!before) draw();
  }

  function draw() {
    const [, model, at] = /^(.*) (\d+)$/.exec(chooser.value);
    const { who, course: own } = people.get(model).filter((each) => each.course)[at];
    const values = Object.fromEntries(Object.entries(own).map(
      ([name, packed]) => [name, packed.f8 ? unpack(packed) : packed]));
    const panel = own.made ? chosen(values) : { label: "response", marks: [
      { kind: "dots", name: "outcome", y: values.outcome, color: colour("quiet"), size: 3 },
      { kind: "dots", name: `response of ${who}`, y: values.response, color: look(1).color, size: 4 },
      { kind: "line", name: `expected by ${model}`, y: values.expected, ...look(0) }] };
    const said = `${who}: what was answered on each trial, and what ${model} expects.`;
    picture.draw({ words: said, x: { label: "trial" }, panels: [panel], legend: true });
  }

  function chosen({ probabilities, made, labels }) { // of two options the probability of the second, else of each
    const from = labels.length === 2 ? 1 : 0;
    const curves = labels.slice(from).map((label, k) => (
      { kind: "line", name: `probability of ${label}`, y: unpack(probabilities[k + from]), ...look(k) }));
    const height = made.map((choice) => (labels.length === 2 ? choice : 1.05 + 0.05 * choice));
    const dots = { kind: "dots", name: "chosen", y: height, color: colour("quiet"), size: 3 };
    return { label: "probability", marks: [...curves, dots] };
  }

  function found({ name, columns, rows }) {
    tables.hidden = false;
    const bic = columns.indexOf("BIC"), least = Math.min(...rows.map((row) => row[bic] ?? Infinity)); // the winner's
    const best = bic < 0 ? -1 : rows.findIndex((row) => row[bic] === least);
    table(tables, name)(columns, rows.map((row) => row.map((cell) => cell ?? "unknown")), best);
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
    const link = (text, path, more) => tools.append(
      element("a", { className: "button", href: `/api/jobs/${job}/${path}`, ...more }, text));
    link("Download everything (.zip)", "results.zip", { download: "" });
    link("Open the report", "report.html", { target: "_blank", rel: "noopener" });
    link("Download the report", "report.html?download", { download: "" });
    const texts = { "Copy the methods paragraph": methods, "Copy BibTeX": bibtex, "Copy Python": python };
    for (const [text, what] of Object.entries(texts)) {
      const made = button(tools, text, () => copy(what, made));
    }
    const about = `In the .zip: ${files.join(", ")}. It is gone when this page is closed.`;
    keep.append(tools, element("p", { className: "quiet" }, about));
  }

  return { clear, asked, fitted, found, show, say, done };
}
