// Values read off a plot: by pointing, by tapping, and with the arrow keys.
import { element } from "./controls.js";
import { nearest, written } from "./axes.js";
import { KINDS } from "./marks.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
const PANELS = { ArrowUp: -1, ArrowDown: 1 };

export function reading(canvas, plot) {
  const box = element("div", { className: "readout", hidden: true, role: "status" });
  const guide = element("div", { className: "guide", hidden: true });
  let panels = [], spec = {}, at = -1, which = 0; // the sample that is read, and the panel
  canvas.append(guide, box);

  function of(found, wanted) { // what was just drawn
    [panels, spec] = [found, wanted];
    if (which >= panels.length) which = 0;
    plot.setAttribute("role", spec.pick ? "slider" : "img"); // one that the arrow keys move from sample to sample
    if (spec.pick) valued();
    if (!box.hidden) plot.matches(":focus-visible") && at >= 0 ? tell() : hide();
  }

  function valued() {
    const panel = sampled(), most = panel?.samples.length ?? 1, there = spec.picked >= 0 && spec.picked < most;
    const text = there && panel ? lines(panel, spec.picked).join(", ") : "none is picked";
    const about = { valuemin: 1, valuemax: most, valuenow: there ? spec.picked + 1 : 1, valuetext: text };
    for (const [name, value] of Object.entries(about)) plot.setAttribute(`aria-${name}`, value);
  }

  const sampled = () => panels.find((panel) => panel.samples), samples = () => sampled()?.samples;

  function under(event) { // the panel there, and the place in its own numbers
    const { left, top } = plot.getBoundingClientRect(), [x, y] = [event.clientX - left, event.clientY - top];
    const away = ({ at: box }) => Math.max(box.left - x, x - box.right, 0) + Math.max(box.top - y, y - box.bottom, 0);
    const found = panels.reduce((best, panel) => (away(panel) < away(best) ? panel : best), panels[0]);
    return found && { panel: found, far: away(found), left: x, top: y, x: found.at.x.value(x), y: found.at.y.value(y) };
  }

  function lines(panel, k) { // what is said of a sample in a panel
    const { samples: list, along, at: box, names, marks } = panel, x = list[k];
    const near = 0.5 * Math.min(...[k - 1, k + 1].map((other) => Math.abs((list[other] ?? Infinity) - x)));
    const told = marks.filter((mark) => mark.name && KINDS[mark.kind].say).map((mark) => {
      const here = mark.x[k] === x ? k : nearest(mark.x, x), away = here >= 0 ? Math.abs(mark.x[here] - x) : Infinity;
      return away === 0 || away < near ? `${mark.name}: ${KINDS[mark.kind].say(mark, here, box.y.span)}` : null;
    });
    return [names?.[k] ?? `${along.label || "x"} ${written(x, box.x.span)}`, ...told.filter(Boolean)];
  }

  function show(texts, left, top) {
    box.replaceChildren(...texts.map((text) => element("div", {}, text)));
    box.hidden = false;
    const width = plot.clientWidth, beside = left > width / 2 ? left - box.offsetWidth - 14 : left + 14;
    box.style.left = `${Math.min(Math.max(beside, 0), Math.max(width - box.offsetWidth, 0))}px`;
    box.style.top = `${Math.max(top - box.offsetHeight / 2, 0)}px`;
  }

  function mark(panel, x) {
    const shared = panels.filter((each) => each === panel || (!each.own && !panel.own));
    guide.style.left = `${panel.at.x(x)}px`;
    guide.style.top = `${Math.min(...shared.map((each) => each.at.top))}px`;
    guide.style.height = `${Math.max(...shared.map((each) => each.at.bottom)) - parseFloat(guide.style.top)}px`;
    guide.hidden = false;
  }

  function tell() { // the sample that was reached by keys
    const panel = panels[which]?.samples ? panels[which] : sampled();
    if (!panel) return;
    at = Math.min(at, panel.samples.length - 1);
    mark(panel, panel.samples[at]);
    const said = [...(panel.label ? [panel.label] : []), ...lines(panel, at)];
    show(said, panel.at.x(panel.samples[at]), (panel.at.top + panel.at.bottom) / 2);
  }

  function hide() { box.hidden = guide.hidden = true; }

  function cell({ panel, x, y }) { // of a heat map
    const { z, rows, hover } = panel.heat, [i, j] = [Math.round(y), Math.round(x)], value = z[i]?.[j];
    return value === undefined ? null : hover ? hover(i, j, value) : `${rows[i]}, ${panel.names[j]}: ${written(value)}`;
  }

  plot.addEventListener("pointermove", (event) => {
    const place = under(event);
    if (!place || place.far > 12) return hide();
    const { panel, left, top, x } = place;
    if (panel.heat) {
      const text = cell(place);
      guide.hidden = true;
      return text ? show([text], left, top) : hide();
    }
    const k = panel.samples ? nearest(panel.samples, x) : -1;
    if (k < 0) return hide();
    mark(panel, panel.samples[k]);
    return show(lines(panel, k), panel.at.x(panel.samples[k]), top);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("pointercancel", hide);
  plot.addEventListener("blur", hide);

  plot.addEventListener("click", (event) => { // a tap, too
    const place = under(event);
    if (!place || place.far > 12) return;
    if (spec.click) spec.click(place.x, place.y, panels.indexOf(place.panel));
    const list = samples(), k = spec.pick && list ? nearest(list, place.x) : -1;
    if (k >= 0) spec.pick(at = k, list[k]);
  });

  plot.addEventListener("keydown", (event) => {
    const list = samples(), step = STEPS[event.key], panel = PANELS[event.key];
    if (event.key === "Escape") return hide();
    if (event.key === "Enter" && spec.click && at >= 0) return spec.click(panels[which].samples[at], 0, which);
    if (!list || !(step || panel) || event.ctrlKey || event.altKey || event.metaKey) return undefined;
    event.preventDefault();
    if (panel) which = Math.min(Math.max(which + panel, 0), panels.length - 1);
    const from = Number.isInteger(spec.picked) ? spec.picked : at;
    if (step) at = Math.min(Math.max(from + step, 0), list.length - 1);
    at = Math.max(at, 0);
    tell();
    if (spec.pick && step) spec.pick(at, list[at]);
    return undefined;
  });

  return { of };
}
