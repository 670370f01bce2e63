// Learners fitted to the responses of a table: what is asked, how far it is, and results as they come.
import { button, checkboxes, element, folded, select, short } from "./controls.js";
import { attempt, json, say } from "./ask.js";
import { controls, question } from "./options.js";
import { results } from "./results.js";

const ANALYSES = [["fit", "Fit: which parameters explain each participant best?"],
  ["compare", "Compare: which learner explains people best?"], ["recover", "Recover: would we find what is there?"]];
const FIRST = ["response", "responded"], PEOPLE = ["group", "condition"];
const ELSEWHERE = ["outcome", "choice", "reward", "subject", "block", "trial", "kind", "missing", "decimal", "label",
  "options"]; // in the form above
const FAILED = "something went wrong that should not; the window in which astonish runs says what";
const GIVEN_UP = "the server does not answer any more, so that the analysis has ended; start astonish explore again";
const DATA = "data: ", TRIES = 3, PAUSE = 1000; // to follow an analysis again, if the connection is lost

let leaveLast = () => {}; // the analysis of a view that is there no more

export function fits(host, views, spec, others, { asked, file, python }) {
  const group = element("fieldset", { className: "fits" }, element("legend", {}, "Explain people's responses"));
  host.append(group);
  const of = (names) => names.map((name) => spec.options.table.find((each) => each.name === name));
  const analysis = select(group, "data.fit", "analysis", ANALYSES, "fit", () => arrange());
  const table = controls(group, "data", of(FIRST), () => {});
  const several = element("div");
  group.append(several);
  const learners = checkboxes(several, "data.learners", "Learners to compare, or to recover", spec.different,
    ["delta", "smile"], () => "", () => {});
  const more = folded(group, "More about responses, people and models");
  const rest = spec.options.table.filter(({ name }) => ![...FIRST, ...PEOPLE, ...ELSEWHERE].includes(name));
  Object.assign(table, controls(more, "data", [...of(PEOPLE), ...rest], () => {}));
  const own = Object.fromEntries(ANALYSES.map(([name]) => {
    const part = element("div"), specs = spec.options[name].filter((each) => each.name !== "learner");
    group.append(part);
    return [name, { part, all: controls(part, `data.${name}`, specs, () => {}) }];
  }));
  const tools = element("div", { className: "tools" });
  group.append(tools);
  const go = button(tools, "Start", begin, "main"), stop = button(tools, "Cancel", cancel);
  const view = element("section", { className: "analysis", hidden: true, "aria-label": "Analysis of responses" });
  views.append(view);
  const bar = element("progress", { max: 1, "aria-label": "How far the analysis is" });
  const words = element("p", { role: "status" }), box = question(view, begin), found = results(view);
  view.prepend(bar, words);
  let job = null, following = null;
  leaveLast();
  leaveLast = leave;
  arrange();
  running(false);

  function arrange() { // what this analysis can be told
    for (const [name, { part }] of Object.entries(own)) part.hidden = name !== analysis.value;
    several.hidden = analysis.value === "fit";
  }

  function running(is) {
    stop.disabled = !is;
    bar.hidden = !is;
    go.textContent = is ? "Start again" : "Start";
  }

  function request() {
    const { asked: words, learner } = asked(), list = [...words];
    for (const all of [table, own[analysis.value].all]) {
      for (const [name, each] of Object.entries(all)) for (const value of each.values) list.push([name, value]);
    }
    for (const name of analysis.value === "fit" ? [learner] : learners.value) list.push(["learner", name]);
    return new URLSearchParams(list.filter(([, value]) => value));
  }

  function begin() {
    return attempt(async () => {
      if (!file()) throw new Error("there is no table yet; drop one anywhere on the page, or choose one above");
      leave();
      box.clear();
      found.clear();
      view.hidden = false;
      const answer = await json(`/api/jobs/${analysis.value}?${request()}`, { method: "POST", body: file() });
      job = answer.job;
      running(true);
      bar.removeAttribute("value");
      const limit = `it may take up to ${answer.seconds / 60} minutes here, and has no limit as a command`;
      words.textContent = `Starting; ${limit}.`;
      found.asked(answer.command);
      view.scrollIntoView({ block: "nearest" });
      follow(answer.job);
    });
  }

  function leave() { // nobody reads the events of the last one any more, so that the server forgets it
    following?.abort();
    following = job = null;
    running(false);
  }

  async function cancel() {
    const ended = job;
    leave();
    words.textContent = "Cancelled. What was found so far is below; nothing is kept.";
    await attempt(() => json(`/api/jobs/${ended}/cancel`, { method: "POST", body: "{}" }));
  }

  async function follow(name) {
    let known = 0, tries = 0;
    const mine = following = new AbortController();
    while (tries < TRIES && !mine.signal.aborted) {
      try {
        const answer = await fetch(`/api/jobs/${name}/events?after=${known}`, { signal: mine.signal });
        if (!answer.ok) break;
        tries = 0;
        for await (const line of lines(answer.body)) {
          known += 1;
          take(name, JSON.parse(line));
        }
      } catch (trouble) {
        if (mine.signal.aborted) return;
        if (trouble instanceof SyntaxError) throw trouble;
      }
      tries += 1;
      await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    }
    if (mine.signal.aborted) return;
    running(false);
    words.textContent = "";
    say(GIVEN_UP);
  }

  function take(name, event) {
    const { event: kind, text } = event;
    if (kind === "say") found.say(text);
    else if (kind === "show") found.show(text);
    else if (kind === "table") found.found(event);
    else if (kind === "fitted") found.fitted(event);
    else if (kind === "progress") progress(event);
    else end(name, kind, event);
  }

  function progress({ doing, share }) {
    if (share === null) bar.removeAttribute("value"); else bar.value = share;
    const part = share === null ? "" : `, ${Math.round(100 * share)} %`;
    words.textContent = `${short(doing)}${share === 1 ? ": done; tables and figures follow" : part}`;
  }

  function end(name, kind, event) {
    if (kind === "done") running(false); else leave();
    words.textContent = { done: "Done.", cancelled: "Cancelled.", refused: "" }[kind] ?? "";
    if (kind === "done") {
      found.done(name, event);
      python(event.python);
    } else if (kind === "failed") say(FAILED);
    else if (kind === "refused") {
      box.ask(event.text, Object.values({ ...others, ...table, ...own[analysis.value].all }));
    }
  }

  return {
    columns: Object.fromEntries(["response", ...PEOPLE].map((name) => [name, table[name]])),
    offer(columns, guesses) { for (const [name, each] of Object.entries(table)) each.offer(columns, guesses[name]); },
  };
}

async function* lines(body) { // of the events that the server sends, those that say something
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    yield* parts.filter((line) => line.startsWith(DATA)).map((line) => line.slice(DATA.length));
  }
}
