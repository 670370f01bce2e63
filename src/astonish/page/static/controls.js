// Controls made from the server's descriptions, each with a label, and each in the address.
import * as state from "./state.js";

let made = 0;

export function element(kind, attributes = {}, ...children) {
  const thing = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in thing) thing[name] = value; else thing.setAttribute(name, value);
  }
  thing.append(...children);
  return thing;
}

function row(host, label, about, ...fields) { // a label, the fields that it is of, and room for what is wrong
  const id = fields[0].id = `control-${made++}`;
  const wrong = element("p", { className: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const named = element("label", { htmlFor: id, title: about }, label);
  host.append(element("div", { className: "control" }, named, ...fields, wrong));
  fields.at(-1).setAttribute("aria-describedby", wrong.id);
  return (sentence, marked = Boolean(sentence)) => {
    wrong.hidden = !sentence;
    wrong.textContent = sentence;
    fields.at(-1).setAttribute("aria-invalid", marked);
  };
}

function allowed(least, most, whole) { // in words
  const kind = whole ? "a whole number" : "a number", ends = [least, most].map((end) => Math.abs(end) < 1e9);
  if (ends[0] && ends[1]) return `${kind} from ${least} to ${most}`;
  return ends[0] ? `${kind} of at least ${least}` : ends[1] ? `${kind} of at most ${most}` : kind;
}

export function short(name) { // of a learner in a file, without its folder
  return name.replace(/.*[\\/]/, "");
}

export function sliders(host, start, specs, changed) {
  return Object.fromEntries(Object.entries(specs).map(
    ([name, spec]) => [name, slider(host, `${start}.${name}`, spec, changed)]));
}

export function values(controls) {
  return Object.fromEntries(Object.entries(controls).map(([name, each]) => [name, Number(each.value)]));
}

export function slider(host, key, spec, changed) {
  const { label, about = "", low, high, step, least = low, most = high } = spec, name = key.split(".").at(-1);
  const to = spec.log ? (number) => Math.log10(Math.max(number, low)) : Number;
  const from = spec.log ? (at) => Number((10 ** at).toPrecision(3)) : Number;
  const range = element("input", { type: "range", name: key, min: to(low), max: to(high), step });
  const box = element("input", { type: "number", name: `${key} number`, min: least, max: most, step: "any",
    "aria-label": `${label}, as a number` });
  let value = spec.default;
  const wrong = row(host, label, about, range, box);
  const kind = spec.whole ? Number.isInteger : Number.isFinite, wanted = allowed(least, most, spec.whole);
  const good = (number) => kind(number) && number >= least && number <= most;
  const refusal = (text) => `${name} = ${text} is not allowed; give ${wanted}. It is still ${value}.`;
  function put(number) {
    value = Math.min(most, Math.max(least, spec.whole ? Math.round(number) : number));
    range.value = to(value);
    range.setAttribute("aria-valuetext", String(value));
    if (document.activeElement !== box) box.value = value;
    state.set(key, value === spec.default ? null : value);
    wrong("");
  }
  range.addEventListener("input", () => { put(from(range.value)); changed(); });
  box.addEventListener("input", () => {
    const text = box.validity.badInput ? "that" : box.value;
    if (text === "" || !good(Number(text))) return wrong(text === "" ? "" : refusal(text));
    put(Number(text));
    return changed();
  });
  box.addEventListener("blur", () => { box.value = value; box.setAttribute("aria-invalid", false); });
  const kept = state.get(key, null), number = Number(kept ?? spec.default);
  put(kept !== null && good(number) ? number : spec.default);
  if (kept !== null && !good(number)) wrong(refusal(kept), false);
  return { get value() { return value; }, put };
}

// A number that may be left to others.
export function box(host, key, label, usual, changed) {
  const field = element("input", { type: "number", name: key, step: "any", placeholder: usual ?? "automatic" });
  const wrong = row(host, label, "", field);
  let value = "";
  function take(text) {
    const fine = !field.validity.badInput && (text === "" || !Number.isNaN(Number(text)));
    wrong(fine ? "" : `${label} = ${field.validity.badInput ? "that" : text} is not allowed; give a number.`);
    if (fine) value = text;
    return fine;
  }
  field.value = state.get(key, "");
  if (!take(field.value)) state.set(key, field.value = "");
  field.addEventListener("input", () => {
    if (!take(field.value)) return;
    state.set(key, value);
    changed();
  });
  return { get value() { return value; } };
}

export function folded(host, title) {
  const made = element("details", { className: "more" }, element("summary", {}, title));
  host.append(made);
  return made;
}

export function select(host, key, label, options, start, changed) {
  const box = element("select", { name: key });
  function offer(list, chosen) {
    const pairs = list.map((each) => (Array.isArray(each) ? each : [each, each]));
    box.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
    box.value = pairs.some(([value]) => String(value) === String(chosen)) ? chosen : pairs[0]?.[0] ?? "";
  }
  const keep = () => state.set(key, box.value === String(start) ? null : box.value), asked = state.get(key, start);
  offer(options, asked);
  box.addEventListener("change", () => { wrong(""); keep(); changed(box.value); });
  const wrong = row(host, label, "", box);
  if (options.length > 1 && String(asked) !== box.value) { // where more is offered later, it may be among that
    wrong(`${label} = ${asked} is not offered; it is ${box.selectedOptions[0]?.text ?? "empty"}.`, false);
    keep();
  }
  return { get value() { return box.value; }, put(value) { box.value = value; keep(); }, offer };
}

export function checkboxes(host, key, title, names, start, swatch, changed) {
  const kept = state.get(key, null);
  const on = new Set(kept === null ? start : kept.split(" "));
  const group = element("fieldset", {}, element("legend", {}, title));
  for (const name of names) {
    const id = `control-${made++}`;
    const box = element("input", { type: "checkbox", id, checked: on.has(name), name: `${key} ${name}` });
    box.addEventListener("change", () => {
      if (box.checked) on.add(name); else on.delete(name);
      const chosen = names.filter((each) => on.has(each));
      const usual = chosen.join(" ") === names.filter((each) => start.includes(each)).join(" ");
      state.set(key, usual ? null : chosen.join(" ") || "none");
      changed();
    });
    const label = element("label", { htmlFor: id }, short(name));
    group.append(element("div", { className: "choice" }, box, swatch(name), label));
  }
  host.append(group);
  return { get value() { return names.filter((each) => on.has(each)); } };
}

export function button(host, text, pressed, className = "") {
  const made = element("button", { type: "button", className }, text);
  made.addEventListener("click", pressed);
  host.append(made);
  return made;
}

function noiseless(number) { // what is left of rounding is 0
  return Math.abs(number) < 1e-12 ? 0 : Number(number.toPrecision(4));
}

export function table(host, name) {
  const head = element("thead"), body = element("tbody");
  const wide = element("div", { className: "wide", tabIndex: 0, role: "region", hidden: true, "aria-label": name },
    element("h2", {}, name), element("table", {}, head, body));
  host.append(wide);
  return (columns, rows, best = -1) => { // best: the row of the winner
    wide.hidden = false;
    head.replaceChildren(element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text))));
    body.replaceChildren(...rows.map(([first, ...cells], at) => element("tr", { className: at === best ? "best" : "" },
      element("th", { scope: "row" }, first), ...cells.map((cell) => (typeof cell === "number"
        ? element("td", { className: "number" }, Number.isFinite(cell) ? noiseless(cell) : "infinite")
        : element("td", {}, cell))))));
  };
}
