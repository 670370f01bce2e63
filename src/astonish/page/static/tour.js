// The tour: one idea of the paper per screen, with a picture, our verdict, and a control that breaks the claim.
import * as state from "./state.js";
import { button, element, select, slider } from "./controls.js";
import { colour, figure, look, narrow, unpack } from "./plot.js";
import { question } from "./ask.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)"), MOVE = 700; // milliseconds in which bars move
const VERDICTS = { "✓": "holds", "◐": "in-part", "✗": "fails" }; // classes, by the mark
const OCCUPIED = "input, select, textarea, dialog, .plot, [role=tab]"; // they use the keys themselves
let tour = null; // the one that is on the page

export function start(_, views, spec, python) {
  const panel = views.closest("section"), nav = panel.querySelector("nav");
  const screens = spec.screens.map((each, k) => screen(views, each, k, changed));
  const progress = element("p", { className: "progress", role: "status" });
  nav.replaceChildren();
  const back = button(nav, "", () => step(-1)), on = element("div", { className: "stations" });
  nav.append(on, progress);
  const stations = spec.screens.map((each, k) => button(on, String(k + 1), () => go(k)));
  stations.forEach((each, k) => each.setAttribute("aria-label", `Screen ${k + 1}: ${spec.screens[k].title}`));
  const next = button(nav, "", () => step(1), "main");
  let at = -1;

  function changed(of) { // something is set, or shown anew
    if (of !== screens[at]) return;
    if (of.python) python(of.python);
    next.textContent = of.more(1) ? "Next line" : "Next";
    back.textContent = of.more(-1) ? "Previous line" : "Previous";
    next.disabled = at === screens.length - 1 && !of.more(1);
    back.disabled = at === 0 && !of.more(-1);
  }

  function go(number, push = true) {
    const to = Math.min(Math.max(Number.isInteger(number) ? number : 0, 0), screens.length - 1), again = to === at;
    at = to;
    screens.forEach((each, k) => { each.article.hidden = k !== at; });
    stations.forEach((each, k) => each.setAttribute("aria-current", k === at ? "step" : "false"));
    progress.textContent = `${at + 1} of ${screens.length}`;
    state.set("screen", at + 1);
    if (!again) {
      state.write(push);
      window.scrollTo(0, 0);
    }
    screens[at].ask();
    changed(screens[at]);
  }

  function step(by) {
    if (screens[at].more(by)) screens[at].tell(by);
    else if (at + by >= 0 && at + by < screens.length) go(at + by);
  }

  function key(event) {
    const low = window.scrollY + window.innerHeight >= document.body.scrollHeight - 2; // nothing is left to scroll
    const scrolled = event.key === "PageDown" ? low : window.scrollY <= 0;
    const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: scrolled && 1, PageUp: scrolled && -1 }[event.key];
    const end = { Home: 0, End: screens.length - 1 }[event.key];
    if (!by && end === undefined) return;
    event.preventDefault();
    if (by) step(by); else go(end);
  }

  tour = { panel, go, key };
  go(asked(state.get("screen", "1")), false);
}

const asked = (text) => Number(text ?? 1) - 1;

document.addEventListener("keydown", (event) => {
  const busy = event.target.closest?.(OCCUPIED) || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
  if (tour && !tour.panel.hidden && !busy) tour.key(event);
});
window.addEventListener("popstate", (event) => { // back, forward, or a link that was opened here
  if ((state.linked("tab") ?? "tour") !== "tour") return;
  if (event.state?.ours) tour?.go(asked(state.linked("screen")), false);
  else setTimeout(() => tour?.go(asked(state.get("screen", "1")), false)); // once the link has been read
});

function screen(views, spec, number, changed) { // what belongs to one screen, which is out of sight at first
  const lines = element("div", { className: "told" }), place = element("div");
  const found = element("p", { className: "found", role: "status" });
  const side = element("form", { className: "controls" }), left = element("div", { className: "picture" });
  const article = element("article", { className: "screen", hidden: true, "aria-label": spec.title });
  article.append(element("h2", {}, spec.title), element("p", { className: "idea" }, spec.idea), left, side);
  left.append(lines, place, found);
  side.addEventListener("submit", (event) => event.preventDefault());
  if (spec.steps) article.classList.add("told-in-lines");
  views.append(article);
  const picture = figure(place, `tour-${number + 1}`, spec.title, { stays: true }), draw = moving(picture);
  const controls = breaker(side, spec, () => { ask(); changed(me); });
  side.prepend(...spec.claims.map(claim));
  const send = question("/api/tour", show, left);
  const me = { article, python: "", ask, more, tell };

  function ask() { send({ screen: spec.name, ...controls.values() }); }

  function more(by) { // whether there is a line to tell, or to take back
    const each = spec.sliders[spec.steps], value = controls.all[spec.steps]?.value;
    return Boolean(each) && value + by >= each.least && value + by <= each.most;
  }

  function tell(by) {
    controls.all[spec.steps].put(controls.all[spec.steps].value + by);
    ask();
    changed(me);
  }

  function show(answer) {
    const silent = spec.steps && !answer.text.length;
    const texts = silent ? ["Press the right arrow key, or Next line."] : answer.text;
    lines.replaceChildren(...texts.map((text) => element("p", { className: silent ? "quiet" : "" }, text)));
    const verdict = badge(answer.mark, answer.here);
    found.replaceChildren(...(answer.here ? [verdict, " at these settings. "] : []), answer.sentence);
    draw(drawing(spec, answer));
    me.python = answer.python;
    article.dataset.answers = Number(article.dataset.answers ?? 0) + 1;
    changed(me);
  }

  return me;
}

