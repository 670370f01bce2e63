// Explain one sample: the belief before, the scaled likelihood, the belief after, the terms of S_cc, and a sentence.
import { button, element, select, short } from "./controls.js";
import { colour, figure, look, unpack } from "./plot.js";
import { asker } from "./ask.js";
import * as state from "./state.js";

const LASTS = 600; // milliseconds in which the belief goes from before to after
const NAMES = { before: "before", alone: "scaled likelihood of the sample", after: "after" };
const LOOKS = { before: [0, "solid"], alone: [3, "dot"], after: [1, "dash"] };
const TERMS = [2, 4, 6, 5]; // their colours, other than those of the beliefs
const still = matchMedia("(prefers-reduced-motion: reduce)");
let made = 0;

/* ask(index, about, learner): a promise of the server's answer about the sample, counted from 0.
   what: the word for a sample. moved(index): called when another sample is wanted; it is to call show(index, about).
   closed(): called when it was closed. key: where the chosen learner is kept in the address, if show is given several. */
export function explanation(host, ask, { what = "sample", moved = null, closed = () => {}, key = "" } = {}) {
  const title = element("h2", { id: `explain-${made++}` }), tools = element("div", { className: "tools" });
  const sentence = element("p", { role: "status", className: "sentence" }), plots = element("div", { className: "explained" });
  const section = element("section", { className: "explain", hidden: true, "aria-labelledby": title.id },
    element("div", { className: "head" }, title, tools), sentence, plots);
  host.append(section);
  const beliefs = figure(plots, "explained", "Before and after", { height: 320 }), terms = stack(plots, 320);
  const request = asker((asked) => ask(asked.index, asked.about, asked.learner), shown);
  let index = -1, about, length = Infinity, from = null, run = 0, drawn = "", news = false;
  const chosen = key ? select(tools, key, "learner", [state.get(key, "")], "", again) : null;
  const [previous, next] = [["Previous", -1], ["Next", 1]].map(([text, step]) => button(tools, text, () => go(index + step)));
  button(tools, "Close", hide);

  section.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.target.matches("select, .plot") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(index + step);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !section.hidden && section.offsetParent && !document.querySelector("dialog[open]")) hide();
  });

  function go(to) {
    if (to < 0 || to >= length) return;
    if (moved) moved(to); else show(to, about);
  }

  function show(to, wanted, learners = []) { // wanted: whatever ask needs to know besides; learners: to choose from
    chosen?.offer(learners.map((name) => [name, short(name)]), chosen.value);
    [index, about] = [to, wanted];
    if (section.hidden) {
      [from, news] = [document.activeElement, true];
      [title.textContent, sentence.textContent] = [`Explain ${what} ${to + 1}`, "..."]; // until there is an answer
    }
    section.hidden = false;
    again();
  }

  function again() {
    if (index >= 0) request({ index, about, learner: chosen?.value });
  }

  function hide() {
    const inside = section.contains(document.activeElement);
    section.hidden = true;
    [index, drawn] = [-1, ""];
    run += 1;
    closed();
    if (inside) from?.focus?.();
  }

  function shown(answer) {
    if (index < 0) return;
    length = answer.length ?? Infinity;
    [previous.disabled, next.disabled] = [index === 0, index + 1 >= length];
    [title.textContent, sentence.textContent] = [`Explain ${what} ${answer.at + 1}`, answer.sentence];
    terms.draw(answer);
    animate(answer);
    if (news) section.scrollIntoView({ block: "nearest" });
    news = false;
  }

  function animate(answer) { // only what is new; a change of theme draws the end again
    const frame = frames(answer), mine = run += 1, words = answer.sentence, name = `${answer.at} ${words}`, start = performance.now();
    const place = (now) => Math.min(1, Math.max(0, now - start) / LASTS);
    const step = (now) => {
      if (mine !== run) return;
      beliefs.draw(frame(place(now), words));
      section.dataset.at = place(now);
      if (place(now) < 1) requestAnimationFrame(step);
    };
    if (still.matches || name === drawn) {
      beliefs.draw(frame(1, words));
      section.dataset.at = 1;
    } else step(start);
    drawn = name;
  }

  return { show, hide };
}

