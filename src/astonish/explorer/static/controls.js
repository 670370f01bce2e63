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

function row(host, label, about, ...fields) { // a label, and the fields that it is of
  const id = fields[0].id = `control-${made++}`;
  host.append(element("div", { className: "control" }, element("label", { htmlFor: id, title: about }, label), ...fields));
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
  const { label, about = "", low, high, step, least = low, most = high } = spec;
  const to = spec.log ? (number) => Math.log10(Math.max(number, low)) : Number;
  const from = spec.log ? (at) => Number((10 ** at).toPrecision(3)) : Number;
  const range = element("input", { type: "range", name: key, min: to(low), max: to(high), step });
  const box = element("input", { type: "number", name: `${key} number`, min: least, max: most, step: "any",
    "aria-label": `${label}, as a number` });
  let value = spec.default;
  function put(number) {
    value = Math.min(most, Math.max(least, spec.whole ? Math.round(number) : number));
    range.value = to(value);
    range.setAttribute("aria-valuetext", String(value));
    if (document.activeElement !== box) box.value = value;
    state.set(key, value === spec.default ? null : value);
  }
  range.addEventListener("input", () => { put(from(range.value)); changed(); });
  box.addEventListener("input", () => {
    if (box.value !== "" && box.checkValidity()) { put(Number(box.value)); changed(); }
  });
  box.addEventListener("blur", () => { box.value = value; });
  row(host, label, about, range, box);
  const kept = Number.parseFloat(state.get(key, ""));
  put(Number.isFinite(kept) ? kept : spec.default);
  return { get value() { return value; }, put };
}

export function box(host, key, label, usual, changed) { // a number that may be left to others
  const field = element("input", { type: "number", name: key, step: "any", placeholder: usual ?? "automatic" });
  field.value = state.get(key, "");
  field.addEventListener("input", () => {
    if (!field.checkValidity()) return;
    state.set(key, field.value);
    changed();
  });
  row(host, label, "", field);
  return { get value() { return field.value; } };
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
  const keep = () => state.set(key, box.value === String(start) ? null : box.value);
  offer(options, state.get(key, start));
  box.addEventListener("change", () => { keep(); changed(box.value); });
  row(host, label, "", box);
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
    group.append(element("div", { className: "choice" }, box, swatch(name), element("label", { htmlFor: id }, short(name))));
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

export function table(host, name) {
  const head = element("thead"), body = element("tbody");
  const wide = element("div", { className: "wide", tabIndex: 0, role: "region", hidden: true, "aria-label": name },
    element("h2", {}, name), element("table", {}, head, body));
  host.append(wide);
  return (columns, rows, best = -1) => {
    wide.hidden = false;
    head.replaceChildren(element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text))));
    body.replaceChildren(...rows.map(([first, ...cells], at) => element("tr", { className: at === best ? "best" : "" },
      element("th", { scope: "row" }, first), ...cells.map((cell) => (typeof cell === "number"
        ? element("td", { className: "number" }, Number.isFinite(cell) ? Number(cell.toPrecision(4)) : "infinite")
        : element("td", {}, cell))))));
  };
}