function badge(mark, text) {
  return element("strong", { className: `verdict ${VERDICTS[mark] ?? ""}` }, `${mark} ${text}`);
}

function claim(each) {
  const parts = [each.why, `In the paper: ${each.paper}.`, `Measured: ${each.measured}.`,
    `The verdict is the same for ${each.seeds.join(" of ")} random seeds.`].map((text) => element("p", {}, text));
  return element("section", { className: "claim" }, element("h3", {}, `The paper says (${each.where})`),
    element("p", { className: "says" }, each.says),
    element("p", {}, "Our verdict: ", badge(each.mark, each.verdict), "."),
    element("details", {}, element("summary", {}, "Why, and what was measured"), ...parts));
}

function breaker(host, spec, changed) { // the controls, and a button that breaks the claim
  const box = element("fieldset", {}, element("legend", {}, "Try to break it"), element("p", {}, spec.hint)), all = {};
  const key = (name) => `tour.${spec.name}.${name}`;
  host.append(box);
  for (const [name, each] of Object.entries(spec.sliders)) all[name] = slider(box, key(name), each, moved);
  for (const [name, each] of Object.entries(spec.choices)) {
    all[name] = select(box, key(name), each.label, each.options, each.default, moved);
  }
  const press = button(box, "", () => {
    const broken = isBroken();
    for (const [name, value] of Object.entries(spec.breaking)) {
      all[name].put(broken && name !== spec.steps ? usual(name) : value);
    }
    moved();
  }, "main");
  const usual = (name) => (spec.sliders[name] ?? spec.choices[name]).default;
  const stands = ([name, value]) => String(all[name].value) === String(value);
  const isBroken = () => Object.entries(spec.breaking).every(stands);

  function moved() {
    press.textContent = isBroken() ? "As in the paper" : "Break it";
    changed();
  }

  press.textContent = isBroken() ? "As in the paper" : "Break it";
  return { all, values: () => Object.fromEntries(Object.entries(all).map(([name, each]) => [name, each.value])) };
}

function drawing(spec, { sentence, panels }) { // what plot.js takes
  const few = panels.length > 2 ? Math.min(spec.columns, 2) : 1, side = narrow() ? few : spec.columns;
  const free = window.innerHeight - (spec.steps ? 570 : 470); // what texts and buttons leave
  const whole = panels.map((panel) => ({ ...panel, marks: panel.marks.map(coloured) }));
  const x = panels.find((panel) => panel.x)?.x;
  const shared = spec.columns === 1 && panels.length > 1; // above each other: one axis for all
  return { words: sentence, panels: shared ? whole.map(({ x: _, ...panel }) => panel) : whole, x: shared ? x : undefined,
    columns: side,
    height: narrow() ? 100 + 190 * Math.ceil(panels.length / side) : Math.max(280, Math.min(free, 640)) };
}

function coloured({ look: at, colour: name, ...mark }) {
  const numbers = ["x", "y", "low", "high"].filter((part) => mark[part]?.f8).map((part) => [part, unpack(mark[part])]);
  const own = at === undefined ? {} : look(at), named = name ? { color: colour(name) } : {};
  return { ...own, ...named, ...mark, ...Object.fromEntries(numbers) };
}

function moving(picture) { // bars go from where they were to where they are now, unless motion is unwelcome
  let before = null, latest = null;
  return (wanted) => {
    const from = before, begin = performance.now();
    before = latest = wanted;
    const still = STILL.matches || !wanted.panels.some(({ marks }) => marks.some(({ kind }) => kind === "bars"));
    if (!from || still) return picture.draw(wanted);
    function frame(now) {
      if (latest !== wanted) return;
      const part = Math.min(Math.max((now - begin) / MOVE, 0), 1);
      picture.draw(part < 1 ? between(from, wanted, part * part * (3 - 2 * part)) : wanted);
      if (part < 1) requestAnimationFrame(frame);
    }
    return frame(begin);
  };
}

function between(from, to, part) {
  const middle = (mark, old) => (mark.kind !== "bars" ? mark
    : { ...mark, y: mark.y.map((high, k) => (old?.y[k] ?? 0) + part * (high - (old?.y[k] ?? 0))) });
  return { ...to, panels: to.panels.map((panel, k) => (
    { ...panel, marks: panel.marks.map((mark, j) => middle(mark, from.panels[k]?.marks[j])) })) };
}
