// The page as a whole: its tabs, its look, links to it, and the Python behind it.
import * as state from "./state.js";
import * as gaussian from "./gaussian.js";
import * as maze from "./maze.js";
import * as lab from "./lab.js";
import * as data from "./data.js";
import * as stream from "./stream.js";
import { json, say, showAgain } from "./ask.js";

const STARTS = { gaussian, maze, lab, data, stream };
const DARK = matchMedia("(prefers-color-scheme: dark)");
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
  }
  if (focus) by(`tab-${name}`).focus();
  state.set("tab", name === "gaussian" ? null : name);
  by("python").disabled = !lines[name];
  say("");
  if (started[name]) return showAgain(); // what was drawn out of sight has no size
  started[name] = true;
  try {
    const spec = await json(`/api/${name}`);
    const panel = by(name), [host, views] = [".controls", ".views"].map((part) => panel.querySelector(part));
    STARTS[name].start(host, views, spec, (text) => {
      lines[name] = text;
      by("python").disabled = !lines[now];
      panel.dataset.answers = Number(panel.dataset.answers ?? 0) + 1;
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

by("python").addEventListener("click", () => { by("code").textContent = lines[now] ?? ""; by("lines").showModal(); });
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
  document.documentElement.dataset.theme = theme === "system" ? (DARK.matches ? "dark" : "light") : theme;
  by("theme").textContent = `Theme: ${theme}`;
  state.set("theme", theme === "system" ? null : theme);
  showAgain();
}

let theme = THEMES.includes(state.get("theme")) ? state.get("theme") : "system";
by("theme").addEventListener("click", () => dress(theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]));
DARK.addEventListener("change", () => dress(theme));
matchMedia("(max-width: 52rem)").addEventListener("change", showAgain);
dress(theme);
open(tabs.some((tab) => tab.dataset.tab === state.get("tab")) ? state.get("tab") : "gaussian", false);
