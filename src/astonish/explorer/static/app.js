// The page as a whole: its tabs, its look, links to it, and the Python behind it.
import * as state from "./state.js";
import * as gaussian from "./gaussian.js";
import * as maze from "./maze.js";
import * as lab from "./lab.js";
import * as data from "./data.js";
import { json, say, showAgain } from "./ask.js";

const STARTS = { gaussian, maze, lab, data };
const THEMES = ["system", "light", "dark"];
const tabs = [...document.querySelectorAll("[data-tab]")];
const lines = {}, started = {};
let now = null;
const by = (id) => document.getElementById(id);

async function open(name, focus) {
  now = name;
  for (const tab of tabs) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    by(tab.dataset.tab).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  state.set("tab", name === "gaussian" ? null : name);
  by("python").disabled = !lines[name];
  say("");
  if (started[name]) {
    showAgain(); // what was drawn out of sight has no size
    return;
  }
  started[name] = true;
  try {
    const spec = await json(`/api/${name}`);
    STARTS[name].start(by(name), spec, (text) => {
      lines[name] = text;
      by("python").disabled = !lines[now];
      by(name).dataset.answers = Number(by(name).dataset.answers ?? 0) + 1;
    });
  } catch (trouble) {
    started[name] = false;
    say(trouble.message);
  }
}

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.dataset.tab, false));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) open(tabs[(at + step + tabs.length) % tabs.length].dataset.tab, true);
  });
}

by("skip").addEventListener("click", (event) => { event.preventDefault(); by("content").focus(); });
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());

by("python").addEventListener("click", () => {
  by("code").textContent = lines[now] ?? "";
  by("lines").showModal();
});
by("close").addEventListener("click", () => by("lines").close());
by("copy").addEventListener("click", () => copy(lines[now] ?? "", by("copy")));
by("link").addEventListener("click", () => { state.write(); copy(location.href, by("link")); });

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    by("status").textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

function dress(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  by("theme").textContent = `Theme: ${theme}`;
  state.set("theme", theme === "system" ? null : theme);
  showAgain();
}

let theme = THEMES.includes(state.get("theme")) ? state.get("theme") : "system";
by("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  dress(theme);
});
for (const change of ["(prefers-color-scheme: dark)", "(max-width: 52rem)"]) {
  matchMedia(change).addEventListener("change", showAgain);
}
dress(theme);
open(tabs.some((tab) => tab.dataset.tab === state.get("tab")) ? state.get("tab") : "gaussian", false);