export function stack(host, height) { // terms of S_cc: those above zero stacked upwards from it, those below downwards
  const { frame, draw } = figure(host, "terms", "Terms of S_cc", { height });
  return { draw({ terms, total, sentence }) {
    frame.hidden = !terms;
    if (!terms) return;
    const bars = terms.map(({ name, value }, k) => (
      { kind: "bars", stacked: true, name, x: ["S_cc"], y: [value ?? NaN], color: look(TERMS[k]).color }));
    const sum = { kind: "line", name: total.name, x: [-0.45, 0.45], y: [total.value ?? NaN, total.value ?? NaN], color: colour("text"), width: 2.5 };
    draw({ words: `${sentence} Terms: ${terms.map(({ name }) => name).join("; ")}; together ${total.name}.`,
      panels: [{ label: "nats", zero: true, marks: [...bars, sum] }] });
  } };
}

function frames(answer) { // from a place between 0 and 1 to what is drawn there
  const [stages, size] = answer.path.shape, path = unpack(answer.path), alone = answer.alone && unpack(answer.alone);
  const row = (k) => path.subarray(k * size, (k + 1) * size);
  const between = (place) => {
    const at = place * (stages - 1), k = Math.min(Math.floor(at), stages - 2), [first, second] = [row(k), row(k + 1)];
    return first.map((each, i) => each + (at - k) * (second[i] - each));
  };
  const drawing = { curves, bars, points }[answer.kind](answer, path, alone);
  return (place, words) => drawing({ before: row(0), alone, after: between(place) }, words);
}

function styled(name, answer) {
  const [at, dash] = LOOKS[name];
  return { name: (name === "alone" && answer.alone_label) || NAMES[name], color: look(at).color, dash, width: 2.2 };
}

const present = (rows) => Object.entries(rows).filter(([, values]) => values);
const highest = (...lists) => 1.05 * lists.reduce((most, list) => (list ?? []).reduce((a, b) => (b > a ? b : a), most), 0);

function curves(answer, path, alone) {
  const x = unpack(answer.x), range = [0, highest(path, alone)], seen = answer.observation;
  const sample = seen === null ? [] : [{ kind: "rules", x: [seen], name: "sample", color: colour("text"), dash: "dot", width: 1.5 }];
  return (rows, words) => ({ words, x: { label: "parameter" }, panels: [{ label: answer.label, range,
    marks: [...present(rows).map(([name, y]) => ({ kind: "line", x, y, ...styled(name, answer) })), ...sample] }] });
}

function bars(answer, path, alone) {
  const most = highest(path, alone), least = -highest(path.map((each) => -each), alone?.map((each) => -each));
  return (rows, words) => ({ words, panels: [{ label: answer.label, range: [least, most || 1],
    marks: present(rows).map(([name, y]) => ({ kind: "bars", x: answer.x, y, ...styled(name, answer) })) }] });
}

function points(answer, path, alone) { // a mean, and its standard deviation where that is known
  const all = [...path, ...(alone ?? [])], ends = [];
  for (let k = 0; k < all.length; k += 2) ends.push(all[k] - (all[k + 1] || 0), all[k] + (all[k + 1] || 0));
  if (answer.observation !== null) ends.push(answer.observation);
  const [low, high] = [Math.min(...ends), Math.max(...ends)], room = 0.06 * (high - low || 1), seen = answer.observation;
  return (rows, words) => {
    const list = present(rows), marks = list.flatMap(([name, [mean, std]], k) => [
      { kind: "line", x: [k, k], y: [mean - std, mean + std], color: styled(name, answer).color, width: 2 },
      { kind: "dots", x: [k], y: [mean], size: 11, ...styled(name, answer) }]);
    if (seen !== null) marks.push({ kind: "line", x: [-0.5, list.length - 0.5], y: [seen, seen], name: "sample", color: colour("text"), dash: "dot", width: 1.5 });
    return { words, x: { range: [-0.5, list.length - 0.5], ticks: list.map(([name], k) => [k, styled(name, answer).name]) },
      panels: [{ label: answer.label, range: [low - room, high + room], marks }] };
  };
}
