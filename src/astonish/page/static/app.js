// The page as a whole: its tabs, its look, links to it, and the Python behind it.
import * as state from "./state.js";
import * as tour from "./tour.js";
import * as gaussian from "./gaussian.js";
import * as maze from "./maze.js";
import * as lab from "./lab.js";
import * as data from "./data.js";
import * as stream from "./stream.js";
import { json, mention, persist, say, showAgain } from "./ask.js";
import { copy } from "./copy.js";

const STARTS = { tour, gaussian, maze, lab, data, stream };
const DARK = matchMedia("(prefers-color-scheme: dark)");
const THEMES = ["system", "light", "dark"];
const tabs = [...document.querySelectorAll("[data-tab]")], names = tabs.map((tab) => tab.dataset.tab);
const lines = {}, started = {};
let now = null;
const by = (id) => document.getElementById(id);

function wanted() { // the tab that the address names, or else the one that its first setting belongs to
  const first = state.names("").map((name) => name.split(".")[0]).find((name) => names.includes(name));
  return names.includes(state.get("tab")) ? state.get("tab") : first ?? names[0];
}

function show(name) {
  now = name;
  for (const tab of tabs) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    by(tab.dataset.tab).hidden = !chosen;
  }
  by("python").disabled = !lines[name];
  say("");
  mention("");
}

async function open(name, { focus = false, push = true } = {}) {
  const again = name === now;
  show(name);
  if (focus) by(`tab-${name}`).focus();
  state.set("tab", name);
  state.write(push && !again);
  if (started[name]) return;
  const mine = started[name] = {}; // another link may start the tab anew
  try {
    const spec = await persist(() => json(`/api/${name}`), () => started[name] === mine);
    say("");
    const panel = by(name), [host, views] = [".controls", ".views"].map((part) => panel.querySelector(part));
    STARTS[name].start(host, views, spec, (text) => {
      if (started[name] !== mine) return;
      lines[name] = text;
      by("python").disabled = !lines[now];
      panel.dataset.answers = Number(panel.dataset.answers ?? 0) + 1;
    });
    const dropped = state.unknown(`${name}.`);
    if (dropped.length) mention(`Dropped, because nothing here has such a setting: ${dropped.join(", ")}.`);
  } catch (trouble) {
    if (started[name] === mine) started[name] = null;
    say(trouble.message);
  }
}

function followed(event) { // back, forward, or a link that was opened here
  const back = state.linked("tab");
  if (event.state?.ours) return open(names.includes(back) ? back : wanted(), { push: false });
  for (const name of state.adopt()) {
    if (!started[name]) continue;
    started[name] = null;
    for (const part of [".controls", ".views"]) by(name).querySelector(part).replaceChildren();
  }
  dress(themed());
  return open(wanted(), { push: false });
}

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.dataset.tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) open(names[(at + step + tabs.length) % tabs.length], { focus: true });
  });
}

by("skip").addEventListener("click", (event) => { event.preventDefault(); by("content").focus(); });
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());

by("python").addEventListener("click", () => { by("code").textContent = lines[now] ?? ""; by("lines").showModal(); });
by("close").addEventListener("click", () => by("lines").close());
by("copy").addEventListener("click", () => copy(lines[now] ?? "", by("copy")));
by("link").addEventListener("click", () => { state.write(); copy(location.href, by("link")); });

function themed() {
  return THEMES.includes(state.get("theme")) ? state.get("theme") : "system";
}

function dress(chosen) {
  theme = chosen;
  document.documentElement.dataset.theme = theme === "system" ? (DARK.matches ? "dark" : "light") : theme;
  by("theme").textContent = `Theme: ${theme}`;
  state.set("theme", theme === "system" ? null : theme);
  showAgain();
}

let theme = themed();
by("theme").addEventListener("click", () => dress(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]));
DARK.addEventListener("change", () => dress(theme));
matchMedia("(max-width: 52rem)").addEventListener("change", showAgain);
window.addEventListener("popstate", followed);
dress(theme);
open(wanted(), { push: false });
