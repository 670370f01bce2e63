// Controls made from the server's descriptions, each with a label, and each in the address.
import * as state from "./state.js";

let made = 0;

export function element(kind, attributes = {}, ...children) {
  const thing = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in thing && name !== "list") thing[name] = value;
    else thing.setAttribute(name, value);
  }
  thing.append(...children);
  return thing;
}

export function slider(host, key, spec, changed) {
  const id = `control-${made++}`;
  const [to, from] = spec.log ? [Math.log10, (at) => Number((10 ** at).toPrecision(3))] : [(v) => v, (v) => v];
  const range = element("input", { type: "range", id, min: to(spec.low), max: to(spec.high), step: spec.step });
  const box = element("input", { type: "number", min: spec.low, max: spec.high, step: "any" });
  box.setAttribute("aria-label", `${spec.label}, as a number`);
  range.name = key;
  box.name = `${key} number`;
  let value = spec.default;
  function put(number) {
    value = Math.min(spec.high, Math.max(spec.low, spec.whole ? Math.round(number) : number));
    range.value = to(value);
    range.setAttribute("aria-valuetext", String(value));
    if (document.activeElement !== box) box.value = value;
    state.set(key, value === spec.default ? null : value);
  }
  range.addEventListener("input", () => { put(from(Number(range.value))); changed(); });
  box.addEventListener("input", () => {
    if (box.value !== "" && box.checkValidity()) { put(Number(box.value)); changed(); }
  });
  box.addEventListener("blur", () => { box.value = value; });
  host.append(element("div", { className: "control" }, element("label", { htmlFor: id }, spec.label), range, box));
  put(state.number(key, spec.default));
  return { get value() { return value; }, put };
}

export function box(host, key, label, usual, changed) { // a number that may be left to others
  const id = `control-${made++}`;
  const field = element("input", { type: "number", id, name: key, step: "any", placeholder: usual ?? "automatic" });
  field.value = state.get(key, "");
  field.addEventListener("input", () => {
    if (!field.checkValidity()) return;
    state.set(key, field.value);
    changed();
  });
  host.append(element("div", { className: "control" }, element("label", { htmlFor: id }, label), field));
  return { get value() { return field.value; } };
}

export function folded(host, title) {
  const made = element("details", { className: "more" }, element("summary", {}, title));
  host.append(made);
  return made;
}

export function select(host, key, label, options, start, changed) {
  const id = `control-${made++}`;
  const box = element("select", { id, name: key });
  function offer(list, chosen) {
    const pairs = list.map((each) => (Array.isArray(each) ? each : [each, each]));
    box.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
    box.value = pairs.some(([value]) => String(value) === String(chosen)) ? chosen : pairs[0]?.[0] ?? "";
  }
  function keep() {
    state.set(key, box.value === String(start) ? null : box.value);
  }
  offer(options, state.get(key, start));
  box.addEventListener("change", () => { keep(); changed(box.value); });
  const row = element("div", { className: "control" }, element("label", { htmlFor: id }, label), box);
  host.append(row);
  return { get value() { return box.value; }, put(value) { box.value = value; keep(); }, offer, row };
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
    group.append(element("div", { className: "choice" }, box, swatch(name), element("label", { htmlFor: id }, name)));
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
  const wide = element("div", { className: "wide", tabIndex: 0, role: "region", hidden: true },
    element("h2", {}, name), element("table", {}, head, body));
  wide.setAttribute("aria-label", name);
  host.append(wide);
  return (columns, rows, best = -1) => {
    wide.hidden = false;
    head.replaceChildren(element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text))));
    body.replaceChildren(...rows.map((cells, at) => element("tr", { className: at === best ? "best" : "" },
      ...cells.map((cell, k) => k === 0 ? element("th", { scope: "row" }, String(cell))
        : element("td", { className: typeof cell === "number" ? "number" : "" }, shown(cell))))));
  };
}

export function shown(value) {
  if (typeof value !== "number") return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "infinite";
}
