// Options of an analysis as controls, and questions about a table with the controls that answer them.
import { button, element, select } from "./controls.js";
import * as state from "./state.js";

export const NONE = ["-", "(none)"];
const COMMAS = "several with commas", FEW = 3;

function typed(host, key, label, { type = "text", placeholder = "" }, changed) { // a field into which one types
  const id = `${key}-field`, looks = { placeholder, step: "any", autocomplete: "off" };
  const field = element("input", { type, id, name: key, ...looks });
  field.value = state.get(key, "");
  field.addEventListener("input", () => { state.set(key, field.value); changed(); });
  host.append(element("div", { className: "control typed" }, element("label", { htmlFor: id }, label), field));
  return { get value() { return field.value; }, put(value) { field.value = value; state.set(key, value); } };
}

function chosen(host, key, label, options, start, changed) {
  const made = select(host, key, label, options, start, changed);
  return { get value() { return made.value === NONE[0] ? "" : made.value; }, put: made.put, offer: made.offer };
}

// One control; `values` are the words of the request, `offer` lists the columns of another table.
export function control(host, key, spec, changed) {
  const { label, shape, several, options } = spec, usual = spec.default;
  let made, offer = () => {};
  if (shape === "column" && !several) {
    made = chosen(host, key, label, [NONE], "", changed);
    offer = (columns, guess) => made.offer([NONE, ...columns], state.get(key, guess ?? NONE[0]));
  } else if (shape === "choice" && !several) {
    made = chosen(host, key, label, usual ? options : [[NONE[0], "(not said)"], ...options], usual ?? NONE[0], changed);
  } else if (shape === "yes or no") {
    made = chosen(host, key, label, ["no", "yes"], usual, changed);
  } else {
    const placeholder = several ? COMMAS : String(usual ?? "");
    made = typed(host, key, label, { type: shape === "number" && !several ? "number" : "text", placeholder }, changed);
  }
  const row = host.lastElementChild;
  return {
    spec, row, offer,
    put: made.put,
    get value() { return made.value; },
    get values() {
      const words = several ? made.value.split(",").map((word) => word.trim()) : [made.value];
      return words.filter((word) => word && word !== String(usual ?? ""));
    },
  };
}

export function controls(host, start, specs, changed) {
  return Object.fromEntries(specs.map((spec) => [spec.name, control(host, `${start}.${spec.name}`, spec, changed)]));
}

export function guessed(row, isGuess) { // says beside a control that nobody has chosen this yet
  let words = row.querySelector(".guess");
  if (!words) {
    words = element("span", { className: "guess quiet", id: `${row.querySelector("select").id}-guess` });
    row.append(words);
    const field = row.querySelector("select"), others = field.getAttribute("aria-describedby") ?? "";
    field.setAttribute("aria-describedby", `${others} ${words.id}`.trim());
  }
  words.textContent = isGuess ? "guessed from its name" : "";
}

// Options that a sentence names, with what it says to give: of "--response-scale 0 100" the flag, and "0 100".
export function named(sentence) {
  const found = [...sentence.matchAll(/(--[a-z][a-z-]*)((?: (?!--)[^\s;,()?]+){0,2})/g)];
  return found.map(([, flag, words]) => [flag, words.trim()]).map(
    ([flag, words]) => [flag, /^(-?[\d.]+( -?[\d.]+)?)/.exec(words)?.[0] ?? words.split(" ")[0]]);
}

function answers({ options }, words) { // to be given by a press: all of a few, or what the sentence says
  if (options.length > 0 && options.length <= FEW) return options;
  return /\d/.test(words) || words !== words.toUpperCase() ? [words] : []; // COLUMN stands for a name
}

// A question, with the controls that it names taken from their places until it is answered.
export function question(host, again) {
  const box = element("div", { className: "question", role: "alert", hidden: true });
  let borrowed = [];
  host.append(box);
  function clear() {
    for (const [row, place] of borrowed) place.replaceWith(row);
    borrowed = [];
    box.replaceChildren();
    box.hidden = true;
  }
  function ask(sentence, all) {
    clear();
    box.hidden = false;
    box.append(element("p", {}, sentence[0].toUpperCase() + sentence.slice(1)));
    const tools = element("div", { className: "tools" });
    for (const [flag, words] of named(sentence)) {
      const one = all.find(({ spec }) => spec.flag === flag);
      if (!one) continue;
      if (!borrowed.some(([row]) => row === one.row)) {
        const place = element("span", { hidden: true });
        one.row.replaceWith(place);
        borrowed.push([one.row, place]);
        box.append(one.row);
      }
      for (const answer of answers(one.spec, words)) {
        button(tools, `${one.spec.name.replaceAll("_", " ")}: ${answer}`, () => { one.put(answer); again(); });
      }
    }
    if (borrowed.length) button(tools, "Try again", again, "main");
    box.append(tools);
    box.scrollIntoView({ block: "nearest" });
  }
  return { ask, clear };
}
